"""Formulas of a sheet without a result, in one's own rows: an error, or never computed.

The reader of sheets gives an empty cell for both, and an empty cell is a missing value. Of one's
own rows that would be a quiet mistake, so these cells are looked up in the file by another reader,
which is slow, and only where there are formulas and empty cells.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from voile.errors import DataError, MissingExtra
from voile.privacy.files.sheet_extent import read_pieces
from voile.privacy.files.sheet_files import SheetFile, reading_workbook

NEVER_COMPUTED = "a formula without a result"
_WITH_FORMULAS = (".xlsx", ".xlsm")
_FORMULA = re.compile(rb"<(\w+:)?f[ >/]|\bt=[\"']e[\"']")
_FAILED = re.compile(rb"value-type=[\"']error[\"']")


def find_without_result(
    path: Path, sheet: SheetFile, numbers: Sequence[int], names: Sequence[str]
) -> dict[tuple[int, str], str]:
    """What stands in cells that have no result, by the place of the row and the column's name.

    Parameters
    ----------
    path : Path
    sheet : SheetFile
    numbers : sequence of int
        Numbers of the rows, as the program counts them.
    names : sequence of str
        Columns that matter.

    Returns
    -------
    dict of (int, str) to str
        "#DIV/0!", or that a formula was never computed. Of .xls and .xlsb files nothing is known.

    Raises
    ------
    DataError
        For an .ods file with such cells, if others could be mistaken for them.
    """
    open_format = path.suffix.lower() == ".ods"
    if not open_format and path.suffix.lower() not in _WITH_FORMULAS:
        return {}
    if not _has_formulas(path, _FAILED if open_format else _FORMULA):
        return {}
    columns = {sheet.names.index(name): name for name in names}
    places = {number: place for place, number in enumerate(numbers)}
    empty = {
        (number, j)
        for number, cells, _ in sheet.rows()
        for j in columns
        if cells[j] == "" and number in places
    }
    if not empty:
        return {}
    if open_format:
        raise DataError(
            f"The file {str(path)!r} has formulas without a result (#DIV/0! and the like), and "
            "empty cells that may be such: correct them, or save it as .xlsx to have them named."
        )
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("openpyxl", "excel") from None
    found: dict[tuple[int, str], str] = {}
    with reading_workbook(path), warnings.catch_warnings():
        # It warns of drawings and checks that it cannot keep: nothing is written here.
        warnings.simplefilter("ignore")
        for computed in (False, True):
            book = load_workbook(path, read_only=True, data_only=computed)
            left = sheet.first_column + 1
            rows = book[sheet.sheet].iter_rows(
                min_row=min(numbers), min_col=left, max_col=left + len(sheet.names) - 1
            )
            for number, row in enumerate(rows, min(numbers)):
                for j, cell in enumerate(row):
                    if (number, j) not in empty:
                        continue
                    place = (places[number], columns[j])
                    if not computed and cell.data_type == "f":
                        found[place] = NEVER_COMPUTED
                    elif cell.data_type == "e":
                        found[place] = str(cell.value)
                    elif computed and cell.value is not None:
                        found.pop(place, None)  # its result is an empty text
            book.close()
    return found


def _has_formulas(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Whether some sheet of a workbook has a formula or an error in it."""
    try:
        return any(pattern.search(piece) for piece in read_pieces(path))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError):
        return True  # the other reader will say what is wrong with it
