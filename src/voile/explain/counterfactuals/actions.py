"""Which columns may change, and which way: what a user says of actions that are possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.setting_checks import is_count
from voile.schema import Category, Schema
from voile.schema.columns import Column

MOST = 10
"""More suggestions than this nobody compares."""


@dataclass(frozen=True)
class Actions:
    """What may change.

    Attributes
    ----------
    columns : tuple of str
        In the schema's order.
    chosen : bool
        Whether a person chose them, or everything may change.
    directions : dict of str to int
        1 for columns that may only rise, -1 for those that may only fall.
    most : int
        How many suggestions.
    """

    columns: tuple[str, ...]
    chosen: bool
    directions: dict[str, int] = field(default_factory=dict)
    most: int = 3

    @property
    def told(self) -> tuple[str, ...]:
        """The columns with their directions, in words."""
        words = {1: " (up only)", -1: " (down only)", 0: ""}
        return tuple(f"{name}{words[self.directions.get(name, 0)]}" for name in self.columns)

    def admit(self, name: str, start: float, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which values a column may have that has ``start`` now; a missing one may become any."""
        way = self.directions.get(name, 0)
        if way == 0 or np.isnan(start):
            return np.ones(len(values), dtype=np.bool_)
        return np.asarray(way * (values - start) > 0)


def has_order(column: Column) -> bool:
    """Whether values lie on an axis: numbers, and levels that are listed in their order."""
    return not isinstance(column, Category) or bool(getattr(column, "ordered", False))


def read_actions(
    schema: Schema,
    *,
    change: Sequence[str] | None,
    keep: Sequence[str],
    directions: Mapping[str, str] | None,
    most: int,
    unused: Collection[str] = (),
) -> Actions:
    """Check what a user says of actions.

    Parameters
    ----------
    schema : Schema
        Complete.
    change : sequence of str, optional
        Columns that may change; all if not given.
    keep : sequence of str
        Columns that may not.
    directions : mapping of str to "up" or "down", optional
    most : int
        How many suggestions.
    unused : collection of str
        Columns that no answer of the model depends on.

    Raises
    ------
    SettingError
        If a column is unknown, or said to stay and to change, or nothing is left to change.
    """
    if not is_count(most, 1, MOST):
        raise SettingError(f"'most' must be a whole number from 1 to {MOST}. Got {most!r} instead.")
    named = None if change is None else _names(change, "change", schema)
    kept = _names(keep, "keep", schema)
    both = [name for name in named or () if name in kept]
    if both:
        raise SettingError(
            f"Column {both[0]!r} cannot both change and stay: take it out of 'change' or of 'keep'."
        )
    ways = _read_directions(schema, directions)
    # A category without levels, or with one, cannot become anything else.
    fixed = [
        name
        for name, column in schema.items()
        if isinstance(column, Category) and len(column.levels or ()) < 1
    ]
    for name in named or ():
        if name in fixed:
            raise SettingError(
                f"Column {name!r} has no levels that it could change to: take it out of 'change'."
            )
    columns = tuple(
        name
        for name in schema
        if name not in kept
        and name not in fixed
        and (name not in unused if named is None else name in named)
    )
    for name in ways:
        if name not in columns:
            raise SettingError(
                f"Column {name!r} has a direction and may not change: add it to 'change', or take "
                "it out of 'directions'."
            )
    if not columns:
        raise SettingError("No column may change: name some with change=[...].")
    return Actions(columns, named is not None or bool(kept), ways, int(most))


def check_sure(sure: object) -> bool:
    """Refuse what is not True or False."""
    if not isinstance(sure, (bool, np.bool_)):
        raise SettingError(f"'sure' must be True or False. Got {sure!r} instead.")
    return bool(sure)


def _names(given: object, what: str, schema: Schema) -> tuple[str, ...]:
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Collection) or isinstance(given, (bytes, Mapping)):
        raise SettingError(
            f"'{what}' must be a list of columns. Got {type(given).__name__} instead."
        )
    for name in given:
        if name not in schema:
            raise SettingError(f"'{what}' names column {name!r}, and {_known(schema)}")
    if what == "change" and not given:
        raise SettingError("No column may change: name some with change=[...].")
    return tuple(given)


def _known(schema: Schema) -> str:
    most = 8
    names = ", ".join(map(repr, list(schema)[:most]))
    return f"there is none: the columns are {names}{', ...' if len(schema) > most else '.'}"


def _read_directions(schema: Schema, directions: Mapping[str, str] | None) -> dict[str, int]:
    if directions is None:
        return {}
    if not isinstance(directions, Mapping):
        raise SettingError("'directions' must be a mapping such as {'age': 'up'}.")
    found = {}
    for name, way in directions.items():
        if name not in schema:
            raise SettingError(f"'directions' names column {name!r}, and {_known(schema)}")
        if way not in ("up", "down"):
            raise SettingError(
                f"The direction of column {name!r} must be 'up' or 'down'. Got {way!r} instead."
            )
        if not has_order(schema[name]):
            raise SettingError(
                f"Column {name!r} has levels without an order, so it has no direction: take it out "
                "of 'directions'."
            )
        found[name] = 1 if way == "up" else -1
    return found
