"""Sums that are exact: whole numbers in doubles, the same in any order and on any threads.

BLAS rounds a row otherwise when there are more or fewer beside it, and one row more must not move
the others. So what rows add is cut to few enough bits that every partial sum of a matrix product is
a whole number that a double holds exactly; the proofs of sensitivity then hold of the code, at the
speed of BLAS.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.privacy.queries import Block, Query

Floats = NDArray[np.float64]

_ROW_BITS, _MATRIX_BITS = 22, 20
_BUFFER = 4096
"""Numbers of a row that are added up at once."""

MOST_COLUMNS = 2**17
"""Most columns of an exact product."""


class WholeQuery(Query):
    """A sum of whole numbers, added up by matrix products of doubles."""

    columns = ()
    fineness = 8
    weighable = False

    def contributions(self, block: Block) -> Floats:
        """One row at a time, for tests and small blocks."""
        unit = 2.0**-40
        rows = [self.total(block.part(i, i + 1), unit) * unit for i in range(block.rows)]
        return np.asarray(rows, dtype=np.float64).reshape(block.rows, self.size)

    @abstractmethod
    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Sum of the shares, in whole units of ``grid``."""


def whole(values: Floats) -> NDArray[np.int64]:
    """Whole numbers below 2^53 as integers."""
    return values.astype(np.int64)


def in_units(sums: NDArray[np.int64], bits: int, grid: float) -> NDArray[np.int64]:
    """Whole numbers of 2^-bits in units of a grid that divides them; nothing if it does not."""
    shift = exponent(grid) - bits
    return sums << shift if 0 <= shift < 64 else np.zeros_like(sums)


def exponent(grid: float) -> int:
    """The e of a grid 2^-e."""
    return 1 - math.frexp(grid)[1]


def squared_norms(rows: Floats) -> Floats:
    """Squared length of each row, shape (rows,), the same for a row in any company.

    numpy's einsum has a buffer of 8,192 numbers: longer rows are added up in another order when
    there is one of them than when there are several.
    """
    result = np.zeros(len(rows))
    for start in range(0, rows.shape[1], _BUFFER):
        part = rows[:, start : start + _BUFFER]
        result += np.einsum("ij,ij->i", part, part)
    return result


def exact_product(rows: Floats, matrix: Floats) -> Floats:
    """``rows @ matrix.T``, the same for a row in any company, order and number of threads.

    Both factors are cut to so few bits that all partial sums are whole numbers below 2^53: rows to
    22 below their largest coordinate, the matrix to 20; fewer from 2,049 columns on.
    """
    columns = rows.shape[1]
    if columns > MOST_COLUMNS:
        raise SettingError(f"A product of rows is for at most {MOST_COLUMNS} features.")
    fewer = max(0, math.ceil(math.log2(max(columns, 1))) - 11)
    of_rows = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1] - (_ROW_BITS - fewer // 2)
    of_matrix = int(np.frexp(np.abs(matrix).max(initial=0.0))[1]) - (
        _MATRIX_BITS - (fewer - fewer // 2)
    )
    cut = np.trunc(np.ldexp(rows, -of_rows[:, None]))
    product = cut @ np.trunc(np.ldexp(matrix, -of_matrix)).T
    return np.asarray(np.ldexp(product, of_rows[:, None] + of_matrix))
