"""Kernels that count rows, and add bounded shares up, in integers.

Floating-point sums depend on their order and may move by more than the sensitivity when one row is
added (Casacuberta et al., "Widespread underestimation of sensitivity in differentially private
libraries", CCS 2022). Here each row's share is clipped, cut to a whole number of grid units towards
zero (which never lengthens it), and added exactly. No library does this, hence own code.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.errors import SettingError

_SMALLEST_BOUND, _LARGEST_BOUND = 1e-140, 1e140
"""Beyond these, squares of shares near the bound underflow or overflow, and no norm is certain."""

_LARGEST_UNITS = 2.0**63 - 1024

Weights = NDArray[np.float32]
"""Weight of each row in [0, 1], shape (rows,)."""

_NO_WEIGHTS: Weights = np.zeros(0, dtype=np.float32)


@njit(cache=True, nogil=True)
def _clipped_total(shares, bound, units, signed, weights, total):
    rows, size = shares.shape
    # The computed norm may be too small by about size ulps; the limit gives that away beforehand.
    limit = bound * (1.0 - (size + 16) * 2.3e-16)
    for i in range(rows):
        square = 0.0
        for j in range(size):
            if signed or not shares[i, j] < 0.0:
                square += shares[i, j] * shares[i, j]
        if not math.isfinite(square):
            continue  # NaN, inf or overflow: the row counts as nothing, whatever the reason
        norm = math.sqrt(square)
        scale = 1.0 if norm <= limit else limit / norm
        if len(weights) > 0:
            scale *= weights[i]
        for j in range(size):
            # One ulp of the product may round up: the limit above covers it.
            value = shares[i, j] * scale * units
            if value < 0.0 and not signed:
                continue
            # Beyond 64 bits a conversion is undefined; the largest double below is nearer to zero.
            total[j] += np.int64(min(max(value, -_LARGEST_UNITS), _LARGEST_UNITS))
    return total


def check_bound(bound: float) -> None:
    """Refuse bounds for which no norm is certain; they are public, so this tells nothing."""
    if not _SMALLEST_BOUND <= bound <= _LARGEST_BOUND:
        raise SettingError(
            f"The bound of a query must be in [{_SMALLEST_BOUND:g}, {_LARGEST_BOUND:g}]. Got "
            f"{bound!r} instead: rescale the shares."
        )


def clipped_total(
    shares: NDArray[np.float64],
    bound: float,
    grid: float,
    *,
    signed: bool = True,
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """Sum of rows, each clipped to L2 norm ``bound``, in whole units of ``grid``.

    Parameters
    ----------
    shares : ndarray of shape (rows, size)
    bound : float
    grid : float
        A power of two.
    signed : bool
        If not, negative entries count as 0.
    weights : ndarray of shape (rows,), optional
        In [0, 1]; multiply the clipped rows.

    Returns
    -------
    ndarray of shape (size,)
        int64, in units of ``grid``. Rows with NaN or infinite entries add nothing.
    """
    check_bound(bound)
    total = np.zeros(shares.shape[1], dtype=np.int64)
    dense = np.ascontiguousarray(shares, dtype=np.float64)
    given = or_none(weights)
    return np.asarray(_clipped_total(dense, float(bound), 1.0 / grid, signed, given, total))


@njit(cache=True, nogil=True)
def _add_cells(cells, units, weights, counts):
    for i in range(len(cells)):
        counts[cells[i]] += np.int64(weights[i] * units)


def weighted_counts(
    cells: NDArray[np.int64], weights: Weights, units: int, counts: NDArray[np.int64]
) -> None:
    """Add each row's weight, cut to whole units (``units`` make a 1), to its cell."""
    # A negative cell, or one beyond the end, would be written outside the array.
    if len(cells) and not 0 <= cells.min() <= cells.max() < len(counts):
        raise SettingError("A row falls into a cell that the query does not have.")
    _add_cells(cells, float(units), weights, counts)


def or_none(weights: Weights | None) -> Weights:
    """Weights for a kernel; none are an empty array."""
    return _NO_WEIGHTS if weights is None else weights


@njit(cache=True, nogil=True, error_model="numpy")
def _leaf_counts(values, lower, half, units, weights, counts):
    leaves = len(counts) - 1
    for i in range(len(values)):
        value = values[i]
        whole = np.int64(units * weights[i]) if len(weights) > 0 else np.int64(units)
        if math.isnan(value):
            counts[leaves] += whole
            continue
        part = (value / 2.0 - lower / 2.0) / half
        # NaN (bounds a few denormals apart) fails the first test and counts as the lowest leaf.
        leaf = np.int64(min(part, 1.0) * leaves) if part > 0.0 else 0
        counts[min(leaf, leaves - 1)] += whole


def leaf_counts(
    values: NDArray[np.float64],
    lower: float,
    upper: float,
    leaves: int,
    units: int,
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """Rows in each of ``leaves`` equal parts of [lower, upper], then rows that are missing (NaN).

    Shape (leaves + 1,). A row of weight 1 counts ``units``.
    """
    counts = np.zeros(leaves + 1, dtype=np.int64)
    # Halves first: the range of two huge bounds would overflow.
    half = upper / 2 - lower / 2
    dense, given = np.ascontiguousarray(values), or_none(weights)
    _leaf_counts(dense, lower, half, float(units), given, counts)
    return counts
