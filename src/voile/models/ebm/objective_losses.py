"""Training losses of counts, amounts and quantiles: what to expect of their bounded residuals.

Counts are clipped where Poisson's distribution tells what that does. Amounts and quantiles are
compared with a released distribution of misses, as squared loss is with that of sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import TargetFacts
from voile.models.ebm.count_tables import DEVIATIONS, count_table
from voile.models.ebm.losses import INSIDE, NODE_WEIGHTS, NODES, LinearLoss, TrainingLoss
from voile.models.ebm.misses import Misses
from voile.models.ebm.model import Link
from voile.models.ebm.objectives import Aim
from voile.privacy.discovery import Histogram
from voile.privacy.discovery.histogram import CLEAR

Floats = NDArray[np.float64]

_WIDTHS = (1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0, 15.0)
"""Widths of windows of counts that are tried, the narrowest first."""

_WIDEST_START = 4.5
"""The widest before the first round."""

_BIAS, _LEAST_INSIDE = 0.03, 0.8
"""A window is wide enough if it takes away, beyond what it would of Poisson's counts, no larger
part of the mean than the first, and leaves more rows than the second as they are."""

_HIDDEN, _DOUBT, _FARTHEST = 0.2, 0.02, 8.0
"""More than this part of the mean is not believed to be hidden by a window; nothing is, if its
noise is larger than the second part of the mean; and farther misses are not looked at."""

_SCATTER = (0.5, 5.0)
"""Limits of the variance of residuals relative to that of Poisson's counts."""

_LEAST_CAP, _MOST_CAP, _LEAST_GAIN = 2.0**-6, 8.0, 0.1

_WINDOW, _LEAST_WIDTH = 0.1, 2.0**-8
"""Part of the rows on each side of a quantile by which the density there is told, and the least
width of that interval."""

_FAR = 0.03
"""A quantile whose part of the rows is off by more is moved at once."""

_REACHES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0)
_TAIL = 0.01
"""Clips of the amounts in the last sum, and the part of the mean that may lie beyond."""


@dataclass(frozen=True, eq=False)
class ExposureFacts:
    """What is released of the exposure.

    Attributes
    ----------
    logs, shares : ndarray of shape (places,)
        Logs of some exposures, and the part of the rows that has about this one.
    """

    logs: Floats
    shares: Floats

    @classmethod
    def of(cls, found: Histogram | None) -> ExposureFacts:
        """From its released distribution; without one, all rows have the exposure 1."""
        if found is None:
            return cls(np.zeros(1), np.ones(1))
        counts = np.maximum(found.counts, 0.0)
        if counts.sum() <= 0:
            counts = np.ones(len(counts))
        middles = np.maximum((found.edges[1:] + found.edges[:-1]) / 2, 1e-300)
        return cls(np.log(middles), counts / counts.sum())

    @property
    def mean_log(self) -> float:
        """Log of the mean exposure."""
        return math.log(float(self.shares @ np.exp(self.logs)))


