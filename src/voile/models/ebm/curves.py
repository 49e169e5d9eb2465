"""Curves over ordered bins: interpolation, smoothing, and the nearest monotone or convex curve.

Mathematics on arrays alone. All of it is deterministic, so that stored edits give the same scores
again. scikit-learn has isotonic regression and scipy non-negative least squares; neither has a
smoother or a convex regression for weighted, unevenly spaced bins.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from scipy.optimize import nnls
from sklearn.isotonic import isotonic_regression

Floats = NDArray[np.float64]


def weigh(counts: Floats) -> Floats:
    """Weights of bins by their private counts, shape (bins,).

    No bin weighs less than one row: an empty bin may owe its emptiness to the noise, and a weight
    of zero would leave its score undetermined.
    """
    return np.maximum(counts, 1.0)


def interpolation_matrix(centres: Floats, start: int, stop: int) -> Floats:
    """Weights of the two bins around a gap in each score inside it, shape (stop - start, 2).

    Linear in the bins' centres. At an end of the column, the one neighbour there is counts fully.

    Parameters
    ----------
    centres : ndarray of shape (intervals,)
    start, stop : int
        The gap, as a slice of the intervals; not all of them.
    """
    inside = centres[start:stop]
    if start == 0:
        right = np.ones(len(inside))
    elif stop == len(centres):
        right = np.zeros(len(inside))
    else:
        right = (inside - centres[start - 1]) / (centres[stop] - centres[start - 1])
    return np.column_stack([1.0 - right, right])


def smoothing_matrix(centres: Floats, weights: Floats, strength: float) -> Floats:
    """The Whittaker smoother: smoothed scores are this matrix times the scores.

    Minimises ``sum w (smooth - score)^2 + strength * sum (change of slope)^2``, with weights and
    distances between centres divided by their means, so that a strength means the same in every
    column. Straight lines stay as they are (Whittaker 1923; Eilers 2003).

    Parameters
    ----------
    centres, weights : ndarray of shape (bins,)
        Weights are > 0.
    strength : float
        > 0. Infinitely strong would be the weighted straight line.

    Returns
    -------
    ndarray of shape (bins, bins)
    """
    bins = len(centres)
    if bins < 3:
        return np.eye(bins)
    bends = _slope_changes(centres / np.diff(centres).mean())
    spread = (weights.mean() / weights)[:, None] * bends.T
    # By the matrix inversion lemma: stays well conditioned however strong the smoothing is.
    inner = bends @ spread + np.eye(bins - 2) / strength
    bands = np.zeros((3, bins - 2))
    for offset in range(min(3, bins - 2)):
        bands[offset, : bins - 2 - offset] = np.diagonal(inner, -offset)
    return cast(Floats, np.eye(bins) - spread @ solveh_banded(bands, bends, lower=True))


def grid_smoothing_matrix(
    first: Floats, second: Floats, weights: Floats, strength: float
) -> Floats:
    """The same for a grid: bends along both sides are penalised.

    Planes, and what is straight along each side, stay as they are. Along a side with fewer than
    three centres nothing is evened out.

    Parameters
    ----------
    first, second : ndarray of shape (rows,), (columns,)
        Centres, increasing.
    weights : ndarray of shape (rows, columns)
        > 0.
    strength : float
        > 0.

    Returns
    -------
    ndarray of shape (rows * columns, rows * columns)
        Of cells row by row.
    """
    down, across = _bending(first), _bending(second)
    penalty = np.kron(down, np.eye(len(second))) + np.kron(np.eye(len(first)), across)
    root = np.sqrt(weights / weights.mean()).ravel()
    sizes, shapes = np.linalg.eigh(penalty / root[:, None] / root)
    sizes = np.maximum(sizes, 0.0)
    # What has no bend at all: rounding would let a strong smoothing flatten it.
    sizes[: min(len(first), 2) * min(len(second), 2)] = 0.0
    kept = shapes / (1.0 + strength * sizes)
    return np.asarray((kept @ shapes.T) / root[:, None] * root)


def _bending(centres: Floats) -> Floats:
    """The sum of squared changes of slope as a matrix."""
    if len(centres) < 3:
        return np.zeros((len(centres), len(centres)))
    bends = _slope_changes(centres / np.diff(centres).mean())
    return bends.T @ bends


def propagate(matrix: Floats, errors: Floats) -> Floats:
    """Standard deviations of ``matrix @ scores``, if the bins' noise is independent.

    Parameters
    ----------
    matrix : ndarray of shape (new, old)
    errors : ndarray of shape (old, outputs)
        May be infinite.

    Returns
    -------
    ndarray of shape (new, outputs)
    """
    parts = np.zeros((*matrix.shape, errors.shape[1]))
    np.multiply(matrix[:, :, None], errors, out=parts, where=matrix[:, :, None] != 0)
    return cast(Floats, np.sqrt((parts**2).sum(axis=1)))


def nearest_monotone(scores: Floats, weights: Floats, *, increasing: bool) -> Floats:
    """The nearest monotone scores by weighted least squares (pool adjacent violators), (bins,)."""
    nearest = isotonic_regression(scores, sample_weight=weights, increasing=increasing)
    return np.asarray(nearest, dtype=np.float64)


def nearest_convex(centres: Floats, scores: Floats, weights: Floats) -> Floats:
    """The nearest scores on a convex curve, by weighted least squares, shape (bins,).

    A convex curve is a straight line plus bends upwards at inner centres, each with an amount >= 0:
    the problem is non-negative least squares once the line is taken out. Its active-set method ends
    after finitely many steps at the solution itself, not near it as a general solver would, so the
    result is convex, and the nearest, up to rounding.

    Parameters
    ----------
    centres : ndarray of shape (bins,)
        Increasing.
    scores, weights : ndarray of shape (bins,)
        Weights are > 0.
    """
    if len(scores) < 3 or (_slope_changes(centres) @ scores >= 0).all():
        return scores.copy()
    places = (centres - centres[0]) / (centres[-1] - centres[0])
    root = np.sqrt(weights / weights.mean())
    line = np.column_stack([np.ones(len(places)), places])
    bends = np.maximum(places[:, None] - places[1:-1], 0.0)
    basis, triangle = np.linalg.qr(root[:, None] * line)
    target = root * scores
    rest = root[:, None] * bends
    rest = rest - basis @ (basis.T @ rest)
    lengths = np.linalg.norm(rest, axis=0)
    amounts = nnls(rest / lengths, target - basis @ (basis.T @ target), maxiter=50 * len(scores))[0]
    curve = bends @ (amounts / lengths)
    straight = np.linalg.solve(triangle, basis.T @ (target - root * curve))
    return cast(Floats, line @ straight + curve)


def _slope_changes(centres: Floats) -> Floats:
    """Second differences: slope to the right minus slope to the left, shape (bins - 2, bins)."""
    inverse = 1.0 / np.diff(centres)
    inner = len(centres) - 2
    matrix = np.zeros((inner, len(centres)))
    rows = np.arange(inner)
    matrix[rows, rows] = inverse[:-1]
    matrix[rows, rows + 1] = -(inverse[:-1] + inverse[1:])
    matrix[rows, rows + 2] = inverse[1:]
    return matrix
