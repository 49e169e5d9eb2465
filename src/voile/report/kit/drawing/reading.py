"""A plotly figure read as a chart: its panels, axes, legend, shapes and texts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from voile.report.kit.drawing.arranging import space_rows
from voile.report.kit.drawing.chart import (
    Axis,
    Chart,
    DrawnBoxes,
    DrawnPieces,
    FigureText,
    Hint,
    LegendEntry,
    Mark,
    Panel,
    Stroke,
)
from voile.report.kit.drawing.colours import split_colour
from voile.report.kit.drawing.traces import TraceMarks, TraceReader
from voile.report.kit.theme import SERIES, legend_room

MARGIN = 0.05
"""Room beyond the marks, in parts of the axis, where its ends are open."""

_ENDS = {"left": "start", "center": "middle", "right": "end"}

Pair = tuple[str, str]
"""Names of the two axes of a panel, as plotly has them."""


def read_chart(figure: go.Figure) -> Chart:
    """Settle everything that a figure leaves open."""
    layout, reader = figure.layout, TraceReader(figure, SERIES)
    made: dict[Pair, list[TraceMarks]] = defaultdict(list)
    legend: list[tuple[float, LegendEntry]] = []
    for trace in figure.data:
        marks = reader.read(trace)
        made[getattr(trace, "xaxis", None) or "x", getattr(trace, "yaxis", None) or "y"] += [marks]
        if trace.name and trace.showlegend is not False:
            legend.append((trace.legendrank or 1000, reader.entry(trace)))
    shown = layout.showlegend if layout.showlegend is not None else len(legend) > 1
    legend = sorted(legend, key=lambda pair: pair[0]) if shown else []
    axes = _read_axes(layout, made)
    panels = {pair: _place_panel(layout, axes, pair, all_) for pair, all_ in made.items()}
    notes, panels = _give_captions(list(_read_notes(layout, axes)), panels)
    by = _pointed_by(figure, panels.values())
    scales = [one.scale for all_ in made.values() for one in all_ if one.scale is not None]
    around = sum(layout.margin[side] or 0 for side in "tb")
    height = (layout.height or 400) - around - (legend_room(len(legend)) if legend else 0)
    chart = Chart(
        panels=tuple(panels.values()),
        height=float(max(height, 40)),
        legend=tuple(entry for _, entry in legend),
        notes=tuple(notes),
        by=by,
        square=_square(layout, axes),
        scale=scales[0] if scales else None,
    )
    chart = space_rows(chart)
    placed = dict(zip(panels, chart.panels, strict=True))
    return replace(chart, hints=_gather_hints(placed, made, by))


def _settings(layout: Any, name: str) -> Any:
    """Of the axis "x2": ``layout.xaxis2``."""
    return layout[f"{name[0]}axis{name[1:]}"]


def _read_axes(layout: Any, made: dict[Pair, list[TraceMarks]]) -> dict[str, Axis]:
    reach: dict[str, list[float]] = defaultdict(list)
    for (x, y), all_ in made.items():
        for one in all_:
            reach[_leader(layout, x)] += one.reach_x
            reach[_leader(layout, y)] += one.reach_y
    tight = {name for pair, all_ in made.items() if any(one.tight for one in all_) for name in pair}
    names = dict.fromkeys(name for pair in made for name in pair)
    return {
        name: _read_axis(layout, name, reach[_leader(layout, name)], 0 if name in tight else MARGIN)
        for name in names
    }


def _leader(layout: Any, name: str) -> str:
    """The axis whose ends an axis has: its own, or another's."""
    seen = {name}
    while (other := _settings(layout, name).matches) and other not in seen:
        name = other
        seen.add(name)
    return name


def _read_axis(layout: Any, name: str, reach: list[float], margin: float) -> Axis:
    own = _settings(layout, name)
    log, hidden = own.type == "log", own.visible is False
    ends = own.range or _settings(layout, _leader(layout, name)).range
    low, high = map(float, ends) if ends else _open_ends(own, reach, margin, log=log)
    places = None if own.tickvals is None else tuple(map(float, own.tickvals))
    return Axis(
        low,
        high,
        log=log,
        title="" if hidden else own.title.text or "",
        places=places,
        texts=None if own.ticktext is None else tuple(map(str, own.ticktext)),
        form=own.tickformat or "",
        suffix=own.ticksuffix or "",
        step=own.dtick,
        most=own.nticks,
        labels=not hidden and own.showticklabels is not False,
        grid=not hidden and own.showgrid is not False,
        zero=(own.zerolinecolor or "#999") if own.zeroline and not hidden else "",
    )


