"""What a user's table looks like (container, names, order, types), and rows made to look like it.

Only names, types and shapes are read here, never values.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SchemaError
from voile.explain.blackbox.rows.native_columns import (
    array_column,
    arrow_column,
    explain_misfit,
    list_column,
    pandas_column,
    public_kind,
)
from voile.models.training import check_two_dimensions
from voile.privacy.vault import check_people
from voile.schema import Schema
from voile.schema.columns import Column
from voile.schema.frames import (
    FrameColumn,
    Layout,
    RecognisedFrame,
    declared_table,
    recognise_frame,
)


class Container(StrEnum):
    """What holds the rows."""

    PANDAS = "pandas data frame"
    FRAME = "another data frame"
    ARRAY = "numpy array of shape (rows, columns)"
    MAPPING = "mapping from names to columns"
    ROWS = "list of rows"
    RECORDS = "list of mappings"


@dataclass(frozen=True)
class GivenColumn:
    """A column that the model is handed.

    Attributes
    ----------
    name : str
        In the schema.
    key : hashable
        What the table itself calls it: its own name, or a position.
    kind : Any
        Its type: of pandas (a categorical one without categories), of Arrow (other frames) or of
        numpy; None in lists, which have no types.
    """

    name: str
    key: Hashable
    kind: Any


@dataclass(frozen=True)
class TableForm:
    """Container, names, order and types of a table: public facts, never a value.

    Attributes
    ----------
    container : Container
    columns : tuple of GivenColumn
        Those that the model is handed, in its order.
    frame_types : tuple of narwhals types
        Types of the columns of a frame that is not of pandas.
    backend : narwhals Implementation, or None
        Library of a frame that is not of pandas.
    """

    container: Container
    columns: tuple[GivenColumn, ...]
    frame_types: tuple[Any, ...] = ()
    backend: Any = None

    def rebuild(self, columns: Mapping[str, NDArray[Any]], rows: int, schema: Schema) -> object:
        """Encoded rows in this form; parameters and errors are those of `GivenRows.rebuild`."""
        each = {
            one.key: self._rebuild_column(one, np.asarray(columns[one.name]), schema[one.name])
            for one in self.columns
        }
        match self.container:
            case Container.PANDAS:
                import pandas as pd

                return pd.DataFrame(each, index=range(rows))
            case Container.FRAME:
                return self._build_frame(each, schema)
            case Container.ARRAY:
                return np.column_stack(list(each.values()))
            case Container.RECORDS:
                values = zip(*each.values(), strict=True)
                return [dict(zip(each, row, strict=True)) for row in values]
            case Container.ROWS:
                return [list(row) for row in zip(*each.values(), strict=True)]
            case Container.MAPPING:
                return each

    def _rebuild_column(self, one: GivenColumn, encoded: NDArray[Any], column: Column) -> Any:
        kind = public_kind(one.kind, column)
        try:
            if self.container is Container.PANDAS:
                return pandas_column(encoded, column, kind)
            if self.container is Container.FRAME:
                return arrow_column(encoded, column, kind)
            if kind is None:
                return list_column(encoded, column)
            return array_column(encoded, column, kind)
        except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
            # Arrow's errors are among these; all are about public levels and bounds.
            raise explain_misfit(one.name, column, one.kind) from error

    def _build_frame(self, each: Mapping[Any, Any], schema: Schema) -> object:
        import pyarrow as pa

        table = pa.table(each)
        if self.backend.is_pyarrow():
            return table
        frame = nw.from_arrow(table, backend=self.backend)
        # Arrow lacks some types, for example those with declared levels.
        kinds = [
            public_kind(kind, schema[one.name])
            for one, kind in zip(self.columns, self.frame_types, strict=True)
        ]
        casts = [
            nw.col(name).cast(kind)
            for name, kind in zip(each, kinds, strict=True)
            if frame.schema[name] != kind
        ]
        return (frame.with_columns(*casts) if casts else frame).to_native()


def describe_table(
    X: object, schema: Schema | None, names_read: Sequence[str] | None
) -> tuple[object, Schema | None, TableForm]:
    """Tell the form of a table; parameters, results and errors are those of `read_rows`."""
    is_path = isinstance(X, (str, os.PathLike))
    is_records = isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping)
    if not is_path:
        check_two_dimensions(X)
    rows = X if is_path else tabulate_records(X, () if schema is None else tuple(schema))
    found = recognise_frame(_empty_frame(X) if is_path else rows)
    if not found.columns:
        raise DataError("The table has no columns: give at least one.")
    named = _name_columns(found, schema)
    if found.layout is not Layout.FRAME:
        names_read = None  # columns without names are told apart by place, and all are needed
    _check_columns(named, schema, names_read)
    if names_read is not None:
        if schema is None and len(names_read) < len(named):
            if is_path:
                schema = Schema.from_frame(rows).select(names_read)
            else:
                # `protect` does not see the names of what is left out.
                check_people(None, Schema.from_frame(X))
                # Without a schema kinds are told by types, and `protect` notes it for receipts.
                rows = found.rows.select([named[name].key for name in names_read]).to_native()
        named = {name: named[name] for name in names_read}
    elif schema is not None:
        # What remains besides the schema's columns is the privacy unit.
        named = {name: column for name, column in named.items() if name in schema}
    if is_records:
        columns = _columns(named, [None] * len(named))
        return rows, schema, TableForm(Container.RECORDS, columns)
    return rows, schema, _describe(found, named)


def tabulate_records(X: object, names: Sequence[str] = ()) -> object:
    """A list of mappings as a mapping from names to columns; all else as it is.

    Names are those of the first row, as with any list of rows, and those that the schema has: what
    a row lacks is missing, and the first row is none that may decide about an error.
    """
    if not isinstance(X, (list, tuple)) or not X or not isinstance(X[0], Mapping):
        return X
    return {
        name: [row.get(name) if isinstance(row, Mapping) else None for row in X]
        for name in dict.fromkeys([*X[0], *names])
    }


def _empty_frame(path: Any) -> object:
    """A table without rows with the names and types of Parquet files, of pandas if it is there."""
    table = declared_table(Path(path))
    return table.to_pandas() if find_spec("pandas") else table


def _name_columns(found: RecognisedFrame, schema: Schema | None) -> dict[str, FrameColumn]:
    """Columns by the names that the schema has for them."""
    names = [column.name for column in found.columns]
    unnamed = found.layout in (Layout.ARRAY, Layout.ROWS)
    # As when rows are encoded: columns without names are meant in the order of the schema's.
    if unnamed and schema is not None and len(schema) == len(names) and not set(names) & {*schema}:
        names = list(schema)
    return dict(zip(names, found.columns, strict=True))


def _check_columns(
    named: Mapping[str, FrameColumn], schema: Schema | None, names_read: Sequence[str] | None
) -> None:
    """Refuse a table that lacks what the model reads, or a schema that lacks what it may read."""
    lacking = [name for name in names_read or () if name not in named]
    if lacking:
        raise DataError(
            f"The model reads {_listed(lacking)}, which the table does not have: give the columns "
            f"that the model was trained on."
        )
    if schema is None:
        return
    own = schema.privacy_unit.column
    may_be_read = [name for name in named if name != own] if names_read is None else names_read
    unknown = [name for name in may_be_read if name not in schema]
    if unknown:
        raise SchemaError(
            f"The schema does not describe {_listed(unknown)} of the table, which the model may "
            f"read: add to the schema what the model reads, and leave the rest out of the table."
        )


def _listed(names: Sequence[str]) -> str:
    most = 8
    shown = ", ".join(map(repr, names[:most]))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"column {shown}{more}" if len(names) == 1 else f"columns {shown}{more}"


def _describe(found: RecognisedFrame, named: Mapping[str, FrameColumn]) -> TableForm:
    """Types of the columns, as their own library has them."""
    if found.layout is not Layout.FRAME:
        kinds = [_plain_kind(found, one) for one in named.values()]
        return TableForm(Container[found.layout.name], _columns(named, kinds))
    frame: nw.DataFrame[Any] = found.rows
    keys: list[Any] = [one.key for one in named.values()]
    if frame.implementation.is_pandas():
        kinds = [_pandas_kind(frame.get_column(key).to_native().dtype) for key in keys]
        return TableForm(Container.PANDAS, _columns(named, kinds))
    types = [frame.schema[key] for key in keys]
    for name, kind in zip(named, types, strict=True):
        if isinstance(kind, nw.Object):
            raise DataError(
                f"Column {name!r} is of Python objects, which have no type that rows for the model "
                f"could be given: cast it to text or numbers."
            )
    arrow = frame.select(*keys).head(0).to_arrow().schema
    kinds = [arrow.field(key).type for key in keys]
    return TableForm(
        Container.FRAME, _columns(named, kinds), tuple(types), backend=frame.implementation
    )


def _columns(named: Mapping[str, FrameColumn], kinds: Sequence[Any]) -> tuple[GivenColumn, ...]:
    pairs = zip(named.items(), kinds, strict=True)
    return tuple(GivenColumn(name, one.key, kind) for (name, one), kind in pairs)


def _plain_kind(found: RecognisedFrame, column: FrameColumn) -> np.dtype[Any] | None:
    """The numpy type of a column of an array or mapping; None in lists."""
    if found.layout is Layout.ARRAY:
        kind: np.dtype[Any] = found.rows.dtype
        return kind
    values = found.rows[column.key] if found.layout is Layout.MAPPING else []
    if isinstance(values, list):
        return None
    if isinstance(values, nw.Series):
        values = values.head(0).to_numpy()
    own: np.dtype[Any] = values.dtype
    return own


def _pandas_kind(dtype: Any) -> Any:
    """A type of pandas; the categories of a categorical one come from values, so they are left out.

    Only their own type is kept.
    """
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return pd.CategoricalDtype(pd.Index([], dtype=dtype.categories.dtype), dtype.ordered)
    return dtype
