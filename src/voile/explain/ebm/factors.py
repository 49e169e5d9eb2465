"""Scores that multiply the prediction, written as factors: "x1.35 (1.2 to 1.5)"."""

from __future__ import annotations

import math

from voile.explain.wording import short

LOG_UNIT = "log of the target"
"""Unit of scores that multiply the prediction."""

_LARGEST = 700.0
"""Beyond, a power of e has no floating-point number."""


def factor_text(score: float) -> str:
    """By what a score multiplies a prediction whose log it is part of.

    Examples
    --------
    >>> factor_text(0.3)
    'x1.35'
    """
    return f"x{_power_text(score)}"


def factor_range_text(score: float, error: float) -> str:
    """The same with its interval.

    Examples
    --------
    >>> factor_range_text(0.3, 0.05), factor_range_text(0.3, 0.0)
    ('x1.35 (1.22 to 1.49)', 'x1.35')
    """
    return factor_text(score) + _range_text(score, error)


def level_range_text(score: float, error: float) -> str:
    """The prediction that a whole score is the log of, with its interval.

    Examples
    --------
    >>> level_range_text(-3.85, 0.023)
    '0.0213 (0.0203 to 0.0223)'
    """
    return _power_text(score) + _range_text(score, error)


def _range_text(score: float, error: float) -> str:
    if error == 0:
        return ""
    if not math.isfinite(error):
        return " (unknown)"
    low, high = (_power_text(score + side * error) for side in (-2, 2))
    return f" ({low} to {high})"


def _power_text(score: float) -> str:
    return short(math.exp(min(score, _LARGEST)), digits=3)
