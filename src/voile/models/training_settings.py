"""Settings of a training as plain data: what a saved model keeps of its estimator's parameters.

The optional field of a model's file, with a value for every parameter but schema and ledger::

    "settings": {"epsilon": 4.0, "method": "cyclic", "rounds": 3, "bins": "auto",
                 "image_shape": [8, 8], "monotone": {"pairs": [["age", "increasing"]]},
                 "public_images": {"object": "ndarray"}, ...}

Lists are tuples. Infinity, which JSON does not have, is "inf". A mapping is a list of pairs,
because its keys may be other things than text. Of an object, which may hold anything, only the kind
is told: it is not recorded. A file without the field was written by an earlier version, and nothing
is known of its training's settings then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from voile.codec import decode
from voile.errors import ModelError
from voile.strict import Strict, is_text, show

FIELD = "settings"
"""Name of the field in a model's file."""

SETTINGS = Strict(ModelError, f"'{FIELD}' of a model")

_APART = ("schema", "ledger")
"""What is no setting: the schema has a field of its own, and a ledger is where it is."""

_INFINITE = {"inf": math.inf, "-inf": -math.inf}

_MOST = {"epsilon": math.inf, "delta": 1.0}
"""Numbers that every estimator has, from 0 to this; its other settings it checks itself."""

Settings = Mapping[str, Any]
"""Plain data by the parameter's name, as in a file."""


def record_settings(estimator: Any) -> Settings:
    """The parameters of an estimator as they are now, as plain data."""
    hints, given = _hints(type(estimator)), estimator.get_params(deep=False)
    return {name: _record(given[name], hints[name], name) for name in sorted(hints)}


def add_settings(data: dict[str, Any], settings: Settings | None) -> dict[str, Any]:
    """A model's plain data with the settings of its training, if they are known."""
    return data if settings is None else {**data, FIELD: settings}


def read_settings(data: object, kind: type) -> Settings:
    """Settings from what a file has of them, for an estimator of this class.

    Raises
    ------
    ModelError
        If they are no such settings.
    """
    hints, found = _hints(kind), decode(dict[str, object], data, SETTINGS)
    for name, value in found.items():
        if name not in hints:
            raise ModelError(
                f"In {SETTINGS.what} is the unknown field {show(name)}: use the version of Voile "
                "that wrote it."
            )
        if not _is_object(value, name):
            _restore(value, hints[name], name)
    return found


def restore_parameters(settings: Settings, kind: type) -> dict[str, Any]:
    """The recorded parameters of an estimator of this class, with their values."""
    hints, left_out = _hints(kind), unrecorded_settings(settings, kind)
    return {
        name: _restore(value, hints[name], name)
        for name, value in settings.items()
        if name not in left_out
    }


def unrecorded_settings(settings: Settings, kind: type) -> tuple[str, ...]:
    """Parameters whose value is not known: objects, and those that came with a later version."""
    return tuple(
        name for name in _hints(kind) if name not in settings or _is_object(settings[name], name)
    )


def check_agreement(parameters: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Refuse parameters (ModelError) that contradict what the model itself tells of them."""
    for name, fact in facts.items():
        value = parameters.get(name)
        left_to_a_rule = value is None or value == "auto"
        for_every_channel = isinstance(fact, tuple) and (value,) * len(fact) == fact
        if not (left_to_a_rule or for_every_channel or value == fact):
            raise ModelError(
                f"In a model, {name!r} of '{FIELD}' is {show(value)}, and the model has "
                f"{show(fact)}: use an undamaged copy."
            )


def _hints(kind: type) -> dict[str, Any]:
    """Types of the parameters."""
    try:
        hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    except NameError:  # somebody's own class; this is called after a fit, which must not be lost
        hints = {}
    return {name: hints.get(name, Any) for name in signature(kind).parameters if name not in _APART}


# -- writing -----------------------------------------------------------------------------------


def _record(value: Any, hint: Any, name: str) -> Any:
    try:
        plain = _plain(value)
        _restore(plain, hint, name)  # better not recorded than a file that cannot be read
    except (ModelError, TypeError):
        return {"object": type(value).__name__}
    return plain


def _plain(value: Any) -> Any:
    """Plain data of a value; TypeError if it is an object that may hold anything."""
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return str(number) if math.isinf(number) else number
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key), _plain(one)] for key, one in value.items()]}
    raise TypeError(type(value).__name__)


# -- reading -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Object:
    """What stands for an object: its kind."""

    object: str


@dataclass(frozen=True)
class _Pairs:
    """What stands for a mapping."""

    pairs: tuple[tuple[Any, Any], ...]


def _reader(name: str) -> Strict:
    return Strict(ModelError, f"{name!r} of '{FIELD}' of a model")


def _is_object(data: object, name: str) -> bool:
    """Whether only the kind of the value is told."""
    if not (isinstance(data, Mapping) and "object" in data):
        return False
    decode(_Object, data, _reader(name))
    return True


def _restore(data: object, hint: Any, name: str) -> Any:
    """The value that plain data stands for, if the parameter can have it."""
    value = _read(data, name)
    infinite = _INFINITE.get(value) if isinstance(value, str) else None
    if infinite is not None and _fits(infinite, hint):
        value = infinite
    outside = _is_number(value) and name in _MOST and not 0.0 <= value <= _MOST[name]
    if outside or not _fits(value, hint):
        raise ModelError(
            f"In a model, {name!r} of '{FIELD}' cannot be {show(data)}: use an undamaged copy."
        )
    return value


def _read(data: object, name: str) -> Any:
    if isinstance(data, list):
        return tuple(_read(one, name) for one in data)
    if isinstance(data, Mapping):
        pairs = decode(_Pairs, data, _reader(name)).pairs
        if any(isinstance(key, (list, Mapping)) for key, _ in pairs):
            raise ModelError(
                f"In a model, {name!r} of '{FIELD}' must be pairs of a key and a value."
            )
        found = {key: _read(value, name) for key, value in pairs}
        if len(found) < len(pairs):
            raise ModelError(f"In a model, {name!r} of '{FIELD}' has a key twice: use a copy.")
        return found
    return data


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of the type that a parameter is declared with."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in parts)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return len(each) == len(value) and all(map(_fits, value, each))
    if origin is Sequence:
        return isinstance(value, tuple) and all(_fits(one, parts[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(
            _fits(key, parts[0]) and _fits(one, parts[1]) for key, one in value.items()
        )
    if hint is Any:  # a class, of whatever type it is
        return any(_fits(value, kind) for kind in (bool, int, float, str))
    if hint is float:
        return _is_number(value)
    if hint is str:
        return isinstance(value, str) and is_text(value)
    return hint in (bool, int, NoneType) and type(value) is hint


def _is_number(value: object) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False
