"""The what-if verb: what would have to change in your rows for another answer of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from voile.cli.file_options import reads_files
from voile.cli.options import AsJson, ModelFile, PageFile
from voile.cli.predict import read_and_tell
from voile.cli.results import check_page, print_json
from voile.privacy.files.dialect import Dialect

Names = list[str]


@reads_files
def what_if(
    model: ModelFile,
    rows: Annotated[Path, typer.Argument(help="Your own rows.")],
    want: Annotated[
        str | None,
        typer.Option(
            help="A class, a probability ('>= 0.7') or a number ('30', '10 to 20'); "
            "by default another class."
        ),
    ] = None,
    change: Annotated[
        Names | None, typer.Option(help="A column that may change; by default all. Repeat it.")
    ] = None,
    keep: Annotated[Names | None, typer.Option(help="A column that may not. Repeat it.")] = None,
    up: Annotated[Names | None, typer.Option(help="A column that may only rise.")] = None,
    down: Annotated[Names | None, typer.Option(help="A column that may only fall.")] = None,
    most: Annotated[int, typer.Option(help="How many suggestions for a row.")] = 3,
    sure: Annotated[
        bool, typer.Option("--sure", help="Only changes that hold if the model's error counts.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse rows with values that are not taken as they stand."),
    ] = False,
    output: PageFile = None,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Say what would have to change in your rows for another answer: free of cost.

    It is what the model would answer, not a claim about causes.

    Examples:
        voile what-if loans.voile new.csv --want granted --keep age --down debt

        voile what-if loans.voile new.csv --want ">= 0.7" --sure -o change.html
    """
    if output is not None:
        check_page(output)
    from voile.models.load import load

    estimator = load(model)
    found = estimator.counterfactuals(
        read_and_tell(estimator, rows, dialect, strict=strict),
        want,
        change=change or None,
        keep=keep or (),
        directions={**dict.fromkeys(up or (), "up"), **dict.fromkeys(down or (), "down")},
        most=most,
        sure=sure,
    )
    if output is not None:
        found.to_html(output)
    if as_json:
        print_json(found.to_dict())
        return
    print(found)
    if output is not None:
        print(f"Page: {output.resolve()}")
