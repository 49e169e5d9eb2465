"""Kernels that clip gradients of single examples and add them up in whole units.

As `voile.privacy.query_kernels`, for gradients that come in parts (one per parameter of a network)
and in single precision, and with groups of coordinates that have clips and scales of their own.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_LARGEST_UNITS = 2.0**63 - 1024


# Additions in any order have the same bound on their error; the same code runs for every row.
@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _square_sum(values):
    result = 0.0
    for j in range(len(values)):
        value = np.float64(values[j])
        result += value * value
    return result


@njit(cache=True, nogil=True)
def add_squares(part, squares):
    """Add squared lengths of the rows of ``part`` (rows, numbers) to ``squares`` (rows, 1)."""
    for i in range(part.shape[0]):
        squares[i, 0] += _square_sum(part[i])


@njit(cache=True, nogil=True)
def add_group_squares(part, groups, squares):
    """The same by groups of coordinates, ``squares`` (rows, groups); group -1 is left out."""
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            if groups[j] >= 0:
                value = np.float64(part[i, j])
                squares[i, groups[j]] += value * value


@njit(cache=True, nogil=True)
def find_factors(squares, clip, clips, scales, size, factors):
    """What each group of each row is multiplied by, ``factors`` (rows, groups).

    Group g is cut to norm ``clips[g]``, divided by ``scales[g]``; then all groups together are cut
    to norm ``clip``. Rows that are not finite get 0.
    """
    rows, groups = squares.shape
    # Rounding of the sums of squares and of the few products below is given away beforehand.
    spare = 1.0 - (size + 64) * 2.3e-16
    for i in range(rows):
        whole = 0.0
        for g in range(groups):
            norm = math.sqrt(squares[i, g])
            limit = clips[g] * spare
            factor = 1.0 if norm <= limit else limit / norm
            factors[i, g] = factor / scales[g]
            # Not a number times anything stays so.
            whole += (norm * factors[i, g]) * (norm * factors[i, g])
        norm = math.sqrt(whole)
        limit = clip * spare
        if math.isfinite(norm):
            factor = 1.0 if norm <= limit else limit / norm
            for g in range(groups):
                factors[i, g] *= factor
        else:
            for g in range(groups):
                factors[i, g] = 0.0


@njit(cache=True, nogil=True)
def add_units(part, factors, units, total):
    """Add factor times ``part`` of each row, cut to whole units towards zero, to ``total``.

    No product may exceed 2^62 units: see `fits`.
    """
    for i in range(part.shape[0]):
        factor = factors[i, 0] * units
        # A row that counts nothing may hold numbers that no integer has.
        if factor > 0.0:
            for j in range(part.shape[1]):
                total[j] += np.int64(np.float64(part[i, j]) * factor)


@njit(cache=True, nogil=True)
def add_group_units(part, groups, factors, units, total):
    """The same by groups, for units of any size."""
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            if groups[j] >= 0 and factors[i, groups[j]] > 0.0:
                value = np.float64(part[i, j]) * factors[i, groups[j]] * units
                total[j] += np.int64(min(max(value, -_LARGEST_UNITS), _LARGEST_UNITS))


def fits(bound: float, grid: float) -> bool:
    """Whether every number of a row of norm ``bound`` is far below 64 bits in units of ``grid``."""
    return bound / grid < 2.0**62
