"""Figures of pages: SVG that widens with the page, in its colours, with hints to point at.

A figure is drawn once, in percents of its width: a browser stretches its paths and keeps lines and
letters as they are. Only what would not fit a phone is there twice, for wide and narrow pages: the
numbers of an axis, and, where names are long, a form with names above what they name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup, escape

from voile.report.kit.assets import write_data
from voile.report.kit.drawing.arranging import stack_names
from voile.report.kit.drawing.chart import Axis, Chart, ColourScale, LegendEntry, Panel
from voile.report.kit.drawing.colours import ColourStop
from voile.report.kit.drawing.marks import PATTERNS, draw_sample
from voile.report.kit.drawing.panels import (
    Around,
    Beneath,
    draw_panel,
    look_beneath,
    measure_around,
    share_beneath,
    write_notes,
)
from voile.report.kit.drawing.reading import read_chart
from voile.report.kit.drawing.svg import Sheet, tidy
from voile.report.kit.drawing.ticks import scale_texts
from voile.report.kit.theme import themed

WIDE, NARROW = 561.0, 300.0
"""Pixels that a wide and a narrow page have for a figure, at least; `figure.css` has the border."""

LONG_NAMES = 150.0
"""Pixels of names beyond which a narrow page has them above what they name."""

ACROSS, DOWN = 2000.0, 2.0
"""Units of a panel's width, and of a pixel of its height, in its paths."""

_WHOLE = Panel(Axis(0, 1), Axis(0, 1), 0.0, 1.0, 0.0, 1.0, ())


def draw_fluid(figure: go.Figure, name: str, rows: Sequence[str] | None = ()) -> Markup:
    """A figure as HTML.

    Parameters
    ----------
    figure : Figure
    name : str
        Unique in the page: letters, digits and hyphens.
    rows : sequence of str, or None
        First cells of the table that follows the figure in the page. Where all hints are about
        them, rows of the table are shown, and not written twice. None for no hints at all.
    """
    chart = read_chart(figure)
    named = any(panel.y.named for panel in chart.panels) and not chart.square
    if named and chart.by != "cells" and measure_around(chart, WIDE).left > LONG_NAMES:
        plots = _draw_plot(chart, {"w": WIDE}) + _draw_plot(stack_names(chart), {"n": NARROW})
    else:
        plots = _draw_plot(chart, {"w": WIDE, "n": NARROW})
    inside = _draw_legend(chart.legend) + plots + _draw_scale(chart.scale)
    if chart.hints and rows is not None:
        data = write_data(_describe_hints(chart, rows))
        inside += f'<script type="application/json">{data}</script>'
    return Markup(f'<div class="drawn" id="{name}">{inside}</div>')


def _describe_hints(chart: Chart, rows: Sequence[str]) -> dict[str, Any]:
    """Places in thousandths from the left and top, and which lines, or row of a table, is told.

    Lines are there once: many hints share a name.
    """
    data: dict[str, Any] = {"by": chart.by}
    if chart.by == "cells":
        data["half"] = [[round(1000 * half) for half in one.half] for one in chart.hints]
    places = [[round(1000 * one.x), round(1000 * (1 - one.y))] for one in chart.hints]
    known = {" ".join(row.split()): i for i, row in enumerate(rows)}
    if len(known) == len(rows) and all(one.lines[0] in known for one in chart.hints):
        told = [[known[one.lines[0]]] for one in chart.hints]
        return {**data, "all": [a + b for a, b in zip(places, told, strict=True)]}
    lines = {line: None for one in chart.hints for line in one.lines}
    order = {line: i for i, line in enumerate(lines)}
    told = [[order[line] for line in one.lines] for one in chart.hints]
    both = [a + b for a, b in zip(places, told, strict=True)]
    return {**data, "lines": list(lines), "all": both}


