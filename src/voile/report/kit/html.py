"""Jinja2, set up once for all pages: every value is escaped, unless it is HTML already."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

REPORT = Path(__file__).parents[1]
"""Where pages lie, each with its template beside it."""

_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


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


@cache
def read_asset(name: str) -> str:
    """The text of a style sheet or script of this package."""
    return (REPORT / name).read_text(encoding="utf-8")


def draw_figure(figure: go.Figure, name: str) -> Markup:
    """A figure as HTML; its name is unique in the page: letters, digits and hyphens."""
    return Markup(
        figure.to_html(
            include_plotlyjs=False,
            full_html=False,
            div_id=name,
            # The bar of buttons has one that uploads the figure.
            config={"displayModeBar": False, "responsive": True, "showTips": False},
        )
    )


def write_data(data: Any) -> Markup:
    """Plain data for a script, written so that no name in it can end or begin anything.

    Dictionaries, lists, text, finite numbers and None.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)
    return Markup(text)


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
