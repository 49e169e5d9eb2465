"""Texts of many rows, made when somebody reads them: a sequence like a tuple of tuples.

Of a hundred thousand rows, people read a few, and a page draws some; to write all texts down
beforehand took most of the time and memory of an explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

Row = tuple[str, ...]
Block = tuple[list[Row], list[Row]]
"""Texts of some rows: as they were given, and as they were read."""

_READ, _RUN = 256, 8192
"""Rows that are made when one is read, and at a time when all are."""


@dataclass(eq=False)
class TextMaker:
    """Makes the texts of rows, and remembers those that were read last.

    Attributes
    ----------
    make : callable
        From the first row and the one after the last to their texts.
    rows, width : int
        How many rows there are, and texts in each.
    """

    make: Callable[[int, int], Block]
    rows: int
    width: int
    _last: tuple[int, Block] | None = field(default=None, init=False, repr=False)

    def read(self, row: int, kind: int) -> Row:
        """The texts of a row."""
        start = row - row % _READ
        last = self._last
        if last is None or last[0] != start:
            last = (start, self.make(start, min(start + _READ, self.rows)))
            self._last = last
        return last[1][kind][row - start]

    def run(self, rows: range, kind: int) -> Iterator[Row]:
        """The texts of rows, one after the other."""
        if rows.step != 1:
            yield from (self.read(row, kind) for row in rows)
            return
        for start in range(rows.start, rows.stop, _RUN):
            yield from self.make(start, min(start + _RUN, rows.stop))[kind]


class RowTexts(Sequence[Row]):
    """Texts of rows: equal to a tuple of tuples, printed and pickled as one.

    Parameters
    ----------
    maker : TextMaker
    kind : int
        Which texts of it.
    rows : range, optional
        Some of its rows; by default all.
    """

    __slots__ = ("_kind", "_maker", "_rows")

    def __init__(self, maker: TextMaker, kind: int, rows: range | None = None) -> None:
        self._maker, self._kind = maker, kind
        self._rows = range(maker.rows) if rows is None else rows

    @property
    def width(self) -> int:
        """Texts in each row."""
        return self._maker.width

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> RowTexts: ...
    def __getitem__(self, place: int | slice) -> Row | RowTexts:
        if isinstance(place, slice):
            return RowTexts(self._maker, self._kind, self._rows[place])
        return self._maker.read(self._rows[place], self._kind)

    def __iter__(self) -> Iterator[Row]:
        return self._maker.run(self._rows, self._kind)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, RowTexts)):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == yours for mine, yours in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)
