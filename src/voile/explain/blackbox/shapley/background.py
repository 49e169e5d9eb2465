"""Backgrounds: a few released rows that stand for all of them, and the errors of using so few.

Contributions are averages over the background. Rows are taken evenly along the order of their
scores, those with unusual scores more often and with less weight, and weights are calibrated
(Deville & Saerndal 1992) so that the average score is that of the whole population and the averages
of all columns nearly are: what is linear in a row's columns and score has no sampling error then,
and a thousand rows do as well as four thousand.
Everything is post-processing of released values. Proof: docs/proofs/shapley.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
"""Multiples of it fill the unit interval evenly, however many are taken."""

_USUAL = 2.0
"""Standard deviations from the average score up to which rows are taken by their weight alone."""

_WIDER = 1.5
"""How much larger real errors of released rows are than their noise and their draw say.

Where rows lie within bins, and how three or more columns depend on each other, was never released.
Set by how often intervals cover contributions against true rows (benchmarks/blackbox/whiskers.py).
"""

_MOST_FEATURES = 1_024
"""Features of more columns are not calibrated to: it would take longer than it saves."""


@dataclass(frozen=True, eq=False)
class Averages:
    """Weighted averages over a background, and how far they may be off.

    Attributes
    ----------
    values : ndarray of shape (...)
    sampling_errors : ndarray of shape (...)
        Standard error by using few rows (and few orders of columns, where these are sampled).
    standard_errors : ndarray of shape (...)
        With the privacy noise of the summary and the draw of its rows; infinite if unknown.
    """

    values: Floats
    sampling_errors: Floats
    standard_errors: Floats

    def beside(self, errors: Floats) -> Averages:
        """The same with further standard errors by using few rows."""
        return Averages(
            self.values,
            np.hypot(self.sampling_errors, errors),
            np.hypot(self.standard_errors, errors),
        )


@dataclass(frozen=True, eq=False)
class Background:
    """Some rows of a population, weighted to stand for all.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Positions in the population.
    weights : ndarray of shape (n,)
        They sum to 1.
    """

    rows: NDArray[np.int64]
    weights: Floats
    _before: Floats
    _centred: Floats
    _fit: Floats
    _noise: Floats
    _noise_moments: Floats
    _degrees: float
    _population: float

    def __len__(self) -> int:
        return len(self.rows)

    def average(self, parts: Floats) -> Averages:
        """Average what each background row says, shape (n, ...)."""
        flat = parts.reshape(len(self), -1)
        values = self.weights @ flat
        apart = flat - self._before @ flat
        slopes = self._fit @ apart
        rest = apart - self._centred @ slopes
        count = len(self)
        grown = count / max(count - self._degrees, 1.0)
        sampling = grown * (self.weights**2 @ rest**2)
        # The population is a draw itself, which matched its columns' margins likewise.
        drawn = grown * (self._before @ rest**2) / self._population
        if self._noise.shape[1]:
            moved = self._noise_moments.T @ slopes + (self._noise * self.weights[:, None]).T @ rest
            noise = (moved**2).mean(axis=0)
        else:
            noise = np.full(flat.shape[1], math.inf)
        shape = parts.shape[1:]
        return Averages(
            values.reshape(shape),
            np.sqrt(sampling).reshape(shape),
            np.sqrt(sampling + _WIDER**2 * (drawn + noise)).reshape(shape),
        )


class Backgrounds:
    """Backgrounds of one population, of any size; smaller ones are the beginning of larger ones.

    Parameters
    ----------
    points : ndarray of shape (rows, features)
        Rows as points.
    answers : ndarray of shape (rows, outputs)
        What the model says of them, in its own unit.
    weights : ndarray of shape (rows,)
        They sum to 1.
    noise : ndarray of shape (rows, draws)
        By which part weights would differ had the privacy noise been another.
    """

    def __init__(self, points: Floats, answers: Floats, weights: Floats, noise: Floats) -> None:
        self._weights, self._noise = weights, noise
        self._points, self._answers = points, answers
        self.base_values: Floats = weights @ answers
        # What weights are calibrated to: scores, then features that vary, each by its spread.
        self._mean = np.concatenate([self.base_values, weights @ points])
        squares = np.concatenate([weights @ answers**2, weights @ points**2])
        spread = np.sqrt(np.maximum(squares - self._mean**2, 0.0))
        outputs = answers.shape[1]
        varies = spread[outputs:] > 1e-6 * max(float(spread[outputs:].max(initial=0.0)), 1e-300)
        if varies.sum() > _MOST_FEATURES:
            varies[:] = False
        self._kept = np.concatenate([np.ones(outputs, dtype=np.bool_), varies])
        self._scale = np.where(spread > 1e-12, spread, 1.0)
        drawn = noise * weights[:, None]
        moved = np.vstack([answers.T @ drawn, points.T @ drawn])
        moved -= np.outer(self._mean, drawn.sum(axis=0))
        self._moments = (moved / self._scale[:, None])[self._kept]
        self._order = np.argsort(answers[:, int(np.argmax(spread[:outputs]))], kind="stable")
        # A few rows with scores of their own would be met by luck alone.
        apart = np.abs(answers - self.base_values) / self._scale[:outputs]
        self._often = 1.0 + np.maximum(apart.max(axis=1) - _USUAL, 0.0)
        self._ends = np.cumsum((weights * self._often)[self._order])

    @property
    def weights(self) -> Floats:
        """Of the population, shape (rows,)."""
        return self._weights

    @property
    def effective_rows(self) -> float:
        """How many equally weighted rows the population is worth."""
        return 1.0 / float(self._weights @ self._weights)

    @property
    def base_errors(self) -> Floats:
        """Standard error of the average scores by the noise and the draw of the rows."""
        spread = self._weights @ (self._answers - self.base_values) ** 2 / self.effective_rows
        if not self._noise.shape[1]:
            return np.full(len(spread), math.inf)
        moved = (self._noise * self._weights[:, None]).T @ (self._answers - self.base_values)
        return np.asarray(_WIDER * np.sqrt((moved**2).mean(axis=0) + spread))

    def pick(self, count: int) -> NDArray[np.int64]:
        """Positions of the rows of a background, along the order of their scores."""
        places = np.modf((np.arange(count) + 0.5) * _GOLDEN)[0] * self._ends[-1]
        found = np.searchsorted(self._ends, places, side="right")
        return np.asarray(self._order[np.minimum(found, len(self._order) - 1)])

    def take(self, count: int) -> Background:
        """A background of so many rows."""
        rows = self.pick(count)
        both = np.hstack([self._answers[rows], self._points[rows]])
        basis = ((both - self._mean) / self._scale)[:, self._kept]
        before = 1.0 / self._often[rows]
        before /= before.sum()
        mean = before @ basis
        centred = basis - mean
        # The average score is to be exact, those of the features as far as so few rows can tell.
        outputs = self._answers.shape[1]
        ridge = np.full(len(mean), (len(mean) - outputs) / count)
        ridge[:outputs] = 0.0
        square = (centred * before[:, None]).T @ centred
        solve = np.linalg.pinv(square + np.diag(ridge), rcond=1e-10, hermitian=True)
        weights = before * (1.0 - centred @ (solve @ mean))
        return Background(
            rows,
            weights,
            before,
            centred,
            solve @ (centred * before[:, None]).T,
            self._noise[rows],
            self._moments,
            1.0 + float(np.einsum("ij,ji->", solve, square)),
            self.effective_rows,
        )
