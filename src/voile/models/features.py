"""From the columns of a table to points in a cube, and back to units that people know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.schema import Category, Number, Schema
from voile.schema.columns import Column

Floats = NDArray[np.float64]

_SMALLEST_HALF = 1e-290
"""Numbers within bounds further apart can be divided by half their width without care."""


@dataclass(frozen=True)
class Feature:
    """One coordinate: a number, or one level of a category.

    Attributes
    ----------
    name : str
        The column's, with the level of a category: "age", "ward = B".
    column : str
        Name of the column.
    described : Number or Category
    level : int
        Number of the level; -1 for a number.
    """

    name: str
    column: str
    described: Column
    level: int = -1


@dataclass(frozen=True, eq=False)
class Features:
    """The coordinates of a schema's columns, all within [-1, 1].

    A number is scaled from its bounds to [-1, 1]. A category has a coordinate per level, 1 for rows
    of that level and 0 for others, so that two rows of different levels are as far apart as two
    numbers at 70 % of their range.

    Parameters
    ----------
    schema : Schema
        Complete.
    """

    schema: Schema

    @cached_property
    def each(self) -> tuple[Feature, ...]:
        """The coordinates, in order."""
        result: list[Feature] = []
        for name, column in self.schema.items():
            if isinstance(column, Category):
                levels = column.levels or ()
                result += [
                    Feature(f"{name} = {level}", name, column, k) for k, level in enumerate(levels)
                ]
            else:
                result.append(Feature(name, name, column))
        return tuple(result)

    @property
    def names(self) -> tuple[str, ...]:
        """A readable name for each coordinate."""
        return tuple(one.name for one in self.each)

    def __len__(self) -> int:
        return len(self.each)

    def encode(self, columns: Mapping[str, Any], rows: int) -> NDArray[np.float32]:
        """Points of shape (rows, features) in [-1, 1]; NaN where a number is missing.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            Encoded columns: numbers with NaN for missing, categories as codes.
        rows : int
        """
        # One line per coordinate while they are written, which is what memory likes.
        result = np.empty((len(self), rows), dtype=np.float32)
        for j, one in enumerate(self.each):
            values = columns[one.column]
            if one.level >= 0:
                result[j] = values == one.level
            else:
                np.clip(_scaled(values, one.described), -1.0, 1.0, out=result[j], casting="unsafe")
        return np.ascontiguousarray(result.T)

    def in_units(self, points: Floats) -> Floats:
        """Points in the columns' own units, shape (..., features).

        For a level the share of rows that have it.
        """
        result = np.array(points, dtype=np.float64)
        for j, one in enumerate(self.each):
            if isinstance(one.described, Number):
                half, middle = _half(one.described), _middle(one.described)
                result[..., j] = np.clip(result[..., j], -1.0, 1.0) * half + middle
            else:
                result[..., j] = np.clip(result[..., j], 0.0, 1.0)
        return result

    def width_in_units(self, widths: Floats) -> Floats:
        """The same for differences and standard errors: scaled, not shifted."""
        halves = [
            _half(one.described) if isinstance(one.described, Number) else 1.0 for one in self.each
        ]
        return np.asarray(widths * np.array(halves), dtype=np.float64)


def _half(column: Number) -> float:
    assert column.lower is not None
    assert column.upper is not None
    return column.upper / 2 - column.lower / 2


def _middle(column: Number) -> float:
    assert column.lower is not None
    assert column.upper is not None
    return column.upper / 2 + column.lower / 2


def _scaled(values: Floats, column: Column) -> Floats:
    assert isinstance(column, Number)
    half = _half(column)
    if half > _SMALLEST_HALF:
        return np.asarray((values - _middle(column)) / half)
    with np.errstate(all="ignore"):  # bounds a few denormals apart have no half
        scaled: Floats = (values - _middle(column)) / half
    # Only a missing value stays NaN.
    return np.where(np.isnan(values), np.nan, np.nan_to_num(scaled, posinf=1.0, neginf=-1.0))


def public_features(schema: Schema) -> int | None:
    """How many features there are: public when all levels are, whatever the bounds."""
    levels = [one.levels for one in schema.values() if isinstance(one, Category)]
    return None if any(one is None for one in levels) else len(Features(schema))
