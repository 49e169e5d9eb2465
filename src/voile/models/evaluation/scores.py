"""Counts of rows by score and class, as estimated from a release, and what they say of an order.

Areas under curves and their errors; all of it is post-processing (docs/proofs/evaluation.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation.intervals import estimated, lost
from voile.models.evaluation.measure import Measure
from voile.models.evaluation.strategy import Strategy

Floats = NDArray[np.float64]
Figures = NDArray[Any]
"""Real numbers, or complex ones where derivatives are taken."""

CLEAR_OF_NOISE = 3.0
"""A class is measured if its rows stand this many standard errors of the noise clear of 0."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_STEP = 1e-30


@dataclass(frozen=True, eq=False)
class Sides:
    """Covariances of the noise of the rows below and above each cut between cells.

    Attributes
    ----------
    below, above : ndarray of shape (cells - 1,)
        Variances.
    both : ndarray of shape (cells - 1,)
        Covariance of the two.
    """

    below: Floats
    above: Floats
    both: Floats

    @classmethod
    def of(cls, covariance: Floats) -> Sides:
        """From the covariance of the cells, shape (cells, cells)."""
        below = np.cumsum(np.cumsum(covariance, axis=0), axis=1).diagonal()[:-1]
        with_all = np.cumsum(covariance.sum(axis=1))[:-1]
        above = float(covariance.sum()) - 2.0 * with_all + below
        return cls(np.maximum(below, 0.0), np.maximum(above, 0.0), with_all - below)


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """Rows by score and class.

    Attributes
    ----------
    counts : ndarray of shape (cells, 2)
        Estimated rows that are not positive, and that are, from the lowest score to the highest.
    covariance : ndarray of shape (cells, cells)
        Of the noise of each of the two columns.
    together : int
        As of `Counted`.
    """

    counts: Floats
    covariance: Floats
    together: int

    @classmethod
    def of(
        cls, strategy: Strategy, released: Floats, noise: float, together: int
    ) -> ScoreHistogram:
        """From released mixtures: those of rows that are not positive, then of those that are."""
        halves = released.reshape(2, strategy.cells)
        counts = np.stack([strategy.counts(half) for half in halves], axis=1)
        return cls(counts, strategy.covariance * noise**2, together)

    @property
    def totals(self) -> tuple[float, float]:
        """Rows that are not positive, and that are."""
        negative, positive = self.counts.sum(axis=0).tolist()
        return negative, positive

    @property
    def known(self) -> bool:
        """Whether both classes have rows that stand clear of the noise."""
        noise = math.sqrt(max(float(self.covariance.sum()), 0.0))
        return min(self.totals) > max(CLEAR_OF_NOISE * noise, 0.5)

    def errors(self, figure: Callable[[Figures], Figures]) -> tuple[float, float]:
        """Variance of a smooth figure by the noise alone, and with the error of the sample.

        Parameters
        ----------
        figure : callable
            Of counts of shape (..., cells, 2), to shape (...); the same for multiples of them.
        """
        # Exact derivatives: the imaginary part of a step into the imaginary direction.
        cells = len(self.counts)
        steps = np.eye(2 * cells).reshape(-1, cells, 2) * (1j * _STEP)
        slopes = (figure(self.counts + steps).imag / _STEP).reshape(cells, 2)
        noise = sum(float(slope @ self.covariance @ slope) for slope in slopes.T)
        sample = self.together * float((self.counts * slopes**2).sum())
        return max(noise, 0.0), max(noise, 0.0) + sample

    def measure(
        self,
        name: str,
        figure: Callable[[Figures], Figures],
        confidence: float,
        *,
        room: tuple[float, float] = (0.0, 0.0),
    ) -> Measure:
        """A smooth figure in [0, 1] with its interval; lost if a class is."""
        if not self.known:
            return lost(name)
        value = float(figure(self.counts))
        return estimated(name, value, *self.errors(figure), confidence, room=room)

    def merged(self, groups: NDArray[np.int64]) -> ScoreHistogram:
        """Neighbouring cells put together; ``groups`` has the new place of each."""
        inside = np.eye(int(groups.max(initial=0)) + 1)[groups]
        return ScoreHistogram(
            inside.T @ self.counts, inside.T @ self.covariance @ inside, self.together
        )


def auroc(counts: Figures) -> Figures:
    """Area under the ROC curve of counts of shape (..., cells, 2): under its chords.

    The order within a cell was never asked; ties count as one half.
    """
    negative, positive = counts[..., 0], counts[..., 1]
    below = np.cumsum(negative, axis=-1) - negative / 2.0
    return np.asarray((positive * below).sum(-1) / (positive.sum(-1) * negative.sum(-1)))


def auroc_room(counts: Floats) -> float:
    """By how much the area may exceed `auroc` for the order within cells.

    A curve of falling slope is above its chords, and below the neighbouring ones prolonged.
    """
    # From the highest scores down: false and true positives so far.
    width, height = (counts[::-1] / np.maximum(counts.sum(axis=0), 1e-300)).T
    slope = height / np.maximum(width, 1e-12)
    # Nothing bounds the slope beyond the ends.
    steep = np.maximum(np.concatenate([[np.inf], slope[:-1]]), slope)
    flat = np.minimum(np.concatenate([slope[1:], [0.0]]), slope)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(np.isinf(steep), 1.0, (steep - slope) / (steep - flat))
        triangles = width**2 * np.where(np.isfinite(part), part, 0.0) * (slope - flat) / 2.0
    return float(np.clip(triangles, 0.0, width * height / 2.0).sum())


def average_precision(counts: Figures) -> Figures:
    """Area under the precision-recall curve of counts of shape (..., cells, 2).

    Within a cell both classes are taken to lie evenly, as the chords of the ROC curve have it: so
    the mean of the precision over the recall of the cell, by three points of Gauss's.
    """
    above = np.cumsum(counts[..., ::-1, :], axis=-2)[..., ::-1, :]
    part = (1.0 + _NODES)[:, None] / 2.0
    inside = (above - counts)[..., None, :] + part * counts[..., None, :]
    precision = inside[..., 1] / _nonzero(inside.sum(-1))
    mean = (precision * (_WEIGHTS / 2.0)).sum(-1)
    return np.asarray((mean * counts[..., 1]).sum(-1) / counts[..., 1].sum(-1))


def positive_rate(counts: Figures) -> Figures:
    """Share of rows that are positive: the average precision of any order."""
    return np.asarray(counts[..., 1].sum(-1) / counts.sum((-2, -1)))


def brier_score(counts: Figures, predicted: Floats, spread: Floats) -> Figures:
    """Mean square of the predicted probability minus what happened (1 or 0).

    Parameters
    ----------
    counts : ndarray of shape (..., cells, 2)
    predicted, spread : ndarray of shape (cells,)
        Mean and variance of the predicted probabilities in each cell.
    """
    squares = np.stack([predicted**2, (1.0 - predicted) ** 2], axis=1) + spread[:, None]
    return np.asarray((counts * squares).sum((-2, -1)) / counts.sum((-2, -1)))


def class_rate_brier(counts: Figures) -> Figures:
    """The Brier score of predicting the rate of the positive class for every row."""
    rate = positive_rate(counts)
    return rate * (1.0 - rate)


def _nonzero(values: Figures) -> Figures:
    return np.where(values == 0, 1e-300, values)
