"""The page of single rows of a prototype model: why this class, and what would change it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.explain.prototype_decisions import PrototypeDecision, PrototypeDecisions
from voile.explain.prototype_text import (
    change_text,
    decision_text,
    decision_title,
    doubt_text,
    given_text,
    no_rows_text,
    number_text,
    prototype_name,
)
from voile.explain.wording import noisy, percent, short, signed
from voile.report.kit.page import compose_page, fold, heading, paragraph, place_figure, place_table
from voile.report.kit.pictures import Picture, paint_grey, paint_signed, place_card, place_cards
from voile.report.lvq.bars import draw_parts, find_parts, typical_text

MOST_ROWS, MOST_OPEN, MOST_CHANGES, MOST_MOVED = 20, 10, 8, 6


def draw_page(explanation: PrototypeDecisions) -> str:
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


def draw_reading(explanation: PrototypeDecisions) -> list[str]:
    """How to read the rows, as HTML."""
    count = len(explanation)
    lead = (
        f"Why {'one row got its' if count == 1 else f'{count} rows got their'} class: it is the "
        f"class of the nearest prototype. The parts below add up to how much farther, in squared "
        f"distance, the nearest prototype of any other class is."
    )
    sure = (
        "Confidence is the difference of the two squared distances over their sum: 0 on the "
        "border, 1 at the prototype. It is not a probability. Whiskers and ± are two standard "
        "errors of the privacy noise of the two prototypes, to first order; the noise of a learned "
        "distance is not known."
    )
    return [paragraph(lead), paragraph(sure, note=True)]


def draw_row(explanation: PrototypeDecisions, row: int, *, level: int = 2) -> list[str]:
    """Why one row got its class, under a heading of this level, as HTML."""
    one, title = explanation.decisions[row], decision_title(explanation, row)
    parts = [heading(title, level=level), paragraph(decision_text(explanation, row))]
    if doubt := doubt_text(one):
        parts.append(paragraph(doubt))
    if explanation.image_shape is not None:
        parts.append(_pictures(explanation, one))
    if one.wrong < 0:
        return parts
    if explanation.image_shape is None:
        words = ", ".join(
            f"{part.label} {signed(part.size)}" for part in find_parts(explanation, row)[:5]
        )
        parts.append(place_figure(draw_parts(explanation, row), f"row-{row}", f"{title}. {words}"))
        table = _numbers(explanation, row)
        many = len(explanation.columns) > MOST_OPEN
        parts.append(fold("All columns", table) if many else table)
    below = heading("What would have to change", level=level + 1)
    return [*parts, below, *_changes(explanation, one)]


def _numbers(explanation: PrototypeDecisions, row: int) -> str:
    one, sizes = explanation.decisions[row], explanation.parts(row)
    names = [
        f"typical {prototype_name(explanation.labels, explanation.outputs, p)}"
        for p in (one.right, one.wrong)
    ]
    rows = [
        [
            explanation.columns[i],
            given_text(one, int(i)),
            *(typical_text(explanation, p, explanation.columns[i]) for p in (one.right, one.wrong)),
            noisy(float(sizes[i]), float(one.part_errors[i])),
        ]
        for i in np.argsort(-np.abs(sizes), kind="stable")
    ]
    rows.append(["together", "", "", "", noisy(one.gap, one.gap_error)])
    return place_table(["column", "value", *names, "part"], rows, numbers=1)


def _changes(explanation: PrototypeDecisions, one: PrototypeDecision) -> list[str]:
    parts = []
    if one.changes:
        rows = [
            [
                change.column,
                given_text(one, explanation.columns.index(change.column)),
                change_text(explanation, change),
                f"'{explanation.outputs[change.to_class]}'",
                "another level" if change.value is None else percent(change.size),
            ]
            for change in one.changes[:MOST_CHANGES]
        ]
        parts.append(paragraph("Any one of these alone would give another class:", note=True))
        head = ["column", "is", "would have to be", "then", "part of its range"]
        parts.append(place_table(head, rows, numbers=1))
        left = len(one.changes) - MOST_CHANGES
        if left > 0:
            parts.append(paragraph(f"{left} greater changes are left out.", note=True))
    else:
        what = "column" if explanation.image_shape is None else "pixel"
        text = f"No single {what}, changed within its bounds, would give another class."
        parts.append(paragraph(text))
    parts.append(paragraph(_joint_text(explanation, one)))
    return parts


def _joint_text(explanation: PrototypeDecisions, one: PrototypeDecision) -> str:
    """The smallest joint change in a sentence."""
    joint = one.joint
    if joint is None:
        return "No change of the numbers together, within their bounds, would give another class."
    where = prototype_name(explanation.labels, explanation.outputs, joint.toward)
    what = "numbers" if explanation.image_shape is None else "pixels"
    text = f"Smallest change of all {what} together that makes the typical {where} as near"
    if explanation.image_shape is None:
        text += f": {_moved_text(explanation, one, joint.values)}"
    else:
        size = short(joint.size, digits=2)
        text += f": the last two pictures, as far as {size} times the range of one pixel"
    if not joint.flips:
        text += ". The class would stay: another prototype of the same class is nearer there"
    return f"{text}."


def _moved_text(
    explanation: PrototypeDecisions, one: PrototypeDecision, values: NDArray[np.float64]
) -> str:
    features = explanation.features
    widths = np.array([feature.upper - feature.lower for feature in features])
    moves = np.abs(values - one.values) / widths
    moved = [j for j in np.argsort(-moves, kind="stable") if moves[j] > 1e-6]
    texts = [
        f"{features[j].name} from {number_text(features[j], float(one.values[j]))} to "
        f"{number_text(features[j], float(values[j]))}"
        for j in moved[:MOST_MOVED]
    ]
    left = len(moved) - MOST_MOVED
    return ", ".join(texts) + (f", and {left} smaller changes" if left > 0 else "")


def _pictures(explanation: PrototypeDecisions, one: PrototypeDecision) -> str:
    shape = explanation.image_shape
    assert shape is not None
    lower = np.array([feature.lower for feature in explanation.features])
    width = np.array([feature.upper for feature in explanation.features]) - lower

    def grey(values: NDArray[np.float64], caption: str) -> Picture:
        return Picture(paint_grey((values - lower) / width, shape), caption, f"Picture: {caption}")

    def typical(p: int) -> Picture:
        name = prototype_name(explanation.labels, explanation.outputs, p)
        return grey(explanation.prototypes[p], f"typical {name}")

    pictures = [grey(one.values, "this row"), typical(one.right)]
    if one.wrong >= 0:
        caption = "orange speaks for the class, blue against it"
        drawn = Picture(paint_signed(one.contributions, shape), caption, f"Picture: {caption}")
        pictures += [typical(one.wrong), drawn]
    if one.joint is not None:
        name = prototype_name(explanation.labels, explanation.outputs, one.joint.toward)
        pictures.append(grey(one.joint.values, f"changed as little as makes {name} as near"))
        caption = "that change: orange brighter, blue darker"
        change = paint_signed((one.joint.values - one.values) / width, shape)
        pictures.append(Picture(change, caption, f"Picture: {caption}"))
    return place_cards([place_card("", pictures)])
