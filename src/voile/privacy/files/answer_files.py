"""Answers about one's own rows in a file that opens like the one with the questions.

CSV has the separator and the decimal sign of the rows it answers, and says by a mark that it is
UTF-8 where it has other letters: so Excel opens it by a double click. An Excel file needs none.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from voile.errors import MissingExtra
from voile.files import replace_file, write_text

_SHEET = "answers"


def as_csv(columns: Mapping[str, Sequence[Any]], separator: str, *, comma: bool) -> str:
    """Columns as the text of a CSV file.

    Parameters
    ----------
    columns : mapping of str to sequence of length rows
    separator : str
    comma : bool
        Whether numbers have decimal commas.
    """
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_number(one) if comma and isinstance(one, float) else one for one in row])
    return out.getvalue()


def write_answers(
    path: Path, columns: Mapping[str, Sequence[Any]], separator: str, *, comma: bool
) -> None:
    """Write columns as Excel (.xlsx) or CSV, wholly or not at all."""
    if is_workbook(path):
        replace_file(path, lambda place: _write_sheet(place, columns))
        return
    text = as_csv(columns, separator, comma=comma)
    write_text(path, text if text.isascii() else f"\ufeff{text}")


def is_workbook(path: Path) -> bool:
    """Whether a file is written for Excel, by its name."""
    return path.suffix.lower() == ".xlsx"


def check_can_write(path: Path) -> None:
    """Refuse a file for Excel where nothing can write one."""
    if is_workbook(path):
        _load_writer()


def _load_writer() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra("openpyxl", "excel") from None
    return openpyxl


def _write_sheet(place: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    openpyxl = _load_writer()
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(_SHEET)

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        written = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", value))
        written.data_type = "s"  # text that begins with = is no formula
        return written

    sheet.append([cell(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        sheet.append([cell(one) for one in row])
    book.save(place)


def _number(number: float) -> str:
    return str(number).replace(".", ",")
