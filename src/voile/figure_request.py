"""Which figure of a record somebody asks for: its name, a row, an output."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from voile.errors import SettingError

MOST_NAMES = 12
"""Names that an error lists."""


@dataclass(frozen=True)
class FigureRequest:
    """What was asked for; None is left to the record.

    Attributes
    ----------
    name : str or None
        Of the figure: a column, a class, or what it shows.
    row : int or None
        Position of an explained row.
    output : str or None
        Name of an output or class.
    """

    name: str | None = None
    row: int | None = None
    output: str | None = None

    def choose_name(self, known: Sequence[str]) -> str:
        """The name, which must be known; the first one if none was given."""
        if not known:
            raise SettingError("There is no figure to draw: the record shows nothing.")
        return known[0] if self.name is None else _find(self.name, known, "figure")

    def choose_row(self, count: int) -> int:
        """The position of the row; the first one if none was given."""
        row = 0 if self.row is None else self.row
        if not isinstance(row, int) or not 0 <= row < count:
            there = f"from 0 to {count - 1}" if count else "but no row was explained"
            raise SettingError(f"There is no row {row!r} to draw: give a position {there}.")
        return row

    def choose_output(self, outputs: Sequence[str]) -> int | None:
        """The position of the output; None if none was given."""
        if self.output is None:
            return None
        return list(outputs).index(_find(self.output, outputs, "output"))

    def refuse(self, *settings: str) -> None:
        """Refuse what the figures of a record have not: "name", "row" or "output"."""
        for setting in settings:
            if getattr(self, setting) is not None:
                raise SettingError(f"Figures of this record have no {setting}: leave it out.")


def _find(name: str, known: Sequence[str], what: str) -> str:
    if name in known:
        return name
    near = difflib.get_close_matches(str(name), known, n=1)
    if near:
        raise SettingError(f"There is no {what} {name!r}: did you mean {near[0]!r}?")
    listed = ", ".join(map(repr, known[:MOST_NAMES]))
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    raise SettingError(f"There is no {what} {name!r}: give one of {listed}{more}.")
