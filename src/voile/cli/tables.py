"""Tables in files: CSV, Parquet and Arrow, read by what a schema says.

Values do not decide how a column is read.
A CSV file declares no kinds. With a schema, its columns are read as the schema says: a text that is
no number is missing, whoever wrote it. Without one, kinds are guessed from the first lines, by a
large majority of them; the guess is shown, and it becomes public with everything built on it.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from voile.errors import DataError, SchemaError
from voile.schema.columns import Category, Column, Number
from voile.schema.frames import FrameColumn, Kind, describe_frame
from voile.schema.proposal import Proposal, propose_column
from voile.schema.schema import Schema

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
PARQUET_ENDINGS = (".parquet", ".pq")
_ACCEPTED = "a CSV (.csv, .tsv, .csv.gz), Parquet (.parquet) or Arrow (.arrow, .feather) file"

_GUESSED_FROM, _MAJORITY = 1_000, 0.95
_SNIFFED = 65_536
_BLOCK_BYTES = 2**30
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
_TIME_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")
_MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
_TRUTHS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def is_csv(path: Path) -> bool:
    """Whether a file is text with separators, by its name."""
    return path.name.lower().endswith(CSV_ENDINGS)


def describe_file(path: Path) -> tuple[FrameColumn, ...]:
    """Names and kinds of a file's columns; of a CSV file the kinds are guessed."""
    _check_there(path)
    if is_csv(path):
        return _describe_csv(path)
    return describe_frame(_open_columns(path).schema.empty_table())


def propose_columns(path: Path) -> tuple[Proposal, ...]:
    """What is proposed for each column, from names and kinds alone."""
    return tuple(propose_column(one) for one in describe_file(path))


def propose_schema(path: Path, target: str | None) -> Schema:
    """Kinds alone, without bounds or levels: for a training that finds the rest privately.

    Columns that look like identifiers are left out.
    """
    columns: dict[str, Column] = {}
    aim: Column | None = None
    for one in propose_columns(path):
        column = Number() if isinstance(one.column, Number) else one.column
        if one.name == target:
            aim = column
        elif one.use:
            columns[one.name] = column
    if target is not None and aim is None:
        raise missing_column(target, (one.name for one in propose_columns(path)), path)
    return Schema(columns, target=aim)


def missing_column(name: str, names: Iterable[str], path: Path) -> DataError:
    """The error that a column is not there, with the nearest name that is."""
    there = list(names)
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(there[:12])}."
    return DataError(f"The file {str(path)!r} has no column {name!r}: {hint}")


def read_table(path: Path, schema: Schema, also: Iterable[str] = ()) -> Any:
    """The columns of a schema, and ``also`` others, as an Arrow table.

    Parameters
    ----------
    path : Path
    schema : Schema
        Decides how a CSV file's texts are read.
    also : iterable of str
        Further columns (the target, the privacy unit), read as the file has them.

    Returns
    -------
    pyarrow.Table
        Private, if the file is.
    """
    _check_there(path)
    wanted = [*schema, *(name for name in dict.fromkeys(also) if name not in schema)]
    if is_csv(path):
        table, comma = _read_csv(path, wanted)
        for place, name in enumerate(wanted):
            column = schema.get(name)
            if column is not None:
                table = table.set_column(place, name, read_texts(table[name], column, comma=comma))
    else:
        opened = _open_columns(path)
        _check_names(wanted, opened.schema.names, path)
        try:
            table = opened.to_table(columns=wanted)
        except Exception as error:
            raise DataError(
                f"The file {str(path)!r} is damaged ({type(error).__name__}): write it again."
            ) from None
    if table.num_rows == 0:
        raise DataError(f"The file {str(path)!r} has no rows: give a table that has some.")
    return table


