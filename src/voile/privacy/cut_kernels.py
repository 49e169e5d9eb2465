"""Where numbers lie among cut points: a table says where to look, comparisons alone decide.

numpy's search compares a value with the cuts one after the other, and guesses wrong at every one;
a thousand equal parts of their range leave one comparison in most columns. No library has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.errors import SettingError

_CELLS = 1024
"""Equal parts of the range of the cuts."""

_AT_ONCE = 512
"""Values that are looked up step by step; they and what is known of them stay in the cache."""


@njit(cache=True, nogil=True)
def _cells(values, start, scale, last, cells):
    # Rounding keeps the order: a value in a lower cell than a cut is below the cut.
    for i in range(len(values)):
        part = (values[i] - start) * scale
        part = part if part > 0.0 else 0.0  # of NaN, too
        cells[i] = np.uint64(part if part < last else last)


@njit(cache=True, nogil=True)
def _find(values, cuts, guide, start, scale, step, missing, result):
    last = float(len(guide) - 1)
    one = np.uint64(1)
    spots = np.empty(_AT_ONCE, dtype=np.uint64)
    for first in range(0, len(values), _AT_ONCE):
        own = values[first : first + _AT_ONCE]
        count = len(own)
        _cells(own, start, scale, last, spots)
        for i in range(count):
            spots[i] = guide[spots[i]]
        width = step
        while width > 0:
            for i in range(count):
                at = spots[i]
                spots[i] = at + width if cuts[at + width - one] <= own[i] else at
            width >>= one
        for i in range(count):
            result[first + i] = missing if math.isnan(own[i]) else spots[i]


@dataclass(frozen=True, eq=False)
class CutSearch:
    """Increasing cuts, made ready for many values.

    Attributes
    ----------
    cuts : ndarray of shape (cuts + padding,)
        Behind the last come NaNs, which nothing reaches.
    guide : ndarray of shape (cells,)
        Per cell of the range, how many cuts lie in lower cells.
    start, scale : float
        The cell of a value is its distance from ``start`` times ``scale``.
    step : int
        A power of two; no cell has twice as many cuts.
    """

    cuts: NDArray[np.float64]
    guide: NDArray[np.uint32]
    start: float
    scale: float
    step: int

    @classmethod
    def of(cls, cuts: NDArray[np.float64]) -> Self:
        """Make cuts ready; there may be none, and some may be infinite."""
        start, scale, cells = 0.0, 0.0, 1
        with np.errstate(all="ignore"):
            if len(cuts) > 1 and np.isfinite(_CELLS / (cuts[-1] - cuts[0])):
                start, scale, cells = float(cuts[0]), float(_CELLS / (cuts[-1] - cuts[0])), _CELLS
        found = np.empty(len(cuts), dtype=np.uint64)
        dense = np.ascontiguousarray(cuts, dtype=np.float64)
        _cells(dense, start, scale, float(cells - 1), found)
        counts = np.bincount(found.astype(np.int64), minlength=cells)
        most = max(int(counts.max()), 1)
        step = 1 << (most.bit_length() - 1)
        guide = (np.cumsum(counts) - counts).astype(np.uint32)
        return cls(np.append(dense, np.full(2 * step, np.nan)), guide, start, scale, step)

    def find(
        self, values: NDArray[np.float64], missing: int, result: NDArray[np.integer[Any]]
    ) -> None:
        """Write each value's position among the cuts, or ``missing`` for NaN, into ``result``.

        A value equal to a cut falls to its right. ``result`` of shape (rows,) may be a column of a
        larger array; its type must hold ``missing`` and the number of cuts.
        """
        if len(values) != len(result):
            raise SettingError("Each value needs its place in the result.")
        _find(
            np.ascontiguousarray(values, dtype=np.float64),
            self.cuts,
            self.guide,
            self.start,
            self.scale,
            np.uint64(self.step),
            np.uint64(missing),
            result,
        )


def place(
    values: NDArray[np.float64],
    cuts: NDArray[np.float64],
    missing: int,
    result: NDArray[np.integer[Any]],
) -> None:
    """`CutSearch.find` for values that come once."""
    CutSearch.of(cuts).find(values, missing, result)
