"""Charts arranged for their room: names above what they name, panels apart, not too high."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from voile.report.kit.drawing.chart import (
    Chart,
    DrawnBoxes,
    DrawnLine,
    DrawnPieces,
    DrawnPoints,
    FigureText,
    Floats,
    Mark,
    Panel,
)
from voile.report.kit.drawing.letters import LEADING, SIZE, measure, read_text

NARROWEST = 280.0
"""Pixels that a name above what it names has at least."""

LINE = LEADING * SIZE
HEAD = 6.0
"""Pixels of a line, and of what is between the last line above a panel and the panel."""

MOST_HEIGHT = 0.8
"""Height of panels over the width of the figure, at most, where nothing is listed in them."""


def fit_height(chart: Chart, room: float) -> Chart:
    """A chart whose height suits a width in pixels."""
    listed = chart.square or any(panel.y.named for panel in chart.panels)
    return chart if listed else replace(chart, height=min(chart.height, MOST_HEIGHT * room))


def space_rows(chart: Chart) -> Chart:
    """A chart whose panels leave the titles between them enough room."""
    rows = sorted({(one.bottom, one.top) for one in chart.panels}, reverse=True)
    lines = {row: max(one.headed for one in chart.panels if one.top == row[1]) for row in rows}
    gaps = [
        max(above[0] - below[1], (LINE * lines[below] + HEAD) / chart.height)
        for above, below in pairwise(rows)
    ]
    share = (1 - sum(gaps)) / (sum(top - bottom for bottom, top in rows) or 1.0)
    if share <= 0:
        return chart
    placed, top = {}, 1.0
    for row, gap in zip(rows, [*gaps, 0.0], strict=True):
        bottom = top - share * (row[1] - row[0])
        placed[row] = (bottom, top)
        top = bottom - gap
    panels = [
        replace(one, bottom=placed[one.bottom, one.top][0], top=placed[one.bottom, one.top][1])
        for one in chart.panels
    ]
    return replace(chart, panels=tuple(panels))


def stack_names(chart: Chart) -> Chart:
    """A chart with names above what they name, for where they are wider than what is left."""
    panel = next(one for one in chart.panels if one.y.named)
    axis = panel.y
    assert axis.texts is not None
    assert axis.places is not None
    names = [_shorten(text) for text in axis.texts]
    needed = LINE * max(text.count("<br>") + 1 for text in names) + 4
    rows = abs(axis.high - axis.low)
    row = max(chart.height / rows, needed + 16)
    height, part = row * rows, needed / row
    notes = []
    for text, at in zip(names, axis.along(axis.places).tolist(), strict=True):
        # The foot of its last line, in pixels from the top of the figure.
        foot = height * (1 - at) - row / 2 + needed - 5
        notes.append(FigureText(text, panel.left, 1 - foot / height, "start", name=True))
    panels = tuple(_lower(one, part) if one.y.places else one for one in chart.panels)
    return replace(chart, height=height, panels=panels, notes=(*chart.notes, *notes))


def _shorten(text: str) -> str:
    """A name in one line, if it has the room."""
    whole = text.replace("<br>", "  ")
    return whole if measure(read_text(whole)[0]) <= NARROWEST else text


def _lower(panel: Panel, part: float) -> Panel:
    """A panel whose marks leave the upper part of each line to its name."""
    axis = panel.y
    places = np.array(axis.places)
    turned = 1 if axis.high < axis.low else -1

    def move(y: Floats) -> Floats:
        nearest = places[np.argmin(np.abs(y[..., None] - places), axis=-1)]
        lowered = nearest + turned * part / 2 + (1 - part) * (y - nearest)
        return np.where(np.abs(y - nearest) < 0.5, lowered, y)

    own = replace(axis, places=tuple(move(places).tolist()), labels=False)
    return replace(panel, y=own, marks=tuple(_move(mark, move) for mark in panel.marks))


def _move(mark: Mark, move: Callable[[Floats], Floats]) -> Mark:
    match mark:
        case DrawnLine() | DrawnPoints():
            return replace(mark, y=move(mark.y))
        case DrawnBoxes():
            return replace(mark, ends=np.column_stack([mark.ends[:, :2], move(mark.ends[:, 2:])]))
        case DrawnPieces():
            x0, y0, x1, y1 = mark.ends.T
            return replace(mark, ends=np.column_stack([x0, move(y0), x1, move(y1)]))
    return mark