class CountLoss:
    """Counts: ``y - mean``, clipped to a window and weighted so that no residual exceeds 1.

    What the clipped count is expected to be under Poisson's distribution is subtracted, not the
    mean: the expected residual is zero exactly at the true mean, however narrow the window.

    Parameters
    ----------
    width : float
        Of the window.
    exposures : ExposureFacts
    scatter : float
        Variance of residuals relative to that of Poisson's counts, as far as released.

    Attributes
    ----------
    hidden : float
        What the window takes away more than of Poisson's counts, as a part of the mean.
    """

    link: Link = "log"
    cap = 1.0
    gain = 1.0
    rough = True

    def __init__(self, width: float, exposures: ExposureFacts, scatter: float = 1.0) -> None:
        self.width, self.exposures, self.scatter = width, exposures, scatter
        self.hidden = 0.0
        self.table = count_table(width)

    def _average(self, values: Floats, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """Mean of a column of the table over exposures and the other terms."""
        z = (intercept + scores)[..., None] + np.sqrt(spread) * NODES
        found = self.table.read(values, z[..., None] + self.exposures.logs)
        return np.asarray(found @ self.exposures.shares @ NODE_WEIGHTS)

    def response(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """The integral of the slope by the score."""
        return self._average(self.table.responses, intercept, scores, spread)

    def curvature(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """How fast the expected clipped count follows the log of the mean, weighted."""
        return np.maximum(self._average(self.table.slopes, intercept, scores, spread), 1e-9)

    def variance(self, intercept: Floats, scores: Floats, spread: Floats) -> Floats:
        """Of Poisson's clipped counts, times the released scatter."""
        found = self._average(self.table.variances, intercept, scores, spread)
        return np.maximum(self.scatter * found, 1e-9)

    def fitted_to(
        self,
        misses: Misses,
        intercept: Floats,
        spread: float,
        most: float = _WIDTHS[-1],
        whole: Misses | None = None,
    ) -> CountLoss:
        """The same with the narrowest window that suits the counts.

        Parameters
        ----------
        misses : Misses
            At the present scores, in half windows of width 1.
        intercept : ndarray of shape (1,)
        spread : float
            Variance of all terms together.
        most : float
            No window is wider.
        whole : Misses, optional
            The same with all cells, clear of the noise or not: for what the window hides.
        """
        logs = (
            float(intercept[0]) + math.sqrt(spread) * NODES[:, None] + self.exposures.logs
        ).ravel()
        shares = (NODE_WEIGHTS[:, None] * self.exposures.shares).ravel()
        means = np.exp(logs)
        size = float(shares @ (means / np.maximum(1.0, DEVIATIONS * np.sqrt(means))))
        at = misses.middles
        for width in _WIDTHS:
            table = count_table(width)
            # What the window takes away above minus below, and what it would of Poisson's counts.
            cut: Floats = np.maximum(at - width, 0.0) - np.maximum(-width - at, 0.0)
            expected = -width * float(shares @ table.read(table.centres, logs))
            bias = abs(misses.mean(cut) - expected) - misses.error_of(cut)
            inside = misses.mean(np.where(np.abs(at) <= width, 1.0, 0.0))
            if (bias <= _BIAS * size and inside >= _LEAST_INSIDE) or width >= most:
                break
        usual = width**2 * float(shares @ table.read(table.variances * table.longest**2, logs))
        scatter = misses.mean(np.clip(at, -width, width) ** 2) / max(usual, 1e-300)
        loss = CountLoss(width, self.exposures, float(np.clip(scatter, *_SCATTER)))
        if whole is not None:
            # Cells that do not stand clear count here, too, or what is hidden would seem less.
            cut = np.where(np.abs(at) < _FARTHEST, cut, 0.0)
            off, error = whole.mean(cut) - expected, whole.error_of(cut)
            if error <= _DOUBT * size:
                hidden = max(abs(off) - error, 0.0) / size
                loss.hidden = math.copysign(min(hidden, _HIDDEN), off)
        return loss


class AmountLoss(LinearLoss):
    """Positive amounts: ``y / mean - 1``, clipped to the cap.

    If amounts are a mean times a factor that does not depend on the row, the clip moves all scores
    alike, and one released sum moves them back at the end (docs/proofs/objectives.md).
    """

    link: Link = "log"
    rough = True

    @classmethod
    def of(cls, misses: Misses) -> AmountLoss:
        """The loss whose clip leaves 87 % of the residuals as they are.

        Parameters
        ----------
        misses : Misses
            Logs of the ratios of amounts to their predictions.
        """
        ratios = np.exp(np.minimum(misses.middles, 50.0))
        sizes = np.abs(ratios - 1.0)
        order = np.argsort(sizes, kind="stable")
        sums = np.cumsum(misses.shares[order])
        cap = float(np.interp(INSIDE, sums + 1e-12 * np.arange(len(sums)), sizes[order]))
        cap = float(np.clip(cap, _LEAST_CAP, _MOST_CAP))
        gain = max(misses.mean(np.where(sizes <= cap, ratios, 0.0)), _LEAST_GAIN)
        moment = misses.mean(np.minimum(sizes, cap) ** 2)
        return cls(cap, gain, max(moment, cap**2 * 1e-3), cap)

    @staticmethod
    def reach(misses: Misses) -> tuple[float, float]:
        """The clip of the last sum, and what is estimated to lie beyond, as a part of the mean."""
        ratios = np.exp(np.minimum(misses.middles, 50.0))
        beyond = 0.0
        for reach in _REACHES:
            beyond = misses.mean(np.maximum(ratios - 1.0 - reach, 0.0))
            if beyond <= _TAIL * misses.mean(ratios):
                break
        return reach, beyond


class QuantileLoss(LinearLoss):
    """Quantiles: the level where the target is above the score, and the level minus 1 below.

    Its bound is public. Its expected slope is the density of the misses at their own quantile,
    which is where the scores are going.
    """

    rough = True

    @classmethod
    def at(cls, level: float, misses: Misses) -> QuantileLoss:
        """For a level, by released misses."""
        part = max(_WINDOW * min(1.0, 5.0 * level, 5.0 * (1.0 - level)), 12.0 * misses.error)
        low, high = max(level - part, 0.0), min(level + part, 1.0)
        width = max(misses.quantile(high) - misses.quantile(low), _LEAST_WIDTH)
        density = max(high - low, 1e-3) / width
        spread = misses.quantile(0.75) - misses.quantile(0.25)
        return cls(max(level, 1.0 - level), density, level * (1.0 - level), spread)

    @staticmethod
    def shift(level: float, misses: Misses) -> float:
        """What brings the part of the rows below their scores to a level, if it is far from it."""
        far = abs(level - misses.below(0.0)) > _FAR + 2.0 * misses.error_below(0.0)
        return misses.quantile(level) if far else 0.0


def start_of_aim(
    aim: Aim, target: TargetFacts, exposures: ExposureFacts
) -> tuple[TrainingLoss, Floats, float]:
    """First loss, intercept, and the unit of the scores' variance, for other aims than squared."""
    found = target.histogram
    assert found is not None
    if aim.objective == "poisson":
        mean = mean_count(found)
        first = np.array([math.log(mean) - exposures.mean_log])
        # Before anything is explained, counts differ more than Poisson's: the window is wide.
        far = (_stand_ins(found) - mean) / max(1.0, DEVIATIONS * math.sqrt(mean))
        misses = Misses.from_places(far, _clear_counts(found))
        return CountLoss(1.0, exposures).fitted_to(misses, first, 0.0, _WIDEST_START), first, 1.0
    counts = np.maximum(found.counts, 0.0)
    if aim.objective == "gamma":
        edges = np.log(np.maximum(found.edges, 0.25 * max(found.edges[1], 1e-300)))
        misses = Misses.from_counts(edges, counts)
        middle = misses.quantile(0.5)
        center = misses.mean(misses.middles)
        unit = max(misses.mean((misses.middles - center) ** 2), 1e-4)
        around = Misses(edges - middle, misses.shares)
        return AmountLoss.of(around), np.array([middle - exposures.mean_log]), unit
    half = found.edges[-1] / 2 - found.edges[0] / 2
    scaled = (found.edges - (found.edges[0] / 2 + found.edges[-1] / 2)) / half
    misses = Misses.from_counts(scaled, counts)
    start = misses.quantile(aim.quantile)
    around = Misses(scaled - start, misses.shares)
    return QuantileLoss.at(aim.quantile, around), np.array([start]), target.variance


def with_events(aim: Aim, target: TargetFacts) -> TargetFacts:
    """The same facts with the number of events, where few of them are what there is to learn."""
    if aim.objective != "poisson" or target.histogram is None:
        return target
    events = max(target.rows * min(mean_count(target.histogram), 1.0), 1.0)
    return replace(target, events=events)


def mean_count(found: Histogram) -> float:
    """Mean of a count by its released distribution."""
    counts = _clear_counts(found)
    total = float(counts.sum())
    mean = float(counts @ _stand_ins(found)) / total if total > 0 else 0.0
    return max(mean, 1e-4 * float(found.edges[-1]), 1e-6)


def _clear_counts(found: Histogram) -> Floats:
    """Rows of intervals that stand clear of the noise, which would weigh most far from zero."""
    return np.where(found.counts > CLEAR * found.standard_errors, found.counts, 0.0)


def _stand_ins(found: Histogram) -> Floats:
    """A count in each interval: the whole number in it, if there is one; else the middle."""
    wholes = np.ceil(found.edges[:-1])
    narrow = (np.diff(found.edges) <= 1.0) & (wholes <= found.edges[1:])
    return np.where(narrow, wholes, (found.edges[1:] + found.edges[:-1]) / 2)
