"""Local surrogates of a black box as plain text: what print() shows, and what pages say too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from voile.explain.blackbox.trust import read_trust
from voile.explain.ebm.text import cut_text
from voile.explain.lvq.text import brief
from voile.explain.wording import noisy, short, signed, wrapped

if TYPE_CHECKING:
    from voile.explain.blackbox.local import BlackBoxLocalExplanation

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


def title_text(record: BlackBoxLocalExplanation, row: int) -> str:
    """Which row, counted from one as people count, and what the black box says of it."""
    where = f"Row {row + 1}" + (f" of {len(record)}" if len(record) > 1 else "")
    if not record.outputs:
        return where
    first = record.outputs_by_score(row)[0]
    score = f"{signed(float(record.scores[row, first]))} for '{record.outputs[first]}'"
    several = len(record.outputs) > 1
    return f"{where}: the black box scores {score}" + (", its highest" if several else "")


def local_score_text(record: BlackBoxLocalExplanation, row: int, output: int) -> str:
    """What the local model says of the row itself, and if that is on the other side."""
    if not record.has_intercept:
        return "The local model has no intercept: it is 0 at the row itself."
    score, local = float(record.scores[row, output]), float(record.intercepts[row, output])
    told = noisy(local, float(record.intercept_errors[row, output]))
    text = f"At the row itself the local model says {told}"
    if math.isfinite(local) and score * local < 0:
        return f"{text}: not the side of the black box, so it does not explain this answer."
    return f"{text}."


def trust_text(record: BlackBoxLocalExplanation, row: int, output: int) -> str:
    """How far to trust it, in a sentence."""
    told = ", ".join(one.text for one in read_trust(record, row, output))
    return f"How far to trust it: {told}."


def answer_text(record: BlackBoxLocalExplanation, row: int) -> str:
    """How the row was answered."""
    count = record.steps[row]
    steps = f"{count:,} noisy gradient {'step' if count == 1 else 'steps'}"
    return f"Answered {ANSWERS[record.answered[row]].format(steps=steps)}."


def noise_text(record: BlackBoxLocalExplanation, row: int, output: int) -> str:
    """Say which influences may be but noise, else nothing."""
    errors = record.standard_errors[row, :, output]
    if len(errors) and np.isinf(errors).all():
        return "How much of an influence is privacy noise is not known."
    doubtful = record.doubtful[row, :, output]
    found = [j for j in record.ranked(row, output) if doubtful[j]]
    if not found:
        return ""
    if len(found) == len(doubtful) and len(found) > 1:
        return f"Within the privacy noise, perhaps nothing: all {len(found)} influences."
    if record.picture is not None:
        return f"Within the privacy noise: {len(found):,} of {len(doubtful):,} values of pixels."
    names = ", ".join(cut_text(record.features[j].name, MOST_NAME) for j in found[:MOST_NAMED])
    left = len(found) - MOST_NAMED
    more = f" and {left:,} more" if left > 0 else ""
    return (
        f"Within the privacy noise, perhaps nothing: {names}{more} "
        f"({len(found):,} of {len(doubtful):,})."
    )


def reading_text(record: BlackBoxLocalExplanation, row: int) -> str:
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


def meaning_text(record: BlackBoxLocalExplanation) -> str:
    """What an influence is."""
    if record.words:
        what = f"between a text without the word and one with it ({OWN}: it is in this text)"
    elif record.picture is not None:
        what = "when the pixel goes from its lower to its upper bound"
    else:
        what = "when a number goes from its lower to its upper bound"
        if any(one.level is not None for one in record.features):
            what += f", or with a level instead of without ({OWN}: the row's own level)"
    return f"An influence is by how much the local model's score changes {what}, in {record.units}."


def weight_text(record: BlackBoxLocalExplanation) -> str:
    """Which rows count, and how large coefficients may be."""
    within = f"; coefficients within {short(record.radius)}" if math.isfinite(record.radius) else ""
    return f"Rows near the asked one count most (weight: {record.weight}{within})."


def feature_text(record: BlackBoxLocalExplanation, row: int, feature: int, *, own: bool) -> str:
    """Name a feature as a list of influences shows it.

    A number has the row's value: "age, here 39"; a level or word that the row has its mark.

    Parameters
    ----------
    record : BlackBoxLocalExplanation
    row, feature : int
    own : bool
        Whether the row has this level or word: a part of `BlackBoxLocalExplanation.own`, found once
        for all.
    """
    one = record.features[feature]
    name = cut_text(one.name, MOST_NAME)
    if own:
        return f"{OWN} {name}"
    if one.level is not None or record.words or not record.given[row]:
        return name
    place = record.columns.index(one.column)
    given, read = record.given[row][place], record.read_as[row][place]
    value = brief(given) + (f" → {brief(read)}" if read else "")
    return f"{name}, here {cut_text(value, MOST_VALUE)}"


def influences_text(record: BlackBoxLocalExplanation) -> str:
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


def _row_lines(record: BlackBoxLocalExplanation, row: int) -> list[str]:
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
        lines += _influence_lines(record, row, output)
    lines += wrapped(noise_text(record, row, output))
    left = len(record.outputs) - 1
    if left:
        lines.append(f"  Told: the highest of {left + 1} scores; to_frame() has them all.")
    return lines


def _influence_lines(record: BlackBoxLocalExplanation, row: int, output: int) -> list[str]:
    own = record.own[row]
    order = record.ranked(row, output)
    names = [
        ("" if own[j] else "  ") + feature_text(record, row, j, own=bool(own[j]))
        for j in order[:MOST_PARTS]
    ]
    wide = max(map(len, names), default=0)
    lines = []
    for name, one in zip(names, record.top(MOST_PARTS, row, output), strict=True):
        number, _, noise = noisy(one.value, one.standard_error).partition(" ")
        lines.append(f"  {name:<{wide}}  {number:>8} {noise}".rstrip())
    left = len(order) - MOST_PARTS
    if left > 0:
        lines.append(f"    and {left:,} smaller: to_frame() has them all")
    return lines
