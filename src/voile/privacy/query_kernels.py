"""Kernels that add bounded shares up in integers.

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


@njit(cache=True, nogil=True)
def _clipped_total(shares, bound, units, signed, total):  # type: ignore[no-untyped-def]
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
    shares: NDArray[np.float64], bound: float, grid: float, *, signed: bool = True
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

    Returns
    -------
    ndarray of shape (size,)
        int64, in units of ``grid``. Rows with NaN or infinite entries add nothing.
    """
    check_bound(bound)
    total = np.zeros(shares.shape[1], dtype=np.int64)
    dense = np.ascontiguousarray(shares, dtype=np.float64)
    return np.asarray(_clipped_total(dense, float(bound), 1.0 / grid, signed, total))
