"""What a private summary says: frozen records, with text, JSON and data-frame forms."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from voile.privacy.receipt import Receipt
from voile.rendering import write_page


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
    """

    name: str
    lower: float
    upper: float
    edges: tuple[float, ...]
    counts: tuple[float, ...]
    standard_errors: tuple[float, ...]
    missing: float
    quartiles: tuple[float, float, float]
    found: bool


@dataclass(frozen=True)
class CategorySummary:
    """Frequencies of one category; the last levels are "(other)" and, if there can be, "(missing)".

    Nothing is missing where the schema says so.
    """

    name: str
    levels: tuple[str, ...]
    counts: tuple[float, ...]
    standard_error: float
    found: bool


@dataclass(frozen=True)
class Summary:
    """A private description of a whole table.

    Attributes
    ----------
    rows, rows_standard_error : float
        Noised row count; exact, with error 0, if the schema says it publicly.
    columns : tuple of NumberSummary or CategorySummary
    receipt : Receipt
    """

    rows: float
    rows_standard_error: float
    columns: tuple[NumberSummary | CategorySummary, ...]
    receipt: Receipt

    def __getitem__(self, name: str) -> NumberSummary | CategorySummary:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "rows": self.rows,
            "rows_standard_error": self.rows_standard_error,
            "columns": [
                {"kind": "number" if isinstance(c, NumberSummary) else "category", **asdict(c)}
                for c in self.columns
            ],
            "receipt": self.receipt.to_dict(),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page with a picture per column and the receipt."""
        return write_page(self, path)

    def __str__(self) -> str:
        lines = [f"about {self.rows:,.0f} rows (+- {self.rows_standard_error:,.1f})"]
        for column in self.columns:
            if isinstance(column, NumberSummary):
                low, middle, high = column.quartiles
                lines.append(
                    f"  {column.name:<20} number    {low:>10.4g} | {middle:>10.4g} | {high:>10.4g}"
                    f"   in [{column.lower:g}, {column.upper:g}]"
                    + (" (found privately)" if column.found else "")
                )
            else:
                top = sorted(
                    zip(column.counts, column.levels, strict=True), key=lambda pair: -pair[0]
                )
                words = ", ".join(f"{level} {count:,.0f}" for count, level in top[:4])
                lines.append(f"  {column.name:<20} category  {words}")
        return "\n".join(lines)
