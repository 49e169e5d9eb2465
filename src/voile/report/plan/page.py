"""The page of a forecast: the choice of epsilon in pictures, before anything is spent."""

from __future__ import annotations

import html

from voile.planning.attacker import percent
from voile.planning.record import NOTHING_SPENT, Forecast, probability_points
from voile.report.kit.page import (
    compose_document,
    fold,
    heading,
    paragraph,
    place_figure,
    place_list,
    place_table,
)
from voile.report.plan.pictures import (
    MOST_KINDS,
    draw_attacker,
    draw_noise,
    group_columns,
)

TITLE = "Choosing epsilon"

# Tables scroll where the screen is narrow, so words need not be broken.
_STYLE = "  td, th { overflow-wrap: normal } td:nth-child(2) { min-width: 8rem }\n"


def draw_page(record: Forecast) -> str:
    """The whole page as HTML."""
    first, last = record.outlooks[0], record.outlooks[-1]
    body = [
        f"<h1>{TITLE}</h1>",
        paragraph(f"{record.title}."),
        f"<p><strong>{html.escape(NOTHING_SPENT)}</strong></p>",
        heading("What you would get"),
        _tabulate(record),
        f"<p><strong>{html.escape(record.found_first)}</strong></p>",
        paragraph(record.rule.words, note=True),
        heading("How the noise falls as epsilon grows"),
        paragraph(_tell_lines(record), note=True),
        place_figure(
            draw_noise(record),
            "noise",
            f"Noise of the median column against epsilon: {record.rule.size(first.noise)} at "
            f"epsilon {first.epsilon:g}, {record.rule.size(last.noise)} at {last.epsilon:g}",
        ),
        fold("All columns", _tabulate_columns(record)),
        heading("What an attacker would get"),
        paragraph(
            "They know every other row and the software, see the model, and want to know whether "
            "one person is in the table. They accept some false alarms: how many of those who are "
            "in the table can they find?"
        ),
        place_figure(
            draw_attacker(record),
            "attacker",
            "Largest part of people found against the rate of false alarms, a line per epsilon",
        ),
        _tabulate_attacker(record),
        paragraph(_tell_bound(record), note=True),
        heading("What the schema lacks"),
        place_list(record.missing_words),
        heading("What was assumed"),
        place_list((*record.assumed, *record.notes)),
    ]
    inside = "\n".join(body)
    return compose_document(TITLE, f"<main>{inside}</main>", style=_STYLE)


def _tell_lines(record: Forecast) -> str:
    text = (
        "Each line is what noise alone does to one kind of column, in a typical bin (two standard "
        "errors). Dashed lines are the limits of the verdicts."
    )
    kinds = len(group_columns(record))
    if kinds > MOST_KINDS:
        text += (
            f" {MOST_KINDS} of {kinds} kinds of columns are shown, from the least noise to the "
            f"most; the table has all columns."
        )
    return text


def _tabulate(record: Forecast) -> str:
    points = ["50 % is off by"] if record.in_points else []
    head = [
        "epsilon",
        "what you will see",
        f"noise, 2 s.e. ({record.rule.units})",
        *points,
        "attacker is at most",
        "guesses right at most",
    ]
    rows = []
    for one in record.outlooks:
        off = [f"{probability_points(one.noise):.2g} points"] if record.in_points else []
        rows.append(
            [
                f"{one.epsilon:g}",
                one.verdict,
                record.rule.number(one.noise),
                *off,
                f"{percent(one.attacker.belief)} sure",
                percent(one.attacker.right_guesses(gaussian=record.gaussian)),
            ]
        )
    return place_table(head, rows, numbers=len(head) - 2)


def _tabulate_attacker(record: Forecast) -> str:
    alarms = record.outlooks[0].attacker.false_alarms
    head = ["found at most, if false alarms are", *map(percent, alarms)]
    rows = [
        [f"epsilon {one.epsilon:g}", *map(percent, one.attacker.rates(gaussian=record.gaussian))]
        for one in record.outlooks
    ]
    return place_table(head, rows, numbers=len(alarms))


def _tabulate_columns(record: Forecast) -> str:
    shown = [f"{one.epsilon:g}" for one in record.outlooks]
    head = [
        "column",
        "kind",
        *(f"bins at {one}" for one in shown),
        *(f"noise at {one}" for one in shown),
    ]
    if record.rule.things != "curves":
        head = [one for one in head if not one.startswith("bins")]
    rows = []
    for k, column in enumerate(record.outlooks[0].columns):
        bins = [str(one.columns[k].bins) for one in record.outlooks]
        rows.append(
            [
                column.name,
                column.kind,
                *(bins if record.rule.things == "curves" else []),
                *(f"{one.columns[k].noise:.3g}" for one in record.outlooks),
            ]
        )
    return place_table(head, rows, numbers=len(head) - 2)


def _tell_bound(record: Forecast) -> str:
    sure = "How sure they are starts from 50:50, and holds but for rare results."
    if record.gaussian:
        return (
            f"{sure} Found and guessed are for the Gaussian noise that is used; of all mechanisms "
            "with the same epsilon and delta, others may give away more."
        )
    return f"{sure} All figures follow from epsilon and delta alone."
