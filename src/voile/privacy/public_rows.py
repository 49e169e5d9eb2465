"""Rows that a caller brings to a finished model: encoded like private ones, kept by nobody.

They are not behind the vault: whoever asks for a prediction holds them already. The same encoding
as inside the vault makes a value mean the same in training and in prediction.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.privacy.encode import encode_frame, encode_values, pick_rows
from voile.schema import Category, Schema
from voile.schema.kinds import Values


def encode_public(
    X: object, schema: Schema, *, may_lack: Collection[str] = ()
) -> dict[str, NDArray[Any]]:
    """Encode rows to predict for.

    Parameters
    ----------
    X : data frame, array, mapping or list of rows, shape (rows, columns), or path
        A file is read strictly: a line or value that cannot be read is an error that names it.
    schema : Schema
        Complete, as stored in a model.
    may_lack : collection of str
        Columns that a table with names need not have: they are missing in every row then.

    Returns
    -------
    dict of str to ndarray of shape (rows,)
        Numbers as float64 (clamped to their bounds; missing: NaN), categories as int32 codes
        (levels, then other, then missing).
    """
    X, present = _present(X, schema, may_lack)
    rows = {name: np.asarray(one) for name, one in encode_frame(X, present).items()}
    count = next((len(one) for one in rows.values()), 0)
    return {
        name: rows[name] if name in rows else encode_values([None] * count, schema[name])
        for name in schema
    }


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldRows:
    """Rows of a caller as they came: a copy, which later changes of the table do not reach.

    Attributes
    ----------
    columns : dict of str to series, array or list of length rows, or None
        None for a column that the table does not have.
    row_count : int
    """

    columns: dict[str, Values | None]
    row_count: int

    def read(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Values of some rows as they are: numbers, texts, times as text, None where missing."""
        return {
            name: encode_values([None] * (stop - start) if one is None else one[start:stop], _PLAIN)
            for name, one in self.columns.items()
        }


_PLAIN = Category()
"""Without levels, the encoding leaves values as they are."""


def hold_public(X: object, names: Iterable[str]) -> HeldRows:
    """Keep a caller's rows, to read single ones later.

    Parameters
    ----------
    X : data frame, array, mapping or list of rows, shape (rows, columns), or path
    names : iterable of str
        Columns that are kept; a table with names need not have all of them.
    """
    schema = Schema(dict.fromkeys(names, _PLAIN))
    X, present = _present(X, schema, tuple(schema))
    picked = pick_rows(X, None, present)
    return HeldRows(
        {
            name: _copied(picked.columns[name]) if name in picked.columns else None
            for name in schema
        },
        picked.row_count,
    )


def _copied(values: Values) -> Values:
    """A copy of a column; tables of Arrow and polars do not change anyway."""
    if not isinstance(values, nw.Series):
        return values.copy()
    native = values.to_native()
    if not hasattr(native, "iloc"):
        return values
    copy: nw.Series[Any] = nw.from_native(native.copy(), series_only=True)
    return copy


def _present(X: object, schema: Schema, may_lack: Collection[str]) -> tuple[object, Schema]:
    """A table, read if it is a file, and the columns that it has or must have."""
    # Who a row belongs to matters in training alone; rows to predict for need not say it.
    schema = schema.with_unit(None)
    if isinstance(X, (str, os.PathLike)):
        from voile.privacy.files.own_rows import read_asked

        X = read_asked(Path(X).expanduser(), schema, may_lack=may_lack)
    lacking = [name for name in _lacking(X, schema) if name in may_lack]
    if len(lacking) == len(schema):
        lacking = []  # a table with none of the columns is another table
    return X, schema.select([name for name in schema if name not in lacking])


def _lacking(X: object, schema: Schema) -> list[str]:
    """Columns that a table with names does not have; nothing where columns have no names."""
    names: Any
    if isinstance(X, Mapping):
        names = X
    else:
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if not isinstance(frame, nw.DataFrame):
            return []
        names = frame.columns
    return [name for name in schema if name not in names]
