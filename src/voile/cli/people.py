"""Who is protected: said by options or a schema, asked of a person, or refused; nothing is paid."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from voile.errors import SchemaError, SettingError

if TYPE_CHECKING:
    from voile.privacy.files.table_files import TableFile
    from voile.schema import Schema, Unit


def settle_unit(
    public: Schema,
    file: TableFile | None,
    target: str | None,
    unit: str | None = None,
    unit_rows: int | None = None,
    *,
    ask: bool = False,
) -> Schema:
    """The schema with who is protected; what it says itself gives way to options.

    Parameters
    ----------
    public : Schema
    file : TableFile or None
        Whose column names decide, beside those of the schema.
    target : str or None
    unit : str or None
        A column, or "row".
    unit_rows : int or None
        Most rows of one person.
    ask : bool
        Whether a person may be asked.

    Raises
    ------
    SchemaError
        If a name suggests people with several rows, and nobody said who is protected.
    """
    from voile.privacy.files.names import missing_column
    from voile.privacy.files.table_proposal import propose_columns
    from voile.schema.unit import suggestive_columns, suspicion

    columns = {} if file is None else {one.name: one.column for one in propose_columns(file)}
    said = read_unit(unit, unit_rows)
    if said is not None:
        public = public.with_unit(said)
    if public.unit is None:
        others = {name: one for name, one in {**columns, **public}.items() if name != target}
        asked = suggestive_columns(others)
        if asked and ask:
            public = public.with_unit(ask_unit(asked))
        elif asked:
            raise SchemaError(
                f"{suspicion(asked[0])}, and nothing says who is protected: give --unit "
                f"{asked[0]} --unit-rows 4 (at most 4 rows of each are used), or --unit row if "
                "every row is another person's. Nothing was spent."
            )
    own = public.privacy_unit.column
    if own is not None and own == target:
        raise SettingError("The privacy unit cannot be the target: name two columns.")
    if own is not None and file is not None and own not in columns:
        raise missing_column(own, columns, file.path, file.other_sheets)
    return public


def read_unit(unit: str | None, unit_rows: int | None) -> Unit | None:
    """Who is protected by the options ``--unit`` and ``--unit-rows``; None if they do not say."""
    from voile.schema import Unit
    from voile.schema.unit import ROW

    if unit is None:
        return None if unit_rows is None else Unit(rows=unit_rows)
    if unit == ROW and unit_rows is not None and unit_rows != 1:
        raise SettingError(
            "--unit row says that every row is another person's: leave --unit-rows out. If nobody "
            "has more rows than that and no column tells whose they are, leave --unit out."
        )
    return Unit() if unit == ROW else Unit(unit, 1 if unit_rows is None else unit_rows)


def ask_unit(columns: tuple[str, ...]) -> Unit:
    """Ask a person about columns that suggest people, likeliest first, until one is the unit."""
    from voile.schema import Unit
    from voile.schema.names import name_person

    for column in columns:
        rows = _ask_rows(column, name_person(column))
        if rows:
            return Unit(column, rows)
    return Unit()


def is_watched() -> bool:
    """Whether a person is at the terminal and can answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def _ask_rows(column: str, who: str) -> int:
    """How many rows of each may be used; 0 if every row is another's."""
    while True:
        given = typer.prompt(
            f"Can one {who} have several rows (column {column!r})? Type how many of each may be "
            f"used, such as 4, or no if every row is another {who}",
            err=True,
        ).strip()
        if given.lower() in ("no", "n", "nein"):
            return 0
        if given.isdecimal() and 1 <= int(given) < 2**31:
            return int(given)
        typer.echo("  Type a whole number such as 4, or no.", err=True)
