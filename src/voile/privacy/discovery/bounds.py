"""Bounds of a number, found privately: a noised histogram on a logarithmic scale.

Each value falls into the cell of its sign and power of two; the outermost cells whose noised count
stands clear of the noise give the bounds. Citation: the "approximate bounds" of Wilson et al.,
"Differentially private SQL with bounded user contribution" (PoPETs 2020), with Gaussian noise.
Sensitivity 1: a row is in one cell. Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from voile.privacy.grant import Ticket
from voile.privacy.mechanisms.sums import gaussian_sum
from voile.privacy.queries import TARGET, ColumnCells
from voile.privacy.sources.block import Block
from voile.privacy.vault import PrivateTable
from voile.privacy.wire import sendable
from voile.schema import Number

_SMALLEST, _LARGEST = -64, 128
"""Powers of two told apart; anything smaller counts as zero, anything larger as the largest."""

_LARGEST_WHOLE = 2.0**50
"""Largest bound of whole numbers that is found."""

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


def find_bounds(table: PrivateTable, column: str, ticket: Ticket) -> Number:
    """Find bounds that hold nearly all values of a column.

    Parameters
    ----------
    table : PrivateTable
    column : str
    ticket : Ticket
        One access of a ``Gaussian`` event.

    Returns
    -------
    Number
        Bounds that are zero or powers of two; [0, 1] if nothing stands clear of the noise. What
        else the schema says of the column is kept.
    """
    known = table.schema.target if column == TARGET else table.schema[column]
    assert isinstance(known, Number)
    release = gaussian_sum(table, LogCells(column), ticket)
    counts = release.values[:-1]
    clear = release.standard_error * float(ndtri(1 - _FALSE_ALARM / len(counts)))
    filled = np.flatnonzero(counts > max(clear, 0.5))
    if len(filled) == 0:
        return replace(known, lower=0.0, upper=1.0)
    lower, upper = _edge(int(filled[0]), lower=True), _edge(int(filled[-1]), lower=False)
    if known.whole:
        most = _LARGEST_WHOLE
        lower = float(math.floor(min(max(lower, -most), most)))
        upper = float(math.ceil(min(max(upper, -most), most)))
    return replace(known, lower=lower, upper=upper if lower < upper else lower + 1.0)


def _edge(cell: int, *, lower: bool) -> float:
    if cell == _POWERS:
        return 0.0
    if cell > _POWERS:
        power = cell - _POWERS - 1 + _SMALLEST
        return 2.0**power if lower else 2.0 ** (power + 1)
    power = _POWERS - 1 - cell + _SMALLEST
    return -(2.0 ** (power + 1)) if lower else -(2.0**power)
