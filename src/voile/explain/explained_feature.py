"""One coordinate of a model of features as an explanation shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave."""
        return cls(**data)


def list_columns(features: Sequence[ExplainedFeature]) -> tuple[str, ...]:
    """Names of the columns, each once, in order."""
    return tuple(dict.fromkeys(one.column for one in features))


def sum_columns(features: Sequence[ExplainedFeature], values: Floats) -> Floats:
    """Sums over the features of each column, shape (..., columns); values are (..., features)."""
    starts = [j for j, one in enumerate(features) if j == 0 or one.column != features[j - 1].column]
    if not starts:
        return np.zeros((*values.shape[:-1], 0))
    return np.asarray(np.add.reduceat(values, starts, axis=-1))
