"""The scatter of points within their classes, and the metric that is made of it.

Both follow from one released matrix of products. Directions in which the rows of a class scatter
most count least (the whitening of linear discriminant analysis); a ridge at the edge of the noise's
own spectrum keeps noise from posing as a direction without scatter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.features import Features

Floats = NDArray[np.float64]

_RIDGE, _FLOOR = 0.5, 1e-4


@dataclass(frozen=True, eq=False)
class Scatter:
    """Scatter of the points within their classes.

    Attributes
    ----------
    values : ndarray of shape (directions,)
        Eigenvalues, at least 0.
    vectors : ndarray of shape (size, directions)
        In columns.
    edge : float
        Largest eigenvalue that noise alone would make.
    """

    values: Floats
    vectors: Floats
    edge: float

    @property
    def inverse(self) -> Floats:
        """Inverse of the scatter and the ridge, in all features: the metric, but for its scale."""
        gains = 1.0 / (self.values + _RIDGE * self.edge + _FLOOR)
        return np.asarray((self.vectors * gains) @ self.vectors.T)

    def draw(self, draws: Floats) -> Floats:
        """Turn standard normal draws of shape (count, size) into ones with this scatter.

        Only along directions that stand clear of the noise.
        """
        deviations = np.sqrt(np.where(self.values > self.edge, self.values, 0.0))
        return np.asarray((draws[:, : len(deviations)] * deviations) @ self.vectors.T)


def within_scatter(
    products: Floats, sums: Floats, counts: Floats, rows: float, error: float, basis: Floats
) -> Scatter:
    """Scatter within classes from released sums.

    Parameters
    ----------
    products : ndarray of shape (size, size)
        Sum of z z' over all rows, symmetric.
    sums : ndarray of shape (classes, size)
    counts : ndarray of shape (classes,)
        Positive.
    rows : float
    error : float
        Standard deviation of the noise on a class sum; on a product it is 2 x that (its weight is
        a half), and off the diagonal less by sqrt 2.
    basis : ndarray of shape (size, directions)
        Orthonormal: the directions to look at (`telling_directions`).
    """
    size = len(products)
    between = (sums.T / counts) @ sums
    # The noise of the sums makes their products too large; its expectation is known.
    scatter = (products - between) / rows + np.eye(size) * (error**2 / counts).sum() / rows
    values, vectors = np.linalg.eigh(basis.T @ scatter @ basis)
    edge = 2.0 * error * np.sqrt(2.0 * size) / rows
    return Scatter(np.maximum(values, 0.0), basis @ vectors, float(edge))


def telling_directions(features: Features) -> Floats:
    """Orthonormal directions that can differ between rows, (features, directions).

    The coordinates of a category's levels add up to 1 for every listed level. A metric would see no
    scatter at all in their sum, weigh it most, and find nothing there but the noise.
    """
    size = len(features)
    columns = [one.column for one in features.each]
    sums = [
        [float(name == own) for name in columns]
        for own in dict.fromkeys(one.column for one in features.each if one.level >= 0)
    ]
    if not sums or len(sums) >= size:
        return np.eye(size)
    known = np.linalg.qr(np.array(sums).T, mode="complete")[0]
    return np.asarray(known[:, len(sums) :])


def learn_metric(scatter: Scatter, means: Floats) -> tuple[Floats, float]:
    """Omega of shape (directions, size), of norm 1, and the mean square length under it."""
    gains = (scatter.values + _RIDGE * scatter.edge + _FLOOR) ** -0.5
    gains = gains / gains.max()
    omega = (scatter.vectors * gains).T
    between = ((means @ omega.T) ** 2).sum(axis=1).mean()
    guess = float((gains**2 * scatter.values).sum() + between)
    return np.asarray(omega), max(guess, 1e-6)
