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


def main() -> None:
    """Entry point: a VoileError is one line and exit code 2, never a traceback."""
    from voile.errors import VoileError

    try:
        app()
    except VoileError as error:
        typer.echo(f"voile: {error}", err=True)
        raise SystemExit(2) from error
