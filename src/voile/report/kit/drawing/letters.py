"""Texts of figures: what their few tags mean, how wide they are, where they break.

Plotly's texts have entities and a few tags. Only those are read as tags; all else is text, so a
name can never become an element. Widths are estimates for the widest of common fonts, since
Python has no font to measure with: a text is rather given too much room than cut.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

SIZE = 12.0
"""Height of letters in pixels."""

LEADING = 1.25
"""Distance of two lines, in heights of letters."""

SPLIT = "   |   "
"""Between the two halves of an axis title, which may stand on two lines."""

_TAGS = re.compile(r'(<br ?/?>|</?[bi]>|</?span[^<>"]*>|<span style="[^<>"]*">)')
_COLOUR = re.compile(r"color: ?(#\w+)")
_FONT = re.compile(r"font-size: ?(\d+)px")
_WIDTHS = {
    **dict.fromkeys(" !'(),./:;I[]fijlrt|`\"-", 0.4),
    **dict.fromkeys("MW%@…—Ωm", 1.0),
    **dict.fromkeys("w+=±−→←<>~#&ABCDEFGHJKLNOPQRSTUVXYZ", 0.82),
}


@dataclass(frozen=True)
class Letters:
    """Letters of one kind: plain text, whether bold, a colour ("" for that of the page), a size."""

    text: str
    bold: bool = False
    colour: str = ""
    size: float = SIZE


Line = tuple[Letters, ...]


def read_text(text: str, size: float = SIZE) -> tuple[Line, ...]:
    """Lines of a text in plotly's form.

    Examples
    --------
    >>> [[run.text for run in line] for line in read_text("<b>a &lt;b&gt;</b> c<br><i>d")]
    [['a <b>', ' c'], ['d']]
    """
    lines: list[list[Letters]] = [[]]
    plain = now = Letters("", size=size)
    for piece in _TAGS.split(text):
        if not piece:
            continue
        if not _TAGS.fullmatch(piece):
            lines[-1].append(replace(now, text=html.unescape(piece)))
        elif piece.startswith("<br"):
            lines.append([])
        elif piece in ("<b>", "</b>"):
            now = replace(now, bold=piece == "<b>")
        elif piece.startswith("<span"):
            colour, font = _COLOUR.search(piece), _FONT.search(piece)
            height = float(font[1]) if font else now.size
            now = replace(now, colour=colour[1] if colour else now.colour, size=height)
        elif piece == "</span>":
            now = plain
    return tuple(map(tuple, lines))


def plain_text(text: str) -> str:
    """A text in plotly's form without its tags; its lines stay lines."""
    return "\n".join("".join(run.text for run in line) for line in read_text(text))


def measure(line: Line) -> float:
    """Width of a line in pixels, or a little more."""
    return sum(run.size * sum(map(_width, run.text)) * (1.06 if run.bold else 1) for run in line)


def measure_text(text: str) -> float:
    """Width of plain text in pixels, or a little more."""
    return measure((Letters(text),))


def _width(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.65


def break_title(text: str, room: float) -> tuple[str, ...]:
    """Lines of a title (in plotly's form) in so many pixels: at its halves, then between words."""
    whole = " ".join(plain_text(text).split("\n"))
    if measure_text(whole) <= room:
        return (whole,)
    return tuple(line for half in whole.split(SPLIT) for line in _fill(half, room))


def _fill(text: str, room: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and measure_text(longer) > room:
            yield line
            longer = word
        line = longer
    yield line
