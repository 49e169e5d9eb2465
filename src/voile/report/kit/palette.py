"""Colours that people with any colour vision can tell apart, and the look all figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

# The palette of Okabe and Ito (2008) without its yellow, which is too pale on white.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D")
DASHES = ("solid", "dash", "dot", "dashdot")
PATTERNS = ("", "/", ".", "x")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")

IN_THE_DARK = {
    "#0072b2": "#4aa3df",
    "#d55e00": "#ff8a4c",
    "#009e73": "#2dbd93",
    "#cc79a7": "#e5a3c8",
    "#56b4e9": "#a3dcff",
    "#e69f00": "#ffc95c",
    "#4d4d4d": "#b4bbc5",
    "#9aa5b1": "#6b7684",
    "#222": "#e8eaed",
    "#000": "#e8eaed",
    "#666": "#b4bbc5",
    "#999": "#7d8794",
    "#bbb": "#59616c",
    "white": "#14171c",
    "#f4f4f2": "#20252d",
    "#e8e8e8": "#2b313a",
}
"""What stands in for each colour of a figure on a dark page, in small letters."""

INK, ROWS, WAS, RAISE, LOWER = "#0072B2", "#9AA5B1", "#4D4D4D", "#D55E00", "#0072B2"
"""One series, counts of rows, scores before an edit, what raises a score, what lowers it."""


def series_colour(position: int) -> str:
    """Colour of one series among several."""
    return SERIES[position % len(SERIES)]


def series_dash(position: int) -> str:
    """Dashes of one line among several: colours repeat, colour and dashes together do not soon."""
    return DASHES[position // len(SERIES) % len(DASHES)]


def series_pattern(position: int) -> str:
    """Pattern of one bar among several: with the colour, as for lines."""
    return PATTERNS[position // len(SERIES) % len(PATTERNS)]


def series_symbol(position: int) -> str:
    """Marker of one series among several."""
    return SYMBOLS[position % len(SYMBOLS)]


def see_through(colour: str, opacity: float) -> str:
    """A colour of the form #rrggbb with an opacity, for bands."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def legend_room(series: int) -> int:
    """Pixels that the legend of several series may need on a narrow screen, two beside another."""
    return 0 if series == 1 else 20 * (-(-series // 2))


def dress(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    """Give a figure the look of all others.

    Parameters
    ----------
    figure : Figure
    height : int
        In pixels; the width is that of the page.
    **layout
        Further settings of the layout.
    """
    figure.update_layout(
        template="plotly_white",
        height=height,
        # Dragging a finger over a figure must scroll the page, not zoom.
        dragmode=False,
        font={"size": 12, "color": "#222"},
        hoverlabel={"align": "left", "namelength": -1},
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        **{"margin": {"l": 55, "r": 12, "t": 12, "b": 40}, **layout},
    )
    return figure


NAMED_MARGIN = {"l": 40, "r": 12, "t": 12, "b": 45}
"""Around a figure with names at its left, which take the room they need."""


def names_axis(labels: Sequence[str], **more: Any) -> dict[str, Any]:
    """An upright axis with a name (escaped already) for each bar, the first at the top."""
    return {
        "tickvals": list(range(len(labels))),
        "ticktext": list(labels),
        "range": [len(labels) - 0.4, -0.6],
        "automargin": True,
        **more,
    }
