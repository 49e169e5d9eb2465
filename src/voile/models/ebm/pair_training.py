"""Pairs of columns while they are trained: grids, smoothing, and what is left at the end.

A pair is a further term of the same mixed-residual rounds, whose bins are the cells of a grid.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from voile.models.ebm.losses import LinearLoss, TrainingLoss
from voile.models.ebm.pair_grid import PairGrid
from voile.models.ebm.smoothing import Smoother, noise_shape
from voile.models.ebm.terms import TermState

Floats = NDArray[np.float64]

_UNIT = 0.3
"""Variance of a pair's scores relative to that of a column's."""

_PURE = 0.7
"""Part of the prior that is of the columns together; the rest may be curves of each."""

_ROWS_PER_CELL, _MOST_PARTS, _FEWEST_PARTS = 50, 12, 3

_SHAPES = [(1e-6, 1.0)] + [
    (length, plain) for length in (0.15, 0.5, 1.5, 10.0) for plain in (0.3, 0.05)
]
"""Candidates for the shape of the noise along ordered sides, as for single columns."""


def unit_of_pairs(loss: TrainingLoss, unit: float) -> float:
    """Typical variance of a pair's scores; ``unit``: of a column's."""
    if isinstance(loss, LinearLoss):
        return _UNIT * loss.second_moment / loss.gain**2
    return _UNIT * unit


def parts_per_side(rows: float) -> int:
    """Parts of a side, by the rows: cells are to hold some."""
    most = math.sqrt(min(_MOST_PARTS**2, rows / _ROWS_PER_CELL))
    return int(np.clip(most, _FEWEST_PARTS, _MOST_PARTS))


def start_pair(
    grid: PairGrid,
    counts: Floats,
    loss: TrainingLoss,
    intercept: Floats,
    base: Floats,
    spread: Floats,
    noise: float,
    unit: float,
) -> TermState:
    """A pair before its first round.

    Parameters
    ----------
    grid : PairGrid
    counts : ndarray of shape (cells,)
        Rows that steps reckon with.
    loss, intercept
        As they are now.
    base : ndarray of shape (cells, outputs)
        What the columns' own curves say.
    spread : ndarray of shape (outputs, 1)
        Variance of the other terms' scores.
    noise : float
        Variance of the noise on one sum if all rounds that are left were one.
    unit : float
        Typical variance of the scores.
    """
    slope = counts * loss.curvature(intercept, base, spread).mean(axis=1)
    scatter = counts * loss.variance(intercept, base, spread).mean(axis=1)
    weights = counts / counts.sum()
    prior = _PURE * np.kron(grid.first.pure_prior, grid.second.pure_prior)
    prior += (1 - _PURE) * np.kron(grid.first.prior, grid.second.prior)
    root = np.linalg.cholesky(prior + 1e-9 * np.eye(len(prior)))
    best, choice = math.inf, (1e-6, 1.0)
    known = 0.25 * unit * root @ root.T
    told = slope[:, None] * known
    ordered = grid.first.ordered or grid.second.ordered
    for shape in _SHAPES if ordered else _SHAPES[:1]:
        covariance = noise * np.kron(*(np.linalg.inv(one) for one in _noise(grid, shape)))
        covariance[np.diag_indices_from(covariance)] += scatter
        # Of each score's prior variance, what the sums leave unexplained.
        lower = cholesky(covariance + told * slope, lower=True, check_finite=False)
        seen = solve_triangular(lower, told, lower=True, check_finite=False)
        error = float(weights @ (np.diagonal(known) - (seen**2).sum(axis=0)))
        if error < best:
            best, choice = error, shape
    sides = _noise(grid, choice)
    roots = [_root(one) for one in sides]
    mixing: Floats = np.asarray(np.kron(*roots))
    mixing /= np.maximum(np.linalg.norm(mixing, axis=0), 1.0)
    smoother = Smoother(
        np.asarray(root), mixing, np.asarray(np.linalg.inv(mixing.T @ mixing)), choice
    )
    zero = np.zeros((len(counts), len(intercept)))
    return TermState(counts, weights, smoother, zero, 0, scale=0.25 * unit)


def _noise(grid: PairGrid, shape: tuple[float, float]) -> tuple[Floats, Floats]:
    """The shape of the noise along both sides; plain along one without an order."""
    one, other = (
        noise_shape(side.parts, *shape) if side.ordered else np.eye(side.parts)
        for side in (grid.first, grid.second)
    )
    return one, other


def _root(shape: Floats) -> Floats:
    values, vectors = np.linalg.eigh(shape)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def curves_in_cells(grid: PairGrid, first: Floats, second: Floats) -> Floats:
    """What the columns' own curves say in each cell, shape (cells, outputs)."""
    one, other = grid.first.gather(first), grid.second.gather(second)
    sums = one[:, None, :] + other[None, :, :]
    return sums.reshape(-1, sums.shape[2])