def _open_ends(
    own: Any, reach: Iterable[float], margin: float, *, log: bool
) -> tuple[float, float]:
    """Ends of an axis that nobody set: all marks, zero where it belongs to them, and some room."""
    found = np.array([one for one in reach if math.isfinite(one) and not (log and one <= 0)])
    found = np.log10(found) if log else found
    if own.rangemode == "tozero" and not log:
        found = np.append(found, 0.0)
    low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
    room = margin * (high - low) if high > low else 0.5
    # What starts at zero stands on its axis.
    ends = (low if low == 0 and not log else low - room, high if high == 0 else high + room)
    return (ends[1], ends[0]) if own.autorange == "reversed" else ends


def _domain(layout: Any, name: str) -> tuple[float, float]:
    low, high = _settings(layout, name).domain or (0.0, 1.0)
    return float(low), float(high)


def _place_panel(layout: Any, axes: dict[str, Axis], pair: Pair, made: list[TraceMarks]) -> Panel:
    below, above = _read_shapes(layout, pair, single=len(axes) == 2)
    # Bars beneath lines and points, as plotly draws them.
    marks = [mark for one in made for mark in one.marks]
    boxes = [mark for mark in marks if isinstance(mark, DrawnBoxes)]
    others = [mark for mark in marks if not isinstance(mark, DrawnBoxes)]
    return Panel(
        axes[pair[0]],
        axes[pair[1]],
        *_domain(layout, pair[0]),
        *_domain(layout, pair[1]),
        marks=(*below, *boxes, *others, *above),
        backdrop=layout.plot_bgcolor or "",
    )


def _read_shapes(layout: Any, pair: Pair, *, single: bool) -> tuple[list[Mark], list[Mark]]:
    """Lines and boxes that belong to a panel: those below its marks, and those above."""
    layers: dict[bool, list[Mark]] = {True: [], False: []}
    for shape in layout.shapes:
        refs = (shape.xref or "x", shape.yref or "y")
        paper = single and "paper" in refs
        if not paper and tuple(ref.removesuffix(" domain") for ref in refs) != pair:
            continue
        sides = [
            _to_border(float(value), ref)
            for value, ref in zip(
                (shape.x0, shape.y0, shape.x1, shape.y1), (*refs, *refs), strict=True
            )
        ]
        if shape.type == "rect":
            ends = np.array([[sides[0], sides[2], sides[1], sides[3]]])
            colour, opacity = split_colour(shape.fillcolor or "#999")
            opacity *= 1.0 if shape.opacity is None else shape.opacity
            mark: Mark = DrawnBoxes(ends, (colour,), (opacity,))
        else:
            line = shape.line
            width = 2.0 if line.width is None else float(line.width)
            stroke = Stroke(split_colour(line.color or "#999")[0], width, line.dash or "solid")
            mark = DrawnPieces(np.array([sides]), stroke)
        layers[shape.layer == "below"].append(mark)
    return layers[True], layers[False]


def _to_border(value: float, ref: str) -> float:
    """A side in units of the data; parts of the panel are its borders, and so infinite."""
    if ref != "paper" and not ref.endswith("domain"):
        return value
    return math.inf if value > 0.5 else -math.inf


def _read_notes(layout: Any, axes: dict[str, Axis]) -> Iterable[FigureText]:
    for note in layout.annotations:
        yield FigureText(
            note.text or "",
            _part(layout, axes, note.xref or "x", float(note.x)),
            _part(layout, axes, note.yref or "y", float(note.y)),
            across=_ENDS.get(note.xanchor or "center", "middle"),
            above=note.yanchor == "bottom",
            size=float(note.font.size or 12.0),
            colour=note.font.color or "",
        )


def _give_captions(
    notes: list[FigureText], panels: dict[Pair, Panel]
) -> tuple[list[FigureText], dict[Pair, Panel]]:
    """Texts that stand on the middle of a panel are its caption."""
    left = []
    for note in notes:
        for pair, panel in panels.items():
            middle = (panel.left + panel.right) / 2
            if note.above and abs(note.x - middle) + abs(note.y - panel.top) < 1e-6:
                panels[pair] = replace(panel, caption=note.text)
                break
        else:
            left.append(note)
    return left, panels


