"""Strict reading of plain data: a value of the right form, or an error that names its place.

JSON gives whatever a file holds; these functions let through only what a stored model may contain.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from voile.errors import ModelError
from voile.schema.columns import is_text

Floats = NDArray[np.float64]


def read_fields(
    data: object, names: Sequence[str], where: str, optional: Sequence[str] = ()
) -> Mapping[str, Any]:
    """A mapping with exactly these fields."""
    if not isinstance(data, Mapping):
        raise ModelError(f"In a model, {where} must be a mapping. Got {show(data)} instead.")
    for name in names:
        if name not in data:
            raise ModelError(f"In a model, {where} has no {name!r}: use an undamaged copy.")
    for name in data:
        if name not in names and name not in optional:
            raise ModelError(
                f"In a model, {where} has the unknown field {show(name)}: use the version of "
                f"Voile that wrote it."
            )
    return data


def read_list(data: object, where: str) -> list[Any]:
    """A list."""
    if not isinstance(data, list):
        raise ModelError(f"In a model, {where} must be a list. Got {show(data)} instead.")
    return data


def read_text(data: object, where: str) -> str:
    """Text that can be written as UTF-8."""
    if not isinstance(data, str) or not is_text(data):
        raise ModelError(f"In a model, {where} must be text. Got {show(data)} instead.")
    return data


def read_number(data: object, where: str) -> float:
    """A finite number; truth values are none."""
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        try:
            number = float(data)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ModelError(f"In a model, {where} must be finite numbers. Got {show(data)} instead.")


def read_table(
    data: object,
    shape: tuple[int, ...],
    where: str,
    *,
    least: float = -math.inf,
    null: float | None = None,
) -> Floats:
    """A read-only array of exactly this shape, of finite numbers.

    Parameters
    ----------
    data : object
        What stands in the file.
    shape : tuple of one or two int
    where : str
        The place, for messages.
    least : float
        Smallest number allowed.
    null : float or None
        What ``null`` stands for; without it, ``null`` is refused.
    """
    rows = read_list(data, where)
    if len(rows) != shape[0]:
        raise ModelError(
            f"In a model, {where} must have length {shape[0]}, one per bin or output. Got "
            f"{len(rows)} instead."
        )
    if len(shape) == 2:
        table = np.array(
            [read_table(row, shape[1:], where, least=least, null=null) for row in rows]
        )
    else:
        table = np.array(
            [null if one is None and null is not None else read_number(one, where) for one in rows]
        )
        if (table < least).any():
            raise ModelError(f"In a model, {where} must be >= {least:g}.")
    table.setflags(write=False)
    return table


def read_errors(data: object, shape: tuple[int, ...], where: str) -> Floats:
    """A table of standard deviations, in which ``null`` is infinity."""
    return read_table(data, shape, where, least=0.0, null=math.inf)


def is_same(stored: Sequence[object], expected: Sequence[object]) -> bool:
    """Whether levels are the same, also in type: 1 is not true here."""
    pairs = zip(stored, expected, strict=False)
    return len(stored) == len(expected) and all(
        type(one) is type(other) and one == other for one, other in pairs
    )


def show(value: object) -> str:
    """A short picture of any value, for messages."""
    try:
        return reprlib.repr(value)
    except ValueError:  # whole numbers of thousands of digits
        return type(value).__name__


def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object, refusing repeated names."""
    built: dict[str, Any] = {}
    for name, value in pairs:
        if name in built:
            raise ModelError(f"It says {name!r} twice: use an undamaged copy.")
        built[name] = value
    return built


def refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and infinities, which JSON does not have."""
    raise ModelError(f"It contains {constant}, which is not JSON: use an undamaged copy.")
