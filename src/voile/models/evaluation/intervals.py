"""Intervals of measures: privacy noise, and the chance of which people were there, together.

All of it is post-processing. Why each kind holds: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from voile.models.evaluation.record import Measure

Floats = NDArray[np.float64]
_DRAWS = 400


@dataclass(frozen=True)
class Counted:
    """Released counts or sums, and how uncertain each is.

    Attributes
    ----------
    values : ndarray of shape (cells,)
    noise : float
        Standard error of each by the privacy noise.
    together : int
        Most rows of one person. They may all agree, so the chance of which people were there has
        up to so many times the variance that it has for as many rows of different people.
    """

    values: Floats
    noise: float
    together: int = 1

    def part(self, chosen: slice) -> Counted:
        """Some of the cells."""
        return Counted(self.values[chosen], self.noise, self.together)

    def redraw(self, *, sampling: bool) -> Floats:
        """Counts that could as well have come out, shape (draws, cells).

        Public randomness with a fixed seed. A cell that looks empty may hold a row or two: one row
        is added to the variance of each.
        """
        variance = np.full(self.values.shape, self.noise**2)
        if sampling:
            variance = variance + self.together * (np.maximum(self.values, 0.0) + 1.0)
        rng = np.random.default_rng(0).standard_normal((_DRAWS, len(self.values)))
        return np.asarray(self.values + rng * np.sqrt(variance))


@dataclass(frozen=True)
class Share:
    """A part of some rows: those counted, and the others, each the sum of so many noised cells."""

    inside: float
    inside_cells: int
    outside: float
    outside_cells: int
    noise: float
    together: int = 1

    @classmethod
    def of(cls, counted: Counted, inside: NDArray[np.bool_]) -> Share:
        """The part of all counted rows that lies in the chosen cells."""
        return cls(
            float(counted.values[inside].sum()),
            int(inside.sum()),
            float(counted.values[~inside].sum()),
            int((~inside).sum()),
            counted.noise,
            counted.together,
        )

    @property
    def empty(self) -> bool:
        """Whether there are no rows, for certain."""
        return self.noise == 0 and self.inside + self.outside <= 0

    @property
    def value(self) -> float:
        """The estimate, in [0, 1]; one half where there seem to be no rows."""
        inside, outside = max(self.inside, 0.0), max(self.outside, 0.0)
        return inside / (inside + outside) if inside + outside > 0 else 0.5

    @property
    def spread(self) -> float:
        """Standard error by the privacy noise alone."""
        rows = max(self.inside, 0.0) + max(self.outside, 0.0)
        return _spread_of(self, self.value) / rows if rows > 0 else math.inf

    def interval(self, reach: float) -> tuple[float, float]:
        """All shares that fit the counts, within ``reach`` standard errors; (0, 1) if any does.

        The shares p for which inside - p rows is at most ``reach`` of its standard errors, these
        taken at p itself (Fieller's set, with Wilson's variance): its ends solve a quadratic.
        """
        inside, outside = max(self.inside, 0.0), max(self.outside, 0.0)
        rows, square = inside + outside, reach**2
        noise_in = square * self.noise**2 * self.inside_cells
        noise_out = square * self.noise**2 * self.outside_cells
        most = rows + math.sqrt(noise_in + noise_out)
        rng = square * self.together * most
        a = rows**2 - noise_in - noise_out + rng
        b = -2.0 * inside * rows + 2.0 * noise_in - rng
        c = inside**2 - noise_in
        if rows**2 <= noise_in + noise_out:
            return 0.0, 1.0
        root = math.sqrt(max(b * b - 4.0 * a * c, 0.0))
        return max((-b - root) / (2.0 * a), 0.0), min((-b + root) / (2.0 * a), 1.0)

    def measure(self, name: str, confidence: float) -> Measure:
        """The share with its interval; lost in the noise if any share would fit."""
        low, high = self.interval(reach_of(confidence))
        if self.empty or (low, high) == (0.0, 1.0):
            return lost(name)
        value = self.value
        return Measure(name, value, min(low, value), max(high, value), self.spread)


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


def redrawn(
    name: str,
    counted: Counted,
    measure: Callable[[Floats], Floats],
    confidence: float,
    *,
    room: tuple[float, float] = (0.0, 0.0),
) -> Measure:
    """A measure in [0, 1] of counts, shape (draws, cells) -> (draws,), by redrawing the counts.

    On the scale of log-odds, so that the interval of a measure near an end of its range reaches
    away from it. ``room`` is what may be missing below and above for other reasons.
    """
    value = float(measure(counted.values[None])[0])
    if not math.isfinite(value):
        return lost(name)
    noise = _middle_spread(measure(counted.redraw(sampling=False))) if counted.noise else 0.0
    total = _middle_spread(measure(counted.redraw(sampling=True)))
    if not math.isfinite(total):
        return lost(name)
    # An estimate at the very end has no odds: it is moved in by what it may be wrong by.
    inner = min(max(value, total / 2.0, 1e-12), 1.0 - max(total / 2.0, 1e-12))
    reach = reach_of(confidence) * total / (inner * (1.0 - inner))
    low, high = float(expit(logit(inner) - reach)), float(expit(logit(inner) + reach))
    straight = reach_of(confidence) * total
    low = value - math.hypot(max(value - low, straight), room[0])
    high = value + max(high - value, straight) + room[1]
    return Measure(name, value, max(low, 0.0), min(high, 1.0), noise)


def reach_of(confidence: float) -> float:
    """Standard errors to each side that hold a normal figure so often."""
    return float(-ndtri((1.0 - confidence) / 2.0))


def lost(name: str, low: float = 0.0, high: float = 1.0, unit: str = "") -> Measure:
    """A measure of which the noise left nothing to say: its whole range."""
    return Measure(name, math.nan, low, high, math.nan, unit)


def _spread_of(share: Share, at: float) -> float:
    """Standard error of inside - p rows by noise, for p = ``at``."""
    inside, outside = (1.0 - at) ** 2 * share.inside_cells, at**2 * share.outside_cells
    return share.noise * math.sqrt(inside + outside)


def _middle_spread(values: Floats) -> float:
    """Standard deviation by the middle 68 %: a few wild draws of a ratio must not decide."""
    found = values[np.isfinite(values)]
    if len(found) < 0.9 * len(values):
        return math.nan
    a, b = np.quantile(found, [0.15865, 0.84135])
    return float(b - a) / 2.0
