"""Intervals of measures: privacy noise and the error of the sample, together.

All of it is post-processing. Why each kind holds: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtr, stdtrit

from voile.models.evaluation.measure import Measure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Counted:
    """Released counts or sums, and how uncertain each is.

    Attributes
    ----------
    values : ndarray of shape (cells,)
    noise : float
        Standard error of each by the privacy noise, independent of the others'.
    together : int
        Most rows of one person. They may all agree, so the error of the sample has up to so many
        times the variance that it has for as many rows of different people.
    """

    values: Floats
    noise: float
    together: int = 1

    def part(self, chosen: slice) -> Counted:
        """Some of the cells."""
        return Counted(self.values[chosen], self.noise, self.together)


@dataclass(frozen=True)
class Share:
    """A part of some rows: those inside and those outside, and how uncertain both are.

    Attributes
    ----------
    inside, outside : float
        Estimated rows.
    noise_inside, noise_outside, noise_both : float
        Variances of the two by the privacy noise, and their covariance.
    together : float
        As of `Counted`; 0 where the variances hold the error of the sample already.
    """

    inside: float
    outside: float
    noise_inside: float
    noise_outside: float
    noise_both: float = 0.0
    together: float = 1.0

    @classmethod
    def of(cls, counted: Counted, inside: NDArray[np.bool_]) -> Share:
        """The part of all counted rows that lies in the chosen cells."""
        return cls(
            float(counted.values[inside].sum()),
            float(counted.values[~inside].sum()),
            counted.noise**2 * int(inside.sum()),
            counted.noise**2 * int((~inside).sum()),
            0.0,
            counted.together,
        )

    @property
    def rows(self) -> float:
        """Inside and outside, none of them below 0."""
        return max(self.inside, 0.0) + max(self.outside, 0.0)

    @property
    def noise_rows(self) -> float:
        """Variance of the number of rows by the privacy noise."""
        return max(self.noise_inside + self.noise_outside + 2.0 * self.noise_both, 0.0)

    @property
    def empty(self) -> bool:
        """Whether there are no rows, for certain."""
        return self.noise_rows == 0 and self.rows <= 0

    @property
    def value(self) -> float:
        """The estimate, in [0, 1]; one half where there seem to be no rows."""
        return max(self.inside, 0.0) / self.rows if self.rows > 0 else 0.5

    @property
    def spread(self) -> float:
        """Standard error by the privacy noise alone."""
        return math.sqrt(self.noise_at(self.value)) / self.rows if self.rows > 0 else math.inf

    def noise_at(self, p: float) -> float:
        """Variance of inside - p rows by the privacy noise."""
        own = (1.0 - p) ** 2 * self.noise_inside + p**2 * self.noise_outside
        return max(own - 2.0 * p * (1.0 - p) * self.noise_both, 0.0)

    def variance_at(self, p: float) -> float:
        """Variance of the estimate, noise and sample, if ``p`` were the truth."""
        if self.rows <= 0:
            return math.inf
        sample = self.together * p * (1.0 - p) / self.rows
        return self.noise_at(p) / self.rows**2 + sample

    def interval(self, reach: float) -> tuple[float, float]:
        """All shares that fit the counts, within ``reach`` standard errors; (0, 1) if any does.

        The shares p for which inside - p rows is at most ``reach`` of its standard errors, these
        taken at p itself (Fieller's set, with Wilson's variance): its ends solve a quadratic.
        """
        inside, rows, square = max(self.inside, 0.0), self.rows, reach**2
        doubt = square * self.noise_rows
        if rows**2 <= doubt:
            return 0.0, 1.0
        sample = square * self.together * (rows + math.sqrt(doubt))
        a = rows**2 - doubt + sample
        b = -2.0 * inside * rows + 2.0 * square * (self.noise_inside + self.noise_both) - sample
        c = inside**2 - square * self.noise_inside
        root = math.sqrt(max(b * b - 4.0 * a * c, 0.0))
        return max((-b - root) / (2.0 * a), 0.0), min((-b + root) / (2.0 * a), 1.0)

    def measure(
        self, name: str, confidence: float, *, scale: float = 1.0, unit: str = ""
    ) -> Measure:
        """The share (times ``scale``) with its interval; lost in the noise if any would fit."""
        low, high = self.interval(reach_of(confidence))
        if self.empty or (low, high) == (0.0, 1.0):
            return lost(name, 0.0, scale, unit)
        value = self.value
        ends = min(low, value) * scale, max(high, value) * scale
        return Measure(name, value * scale, *ends, self.spread * scale, unit)


def mean_share(name: str, shares: Sequence[Share], confidence: float) -> Measure:
    """The mean of shares of different rows, those without any left out.

    Ends by the recovery of variances: the distances of each share from its own ends, of which at
    most one in ``1 - confidence`` is passed, add up as independent errors do.
    """
    known = [one for one in shares if not one.empty]
    reach = reach_of(confidence)
    if not known:
        return lost(name)
    ends = [one.interval(reach) for one in known]
    if all(pair == (0.0, 1.0) for pair in ends):
        return lost(name)
    count, value = len(known), math.fsum(one.value for one in known) / len(known)
    below = math.hypot(*(one.value - low for one, (low, _) in zip(known, ends, strict=True)))
    above = math.hypot(*(high - one.value for one, (_, high) in zip(known, ends, strict=True)))
    # A share that is lost has no standard error; its whole range stands for it.
    noise = math.hypot(*(min(one.spread, 0.5) for one in known)) / count
    return Measure(
        name, value, max(value - below / count, 0.0), min(value + above / count, 1.0), noise
    )


def estimated(
    name: str,
    value: float,
    noise: float,
    variance: float,
    confidence: float,
    *,
    room: tuple[float, float] = (0.0, 0.0),
) -> Measure:
    """A measure in [0, 1] with an interval from its variance.

    On the scale of log-odds, so that the interval of a measure near an end of its range reaches
    away from it, or straight, whichever reaches farther.

    Parameters
    ----------
    name : str
    value : float
    noise, variance : float
        Variance by the privacy noise alone; with the error of the sample.
    confidence : float
    room : tuple of float
        What may be missing below and above for other reasons.
    """
    if not (math.isfinite(value) and math.isfinite(variance)):
        return lost(name)
    total = math.sqrt(variance)
    # An estimate at the very end has no odds: it is moved in by what it may be wrong by.
    inner = min(max(value, total / 2.0, 1e-12), 1.0 - max(total / 2.0, 1e-12))
    reach = reach_of(confidence) * total / max(inner * (1.0 - inner), 1e-12)
    low, high = float(expit(logit(inner) - reach)), float(expit(logit(inner) + reach))
    straight = reach_of(confidence) * total
    low = value - max(value - low, straight) - room[0]
    high = value + max(high - value, straight) + room[1]
    value = min(max(value, 0.0), 1.0)
    return Measure(name, value, max(low, 0.0), min(high, 1.0), math.sqrt(noise))


def two_sided(difference: float, variance: float, degrees: float = math.inf) -> float:
    """P-value of a difference, of which 0 is expected; NaN if nothing is known of it.

    Normal, or of Student's distribution with degrees of freedom.
    """
    if not (math.isfinite(difference) and math.isfinite(variance)):
        return math.nan
    if variance <= 0:
        return 1.0 if difference == 0 else 0.0
    return float(2.0 * stdtr(degrees, -abs(difference) / math.sqrt(variance)))


def reach_of(confidence: float, degrees: float = math.inf) -> float:
    """Standard errors to each side that hold a normal figure (or Student's) so often."""
    return float(-stdtrit(degrees, (1.0 - confidence) / 2.0))


def lost(name: str, low: float = 0.0, high: float = 1.0, unit: str = "") -> Measure:
    """A measure of which the noise left nothing to say: its whole range."""
    return Measure(name, math.nan, low, high, math.nan, unit)
