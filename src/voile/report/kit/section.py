"""A section of a page: a heading with what stands beneath, and the table of contents over them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """One part of a page under a heading of the second level.

    Attributes
    ----------
    title : str
        Plain text.
    anchor : str
        Where a link finds it; letters, digits and hyphens, unique in a page.
    parts : tuple of str
        HTML, in order.
    inner : tuple of (str, str)
        Anchors and titles (plain text) of headings within that the contents list, too.
    """

    title: str
    anchor: str
    parts: tuple[str, ...]
    inner: tuple[tuple[str, str], ...] = ()


def place_plainly(sections: Iterable[Section]) -> list[str]:
    """Sections one after the other, as HTML without anchors: for pages that are short."""
    placed: list[str] = []
    for one in sections:
        placed += [f"<h2>{html.escape(one.title)}</h2>", *one.parts]
    return placed


def place_linked(sections: Iterable[Section]) -> list[str]:
    """Sections one after the other, each of which a link can find."""
    placed: list[str] = []
    for one in sections:
        name = f"{one.anchor}-title"
        placed += [
            f'<section id="{one.anchor}" aria-labelledby="{name}">',
            f'<h2 id="{name}">{html.escape(one.title)}</h2>',
            *one.parts,
            "</section>",
        ]
    return placed


def place_contents(sections: Sequence[Section]) -> str:
    """The table of contents, as HTML."""
    lines = "".join(
        f"<li>{_link(one.anchor, one.title)}{_place_inner(one.inner)}</li>" for one in sections
    )
    return f'<nav aria-label="Contents" class="contents"><h2>Contents</h2><ol>{lines}</ol></nav>'


def _place_inner(inner: tuple[tuple[str, str], ...]) -> str:
    if not inner:
        return ""
    lines = "".join(f"<li>{_link(anchor, title)}</li>" for anchor, title in inner)
    return f"<ul>{lines}</ul>"


def _link(anchor: str, title: str) -> str:
    return f'<a href="#{anchor}">{html.escape(title)}</a>'
