"""The page of single rows of a locally linear model: which maps counted, what inputs added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from voile.errors import SettingError
from voile.explain.locally_linear import local_text as linear_map_decision_text
from voile.explain.locally_linear.local import LocallyLinearLocalExplanation
from voile.explain.locally_linear.overall_text import no_rows_text
from voile.explain.lvq.text import given_text
from voile.explain.wording import noisy, percent, short, signed
from voile.figure_request import FigureRequest
from voile.models.verdict import MARK, error_bars_text
from voile.rendering import draws, plots
from voile.report.kit.bars import parts_text
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import compose_page
from voile.report.kit.pictures import draw_pictures
from voile.report.kit.room import draw_some
from voile.report.locally_linear.bars import draw_lead, find_lead
from voile.report.locally_linear.pictures import find_row, place_ranked, place_row

MOST_ROWS, MOST_CLASSES, MOST_MAPS = 20, 12, 10

_html = Templates(
    "locally_linear/rows.html",
    text=linear_map_decision_text,
    no_rows_text=no_rows_text,
    error_bars_text=error_bars_text,
)


@draws(LocallyLinearLocalExplanation)
def draw_page(record: LocallyLinearLocalExplanation) -> str:
    """The whole page as HTML."""
    rows = draw_some(lambda row: draw_row(record, row), min(len(record), MOST_ROWS))
    body = draw_reading(record) + _html.given(record, len(rows)) + Markup("").join(rows)
    return compose_page(
        "Why these answers", body, record.receipt, cost=record.cost, holds_rows=True
    )


@plots(LocallyLinearLocalExplanation)
def plot(record: LocallyLinearLocalExplanation, request: FigureRequest) -> go.Figure:
    """What made one row score more for its class than for the runner-up."""
    request.refuse("name", "output")
    row = request.choose_row(len(record))
    if record.image_shape is not None:
        cards = find_row(record, row).items()
        return draw_pictures(
            [
                replace(one, caption=f"{title.split(':')[0]} {one.caption}".strip())
                for title, pictures in cards
                for one in pictures
            ]
        )
    if record.decisions[row].runner_up < 0:
        raise SettingError(f"There is no figure of row {row}: the model knows no other class.")
    return draw_lead(record, row)


def draw_reading(record: LocallyLinearLocalExplanation) -> Markup:
    """How to read the rows."""
    return _html.reading(record)


def draw_row(record: LocallyLinearLocalExplanation, row: int, *, level: int = 2) -> Markup:
    """Why one row got its class, under a heading of this level."""
    one, picture = record.decisions[row], record.image_shape is not None
    bars, several = not picture and one.runner_up >= 0, record.maps > 1
    ranked = [k for k in (one.predicted, one.runner_up) if k >= 0 and picture and several]
    return _html.row(
        record,
        row,
        level,
        cards=place_row(record, row) if picture else [],
        ranked=[place_ranked(record, row, k) for k in ranked],
        figure=draw_lead(record, row) if bars else None,
        words=parts_text(find_lead(record, row)) if bars else "",
        columns="" if picture else _columns(record, row),
        blends=_blends(record, row) if several else [],
    )


def _columns(record: LocallyLinearLocalExplanation, row: int) -> Markup:
    one, sizes = record.decisions[row], record.parts(row)
    errors = record.part_errors(row)
    classes = one.classes_by_score[:MOST_CLASSES]
    order = np.argsort(-np.abs(sizes[list(classes)]).max(axis=0, initial=0.0), kind="stable")
    rows = [
        [
            record.columns[i] + (f" ({MARK})" if record.columns[i] in record.nothing else ""),
            given_text(one, int(i)),
            *(noisy(float(sizes[k, i]), float(errors[k, i])) for k in classes),
        ]
        for i in order
    ]
    rows.append(["base", "", *(signed(float(one.base[k])) for k in classes)])
    scores = [noisy(float(one.scores[k]), float(one.score_errors[k])) for k in classes]
    rows.append(["score", "", *scores])
    rows.append(["probability", "", *(percent(float(one.probabilities[k])) for k in classes)])
    head = ["column", "value", *(f"'{record.outputs[k]}'" for k in classes)]
    return parts.table(head, rows, len(classes))


def _blends(record: LocallyLinearLocalExplanation, row: int) -> list[list[str]]:
    """Which linear maps counted for each class."""
    one = record.decisions[row]
    return [
        [
            f"'{record.outputs[k]}'",
            percent(float(one.probabilities[k])),
            noisy(float(one.scores[k]), float(one.score_errors[k]), added=False),
            ", ".join(
                f"no. {m + 1}: {percent(float(one.shares[k, m]))}, says "
                f"{short(float(one.map_scores[k, m]))}"
                for m in one.ranked(k)[:MOST_MAPS]
            ),
        ]
        for k in one.classes_by_score[:MOST_CLASSES]
    ]
