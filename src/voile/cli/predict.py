"""The predict verb: a saved model's answers for rows in a file; costs nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from voile.cli.options import AsJson, ModelFile
from voile.cli.results import check_writable, print_json
from voile.errors import SettingError


def predict(
    model: ModelFile,
    rows: Annotated[Path, typer.Argument(help="Your own rows: CSV, Parquet or Arrow.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a CSV file instead of printing.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="With a column per class.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Predict for rows that you hold; a column "prediction", in the order of the rows.

    Examples:
        voile predict patients.voile new.csv

        voile predict patients.voile new.csv --probabilities -o answers.csv
    """
    from voile.files import write_text
    from voile.models.load import load

    if output is not None:
        check_writable(output)
    estimator = load(model)
    given = read_public(estimator, rows)
    columns: dict[str, list[Any]] = {"prediction": estimator.predict(given).tolist()}
    if probabilities:
        if not hasattr(estimator, "predict_proba"):
            raise SettingError(
                f"A {type(estimator).__name__} has no probabilities: leave --probabilities out."
            )
        chances = estimator.predict_proba(given)
        for k, name in enumerate(estimator.classes_.tolist()):
            columns[f"probability of {name}"] = chances[:, k].tolist()
    text = _as_csv(columns)
    if output is not None:
        write_text(output, text)
    if as_json:
        count = len(columns["prediction"])
        print_json([{name: values[i] for name, values in columns.items()} for i in range(count)])
    elif output is None:
        sys.stdout.write(text)
    else:
        print(f"{len(columns['prediction'])} predictions: {output}")


def read_public(estimator: Any, path: Path) -> Any:
    """Rows that the user holds, with the columns of a model."""
    from voile.privacy.files.table_files import read_table

    model = estimator.model_
    return read_table(path, model.schema, may_lack=getattr(model, "unused", ()))


def _as_csv(columns: dict[str, list[Any]]) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()
