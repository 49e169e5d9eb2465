"""The voile command: its verbs, whose work is imported only when they run."""

from __future__ import annotations

import os
from typing import Annotated, TextIO

import typer

from voile.cli import (
    audit,
    bench,
    datasets,
    demo,
    edit,
    explain,
    ledger,
    plan,
    predict,
    report,
    sample,
    schema,
    train,
    verify,
    what_if,
)
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


app.command()(schema.schema)
app.command()(plan.plan)
app.command()(train.train)
app.command()(explain.explain)
app.command()(what_if.what_if)
app.command()(sample.sample)
app.command()(edit.edit)
app.command()(predict.predict)
app.command()(report.report)
app.add_typer(ledger.app)
app.command()(verify.verify)
app.command()(verify.sign)
app.add_typer(verify.keys)
app.command()(audit.audit)
app.command()(demo.demo)
app.add_typer(datasets.app)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    bench.bench
)


def main() -> None:
    """Entry point: every failure is one line and a documented exit code, never a traceback."""
    from voile.cli.exit_codes import run

    # Arrow's own allocator reserves a gigabyte of addresses for the first byte.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    raise SystemExit(run(_run))


def _run() -> int | None:
    """Run the verb; before anything is paid, refuse what could not be written down later."""
    import sys
    import warnings

    from voile.errors import GuessedTargetWarning, SettingError
    from voile.strict import is_text

    for given in sys.argv[1:]:
        if not is_text(given):
            raise SettingError(
                f"The argument {given!r} is no text in UTF-8: write it so, or rename the file."
            )
    with warnings.catch_warnings():
        # What a job has to say beside its result is a line, and no reason to lose what was paid.
        warnings.simplefilter("default", GuessedTargetWarning)
        _tell_plainly(GuessedTargetWarning)
        code: int | None = app(standalone_mode=False)
    return code


def _tell_plainly(kind: type[Warning]) -> None:
    """Show warnings of a kind as a line of their own, without the place in the program."""
    import sys
    import warnings

    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, kind):
            print(message, file=sys.stderr)
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show
