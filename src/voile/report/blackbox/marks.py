"""The text of a row with its words marked by their influence."""

from __future__ import annotations

import html
import math

import numpy as np

from voile.explain.influence_words import cut_words, split_text
from voile.explain.influences import Influences
from voile.explain.wording import noisy, short
from voile.report.kit.palette import LOWER, RAISE, WAS, see_through

MOST_TEXT = 4000
"""Characters of a text that are shown."""

FAINTEST, FULLEST = 0.08, 0.6
"""Opacity of colours beneath words: the least is seen, the most leaves words readable."""

_GREY = "#e4e4e4"


def place_marks(record: Influences, row: int, output: int) -> str:
    """A text as HTML: orange words raise the score, blue lower it, grey may be noise."""
    text = record.texts[row]
    seen = cut_words(text, MOST_TEXT)
    pieces = list(split_text(seen, record.features))
    sizes = np.abs(record.values[row, :, output])
    top = max((float(sizes[one.feature]) for one in pieces if one.feature is not None), default=0.0)
    drawn = "".join(
        html.escape(one.text)
        if one.feature is None
        else _mark(record, row, output, one.feature, one.text, top)
        for one in pieces
    )
    more = "" if seen == text else f"… ({len(seen):,} of {len(text):,} characters)"
    return (
        f'<p style="white-space:pre-wrap;line-height:1.9">{drawn}{more}</p>'
        f"{_key(record, row, output, top)}"
    )


def _mark(record: Influences, row: int, output: int, feature: int, word: str, top: float) -> str:
    value = float(record.values[row, feature, output])
    error = float(record.standard_errors[row, feature, output])
    told = noisy(value, error)
    if _within_noise(value, error):
        return _paint(_GREY, "dotted", WAS, f"{told}: within the noise", word)
    share = abs(value) / top if top else 0.0
    colour = RAISE if value > 0 else LOWER
    beneath = see_through(colour, FAINTEST + (FULLEST - FAINTEST) * share)
    # The kind of line says the same as the colour, for who cannot tell the two apart.
    return _paint(beneath, "solid" if value > 0 else "dashed", colour, told, word)


def _paint(beneath: str, line: str, colour: str, told: str, word: str) -> str:
    return (
        f'<mark style="background:{beneath};color:#222;padding:.1em .15em;'
        f'border-bottom:2px {line} {colour}" title="{html.escape(told)}">{html.escape(word)}</mark>'
    )


def _key(record: Influences, row: int, output: int, top: float) -> str:
    values, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    marks = [
        _paint(see_through(RAISE, FULLEST), "solid", RAISE, "raises the score", "raises"),
        _paint(see_through(LOWER, FULLEST), "dashed", LOWER, "lowers the score", "lowers"),
    ]
    if any(map(_within_noise, values.tolist(), errors.tolist())):
        marks.append(_paint(_GREY, "dotted", WAS, "may be noise", "within the noise"))
    about = html.escape(f"the score of '{record.outputs[output]}'")
    full = f"full colour is {short(top)}; " if top else ""
    return (
        f"<p class=note>{' '.join(marks)} {about}; {full}words without colour are no features.</p>"
    )


def _within_noise(value: float, error: float) -> bool:
    """Whether an influence is known to be within its noise."""
    return math.isfinite(error) and abs(value) < 2 * error
