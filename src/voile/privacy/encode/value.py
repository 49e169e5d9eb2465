"""Private values one by one: any Python object as a number, a code or a level."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from voile.schema import Category, Column, Date, Number
from voile.schema.dates import EPOCH, read_instant
from voile.schema.scale import on_scale
from voile.strict import LARGEST_WHOLE, is_text

PrivateColumn: TypeAlias = NDArray[Any]
"""Encoded private rows of one column, shape (rows,)."""

_LARGEST: Final = float(np.finfo(np.float64).max)
_MIDNIGHT: Final = dt.time()
_SECONDS_PER_UNIT: Final = {
    "Y": 31_556_952.0,  # the mean Gregorian year and its twelfth; durations only
    "M": 2_629_746.0,
    "W": 604_800.0,
    "D": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
}
_KNOWN_MODULES: Final = frozenset({"builtins", "datetime", "pandas"})
"""Packages whose dates, times and durations are asked by their own methods."""
_ASKED_DIRECTLY: Final = frozenset({str, int, float, bool, type(None)})
"""Types whose values are looked up as they are: equal ones are one level, and NaN is missing."""
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_UNITS_PER_MICROSECOND: Final = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}


TRUTH_TEXTS: Final = {
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
    "1": True,
    "0": False,
}
"""Texts of truth values, in small letters."""


class UnfitValue:
    """The type of a value that is neither missing nor able to be a level."""


UNFIT: Final = UnfitValue()
"""A value that is neither missing nor able to be a level."""

_PlainValue: TypeAlias = "str | int | float | UnfitValue | None"


def encode_list(private_values: Sequence[object], column: Column) -> PrivateColumn:
    """Encode any Python values, one by one."""
    if isinstance(column, Number):
        read = _instant_of if isinstance(column, Date) else _number_of
        private_numbers = np.fromiter(map(read, private_values), np.float64, len(private_values))
        return clamp(private_numbers, column)
    if column.levels is None:
        private_levels = np.empty(len(private_values), object)
        private_levels[:] = [_level_of(value) for value in private_values]
        return private_levels
    return _codes_of(private_values, column)


def _codes_of(private_values: Sequence[object], column: Category) -> NDArray[np.int32]:
    """Look values up among the levels."""
    levels = column.levels or ()
    other = len(levels)
    missing = other + 1 if column.missing else other
    code_of: dict[Any, int] = {level: code for code, level in enumerate(levels)}
    if levels and all(isinstance(level, bool) for level in levels):
        # A column of truth values may come as text, as it does from files.
        for text, truth in TRUTH_TEXTS.items():
            if truth in code_of:
                code_of |= dict.fromkeys((text, text.capitalize(), text.upper()), code_of[truth])
    private_kinds = set(map(type, private_values))
    if private_kinds <= _ASKED_DIRECTLY:
        return _codes_of_plain(private_values, code_of | {None: missing}, other)
    private_codes = np.empty(len(private_values), np.int32)
    for row, value in enumerate(private_values):
        kind = type(value)
        if kind is not str and kind is not int:
            plain = plain_value(value)
            if plain is None:
                private_codes[row] = missing
                continue
            if isinstance(plain, UnfitValue):
                private_codes[row] = other
                continue
            value = plain
        private_codes[row] = code_of.get(value, other)
    return private_codes


def _codes_of_plain(
    private_values: Sequence[Any], code_of: dict[Any, int], other: int
) -> NDArray[np.int32]:
    """Look up values of Python's own types, which need not be reduced first."""
    found = map(code_of.get, private_values, repeat(other))
    private_codes = np.fromiter(found, np.int32, len(private_values))
    for row in np.flatnonzero(private_codes == other).tolist():
        value = private_values[row]
        if value != value:
            private_codes[row] = code_of[None]
    return private_codes


def _level_of(value: object) -> str | int | float | None:
    """Return a value that a Category accepts as a level, or None."""
    plain = plain_value(value)
    return None if isinstance(plain, UnfitValue) else plain


