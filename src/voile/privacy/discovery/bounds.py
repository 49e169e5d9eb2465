"""Bounds of a number, found privately: a noised histogram on a logarithmic scale.

Each value falls into the cell of its sign and power of two; the outermost cells whose noised count
stands clear of the noise give the bounds. Citation: the "approximate bounds" of Wilson et al.,
"Differentially private SQL with bounded user contribution" (PoPETs 2020), with Gaussian noise.
Sensitivity 1: a row is in one cell. Powers of two cannot tell 2005 from 2035, so dates are counted
by a tree over three centuries instead. Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from voile.privacy.discovery.dates import CENTURIES
from voile.privacy.discovery.histogram import CELLS, FANOUT
from voile.privacy.discovery.tree import TreeCells, split_levels
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms.sums import gaussian_sum
from voile.privacy.queries import TARGET, ColumnCells
from voile.privacy.sources.block import Block
from voile.privacy.vault import PrivateTable
from voile.privacy.wire import sendable
from voile.schema import Date, Number
from voile.schema.dates import EPOCH

_SMALLEST, _LARGEST = -64, 128
"""Powers of two told apart; anything smaller counts as zero, anything larger as the largest."""

_LARGEST_WHOLE = 2.0**50
"""Largest bound of whole numbers that is found."""

_USUAL_DATES = ("1950-01-01", "2049-12-31")
"""Bounds of dates where nothing stands clear of the noise."""

_POWERS = _LARGEST - _SMALLEST
_FALSE_ALARM = 1e-3
"""Probability that noise alone puts a bound too far out (accuracy, not privacy)."""


@sendable
@dataclass(frozen=True)
class LogCells(ColumnCells):
    """Counts by sign and power of two: negative (large to small), zero, positive, missing."""

    @property
    def size(self) -> int:
        """Negative powers, zero, positive powers, missing."""
        return 2 * _POWERS + 2

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Cell of each row."""
        values = block[self.column]
        missing = np.isnan(values)
        magnitude = np.abs(np.where(missing, 0.0, values))
        _, exponent = np.frexp(magnitude)  # 2^(e-1) <= magnitude < 2^e
        power = np.clip(exponent.astype(np.int64) - 1, _SMALLEST, _LARGEST - 1) - _SMALLEST
        small = magnitude < 2.0**_SMALLEST
        cells = np.where(values < 0, _POWERS - 1 - power, _POWERS + 1 + power)
        cells[small] = _POWERS
        cells[missing] = self.size - 1
        return [cells]


@dataclass(frozen=True)
class FoundBounds:
    """A column with bounds, and whether they stand clear of the noise."""

    column: Number
    clear: bool = True


def find_bounds(table: PrivateTable, column: str, ticket: Ticket) -> FoundBounds:
    """Find bounds that hold nearly all values of a column.

    Parameters
    ----------
    table : PrivateTable
    column : str
    ticket : Ticket
        One access of a ``Gaussian`` event.

    Returns
    -------
    FoundBounds
        Bounds that are zero or powers of two, of dates whole months; [0, 1] if nothing stands clear
        of the noise. What else the schema says of the column is kept.
    """
    known = table.schema.target if column == TARGET else table.schema[column]
    assert isinstance(known, Number)
    if isinstance(known, Date):
        return _find_months(table, column, known, ticket)
    release = gaussian_sum(table, LogCells(column), ticket)
    counts = release.values[:-1]
    clear = release.standard_error * float(ndtri(1 - _FALSE_ALARM / len(counts)))
    filled = np.flatnonzero(counts > max(clear, 0.5))
    if len(filled) == 0:
        return FoundBounds(replace(known, lower=0.0, upper=1.0), clear=False)
    lower, upper = _edge(int(filled[0]), lower=True), _edge(int(filled[-1]), lower=False)
    if known.whole:
        most = _LARGEST_WHOLE
        lower = float(math.floor(min(max(lower, -most), most)))
        upper = float(math.ceil(min(max(upper, -most), most)))
    upper = upper if lower < upper else lower + 1.0
    return FoundBounds(replace(known, lower=lower, upper=upper))


def _find_months(table: PrivateTable, column: str, known: Date, ticket: Ticket) -> FoundBounds:
    """Whole months around nearly all dates of a column."""
    start, width = CENTURIES
    release = gaussian_sum(table, TreeCells(column, start, start + CELLS * width), ticket)
    levels = split_levels(release.values)
    tests = sum(map(len, levels))
    clear = max(release.standard_error * float(ndtri(1 - _FALSE_ALARM / tests)), 0.5)
    ends = _outermost(levels, clear, last=False), _outermost(levels, clear, last=True)
    if ends[0] is None or ends[1] is None:
        usual = Date(*_USUAL_DATES)
        return FoundBounds(replace(known, lower=usual.lower, upper=usual.upper), clear=False)
    # One cell more on both sides: those at the ends are filled in part, and may not stand clear.
    cells = max(ends[0] - 1, 0), min(ends[1] + 2, CELLS)
    first, last = (EPOCH + dt.timedelta(seconds=start + cell * width) for cell in cells)
    last -= dt.timedelta(seconds=1)
    # The 28th and four days are in the next month.
    after = (dt.datetime(last.year, last.month, 28) + dt.timedelta(days=4)).replace(day=1)
    lower = (first.replace(day=1) - EPOCH).total_seconds()
    upper = (after - EPOCH).total_seconds() - 1.0
    return FoundBounds(replace(known, lower=lower, upper=upper))


def _outermost(levels: list[NDArray[np.float64]], clear: float, *, last: bool) -> int | None:
    """First or last leaf of the outermost node that stands clear, read as deep as nodes do.

    Leaves are told apart where the rows of a node would make each of them stand clear: otherwise
    the outer ones, which are filled in part, would be lost.
    """
    node: int | None = None
    for depth, counts in enumerate(levels):
        inside = counts if node is None else counts[node * FANOUT : (node + 1) * FANOUT]
        if depth == len(levels) - 1 and levels[depth - 1][node] < FANOUT * clear:
            break
        filled = np.flatnonzero(inside > clear)
        if len(filled) == 0:
            break
        node = (0 if node is None else node * FANOUT) + int(filled[-1 if last else 0])
        size = CELLS // FANOUT ** (depth + 1)
        leaf = (node + 1) * size - 1 if last else node * size
    return None if node is None else leaf


def _edge(cell: int, *, lower: bool) -> float:
    if cell == _POWERS:
        return 0.0
    if cell > _POWERS:
        power = cell - _POWERS - 1 + _SMALLEST
        return 2.0**power if lower else 2.0 ** (power + 1)
    power = _POWERS - 1 - cell + _SMALLEST
    return -(2.0 ** (power + 1)) if lower else -(2.0**power)
