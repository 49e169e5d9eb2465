"""The voile command: its verbs, each imported only when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from voile.version import __version__

app = typer.Typer(
    name="voile",
    help="Models you can see through, trained on data nobody can.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
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


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the page, the JSON and the ledger.")
    ] = Path("demo-output"),
    epsilon: Annotated[float, typer.Option(help="Budget of the summary.")] = 1.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
) -> None:
    """Describe 20,190 rows of the RAND health insurance experiment privately.

    Example: voile demo --epsilon 0.5 -o out
    """
    from voile.cli.demo import run_demo

    run_demo(output, epsilon=epsilon, as_json=as_json)


@app.command()
def audit(
    family: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to attack: core, ebm, prototypes, maps, explainer, networks, clients. All."
        ),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="The claims that are tested.")] = 8.0,
    runs: Annotated[
        int | None, typer.Option(help="Fits of every trial; by default what it needs.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a page with pictures here.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the findings as JSON and nothing else.")
    ] = False,
) -> None:
    """Attack the library's own mechanisms and models, on made-up rows.

    Exit code 1 if a claim was refuted.

    Example: voile audit core ebm -o audit.html
    """
    from voile.cli.audit import run_audit

    code = run_audit(family or [], epsilon=epsilon, runs=runs, page=page, as_json=as_json)
    raise typer.Exit(code)


def main() -> None:
    """Entry point: a VoileError is one line and exit code 2, never a traceback."""
    from voile.errors import VoileError

    try:
        app()
    except VoileError as error:
        typer.echo(f"voile: {error}", err=True)
        raise SystemExit(2) from error
