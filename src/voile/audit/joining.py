"""A data set with one row more, whatever kind of table it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from voile.errors import DataError


def add_row(dataset: Any, row: Any) -> Any:
    """The data set with a row at its end; the data set itself is left as it was.

    Parameters
    ----------
    dataset : array, data frame (pandas, polars), mapping of columns, list, or tuple of these
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
        return {name: add_row(values, _lone(row[name])) for name, values in dataset.items()}
    if isinstance(dataset, list):
        return [*dataset, row]
    if isinstance(dataset, np.ndarray):
        return _add_to_array(dataset, row)
    if hasattr(dataset, "columns") or hasattr(dataset, "to_frame"):
        return _add_to_frame(dataset, row)
    raise DataError(
        f"It is not known how a row is added to a {type(dataset).__name__}: give "
        "join=lambda dataset, canary: ..."
    )


def last_row(dataset: Any) -> Any:
    """The last row alone, as a table of the same kind."""
    if isinstance(dataset, tuple):
        return tuple(last_row(part) for part in dataset)
    if isinstance(dataset, Mapping):
        return {name: last_row(values) for name, values in dataset.items()}
    return dataset.iloc[-1:] if hasattr(dataset, "iloc") else dataset[-1:]


def _lone(value: Any) -> Any:
    return value[0] if isinstance(value, list | np.ndarray) and np.ndim(value) == 1 else value


def _add_to_array(dataset: np.ndarray[Any, Any], row: Any) -> Any:
    extra = np.asarray(row)
    if extra.shape == dataset.shape[1:]:
        extra = extra[None]
    if extra.shape != (1, *dataset.shape[1:]):
        raise DataError(
            f"A row of this array has shape {dataset.shape[1:]}; the canary has shape "
            f"{np.shape(row)}."
        )
    return np.concatenate([dataset, extra])


def _add_to_frame(dataset: Any, row: Any) -> Any:
    import narwhals as nw

    frame = nw.from_native(dataset, allow_series=True)
    if isinstance(frame, nw.Series):
        extra: Any = nw.new_series(
            frame.name, [_lone(row)], frame.dtype, backend=frame.implementation
        )
    elif isinstance(row, Mapping) and set(row) == set(frame.columns):
        columns = {name: [_lone(row[name])] for name in frame.columns}
        extra = nw.from_dict(columns, schema=frame.schema, backend=frame.implementation)
    elif hasattr(row, "columns"):
        extra = nw.from_native(row)
    else:
        raise DataError("The data set is a frame: give the canary as a mapping of its columns.")
    return nw.to_native(nw.concat([frame, extra]))
