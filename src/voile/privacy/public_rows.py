"""Rows that a caller brings to a finished model: encoded like private ones, kept by nobody.

They are not behind the vault: whoever asks for a prediction holds them already. The same encoding
as inside the vault makes a value mean the same in training and in prediction.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.privacy.encode import PickedRows, encode_values, pick_rows, plain_numbers
from voile.schema import Number, Schema


@dataclass(frozen=True, eq=False, repr=False)
class PublicRows:
    """Rows to predict for, as they came: numbers are encoded part by part, without a copy of all.

    Attributes
    ----------
    schema : Schema
    rows : int
    numbers : dict of str to ndarray of shape (rows,)
        Columns of numbers that were arrays of numbers before, as they are.
    others : dict of str to ndarray of shape (rows,)
        All other columns, encoded.
    """

    schema: Schema
    rows: int
    numbers: dict[str, NDArray[Any]]
    others: dict[str, NDArray[Any]]

    def part(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Some consecutive rows; see `encode_public`."""
        return {
            name: encode_values(self.numbers[name][start:stop], column)
            if name in self.numbers
            else self.others[name][start:stop]
            for name, column in self.schema.items()
        }

    def parts(self, most: int) -> Iterator[dict[str, NDArray[Any]]]:
        """All rows, at most so many at once; without any, one part that is empty."""
        for start in range(0, max(self.rows, 1), most):
            yield self.part(start, min(start + most, self.rows))


def read_public(X: object, schema: Schema, *, may_lack: Collection[str] = ()) -> PublicRows:
    """Read rows to predict for, to be encoded part by part; parameters as of `encode_public`."""
    # Who a row belongs to matters in training alone; rows to predict for need not say it.
    schema = schema.with_unit(None)
    picked = pick_public(X, schema, may_lack)
    numbers: dict[str, NDArray[Any]] = {}
    others: dict[str, NDArray[Any]] = {}
    for name, column in schema.items():
        if name not in picked.columns:
            others[name] = np.repeat(encode_values([None], column), picked.row_count)
            continue
        values = picked.columns[name]
        plain = plain_numbers(values) if isinstance(column, Number) else None
        if plain is None:
            others[name] = np.asarray(encode_values(values, column))
        else:
            numbers[name] = plain
    return PublicRows(schema, picked.row_count, numbers, others)


def pick_public(X: object, schema: Schema, may_lack: Collection[str]) -> PickedRows:
    """Columns of a table, or of a file, as they came; without those that it may and does lack."""
    if isinstance(X, (str, os.PathLike)):
        from voile.privacy.files.own_rows import read_asked

        X = read_asked(Path(X).expanduser(), schema, may_lack=may_lack)
    lacking = [name for name in _lacking(X, schema) if name in may_lack]
    if len(lacking) == len(schema):
        lacking = []  # a table with none of the columns is another table
    return pick_rows(X, None, schema.select([name for name in schema if name not in lacking]))


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
    rows = read_public(X, schema, may_lack=may_lack)
    return rows.part(0, rows.rows)


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
