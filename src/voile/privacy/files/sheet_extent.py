"""How far the cells of a workbook reach, and a reader for those that reach very far.

The reader of sheets makes room for every place between the first and the last cell. A blank that
somebody typed into the last column of the last row would take hundreds of gigabytes then, and the
process with it: one row would decide. Such sheets are read row by row, by a slower reader.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voile.errors import DataError, MissingExtra

MOST_PLACES = 2**26
"""Places of a sheet that the quick reader may make room for: two gigabytes."""

_MOST_ROWS, _MOST_COLUMNS = 2**20, 2**14
_CALLED = (".xlsx", ".xlsm")
_SHEET = re.compile(r"xl/worksheets/[^/]*\.xml|content\.xml")
_ROW = re.compile(rb"row[^>]*?\sr=[\"'](\d+)[\"']")
_WIDE = re.compile(rb"r=[\"']([A-Z]{2,})\d")
_PIECE_BYTES, _OVERLAP = 2**24, 2**10


def reaches_far(path: Path) -> bool:
    """Whether some sheet of a workbook has more places than the quick reader can take.

    Raises
    ------
    DataError
        If a cell is where no cell can be.
    """
    if path.suffix.lower() not in _CALLED:
        return False
    rows, columns = 0, 26
    try:
        for piece in read_pieces(path):
            rows = max(rows, *map(int, _ROW.findall(piece)), 0)
            columns = max(columns, *map(_place, set(_WIDE.findall(piece))), 0)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError):
        return False  # the reader will say what is wrong with it
    if rows > _MOST_ROWS or columns > _MOST_COLUMNS:
        raise DataError(f"The file {str(path)!r} is no workbook that can be read: is it complete?")
    return rows * columns > MOST_PLACES


def read_pieces(path: Path) -> Iterator[bytes]:
    """The text of all sheets of a workbook, piece after piece, each with the end of the last."""
    with zipfile.ZipFile(path) as packed:
        for name in packed.namelist():
            if not _SHEET.fullmatch(name):
                continue
            with packed.open(name) as stream:
                end = b""
                while piece := stream.read(_PIECE_BYTES):
                    yield end + piece
                    end = piece[-_OVERLAP:]


def _place(letters: bytes) -> int:
    """The number of a column by its letters, A being 1."""
    number = 0
    for one in letters[:8]:
        number = 26 * number + one - ord("A") + 1
    return number


class StreamedRows:
    """The rows of a sheet one by one, with the members of the quick reader's sheets.

    Parameters
    ----------
    path : Path
    sheet : str
    """

    start, end, merged_cell_ranges = (0, 0), None, None

    def __init__(self, path: Path, sheet: str) -> None:
        self._path, self._sheet = path, sheet
        self.total_height = _MOST_ROWS

    def iter_rows(self) -> Iterator[list[Any]]:
        """Cells of each row; "" where there is none, or no result."""
        try:
            from openpyxl import load_workbook
        except ImportError:
            raise MissingExtra("openpyxl", "excel") from None
        with warnings.catch_warnings():
            # It warns of drawings and checks that it cannot keep: nothing is written here.
            warnings.simplefilter("ignore")
            book = load_workbook(self._path, read_only=True, data_only=True)
            try:
                sheet = book[self._sheet]
                sheet.reset_dimensions()  # or every row is as wide as the widest
                for row in sheet.iter_rows():
                    cells = ["" if one.data_type == "e" else one.value for one in row]
                    yield ["" if one is None else one for one in cells]
            finally:
                book.close()
