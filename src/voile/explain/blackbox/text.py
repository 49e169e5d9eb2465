"""Contributions as plain text: what print() shows, and sentences that pages use too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voile.explain.blackbox.significance import NOT_KNOWN, NOTHING, VERDICTS
from voile.explain.blackbox.units import amount_text, half_text, score_text, unit_text
from voile.explain.ebm.text import cut_text
from voile.explain.lvq.text import brief
from voile.explain.wording import wrapped

if TYPE_CHECKING:
    from voile.explain.blackbox.local import BlackBoxLocalExplanation

MOST_ROWS, MOST_PARTS, MOST_NAME, MOST_VALUE, MOST_NAMED = 5, 10, 28, 24, 6


def title_text(record: BlackBoxLocalExplanation, row: int) -> str:
    """Which row, counted from one as people count, and what the model says of it."""
    where = f"Row {row + 1}" + (f" of {len(record)}" if len(record) > 1 else "")
    if not record.outputs:
        return where
    first = record.outputs_by_score(row)[0]
    score = score_text(float(record.scores[row, first]), record.units)
    several = ", the highest" if len(record.outputs) > 1 else ""
    return f"{where}: the model says {score} for '{record.outputs[first]}'{several}"


def meaning_text(record: BlackBoxLocalExplanation) -> str:
    """What contributions are, in two sentences."""
    what = "words" if record.words else "patches" if record.picture is not None else "columns"
    return (
        f"The contributions of a row's {what}, in {unit_text(record.units)}, add up to what its "
        f"score has more (+) or less (-) than the average score. They say what the model does with "
        "the row's values, not what would happen to the person if a value were changed."
    )


def interval_text() -> str:
    """What intervals hold."""
    return "± 95 % interval: privacy noise plus sampling error."


def method_text(record: BlackBoxLocalExplanation) -> str:
    """How contributions were found, in a sentence."""
    rows = _span(record.background)
    against = f"against {rows} released synthetic rows"
    if record.exact:
        return f"Exact Shapley values of the trees {against}."
    error = amount_text(float(record.sampling_errors.max(initial=0.0)), 0.0, record.units)
    return (
        f"Shapley values {against}, columns exchanged in random orders ({_span(record.calls)} "
        f"questions to the model a row; sampling alone: a standard error of at most "
        f"{error.lstrip('+')}, in the unit of the contributions)."
    )


def _span(counts: tuple[int, ...]) -> str:
    low, high = min(counts, default=0), max(counts, default=0)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def base_text(record: BlackBoxLocalExplanation, output: int) -> str:
    """The average score, with its interval."""
    base, error = float(record.base_values[output]), float(record.base_errors[output])
    text = score_text(base, record.units)
    if error == 0:
        return text
    return f"{text} ± {half_text(error, record.units)}"


def value_text(record: BlackBoxLocalExplanation, row: int, column: int) -> str:
    """A row's own value in a column, with how it was read where that differs."""
    if not record.given[row]:
        return ""
    given, read = record.given[row][column], record.read_as[row][column]
    return cut_text(brief(given) + (f" → {brief(read)}" if read else ""), MOST_VALUE)


def part_text(record: BlackBoxLocalExplanation, row: int, output: int, column: int) -> str:
    """A contribution with its interval, and its verdict unless it is clear."""
    amount = amount_text(
        float(record.values[row, column, output]),
        float(record.standard_errors[row, column, output]),
        record.units,
    )
    verdict = record.verdicts(row, output)[column]
    return amount if verdict in ("clear", NOT_KNOWN) else f"{amount}, {verdict}"


def sum_text(record: BlackBoxLocalExplanation, total: float, error: float) -> str:
    """What several columns added together, with their interval."""
    return amount_text(total, error, record.units)


def sentence_text(record: BlackBoxLocalExplanation, row: int, output: int) -> str:
    """A row's score beside the average, and the columns that made most of the difference."""
    score, base = float(record.scores[row, output]), float(record.base_values[output])
    error = float(record.base_errors[output])
    apart = amount_text(abs(score - base), error, record.units, added=False).partition(" ±")[0]
    side = "above" if score >= base else "below"
    told = (
        f"The score is {apart} {unit_text(record.units)} {side} the average of "
        f"{score_text(base, record.units)}."
    )
    verdicts, values = record.verdicts(row, output), record.values[row, :, output]
    for sign, verb in ((1, "raised"), (-1, "lowered")):
        places = [
            j
            for j in record.ranked(row, output)
            if verdicts[j] in ("clear", NOT_KNOWN) and sign * values[j] > 0
        ]
        if places:
            named = ", ".join(_named(record, row, output, j) for j in places[:3])
            told += f" Most {verb} by {named}."
    return told


