"""The frame of all pages: one HTML file with everything inside, and the receipt at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from voile.privacy.receipt import Receipt
from voile.rendering import frames
from voile.report.kit.assets import read_asset
from voile.report.kit.budget import show_budget
from voile.report.kit.drawing import forms
from voile.report.kit.drawing.fluid import pattern_definitions
from voile.report.kit.html import ENVIRONMENT
from voile.report.kit.room import limited
from voile.report.kit.theme import figure_style, page_style

MOST_FRAMED = 150_000
"""Bytes of a page within another."""

ROOMS = (80_000, 50_000, 25_000, 5_000)
"""Characters for the pieces of a page that is too large, tried one after another."""


@dataclass(frozen=True)
class Section:
    """One part of a page under a heading of the second level.

    Attributes
    ----------
    title : str
        Plain text.
    anchor : str
        Where a link finds it; letters, digits and hyphens, unique in a page.
    body : Markup
    inner : tuple of (str, str)
        Anchors and titles (plain text) of headings within that the contents list, too.
    """

    title: str
    anchor: str
    body: Markup
    inner: tuple[tuple[str, str], ...] = ()


def compose_page(
    title: str, body: Markup, receipt: Receipt, *, cost: str = "", holds_rows: bool = False
) -> str:
    """Put a page together.

    Parameters
    ----------
    title : str
        Plain text.
    body : Markup
    receipt : Receipt
        Shown at the end, with its budget bar.
    cost : str
        A sentence on what this page itself cost, plain text.
    holds_rows : bool
        Whether rows that a caller asked about can be read on the page.
    """
    inside = ENVIRONMENT.get_template("kit/page.html").render(
        title=title,
        body=body,
        receipt=receipt,
        budget=show_budget(receipt),
        cost=cost,
        holds_rows=holds_rows,
    )
    return compose_document(title, Markup(inside))


def compose_document(title: str, inside: Markup, *, before: str = "", style: str = "") -> str:
    """Put the parts of any page into one HTML document, which needs nothing but itself.

    Parameters
    ----------
    title : str
        Plain text.
    inside : Markup
        The page from its first heading on.
    before : str
        HTML that comes first of all: a link to skip what is repeated.
    style : str
        CSS beside that of all pages.
    """
    return ENVIRONMENT.get_template("kit/document.html").render(
        title=title,
        style=Markup(page_style() + figure_style() + style),
        script=Markup(read_asset("kit/theme.js") + read_asset("kit/drawing/figure.js")),
        patterns=pattern_definitions() if "url(#p" in inside else "",
        before=before,
        inside=inside,
    )


__all__ = ["Section", "compose_document", "compose_page", "forms", "frame_page"]


@frames
def frame_page(draw: Callable[[], str]) -> str:
    """A page as part of another, such as a notebook: neither can disturb the other.

    A notebook holds many: a page that is too large for it has fewer pieces, and says so.
    """
    whole = _frame(draw())
    for room in ROOMS:
        if len(whole.encode(errors="backslashreplace")) <= MOST_FRAMED:
            break
        with limited(room):
            whole = _frame(draw())
    return whole


def _frame(page: str) -> str:
    # Within single quotes, most of a page stands as it is.
    inside = page.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;")
    return ENVIRONMENT.get_template("kit/frame.html").render(page=Markup(inside))
