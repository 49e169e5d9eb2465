"""Prototypes without privacy, as published: what the attacks are shown on.

For made-up rows only. `voile.GLVQClassifier(epsilon=inf)` is no stand-in: its cost is another one
(more accurate, and steeper), and it draws rows into the ball that its private fits need. sklvq and
sklearn-lvq do not run with scikit-learn 1.9, and prototorch needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from voile.errors import SettingError

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_ITERATIONS = 500


def class_means(X: Floats, y: Whole) -> tuple[Floats, Whole]:
    """The mean of each class: where LVQ1 comes to rest if the classes lie apart.

    Parameters
    ----------
    X : array of shape (rows, features)
    y : array of shape (rows,)

    Returns
    -------
    prototypes : ndarray of shape (classes, features)
        In the units of X.
    labels : ndarray of shape (classes,)

    Examples
    --------
    >>> class_means(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]))[0].tolist()
    [[1.0], [5.0]]
    """
    labels = np.unique(y)
    return np.array([X[y == one].mean(axis=0) for one in labels]), labels


def glvq(
    X: Floats, y: Whole, prototypes_per_class: Mapping[int, int] | None = None
) -> tuple[Floats, Whole]:
    """Generalised LVQ: the least sum of (d+ - d-) / (d+ + d-), by L-BFGS from the class means.

    d+ and d- are the squared distances of a row to the nearest prototype of its class and to the
    nearest other one (Sato and Yamada, 1996).

    Parameters
    ----------
    X : array of shape (rows, features)
    y : array of shape (rows,)
        At least two classes.
    prototypes_per_class : mapping of class to int, optional
        One for each class that is not named. Several start along the direction in which their
        class is widest.

    Returns
    -------
    prototypes : ndarray of shape (prototypes, features)
        In the units of X.
    labels : ndarray of shape (prototypes,)
    """
    from scipy.optimize import minimize

    asked = prototypes_per_class or {}
    start, labels = _start(X, y, asked)
    if len(np.unique(labels)) < 2:
        raise SettingError("GLVQ tells classes apart: give rows of at least two.")
    own = labels[None, :] == y[:, None]
    rows = np.arange(len(X))

    def cost(flat: Floats) -> tuple[float, Floats]:
        gaps = X[:, None, :] - flat.reshape(start.shape)
        far = (gaps**2).sum(axis=2)
        plus = np.where(own, far, np.inf).argmin(axis=1)
        minus = np.where(own, np.inf, far).argmin(axis=1)
        near, other = far[rows, plus], far[rows, minus]
        total = near + other
        slopes = np.zeros_like(far)
        slopes[rows, plus] = 2.0 * other / total**2
        slopes[rows, minus] = -2.0 * near / total**2
        gradient = -2.0 * np.einsum("ij,ijk->jk", slopes, gaps)
        return float(((near - other) / total).sum()), gradient.ravel()

    # Fine enough not to stop on the saddle between two equal clusters.
    limits = {"maxiter": _ITERATIONS, "ftol": 1e-14, "gtol": 1e-9}
    # The optimiser's matrices are tiny: threads would wait for each other most of the time.
    with _thread_pools().limit(limits=1, user_api="blas"):
        found = minimize(cost, start.ravel(), jac=True, method="L-BFGS-B", options=limits)
    return np.asarray(found.x.reshape(start.shape)), labels


@cache
def _thread_pools() -> ThreadpoolController:
    """Looking for them takes longer than a fit."""
    return ThreadpoolController()


def _start(X: Floats, y: Whole, asked: Mapping[int, int]) -> tuple[Floats, Whole]:
    """Class means; several of a class evenly along its widest direction, one deviation each way."""
    places: list[Floats] = []
    labels: list[int] = []
    for label in np.unique(y).tolist():
        count = asked.get(label, 1)
        if count < 1:
            raise SettingError(f"Class {label} needs one prototype or more, not {count}.")
        part = X[y == label]
        mean = part.mean(axis=0)
        _, sizes, directions = np.linalg.svd(part - mean, full_matrices=False)
        reach = directions[0] * sizes[0] / np.sqrt(len(part))
        steps = np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1)
        places.append(mean + steps[:, None] * reach)
        labels += [label] * count
    return np.vstack(places), np.array(labels)