def _named(record: BlackBoxLocalExplanation, row: int, output: int, column: int) -> str:
    value = value_text(record, row, column)
    name = cut_text(record.columns[column], MOST_NAME) + (f" = {value}" if value else "")
    return f"{name} ({part_text(record, row, output, column).partition(' ±')[0]})"


def nothing_text(record: BlackBoxLocalExplanation, row: int, output: int) -> str:
    """The columns that cannot be told from nothing, in a sentence; empty if there are none."""
    places = list_nothing(record, row, output)
    if not places:
        return ""
    names = ", ".join(cut_text(record.columns[j], MOST_NAME) for j in places[:MOST_NAMED])
    left = len(places) - MOST_NAMED
    more = f" and {left:,} more" if left > 0 else ""
    together = amount_text(float(record.values[row, places, output].sum()), 0.0, record.units)
    if len(places) == 1:
        return f"{names} ({together}) cannot be told from nothing."
    return (
        f"{len(places):,} columns cannot be told from nothing, together {together}: {names}{more}."
    )


def list_nothing(record: BlackBoxLocalExplanation, row: int, output: int) -> list[int]:
    """Positions of the columns that cannot be told from nothing, the greatest first."""
    verdicts = record.verdicts(row, output)
    return [j for j in record.ranked(row, output) if verdicts[j] == NOTHING]


def list_parts(record: BlackBoxLocalExplanation, row: int, output: int) -> list[int]:
    """Positions of all other columns, the greatest first."""
    verdicts = record.verdicts(row, output)
    return [j for j in record.ranked(row, output) if verdicts[j] != NOTHING]


def doubt_text(record: BlackBoxLocalExplanation) -> str:
    """Say if nobody knows how much of the contributions is noise, else what verdicts mean."""
    if np.isinf(record.standard_errors).any():
        return "How much of a contribution is privacy noise is not known for so many columns."
    return VERDICTS


def contributions_text(record: BlackBoxLocalExplanation) -> str:
    """A table per row: the average score, what each column added, and the score."""
    count = len(record)
    lines = wrapped(
        f"{'Row' if count == 1 else 'Rows'} explained: {count}. {meaning_text(record)} "
        f"{interval_text()}",
        "",
    )
    for row in range(min(count, MOST_ROWS)):
        lines += ["", *_row_lines(record, row)]
    if count > MOST_ROWS:
        lines += ["", f"... and {count - MOST_ROWS} more rows: to_frame() has them all"]
    told = (doubt_text(record), method_text(record), record.cost, record.receipt.guarantee)
    return "\n".join([*lines, "", *(line for text in told for line in wrapped(text, ""))])


def _row_lines(record: BlackBoxLocalExplanation, row: int) -> list[str]:
    lines = wrapped(title_text(record, row), "")
    if not record.outputs:
        return lines
    output = record.outputs_by_score(row)[0]
    parts = list_parts(record, row, output)
    shown, rest = parts[:MOST_PARTS], parts[MOST_PARTS:]
    names = [cut_text(record.columns[j], MOST_NAME) for j in shown]
    values = [value_text(record, row, j) for j in shown]
    width = max([13, *map(len, names)])
    wide = max([0, *map(len, values)])
    lines.append(f"  {'average score':<{width}}  {'':<{wide}}  {base_text(record, output)}")
    for j, name, value in zip(shown, names, values, strict=True):
        lines.append(f"  {name:<{width}}  {value:<{wide}}  {part_text(record, row, output, j)}")
    if rest:
        together = amount_text(float(record.values[row, rest, output].sum()), 0.0, record.units)
        label = f"{len(rest):,} smaller"
        lines.append(f"  {label:<{width}}  {'':<{wide}}  {together}")
    lines += wrapped(nothing_text(record, row, output))
    score = score_text(float(record.scores[row, output]), record.units)
    lines.append(f"  {'score':<{width}}  {'':<{wide}}  {score}")
    left = len(record.outputs) - 1
    if left:
        lines.append(f"  Shown: the highest of {left + 1} scores; to_frame() has them all.")
    return lines
