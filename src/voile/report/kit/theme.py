"""The access of all pages and figures, light and dark, in colours that all can tell apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import plotly.graph_objects as go

from voile.report.kit.assets import read_asset

_COLOURS: dict[str, dict[str, str]] = json.loads(read_asset("kit/colours.json"))
LIGHT, DARK = _COLOURS["light"], _COLOURS["dark"]
"""Colours of a page by their use; every text has a contrast of 4.5 to 1 or more on page and box."""


# The palette of Okabe and Ito (2008) without its yellow, which is too pale on white.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D")
DASHES = ("solid", "dash", "dot", "dashdot")
PATTERNS = ("", "/", ".", "x")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")

IN_THE_DARK = _COLOURS["figures in the dark"]
"""What stands in for each colour of a figure on a dark page, in small letters."""

COLOUR_CLASSES = {colour: f"k{i}" for i, colour in enumerate(IN_THE_DARK)}
"""By which class an element of a figure takes a colour that follows the page."""

FAINT = "#e8e8e8"
"""Cells that may be nothing."""

INK, ROWS, WAS, RAISE, LOWER = "#0072B2", "#9AA5B1", "#4D4D4D", "#D55E00", "#0072B2"
"""One series, counts of rows, scores before an edit, what raises a score, what lowers it."""


@cache
def page_style() -> str:
    """The style sheet of all pages."""
    return _colour(read_asset("kit/page.css"), LIGHT, DARK)


@cache
def figure_style() -> str:
    """The style sheet of figures, whose colours follow the page."""
    light = {_series(colour): colour for colour in IN_THE_DARK}
    dark = {_series(colour): other for colour, other in IN_THE_DARK.items()}
    rules = (f".{name}{{--k:var(--{_series(one)})}}" for one, name in COLOUR_CLASSES.items())
    return _colour(read_asset("kit/drawing/figure.css"), light, dark) + "".join(rules)


def _colour(style: str, light: dict[str, str], dark: dict[str, str]) -> str:
    return style.replace("@light", _declare(light)).replace("@dark", _declare(dark))


def themed(colour: str) -> str:
    """A colour of a figure as CSS that follows the page, light or dark."""
    return f"var(--{_series(colour.lower())}, {colour})"


def _series(colour: str) -> str:
    return f"c-{colour.lstrip('#')}"


def _declare(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


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


def signed_scale() -> list[list[Any]]:
    """Colours from what lowers most over nothing at all to what raises most, as plotly takes them.

    Zero is the page itself, light or dark: what is faint is little.
    """
    return [
        [0.0, see_through(LOWER, 1.0)],
        [0.5, see_through(LOWER, 0.0)],
        [0.5, see_through(RAISE, 0.0)],
        [1.0, see_through(RAISE, 1.0)],
    ]


def look(name: str) -> dict[str, Any]:
    """Settings of a figure or a trace that no data change, from ``looks.json``."""
    looks: dict[str, dict[str, Any]] = json.loads(read_asset("kit/looks.json"))
    return looks[name]


def dress(figure: go.Figure, height: int, name: str = "whole", **layout: Any) -> go.Figure:
    """Give a figure the access of all others.

    Parameters
    ----------
    figure : Figure
    height : int
        In pixels; the width is that of the page.
    name : str
        Of its own look.
    **layout
        Further settings of the layout, which follow from what is drawn.
    """
    figure.update_layout(
        template="plotly_white",
        height=height,
        font={"size": 12, "color": "#222"},
        hoverlabel={"align": "left", "namelength": -1},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    )
    figure.update_layout(look(name))
    return figure.update_layout(**layout)


def names_axis(labels: Sequence[str]) -> dict[str, Any]:
    """An upright axis with a name (escaped already) for each bar, the first at the top."""
    return {
        "tickvals": list(range(len(labels))),
        "ticktext": list(labels),
        "range": [len(labels) - 0.4, -0.6],
        "automargin": True,
    }
