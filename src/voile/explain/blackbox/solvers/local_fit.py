"""The best linear model in a ball for a released quadratic loss: exact, by eigenvalues.

Minimises 1/2 phi'A phi - b'phi over |phi| <= radius; an intercept, if there is one, is the last
coordinate and free. Everything here is post-processing of released values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]

_LEAST_MASS = 0.02
"""The mass of the rows around a point is at least this part of the steepest curvature."""

EXACT, SINGLE = 1e-9, 3e-6
"""Directions in which A is flatter (relative to its steepest) are left at zero: more where A was
added up in single precision. That levels of a category sum to 1 makes such a direction."""


@dataclass(frozen=True, eq=False)
class LocalFit:
    """A local linear model.

    Attributes
    ----------
    phi : ndarray of shape (features, outputs)
    offset : ndarray of shape (outputs,)
        Score of the local model at the asked point; 0 without an intercept.
    moves : ndarray of shape (outputs, width, width)
        What a change of b is multiplied by to become a change of (phi, offset), the ball's
        multiplier held fixed.
    """

    phi: Floats
    offset: Floats
    moves: Floats

    def unknowns(self, output: int) -> Floats:
        """(phi, offset) of one output, as long as u is wide."""
        if self.moves.shape[1] == len(self.phi):
            return self.phi[:, output]
        return np.append(self.phi[:, output], self.offset[output])


def fit_local(
    matrix: Floats,
    vectors: Floats,
    *,
    radius: float,
    intercept: bool,
    ridge: float = 0.0,
    flat: float = EXACT,
) -> LocalFit:
    """Solve for the local linear model.

    Parameters
    ----------
    matrix : ndarray of shape (width, width)
        A; symmetric, made positive where noise made it negative.
    vectors : ndarray of shape (width, outputs)
        b.
    radius : float
        Largest length of phi.
    intercept : bool
        Whether the last coordinate is an intercept, which the ball does not bound.
    ridge : float
        Added to the diagonal of A (not to the intercept's): about the noise there is on A.
    flat : float
        Relative curvature up to which a direction is left out.
    """
    if not intercept:
        phi, inverse = _in_ball(matrix, vectors, radius, ridge, flat)
        return LocalFit(phi, np.zeros(vectors.shape[1]), inverse)
    # Noise may leave no mass: then nothing is known of the offset, and it stays small.
    least = max(_LEAST_MASS * float(np.abs(np.diag(matrix)).max()), 1e-12)
    cross, mass = matrix[:-1, -1], max(float(matrix[-1, -1]), least)
    reduced = matrix[:-1, :-1] - np.outer(cross, cross) / mass
    moved = vectors[:-1] - np.outer(cross, vectors[-1]) / mass
    phi, inverse = _in_ball(reduced, moved, radius, ridge, flat)
    lever = cross / mass
    moves = np.empty((vectors.shape[1], len(matrix), len(matrix)))
    for k, own in enumerate(inverse):
        pulled = own @ lever
        moves[k, :-1, :-1], moves[k, :-1, -1], moves[k, -1, :-1] = own, -pulled, -pulled
        moves[k, -1, -1] = 1.0 / mass + lever @ pulled
    return LocalFit(phi, (vectors[-1] - cross @ phi) / mass, moves)


def _in_ball(
    matrix: Floats, vectors: Floats, radius: float, ridge: float, flat: float
) -> tuple[Floats, Floats]:
    if not len(matrix):
        return np.zeros_like(vectors), np.zeros((vectors.shape[1], 0, 0))
    values, axes = np.linalg.eigh(matrix)
    steepest = max(float(values[-1]), 1e-300)
    clear = values > max(flat * steepest, 1e-300)
    turned = np.where(clear[:, None], axes.T @ vectors, 0.0)
    curves = np.where(clear, values, steepest) + ridge
    outputs = vectors.shape[1]
    phi = np.empty_like(vectors)
    inverse = np.empty((outputs, len(values), len(values)))
    for k in range(outputs):
        multiplier = _multiplier(curves, turned[:, k], radius)
        phi[:, k] = axes @ (turned[:, k] / (curves + multiplier))
        inverse[k] = (axes * (clear / (curves + multiplier))) @ axes.T
    return phi, inverse


def _multiplier(curves: Floats, turned: Floats, radius: float) -> float:
    """What must be added to the curvatures so that the solution is no longer than the radius."""

    def excess(multiplier: float) -> float:
        return float(np.linalg.norm(turned / (curves + multiplier))) - radius

    if excess(0.0) <= 0.0:
        return 0.0
    high = float(np.linalg.norm(turned)) / radius * (1.0 + 1e-9)
    return float(brentq(excess, 0.0, high, xtol=1e-14 * max(high, 1.0), rtol=1e-12))
