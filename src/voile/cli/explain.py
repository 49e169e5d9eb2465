"""The explain verb: a saved model explains itself for free, a black box from private rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voile.cli.account import current, open_ledger
from voile.cli.exit_codes import saving_first
from voile.cli.file_options import reads_files
from voile.cli.options import (
    AsJson,
    DataSetName,
    Delta,
    Epsilon,
    LedgerBudget,
    LedgerPlace,
    PageFile,
    SchemaFile,
    UnitColumn,
    UnitRows,
)
from voile.cli.people import is_watched, settle_unit
from voile.cli.predict import read_and_tell
from voile.cli.results import check_page, print_json, save_paid
from voile.errors import ModelError, SettingError
from voile.privacy.files.dialect import Dialect

if TYPE_CHECKING:
    from voile.privacy.budget import Budget
    from voile.privacy.files.table_files import TableFile
    from voile.schema import Schema


@reads_files
def explain(
    first: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="Model to explain; with --blackbox, the rows."),
    ] = None,
    second: Annotated[
        Path | None, typer.Argument(metavar="[ROWS]", help="Your own rows to explain.")
    ] = None,
    blackbox: Annotated[
        Path | None, typer.Option(help="Another model: a joblib or pickle file of scikit-learn's.")
    ] = None,
    run_code: Annotated[
        bool,
        typer.Option(
            "--run-code-of-the-blackbox",
            help="Loading a joblib or pickle file RUNS WHATEVER CODE ITS AUTHOR PUT INTO IT, with "
            "your rights and beside your private rows. Say so only of files you made.",
        ),
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Private rows behind the explanations of a black box.")
    ] = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = None,
    schema: SchemaFile = None,
    ledger: LedgerPlace = None,
    budget: LedgerBudget = None,
    dataset: DataSetName = None,
    name: Annotated[
        str, typer.Option(help="Of the explainer in the ledger; the same name pays once.")
    ] = "explainer",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse rows with values that are not taken as they stand."),
    ] = False,
    unit: UnitColumn = None,
    unit_rows: UnitRows = None,
    output: PageFile = None,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Explain a model as a whole, its answers for your rows, or a black box.

    A model of Voile explains itself from released values: free of cost. A black box is explained
    from a private table, of which one summary is bought (--epsilon); with a --ledger file, later
    questions under the same --name are free.

    Examples:
        voile explain patients.voile

        voile explain patients.voile new.csv -o why.html

        voile explain --blackbox forest.joblib --run-code-of-the-blackbox --data private.parquet
        new.csv --schema patients.yaml --ledger hospital.db
    """
    if output is not None:
        check_page(output)
    if blackbox is None:
        if data is not None:
            raise SettingError("--data is for a black box: name its file with --blackbox.")
        if first is None:
            raise SettingError("Name the file of a model, or a --blackbox.")
        _show(_of_model(first, second, dialect, strict=strict), output, as_json=as_json)
    else:
        if second is not None:
            raise SettingError("With --blackbox give one file of rows: the model is the black box.")
        if first is None or data is None:
            raise SettingError(
                "With --blackbox give the private rows with --data FILE, and a file of the rows "
                "to explain."
            )
        answers: list[Any] = []
        with saving_first(lambda: bool(answers)):
            answers.append(
                _of_blackbox(
                    blackbox,
                    first,
                    data,
                    run_code=run_code,
                    epsilon=epsilon,
                    delta=delta,
                    schema=schema,
                    ledger=ledger,
                    budget=budget,
                    dataset=dataset,
                    name=name,
                    dialect=dialect,
                    unit=unit,
                    unit_rows=unit_rows,
                    ask=is_watched() and not as_json,
                )
            )
            _show(answers[0], output, as_json=as_json)


def _show(explanation: Any, output: Path | None, *, as_json: bool) -> None:
    """Write the page, if one is wanted, and print; a page that is paid for is saved somewhere."""
    failure = None
    if output is not None:
        output, failure = save_paid("The page", explanation.to_html, output)
    if as_json:
        print_json(explanation.to_dict())
    else:
        explanation.show()
        if output is not None:
            print(f"Page: {output.resolve()}")
    if failure is not None:
        raise failure