def read_texts(texts: Any, column: Column, *, comma: bool = False) -> Any:
    """A column of texts as its schema says; what does not fit is missing, not an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = () if isinstance(column, Number) else (column.levels or ())
    numeric = levels and not any(isinstance(level, str) for level in levels)
    if isinstance(column, Category) and not numeric:
        listed = [level for level in levels if isinstance(level, str)]
        empty = [text for text in ("",) if text not in listed]
        return pc.if_else(pc.is_in(texts, pa.array(empty, texts.type)), None, texts)
    trimmed = pc.utf8_trim_whitespace(_valid(texts))
    if numeric and all(isinstance(level, bool) for level in levels):
        small = pc.utf8_lower(trimmed)
        known = pa.array(list(_TRUTHS), small.type)
        truths = pa.array(list(_TRUTHS.values()))
        return pc.take(truths, pc.index_in(small, known))
    if comma:
        trimmed = pc.replace_substring(trimmed, ",", ".")
    fits = pc.match_substring_regex(trimmed, r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$")
    numbers = pc.cast(pc.if_else(fits, trimmed, None), pa.float64())
    if isinstance(column, Number):
        numbers = pc.coalesce(numbers, _seconds(trimmed))
    return numbers


def _valid(texts: Any) -> Any:
    """Texts whose bytes are no UTF-8 become missing: reading them must not fail."""
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        rows = [one.as_buffer().to_pybytes() if one.is_valid else None for one in texts]
        return pa.chunked_array([[_decoded(one) for one in rows]], pa.string())
    return texts


def _decoded(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None


def _seconds(texts: Any) -> Any:
    """ISO dates and times as seconds since 1970; everything else missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.replace_substring(texts, "T", " ")
    plain = pc.replace_substring_regex(plain, r"(\.\d+)?Z?$", "")
    found: Any = pa.nulls(len(texts), pa.timestamp("s"))
    for one in _TIME_FORMATS:
        found = pc.coalesce(found, pc.strptime(plain, one, "s", error_is_null=True))
    return pc.cast(pc.cast(found, pa.int64()), pa.float64())


# -- what a file is -------------------------------------------------------------------------------


def _check_there(path: Path) -> None:
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}: check the path.")
    name = path.name.lower()
    if path.is_dir() or name.endswith(PARQUET_ENDINGS) or name.endswith(ARROW_ENDINGS):
        return
    if not is_csv(path):
        raise DataError(f"The file {str(path)!r} is of no known kind: give {_ACCEPTED}.")


def _open_columns(path: Path) -> Any:
    """A Parquet or Arrow file as a dataset, of which nothing but the declaration is read yet."""
    import pyarrow as pa
    import pyarrow.dataset

    kind = "ipc" if path.name.lower().endswith(ARROW_ENDINGS) else "parquet"
    try:
        opened = pyarrow.dataset.dataset(path, format=kind)
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise
        raise DataError(
            f"The file {str(path)!r} is no {kind.capitalize()} file: was it copied completely?"
        ) from None
    _refuse_repeated(opened.schema.names, path)
    return opened


def _refuse_repeated(names: list[str], path: Path) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"The file {str(path)!r} has two columns {name!r}: rename one.")


def _check_names(wanted: Iterable[str], names: list[str], path: Path) -> None:
    for name in wanted:
        if name not in names:
            error = missing_column(name, names, path)
            raise SchemaError(f"{error} Correct the schema or the file.")


# -- CSV ------------------------------------------------------------------------------------------


def _open_text(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="detect")


