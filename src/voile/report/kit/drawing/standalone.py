"""Figures as SVG files: light, of one width, for papers and for programs that draw."""

from __future__ import annotations

import zlib
from dataclasses import replace

from voile.report.kit.drawing.arranging import LINE, fit_height, space_rows, stack_names
from voile.report.kit.drawing.chart import Axis, Chart, ColourScale, LegendEntry, Panel
from voile.report.kit.drawing.letters import Letters, measure_text
from voile.report.kit.drawing.marks import PATTERNS, draw_sample
from voile.report.kit.drawing.panels import (
    Around,
    draw_panel,
    look_beneath,
    measure_around,
    write_notes,
)
from voile.report.kit.drawing.svg import Sheet, tidy, write_lines
from voile.report.kit.drawing.ticks import scale_texts

PIXELS = 96 / 2.54
"""Of a centimetre."""

MOST_NAMES = 0.36
"""Part of the width beyond which names stand above what they name."""

_WHOLE = Panel(Axis(0, 1), Axis(0, 1), 0.0, 1.0, 0.0, 1.0, ())
_SAMPLE, _BETWEEN = 30.0, 16.0


def arrange(chart: Chart, room: float) -> Chart:
    """A chart as it fits so many pixels."""
    chart = space_rows(fit_height(chart, room))
    around = measure_around(chart, room)
    if chart.square:
        inner = room - around.left - around.right
        return space_rows(replace(chart, height=min(chart.height, inner / chart.square)))
    named = any(panel.y.named for panel in chart.panels) and chart.by != "cells"
    return stack_names(chart) if named and around.left > MOST_NAMES * room else chart


def draw_standalone(chart: Chart, width: float) -> str:
    """A whole file; ``width`` in centimetres."""
    room = width * PIXELS
    chart = arrange(chart, room)
    around = measure_around(chart, room)
    legend, top = _draw_legend(chart.legend, room)
    inner = room - around.left - around.right
    if chart.square:
        inner = min(inner, chart.height * chart.square)
    around = replace(around, top=around.top + top)
    inside, bottom = legend, 0.0
    for i, panel in enumerate(chart.panels):
        below = look_beneath(panel, inner)
        bottom = max(bottom, below.height if panel.bottom < 0.01 else 0.0)
        sheet = _sheet(chart, panel, around, inner)
        within, over = draw_panel(chart, sheet, around, {"": below})
        inside += _clip(sheet, within, i) + over
    inside += write_notes(chart.notes, _sheet(chart, _WHOLE, around, inner))
    height = around.top + chart.height + bottom + 2
    if chart.scale is not None and chart.scale.needed:
        inside += _draw_scale(chart.scale, min(around.left, max(room - 240, 2)), height)
        height += (3 if chart.scale.title else 2) * LINE
    size = f'width="{tidy(width * 10, 2)}mm" height="{tidy(height / PIXELS * 10, 2)}mm"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {tidy(room)} {tidy(height)}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222222">'
        f'<rect width="100%" height="100%" fill="white"/>{_define_patterns(inside)}{inside}</svg>\n'
    )


def _sheet(chart: Chart, panel: Panel, around: Around, inner: float) -> Sheet:
    wide, high = inner * (panel.right - panel.left), chart.height * (panel.top - panel.bottom)
    left = around.left + inner * panel.left
    top = around.top + chart.height * (1 - panel.top)
    return Sheet(panel, left, top, wide, high, wide, high, fluid=False)


def _clip(sheet: Sheet, within: str, position: int) -> str:
    # Several files may be put into one document: their names must differ.
    name = f"c{zlib.crc32(within.encode()):x}-{position}"
    wide, high = tidy(sheet.width), tidy(sheet.height)
    return (
        f'<clipPath id="{name}"><rect width="{wide}" height="{high}"/></clipPath>'
        f'<g transform="translate({tidy(sheet.left)} {tidy(sheet.top)})" '
        f'clip-path="url(#{name})">{within}</g>'
    )


def _draw_legend(entries: tuple[LegendEntry, ...], room: float) -> tuple[str, float]:
    """The legend in as many lines as it needs, and its height."""
    drawn, x, y = "", 2.0, 0.0
    for entry in entries:
        wide = _SAMPLE + measure_text(entry.name)
        if x > 2 and x + wide > room:
            x, y = 2.0, y + LINE + 2
        sample = draw_sample(Sheet(_WHOLE, 0, 0, 24, 12, 24, 12, fluid=False), entry)
        drawn += f'<g transform="translate({tidy(x)} {tidy(y + 4)})">{sample}</g>'
        place = (tidy(x + _SAMPLE), tidy(y + 14))
        drawn += write_lines([(Letters(entry.name),)], place, fluid=False)
        x += wide + _BETWEEN
    return drawn, (y + LINE + 6 if entries else 0.0)


def _draw_scale(scale: ColourScale, left: float, top: float) -> str:
    stops = "".join(
        f'<stop offset="{one.at:g}" stop-color="{one.colour}"'
        + (f' stop-opacity="{one.opacity:g}"/>' if one.opacity < 1 else "/>")
        for one in scale.stops
    )
    low, high = scale_texts(scale.low, scale.high)
    titled = LINE if scale.title else 0.0
    top += titled
    start = left + measure_text(low) + 6
    texts = [(low, left, top), (high, start + 156, top)]
    texts += [(scale.title, left, top - titled)] if titled else []
    return (
        f'<linearGradient id="scale">{stops}</linearGradient>'
        f'<rect x="{tidy(start)}" y="{tidy(top + 6)}" width="150" height="10" fill="url(#scale)"/>'
        + "".join(
            write_lines([(Letters(text),)], (tidy(x), tidy(y + 15)), fluid=False)
            for text, x, y in texts
        )
    )


def _define_patterns(inside: str) -> str:
    if "url(#p" not in inside:
        return ""
    return "".join(
        f'<pattern id="p{i}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path stroke="white" fill="none" stroke-width="1.5" d="{path}"/></pattern>'
        for i, path in enumerate(PATTERNS.values())
    )
