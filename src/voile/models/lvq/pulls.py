"""How rows pull prototypes: distances, the margin loss and its gradient, row by row."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.models.lvq.space import ONE

Floats = NDArray[np.float64]
Rule = Literal["lvq1", "glvq"]


def short_pulls(
    far: Floats,
    labels: NDArray[np.int64],
    classes: NDArray[np.int64],
    rule: Rule,
    slope: float,
    clip: float,
    weight: float = 1.0,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Pulls of each row on two prototypes, cut so that the gradient has at most the norm ``clip``.

    Parameters and the first four results are those of `margin_pulls`; rows without a class pull
    nothing. "lvq1": the nearest prototype of all is drawn to the row or pushed away.
    """
    rows = np.arange(len(far))
    plus, minus, a, b, used = margin_pulls(far, labels, classes, slope)
    near, other = far[rows, plus], far[rows, minus]
    if rule == "lvq1":
        won = near <= other
        a, b = np.where(won, 1.0, 0.0), np.where(won, 0.0, -1.0)
    a, b = weight * a, weight * b
    norm = np.sqrt(a**2 * near + b**2 * other)
    # The margin is far above the rounding of the norm; in queries the distances are exact.
    scale = np.minimum(1.0, clip * (1.0 - 1e-12) / np.maximum(norm, 1e-300))
    scale = np.where(used, scale, 0.0)
    return plus, minus, a * scale, b * scale


def margin_pulls(
    far: Floats, labels: NDArray[np.int64], classes: NDArray[np.int64], slope: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats, NDArray[np.bool_]]:
    """Nearest right and wrong prototype of each row, and how the softplus loss pulls them.

    Parameters
    ----------
    far : ndarray of shape (rows, prototypes)
        Squared distances d.
    labels, classes : ndarray of shape (prototypes,) and (rows,)
    slope : float

    Returns
    -------
    plus, minus : ndarray of shape (rows,)
        Numbers of the prototypes.
    a, b : ndarray of shape (rows,)
        Twice the derivative of softplus(slope (d+ - d-) / (d+ + d-)) by d+ and by d-.
    used : ndarray of shape (rows,)
        Whether the row has a class with a prototype, and there is another one.
    """
    rows = np.arange(len(far))
    own = labels[None] == classes[:, None]
    right, wrong = np.where(own, far, np.inf), np.where(own, np.inf, far)
    plus, minus = right.argmin(axis=1), wrong.argmin(axis=1)
    near, other = right[rows, plus], wrong[rows, minus]
    used = (classes >= 0) & np.isfinite(near) & np.isfinite(other)
    near, other = np.where(used, near, 1.0), np.where(used, other, 1.0)
    total = np.maximum(near + other, 1e-9)
    margin = np.clip(slope * (near - other) / total, -60.0, 60.0)
    push = slope / (1.0 + np.exp(-margin)) * 4.0 / total**2
    return plus, minus, push * other, -push * near, used


def distances(points: Floats, squares: Floats, prototypes: Floats) -> Floats:
    """Squared distances of whole points to whole prototypes, as numbers; exact but for the scale.

    Shape (rows, prototypes). All partial sums are whole numbers below 2^53.
    """
    own = np.einsum("ij,ij->i", prototypes, prototypes)
    far = squares[:, None] - 2.0 * (points @ prototypes.T) + own
    return np.asarray(far / float(ONE) ** 2)
