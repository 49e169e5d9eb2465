"""Prototypes and decisions as plain text: what print() shows, and sentences that pages use too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from voile.explain.ebm.text import cut_text
from voile.explain.wording import (
    list_rows,
    noisy,
    noisy_value,
    percent,
    short,
    signed,
    wrapped,
)
from voile.models.verdict import (
    LEVELS,
    MARK,
    error_bars_text,
    interval_text,
    marked,
    nothing_text,
    something_text,
)
from voile.schema.scale import step_of
from voile.schema.value_texts import value_text

if TYPE_CHECKING:
    from voile.explain.explained_feature import ExplainedFeature
    from voile.explain.locally_linear.local import LinearMapDecision
    from voile.explain.lvq.local import Change, LVQLocalExplanation, PrototypeDecision
    from voile.explain.lvq.overall import LVQExplanation
    from voile.privacy.receipt import Receipt

MOST_PROTOTYPES, MOST_NAME, MOST_VALUE, MOST_PARTS = 20, 24, 20, 8

FEEBLE = 0.05
"""A sentence leaves out what adds less than this part of the strongest column."""


def no_rows_text(receipt: Receipt) -> str:
    """Say that no training row is shown, and what typical points without noise may give away."""
    if receipt.has_guarantee:
        return (
            "No row of the training table is shown: the model holds none, only typical points "
            "with privacy noise in them."
        )
    return (
        "The model holds no row of the training table. But there is no guarantee: its typical "
        "points may come close to one."
    )


def prototype_name(labels: Sequence[int], classes: Sequence[str], position: int) -> str:
    """Name a prototype by its class, and by its number if there are several of the class.

    Examples
    --------
    >>> prototype_name([0, 1, 1], ["no", "yes"], 0), prototype_name([0, 1, 1], ["no", "yes"], 2)
    ("'no'", "'yes' no. 2")
    """
    label = labels[position]
    same = [p for p, one in enumerate(labels) if one == label]
    count = f" no. {same.index(position) + 1}" if len(same) > 1 else ""
    return f"'{classes[label]}'{count}"


def count_text(count: float) -> str:
    """About how many rows a class has."""
    return f"about {count:,.0f} rows" if np.isfinite(count) else "rows not counted"


def from_mean_text(distance: float) -> str:
    """How far a prototype is from the mean of its class."""
    if distance < 0.005:
        return "at the mean of its class"
    if not math.isfinite(distance):
        return "off its class mean (there is no gap between classes)"
    return f"off its class mean by {mean_share(distance)} of the gap between classes"


def mean_share(distance: float) -> str:
    """A distance from the class mean as a share of the usual distance between two classes."""
    if not math.isfinite(distance):
        return "no gap"
    return f"{short(100 * distance, digits=2)} %"


def relevance_text(explanation: LVQExplanation, *, most: int = 5) -> str:
    """What the distance looks at most."""
    if not explanation.learned:
        return "The distance weighs all features alike: it was not learned."
    if explanation.image_shape is not None:
        return "The distance was learned: it weighs some pixels more than others."
    sizes, names = explanation.column_relevance, explanation.columns
    order = np.argsort(-sizes, kind="stable")[:most]
    nothing = explanation.nothing
    words = ", ".join(
        f"{cut_text(names[i], MOST_NAME)} ({share_text(explanation, int(i))}"
        + (f"; {MARK})" if names[i] in nothing else ")")
        for i in order
    )
    known = np.isfinite(explanation.column_relevance_errors).all()
    told = interval_text(whole=True) if known else "its error is not known"
    return (
        f"A difference counts most in: {words} ({told}). It counts much where rows of one class "
        f"hardly differ; whether the classes differ there is another question."
    )


def share_text(explanation: LVQExplanation, column: int) -> str:
    """The part of a column in the distance, with its interval if that is known."""
    size = float(explanation.column_relevance[column])
    error = float(explanation.column_relevance_errors[column])
    if not math.isfinite(error) or error == 0:
        return percent(size)
    return f"{noisy(100 * size, 100 * error, added=False)} %"


def prototypes_text(explanation: LVQExplanation) -> str:
    """A line or two per prototype, and what the distance looks at."""
    count = len(explanation.labels)
    lines = [
        f"Model of {count} {'prototype' if count == 1 else 'prototypes'} "
        f"({explanation.model_kind}) for {len(explanation.outputs)} classes: "
        f"the nearest gives the class"
    ]
    for text in (verdicts_text(explanation), nothing_text(explanation.nothing)):
        lines += wrapped(text)
    picture = explanation.image_shape
    for p, label in enumerate(explanation.labels[:MOST_PROTOTYPES]):
        name = cut_text(prototype_name(explanation.labels, explanation.outputs, p), 40)
        distance = from_mean_text(float(explanation.distance_from_mean[p]))
        lines.append(f"  {name}: {count_text(float(explanation.counts[label]))}; {distance}")
        if picture is None:
            lines += [_feature_line(explanation, p, j) for j in explanation.shown[:MOST_PARTS]]
    if count > MOST_PROTOTYPES:
        lines.append(f"  ... and {count - MOST_PROTOTYPES} more prototypes: to_frame() has them")
    if picture is not None:
        lines.append(f"  Pictures of {picture[0]} x {picture[1]} pixels: to_html() draws them.")
    elif len(explanation.shown) > MOST_PARTS:
        lines.append(f"  {MOST_PARTS} of {len(explanation.features)} features; to_frame() has all")
    told = [empty_text(explanation)] if explanation.empty_classes else []
    told += [f"± is {error_bars_text(whole=explanation.whole)}." if picture is None else ""]
    told += [relevance_text(explanation), no_rows_text(explanation.receipt)]
    told += [explanation.cost, explanation.receipt.guarantee]
    return "\n".join([*lines, *(line for text in told for line in wrapped(text))])


def verdicts_text(explanation: LVQExplanation) -> str:
    """Whether the classes differ in each column, in a sentence; nothing if that is not known."""
    if not explanation.verdicts:
        return ""
    names = [cut_text(name, MOST_NAME) for name in explanation.columns]
    return (
        f"Class means differ in: {something_text(names, explanation.verdicts)}. {LEVELS} "
        f"compare('column', 'class', 'class') tells how much."
    )


def empty_text(explanation: LVQExplanation) -> str:
    """Which classes nobody can get."""
    names = ", ".join(f"'{cut_text(name, MOST_NAME)}'" for name in explanation.empty_classes[:10])
    return f"Without a prototype, so that no row can get it: {names}."


def feature_text(feature: ExplainedFeature, value: float, standard_error: float = 0.0) -> str:
    """Write a value of a prototype in its unit, with its noise: a level as a share of rows."""
    if feature.level is None:
        return noisy_value(value, standard_error, feature.scale)
    return f"{noisy(100 * value, 100 * standard_error, added=False)} %"


def _feature_line(explanation: LVQExplanation, p: int, j: int) -> str:
    feature = explanation.features[j]
    text = prototype_value_text(explanation, p, j)
    mean = mean_text(explanation, explanation.labels[p], j)
    text = f"{text:<16}  {mean}".rstrip()
    return f"    {cut_text(feature.name, MOST_NAME):<{MOST_NAME}}  {text}"


def prototype_value_text(explanation: LVQExplanation, p: int, j: int) -> str:
    """A prototype's value of a feature, with its interval."""
    value, error = explanation.values[p, j], explanation.standard_errors[p, j]
    return feature_text(explanation.features[j], float(value), float(error))


