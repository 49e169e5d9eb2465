"""Words of a row's text, marked by their influence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from voile.explain.influence_words import cut_words, split_text
from voile.explain.influences import Influences
from voile.explain.wording import noisy
from voile.report.kit.palette import LOWER, RAISE, WAS, see_through

MOST_TEXT = 4000
"""Characters of a text that are shown."""

FAINTEST, FULLEST = 0.08, 0.6
"""Opacity of colours beneath words: the least is seen, the most leaves words readable."""

_GREY = "#e4e4e4"


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


def find_marks(record: Influences, row: int, output: int) -> tuple[list[Mark], float, int]:
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


def show_key(record: Influences, row: int, output: int) -> list[Mark]:
    """What each kind of mark means."""
    values, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    marks = [
        Mark("raises", see_through(RAISE, FULLEST), "solid", RAISE, "raises the score"),
        Mark("lowers", see_through(LOWER, FULLEST), "dashed", LOWER, "lowers the score"),
    ]
    if any(map(_within_noise, values.tolist(), errors.tolist())):
        marks.append(Mark("within the noise", _GREY, "dotted", WAS, "may be noise"))
    return marks


def _mark(record: Influences, row: int, output: int, feature: int, word: str, top: float) -> Mark:
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
