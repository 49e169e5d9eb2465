"""What settings of estimators may be: numbers, counts, and classes enough to learn from."""

from __future__ import annotations

import numpy as np

from voile.errors import NothingFound, SchemaError
from voile.schema import Category, Schema


def is_number(value: object) -> bool:
    """Whether it is a number; truth values are none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_count(value: object, low: int, high: int | None = None) -> bool:
    """Whether it is a whole number from ``low`` to ``high``."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and low <= value and (high is None or value <= high)  # type: ignore[operator]


def check_columns_and_classes(schema: Schema) -> None:
    """Refuse a table without columns, and fewer than two listed classes (SchemaError)."""
    if not len(schema):
        raise SchemaError("The schema has no columns to learn from: give at least one.")
    target = schema.target
    if isinstance(target, Category) and target.levels is not None and len(target.levels) < 2:
        raise SchemaError(
            f"The target has {len(target.levels)} class: give at least two, in schema.target."
        )


def too_little_found(what: str, remedy: str) -> NothingFound:
    """The error that private discovery left nothing to learn from."""
    return NothingFound(
        f"Private discovery found {what}: list {remedy} in the schema, which costs nothing, or "
        "use more rows or a larger epsilon. What was paid for looking stays paid."
    )


def count_found_classes(schema: Schema) -> int:
    """How many classes there are once the schema is complete; fewer than two are too few.

    Raises
    ------
    NothingFound
        After the private looks for classes, which are paid by then.
    """
    target = schema.target
    count = len(target.levels or ()) if isinstance(target, Category) else 0
    if count < 2:
        raise too_little_found(
            f"{count} class(es) of the target, and two are needed", "the classes of the target"
        )
    return count
