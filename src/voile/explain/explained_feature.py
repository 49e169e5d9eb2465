"""Coordinates of a model of features, and what all explanations of such models have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from voile.arrays import Floats
from voile.errors import DataError, SettingError
from voile.explain.explanation import Explanation
from voile.models.verdict import NOTHING, ColumnVerdict
from voile.schema.scale import Scale
from voile.stored import Stored


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
    scale : {"number", "whole", "day", "time"}
        What its values are; dates are in seconds since 1970-01-01 UTC.
    """

    name: str
    column: str
    level: str | None
    lower: float
    upper: float
    scale: Annotated[Scale, Stored(optional=True)] = "number"

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
    verdicts : tuple of str
        For each column "clear", "perhaps" or "cannot be told from nothing"; empty if nothing is
        known of the sampling error, and for pictures.
    """

    features: tuple[ExplainedFeature, ...]
    verdicts: Annotated[tuple[ColumnVerdict, ...], Stored(optional=True)] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.verdicts and len(self.verdicts) != len(self.columns):
            raise DataError("An explanation with verdicts must have one for each column.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return list_columns(self.features)

    @property
    def nothing(self) -> tuple[str, ...]:
        """Names of the columns that cannot be told from nothing."""
        told = zip(self.columns, self.verdicts, strict=False)
        return tuple(name for name, verdict in told if verdict == NOTHING)

    def verdict_of(self, column: str) -> ColumnVerdict:
        """The verdict on a column; "not known" without any."""
        return self.verdicts[self.columns.index(column)] if self.verdicts else "not known"

    def places_of(self, column: str) -> list[int]:
        """Positions of a column's features; SettingError if there is no such column."""
        found = [j for j, one in enumerate(self.features) if one.column == column]
        if not found:
            known = ", ".join(map(repr, self.columns))
            raise SettingError(f"The model has no column {column!r}: it has {known}.")
        return found

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
