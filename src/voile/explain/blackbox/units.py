"""Scores and contributions in the units that people read: percentage points, or the model's own."""

from __future__ import annotations

import math

from voile.explain.wording import noisy, percent, short

PROBABILITY, OWN_UNIT = "probability", "the model's own unit"
"""Units of a classifier's scores, and of numbers."""


def score_text(score: float, units: str) -> str:
    """A score by itself.

    Examples
    --------
    >>> score_text(0.734, PROBABILITY), score_text(0.734, OWN_UNIT)
    ('73 %', '0.734')
    """
    if units != PROBABILITY or not math.isfinite(score):
        return short(score)
    return percent(min(max(score, 0.0), 1.0))


def times(units: str) -> float:
    """What a stored number is multiplied by to be shown."""
    return 100.0 if units == PROBABILITY else 1.0


def unit_text(units: str) -> str:
    """What a number that is shown counts."""
    return "percentage points" if units == PROBABILITY else units


def amount_text(amount: float, standard_error: float, units: str, *, added: bool = True) -> str:
    """What is added to a score, with its interval: two standard errors.

    Percentage points are written with as many digits as their interval lets one read.

    Examples
    --------
    >>> amount_text(0.0312, 0.0041, PROBABILITY), amount_text(-3.0, 0.0, OWN_UNIT)
    ('+3.1 ± 0.8', '-3')
    """
    if units != PROBABILITY:
        return noisy(amount, standard_error, added=added)
    half = 200.0 * standard_error
    digits = 2
    if 0.0 < half < math.inf:
        digits = min(max(-math.floor(math.log10(half)), 1), 2)
    text = f"{100.0 * amount:{'+' if added else ''}.{digits}f}"
    if float(text) == 0.0:
        text = text.lstrip("+-")
    if half == 0.0:
        return text
    if not math.isfinite(half):
        return f"{text} ± unknown"
    return f"{text} ± {half:.{digits}f}" if half >= 0.01 else f"{text} ± under 0.01"


def half_text(standard_error: float, units: str) -> str:
    """Two standard errors, to follow a sign ±.

    Examples
    --------
    >>> half_text(0.0041, PROBABILITY)
    '0.8'
    """
    return amount_text(0.0, standard_error, units).partition("± ")[2]
