"""The schema verb: proposes what is public of a file's columns, asks, and writes YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voile.cli.file_options import reads_files
from voile.cli.options import AsJson, Target, UnitColumn, UnitRows
from voile.cli.people import ask_unit, is_watched, read_unit
from voile.cli.results import check_writable, print_json
from voile.errors import SettingError
from voile.privacy.files.dialect import Dialect

if TYPE_CHECKING:
    from voile.schema import Unit
    from voile.schema.columns import Column
    from voile.schema.proposal import Proposal
    from voile.schema.schema import Schema


@reads_files
def schema(
    file: Annotated[
        Path, typer.Argument(help="Table: CSV, Excel, Parquet or Arrow. No value is shown.")
    ],
    target: Target = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the schema here (.yaml, .yml or .json)."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="The number of rows, only if it is public.")
    ] = None,
    unit: UnitColumn = None,
    unit_rows: UnitRows = None,
    ask: Annotated[
        bool | None,
        typer.Option(
            "--ask/--no-ask",
            help="Ask for bounds and levels, one column after the other; by default if a person "
            "is at the terminal.",
        ),
    ] = None,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Propose a schema from names and kinds alone, ask for the rest, write YAML.

    Bounds and levels are never read off the rows: give what you know from the form, the codebook or
    the instrument, and leave the rest to be found privately.

    Examples:
        voile schema patients.csv --target ill -o patients.yaml

        voile schema patients.parquet --unit patient_id --unit-rows 3 --no-ask
    """
    from voile.files import write_text
    from voile.privacy.files.names import missing_column
    from voile.privacy.files.table_files import TableFile
    from voile.privacy.files.table_proposal import propose_columns
    from voile.schema.files import Format, format_of
    from voile.schema.unit import suggestive_columns, suspicion

    table = TableFile(file, dialect)
    proposals = propose_columns(table, target)
    names = [one.name for one in proposals]
    who = read_unit(unit, unit_rows)
    for name in (target, None if who is None else who.column):
        if name is not None and name not in names:
            raise missing_column(name, names, file, table.other_sheets)
    if target is not None and target == unit:
        raise SettingError("The privacy unit cannot be the target: name two columns.")
    open_question = (
        ()
        if who is not None
        else suggestive_columns({one.name: one.column for one in proposals if one.name != target})
    )
    form = Format.YAML if output is None else format_of(output)
    if output is not None:
        check_writable(output)
    at_terminal = is_watched()
    asked = (at_terminal and not as_json) if ask is None else ask
    if asked and sys.stdin is None:
        raise SettingError("There is nobody to ask: use --no-ask.")
    if asked:
        try:
            if open_question:
                who, open_question = ask_unit(open_question), ()
            own = None if who is None else who.column
            proposals = tuple(
                one if one.name == own else _ask_target(one) if one.name == target else _ask(one)
                for one in proposals
            )
        except typer.Abort:
            if at_terminal:
                raise
            raise SettingError("The answers ended before the questions: use --no-ask.") from None
    proposed = _assemble(proposals, target, rows, who)
    if as_json:
        print_json(proposed.to_dict())
    text = (
        proposed.to_json()
        if form is Format.JSON
        else _commented(proposed, proposals, target, open_question)
    )
    if output is not None:
        write_text(output, text)
    if as_json:
        return
    if output is None:
        _print(text)
    told = sys.stderr
    open_facts = len(proposed.missing_facts)
    if open_question:
        print(f"{suspicion(open_question[0])}: {_to_say(open_question[0])}.", file=told)
    if not table.declares_kinds:
        print(f"Kinds of {file.name} are guessed from its first rows: check them.", file=told)
    for remark in (*table.remarks, *table.doubts):
        print(remark, file=told)
    print(
        f"{len(proposed)} column{'' if len(proposed) == 1 else 's'}; {open_facts} "
        f"fact{'' if open_facts == 1 else 's'} left to be found privately"
        + (f"; written to {output}" if output is not None else ""),
        file=told,
    )


