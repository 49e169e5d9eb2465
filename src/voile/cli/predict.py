"""The predict verb: a saved model's answers for rows in a file; costs nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voile.cli.file_options import reads_files
from voile.cli.options import AsJson, ModelFile
from voile.cli.results import check_writable, print_json
from voile.errors import DataError, SettingError
from voile.privacy.files.dialect import Dialect

if TYPE_CHECKING:
    from voile.models.ebm.objectives import Exposure
    from voile.privacy.files.own_rows import OwnRows

MILLION = 1e6

_MOST_TOLD = 3
"""Rows whose notes are told where no column has room for them."""


@reads_files
def predict(
    model: ModelFile,
    rows: Annotated[Path, typer.Argument(help="Your own rows: CSV, Excel, Parquet or Arrow.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write a CSV or Excel (.xlsx) file instead of printing."
        ),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="With a column per class.")
    ] = False,
    exposure: Annotated[
        str | None,
        typer.Option(
            help="Of a model with an exposure: the name of its column, or a number for all rows; "
            "then totals are told, else predictions per unit."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column of your rows to have beside the answers (may be repeated)."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse rows with values that are not taken as they stand."),
    ] = False,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Predict for rows that you hold: one answer for each row, in their order.

    The column "notes" tells values that were not taken as they stand: outside the bounds that the
    model knows, levels that it does not, or unreadable. Lines that do not fit are refused. Numbers
    have six digits at most; --json gives all.

    Examples:
        voile predict patients.voile new.csv

        voile predict patients.voile new.xlsx --keep patient --probabilities -o answers.xlsx

        voile predict contracts.voile new.csv --exposure years
    """
    from voile.models.load import load
    from voile.privacy.files.answer_files import as_csv, check_can_write, write_answers

    if output is not None:
        check_writable(output)
        check_can_write(output)
    estimator = load(model)
    known = getattr(estimator.model_, "exposure", None)
    given = None if exposure is None else _read_exposure(exposure, known)
    named = isinstance(given, str)
    own, notes = read_own(estimator, rows, dialect, strict=strict, keep=keep or (), exposed=named)
    settings: dict[str, Any] = {} if given is None else {"exposure": given}
    answers: dict[str, list[Any]] = {
        "prediction": estimator.predict(own.table, **settings).tolist()
    }
    if known is not None and given is None:
        print(
            f"Predictions are per unit of {known.name!r}: for totals give --exposure "
            f"{known.name}, if the rows have that column, or a number.",
            file=sys.stderr,
        )
    if probabilities:
        if not hasattr(estimator, "predict_proba"):
            raise SettingError(
                f"A {type(estimator).__name__} has no probabilities: leave --probabilities out."
            )
        chances = estimator.predict_proba(own.table)
        for k, name in enumerate(estimator.classes_.tolist()):
            answers[f"probability of {name}"] = chances[:, k].tolist()
    answers["notes"] = ["; ".join(one) for one in notes]
    for name in own.kept:
        if name in answers:
            raise SettingError(f"The answers have a column {name!r} themselves: keep another.")
    columns = {**own.kept, **answers}
    # People read six digits at most; programs have all of them from --json.
    shown = {
        name: values if name in own.kept else [_few_digits(one) for one in values]
        for name, values in columns.items()
    }
    if output is not None:
        write_answers(output, shown, own.separator, comma=own.comma)
    if as_json:
        count = len(answers["prediction"])
        print_json([{name: values[i] for name, values in columns.items()} for i in range(count)])
    elif output is None:
        sys.stdout.write(as_csv(shown, own.separator, comma=own.comma))
    else:
        print(f"{len(answers['prediction'])} predictions: {output}")
    noted = sum(map(bool, notes))
    if noted:
        which = "1 row has" if noted == 1 else f"{noted} rows have"
        print(
            f"{which} values that were not taken as they stand: see the column 'notes'.",
            file=sys.stderr,
        )


def _read_exposure(text: str, known: Exposure | None) -> str | float:
    """What predictions are for: the column of the exposure, or a number within its bounds."""
    if known is None:
        raise SettingError("This model has no exposure: leave --exposure out.")
    if text == known.name:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not known.lower <= number <= known.upper:
        raise SettingError(
            f"The --exposure must be the column {known.name!r}, or a number from {known.lower:g} "
            f"to {known.upper:g}, as the model knows it. Got {text!r} instead."
        )
    return number


def _few_digits(answer: Any) -> Any:
    """A number with at most six significant digits, and never less than its whole part."""
    if not isinstance(answer, float) or not math.isfinite(answer) or answer.is_integer():
        return answer
    return float(round(answer)) if abs(answer) >= MILLION else float(f"{answer:.6g}")


def read_own(
    estimator: Any,
    path: Path,
    dialect: Dialect,
    *,
    strict: bool = False,
    keep: Collection[str] = (),
    exposed: bool = False,
) -> tuple[OwnRows, list[tuple[str, ...]]]:
    """Rows that the user holds, with the columns of a model, and what is noted of each.

    With ``exposed``, the column of the model's exposure is one of them.
    """
    from voile.explain.given_values import note_rows
    from voile.privacy.files.own_rows import read_own_rows

    model = estimator.model_
    lacking = getattr(model, "unused", ())
    schema = model.rows_schema if exposed else model.schema
    own = read_own_rows(path, schema, may_lack=lacking, keep=keep, dialect=dialect)
    if own.remark:
        print(own.remark, file=sys.stderr)
    notes = note_rows(schema, own.table, may_lack=lacking)
    notes = [
        (*(f"{one} unreadable, read as missing" for one in wrong), *told)
        for wrong, told in zip(own.unreadable, notes, strict=True)
    ]
    if strict and any(notes):
        first = next(row for row, one in enumerate(notes) if one)
        raise DataError(
            f"{sum(map(bool, notes))} of {len(notes)} rows of {str(path)!r} have values that the "
            f"model cannot take as they stand; the first in {own.places[first]}: "
            f"{notes[first][0]}. Correct them, or leave --strict out to have them noted."
        )
    return own, notes


def read_and_tell(estimator: Any, path: Path, dialect: Dialect, *, strict: bool) -> Any:
    """The same for verbs whose pages show the values; who is noted is told beside them."""
    own, notes = read_own(estimator, path, dialect, strict=strict)
    noted = [(place, told) for place, told in zip(own.places, notes, strict=True) if told]
    for place, told in noted[:_MOST_TOLD]:
        print(f"In {place}: {'; '.join(told)}.", file=sys.stderr)
    if len(noted) > _MOST_TOLD:
        print(
            f"{len(noted) - _MOST_TOLD} more rows have values that were not taken as they stand.",
            file=sys.stderr,
        )
    return own.given
