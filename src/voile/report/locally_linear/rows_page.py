"""The page of single rows of a locally linear model: which filters counted, what inputs added."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from voile.explain.locally_linear import local_text as filter_decision_text
from voile.explain.locally_linear.local import LocallyLinearLocalExplanation
from voile.explain.locally_linear.overall_text import no_rows_text
from voile.explain.lvq.text import given_text
from voile.explain.wording import noisy, percent, short, signed
from voile.rendering import draws
from voile.report.kit.bars import parts_text
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import compose_page
from voile.report.locally_linear.bars import draw_lead, find_lead
from voile.report.locally_linear.pictures import place_ranked, place_row

MOST_ROWS, MOST_CLASSES, MOST_MAPS = 20, 12, 10

_html = Templates("locally_linear/rows.html", text=filter_decision_text, no_rows_text=no_rows_text)


@draws(LocallyLinearLocalExplanation)
def draw_page(record: LocallyLinearLocalExplanation) -> str:
    """The whole page as HTML."""
    body = draw_reading(record) + _html.given(record, MOST_ROWS)
    for row in range(min(len(record), MOST_ROWS)):
        body += draw_row(record, row)
    return compose_page(
        "Why these answers", body, record.receipt, cost=record.cost, holds_rows=True
    )


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
            record.columns[i],
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
    """Which filters counted for each class."""
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