def plain_value(value: Any) -> _PlainValue:
    """Reduce any value to text, a number, None (missing) or unfit.

    Values that are equal become the same (1, 1.0, True and Decimal(1) all become 1): otherwise the
    first row that holds one would decide how a level that is found privately looks.
    """
    kind = type(value)
    if kind is str:
        return value if is_text(value) else UNFIT
    if value is None:
        return None
    # Only types known here are ever asked anything: the methods of others may do anything. By
    # type(), because isinstance would ask the value what its class is.
    try:
        if issubclass(kind, (bool, np.bool_)):
            return int(value)
        if issubclass(kind, str):
            return plain_value(str.__str__(value))
        if issubclass(kind, (np.datetime64, np.timedelta64)):
            return _plain_time(value)
        if issubclass(kind, (int, np.integer)):
            whole = int.__int__(value) if issubclass(kind, int) else np.generic.__int__(value)
            return whole if abs(whole) <= LARGEST_WHOLE else UNFIT
        if issubclass(kind, (float, np.floating, Decimal)):
            return _plain_number(float_of(value))
        if issubclass(kind, (dt.date, dt.time, dt.timedelta)):
            value = _stripped(value, kind)
            if value != value:  # pandas' NaT is a datetime
                return None
            if issubclass(kind, dt.date):
                return instant_text(_clock_seconds(value))
            return _plain_number(_clock_seconds(value))
        return _plain_pandas(value)
    except (Exception, SystemExit):  # a time zone may be anybody's code
        return UNFIT


def _stripped(value: Any, kind: type) -> Any:
    """A stranger's date, time or duration as what it derives from; its methods are not asked."""
    if kind.__module__.partition(".")[0] in _KNOWN_MODULES:
        return value
    if issubclass(kind, dt.datetime):
        return dt.datetime.combine(dt.datetime.date(value), dt.datetime.timetz(value))
    if issubclass(kind, dt.date):
        return dt.date.fromordinal(dt.date.toordinal(value))
    if issubclass(kind, dt.time):
        return dt.datetime.combine(EPOCH, value, tzinfo=None).time()
    return dt.timedelta(microseconds=dt.timedelta.__floordiv__(value, _MICROSECOND))


def _plain_number(number: float) -> _PlainValue:
    """Reduce a float: whole numbers become int, NaN is missing, infinities are unfit."""
    if number != number:
        return None
    if math.isinf(number):
        return UNFIT
    return int(number) if number.is_integer() and abs(number) <= LARGEST_WHOLE else number


def _plain_time(value: np.datetime64 | np.timedelta64) -> _PlainValue:
    """Reduce one numpy date, time or duration."""
    seconds = float(seconds_of(np.array([value]))[0])
    return instant_text(seconds) if isinstance(value, np.datetime64) else _plain_number(seconds)


def _plain_pandas(value: object) -> _PlainValue:
    """Reduce pandas' own scalars: its missing value, and intervals and periods as text."""
    pandas = sys.modules.get("pandas")  # its values exist only if it is imported
    if pandas is None:
        return UNFIT
    if value is pandas.NA:
        return None
    return str(value) if issubclass(type(value), (pandas.Interval, pandas.Period)) else UNFIT


def _number_of(value: Any) -> float:
    """Read any value as a float; NaN if it is missing or cannot be read."""
    kind = type(value)
    if kind is float:
        return value  # type: ignore[no-any-return]
    try:
        if kind is str or kind is int:
            return float(value)
        if issubclass(kind, str):
            return float(str.__str__(value))
        if issubclass(kind, (np.datetime64, np.timedelta64)):
            return float(seconds_of(np.array([value]))[0])
        if issubclass(kind, (int, np.bool_, np.integer, float, np.floating, Decimal)):
            return float_of(value)
        if issubclass(kind, (dt.date, dt.time, dt.timedelta)):
            return _clock_seconds(_stripped(value, kind))
    except (Exception, SystemExit):  # a time zone may be anybody's code
        return math.nan
    return math.nan


