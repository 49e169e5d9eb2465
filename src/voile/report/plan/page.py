"""The page of a forecast: the choice of epsilon in pictures, before anything is spent."""

from __future__ import annotations

from voile.planning.attacker import percent
from voile.planning.record import NOTHING_SPENT, Forecast, probability_points
from voile.rendering import draws
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_document
from voile.report.plan.pictures import MOST_KINDS, draw_attacker, draw_noise, group_columns

TITLE = "Choosing epsilon"

# Tables scroll where the screen is narrow, so words need not be broken.
_STYLE = "  td, th { overflow-wrap: normal } td:nth-child(2) { min-width: 8rem }\n"

_html = Templates("plan/page.html", nothing_spent=NOTHING_SPENT)


@draws(Forecast)
def draw_page(record: Forecast) -> str:
    """The whole page as HTML."""
    first, last = record.outlooks[0], record.outlooks[-1]
    inside = _html.page(
        record,
        TITLE,
        noise=draw_noise(record),
        noise_words=(
            f"Noise of the median column against epsilon: {record.rule.size(first.noise)} at "
            f"epsilon {first.epsilon:g}, {record.rule.size(last.noise)} at {last.epsilon:g}"
        ),
        attacker=draw_attacker(record),
        kinds=len(group_columns(record)),
        most=MOST_KINDS,
        outlooks=_tabulate(record),
        columns=_tabulate_columns(record),
        attacks=_tabulate_attacker(record),
    )
    return compose_document(TITLE, inside, style=_STYLE)


def _tabulate(record: Forecast) -> list[list[str]]:
    """What each epsilon would give, under a line of heads."""
    noise, points = f"noise, 2 s.e. ({record.rule.units})", record.in_points
    head = ["epsilon", "what you will see", noise, *["50 % is off by"] * points]
    rows = [[*head, "attacker is at most", "guesses right at most"]]
    for one in record.outlooks:
        off = [f"{probability_points(one.noise):.2g} points"] if points else []
        guesses = percent(one.attacker.right_guesses(gaussian=record.gaussian))
        sure = f"{percent(one.attacker.belief)} sure"
        size = record.rule.number(one.noise)
        rows.append([f"{one.epsilon:g}", one.verdict, size, *off, sure, guesses])
    return rows


def _tabulate_attacker(record: Forecast) -> list[list[str]]:
    """How many an attacker finds, under a line of heads."""
    alarms = record.outlooks[0].attacker.false_alarms
    return [
        ["found at most, if false alarms are", *map(percent, alarms)],
        *(
            [
                f"epsilon {one.epsilon:g}",
                *map(percent, one.attacker.rates(gaussian=record.gaussian)),
            ]
            for one in record.outlooks
        ),
    ]


def _tabulate_columns(record: Forecast) -> list[list[str]]:
    """Bins (of curves) and noise of each column, under a line of heads."""
    shown, curves = record.outlooks, record.rule.things == "curves"
    head = ["column", "kind", *(f"bins at {one.epsilon:g}" for one in shown if curves)]
    rows = [[*head, *(f"noise at {one.epsilon:g}" for one in shown)]]
    for k, column in enumerate(shown[0].columns):
        bins = [str(one.columns[k].bins) for one in shown if curves]
        noises = [f"{one.columns[k].noise:.3g}" for one in shown]
        rows.append([column.name, column.kind, *bins, *noises])
    return rows