def _print(text: str) -> None:
    """Print what may become a file, which is UTF-8 whatever the system writes elsewhere."""
    if (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8":
        sys.stdout.write(text)
    else:
        sys.stdout.buffer.write(text.encode())


def _assemble(
    proposals: tuple[Proposal, ...],
    target: str | None,
    rows: int | None,
    who: Unit | None,
) -> Schema:
    from voile.schema.schema import Schema

    left_out = (target, None if who is None else who.column)
    used = {one.name: one.column for one in proposals if one.use and one.name not in left_out}
    aim = next((one.column for one in proposals if one.name == target), None)
    return Schema(used, target=aim, rows=rows, unit=who)


def _to_say(column: str) -> str:
    """What a person has to decide before a training."""
    return (
        f"say in the schema who is protected, 'unit: {{column: {column}, rows: 4}}' or 'unit: row' "
        "if every row is another person's"
    )


def _commented(
    schema: Schema,
    proposals: tuple[Proposal, ...],
    target: str | None,
    open_question: tuple[str, ...],
) -> str:
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
    lines += [f"# {_one_line(_to_say(name))}" for name in open_question[:1]]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _ask(one: Proposal) -> Proposal:
    """Ask a person about one column; an empty answer keeps the proposal."""
    from dataclasses import replace

    from voile.errors import SchemaError

    while True:
        given = typer.prompt(_question(one), default="", show_default=False, err=True).strip()
        if not given:
            return one
        if given == "-":
            return replace(one, use=False, why="left out by hand")
        try:
            column = _read_column(given, one)
        except (SchemaError, ValueError) as error:
            typer.echo(f"  {error} Try again.", err=True)
            continue
        return replace(one, column=column, use=True, why="given by hand")


def _ask_target(one: Proposal) -> Proposal:
    """Ask about the column to predict; of yes and no, yes is the class a model speaks of: last."""
    from dataclasses import replace

    from voile.schema.columns import Category
    from voile.schema.yes_and_no import with_yes_last

    found = _ask(_ask_task(one))
    if not isinstance(found.column, Category) or found.column.levels is None:
        return found
    return replace(found, column=replace(found.column, levels=with_yes_last(found.column.levels)))


def _question(one: Proposal) -> str:
    from voile.schema.columns import Number
    from voile.schema.dates import Date

    what = "levels, as a, b, c"
    if isinstance(one.column, Date):
        what = "first and last day, as 2019-01-01 2024-12-31"
    elif isinstance(one.column, Number):
        what = "lower and upper, as 0 120"
    kept = "keeps it" if one.use else "leaves it out"
    doubt = f"{one.why}; " if one.doubtful else ""
    out = ", - leaves the column out" if one.use else ""
    told = repr(one.column) if one.use else "not used"
    return f"{one.name} ({told}; {doubt}{what}; empty {kept}{out})"


def _ask_task(one: Proposal) -> Proposal:
    """Ask whether numbers to predict are classes or amounts."""
    from dataclasses import replace

    from voile.schema.columns import Category, Number
    from voile.schema.kinds import Kind

    if one.found.kind is not Kind.NUMBER:
        return one
    question = f"{one.name}: are its numbers classes, such as 0 and 1, or amounts? (c/a)"
    while True:
        given = typer.prompt(question, err=True).strip().lower()
        if given in ("c", "classes"):
            return replace(one, column=Category(), doubtful=False, why="classes, found privately")
        if given in ("a", "amounts"):
            amount = one.column if isinstance(one.column, Number) else Number(whole=one.found.whole)
            return replace(one, column=amount, doubtful=False, why="give bounds, or pay for them")


def _read_column(given: str, one: Proposal) -> Column:
    """What a person typed: levels, bounds of a number, or the first and last day."""
    from dataclasses import replace

    from voile.schema.columns import Category, Number
    from voile.schema.dates import Date
    from voile.schema.kinds import Kind

    proposed = one.column
    if isinstance(proposed, Category):
        parts = [part.strip() for part in given.split(",") if part.strip()]
        numeric = one.found.kind is Kind.NUMBER
        return replace(proposed, levels=[_number(part) if numeric else part for part in parts])
    ends = given.replace(",", " ").split()
    if len(ends) != 2:
        raise ValueError("Two are needed.")
    if isinstance(proposed, Date):
        return Date(*ends, time=proposed.time, missing=proposed.missing)
    return Number(*map(float, ends), whole=proposed.whole, missing=proposed.missing)


def _number(text: str) -> int | float | str:
    """A level of a column of numbers: 1 and "1" are two."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
