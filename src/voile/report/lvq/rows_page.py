"""The page of single rows of a prototype model: why this class, and what would change it."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.lvq import text as words
from voile.explain.lvq.local import LVQLocalExplanation, PrototypeDecision
from voile.explain.wording import noisy, percent, short
from voile.figure_request import FigureRequest
from voile.models.verdict import error_bars_text, marked
from voile.rendering import draws, plots
from voile.report.kit.bars import Part, draw_bars, parts_text, rank_parts, value_label
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import compose_page
from voile.report.kit.pictures import Picture, draw_pictures, paint_grey, paint_signed
from voile.report.kit.room import draw_some
from voile.report.kit.text import plot_text, short_names

MOST_ROWS, MOST_CHANGES, MOST_MOVED = 20, 8, 6

_html = Templates("lvq/rows.html", text=words, error_bars_text=error_bars_text)

MOST_NAME = 24


@draws(LVQLocalExplanation)
def draw_page(record: LVQLocalExplanation) -> str:
    """The whole page as HTML."""
    rows = draw_some(lambda row: draw_row(record, row), min(len(record), MOST_ROWS))
    body = draw_reading(record) + _html.given(record, len(rows)) + Markup("").join(rows)
    return compose_page(
        "Why these answers", body, record.receipt, cost=record.cost, holds_rows=True
    )


@plots(LVQLocalExplanation)
def plot(record: LVQLocalExplanation, request: FigureRequest) -> go.Figure:
    """What made one row nearer to its class than to any other."""
    request.refuse("name", "output")
    row = request.choose_row(len(record))
    one = record.decisions[row]
    if record.image_shape is not None:
        return draw_pictures(_pictures(record, one))
    if one.wrong < 0:
        raise SettingError(f"There is no figure of row {row}: the model knows no other class.")
    return draw_parts(record, row)


def draw_reading(record: LVQLocalExplanation) -> Markup:
    """How to read the rows."""
    return _html.reading(record)


def draw_row(record: LVQLocalExplanation, row: int, *, level: int = 2) -> Markup:
    """Why one row got its class, under a heading of this level."""
    one = record.decisions[row]
    bars = one.wrong >= 0 and record.image_shape is None
    return _html.row(
        record,
        row,
        level,
        pictures=_pictures(record, one),
        figure=draw_parts(record, row) if bars else None,
        words=parts_text(find_parts(record, row)) if bars else "",
        table=_tabulate(record, row) if bars else "",
        changes=_changes(record, one),
        left=len(one.changes) - MOST_CHANGES,
        joint=_joint_text(record, one) if one.wrong >= 0 else "",
    )


def _tabulate(record: LVQLocalExplanation, row: int) -> Markup:
    one, sizes = record.decisions[row], record.parts(row)
    both = (one.right, one.wrong)
    names = [f"typical {words.prototype_name(record.labels, record.outputs, p)}" for p in both]
    rows = [
        [
            record.columns[i],
            words.given_text(one, int(i)),
            *(typical_text(record, p, record.columns[i]) for p in both),
            marked(
                noisy(float(sizes[i]), float(one.part_errors[i])),
                nothing=record.columns[i] in record.nothing,
            ),
        ]
        for i in np.argsort(-np.abs(sizes), kind="stable")
    ]
    rows.append(["together", "", "", "", noisy(one.gap, one.gap_error)])
    return parts.table(["column", "value", *names, "part"], rows, 1)


def _changes(record: LVQLocalExplanation, one: PrototypeDecision) -> list[list[str]]:
    """The smallest changes of a single column that would give another class."""
    return [
        [
            change.column,
            words.given_text(one, record.columns.index(change.column)),
            words.change_text(record, change),
            f"'{record.outputs[change.to_class]}'",
            "another level" if change.value is None else percent(change.size),
        ]
        for change in one.changes[:MOST_CHANGES]
    ]


def _joint_text(record: LVQLocalExplanation, one: PrototypeDecision) -> str:
    """The smallest joint change in a sentence."""
    joint = one.joint
    if joint is None:
        return "No change of the numbers together, within their bounds, would give another class."
    where = words.prototype_name(record.labels, record.outputs, joint.toward)
    what = "numbers" if record.image_shape is None else "pixels"
    text = f"Smallest change of all {what} together that makes the typical {where} as near"
    if record.image_shape is None:
        text += f": {_moved_text(record, one, joint.values)}"
    else:
        size = short(joint.size, digits=2)
        text += f": the last two pictures, as far as {size} times the range of one pixel"
    if not joint.flips:
        text += ". The class would stay: another prototype of the same class is nearer there"
    return f"{text}."


def _moved_text(
    record: LVQLocalExplanation, one: PrototypeDecision, values: NDArray[np.float64]
) -> str:
    features = record.features
    widths = np.array([feature.upper - feature.lower for feature in features])
    moves = np.abs(values - one.values) / widths
    moved = [j for j in np.argsort(-moves, kind="stable") if moves[j] > 1e-6]
    texts = [
        f"{features[j].name} from {words.number_text(features[j], float(one.values[j]))} to "
        f"{words.number_text(features[j], float(values[j]))}"
        for j in moved[:MOST_MOVED]
    ]
    left = len(moved) - MOST_MOVED
    return ", ".join(texts) + (f", and {left} smaller changes" if left > 0 else "")


def _pictures(record: LVQLocalExplanation, one: PrototypeDecision) -> list[Picture]:
    shape = record.image_shape
    if shape is None:
        return []
    lower = np.array([feature.lower for feature in record.features])
    width = np.array([feature.upper for feature in record.features]) - lower

    def grey(values: NDArray[np.float64], caption: str) -> Picture:
        return Picture(paint_grey((values - lower) / width, shape), caption, f"Picture: {caption}")

    def typical(p: int) -> Picture:
        name = words.prototype_name(record.labels, record.outputs, p)
        return grey(record.prototypes[p], f"typical {name}")

    pictures = [grey(one.values, "this row"), typical(one.right)]
    if one.wrong >= 0:
        caption = "orange speaks for the class, blue against it"
        drawn = Picture(paint_signed(one.contributions, shape), caption, f"Picture: {caption}")
        pictures += [typical(one.wrong), drawn]
    if one.joint is not None:
        name = words.prototype_name(record.labels, record.outputs, one.joint.toward)
        pictures.append(grey(one.joint.values, f"changed as little as makes {name} as near"))
        caption = "that change: orange brighter, blue darker"
        change = paint_signed((one.joint.values - one.values) / width, shape)
        pictures.append(Picture(change, caption, f"Picture: {caption}"))
    return pictures


def find_parts(record: LVQLocalExplanation, row: int) -> list[Part]:
    """Parts of one row, the greatest first, the rest summed (their noise taken as independent)."""
    one, columns = record.decisions[row], record.columns
    names = short_names(columns, MOST_NAME)

    def tell(i: int) -> tuple[str, tuple[str, ...]]:
        label = value_label(names[i], words.brief(one.given[i]), words.brief(one.read_as[i] or ""))
        told = f"{columns[i]} = {words.given_text(one, i)}"
        return label, (told, *typical_texts(record, row, columns[i]))

    return rank_parts(columns, record.parts(row), one.part_errors, tell, nothing=record.nothing)


def typical_texts(record: LVQLocalExplanation, row: int, column: str) -> list[str]:
    """What is typical of the two prototypes in a column: "typical 'no': 12 ± 0.7"."""
    one = record.decisions[row]
    return [
        f"typical {words.prototype_name(record.labels, record.outputs, p)}: "
        f"{typical_text(record, p, column)}"
        for p in (one.right, one.wrong)
        if p >= 0
    ]


def typical_text(record: LVQLocalExplanation, p: int, column: str, *, most: int = 3) -> str:
    """A prototype's number, or its most frequent levels, with the noise."""
    found = [j for j, one in enumerate(record.features) if one.column == column]
    values, errors = record.prototypes[p], record.standard_errors[p]
    texts = [
        (f"{one.level} " if one.level is not None else "")
        + words.feature_text(one, float(values[j]), float(errors[j]))
        for j in sorted(found, key=lambda j: -values[j])[:most]
        for one in (record.features[j],)
    ]
    return ", ".join(texts) + (", …" if len(found) > most else "")


def draw_parts(record: LVQLocalExplanation, row: int) -> go.Figure:
    """Draw a bar per column, to the right what speaks for the class, to the left what against.

    Whiskers are two standard errors of the two prototypes.
    """
    one = record.decisions[row]
    wrong = words.prototype_name(record.labels, record.outputs, one.wrong)
    right = words.prototype_name(record.labels, record.outputs, one.right)
    return draw_bars(
        find_parts(record, row),
        Part("together", ("together",), one.gap, one.gap_error),
        f"← nearer to {plot_text(wrong, 28)}   |   nearer to {plot_text(right, 28)} →",
    )