def _head(path: Path) -> tuple[list[str], str, str]:
    """Names of the columns, the separator, and the beginning of the file."""
    try:
        with _open_text(path) as stream:
            raw = stream.read(_SNIFFED)
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise
        raise DataError(f"The file {str(path)!r} cannot be unpacked: is it complete?") from None
    if not raw.strip():
        raise DataError(f"The file {str(path)!r} is empty: give a table with a line of names.")
    # The first line alone: what stands in a row must not decide whether there is an error.
    if b"\0" in raw.lstrip(b"\r\n").partition(b"\n")[0]:
        raise DataError(f"The file {str(path)!r} is not text: save the table as CSV in UTF-8.")
    try:
        text = raw.decode("utf-8-sig", errors="ignore" if len(raw) == _SNIFFED else "strict")
    except UnicodeDecodeError:
        text = raw.decode("utf-8-sig", errors="replace")
        if "\ufffd" in text.partition("\n")[0]:
            raise DataError(
                f"The names of {str(path)!r} are not UTF-8: save the table as CSV in UTF-8."
            ) from None
    line = text.lstrip("\r\n").partition("\n")[0]
    separator = max(",;\t|", key=line.count)
    names = next(_lines(line, separator), [])
    if any(not name.strip() for name in names):
        place = next(i for i, name in enumerate(names, 1) if not name.strip())
        raise DataError(
            f"Column {place} of {str(path)!r} has no name: the first line must name the columns."
        )
    _refuse_repeated(names, path)
    return names, separator, text


def _lines(text: str, separator: str) -> Iterator[list[str]]:
    """Lines taken apart, each by itself; one that cannot be is left out, and nobody is told."""
    for line in text.lstrip("\r\n").splitlines():
        try:
            yield next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            continue


def _describe_csv(path: Path) -> tuple[FrameColumn, ...]:
    names, separator, text = _head(path)
    lines = list(islice(_lines(text, separator), 1 + _GUESSED_FROM))
    rows = [row for row in lines[1:] if len(row) == len(names)]
    if len(text) >= _SNIFFED - 4 and len(rows) > 1:
        rows.pop()  # the last line may be cut
    return tuple(
        FrameColumn(name, name, _guess(row[place] for row in rows))
        for place, name in enumerate(names)
    )


def _guess(texts: Iterable[str]) -> Kind:
    """Kind of nearly all texts; one row alone cannot tip a large table's."""
    told = [text.strip() for text in texts if text.strip().lower() not in _MISSING]
    if not told:
        return Kind.OTHER
    for kind, pattern in ((Kind.NUMBER, _NUMBER), (Kind.TIME, _TIME)):
        if sum(pattern.fullmatch(text) is not None for text in told) >= _MAJORITY * len(told):
            return kind
    return Kind.OTHER


def _read_csv(path: Path, wanted: list[str]) -> tuple[Any, bool]:
    """The wanted columns as texts; and whether numbers may have decimal commas."""
    import pyarrow as pa
    import pyarrow.csv as pc

    names, separator, _ = _head(path)
    _check_names(wanted, names, path)
    bad = 0

    def skip(row: Any) -> str:
        nonlocal bad
        bad += 1
        return "skip"

    try:
        with _open_text(path) as stream:
            table = pc.read_csv(
                stream,
                # A longer row than a block would be an error, and tell of itself.
                read_options=pc.ReadOptions(block_size=_BLOCK_BYTES),
                parse_options=pc.ParseOptions(
                    delimiter=separator, newlines_in_values=True, invalid_row_handler=skip
                ),
                convert_options=pc.ConvertOptions(
                    check_utf8=False,
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=wanted,
                    strings_can_be_null=False,
                ),
            )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        # The parser's own words may quote a row.
        raise DataError(
            f"The file {str(path)!r} cannot be read as a table with {len(names)} columns "
            f"({type(error).__name__}): check its quotes and line ends."
        ) from None
    if bad > table.num_rows:
        raise DataError(
            f"Most lines of {str(path)!r} do not have the {len(names)} fields of its first line: "
            "check the separator and the quotes."
        )
    return table, separator == ";"


def with_task(schema: Schema, task: str | None, target: str) -> Schema:
    """The schema with a target of the kind that the task needs."""
    if task == "regression" and not isinstance(schema.target, Number):
        raise SchemaError(
            f"The target {target!r} is a category and regression needs a number: correct the "
            "schema, or use --task classification."
        )
    if task == "classification" and isinstance(schema.target, Number):
        return replace(schema, target=Category())
    return schema
