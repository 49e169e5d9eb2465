"""Private rows of a table: picking the columns a schema names, and encoding them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from voile.errors import DataError
from voile.privacy.encode.column import encode_values, plain_numbers
from voile.privacy.encode.value import PrivateColumn
from voile.schema import Column, Schema
from voile.schema.frames import Layout, RecognisedFrame, adopt_column, recognise_frame
from voile.schema.kinds import Values


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PickedRows:
    """Private rows as they came, but only the columns a schema names. It does not print itself.

    Attributes
    ----------
    columns : dict of str to series, array or list of length rows
        Values still to be encoded, in the schema's order. Slices of them can be encoded too.
    target : series, array or list of length rows, or None
        None without a target.
    row_count : int
        The number of rows, which is private too.
    unit : series, array or list of length rows, or None
        Whose row it is; None if the schema has no privacy unit.
    """

    columns: dict[str, Values]
    target: Values | None
    row_count: int
    unit: Values | None = None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EncodedRows:
    """Encoded private rows: features, target and how many there are. It does not print itself.

    Attributes
    ----------
    columns : dict of str to array of shape (rows,)
        As `encode_frame` gives them, in the schema's order.
    target : array of shape (rows,), or None
        As `encode_target` gives it; None without a target.
    row_count : int
        The number of rows, which is private too.
    """

    columns: dict[str, PrivateColumn]
    target: PrivateColumn | None
    row_count: int


def pick_rows(frame: object, target: object, schema: Schema) -> PickedRows:
    """Pick a schema's columns and the target out of a table; nothing is encoded yet.

    Parameters
    ----------
    frame : table
        As in `encode_frame`.
    target : column, str or None
        As in `encode_target`, or the name of a column of `frame`; None if there is none.
    schema : Schema
        Its `target` must be set if `target` is given.

    Returns
    -------
    PickedRows

    Raises
    ------
    DataError
        If `frame` and `target` have different lengths (not saying which: they are private), or are
        not a table and a column, or lack a name of the schema.
    """
    recognised = recognise_frame(frame)
    private_columns = _private_columns(recognised, tuple(schema))
    private_target: Values | None = None
    if target is not None and schema.target is None:
        raise DataError(
            "A target was given, and the schema does not describe it: add one with "
            "schema.with_target(Category()) or schema.with_target(Number())."
        )
    if isinstance(target, str):
        if target in schema:
            raise DataError(
                f"Column {target!r} is the target, and the schema lists it among the columns to "
                f"learn from: leave it out there."
            )
        private_target = _private_columns(recognised, (target,))[target]
    elif target is not None:
        private_target = adopt_column(target, "the target")
    row_count = _count_rows(recognised, private_columns)
    if private_target is not None and len(private_target) != row_count:
        raise DataError(
            "The table and the target have different numbers of rows: give one target value per "
            "row."
        )
    private_unit = None
    if (own := schema.privacy_unit.column) is not None:
        private_unit = _private_columns(recognised, (own,))[own]
    # Slices of an array are cheap, those of a series are not.
    private_columns = {name: _bare(values) for name, values in private_columns.items()}
    private_target = None if private_target is None else _bare(private_target)
    return PickedRows(private_columns, private_target, row_count, private_unit)


def _bare(private_values: Values) -> Values:
    """Return the array that a column of numbers is; any other column as it is."""
    private_numbers = plain_numbers(private_values)
    return private_values if private_numbers is None else private_numbers


def encode_rows(frame: object, target: object, schema: Schema) -> EncodedRows:
    """Encode private rows together with their target.

    Parameters, checks and errors are those of `pick_rows`.

    Returns
    -------
    EncodedRows
    """
    picked = pick_rows(frame, target, schema)
    private_target = None
    if picked.target is not None and schema.target is not None:
        private_target = encode_values(picked.target, schema.target)
    private_columns = {
        name: encode_values(values, schema[name]) for name, values in picked.columns.items()
    }
    return EncodedRows(private_columns, private_target, picked.row_count)


def encode_frame(frame: object, schema: Schema) -> dict[str, PrivateColumn]:
    """Encode private rows as numpy columns.

    Parameters
    ----------
    frame : table
        A pandas, polars or other eager data frame, a pyarrow Table or RecordBatch, a numpy array of
        shape (rows, columns), a mapping from names to columns, or a list of rows. Columns without
        names are called "x0", "x1", ... Columns that the schema does not name are ignored.
    schema : Schema
        The columns to encode.

    Returns
    -------
    dict of str to array of shape (rows,)
        In the schema's order; see the table at the top of this file. The arrays are new: they share
        no memory with `frame`.

    Raises
    ------
    DataError
        If `frame` is not a table, or lacks a column of the schema. Never because of a value.
    """
    return encode_rows(frame, None, schema).columns


def encode_target(target: object, column: Column) -> PrivateColumn:
    """Encode the private values of a target.

    Parameters
    ----------
    target : array, series, one-column table or list
        Private values, of shape (rows,) or (rows, 1).
    column : Number or Category
        What is public about it.

    Returns
    -------
    array of shape (rows,)
        As for a column of a table.

    Raises
    ------
    DataError
        If `target` is not a single column. Never because of a value.
    """
    return encode_values(adopt_column(target, "the target"), column)


def _private_columns(recognised: RecognisedFrame, names: tuple[str, ...]) -> dict[str, Values]:
    """Pick named columns out of a table."""
    keys = {column.name: column.key for column in recognised.columns}
    private_rows = recognised.rows
    if recognised.layout is Layout.ROWS and not private_rows:
        # A list without rows has no width, so every column is there, and empty.
        keys = dict.fromkeys(names, 0)
    absent = [name for name in names if name not in keys]
    if recognised.layout in (Layout.ARRAY, Layout.ROWS) and len(absent) == len(names) == len(
        recognised.columns
    ):
        # Columns without names, as many as the schema has: they are meant in its order.
        keys = dict(zip(names, (column.key for column in recognised.columns), strict=True))
        absent = []
    if absent:
        hint = ""
        if recognised.layout in (Layout.ARRAY, Layout.ROWS):
            hint = " (columns without names are called 'x0', 'x1', ...)"
        raise DataError(
            f"The table has no column {absent[0]!r}, which is asked for{hint}: add it to the "
            f"table, or leave it out with schema.select([...])."
        )
    match recognised.layout:
        case Layout.FRAME:
            return {name: private_rows.get_column(keys[name]) for name in names}
        case Layout.ARRAY:
            return {name: private_rows[:, keys[name]] for name in names}
        case Layout.MAPPING:
            return {name: private_rows[keys[name]] for name in names}
        case Layout.ROWS:  # pragma: no branch (there are no other layouts)
            return {
                name: [_cell(private_row, keys[name]) for private_row in private_rows]
                for name in names
            }


def _cell(private_row: Any, position: Any) -> Any:
    """Return one value of a list of rows; a row that is too short has it missing."""
    if isinstance(private_row, (list, tuple)) or (
        isinstance(private_row, np.ndarray) and private_row.ndim > 0
    ):
        return private_row[position] if position < len(private_row) else None
    return None


def _count_rows(recognised: RecognisedFrame, private_columns: dict[str, Values]) -> int:
    """Count private rows, after checking that all columns have equally many."""
    if recognised.layout is not Layout.MAPPING:
        return len(recognised.rows)
    private_counts = {len(values) for values in (private_columns or recognised.rows).values()}
    if len(private_counts) > 1:
        raise DataError(
            "The columns of the table have different numbers of rows: give one value per row in "
            "each."
        )
    return private_counts.pop() if private_counts else 0
