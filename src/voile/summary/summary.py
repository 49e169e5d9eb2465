"""What a private summary says: frozen records, with text, JSON and data-frame forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from voile.codec import Order
from voile.privacy.receipt import Receipt
from voile.record import Record
from voile.schema.scale import Scale
from voile.schema.value_texts import edge_texts, value_text
from voile.stored import Stored


@dataclass(frozen=True)
class NumberSummary:
    """Distribution of one number.

    Attributes
    ----------
    name : str
    lower, upper : float
        Bounds, public or privately found (``found``).
    edges : tuple of float
        Bin edges, one more than counts.
    counts, standard_errors : tuple of float
        Estimated rows per bin, and the noise of each estimate.
    missing : float
        Estimated rows without a value; 0 if the schema says that none is missing.
    quartiles : tuple of float
        Estimated 25 %, 50 % and 75 % points.
    found : bool
        Whether the bounds were found privately.
    scale : {"number", "whole", "day", "time"}
        What its values are; dates are in seconds since 1970-01-01 UTC.
    """

    kind: ClassVar[str] = "number"
    file_order: ClassVar[Order] = ("kind", ...)

    name: str
    lower: float
    upper: float
    edges: tuple[float, ...]
    counts: tuple[float, ...]
    standard_errors: tuple[float, ...]
    missing: float
    quartiles: tuple[float, float, float]
    found: bool
    scale: Annotated[Scale, Stored(optional=True)] = "number"


@dataclass(frozen=True)
class CategorySummary:
    """Frequencies of one category; the last levels are "(other)" and, if there can be, "(missing)".

    Nothing is missing where the schema says so.
    """

    kind: ClassVar[str] = "category"
    file_order: ClassVar[Order] = ("kind", ...)

    name: str
    levels: tuple[str, ...]
    counts: tuple[float, ...]
    standard_error: float
    found: bool


@dataclass(frozen=True)
class Summary(Record):
    """A private description of a whole table.

    Attributes
    ----------
    rows, rows_standard_error : float
        Noised row count; exact, with error 0, if the schema says it publicly.
    columns : tuple of NumberSummary or CategorySummary
    receipt : Receipt
    """

    has_terminal_form: ClassVar[bool] = False

    rows: float
    rows_standard_error: float
    columns: tuple[NumberSummary | CategorySummary, ...]
    receipt: Receipt

    def __getitem__(self, name: str) -> NumberSummary | CategorySummary:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __str__(self) -> str:
        lines = [f"about {self.rows:,.0f} rows (+- {self.rows_standard_error:,.1f})"]
        for column in self.columns:
            if isinstance(column, NumberSummary):
                lower, upper = edge_texts([column.lower, column.upper], column.scale)
                parts = (value_text(one, column.scale, digits=4) for one in column.quartiles)
                kind = "date" if column.scale in ("day", "time") else "number"
                lines.append(
                    f"  {column.name:<20} {kind:<9} {' | '.join(f'{one:>10}' for one in parts)}"
                    f"   in {lower} to {upper}" + (" (found privately)" if column.found else "")
                )
            else:
                top = sorted(
                    zip(column.counts, column.levels, strict=True), key=lambda pair: -pair[0]
                )
                words = ", ".join(f"{level} {count:,.0f}" for count, level in top[:4])
                lines.append(f"  {column.name:<20} category  {words}")
        return "\n".join(lines)
