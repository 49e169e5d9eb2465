"""What settings of estimators may be: each family declares its own once, and all are checked here.

A family's `Settings` are a frozen dataclass with a field for each parameter of its estimator, and
what that may be::

    rounds: Annotated[int | None, or_auto(count(1, 100_000))] = None

None stands for "auto": the family's rule chooses then (its `Schedule`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self, TypeGuard, get_args, get_type_hints

import numpy as np

from voile.errors import NothingFound, SchemaError, SettingError
from voile.schema import Category, Schema

DISCOVERY = 0.15
"""Share of mu^2 for finding what a schema lacks."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number; truth values are none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_count(value: object, low: int, high: int | None = None) -> TypeGuard[int]:
    """Whether it is a whole number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return bool(low <= value and (high is None or value <= high))


# -- what a setting may be ---------------------------------------------------------------------


@dataclass(frozen=True)
class Allowed:
    """What a setting may be.

    Attributes
    ----------
    fits : callable
        Whether a value may be given.
    words : str
        What may be given, such as "a whole number from 1 to 100".
    plain : callable, optional
        Makes a value of Python's own type: numbers of numpy's types, of single precision even,
        would reach noise and files.
    remedy : str
        What to do about another value, if the words do not say it.
    auto : bool
        Whether the user may say "auto", which is None here.
    """

    fits: Callable[[object], bool]
    words: str
    plain: Callable[..., object] | None = None
    remedy: str = ""
    auto: bool = False


def choice(of: object) -> Allowed:
    """One of the values of a Literal."""
    values = get_args(of)
    return Allowed(lambda value: value in values, f"one of {', '.join(map(repr, values))}")


def count(low: int, high: int | None = None) -> Allowed:
    """A whole number."""
    reach = f"of at least {low}" if high is None else f"from {low} to {high}"
    return Allowed(lambda value: is_count(value, low, high), f"a whole number {reach}", int)


def number(low: float, high: float) -> Allowed:
    """A number, both ends included."""
    # Written so that what is not a number is refused, too.
    return Allowed(
        lambda value: is_number(value) and low <= value <= high,
        f"a number from {low:g} to {high:g}",
        float,
    )


def above(low: float, high: float) -> Allowed:
    """A number above the lower end."""
    return Allowed(
        lambda value: is_number(value) and low < value <= high,
        f"> {low:g} and <= {high:g}",
        float,
    )


def truth() -> Allowed:
    """True or False."""
    return Allowed(lambda value: isinstance(value, (bool, np.bool_)), "True or False", bool)


def picture_shape(*lengths: int, most: int | None = None, remedy: str = "") -> Allowed:
    """Height, width and perhaps channels of pictures."""

    def fits(value: object) -> bool:
        if not (isinstance(value, (list, tuple)) and len(value) in lengths):
            return False
        return all(is_count(one, 1, most) for one in value)

    shapes = "(height, width) or (height, width, channels)" if 3 in lengths else "(height, width)"
    return Allowed(fits, f"{shapes}, in pixels", lambda value: tuple(map(int, value)), remedy)


def or_auto(allowed: Allowed) -> Allowed:
    """The same, or "auto"."""
    return replace(_or("'auto'", allowed), auto=True)


def or_none(allowed: Allowed) -> Allowed:
    """The same, or None."""
    return _or("None", allowed)


def optional(allowed: Allowed) -> Allowed:
    """The same, or nothing: what nobody has to be told of."""
    return replace(allowed, fits=lambda value: value is None or allowed.fits(value))


def _or(other: str, allowed: Allowed) -> Allowed:
    between = ", " if " or " in allowed.words else " or "
    return replace(optional(allowed), words=f"{other}{between}{allowed.words}")


SEED = or_none(count(0))
"""What a random_state may be."""


def _allowed(kind: type) -> dict[str, Allowed]:
    """What the fields of settings may be."""
    hints = get_type_hints(kind, include_extras=True)
    marks = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
    return {name: found[0] for name, found in marks.items() if found}


@dataclass(frozen=True)
class CheckedSettings:
    """Settings of a family: a frozen dataclass whose fields say what they may be."""

    def __post_init__(self) -> None:
        """Check every field (SettingError), and take numbers as Python's own."""
        for name, allowed in _allowed(type(self)).items():
            value = getattr(self, name)
            if not allowed.fits(value):
                raise SettingError(
                    f"The '{name}' must be {allowed.words}. Got {value!r} instead{allowed.remedy}."
                )
            if value is not None and allowed.plain is not None:
                object.__setattr__(self, name, allowed.plain(value))

    @classmethod
    def of(cls, estimator: object, seed: int | None = None, **more: object) -> Self:
        """The settings of an estimator, whose parameters have the names of the fields.

        Parameters
        ----------
        estimator : estimator
        seed : int, optional
            Public randomness where its ``random_state`` is None.
        **more
            Fields that are no parameters.
        """
        given = {
            one.name: getattr(estimator, one.name) for one in fields(cls) if one.name not in more
        }
        for name, allowed in _allowed(cls).items():
            if allowed.auto and isinstance(given[name], str) and given[name] == "auto":
                given[name] = None
        if given["random_state"] is None:
            given["random_state"] = seed
        return cls(**given, **more)


# -- what a table must have --------------------------------------------------------------------


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
    levels = (target.levels or ()) if isinstance(target, Category) else ()
    if len(levels) < 2:
        found = f"one class of the target, {levels[0]!r}" if levels else "no class of the target"
        raise too_little_found(f"{found}, and two are needed", "the classes of the target")
    return len(levels)
