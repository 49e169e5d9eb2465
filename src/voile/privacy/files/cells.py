"""Cells of a column as numbers, times, truth values and levels; what does not fit is missing.

The cells of a CSV file are texts. Those of a sheet may be numbers, times and truth values by
themselves, one unlike the next. The guess of a column's kind reads them by the same functions as
the table itself is read: what is guessed to be a number can be read as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.privacy.encode.value import TRUTH_TEXTS
from voile.privacy.files.date_texts import read_seconds
from voile.privacy.files.dialect import CellKind, DateOrder, Spelling
from voile.privacy.files.encodings import UNREADABLE
from voile.privacy.files.number_texts import read_numbers
from voile.schema.columns import Column, Number
from voile.schema.dates import Date

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "<NA>", "?")
"""Texts that are no level, unless the schema lists them as one."""

ERRORS = (
    *("#N/A", "#NV", "#DIV/0!", "#VALUE!", "#WERT!", "#REF!", "#BEZUG!", "#NAME?", "#NUM!"),
    *("#ZAHL!", "#NULL!", "#SPILL!", "#CALC!"),
)
"""Formulas of a sheet that have no result: no level, unless the schema lists them as one."""

MAJORITY = 0.95
"""Part of the first rows that decides: one row alone cannot tip a large table's."""

# "none" and "-" may be levels (no medication), but they do not speak against numbers either.
_NO_EVIDENCE = sorted({text.lower() for text in (*MISSING, *ERRORS)} | {"none", "-"})


@dataclass(frozen=True, eq=False, repr=False)
class FileCells:
    """The cells of a column, as the file has them. It does not print them.

    Attributes
    ----------
    texts : pyarrow.ChunkedArray of strings, shape (rows,)
        Of all cells; "" where a cell is empty.
    values : pyarrow.ChunkedArray of float64, shape (rows,), or None
        Of cells that are no texts: numbers, seconds of dates and times, 1 and 0 of truth values.
    kinds : pyarrow.ChunkedArray of strings, shape (rows,), or None
        What those cells are, as `CellKind` says it.
    """

    texts: Any
    values: Any = None
    kinds: Any = None

    @property
    def trimmed(self) -> Any:
        """Texts of the cells that are texts, without outer blanks; others missing."""
        import pyarrow.compute as pc

        trimmed = pc.utf8_trim_whitespace(self.texts)
        return trimmed if self.values is None else pc.if_else(self.values.is_valid(), None, trimmed)

    def telling(self) -> FileCells:
        """Those cells that speak for a kind or against it: not the missing ones.

        Bytes that are no text are evidence as well, by their mark: of neither numbers nor times.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        small = pc.utf8_lower(pc.utf8_trim_whitespace(self.texts))
        told = pc.invert(pc.is_in(small, value_set=pa.array(_NO_EVIDENCE, small.type)))
        columns = (self.texts, self.values, self.kinds)
        return FileCells(*(None if one is None else one.filter(told) for one in columns))


def guess_type(cells: FileCells, spelling: Spelling) -> Any:
    """The Arrow type that nearly all cells could have: of numbers, times, truth values or texts.

    Values keep their fractions and missing ones, whatever the type of their column is called.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    told = cells.telling()
    texts, count = told.trimmed, len(told.texts)
    if count == 0:
        return pa.string()
    of = dict.fromkeys(CellKind, 0)
    if told.kinds is not None:
        of = {kind: pc.sum(pc.equal(told.kinds, str(kind))).as_py() or 0 for kind in CellKind}
    fewest = MAJORITY * count
    numbers = _readable(texts, read_numbers, _ways(spelling, "decimal"))
    if of[CellKind.NUMBER] + len(numbers) >= fewest:
        numbers = _with_typed(numbers, told, CellKind.NUMBER)
        whole = np.count_nonzero(numbers == np.floor(numbers)) >= MAJORITY * len(numbers)
        return pa.int64() if whole else pa.float64()
    seconds = _readable(texts, read_seconds, _ways(spelling, "dates"))
    if of[CellKind.TIME] + len(seconds) >= fewest:
        seconds = _with_typed(seconds, told, CellKind.TIME)
        days = np.count_nonzero(seconds % 86_400 == 0) >= MAJORITY * len(seconds)
        return pa.date32() if days else pa.timestamp("us")
    if of[CellKind.DURATION] >= fewest:
        return pa.duration("us")
    return pa.bool_() if of[CellKind.BOOLEAN] >= fewest else pa.string()


def _with_typed(
    values: NDArray[np.float64], cells: FileCells, kind: CellKind
) -> NDArray[np.float64]:
    """Values of texts, and those of cells that are of a kind by themselves, shape (as many,)."""
    import pyarrow.compute as pc

    if cells.kinds is None:
        return values
    return np.concatenate(
        [values, cells.values.filter(pc.equal(cells.kinds, str(kind))).to_numpy()]
    )


def _ways(spelling: Spelling, what: str) -> list[Spelling]:
    """A spelling, or all that it may be where it is not decided: that is a question for later."""
    if getattr(spelling, what) is not None:
        return [spelling]
    if what == "decimal":
        return [replace(spelling, decimal=sign) for sign in ".,"]
    return [replace(spelling, dates=order) for order in (DateOrder.DMY, DateOrder.MDY)]


