"""What a summary asks of the rows: counts of cells, and of pairs of bins of all columns.

Proof: docs/proofs/explainer.md. Counts are whole numbers, added up by products of single-precision
numbers below 2^24, so they are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.synthetic.cells import CELLS
from voile.models.exact_sums import WholeQuery, exponent, in_units
from voile.privacy.queries import Block, CellQuery

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_CENTRE_BITS = 15
"""Shares of pairs are products of multiples of 2^-15."""

_CHUNK = 4_000_000
"""Entries of a one-hot table that are worked on at once."""


Maps = tuple[NDArray[np.int64], ...]
"""Bin of each cell, one array per column."""


def bins_of(maps: Maps) -> tuple[int, ...]:
    """Bins of each column."""
    return tuple(int(one.max()) + 1 for one in maps)


@dataclass(frozen=True, eq=False)
class BinCounts(CellQuery):
    """How many rows are in each bin of each column: one histogram after the other.

    Parameters
    ----------
    maps : tuple of ndarray of shape (cells,)
        Bin of each cell, one array per column; a cell may be a bin of its own.
    """

    maps: Maps

    columns = ()

    @property
    def levels(self) -> int:  # type: ignore[override]
        """Every row is in one bin of each column."""
        return len(self.maps)

    @property
    def size(self) -> int:
        """All bins."""
        return sum(bins_of(self.maps))

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Bin of each row in each column, numbered through."""
        codes = _kept(block, len(self.maps))
        starts = np.concatenate([[0], np.cumsum(bins_of(self.maps))[:-1]])
        return [
            start + one[np.minimum(codes[:, j], len(one) - 1)]
            for j, (start, one) in enumerate(zip(starts, self.maps, strict=True))
        ]


