"""The page of a black box's single rows: what moves the score nearby, and how far to trust it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from voile.explain.blackbox import text as influence_text
from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.text import feature_text
from voile.explain.blackbox.trust import FAIR, GOOD, POOR, UNKNOWN, read_fit, read_place
from voile.explain.blackbox.words import cut_words, split_text
from voile.explain.ebm.text import times_text
from voile.explain.wording import noisy, short, signed
from voile.rendering import draws
from voile.report.blackbox.bars import draw_influences, find_influences
from voile.report.kit import pictures as kit
from voile.report.kit.bars import MOST_BARS, Floats, parts_text
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.pictures import Picture, Pixels
from voile.report.kit.theme import LOWER, RAISE, ROWS, SERIES, WAS, see_through

MOST_ROWS, MOST_OUTPUTS, MOST_SCORES, MOST_LISTED = 20, 4, 12, 100

_LOOKS = {
    GOOD: (SERIES[2], "✓"),
    FAIR: (SERIES[5], "~"),
    POOR: (SERIES[3], "✗"),
    UNKNOWN: (ROWS, "?"),
}
"""Colour and sign of each verdict."""

_html = Templates(
    "blackbox/page.html",
    text=influence_text,
    times_text=times_text,
    looks=_LOOKS,
    unknown=UNKNOWN,
    signed=signed,
)

MOST_TEXT = 4000
"""Characters of a text that are shown."""

FAINTEST, FULLEST = 0.08, 0.6
"""Opacity of colours beneath words: the least is seen, the most leaves words readable."""

_GREY = "#e4e4e4"


@draws(BlackBoxLocalExplanation)
def draw_page(record: BlackBoxLocalExplanation) -> str:
    """The whole page as HTML."""
    levels = any(one.level is not None for one in record.features)
    body = _html.lead(record, sorted(set(record.answered)), levels, MOST_ROWS)
    for row in range(min(len(record), MOST_ROWS)):
        body += _draw_row(record, row)
    title = "Why the black box said so"
    return compose_page(title, body, record.receipt, cost=record.cost, holds_rows=True)


def _draw_row(record: BlackBoxLocalExplanation, row: int) -> Markup:
    shown = record.outputs_by_score(row)[:MOST_OUTPUTS]
    fit = read_fit(record, row, 0) if len(record.outputs) == 1 else ()
    bars = record.picture is None and bool(record.features)
    return _html.row(
        record,
        row,
        most=(MOST_SCORES, MOST_OUTPUTS),
        trust=(*fit, *read_place(record, row)),
        outputs=[_draw_output(record, row, output, bars=bars) for output in shown],
        tables=_draw_tables(record, row, shown) if bars else "",
    )


def _draw_output(record: BlackBoxLocalExplanation, row: int, output: int, *, bars: bool) -> Markup:
    """What moves one score."""
    marks = record.words and record.texts
    return _html.output(
        record,
        row,
        output,
        score=signed(float(record.scores[row, output])),
        trust=read_fit(record, row, output) if len(record.outputs) > 1 else (),
        heat="" if record.picture is None else _draw_heat(record, row, output),
        marks=place_marks(record, row, output) if marks else "",
        figure=draw_influences(record, row, output) if bars else None,
        words=parts_text(find_influences(record, row, output, most=5)) if bars else "",
        most=MOST_BARS,
    )


def place_marks(record: BlackBoxLocalExplanation, row: int, output: int) -> Markup:
    """A text: orange words raise the score, blue lower it, grey may be noise."""
    marks, top, seen = find_marks(record, row, output)
    count = len(record.texts[row])
    more = "" if seen == count else f"… ({seen:,} of {count:,} characters)"
    keys = show_key(record, row, output)
    return _html.marks(marks, more, keys, record.outputs[output], short(top) if top else "")


def paint_asked(record: BlackBoxLocalExplanation, row: int) -> Pixels:
    """The asked row as a picture, between the bounds of its pixels."""
    assert record.picture is not None
    return kit.paint_picture((record.strengths[row] + 1.0) / 2.0, record.picture)


def _draw_heat(record: BlackBoxLocalExplanation, row: int, output: int) -> Markup:
    """The row beside its heat map: alone, over the row, and without what may be noise."""
    shape, asked = record.picture, paint_asked(record, row)
    assert shape is not None
    values, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    about, flat = f"influences on '{record.outputs[output]}'", kit.sum_channels(values, shape)
    pictures = [
        Picture(asked, "this row", "Picture of this row"),
        Picture(kit.paint_filter(values, shape), "influence", f"Heat map of {about}"),
        Picture(kit.paint_over(flat, asked), "over this row", f"Heat map over the row: {about}"),
    ]
    if np.isfinite(errors).all() and errors.max(initial=0.0) > 0:
        clear = kit.paint_filter(values, shape, errors)
        told = f"Heat map, grey where it may be noise: {about}"
        pictures.append(Picture(clear, "beyond noise", told))
    return _html.heat(pictures, short(float(np.abs(flat).max(initial=0.0)), digits=2))


def _draw_tables(record: BlackBoxLocalExplanation, row: int, shown: tuple[int, ...]) -> Markup:
    count, own, kept = len(record.features), record.own[row], list(shown)
    values, errors = record.values[row][:, kept], record.standard_errors[row][:, kept]
    rows = [
        [feature_text(record, row, j, own=bool(own[j])), *map(noisy, values[j], errors[j])]
        for j in _order(values)[:MOST_LISTED]
    ]
    columns = []
    # Gathering says nothing new where every column is a single feature, or all are one text.
    if not record.words and len(record.columns) < count:
        one, given = record[row], record.given[row]
        values, errors = one.by_column()[0][:, kept], one.by_column_errors()[0][:, kept]
        columns = [
            [record.columns[i], given[i], *map(noisy, values[i], errors[i])] for i in _order(values)
        ]
    title = f"The {MOST_LISTED} greatest influences" if count > MOST_LISTED else "All influences"
    head = [f"'{record.outputs[k]}'" for k in shown]
    return _html.tables(record, head, rows, title, columns)


def _order(values: Floats) -> list[int]:
    """Positions of features, the greatest influence on any output first."""
    order: list[int] = np.argsort(-np.abs(values).max(axis=1, initial=0.0), kind="stable").tolist()
    return order


@dataclass(frozen=True)
class Mark:
    """A word with a colour beneath, a line below, and what is told of it; or mere text.

    The kind of line says the same as the colour, for who cannot tell the two apart.
    """

    word: str
    beneath: str = ""
    line: str = ""
    colour: str = ""
    told: str = ""


def find_marks(
    record: BlackBoxLocalExplanation, row: int, output: int
) -> tuple[list[Mark], float, int]:
    """A text in pieces, the greatest influence of its words, and how many characters are shown."""
    seen = cut_words(record.texts[row], MOST_TEXT)
    pieces = list(split_text(seen, record.features))
    sizes = np.abs(record.values[row, :, output])
    top = max((float(sizes[one.feature]) for one in pieces if one.feature is not None), default=0.0)
    marks = [
        Mark(one.text)
        if one.feature is None
        else _mark(record, row, output, one.feature, one.text, top)
        for one in pieces
    ]
    return marks, top, len(seen)


def show_key(record: BlackBoxLocalExplanation, row: int, output: int) -> list[Mark]:
    """What each kind of mark means."""
    values, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    marks = [
        Mark("raises", see_through(RAISE, FULLEST), "solid", RAISE, "raises the score"),
        Mark("lowers", see_through(LOWER, FULLEST), "dashed", LOWER, "lowers the score"),
    ]
    if any(map(_within_noise, values.tolist(), errors.tolist())):
        marks.append(Mark("within the noise", _GREY, "dotted", WAS, "may be noise"))
    return marks


def _mark(
    record: BlackBoxLocalExplanation, row: int, output: int, feature: int, word: str, top: float
) -> Mark:
    value = float(record.values[row, feature, output])
    error = float(record.standard_errors[row, feature, output])
    told = noisy(value, error)
    if _within_noise(value, error):
        return Mark(word, _GREY, "dotted", WAS, f"{told}: within the noise")
    share = abs(value) / top if top else 0.0
    line, colour = ("solid", RAISE) if value > 0 else ("dashed", LOWER)
    return Mark(
        word, see_through(colour, FAINTEST + (FULLEST - FAINTEST) * share), line, colour, told
    )


def _within_noise(value: float, error: float) -> bool:
    """Whether an influence is known to be within its noise."""
    return math.isfinite(error) and abs(value) < 2 * error
