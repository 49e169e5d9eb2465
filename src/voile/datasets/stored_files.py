"""The files that hold data sets: Parquet for tables and texts, npz for pictures.

Their form is one for all copies. A table has its features by the names of the schema, its target,
and ``split`` if it has an official split; text is text, missing text is "?" where the documentation
writes it so. Pictures are ``x_SPLIT`` of shape (rows, height, width[, 3]), bytes, and ``y_SPLIT``
of shape (rows,), class numbers.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.datasets.data_set import DataSet
from voile.datasets.stored_set import StoredSet
from voile.errors import DataError
from voile.files import replace_file
from voile.schema import Category


def read_table(entry: StoredSet, path: Path, split: str | None) -> DataSet:
    """Read a table, or one of its splits, from a Parquet file.

    Raises
    ------
    DataError
        If the file cannot be read, or lacks a column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    facts = entry.facts
    assert entry.target is not None, "a table has a column to predict"
    wanted = [*facts.schema, *entry.carried, entry.target, *(["split"] if facts.splits else [])]
    try:
        # A column that a copy lacks is absent, or there without values and of no type.
        present = {one.name for one in pq.read_schema(path) if not pa.types.is_null(one.type)}
        absent = [name for name in wanted if name not in present]
        needed = [name for name in absent if name not in entry.optional]
        if needed:
            raise DataError(
                f"{str(path)!r} has no column {', '.join(map(repr, needed))}, which {facts.name!r} "
                f"has: remove the file and fetch it again."
            )
        rows = pq.read_table(path, columns=[name for name in wanted if name in present])
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, facts.name) from error
    if split is not None:
        rows = rows.filter(pc.equal(rows["split"], split))
    schema = facts.schema.select([name for name in facts.schema if name not in absent])
    features = [name for name in (*schema, *entry.carried) if name in present]
    y = column_values(rows[entry.target], number=not isinstance(schema.target, Category))
    return DataSet(rows.select(features), y, schema, facts, split, str(path))


def column_values(column: Any, *, number: bool) -> NDArray[Any]:
    """Return an arrow column as an array of shape (rows,): real numbers, or classes."""
    import pyarrow as pa

    if number:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(), dtype=np.int64)
    return np.array(column.to_pylist(), dtype=object)


def read_pictures(entry: StoredSet, path: Path, split: str | None) -> DataSet:
    """Read pictures, or one of their splits, from an npz file.

    Raises
    ------
    DataError
        If the file cannot be read, or lacks a split.
    """
    facts = entry.facts
    parts = facts.splits if split is None else (split,)
    try:
        with np.load(path) as file:
            pictures = np.concatenate([file[f"x_{part}"] for part in parts])
            numbers = np.concatenate([file[f"y_{part}"] for part in parts]).astype(np.int64)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise _unreadable(path, facts.name) from error
    if pictures.shape[1:] != facts.image_shape:
        raise DataError(
            f"The pictures in {str(path)!r} are of shape {pictures.shape[1:]}, and those of "
            f"{facts.name!r} are {facts.image_shape}: remove the file and get it again."
        )
    target = facts.schema.target
    classes = np.array(target.levels if isinstance(target, Category) else (), dtype=object)
    # Classes that are numbers are the numbers themselves.
    y = numbers if isinstance(classes[0], int) else classes[numbers]
    flat = pictures.reshape(len(pictures), -1)
    return DataSet(flat, y, facts.schema, facts, split, str(path))


def write_table(table: Any, path: Path) -> None:
    """Write an arrow table as Parquet, whole or not at all."""
    import pyarrow.parquet as pq

    _write_whole(path, lambda part: pq.write_table(table, part, compression="zstd"))


def write_pictures(arrays: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write arrays as npz, whole or not at all."""

    def write(part: Path) -> None:
        with part.open("wb") as file:  # given a name, numpy would append an ending of its own
            np.savez_compressed(file, allow_pickle=False, **arrays)

    _write_whole(path, write)


def _write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file so that no half of one is ever taken for a set."""
    try:
        replace_file(path, write)
    except OSError as error:
        raise DataError(
            f"{str(path)!r} cannot be written ({error.strerror}): give another folder."
        ) from error


def _unreadable(path: Path, name: str) -> DataError:
    return DataError(
        f"{str(path)!r} cannot be read as the data set {name!r}: remove the file and get it again "
        f"(voile datasets fetch {name})."
    )