def _part(layout: Any, axes: dict[str, Axis], ref: str, value: float) -> float:
    """Where a text stands, in parts of the figure."""
    name = ref.removesuffix(" domain")
    if name == "paper":
        return value
    if name == ref:
        # Places of texts on a logarithmic axis are logarithms already.
        value = (value - axes[name].low) / ((axes[name].high - axes[name].low) or 1.0)
    low, high = _domain(layout, name)
    return low + value * (high - low)


def _pointed_by(figure: go.Figure, panels: Iterable[Panel]) -> str:
    """Which direction tells what is pointed at."""
    if any(trace.type == "heatmap" for trace in figure.data):
        return "cells"
    if any(trace.type == "image" for trace in figure.data):
        return "xy"
    if any(panel.y.named for panel in panels):
        return "y"
    lines = any(trace.type == "bar" or "lines" in (trace.mode or "") for trace in figure.data)
    told = [trace for trace in figure.data if trace.hovertext is not None]
    points = all(trace.type != "bar" and trace.mode == "markers" for trace in told)
    return "x" if lines and not points else "xy"


def _gather_hints(
    panels: dict[Pair, Panel], made: dict[Pair, list[TraceMarks]], by: str
) -> tuple[Hint, ...]:
    """What there is to tell, once for each place: marks above each other are told together."""
    gathered: dict[tuple[float, ...], Hint] = {}
    for pair, panel in panels.items():
        told = [hint for one in made[pair] for hint in one.hints]
        if not told:
            continue
        wide, high = panel.right - panel.left, panel.top - panel.bottom
        if by == "cells":
            for hint in _hint_cells(
                panel, told, [half for one in made[pair] for half in one.halves]
            ):
                gathered[hint.x, hint.y] = hint
            continue
        x = panel.left + wide * np.clip(panel.x.along([one[0] for one in told]), 0, 1)
        y = panel.bottom + high * np.clip(panel.y.along([one[1] for one in told]), 0, 1)
        for across, up, (_, _, lines) in zip(x.tolist(), y.tolist(), told, strict=True):
            key = tuple(round(one, 3) for one, name in ((across, "x"), (up, "y")) if name in by)
            known = gathered.get(key, Hint(across, up, ()))
            fresh = tuple(line for line in lines if line not in known.lines)
            # What all of them end with stays the end.
            end = 1 if known.lines[-1:] == lines[-1:] else 0
            before, after = known.lines[: len(known.lines) - end], known.lines[-1:] * end
            gathered[key] = Hint(known.x, known.y, before + fresh + after)
    if by == "cells":  # as one reads
        return tuple(sorted(gathered.values(), key=lambda one: (-one.y, one.x)))
    order = (lambda one: -one.y) if by == "y" else (lambda one: one.x)
    return tuple(sorted(gathered.values(), key=order))


def _hint_cells(
    panel: Panel,
    told: Sequence[tuple[float, float, tuple[str, ...]]],
    halves: Sequence[tuple[float, float]],
) -> Iterable[Hint]:
    """What there is to tell of cells, each with its size."""
    wide, high = panel.right - panel.left, panel.top - panel.bottom
    for (x, y, lines), (half_x, half_y) in zip(told, halves, strict=True):
        ends_x = panel.x.along([x - half_x, x, x + half_x])
        ends_y = panel.y.along([y - half_y, y, y + half_y])
        half = (wide * abs(float(np.ptp(ends_x))) / 2, high * abs(float(np.ptp(ends_y))) / 2)
        place = (panel.left + wide * float(ends_x[1]), panel.bottom + high * float(ends_y[1]))
        yield Hint(*place, lines, half)


def _square(layout: Any, axes: dict[str, Axis]) -> float:
    """Width over height of a figure whose cells are as wide as high."""
    if not layout.yaxis.scaleanchor or "x" not in axes:
        return 0.0
    x, y = axes["x"], axes["y"]
    (left, right), (bottom, top) = _domain(layout, "x"), _domain(layout, "y")
    cells = abs((x.high - x.low) / ((y.high - y.low) or 1.0))
    return cells * (top - bottom) / ((right - left) or 1.0)
