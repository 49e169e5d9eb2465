"""The page of single rows of a prototype model: why this class, and what would change it."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from voile.explain import prototype_text
from voile.explain.prototype_decisions import PrototypeDecision, PrototypeDecisions
from voile.explain.prototype_text import change_text, given_text, number_text, prototype_name
from voile.explain.wording import noisy, percent, short
from voile.rendering import draws
from voile.report.kit.bars import parts_text
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import compose_page
from voile.report.kit.pictures import Picture, paint_grey, paint_signed
from voile.report.lvq.bars import draw_parts, find_parts, typical_text

MOST_ROWS, MOST_CHANGES, MOST_MOVED = 20, 8, 6

_html = Templates("lvq/rows.html", text=prototype_text)


@draws(PrototypeDecisions)
def draw_page(explanation: PrototypeDecisions) -> str:
    """The whole page as HTML."""
    body = draw_reading(explanation) + _html.given(explanation, MOST_ROWS)
    for row in range(min(len(explanation), MOST_ROWS)):
        body += draw_row(explanation, row)
    return compose_page(
        "Why these answers", body, explanation.receipt, cost=explanation.cost, holds_rows=True
    )


def draw_reading(explanation: PrototypeDecisions) -> Markup:
    """How to read the rows."""
    return _html.reading(len(explanation))


def draw_row(explanation: PrototypeDecisions, row: int, *, level: int = 2) -> Markup:
    """Why one row got its class, under a heading of this level."""
    one = explanation.decisions[row]
    bars = one.wrong >= 0 and explanation.image_shape is None
    return _html.row(
        explanation,
        row,
        level,
        pictures=_pictures(explanation, one),
        figure=draw_parts(explanation, row) if bars else None,
        words=parts_text(find_parts(explanation, row)) if bars else "",
        table=_tabulate(explanation, row) if bars else "",
        changes=_changes(explanation, one),
        left=len(one.changes) - MOST_CHANGES,
        joint=_joint_text(explanation, one) if one.wrong >= 0 else "",
    )


def _tabulate(explanation: PrototypeDecisions, row: int) -> Markup:
    one, sizes = explanation.decisions[row], explanation.parts(row)
    both = (one.right, one.wrong)
    names = [f"typical {prototype_name(explanation.labels, explanation.outputs, p)}" for p in both]
    rows = [
        [
            explanation.columns[i],
            given_text(one, int(i)),
            *(typical_text(explanation, p, explanation.columns[i]) for p in both),
            noisy(float(sizes[i]), float(one.part_errors[i])),
        ]
        for i in np.argsort(-np.abs(sizes), kind="stable")
    ]
    rows.append(["together", "", "", "", noisy(one.gap, one.gap_error)])
    return parts.table(["column", "value", *names, "part"], rows, 1)


def _changes(explanation: PrototypeDecisions, one: PrototypeDecision) -> list[list[str]]:
    """The smallest changes of a single column that would give another class."""
    return [
        [
            change.column,
            given_text(one, explanation.columns.index(change.column)),
            change_text(explanation, change),
            f"'{explanation.outputs[change.to_class]}'",
            "another level" if change.value is None else percent(change.size),
        ]
        for change in one.changes[:MOST_CHANGES]
    ]


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


def _pictures(explanation: PrototypeDecisions, one: PrototypeDecision) -> list[Picture]:
    shape = explanation.image_shape
    if shape is None:
        return []
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
    return pictures
