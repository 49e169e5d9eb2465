"""Rows that a caller brings, kept as they came, so that single ones can be told later."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from voile.privacy.encode import encode_values
from voile.privacy.public_rows import pick_public
from voile.schema import Category, Schema
from voile.schema.kinds import Values

_PLAIN = Category()
"""Without levels, the encoding leaves values as they are."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldRows:
    """Rows of a caller as they came: a copy, which later changes of the table do not reach.

    Attributes
    ----------
    columns : dict of str to series, array or list of length rows, or None
        None for a column that the table does not have.
    row_count : int
    """

    columns: dict[str, Values | None]
    row_count: int

    def read(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Values of some rows as they are: numbers, texts, times as text, None where missing."""
        return {
            name: encode_values([None] * (stop - start) if one is None else one[start:stop], _PLAIN)
            for name, one in self.columns.items()
        }


def hold_public(X: object, names: Iterable[str]) -> HeldRows:
    """Keep a caller's rows, to read single ones later.

    Parameters
    ----------
    X : data frame, array, mapping or list of rows, shape (rows, columns), or path
    names : iterable of str
        Columns that are kept; a table with names need not have all of them.
    """
    schema = Schema(dict.fromkeys(names, _PLAIN))
    picked = pick_public(X, schema, tuple(schema))
    return HeldRows(
        {
            name: _copied(picked.columns[name]) if name in picked.columns else None
            for name in schema
        },
        picked.row_count,
    )


def _copied(values: Values) -> Values:
    """A copy of a column; tables of Arrow and polars do not change anyway."""
    if not isinstance(values, nw.Series):
        return values.copy()
    native = values.to_native()
    if not hasattr(native, "iloc"):
        return values
    copy: nw.Series[Any] = nw.from_native(native.copy(), series_only=True)
    return copy
