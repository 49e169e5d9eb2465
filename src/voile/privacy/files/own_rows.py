"""Rows that the user holds and asks about: read strictly, so that every row gets its own answer.

A private file must not tell by an error what is in a row, and a line that cannot be read is left
out there. Of one's own rows that would be dangerous: a row that vanishes gives the next one's
answer to somebody else. So here a line that does not fit is named, and every value that was not
taken as it stands is noted. How texts are written is decided by all rows, and refused if they leave
it open.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.errors import DataError
from voile.privacy.files.cells import FileCells, is_missing, read_cells
from voile.privacy.files.column_files import ColumnFiles
from voile.privacy.files.csv_files import Heading, open_rows_of, read_columns, read_heading
from voile.privacy.files.date_texts import read_seconds
from voile.privacy.files.dialect import CellKind, Dialect, Spelling, is_csv, is_sheet
from voile.privacy.files.encodings import UNREADABLE
from voile.privacy.files.names import check_names, check_there, missing_column, refuse_repeated
from voile.privacy.files.sheet_files import SheetFile, cell_text
from voile.privacy.files.sheet_formulas import find_without_result
from voile.privacy.files.spelling import Spellings, decide_spellings
from voile.schema.columns import Number
from voile.schema.schema import Schema

_MOST_NAMED = 3
"""Lines that an error names."""
_KINDS = {
    CellKind.NUMBER: "a number",
    CellKind.TIME: "a date",
    CellKind.DURATION: "a duration",
    CellKind.BOOLEAN: "a truth value",
}


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of a file, one for each of its lines.

    Attributes
    ----------
    table : pyarrow.Table
        As the schema says; what could not be read is missing.
    given : pyarrow.Table
        The same, with the texts of numbers that could not be read, for explanations to show.
    unreadable : tuple of tuple of str
        For each row, the values that could not be read, as "age = 'old'".
    places : tuple of str
        Where each row is in the file: "line 3", "row 17".
    kept : dict of str to list
        Further columns that were asked for, as the file has them.
    separator : str
        For a CSV file of answers: that of the file, if it is one.
    comma : bool
        Whether numbers of such a file should have decimal commas.
    remark : str
        What a person should know of how the file was read, if anything.
    """

    table: Any
    given: Any
    unreadable: tuple[tuple[str, ...], ...]
    places: tuple[str, ...]
    kept: dict[str, list[Any]]
    separator: str = ","
    comma: bool = False
    remark: str = ""


def read_own_rows(
    path: Path,
    schema: Schema,
    *,
    may_lack: Collection[str] = (),
    keep: Iterable[str] = (),
    dialect: Dialect | None = None,
) -> OwnRows:
    """Read one's own rows, strictly.

    Parameters
    ----------
    path : Path
        CSV, Excel, Parquet or Arrow.
    schema : Schema
        Decides how texts are read.
    may_lack : collection of str
        Columns of the schema that the file need not have.
    keep : iterable of str
        Further columns to give back, such as whose row it is.
    dialect : Dialect, optional
        What somebody says of how the file is written.

    Raises
    ------
    DataError
        If a line does not have the fields that the first line names, or its values could be read in
        two ways; the lines or columns are named.
    """
    check_there(path)
    dialect = dialect or Dialect()
    dialect.check_fits(path)
    others: tuple[str, ...] = ()
    if is_csv(path):
        heading = read_heading(path, dialect.encoding, own=True)
        names, separator, remark = heading.names, heading.separator, ""
    elif is_sheet(path):
        sheet = SheetFile(path, dialect.sheet)
        names, separator, others = sheet.names, "", sheet.others
        remark = "" if dialect.sheet else sheet.remark
    else:
        return _read_columns(path, schema, may_lack, tuple(keep))
    refuse_repeated(names, path)
    wanted, keep = _choose(names, schema, path, may_lack, keep, others)
    if is_csv(path):
        lines, behind = _check_lines(path, heading)
        places = tuple(f"line {line}" for line in lines)
        texts = read_columns(path, heading, list(names))
        if texts.num_rows != len(lines) + behind:
            raise DataError(
                f"The rows of {str(path)!r} cannot be told apart for certain: write values with "
                f"quotes or line breaks inside double quotes."
            )
        cells = {name: FileCells(texts[name].slice(0, len(lines))) for name in names}
        failed: Mapping[tuple[int, str], str] = {}
    else:
        numbers = _check_rows(path, sheet)
        places = tuple(f"row {number}" for number in numbers)
        cells = sheet.read(list(names))
        failed = find_without_result(path, sheet, numbers, wanted)
    spellings = decide_spellings(cells, dialect, separator)
    spellings.check({name: schema[name] for name in wanted}, path)
    columns, given = {}, {}
    unreadable = [list[str]() for _ in places]
    for name in wanted:
        spelling = spellings.reading(name, schema[name])
        columns[name] = read_cells(cells[name], schema[name], spelling)
        wrong = _find_unreadable(cells[name], columns[name])
        wrong |= {row: text for (row, other), text in failed.items() if other == name}
        for row, text in sorted(wrong.items()):
            kind = _tell_kind(cells[name], row, spelling)
            unreadable[row].append(f"{name} = {text[:40]!r}{kind}")
        given[name] = _with_texts(columns[name], wrong, schema[name]) if wrong else columns[name]
    import pyarrow as pa

    return OwnRows(
        pa.table(columns),
        pa.table(given),
        tuple(map(tuple, unreadable)),
        places,
        {name: cells[name].texts.to_pylist() for name in keep},
        *_answer_form(separator, spellings),
        remark,
    )


