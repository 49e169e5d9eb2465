"""Arrays of records: of declared sizes and bounds, read-only, and as nested lists in files."""

from __future__ import annotations

import math
import typing
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from voile.strict import Strict, Unfit

Floats = NDArray[np.float64]

LARGEST = 1e100
"""Numbers are no larger if nothing else is said: sums and products of them stay finite."""

LARGEST_WHOLE = 2**31
"""Whole numbers in arrays are no larger: they are colours, and numbers of classes."""


@dataclass(frozen=True, init=False)
class Array:
    """What an array of a record must be.

    Attributes
    ----------
    sizes : tuple of str
        Per dimension, the attribute of the record whose length (or which number) it has. A name
        that ends in "shape" gives several dimensions.
    least, most : float
        Smallest and largest number; the smallest is minus the largest if nothing else is said.
    null : float or None
        The number that ``null`` stands for, which is allowed besides.
    digits : int
        Significant digits that are written; 0 for all.
    """

    sizes: tuple[str, ...]
    least: float
    most: float
    null: float | None
    digits: int

    def __init__(
        self,
        *sizes: str,
        least: float | None = None,
        most: float = LARGEST,
        null: float | None = None,
        digits: int = 0,
    ) -> None:
        for name, value in {
            "sizes": sizes,
            "least": -most if least is None else least,
            "most": most,
            "null": null,
            "digits": digits,
        }.items():
            object.__setattr__(self, name, value)

    def shape_in(self, *homes: object) -> tuple[int, ...]:
        """The shape by the attributes of the first of these records that has them."""
        shape: list[int] = []
        for size in self.sizes:
            value = next(getattr(home, size) for home in homes if hasattr(home, size))
            if size.endswith("shape"):
                shape += value
            else:
                shape.append(value if isinstance(value, int) else len(value))
        return tuple(shape)

    def outside(self, array: Floats) -> NDArray[np.bool_]:
        """Which numbers are not allowed."""
        inside = np.isfinite(array) & (array >= self.least) & (array <= self.most)
        if self.null is not None:
            inside |= np.isnan(array) if math.isnan(self.null) else array == self.null
        return np.asarray(~inside)

    @property
    def wanted(self) -> str:
        """The numbers that are allowed, in words."""
        if self.least == -self.most:
            return "finite numbers" + ("" if math.isinf(self.most) else f" up to {self.most:g}")
        return f"finite numbers >= {self.least:g} and <= {self.most:g}"

    def write(self, array: NDArray[Any]) -> list[Any]:
        """Nested lists, with None for what is not finite and may be so."""
        if self.digits:
            few = [float(f"{one:.{self.digits}g}") for one in array.ravel().tolist()]
            return list(np.array(few).reshape(array.shape).tolist())
        if self.null is None or np.isfinite(array).all():
            return list(array.tolist())
        plain = array.astype(object)
        plain[~np.isfinite(array)] = None
        return list(plain.tolist())


def read_array(data: object, array: Array, *, whole: bool) -> Floats:
    """Numbers from nested lists of equal lengths; nothing else is made a number.

    Raises
    ------
    Unfit
    """
    if type(data) is not list:
        raise Unfit("must be a list", data)
    flat, shape = data, [len(data)]
    while flat and type(flat[0]) is list:
        width = len(flat[0])
        if any(type(row) is not list or len(row) != width for row in flat):
            raise Unfit("must be lists of one length: its shape is none", data)
        shape.append(width)
        flat = list(chain.from_iterable(flat))
    kinds = {int} if whole else {int, float} if array.null is None else {int, float, type(None)}
    seen = set(map(type, flat))
    if not seen <= kinds:
        first = next(one for one in flat if type(one) not in kinds)
        raise Unfit(f"must be {'whole' if whole else 'finite'} numbers", first)
    try:
        found = np.array(flat, dtype=np.float64)
    except OverflowError:
        raise Unfit("must be finite numbers", data) from None
    wrong = array.outside(found) | ~np.isfinite(found)
    if array.null is not None and type(None) in seen:
        holes = np.array([one is None for one in flat], dtype=np.bool_)
        found[holes] = array.null
        wrong &= ~holes
    if wrong.any():
        raise Unfit(f"must be {array.wanted}", flat[int(np.argmax(wrong))])
    return found.reshape(shape)


def freeze_arrays(
    record: object, strict: Strict, *within: object, nan_is_null: bool = False
) -> None:
    """Make every declared array of a frozen record read-only, and what it is declared to be.

    Parameters
    ----------
    record : dataclass
        Its arrays may be nested lists so far; they are replaced by copies.
    strict : Strict
        Whose error is raised, and what it says the record is.
    *within : object
        Records that it is part of, for sizes that it does not tell itself.
    nan_is_null : bool
        Whether NaN may stand where there is a number for what is not known.

    Raises
    ------
    VoileError
        If they are no numbers, of another shape or beyond their bounds.
    """
    found = {}
    cls: type = type(record)
    for name, (array, kind) in _declared(cls).items():
        given, what = getattr(record, name), f"The {name.replace('_', ' ')} of {strict.what}"
        if given is None:
            continue
        try:
            values = np.array(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise strict.error(f"{what} must be numbers: {error}.") from error
        if nan_is_null and array.null is not None:
            values[np.isnan(values)] = array.null
        found[name] = (array, values, kind, what)
        object.__setattr__(record, name, values)
    for name, (array, values, kind, what) in found.items():
        shape = array.shape_in(record, *within)
        if values.size == 0 and 0 in shape:  # nested lists without rows do not tell their width
            values = values.reshape(shape)
        if values.shape != shape:
            raise strict.error(f"{what} must have shape {shape}. Got {values.shape} instead.")
        if array.outside(values).any():
            raise strict.error(f"{what} must be {array.wanted}.")
        if np.issubdtype(kind, np.integer):
            if (values != np.rint(values)).any() or (np.abs(values) > LARGEST_WHOLE).any():
                raise strict.error(f"{what} must be whole numbers up to {LARGEST_WHOLE}.")
            values = values.astype(kind)
        values.setflags(write=False)
        object.__setattr__(record, name, values)


@lru_cache(maxsize=256)
def _declared(cls: type) -> dict[str, tuple[Array, Any]]:
    """The arrays of a class, and the type of their numbers."""
    found = {}
    hints = typing.get_type_hints(cls, include_extras=True)
    for one in fields(cls):
        hint = hints[one.name]
        if typing.get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Array):
            kinds = (hint.__origin__, *typing.get_args(hint.__origin__))
            of = next(kind for kind in kinds if typing.get_origin(kind) is np.ndarray)
            found[one.name] = (hint.__metadata__[0], typing.get_args(typing.get_args(of)[1])[0])
    return found
