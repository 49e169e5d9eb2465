"""Names and types of any table: which kind of data frame it is, and what its columns are called.

Only metadata is read here: names, types and shapes, never values.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from voile.errors import DataError
from voile.schema.kinds import (
    Kind,
    Values,
    is_declared_text,
    is_declared_whole,
    kind_of_array,
    kind_of_dtype,
    kind_of_values,
)

_ACCEPTED = (
    "a pandas, polars or pyarrow table, a numpy array, a mapping from names to arrays, or a list "
    "of rows"
)


class Layout(Enum):
    """How the rows of a recognised table are held."""

    FRAME = "narwhals data frame"
    ARRAY = "numpy array of shape (rows, columns)"
    MAPPING = "mapping from names to arrays or lists of shape (rows,)"
    ROWS = "list of rows"


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """Name and type of one column.

    Attributes
    ----------
    name : str
        The name a schema uses.
    key : hashable
        What the table itself calls the column: its own name, or a position.
    kind : Kind
        What its type says.
    levels : tuple of str, or None
        Declared levels (polars Enum), never levels derived from values.
    whole : bool
        Whether the type has no numbers but whole ones. One empty cell or one fraction changes it,
        so it is good for a proposal that a person reads, and nothing else.
    text : bool
        Whether the type says that the values are texts; objects say nothing.
    """

    name: str
    key: Hashable
    kind: Kind
    levels: tuple[str, ...] | None = None
    whole: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RecognisedFrame:
    """A table of a known layout. It holds private rows, so it does not print them."""

    layout: Layout
    rows: Any
    columns: tuple[FrameColumn, ...]


def describe_frame(frame: object) -> tuple[FrameColumn, ...]:
    """Tell the names and types of a table's columns.

    Parameters
    ----------
    frame : table, path or dataset
        Anything `recognise_frame` accepts, or the path of a Parquet file or folder, or a pyarrow
        dataset, of which only the file schema is read.

    Returns
    -------
    tuple of FrameColumn
        In the table's order.

    Raises
    ------
    DataError
        If the table cannot be used, whatever its values.
    """
    if isinstance(frame, (str, os.PathLike)):
        return recognise_frame(declared_table(Path(frame))).columns
    if _is_from("pyarrow", frame) and hasattr(frame, "scanner") and hasattr(frame, "schema"):
        return recognise_frame(frame.schema.empty_table()).columns
    return recognise_frame(frame).columns


def recognise_frame(frame: object) -> RecognisedFrame:
    """Recognise a table, and tell the names and types of its columns.

    Parameters
    ----------
    frame : table
        Any eager data frame that narwhals knows, a pyarrow Table or RecordBatch, a numpy array of
        one or two dimensions (or an object that turns into one), a mapping from names to columns,
        or a list of rows.

    Returns
    -------
    RecognisedFrame
        The layout, the (private) rows in it, and the columns. Columns without names are called
        "x0", "x1", ...; other names become text.

    Raises
    ------
    DataError
        If the table cannot be used, whatever its values.
    """
    _refuse_unusable(frame)
    if _is_from("pyarrow", frame) and hasattr(frame, "to_struct_array"):  # Table or RecordBatch
        import pyarrow as pa

        table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
        return _recognise_native(table)
    if isinstance(frame, np.ndarray):
        return _recognise_array(frame)
    if isinstance(frame, Mapping):
        return _recognise_mapping(frame)
    if isinstance(frame, (list, tuple)):
        return _recognise_rows(frame)
    if _is_data_frame(frame):
        return _recognise_native(frame)
    if hasattr(frame, "__array__") and not _is_series(frame):
        return _recognise_array(np.asarray(frame))
    raise DataError(f"A {type(frame).__name__} is not a table Voile knows: give {_ACCEPTED}.")


def adopt_column(values: object, where: str) -> Values:
    """Recognise a single column of shape (rows,) or (rows, 1).

    Parameters
    ----------
    values : array, series, one-column table or list
        The private values.
    where : str
        What to call the column in an error.

    Returns
    -------
    narwhals series, array of shape (rows,) or list

    Raises
    ------
    DataError
        If it is not a single column, whatever its values.
    """
    _refuse_unusable(values)
    wrong_shape = DataError(f"In {where}, one column is expected: give an array of shape (rows,).")
    if isinstance(values, list):
        return values
    if isinstance(values, (tuple, range)):
        return list(values)
    if _is_from("pyarrow", values):
        import pyarrow as pa

        values = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    if _is_series(values):
        return nw.from_native(values, series_only=True)
    if isinstance(values, (str, bytes, Mapping)) or values is None:
        raise wrong_shape
    if hasattr(values, "__array__") and not _is_data_frame(values):
        values = np.asanyarray(values)
        # np.matrix stays two-dimensional however it is sliced; masks are kept.
        masked = isinstance(values, np.ma.MaskedArray)
        array: NDArray[Any] = values if masked else np.asarray(values)
        if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] != 1):
            raise wrong_shape
        kind_of_array(array.dtype)
        return array.reshape(-1)
    recognised = recognise_frame(values)
    if len(recognised.columns) != 1 or recognised.layout is not Layout.FRAME:
        raise wrong_shape
    column: nw.Series[Any] = recognised.rows.get_column(recognised.columns[0].key)
    return column


def _is_from(package: str, thing: object) -> bool:
    """Whether a thing's type comes from a package, which then need not be imported to ask."""
    return type(thing).__module__.partition(".")[0] == package


