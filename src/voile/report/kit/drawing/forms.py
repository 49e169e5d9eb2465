"""The forms that figures are taken along in: of plotly, of matplotlib, and as files."""

from __future__ import annotations

import io
import math
from typing import Any

import plotly.graph_objects as go

from voile.errors import MissingExtra, SettingError
from voile.rendering import forms_figures
from voile.report.kit.drawing.reading import read_chart
from voile.report.kit.drawing.standalone import draw_standalone

USUAL_WIDTH, DOTS = 16.0, 300
"""Centimetres of a figure, and dots an inch of one that is made of dots."""

LEAST_WIDTH, MOST_WIDTH = 4.0, 100.0


@forms_figures("plotly")
def form_plotly(figure: go.Figure, width: float | None) -> go.Figure:
    """The figure itself."""
    return figure


@forms_figures("matplotlib")
def form_matplotlib(figure: go.Figure, width: float | None) -> Any:
    """A figure of matplotlib, which may be changed as any other."""
    try:
        from voile.report.kit.drawing.matplotlib_form import draw_matplotlib
    except ImportError:
        raise MissingExtra("matplotlib", "figures") from None
    return draw_matplotlib(read_chart(figure), _check_width(width))


@forms_figures("svg")
def form_svg(figure: go.Figure, width: float | None) -> bytes:
    """A file of SVG."""
    return draw_standalone(read_chart(figure), _check_width(width)).encode(
        errors="backslashreplace"
    )


@forms_figures("png")
def form_png(figure: go.Figure, width: float | None) -> bytes:
    """A file of dots."""
    return _save(figure, width, "png")


@forms_figures("pdf")
def form_pdf(figure: go.Figure, width: float | None) -> bytes:
    """A file for print."""
    return _save(figure, width, "pdf")


def _save(figure: go.Figure, width: float | None, kind: str) -> bytes:
    file = io.BytesIO()
    # Without the time it was made: the same figure is the same file.
    about = {"CreationDate": None} if kind == "pdf" else {}
    form_matplotlib(figure, width).savefig(file, format=kind, dpi=DOTS, metadata=about)
    return file.getvalue()


def _check_width(width: float | None) -> float:
    if width is None:
        return USUAL_WIDTH
    if not (math.isfinite(width) and LEAST_WIDTH <= width <= MOST_WIDTH):
        raise SettingError(
            f"A figure has a width from {LEAST_WIDTH:g} to {MOST_WIDTH:g} centimetres. Got "
            f"{width!r} instead."
        )
    return float(width)
