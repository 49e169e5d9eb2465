"""Fine cells of columns: what a summary counts, and what synthetic rows are drawn from.

Cells are made of what the schema says alone: bounds, levels, whole numbers. Those of a number are
equally wide, and ever narrower towards 0 (or the bound nearest to it): bounds of amounts and counts
are often a thousand times as wide as where most rows are. Both bounds are cells of their own,
because many rows often lie there (zeros; whatever was clamped). The last cell of every column is
for missing values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import SchemaError
from voile.privacy.queries import Block
from voile.schema import Category, Number, Schema
from voile.schema.scale import DAY

Floats = NDArray[np.float64]
Codes = NDArray[np.uint16]

CELLS = "summary cells"
"""What is kept per row inside the vault: its cell in every column."""

_FINE = 128
"""Equally wide cells of a number."""

_HALVINGS = range(8, 25)
"""How often a number's range is halved for the ends of the cells next to 0."""

_MOST_LEVELS = 60_000
"""Most levels of a category: cells are kept in two bytes."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column.

    Attributes
    ----------
    name : str
    lower, upper : ndarray of shape (cells - 1,)
        Smallest and largest value of each cell of a number; empty for a category.
    step : float
        How far neighbouring values are apart (by the schema): 1 for whole numbers, the seconds of a
        day for days; 0 where there is always one between.
    levels : int
        Levels of a category, -1 for a number; "other" is a cell, too.
    """

    name: str
    lower: Floats
    upper: Floats
    step: float
    levels: int = -1

    @property
    def count(self) -> int:
        """Cells with the one for missing values, which is the last."""
        return len(self.lower) + 1 if self.levels < 0 else self.levels + 2

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return self.levels < 0

    def code(self, values: NDArray[Any]) -> Codes:
        """The cell of each encoded value."""
        if not self.is_number:
            return np.asarray(np.clip(values, 0, self.count - 1), dtype=np.uint16)
        found = np.searchsorted(self.lower, values, side="right") - 1
        found = np.clip(found, 0, len(self.lower) - 1)
        return np.where(np.isnan(values), self.count - 1, found).astype(np.uint16)

    def draw(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """An encoded value from each cell, evenly."""
        if not self.is_number:
            return codes.astype(np.int32)
        missing = codes == self.count - 1
        inner = np.where(missing, 0, codes)
        low, high = self.lower[inner], self.upper[inner]
        part = rng.random(len(codes))
        if self.step:
            first, last = low / self.step, high / self.step
            values = np.minimum(np.floor(first + part * (last - first + 1.0)), last) * self.step
        else:
            values = np.clip(low * (1.0 - part) + high * part, low, high)
        return np.where(missing, np.nan, values)

    @property
    def widths(self) -> Floats:
        """How many values a cell of a number holds; that for missing values none."""
        return np.append(self.upper - self.lower + self.step, 0.0)

    @property
    def middles(self) -> Floats:
        """Middle of each cell of a number in [-1, 1] between its bounds; missing in the middle."""
        low, high = self.lower[0], self.upper[-1]
        half = float(high / 2 - low / 2) or 1.0  # the smallest double has no half
        places = (self.lower / 2 + self.upper / 2 - (low / 2 + high / 2)) / half
        return np.append(np.clip(places, -1.0, 1.0), 0.0)


def cells_of(schema: Schema, whole: frozenset[str]) -> tuple[Cells, ...]:
    """The cells of every column.

    Parameters
    ----------
    schema : Schema
        Complete.
    whole : frozenset of str
        Names of columns of whole numbers.
    """
    result = []
    for name, column in schema.items():
        if isinstance(column, Category):
            if len(column.levels or ()) > _MOST_LEVELS:
                raise SchemaError(
                    f"Column {name!r} has more than {_MOST_LEVELS:,} levels, which is too many to "
                    "summarise: group them."
                )
            empty = np.zeros(0)
            result.append(Cells(name, empty, empty, 0.0, len(column.levels or ())))
        else:
            result.append(_number_cells(name, column, name in whole))
    return tuple(result)


def _number_cells(name: str, column: Number, whole: bool) -> Cells:
    assert column.lower is not None
    assert column.upper is not None
    low, high = column.lower, column.upper
    if column.scale == "day":
        found = _number_cells(name, Number(low // DAY, high // DAY), whole=True)
        return Cells(name, found.lower * DAY, found.upper * DAY, DAY)
    whole = whole and low == np.floor(low) and high == np.floor(high) and high - low < 2.0**50
    if whole and high - low < _FINE:
        values = np.arange(low, high + 1.0)
        return Cells(name, values, values, 1.0)
    edges = _edges(low, high)
    if whole:
        inner = np.unique(np.ceil(edges))
        inner = inner[(inner > low + 1.0) & (inner < high)]
        lower = np.concatenate([[low, low + 1.0], inner, [high]])
        upper = np.concatenate([[low], lower[2:] - 1.0, [high]])
        return Cells(name, lower, np.maximum(upper, lower), 1.0)
    inner = np.nextafter(low, high)
    lower = np.maximum.accumulate(np.concatenate([[low, inner], edges[1:-1], [high]]))
    upper = np.concatenate([[low], edges[1:-1], [np.nextafter(high, low), high]])
    return Cells(name, lower, np.maximum(upper, lower), 0.0)


def _edges(low: float, high: float) -> Floats:
    """Ends of cells between two bounds: equally far apart, and next to 0 by halves."""
    part = np.linspace(0.0, 1.0, _FINE - 1)
    even = np.clip(low * (1.0 - part) + high * part, low, high)
    anchor = min(max(0.0, low), high)
    steps = (high / 2 - low / 2) * 2.0 ** (1.0 - np.array(_HALVINGS))
    near = np.concatenate([anchor - steps, [anchor], anchor + steps])
    return np.unique(np.concatenate([even, near[(near > low) & (near < high)]]))


@dataclass(frozen=True, eq=False)
class CellKeeper:
    """Keeps the cell of every column for each row inside the vault (two bytes each)."""

    cells: Sequence[Cells]

    def prepare(self, block: Block) -> None:
        """Keep them; nothing comes out."""
        codes = np.empty((block.rows, len(self.cells)), dtype=np.uint16)
        for j, one in enumerate(self.cells):
            codes[:, j] = one.code(block[one.name])
        block.kept[CELLS] = codes

    def place(self, columns: Mapping[str, NDArray[Any]], rows: int) -> Codes:
        """The same for public rows."""
        codes = np.empty((rows, len(self.cells)), dtype=np.uint16)
        for j, one in enumerate(self.cells):
            codes[:, j] = one.code(columns[one.name])
        return codes
