"""One coordinate of a model of features as an explanation shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.explain.plain_data import EXPLANATION

Floats = NDArray[np.float64]


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` gave (DataError)."""
        names = ("name", "column", "level", "lower", "upper")
        fields = EXPLANATION.fields(data, names, "a feature")
        lower, upper = (EXPLANATION.number(fields[one], f"'{one}'") for one in ("lower", "upper"))
        if not lower < upper or not math.isfinite(upper - lower):
            EXPLANATION.refuse("'lower' of a feature", f"below its 'upper', {upper:g}", lower)
        return cls(
            name=EXPLANATION.text(fields["name"], "the name of a feature"),
            column=EXPLANATION.text(fields["column"], "the column of a feature"),
            level=None
            if fields["level"] is None
            else EXPLANATION.text(fields["level"], "the level of a feature"),
            lower=lower,
            upper=upper,
        )


def read_features(data: object) -> tuple[ExplainedFeature, ...]:
    """Features from plain data; those of a column stand together (DataError)."""
    features = tuple(map(ExplainedFeature.from_dict, EXPLANATION.listed(data, "'features'")))
    turns = sum(a.column != b.column for a, b in pairwise(features))
    if features and turns + 1 != len(list_columns(features)):
        raise DataError("The features of a column must stand together: use an undamaged copy.")
    return features


def list_columns(features: Sequence[ExplainedFeature]) -> tuple[str, ...]:
    """Names of the columns, each once, in order."""
    return tuple(dict.fromkeys(one.column for one in features))


def sum_columns(features: Sequence[ExplainedFeature], values: Floats) -> Floats:
    """Sums over the features of each column, shape (..., columns); values are (..., features)."""
    starts = [j for j, one in enumerate(features) if j == 0 or one.column != features[j - 1].column]
    if not starts:
        return np.zeros((*values.shape[:-1], 0))
    return np.asarray(np.add.reduceat(values, starts, axis=-1))
