"""Elements of SVG: numbers as short as they may be, paths, colours, symbols and texts.

Why an own writer: plotly's own library in every page is five megabytes, and no Python package
brings a smaller one that needs no network; plotly's exports need a whole browser; matplotlib's SVG
follows neither a dark page nor the width of a phone. What is written here stays as text that can
be selected, read out and searched, takes the colours of the page, and widens with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import escape

from voile.report.kit.drawing.chart import Floats, Panel, Stroke
from voile.report.kit.drawing.letters import LEADING, SIZE, Line
from voile.report.kit.theme import COLOUR_CLASSES

_DASHES = {"dash": "7 5", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "11 5"}
_FAR = 2.0
"""How far beyond a panel lines are drawn, in its heights: nobody sees more."""


@dataclass(frozen=True)
class Sheet:
    """Where a panel lies, and how places in it are written.

    Attributes
    ----------
    panel : Panel
    left, top, width, height : float
        In pixels; across in parts of the figure if `fluid`.
    across, down : float
        The panel in the units of its paths.
    fluid : bool
        Whether the figure widens with the page: its paths are then stretched, its other elements
        placed by percent, and its colours those of the page.
    """

    panel: Panel
    left: float
    top: float
    width: float
    height: float
    across: float
    down: float
    fluid: bool

    def x(self, values: Sequence[float] | Floats) -> Floats:
        """Places along paths; infinite ones are the borders."""
        return np.clip(self.panel.x.along(values), -_FAR, 1 + _FAR) * self.across

    def y(self, values: Sequence[float] | Floats) -> Floats:
        """Places down paths; infinite ones are the borders."""
        return (1 - np.clip(self.panel.y.along(values), -_FAR, 1 + _FAR)) * self.down

    def number(self, value: float) -> str:
        """A place in a path."""
        return str(round(value)) if self.fluid else tidy(value)

    def rounded(self, values: Floats) -> Floats:
        """Places as they are written."""
        return np.round(values, 0 if self.fluid else 1)

    def place(self, x: float, y: float) -> tuple[str, str]:
        """A place in parts of the panel (from its left and top) as it is written in elements."""
        across = self.left + x * self.width
        return (f"{tidy(100 * across, 2)}%" if self.fluid else tidy(across)), tidy(
            self.top + y * self.height
        )

    def aside(self, pixels: float) -> tuple[str, str]:
        """A place so many pixels left of the panel: across, and further attributes for it."""
        if not self.fluid:
            return tidy(self.left - pixels), ""
        shift = f"-{tidy(pixels)}" if pixels else "0"
        if not self.left:
            return shift, ""
        return self.place(0, 0)[0], f' dx="{shift}"' if pixels else ""

    def ink(self, colour: str, *kinds: str, opacity: float = 1.0, stroke: float = 0.0) -> str:
        """Attributes that give an element its colour: "f" fills it, "l" draws its line."""
        key = colour.lower()
        given = f' opacity="{opacity:.2g}"' if opacity < 1 else ""
        given += (
            f' stroke-width="{stroke:g}"' if stroke and not (self.fluid and stroke == 2) else ""
        )
        if self.fluid:
            known = COLOUR_CLASSES.get(key)
            names = " ".join([*kinds, *([known] if known else [])])
            return f' class="{names}"' + ("" if known else f' style="--k:{key}"') + given
        fill = key if "f" in kinds else "none"
        line = f' stroke="{key}"' if "l" in kinds else ' stroke="white"' if "e" in kinds else ""
        return f' fill="{fill}"{line}{given}'

    def line_ink(self, stroke: Stroke) -> str:
        """Attributes of a line."""
        dash = _DASHES.get(stroke.dash)
        given = f' stroke-dasharray="{dash}"' if dash else ""
        return self.ink(stroke.colour, "l", opacity=stroke.opacity, stroke=stroke.width) + given


def tidy(value: float, digits: int = 1) -> str:
    """A number with few decimals, and none that say nothing."""
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def join(numbers: Iterable[str]) -> str:
    """Numbers one after another, apart where they need it."""
    text = ""
    for one in numbers:
        text += f" {one}" if text and one[0] != "-" else one
    return text


def draw_line(sheet: Sheet, x: Floats, y: Floats, *, stepped: bool, start: str = "M") -> str:
    """The path of one line without gaps."""
    x, y = sheet.rounded(x), sheet.rounded(y)
    number = sheet.number
    path = start + join([number(x[0]), number(y[0])])
    moves = []
    for across, down in zip(np.diff(x).tolist(), np.diff(y).tolist(), strict=True):
        if stepped:
            path += (f"h{number(across)}" if across else "") + (f"v{number(down)}" if down else "")
        else:
            moves += [number(across), number(down)]
    return path + (f"l{join(moves)}" if moves else "")


def runs(*lines: Floats) -> Iterable[slice]:
    """Stretches without gaps that all lines share."""
    whole = np.isfinite(np.array(lines)).all(axis=0)
    edges = np.flatnonzero(np.diff(np.r_[0, whole.astype(int), 0]))
    return (slice(a, b) for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def symbol_path(name: str, size: float) -> str:
    """The outline of a symbol of so many pixels around the origin."""
    r = size / 2
    corners = {
        "square": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "diamond": [(0, -1.25 * r), (1.25 * r, 0), (0, 1.25 * r), (-1.25 * r, 0)],
        "triangle-up": [(0, -1.2 * r), (1.15 * r, 0.8 * r), (-1.15 * r, 0.8 * r)],
        "triangle-down": [(0, 1.2 * r), (1.15 * r, -0.8 * r), (-1.15 * r, -0.8 * r)],
        "star": [
            (k * 1.3 * r * math.sin(math.pi * i / 5), -k * 1.3 * r * math.cos(math.pi * i / 5))
            for i in range(10)
            for k in ((1.0, 0.42)[i % 2],)
        ],
        "x": [
            (s * a * r, t * b * r)
            for s, t, way in ((1, -1, 1), (1, 1, -1), (-1, 1, 1), (-1, -1, -1))
            for a, b in ((0.35, 1.0), (1.0, 0.35))[::way][:2]
        ],
    }.get(name)
    if corners is None:
        text = tidy(r)
        return (
            f"M-{text} 0a{text} {text} 0 1 0 {tidy(2 * r)} 0a{text} {text} 0 1 0-{tidy(2 * r)} 0z"
        )
    return "M" + join(tidy(part) for corner in corners for part in corner) + "z"


def write_lines(
    lines: Sequence[Line],
    place: tuple[str, str],
    *,
    across: str = "",
    middle: bool = False,
    fluid: bool,
    about: str = "",
) -> str:
    """A text of one or several lines as an element.

    Parameters
    ----------
    lines : sequence of Line
    place : tuple of str
        Of its first line's foot, or of its middle.
    across : str
        Which of its ends is at the place: "start", "middle", "end", or "" for that of its group.
    middle : bool
        Whether it stands around its place rather than begins there.
    fluid : bool
        Whether colours are those of the page.
    about : str
        Further attributes.
    """
    x, y = place
    step = LEADING * SIZE
    first = float(y) + (0.34 * SIZE - step * (len(lines) - 1) / 2 if middle else 0.0)
    anchor = f' text-anchor="{across}"' if across else ""
    pieces = []
    for i, line in enumerate(lines):
        inside = "".join(
            _write_run(run.text, run.bold, run.colour, run.size, fluid) for run in line
        )
        if len(lines) == 1:
            pieces.append(inside)
        elif inside:
            pieces.append(f'<tspan x="{x}" y="{tidy(first + i * step)}">{inside}</tspan>')
    return f'<text x="{x}" y="{tidy(first)}"{anchor}{about}>{"".join(pieces)}</text>'


def _write_run(text: str, bold: bool, colour: str, size: float, fluid: bool) -> str:
    given = ' font-weight="bold"' if bold else ""
    given += f' font-size="{size:g}"' if size != SIZE else ""
    if colour:
        name = COLOUR_CLASSES.get(colour.lower())
        given += f' class="f {name}"' if fluid and name else f' fill="{colour}"'
    return f"<tspan{given}>{escape(text)}</tspan>" if given else str(escape(text))
