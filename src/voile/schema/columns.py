"""The kinds of column, and what is publicly known of each: Number and Category."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from typing import TypeAlias

import numpy as np

from voile.errors import SchemaError
from voile.schema.scale import Scale
from voile.strict import LARGEST_WHOLE, is_text

Level: TypeAlias = str | int | float | bool
"""One value of a category."""

_LARGEST_WHOLE_BOUND = 2.0**51
"""Between larger bounds floats have no halves, where whole numbers are told apart."""


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column and its public bounds.

    Durations are numbers in seconds, times of day in seconds since midnight. Dates are a kind of
    their own: `Date`.

    Parameters
    ----------
    lower, upper : float or None
        Public bounds, in the column's own units. Values outside are clamped. Give both, or neither:
        without them they are found privately, for a share of the budget.
    whole : bool
        Whether it is a whole number, such as a count. Other values are rounded, and values are told
        apart halfway between whole numbers. The bounds must be whole, too.
    missing : bool
        Whether a value can be missing. If it cannot, one that is missing all the same counts as the
        middle of the bounds.

    Raises
    ------
    SchemaError
        If only one bound is given, a bound is not a finite number, ``lower >= upper``, or a bound
        of whole numbers is none (or is beyond 2^51).

    Notes
    -----
    Neither `whole` nor `missing` is ever taken from the type of a column: one empty cell, or one
    fraction, gives a column another type, so that the type would tell about a row.

    Examples
    --------
    >>> Number(17, 90)
    Number(17, 90)
    >>> Number(0, 20, whole=True, missing=False)
    Number(0, 20, whole=True, missing=False)
    >>> Number().known
    False
    """

    lower: float | None = None
    upper: float | None = None
    whole: bool = field(default=False, kw_only=True)
    missing: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        check_truth(self.whole, "whole", "Number")
        check_truth(self.missing, "missing", "Number")
        if self.lower is None and self.upper is None:
            return
        if self.lower is None or self.upper is None:
            side = "lower" if self.lower is None else "upper"
            raise SchemaError(
                f"A Number needs both bounds or neither, and the {side} one is missing: give "
                f"Number(lower, upper), or Number() to have both found privately."
            )
        lower, upper = _finite(self.lower, "lower"), _finite(self.upper, "upper")
        if not lower < upper:
            raise SchemaError(
                f"The lower bound of a Number must be below the upper one. Got {self.lower!r} and "
                f"{self.upper!r} instead: swap or widen them."
            )
        # A width that overflows would turn every rescaled value into 0 or NaN.
        if not math.isfinite(upper - lower):
            raise SchemaError(
                f"The bounds {self.lower!r} and {self.upper!r} of a Number are too far apart: "
                f"their difference is not a finite float. Give narrower bounds."
            )
        if self.whole and not all(map(_is_whole_bound, (lower, upper))):
            raise SchemaError(
                f"The bounds of whole numbers must be whole, and at most 2^51 in size. Got "
                f"{self.lower!r} and {self.upper!r} instead: give such bounds, or whole=False."
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def known(self) -> bool:
        """Whether the bounds are given, so that nothing has to be found privately."""
        return self.lower is not None

    @property
    def scale(self) -> Scale:
        """What its values are: any numbers, or whole ones."""
        return "whole" if self.whole else "number"

    def __repr__(self) -> str:
        bounds = (one for one in (self.lower, self.upper) if one is not None)
        told = [*map(_short, bounds), *(["whole=True"] if self.whole else [])]
        return f"Number({', '.join([*told, *([] if self.missing else ['missing=False'])])})"


@dataclass(frozen=True, slots=True)
class Category:
    """A column of levels, and its public list of them.

    Parameters
    ----------
    levels : sequence of str, int, float or bool, or None
        Public levels, in order; stored as a tuple. A value that is not listed counts as "other".
        Values are compared as Python compares them: 1, 1.0 and True are one level, "1" is another.
        None leaves the levels to be found privately, for a share of the budget.
    missing : bool
        Whether a value can be missing. If it cannot, one that is missing all the same counts as
        "other".
    ordered : bool
        Whether the levels have an order, from the least to the greatest, as listed: they are shown
        in it, additive models let neighbours vary together, and may be ``monotone`` in them.

    Raises
    ------
    SchemaError
        If a level occurs twice, is missing (None, NaN), infinite, text with NUL or that cannot be
        written as UTF-8, or of another type; or if levels are ordered and not listed.

    Examples
    --------
    >>> Category(["no", "yes"])
    Category(['no', 'yes'])
    >>> Category(["mild", "moderate", "severe"], ordered=True)
    Category(['mild', 'moderate', 'severe'], ordered=True)
    >>> Category().known
    False
    """

    # Any sequence is accepted; __post_init__ leaves a tuple behind.
    levels: Sequence[Level] | None = None
    missing: bool = field(default=True, kw_only=True)
    ordered: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_truth(self.missing, "missing", "Category")
        check_truth(self.ordered, "ordered", "Category")
        if self.ordered and self.levels is None:
            raise SchemaError(
                "The levels of an ordered Category must be listed, the least first: nobody else "
                "knows their order. Give Category(['mild', 'severe'], ordered=True)."
            )
        if self.levels is not None:
            object.__setattr__(self, "levels", _checked_levels(self.levels))

    @property
    def known(self) -> bool:
        """Whether the levels are given, so that nothing has to be found privately."""
        return self.levels is not None

    def __repr__(self) -> str:
        told = [] if self.levels is None else [repr(list(self.levels))]
        told += ["ordered=True"] if self.ordered else []
        return f"Category({', '.join([*told, *([] if self.missing else ['missing=False'])])})"


Column: TypeAlias = Number | Category
"""What a schema can say of a column."""


def check_truth(value: object, name: str, kind: str) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, bool):
        raise SchemaError(f"The '{name}' of a {kind} must be True or False. Got {value!r} instead.")


