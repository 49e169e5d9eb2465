"""Names in a file: of the file itself, by which its kind is known, and of its columns."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from voile.errors import DataError, SchemaError
from voile.privacy.files.column_files import ARROW_ENDINGS, PARQUET_ENDINGS
from voile.privacy.files.dialect import is_csv, is_sheet

_ACCEPTED = (
    "a CSV (.csv, .tsv, .csv.gz), Excel (.xlsx, .xls, .ods), Parquet (.parquet) or Arrow (.arrow, "
    ".feather) file"
)


def missing_column(
    name: str, names: Iterable[str], path: Path, sheets: Collection[str] = ()
) -> DataError:
    """The error that a column is not there, with the nearest name that is, and other sheets."""
    there = list(names)
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(there[:12])}."
    if len(there) == 1 and not near:
        hint = f"it has {there[0]!r} alone; if that is a title, delete the rows above the names."
    return DataError(f"The file {str(path)!r} has no column {name!r}: {hint}{tell_sheets(sheets)}")


def tell_sheets(others: Collection[str]) -> str:
    """A sentence, with a blank before it, on sheets of a workbook that are not read."""
    if not others:
        return ""
    told = ", ".join(map(repr, list(others)[:6]))
    return (
        f" Other sheets: {told}; choose one by --sheet (in Python: voile.read_table(..., sheet=))."
    )


def check_names(
    wanted: Iterable[str],
    names: Iterable[str],
    path: Path,
    may_lack: Collection[str] = (),
    sheets: Collection[str] = (),
) -> list[str]:
    """The wanted names that are there; those that may not be missing must be."""
    there = dict.fromkeys(names)
    for name in wanted:
        if name not in there and name not in may_lack:
            error = missing_column(name, there, path, sheets)
            raise SchemaError(f"{error} Correct the schema or the file.")
    return [name for name in wanted if name in there]


def check_there(path: Path) -> None:
    """Refuse a file that is not there, or of no known kind."""
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}: check the path.")
    if path.is_dir() and (is_csv(path) or is_sheet(path)):
        raise DataError(f"The folder {str(path)!r} is no file: give one file, or a Parquet folder.")
    if not (path.is_dir() or is_csv(path) or is_sheet(path)) and not path.name.lower().endswith(
        (*PARQUET_ENDINGS, *ARROW_ENDINGS)
    ):
        raise DataError(f"The file {str(path)!r} is of no known kind: give {_ACCEPTED}.")


def refuse_repeated(names: Iterable[str], path: Path) -> None:
    """Refuse a file two of whose columns have one name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(f"The file {str(path)!r} has two columns {name!r}: rename one.")
