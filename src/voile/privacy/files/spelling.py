"""The spelling of each column, decided by its first rows: decimal signs and the order of dates.

A column decides for itself if nearly all its texts with a sign can be read in one way alone. One
whose texts can all be read in two ways (1.889, 03/04/2024) is read as the other columns of the file
are, if they agree. If they do not, or there are none, it is in doubt, and whoever wants its numbers
is refused before anything is paid: a wrong guess would be a thousand times too large or small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from voile.errors import DataError
from voile.privacy.files.amount_texts import find_sign
from voile.privacy.files.cells import MAJORITY, FileCells, find_kind, is_numeric, read_cells
from voile.privacy.files.date_texts import by_order, read_pointed
from voile.privacy.files.dialect import THOUSANDS, CellKind, DateOrder, Dialect, Spelling
from voile.privacy.files.number_texts import by_sign
from voile.schema.columns import Column, Number
from voile.schema.dates import Date

FEWEST_TEXTS = 10
"""Fewer first texts than these tell nothing of whether a column can be read."""

_DECIMALS = (
    "can be read in two ways, as 1.889 can (1889, or less than 2): say --decimal , or --decimal . "
    "(in Python: voile.read_table(..., decimal=',')), or call it a category in a schema."
)
_MIXED_DECIMALS = (
    "have decimal points in some rows and decimal commas in others: say --decimal , or --decimal . "
    "(others count as missing), or correct the file."
)
_DATES = (
    "can be read in two ways, as 03/04/2024 can (3 April or 4 March): say --dates dmy or --dates "
    "mdy (in Python: voile.read_table(..., dates='dmy'))."
)
_MIXED_DATES = (
    "have the day first in some rows and the month first in others: say --dates dmy or --dates mdy "
    "(others count as missing), or correct the file."
)
_AMOUNTS = (
    "look like amounts with {!r}, and are no numbers: remove the sign in the file, or call it a "
    "category in a schema and list the levels."
)


@dataclass(frozen=True)
class Spellings:
    """How the texts of each column of a file are read.

    Attributes
    ----------
    of : dict of str to Spelling
    guesses : tuple of str
        What first rows decided, in words: "decimal comma", "dates with the day first".
    comma, points : bool
        Whether all columns that tell have decimal commas, or points.
    doubts : dict of str to str
        What is open of columns whose values can be read in two ways, and the remedy.
    """

    of: dict[str, Spelling]
    guesses: tuple[str, ...]
    comma: bool
    points: bool
    doubts: dict[str, str]
    _first: Mapping[str, FileCells]

    @cached_property
    def amounts(self) -> dict[str, str]:
        """What is to be said of columns that look like numbers with a currency sign or percent."""
        found = {name: find_sign(cells) for name, cells in self._first.items()}
        return {name: _AMOUNTS.format(sign) for name, sign in found.items() if sign is not None}

    def reading(self, name: str, column: Column | None) -> Spelling:
        """How cells are read as a schema describes them."""
        spelling = self.of[name]
        if not isinstance(column, Number) or isinstance(column, Date) or column.lower is not None:
            return spelling
        return replace(spelling, numbers=find_kind(self._first[name], spelling))

    def numbers_of(self, columns: Mapping[str, Column]) -> tuple[str, ...]:
        """Which numbers are dates or durations in the file, in words."""
        told = []
        for name, column in columns.items():
            kind = self.reading(name, column).numbers if name in self.of else CellKind.NUMBER
            if kind is not CellKind.NUMBER:
                told.append(f"{'dates' if kind is CellKind.TIME else 'durations'} in {name!r}")
        return tuple(told)

    def check(self, columns: Mapping[str, Column], path: Path) -> None:
        """Refuse columns whose numbers are in doubt, or of which most cannot be read as numbers."""
        for name, column in columns.items():
            if not is_numeric(column) or name not in self.of:
                continue
            if name in self.doubts:
                raise DataError(
                    f"The values of column {name!r} in {str(path)!r} {self.doubts[name]}"
                )
            told = self._first[name].telling()
            read = read_cells(told, column, self.reading(name, column))
            if len(read) >= FEWEST_TEXTS and 2 * read.null_count > len(read):
                raise DataError(
                    f"Most of the first rows of column {name!r} in {str(path)!r} cannot be read as "
                    f"the schema says ({column!r}): correct the schema, or say how it is written "
                    "(--decimal, --thousands, --dates)."
                )


def decide_spellings(first: Mapping[str, FileCells], dialect: Dialect, separator: str) -> Spellings:
    """Decide how the texts of each column are read.

    Parameters
    ----------
    first : mapping of str to FileCells
        The first rows of each column; all of one's own.
    dialect : Dialect
        What a person says.
    separator : str
        Between the fields of a CSV file: between commas a point is decimal, if nothing speaks
        against it; "" for sheets.
    """
    thousands = None if dialect.thousands is None else THOUSANDS[dialect.thousands]
    texts = {name: cells.telling().trimmed.drop_null() for name, cells in first.items()}
    if dialect.decimal is None and thousands not in (".", ","):
        german = any(_some(read_pointed(one)) for one in texts.values())
        alone = "." if separator == "," and not german else None
        decimals = _vote(texts, (".", ","), lambda one, sign: by_sign(one, sign, thousands), alone)
    else:
        sign = dialect.decimal or {".": ",", ",": "."}[thousands or ""]
        decimals = _Votes(dict.fromkeys(texts, sign), {}, ())
    if dialect.dates is None:
        orders = (DateOrder.DMY, DateOrder.MDY)
        dates = _vote(texts, orders, by_order, None)
    else:
        dates = _Votes(dict.fromkeys(texts, DateOrder(dialect.dates)), {}, ())
    of = {name: Spelling(decimals.of[name], thousands, dates.of[name]) for name in texts}
    doubts = {
        name: (_DECIMALS, _MIXED_DECIMALS)[mixed] for name, mixed in decimals.doubts.items()
    } | {name: (_DATES, _MIXED_DATES)[mixed] for name, mixed in dates.doubts.items()}
    guesses = [
        f"decimal {'comma' if sign == ',' else 'point'}{_where(decimals, sign)}"
        for sign in decimals.decided
    ]
    guesses += [
        f"dates with the {'day' if order == DateOrder.DMY else 'month'} first{_where(dates, order)}"
        for order in dates.decided
    ]
    signs = decimals.decided or tuple(dict.fromkeys(decimals.of.values()))
    return Spellings(of, tuple(guesses), signs == (",",), signs == (".",), doubts, first)


@dataclass(frozen=True)
class _Votes:
    """What was decided of each column, which are in doubt (True if rows differ), and by whom."""

    of: dict[str, Any]
    doubts: dict[str, bool]
    decided: tuple[Any, ...]
    voters: Mapping[str, Any] | None = None


def _vote(
    texts: Mapping[str, Any],
    ways: Any,
    read: Callable[[Any, Any], Any],
    alone: Any,
) -> _Votes:
    """Let columns decide between two ways to read them; undecided ones follow if all agree.

    ``alone``: the way where no column votes, for texts whose signs are points.
    """
    import pyarrow.compute as pc

    own: dict[str, Any] = {}
    voters: dict[str, Any] = {}
    doubts: dict[str, bool] = {}
    for name, one in texts.items():
        readings = [read(one, way) for way in ways]
        voice = _voice(ways, readings)
        if voice in ways:
            own[name] = voice
            # A note that has a number in it does not tell how others are written.
            readable = pc.coalesce(*readings)
            if len(readable) - readable.null_count >= MAJORITY * len(readable):
                voters[name] = voice
        elif voice is not None:
            doubts[name] = voice == "mixed"
    decided = tuple(way for way in ways if way in voters.values())
    common = decided[0] if len(decided) == 1 else None
    if common is None and not decided:
        common = alone
    kept = {
        name: mixed
        for name, mixed in doubts.items()
        if mixed or common is None or (not decided and not _has_points(texts[name]))
    }
    of = {name: None if name in kept else own.get(name, common) for name in texts}
    return _Votes(of, kept, decided, voters)


def _voice(ways: Any, readings: list[Any]) -> Any:
    """How a column is written; "both" if it could be either, "mixed" if it is neither, or None."""
    import pyarrow.compute as pc

    one, other = readings
    fits, fits_other = one.is_valid(), other.is_valid()
    same = pc.fill_null(pc.equal(one, other), False)
    signed = pc.and_(pc.or_(fits, fits_other), pc.invert(same))
    count = _count(signed)
    if count == 0:
        return None
    shares = [_count(pc.and_(signed, one)) for one in (fits, fits_other)]
    possible = [way for way, share in zip(ways, shares, strict=True) if share >= MAJORITY * count]
    if len(possible) == 1:
        return possible[0]
    return "both" if possible else "mixed"


def _count(truths: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(truths).as_py() or 0)


def _some(numbers: Any) -> bool:
    """Whether most of a column can be read so."""
    return len(numbers) > 0 and 2 * numbers.null_count < len(numbers)


def _has_points(texts: Any) -> bool:
    """Whether nearly all signs of a column are points."""
    import pyarrow.compute as pc

    commas = _count(pc.match_substring(texts, ","))
    return commas <= (1 - MAJORITY) * _count(pc.match_substring_regex(texts, "[.,]"))


def _where(votes: _Votes, way: Any) -> str:
    """In which columns, where not all are alike."""
    if len(votes.decided) == 1 or votes.voters is None:
        return ""
    names = [name for name, one in votes.voters.items() if one == way]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f" in {', '.join(map(repr, names[:3]))}{more}"
