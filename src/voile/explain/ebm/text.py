"""Explanations as plain text: what print() shows, and sentences that pages use too."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from voile.explain.ebm.factors import LOG_UNIT, factor_text, level_range_text
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.wording import noisy, percent, readable, short, signed, spread
from voile.models import verdict
from voile.models.ebm.pair_term import pair_name
from voile.models.history import taken_back

if TYPE_CHECKING:
    from voile.explain.ebm.local import EBMLocalExplanation
    from voile.explain.ebm.overall import EBMExplanation, Part
    from voile.explain.explanation import Explanation

MOST_ROWS, MOST_NAME, MOST_VALUE, MOST_OUTPUTS = 5, 28, 30, 4
MOST_LABEL, MOST_SIDE = 24, 15
"""Characters of the label of a bin, and of each side of a cell."""

CLASS_SCORE = "score of a class"
"""Unit of scores of which there is one per class: by itself, none of them is a log-odds."""

PREDICTION = "prediction"
"""Name of the output of a regression that is no quantile; what it is per unit of may follow."""


def score_text(explanation: Explanation) -> str:
    """What the scores are, in a few words."""
    if len(explanation.outputs) > 1:
        return f"scores of {len(explanation.outputs)} classes"
    if explanation.units == "log-odds":
        return f"log-odds of '{explanation.outputs[0]}'"
    if explanation.units == LOG_UNIT:
        return f"log of the {explanation.outputs[0]}"
    return f"{explanation.outputs[0]} in {explanation.units}"


def scores_text(explanation: Explanation) -> str:
    """What the scores say, in a sentence; nothing if they are log-odds of one class."""
    if len(explanation.outputs) == 1:
        if explanation.units == "log-odds":
            return ""
        if explanation.units == LOG_UNIT:
            return (
                "Scores add up to the log of the prediction: each multiplies it, +0.3 by 1.35 and "
                "-0.3 by 0.74."
            )
        if explanation.outputs[0] != PREDICTION:
            return ""  # a quantile is what it is
        return (
            "Scores are of typical values: the largest residuals were clipped, so that where the "
            "target is skewed, means may differ by more."
        )
    return (
        "The score of a class counts only beside those of the others: what two scores differ by "
        "is the log-odds of the one class against the other."
    )


def factors_text(explanation: EBMLocalExplanation) -> str:
    """How factors are read, in a sentence; nothing where scores are no logarithms."""
    if explanation.units != LOG_UNIT:
        return ""
    return (
        "The base value times the factor of every feature is the prediction; in brackets: "
        f"{interval_text(explanation)}."
    )


def sides_text(explanation: EBMLocalExplanation) -> str:
    """For which of two classes a score speaks, in a sentence; nothing if there are not two."""
    if len(explanation.outputs) > 1 or len(explanation.classes) != 2:
        return ""
    other, told = explanation.classes
    return f"What raises it (+) speaks for '{told}', what lowers it (-) for '{other}'."


def prediction_text(explanation: EBMLocalExplanation, row: int) -> str:
    """The prediction for a row in words, with its interval."""
    predicted = explanation.predicted(row)
    error = float(explanation.score_errors[row, 0])
    if predicted is None:
        if explanation.units == LOG_UNIT:
            return _scaled_text(explanation, row, error)
        number = short(readable(float(explanation.predictions[row]), error), digits=4)
        return number + (f" ({_errors(explanation)}:{spread(error)})" if error > 0 else "")
    words = (
        f"'{explanation.classes[predicted]}' with probability "
        f"{percent(float(explanation.predictions[row, predicted]))}"
    )
    if len(explanation.outputs) > 1 or error == 0:
        return words
    score = float(explanation.scores[row, 0]) * (1 if predicted == 1 else -1)
    low, high = (percent(_logistic(score + side)) for side in (-2 * error, 2 * error))
    return words + (f" ({_errors(explanation)}: {low} to {high})" if low != high else "")


def _scaled_text(explanation: EBMLocalExplanation, row: int, error: float) -> str:
    """A prediction whose score is its log, with the interval that follows from the score's."""
    value = float(explanation.predictions[row])
    ends = [short(value * math.exp(side * min(error, 300.0)), digits=3) for side in (-2, 2)]
    told = short(value, digits=3) + explanation.outputs[0].removeprefix(PREDICTION)
    return told + (f" ({_errors(explanation)}: {' to '.join(ends)})" if error > 0 else "")


def _errors(explanation: EBMLocalExplanation) -> str:
    return "95 % interval" if explanation.whole else "noise alone"


def interval_text(explanation: EBMExplanation | EBMLocalExplanation) -> str:
    """What intervals hold, in words."""
    return verdict.interval_text(whole=explanation.whole)


VERDICTS = f"{verdict.LEVELS} They do not say which of several related columns is the reason."
"""What verdicts mean, in two sentences."""

TOGETHER = (
    "The curve of a column is its whole effect, averaged over the others; a pair of columns is "
    "what both do together beyond their curves."
)
"""How curves and pairs are read side by side, in a sentence."""


