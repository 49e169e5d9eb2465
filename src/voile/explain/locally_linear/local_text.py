"""Decisions by linear maps as plain text: what print() shows, and sentences that pages use too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.explain.ebm.text import cut_text
from voile.explain.explained_feature import sum_columns
from voile.explain.locally_linear.overall_text import no_rows_text
from voile.explain.lvq.text import FEEBLE, brief
from voile.explain.wording import list_rows, noisy, percent, short, signed, wrapped
from voile.models.verdict import error_bars_text, marked

if TYPE_CHECKING:
    from voile.explain.locally_linear.local import LinearMapDecision, LocallyLinearLocalExplanation

MOST_NAME, MOST_VALUE, MOST_PARTS = 24, 20, 8

Floats = NDArray[np.float64]


def decision_title(explanation: LocallyLinearLocalExplanation, row: int) -> str:
    """Which row, counted from one as people count, its class and how probable that is."""
    one = explanation.decisions[row]
    where = f"Row {row + 1}" + (f" of {len(explanation)}" if len(explanation) > 1 else "")
    sure = percent(float(one.probabilities[one.predicted]))
    return f"{where}: '{explanation.outputs[one.predicted]}' with probability {sure}"


def lead_parts(explanation: LocallyLinearLocalExplanation, row: int) -> tuple[Floats, Floats]:
    """What each column added to the lead over the runner-up, and its error, each (columns,)."""
    parts = sum_columns(explanation.features, explanation.against(row))
    squared = sum_columns(explanation.features, explanation.against_errors(row) ** 2)
    return parts, np.sqrt(squared)


def decision_text(explanation: LocallyLinearLocalExplanation, row: int) -> str:
    """Why a row got its class, in a sentence or two."""
    one = explanation.decisions[row]
    right = f"'{explanation.outputs[one.predicted]}'"
    if one.runner_up < 0:
        return f"The model knows no other class than {right}."
    wrong = f"'{explanation.outputs[one.runner_up]}'"
    text = (
        f"Score {short(float(one.scores[one.predicted]))} for {right}, "
        f"{short(float(one.scores[one.runner_up]))} for the next, {wrong} "
        f"({percent(float(one.probabilities[one.runner_up]))})"
    )
    if explanation.image_shape is None:
        for words, sign in (("most for it", 1), ("most against it", -1)):
            told = _strongest(explanation, row, sign)
            text += f"; {words}: {told}" if told else ""
    return f"{text}."


def maps_text(
    explanation: LocallyLinearLocalExplanation, row: int, output: int, *, most: int = 3
) -> str:
    """The linear maps that counted most for a class; nothing if there is but one."""
    if explanation.maps == 1:
        return ""
    one = explanation.decisions[row]
    words = ", ".join(
        f"no. {m + 1} ({percent(float(one.shares[output, m]))})" for m in one.ranked(output)[:most]
    )
    name = explanation.outputs[output]
    return f"Linear maps of '{name}' that counted most: {words} of {explanation.maps}."


def doubt_text(one: LinearMapDecision, *, whole: bool) -> str:
    """Say if the errors of the linear maps could have reversed an answer, else nothing."""
    if not one.doubtful:
        return ""
    why = "privacy noise and sampling error" if whole else "privacy noise"
    return (
        f"Not clear: the lead of {noisy(one.margin, one.margin_error, added=False)} is within the "
        f"{why}, as far as that is known: another training might have given another class."
    )


def filled_text(explanation: LocallyLinearLocalExplanation, row: int, *, most: int = 5) -> str:
    """Say which values of a row were read as others, else nothing."""
    one = explanation.decisions[row]
    places = [i for i, read in enumerate(one.read_as) if read]
    if not places:
        return ""
    words = ", ".join(
        f"{cut_text(explanation.columns[i], MOST_NAME)} {cut_text(one.given[i], MOST_VALUE)} as "
        f"{cut_text(brief(one.read_as[i]), MOST_VALUE)}"
        for i in places[:most]
    )
    left = len(places) - most
    return f"Read otherwise than given: {words}" + (f", and {left} more." if left > 0 else ".")


def decisions_text(explanation: LocallyLinearLocalExplanation) -> str:
    """A few lines per row: why, and what each column added."""
    told = (no_rows_text(explanation.receipt), explanation.cost, explanation.receipt.guarantee)
    lead = (
        "Parts and the base add up to the lead in score over the next class;",
        f"+ speaks for the row's class, - for the next; "
        f"± is {error_bars_text(whole=explanation.whole)} (of the linear maps).",
    )
    return list_rows(len(explanation), lead, lambda row: _row_lines(explanation, row), told)


def _row_lines(explanation: LocallyLinearLocalExplanation, row: int) -> list[str]:
    one = explanation.decisions[row]
    lines = [
        *wrapped(decision_title(explanation, row), ""),
        *wrapped(decision_text(explanation, row)),
    ]
    if explanation.image_shape is None and one.runner_up >= 0:
        lines += _part_lines(explanation, row)
    told = (
        maps_text(explanation, row, one.predicted),
        doubt_text(one, whole=explanation.whole),
        filled_text(explanation, row),
    )
    return [*lines, *(line for text in told for line in wrapped(text))]


def _part_lines(explanation: LocallyLinearLocalExplanation, row: int) -> list[str]:
    one = explanation.decisions[row]
    parts, errors = lead_parts(explanation, row)
    order = np.argsort(-np.abs(parts), kind="stable")
    lines = []
    for i in order[:MOST_PARTS]:
        name, given = cut_text(explanation.columns[i], MOST_NAME), cut_text(one.given[i], 30)
        nothing = explanation.columns[i] in explanation.nothing
        number, _, noise = noisy(float(parts[i]), float(errors[i])).partition(" ")
        line = f"  {name:<{MOST_NAME}}  {given:<30}  {number:>8} {noise}".rstrip()
        lines.append(marked(line, nothing=nothing))
    wide = MOST_NAME + 32
    rest = order[MOST_PARTS:]
    if len(rest):
        name = f"{len(rest)} other columns"
        lines.append(f"  {name:<{wide}}  {signed(float(parts[rest].sum())):>8}")
    lines.append(f"  {'base: all as on average':<{wide}}  {signed(explanation.base_lead(row)):>8}")
    total, _, noise = noisy(one.margin, one.margin_error).partition(" ")
    return [*lines, f"  {'together':<{wide}}  {total:>8} {noise}".rstrip()]


def _strongest(
    explanation: LocallyLinearLocalExplanation, row: int, sign: int, most: int = 3
) -> str:
    """The columns that spoke most for the class (sign 1) or against it (-1), with their values."""
    one = explanation.decisions[row]
    parts = sign * lead_parts(explanation, row)[0]
    least, nothing = FEEBLE * float(np.abs(parts).max(initial=0.0)), explanation.nothing
    order = [
        i
        for i in np.argsort(-parts, kind="stable")
        if parts[i] > least and explanation.columns[i] not in nothing
    ][:most]
    return ", ".join(
        f"{cut_text(explanation.columns[i], MOST_NAME)} "
        f"{cut_text(brief(one.given[i]), MOST_VALUE)} ({signed(sign * float(parts[i]))})"
        for i in order
    )
