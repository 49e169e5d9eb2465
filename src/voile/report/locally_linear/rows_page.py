"""The page of single rows of a locally linear model: which filters counted, what inputs added."""

from __future__ import annotations

import numpy as np

from voile.explain.filter_decision_text import (
    decision_text,
    decision_title,
    doubt_text,
    filled_text,
    maps_text,
)
from voile.explain.filter_decisions import FilterDecisions
from voile.explain.filter_text import no_rows_text
from voile.explain.prototype_text import given_text
from voile.explain.wording import noisy, percent, short, signed
from voile.report.kit.page import compose_page, fold, heading, paragraph, place_figure, place_table
from voile.report.kit.pictures import place_cards
from voile.report.locally_linear.bars import draw_lead, find_lead
from voile.report.locally_linear.pictures import place_ranked, place_row

MOST_ROWS, MOST_CLASSES, MOST_MAPS = 20, 12, 10


def draw_page(explanation: FilterDecisions) -> str:
    """The whole page as HTML."""
    count, body = len(explanation), draw_reading(explanation)
    rows = f"{no_rows_text(explanation.receipt)} The rows on this page are those you gave."
    body.append(paragraph(rows, note=True))
    if count > MOST_ROWS:
        text = f"The first {MOST_ROWS} of {count} rows; to_frame() has all."
        body.append(paragraph(text, note=True))
    for row in range(min(count, MOST_ROWS)):
        body += draw_row(explanation, row)
    return compose_page(
        "Why these answers", body, explanation.receipt, cost=explanation.cost, holds_rows=True
    )


def draw_reading(explanation: FilterDecisions) -> list[str]:
    """How to read the rows, as HTML."""
    count = len(explanation)
    lead = (
        f"Why {'one row got its' if count == 1 else f'{count} rows got their'} class: it is the "
        f"class with the highest score. For each row and class the filters are blended by how well "
        f"they fit the row; the blended filter times the row, input by input, is what each input "
        f"adds. Together with a base, what the class scores where every input is average, that is "
        f"exactly the score."
    )
    noise = (
        "Whiskers and ± are two standard errors of the privacy noise of the filters, the blend "
        "held fixed: rather too much than too little, as training corrects noise where answers "
        "depend on it. The noise of the base is not known."
    )
    notes = [paragraph(lead), paragraph(noise, note=True)]
    if explanation.image_shape is not None:
        notes.append(paragraph(_picture_note(), note=True))
    return notes


def _picture_note() -> str:
    return (
        "Looks for: the average picture with what the blended filter responds to. Filters and what "
        "pixels added are shown less the mean of all classes, which decides nothing: orange raises "
        "the score, blue lowers it. A dark pixel that should be bright counts too."
    )


def draw_row(explanation: FilterDecisions, row: int, *, level: int = 2) -> list[str]:
    """Why one row got its class, under a heading of this level, as HTML."""
    one, title = explanation.decisions[row], decision_title(explanation, row)
    told = (
        decision_text(explanation, row),
        doubt_text(one),
        maps_text(explanation, row, one.predicted),
        filled_text(explanation, row),
    )
    parts = [heading(title, level=level), *(paragraph(text) for text in told if text)]
    if explanation.image_shape is not None:
        parts.append(place_cards(place_row(explanation, row)))
        if explanation.maps > 1:
            parts.append(place_cards([place_ranked(explanation, row, one.predicted)]))
    elif one.runner_up >= 0:
        words = ", ".join(
            f"{part.label} {signed(part.size)}" for part in find_lead(explanation, row)[:5]
        )
        parts.append(place_figure(draw_lead(explanation, row), f"row-{row}", f"{title}. {words}"))
    if explanation.image_shape is None:
        parts.append(fold("What each column added to each class", _columns(explanation, row)))
    if explanation.maps > 1:
        inside = _maps(explanation, row)
        if explanation.image_shape is not None and one.runner_up >= 0:
            inside += place_cards([place_ranked(explanation, row, one.runner_up)])
        parts.append(fold("Which filters counted, class by class", inside))
    return parts


def _columns(explanation: FilterDecisions, row: int) -> str:
    one, sizes = explanation.decisions[row], explanation.parts(row)
    errors = explanation.part_errors(row)
    classes = one.classes_by_score[:MOST_CLASSES]
    order = np.argsort(-np.abs(sizes[list(classes)]).max(axis=0, initial=0.0), kind="stable")
    rows = [
        [
            explanation.columns[i],
            given_text(one, int(i)),
            *(noisy(float(sizes[k, i]), float(errors[k, i])) for k in classes),
        ]
        for i in order
    ]
    rows.append(["base", "", *(signed(float(one.base[k])) for k in classes)])
    scores = [noisy(float(one.scores[k]), float(one.score_errors[k])) for k in classes]
    rows.append(["score", "", *scores])
    rows.append(["probability", "", *(percent(float(one.probabilities[k])) for k in classes)])
    head = ["column", "value", *(f"'{explanation.outputs[k]}'" for k in classes)]
    return place_table(head, rows, numbers=len(classes))


def _maps(explanation: FilterDecisions, row: int) -> str:
    one = explanation.decisions[row]
    rows = [
        [
            f"'{explanation.outputs[k]}'",
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
    head = ["class", "probability", "score", "filters: share of the blend, what it says"]
    return place_table(head, rows)