def _adopt(thing: object) -> object:
    """Return what narwhals makes of a thing: a frame, a lazy frame, a series, or itself."""
    try:
        return nw.from_native(thing, pass_through=True, allow_series=True)
    except DuplicateError:
        raise _repeated() from None


def _is_data_frame(thing: object) -> bool:
    """Whether narwhals knows a thing as an eager data frame."""
    return isinstance(_adopt(thing), nw.DataFrame)


def _is_series(thing: object) -> bool:
    """Whether narwhals knows a thing as a series."""
    return isinstance(_adopt(thing), nw.Series)


def _refuse_unusable(frame: object) -> None:
    """Refuse lazy frames and sparse matrices, with the way out."""
    if isinstance(_adopt(frame), nw.LazyFrame):
        raise DataError(
            f"A lazy frame ({type(frame).__module__.partition('.')[0]}) holds no rows yet: "
            f"collect() it, or write it to Parquet and give the path."
        )
    sparse = sys.modules.get("scipy.sparse")  # a sparse matrix exists only if this is imported
    if sparse is not None and sparse.issparse(frame):
        raise DataError(
            "Sparse matrices are not supported: give a dense array with .toarray(), or fewer "
            "columns."
        )


def declared_table(path: Path) -> Any:
    """Read names and types of a Parquet file or folder, as a pyarrow Table without rows."""
    import pyarrow.dataset

    with reading_parquet(path):
        return pyarrow.dataset.dataset(path, format="parquet").schema.empty_table()


@contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Say what is wrong with the path of a Parquet file or folder, in the words of this library."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"The path {str(path)!r} is not a Parquet file, or a folder of them: check the path. "
            "Other files: voile.read_table(path)."
        ) from error


def _recognise_native(native: Any) -> RecognisedFrame:
    """Recognise a data frame that narwhals knows."""
    try:
        frame = nw.from_native(native, eager_only=True)
        dtypes = frame.schema
    except DuplicateError:
        raise _repeated() from None
    columns = []
    for key, dtype in dtypes.items():
        column = frame.get_column(key)
        kind = kind_of_dtype(dtype, column.to_native())
        levels = None
        # pandas derives the categories of a categorical from the values, even of an ordered one;
        # those of a polars Enum are declared.
        if isinstance(dtype, nw.Enum) and frame.implementation.is_polars():
            levels = tuple(dtype.categories)
        whole = kind is Kind.NUMBER and dtype.is_integer()
        text = is_declared_text(column)
        columns.append(FrameColumn(str(key), key, kind, levels, whole, text))
    return RecognisedFrame(Layout.FRAME, frame, _named_once(columns))


def _recognise_array(array: NDArray[Any]) -> RecognisedFrame:
    """Recognise a numpy array; a flat one is a single column."""
    if array.ndim not in (1, 2):
        raise DataError(
            f"An array of {array.ndim} dimensions is not a table: give one of shape "
            f"(rows, columns)."
        )
    if array.dtype.names is not None:
        raise DataError(
            "Structured arrays are not supported: give a mapping {name: array[name], ...}."
        )
    kind = kind_of_array(array.dtype)
    table = array.reshape(-1, 1) if array.ndim == 1 else array
    columns = _numbered(
        table.shape[1], kind, whole=array.dtype.kind in "iu", text=array.dtype.kind in "US"
    )
    return RecognisedFrame(Layout.ARRAY, table, columns)


def _recognise_mapping(mapping: Mapping[Any, Any]) -> RecognisedFrame:
    """Recognise a mapping from names to columns of any sort."""
    adopted = {key: adopt_column(values, f"column {key!r}") for key, values in mapping.items()}
    columns = [
        FrameColumn(
            str(key),
            key,
            kind_of_values(values),
            whole=is_declared_whole(values),
            text=is_declared_text(values),
        )
        for key, values in adopted.items()
    ]
    return RecognisedFrame(Layout.MAPPING, adopted, _named_once(columns))


def _recognise_rows(rows: list[Any] | tuple[Any, ...]) -> RecognisedFrame:
    """Recognise a list of rows; only the first row's type and width are looked at."""
    if not rows:
        return RecognisedFrame(Layout.ROWS, [], ())
    first = rows[0]
    if not isinstance(first, (list, tuple, np.ndarray)) or (
        isinstance(first, np.ndarray) and first.ndim == 0
    ):
        raise DataError(
            f"A list of {type(first).__name__} is not a table: every row must be a list, with one "
            f"value per column."
        )
    return RecognisedFrame(Layout.ROWS, list(rows), _numbered(len(first), Kind.OTHER))


def _numbered(
    width: int, kind: Kind, *, whole: bool = False, text: bool = False
) -> tuple[FrameColumn, ...]:
    """Name columns that have no names."""
    return tuple(
        FrameColumn(f"x{place}", place, kind, whole=whole, text=text) for place in range(width)
    )


def _named_once(columns: Iterable[FrameColumn]) -> tuple[FrameColumn, ...]:
    """Refuse repeated and empty names, which could not be told apart in a schema."""
    columns = tuple(columns)
    for name, times in Counter(column.name for column in columns).items():
        if times > 1:
            raise _repeated(name)
        if not name:
            raise DataError("The table has a column with an empty name: rename it.")
    return columns


def _repeated(name: str | None = None) -> DataError:
    """Say that names occur twice."""
    what = "Some column names of the table occur" if name is None else f"Column {name!r} occurs"
    return DataError(f"{what} more than once: rename the columns (1 and '1' count as the same).")
