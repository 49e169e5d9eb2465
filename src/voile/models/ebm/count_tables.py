"""Clipped counts under Poisson's distribution: their mean, its slope and their variance.

A count of mean m is cut to the window from m - h to m + h, with h = width * max(1, 1.5 sqrt(m)).
What is expected of it then has a closed form, so that clipping does not bias a model of counts
(docs/proofs/objectives.md). Over a grid of log m it is computed once for each width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr

Floats = NDArray[np.float64]

DEVIATIONS = 1.5
"""Half a window of width 1, in standard deviations of a Poisson count; at least 1."""

LOWEST, HIGHEST, PER_UNIT = -20.0, 25.0, 256
"""The grid of the log of the mean; means outside count as its ends."""

_LARGE = 1e5
"""From this mean on, a count is taken as normal."""


def half_window(mean: Floats, width: float) -> Floats:
    """Half the window that a count of a mean is cut to."""
    return width * np.maximum(1.0, DEVIATIONS * np.sqrt(mean))


@dataclass(frozen=True, eq=False)
class CountTable:
    """What a residual in [-1, 1] is expected to be, over the grid of the log of the mean.

    Attributes
    ----------
    means : ndarray of shape (points,)
    centres : ndarray of shape (points,)
        Expected clipped count minus the mean, in half windows: what the kernel subtracts.
    responses, slopes, variances : ndarray of shape (points,)
        Of the residual: the slope by the score at the truth, its integral, and the variance.
    longest : ndarray of shape (points,)
        How far a clipped count may be from its expectation, in half windows.
    """

    means: Floats
    centres: Floats
    responses: Floats
    slopes: Floats
    variances: Floats
    longest: Floats

    def read(self, values: Floats, logs: Floats) -> Floats:
        """Values of the grid at some logs of means."""
        place = np.clip((logs - LOWEST) * PER_UNIT, 0.0, len(values) - 1.0)
        return np.interp(place, np.arange(len(values)), values)


@lru_cache(maxsize=16)
def count_table(width: float) -> CountTable:
    """The table for a width."""
    logs = LOWEST + np.arange(int((HIGHEST - LOWEST) * PER_UNIT) + 1) / PER_UNIT
    means = np.exp(logs)
    half = half_window(means, width)
    lower, upper = np.maximum(means - half, 0.0), means + half
    clipped = _least(means, upper)[0] - _least(means, lower)[0] + lower
    slopes = _least(means, upper)[1] - _least(means, lower)[1]
    # E clip^2 from E min(Y, b)^2; of large means the normal form, which loses no digits.
    squares = _least(means, upper)[2] - _least(means, lower)[2] + lower**2
    variances = np.maximum(squares - clipped**2, 0.0)
    large = means > _LARGE
    deviations = half[large] / np.sqrt(means[large])
    inside = 2.0 * ndtr(deviations) - 1.0
    density = np.exp(-(deviations**2) / 2) / np.sqrt(2 * np.pi)
    clipped[large], slopes[large] = means[large], inside
    variances[large] = means[large] * (
        inside - 2 * deviations * density + deviations**2 * (1 - inside)
    )
    longest = np.maximum(clipped - lower, upper - clipped)
    slopes = slopes * means / longest
    steps = (slopes[1:] + slopes[:-1]) / 2 / PER_UNIT
    return CountTable(
        means,
        (clipped - means) / half,
        np.concatenate([[0.0], np.cumsum(steps)]),
        slopes,
        variances / longest**2,
        longest / half,
    )


def _least(means: Floats, ends: Floats) -> tuple[Floats, Floats, Floats]:
    """E min(Y, b), its derivative by the mean, and E min(Y, b)^2, for counts Y of some means."""
    whole = np.floor(ends)
    below = _up_to(whole, means)
    before, earlier = _up_to(whole - 1, means), _up_to(whole - 2, means)
    above = 1.0 - below
    first = means * before + ends * above
    slope = before + (ends - whole) * (below - before)
    second = means**2 * earlier + means * before + ends**2 * above
    return first, slope, second


def _up_to(count: Floats, means: Floats) -> Floats:
    """P(Y <= count)."""
    return np.where(count < 0, 0.0, gammaincc(np.maximum(count, 0.0) + 1.0, means))