def verdicts_text(explanation: EBMExplanation) -> str:
    """What verdicts mean in a model with or without pairs; empty if there are none."""
    if not explanation.whole:
        return ""
    whole = "all columns and pairs together" if explanation.pairs else "all columns together"
    return VERDICTS.replace("all columns together", whole)


def cut_text(text: str, most: int) -> str:
    """Shorten a name that would not fit."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def leading_output(part: Part) -> int:
    """Position of the output whose scores a term or a pair moves most."""
    if isinstance(part, ExplainedPair):
        return int(np.argmax(np.ptp(part.scores, axis=(0, 1))))
    regular = part.scores[: part.regular]
    return int(np.argmax(np.ptp(regular, axis=0))) if len(regular) else 0


def extremes(part: Part, *, most: int = 24, factors: bool = False) -> tuple[str, str]:
    """Where a term or a pair takes most away and where it adds most: "-1.2 at [17, 22)".

    Labels, of a pair those of each column, are cut to ``most`` characters. With several outputs,
    the leading one is told. With ``factors``, what a score multiplies the prediction by is told
    instead: "x1.35".
    """
    leading = leading_output(part)
    scores, errors = part.scores[..., leading].ravel(), part.standard_errors[..., leading].ravel()
    # Bins without rows, as far as the noise lets us tell, say nothing about the data.
    seen = np.flatnonzero((part.counts > part.count_errors).ravel())
    seen = seen if len(seen) else np.arange(len(scores))
    low, high = (int(seen[pick(scores[seen])]) for pick in (np.argmin, np.argmax))
    first, second = (
        f"{factor_text(float(scores[i])) if factors else _signed(scores[i], errors[i])} at "
        f"{_label(part, i, most)}"
        for i in (low, high)
    )
    return first, second


def _label(part: Part, place: int, most: int) -> str:
    """Name of a bin, or of a cell, counted row by row."""
    if not isinstance(part, ExplainedPair):
        return cut_text(part.labels[place], most)
    i, j = divmod(place, part.columns)
    return pair_name(cut_text(part.first.labels[i], most), cut_text(part.second.labels[j], most))


def _signed(score: float, error: float) -> str:
    return signed(readable(float(score), float(error)))


def global_text(explanation: EBMExplanation) -> str:
    """A table of all terms and pairs, the most important first."""
    single = len(explanation.outputs) == 1
    lines = [f"Model of {_size_text(explanation)}: {score_text(explanation)}"]
    lines += textwrap.wrap(
        scores_text(explanation), 96, initial_indent="  ", subsequent_indent="  "
    )
    if len(explanation.outputs) <= MOST_OUTPUTS:
        lines.append(f"  starts at {start_text(explanation)}")
    lines.append(
        "  importance is the mean absolute score (in brackets: what "
        + ("noise and sampling error" if explanation.whole else "noise")
        + " alone would give)"
    )
    factors = explanation.units == LOG_UNIT
    width = max([4, *(min(len(part.name), MOST_NAME) for part in explanation.ranked_parts)])
    for part in explanation.shown_parts:
        line = (
            f"  {cut_text(part.name, MOST_NAME):<{width}}  {short(float(part.importance.sum())):>7}"
            f" ({short(float(part.null_importance.sum()), digits=2)})"
        )
        line = f"{line:<{width + 20}}  {'' if part.verdict == 'not known' else part.verdict:<7}"
        most = MOST_SIDE if isinstance(part, ExplainedPair) else MOST_LABEL
        ends = extremes(part, most=most, factors=factors)
        lines.append((line + ("  " + "   ".join(ends) if single else "")).rstrip())
    told = (
        TOGETHER if explanation.pairs else "",
        nothing_text(explanation),
        nothing_together_text(explanation),
        verdicts_text(explanation),
    )
    for text in told:
        lines += textwrap.wrap(text, 96, initial_indent="  ", subsequent_indent="  ")
    if explanation.edits or explanation.history:
        lines.append(f"  {edits_text(explanation)}")
    return "\n".join([*lines, f"  {explanation.cost}", f"  {explanation.receipt.guarantee}"])


def nothing_text(explanation: EBMExplanation) -> str:
    """The columns that cannot be told from nothing, in a sentence; empty if there are none."""
    return verdict.nothing_text([term.name for term in explanation.nothing])


def nothing_together_text(explanation: EBMExplanation) -> str:
    """The same of pairs."""
    names = [pair.name for pair in explanation.nothing_together]
    return verdict.nothing_text(names, ("pair of columns", "pairs of columns"))


def _size_text(explanation: EBMExplanation) -> str:
    """How many terms and pairs there are."""
    terms, pairs = len(explanation.terms), len(explanation.pairs)
    told = "1 term" if terms == 1 else f"{terms} terms"
    return told + (f" and {pairs} pair{'s' * (pairs > 1)} of columns" if pairs else "")


def start_text(explanation: EBMExplanation) -> str:
    """The intercept of each output, with its interval; of a logarithm, what it is one of."""
    if explanation.units == LOG_UNIT:
        start, error = float(explanation.intercept[0]), float(explanation.intercept_errors[0])
        told = noisy(start, error, added=False)
        return f"{told}, a {explanation.outputs[0]} of {level_range_text(start, error)}"
    return ", ".join(
        noisy(float(value), float(error), added=False)
        + (f" ({output})" if len(explanation.outputs) > 1 else "")
        for value, error, output in zip(
            explanation.intercept, explanation.intercept_errors, explanation.outputs, strict=True
        )
    )


def has_probability_scale(explanation: Explanation) -> bool:
    """Whether a score by itself is a log-odds, so that it can be read as a probability."""
    return explanation.units == "log-odds" and len(explanation.outputs) == 1


def alone_head(base: float) -> str:
    """Head of a column of probabilities: where each of them starts.

    Examples
    --------
    >>> alone_head(-1.15)
    'alone, from 24 %'
    """
    return f"alone, from {percent(_logistic(base))}"


def alone_text(base: float, score: float, error: float) -> str:
    """The probability that one score alone makes of the base value, with its interval.

    Examples
    --------
    >>> alone_text(-1.15, 0.35, 0.1)
    '31 % (27 % to 35 %)'
    """
    told = percent(_logistic(base + score))
    if error == 0:
        return told
    low, high = (percent(_logistic(base + score + side)) for side in (-2 * error, 2 * error))
    return told if low == high else f"{told} ({low} to {high})"


def local_text(explanation: EBMLocalExplanation) -> str:
    """A table per row: what each feature added, the greatest part first."""
    count = len(explanation)
    told = score_text(explanation) if len(explanation.outputs) == 1 else "of the predicted class"
    lines = [
        f"{'Row' if count == 1 else 'Rows'} explained: {count}. Score: {told}.",
        *textwrap.wrap(sides_text(explanation), 96),
        f"± is the {interval_text(explanation)}.",
        *textwrap.wrap(scores_text(explanation), 96),
    ]
    for row in range(min(count, MOST_ROWS)):
        lines += ["", *_row_lines(explanation, row)]
    if count > MOST_ROWS:
        lines += ["", f"... and {count - MOST_ROWS} more rows: to_frame() has them all"]
    return "\n".join([*lines, "", explanation.cost, explanation.receipt.guarantee])


def row_text(explanation: EBMLocalExplanation, row: int) -> str:
    """Which row, counted from one as people count, and its prediction."""
    where = f"Row {row + 1}" + (f" of {len(explanation)}" if len(explanation) > 1 else "")
    return f"{where}: {prediction_text(explanation, row)}"


def sum_text(explanation: EBMLocalExplanation, output: int) -> str:
    """What all parts of a row add up to: the score, with its class if there is one."""
    if len(explanation.outputs) > 1:
        return f"score of '{explanation.outputs[output]}'"
    return score_text(explanation) if explanation.classes else "score"


def edits_text(explanation: Explanation) -> str:
    """How often people changed the explained model, and took changes back; empty if never."""
    made, back = len(explanation.edits), taken_back(explanation.history)
    told = [f"edited {times_text(made)} after training"] if made or back else []
    told += [f"edits were taken back {times_text(back)}"] if back else []
    return "; ".join(told)


def times_text(count: int) -> str:
    """How often."""
    return "once" if count == 1 else f"{count} times"


def told_values(explanation: EBMLocalExplanation, row: int) -> list[str]:
    """A row's own values, with how they were read where that differs."""
    return [
        f"{value}, read as {read}" if read else value
        for value, read in zip(explanation.given[row], explanation.read_as[row], strict=True)
    ]


