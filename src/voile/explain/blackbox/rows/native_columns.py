"""Encoded columns turned back into the types that a user's own table has.

Levels have the type of their column, and what is missing (or "other", whose value nobody knows) is
missing as that kind of table has it: NaN in numpy and pandas, NA or null where the type has one. A
type without missing values gives way to the one that numpy or pandas would choose: float64 for
whole numbers, objects for truth values and text.

Whether 64-bit numbers are whole or floating-point is decided by the schema, never by the table: one
empty cell or one fraction changes the type of a column, and what the model is handed for all other
rows must not depend on it.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.errors import SchemaError
from voile.schema import Category, Column, Date, Number
from voile.schema.value_texts import value_text

Values = NDArray[Any]
"""Shape (rows,): float64 with NaN for numbers, objects (levels, or None) for categories."""

_MICRO = 1e6


def plain_values(encoded: NDArray[Any], column: Column) -> Values:
    """Encoded rows as floats (NaN: missing), or as levels (None: missing or other)."""
    if isinstance(column, Number):
        return np.asarray(encoded, dtype=np.float64)
    table = np.full(len(column.levels or ()) + 2, None, dtype=object)
    table[:-2] = column.levels or ()
    return np.asarray(table[np.asarray(encoded, dtype=np.intp)])


def public_kind(kind: Any, column: Column) -> Any:
    """The type that a column has for the model: 64-bit numbers by the schema, others as they are.

    Parameters
    ----------
    kind : type of numpy, pandas, Arrow or narwhals; or None
    column : Number or Category
        Whole numbers are integers, if the type has missing values or the schema says that there are
        none (an unlisted level is missing); all else is floating-point.
    """
    if isinstance(column, Number):
        whole, gaps = column.whole, column.missing
    else:
        whole, gaps = all(isinstance(level, int) for level in column.levels or ()), True
    if isinstance(kind, np.dtype):
        if kind.kind in "if" and kind.itemsize == 8:
            return np.dtype(np.int64 if whole and not gaps else np.float64)
        return kind
    if isinstance(kind, (nw.Int64, nw.Float64)):
        return nw.Int64() if whole else nw.Float64()
    name = str(kind)
    if name in ("Int64", "Float64"):
        import pandas as pd

        return pd.Int64Dtype() if whole else pd.Float64Dtype()
    if name.partition("[")[0] in ("int64", "double"):
        import pyarrow as pa

        arrow = pa.int64() if whole else pa.float64()
        return type(kind)(arrow) if name.endswith("]") else arrow
    return kind


def array_column(encoded: NDArray[Any], column: Column, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A column of a numpy type, shape (rows,)."""
    values = plain_values(encoded, column)
    return _cast(_texts(values, column) if dtype.kind in "OUST" else values, dtype)


def list_column(encoded: NDArray[Any], column: Column) -> list[Any]:
    """A column without a type: floats (NaN: missing), or levels (None: missing)."""
    values: list[Any] = _texts(plain_values(encoded, column), column).tolist()
    return values


def pandas_column(encoded: NDArray[Any], column: Column, dtype: Any) -> Any:
    """A column of a pandas type, shape (rows,): a Series.

    The categories of a categorical type are the column's public levels.
    """
    import pandas as pd

    if not isinstance(dtype, pd.CategoricalDtype):
        values = plain_values(encoded, column)
        text = pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype)
        return _pandas_series(_texts(values, column) if text else values, dtype)
    kind = dtype.categories.dtype
    if isinstance(column, Number):
        values = _pandas_series(plain_values(encoded, column), kind)
        return pd.Series(pd.Categorical(values, ordered=dtype.ordered))
    levels = plain_values(np.arange(len(column.levels or ())), column)
    codes = np.where(encoded < len(levels), encoded, -1)
    categories = pd.Index(_pandas_series(levels, kind))
    return pd.Series(pd.Categorical.from_codes(codes, categories, ordered=dtype.ordered))


def arrow_column(encoded: NDArray[Any], column: Column, kind: Any) -> Any:
    """A column of an Arrow type, shape (rows,): an Array."""
    import pyarrow as pa

    if not pa.types.is_dictionary(kind):
        values = plain_values(encoded, column)
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        return _arrow_array(_texts(values, column) if text else values, kind)
    if isinstance(column, Number):
        values = _arrow_array(plain_values(encoded, column), kind.value_type)
        return values.dictionary_encode().cast(kind)
    count = len(column.levels or ())
    levels = _arrow_array(plain_values(np.arange(count), column), kind.value_type)
    places = pa.array(encoded, kind.index_type, mask=np.asarray(encoded >= count))
    return pa.DictionaryArray.from_arrays(places, levels, ordered=kind.ordered)


