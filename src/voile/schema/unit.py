"""Who is protected, when one person (or company, or device) may have several rows."""

from __future__ import annotations

from dataclasses import dataclass

from voile.errors import SchemaError
from voile.strict import is_text, show

ROW = "row"
"""What the privacy unit is called where every row stands for itself."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The privacy unit: all rows with the same value in a column belong to one.

    The guarantee then covers a unit with all its rows. At most ``rows`` rows of each are used (the
    first ones); noise grows in proportion to ``rows``. Rows without a readable value are not used.

    Parameters
    ----------
    column : str
        Name of the column that tells whose row it is: numbers, text, dates or UUIDs, however they
        are typed or written: 12, 12.0, "12" and " 12 " are one unit. It is not a feature.
    rows : int
        Most rows of one unit that are used, >= 1.

    Examples
    --------
    >>> Unit("patient", rows=2)
    Unit(column='patient', rows=2)
    """

    column: str
    rows: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column or not is_text(self.column):
            raise SchemaError(
                f"The 'column' of a Unit must be the name of a column. Got {self.column!r} instead."
            )
        if type(self.rows) is not int or not 1 <= self.rows < 2**31:
            raise SchemaError(
                f"The 'rows' of a Unit must be a whole number from 1 to 2**31 - 1. Got "
                f"{show(self.rows)} instead."
            )

    def __str__(self) -> str:
        rows = "one row" if self.rows == 1 else f"{self.rows} rows"
        return f"{self.column} (at most {rows} each)"


def name_unit(unit: Unit | None) -> str:
    """Whom rows stand for, as ledgers tell units apart: the column's name.

    How many rows of a unit are used is no part of it: the guarantee is for all of its rows. A
    column that is called "row" is no row.
    """
    if unit is None:
        return ROW
    return unit.column if unit.column != ROW else f"{ROW} (a column)"