def _instant_of(value: Any) -> float:
    """Read any value of a date as seconds since the epoch; text is a date, not a number."""
    if not issubclass(type(value), str):
        return _number_of(value)
    found = read_instant(str.__str__(value))
    return math.nan if found is None else found


def float_of(
    value: int | np.bool_ | np.integer[Any] | float | np.floating[Any] | Decimal,
) -> float:
    """Convert a number, asking the number types themselves rather than a subclass of them."""
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int):
        return int.__float__(value)
    if isinstance(value, Decimal):
        return Decimal.__float__(value)
    with np.errstate(all="ignore"):
        return np.generic.__float__(value)


def _clock_seconds(value: dt.date | dt.time | dt.timedelta) -> float:
    """Convert Python's dates, times and durations to seconds."""
    if isinstance(value, dt.timedelta):
        since = value
    elif isinstance(value, dt.time):
        since = dt.datetime.combine(EPOCH, value.replace(tzinfo=None)) - EPOCH
    elif isinstance(value, dt.datetime):
        since = value - (EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=dt.UTC))
    else:
        since = value - EPOCH.date()
    # Rounded as in in_seconds, so that a time is the same number in any frame.
    return float(since // dt.timedelta(microseconds=1)) / 1e6


def instant_text(seconds: float) -> str | UnfitValue | None:
    """Write seconds since the epoch as ISO 8601 text in UTC, to the microsecond."""
    if seconds != seconds:
        return None
    try:
        moment = EPOCH + dt.timedelta(seconds=seconds)
    except OverflowError:  # before the year 1 or after 9999
        return UNFIT
    return moment.date().isoformat() if moment.time() == _MIDNIGHT else moment.isoformat()


def seconds_of(private_times: NDArray[Any]) -> NDArray[np.float64]:
    """Convert numpy dates, times or durations to seconds, shape (rows,); NaT becomes NaN."""
    unit, count = np.datetime_data(private_times.dtype)
    if private_times.dtype.kind == "M" and unit in ("Y", "M"):  # years and months vary in length
        private_times, unit, count = private_times.astype("M8[D]"), "D", 1
    private_missing = np.isnat(private_times)
    private_seconds = in_seconds(private_times.astype(np.int64) * count, unit)
    private_seconds[private_missing] = np.nan
    return private_seconds


def in_seconds(private_units: NDArray[np.int64], unit: str) -> NDArray[np.float64]:
    """Convert time units to seconds, to the microsecond, as Python's own times have it."""
    if unit in _UNITS_PER_MICROSECOND:
        private_units, unit = private_units // _UNITS_PER_MICROSECOND[unit], "us"
    private_floats = private_units.astype(np.float64)
    if unit in ("ms", "us"):
        return private_floats / (1e3 if unit == "ms" else 1e6)
    # numpy's unit-less dates can only be missing, so their factor does not matter.
    return private_floats * _SECONDS_PER_UNIT.get(unit, 1.0)


def clamp(private_numbers: NDArray[np.float64], column: Number) -> NDArray[np.float64]:
    """Move numbers to the bounds, or to finite ones without them, and round them to the scale.

    NaN stays, unless the schema says that nothing can be missing: then it is the middle.
    """
    if column.lower is None or column.upper is None:
        return on_scale(np.clip(private_numbers, -_LARGEST, _LARGEST), column.scale)
    private_numbers = np.clip(private_numbers, column.lower, column.upper)
    if not column.missing:
        middle = column.lower / 2 + column.upper / 2
        private_numbers = np.where(np.isnan(private_numbers), middle, private_numbers)
    # Halves upwards, as the bins of a model have them: a cut belongs to the bin above it.
    return on_scale(private_numbers, column.scale)