def mean_text(explanation: LVQExplanation, label: int, j: int) -> str:
    """The mean of a class in a feature, with its interval; nothing if that is not known.

    A prototype stands where the classes border; the mean is what is typical of the class.
    """
    evidence = explanation.evidence
    if evidence is None:
        return ""
    feature, error = explanation.features[j], math.sqrt(float(evidence.variances[label, j]))
    value = min(max(float(evidence.estimates[label, j]), feature.lower), feature.upper)
    return f"class mean {feature_text(feature, value, error)}"


# -- decisions ----------------------------------------------------------------------------------


def decision_title(explanation: LVQLocalExplanation, row: int) -> str:
    """Which row, counted from one as people count, its class and how clear that is."""
    one = explanation.decisions[row]
    where = f"Row {row + 1}" + (f" of {len(explanation)}" if len(explanation) > 1 else "")
    sure = short(one.confidence, digits=2)
    return f"{where}: '{explanation.outputs[one.predicted]}', confidence {sure}"


def decision_text(explanation: LVQLocalExplanation, row: int) -> str:
    """Why a row got its class, in a sentence or two."""
    one = explanation.decisions[row]
    right = prototype_name(explanation.labels, explanation.outputs, one.right)
    if one.wrong < 0:
        return f"Nearest to the typical {right}; no other class has a prototype."
    wrong = prototype_name(explanation.labels, explanation.outputs, one.wrong)
    text = (
        f"Nearer to the typical {right} (squared distance {short(one.right_distance)}) than to "
        f"the typical {wrong} ({short(one.wrong_distance)})"
    )
    if explanation.image_shape is None:
        for words, sign in (("most for it", 1), ("most against it", -1)):
            told = _strongest(explanation, row, sign)
            text += f"; {words}: {told}" if told else ""
    return f"{text}."


