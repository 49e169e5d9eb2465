"""A forecast in a terminal: the conclusion, one line per epsilon, then the assumptions."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.planning.attacker import percent
from voile.planning.record import ATTACKER, NOTHING_SPENT, Forecast, probability_points
from voile.rendering import prints
from voile.report.kit.terminal import say

STYLES = {"clear": "green", "broad": "yellow", "strongest": "dark_orange", "too little": "red"}


@prints(Forecast)
def print_forecast(console: Console, record: Forecast) -> None:
    """Print a forecast."""
    say(console, record.title)
    say(console, record.conclusion, style="bold")
    console.print(tabulate_outlooks(record))
    say(console, record.column_words, *record.pair_words, *record.other_family)
    say(console, ATTACKER, record.rule.words)
    say(console, *record.missing_words, *record.assumed, *record.notes, NOTHING_SPENT)


def tabulate_outlooks(record: Forecast) -> Table:
    """A line per epsilon: what is seen, and what somebody who attacks it gets."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("epsilon", justify="right", no_wrap=True)
    table.add_column("what you will see", no_wrap=True)
    table.add_column(f"noise, 2 SE\n({record.rule.units})", justify="right")
    if record.in_points:
        table.add_column("50 % is off\nby (points)", justify="right")
    pairs = bool(record.pair_words)
    if pairs:
        table.add_column("pairs\nfrom", justify="right", no_wrap=True)
    table.add_column("attacker\nsure", justify="right")
    table.add_column("attacker\nright", justify="right")
    for one in record.outlooks:
        points = [f"{probability_points(one.noise):.2g}"] if record.in_points else []
        table.add_row(
            f"{one.epsilon:g}",
            Text(one.verdict, style=STYLES[one.level]),
            record.rule.number(one.noise),
            *points,
            *[record.pair_size(one)] * pairs,
            percent(one.attacker.belief),
            percent(one.attacker.right_guesses(gaussian=record.gaussian)),
        )
    return table
