"""Records in a terminal: tables with bars."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.errors import SettingError
from voile.explain.filter_bank import FilterBank
from voile.explain.filter_decisions import FilterDecisions
from voile.explain.filter_text import no_rows_text as filter_rows_text
from voile.explain.global_explanation import GlobalExplanation
from voile.explain.heat_maps.record import HeatMaps
from voile.explain.influences import Influences
from voile.explain.local_explanation import LocalExplanation
from voile.explain.plain_text import (
    class_scores_text,
    cut_text,
    extremes,
    leading_output,
    row_text,
    score_text,
    sum_text,
)
from voile.explain.prototype_decisions import PrototypeDecisions
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.prototype_text import no_rows_text, relevance_text
from voile.explain.term import ExplainedTerm
from voile.explain.wording import noisy, short, signed
from voile.report.blackbox.terminal import print_influences
from voile.report.ebm.waterfall import find_steps
from voile.report.locally_linear.terminal import print_bank, print_row
from voile.report.lvq.terminal import print_decision, tabulate_prototypes
from voile.report.networks.terminal import print_heat_maps

AUDITS = ("AuditReport", "Finding", "MembershipReport")
MOST_ROWS, MOST_CLASS, BAR, CURVE = 5, 12, 10, 24
BLOCKS = "▁▂▃▄▅▆▇█"


def print_record(record: object) -> None:
    """Print an explanation or an audit in the terminal."""
    console = Console()
    if type(record).__name__ in AUDITS:
        # Attacks take a second to load, which no explanation should wait for.
        import_module("voile.report.audit.terminal").print_attacks(console, record)
        return
    if type(record).__name__ == "Forecast":
        # Nothing was spent: there is no receipt to end with. And models need not be loaded here.
        import_module("voile.report.plan.terminal").print_forecast(console, record)
        return
    if isinstance(record, GlobalExplanation):
        console.print(Text(f"Terms by importance: {score_text(record)}", style="bold"))
        console.print(tabulate_terms(record))
        if len(record.outputs) > 1:
            console.print(Text("Shapes are of the class whose score the term moves most."))
            console.print(Text(class_scores_text(record)))
    elif isinstance(record, LocalExplanation):
        for row in range(min(len(record), MOST_ROWS)):
            console.print(Text(row_text(record, row), style="bold"))
            console.print(tabulate_row(record, row))
            console.print()
        if len(record.outputs) > 1:
            console.print(Text(class_scores_text(record)))
        if len(record) > MOST_ROWS:
            console.print(f"... and {len(record) - MOST_ROWS} more rows: to_frame() has them all")
    elif isinstance(record, PrototypeExplanation):
        console.print(Text("Typical points", style="bold"))
        console.print(tabulate_prototypes(record))
        console.print(Text(relevance_text(record)))
        console.print(Text(no_rows_text(record.receipt)))
    elif isinstance(record, PrototypeDecisions):
        for row in range(min(len(record), MOST_ROWS)):
            print_decision(console, record, row)
        if len(record) > MOST_ROWS:
            console.print(f"... and {len(record) - MOST_ROWS} more rows: to_frame() has them all")
        console.print(Text(no_rows_text(record.receipt)))
    elif isinstance(record, FilterBank):
        print_bank(console, record)
    elif isinstance(record, FilterDecisions):
        for row in range(min(len(record), MOST_ROWS)):
            print_row(console, record, row)
        if len(record) > MOST_ROWS:
            console.print(f"... and {len(record) - MOST_ROWS} more rows: to_frame() has them all")
        console.print(Text(filter_rows_text(record.receipt)))
    elif isinstance(record, Influences):
        print_influences(console, record)
    elif isinstance(record, HeatMaps):
        print_heat_maps(console, record)
    else:
        raise SettingError(f"A {type(record).__name__} cannot be shown in a terminal: print() it.")
    console.print(Text(record.cost))
    console.print(Text(record.receipt.promise))
    for note in record.receipt.notes:
        console.print(Text(note, style="bold"))


def tabulate_terms(explanation: GlobalExplanation) -> Table:
    """All terms by importance with their shapes; of several outputs, the one that moves most."""
    several = len(explanation.outputs) > 1
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("term", no_wrap=True, max_width=18, min_width=8)
    table.add_column("importance", no_wrap=True, justify="right", min_width=10)
    # A line has no room for a bar beside the name of a class.
    table.add_column("class" if several else "", no_wrap=True, min_width=BAR)
    table.add_column("lowest, shape, highest", no_wrap=True)
    top = max([float(term.importance.sum()) for term in explanation.terms] + [1e-300])
    for term in explanation.ranked:
        size = float(term.importance.sum())
        name = cut_text(explanation.outputs[leading_output(term)], MOST_CLASS)
        bar = Text("█" * round(BAR * size / top), style="blue")
        table.add_row(
            Text(term.name),
            short(size),
            Text(name) if several else bar,
            Text(_shape(term, most=9 if several else 11)),
        )
    return table


def tabulate_row(explanation: LocalExplanation, row: int) -> Table:
    """The steps of one row's waterfall."""
    output = explanation.told_output(row)
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("feature", no_wrap=True, max_width=36)
    table.add_column("adds", no_wrap=True)
    table.add_column("lowers", no_wrap=True, justify="right", min_width=BAR)
    table.add_column("raises", no_wrap=True, min_width=BAR)
    steps = find_steps(explanation, row, output)
    top = max([abs(step.size) for step in steps] + [1e-300])
    start, error = explanation.base_values[output], explanation.base_errors[output]
    table.add_row("base value", noisy(float(start), float(error), added=False))
    for step in steps:
        bar = "█" * round(BAR * abs(step.size) / top)
        table.add_row(
            Text(step.label),
            noisy(step.size, step.standard_error),
            Text(bar if step.size < 0 else "", style="blue"),
            Text(bar if step.size > 0 else "", style="dark_orange"),
        )
    score, error = explanation.scores[row, output], explanation.score_errors[row, output]
    total = Text(sum_text(explanation, output))
    table.add_row(total, noisy(float(score), float(error), added=False))
    return table


def _shape(term: ExplainedTerm, *, most: int) -> str:
    """A number's curve between its ends; a category's lowest and highest level."""
    if term.kind == "category" or not term.regular:
        return ", ".join(extremes(term, most=most))
    scores = term.scores[: term.regular, leading_output(term)]
    picked: NDArray[np.float64] = scores[
        np.linspace(0, len(scores) - 1, min(CURVE, len(scores))).round().astype(int)
    ]
    low, high = float(picked.min()), float(picked.max())
    width = max(high - low, 1e-300)
    curve = "".join(BLOCKS[round((float(one) - low) / width * 7)] for one in picked)
    return f"{signed(low)} {curve} {signed(high)}"
