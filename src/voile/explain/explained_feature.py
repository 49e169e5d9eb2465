"""Coordinates of a model of features, and what all explanations of such models have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from voile.arrays import Floats
from voile.errors import DataError
from voile.explain.explanation import Explanation


@dataclass(frozen=True, kw_only=True)
class ExplainedFeature:
    """A number with its bounds, or one level of a category.

    Attributes
    ----------
    name : str
        Readable: "age", "ward = B".
    column : str
        Name of the column.
    level : str or None
        The level; None for a number.
    lower, upper : float
        Bounds in the column's unit; 0 and 1 for a level.
    """

    name: str
    column: str
    level: str | None
    lower: float
    upper: float

    def place(self, values: Floats) -> Floats:
        """Where values lie between the bounds: 0 at the lower, 1 at the upper."""
        return np.asarray((values - self.lower) / (self.upper - self.lower))

    def check_read(self) -> None:
        """Refuse bounds without anything between them (DataError)."""
        if not self.lower < self.upper or not math.isfinite(self.upper - self.lower):
            raise DataError(
                f"In an explanation, 'lower' of a feature must be below its 'upper', "
                f"{self.upper:g}. Got {self.lower:g} instead."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureExplanation(Explanation):
    """What all explanations of features have in common.

    Attributes
    ----------
    features : tuple of ExplainedFeature
        Coordinates: numbers, or one per level of a category; those of a column stand together.
    """

    features: tuple[ExplainedFeature, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return list_columns(self.features)

    def check_read(self) -> None:
        """Refuse features of a column that do not stand together (DataError)."""
        turns = sum(a.column != b.column for a, b in pairwise(self.features))
        if self.features and turns + 1 != len(self.columns):
            raise DataError("The features of a column must stand together: use an undamaged copy.")


def list_columns(features: Sequence[ExplainedFeature]) -> tuple[str, ...]:
    """Names of the columns, each once, in order."""
    return tuple(dict.fromkeys(one.column for one in features))


def sum_columns(features: Sequence[ExplainedFeature], values: Floats) -> Floats:
    """Sums over the features of each column, shape (..., columns); values are (..., features)."""
    starts = [j for j, one in enumerate(features) if j == 0 or one.column != features[j - 1].column]
    if not starts:
        return np.zeros((*values.shape[:-1], 0))
    return np.asarray(np.add.reduceat(values, starts, axis=-1))
