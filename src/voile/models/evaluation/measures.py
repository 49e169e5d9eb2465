"""From noised counts to measures of classes: post-processing alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from voile.models.evaluation.intervals import Counted, Share, lost, mean_share, reach_of
from voile.models.evaluation.record import Measure, Reliability

Floats = NDArray[np.float64]
_FEWEST_INTERVALS = 8
_AT_REST = math.sqrt(2.0 / math.pi)
"""Mean size of a standard normal figure."""


def accuracy(pairs: Counted, classes: int, confidence: float) -> Measure:
    """Share of rows whose class is predicted; ``pairs`` by predicted, then true class."""
    right = np.eye(classes, dtype=bool).ravel()
    return Share.of(pairs, right).measure("accuracy", confidence)


def balanced_accuracy(pairs: Counted, classes: int, confidence: float) -> Measure:
    """Mean share of each true class that is found (classes without rows left out)."""
    cells = pairs.values.reshape(classes, classes)
    found = [
        Share.of(Counted(cells[:, k], pairs.noise, pairs.together), np.arange(classes) == k)
        for k in range(classes)
    ]
    return mean_share("balanced accuracy", found, confidence)


def rate_of(name: str, pairs: Counted, true: int | None, confidence: float) -> Measure:
    """Share of the rows of a true class (of all, if None) that are predicted as the second."""
    cells = pairs.values.reshape(2, 2)
    chosen = cells if true is None else cells[:, true : true + 1]
    second = np.repeat([False, True], chosen.shape[1])
    counted = Counted(chosen.ravel(), pairs.noise, pairs.together)
    return Share.of(counted, second).measure(name, confidence)


def auroc(counts: Floats) -> Floats:
    """Area under the ROC curve of counts of shape (..., intervals, 2), scores increasing.

    Within an interval the order of rows is not known; counting ties as one half would put the curve
    on the chords between its corners. A curve whose slope falls lies above them, by
    (m0 - m1) w^2 / 12 if the slope falls evenly from m0 to m1 over a width w: the slopes at the
    ends are taken as the means of the neighbours'. Counts below 0 stay as they are: cutting them
    off would put rows at the wrong end of the curve, on average.
    """
    chords, gains, _ = _areas(counts)
    return np.asarray(np.where(np.isfinite(chords), np.clip(chords + gains, 0.0, 1.0), np.nan))


def auroc_room(counts: Floats) -> tuple[float, float]:
    """By how much the area may lie below and above `auroc` for the order within intervals alone.

    A curve whose slope falls is above its chords, and below the neighbouring ones prolonged.
    """
    _, gains, most = _areas(counts)
    return float(gains), float(np.maximum(most - gains, 0.0))


def _areas(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Area under the chords, what is supposed to be above them, and the most that may be."""
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
    box = np.maximum(width * height, 0.0)
    gains = np.clip(width**2 * (before - after) / 24.0, 0.0, box / 6.0).sum(-1)
    # Nothing bounds the slope beyond the ends.
    steep, flat = before.copy(), after.copy()
    steep[..., 0], flat[..., -1] = np.inf, 0.0
    steep, flat = np.maximum(steep, slope), np.minimum(flat, slope)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(np.isinf(steep), 1.0, (steep - slope) / (steep - flat))
        triangles = width**2 * np.where(np.isfinite(part), part, 0.0) * (slope - flat) / 2.0
    most = np.clip(triangles, 0.0, box / 2.0).sum(-1)
    return np.asarray(chords), np.asarray(gains), np.asarray(most)


