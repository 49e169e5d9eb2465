"""What the type of a column says about its values, without a look at any of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.dtypes import DType
from numpy.typing import NDArray

from voile.errors import DataError

Values: TypeAlias = "nw.Series[Any] | NDArray[Any] | list[Any]"
"""Private values of one column: a narwhals series, an array of shape (rows,), or a list."""


class Kind(StrEnum):
    """What the type of a column says about its values.

    DATE is for days, TIME for instants (dates with a time), DURATION for durations and times of
    day.
    """

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    DURATION = "duration"
    BOOLEAN = "boolean"
    OTHER = "other"


def kind_of_values(values: Values) -> Kind:
    """Tell what the type of a single column says; lists and arrays of objects say nothing."""
    if isinstance(values, nw.Series):
        return kind_of_dtype(values.dtype, values.to_native())
    if isinstance(values, np.ndarray):
        return kind_of_array(values.dtype)
    return Kind.OTHER


def is_declared_text(values: Values) -> bool:
    """Whether the type of a single column says that its values are texts; objects say nothing."""
    if isinstance(values, nw.Series):
        declared = str(getattr(values.to_native(), "dtype", ""))
        return declared != "object" and isinstance(
            values.dtype, (nw.String, nw.Categorical, nw.Enum)
        )
    return isinstance(values, np.ndarray) and values.dtype.kind in "US"


def is_declared_whole(values: Values) -> bool:
    """Whether the type of a single column says that its values are whole numbers."""
    if isinstance(values, nw.Series):
        return kind_of_values(values) is Kind.NUMBER and values.dtype.is_integer()
    return isinstance(values, np.ndarray) and values.dtype.kind in "iu"


def kind_of_dtype(dtype: DType, native: Any) -> Kind:
    """Tell the kind of a narwhals type; `native` is looked at for its declared type only."""
    declared = str(getattr(native, "dtype", getattr(native, "type", "")))
    if declared.startswith("complex"):
        raise _complex()
    # narwhals guesses the type of a pandas object column from its values: do not believe it.
    if declared == "object":
        return Kind.OTHER
    # narwhals does not know every decimal and date type of Arrow.
    if dtype.is_numeric() or declared.startswith("decimal"):
        return Kind.NUMBER
    if isinstance(dtype, (nw.Duration, nw.Time)):
        return Kind.DURATION
    if isinstance(dtype, nw.Date) or declared.startswith("date32"):
        return Kind.DATE
    if dtype.is_temporal() or declared.startswith("date"):
        return Kind.TIME
    if isinstance(dtype, nw.Boolean):
        return Kind.BOOLEAN
    return Kind.OTHER


def kind_of_array(dtype: np.dtype[Any]) -> Kind:
    """Tell the kind of a numpy type."""
    match dtype.kind:
        case "i" | "u" | "f":
            return Kind.NUMBER
        case "M":
            return Kind.DATE if np.datetime_data(dtype)[0] in ("Y", "M", "W", "D") else Kind.TIME
        case "m":
            return Kind.DURATION
        case "b":
            return Kind.BOOLEAN
        case "c":
            raise _complex()
        case _:
            return Kind.OTHER


def _complex() -> DataError:
    """Say that a column's type is complex (a type is public, whatever the values)."""
    return DataError("Complex data not supported: give its real and imaginary parts as columns.")
