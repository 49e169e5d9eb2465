"""The plan verb: what a training would give at each epsilon, before anything is spent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voile.cli.file_options import reads_files
from voile.cli.interactions import AUTO, MostPairs, NamedPairs, read_pairs
from voile.cli.options import (
    Aimed,
    AsJson,
    Delta,
    ExposureColumn,
    Model,
    ModelKind,
    Objectives,
    PageFile,
    SchemaFile,
    Target,
    Task,
    TaskOption,
    UnitColumn,
    UnitRows,
)
from voile.cli.people import is_watched, settle_unit
from voile.cli.public_facts import load_schema, read_public_facts, tell_guesses, with_task
from voile.cli.results import check_page
from voile.errors import SettingError
from voile.privacy.files.dialect import Dialect

if TYPE_CHECKING:
    from voile.schema import Schema


@reads_files
def plan(
    file: Annotated[
        Path | None,
        typer.Argument(help="Table of which names and kinds alone are read, without --schema."),
    ] = None,
    schema: SchemaFile = None,
    target: Target = None,
    rows: Annotated[
        int | None, typer.Option(help="Public number of rows; its order of magnitude is enough.")
    ] = None,
    epsilons: Annotated[
        str, typer.Option(help="Budgets to compare, with commas.")
    ] = "0.1,0.5,1,2,4,8",
    delta: Delta = None,
    model: Model = ModelKind.EBM,
    task: TaskOption = None,
    objective: Objectives = Aimed.SQUARED,
    exposure: ExposureColumn = None,
    target_rate: Annotated[
        float | None, typer.Option(help="Public share of the scarcest class, if it is rare.")
    ] = None,
    target_spread: Annotated[
        float | None, typer.Option(help="Public standard deviation of a target that is a number.")
    ] = None,
    interactions: MostPairs = AUTO,
    pair: NamedPairs = None,
    unit: UnitColumn = None,
    unit_rows: UnitRows = None,
    output: PageFile = None,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Show what each epsilon would give and mean, before anything is spent.

    From public facts alone: the schema and the number of rows. Without --schema, names and kinds
    are taken from the table, as voile train does. Nothing is paid.

    Examples:
        voile plan --schema patients.yaml --rows 20000

        voile plan patients.csv --target ill --rows 20000 -o plan.html

        voile plan --schema contracts.yaml --rows 20000 --objective poisson --exposure years
    """
    if output is not None:
        check_page(output)
    chosen = read_epsilons(epsilons)
    ask = is_watched() and not as_json
    if objective is not Aimed.SQUARED and task is None:
        task = Task.REGRESSION
    public, remarks = _read_schema(
        file, schema, target, task, model, unit, unit_rows, dialect, ask=ask
    )
    if rows is None and public.rows is None:
        raise SettingError(
            "The rows of a private table are not counted for a plan: give the public row count "
            "with --rows (the order of magnitude is enough), or 'rows' in the schema."
        )
    from voile.planning.forecast import forecast

    found = forecast(
        public,
        rows=rows,
        epsilons=chosen,
        delta=delta,
        model=str(model).replace("-", "_"),  # type: ignore[arg-type]
        target_rate=target_rate,
        target_spread=target_spread,
        interactions=read_pairs(interactions, pair, public, model),
        objective=objective.value,
        exposure=exposure,
    )
    for remark in remarks:
        # Beside the answer: what is printed as JSON stays JSON.
        print(f"voile: {remark}", file=sys.stderr)
    if output is not None:
        found.to_html(output)
    if as_json:
        print(found.to_json())
        return
    found.show()
    if output is not None:
        print(f"Page with pictures: {output.resolve()}")


def read_epsilons(text: str) -> tuple[float, ...]:
    """Numbers from "0.5, 1,2".

    Examples
    --------
    >>> read_epsilons("0.5, 1,2")
    (0.5, 1.0, 2.0)
    """
    try:
        return tuple(float(one) for one in text.split(",") if one.strip())
    except ValueError:
        raise SettingError(
            f"The epsilons must be numbers with commas between them, such as 0.5,1,2. Got {text!r} "
            "instead."
        ) from None


def _read_schema(
    file: Path | None,
    schema: Path | None,
    target: str | None,
    task: Task | None,
    model: ModelKind,
    unit: str | None,
    unit_rows: int | None,
    dialect: Dialect,
    *,
    ask: bool,
) -> tuple[Schema, list[str]]:
    """What is public, and what a person should know of how it was found."""
    from voile.privacy.files.table_files import TableFile

    if schema is not None:
        # All is in the schema: a table, if one is given, is not opened.
        public = load_schema(schema, target, remedy="name the column with --target, or ")
        public = with_task(public, task, target or "target")
        return settle_unit(public, None, target, unit, unit_rows, ask=ask), []
    if file is None:
        raise SettingError(
            "A plan needs to know the columns: give a table, or what is public with --schema."
        )
    if target is None:
        raise SettingError(
            "A plan needs to know what is predicted: name the column with --target, or give a "
            "--schema that says it."
        )
    table = TableFile(file, dialect)
    public = read_public_facts(table, target, None, task, model, unit, unit_rows, ask=ask)
    remarks = tell_guesses(table, target, None, public)
    if not table.declares_kinds:
        remarks.append(
            f"The file {file.name} does not say of what kind its columns are: its first rows were "
            "read to guess it, and nothing else. Give --schema, and the file is not opened."
        )
    return public, remarks
