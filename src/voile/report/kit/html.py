"""Jinja2, set up once for all pages: every value is escaped, unless it is HTML already."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from voile.report.kit.assets import REPORT, read_asset, write_data
from voile.report.kit.drawing.fluid import draw_fluid


class Templates:
    """The macros of a template file, as functions that give HTML.

    Parameters
    ----------
    name : str
        Of the file, beneath the report's folder.
    **known
        What its macros may use beside what they are given: words, mostly.
    """

    def __init__(self, name: str, **known: object) -> None:
        self._name, self._known = name, known

    def __getattr__(self, macro: str) -> Callable[..., Markup]:
        found: Callable[..., Markup] = getattr(_load(self._name, self._known).module, macro)
        return found


def _load(name: str, known: dict[str, object]) -> Any:
    return ENVIRONMENT.get_template(name, globals=known)


def draw_figure(figure: go.Figure, name: str, rows: Sequence[str] | None = ()) -> Markup:
    """A figure as HTML: see `draw_fluid`."""
    return draw_fluid(figure, name, rows)


def known(number: float) -> float | None:
    """A number for JSON, which has no infinity: None is unknown."""
    return float(number) if math.isfinite(number) else None


def start_upper(text: str) -> str:
    """Text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


ENVIRONMENT = Environment(
    loader=FileSystemLoader(REPORT),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(drawn=draw_figure, data=write_data, start_upper=start_upper)
ENVIRONMENT.globals.update(asset=lambda name: Markup(read_asset(name)))

parts = Templates("kit/parts.html")
"""What pages are made of: tables, figures, cards of pictures, lists, what is shown on request."""