def _readable(
    texts: Any, read: Callable[[Any, Spelling], Any], ways: list[Spelling]
) -> NDArray[np.float64]:
    """What the texts are that can be read in one way or another, shape (as many,)."""
    import pyarrow.compute as pc

    found = pc.coalesce(*(read(texts, way) for way in ways)).drop_null()
    numbers: NDArray[np.float64] = found.to_numpy()
    return numbers


def read_cells(cells: FileCells, column: Column, spelling: Spelling) -> Any:
    """A column of cells as its schema says; what does not fit is missing, not an error.

    Parameters
    ----------
    cells : FileCells
    column : Number or Category
    spelling : Spelling

    Returns
    -------
    pyarrow.ChunkedArray
        Of float64, instants, truth values or strings.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = () if isinstance(column, Number) else (column.levels or ())
    if not is_numeric(column):
        texts = without_unreadable(cells.texts)
        no_levels = [text for text in (*MISSING, *ERRORS) if text not in levels]
        missing = pa.array(no_levels, texts.type)
        return pc.if_else(pc.is_in(texts, value_set=missing), None, texts)
    if levels and all(isinstance(level, bool) for level in levels):
        small = pc.utf8_lower(pc.utf8_trim_whitespace(cells.texts))
        known = pa.array(list(TRUTH_TEXTS), small.type)
        truths = pa.array(list(TRUTH_TEXTS.values()))
        return pc.take(truths, pc.index_in(small, known))
    if is_of_dates(column):
        # "2024" is no second of 1970, and the type says that these are instants.
        return as_instants(_read_as(CellKind.TIME, cells, spelling))
    if not isinstance(column, Number):
        return _read_as(CellKind.NUMBER, cells, spelling)
    if column.lower is None:
        return _read_as(spelling.numbers, cells, spelling)
    # Cell by cell: what one row holds never decides how others are read.
    read = _read_as(CellKind.NUMBER, cells, spelling)
    for kind in (CellKind.TIME, CellKind.DURATION):
        seconds = _read_as(kind, cells, spelling)
        inside = pc.and_(
            pc.greater_equal(seconds, column.lower), pc.less_equal(seconds, column.upper)
        )
        read = pc.coalesce(read, pc.if_else(inside, seconds, None))
    return read


def _read_as(kind: CellKind, cells: FileCells, spelling: Spelling) -> Any:
    """Cells of one kind as numbers or seconds; others are missing.

    Excel makes a date of 1.5 where a month has that name: in seconds it would be beyond all bounds.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = cells.trimmed
    if kind is CellKind.TIME:
        read = read_seconds(texts, spelling)
    elif kind is CellKind.NUMBER:
        read = read_numbers(texts, spelling)
    else:
        read = pa.chunked_array([pa.nulls(len(texts), pa.float64())])
    if cells.values is None:
        return read
    kinds = [str(kind)]
    if kind is CellKind.NUMBER:
        kinds.append(str(CellKind.BOOLEAN))
    fits = pc.is_in(cells.kinds, value_set=pa.array(kinds, cells.kinds.type))
    return pc.coalesce(pc.if_else(fits, cells.values, None), read)


def find_kind(first: FileCells, spelling: Spelling) -> CellKind:
    """What the values of a Number without bounds are: dates only where most first cells are such.

    With bounds nothing is guessed: each date or duration is read if its seconds lie within them.
    """
    told, counts = first.telling(), dict[CellKind, int]()
    for kind in (CellKind.NUMBER, CellKind.TIME, CellKind.DURATION):
        counts[kind] = len(_read_as(kind, told, spelling).drop_null())
        if 2 * counts[kind] > len(told.texts):
            return kind
    return max(counts, key=lambda kind: counts[kind])


def as_instants(seconds: Any) -> Any:
    """Seconds since 1970-01-01 UTC as timestamps, to the microsecond."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.cast(pc.round(pc.multiply(seconds, 1e6)), pa.int64(), safe=False)
    return pc.cast(parts, pa.timestamp("us"))


def is_of_dates(column: Column) -> bool:
    """Whether a column is one of dates or instants, and not of any numbers."""
    return isinstance(column, Date)


def is_numeric(column: Column) -> bool:
    """Whether cells of a column are read as numbers, dates or truth values, and not as texts."""
    levels = () if isinstance(column, Number) else (column.levels or ())
    return isinstance(column, Number) or (
        bool(levels) and not any(isinstance(level, str) for level in levels)
    )


def is_missing(cells: FileCells) -> Any:
    """Whether cells say that there is nothing, shape (rows,); not those that cannot be read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(cells.texts)
    return pc.is_in(trimmed, value_set=pa.array(MISSING, trimmed.type))


def without_unreadable(texts: Any) -> Any:
    """Texts of which those with a mark are missing."""
    import pyarrow.compute as pc

    return pc.if_else(pc.match_substring(texts, UNREADABLE), None, texts)
