"""How good a model is, in a terminal: measures beside baselines, a few thresholds, groups."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from voile.models.evaluation.record import Evaluation, difference_texts
from voile.rendering import prints
from voile.report.kit.terminal import plain_table, say
from voile.report.quality.evaluation import lead_text, measure_lines
from voile.report.quality.thresholds import TABLE_HEAD, threshold_lines


@prints(Evaluation)
def print_evaluation(console: Console, record: Evaluation) -> None:
    """Print an evaluation."""
    say(
        console,
        f"Quality of {record.model} on about {max(record.rows, 0):,.0f} rows "
        f"({100 * record.confidence:g} % intervals: privacy noise plus sampling error)",
    )
    say(console, lead_text(record), style="bold")
    _print_table(
        console,
        ["measure", "estimate", "without a model", "better than that?"],
        measure_lines(record),
    )
    for counts in record.scores if len(record.scores) == 1 else ():
        lines = threshold_lines(counts, record.confidence)
        if lines:
            say(console, "", f"Alarm for '{counts.positive}' above a threshold:")
            _print_table(console, TABLE_HEAD, lines)
    for column in dict.fromkeys(one.column for one in record.groups):
        mine = [one for one in record.groups if one.column == column]
        rates = f" (rates of '{record.speaks_of}')" if record.speaks_of else ""
        say(console, "", f"By {column}{rates}:")
        lines = [[one.level, *(measure.figure for measure in one.measures)] for one in mine]
        _print_table(console, [column, *(one.name for one in mine[0].measures)], lines)
    say(console, *difference_texts(record.groups), *record.notes, record.receipt.guarantee)


def _print_table(console: Console, head: list[str], lines: list[list[str]]) -> None:
    table = plain_table()
    for name in head:
        table.add_column(Text(name))
    for line in lines:
        table.add_row(*map(Text, line))
    console.print(table)
