"""The voile command: its verbs, whose work is imported only when they run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from voile.cli import audit, demo, edit, explain, ledger, predict, report, schema, train, verify
from voile.cli.options import AsJson, Delta, SchemaFile
from voile.cli.public_facts import ModelKind
from voile.version import __version__

app = typer.Typer(
    name="voile",
    help="Models you can see through, trained on data nobody can.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="Exit codes: 0 done, 1 a claim was refuted, 2 wrong use, 3 over the budget, 4 ledger, "
    "5 model file, 6 missing extra, 7 file, 8 nothing to learn was found, 9 failed after a "
    "payment, 70 a fault of voile, 130 interrupted.",
)
datasets = typer.Typer(
    name="datasets", help="Public data sets with ready schemas.", no_args_is_help=True
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"voile {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Private, readable machine learning: one vault, one ledger, one budget."""


def plan(
    file: Annotated[
        Path | None,
        typer.Argument(help="Table of which names and kinds alone are read, without --schema."),
    ] = None,
    schema: SchemaFile = None,
    target: Annotated[str | None, typer.Option(help="Name of the column to predict.")] = None,
    rows: Annotated[
        int | None, typer.Option(help="Public number of rows; its order of magnitude is enough.")
    ] = None,
    epsilons: Annotated[
        str, typer.Option(help="Budgets to compare, with commas.")
    ] = "0.1,0.5,1,2,4,8",
    delta: Delta = 1e-6,
    model: Annotated[ModelKind, typer.Option(help="Kind of model.")] = ModelKind.EBM,
    target_rate: Annotated[
        float | None, typer.Option(help="Public share of the scarcest class, if it is rare.")
    ] = None,
    target_spread: Annotated[
        float | None, typer.Option(help="Public standard deviation of a target that is a number.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a page with pictures.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what each epsilon would give and mean, before anything is spent.

    From public facts alone: the schema and the number of rows. Nothing is read, nothing is paid.

    Examples:
        voile plan --schema patients.yaml --rows 20000

        voile plan patients.csv --target ill --rows 20000 -o plan.html
    """
    from voile.cli.plan import run_plan

    run_plan(
        file,
        schema=schema,
        target=target,
        rows=rows,
        epsilons=epsilons,
        delta=delta,
        model=str(model),
        page=output,
        as_json=as_json,
        target_rate=target_rate,
        target_spread=target_spread,
    )


@datasets.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the public data sets, and where each can be had now.

    Example: voile datasets list
    """
    from voile.cli.datasets import run_list

    run_list(as_json=as_json)


@datasets.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(help="Name of a data set, as listed.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to keep it; a cache folder by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a public data set from OpenML and keep it.

    Example: voile datasets fetch adult --folder data
    """
    from voile.cli.datasets import run_fetch

    run_fetch(name, folder=folder, as_json=as_json)


def bench(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Name of a benchmark; without one, all are listed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark of the source checkout; further options go to it.

    Examples:
        voile bench

        voile bench noise
    """
    from voile.cli.bench import run_bench

    raise typer.Exit(run_bench(name, context.args, as_json=as_json))


app.command()(schema.schema)
app.command()(plan)
app.command()(train.train)
app.command()(explain.explain)
app.command()(edit.edit)
app.command()(predict.predict)
app.command()(report.report)
app.add_typer(ledger.app)
app.command()(verify.verify)
app.command()(verify.sign)
app.add_typer(verify.keys)
app.command()(audit.audit)
app.command()(demo.demo)
app.add_typer(datasets)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)


def main() -> None:
    """Entry point: every failure is one line and a documented exit code, never a traceback."""
    from voile.cli.exit_codes import run

    # Arrow's own allocator reserves a gigabyte of addresses for the first byte.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    raise SystemExit(run(_run))


def _run() -> int | None:
    """Run the verb; before anything is paid, refuse what could not be written down later."""
    import sys

    from voile.errors import SettingError
    from voile.strict import is_text

    for given in sys.argv[1:]:
        if not is_text(given):
            raise SettingError(
                f"The argument {given!r} is no text in UTF-8: write it so, or rename the file."
            )
    code: int | None = app(standalone_mode=False)
    return code
