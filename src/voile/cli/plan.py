"""The plan verb: what a training would give at each epsilon, before anything is spent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from voile.errors import SchemaError, SettingError

if TYPE_CHECKING:
    from voile.schema import Schema


def run_plan(
    file: Path | None,
    *,
    schema: Path | None,
    target: str | None,
    rows: int | None,
    epsilons: str,
    delta: float,
    model: str,
    page: Path | None,
    as_json: bool,
    target_rate: float | None = None,
    target_spread: float | None = None,
) -> None:
    """Print the forecast, and write its page if asked.

    Parameters
    ----------
    file : Path, optional
        A table, of which names and kinds of columns are read if there is no schema (of a CSV file,
        the kinds are guessed from its first lines); its rows are not counted.
    schema : Path, optional
        What is public, with the target.
    target : str, optional
        Name of the column to predict, if the schema does not say it.
    rows : int, optional
        The public row count, if the schema does not say it.
    epsilons : str
        Numbers with commas between them.
    delta : float
    model : str
        As for the train verb.
    page : Path, optional
        Where to write the page.
    as_json : bool
    target_rate, target_spread : float, optional
        Public share of the scarcest class, or standard deviation of a target that is a number.
    """
    chosen = read_epsilons(epsilons)
    public, remarks = _read_schema(file, schema, target)
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
        model=model.replace("-", "_"),  # type: ignore[arg-type]
        target_rate=target_rate,
        target_spread=target_spread,
    )
    for remark in remarks:
        # Beside the answer: what is printed as JSON stays JSON.
        print(f"voile: {remark}", file=sys.stderr)
    if page is not None:
        found.to_html(page)
    if as_json:
        print(found.to_json())
        return
    found.show()
    if page is not None:
        print(f"Page with pictures: {page.resolve()}")


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
    file: Path | None, schema: Path | None, target: str | None
) -> tuple[Schema, list[str]]:
    """What is public, and what a person should know of how it was found."""
    from voile.schema import Number, Schema

    if schema is not None:
        public = Schema.load(schema)
        if target is not None:
            if public.target is None and target in public:
                public = public.with_target(public[target])
            public = public.select([name for name in public if name != target])
        if public.target is None:
            raise SchemaError(
                f"The schema {str(schema)!r} says nothing of the target: name the column with "
                "--target, or add 'target: {kind: category, levels: [...]}'."
            )
        return public, []
    if file is None:
        raise SettingError(
            "A plan needs to know the columns: give a table, or what is public with --schema."
        )
    if target is None:
        raise SettingError(
            "A plan needs to know what is predicted: name the column with --target, or give a "
            "--schema that says it."
        )
    from voile.cli.tables import is_csv, propose_schema

    public = propose_schema(file, target)
    remarks = []
    if is_csv(file):
        remarks.append(
            "A CSV file does not say of what kind its columns are: it was guessed from the first "
            "lines. Give --schema, and the file is not opened."
        )
    if isinstance(public.target, Number):
        remarks.append(
            f"The target {target!r} is a number: this is the plan of a regression. Give a --schema "
            "with target classes if its values are classes."
        )
    return public, remarks
