"""Single values as they stand in files: text, numbers within bounds, choices, arrays."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from voile.arrays import Array, read_array
from voile.strict import LARGEST_WHOLE, Unfit, is_text


@dataclass(frozen=True, kw_only=True)
class Stored:
    """How a value stands in a file, where its type does not tell.

    Attributes
    ----------
    name : str
        In the file, if it is not that of the field.
    least, most : float
        Smallest and largest number.
    null : float or None
        The number that ``null`` stands for; whatever is not finite is then written so.
    digits : int
        Significant digits that are written; 0 for all.
    optional : bool
        Whether it is left out where it is the field's default, and may be missing.
    later : bool
        Whether it is always written, and may be missing in files from before.
    inside : str
        Name of the mapping that it stands in, if it stands one level deeper.
    """

    name: str = ""
    least: float = -math.inf
    most: float = math.inf
    null: float | None = None
    digits: int = 0
    optional: bool = False
    later: bool = False
    inside: str = ""


USUAL = Stored()

Count = Annotated[int, Stored(least=0)]
Size = Annotated[int, Stored(least=1)]
ZeroToOne = Annotated[float, Stored(least=0.0, most=1.0)]
NonNegative = Annotated[float, Stored(least=0.0)]
Unknown = Annotated[float, Stored(least=0.0, null=math.inf)]
"""A number >= 0 that may not be known: infinite then, and ``null`` in a file."""


@dataclass(frozen=True)
class Coder:
    """How values of one annotation are read (`Unfit` if they are of another form) and written."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


def as_is(value: Any) -> Any:
    """The same."""
    return value


def _nothing(data: object) -> None:
    if data is not None:
        raise Unfit("must be null", data)


def _truth(data: object) -> bool:
    if not isinstance(data, bool):
        raise Unfit("must be true or false", data)
    return data


def read_text(data: object) -> str:
    """Text that can be written as UTF-8, without NUL."""
    if type(data) is not str or not is_text(data):
        raise Unfit("must be text", data)
    return data


PLAIN: dict[Any, Callable[[Any], Any]] = {
    type(None): _nothing,
    bool: _truth,
    str: read_text,
    object: as_is,
    Any: as_is,
}


def read_whole(data: object, stored: Stored) -> int:
    """A whole number within bounds; truth values are none."""
    least, most = max(stored.least, -LARGEST_WHOLE), min(stored.most, LARGEST_WHOLE)
    if type(data) is not int or not least <= data <= most:
        bounds = "" if least == -LARGEST_WHOLE else f" >= {least:g}"
        bounds += "" if most == LARGEST_WHOLE else f" and <= {most:g}"
        raise Unfit(f"must be a whole number{bounds}", data)
    return data


def number_coder(stored: Stored) -> Coder:
    """A finite number within bounds; truth values are none."""
    least, most, null, digits = stored.least, stored.most, stored.null, stored.digits

    def read(data: object) -> float:
        if type(data) is float:
            if math.isfinite(data) and least <= data <= most:
                return data
        elif data is None and null is not None:
            return null
        elif (
            type(data) is int and -LARGEST_WHOLE <= data <= LARGEST_WHOLE and least <= data <= most
        ):
            return float(data)
        bounds = "" if least == -math.inf else f" >= {least:g}"
        bounds += "" if most == math.inf else f" and <= {most:g}" if bounds else f" <= {most:g}"
        raise Unfit(f"must be a finite number{bounds}", data)

    def write(value: float) -> float | None:
        if null is not None and not math.isfinite(value):
            return None
        return float(f"{value:.{digits}g}") if digits else value

    return Coder(read, write)


def choice_coder(
    fits: Callable[[Any], bool], known: tuple[object, ...], make: Callable[[Any], Any]
) -> Coder:
    """One of some values."""

    def read(data: object) -> Any:
        if not isinstance(data, (str, int, type(None))) or not fits(data):
            raise Unfit(f"must be one of {', '.join(map(repr, known))}", data)
        return make(data)

    return Coder(read, as_is)


def array_coder(hint: Any, array: Array) -> Coder:
    """Nested lists as an array, or None where the annotation allows it."""
    args = typing.get_args(hint)
    if typing.get_origin(hint) is not np.ndarray:  # an array or None
        inner = array_coder(next(one for one in args if one is not type(None)), array)
        return Coder(
            lambda data: None if data is None else inner.read(data),
            lambda value: None if value is None else inner.write(value),
        )
    whole = np.issubdtype(typing.get_args(args[1])[0], np.integer)
    return Coder(lambda data: read_array(data, array, whole=whole), array.write)