@dataclass(frozen=True, eq=False)
class PairProducts(WholeQuery):
    """Counts of all pairs of bins of different columns, each column centred.

    A row in bin a of a column with k bins is the vector e_a - 1/k of squared length 1 - 1/k; it
    adds the outer products of these vectors for all pairs of columns. Centred, because counts of
    single bins are known already: the same pair tables at less noise.

    Parameters
    ----------
    maps : tuple of ndarray of shape (cells,)
        Bin of each cell, one array per column.
    chosen : tuple of (int, int), optional
        Pairs of columns, the smaller number first; all pairs by default.
    """

    maps: Maps
    chosen: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        for one in self.maps:
            if one.ndim != 1 or not len(one) or one.min() < 0:
                raise SettingError("Every cell needs a bin.")

    @property
    def bins(self) -> tuple[int, ...]:
        """Bins of each column."""
        return bins_of(self.maps)

    @cached_property
    def _wanted(self) -> NDArray[np.bool_]:
        """Which pairs of columns are counted, shape (columns, columns), upper half."""
        count = len(self.maps)
        if self.chosen is None:
            return np.triu(np.ones((count, count), dtype=np.bool_), 1)
        wanted = np.zeros((count, count), dtype=np.bool_)
        for i, j in self.chosen:
            wanted[min(i, j), max(i, j)] = i != j
        return wanted

    @property
    def size(self) -> int:
        """A table of bins for every pair of columns."""
        return int(self._apart.sum())

    @property
    def bound(self) -> float:
        """Squared norms of the pairs of columns add up."""
        shares = 1.0 - 1.0 / np.array(self.bins)
        square = np.outer(shares, shares)[self._wanted].sum()
        # One column alone, or columns of one bin, have nothing to tell; a bound must be positive.
        return max(math.sqrt(max(float(square), 0.0)), 1e-3)

    def total(self, block: Block, grid: float) -> Whole:
        """Exact: each row's vector is cut towards zero to whole numbers of 2^-bits."""
        bits = min(_CENTRE_BITS, exponent(grid) // 2)
        if bits < 1:
            return np.zeros(self.size, dtype=np.int64)
        tables = np.zeros((sum(self.bins), sum(self.bins)), dtype=np.int64)
        for rows in self._one_hot(block):
            tables += (rows.T @ rows).astype(np.int64)
        return in_units(self._centred(tables, float(2**bits)), 2 * bits, grid)

    def _one_hot(self, block: Block) -> Iterator[NDArray[np.float32]]:
        codes = _kept(block, len(self.maps))
        width = sum(self.bins)
        step = min(max(_CHUNK // max(width, 1), 1), 2**20)
        for start in range(0, block.rows, step):
            some = codes[start : start + step]
            rows = np.zeros((len(some), width), dtype=np.float32)
            places, offset = np.arange(len(some)), 0
            for j, (one, count) in enumerate(zip(self.maps, self.bins, strict=True)):
                rows[places, offset + one[np.minimum(some[:, j], len(one) - 1)]] = 1.0
                offset += count
            yield rows

    def _centred(self, tables: Whole, unit: float) -> Whole:
        """Sums of products of centred vectors, from counts: those of different columns."""
        counts = np.repeat(np.array(self.bins), self.bins)
        own = np.trunc((1.0 - 1.0 / counts) * unit).astype(np.int64)
        other = np.trunc(-unit / counts * (counts > 1)).astype(np.int64)
        singles = np.diag(tables)
        rows = int(singles[: self.bins[0]].sum())
        first, second = singles[:, None], singles[None]
        sums: Whole = (
            np.outer(own, own) * tables
            + np.outer(own, other) * (first - tables)
            + np.outer(other, own) * (second - tables)
            + np.outer(other, other) * (rows - first - second + tables)
        )
        return sums[self._apart]

    @cached_property
    def _apart(self) -> NDArray[np.bool_]:
        """Which pairs of bins are counted: those of two different columns, each pair once."""
        column = np.repeat(np.arange(len(self.bins)), self.bins)
        return self._wanted[column[:, None], column[None]]

    def split(self, values: Floats) -> Floats:
        """A released vector as a symmetric table (bins, bins), 0 within a column."""
        width = sum(self.bins)
        result = np.zeros((width, width))
        result[self._apart] = values
        return result + result.T


@dataclass(frozen=True, eq=False)
class SignProducts(WholeQuery):
    """On which of two sides rows are in each column, multiplied for all pairs of columns.

    A row is a vector of -1 and 1 and adds the products of its entries.

    Parameters
    ----------
    halves : tuple of ndarray of shape (cells,)
        Side (0 or 1) of each cell, one array per column.
    """

    halves: Maps

    @property
    def size(self) -> int:
        """Pairs of columns."""
        return len(self.halves) * (len(self.halves) - 1) // 2

    @property
    def bound(self) -> float:
        """Every product is -1 or 1."""
        return math.sqrt(max(self.size, 1))

    def total(self, block: Block, grid: float) -> Whole:
        """Exact: sums of -1 and 1."""
        codes, count = _kept(block, len(self.halves)), len(self.halves)
        sums = np.zeros((count, count), dtype=np.int64)
        step = min(max(_CHUNK // max(count, 1), 1), 2**20)
        for start in range(0, block.rows, step):
            some = codes[start : start + step]
            rows = np.empty(some.shape, dtype=np.float32)
            for j, own in enumerate(self.halves):
                side = np.clip(own[np.minimum(some[:, j], len(own) - 1)], 0, 1)
                rows[:, j] = 2.0 * side - 1.0
            sums += (rows.T @ rows).astype(np.int64)
        return in_units(sums[np.triu_indices(count, 1)], 0, grid)

    def split(self, values: Floats) -> Floats:
        """A released vector as a symmetric table (columns, columns), 0 on the diagonal."""
        count = len(self.halves)
        result = np.zeros((count, count))
        result[np.triu_indices(count, 1)] = values
        return result + result.T


def _kept(block: Block, width: int) -> NDArray[np.uint16]:
    if block.weights is not None:
        raise SettingError("Explanations use tables without weights: leave them out.")
    codes: NDArray[np.uint16] = block.kept[CELLS]
    if codes.shape != (block.rows, width):
        raise SettingError("Cells must be kept for every row beforehand.")
    return codes
