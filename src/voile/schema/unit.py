"""Who is protected: each row by itself, or a person (company, device) with several rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from voile.errors import SchemaError
from voile.schema.columns import Category, Column
from voile.schema.names import name_person, rank_suggestive, suggests_people
from voile.strict import is_text, show

ROW = "row"
"""What the privacy unit is called where every row stands for itself."""

_OF_COLUMN = re.compile(r"(.+) \(at most (?:one|(\d+)) rows?(?: each)?\)", re.DOTALL)
_UNTOLD = re.compile(r"person with at most (\d+) rows")


@dataclass(frozen=True, slots=True)
class Unit:
    """The privacy unit: whose rows the guarantee covers, all at once.

    With a ``column``, all rows with the same value in it belong to one unit, and at most ``rows``
    rows of each are used (the first ones). Without one, nobody is told apart: that no unit has more
    than ``rows`` rows is then public knowledge, of the design of a study for example, and the
    guarantee holds as long as it is true. Noise grows in proportion to ``rows`` either way
    (docs/proofs/gaussian-sum.md).

    Parameters
    ----------
    column : str or None
        Name of the column that tells whose row it is: numbers, text, dates or UUIDs, however they
        are typed or written: 12, 12.0, "12" and " 12 " are one unit. It is not a feature. Rows
        without a readable value are not used.
    rows : int
        Most rows of one unit, >= 1. Without a column, 1 says that every row is another person's.

    Examples
    --------
    >>> print(Unit("patient_id", rows=4))
    patient_id (at most 4 rows each)
    >>> print(Unit(rows=5))
    person with at most 5 rows
    >>> print(Unit())
    row
    """

    column: str | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if self.column is not None and not (
            isinstance(self.column, str) and self.column and is_text(self.column)
        ):
            raise SchemaError(
                f"The 'column' of a Unit must be the name of a column. Got {self.column!r} instead."
            )
        if type(self.rows) is not int or not 1 <= self.rows < 2**31:
            raise SchemaError(
                f"The 'rows' of a Unit must be a whole number from 1 to 2**31 - 1. Got "
                f"{show(self.rows)} instead."
            )

    def __str__(self) -> str:
        if self.column is None:
            return ROW if self.rows == 1 else f"person with at most {self.rows} rows"
        rows = "one row" if self.rows == 1 else f"{self.rows} rows"
        return f"{self.column} (at most {rows} each)"

    @property
    def name(self) -> str:
        """Whom rows stand for, as ledgers tell units apart.

        The column's name: how many rows of a unit are used is no part of it, as the guarantee is
        for all of its rows. A column that is called "row" is no row. Where nobody is told apart,
        the most rows are what the guarantee is about, and part of the name.
        """
        if self.column is None:
            return str(self)
        return self.column if self.column != ROW else f"{ROW} (a column)"

    @property
    def person(self) -> str:
        """The unit in a word or two, for sentences: "patient", "person", "row"."""
        if self.column is None:
            return ROW if self.rows == 1 else "person"
        return name_person(self.column)

    @property
    def described(self) -> str:
        """The unit for sentences, with all that belongs to it."""
        if self.column is None:
            return str(self)
        used = "one row" if self.rows == 1 else f"{self.rows} rows"
        return f"{self.person} with all rows (at most {used} of each used)"


def unit_of(text: str) -> Unit | None:
    """The unit that a receipt tells of; None if it is no unit of a schema (a client).

    Examples
    --------
    >>> unit_of("patient (at most one row each)")
    Unit(column='patient', rows=1)
    """
    if text == ROW:
        return Unit()
    of_column, untold = _OF_COLUMN.fullmatch(text), _UNTOLD.fullmatch(text)
    if of_column:
        return Unit(of_column[1], int(of_column[2] or 1))
    return Unit(rows=int(untold[1])) if untold else None


def suggestive_columns(columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Columns whose names suggest that one person may have several rows, likeliest first.

    Parameters
    ----------
    columns : mapping of str to Number or Category
        All columns of a table, also those that are not used, but not the target. A truth value
        tells nobody apart, and an "id" with a list of levels is a code.
    """
    return tuple(name for name in rank_suggestive(columns) if not _is_code(name, columns[name]))


def _is_code(name: str, column: Column) -> bool:
    if not isinstance(column, Category) or column.levels is None:
        return False
    return len(column.levels) <= 2 or not suggests_people(name)


def suspicion(column: str) -> str:
    """What a name suggests, in words."""
    who = name_person(column) if suggests_people(column) else "person"
    return f"Column {column!r} suggests that one {who} may have several rows"
