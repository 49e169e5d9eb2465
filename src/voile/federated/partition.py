"""Spreading the rows of one table over pretended clients, evenly or unevenly, for experiments.

Every function returns one array of row numbers per client: int64, ascending, every row exactly
once, no client empty. The same arguments give the same rows; the seed is public randomness and has
nothing to do with private noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.errors import DataError, SettingError

RowNumbers = NDArray[np.int64]


def split_iid(rows: int, clients: int, seed: int) -> list[RowNumbers]:
    """Rows dealt out at random, as evenly as their number allows.

    Parameters
    ----------
    rows : int
        Number of rows, at least ``clients``.
    clients : int
        Number of clients, at least 1.
    seed : int
        Of the public shuffle, at least 0.

    Returns
    -------
    list of ndarray
        Sizes differ by at most one row.
    """
    count = _clients(clients)
    return split_sizes(rows, [1.0] * count, seed)


def split_sizes(rows: int, proportions: Sequence[float], seed: int) -> list[RowNumbers]:
    """Rows dealt out at random in given proportions.

    Parameters
    ----------
    rows : int
        Number of rows, at least the number of clients.
    proportions : sequence of float
        One positive number per client; only their ratios count.
    seed : int
        Of the public shuffle, at least 0.
    """
    shares = _proportions(proportions)
    total = _rows(rows, len(shares))
    sizes = _nobody_empty(_whole(shares, total))
    order = np.random.default_rng(_seed(seed)).permutation(total)
    return [np.sort(part).astype(np.int64) for part in np.split(order, np.cumsum(sizes)[:-1])]


def split_dirichlet(labels: ArrayLike, clients: int, alpha: float, seed: int) -> list[RowNumbers]:
    """Rows dealt out class by class, in proportions drawn from a Dirichlet distribution.

    Parameters
    ----------
    labels : array-like
        The class of each row, shape (rows,).
    clients : int
        Number of clients, from 1 to the number of rows.
    alpha : float
        Concentration: 0.1 gives most clients few classes, 100 is nearly even.
    seed : int
        Of the public draw, at least 0.

    Returns
    -------
    list of ndarray
        A client that would be left without a row is given one of the largest client.

    Notes
    -----
    The usual way to pretend uneven data: Hsu, Qi, Brown (2019), arXiv:1909.06335.
    """
    codes = _codes(labels)
    count = _clients(clients)
    _rows(len(codes), count)
    if not _is_number(alpha) or not math.isfinite(alpha) or alpha <= 0:
        raise SettingError(f"alpha is {alpha!r}: give a finite number above 0, such as 0.3.")
    rng = np.random.default_rng(_seed(seed))
    parts: list[list[RowNumbers]] = [[] for _ in range(count)]
    for code in range(int(codes.max()) + 1):
        members = rng.permutation(np.flatnonzero(codes == code))
        sizes = _whole(rng.dirichlet(np.full(count, float(alpha))), len(members))
        for part, piece in zip(parts, np.split(members, np.cumsum(sizes)[:-1]), strict=True):
            part.append(piece)
    joined = [np.concatenate(part) for part in parts]
    for k in range(count):
        if not len(joined[k]):
            largest = max(range(count), key=lambda one: (len(joined[one]), -one))
            joined[k], joined[largest] = joined[largest][-1:], joined[largest][:-1]
    return [np.sort(part).astype(np.int64) for part in joined]


def _whole(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Whole numbers that add up to the total, by largest remainders."""
    exact = shares / shares.sum() * total
    sizes: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    rest = total - int(sizes.sum())
    # A stable order: of equal remainders the earlier client gets the row.
    sizes[np.argsort(sizes - exact, kind="stable")[:rest]] += 1
    return sizes


def _nobody_empty(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    for k in np.flatnonzero(sizes == 0):
        sizes[np.argmax(sizes)] -= 1
        sizes[k] = 1
    return sizes


def _codes(labels: ArrayLike) -> NDArray[np.int64]:
    values = np.asarray(labels)
    if values.ndim != 1:
        raise DataError(f"The labels have shape {values.shape}: give one label per row.")
    try:
        _, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise DataError(
            "The labels mix kinds that have no order: give all of them as text or as numbers."
        ) from None
    return codes.astype(np.int64)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _clients(clients: int) -> int:
    if not _is_whole(clients) or clients < 1:
        raise SettingError(f"clients is {clients!r}: give a whole number of at least 1.")
    return int(clients)


def _rows(rows: int, clients: int) -> int:
    if not _is_whole(rows) or rows < 1:
        raise SettingError(f"rows is {rows!r}: give a whole number of at least 1.")
    if rows < clients:
        raise SettingError(
            f"{rows} rows cannot be spread over {clients} clients without leaving one empty: "
            f"take at most {rows} clients."
        )
    return int(rows)


def _seed(seed: int) -> int:
    if not _is_whole(seed) or seed < 0:
        raise SettingError(f"seed is {seed!r}: give a whole number of at least 0.")
    return int(seed)


def _proportions(proportions: Sequence[float]) -> NDArray[np.float64]:
    good = all(_is_number(one) and math.isfinite(one) and one > 0 for one in proportions)
    if not len(proportions) or not good:
        raise SettingError("proportions: give one finite number above 0 per client.")
    return np.asarray([float(one) for one in proportions]) / float(max(proportions))