def _is_whole_bound(bound: float) -> bool:
    return bound.is_integer() and abs(bound) <= _LARGEST_WHOLE_BOUND


def _finite(bound: object, side: str) -> float:
    """Return a bound as a finite float, or say why it is none."""
    if isinstance(bound, (int, float, np.integer, np.floating)) and not isinstance(bound, bool):
        try:
            number = float(bound)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    remedy = "give a bound in the column's units, or Number() to have both found privately"
    if isinstance(bound, (date, np.datetime64)) or (isinstance(bound, str) and len(bound) >= 8):
        remedy = "for dates and times give Date(lower, upper)"
    raise SchemaError(
        f"The {side} bound of a Number must be a finite number. Got {bound!r} instead: {remedy}."
    )


def _short(number: float) -> str:
    """Write whole numbers without a trailing '.0'."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _checked_levels(levels: object) -> tuple[Level, ...]:
    """Return levels as a tuple of plain Python values, or say which one is wrong."""
    if isinstance(levels, (str, bytes, Mapping, Set)) or not isinstance(levels, Iterable):
        raise SchemaError(
            f"The levels of a Category must be an ordered sequence such as a list. Got "
            f"{type(levels).__name__} instead: give Category([...]), or Category() to have them "
            f"found privately."
        )
    checked = tuple(_checked_level(level) for level in levels)
    repeated = [level for level, times in Counter(checked).items() if times > 1]
    if repeated:
        raise SchemaError(
            f"The level {repeated[0]!r} of a Category occurs more than once (1, 1.0 and True count "
            f"as the same): list every level once."
        )
    return checked


def _checked_level(level: object) -> Level:
    """Return one level as a plain Python value, or say what is wrong with it."""
    if isinstance(level, np.generic):
        level = level.item()
    if isinstance(level, bool):
        return level
    if isinstance(level, str):
        text = str.__str__(level)
        if is_text(text):
            return text
    elif isinstance(level, int):
        whole = int.__int__(level)
        if abs(whole) <= LARGEST_WHOLE:
            return whole
    elif isinstance(level, float):
        number = float.__float__(level)
        if math.isfinite(number):
            return number
    raise SchemaError(
        f"A level of a Category must be text, a finite number of at most 64 bits, or a truth value."
        f" Got {level!r} instead: leave it out (missing values have a code of their own)."
    )
