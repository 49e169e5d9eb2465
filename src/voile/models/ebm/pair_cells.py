"""Where rows lie in the grids of pairs of columns: parts of the bins of both.

The cells of a row follow from its kept bins, so nothing more is kept per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.ebm.kernels import RowBins
from voile.models.public_numbers import check_wholes
from voile.privacy.wire import sendable

MOST_PARTS = 64
"""Most parts of a side."""

MOST_PAIRS = 2048
"""Most pairs of one access."""

MOST_TERMS = 64
"""Most pairs of a model, whose rows are counted in one access: all cells of a row are held there,
and few bytes must not ask for much memory."""


@sendable
@dataclass(frozen=True, eq=False)
class PairCells:
    """The grid of a pair: each bin of both columns belongs to one part of its side.

    Attributes
    ----------
    first, second : int
        Numbers of the columns, first < second.
    rows, columns : ndarray of int64 of shape (bins,)
        Part of each bin of the first and of the second column.
    height, width : int
        Number of parts of each side; the grid has height x width cells, row by row.
    """

    first: int
    second: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    height: int
    width: int

    def __post_init__(self) -> None:
        for side, parts in (("height", self.height), ("width", self.width)):
            if not 1 <= parts <= MOST_PARTS:
                raise SettingError(
                    f"The {side} of a pair's grid must be from 1 to {MOST_PARTS}. Got {parts!r}."
                )
        # A part of another row would lie in another cell, or in none.
        check_wholes(self.rows, (None,), "parts of the first column", 0, self.height - 1)
        check_wholes(self.columns, (None,), "parts of the second column", 0, self.width - 1)

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.height * self.width


def check_pairs(pairs: Sequence[PairCells], offsets: NDArray[np.int64]) -> None:
    """Refuse grids of other bins than a layout's: kernels would read beyond their end."""
    if len(pairs) > MOST_PAIRS:
        raise SettingError(f"At most {MOST_PAIRS} pairs can be asked for at once.")
    widths = np.diff(offsets)
    for pair in pairs:
        if not 0 <= pair.first < pair.second < len(widths):
            raise SettingError("A pair must name two columns of the layout, in their order.")
        if (len(pair.rows), len(pair.columns)) != (widths[pair.first], widths[pair.second]):
            raise SettingError("Each bin of a pair's columns needs its part.")


def all_offsets(offsets: NDArray[np.int64], pairs: Sequence[PairCells]) -> NDArray[np.int64]:
    """First cell of each term and then of each pair, and the number of all cells."""
    sizes = np.cumsum([pair.size for pair in pairs], dtype=np.int64)
    return np.concatenate([offsets, offsets[-1] + sizes])


@njit(cache=True, nogil=True)
def _place(
    bins: RowBins,
    first: int,
    second: int,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    width: int,
    placed: RowBins,
) -> None:
    for i in range(len(bins)):
        placed[i] = rows[bins[i, first]] * width + columns[bins[i, second]]


def with_pairs(bins: RowBins, pairs: Sequence[PairCells]) -> RowBins:
    """Bins of rows with the cell of each pair as a further column, (rows, terms + pairs)."""
    if not pairs:
        return bins
    terms = bins.shape[1]
    wide = bins.dtype == np.uint16 or max(pair.size for pair in pairs) > 256
    result = np.empty((len(bins), terms + len(pairs)), dtype=np.uint16 if wide else np.uint8)
    result[:, :terms] = bins
    for number, pair in enumerate(pairs):
        placed = result[:, terms + number]
        _place(bins, pair.first, pair.second, pair.rows, pair.columns, pair.width, placed)
    return result
