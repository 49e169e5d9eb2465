"""Workbooks of Excel and LibreOffice: the names of a sheet's columns, and its cells.

The first row that is not empty names the columns, from its first to its last cell that is not
empty. What stands beside them is not looked at: where a table ends must not depend on one row's
stray remark. A value of cells that were merged downwards is the value of each of them.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from voile.errors import DataError, MissingExtra
from voile.privacy.encode import encode_values
from voile.privacy.encode.value import plain_value
from voile.privacy.files.cells import FileCells
from voile.privacy.files.dialect import CellKind
from voile.privacy.files.names import tell_sheets
from voile.privacy.files.sheet_extent import StreamedRows, reaches_far
from voile.progress import PATIENCE, progress_bar
from voile.schema.columns import Number

_LARGE_BYTES = 2**23
"""Files from here on take seconds to unpack, and nothing is heard meanwhile."""
_BLOCK_ROWS = 2**13
_KINDS = {
    bool: CellKind.BOOLEAN,
    int: CellKind.NUMBER,
    float: CellKind.NUMBER,
    dt.date: CellKind.TIME,
    dt.datetime: CellKind.TIME,
    dt.time: CellKind.DURATION,
    dt.timedelta: CellKind.DURATION,
}
"""Of the types that a cell can have, beside text."""


class SheetFile:
    """One sheet of a workbook, of which the names are known.

    Parameters
    ----------
    path : Path
    sheet : str or None
        Its name; by default the first that is not hidden.

    Attributes
    ----------
    names : tuple of str
    sheet : str
    others : tuple of str
        Sheets that are not read.
    """

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self._path = path
        with reading_workbook(path), _open_workbook(path) as book:
            there = _worksheets(book)
            self.sheet = there[0] if sheet is None and there else sheet or ""
            if self.sheet not in there:
                raise _no_such_sheet(self.sheet, there, path)
            with _showing(path):
                far = reaches_far(path)
                self._rows: Any = (
                    StreamedRows(path, self.sheet) if far else book.get_sheet_by_name(self.sheet)
                )
        self.others = tuple(name for name in there if name != self.sheet)
        self._left = 0 if self._rows.start is None else self._rows.start[1]
        self.heading, self.first_column, self.names = self._find_names()
        self._continued = self._find_continued()

    @property
    def remark(self) -> str:
        """That there are other sheets, if there are."""
        if not self.others:
            return ""
        others = ", ".join(map(repr, self.others[:6]))
        return f"Of {self._path.name} the sheet {self.sheet!r} is read, not {others}: see --sheet."

    def place(self, column: int) -> str:
        """A column as the program names it: A, B, ..., Z, AA, ..."""
        letters, number = "", self.first_column + column + 1
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(ord("A") + rest) + letters
        return letters

    def rows(self) -> Iterator[tuple[int, list[Any], bool]]:
        """Rows below the names: their numbers, their cells, whether something stands beside them.

        Empty cells are "". Rows without a value are left out.
        """
        width, before = len(self.names), [""] * len(self.names)
        first = self.first_column - self._left
        with reading_workbook(self._path):
            for number, row in enumerate(self._rows.iter_rows(), 1):
                if number <= self.heading:
                    continue
                cells = [*row[first : first + width]]
                cells += [""] * (width - len(cells))
                for j in self._continued.get(number, ()):
                    cells[j] = before[j] if cells[j] == "" else cells[j]
                beside = any(one != "" for one in (*row[:first], *row[first + width :]))
                if beside or any(one != "" for one in cells):
                    before = cells
                    yield number, cells, beside

    def read(self, wanted: list[str], most: int | None = None) -> dict[str, FileCells]:
        """The cells of columns, of so many rows at most."""
        import pyarrow as pa

        places = [self.names.index(name) for name in wanted]
        pieces: dict[str, list[tuple[Any, ...]]] = {name: [] for name in wanted}
        total, done = self._rows.total_height, 0
        with progress_bar(f"reading {self._path.name}", total, after=PATIENCE) as show:
            for block in self._blocks(most):
                for name, j in zip(wanted, places, strict=True):
                    pieces[name].append(_as_arrays([cells[j] for cells in block]))
                done += len(block)
                show(done)
        types = (pa.string(), pa.float64(), pa.string())
        return {
            name: FileCells(
                *(
                    pa.chunked_array([piece[k] for piece in found], kind)
                    for k, kind in enumerate(types)
                )
            )
            for name, found in pieces.items()
        }

    def _blocks(self, most: int | None) -> Iterator[list[list[Any]]]:
        block: list[list[Any]] = []
        count = 0
        for _, cells, _ in self.rows():
            if count == most:
                break
            if all(one == "" for one in cells):
                continue
            block.append(cells)
            count += 1
            if len(block) == _BLOCK_ROWS:
                yield block
                block = []
        if block:
            yield block

    def _find_names(self) -> tuple[int, int, tuple[str, ...]]:
        """Number of the row of names, the first column's place, and the names."""
        number, there = 0, list[int]()
        with reading_workbook(self._path):
            for row in self._rows.iter_rows():
                number += 1
                there = [j for j, cell in enumerate(row) if cell != ""]
                if there:
                    names = tuple(cell_text(cell) for cell in row[there[0] : there[-1] + 1])
                    break
            else:
                raise DataError(
                    f"The sheet {self.sheet!r} of {str(self._path)!r} is empty: give a table with "
                    f"a row of names.{tell_sheets(self.others)}"
                )
        self.first_column = self._left + there[0]
        for j, name in enumerate(names):
            if not name.strip():
                raise DataError(
                    f"Column {self.place(j)} of {str(self._path)!r} has no name: the first row "
                    "that is not empty must name the columns, and no two cells of it may be merged."
                    f"{tell_sheets(self.others)}"
                )
        return number, self.first_column, names

    def _find_continued(self) -> dict[int, list[int]]:
        """For row numbers, the columns whose cell belongs to the one above."""
        found: dict[int, list[int]] = {}
        last = 0 if self._rows.end is None else self._rows.end[0]
        for (top, left), (bottom, _) in self._rows.merged_cell_ranges or ():
            j = left - self.first_column
            if 0 <= j < len(self.names):
                for row in range(max(top + 1, self.heading), min(bottom, last) + 1):
                    found.setdefault(row + 1, []).append(j)
        return found


