"""The classes of a target as an estimator declares them, and which of two is the positive one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from voile.errors import NothingFound, SchemaError, SettingError
from voile.schema import Category, Column, Level, Schema
from voile.schema.yes_and_no import with_yes_last

Classes = tuple[Level, ...] | list[Level]
"""What the parameter ``classes`` may be."""


def declare_classes(
    target: Column | None, classes: Sequence[Level] | None, positive: Level | None
) -> Column | None:
    """What is public of a target, with the parameters ``classes`` and ``positive``.

    Parameters
    ----------
    target : Number, Category or None
        What the schema says of it.
    classes : sequence or None
    positive : level or None
        Of two classes, the one that comes last.

    Raises
    ------
    SettingError
        If they contradict the schema or each other.
    """
    if classes is None and positive is None:
        return target
    assert target is None or isinstance(target, Category)
    declared = Category() if target is None else target
    if classes is not None:
        try:
            listed = Category(classes).levels or ()
        except SchemaError as error:
            raise SettingError(f"The 'classes' cannot be. {error}") from error
        if declared.levels is not None and set(declared.levels) != set(listed):
            raise SettingError(
                f"The 'classes' {list(listed)!r} are not those of the schema's target, "
                f"{list(declared.levels)!r}: give one of the two."
            )
        declared = declared if declared.levels is not None else replace(declared, levels=listed)
    if positive is None or declared.levels is None:
        return declared
    if positive not in declared.levels or len(declared.levels) != 2:
        raise SettingError(
            f"The 'positive' class must be one of two. Got {positive!r} of "
            f"{list(declared.levels)!r} instead."
        )
    return _with_last(declared, positive)


def order_found_classes(schema: Schema, positive: Level | None) -> Schema:
    """A complete schema with the positive class last, where classes were found privately.

    If nobody says which of two it is, it is "yes", in one of several languages.

    Raises
    ------
    NothingFound
        If the positive class was not found, or there are not two.
    """
    target = schema.target
    if not isinstance(target, Category):
        return schema
    levels = target.levels or ()
    if positive is None:
        ordered = with_yes_last(levels)
        return schema if ordered == levels else schema.with_target(replace(target, levels=ordered))
    if positive not in levels or len(levels) != 2:
        raise NothingFound(
            f"The 'positive' class {positive!r} is not one of two classes that private discovery "
            f"found ({', '.join(map(repr, levels)) or 'none'}): name one of them, or list the "
            "classes, in the schema or as classes=[...]."
        )
    return schema.with_target(_with_last(target, positive))


def _with_last(target: Category, positive: Level) -> Category:
    levels = target.levels or ()
    # As the schema has it: 1 and True are one level.
    last = next(level for level in levels if level == positive)
    return replace(target, levels=(*(level for level in levels if level != positive), last))