def calibration_error(
    cells: Counted, predicted: Floats, doubt: Floats, confidence: float
) -> Measure:
    """Expected calibration error of counts of shape (intervals, 2) (no, yes), flat.

    The mean over the rows of the gap, in each interval, between what was predicted and what
    happened. Noise and chance alone make gaps: their known part of the squares is taken off, and
    the ends allow for it (docs/proofs/evaluation.md).

    Parameters
    ----------
    cells : Counted
        Of 2 x intervals.
    predicted : ndarray of shape (intervals,)
        Mean predicted probability.
    doubt : ndarray of shape (intervals,)
        Standard error of that mean.
    confidence : float
    """
    name, reach = "calibration error", reach_of(confidence)
    counts = cells.values.reshape(-1, 2)
    rows = float(counts.sum())
    wrong = cells.noise * math.sqrt(counts.size)
    if rows <= max(reach * wrong, 0.0):
        return lost(name)
    gaps = counts[:, 1] - predicted * counts.sum(axis=1)
    # What a row adds to the gap, squared, by whether it happened.
    weights = np.stack([predicted**2, (1.0 - predicted) ** 2], axis=1)
    noise = cells.noise**2 * weights.sum(axis=1)
    chance = cells.together * (np.maximum(counts, 0.0) * weights).sum(axis=1)
    squares = noise + chance + (counts.sum(axis=1) * doubt) ** 2
    spreads, size = np.sqrt(squares), float(np.abs(gaps).sum())
    value = float(np.sqrt(np.maximum(gaps**2 - squares, 0.0)).sum())
    spread, most = reach * math.sqrt(squares.sum()), float(spreads.sum())
    low = max(size - _AT_REST * most - spread, 0.0)
    high = most * _folded((max(size, _AT_REST * most) + spread) / most) if most else size
    own = math.sqrt(noise.sum()) / rows
    by_rows = 1.0 + reach * wrong / rows
    return Measure(
        name,
        min(max(value, low), high) / rows,
        max(low / rows / by_rows, 0.0),
        min(high / rows * by_rows, 1.0),
        own,
    )


def _folded(size: float) -> float:
    """The t for which a normal figure of mean t and variance 1 has this mean size; 0 at least."""
    low, high = 0.0, size
    for _ in range(60):
        t = (low + high) / 2.0
        mean = _AT_REST * math.exp(-t * t / 2.0) + t * (1.0 - 2.0 * float(ndtr(-t)))
        low, high = (t, high) if mean < size else (low, t)
    return high


def reliability(counted: Counted, predicted: Floats, confidence: float) -> list[Reliability]:
    """What happened in each interval of predicted probabilities, where noise lets it be told."""
    cells = counted.values.reshape(-1, 2)
    found = []
    for i, chance in enumerate(predicted):
        rows = float(cells[i].sum())
        if rows < 4.0 * counted.noise * math.sqrt(2.0) or rows < 1.0:
            continue
        mine = Counted(cells[i], counted.noise, counted.together)
        happened = Share.of(mine, np.array([False, True])).measure("happened", confidence)
        found.append(Reliability(float(chance), happened, rows))
    return found


def mean_chance(cuts: Floats, fine: Floats, counted: Counted) -> tuple[Floats, Floats]:
    """Mean predicted probability between coarse cuts, by the released counts of fine intervals.

    Parameters
    ----------
    cuts : ndarray of shape (coarse - 1,)
        A part of ``fine``.
    fine : ndarray of shape (intervals - 1,)
        Fine cuts of the log-odds, evenly spaced.
    counted : Counted
        Of the fine intervals.

    Returns
    -------
    mean, doubt : ndarray of shape (coarse,)
        The means, and their standard errors: by the noise of the counts, and by where in its fine
        interval a row lies (as if all lay anywhere in it, together).
    """
    step = float(fine[1] - fine[0])
    middles = np.concatenate([[fine[0] - step / 2], fine + step / 2])
    place = np.searchsorted(cuts, middles, side="right")
    chances = np.asarray(expit(middles))
    inside = np.eye(len(cuts) + 1)[place]

    def mean(counts: Floats) -> Floats:
        weights = np.maximum(counts, 0.0) + 1e-9
        return np.asarray((weights * chances) @ inside / (weights @ inside))

    doubt = mean(counted.redraw(sampling=False)).std(axis=0) if counted.noise else 0.0
    found = mean(counted.values)
    lie = found * (1.0 - found) * step / math.sqrt(12.0)
    few = np.sqrt(np.maximum(np.bincount(place, minlength=len(cuts) + 1), 1))
    return found, np.hypot(doubt, lie / few)


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
