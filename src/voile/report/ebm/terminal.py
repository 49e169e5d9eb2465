"""Additive models in a terminal: terms and pairs with their shapes, and steps of single rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.explain.ebm import text
from voile.explain.ebm.factors import LOG_UNIT, factor_text
from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.overall import EBMExplanation, Part
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.wording import readable, short, signed
from voile.rendering import prints
from voile.report.ebm.pair_terminal import peaks_text, print_pairs
from voile.report.ebm.rows_page import find_ends, find_steps
from voile.report.kit import terminal as kit

MOST_CLASS, CURVE = 12, 24
BLOCKS = "▁▂▃▄▅▆▇█"


@prints(EBMExplanation)
def print_terms(console: Console, record: EBMExplanation) -> None:
    """Print all terms and pairs by importance."""
    what = "Terms and pairs" if record.pairs else "Terms"
    kit.say(console, f"{what} by importance: {text.score_text(record)}", style="bold")
    console.print(tabulate_terms(record))
    if record.units == LOG_UNIT:
        kit.say(console, text.scores_text(record))
    kit.say(console, text.nothing_text(record), text.nothing_together_text(record))
    kit.say(console, text.verdicts_text(record))
    if len(record.outputs) > 1:
        kit.say(console, "Shapes are of the class whose score the term moves most.")
        console.print(Text(text.scores_text(record)))
    if record.pairs:
        kit.say(console, text.TOGETHER)
        print_pairs(console, record)
    kit.print_receipt(console, record)


@prints(EBMLocalExplanation)
def print_answers(console: Console, record: EBMLocalExplanation) -> None:
    """Print how the first rows got their scores."""

    def print_row(row: int) -> None:
        kit.say(console, text.row_text(record, row), style="bold")
        console.print(tabulate_row(record, row))
        console.print()

    several = len(record.outputs) > 1
    if sides := text.sides_text(record):
        kit.say(console, f"Score: {text.score_text(record)}. {sides}")
        console.print()
    told = text.scores_text(record) if several else text.factors_text(record)
    kit.print_rows(console, len(record), print_row, told)
    kit.print_receipt(console, record)


def tabulate_terms(record: EBMExplanation) -> Table:
    """All parts by importance with their shapes; of several outputs, the one that moves most."""
    several = len(record.outputs) > 1
    table = kit.plain_table()
    table.add_column("term", no_wrap=True, max_width=18, min_width=8)
    table.add_column("importance", no_wrap=True, justify="right", min_width=10)
    judged = any(part.verdict != "not known" for part in record.parts)
    if judged:
        table.add_column("verdict", no_wrap=True, max_width=8)
    # A line has no room for a bar beside the name of a class.
    table.add_column("class" if several else "", no_wrap=True, min_width=kit.BAR)
    table.add_column("lowest, shape, highest", no_wrap=True)
    top = max([float(part.importance.sum()) for part in record.parts] + [0.0])
    for term in record.shown_parts:
        size = float(term.importance.sum())
        name = text.cut_text(record.outputs[text.leading_output(term)], MOST_CLASS)
        table.add_row(
            Text(term.name),
            short(size),
            *([term.verdict] if judged else []),
            Text(name) if several else kit.bar_text(size, top),
            Text(
                _shape(
                    term,
                    most=6 if several and judged else 9 if several else 11,
                    factors=record.units == LOG_UNIT,
                )
            ),
        )
    return table


def tabulate_row(record: EBMLocalExplanation, row: int) -> Table:
    """The steps of one row's waterfall."""
    output = record.told_output(row)
    base, score = find_ends(record, row, output, text.sum_text(record, output))
    sides = ("lowers", "raises")
    if len(record.outputs) > 1:
        sides = kit.name_sides("against", record.outputs[output], "for", record.outputs[output])
    elif len(record.classes) == 2:
        sides = kit.name_sides("for", record.classes[0], "for", record.classes[1])
    head = ("feature", "multiplies by" if record.units == LOG_UNIT else "adds", *sides)
    return kit.tabulate_parts(find_steps(record, row, output), head, before=[base], after=[score])


def _shape(term: Part, *, most: int, factors: bool) -> str:
    """A number's curve between its ends; the lowest and highest level, or cell, of all else."""
    if isinstance(term, ExplainedPair):
        return peaks_text(term, most, factors=factors)
    if term.kind == "category" or not term.regular:
        return ", ".join(text.extremes(term, most=most, factors=factors))
    output = text.leading_output(term)
    scores = term.scores[: term.regular, output]
    places = np.linspace(0, len(scores) - 1, min(CURVE, len(scores))).round().astype(int)
    picked: NDArray[np.float64] = scores[places]
    errors = term.standard_errors[: term.regular, output][places]
    low, high = float(picked.min()), float(picked.max())
    if factors:
        return f"{factor_text(low)} {_curve(picked)} {factor_text(high)}"
    ends = (readable(low, errors[picked.argmin()]), readable(high, errors[picked.argmax()]))
    return f"{signed(ends[0])} {_curve(picked)} {signed(ends[1])}"


def _curve(picked: NDArray[np.float64]) -> str:
    """Scores as blocks of their heights."""
    low, high = float(picked.min()), float(picked.max())
    width = max(high - low, 1e-300)
    return "".join(BLOCKS[round((float(one) - low) / width * 7)] for one in picked)
