"""The audit verb: attacks the library's mechanisms, or the training behind a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from voile.cli.exit_codes import REFUTED, leave_output, tell_file_error
from voile.cli.options import AsJson
from voile.cli.results import check_page
from voile.errors import SettingError


def audit(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL | FAMILY...]",
            help="File of a model, or families: core, ebm, prototypes, maps, explainer, networks, "
            "clients, protocol. All families by default.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="The claim that is tested: 8, or the model's own by default."),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Fits of every trial; by default what it needs.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a page with pictures here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack the training of a saved model, or the library's own mechanisms, on made-up rows.

    Of a model, its kind, settings, schema and budget are taken; it is trained again and again with
    and without a conspicuous made-up person, by somebody who sees every noised sum. No private row
    is needed. Exit code 1 if a claim was refuted.

    Examples:
        voile audit patients.voile

        voile audit core ebm -o audit.html
    """
    if output is not None:
        check_page(output)
    asked = what or []
    files = [one for one in asked if one.endswith(".voile") or Path(one).is_file()]
    if files and len(asked) > 1:
        raise SettingError("Audit one model at a time, or families of the library: not both.")
    if files:
        report = _of_model(Path(files[0]), epsilon, runs)
    else:
        from voile.audit.trials.catalogue import self_audit

        report = self_audit(asked or None, epsilon=8.0 if epsilon is None else epsilon, runs=runs)
    failure: OSError | None = None
    try:
        if as_json:
            print(report.to_json(), flush=True)
        else:
            report.show()
        if output is not None:
            report.to_html(output)
            if not as_json:
                print(f"Page with pictures: {output.resolve()}", flush=True)
    except OSError as error:
        failure = error
    # A claim that was refuted is told by the code, whether or not anything could be written.
    if failure is not None and not report.broken:
        raise failure
    if isinstance(failure, BrokenPipeError):
        leave_output()
    elif failure is not None:
        print(f"voile: {tell_file_error(failure)}", file=sys.stderr)
    raise typer.Exit(REFUTED if report.broken else 0)


def _of_model(path: Path, epsilon: float | None, runs: int | None) -> Any:
    from voile.audit.saved_models import audit_model
    from voile.models.load import load

    return audit_model(load(path), epsilon=epsilon, runs=runs)
