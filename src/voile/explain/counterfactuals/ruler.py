"""How far a change goes: by how many others it passes, or as a part of a column's range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.explain.counterfactuals.actions import has_order
from voile.explain.counterfactuals.steps import bounds_of
from voile.schema import Category, Schema

Floats = NDArray[np.float64]

LEVEL = 0.5
"""What a change of a level without an order counts, and one from a missing value."""

_STRETCH = 0.01
"""What the whole range of a number costs beside the rows that are passed, so that no way is free
where there are no rows."""

_KNOTS = 512


@dataclass(frozen=True, eq=False)
class Ruler:
    """Where values lie among others, from 0 to 1, column by column.

    Attributes
    ----------
    knots : dict of str to (ndarray, ndarray)
        Values of each column with an order, increasing, and where they lie.
    ranges : dict of str to (float, float)
        Bounds of these columns.
    told : str
        What a size of 1 is, in words.
    """

    knots: dict[str, tuple[Floats, Floats]]
    ranges: dict[str, tuple[float, float]]
    told: str

    def place(self, name: str, values: Floats) -> Floats:
        """Where values of a column with an order lie; NaN where they are missing."""
        knots, places = self.knots[name]
        found = np.interp(values, knots, places)
        return np.where(np.isnan(values), np.nan, found)

    def size(self, name: str, start: float, values: Floats) -> Floats:
        """How far values are from ``start``, shape of the values."""
        if name not in self.knots:
            return np.where(values == start, 0.0, LEVEL)
        found = np.abs(self.place(name, values) - self.place(name, np.array(start)))
        return np.where(np.isnan(found), LEVEL, found)

    def cost(self, name: str, start: float, values: Floats) -> Floats:
        """What is made as small as possible: the size, and a little for the way itself."""
        size = self.size(name, start, values)
        if name not in self.ranges or np.isnan(start):
            return size
        low, high = self.ranges[name]
        return np.asarray(size + _STRETCH * np.abs(values - start) / (high - low))


def rule_by_rows(
    schema: Schema, columns: Mapping[str, NDArray[Any]], weights: Floats, told: str
) -> Ruler:
    """Sizes as shares of weighted rows that are passed (half of those at either end).

    Parameters
    ----------
    schema : Schema
    columns : mapping of str to ndarray of shape (rows,)
        Encoded.
    weights : ndarray of shape (rows,)
    told : str
    """
    ranges = _ranges(schema)
    knots = {}
    for name in ranges:
        values = np.asarray(columns[name], dtype=np.float64)
        seen = _is_listed(schema, name, values)
        values, shares = values[seen], weights[seen]
        if not len(values) or shares.sum() <= 0:
            knots[name] = (np.array(ranges[name]), np.array([0.0, 1.0]))
            continue
        each, place = np.unique(values, return_inverse=True)
        mass = np.bincount(place, shares) / shares.sum()
        middles = np.cumsum(mass) - mass / 2
        if len(each) > _KNOTS:
            kept = np.searchsorted(middles, np.linspace(0.0, 1.0, _KNOTS))
            kept = np.unique(np.append(np.minimum(kept, len(each) - 1), 0))
            each, middles = each[kept], middles[kept]
        knots[name] = (each, middles)
    return Ruler(knots, ranges, told)


def rule_by_counts(
    schema: Schema, edges: Mapping[str, Floats], counts: Mapping[str, Floats], told: str
) -> Ruler:
    """The same from released counts of intervals, within which rows are taken to lie evenly.

    Parameters
    ----------
    schema : Schema
    edges : mapping of str to ndarray of shape (intervals + 1,)
        Of numbers; ordered levels have counts alone.
    counts : mapping of str to ndarray of shape (intervals,)
    told : str
    """
    ranges = _ranges(schema)
    knots = {}
    for name, bounds in ranges.items():
        mass = np.maximum(counts[name], 0.0)
        if mass.sum() <= 0:
            knots[name] = (np.array(bounds), np.array([0.0, 1.0]))
        elif name in edges:
            places = np.concatenate([[0.0], np.cumsum(mass) / mass.sum()])
            knots[name] = (edges[name], places)
        else:
            places = (np.cumsum(mass) - mass / 2) / mass.sum()
            knots[name] = (np.arange(float(len(mass))), places)
    return Ruler(knots, ranges, told)


def rule_by_range(schema: Schema) -> Ruler:
    """Sizes as parts of a column's public range."""
    ranges = _ranges(schema)
    knots = {name: (np.array(one), np.array([0.0, 1.0])) for name, one in ranges.items()}
    return Ruler(knots, ranges, "of the range between the bounds of a column")


def _ranges(schema: Schema) -> dict[str, tuple[float, float]]:
    found = {}
    for name, column in schema.items():
        if not isinstance(column, Category):
            found[name] = bounds_of(column)
        elif has_order(column) and len(column.levels or ()) > 1:
            found[name] = (0.0, float(len(column.levels or ()) - 1))
    return found


def _is_listed(schema: Schema, name: str, values: Floats) -> NDArray[np.bool_]:
    """Which values are numbers, or levels that are listed."""
    column = schema[name]
    if isinstance(column, Category):
        return np.asarray(values < len(column.levels or ()))
    return np.asarray(~np.isnan(values))


def spread_of(values: Sequence[float] | Floats, weights: Floats) -> float | None:
    """Width of the middle nine tenths of weighted values; None if there are none."""
    found = np.asarray(values, dtype=np.float64)
    seen = ~np.isnan(found)
    if not seen.any() or weights[seen].sum() <= 0:
        return None
    order = np.argsort(found[seen], kind="stable")
    ends = np.cumsum(weights[seen][order]) / weights[seen].sum()
    low, high = np.interp([0.05, 0.95], ends, found[seen][order])
    return float(high - low)
