"""A data set with one row more, whatever kind of table it is.

The row is never cut to fit: where its values need another type, the whole column gets that type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError

Array = NDArray[Any]

_NUMBERS, _TEXT = "biuf", "US"


def add_row(dataset: Any, row: Any) -> Any:
    """The data set with a row at its end; the data set itself is left as it was.

    Parameters
    ----------
    dataset : array, data frame (pandas, polars, pyarrow), mapping of columns, list, or tuple
        A tuple is (X, y) or the like: each part gets its part of ``row``.
    row : array, mapping, data frame of one row, value, or tuple of these

    Examples
    --------
    >>> add_row(([[1, 2]], ["yes"]), ([3, 4], "no"))
    ([[1, 2], [3, 4]], ['yes', 'no'])
    """
    if isinstance(dataset, tuple):
        if not isinstance(row, tuple) or len(row) != len(dataset):
            raise DataError(
                f"The data set has {len(dataset)} parts: give a canary that is a tuple of as many, "
                "such as (x, y)."
            )
        return tuple(add_row(part, own) for part, own in zip(dataset, row, strict=True))
    if isinstance(dataset, Mapping):
        if not isinstance(row, Mapping) or set(row) != set(dataset):
            raise DataError("The data set is a mapping: give a canary with the same columns.")
        return {name: add_row(values, _cell(row[name], values)) for name, values in dataset.items()}
    if isinstance(dataset, list):
        return _add_to_list(dataset, row)
    if isinstance(dataset, np.ndarray):
        return _add_to_array(dataset, row)
    if hasattr(dataset, "to_frame"):
        return _add_to_series(dataset, _lone(row))
    if not hasattr(dataset, "collect") and hasattr(dataset, "columns"):
        return _add_to_frame(dataset, row)
    raise DataError(
        f"It is not known how a row is added to a {type(dataset).__name__}: give "
        "join=lambda dataset, canary: ..."
    )


def last_row(dataset: Any) -> Any:
    """The last row alone, as a table of the same kind."""
    return _slice(dataset, slice(-1, None))


def all_but_last(dataset: Any) -> Any:
    """All rows but the last, as a table of the same kind."""
    return _slice(dataset, slice(None, -1))


def _slice(dataset: Any, which: slice) -> Any:
    if isinstance(dataset, tuple):
        return tuple(_slice(part, which) for part in dataset)
    if isinstance(dataset, Mapping):
        return {name: _slice(values, which) for name, values in dataset.items()}
    return dataset.iloc[which] if hasattr(dataset, "iloc") else dataset[which]


def _cell(value: Any, column: Any) -> Any:
    """A value of a mapping's column; columns of arrays or lists have such values themselves."""
    nested = isinstance(column, list) and bool(column) and isinstance(column[0], list | np.ndarray)
    return value if nested or np.ndim(column) > 1 else _lone(value)


def _lone(value: Any) -> Any:
    """The value itself, or the only one of a column."""
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        return value
    if len(value) != 1:
        raise DataError(f"A canary is one row: one value per column, not {len(value)}.")
    return value[0] if isinstance(value, list | tuple | np.ndarray) else next(iter(value))


def _add_to_list(dataset: list[Any], row: Any) -> list[Any]:
    first = dataset[0] if dataset else None
    if isinstance(first, list | tuple | np.ndarray) and (
        isinstance(row, str) or not hasattr(row, "__len__") or len(row) != len(first)
    ):
        raise DataError(f"A row of this list has {len(first)} values: give a canary of as many.")
    if isinstance(first, Mapping) and not (isinstance(row, Mapping) and set(row) == set(first)):
        raise DataError("A row of this list is a mapping: give a canary with the same columns.")
    return [*dataset, row]


def _add_to_array(dataset: Array, row: Any) -> Array:
    shape = dataset.shape[1:]
    extra = _as_array(row, object if dataset.dtype.kind == "O" else None)
    if extra.shape == shape:
        extra = extra[None]
    if dataset.ndim == 0 or extra.shape != (1, *shape):
        raise DataError(
            f"A row of this array has shape {shape}; the canary has shape {np.shape(extra)}."
        )
    return np.concatenate([dataset, _fitted(extra, dataset.dtype)])


def _as_array(row: Any, kind: Any) -> Array:
    try:
        return np.asarray(row, dtype=kind)
    except ValueError:
        raise DataError("The canary is no array: its parts have different lengths.") from None


