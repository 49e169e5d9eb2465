"""What measures would be without a model, and whether the model is better than that.

Tests of the difference on the same rows, with privacy noise and sampling error; p-values allow for
all measures that stand beside each other (docs/proofs/evaluation.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from voile.models.evaluation.intervals import Counted, Share, two_sided
from voile.models.evaluation.measure import Baseline, Measure
from voile.models.evaluation.scores import Figures, ScoreHistogram
from voile.models.verdict import allow_for_many, judge


@dataclass(frozen=True)
class Rival:
    """A baseline before it is known how many of them there are.

    Attributes
    ----------
    name : str
    value, low, high : float
    better : bool
        Whether the model's estimate is the better one.
    p_value : float
        Of this difference alone.
    """

    name: str
    value: float
    low: float
    high: float
    better: bool
    p_value: float


def with_baselines(pairs: Sequence[tuple[Measure, Rival | None]]) -> tuple[Measure, ...]:
    """Measures with their baselines; p-values allow for all of them (Holm)."""
    rivals = [rival for measure, rival in pairs if rival is not None and not measure.lost]
    adjusted = dict(
        zip(map(id, rivals), allow_for_many([one.p_value for one in rivals]), strict=True)
    )
    found = []
    for measure, rival in pairs:
        if rival is None:
            found.append(measure)
            continue
        p = float(adjusted.get(id(rival), math.nan))
        baseline = Baseline(
            rival.name, rival.value, rival.low, rival.high, rival.better, p, judge(p)
        )
        found.append(replace(measure, baseline=baseline))
    return tuple(found)


def known_value(name: str, value: float, measure: Measure, variance: float) -> Rival:
    """A baseline that is known exactly; more than it is better."""
    difference = measure.value - value
    return Rival(name, value, value, value, difference > 0, two_sided(difference, variance))


def of_same_rows(
    name: str,
    histogram: ScoreHistogram,
    figure: Callable[[Figures], Figures],
    baseline: Callable[[Figures], Figures],
    confidence: float,
    *,
    more_is_better: bool = True,
) -> Rival:
    """A baseline that is a figure of the same counts; both are smooth."""
    told = histogram.measure(name, baseline, confidence)
    if told.lost:
        return Rival(name, told.value, told.low, told.high, False, math.nan)
    difference = float(figure(histogram.counts) - baseline(histogram.counts))
    _, variance = histogram.errors(lambda counts: figure(counts) - baseline(counts))
    better = (difference > 0) == more_is_better
    return Rival(name, told.value, told.low, told.high, better, two_sided(difference, variance))


@dataclass(frozen=True)
class Commonest:
    """Always predicting the commonest class, against a model.

    Attributes
    ----------
    names : tuple of str
        Of the classes.
    shares : tuple of Share
        Of each class.
    won, lost : ndarray of shape (classes,)
        Rows that the model gets right and the constant class not, and the other way round.
    noise : ndarray of shape (classes,)
        Variance of their difference by the privacy noise.
    together : int
    """

    names: tuple[str, ...]
    shares: tuple[Share, ...]
    won: NDArray[np.float64]
    lost: NDArray[np.float64]
    noise: NDArray[np.float64]
    together: int

    @classmethod
    def of_pairs(cls, pairs: Counted, names: tuple[str, ...]) -> Commonest:
        """From rows by predicted and true class."""
        classes = len(names)
        cells = pairs.values.reshape(classes, classes)
        right, true = np.diag(cells), cells.sum(axis=0)
        is_class = np.tile(np.arange(classes), classes)
        shares = tuple(Share.of(pairs, is_class == k) for k in range(classes))
        noise = np.full(classes, 2.0 * (classes - 1) * pairs.noise**2)
        return cls(names, shares, right.sum() - right, true - right, noise, pairs.together)

    def rival(self, measure: Measure, confidence: float) -> Rival:
        """Better than every constant class: the test that is passed least; worse: than one."""
        position = int(np.argmax([share.value for share in self.shares]))
        told = self.shares[position].measure("accuracy", confidence)
        name = f"always '{self.names[position]}'"
        variance = self.noise + self.together * np.maximum(self.won + self.lost, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = (self.won - self.lost) / np.sqrt(variance)
        better, worse = float(ndtr(-far).max()), float(ndtr(far).min()) * len(far)
        p = min(2.0 * min(better, worse), 1.0)
        if told.lost or measure.lost:
            p = math.nan
        return Rival(name, told.value, told.low, told.high, measure.value > told.value, p)
