"""One private column, encoded by the fastest way that its type allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.privacy.encode.identity import Described, Identity, encode_each
from voile.privacy.encode.value import (
    UNFIT,
    PrivateColumn,
    clamp,
    in_seconds,
    instant_text,
    seconds_of,
)
from voile.schema import Number
from voile.schema.kinds import Values


def encode_values(private_values: Values, column: Described) -> PrivateColumn:
    """Encode one column, or a slice of it, by the fastest way that its type allows.

    Parameters
    ----------
    private_values : narwhals series, array of shape (rows,) or list
        As in `PickedRows`.
    column : Number, Category or Identity
        What is public about it; Identity for ids.

    Returns
    -------
    array of shape (rows,)
    """
    if isinstance(private_values, nw.Series):
        return _encode_series(private_values, column)
    if isinstance(private_values, np.ndarray):
        return _encode_array(private_values, column)
    return encode_each(private_values, column)


def _encode_series(private_values: nw.Series[Any], column: Described) -> PrivateColumn:
    """Encode a series of any data frame, through Arrow if its type has a counterpart there."""
    private_native = private_values.to_native()
    if _is_numpy_beneath(private_native):
        return _encode_numeric(private_native.to_numpy(), column)
    private_arrow = _arrow_of(private_values)
    if private_arrow is None:
        return encode_each(_list_of(private_values), column)
    if not hasattr(private_arrow, "chunks"):
        return _encode_arrow(private_arrow, column)
    private_chunks = [_encode_arrow(chunk, column) for chunk in private_arrow.chunks]
    return np.concatenate([*private_chunks, encode_each([], column)], dtype=_dtype_of(column))


def _is_numpy_beneath(private_native: Any) -> bool:
    """Whether a series of pandas is a numpy array of numbers: Arrow would look for every NaN."""
    kind = getattr(private_native, "dtype", None)
    return isinstance(kind, np.dtype) and kind.kind in "biuf" and hasattr(private_native, "iloc")


def plain_numbers(private_values: Values) -> NDArray[Any] | None:
    """Return a column that is a numpy array of numbers as that array; None if it is none."""
    if isinstance(private_values, nw.Series):
        private_native = private_values.to_native()
        return private_native.to_numpy() if _is_numpy_beneath(private_native) else None
    if type(private_values) is np.ndarray and private_values.dtype.kind in "biuf":
        return private_values
    return None


def _arrow_of(private_values: nw.Series[Any]) -> Any:
    """Return a series as an Arrow array, or None if it must be encoded value by value."""
    private_native = private_values.to_native()
    if private_values.implementation.is_pyarrow():
        return private_native
    if str(private_native.dtype).lower() == "object":  # of pandas or polars
        return None
    # Both ways give the same result, so it does not matter that values may decide between them.
    try:
        private_arrow = private_values.to_arrow()
    except Exception:
        return None
    private_type = private_arrow.type
    private_type = getattr(private_type, "value_type", private_type)
    return None if hasattr(private_type, "storage_type") else private_arrow


def _list_of(private_values: nw.Series[Any]) -> list[Any]:
    """Return a series as a list; a value that cannot be had is unfit."""
    try:
        return private_values.to_list()
    except Exception:
        return [_item(private_values, row) for row in range(len(private_values))]


def _item(private_values: nw.Series[Any], row: int) -> Any:
    """Return one value of a series, whatever it takes."""
    try:
        return private_values.item(row)
    except Exception:
        return UNFIT


def _encode_array(private_values: NDArray[Any], column: Described) -> PrivateColumn:
    """Encode a numpy array of shape (rows,) and of any type."""
    if isinstance(private_values, np.ma.MaskedArray):
        private_mask = np.ma.getmaskarray(private_values)
        return _with_missing(_encode_array(private_values.data, column), private_mask, column)
    match private_values.dtype.kind:
        case "b" | "i" | "u" | "f":
            return _encode_numeric(private_values, column)
        case "M":
            return _encode_seconds(seconds_of(private_values), column, instants=True)
        case "m":
            return _encode_seconds(seconds_of(private_values), column, instants=False)
        case "U":
            return _encode_text_array(private_values, column)
        case "O" | "T":
            return encode_each(private_values.tolist(), column)
        case "S" | "V" if isinstance(column, Identity):
            return encode_each(list(private_values), column)
        case _:
            return _unfit_rows(len(private_values), column)


def _encode_text_array(private_values: NDArray[Any], column: Described) -> PrivateColumn:
    """Encode numpy text, through Arrow unless it holds something that is not Unicode."""
    import pyarrow as pa

    try:
        private_arrow = pa.array(private_values)
    except Exception:  # SystemError for what is no character at all
        return encode_each(
            [_text_at(private_values, row) for row in range(len(private_values))], column
        )
    if isinstance(private_arrow, pa.ChunkedArray):
        return encode_each(private_values.tolist(), column)
    return _encode_arrow(private_arrow, column)


def _text_at(private_values: NDArray[Any], row: int) -> Any:
    """Return one text of a numpy array; unfit if its bytes are no text."""
    try:
        return str(private_values[row])
    except Exception:
        return UNFIT


def _encode_arrow(private_values: Any, column: Described) -> PrivateColumn:
    """Encode an Arrow array of any type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = private_values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _encode_arrow(private_values.storage, column)
    if pa.types.is_run_end_encoded(kind):
        return _encode_arrow(pc.run_end_decode(private_values), column)
    if pa.types.is_null(kind):
        return encode_each([None] * len(private_values), column)
    if pa.types.is_dictionary(kind):
        private_distinct = _encode_arrow(private_values.dictionary, column)
        private_positions = private_values.indices.cast(pa.int64())
        return _spread(private_distinct, private_positions, column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_string_view(kind):
        # As bytes, because text in a file may be invalid, and decoding it must not fail.
        private_coded = private_values.cast(pa.large_binary()).dictionary_encode()
        private_texts = [_text_of(value, column) for value in private_coded.dictionary.to_pylist()]
        return _spread(encode_each(private_texts, column), private_coded.indices, column)
    if pa.types.is_decimal(kind) or (isinstance(column, Identity) and _is_binary(kind)):
        return encode_each(private_values.to_pylist(), column)
    private_mask = private_values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        private_encoded = _encode_numeric(_numpy_of(private_values), column)
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        unit = "D" if pa.types.is_date32(kind) else getattr(kind, "unit", "ms")
        private_units = _numpy_of(private_values.cast(whole)).astype(np.int64)
        private_seconds = in_seconds(private_units, unit)
        instants = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        private_encoded = _encode_seconds(private_seconds, column, instants=instants)
    else:
        private_encoded = _unfit_rows(len(private_values), column)
    return _with_missing(private_encoded, private_mask, column)


def _is_string_view(kind: Any) -> bool:
    """Whether an Arrow type is the newer kind of text."""
    return str(kind) == "string_view"


def _is_binary(kind: Any) -> bool:
    """Whether an Arrow type is bytes of any sort."""
    return str(kind).startswith(("binary", "large_binary", "fixed_size_binary"))


def _numpy_of(private_values: Any) -> NDArray[Any]:
    """Return an Arrow array of numbers or truth values as numpy, with 0 where it is missing."""
    import pyarrow as pa

    if pa.types.is_float16(private_values.type):
        return _numpy_of(private_values.cast(pa.float32())).astype(np.float16)
    filler = pa.scalar(0).cast(private_values.type)
    filled: NDArray[Any] = private_values.fill_null(filler).to_numpy(zero_copy_only=False)
    return filled


def _text_of(private_bytes: bytes, column: Described) -> object:
    """Decode UTF-8; what is not valid is unfit, or an id of bytes."""
    try:
        return private_bytes.decode()
    except UnicodeDecodeError:
        return private_bytes if isinstance(column, Identity) else UNFIT


def _spread(private_distinct: PrivateColumn, positions: Any, column: Described) -> PrivateColumn:
    """Give every row the encoded value at its position; a null position is a missing value."""
    private_table = np.concatenate([private_distinct, encode_each([None], column)])
    private_positions = positions.fill_null(len(private_distinct)).to_numpy(zero_copy_only=False)
    private_rows: PrivateColumn = private_table[private_positions]
    return private_rows


def _encode_numeric(private_values: NDArray[Any], column: Described) -> PrivateColumn:
    """Encode numbers or truth values of shape (rows,); NaN is missing."""
    if isinstance(column, Number):
        return clamp(_as(np.float64, private_values), column)
    if private_values.dtype.kind == "b":
        return encode_each([False, True], column)[private_values.astype(np.intp)]
    wide = {"i": np.int64, "u": np.uint64}.get(private_values.dtype.kind, np.float64)
    own = private_values.dtype.type
    # An id must know that it was a narrow float, whose last digits may be lost.
    narrow = isinstance(column, Identity) and issubclass(own, (np.float16, np.float32))
    return _encode_distinct(
        _as(wide, private_values), column, own if narrow else lambda value: value
    )


def _encode_seconds(
    private_seconds: NDArray[np.float64], column: Described, *, instants: bool
) -> PrivateColumn:
    """Encode seconds of shape (rows,): since the epoch if they are instants, else a duration."""
    if isinstance(column, Number):
        return clamp(private_seconds, column)
    return _encode_distinct(private_seconds, column, instant_text if instants else float)


def _encode_distinct(
    private_values: NDArray[Any], column: Described, convert: Callable[[Any], object]
) -> PrivateColumn:
    """Encode each distinct number once, and spread the result over the rows."""
    import pyarrow as pa

    private_coded = pa.array(np.ascontiguousarray(private_values)).dictionary_encode()
    private_distinct = [convert(value) for value in private_coded.dictionary.to_pylist()]
    return _spread(encode_each(private_distinct, column), private_coded.indices, column)


def _as(wide: type, private_values: NDArray[Any]) -> NDArray[Any]:
    """Convert to a wider type of the machine's byte order, without a word about overflow."""
    with np.errstate(all="ignore"):
        return private_values.astype(wide, copy=False)


def _dtype_of(column: Described) -> np.dtype[Any]:
    """Tell the type of an encoded column."""
    if isinstance(column, Number):
        return np.dtype(np.float64)
    coded = not isinstance(column, Identity) and column.levels is not None
    return np.dtype(np.int32 if coded else object)


def _with_missing(
    private_encoded: PrivateColumn, private_mask: NDArray[Any], column: Described
) -> PrivateColumn:
    """Mark rows as missing."""
    private_encoded[private_mask] = encode_each([None], column)[0]
    return private_encoded


def _unfit_rows(row_count: int, column: Described) -> PrivateColumn:
    """Encode rows of a type that is neither number nor text nor time."""
    return np.repeat(encode_each([UNFIT], column), row_count)
