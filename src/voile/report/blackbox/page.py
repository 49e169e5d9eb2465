"""The page of a black box's single rows: what moves the score nearby, and how far to trust it."""

from __future__ import annotations

import numpy as np

from voile.explain.influence_text import (
    answer_text,
    feature_text,
    local_score_text,
    meaning_text,
    noise_text,
    read_text,
    title_text,
    weight_text,
)
from voile.explain.influence_trust import read_fit, read_place
from voile.explain.influences import Influences
from voile.explain.plain_text import times_text
from voile.explain.wording import noisy, signed
from voile.report.blackbox.bars import MOST_BARS, draw_influences, find_influences
from voile.report.blackbox.marks import place_marks
from voile.report.blackbox.pictures import place_heat
from voile.report.blackbox.strip import place_strip
from voile.report.kit.page import compose_page, fold, heading, paragraph, place_figure, place_table

MOST_ROWS, MOST_OUTPUTS, MOST_SCORES, MOST_LISTED = 20, 4, 12, 100


def draw_page(record: Influences) -> str:
    """The whole page as HTML."""
    count, edits = len(record), len(record.edits)
    lead = (
        f"Why a black box gave {'one row its' if count == 1 else f'{count} rows their'} score: a "
        f"linear model, fitted around the row to what the black box says of {_asked_text(record)}, "
        f"tells what moves it. {meaning_text(record)}"
    )
    noise = (
        "Whiskers and ± are two standard errors of the privacy noise. An influence tells what the "
        "black box does near the row, not what causes what in the world."
    )
    if record.words or any(one.level is not None for one in record.features):
        has = "words that are not in the text" if record.words else "levels the row does not have"
        noise += f" Pale bars are {has}."
    rows = (
        f"{weight_text(record)} The rows on this page are those that were asked about, as they "
        f"were given, with the black box's exact score of each: show the page to those alone who "
        f"may see them. Of the private table it shows nothing else. Guarantee for that table: "
        f"{record.receipt.promise}. The explanation {record.cost}."
    )
    body = [paragraph(lead), paragraph(noise, note=True), paragraph(rows, note=True)]
    if edits:
        body.append(paragraph(f"People changed this model {times_text(edits)}.", note=True))
    if count > MOST_ROWS:
        text = f"The first {MOST_ROWS} of {count} rows; to_frame() has all."
        body.append(paragraph(text, note=True))
    for row in range(min(count, MOST_ROWS)):
        body += _row(record, row)
    title = "Why the black box said so"
    return compose_page(title, body, record.receipt, cost=record.cost, holds_rows=True)


def _asked_text(record: Influences) -> str:
    """About which rows the black box was asked, by how the rows of the page were answered."""
    ways = set(record.answered)
    if ways == {"summary"}:
        return (
            "rows nearby that stand in for the private ones (synthetic rows, or public ones that "
            "were given; weighted to agree with the released summary of the table)"
        )
    if ways == {"offline"}:
        return (
            "rows near other rows that were explained before (the mean of those explanations: "
            "nothing was fitted for this row)"
        )
    asked = "the private table's rows nearby"
    if "offline" in ways:
        asked += " (where the budget was gone, the mean of explanations of other rows)"
    return asked


def _row(record: Influences, row: int) -> list[str]:
    shown = record.outputs_by_score(row)[:MOST_OUTPUTS]
    parts = [heading(title_text(record, row))]
    if len(record.outputs) == 1:
        parts.append(paragraph(local_score_text(record, row, 0)))
    else:
        parts.append(paragraph(_scores(record, row), note=True))
    told = (answer_text(record, row), read_text(record, row))
    parts += [paragraph(text, note=True) for text in told if text]
    fit = read_fit(record, row, 0) if len(record.outputs) == 1 else ()
    parts.append(paragraph("How far to trust it:"))
    parts.append(place_strip((*fit, *read_place(record, row))))
    for output in shown:
        parts += _output(record, row, output)
    if record.picture is None and record.features:
        parts += _tables(record, row, shown)
    return parts


def _scores(record: Influences, row: int) -> str:
    order, count = record.outputs_by_score(row), len(record.outputs)
    scores = ", ".join(
        f"'{record.outputs[k]}' {signed(float(record.scores[row, k]))}" for k in order[:MOST_SCORES]
    )
    more = f" and {count - MOST_SCORES} more" if count > MOST_SCORES else ""
    text = f"Scores of the black box: {scores}{more}."
    if count > MOST_OUTPUTS:
        text += f" Shown: the {MOST_OUTPUTS} highest of {count}; to_frame() has all."
    return text


def _output(record: Influences, row: int, output: int) -> list[str]:
    """What moves one score: marked words, and bars."""
    parts = []
    name, score = record.outputs[output], signed(float(record.scores[row, output]))
    if len(record.outputs) > 1:
        parts.append(heading(f"'{name}': score {score}", level=3))
        parts.append(paragraph(local_score_text(record, row, output)))
        parts.append(place_strip(read_fit(record, row, output)))
    if record.picture is not None:
        parts.append(place_heat(record, row, output))
    if record.words and record.texts:
        parts.append(place_marks(record, row, output))
    if record.picture is None and record.features:
        words = ", ".join(
            f"{part.label} {signed(part.size)}"
            for part in find_influences(record, row, output, most=5)
        )
        parts.append(
            place_figure(
                draw_influences(record, row, output),
                f"row-{row}-{output}",
                f"Greatest influences on '{name}' in row {row + 1}: {words}",
            )
        )
        if len(record.features) > MOST_BARS:
            text = f"Shown: the {MOST_BARS} greatest of {len(record.features):,} influences."
            parts.append(paragraph(text, note=True))
    doubt = noise_text(record, row, output)
    return [*parts, paragraph(doubt, note=True)] if doubt else parts


def _tables(record: Influences, row: int, shown: tuple[int, ...]) -> list[str]:
    head = [f"'{record.outputs[k]}'" for k in shown]
    count, own = len(record.features), record.own[row]
    values, errors = record.values[row], record.standard_errors[row]
    order = np.argsort(-np.abs(values[:, list(shown)]).max(axis=1, initial=0.0), kind="stable")
    rows = [
        [
            feature_text(record, row, int(j), own=bool(own[j])),
            *(noisy(float(values[j, k]), float(errors[j, k])) for k in shown),
        ]
        for j in order[:MOST_LISTED]
    ]
    title = f"The {MOST_LISTED} greatest influences" if count > MOST_LISTED else "All influences"
    parts = [fold(title, place_table(["feature", *head], rows, numbers=len(shown)))]
    # Gathering says nothing new where every column is a single feature, or all are one text.
    if not record.words and len(record.columns) < count:
        parts.append(fold("Gathered by column", _columns(record, row, shown)))
    return parts


def _columns(record: Influences, row: int, shown: tuple[int, ...]) -> str:
    one = record[row]
    values, errors = one.by_column()[0], one.by_column_errors()[0]
    order = np.argsort(-np.abs(values[:, list(shown)]).max(axis=1, initial=0.0), kind="stable")
    rows = [
        [
            record.columns[i],
            record.given[row][i],
            *(noisy(float(values[i, k]), float(errors[i, k])) for k in shown),
        ]
        for i in order
    ]
    about = (
        "Of a category: the influence of the row's own level less the mean over its levels. The "
        "noise of different levels is taken to be independent."
    )
    head = ["column", "this row", *(f"'{record.outputs[k]}'" for k in shown)]
    return paragraph(about, note=True) + place_table(head, rows, numbers=len(shown))