def doubt_text(one: PrototypeDecision, *, whole: bool) -> str:
    """Say if the errors of the prototypes could have reversed an answer, else nothing."""
    if not one.doubtful:
        return ""
    why = "privacy noise and sampling error" if whole else "privacy noise"
    return (
        f"Not clear: the difference of {noisy(one.gap, one.gap_error, added=False)} is within the "
        f"{why}, which alone could have given another class."
    )


def given_text(one: PrototypeDecision | LinearMapDecision, place: int) -> str:
    """A value of the row, with how it was read where that differs."""
    read = one.read_as[place]
    return f"{one.given[place]}, read as {read}" if read else one.given[place]


def brief(given: str) -> str:
    """A given value for a sentence: a number with few digits, all else as it is.

    Examples
    --------
    >>> brief("4.925114644"), brief("1990"), brief("(missing)")
    ('4.925', '1990', '(missing)')
    """
    try:
        return short(float(given), digits=4, grouped=False) if "." in given else given
    except ValueError:
        return given


def change_text(explanation: LVQLocalExplanation, change: Change) -> str:
    """What a column would have to be: "about 14.1", "15" of whole numbers, or a level."""
    if change.value is None:
        return f"'{change.level}'"
    feature = next(one for one in explanation.features if one.column == change.column)
    about = "about " if step_of(feature.scale) == 0.0 else ""
    return f"{about}{number_text(feature, change.value)}"


def number_text(feature: ExplainedFeature, value: float) -> str:
    """Write a number with as many digits as its range needs: 3 of a year would say nothing."""
    if feature.scale != "number":
        return value_text(value, feature.scale)
    width, size = feature.upper - feature.lower, max(abs(feature.lower), abs(feature.upper))
    digits = 3 + max(0, int(np.log10(size / width)))
    return short(value, digits=digits, grouped=False)


def changes_text(explanation: LVQLocalExplanation, row: int) -> str:
    """The smallest change of one column that suffices, in a sentence."""
    one = explanation.decisions[row]
    if one.wrong < 0:
        return ""
    if not one.changes:
        return "No single column, changed within its bounds, would give another class."
    change = one.changes[0]
    given = one.given[explanation.columns.index(change.column)]
    return (
        f"Smallest change of one column for another class: "
        f"{change.column} {change_text(explanation, change)} instead of {given} "
        f"gives '{explanation.outputs[change.to_class]}'."
    )


def decisions_text(explanation: LVQLocalExplanation) -> str:
    """A few lines per row: why, what each column added, and what would change it."""
    told = (no_rows_text(explanation.receipt), explanation.cost, explanation.receipt.guarantee)
    lead = (
        "Parts add up to the difference of squared distances;",
        f"+ speaks for the row's class, - for the nearest other; "
        f"± is {error_bars_text(whole=explanation.whole)} (of the prototypes).",
    )
    return list_rows(len(explanation), lead, lambda row: _row_lines(explanation, row), told)


def _row_lines(explanation: LVQLocalExplanation, row: int) -> list[str]:
    one = explanation.decisions[row]
    lines = [
        *wrapped(decision_title(explanation, row), ""),
        *wrapped(decision_text(explanation, row)),
    ]
    if one.wrong < 0:
        return lines
    if explanation.image_shape is None:
        lines += _part_lines(explanation, row)
    told = (doubt_text(one, whole=explanation.whole), changes_text(explanation, row))
    return [*lines, *(line for text in told for line in wrapped(text))]


def _part_lines(explanation: LVQLocalExplanation, row: int) -> list[str]:
    one, parts = explanation.decisions[row], explanation.parts(row)
    lines = []
    order = np.argsort(-np.abs(parts), kind="stable")
    for i in order[:MOST_PARTS]:
        name = cut_text(explanation.columns[i], MOST_NAME)
        nothing = explanation.columns[i] in explanation.nothing
        number, _, noise = noisy(float(parts[i]), float(one.part_errors[i])).partition(" ")
        lines.append(
            f"  {name:<{MOST_NAME}}  {cut_text(given_text(one, int(i)), 30):<30}"
            + marked(f"  {number:>8} {noise}".rstrip(), nothing=nothing)
        )
    rest = order[MOST_PARTS:]
    if len(rest):
        name = f"{len(rest)} other columns"
        lines.append(f"  {name:<{MOST_NAME + 32}}  {signed(float(parts[rest].sum())):>8}")
    total, _, noise = noisy(one.gap, one.gap_error).partition(" ")
    return [*lines, f"  {'together':<{MOST_NAME + 32}}  {total:>8} {noise}".rstrip()]


def _strongest(explanation: LVQLocalExplanation, row: int, sign: int, most: int = 3) -> str:
    """The columns that spoke most for the class (sign 1) or against it (-1), with their values."""
    one, parts = explanation.decisions[row], sign * explanation.parts(row)
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
