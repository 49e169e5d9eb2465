"""The page of contributions: a waterfall for each row, and many rows together."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.blackbox import text as contributions_text
from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.text import value_text
from voile.explain.blackbox.units import amount_text, score_text, times, unit_text
from voile.explain.wording import short
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.blackbox.many_rows import (
    MOST_POINTS,
    draw_beeswarm,
    draw_dependence,
    draw_importances,
)
from voile.report.blackbox.marked_words import place_marks
from voile.report.blackbox.waterfall import draw_waterfall, find_steps
from voile.report.kit import pictures as kit
from voile.report.kit.bars import Floats
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.pictures import Picture
from voile.report.kit.room import draw_if_room, draw_some

MOST_ROWS, MOST_OUTPUTS, MOST_LISTED, MOST_DEPENDENCE = 20, 3, 100, 3

FEWEST_TOGETHER = 5
"""Rows that are also shown together: of fewer, each tells more by itself."""

_html = Templates("blackbox/contributions.html", text=contributions_text, score_text=score_text)


@draws(BlackBoxLocalExplanation)
def draw_page(record: BlackBoxLocalExplanation) -> str:
    """The whole page as HTML."""
    together = Markup("")
    if len(record) >= FEWEST_TOGETHER and record.columns and record.picture is None:
        together = draw_if_room(lambda: _draw_together(record))
    rows = draw_some(lambda row: _draw_row(record, row), min(len(record), MOST_ROWS))
    body = _html.lead(record, len(rows)) + together + Markup("").join(rows)
    title = "Why the black box said so"
    return compose_page(title, body, record.receipt, cost=record.cost, holds_rows=True)


@plots(BlackBoxLocalExplanation)
def plot(record: BlackBoxLocalExplanation, request: FigureRequest) -> go.Figure:
    """A row's waterfall; or all rows: "importances", "beeswarm", or a column by its values."""
    chosen = request.choose_output(record.outputs)
    if request.name in (None, "waterfall"):
        row = request.choose_row(len(record))
        output = record.outputs_by_score(row)[0] if chosen is None else chosen
        if record.picture is not None:
            return kit.draw_pictures(_find_heat(record, row, output))
        return draw_waterfall(record, row, output)
    request.refuse("row")
    name = request.choose_name(("waterfall", "importances", "beeswarm", *record.columns))
    output = _told_output(record) if chosen is None else chosen
    if name == "importances":
        return draw_importances(record, output)
    if name == "beeswarm":
        return draw_beeswarm(record, output)
    return draw_dependence(record, name, output)


def _told_output(record: BlackBoxLocalExplanation) -> int:
    """The output that most rows score highest on."""
    return int(np.bincount(record.scores.argmax(axis=1)).argmax()) if len(record) else 0


def _draw_row(record: BlackBoxLocalExplanation, row: int) -> Markup:
    shown = record.outputs_by_score(row)[:MOST_OUTPUTS]
    outputs = [_draw_output(record, row, output) for output in shown]
    return _html.row(record, row, outputs, len(record.outputs) - len(shown))


def _draw_output(record: BlackBoxLocalExplanation, row: int, output: int) -> Markup:
    bars = record.picture is None and bool(record.columns)
    steps = find_steps(record, row, output, most=5) if bars else []
    verdicts = record.verdicts(row, output)
    table = [
        [
            record.columns[j],
            value_text(record, row, j),
            amount_text(
                float(record.values[row, j, output]),
                float(record.standard_errors[row, j, output]),
                record.units,
            ),
            str(verdicts[j]),
        ]
        for j in record.ranked(row, output)[:MOST_LISTED]
    ]
    return _html.output(
        record,
        row,
        output,
        heat="" if record.picture is None else _draw_heat(record, row, output),
        marks=place_marks(record, row, output) if record.words and record.texts else "",
        figure=draw_waterfall(record, row, output) if bars else None,
        words=", ".join(f"{part.label} {part.number}" for part in steps),
        table=table,
    )


def _draw_together(record: BlackBoxLocalExplanation) -> Markup:
    output = _told_output(record)
    columns = [one.column for one in record.importances(output) if one.verdict == "clear"]
    return _html.together(
        record,
        output,
        MOST_POINTS,
        importances=draw_importances(record, output),
        beeswarm=draw_beeswarm(record, output),
        dependence=[
            (column, draw_dependence(record, column, output))
            for column in columns[:MOST_DEPENDENCE]
            if all(record.given)
        ],
    )


# -- pictures ------------------------------------------------------------------------------------


def _find_heat(record: BlackBoxLocalExplanation, row: int, output: int) -> list[Picture]:
    """The row beside the contributions of its patches: alone, over the row, and beyond noise."""
    assert record.picture is not None
    shape, about = record.picture[:2], f"contributions to '{record.outputs[output]}'"
    asked = kit.paint_picture(record.pixels[row], record.picture)
    values = _spread_patches(record, record.values[row, :, output])
    errors = _spread_patches(record, record.standard_errors[row, :, output])
    pictures = [
        Picture(asked, "this row", "Picture of this row"),
        Picture(kit.paint_weights(values, shape), "contributions", f"Heat map of {about}"),
        Picture(kit.paint_over(values, asked), "over this row", f"Heat map over the row: {about}"),
    ]
    if np.isfinite(errors).all() and errors.max(initial=0.0) > 0:
        told = f"Heat map, grey where it may be noise: {about}"
        clear = kit.paint_weights(values, shape, errors)
        pictures.append(Picture(clear, "beyond noise", told))
    return pictures


def _spread_patches(record: BlackBoxLocalExplanation, values: Floats) -> Floats:
    """Numbers of patches as numbers of pixels."""
    assert record.picture is not None
    assert record.patch is not None
    height, width = record.picture[:2]
    whole = np.kron(values.reshape(record.grid_shape), np.ones(record.patch))
    return np.asarray(whole[:height, :width].ravel())


def _draw_heat(record: BlackBoxLocalExplanation, row: int, output: int) -> Markup:
    top = times(record.units) * float(np.abs(record.values[row, :, output]).max(initial=0.0))
    told = f"{short(top, digits=2)} ({unit_text(record.units)})"
    return _html.heat(_find_heat(record, row, output), told)