def _fitted(extra: Array, kind: np.dtype[Any]) -> Array:
    """The values in the array's own type if they keep their meaning in it, else as they are.

    A row must not change the type of a table where it need not: the type would tell the worlds
    apart, and not the row.
    """
    if extra.dtype.kind == "O" and kind.kind in _NUMBERS and not _texts(extra):
        extra = extra.astype(np.float64)
    if kind.kind in _NUMBERS and extra.dtype.kind in _NUMBERS:
        with np.errstate(all="ignore"):
            own = extra.astype(kind)
        rounded = kind.kind == "f" and np.array_equal(np.isfinite(own), np.isfinite(extra))
        kept = not (np.isnan(extra).any() and kind.kind != "f") and np.array_equal(
            own, extra, equal_nan=kind.kind == "f"
        )
        return own if rounded or kept else extra
    alike = kind.kind == extra.dtype.kind or (kind.kind in _TEXT and extra.dtype.kind in _TEXT)
    if kind.kind != "O" and not alike:
        raise DataError(
            f"The canary's values ({extra.dtype}) are of another kind than the array's ({kind}): "
            "give text for text and numbers for numbers."
        )
    return extra


def _texts(values: Array) -> bool:
    return any(one is not None and not isinstance(one, int | float) for one in values.flat)


def _add_to_frame(dataset: Any, row: Any) -> Any:
    import narwhals as nw

    frame = nw.from_native(dataset, eager_only=True)
    if hasattr(row, "columns"):
        extra = nw.from_native(row, eager_only=True)
        row = {name: extra[name].to_list() for name in extra.columns}
    if not isinstance(row, Mapping) or set(row) != set(frame.columns):
        raise DataError("The data set is a frame: give the canary as a mapping of its columns.")
    columns = {
        name: _add_to_series(frame[name].to_native(), _lone(row[name]), name)
        for name in frame.columns
    }
    if frame.implementation.is_pandas_like():
        return frame.implementation.to_native_namespace().DataFrame(columns)
    if frame.implementation.is_pyarrow():
        return frame.implementation.to_native_namespace().table(columns)
    # Columns may have got another type: put together, not stacked.
    return nw.from_dict(columns, backend=frame.implementation).to_native()


def _add_to_series(dataset: Any, value: Any, name: object = None) -> Any:
    import narwhals as nw

    series = nw.from_native(dataset, series_only=True)
    try:
        if series.implementation.is_pandas_like():
            return _add_to_pandas(dataset, value)
        return _add_to_column(series, value).to_native()
    except DataError:
        raise
    except Exception as error:
        # Each library has errors of its own for values that a type cannot hold.
        where = "the column" if name is None else f"column {name!r}"
        raise DataError(
            f"The canary's value does not fit into {where} ({series.dtype}): {error}"
        ) from None


def _add_to_column(series: Any, value: Any) -> Any:
    """To a column of polars or pyarrow."""
    import narwhals as nw

    if value is None:
        extra = nw.new_series(series.name, [None], series.dtype, backend=series.implementation)
        return nw.concat([series.to_frame(), extra.to_frame()])[series.name]
    extra = nw.new_series(series.name, [value], backend=series.implementation)
    numbers = series.dtype.is_numeric() and extra.dtype.is_numeric()
    if numbers and series.dtype.is_integer() and not extra.dtype.is_integer():
        if float(value).is_integer():
            extra = nw.new_series(series.name, [int(value)], backend=series.implementation)
        else:
            series = series.cast(nw.Float64())
    text = isinstance(value, str) and (
        series.dtype == nw.String or series.dtype in (nw.Categorical, nw.Enum)
    )
    if not (numbers or text or series.dtype == extra.dtype):
        raise _other_kind(value, series.dtype)
    extra = extra.cast(series.dtype)
    return nw.concat([series.to_frame(), extra.to_frame()])[series.name]


def _add_to_pandas(series: Any, value: Any) -> Any:
    import pandas as pd

    missing = value is None or (not isinstance(value, str) and bool(pd.isna(value)))
    label = pd.Index([_next_label(series.index)])
    if isinstance(series.dtype, pd.CategoricalDtype):
        if not missing and value not in series.cat.categories:
            series = series.cat.add_categories([value])
        extra = pd.Series([None if missing else value], index=label, dtype=series.dtype)
    elif isinstance(series.dtype, np.dtype) and series.dtype.kind in _NUMBERS:
        own = np.array([np.nan if missing else value])
        extra = pd.Series(_fitted(own, series.dtype), index=label)
    elif missing:
        extra = pd.Series([None], index=label, dtype=series.dtype)
    else:
        extra = pd.Series([value], index=label)
        text = pd.api.types.is_string_dtype(series.dtype)
        if text != pd.api.types.is_string_dtype(extra.dtype) and series.dtype != object:
            raise _other_kind(value, series.dtype)
        extra = extra.astype(series.dtype)
    return pd.concat([series, extra]).rename(series.name)


def _next_label(index: Any) -> Any:
    """A label that no row has, so that nothing that goes by labels takes two rows for one."""
    if getattr(index, "dtype", None) is not None and index.dtype.kind in "iu":
        return int(index.max()) + 1 if len(index) else 0
    if index.nlevels == 1 and index.dtype.kind not in "fmM":
        return f"canary {len(index)}"
    return index[-1] if len(index) else 0


def _other_kind(value: Any, kind: object) -> DataError:
    return DataError(
        f"The canary has a {type(value).__name__} where the column has {kind}: give text for text "
        "and numbers for numbers."
    )
