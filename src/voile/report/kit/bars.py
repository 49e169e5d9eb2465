"""Signed bars with whiskers of noise: what raised a number and what lowered it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from voile.explain.wording import noisy
from voile.report.kit.palette import LOWER, RAISE, WAS, dress
from voile.report.kit.text import plot_text


@dataclass(frozen=True)
class Part:
    """What one column or feature added.

    Attributes
    ----------
    label, told : str
        A name to show, and everything there is to tell on pointing at it; plain text, lines apart.
    size, standard_error : float
    """

    label: str
    told: tuple[str, ...]
    size: float
    standard_error: float

    @property
    def number(self) -> str:
        """The size with two standard errors."""
        return noisy(self.size, self.standard_error)


def draw_bars(parts: Sequence[Part], total: Part | None, title: str) -> go.Figure:
    """Draw a bar per part: to the right what is above 0, to the left what is below.

    Parameters
    ----------
    parts : sequence of Part
    total : Part or None
        What they add up to, drawn beneath.
    title : str
        Of the axis; escaped already.
    """
    last = len(parts)
    figure = go.Figure(
        go.Bar(
            x=[part.size for part in parts],
            y=list(range(last)),
            orientation="h",
            width=0.62,
            marker={"color": [RAISE if part.size > 0 else LOWER for part in parts]},
            error_x={
                "array": [_whisker(part.standard_error) for part in parts],
                "color": WAS,
                "thickness": 1.5,
                "width": 4,
            },
            hovertext=["<br>".join([*map(plot_text, part.told), part.number]) for part in parts],
            hoverinfo="text",
        )
    )
    labels = [_two_lines(part) for part in parts]
    if total is not None:
        labels.append(_two_lines(total))
        figure.add_trace(
            go.Scatter(
                x=[total.size],
                y=[last],
                mode="markers",
                marker={"symbol": "diamond", "size": 11, "color": "#222"},
                error_x={
                    "array": [_whisker(total.standard_error)],
                    "color": WAS,
                    "thickness": 1.5,
                },
                hovertext=[f"{plot_text(total.label)}: {total.number}"],
                hoverinfo="text",
            )
        )
    return dress(
        figure,
        36 * len(labels) + 60,
        showlegend=False,
        xaxis={
            "title": title,
            "zeroline": True,
            "zerolinecolor": "#999",
            "nticks": 6,
            "tickangle": 0,
        },
        yaxis={
            "tickvals": list(range(len(labels))),
            "ticktext": labels,
            "range": [len(labels) - 0.4, -0.6],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 6,
        },
        margin={"l": 40, "r": 16, "t": 8, "b": 45},
    )


def _whisker(standard_error: float) -> float | None:
    """Two standard errors; nothing can be drawn for an infinite one, and the label tells it."""
    return 2 * standard_error if math.isfinite(standard_error) else None


def _two_lines(part: Part) -> str:
    return f'{plot_text(part.label)}<br><span style="color:#666">{part.number}</span>'
