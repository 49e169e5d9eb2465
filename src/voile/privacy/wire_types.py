"""What the fields of a sendable class may hold, read from its annotations.

A message can put anything that travels into any field. A text where a number was meant, or an array
of another type, would fail somewhere inside, or be added up as what it is not; so every field is
compared with its annotation before the class sees it.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, Union

import numpy as np

from voile.errors import DataError
from voile.privacy.events import Event, Plan
from voile.schema import Schema

Check = Callable[[Any], Any]
"""Gives the value as the field holds it, or `UNFIT`."""

UNFIT = object()
"""What a check answers to a value that does not belong into its field."""

_LARGEST_WHOLE = 2**53
"""From here on a float does not hold every whole number."""


@lru_cache(maxsize=1024)
def field_checks(cls: type) -> Mapping[str, Check]:
    """A check for each field that a class is made of.

    Raises
    ------
    TypeError
        If an annotation cannot be read, or says something that no check is known for.
    """
    try:
        hints = typing.get_type_hints(cls)
    except NameError as error:
        raise TypeError(
            f"The annotations of {cls.__name__} cannot be read ({error}): import what they name, "
            "not for the type checker alone."
        ) from error
    found = {}
    for one in fields(cls):
        if one.init:
            try:
                found[one.name] = _check_of(hints[one.name])
            except TypeError as error:
                raise TypeError(f"The field {one.name!r} of {cls.__name__}: {error}") from error
    return found


def fit_fields(cls: type, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a received object, each as its annotation says; they are the right ones.

    Raises
    ------
    DataError
        Naming the class and the field, if a value is of another type.
    """
    for name, check in field_checks(cls).items():
        fitted = check(given[name])
        if fitted is UNFIT:
            raise DataError(
                f"The {name!r} of a {cls.__name__} in the message is of another type than this "
                "installation expects: both sides need the same version of voile."
            )
        given[name] = fitted
    return given


def _check_of(hint: Any) -> Check:
    if hint is Any or hint is object:
        return _anything
    plain = _PLAIN.get(hint) if isinstance(hint, type) else None
    if plain is not None:
        return plain
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _one_of(args)
    if origin in (Union, types.UnionType):
        return _either([_check_of(one) for one in args])
    if origin is tuple:
        return _many(args)
    if origin is Mapping and args[0] is str:
        return _mapping(_check_of(args[1]))
    if origin is np.ndarray:
        return _array(hint, typing.get_args(args[1]))
    if isinstance(hint, type) and origin is None and _can_arrive(hint):
        return _instance(hint)
    raise TypeError(f"nothing that travels is checked as {hint!r}.")


def _can_arrive(cls: type) -> bool:
    """Schemas, plans, events, enums, dataclasses, and what dataclasses are derived from."""
    if cls in (Schema, Plan, Event) or issubclass(cls, Enum) or is_dataclass(cls):
        return True
    foreign = cls.__module__.split(".")[0] in sys.stdlib_module_names
    return inspect.isabstract(cls) and not foreign


def _anything(value: Any) -> Any:
    return value


def _nothing(value: Any) -> Any:
    return value if value is None else UNFIT


def _truth(value: Any) -> Any:
    return value if value is True or value is False else UNFIT


def _whole(value: Any) -> Any:
    return value if type(value) is int else UNFIT


def _number(value: Any) -> Any:
    if type(value) is float:
        return value
    # Written by hand or from JSON: 1 for 1.0.
    return float(value) if type(value) is int and abs(value) < _LARGEST_WHOLE else UNFIT


def _text(value: Any) -> Any:
    if type(value) is not str:
        return UNFIT
    # Half a character (a lone surrogate) can be neither written nor sent on.
    ok = value.isascii() or not any("\ud800" <= one <= "\udfff" for one in value)
    return value if ok else UNFIT


def _bytes(value: Any) -> Any:
    return value if type(value) is bytes else UNFIT


_PLAIN: dict[type, Check] = {
    type(None): _nothing,
    bool: _truth,
    int: _whole,
    float: _number,
    str: _text,
    bytes: _bytes,
}


def _one_of(allowed: tuple[Any, ...]) -> Check:
    # True is equal to 1, and is not it.
    known = {(type(one), one) for one in allowed}

    def check(value: Any) -> Any:
        plain = type(value) in (str, int, bool, type(None), bytes)
        return value if plain and (type(value), value) in known else UNFIT

    return check


def _either(checks: list[Check]) -> Check:
    def check(value: Any) -> Any:
        for one in checks:
            fitted = one(value)
            if fitted is not UNFIT:
                return fitted
        return UNFIT

    return check


def _many(args: tuple[Any, ...]) -> Check:
    if len(args) == 2 and args[1] is Ellipsis:
        each, count = [_check_of(args[0])], None
    else:
        each, count = [_check_of(one) for one in args], len(args)

    def check(value: Any) -> Any:
        if type(value) is not tuple or (count is not None and len(value) != count):
            return UNFIT
        if count is None:
            fitted = tuple(map(each[0], value))
        else:
            fitted = tuple(one(part) for one, part in zip(each, value, strict=True))
        return UNFIT if any(part is UNFIT for part in fitted) else fitted

    return check


def _mapping(inside: Check) -> Check:
    def check(value: Any) -> Any:
        if type(value) is not dict:
            return UNFIT
        fitted = {name: inside(one) for name, one in value.items()}
        wrong = any(one is UNFIT or _text(name) is UNFIT for name, one in fitted.items())
        return UNFIT if wrong else fitted

    return check


def _array(hint: Any, kind: tuple[Any, ...]) -> Check:
    if len(kind) != 1 or not (isinstance(kind[0], type) and issubclass(kind[0], np.generic)):
        raise TypeError(f"an array needs one type of numbers, and {hint!r} has none.")
    try:
        dtype = np.dtype(kind[0])
    except TypeError as error:
        raise TypeError(f"an array needs one type of numbers, and {hint!r} has none.") from error
    if dtype.kind not in "biuf":
        raise TypeError(f"{hint!r} is no array that travels.")

    def check(value: Any) -> Any:
        return value if isinstance(value, np.ndarray) and value.dtype == dtype else UNFIT

    return check


def _instance(cls: type) -> Check:
    def check(value: Any) -> Any:
        return value if isinstance(value, cls) else UNFIT

    return check
