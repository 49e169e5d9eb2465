"""A pool of rows with targets, of any kind that training takes, from which rows go by position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows and their targets.

    Attributes
    ----------
    X, y : array, data frame or series, or sparse matrix
        As given, but lists as arrays.
    labels : list
        Plain values of ``y``, one per row.
    """

    X: Any
    y: Any
    labels: list[Any]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    def take(self, positions: NDArray[np.int64]) -> tuple[Any, Any]:
        """X and y of some rows, of the same kind."""
        return _take(self.X, positions), _take(self.y, positions)

    def classes(self) -> list[Any]:
        """The different targets, sorted if they can be."""
        different = list(dict.fromkeys(self.labels))
        try:
            return sorted(different)
        except TypeError:
            return different

    def has_numbers(self) -> bool:
        """Whether all targets are finite numbers."""
        return all(isinstance(one, Real) and math.isfinite(one) for one in self.labels)

    def numbers(self) -> Floats:
        """Targets as numbers, shape (rows,)."""
        return np.asarray(self.labels, dtype=np.float64)


def open_pool(X: Any, y: Any) -> Pool:
    """Check the shapes of rows and targets."""
    X, y = _as_rows(X, "X"), _as_rows(y, "y")
    target = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(target, nw.DataFrame) or (not isinstance(target, nw.Series) and y.ndim != 1):
        raise DataError("y must be one column of targets, one per row.")
    labels = target.to_list() if isinstance(target, nw.Series) else y.tolist()
    rows = X.shape[0]
    if len(labels) != rows:
        raise DataError(f"X has {rows} rows and y has {len(labels)} values: give one per row.")
    # A missing value equals nothing, not even itself.
    if any(one is None or one != one for one in labels):
        raise DataError("y has missing values: leave these rows out.")
    return Pool(X, y, labels)


def _as_rows(value: Any, name: str) -> Any:
    """The value with a first axis that counts rows."""
    if hasattr(value, "tocsr"):
        return value.tocsr()
    known = nw.from_native(value, allow_series=True, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        raise DataError(f"{name} is a lazy frame: collect it first.")
    if isinstance(known, nw.DataFrame | nw.Series):
        return value
    try:
        rows = np.asarray(value)
    except ValueError as error:
        raise DataError(f"{name} is ragged: give rows of one length.") from error
    if rows.ndim == 0:
        raise DataError(f"{name} must be an array, a data frame or a list of rows.")
    return rows


def _take(value: Any, positions: NDArray[np.int64]) -> Any:
    known = nw.from_native(value, allow_series=True, pass_through=True)
    if isinstance(known, nw.DataFrame | nw.Series):
        return known[positions].to_native()
    return value[positions]
