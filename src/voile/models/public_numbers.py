"""Checks of what a query is made of: released and public numbers that anybody may have sent.

Where rows lie with clients, queries come from a server that nobody has to trust. Whoever made one,
its numbers are looked at when it is made: finite, of shapes that fit each other, and within the
limits under which sums are exact and take bounded time and memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.schema import Category, Number, Schema

MOST_CLASSES = 2**16
"""Most classes of a model that is trained by sums over rows."""

Lot = tuple[int, int]


def check_numbers(
    values: NDArray[np.float64], shape: tuple[int | None, ...], what: str, most: float = math.inf
) -> None:
    """Refuse what is no array of finite doubles, of size ``most`` at most; None is any length."""
    _check_array(values, shape, np.dtype(np.float64), what)
    # Written so that what is not a number is refused, too.
    largest = float(np.abs(values).max(initial=0.0))
    if not (largest <= most and largest < math.inf):
        limit = "" if most == math.inf else f", {most:g} at most in size"
        raise SettingError(f"The {what} must be finite numbers{limit}: give other ones.")


def check_wholes(
    values: NDArray[np.int64], shape: tuple[int | None, ...], what: str, least: int, most: int
) -> None:
    """The same for 64-bit integers from ``least`` to ``most``."""
    _check_array(values, shape, np.dtype(np.int64), what)
    if values.size and not least <= int(values.min()) <= int(values.max()) <= most:
        raise SettingError(f"The {what} must be numbered from {least} to {most}.")


def _check_array(
    values: Any, shape: tuple[int | None, ...], dtype: np.dtype[Any], what: str
) -> None:
    fits = isinstance(values, np.ndarray) and values.dtype == dtype and values.ndim == len(shape)
    if not fits or any(
        n not in (None, found) for n, found in zip(shape, values.shape, strict=True)
    ):
        told = ", ".join("any" if n is None else str(n) for n in shape)
        raise SettingError(f"The {what} must be an array of {dtype} of shape ({told}).")


def check_number(value: float, what: str, least: float, most: float) -> None:
    """Refuse what is no number from ``least`` to ``most``."""
    fits = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not (fits and least <= value <= most):
        raise SettingError(f"The {what} must be from {least:g} to {most:g}. Got {value!r}.")


def check_lot(lot: Lot | None) -> None:
    """Refuse a lot (k, n) that is not the k-th of n."""
    if lot is not None and not (len(lot) == 2 and 0 <= lot[0] < lot[1]):
        raise SettingError(f"A lot must be (k, n) with 0 <= k < n. Got {lot!r} instead.")


def check_classes(schema: Schema) -> None:
    """Refuse a schema that is not complete, or has no listed classes as its target."""
    target = schema.target
    listed = isinstance(target, Category) and target.known
    if not (schema.known and listed and 1 <= class_count(schema) <= MOST_CLASSES):
        raise SettingError(
            f"A schema for training must have all bounds and levels, and from 1 to {MOST_CLASSES} "
            "classes as its target: complete it first."
        )


def class_count(schema: Schema) -> int:
    """Number of listed classes; 0 where the target has none."""
    target = schema.target
    return len(target.levels or ()) if isinstance(target, Category) else 0


def feature_count(schema: Schema) -> int:
    """Number of coordinates that `voile.models.features.Features` has for a complete schema."""
    return sum(
        1 if isinstance(column, Number) else len(column.levels or ()) for column in schema.values()
    )
