"""The schema verb: proposes what is public of a file's columns, asks, and writes YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voile.cli.options import AsJson, Target, UnitColumn, UnitRows
from voile.cli.results import check_writable, print_json
from voile.errors import SettingError

if TYPE_CHECKING:
    from voile.schema.columns import Column
    from voile.schema.proposal import Proposal
    from voile.schema.schema import Schema


def schema(
    file: Annotated[Path, typer.Argument(help="Table: CSV, Parquet or Arrow. No value is shown.")],
    target: Target = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the schema here (.yaml, .yml or .json)."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="The number of rows, only if it is public.")
    ] = None,
    unit: UnitColumn = None,
    unit_rows: UnitRows = 1,
    ask: Annotated[
        bool | None,
        typer.Option(
            "--ask/--no-ask",
            help="Ask for bounds and levels, one column after the other; by default if a person "
            "is at the terminal.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Propose a schema from names and kinds alone, ask for the rest, write YAML.

    Bounds and levels are never read off the rows: give what you know from the form, the codebook or
    the instrument, and leave the rest to be found privately.

    Examples:
        voile schema patients.csv --target ill -o patients.yaml

        voile schema patients.parquet --unit patient_id --unit-rows 3 --no-ask
    """
    from voile.files import write_text
    from voile.privacy.files.table_files import is_csv, missing_column, propose_columns
    from voile.schema.files import Format, format_of

    proposals = propose_columns(file)
    names = [one.name for one in proposals]
    for name in (target, unit):
        if name is not None and name not in names:
            raise missing_column(name, names, file)
    if target is not None and target == unit:
        raise SettingError("The privacy unit cannot be the target: name two columns.")
    form = Format.YAML if output is None else format_of(output)
    if output is not None:
        check_writable(output)
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    asked = (at_terminal and not as_json) if ask is None else ask
    if asked and sys.stdin is None:
        raise SettingError("There is nobody to ask: use --no-ask.")
    if asked:
        try:
            proposals = tuple(
                one if one.name == unit or not (one.use or one.name == target) else _ask(one)
                for one in proposals
            )
        except typer.Abort:
            if at_terminal:
                raise
            raise SettingError("The answers ended before the questions: use --no-ask.") from None
    proposed = _assemble(proposals, target, rows, unit, unit_rows)
    if as_json:
        print_json(proposed.to_dict())
    text = proposed.to_json() if form is Format.JSON else _commented(proposed, proposals, target)
    if output is not None:
        write_text(output, text)
    if as_json:
        return
    if output is None:
        sys.stdout.write(text)
    told = sys.stderr
    open_facts = len(proposed.missing_facts)
    if is_csv(file):
        print("Kinds of a CSV file are guessed from its first lines: check them.", file=told)
    print(
        f"{len(proposed)} columns; {open_facts} facts left to be found privately"
        + (f"; written to {output}" if output is not None else ""),
        file=told,
    )


def _assemble(
    proposals: tuple[Proposal, ...],
    target: str | None,
    rows: int | None,
    unit: str | None,
    unit_rows: int,
) -> Schema:
    from voile.schema.schema import Schema
    from voile.schema.unit import Unit

    used = {one.name: one.column for one in proposals if one.use and one.name not in (target, unit)}
    aim = next((one.column for one in proposals if one.name == target), None)
    who = None if unit is None else Unit(unit, unit_rows)
    return Schema(used, target=aim, rows=rows, unit=who)


def _commented(schema: Schema, proposals: tuple[Proposal, ...], target: str | None) -> str:
    """The YAML text with a remark per column, for the person who has to read it."""
    import yaml

    why = {one.name: one.why for one in proposals}
    lines = []
    for line in schema.to_yaml().splitlines():
        name = None
        if line.startswith("  ") and not line.startswith("   "):
            parsed = yaml.safe_load(line)
            name = next(iter(parsed)) if isinstance(parsed, dict) else None
        if line.startswith("target:"):
            name = target
        remark = why.get(name) if isinstance(name, str) else None
        lines.append(f"{line}  # {_one_line(remark)}" if remark else line)
    lines += [
        f"# left out: {_one_line(one.name)} ({_one_line(one.why)})"
        for one in proposals
        if not one.use and one.name != target
    ]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _ask(one: Proposal) -> Proposal:
    """Ask a person about one column; an empty answer keeps the proposal."""
    from dataclasses import replace

    from voile.errors import SchemaError
    from voile.schema.columns import Number

    number = isinstance(one.column, Number)
    what = "lower and upper, as 0 120" if number else "levels, as a, b, c"
    while True:
        given = typer.prompt(
            f"{one.name} ({one.column!r}; {what}; empty keeps it, - leaves the column out)",
            default="",
            show_default=False,
            err=True,
        ).strip()
        if not given:
            return one
        if given == "-":
            return replace(one, use=False, why="left out by hand")
        try:
            column: Column = _read_bounds(given) if number else _read_levels(given)
        except (SchemaError, ValueError) as error:
            typer.echo(f"  {error} Try again.", err=True)
            continue
        return replace(one, column=column, why="given by hand")


def _read_bounds(text: str) -> Column:
    from voile.schema.columns import Number

    parts = text.replace(",", " ").split()
    if len(parts) != 2:
        raise ValueError("Two numbers are needed.")
    return Number(float(parts[0]), float(parts[1]))


def _read_levels(text: str) -> Column:
    from voile.schema.columns import Category

    return Category([part.strip() for part in text.split(",") if part.strip()])
