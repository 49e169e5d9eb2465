"""How a file is written: what somebody says of it, and how the texts of one column are read then.

What nobody says is guessed from the first rows of a file (`spelling.py`), as kinds are. No later
row decides it: one patient's umlaut or one patient's date must not change how all others are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from voile.errors import SettingError
from voile.privacy.files.encodings import check_encoding

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
SHEET_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class DateOrder(StrEnum):
    """In which order a date tells day, month and year."""

    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"


class CellKind(StrEnum):
    """What a cell of a sheet is, if it is no text."""

    NUMBER = "number"
    TIME = "time"
    DURATION = "duration"
    BOOLEAN = "boolean"


THOUSANDS = {".": ".", ",": ",", "'": "'", " ": " ", "space": " ", "none": ""}
"""What may part thousands, as a person says it."""


def is_csv(path: Path) -> bool:
    """Whether a file is text with separators, by its name."""
    return path.name.lower().endswith(CSV_ENDINGS)


def is_sheet(path: Path) -> bool:
    """Whether a file is a workbook of Excel or LibreOffice, by its name."""
    return path.name.lower().endswith(SHEET_ENDINGS)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What somebody says of how a file is written; None is guessed, or the first sheet.

    Parameters
    ----------
    sheet : str, optional
        Name of a sheet of an Excel file.
    encoding : str, optional
        Of a CSV file: "utf-8", "cp1252", "utf-16", ...
    decimal : {".", ","}, optional
        Decimal sign of numbers that are texts.
    thousands : {".", ",", "'", "space", "none"}, optional
        What parts the thousands of numbers that are texts.
    dates : {"dmy", "mdy", "ymd"}, optional
        Order of day, month and year in dates that are texts.

    Raises
    ------
    SettingError
        If one of them is unknown, or two contradict each other.
    """

    sheet: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.decimal not in (None, ".", ","):
            raise SettingError(
                f"The decimal sign must be . or a comma. Got {self.decimal!r} instead."
            )
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise SettingError(
                f"Thousands are parted by . or , or ' or 'space' or 'none'. Got "
                f"{self.thousands!r} instead."
            )
        if self.thousands is not None and self.thousands == self.decimal:
            raise SettingError(
                f"The sign {self.decimal!r} cannot be decimal and part thousands: name two signs."
            )
        if self.dates is not None and self.dates not in tuple(DateOrder):
            raise SettingError(
                f"The order of dates must be one of {', '.join(DateOrder)}. Got {self.dates!r} "
                "instead."
            )

    def fitting(self, path: Path) -> Dialect:
        """What of it can be said of a file, by its name."""
        return replace(
            self,
            sheet=self.sheet if is_sheet(path) else None,
            encoding=self.encoding if is_csv(path) else None,
        )

    def check_fits(self, path: Path) -> None:
        """Refuse a sheet of a file that has none, and an encoding of one that is no text."""
        if self.sheet is not None and not is_sheet(path):
            raise SettingError(f"The file {str(path)!r} has no sheets: leave the sheet out.")
        if self.encoding is not None and not is_csv(path):
            raise SettingError(
                f"The file {str(path)!r} is no CSV file and says its encoding itself: leave the "
                "encoding out."
            )


@dataclass(frozen=True, slots=True)
class Spelling:
    """How numbers and dates in the cells of one column are written.

    Attributes
    ----------
    decimal : str or None
        "." or ","; None if nothing decides it: a text that can be read in two ways is missing then.
    thousands : str or None
        The sign that parts thousands, "" for none; None for any of the usual ones.
    dates : DateOrder or None
        Of dates such as 03/04/2024; None if nothing decides it: those are missing then. Dates that
        begin with the year, or have points (31.12.2024), are read without it.
    numbers : CellKind
        What the values of a Number are: numbers, or dates or durations, which count in seconds.
    """

    decimal: str | None = None
    thousands: str | None = None
    dates: DateOrder | None = None
    numbers: CellKind = CellKind.NUMBER
