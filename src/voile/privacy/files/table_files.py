"""Tables in files: CSV, Excel, Parquet and Arrow, read by what a schema says.

Values do not decide how a column is read.
CSV files and sheets declare no kinds. With a schema, their columns are read as the schema says: a
text that is no number is missing, whoever wrote it. Without one, kinds are guessed from the first
rows, by a large majority of them; so is how a file is written, unless somebody says it. A guess is
shown, receipts name it, and it becomes public with everything built on it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from voile.errors import DataError, SchemaError
from voile.privacy.files.cells import (
    FileCells,
    as_instants,
    guess_type,
    read_cells,
    without_unreadable,
)
from voile.privacy.files.column_files import ARROW_ENDINGS, ColumnFiles
from voile.privacy.files.csv_files import (
    GUESSED_FROM,
    Heading,
    read_columns,
    read_first_rows,
    read_heading,
)
from voile.privacy.files.dialect import Dialect, is_csv, is_sheet
from voile.privacy.files.names import check_names, check_there, refuse_repeated
from voile.privacy.files.sheet_files import SheetFile
from voile.privacy.files.spelling import Spellings, decide_spellings
from voile.progress import PATIENCE, progress_bar
from voile.schema.columns import Column, Number
from voile.schema.frames import FrameColumn, describe_frame
from voile.schema.kinds import Kind
from voile.schema.schema import Schema

KINDS_GUESSED = (
    "Kinds of the columns were guessed from the first rows of the file, without noise and unpaid: "
    "the guarantee takes them for public. A schema says what is: voile schema shows and fixes them."
)

_PLAIN = ("UTF-8", "decimal point")


class TableFile:
    """A table in a file: its names are read now, its first rows and all rows when they are needed.

    Parameters
    ----------
    path : Path
    dialect : Dialect
        What somebody says of how it is written.

    Attributes
    ----------
    names : tuple of str
    """

    def __init__(self, path: Path, dialect: Dialect | None = None) -> None:
        check_there(path)
        self.path, self._dialect = path, dialect or Dialect()
        self._dialect.check_fits(path)
        self._file: Heading | SheetFile | ColumnFiles
        if is_csv(path):
            self._file = read_heading(path, self._dialect.encoding)
            self.names = self._file.names
        elif is_sheet(path):
            self._file = SheetFile(path, self._dialect.sheet)
            self.names = self._file.names
        else:
            self._file = ColumnFiles(path)
            for names in self._file.names:
                refuse_repeated(names, path)
            self.names = tuple(self._file.types)
        refuse_repeated(self.names, path)
        self._numbers_of: tuple[str, ...] = ()

    @property
    def other_sheets(self) -> tuple[str, ...]:
        """Sheets of a workbook that are not read."""
        return self._file.others if isinstance(self._file, SheetFile) else ()

    @property
    def declares_kinds(self) -> bool:
        """Whether the file itself says of what kind its columns are."""
        return isinstance(self._file, ColumnFiles)

    @cached_property
    def declared(self) -> Any:
        """Names and types as a table without rows; those of a CSV file or a sheet are guessed."""
        import pyarrow as pa

        if isinstance(self._file, ColumnFiles):
            types = self._file.types
        else:
            of = self.spellings.of
            types = {name: guess_type(self._first[name], of[name]) for name in self.names}
        return pa.schema(list(types.items())).empty_table()

    @property
    def columns(self) -> tuple[FrameColumn, ...]:
        """Names and kinds."""
        return describe_frame(self.declared)

    @cached_property
    def _first(self) -> Mapping[str, FileCells]:
        """The first rows of a file that declares nothing."""
        if isinstance(self._file, SheetFile):
            return self._file.read(list(self.names), GUESSED_FROM)
        assert isinstance(self._file, Heading)
        texts = read_first_rows(self.path, self._file)
        return {name: FileCells(texts[name]) for name in self.names}

    @cached_property
    def spellings(self) -> Spellings:
        """How the texts of each column are read; of files that declare nothing."""
        separator = self._file.separator if isinstance(self._file, Heading) else ""
        return decide_spellings(self._first, self._dialect, separator)

    @property
    def guesses(self) -> tuple[str, ...]:
        """What first rows decided of how the file is written, in words, where it is not plain.

        Plain files are UTF-8 and have decimal points: whatever is read so needs no word.
        """
        if self.declares_kinds:
            return ()
        told = self.spellings.guesses
        if isinstance(self._file, Heading) and self._file.encoding.guessed:
            told = (self._file.encoding.name.upper(), *told)
        return tuple(one for one in told if one not in _PLAIN)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know of how the file was read."""
        remarks = []
        if self.guesses:
            remarks.append(
                f"Guessed from the first rows of {self.path.name}: {', '.join(self.guesses)}. If "
                "that is wrong, say --encoding, --decimal or --dates."
            )
        if isinstance(self._file, SheetFile) and self._file.remark and not self._dialect.sheet:
            remarks.append(self._file.remark)
        return tuple(remarks)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What a person has to say of columns of numbers before they can be read."""
        if self.declares_kinds:
            return ()
        open_ = self.spellings.doubts
        columns = {one.name for one in self.columns if one.kind is not Kind.OTHER}
        open_ = {name: what for name, what in open_.items() if name in columns}
        open_ |= self.spellings.amounts
        return tuple(f"The values of column {name!r} {what}" for name, what in open_.items())

    def check_guessed(self, names: Iterable[str]) -> None:
        """Refuse columns that are amounts with a sign, where no schema says that they are not."""
        amounts = {} if self.declares_kinds else self.spellings.amounts
        for name in names:
            if name in amounts:
                raise DataError(
                    f"The values of column {name!r} in {str(self.path)!r} {amounts[name]}"
                )

    def notes(self, *, kinds: bool) -> tuple[str, ...]:
        """What receipts must say of guesses.

        Parameters
        ----------
        kinds : bool
            Whether kinds were taken from the file, because no schema told them.
        """
        from voile.privacy.vault import KINDS_FROM_TYPES

        if self.declares_kinds:
            return (KINDS_FROM_TYPES,) if kinds else ()
        notes = [KINDS_GUESSED] if kinds else []
        guesses = (*self.guesses, *self._numbers_of)
        if guesses:
            notes.append(
                "How the file is written was guessed from its first rows, without noise and "
                f"unpaid: {', '.join(guesses)}. The guarantee takes it for public; "
                "--encoding, --decimal and --dates say it instead."
            )
        return tuple(notes)

    def read(
        self, schema: Schema, also: Iterable[str] = (), *, may_lack: Collection[str] = ()
    ) -> Any:
        """The columns of a schema, and ``also`` others, as an Arrow table.

        Parameters
        ----------
        schema : Schema
            Decides how texts are read.
        also : iterable of str
            Further columns (the privacy unit), read as the file has them.
        may_lack : collection of str
            Columns of the schema that the file need not have; they are left out then.

        Returns
        -------
        pyarrow.Table
            Private, if the file is.

        Raises
        ------
        DataError, SchemaError
            If a column is not there, the file is damaged, or first rows leave open how a column
            is to be read. No later row decides.
        """
        import pyarrow as pa

        wanted = [*schema, *(name for name in dict.fromkeys(also) if name not in schema)]
        wanted = check_names(wanted, self.names, self.path, may_lack, self.other_sheets)
        if isinstance(self._file, ColumnFiles):
            table = self._file.read(wanted)
        else:
            described = {name: schema[name] for name in wanted if name in schema}
            self.spellings.check(described, self.path)
            self._numbers_of = self.spellings.numbers_of(described)
            cells = self._read_cells(wanted)
            columns = []
            with progress_bar("reading columns", len(wanted), after=PATIENCE) as show:
                for name in wanted:
                    columns.append(self._as_described(cells.pop(name), schema.get(name), name))
                    show(len(columns))
            table = pa.table(columns, names=wanted)
        if table.num_rows == 0:
            raise DataError(f"The file {str(self.path)!r} has no rows: give a table that has some.")
        return table

    def read_declared(self) -> Any:
        """All columns, of the types that the file declares or that were guessed."""
        import pyarrow as pa

        self.check_guessed(self.names)
        kinds = Schema.from_frame(self.declared)
        table, types = self.read(kinds), self.declared.schema
        columns = [_as_type(table[name], types.field(name).type) for name in self.names]
        return pa.table(columns, names=list(self.names))

    def _read_cells(self, wanted: list[str]) -> dict[str, FileCells]:
        if isinstance(self._file, SheetFile):
            return self._file.read(wanted)
        assert isinstance(self._file, Heading)
        texts = read_columns(self.path, self._file, wanted)
        return {name: FileCells(texts[name]) for name in wanted}

    def _as_described(self, cells: FileCells, column: Column | None, name: str) -> Any:
        """FileCells as a schema says, or as they are."""
        if column is None:
            return without_unreadable(cells.texts)
        return read_cells(cells, column, self.spellings.reading(name, column))


def read_table(
    path: str | os.PathLike[str],
    schema: Schema | None = None,
    *,
    target: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
) -> Any:
    """Read a private table from a CSV, Excel, Parquet or Arrow file, as the command does.

    Parameters
    ----------
    path : str or path
        By its ending: .csv, .tsv, .txt, .csv.gz; .xlsx, .xlsm, .xlsb, .xls, .ods; .parquet, .pq or
        a folder of them; .arrow, .feather, .ipc.
    schema : Schema, optional
        Decides how columns are read, and which. Without one all are read, and kinds are those that
        the file declares, or guessed from its first rows.
    target : str, optional
        Name of the column that the schema's target describes, to be read as well.
    sheet : str, optional
        Of an Excel file; by default the first.
    encoding : str, optional
        Of a CSV file ("utf-8", "cp1252", "utf-16"); by default guessed from its first lines.
    decimal : {".", ","}, optional
    thousands : {".", ",", "'", "space", "none"}, optional
    dates : {"dmy", "mdy", "ymd"}, optional
        How numbers and dates in texts are written; by default guessed from the first rows.

    Returns
    -------
    pyarrow.Table
        The rows, which nothing protects yet: give it to ``fit``, `voile.protect` or
        `voile.hold_out`. Receipts name what was guessed.

    Raises
    ------
    DataError
        If the file is no table, or its first rows leave open how a column is written (is 1.889 less
        than two, or more than a thousand?). Never because of a later row.
    """
    from voile.privacy.origins import attach_notes
    from voile.privacy.vault import check_people

    place = Path(path).expanduser()
    table = TableFile(place, Dialect(sheet, encoding, decimal, thousands, dates))
    if schema is None:
        rows = table.read_declared()
    else:
        check_people(schema, Schema.from_frame(table.declared), target)
        own = schema.privacy_unit.column
        rows = table.read(_with_target(schema, target), () if own is None else (own,))
    attach_notes(rows, table.notes(kinds=schema is None))
    return rows


def read_unprotected(
    path: str | os.PathLike[str],
    schema: Schema | None,
    target: Column | None,
    y: object,
    weights: object,
) -> Any:
    """The rows of a file for the vault, which reads no such files in pieces.

    Parameters
    ----------
    path, schema, target, y, weights
        As of `voile.privacy.vault.protect`; the target and the weights are names of columns.
    """
    for what, one in (("target", y), ("weights", weights)):
        if one is not None and not isinstance(one, str):
            raise DataError(f"The {what} of a file must be the name of a column of the same file.")
    if schema is None:
        return read_table(path)
    if target is not None:
        schema = schema.with_target(target)
    if isinstance(weights, str) and weights not in schema:
        schema = Schema({**schema, weights: Number()}, target=schema.target, unit=schema.unit)
    return read_table(path, schema, target=y if isinstance(y, str) else None)


def is_read_whole(path: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether something is the path of a file that is read at once: any but Parquet."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    place = Path(path)
    return is_csv(place) or is_sheet(place) or place.name.lower().endswith(ARROW_ENDINGS)


def _with_target(schema: Schema, target: str | None) -> Schema:
    """The columns to read, the target among them."""
    if target is None or target in schema:
        return Schema({**schema})
    if schema.target is None:
        raise SchemaError(
            f"The schema says nothing of the target {target!r}: give it a target, or leave the "
            "target out."
        )
    return Schema({**schema, target: schema.target})


def _as_type(column: Any, kind: Any) -> Any:
    """Seconds as dates, times or durations, where the type is one; others as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_temporal(kind):
        return column
    instants = as_instants(column) if pa.types.is_floating(column.type) else column
    if pa.types.is_duration(kind):
        return pc.cast(pc.cast(instants, pa.int64()), kind)
    return pc.cast(instants, kind, safe=False)
