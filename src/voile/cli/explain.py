"""The explain verb: a saved model explains itself for free, a black box from private rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from voile.cli.account import current, open_ledger
from voile.cli.exit_codes import saving_first
from voile.cli.options import (
    AsJson,
    DataSetName,
    Delta,
    Epsilon,
    LedgerBudget,
    LedgerPlace,
    PageFile,
    SchemaFile,
)
from voile.cli.predict import read_public
from voile.cli.results import check_writable, print_json, save_paid
from voile.errors import ModelError, SettingError


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
    delta: Delta = 1e-6,
    schema: SchemaFile = None,
    ledger: LedgerPlace = None,
    budget: LedgerBudget = None,
    dataset: DataSetName = None,
    name: Annotated[
        str, typer.Option(help="Of the explainer in the ledger; the same name pays once.")
    ] = "explainer",
    output: PageFile = None,
    as_json: AsJson = False,
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
        check_writable(output)
    if blackbox is None:
        if data is not None:
            raise SettingError("--data is for a black box: name its file with --blackbox.")
        if first is None:
            raise SettingError("Name the file of a model, or a --blackbox.")
        _show(_of_model(first, second), output, as_json=as_json)
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


def _of_model(model: Path, rows: Path | None) -> Any:
    from voile.models.load import load

    estimator = load(model)
    if rows is None:
        return estimator.explain_global()
    return estimator.explain_local(read_public(estimator, rows))


def _of_blackbox(
    blackbox: Path,
    rows: Path,
    data: Path,
    *,
    run_code: bool,
    epsilon: float,
    delta: float,
    schema: Path | None,
    ledger: str | None,
    budget: float | None,
    dataset: str | None,
    name: str,
) -> Any:
    from voile.privacy.budget import Budget
    from voile.privacy.files.table_files import note_guesses, propose_schema, read_table
    from voile.schema import Schema

    if not run_code:
        raise SettingError(
            f"Loading {str(blackbox)!r} would run whatever code its author put into it, beside "
            "your private rows: if you made it yourself, say so with --run-code-of-the-blackbox."
        )
    public = propose_schema(data, None) if schema is None else Schema.load(schema)
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
    asked = read_table(rows, public)
    private = read_table(data, public)
    whole = Budget(epsilon, delta)
    book = open_ledger(ledger, whole, whole=budget, dataset=dataset, data=data)
    current().pay_from(book, ledger)
    from voile.explain.blackbox.explainer import PrivateExplainer

    behind = _as_pandas(private)
    explainer = PrivateExplainer(
        box,
        behind if schema is not None else note_guesses(behind, data),
        schema=public.with_target(None),
        epsilon=epsilon,
        delta=delta,
        ledger=book,
        name=name,
    )
    return explainer.explain(_as_pandas(asked))


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
