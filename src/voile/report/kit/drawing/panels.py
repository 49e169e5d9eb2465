"""Panels of a figure with all that is around them: lines across, numbers, names and titles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voile.report.kit.drawing.arranging import HEAD, LINE
from voile.report.kit.drawing.chart import Chart, FigureText, Panel, Stroke
from voile.report.kit.drawing.letters import (
    SIZE,
    Letters,
    break_title,
    read_text,
)
from voile.report.kit.drawing.marks import draw_mark
from voile.report.kit.drawing.svg import Sheet, tidy, write_lines
from voile.report.kit.drawing.ticks import Tick, find_ticks, width

GAP = 6.0
"""Pixels between a panel and what stands beside it."""

GRID = "#dddddd"


@dataclass(frozen=True)
class Around:
    """Pixels around the panels of a figure."""

    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Beneath:
    """What stands beneath one panel at one width.

    Attributes
    ----------
    ticks : tuple of Tick
        Where lines cross the panel.
    title : tuple of str
        Lines of its title.
    lines : int
        How many lines the texts of ticks have; 0 if they are not written there.
    """

    ticks: tuple[Tick, ...]
    title: tuple[str, ...]
    lines: int

    @property
    def height(self) -> float:
        """Pixels of ticks and title together."""
        return LINE * self.lines + (LINE * len(self.title) + 2 if self.title else 0) + GAP


def look_beneath(panel: Panel, room: float) -> Beneath:
    """What stands beneath a panel, if all panels together have so many pixels."""
    wide = room * (panel.right - panel.left)
    ticks = find_ticks(panel.x, wide, upright=False)
    title = break_title(panel.x.title, wide) if panel.x.title else ()
    lines = max((len(tick.lines) for tick in ticks), default=0) if panel.x.labels else 0
    return Beneath(ticks, title, lines)


def share_beneath(wide: Beneath, narrow: Beneath) -> dict[str, Beneath]:
    """What stands beneath a panel on wide and narrow pages ("w", "n"), and on all ("")."""
    shared = tuple(tick for tick in wide.ticks if tick in narrow.ticks)
    title = wide.title if wide.title == narrow.title else ()
    parts = {"": Beneath(shared, title, wide.lines)}
    for key, one in (("w", wide), ("n", narrow)):
        own = tuple(tick for tick in one.ticks if tick not in shared)
        parts[key] = Beneath(own, () if title else one.title, one.lines)
    return {key: one for key, one in parts.items() if one.ticks or one.title}


def upright_ticks(chart: Chart, panel: Panel) -> tuple[Tick, ...]:
    """What stands at the left of a panel."""
    return find_ticks(panel.y, chart.height * (panel.top - panel.bottom), upright=True)


def measure_around(chart: Chart, room: float) -> Around:
    """What a figure needs around its panels.

    Parameters
    ----------
    chart : Chart
    room : float
        Pixels across, the surroundings included.
    """
    aside = [0.0]
    for panel in chart.panels:
        if panel.left < 0.01 and panel.y.labels:
            aside += [width(tick) + GAP for tick in upright_ticks(chart, panel)]
    headed = max(panel.headed for panel in chart.panels if panel.top > 0.99)
    top = LINE * headed + HEAD
    left, right = max(max(aside), GAP), 12.0
    bottom = GAP
    for panel in chart.panels:
        below = look_beneath(panel, room - left - right)
        if panel.bottom < 0.01:
            bottom = max(bottom, below.height)
        wide = (room - left - right) * (panel.right - panel.left)
        for tick in below.ticks if below.lines else ():
            beyond = width(tick) / 2 - wide * (1 - tick.at)
            if panel.right > 0.99:
                right = max(right, beyond + 4)
            if panel.left < 0.01:
                left = max(left, width(tick) / 2 - wide * tick.at + 2)
    return Around(left, right, top, bottom)


def draw_panel(
    chart: Chart, sheet: Sheet, around: Around, beneath: Mapping[str, Beneath]
) -> tuple[str, str]:
    """A panel with its surroundings: what lies within it, and what lies over and around it.

    Parameters
    ----------
    chart : Chart
    sheet : Sheet
    around : Around
    beneath : mapping of str to Beneath
        What stands beneath it, by the class of widths at which it does ("" for all).
    """
    panel = sheet.panel
    within, over = "", ""
    if panel.backdrop:
        within += _whole(sheet, panel.backdrop)
    up = upright_ticks(chart, panel)
    number = sheet.number
    for name, below in beneath.items():
        places = [tick.at * sheet.across for tick in below.ticks] if panel.x.grid else []
        path = "".join(f"M{number(at)} 0v{number(sheet.down)}" for at in places)
        within += _grid(sheet, path, name)
    if panel.y.grid:
        places = [(1 - tick.at) * sheet.down for tick in up]
        path = "".join(f"M0 {number(at)}h{number(sheet.across)}" for at in places)
        within += _grid(sheet, path, "")
    within += _zero_lines(sheet)
    for mark in panel.marks:
        inside, above = draw_mark(sheet, mark)
        within, over = within + inside, over + above
    over += _write_upright(sheet, up, around)
    for name, below in beneath.items():
        over += _write_beneath(sheet, below, name)
    return within, over


def _whole(sheet: Sheet, colour: str) -> str:
    wide, high = sheet.number(sheet.across), sheet.number(sheet.down)
    return f'<path{sheet.ink(colour, "f")} d="M0 0h{wide}v{high}h-{wide}z"/>'


def _grid(sheet: Sheet, path: str, name: str) -> str:
    if not path:
        return ""
    if sheet.fluid:
        return f'<path class="{f"g {name}".strip()}" d="{path}"/>'
    return f'<path stroke="{GRID}" fill="none" d="{path}"/>'


def _zero_lines(sheet: Sheet) -> str:
    drawn = ""
    for axis, upright in ((sheet.panel.x, True), (sheet.panel.y, False)):
        if not axis.zero or axis.log or not 0 <= float(axis.along([0.0])[0]) <= 1:
            continue
        at = (sheet.x if upright else sheet.y)([0.0])[0]
        path = f"M{sheet.number(at)} 0V{sheet.number(sheet.down)}"
        if not upright:
            path = f"M0 {sheet.number(at)}H{sheet.number(sheet.across)}"
        drawn += f'<path{sheet.line_ink(Stroke(axis.zero, 1.5))} d="{path}"/>'
    return drawn


def _write_upright(sheet: Sheet, ticks: Sequence[Tick], around: Around) -> str:
    """Numbers or names at the left of a panel, or names in it, and the title above it."""
    axis, drawn = sheet.panel.y, ""
    if axis.labels:
        x, about = sheet.aside(GAP)
        for tick in ticks:
            place = (x, sheet.place(0, 1 - tick.at)[1])
            drawn += write_lines(tick.lines, place, middle=True, fluid=sheet.fluid, about=about)
        drawn = f'<g text-anchor="end">{drawn}</g>'
    if sheet.panel.caption:
        lines = read_text(sheet.panel.caption)
        x, _ = sheet.place(0.5, 0)
        place = (x, tidy(sheet.top - 7 - LINE * (len(lines) - 1)))
        drawn += write_lines(lines, place, across="middle", fluid=sheet.fluid)
    if axis.title:
        # At the very left of the figure, or of its panel.
        x, about = sheet.aside(around.left - 2 if sheet.panel.left < 0.01 else 0)
        whole = (Letters(" ".join(break_title(axis.title, math.inf))),)
        drawn += write_lines([whole], (x, tidy(sheet.top - 7)), fluid=sheet.fluid, about=about)
    return drawn


def _write_beneath(sheet: Sheet, below: Beneath, name: str) -> str:
    about = f' class="{name}"' if name else ""
    foot = sheet.height + SIZE + 4
    texts = []
    for tick in below.ticks if below.lines else ():
        x, y = sheet.place(tick.at, foot / sheet.height)
        texts.append(write_lines(tick.lines, (x, y), fluid=sheet.fluid))
    x, y = sheet.place(0.5, (foot + LINE * below.lines + 2) / sheet.height)
    if below.title:
        lines = [(Letters(line),) for line in below.title]
        texts.append(write_lines(lines, (x, y), fluid=sheet.fluid))
    return f'<g text-anchor="middle"{about}>{"".join(texts)}</g>' if texts else ""


def write_notes(notes: Sequence[FigureText], whole: Sheet) -> str:
    """Texts in a figure, placed in parts of all its panels together."""
    drawn = {True: "", False: ""}
    for note in notes:
        lines = read_text(note.text, note.size)
        x, y = whole.place(note.x, 1 - note.y)
        above = LINE * (len(lines) - 1) if note.above or note.name else 0
        above += 4 if note.above else 0
        drawn[note.name] += write_lines(
            lines,
            (x, tidy(float(y) - above)),
            across="" if note.name else note.across,
            middle=not note.above and not note.name,
            fluid=whole.fluid,
            about=whole.ink(note.colour, "f") if note.colour else "",
        )
    names = f'<g class="a">{drawn[True]}</g>' if drawn[True] and whole.fluid else drawn[True]
    return drawn[False] + names
