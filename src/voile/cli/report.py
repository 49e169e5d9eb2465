"""The report verb: one self-contained page of a saved model."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voile.cli.account import open_existing
from voile.cli.file_options import reads_files
from voile.cli.options import AsJson, ModelFile
from voile.cli.predict import read_and_tell
from voile.cli.results import check_page, print_json, quality_file
from voile.errors import ModelError
from voile.privacy.files.dialect import Dialect
from voile.strict import Strict

if TYPE_CHECKING:
    from voile.models.evaluation import Evaluation


@reads_files
def report(
    model: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    quality: Annotated[
        Path | None,
        typer.Option(help="Estimate of quality (JSON); by default what lies beside the model."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger to show: a file or a PostgreSQL url.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set, if the ledger keeps several.")
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(help="Your own rows to explain in the page: they will be in it.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse --rows with values not taken as they stand."),
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Write a report that can be shown: the model, its quality, its price and its limits.

    One HTML file with everything inside; it opens without a network. Costs nothing.

    Examples:
        voile report patients.voile -o report.html --ledger hospital.db

        voile report patients.voile --rows new.csv --open
    """
    from voile.models.load import load

    check_page(output)
    estimator = load(model)
    book = None if ledger is None else open_existing(ledger, dataset)
    estimator.report(
        output,
        title=title,
        evaluation=read_quality(model, quality, estimator.model_),
        ledger=book,
        rows=None if rows is None else read_and_tell(estimator, rows, dialect, strict=strict),
    )
    if as_json:
        print_json({"report": str(output), "bytes": output.stat().st_size})
    else:
        print(f"Report: {output.resolve()}")
    if show:
        webbrowser.open(output.resolve().as_uri())


def read_quality(model: Path, given: Path | None, loaded: Any) -> Evaluation | None:
    """The estimate of quality of a model: the given file, or what lies beside the model.

    A file beside it that tells of another training is passed over; a given one is refused.
    """
    from voile.models.evaluation import Evaluation

    place = quality_file(model) if given is None else given
    if given is None and not place.exists():
        return None
    text = Strict(ModelError, "an evaluation").load_text(place)
    found = Evaluation.from_json(text)
    if found.entry == loaded.receipt.entry:
        return found
    if given is not None:
        raise ModelError(
            f"The evaluation {str(place)!r} is of another model: give the one of {str(model)!r}."
        )
    return None