def _draw_plot(chart: Chart, rooms: Mapping[str, float]) -> str:
    """The panels, for pages of some widths."""
    arounds = [measure_around(chart, room) for room in rooms.values()]
    left, right = max(one.left for one in arounds), max(one.right for one in arounds)
    around = Around(left, right, arounds[0].top, 0.0)
    heights = dict.fromkeys(rooms, 0.0)
    inside, only = "", next(iter(rooms))
    for panel in chart.panels:
        below = {key: look_beneath(panel, room - left - right) for key, room in rooms.items()}
        for key, one in below.items():
            heights[key] = max(heights[key], one.height if panel.bottom < 0.01 else 0.0)
        below = share_beneath(*below.values()) if len(below) > 1 else {"": below[only]}
        inside += _nest(chart, _sheet(chart, panel, around), around, below)
    inside += write_notes(chart.notes, _sheet(chart, _WHOLE, around))
    tall = [tidy(around.top + chart.height + heights[key]) for key in rooms]
    style = f"--h:{tall[0]}px;--n:{tall[-1]}px;padding:0 {tidy(right)}px 0 {tidy(left)}px"
    if chart.square:
        style += f";max-width:{tidy(left + right + chart.height * chart.square)}px"
    kind = "plot" if len(rooms) > 1 else f"plot {only}"
    place = f'data-top="{tidy(around.top)}" data-high="{tidy(chart.height)}"'
    return f'<div class="{kind}" style="{style}"><svg {place}>{inside}</svg></div>'


def _sheet(chart: Chart, panel: Panel, around: Around) -> Sheet:
    height = chart.height * (panel.top - panel.bottom)
    top = around.top + chart.height * (1 - panel.top)
    width = panel.right - panel.left
    return Sheet(panel, panel.left, top, width, height, ACROSS, DOWN * height, fluid=True)


def _nest(chart: Chart, sheet: Sheet, around: Around, below: Mapping[str, Beneath]) -> str:
    """A panel: what is stretched lies in an element of its own, which also cuts off its lines."""
    within, over = draw_panel(chart, sheet, around, below)
    x, y = sheet.place(0, 0)
    wide, high = f"{tidy(100 * sheet.width, 2)}%", tidy(sheet.height)
    box = f"0 0 {tidy(sheet.across)} {tidy(sheet.down)}"
    return (
        f'<svg class="in" x="{x}" y="{y}" width="{wide}" height="{high}" viewBox="{box}" '
        f'preserveAspectRatio="none">{within}</svg>{over}'
    )


def _draw_legend(entries: tuple[LegendEntry, ...]) -> str:
    if not entries:
        return ""
    sheet = Sheet(_WHOLE, 0, 0, 24, 12, 24, 12, fluid=True)
    samples = (f'<svg width="24" height="12">{draw_sample(sheet, one)}</svg>' for one in entries)
    names = (escape(entry.name) for entry in entries)
    items = "".join(f"<li>{one}{name}</li>" for one, name in zip(samples, names, strict=True))
    return f'<ul class="legend">{items}</ul>'


def _draw_scale(scale: ColourScale | None) -> str:
    """What colours of cells mean; left out on wide pages where every cell says its number."""
    if scale is None:
        return ""
    stops = ",".join(f"{_paint(one, scale)} {100 * one.at:g}%" for one in scale.stops)
    low, high = scale_texts(scale.low, scale.high)
    title = f"<span>{escape(scale.title)}</span>" if scale.title else ""
    bar = f'{low}<i style="background:linear-gradient(to right,{stops})"></i>{high}'
    bar = f'{title}<span class="scale">{bar}</span>' if title else bar
    return f'<p class="scale{"" if scale.needed else " n"}">{bar}</p>'


def _paint(stop: ColourStop, scale: ColourScale) -> str:
    """A colour of a scale as CSS; where a scale lets the page through, it is in its colours."""
    if all(one.opacity == 1 for one in scale.stops):
        return stop.colour
    return themed(stop.colour) if stop.opacity else "transparent"


def pattern_definitions() -> Markup:
    """What bars of a pattern refer to, once in a page."""
    drawn = "".join(
        f'<pattern id="p{i}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path class="l k-page" stroke-width="1.5" stroke-linecap="round" d="{path}"/></pattern>'
        for i, path in enumerate(PATTERNS.values())
    )
    return Markup(f'<svg class="patterns" aria-hidden="true">{drawn}</svg>')