def read_asked(
    path: Path, schema: Schema, *, may_lack: Collection[str] = (), dialect: Dialect | None = None
) -> Any:
    """The rows as an Arrow table, where there is no place for notes.

    Raises
    ------
    DataError
        Also if a value cannot be read; the first is named.
    """
    own = read_own_rows(path, schema, may_lack=may_lack, dialect=dialect)
    for place, wrong in zip(own.places, own.unreadable, strict=True):
        if wrong:
            raise DataError(
                f"In {place} of {str(path)!r}, {wrong[0]} cannot be read: correct it, or leave the "
                "value out."
            )
    return own.table


def _answer_form(separator: str, spellings: Spellings) -> tuple[str, bool]:
    """Separator and whether there are decimal commas in answers, as whoever asked would write."""
    if not separator:
        separator = ";" if spellings.comma else ","
    comma = spellings.comma or (separator == ";" and not spellings.points)
    return separator, comma and separator != ","


def _choose(
    names: Iterable[str],
    schema: Schema,
    path: Path,
    may_lack: Collection[str],
    keep: Iterable[str],
    sheets: Collection[str] = (),
) -> tuple[list[str], list[str]]:
    """The columns to read, and those to give back; both must be there."""
    wanted = check_names(list(schema), names, path, may_lack, sheets)
    keep = list(dict.fromkeys(keep))
    for name in keep:
        if name not in names:
            raise missing_column(name, names, path, sheets)
    return wanted, keep


def _read_columns(
    path: Path, schema: Schema, may_lack: Collection[str], keep: tuple[str, ...]
) -> OwnRows:
    """Rows of a file that declares the types of its columns, each of which can be read."""
    files = ColumnFiles(path)
    for names in files.names:
        refuse_repeated(names, path)
    wanted, kept = _choose(files.types, schema, path, may_lack, keep)
    table = files.read(list(dict.fromkeys([*wanted, *kept])))
    if table.num_rows == 0:
        raise _no_rows(path)
    rows = table.select(wanted)
    places = tuple(f"row {row}" for row in range(1, table.num_rows + 1))
    told = {name: [_as_text(one) for one in table[name].to_pylist()] for name in kept}
    return OwnRows(rows, rows, ((),) * len(places), places, told)


def _as_text(value: object) -> str:
    return "" if value is None else str(value)


def _find_unreadable(cells: FileCells, column: Any) -> dict[int, str]:
    """Rows whose cell is not missing and was not read, with their texts."""
    import pyarrow.compute as pc

    unread = pc.and_(column.is_null(), pc.invert(is_missing(cells)))
    rows = [row for row, one in enumerate(unread.to_pylist()) if one]
    return {row: cells.texts[row].as_py() for row in rows}


