"""Slopes as signed bars: a bar per feature, those the row has itself in full colour."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.surrogate.text import feature_text, slope_text
from voile.explain.blackbox.units import times, unit_text
from voile.report.kit.bars import MOST_BARS, Part, draw_bars
from voile.report.kit.text import plot_text
from voile.schema.value_texts import edge_texts

PALE = 0.45
"""Opacity of a level or a word that the row does not have."""

MOST_NOISE = 3.0
"""How far whiskers are drawn, compared with the longest bar; labels tell them all."""


def find_slopes(
    record: LocalSurrogate, row: int, output: int, *, most: int = MOST_BARS
) -> list[Part]:
    """The greatest slopes around a row as they are shown, the greatest first."""
    own, parts, factor = record.own[row], [], times(record.units)
    for j, one in zip(record.ranked(row, output), record.top(most, row, output), strict=False):
        label = feature_text(record, row, j, own=bool(own[j]))
        if one_step(record, j):
            label += f": {slope_text(record, row, j, output).partition(' ')[0]}"
        told = _told(record, row, j, own=bool(own[j]))
        parts.append(Part(label, told, factor * one.value, factor * one.standard_error))
    return parts


def one_step(record: LocalSurrogate, feature: int) -> bool:
    """Whether the slope of a feature is told by a step, and not by having it."""
    return record.features[feature].level is None and not record.words


def draw_slopes(record: LocalSurrogate, row: int, output: int) -> go.Figure:
    """Draw the greatest slopes around a row over the whole range of a column, with their noise.

    A whisker of unknown length reaches beyond the figure; if all are unknown, none is drawn.
    """
    parts = find_slopes(record, row, output)
    name = plot_text(record.outputs[output], 28)
    title = f"← lowers '{name}'   |   raises it, {plot_text(unit_text(record.units), 40)} →"
    figure = draw_bars(parts, None, title)
    own = record.own[row]
    shown = record.ranked(row, output)[: len(parts)]
    opacity = [
        PALE if not own[j] and (record.words or record.features[j].level is not None) else 1.0
        for j in shown
    ]
    figure.update_traces(marker_opacity=opacity, selector={"type": "bar"})
    low, high = _range(parts)
    figure.update_xaxes(range=[low, high], nticks=9)
    # A whisker that is left out would still get its end, and look like no noise at all.
    known = [math.isfinite(part.standard_error) for part in parts]
    figure.update_traces(
        error_x={
            "visible": any(known),
            "array": [
                2 * part.standard_error if sure else 2 * (high - low)
                for part, sure in zip(parts, known, strict=True)
            ],
        },
        selector={"type": "bar"},
    )
    return figure


def _told(record: LocalSurrogate, row: int, feature: int, *, own: bool) -> tuple[str, ...]:
    """Everything there is to tell on pointing at a bar."""
    one = record.features[feature]
    if record.words:
        return (one.name, "in this text" if own else "not in this text")
    if one.level is not None:
        return (one.name, "the row's own level" if own else "not the row's own level")
    low, high = edge_texts([one.lower, one.upper], one.scale)
    moved = f"{one.name}: bar from {low} to {high}"
    if not record.given[row]:
        return (moved,)
    place = record.columns.index(one.column)
    given, read = record.given[row][place], record.read_as[row][place]
    return (moved, f"this row: {given}" + (f", read as {read}" if read else ""))


def _range(parts: list[Part]) -> tuple[float, float]:
    """Ends of the axis: they hold every bar and its noise, if that leaves bars to be seen."""
    longest = max((abs(part.size) for part in parts), default=0.0)
    most = MOST_NOISE * longest or math.inf
    noise = [
        2 * part.standard_error if math.isfinite(part.standard_error) else 0.0 for part in parts
    ]
    pairs = list(zip(parts, noise, strict=True))
    low = max(min([0.0, *(part.size - extra for part, extra in pairs)]), -most)
    high = min(max([0.0, *(part.size + extra for part, extra in pairs)]), most)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room