def margins(grid: PairGrid, counts: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Mean scores of a pair in each bin of its columns, (bins, outputs) each."""
    table = scores.reshape(*grid.shape, -1)
    weights = counts.reshape(grid.shape)
    sums = weights[:, :, None] * table
    one = sums.sum(axis=1) / weights.sum(axis=1)[:, None]
    other = sums.sum(axis=0) / weights.sum(axis=0)[:, None]
    return one[grid.cells.rows], other[grid.cells.columns]


def beyond_curves(grid: PairGrid, counts: Floats) -> Floats:
    """What takes out of scores what sums of two curves can say, by least squares, (cells, cells).

    Cells of parts without rows become 0.
    """
    design, root = _curve_design(grid), _roots(grid, counts)
    fitted = design @ np.linalg.pinv(design * root) * root.T
    return np.asarray((root > 0) * (np.eye(len(counts)) - fitted))


def _roots(grid: PairGrid, counts: Floats) -> Floats:
    """Square roots of the cells' weights, 0 in parts without rows, shape (cells, 1)."""
    known = np.kron(grid.first.known, grid.second.known)
    weights = np.where(known, counts, 0.0)
    return np.asarray(np.sqrt(weights / weights.sum()))[:, None]


def _curve_design(grid: PairGrid) -> Floats:
    height, width = grid.shape
    return np.hstack(
        [
            np.kron(np.eye(height), np.ones((width, 1))),
            np.kron(np.ones((height, 1)), np.eye(width)),
        ]
    )


def purify(
    grid: PairGrid, counts: Floats, scores: Floats
) -> tuple[Floats, tuple[Floats, Floats], Floats]:
    """Take out of a pair what curves of its columns can say.

    Returns
    -------
    scores : ndarray of shape (cells, outputs)
        Whose means over each row and column of the grid are zero, weighted by counts. Where a part
        has no rows, as far as the noise lets us tell, they are 0: the curves say all that is known.
    moved : tuple of two ndarray of shape (parts, outputs)
        What belongs to the curves; each averages to zero.
    level : ndarray of shape (outputs,)
        What belongs to the intercept.
    """
    height, width = grid.shape
    outputs = scores.shape[1]
    design, root = _curve_design(grid), _roots(grid, counts)
    fitted = np.linalg.lstsq(design * root, scores * root, rcond=None)[0]
    left = (root > 0) * (scores - design @ fitted)
    mass = (root**2).reshape(height, width)
    level = np.zeros(outputs)
    moved = []
    for part, share in ((fitted[:height], mass.sum(axis=1)), (fitted[height:], mass.sum(axis=0))):
        mean = share @ part
        moved.append((share > 0)[:, None] * (part - mean))
        level = level + mean
    return left, (moved[0], moved[1]), level


def mean_error(grid: PairGrid, counts: Floats, errors: Floats, axis: int) -> Floats:
    """Error of a mean along one side of a grid, if cells err independently, (parts, outputs)."""
    weights = counts.reshape(grid.shape)
    weights = weights / weights.sum(axis=axis, keepdims=True)
    squares = weights[:, :, None] ** 2 * errors.reshape(*grid.shape, -1) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=axis)))