def explain_misfit(name: str, column: Column, kind: object) -> SchemaError:
    """Say that what is public of a column cannot be values of the column's type."""
    what = "levels" if isinstance(column, Category) else "numbers"
    return SchemaError(
        f"The {what} of column {name!r} in the schema cannot be values of its type in the table "
        f"({kind}), so the model cannot be asked about them: correct the schema, or give the "
        f"column another type (text, numbers or truth values)."
    )


def _texts(values: Values, column: Column) -> Values:
    """Dates as ISO 8601 text, for a column that has them so; all else as it is."""
    if not isinstance(column, Date):
        return values
    found = np.full(len(values), None, dtype=object)
    for place in np.flatnonzero(~np.isnan(values)):
        found[place] = value_text(float(values[place]), column.scale).replace(" ", "T")
    return found


def _missing(values: Values) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.isnan(values)


def _with_nan(values: Values, missing: NDArray[np.bool_]) -> Values:
    result = values.astype(object)
    result[missing] = np.nan
    return result


def _cast(values: Values, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values of a numpy type; a type that lacks missing values gives way where some are missing."""
    missing = _missing(values)
    gaps = bool(missing.any())
    match dtype.kind:
        case "f":
            return values.astype(np.float64).astype(dtype)
        case "i" | "u":
            if gaps:
                return _round(values.astype(np.float64))
            return _whole(values, dtype)
        case "b":
            truths = _truths(values)
            return _with_nan(truths, missing) if gaps else truths
        case "M" | "m":
            micro = _microseconds(values, missing).astype(f"{dtype.kind}8[us]")
            micro[missing] = np.array("NaT", micro.dtype)
            return micro.astype(dtype)
        case "O":
            return _with_nan(values, missing)
        case _:
            return _with_nan(values, missing) if gaps else values.astype(dtype)


def _round(numbers: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.rint(numbers), dtype=np.float64)


def _truths(values: Values) -> NDArray[np.bool_]:
    """Truth values of numbers, or of levels that are 0 and 1; False where missing."""
    if values.dtype != object:
        return np.asarray(_round(values) > 0)
    if any(value not in (0, 1, None) for value in set(values.tolist())):
        raise ValueError("a level is no truth value")
    return values.astype(np.bool_)


def _whole(values: Values, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Whole numbers; levels exactly, numbers rounded and within what the type holds."""
    if values.dtype == object:
        levels = values.astype(dtype)
        if (levels != values).any():
            raise ValueError("a level is no whole number")
        return levels
    info = np.iinfo(dtype)
    # The largest number of 64 bits is no float: the next one below it is.
    return _round(np.clip(values, info.min, np.nextafter(float(info.max), 0.0))).astype(dtype)


def _microseconds(values: Values, missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Whole microseconds of seconds or of ISO 8601 text (levels of dates); 0 where missing."""
    if values.dtype == object:
        values = np.array([_seconds(value) for value in values], dtype=np.float64)
    return np.rint(np.where(missing, 0.0, values) * _MICRO).astype(np.int64)


def _seconds(value: Any) -> float:
    if not isinstance(value, str):
        return 0.0 if value is None else float(value)
    return float(np.datetime64(value, "us").astype(np.int64)) / _MICRO


def _pandas_series(values: Values, dtype: Any) -> Any:
    import pandas as pd

    if isinstance(dtype, pd.DatetimeTZDtype):
        instants = pd.Series(_cast(values, np.dtype("M8[us]")))
        return instants.dt.tz_localize("UTC").astype(dtype)
    if isinstance(dtype, np.dtype):
        array = _cast(values, dtype)
        # Left to itself, pandas makes text of objects.
        return pd.Series(array, dtype=array.dtype)
    # Nullable types say of which numpy type they are; text and the rest start from objects.
    beneath: np.dtype[Any] = getattr(dtype, "numpy_dtype", np.dtype(object))
    if beneath.kind not in "iufbMm":
        beneath = np.dtype(object)
    return pd.Series(_cast(values, beneath), dtype=dtype)


def _arrow_array(values: Values, kind: Any) -> Any:
    import pyarrow as pa

    is_kind, missing = pa.types, _missing(values)
    if is_kind.is_temporal(kind):
        units = pa.array(_microseconds(values, missing), pa.int64(), mask=missing)
        if is_kind.is_duration(kind):
            return units.cast(pa.duration("us")).cast(kind, safe=False)
        if is_kind.is_time(kind):
            return units.cast(pa.time64("us")).cast(kind, safe=False)
        return units.cast(pa.timestamp("us")).cast(kind, safe=False)
    if is_kind.is_boolean(kind):
        return pa.array(_truths(values), kind, mask=missing)
    if is_kind.is_integer(kind):
        filled = np.where(missing, 0, values)
        whole = _whole(filled, np.dtype(kind.to_pandas_dtype()))
        return pa.array(whole, kind, mask=missing)
    if values.dtype == object:
        return pa.array(values, kind)
    return pa.array(values, mask=missing).cast(kind, safe=False)
