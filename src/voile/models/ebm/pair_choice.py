"""Which pairs of columns are worth a term: one noised access, and a score for each candidate.

A few contrasts of every candidate's residuals are released together. The score of a pair is the log
Bayes factor of "the columns do something together" against "privacy noise and sampling alone".
Sensitivity: docs/proofs/pairs.md (the contrasts are mixing matrices of coarse grids).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.losses import TrainingLoss
from voile.models.ebm.pair_cells import PairCells
from voile.models.ebm.pair_sides import Side

Floats = NDArray[np.float64]

_LOUDEST, _TOLERABLE = 0.07, 0.05
"""Noise of the contrasts relative to the scarcer rows: above the first nothing is chosen at all;
candidates are as many as keep it below the second."""

_LOUDEST_CURVES = 0.008
"""Noise of a column's sums after all rounds, relative to the scarcer rows: above it the curves
themselves need every access."""

_FEWEST_COLUMNS, _MOST_COLUMNS = 5, 40

_GRIDS = ((0.008, 5, 2), (0.002, 4, 3), (0.0, 6, 5))
"""Noise above which a grid is used; its parts per side, and contrasts per side."""

_FEW_LEVELS = 6

LEFT = 0.05
"""Part of the columns' own errors that may look like a pair where columns are related."""

_SCALES = (0.003, 0.01, 0.03, 0.1, 0.3)
"""Variances of the pair's scores that are tried, relative to the loss's unit."""

ENTRY = 4.0
"""Least score of a pair that is chosen."""

LEAST_EXPLAINED = 0.015
"""Least variance of the scores of a pair that is chosen (log-odds, or logs): with very many rows,
what bins leave of curves looks like pairs of such a size."""

_MOST_EACH = 6
"""Most pairs that one column is in."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A pair that may be chosen: its coarse grid, and the contrasts that are released of it.

    Attributes
    ----------
    cells : PairCells
    sides : tuple of two Side
    contrasts : ndarray of shape (sums, cells)
        Columns of norm 1, or 0 for cells of missing values.
    """

    cells: PairCells
    sides: tuple[Side, Side]
    contrasts: Floats


@dataclass(frozen=True)
class ScoredPair:
    """A candidate's numbers of columns, its score, and the variance that it seems to explain."""

    first: int
    second: int
    score: float
    explained: float


def relative_noise(pairs: int, noise: float, scarce: float) -> float:
    """Noise of one contrast relative to the scarcer rows, if so many pairs are candidates."""
    return math.sqrt(max(pairs, 1)) * noise / max(scarce, 1.0)


def worth_choosing(noise: float, curve_noise: float, scarce: float) -> bool:
    """Whether an access for the choice is likely to bring more than a round.

    Parameters
    ----------
    noise : float
        Of one residual sum in that access, relative to the largest residual.
    curve_noise : float
        Of one residual sum of a column after all rounds, likewise.
    scarce : float
        Rows of a class that is not the largest, on average; all (regression).
    """
    fewest = _FEWEST_COLUMNS * (_FEWEST_COLUMNS - 1) // 2
    quiet = relative_noise(fewest, noise, scarce) <= _LOUDEST
    return quiet and curve_noise <= _LOUDEST_CURVES * scarce


