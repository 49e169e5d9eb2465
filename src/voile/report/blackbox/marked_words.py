"""Texts whose words are marked: orange raises the score, blue lowers it, grey may be noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.significance import NOTHING
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.units import amount_text
from voile.explain.blackbox.words import cut_words, find_word, split_text
from voile.report.kit.html import Templates
from voile.report.kit.theme import LOWER, RAISE, WAS, see_through

MOST_TEXT = 4000
"""Characters of a text that are shown."""

FAINTEST, FULLEST = 0.08, 0.6
"""Opacity of colours beneath words: the least is seen, the most leaves words readable."""

_GREY = "#e4e4e4"

_html = Templates("blackbox/marks.html")


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


def place_marks(record: BlackBoxLocalExplanation | LocalSurrogate, row: int, output: int) -> Markup:
    """A text, its words marked by what they add to a score or by their slope."""
    marks, top, seen = find_marks(record, row, output)
    count = len(record.texts[row])
    more = "" if seen == count else f"… ({seen:,} of {count:,} characters)"
    keys = [
        Mark("raises", see_through(RAISE, FULLEST), "solid", RAISE, "raises the score"),
        Mark("lowers", see_through(LOWER, FULLEST), "dashed", LOWER, "lowers the score"),
    ]
    if any(list_doubtful(record, row, output)):
        keys.append(Mark("within the noise", _GREY, "dotted", WAS, "may be noise"))
    full = amount_text(top, 0.0, record.units).lstrip("+") if top else ""
    return _html.marks(marks, more, keys, record.outputs[output], full)


def find_marks(
    record: BlackBoxLocalExplanation | LocalSurrogate, row: int, output: int
) -> tuple[list[Mark], float, int]:
    """A text in pieces, the greatest number of its words, and how many characters are shown."""
    seen = cut_words(record.texts[row], MOST_TEXT)
    pieces = list(split_text(seen, words_of(record)))
    values = record.values[row, :, output].tolist()
    errors = record.standard_errors[row, :, output].tolist()
    doubtful = list_doubtful(record, row, output)
    top = max((abs(values[one.feature]) for one in pieces if one.feature is not None), default=0.0)
    marks = []
    for one in pieces:
        j = one.feature
        if j is None:
            marks.append(Mark(one.text))
            continue
        told = amount_text(values[j], errors[j], record.units)
        if doubtful[j]:
            marks.append(Mark(one.text, _GREY, "dotted", WAS, f"{told}: within the noise"))
            continue
        share = abs(values[j]) / top if top else 0.0
        line, colour = ("solid", RAISE) if values[j] > 0 else ("dashed", LOWER)
        beneath = see_through(colour, FAINTEST + (FULLEST - FAINTEST) * share)
        marks.append(Mark(one.text, beneath, line, colour, told))
    return marks, top, len(seen)


def words_of(record: BlackBoxLocalExplanation | LocalSurrogate) -> tuple[str, ...]:
    """The words that numbers belong to."""
    if isinstance(record, LocalSurrogate):
        return tuple(map(find_word, record.features))
    return record.columns


def list_doubtful(
    record: BlackBoxLocalExplanation | LocalSurrogate, row: int, output: int
) -> list[bool]:
    """Of each word, whether its number is known to be within its noise."""
    if isinstance(record, BlackBoxLocalExplanation):
        return [one == NOTHING for one in record.verdicts(row, output)]
    values = record.values[row, :, output].tolist()
    errors = record.standard_errors[row, :, output].tolist()
    pairs = zip(values, errors, strict=True)
    return [math.isfinite(error) and abs(value) < 2 * error for value, error in pairs]
