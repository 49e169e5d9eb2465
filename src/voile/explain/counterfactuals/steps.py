"""Which values are suggested: readable numbers, whole where the column is, and listed levels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.explain.wording import short
from voile.models.ebm.model import MISSING, OTHER
from voile.schema import Category, Number
from voile.schema.columns import Column, Level

Floats = NDArray[np.float64]

FINEST = 200
"""Steps within the usual values of a number, at least."""

_NEAR = 0.2
"""Part of an interval within which a readable number is looked for."""


@dataclass(frozen=True)
class Steps:
    """Values on an axis that may be suggested: multiples of a step within bounds.

    Attributes
    ----------
    lower, upper : float
        Bounds of the column; first and last number of ordered levels.
    step : float
        A power of ten, or the unit.
    unit : float
        What every value is a multiple of: 1 for whole numbers and levels; 0 if of nothing.
    """

    lower: float
    upper: float
    step: float
    unit: float = 0.0

    def snap(self, values: Floats) -> Floats:
        """The nearest values that may be suggested."""
        if self.unit:
            found = np.rint(np.asarray(values) / self.unit) * self.unit
            ends = (np.ceil(self.lower / self.unit), np.floor(self.upper / self.unit))
            return np.asarray(np.clip(found, ends[0] * self.unit, ends[1] * self.unit))
        found = np.round(np.rint(np.asarray(values) / self.step) * self.step, self._decimals)
        return np.asarray(np.clip(found, self.lower, self.upper))

    def between(self, start: float, end: float, count: int) -> Floats:
        """At most ``count`` values after ``start`` and before ``end``, the nearest first."""
        parts = np.arange(1, count + 1) / (count + 1)
        found = self.snap(start + parts * (end - start))
        inside = (found - start) * (found - end) < 0
        return np.asarray(list(dict.fromkeys(found[inside].tolist())), dtype=np.float64)

    def inside(self, low: float, high: float, *, first: bool) -> float | None:
        """A readable number of [low, high) near its first or last one; None if there is none.

        The upper bound of the column belongs to its last interval.
        """
        last = high if high >= self.upper else math.nextafter(high, -math.inf)
        if self.unit:
            low, last = (
                turn(end / self.unit) * self.unit
                for turn, end in ((math.ceil, low), (math.floor, last))
            )
            return None if low > last else float(low if first else last)
        if low >= last:
            return low if low == last else None
        edge = low if first else last
        for digits in range(1, 18):
            step = 10.0 ** (math.ceil(math.log10(last - low)) - digits)
            turn = math.ceil if first else math.floor
            found = round(turn(edge / step) * step, max(0, -math.floor(math.log10(step))))
            if low <= found <= last and abs(found - edge) <= _NEAR * (last - low):
                return found
        return edge

    @property
    def _decimals(self) -> int:
        return max(0, -math.floor(math.log10(self.step) + 0.5))


def steps_of(column: Column, spread: float | None = None) -> Steps:
    """The values of a column that may be suggested; of a category the numbers of its levels.

    Parameters
    ----------
    column : Number or Category
    spread : float, optional
        How far apart usual values are, if that is known and less than the bounds are.
    """
    if isinstance(column, Category):
        return Steps(0.0, float(max(len(column.levels or ()) - 1, 0)), 1.0, unit=1.0)
    lower, upper = bounds_of(column)
    width = upper - lower
    if spread is not None and 0.0 < spread < width:
        width = spread
    step = 10.0 ** math.floor(math.log10(max(width, 1e-290) / FINEST))
    unit = 1.0 if column.whole else 0.0
    return Steps(lower, upper, unit or step, unit)


def bounds_of(column: Number) -> tuple[float, float]:
    """The bounds of a complete schema's number."""
    assert column.lower is not None
    assert column.upper is not None
    return column.lower, column.upper


def value_text(value: float, column: Column) -> str:
    """An encoded value as people read it."""
    if isinstance(column, Category):
        labels = (*map(str, column.levels or ()), OTHER, MISSING)
        return labels[min(int(value), len(labels) - 1)]
    return MISSING if math.isnan(value) else short(value, digits=10, grouped=False)


def plain_value(value: float, column: Column) -> Level:
    """An encoded value, which is a listed level or a number, as a model takes it."""
    if isinstance(column, Category):
        return (column.levels or ())[int(value)]
    return int(value) if column.whole else float(value)
