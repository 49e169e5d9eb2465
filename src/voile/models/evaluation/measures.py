"""From noised counts to measures with intervals: post-processing alone.

Intervals: counts are redrawn many times around the released ones, by the known variance of the
noise plus the Poisson variance of which rows were there; the spread of a measure over the redrawn
counts is its standard error. The redrawing is public chance with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from voile.models.evaluation.record import Measure, Reliability

Floats = NDArray[np.float64]
_DRAWS = 400
_FEWEST_INTERVALS = 8


@dataclass(frozen=True)
class Counted:
    """Released counts and the standard error of each.

    Attributes
    ----------
    values : ndarray of shape (cells,)
    noise : float
    """

    values: Floats
    noise: float

    def redraw(self, *, sampling: bool) -> Floats:
        """Counts that could as well have come out, shape (draws, cells)."""
        variance = np.full(self.values.shape, self.noise**2)
        if sampling:
            variance = variance + np.maximum(self.values, 0.0)
        chance = np.random.default_rng(0).standard_normal((_DRAWS, len(self.values)))
        return np.asarray(self.values + chance * np.sqrt(variance))


def estimate(
    name: str,
    counted: Counted,
    measure: Callable[[Floats], Floats],
    confidence: float,
    *,
    low: float = 0.0,
    high: float = 1.0,
    unit: str = "",
) -> Measure:
    """A measure of counts, shape (draws, cells) -> (draws,), with its interval.

    ``low`` and ``high`` are the ends of what the measure can be.
    """
    value = float(measure(counted.values[None])[0])
    if not math.isfinite(value):
        return Measure(name, math.nan, low, high, math.nan, unit)
    noise = _spread(measure(counted.redraw(sampling=False))) if counted.noise else 0.0
    total = _spread(measure(counted.redraw(sampling=True)))
    if not math.isfinite(total):
        return Measure(name, math.nan, low, high, math.nan, unit)
    reach = float(-ndtri((1.0 - confidence) / 2.0)) * total
    inside = min(max(value, low), high)
    return Measure(name, inside, max(value - reach, low), min(value + reach, high), noise, unit)


def _spread(values: Floats) -> float:
    """Standard deviation by the middle 68 %: a few wild draws of a ratio must not decide."""
    found = values[np.isfinite(values)]
    if len(found) < 0.9 * len(values):
        return math.nan
    a, b = np.quantile(found, [0.15865, 0.84135])
    return float(b - a) / 2.0


# -- classes --------------------------------------------------------------------------------------


def accuracy(counts: Floats) -> Floats:
    """Share of rows on the diagonal of confusion counts, shape (..., classes, classes)."""
    right = np.trace(counts, axis1=-2, axis2=-1)
    return _ratio(right, counts.sum(axis=(-2, -1)))


def balanced_accuracy(counts: Floats) -> Floats:
    """Mean share of each true class that is found (classes without rows left out)."""
    found = _ratio(np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-2))
    with np.errstate(invalid="ignore"):
        known = np.isfinite(found)
        return np.asarray(np.where(known, found, 0.0).sum(-1) / np.maximum(known.sum(-1), 1))


def rate_of(counts: Floats, *, true: int | None, said: int = 1) -> Floats:
    """Share of the rows of a true class (of all, if None) that are predicted as ``said``."""
    chosen = counts if true is None else counts[..., :, true : true + 1]
    return _ratio(chosen[..., said, :].sum(-1), chosen.sum(axis=(-2, -1)))


def auroc(counts: Floats) -> Floats:
    """Area under the ROC curve of counts of shape (..., intervals, 2), scores increasing.

    Within an interval the order of rows is not known; counting ties as one half would put the curve
    on the chords between its corners. A curve whose slope falls lies above them, by
    (m0 - m1) w^2 / 12 if the slope falls evenly from m0 to m1 over a width w: the slopes at the
    ends are taken as the means of the neighbours'. Counts below 0 stay as they are: cutting them
    off would put rows at the wrong end of the curve, on average.
    """
    negative, positive = counts[..., 0], counts[..., 1]
    # From the highest scores down: false and true positives so far.
    x = _cumulative(negative[..., ::-1])
    y = _cumulative(positive[..., ::-1])
    width, height = np.diff(x, axis=-1), np.diff(y, axis=-1)
    chords = (width * (y[..., 1:] + y[..., :-1]) / 2).sum(-1)
    slope = np.maximum(height, 0.0) / np.maximum(width, 1e-12)
    # At the ends of the curve the slope is taken to change on as it did.
    first, last = 2 * slope[..., :1] - slope[..., 1:2], 2 * slope[..., -1:] - slope[..., -2:-1]
    before = np.concatenate([first, slope[..., :-1]], axis=-1)
    after = np.concatenate([slope[..., 1:], np.maximum(last, 0.0)], axis=-1)
    # Never more than a curve of falling slope can gain, and nothing where noise bends it back.
    most = np.maximum(width * height, 0.0) / 6.0
    gains = np.clip(width**2 * (before - after) / 24.0, 0.0, most).sum(-1)
    return np.asarray(np.where(np.isfinite(chords), np.clip(chords + gains, 0.0, 1.0), np.nan))


def calibration_error(predicted: Floats, noise: float) -> Callable[[Floats], Floats]:
    """Expected calibration error of counts of shape (..., intervals, 2) (no, yes).

    The noise alone would make gaps; its known part of their squares is taken off.
    """
    alone = noise**2 * (predicted**2 + (1.0 - predicted) ** 2)

    def measure(counts: Floats) -> Floats:
        rows = counts.sum(-1)
        gap = (counts[..., 1] - predicted * rows) ** 2
        return _ratio(np.sqrt(np.maximum(gap - alone, 0.0)).sum(-1), rows.sum(-1))

    return measure


def reliability(counted: Counted, predicted: Floats, confidence: float) -> list[Reliability]:
    """What happened in each interval of predicted probabilities, where noise lets it be told."""
    cells = counted.values.reshape(-1, 2)
    found = []
    for i, chance in enumerate(predicted):
        rows = float(cells[i].sum())
        if rows < 4.0 * counted.noise * math.sqrt(2.0) or rows < 1.0:
            continue
        happened = estimate(
            "happened",
            Counted(cells[i], counted.noise),
            lambda counts: _ratio(counts[:, 1], counts.sum(-1)),
            confidence,
        )
        found.append(Reliability(float(chance), happened, rows))
    return found


def mean_chance(cuts: Floats, fine: Floats, fine_counts: Floats) -> Floats:
    """Mean predicted probability between coarse cuts, by the released counts of fine intervals.

    Parameters
    ----------
    cuts : ndarray of shape (coarse - 1,)
        A part of ``fine``.
    fine : ndarray of shape (intervals - 1,)
        Fine cuts of the log-odds, evenly spaced.
    fine_counts : ndarray of shape (intervals,)
    """
    step = float(fine[1] - fine[0])
    middles = np.concatenate([[fine[0] - step / 2], fine + step / 2])
    place = np.searchsorted(cuts, middles, side="right")
    weights = np.maximum(fine_counts, 0.0) + 1e-9
    chances = np.asarray(expit(middles))
    total = np.bincount(place, weights, minlength=len(cuts) + 1)
    mean: Floats = np.bincount(place, weights * chances, minlength=len(cuts) + 1) / total
    return mean


def choose_cuts(fine: Floats, counts: Floats, noise: float, most: int) -> Floats:
    """Few of the fine cuts, so that each interval holds a like part of the rows, clear of noise."""
    rows = np.maximum(counts, 0.0)
    # Where noise alone made a count, there is nothing to cut.
    rows[rows < 2.0 * noise] = 0.0
    whole = float(rows.sum())
    if whole <= 0:
        return fine[[len(fine) // 2]]
    # Many intervals add much noise, few leave much of the order open: both errors about equal.
    least = max(whole / most, min(20.0 * noise, whole / _FEWEST_INTERVALS))
    chosen, held = [], 0.0
    for i, cut in enumerate(fine):
        held += float(rows[i])
        rest = float(rows[i + 1 :].sum())
        if held >= least and rest >= least / 2:
            chosen.append(float(cut))
            held = 0.0
    return np.array(chosen or [float(fine[len(fine) // 2])])


def _cumulative(counts: Floats) -> Floats:
    total = counts.sum(-1, keepdims=True)
    start = np.zeros((*counts.shape[:-1], 1))
    with np.errstate(all="ignore"):
        running = np.cumsum(counts, axis=-1) / total
    return np.concatenate([start, running], axis=-1)


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan))
