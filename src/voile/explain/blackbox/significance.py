"""Verdicts on contributions: is what a column added more than privacy noise and sampling error?"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from voile.models.verdict import Verdict, allow_for_many, judge

Floats = NDArray[np.float64]

NOT_KNOWN: Literal["not known"] = "not known"
"""Where nobody knows how large the noise is."""

NOTHING: Verdict = "cannot be told from nothing"

Conclusion = Verdict | Literal["not known"]

VERDICTS = (
    "'clear' and 'perhaps' are more than privacy noise and sampling error, at the levels 1 % and "
    "5 % for all columns of a row together."
)
"""What verdicts mean, in a sentence."""


def judge_contributions(values: Floats, errors: Floats) -> tuple[Conclusion, ...]:
    """The verdict on each of some contributions that are looked at together.

    An interval (two standard errors) that covers 0 is always 'cannot be told from nothing'.

    Parameters
    ----------
    values, errors : ndarray of shape (columns,)
        Contributions, and their standard errors; infinite if unknown.
    """
    return judge_sizes(p_values_of(values, errors), errors)


def judge_sizes(p_values: Floats, errors: Floats) -> tuple[Conclusion, ...]:
    """The verdicts on p-values that are looked at together; none where the error is unknown."""
    # What a model does not use at all adds exactly nothing: it was not looked at.
    used = p_values < 1.0
    allowed = np.ones(len(p_values))
    allowed[used] = allow_for_many(p_values[used])
    return tuple(
        judge(float(p)) if np.isfinite(error) else NOT_KNOWN
        for p, error in zip(allowed, errors, strict=True)
    )


def p_values_of(values: Floats, errors: Floats) -> Floats:
    """P-values of 'this adds nothing', each by itself; 1 where the interval covers 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(values == 0.0, 0.0, np.abs(values) / errors)
    return np.where(size > 2.0, 2.0 * norm.sf(size), 1.0)