def candidate_columns(
    eligible: Sequence[int], spreads: Floats, noise: float, scarce: float
) -> tuple[list[int], float]:
    """Columns whose pairs are candidates, and the relative noise of their contrasts.

    Those whose own curves matter most, as many as the noise allows.
    """
    order = sorted(eligible, key=lambda k: -float(spreads[k]))
    count = min(_FEWEST_COLUMNS, len(order))
    for more in range(count + 1, min(len(order), _MOST_COLUMNS) + 1):
        if relative_noise(more * (more - 1) // 2, noise, scarce) > _TOLERABLE:
            break
        count = more
    return sorted(order[:count]), relative_noise(count * (count - 1) // 2, noise, scarce)


def grid_of(noise: float) -> tuple[int, int]:
    """Parts and contrasts per side for a relative noise."""
    return next((parts, contrasts) for least, parts, contrasts in _GRIDS if noise >= least)


def make_candidates(sides: dict[int, Side], contrasts: int) -> list[Candidate]:
    """All pairs of some columns, by their coarse sides."""
    basis = {k: _contrasts(side, contrasts) for k, side in sides.items() if side.useful}
    result = []
    for i, j in combinations(sorted(basis), 2):
        one, other = sides[i], sides[j]
        cells = PairCells(i, j, one.groups, other.groups, one.parts, other.parts)
        result.append(Candidate(cells, (one, other), np.asarray(np.kron(basis[i], basis[j]))))
    return result


def _contrasts(side: Side, count: int) -> Floats:
    """Cosines over the ranks of the parts, shape (contrasts, parts), columns of norm 1.

    Ranks follow the order of the parts, which for levels is that of their scores. A few levels
    without an order are each their own contrast: nothing says which of them belong together.
    """
    mass = side.mass[:-1] / max(float(side.mass[:-1].sum()), 1e-9)
    if not side.ordered and len(mass) <= _FEW_LEVELS:
        waves = np.eye(len(mass))
    else:
        ranks = np.cumsum(mass) - mass / 2
        number = np.arange(1, min(count, len(mass) - 1) + 1)[:, None]
        waves = np.cos(np.pi * number * ranks) / np.sqrt(number)
    waves = waves - (waves @ mass)[:, None]
    waves /= np.maximum(np.linalg.norm(waves, axis=0), 1e-9)
    return np.column_stack([waves, np.zeros(len(waves))])


def score_candidates(
    candidates: Sequence[Candidate],
    sums: Sequence[Floats],
    noise: float,
    loss: TrainingLoss,
    intercept: Floats,
    bases: Sequence[Floats],
    spreads: Sequence[Floats],
    errors: Sequence[tuple[float, float]],
    rows: float,
    unit: float,
) -> list[ScoredPair]:
    """The score of each candidate, from its released contrasts.

    Parameters
    ----------
    candidates : sequence of Candidate
    sums : sequence of ndarray of shape (sums, outputs)
        Released contrasts, divided by the gain of the loss.
    noise : float
        Standard deviation of each.
    loss, intercept
        As they were when the sums were taken.
    bases : sequence of ndarray of shape (cells, outputs)
        What the columns' own curves say in each cell.
    spreads : sequence of ndarray of shape (outputs, 1)
        Variance of the other terms' scores over the rows.
    errors : sequence of two floats
        Mean squared errors of the scores of both columns by themselves.
    rows : float
    unit : float
        Typical variance of a pair's scores.
    """
    result = []
    for candidate, told, base, spread, error in zip(
        candidates, sums, bases, spreads, errors, strict=True
    ):
        one, other = candidate.sides
        counts: Floats = np.asarray(rows * np.kron(one.mass, other.mass))[:, None]
        slope = counts * loss.curvature(intercept, base, spread)
        scatter = counts * loss.variance(intercept, base, spread)
        prior: Floats = np.asarray(np.kron(one.pure_prior, other.pure_prior))
        ones = [np.ones((side.parts, side.parts)) for side in candidate.sides]
        left = error[0] * np.kron(one.prior, ones[1]) + error[1] * np.kron(ones[0], other.prior)
        left += LEFT * sum(error) * prior
        gains = np.zeros(len(_SCALES))
        explained = np.zeros(len(_SCALES))
        for o in range(told.shape[1]):
            gain, variance = _weigh(
                candidate.contrasts,
                told[:, o],
                noise,
                slope[:, o],
                scatter[:, o],
                prior,
                counts[:, 0] / rows,
                unit,
                left,
            )
            gains += gain
            explained += variance
        best = int(np.argmax(gains))
        cells = candidate.cells
        result.append(
            ScoredPair(cells.first, cells.second, float(gains[best]), float(explained[best]))
        )
    return result


def _weigh(
    contrasts: Floats,
    told: Floats,
    noise: float,
    slope: Floats,
    scatter: Floats,
    prior: Floats,
    weights: Floats,
    unit: float,
    left: Floats,
) -> tuple[Floats, Floats]:
    """Log Bayes factors and explained variances for each scale of the prior, of one output."""
    null = noise**2 * np.eye(len(told)) + (contrasts * scatter) @ contrasts.T
    told_of = contrasts * slope
    # What is left of the columns' own effects tells in contrasts that do not average to zero.
    null += told_of @ left @ told_of.T
    root = np.linalg.cholesky(null)
    seen = np.linalg.solve(root, told_of)
    pull = np.linalg.solve(root, told)
    values, vectors = np.linalg.eigh(seen @ prior @ seen.T)
    values, pull = np.maximum(values, 0.0), vectors.T @ pull
    back = prior @ seen.T @ vectors
    gains, explained = [], []
    for scale in _SCALES:
        variance = scale * unit * values
        kept = 1.0 / (1.0 + variance)
        gains.append(0.5 * float(pull**2 @ (variance * kept) - np.log1p(variance).sum()))
        scores = scale * unit * back @ (kept * pull)
        explained.append(float(weights @ scores**2))
    return np.array(gains), np.array(explained)


def choose_pairs(scored: Sequence[ScoredPair], most: int, least: float) -> list[ScoredPair]:
    """The pairs that are clear and explain at least so much, those that explain most first."""
    chosen: list[ScoredPair] = []
    for pair in sorted(scored, key=lambda one: -one.explained):
        if len(chosen) == most:
            break
        columns = (pair.first, pair.second)
        busy = [sum(k in (one.first, one.second) for one in chosen) for k in columns]
        if pair.score > ENTRY and pair.explained >= least and max(busy) < _MOST_EACH:
            chosen.append(pair)
    return chosen
