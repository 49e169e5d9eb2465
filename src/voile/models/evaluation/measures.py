"""From noised counts to measures of classes: post-processing alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from voile.models.evaluation.cutting import Predicted
from voile.models.evaluation.intervals import Counted, Share, lost, reach_of
from voile.models.evaluation.measure import Measure
from voile.models.evaluation.record import Reliability
from voile.models.evaluation.scores import CLEAR_OF_NOISE, ScoreHistogram

Floats = NDArray[np.float64]
_AT_REST = math.sqrt(2.0 / math.pi)
"""Mean size of a standard normal figure."""


def recalls(pairs: Counted, classes: int) -> list[Share]:
    """Share of each true class that is predicted so; ``pairs`` by predicted, then true class."""
    cells = pairs.values.reshape(classes, classes)
    return [
        Share.of(Counted(cells[:, k], pairs.noise, pairs.together), np.arange(classes) == k)
        for k in range(classes)
    ]


def rate_of(pairs: Counted, true: int | None) -> Share:
    """Share of the rows of a true class (of all, if None) that are predicted as the second."""
    cells = pairs.values.reshape(2, 2)
    chosen = cells if true is None else cells[:, true : true + 1]
    second = np.repeat([False, True], chosen.shape[1])
    return Share.of(Counted(chosen.ravel(), pairs.noise, pairs.together), second)


def calibration_error(
    histogram: ScoreHistogram, predicted: Predicted, confidence: float
) -> Measure:
    """Expected calibration error.

    The mean over the rows of the gap, in each cell, between what was predicted and what happened.
    Noise and sample alone make gaps: their known part of the squares is taken off, and the ends
    allow for it (docs/proofs/evaluation.md).
    """
    name, reach = "calibration error", reach_of(confidence)
    counts, mean, covariance = histogram.counts, predicted.mean, histogram.covariance
    rows = float(counts.sum())
    wrong = math.sqrt(max(2.0 * float(covariance.sum()), 0.0))
    if rows <= max(max(reach, CLEAR_OF_NOISE) * wrong, 0.5):
        return lost(name)
    gaps = counts[:, 1] - mean * counts.sum(axis=1)
    # What a row adds to the gap, by whether it happened.
    weights = np.stack([-mean, 1.0 - mean], axis=1)
    noised = covariance * (weights @ weights.T)
    noise = np.maximum(np.diag(noised), 0.0)
    sample = histogram.together * (counts * weights**2).sum(axis=1)
    doubt = (counts.sum(axis=1) * predicted.doubt) ** 2
    squares = noise + sample + doubt
    size = float(np.abs(gaps).sum())
    value = float(np.sqrt(np.maximum(gaps**2 - squares, 0.0)).sum())
    # Signs of the gaps are not known: errors of different cells may add up or cancel.
    spread = reach * math.sqrt(float(np.abs(noised).sum() + (sample + doubt).sum()))
    most = float(np.sqrt(squares).sum())
    low = max(size - _AT_REST * most - spread, 0.0)
    high = most * _folded((max(size, _AT_REST * most) + spread) / most) if most else size
    by_rows = 1.0 + reach * wrong / rows
    return Measure(
        name,
        min(max(value, low), high) / rows,
        max(low / rows / by_rows, 0.0),
        min(high / rows * by_rows, 1.0),
        math.sqrt(max(float(noise.sum()), 0.0)) / rows,
    )


def _folded(size: float) -> float:
    """The t for which a normal figure of mean t and variance 1 has this mean size; 0 at least."""
    low, high = 0.0, size
    for _ in range(60):
        t = (low + high) / 2.0
        mean = _AT_REST * math.exp(-t * t / 2.0) + t * (1.0 - 2.0 * float(ndtr(-t)))
        low, high = (t, high) if mean < size else (low, t)
    return high


def reliability(
    of: str, histogram: ScoreHistogram, predicted: Predicted, confidence: float
) -> list[Reliability]:
    """What happened in each cell of predicted probabilities, where the noise lets it be said."""
    found = []
    for i, (no, yes) in enumerate(histogram.counts.tolist()):
        noise = float(histogram.covariance[i, i])
        if yes + no < max(CLEAR_OF_NOISE * math.sqrt(2.0 * noise), 1.0):
            continue
        happened = Share(yes, no, noise, noise, 0.0, histogram.together)
        told = happened.measure("happened", confidence)
        found.append(Reliability(float(predicted.mean[i]), told, yes + no, of))
    return found