def _row_lines(explanation: EBMLocalExplanation, row: int) -> list[str]:
    output = explanation.told_output(row)
    parts = explanation.values[row, :, output]
    errors = explanation.standard_errors[row, :, output]
    texts = told_values(explanation, row)
    total = sum_text(explanation, output)
    width = max([10, *(min(len(name), MOST_NAME) for name in (*explanation.features, total))])
    wide = max([0, *(min(len(text), MOST_VALUE) for text in texts)])

    def line(name: str, text: str, part: float, error: float, *, added: bool = True) -> str:
        number, _, noise = noisy(part, error, added=added).partition(" ")
        times = f"  {factor_text(part)}" if explanation.units == LOG_UNIT and added else ""
        return (
            f"  {cut_text(name, MOST_NAME):<{width}}  {cut_text(text, MOST_VALUE):<{wide}}"
            f"  {number:>8} {noise}{times}"
        ).rstrip()

    start, error = explanation.base_values[output], explanation.base_errors[output]
    score, score_error = explanation.scores[row, output], explanation.score_errors[row, output]
    return [
        row_text(explanation, row),
        line("base value", "", float(start), float(error), added=False),
        *(
            line(explanation.features[j], texts[j], float(parts[j]), float(errors[j]))
            for j in np.argsort(-np.abs(parts), kind="stable")
        ),
        line(total, "", float(score), float(score_error), added=False),
    ]


def _logistic(score: float) -> float:
    return 1 / (1 + math.exp(-score)) if score > -700 else 0.0