def _of_model(model: Path, rows: Path | None, dialect: Dialect, *, strict: bool) -> Any:
    from voile.models.load import load

    estimator = load(model)
    if rows is None:
        return estimator.explain_global()
    return estimator.explain_local(read_and_tell(estimator, rows, dialect, strict=strict))


def _of_blackbox(
    blackbox: Path,
    rows: Path,
    data: Path,
    *,
    run_code: bool,
    epsilon: float,
    delta: float | None,
    schema: Path | None,
    ledger: str | None,
    budget: float | None,
    dataset: str | None,
    name: str,
    dialect: Dialect,
    unit: str | None,
    unit_rows: int | None,
    ask: bool,
) -> Any:
    from voile.privacy.budget import Budget
    from voile.privacy.files.own_rows import read_asked
    from voile.privacy.files.table_files import TableFile
    from voile.privacy.files.table_proposal import propose_schema
    from voile.schema import Schema

    if not run_code:
        raise SettingError(
            f"Loading {str(blackbox)!r} would run whatever code its author put into it, beside "
            "your private rows: if you made it yourself, say so with --run-code-of-the-blackbox."
        )
    table = TableFile(data, dialect.fitting(data))
    public = propose_schema(table, None) if schema is None else Schema.load(schema)
    public = settle_unit(public, table, None, unit, unit_rows, ask=ask)
    box = _load(blackbox)
    known = getattr(box, "feature_names_in_", None)
    if known is not None:
        lacking = [str(one) for one in known if one not in public]
        if lacking:
            raise SettingError(
                f"The black box reads column {lacking[0]!r}, of which the schema says nothing: "
                "add it to the schema."
            )
        public = public.select([str(one) for one in known])
    # The asker's rows first: what is wrong with them must not cost anything.
    asked = read_asked(rows, public, dialect=dialect.fitting(rows))
    explainer = buy_summary(
        box,
        table,
        public,
        guessed=schema is None,
        price=Budget.of_job(epsilon, delta, public.rows),
        ledger=ledger,
        budget=budget,
        dataset=dataset,
        name=name,
    )
    return explainer.explain(_as_pandas(asked))


def buy_summary(
    box: Any,
    table: TableFile,
    public: Schema,
    *,
    guessed: bool,
    price: Budget,
    ledger: str | None,
    budget: float | None,
    dataset: str | None,
    name: str,
) -> Any:
    """An explainer of a model, from a summary of private rows that is bought, or was.

    Parameters
    ----------
    box : object
        A model, or a function of rows.
    table : TableFile
        Private rows.
    public : Schema
    guessed : bool
        Whether kinds of columns were guessed from the file.
    price : Budget
    ledger, budget, dataset, name
        As the command takes them.
    """
    from voile.privacy.origins import attach_notes

    own = public.privacy_unit.column
    private = table.read(public, [] if own is None else [own])
    book = open_ledger(ledger, price, whole=budget, dataset=dataset, data=table.path)
    current().pay_from(book, ledger)
    from voile.explain.blackbox.explainer import PrivateExplainer

    behind = _as_pandas(private)
    attach_notes(behind, table.notes(kinds=guessed))
    return PrivateExplainer(
        box,
        behind,
        schema=public.with_target(None),
        epsilon=price.epsilon,
        delta=price.delta,
        ledger=book,
        name=name,
    )


def _load(path: Path) -> Any:
    import joblib

    if not path.exists():
        raise ModelError(f"There is no file {str(path)!r}: check the path.")
    try:
        return joblib.load(path)
    except Exception as error:
        raise ModelError(
            f"The black box {str(path)!r} cannot be loaded ({type(error).__name__}): is it a "
            "joblib file, and are the packages it needs installed?"
        ) from None


def _as_pandas(table: Any) -> Any:
    """What scikit-learn's models take; their columns have names that way."""
    try:
        return table.to_pandas()
    except ImportError:
        from voile.errors import MissingExtra

        raise MissingExtra("pandas", "demo") from None
