"""ROC and precision-recall curves from released counts, with a band at every point.

Post-processing alone; what the bands hold: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation.intervals import Share, reach_of
from voile.models.evaluation.measure import Figure
from voile.models.evaluation.thresholds import ScoreCounts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CurvePoint:
    """One point of a curve.

    Attributes
    ----------
    threshold : float
        NaN at the ends of the curve and between two thresholds.
    x, y : float
        ROC: false-positive rate and sensitivity. Precision-recall: recall and precision.
    low, high : float
        Band for the height of the true curve at ``x``.
    """

    threshold: Figure
    x: Figure
    y: Figure
    low: Figure
    high: Figure


@dataclass(frozen=True)
class Curves:
    """Both curves of one positive class against the rest.

    Attributes
    ----------
    positive : str
    roc, precision_recall : tuple of CurvePoint
        From the highest threshold (no alarms) to the lowest.
    """

    positive: str
    roc: tuple[CurvePoint, ...]
    precision_recall: tuple[CurvePoint, ...]

    @classmethod
    def of(cls, counts: ScoreCounts, confidence: float) -> Curves:
        """By released counts."""
        return cls(counts.positive, roc_curve(counts, confidence), recall_curve(counts, confidence))


def roc_curve(counts: ScoreCounts, confidence: float) -> tuple[CurvePoint, ...]:
    """The ROC curve, from the highest threshold (no alarms) to the lowest.

    Straight between its points: the area under it is the AUROC that is told.
    """
    return _curve(
        [(t, one["false-positive rate"], one["sensitivity"]) for t, one in _descending(counts)],
        confidence,
        start=(0.0, 0.0),
        end=(1.0, 1.0),
        together=math.hypot,  # different rows: independent errors
    )


def recall_curve(counts: ScoreCounts, confidence: float) -> tuple[CurvePoint, ...]:
    """The precision-recall curve, from the highest threshold to the lowest."""
    # Without alarms there is no precision.
    shares = [
        (t, one["sensitivity"], one["PPV"]) for t, one in _descending(counts) if one["PPV"].rows > 0
    ]
    rate = counts.prevalence
    return _curve(
        shares,
        confidence,
        start=(0.0, shares[0][2].value if shares else rate.value),
        end=(1.0, rate.value),
        together=lambda a, b: a + b,  # true positives are in both
    )


def _descending(counts: ScoreCounts) -> Iterator[tuple[float, dict[str, Share]]]:
    """Thresholds with the shares at each, from the highest to the lowest."""
    for i in reversed(range(len(counts.thresholds))):
        yield counts.thresholds[i], counts.shares(i)


def _curve(
    shares: Sequence[tuple[float, Share, Share]],
    confidence: float,
    *,
    start: tuple[float, float],
    end: tuple[float, float],
    together: Callable[[float, float], float],
) -> tuple[CurvePoint, ...]:
    """Points with bands.

    The curve at x is uncertain for two reasons: how high its point is, and how far along it lies.
    What the second does to the height is read off the curve itself, moved by the ends of x.
    """
    reach = reach_of(confidence)
    xs = np.array([start[0], *(x.value for _, x, _ in shares), end[0]])
    ys = np.array([start[1], *(y.value for _, _, y in shares), end[1]])

    def height(at: float) -> float:
        return float(np.interp(min(max(at, 0.0), 1.0), xs, ys))

    found = []
    for threshold, x, y in shares:
        (left, right), (low, high) = x.interval(reach), y.interval(reach)
        moved = [height(x.value - (right - x.value)), height(x.value + (x.value - left))]
        below = together(max(y.value - low, 0.0), max(y.value - min(moved), 0.0))
        above = together(max(high - y.value, 0.0), max(max(moved) - y.value, 0.0))
        ends = max(y.value - below, 0.0), min(y.value + above, 1.0)
        found.append(CurvePoint(threshold, x.value, y.value, *ends))
    # Where the curve begins, nothing more is known than at its first point.
    low, high = (found[0].low, found[0].high) if found else (0.0, 1.0)
    begin = CurvePoint(math.nan, *start, min(start[1], low), max(start[1], high))
    return (begin, *found, CurvePoint(math.nan, *end, *end[1:], *end[1:]))
