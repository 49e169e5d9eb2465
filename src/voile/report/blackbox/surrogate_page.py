"""The page of local surrogates: slopes around single rows, and how far to trust them."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.blackbox.surrogate import text as surrogate_text
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.surrogate.text import feature_text, slope_text
from voile.explain.blackbox.surrogate.trust import FAIR, GOOD, POOR, UNKNOWN, read_fit, read_place
from voile.explain.blackbox.units import amount_text, score_text, times, unit_text
from voile.explain.ebm.text import times_text
from voile.explain.wording import short
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.blackbox.marked_words import place_marks
from voile.report.blackbox.slope_bars import draw_slopes, find_slopes, one_step
from voile.report.kit import pictures as kit
from voile.report.kit.bars import MOST_BARS, Floats, parts_text
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.pictures import Picture, Pixels
from voile.report.kit.room import draw_some
from voile.report.kit.theme import ROWS, SERIES

MOST_ROWS, MOST_OUTPUTS, MOST_SCORES, MOST_LISTED = 20, 4, 12, 100

_LOOKS = {
    GOOD: (SERIES[2], "✓"),
    FAIR: (SERIES[5], "~"),
    POOR: (SERIES[3], "✗"),
    UNKNOWN: (ROWS, "?"),
}
"""Colour and sign of each verdict."""

_html = Templates(
    "blackbox/surrogate.html",
    text=surrogate_text,
    times_text=times_text,
    looks=_LOOKS,
    unknown=UNKNOWN,
    score_text=score_text,
)


@draws(LocalSurrogate)
def draw_page(record: LocalSurrogate) -> str:
    """The whole page as HTML."""
    levels = any(one.level is not None for one in record.features)
    rows = draw_some(lambda row: _draw_row(record, row), min(len(record), MOST_ROWS))
    body = _html.lead(record, sorted(set(record.answered)), levels, len(rows))
    body += Markup("").join(rows)
    title = "How the score changes around these rows"
    return compose_page(title, body, record.receipt, cost=record.cost, holds_rows=True)


def _draw_row(record: LocalSurrogate, row: int) -> Markup:
    shown = record.outputs_by_score(row)[:MOST_OUTPUTS]
    fit = read_fit(record, row, 0) if len(record.outputs) == 1 else ()
    bars = record.picture is None and bool(record.features)
    return _html.row(
        record,
        row,
        most=(MOST_SCORES, MOST_OUTPUTS),
        trust=(*fit, *read_place(record, row)),
        outputs=[_draw_output(record, row, output, bars=bars) for output in shown],
        tables=_draw_tables(record, row, shown) if bars else "",
    )


def _draw_output(record: LocalSurrogate, row: int, output: int, *, bars: bool) -> Markup:
    """What moves one score."""
    marks = record.words and record.texts
    return _html.output(
        record,
        row,
        output,
        score=score_text(float(record.scores[row, output]), record.units),
        trust=read_fit(record, row, output) if len(record.outputs) > 1 else (),
        heat="" if record.picture is None else _draw_heat(record, row, output),
        marks=place_marks(record, row, output) if marks else "",
        figure=draw_slopes(record, row, output) if bars else None,
        words=parts_text(find_slopes(record, row, output, most=5)) if bars else "",
        most=MOST_BARS,
    )


def paint_asked(record: LocalSurrogate, row: int) -> Pixels:
    """The asked row as a picture, between the bounds of its pixels."""
    assert record.picture is not None
    return kit.paint_picture((record.strengths[row] + 1.0) / 2.0, record.picture)


@plots(LocalSurrogate)
def plot(record: LocalSurrogate, request: FigureRequest) -> go.Figure:
    """How one score changes around a row; by default the highest."""
    request.refuse("name")
    row = request.choose_row(len(record))
    chosen = request.choose_output(record.outputs)
    output = record.outputs_by_score(row)[0] if chosen is None else chosen
    if record.picture is not None:
        return kit.draw_pictures(_find_heat(record, row, output))
    return draw_slopes(record, row, output)


def _find_heat(record: LocalSurrogate, row: int, output: int) -> list[Picture]:
    """The row beside its heat map: alone, over the row, and without what may be noise."""
    shape, asked = record.picture, paint_asked(record, row)
    assert shape is not None
    values, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    about, flat = f"slopes on '{record.outputs[output]}'", kit.sum_channels(values, shape)
    pictures = [
        Picture(asked, "this row", "Picture of this row"),
        Picture(kit.paint_weights(values, shape), "slope", f"Heat map of {about}"),
        Picture(kit.paint_over(flat, asked), "over this row", f"Heat map over the row: {about}"),
    ]
    if np.isfinite(errors).all() and errors.max(initial=0.0) > 0:
        clear = kit.paint_weights(values, shape, errors)
        told = f"Heat map, grey where it may be noise: {about}"
        pictures.append(Picture(clear, "beyond noise", told))
    return pictures


def _draw_heat(record: LocalSurrogate, row: int, output: int) -> Markup:
    """The row beside its heat map, and what full colour means."""
    assert record.picture is not None
    flat = kit.sum_channels(record.values[row, :, output], record.picture)
    top = times(record.units) * float(np.abs(flat).max(initial=0.0))
    told = f"{short(top, digits=2)} ({unit_text(record.units)})"
    return _html.heat(_find_heat(record, row, output), told)


def _draw_tables(record: LocalSurrogate, row: int, shown: tuple[int, ...]) -> Markup:
    count, own, kept = len(record.features), record.own[row], list(shown)

    def write(values: Floats, errors: Floats) -> list[str]:
        pairs = zip(values.tolist(), errors.tolist(), strict=True)
        return [amount_text(value, error, record.units) for value, error in pairs]

    values, errors = record.values[row][:, kept], record.standard_errors[row][:, kept]
    steps = any(one_step(record, j) for j in range(count))
    rows = [
        [
            feature_text(record, row, j, own=bool(own[j])),
            *([slope_text(record, row, j, k) for k in kept] if steps else []),
            *write(values[j], errors[j]),
        ]
        for j in _order(values)[:MOST_LISTED]
    ]
    columns = []
    # Gathering says nothing new where every column is a single feature, or all are one text.
    if not record.words and len(record.columns) < count:
        one, given = record[row], record.given[row]
        values, errors = one.by_column()[0][:, kept], one.by_column_errors()[0][:, kept]
        columns = [
            [record.columns[i], given[i], *write(values[i], errors[i])] for i in _order(values)
        ]
    title = f"The {MOST_LISTED} greatest slopes" if count > MOST_LISTED else "All slopes"
    names = [f"'{record.outputs[k]}'" for k in shown]
    head = [f"{name}, whole range" for name in names]
    if steps:
        head = [f"{name}, this step" for name in names] + head
    return _html.tables(record, head, names, rows, title, columns)


def _order(values: Floats) -> list[int]:
    """Positions of features, the greatest slope on any output first."""
    order: list[int] = np.argsort(-np.abs(values).max(axis=1, initial=0.0), kind="stable").tolist()
    return order
