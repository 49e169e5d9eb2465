"""Expected residual sums of a bin: what the training loop compares released sums with.

Rows of a bin differ in their other terms. These are taken as normal with the variance of the
released scores, which costs nothing and needs no further look at the rows. All functions are per
row of a bin: multiply by its count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import TargetFacts
from voile.models.ebm.model import Link

Floats = NDArray[np.float64]

INSIDE = 0.87
"""Share of residuals that the clip leaves as they are at least (regression)."""

_HIDDEN, _DOUBT = 0.02, 1.5
"""Part of what a clip hides that is taken to be there to explain; and how many standard deviations
of the noise are taken off each mass of the tail before it counts."""

_FREEDOM, _REMEMBERED = 6.0, 7.0
"""Numbers that a smoothed term is free in, and rounds whose sums count, of all that were averaged
with a discount."""

_SMALLEST_CAP = 2.0**-9

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
"""What stands for a normal variable: some of its values, and their weights."""


class TrainingLoss(Protocol):
    """Bounded residuals of one link, and what they are expected to be.

    ``rough``: what is expected leaves more out, and verdicts allow for it. ``width``: of the window
    that counts are clipped to; 1 where there is none.
    """

    link: Link
    cap: float
    gain: float
    width: float
    rough: bool

    def response(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """A function of a bin's scores whose slope is `curvature`, shape (bins, outputs)."""

    def curvature(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """How fast the expected residual of a row falls as its bin's score rises."""

    def variance(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """Variance of a row's residual at the truth."""


class LogitLoss:
    """Two classes: residuals ``y - p`` weighted by ``cap / max(p, 1 - p)``.

    The weight depends on the score alone, so the expected residual is zero exactly at the true
    log-odds (a proper loss: probabilities are calibrated), while no residual exceeds ``cap``:
    of all such losses this has the largest slope at every score.
    """

    link: Link = "logit"
    cap = 0.5
    gain = width = 1.0
    rough = False

    def _grid(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        return (intercept + scores)[..., None] + np.sqrt(spread) * NODES

    def response(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """The integral of the slope; increasing and bounded."""
        z = self._grid(intercept, scores, spread)
        small = np.logaddexp(0.0, -np.abs(z))
        return self.cap * np.where(z < 0, small, 2 * math.log(2.0) - small) @ NODE_WEIGHTS

    def curvature(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """``cap * min(p, 1 - p)``."""
        larger = 1.0 / (1.0 + np.exp(-np.abs(self._grid(intercept, scores, spread))))
        return self.cap * (1.0 - larger) @ NODE_WEIGHTS

    def variance(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """``cap^2 * min(p, 1 - p) / max(p, 1 - p)``."""
        larger = 1.0 / (1.0 + np.exp(-np.abs(self._grid(intercept, scores, spread))))
        return self.cap**2 * ((1.0 - larger) / larger) @ NODE_WEIGHTS


class SoftmaxLoss:
    """More classes: residual vectors ``e_y - p``, weighted so that none is longer than ``cap``."""

    link: Link = "softmax"
    cap = math.sqrt(0.5)
    gain = width = 1.0
    rough = True

    def _weighted(self, intercept: Floats, scores: Floats) -> tuple[Floats, Floats]:
        z = intercept + scores
        p = np.exp(z - z.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        longest = np.sqrt(1.0 - 2.0 * p.min(axis=-1) + (p * p).sum(axis=-1))
        return p, np.minimum(1.0, self.cap / longest)[..., None]

    def response(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """Weighted class probabilities."""
        p, weight = self._weighted(intercept, scores)
        return weight * p

    def curvature(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """``weight * p (1 - p)`` of each class by itself."""
        p, weight = self._weighted(intercept, scores)
        return weight * np.maximum(p * (1.0 - p), 1e-4)

    def intercept_slope(self, intercept: Floats, shares: Floats) -> Floats:
        """``weight * p``, shape (classes,): the step of all intercepts together is sums over this.

        The curvature of the classes together is ``diag(p) - p p'``, which ``diag(1 / p)`` inverts
        but for a common shift. Steps over ``p (1 - p)``, each class by itself, would be up to twice
        as long, and go to and fro for ever. Rows differ in p, whose mean is the class's share: with
        the larger of both steps are rather too short.
        """
        p, weight = self._weighted(intercept, np.zeros((1, len(intercept))))
        return np.asarray(weight[0] * np.maximum(p[0], shares))

    def variance(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """``weight^2 * p (1 - p)``."""
        p, weight = self._weighted(intercept, scores)
        return weight**2 * np.maximum(p * (1.0 - p), 1e-4)


def against_rest(scores: Floats) -> Floats:
    """Log-odds of each class against all others together, shape (bins, classes)."""
    top = scores.max(axis=1, keepdims=True)
    sizes = np.exp(scores - top)
    rest = np.maximum(sizes.sum(axis=1, keepdims=True) - sizes, 1e-300)
    return np.asarray(scores - top - np.log(rest))


class LinearLoss:
    """Residuals whose expectation is taken as linear in the score, once divided by ``gain``.

    Parameters
    ----------
    cap : float
    gain : float
        Released slope of the expected residual: sums are divided by it.
    second_moment : float
        Mean square of the clipped residuals.
    typical : float
        What most of the residuals do not exceed: how good the fit is.
    """

    link: Link = "identity"
    width = 1.0
    rough = False

    def __init__(self, cap: float, gain: float, second_moment: float, typical: float) -> None:
        self.cap = cap
        self.typical = typical
        self.gain = gain
        self.second_moment = second_moment

    def moment(self, cap: float) -> float:
        """How far the fit is off, to compare two of them: the typical residual, squared."""
        return self.typical**2

    def response(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """Linear."""
        return intercept + scores

    def curvature(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """One."""
        return np.ones_like(scores)

    def variance(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """The second moment, as the sums are scaled."""
        return np.full_like(scores, self.second_moment / self.gain**2)


class SquaredLoss(LinearLoss):
    """Numbers scaled to [-1, 1]: residuals clipped to ``cap``, which falls as the fit improves.

    The slope is the released share of residuals that the cap leaves as they are.

    Parameters
    ----------
    sizes, rows : ndarray of shape (cells,)
        Absolute residuals, and the estimated share of rows of each size.
    """

    def __init__(
        self, cap: float, gain: float, typical: float, sizes: Floats, rows: Floats
    ) -> None:
        self._sizes, self._rows = sizes, rows
        super().__init__(cap, gain, max(self.moment(cap), cap**2 * 1e-3), typical)

    def moment(self, cap: float) -> float:
        """Mean square of the residuals, clipped to any cap.

        Typical residuals may grow while far ones shrink: a fit is better by all of them.
        """
        return float(self._rows @ np.minimum(self._sizes, cap) ** 2)


def start_of(link: Link, target: TargetFacts) -> tuple[TrainingLoss, Floats, float]:
    """First loss, intercept at the base rate (or median), and the unit of the scores' variance."""
    if link == "logit":
        return LogitLoss(), np.array([np.log(target.counts[1] / target.counts[0])]), 1.0
    if link == "softmax":
        logs = np.log(target.counts)
        return SoftmaxLoss(), logs - logs.mean(), 1.0
    loss = squared_loss(target.distances, target.masses, target.distances)
    return loss, np.array([target.start]), target.variance


@dataclass(frozen=True)
class ClipPrices:
    """What a clip of residuals costs beside what it hides.

    Attributes
    ----------
    error : float
        Standard deviation of the rows of each size of residuals.
    noise : float
        Mean squared error of the scores by the privacy noise, for a clip of 1.
    sampling : float
        By sampling, for residuals with a second moment of 1.
    """

    error: float
    noise: float
    sampling: float

    @classmethod
    def of(cls, scale: float, rows: float, terms: int, error: float) -> ClipPrices:
        """Those of a training.

        Parameters
        ----------
        scale : float
            Standard deviation of the noise of a round, for a clip of 1.
        rows : float
        terms : int
        error : float
            Standard deviation of the rows of each size of residuals.
        """
        free = _FREEDOM * terms
        return cls(error, (scale * free / rows) ** 2 / _REMEMBERED, free / rows)


def squared_loss(
    sizes: Floats, masses: Floats, limits: Floats, prices: ClipPrices | None = None
) -> SquaredLoss:
    """The loss whose clip leaves 87 % of the residuals as they are, or more where that is cheap.

    A larger clip costs noise, which is proportional to it; a smaller one hides what may be left to
    explain in the tails. The clip is the one with the least sum of both.

    Parameters
    ----------
    sizes, masses : ndarray of shape (cells,)
        Absolute residuals (increasing), and estimated rows of each size.
    limits : ndarray of shape (cells,)
        Upper ends of the cells.
    prices : ClipPrices, optional
        Without them the clip leaves 87 %.
    """
    total = masses.sum()
    if total <= 0:
        return SquaredLoss(2.0, 1.0, 2.0, np.ones(1), np.ones(1))
    # Noised masses may be negative; their running sum is unbiased, and made to rise.
    below = np.maximum.accumulate(np.cumsum(masses) / total)
    # Between the ends of two cells the share of rows is taken to rise evenly.
    first = min(int(np.searchsorted(limits, _SMALLEST_CAP)), len(below) - 1)
    inside = float(np.clip(below[first], INSIDE, 1.0))
    cap = float(np.interp(inside, below + 1e-9 * np.arange(len(below)), limits))
    cap = typical = float(np.clip(cap, _SMALLEST_CAP, 2.0))
    rows = np.maximum(masses, 0.0) / total
    if prices is not None:
        # Of the noised tail only what stands clear of the noise counts.
        sure = np.maximum(masses - _DOUBT * prices.error, 0.0) / total
        larger = limits > typical
        caps = np.append(typical, limits[larger])
        shares = np.append(inside, np.minimum(below[larger], 1.0))
        kept = np.minimum(sizes, caps[:, None]) ** 2 @ rows
        hidden = np.maximum(sizes - caps[:, None], 0.0) ** 2 @ sure
        costs = (prices.noise * caps**2 + prices.sampling * kept) / shares**2 + _HIDDEN * hidden
        # Of clips that cost the same, the smallest: rounding decides nothing.
        best = int(np.flatnonzero(costs <= costs.min() * (1.0 + 1e-6))[0])
        cap, inside = float(caps[best]), float(shares[best])
    return SquaredLoss(cap, inside, typical, sizes, rows)
