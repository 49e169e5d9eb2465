"""Tails of test statistics, and one p-value of several: what the verdicts of all models rest on.

The tail of a weighted sum of chi-squares is a saddlepoint formula because scipy has no distribution
of that sum. Formulas and sources: docs/proofs/verdicts.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.stats import cauchy, chi2, norm

from voile.arrays import Floats

_LARGEST_P = 0.95
"""The combination of p-values takes none to be larger: formulas near 1 are rough."""


def combine(p_values: Sequence[float]) -> float:
    """One p-value of several tests of the same question, however they depend on each other.

    The Cauchy combination (Liu & Xie 2020): the mean of ``tan(pi (1/2 - p))`` has, far out in its
    tail, the Cauchy distribution whatever the dependence. At most as large as Bonferroni's, about.

    Examples
    --------
    >>> round(combine([0.01, 0.01, 0.01]), 3), round(combine([0.001, 0.5, 0.5]), 3)
    (0.01, 0.003)
    """
    capped = np.clip(p_values, 1e-300, _LARGEST_P)
    mean = float((1.0 / np.tan(np.pi * capped)).mean())
    return float(cauchy.sf(mean))


def same(values: Floats, variances: Floats) -> float:
    """How probable such differences are if all values are the same (the chi-square test).

    Parameters
    ----------
    values, variances : ndarray of shape (n,)
        Independent and about normal.

    Examples
    --------
    >>> round(same(np.array([0.0, 1.0]), np.array([0.125, 0.125])), 3)
    0.046
    """
    weights = 1.0 / np.maximum(variances, 1e-300)
    apart = values - float(weights @ values) / float(weights.sum())
    return float(chi2.sf(float(weights @ apart**2), max(len(values) - 1, 1)))


def exceed(size: float, weights: Floats) -> float:
    """Probability that a weighted sum of chi-squares with one degree of freedom exceeds a size.

    Kuonen (1999), a saddlepoint formula with a small *relative* error far out in the tail, where
    verdicts are made. Around the mean, where the formula has a gap, a scaled chi-square of the same
    mean and variance.

    Examples
    --------
    >>> round(exceed(3.841, np.array([1.0])), 3), round(exceed(18.3, np.ones(10)), 3)
    (0.05, 0.05)
    """
    weights = weights[weights > 1e-12 * weights.max(initial=0.0)]
    if not len(weights) or size <= 1e-12 * weights.max():
        return 1.0
    mean, half = float(weights.sum()), float((weights**2).sum())
    if len(weights) == 1 or np.ptp(weights) <= 1e-9 * weights[-1]:
        return float(chi2.sf(size / (mean / len(weights)), len(weights)))

    def slope(at: float) -> float:
        return float((weights / (1.0 - 2.0 * at * weights)).sum()) - size

    if abs(size - mean) < 1e-3 * math.sqrt(2 * half):
        return float(chi2.sf(size * mean / half, mean**2 / half))
    top = 1.0 / (2.0 * float(weights.max()))
    # Twice as far as the bound, so that rounding leaves the slope below zero there.
    low = -len(weights) / size - 1e-12 if size < mean else 0.0
    end = top * (1.0 - 1e-12)
    if slope(end) <= 0:
        return 0.0  # so far out that the tail is nothing: rows without noise that all agree
    at = brentq(slope, min(low, 0.0), end, xtol=1e-14 * top, maxiter=500)
    rest = 1.0 - 2.0 * at * weights
    gain = at * size + 0.5 * float(np.log(rest).sum())
    way = math.copysign(math.sqrt(max(2.0 * gain, 1e-300)), at)
    bend = at * math.sqrt(2.0 * float(((weights / rest) ** 2).sum()))
    return float(np.clip(norm.sf(way + math.log(bend / way) / way), 0.0, 1.0))