def _tell_kind(cells: FileCells, row: int, spelling: Spelling) -> str:
    """What a cell is that was not read, if that is known: " (a date)"."""
    kind = None if cells.kinds is None else cells.kinds[row].as_py()
    if kind is None and read_seconds(cells.trimmed.slice(row, 1), spelling).null_count == 0:
        kind = CellKind.TIME
    return "" if kind is None else f" ({_KINDS[CellKind(kind)]})"


def _with_texts(column: Any, wrong: Mapping[int, str], described: object) -> Any:
    """A column of numbers as texts, with those that could not be read; others as they are."""
    if not isinstance(described, Number):
        return column
    import pyarrow as pa

    told: list[Any] = [None if one is None else cell_text(one) for one in column.to_pylist()]
    for row, text in wrong.items():
        told[row] = f"{text[:40]} (unreadable)"
    return pa.chunked_array([told], pa.string())


# -- rows that do not fit --------------------------------------------------------------------------


def _no_rows(path: Path) -> DataError:
    return DataError(f"The file {str(path)!r} has no rows: give a table that has some.")


def _refuse_unfit(bad: list[str], path: Path, width: int, remedy: str) -> None:
    if bad:
        more = f", and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
        raise DataError(
            f"The file {str(path)!r} has lines that do not fit its {width} columns: "
            f"{', '.join(bad[:_MOST_NAMED])}{more}. Correct them ({remedy}): nobody's answer may "
            f"go to somebody else."
        )


def _check_rows(path: Path, sheet: SheetFile) -> list[int]:
    """The numbers of a sheet's rows; an error that names those that do not fit."""
    numbers: list[int] = []
    bad: list[str] = []
    for number, cells, beside in sheet.rows():
        if all(one == "" for one in cells):
            bad.append(f"row {number} has a value beside the columns and none in them")
            continue
        last = numbers[-1] if numbers else sheet.heading
        if number > last + 1:
            empty = (
                f"row {last + 1} is"
                if number == last + 2
                else f"rows {last + 1} to {number - 1} are"
            )
            bad.append(f"{empty} empty")
        if beside:
            bad.append(f"row {number} has a value beside the columns")
        numbers.append(number)
    if not numbers and not bad:
        raise _no_rows(path)
    _refuse_unfit(bad, path, len(sheet.names), "delete empty rows, and name each column")
    return numbers


def _check_lines(path: Path, heading: Heading) -> tuple[list[int], int]:
    """The line at which each row begins; an error that names those that do not fit.

    Also how many lines of separators alone stand behind all rows: as empty last lines, they are
    none. One column has no separators, and there "" is a value that is missing.
    """
    width = len(heading.names)
    begins: list[int] = []
    bad: list[str] = []
    empty: list[int] = []
    behind = 0
    for line, fields in _records(path, heading):
        if fields == [] or (fields == [""] * width and width > 1):
            empty.append(line)
            behind += bool(fields)
            continue
        bad += [f"line {one} is empty" for one in empty]
        empty, behind = [], 0
        if fields is None:
            bad.append(f"line {line} has quotes that do not match")
        elif len(fields) != width:
            bad.append(f"line {line} has {len(fields)} fields")
        elif any(UNREADABLE in text for text in fields):
            bad.append(f"line {line} is not {heading.encoding.name.upper()}")
        begins.append(line)
    if not begins:
        raise _no_rows(path)
    remedy = "delete empty lines; a separator inside a value needs quotes"
    _refuse_unfit(bad, path, width, remedy)
    return begins, behind


def _records(path: Path, heading: Heading) -> Iterator[tuple[int, list[str] | None]]:
    """Line and fields of each row; None if they cannot be parsed, and none of an empty line."""
    with open_rows_of(path, heading) as stream:
        before = heading.lines
        text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8", newline="")
        reader = csv.reader(text, delimiter=heading.separator, strict=True)
        while True:
            line = before + reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield line, None
                return
            yield line, fields
