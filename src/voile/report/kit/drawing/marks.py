"""Marks of a panel as elements of SVG."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from voile.report.kit.drawing.chart import (
    DrawnBand,
    DrawnBoxes,
    DrawnLine,
    DrawnPicture,
    DrawnPieces,
    DrawnPoints,
    Floats,
    LegendEntry,
    Mark,
    Stroke,
)
from voile.report.kit.drawing.letters import Letters, measure_text
from voile.report.kit.drawing.svg import (
    Sheet,
    draw_line,
    join,
    runs,
    symbol_path,
    tidy,
    write_lines,
)
from voile.report.kit.pictures import encode_png

SHORTEST = 2.5
"""Pixels of a whisker, at least."""

ACROSS, BESIDE_NAMES = 1000.0, 180.0
"""Pixels that a figure has across, about, and that names leave it on a narrow page."""

_ENDS = {"circle": "o", "square": "q"}

PATTERNS = {"/": "M-1 1l2-2M0 8l8-8M7 9l2-2", ".": "M4 3v2", "x": "M0 0l8 8M0 8l8-8"}
"""What is drawn over bars of a pattern, in squares of eight pixels."""


def draw_mark(sheet: Sheet, mark: Mark) -> tuple[str, str]:
    """A mark as elements: those within the panel, which may be stretched, and those over it."""
    match mark:
        case DrawnLine():
            return _line(sheet, mark), ""
        case DrawnBand():
            return _band(sheet, mark), ""
        case DrawnBoxes():
            return _boxes(sheet, mark), "".join(_on_boxes(sheet, mark))
        case DrawnPieces():
            return _pieces(sheet, mark), ""
        case DrawnPoints():
            return _points(sheet, mark)
        case DrawnPicture():
            return "", _picture(sheet, mark)


def _line(sheet: Sheet, mark: DrawnLine) -> str:
    x, y = sheet.x(mark.x), sheet.y(mark.y)
    path = "".join(draw_line(sheet, x[one], y[one], stepped=mark.stepped) for one in runs(x, y))
    return f'<path{sheet.line_ink(mark.stroke)} d="{path}"/>' if path else ""


def _band(sheet: Sheet, mark: DrawnBand) -> str:
    x, upper, lower = sheet.x(mark.x), sheet.y(mark.upper), sheet.y(mark.lower)
    path = ""
    for one in runs(x, upper, lower):
        there, back = x[one], lower[one][::-1]
        path += draw_line(sheet, there, upper[one], stepped=mark.stepped)
        there = there[::-1]
        if mark.stepped:
            # A step holds until the next point: on the way back, from the point before.
            path += _step_back(sheet, there, back)
        else:
            path += draw_line(sheet, there, back, stepped=False, start="L")
        path += "z"
    ink = sheet.ink(mark.colour, "f", opacity=mark.opacity)
    return f'<path{ink} d="{path}"/>' if path else ""


def _step_back(sheet: Sheet, x: Floats, y: Floats) -> str:
    x, y = sheet.rounded(x), sheet.rounded(y)
    path = f"V{sheet.number(y[0])}"
    for i in range(1, len(x)):
        down, across = float(y[i] - y[i - 1]), float(x[i] - x[i - 1])
        path += f"v{sheet.number(down)}" if down else ""
        path += f"h{sheet.number(across)}" if across else ""
    return path


def _corners(sheet: Sheet, mark: DrawnBoxes) -> Floats:
    """Left, right, top and bottom of boxes, as they are written."""
    left, right = sheet.x(mark.ends[:, 0]), sheet.x(mark.ends[:, 1])
    bottom, top = sheet.y(mark.ends[:, 2]), sheet.y(mark.ends[:, 3])
    sides = [np.minimum(left, right), np.maximum(left, right)]
    sides += [np.minimum(bottom, top), np.maximum(bottom, top)]
    most = [sheet.across, sheet.across, sheet.down, sheet.down]
    return np.column_stack([np.clip(side, 0, end) for side, end in zip(sides, most, strict=True)])


def _boxes(sheet: Sheet, mark: DrawnBoxes) -> str:
    alike: defaultdict[tuple[str, float], list[str]] = defaultdict(list)
    corners = sheet.rounded(_corners(sheet, mark)).tolist()
    for sides, colour, opacity in zip(corners, mark.colours, mark.opacities, strict=True):
        left, right, top, bottom = sides
        wide, high = sheet.number(right - left), sheet.number(bottom - top)
        if "0" not in (wide, high):
            start = join([sheet.number(left), sheet.number(top)])
            alike[colour, opacity].append(f"M{start}h{wide}v{high}h-{wide}z")
    border = mark.border
    kinds = ("f", "e") if border else ("f",)
    width = border.width if border else 0.0
    return "".join(
        f'<path{sheet.ink(colour, *kinds, opacity=opacity, stroke=width)} d="{"".join(paths)}"/>'
        for (colour, opacity), paths in alike.items()
    )


def _on_boxes(sheet: Sheet, mark: DrawnBoxes) -> Iterator[str]:
    """Patterns over boxes, and texts in them."""
    if mark.pattern in PATTERNS:
        name = f"url(#p{list(PATTERNS).index(mark.pattern)})"
        for left, right, top, bottom in _corners(sheet, mark).tolist():
            wide = (right - left) / sheet.across * sheet.width
            size = f"{tidy(100 * wide, 2)}%" if sheet.fluid else tidy(wide)
            x, y = sheet.place(left / sheet.across, top / sheet.down)
            high = tidy((bottom - top) / sheet.down * sheet.height)
            yield f'<rect x="{x}" y="{y}" width="{size}" height="{high}" fill="{name}"/>'
    # Letters on what lets the page through are in its colours, and stand out from what is beneath.
    through = min(mark.opacities, default=1.0) < 1
    for (left, right, top, bottom), text in zip(
        _corners(sheet, mark).tolist(), mark.texts, strict=False
    ):
        if not text:
            continue
        middle = sheet.place((left + right) / 2 / sheet.across, (top + bottom) / 2 / sheet.down)
        # Where cells are narrow, the scale says what they mean.
        share = (right - left) / sheet.across * sheet.width
        fits = share * BESIDE_NAMES > measure_text(text)
        kinds = ["c", *([] if fits else ["w"]), *(["a"] if through else [])]
        about = f' class="{" ".join(kinds)}"' if sheet.fluid else ""
        if not through:
            about += f' fill="{mark.text_colour or "#111"}"'
        elif not sheet.fluid:
            about += ' paint-order="stroke" stroke="white" stroke-width="3"'
        yield write_lines(
            [(Letters(text),)], middle, across="middle", middle=True, fluid=sheet.fluid, about=about
        )


def _pieces(sheet: Sheet, mark: DrawnPieces) -> str:
    path = ""
    x, y = (sheet.rounded(sheet.x(mark.ends[:, i])) for i in (0, 2))
    a, b = (sheet.rounded(sheet.y(mark.ends[:, i])) for i in (1, 3))
    for x0, y0, x1, y1 in zip(x.tolist(), a.tolist(), y.tolist(), b.tolist(), strict=True):
        # What is shorter than this is not seen beside the end of a bar.
        across, down = abs(x1 - x0) / sheet.across * ACROSS, abs(y1 - y0) / sheet.down
        if not across + down * sheet.height >= SHORTEST:
            continue
        number = sheet.number
        path += "M" + join([number(x0), number(y0)])
        if y0 == y1:
            path += f"H{number(x1)}"
        elif x0 == x1:
            path += f"V{number(y1)}"
        else:
            path += "L" + join([number(x1), number(y1)])
    return f'<path{sheet.line_ink(mark.stroke)} d="{path}"/>' if path else ""


def _points(sheet: Sheet, mark: DrawnPoints) -> tuple[str, str]:
    """Circles and squares of a figure that widens are ends of lines of no length, in one path.

    Other symbols stand alone.
    """
    x, y = sheet.x(mark.x), sheet.y(mark.y)
    inside = (x >= -1e-6) & (x <= sheet.across + 1e-6) & (y >= -1e-6) & (y <= sheet.down + 1e-6)
    kind = mark.symbol.split("-open")[0].removesuffix("-dot")
    alike: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for i in np.flatnonzero(inside).tolist():
        alike[mark.colours[i]].append((float(x[i]), float(y[i])))
    within, over = "", ""
    for colour, places in alike.items():
        if kind == "line-ns":
            half = mark.size / 2 * sheet.down / sheet.height
            ends = [[a, b - half, a, b + half] for a, b in places]
            path = "".join(
                f"M{join([sheet.number(a), sheet.number(top)])}V{sheet.number(foot)}"
                for a, top, _, foot in ends
            )
            within += f'<path{sheet.line_ink(Stroke(colour, 2.0))} d="{path}"/>'
        elif mark.symbol in _ENDS and sheet.fluid:
            dots = "".join(f"M{join([sheet.number(a), sheet.number(b)])}h0" for a, b in places)
            ink = sheet.ink(colour, "l", _ENDS[kind], opacity=mark.opacity, stroke=mark.size)
            within += f'<path{ink} d="{dots}"/>'
        else:
            over += _symbols(sheet, places, kind, colour, mark)
    return within, over


def _symbols(
    sheet: Sheet, places: list[tuple[float, float]], kind: str, colour: str, mark: DrawnPoints
) -> str:
    """Symbols of one colour, each in its place."""
    hollow = "-open" in mark.symbol
    inside = f'<path d="{symbol_path(kind, mark.size)}"/>'
    if mark.symbol.endswith("-dot"):
        ink = sheet.ink(colour if hollow else "white", "f")
        inside += f'<path{ink} d="{symbol_path("circle", mark.size / 3)}"/>'
    drawn = ""
    for x, y in places:
        across, down = sheet.place(x / sheet.across, y / sheet.down)
        if sheet.fluid:
            drawn += f'<svg x="{across}" y="{down}">{inside}</svg>'
        else:
            drawn += f'<g transform="translate({across} {down})">{inside}</g>'
    stroke = {"stroke": 1.6} if hollow else {}
    ink = sheet.ink(colour, "l" if hollow else "f", opacity=mark.opacity, **stroke)
    return f"<g{ink}>{drawn}</g>"


def draw_sample(sheet: Sheet, entry: LegendEntry) -> str:
    """A sample of what stands in a figure, for its legend: 24 pixels wide and 12 high."""
    if entry.stroke is None and not entry.symbol:
        box = 'd="M6 0h12v12h-12z"'
        drawn = f"<path{sheet.ink(entry.colour, 'f')} {box}/>"
        if entry.pattern in PATTERNS:
            drawn += f'<path fill="url(#p{list(PATTERNS).index(entry.pattern)})" {box}/>'
        return drawn
    drawn = ""
    if entry.stroke is not None:
        drawn += f'<path{sheet.line_ink(entry.stroke)} d="M0 6h24"/>'
    if entry.symbol == "line-ns":
        drawn += f'<path{sheet.ink(entry.colour, "l", stroke=2)} d="M12 0v12"/>'
    elif entry.symbol:
        kind = entry.symbol.split("-open")[0].removesuffix("-dot")
        ink = sheet.ink(entry.colour, "l" if "-open" in entry.symbol else "f", stroke=1.6)
        drawn += f'<path{ink} transform="translate(12 6)" d="{symbol_path(kind, 8)}"/>'
    return drawn


def _picture(sheet: Sheet, mark: DrawnPicture) -> str:
    data = base64.b64encode(encode_png(mark.pixels)).decode("ascii")
    x, y = sheet.place(0.0, 0.0)
    wide = f"{tidy(100 * sheet.width, 2)}%" if sheet.fluid else tidy(sheet.width)
    return (
        f'<image x="{x}" y="{y}" width="{wide}" height="{tidy(sheet.height)}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{data}"/>'
    )
