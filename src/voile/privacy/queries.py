"""Queries: what one row may add to a sum, with a bound that is enforced, not guaranteed.

A query is public: it is made from the schema and from values released so far. It maps each row to
a vector ("share") whose L2 norm is at most ``bound``; a mechanism sums the shares inside the vault
and noises the total. Sensitivities: docs/proofs/gaussian-sum.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.cut_kernels import place
from voile.privacy.preparations import Preparation, last_kept
from voile.privacy.query_kernels import clipped_total, weighted_counts
from voile.privacy.sources.block import Block
from voile.privacy.sources.source import TARGET
from voile.privacy.wire import sendable
from voile.schema import Category, Number, Schema
from voile.schema.columns import Column

__all__ = [
    "TARGET",
    "Block",
    "CategoryCounts",
    "CellQuery",
    "ColumnCells",
    "NumberCounts",
    "Preparation",
    "Query",
    "RowCount",
    "Together",
    "last_kept",
]
# Models write queries of their own; what they need of the rows' side comes from here.
_DENSE = 4_000_000
"""Most numbers that a dense block of shares may hold (32 MB)."""

_MOST_CELLS, _MOST_PARTS, _MOST_NESTED = 2**24, 10_000, 4


class Query(ABC):
    """A sum over rows; where rows have weights, each share is multiplied by its row's.

    Subclasses give ``columns`` (which to read), ``size`` (length of the vector), ``bound`` (L2 norm
    of one row's share) and ``shares``. Those that never build shares override ``total`` with a
    kernel; a test compares it with ``shares`` on neighbouring tables.
    """

    if TYPE_CHECKING:
        # Read-only for the type checker, so that subclasses may use fields or properties.
        @property
        def columns(self) -> tuple[str, ...]:
            """Columns to read."""

        @property
        def size(self) -> int:
            """Length of the vector."""

        @property
        def bound(self) -> float:
            """Largest L2 norm of one row's share."""

        @property
        def signed(self) -> bool:
            """Whether shares may be negative; if not, replacing a row moves the sum by less."""

        @property
        def fineness(self) -> int:
            """Extra bits of the grid (0 to 8), for shares that are far below the noise."""

        @property
        def bounded(self) -> bool:
            """Whether what a row adds depends on that row alone; if not, only without noise."""

        @property
        def weighable(self) -> bool:
            """Whether it can be asked of rows with weights."""

    else:
        signed = True
        fineness = 0
        bounded = True
        weighable = True

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether it can be asked of rows under ``schema`` that keep what ``prepared`` made.

        A server may send all three, and none is to be believed of another. By public facts alone:
        kinds of columns, shapes, which preparation came last. The columns were checked before
        (they exist, and have bounds or levels where they need them).
        """
        return True

    @abstractmethod
    def contributions(self, block: Block) -> NDArray[np.float64]:
        """Share of each row, shape (rows, size), before clipping."""

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Sum of the clipped shares, in whole units of ``grid``."""
        step = max(_DENSE // max(self.size, 1), 1)
        if block.rows <= step:
            return self._clipped(block, grid)
        result = np.zeros(self.size, dtype=np.int64)
        for start in range(0, block.rows, step):
            result += self._clipped(block.part(start, start + step), grid)
        return result

    def _clipped(self, block: Block, grid: float) -> NDArray[np.int64]:
        shares = self.contributions(block)
        # A vector that numpy would stretch, or a row counted twice, would exceed the bound.
        if shares.shape != (block.rows, self.size):
            raise SettingError(
                f"The shares of {type(self).__name__} must have shape (rows, {self.size})."
            )
        return clipped_total(shares, self.bound, grid, signed=self.signed, weights=block.weights)

    def sensitivity(self, relation: NeighbouringRelation) -> float:
        """How far neighbouring tables' sums can lie apart in L2.

        Adding or removing a row: ``bound``. Replacing one: twice that, or sqrt(2) times if no share
        has a negative entry, because then |a - b|^2 = |a|^2 + |b|^2 - 2ab <= 2 bound^2.
        """
        if relation is NeighbouringRelation.ADD_REMOVE:
            return self.bound
        return self.bound * (2.0 if self.signed else math.sqrt(2.0))

    def sensitivity_l1(self, relation: NeighbouringRelation) -> float:
        """The same in L1, for Laplace noise: at most sqrt(size) times the L2 bound per row."""
        return (
            self.bound
            * math.sqrt(self.size)
            * (1 if relation is NeighbouringRelation.ADD_REMOVE else 2)
        )

    def sensitivity_max(self, relation: NeighbouringRelation) -> float:
        """The same for the largest single entry, for private selection."""
        return self.bound * (
            2 if relation is NeighbouringRelation.REPLACE_ONE and self.signed else 1
        )


class CellQuery(Query):
    """A histogram: each row falls into one cell of each of ``levels`` partitions.

    Subclasses give ``cells``: one integer array per partition, already offset, all in [0, size).
    """

    levels: int = 1
    signed = False

    @property
    def bound(self) -> float:
        """One row adds 1 in each partition."""
        return math.sqrt(self.levels)

    @abstractmethod
    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Cell of each row in each partition."""

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """One-hot rows, for tests and small blocks."""
        result = np.zeros((block.rows, self.size))
        for cells in self.cells(block):
            result[np.arange(block.rows), cells] += 1.0
        return result

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Counts, in whole units of ``grid``; a count is a whole number, so nothing is lost."""
        counts = np.zeros(self.size, dtype=np.int64)
        partitions = self.cells(block)
        if len(partitions) > self.levels or any(c.shape != (block.rows,) for c in partitions):
            raise SettingError(
                f"The cells of {type(self).__name__} must be {self.levels} arrays of shape (rows,)."
            )
        units = int(1.0 / grid)
        if block.weights is not None:
            for cells in partitions:
                weighted_counts(cells, block.weights, units, counts)
            return counts
        for cells in partitions:
            counts += np.bincount(cells, minlength=self.size)
        return counts * units

    def sensitivity_l1(self, relation: NeighbouringRelation) -> float:
        """One row adds 1 per partition; replacing it moves two cells."""
        return float(self.levels * (1 if relation is NeighbouringRelation.ADD_REMOVE else 2))

    def sensitivity_max(self, relation: NeighbouringRelation) -> float:
        """No single count moves by more than one."""
        return 1.0


@sendable
@dataclass(frozen=True)
class RowCount(CellQuery):
    """How many rows there are."""

    columns: tuple[str, ...] = ()
    size: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 2**20:  # few bytes must not ask for much work
            raise SettingError(f"The number of cells must be in [1, 2**20]. Got {self.size!r}.")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether its columns are there."""
        return all(_column(schema, name) is not None for name in self.columns)

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """All rows fall into the one cell."""
        return [np.zeros(block.rows, dtype=np.int64)]


@dataclass(frozen=True)
class ColumnCells(CellQuery):
    """A histogram of one column."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column read."""
        return (self.column,)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the column is a number."""
        return isinstance(_column(schema, self.column), Number)


@sendable
@dataclass(frozen=True)
class CategoryCounts(ColumnCells):
    """How many rows hold each level of a category, then "other", then missing.

    Parameters
    ----------
    column : str
    listed : int
        Number of levels in the schema.
    """

    listed: int

    def __post_init__(self) -> None:
        if not 0 <= self.listed <= _MOST_CELLS:
            raise SettingError(f"The number of levels must be in [0, 2**24]. Got {self.listed!r}.")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the column is a category of just so many listed levels."""
        column = _column(schema, self.column)
        return isinstance(column, Category) and len(column.levels or ()) == self.listed

    @property
    def size(self) -> int:
        """Levels, other, missing."""
        return self.listed + 2

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """The code of each row."""
        codes = block[self.column]
        if codes.dtype.kind != "i":  # by the schema alone; converting would speak of values
            raise SettingError(f"Column {self.column!r} has no listed levels to count.")
        # Codes of a longer list than was announced end in the last cell, whatever the row.
        return [np.minimum(codes.astype(np.int64), self.size - 1)]


@sendable
@dataclass(frozen=True)
class NumberCounts(ColumnCells):
    """How many rows fall between cut points of a number, then missing.

    Parameters
    ----------
    column : str
    cuts : tuple of float
        Increasing inner cut points; a value equal to a cut falls to its right.
    """

    cuts: tuple[float, ...]

    def __post_init__(self) -> None:
        pairs = zip(self.cuts, self.cuts[1:], strict=False)
        if not all(a < b for a, b in pairs) or any(map(math.isnan, self.cuts)):
            raise SettingError(f"The cuts of column {self.column!r} must increase.")

    @property
    def size(self) -> int:
        """Bins and missing."""
        return len(self.cuts) + 2

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Position of each row among the cuts."""
        values = block[self.column]
        if values.dtype.kind != "f":
            raise SettingError(f"Column {self.column!r} is not a number.")
        cells = np.empty(block.rows, dtype=np.int64)
        place(values, np.asarray(self.cuts, dtype=np.float64), self.size - 1, cells)
        return [cells]


@sendable
@dataclass(frozen=True)
class Together(Query):
    """Several queries asked in one access: their vectors end to end."""

    parts: tuple[Query, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.parts) <= _MOST_PARTS or _nested(self) > _MOST_NESTED:
            raise SettingError(
                f"Together: 1 to {_MOST_PARTS} queries, nested {_MOST_NESTED} times."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns read."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def size(self) -> int:
        """Sum of the sizes."""
        return sum(part.size for part in self.parts)

    @property
    def bound(self) -> float:
        """Norms of the parts add in squares."""
        return math.sqrt(math.fsum(part.bound**2 for part in self.parts))

    @property
    def signed(self) -> bool:
        """Whether any part has negative shares."""
        return any(part.signed for part in self.parts)

    @property
    def bounded(self) -> bool:
        """Whether every part is."""
        return all(part.bounded for part in self.parts)

    @property
    def weighable(self) -> bool:
        """Whether every part is."""
        return all(part.weighable for part in self.parts)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether every part does."""
        return all(part.fits(prepared, schema) for part in self.parts)

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """Shares of the parts side by side."""
        return np.hstack([part.contributions(block) for part in self.parts])

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Each part clips to its own bound."""
        return np.concatenate([part.total(block, grid) for part in self.parts])

    def sensitivity(self, relation: NeighbouringRelation) -> float:
        """Norms of the parts add in squares."""
        return math.sqrt(math.fsum(part.sensitivity(relation) ** 2 for part in self.parts))

    def sensitivity_l1(self, relation: NeighbouringRelation) -> float:
        """Norms of the parts add."""
        return math.fsum(part.sensitivity_l1(relation) for part in self.parts)

    def sensitivity_max(self, relation: NeighbouringRelation) -> float:
        """The largest of the parts."""
        return max(part.sensitivity_max(relation) for part in self.parts)

    def split(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Cut a released vector back into the parts' vectors."""
        ends = np.cumsum([part.size for part in self.parts])
        return np.split(values, ends[:-1])


def _nested(query: Query) -> int:
    return 1 + max(map(_nested, query.parts)) if isinstance(query, Together) else 0


def _column(schema: Schema, name: str) -> Column | None:
    return schema.target if name == TARGET else schema.get(name)
