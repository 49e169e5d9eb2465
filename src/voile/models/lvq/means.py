"""Private class means: where every mechanism but one begins."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.lvq.queries import COUNT_WEIGHT, ClassSums
from voile.models.lvq.settings import MEANS_ACCESS, Start
from voile.models.target_look import stop_if_fewer
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable
from voile.schema import Category

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """What one access says of the classes.

    Attributes
    ----------
    means : ndarray of shape (classes, size)
        Drawn to the centre as far as their noise says.
    errors : ndarray of shape (classes,)
        Standard deviation of the noise on a coordinate of a mean, before that.
    counts : ndarray of shape (classes,)
        Rows, never below a tenth of an equal share.
    count_error : float
    sums : ndarray of shape (classes, size)
    products : ndarray of shape (size, size), or None
        Sum of z z' over all rows, if it was asked for.
    sum_error : float
        Standard deviation of the noise on a sum.
    """

    means: Floats
    errors: Floats
    counts: Floats
    count_error: float
    sums: Floats
    products: Floats | None
    sum_error: float


def release_means(
    table: PrivateTable, grant: Grant, start: Start, *, scatter: bool = False
) -> ClassMeans:
    """Release class sums and counts, and if asked the products of coordinates, with one access.

    Raises
    ------
    NothingFound
        If the rows have other classes than are listed.
    """
    space, rows, error_of_rows = start.space, start.rows, start.rows_error
    query = ClassSums(space, scatter)
    release = gaussian_sum(table, query, grant.take(MEANS_ACCESS))
    sums, counts, products = query.split(release.values)
    error = release.standard_error
    target, each = space.schema.target, error / COUNT_WEIGHT
    assert isinstance(target, Category)
    stop_if_fewer(target.levels or (), counts, rows, each, error_of_rows)
    counts = np.maximum(counts, 0.1 * rows / space.class_count)
    errors = error / counts
    means = drawn_in(sums / counts[:, None], np.zeros(space.size), errors)
    return ClassMeans(means, errors, counts, error / COUNT_WEIGHT, sums, products, error)


def drawn_in(found: Floats, towards: Floats, errors: Floats) -> Floats:
    """Noised vectors drawn towards known ones as far as their noise says (James and Stein 1961).

    Parameters
    ----------
    found, towards : ndarray of shape (vectors, size)
    errors : ndarray of shape (vectors,)
        Standard deviation of the noise on each coordinate.
    """
    gap = found - towards
    squares = np.maximum((gap**2).sum(axis=1), 1e-12)
    left = np.maximum(0.0, 1.0 - found.shape[1] * errors**2 / squares)
    return np.asarray(towards + gap * left[:, None])


def in_ball(points: Floats) -> Floats:
    """Points drawn into the unit ball, where all rows are."""
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.maximum(norms, 1.0))


def spread_out(points: Floats, labels: NDArray[np.int64], random_state: int | None) -> Floats:
    """Prototypes that share a start moved apart by public randomness; a lone one stays."""
    alone = np.bincount(labels)[labels] == 1
    draws = np.random.default_rng(random_state).standard_normal(points.shape)
    moved = points + 0.1 * draws / math.sqrt(points.shape[1])
    return in_ball(np.where(alone[:, None], points, moved))
