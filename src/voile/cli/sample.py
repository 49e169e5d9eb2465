"""The sample verb: synthetic rows of a private table, from a summary that is bought once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voile.cli.exit_codes import saving_first
from voile.cli.explain import buy_summary
from voile.cli.file_options import reads_files
from voile.cli.options import (
    AsJson,
    DataSetName,
    Delta,
    Epsilon,
    LedgerBudget,
    LedgerPlace,
    SchemaFile,
    UnitColumn,
    UnitRows,
)
from voile.cli.people import is_watched, settle_unit
from voile.cli.results import check_writable, print_json, save_paid
from voile.errors import SettingError
from voile.privacy.files.dialect import Dialect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@reads_files
def sample(
    data: Annotated[Path, typer.Argument(help="Private rows, of which a summary is bought.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write them: CSV, or .parquet.")
    ],
    rows: Annotated[int, typer.Option("--rows", "-n", help="How many synthetic rows.")] = 1000,
    epsilon: Epsilon = 1.0,
    delta: Delta = None,
    schema: SchemaFile = None,
    ledger: LedgerPlace = None,
    budget: LedgerBudget = None,
    dataset: DataSetName = None,
    name: Annotated[
        str, typer.Option(help="Of the summary in the ledger; the same name pays once.")
    ] = "explainer",
    seed: Annotated[int, typer.Option(help="Another one gives other rows, at no cost.")] = 0,
    unit: UnitColumn = None,
    unit_rows: UnitRows = None,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Write synthetic rows that anybody may have.

    They are drawn from a private summary of single columns and pairs of columns (--epsilon). With a
    --ledger file it is bought once: further rows, and explanations of black boxes under the same
    --name, are free.

    Examples:
        voile sample private.parquet --schema patients.yaml -n 1000 -o rows.csv

        voile sample private.parquet -o more.csv --ledger hospital.db --seed 2
    """
    from voile.explain.blackbox.synthetic.sampling import MOST_ROWS, NOTE
    from voile.privacy.budget import Budget
    from voile.privacy.files.table_files import TableFile
    from voile.privacy.files.table_proposal import propose_schema
    from voile.schema import Schema

    check_writable(output)
    if output.resolve() == data.resolve():
        raise SettingError("The rows would replace the private ones: name another file with -o.")
    if not 1 <= rows <= MOST_ROWS:
        raise SettingError(f"--rows must be from 1 to {MOST_ROWS:,}. Got {rows} instead.")
    if not 0 <= seed < 2**32:
        raise SettingError(f"--seed must be a whole number >= 0. Got {seed} instead.")
    table = TableFile(data, dialect.fitting(data))
    public = propose_schema(table, None) if schema is None else Schema.load(schema)
    public = settle_unit(public, table, None, unit, unit_rows, ask=is_watched() and not as_json)
    made: list[Any] = []
    with saving_first(lambda: bool(made)):
        explainer = buy_summary(
            _say_nothing,
            table,
            public,
            guessed=schema is None,
            price=Budget.of_job(epsilon, delta, public.rows),
            ledger=ledger,
            budget=budget,
            dataset=dataset,
            name=name,
        )
        made.append(explainer.sample(rows, random_state=seed))
        place, failure = save_paid("The rows", lambda path: _write(made[0], path), output)
    receipt = explainer.receipt_
    if as_json:
        print_json(
            {
                "rows": rows,
                "path": None if place is None else str(place),
                "note": NOTE,
                "receipt": receipt.to_dict(),
            }
        )
    elif place is not None:
        print(f"{rows:,} synthetic rows: {place.resolve()}")
        print(NOTE)
        print(receipt.guarantee)
    if failure is not None:
        raise failure


def _say_nothing(rows: Any) -> NDArray[np.float64]:
    """A black box with nothing to say: the summary does not depend on the model."""
    import numpy as np

    return np.zeros(len(rows))


def _write(table: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
