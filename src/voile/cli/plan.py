"""The plan verb: what a training would give at each epsilon, before anything is spent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voile.cli.file_options import reads_files
from voile.cli.options import AsJson, Delta, Model, ModelKind, PageFile, SchemaFile, Target
from voile.cli.public_facts import load_schema
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
    target_rate: Annotated[
        float | None, typer.Option(help="Public share of the scarcest class, if it is rare.")
    ] = None,
    target_spread: Annotated[
        float | None, typer.Option(help="Public standard deviation of a target that is a number.")
    ] = None,
    output: PageFile = None,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Show what each epsilon would give and mean, before anything is spent.

    From public facts alone: the schema and the number of rows. Nothing is read, nothing is paid.

    Examples:
        voile plan --schema patients.yaml --rows 20000

        voile plan patients.csv --target ill --rows 20000 -o plan.html
    """
    chosen = read_epsilons(epsilons)
    public, remarks = _read_schema(file, schema, target, dialect)
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
    file: Path | None, schema: Path | None, target: str | None, dialect: Dialect
) -> tuple[Schema, list[str]]:
    """What is public, and what a person should know of how it was found."""
    from voile.privacy.files.table_files import TableFile
    from voile.privacy.files.table_proposal import propose_schema
    from voile.schema import Number

    if schema is not None:
        return load_schema(schema, target, remedy="name the column with --target, or "), []
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
    public = propose_schema(table, target)
    remarks = [*table.remarks]
    if not table.declares_kinds:
        remarks.append(
            f"The file {file.name} does not say of what kind its columns are: it was guessed from "
            "the first rows. Give --schema, and the file is not opened."
        )
    if isinstance(public.target, Number):
        remarks.append(
            f"The target {target!r} is a number: this is the plan of a regression. Give a --schema "
            "with target classes if its values are classes."
        )
    return public, remarks
