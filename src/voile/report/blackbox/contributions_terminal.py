"""Contributions in a terminal: a table with bars for each row."""

from __future__ import annotations

from rich.console import Console

from voile.explain.blackbox import text
from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.units import PROBABILITY
from voile.rendering import prints
from voile.report.blackbox.waterfall import find_ends, find_steps
from voile.report.kit import terminal as kit

MOST_PARTS, WIDE = 8, 32


@prints(BlackBoxLocalExplanation)
def print_contributions(console: Console, record: BlackBoxLocalExplanation) -> None:
    """Print what made the scores of the first rows."""
    kit.say(console, text.meaning_text(record), text.interval_text(), text.doubt_text(record))
    console.print()
    below = text.method_text(record)
    kit.print_rows(console, len(record), lambda row: _print_row(console, record, row), below)
    kit.print_receipt(console, record)


def _print_row(console: Console, record: BlackBoxLocalExplanation, row: int) -> None:
    kit.say(console, text.title_text(record, row), style="bold")
    if not record.outputs:
        return
    output = record.outputs_by_score(row)[0]
    kit.say(console, text.sentence_text(record, row, output))
    if record.picture is not None:
        values = record.values[row, :, output].reshape(record.grid_shape)
        console.print(kit.shade_signed(values, WIDE))
    elif record.columns:
        base, score = find_ends(record, row, output)
        steps = find_steps(record, row, output, most=MOST_PARTS)
        sides = ("lowers", "raises")
        if record.units == PROBABILITY:
            name = record.outputs[output]
            sides = kit.name_sides("lowers", name, "raises", name)
        head = ("column", "contribution", *sides)
        console.print(kit.tabulate_parts(steps, head, before=[base], after=[score]))
    count = len(record.outputs)
    if count > 1:
        console.print(f"Shown: the highest of {count} scores; to_frame() has them all.")
    console.print()
