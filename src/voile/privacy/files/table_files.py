"""Tables in files: CSV, Parquet and Arrow, read by what a schema says.

Values do not decide how a column is read.
A CSV file declares no kinds. With a schema, its columns are read as the schema says: a text that is
no number is missing, whoever wrote it. Without one, kinds are guessed from the first lines, by a
large majority of them; the guess is shown, and it becomes public with everything built on it.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from voile.errors import DataError, SchemaError
from voile.privacy.files.column_files import ARROW_ENDINGS, PARQUET_ENDINGS, ColumnFiles
from voile.privacy.files.csv_files import Heading, guess_kinds, read_columns, read_heading
from voile.privacy.files.csv_texts import read_texts, without_unreadable
from voile.schema.columns import Column, Number
from voile.schema.frames import FrameColumn, describe_frame
from voile.schema.proposal import Proposal, propose_column
from voile.schema.schema import Schema

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
KINDS_GUESSED = (
    "Kinds of the columns were guessed from the first lines of the file, without noise and unpaid: "
    "the guarantee takes them for public. A schema says what is: voile schema shows and fixes them."
)
_ACCEPTED = "a CSV (.csv, .tsv, .csv.gz), Parquet (.parquet) or Arrow (.arrow, .feather) file"


def is_csv(path: Path) -> bool:
    """Whether a file is text with separators, by its name."""
    return path.name.lower().endswith(CSV_ENDINGS)


def describe_file(path: Path) -> tuple[FrameColumn, ...]:
    """Names and kinds of a file's columns; of a CSV file the kinds are guessed."""
    import pyarrow as pa

    _check_there(path)
    if is_csv(path):
        heading = _read_heading(path)
        kinds = guess_kinds(path, heading)
        return tuple(map(FrameColumn, heading.names, heading.names, kinds))
    types = _open_columns(path).types
    return describe_frame(pa.schema(list(types.items())).empty_table())


def propose_columns(path: Path) -> tuple[Proposal, ...]:
    """What is proposed for each column, from names and kinds alone."""
    return tuple(propose_column(one) for one in describe_file(path))


def propose_schema(path: Path, target: str | None) -> Schema:
    """Kinds alone, without bounds or levels: for a training that finds the rest privately.

    Columns that look like identifiers are left out.
    """
    columns: dict[str, Column] = {}
    aim: Column | None = None
    proposals = propose_columns(path)
    for one in proposals:
        column = Number() if isinstance(one.column, Number) else one.column
        if one.name == target:
            aim = column
        elif one.use:
            columns[one.name] = column
    if target is not None and aim is None:
        raise missing_column(target, (one.name for one in proposals), path)
    return Schema(columns, target=aim)


def missing_column(name: str, names: Iterable[str], path: Path) -> DataError:
    """The error that a column is not there, with the nearest name that is."""
    there = list(names)
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(there[:12])}."
    return DataError(f"The file {str(path)!r} has no column {name!r}: {hint}")


def check_names(
    wanted: Iterable[str], names: Iterable[str], path: Path, may_lack: Collection[str] = ()
) -> list[str]:
    """The wanted names that are there; those that may not be missing must be."""
    there = dict.fromkeys(names)
    for name in wanted:
        if name not in there and name not in may_lack:
            error = missing_column(name, there, path)
            raise SchemaError(f"{error} Correct the schema or the file.")
    return [name for name in wanted if name in there]


def read_table(
    path: Path, schema: Schema, also: Iterable[str] = (), *, may_lack: Collection[str] = ()
) -> Any:
    """The columns of a schema, and ``also`` others, as an Arrow table.

    Parameters
    ----------
    path : Path
    schema : Schema
        Decides how a CSV file's texts are read.
    also : iterable of str
        Further columns (the target, the privacy unit), read as the file has them.
    may_lack : collection of str
        Columns of the schema that the file need not have; they are left out then.

    Returns
    -------
    pyarrow.Table
        Private, if the file is.
    """
    _check_there(path)
    wanted = [*schema, *(name for name in dict.fromkeys(also) if name not in schema)]
    if is_csv(path):
        heading = _read_heading(path)
        wanted = check_names(wanted, heading.names, path, may_lack)
        table = _as_described(read_columns(path, heading, wanted), schema, comma=heading.comma)
    else:
        files = _open_columns(path)
        wanted = check_names(wanted, files.types, path, may_lack)
        table = files.read(wanted)
    if table.num_rows == 0:
        raise DataError(f"The file {str(path)!r} has no rows: give a table that has some.")
    return table


def note_guesses(rows: Any, path: Path) -> Any:
    """The rows of a file, with what receipts must say of kinds that no schema told."""
    from voile.privacy.origins import attach_notes
    from voile.privacy.vault import KINDS_FROM_TYPES

    attach_notes(rows, (KINDS_GUESSED if is_csv(path) else KINDS_FROM_TYPES,))
    return rows


def _as_described(texts: Any, schema: Schema, *, comma: bool) -> Any:
    """A table of texts with the columns of a schema as it says, and others as they are."""
    import pyarrow as pa

    columns = [
        read_texts(texts[name], schema[name], comma=comma)
        if name in schema
        else without_unreadable(texts[name])
        for name in texts.column_names
    ]
    return pa.table(columns, names=texts.column_names)


# -- what a file is -------------------------------------------------------------------------------


def _check_there(path: Path) -> None:
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}: check the path.")
    name = path.name.lower()
    if path.is_dir() or name.endswith(PARQUET_ENDINGS) or name.endswith(ARROW_ENDINGS):
        return
    if not is_csv(path):
        raise DataError(f"The file {str(path)!r} is of no known kind: give {_ACCEPTED}.")


def _open_columns(path: Path) -> ColumnFiles:
    files = ColumnFiles(path)
    for names in files.names:
        _refuse_repeated(names, path)
    return files


def _read_heading(path: Path) -> Heading:
    heading = read_heading(path)
    _refuse_repeated(heading.names, path)
    return heading


def _refuse_repeated(names: Iterable[str], path: Path) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(f"The file {str(path)!r} has two columns {name!r}: rename one.")
