"""The look of all pages, light and dark: colours, style sheet, and the script behind figures."""

from __future__ import annotations

import json
from functools import cache

from voile.report.kit.html import read_asset
from voile.report.kit.palette import IN_THE_DARK

LIGHT = {
    "page": "#ffffff",
    "ink": "#222222",
    "soft": "#555555",
    "line": "#dddddd",
    "edge": "#8a8a8a",
    "box": "#f4f4f2",
    "link": "#005a9c",
    "focus": "#0072b2",
    "raise": "#d55e00",
    "lower": "#0072b2",
    "alarm": "#a83f00",
}
"""Colours of a page by their use; every text has a contrast of 4.5 to 1 or more on page and box."""

DARK = {
    "page": "#14171c",
    "ink": "#e8eaed",
    "soft": "#b4bbc5",
    "line": "#3a414b",
    "edge": "#7d8794",
    "box": "#20252d",
    "link": "#7cc4f5",
    "focus": "#a3dcff",
    "raise": "#ff8a4c",
    "lower": "#4aa3df",
    "alarm": "#ff9c66",
}


@cache
def page_style() -> str:
    """The style sheet of all pages."""
    text = read_asset("kit/page.css")
    light = {**LIGHT, **{_series(colour): colour for colour in IN_THE_DARK}}
    dark = {**DARK, **{_series(colour): other for colour, other in IN_THE_DARK.items()}}
    return text.replace("@light", _declare(light)).replace("@dark", _declare(dark))


@cache
def theme_script() -> str:
    """The script that draws figures in the colours of the page, and for print in light ones."""
    return read_asset("kit/theme.js").replace('"@dark"', json.dumps(IN_THE_DARK))


def themed(colour: str) -> str:
    """A colour of a figure as CSS that follows the page, light or dark."""
    return f"var(--{_series(colour.lower())}, {colour})"


def _series(colour: str) -> str:
    return f"c-{colour.lstrip('#')}"


def _declare(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours.items())
