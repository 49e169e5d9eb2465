"""Local surrogates of a black box as plain text: what print() shows, and what pages say too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from voile.explain.blackbox.surrogate.trust import read_trust
from voile.explain.blackbox.units import (
    PROBABILITY,
    amount_text,
    half_text,
    score_text,
    unit_text,
)
from voile.explain.ebm.text import cut_text
from voile.explain.explained_feature import ExplainedFeature
from voile.explain.lvq.text import brief
from voile.explain.wording import short, wrapped

if TYPE_CHECKING:
    from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate

MOST_ROWS, MOST_PARTS, MOST_NAME, MOST_VALUE, MOST_NAMED = 5, 8, 36, 20, 5

OWN = "●"
"""Marks a level or a word that the asked row has."""

ANSWERS = {
    "summary": "from the summary of the table that was released once",
    "release": "from sums over the table that were released for this row",
    "interactive": "by {steps} on the table",
    "adaptive": "by {steps} on the table, from an earlier answer",
    "enhanced": "by {steps} on the table, from an earlier answer (enhanced: as few as seem enough)",
    "reused": "by the answer to another row close to it",
    "stored": "by the stored answer to the same question",
    "offline": "by the mean of explanations of other rows, near ones most: the table was not read",
}
"""How a row can be answered, in words."""


def title_text(record: LocalSurrogate, row: int) -> str:
    """Which row, counted from one as people count, and what the model says of it."""
    where = f"Row {row + 1}" + (f" of {len(record)}" if len(record) > 1 else "")
    if not record.outputs:
        return where
    first = record.outputs_by_score(row)[0]
    score = score_text(float(record.scores[row, first]), record.units)
    several = ", the highest" if len(record.outputs) > 1 else ""
    return f"{where}: the model says {score} for '{record.outputs[first]}'{several}"


def local_score_text(record: LocalSurrogate, row: int, output: int) -> str:
    """What the surrogate says of the row itself, and if that is on the other side."""
    if not record.has_intercept:
        return "The surrogate has no intercept: at the row itself it says the middle of the range."
    score, local = float(record.scores[row, output]), float(record.intercepts[row, output])
    told = score_text(local, record.units)
    error = float(record.intercept_errors[row, output])
    if error > 0:
        told += f" ± {half_text(error, record.units)}"
    text = f"At the row itself the surrogate says {told}"
    other_side = record.units == PROBABILITY and (score - 0.5) * (local - 0.5) < 0
    if math.isfinite(local) and other_side:
        return f"{text}: not the side of the model, so it does not describe this answer."
    return f"{text}."


def trust_text(record: LocalSurrogate, row: int, output: int) -> str:
    """How far to trust it, in a sentence."""
    told = ", ".join(one.text for one in read_trust(record, row, output))
    return f"How far to trust it: {told}."


def answer_text(record: LocalSurrogate, row: int) -> str:
    """How the row was answered."""
    count = record.steps[row]
    steps = f"{count:,} noisy gradient {'step' if count == 1 else 'steps'}"
    return f"Answered {ANSWERS[record.answered[row]].format(steps=steps)}."


def noise_text(record: LocalSurrogate, row: int, output: int) -> str:
    """Say which slopes may be but noise, else nothing."""
    errors = record.standard_errors[row, :, output]
    if len(errors) and np.isinf(errors).all():
        return "How much of a slope is privacy noise is not known."
    doubtful = record.doubtful[row, :, output]
    found = [j for j in record.ranked(row, output) if doubtful[j]]
    if not found:
        return ""
    if len(found) == len(doubtful) and len(found) > 1:
        return f"Within the privacy noise, perhaps nothing: all {len(found)} slopes."
    if record.picture is not None:
        return f"Within the privacy noise: {len(found):,} of {len(doubtful):,} values of pixels."
    names = ", ".join(cut_text(record.features[j].name, MOST_NAME) for j in found[:MOST_NAMED])
    left = len(found) - MOST_NAMED
    more = f" and {left:,} more" if left > 0 else ""
    return (
        f"Within the privacy noise, perhaps nothing: {names}{more} "
        f"({len(found):,} of {len(doubtful):,})."
    )


def reading_text(record: LocalSurrogate, row: int) -> str:
    """Say which values of a row were read as others, else nothing."""
    places = [i for i, read in enumerate(record.read_as[row]) if read]
    if not places:
        return ""
    words = ", ".join(
        f"{cut_text(record.columns[i], MOST_NAME)} "
        f"{cut_text(record.given[row][i], MOST_VALUE)} as "
        f"{cut_text(brief(record.read_as[row][i]), MOST_VALUE)}"
        for i in places[:MOST_NAMED]
    )
    left = len(places) - MOST_NAMED
    return f"Read otherwise than given: {words}" + (f", and {left} more." if left > 0 else ".")


def meaning_text(record: LocalSurrogate) -> str:
    """What a slope is."""
    if record.words:
        what = f"between a text without the word and one with it ({OWN}: it is in this text)"
    elif record.picture is not None:
        what = "when the pixel goes from its lower to its upper bound"
    else:
        what = "with the step that is named"
        if any(one.level is not None for one in record.features):
            what += f", or with a level instead of another ({OWN}: the row's own level)"
    return (
        f"A slope is by how much the score of the local surrogate changes {what}, in "
        f"{unit_text(record.units)}. It does not say what the row's own values contributed."
    )


def weight_text(record: LocalSurrogate) -> str:
    """Which rows count, and how large coefficients may be."""
    within = f"; coefficients within {short(record.radius)}" if math.isfinite(record.radius) else ""
    return f"Rows near the asked one count most (weight: {record.weight}{within})."


def step_of(feature: ExplainedFeature) -> float:
    """A step of a number that people think of: a power of ten."""
    return float(10.0 ** math.floor(math.log10((feature.upper - feature.lower) / 20.0)))


def feature_text(record: LocalSurrogate, row: int, feature: int, *, own: bool) -> str:
    """Name a feature as a list of slopes shows it, with the row's value and the step.

    "age is 39; 1 more"; a level or word that the row has gets its mark.

    Parameters
    ----------
    record : LocalSurrogate
    row, feature : int
    own : bool
        Whether the row has this level or word: a part of `LocalSurrogate.own`, found once for all.
    """
    one = record.features[feature]
    name = cut_text(one.name, MOST_NAME)
    if own:
        return f"{OWN} {name}"
    if one.level is not None or record.words:
        return name
    step = f"{short(step_of(one))} more"
    if not record.given[row]:
        return f"{name}; {step}"
    place = record.columns.index(one.column)
    given, read = record.given[row][place], record.read_as[row][place]
    value = brief(given) + (f" → {brief(read)}" if read else "")
    return f"{name} is {cut_text(value, MOST_VALUE)}; {step}"


def slope_text(record: LocalSurrogate, row: int, feature: int, output: int) -> str:
    """By how much the score changes with a step, with two standard errors."""
    _, change = record.step(row, feature, output)
    value = float(record.values[row, feature, output])
    error = float(record.standard_errors[row, feature, output])
    part = abs(change / value) if value else 1.0
    return amount_text(change, error * part if error else 0.0, record.units)


def slopes_text(record: LocalSurrogate) -> str:
    """A few lines per row: what it scores, how far to trust the rest, and what moves it."""
    count = len(record)
    lines = wrapped(
        f"{'Row' if count == 1 else 'Rows'} explained: {count}. {meaning_text(record)} "
        f"± two standard errors of the privacy noise. {weight_text(record)}",
        "",
    )
    for row in range(min(count, MOST_ROWS)):
        lines += ["", *_row_lines(record, row)]
    if count > MOST_ROWS:
        lines += ["", f"... and {count - MOST_ROWS} more rows: to_frame() has them all"]
    told = (record.cost, record.receipt.guarantee)
    return "\n".join([*lines, "", *(line for text in told for line in wrapped(text, ""))])


def _row_lines(record: LocalSurrogate, row: int) -> list[str]:
    lines = wrapped(title_text(record, row), "")
    if not record.outputs:
        return lines
    output = record.outputs_by_score(row)[0]
    told = (
        local_score_text(record, row, output),
        trust_text(record, row, output),
        answer_text(record, row),
        reading_text(record, row),
    )
    lines += [line for text in told if text for line in wrapped(text)]
    if record.picture is None:
        lines += _slope_lines(record, row, output)
    lines += wrapped(noise_text(record, row, output))
    left = len(record.outputs) - 1
    if left:
        lines.append(f"  Told: the highest of {left + 1} scores; to_frame() has them all.")
    return lines


def _slope_lines(record: LocalSurrogate, row: int, output: int) -> list[str]:
    own = record.own[row]
    order = record.ranked(row, output)
    names = [
        ("" if own[j] else "  ") + feature_text(record, row, j, own=bool(own[j]))
        for j in order[:MOST_PARTS]
    ]
    wide = max(map(len, names), default=0)
    lines = []
    for name, j in zip(names, order, strict=False):
        number, _, noise = slope_text(record, row, j, output).partition(" ")
        lines.append(f"  {name:<{wide}}  {number:>8} {noise}".rstrip())
    left = len(order) - MOST_PARTS
    if left > 0:
        lines.append(f"    and {left:,} smaller: to_frame() has them all")
    return lines