def cell_text(cell: Any) -> str:
    """A cell as text: numbers without needless zeros, dates in ISO 8601."""
    kind = type(cell)
    if kind is str:
        return str(cell)
    if kind is float:
        return str(int(cell)) if abs(cell) < 1e15 and cell.is_integer() else repr(cell)
    if kind is bool:
        return str(cell).upper()
    return str(plain_value(cell)) if isinstance(cell, dt.date) else str(cell)


def _as_arrays(cells: list[Any]) -> tuple[Any, Any, Any]:
    """Texts, values and kinds of cells, each an Arrow array of shape (rows,)."""
    import pyarrow as pa

    typed = [None if type(cell) is str else cell for cell in cells]
    values = pa.array(encode_values(typed, Number()), pa.float64(), from_pandas=True)
    kinds = pa.array([_KINDS.get(type(cell)) for cell in cells], pa.string())
    return pa.array(map(cell_text, cells), pa.string()), values, kinds


# -- workbooks ------------------------------------------------------------------------------------


def _open_workbook(path: Path) -> Any:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise MissingExtra("python-calamine", "excel") from None
    return CalamineWorkbook.from_path(path)


@contextmanager
def _showing(path: Path) -> Iterator[None]:
    """Show a bar while a large file is unpacked."""
    if path.stat().st_size < _LARGE_BYTES:
        yield
        return
    with progress_bar(f"reading {path.name}", None):
        yield


def _worksheets(book: Any) -> list[str]:
    """Names of the sheets with cells, hidden ones last."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    return [one.name for one in sorted(sheets, key=lambda s: s.visible != SheetVisibleEnum.Visible)]


def _no_such_sheet(sheet: str, there: list[str], path: Path) -> DataError:
    near = difflib.get_close_matches(sheet, there, n=1)
    told = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, there[:12]))}."
    return DataError(f"The file {str(path)!r} has no sheet {sheet!r}: {told}")


@contextmanager
def reading_workbook(path: Path) -> Iterator[None]:
    """Say that a workbook cannot be read, in the words of this library."""
    try:
        yield
    except (DataError, MissingExtra, PermissionError):
        raise
    except BaseException as error:
        # The reader's own panic is no Exception.
        name = type(error).__name__
        if not isinstance(error, Exception) and name != "PanicException":
            raise
        locked = name == "PasswordError"
        remedy = "save it without a password." if locked else "is it complete?"
        what = "is locked" if locked else f"is no workbook that can be read ({name})"
        raise DataError(f"The file {str(path)!r} {what}: {remedy}") from None
