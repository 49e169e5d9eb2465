"""The train verb: from a table in a file to a private model, its receipt and its quality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voile.cli.account import current, open_ledger, tell_ledger
from voile.cli.file_options import reads_files
from voile.cli.interactions import AUTO, MostPairs, NamedPairs, find_pairs, read_pairs, tell_pairs
from voile.cli.options import (
    Aimed,
    AsJson,
    DataSetName,
    Delta,
    Epsilon,
    ExposureColumn,
    KeyFile,
    LedgerBudget,
    LedgerPlace,
    Model,
    ModelKind,
    Objectives,
    SchemaFile,
    Task,
    TaskOption,
    UnitColumn,
    UnitRows,
)
from voile.cli.people import is_watched
from voile.cli.public_facts import check_groups, read_positive, read_public_facts, tell_guesses
from voile.cli.results import Results, check_writable, print_json, quality_file
from voile.errors import BudgetExceeded, SettingError
from voile.privacy.files.dialect import Dialect

if TYPE_CHECKING:
    from voile.models.ebm.interactions import Interactions
    from voile.models.ebm.objectives import Aim
    from voile.models.evaluation import Evaluation
    from voile.privacy.budget import Budget
    from voile.privacy.files.table_files import TableFile
    from voile.privacy.ledger import Ledger
    from voile.schema import Level, Number, Schema

QUALITY_SHARE = 0.1
"""Part of the loss (of mu^2) that goes to the private estimate of quality."""


@reads_files
def train(
    file: Annotated[Path, typer.Argument(help="Private table: CSV, Excel, Parquet or Arrow.")],
    target: Annotated[str, typer.Option(help="Name of the column to predict.")],
    model: Model = ModelKind.EBM,
    epsilon: Epsilon = 1.0,
    delta: Delta = None,
    schema: SchemaFile = None,
    ledger: LedgerPlace = None,
    budget: LedgerBudget = None,
    dataset: DataSetName = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File of the model; by default NAME.voile."),
    ] = None,
    task: TaskOption = None,
    objective: Objectives = Aimed.SQUARED,
    quantile: Annotated[
        float, typer.Option(help="Which quantile, for --objective quantile.")
    ] = 0.5,
    exposure: ExposureColumn = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="Which of two classes the model and its quality speak of; by default the last in "
            "the schema, or yes of yes and no."
        ),
    ] = None,
    interactions: MostPairs = AUTO,
    pair: NamedPairs = None,
    evaluate: Annotated[
        bool,
        typer.Option(
            help="Hold rows out and estimate the quality privately, for a tenth of the loss."
        ),
    ] = True,
    holdout: Annotated[float, typer.Option(help="Part of the rows that is held out.")] = 0.2,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", help="Tell the quality by the levels of this category, too."),
    ] = None,
    unit: UnitColumn = None,
    unit_rows: UnitRows = None,
    key: KeyFile = None,
    as_json: AsJson = False,
    *,
    dialect: Dialect,
) -> None:
    """Train a private model; print its receipt and a private estimate of its quality.

    What the schema does not say is found privately, for a share of the budget. Without --ledger the
    budget stands for this command alone: nothing adds it to what was spent before.

    Examples:
        voile train patients.csv --target ill --epsilon 1

        voile train patients.xlsx --sheet 2024 --target ill

        voile train patients.parquet --target ill --schema patients.yaml --ledger hospital.db
        --budget 3 --group sex

        voile train patienten.csv --target krank --positive Ja

        voile train homes.csv --target price --task regression --no-evaluate

        voile train homes.csv --target price --task regression --pair latitude:longitude
        voile train contracts.csv --target claims --schema contracts.yaml --objective poisson
        --exposure years
    """
    from voile.privacy.budget import Budget
    from voile.privacy.files.table_files import TableFile
    from voile.privacy.origins import attach_notes
    from voile.privacy.signing import find_key

    signer = find_key(key)
    if not 0.0 < holdout < 1.0:
        raise SettingError(f"The --holdout must be in (0, 1). Got {holdout!r} instead.")
    asked = Budget.of_job(epsilon, delta, None)
    if not asked.epsilon > 0:
        raise SettingError(f"The --epsilon must be > 0 to learn anything. Got {epsilon!r} instead.")
    if not asked.delta > 0:
        raise SettingError(f"The --delta must be > 0. Got {delta!r} instead: 1e-6, for example.")
    place = output or Path(f"{file.name.split('.')[0]}.voile")
    table = TableFile(file, dialect)
    ask = is_watched() and not as_json
    aim = _aim(objective, quantile, exposure, model)
    if aim.objective != "squared" and task is None:
        task = Task.REGRESSION
    public = read_public_facts(table, target, schema, task, model, unit, unit_rows, ask=ask)
    wanted = read_pairs(interactions, pair, public, model)
    speaks_of = None if positive is None else read_positive(positive, public, table, target)
    if model is ModelKind.EBM:
        _check_settings(public, wanted, aim)
    whole = Budget.of_job(epsilon, delta, public.rows)
    check_groups(groups or [], public)
    check_writable(place)
    check_writable(quality_file(place))
    training, quality = _divide(whole, evaluate=evaluate)
    notes = tell_guesses(table, target, schema, public)
    for note in notes:
        typer.echo(note, err=True)  # before anything is spent
    rows = _read(table, public, target)
    attach_notes(rows, table.notes(kinds=schema is None))
    book = open_ledger(ledger, whole, whole=budget, dataset=dataset, data=file, key=key)
    current().pay_from(book, ledger)
    learned, held = _part(rows, public, whole, training, quality, book, holdout)
    estimator = build_estimator(
        model, public, training, book, positive=speaks_of, interactions=wanted, aim=aim
    )
    if not as_json:
        _announce(whole, public, by_rule=delta is None)
    work = Results(place, signer)
    work.train(estimator, learned, target)
    if quality is not None:
        work.evaluate(lambda: _evaluate(estimator, held, target, quality, book, groups or []))
    doubts = _tell_doubts(estimator, public, whole, work.quality, holdout)
    # Guesses were told a person before anything was spent: once is enough.
    notes = work.notes + (notes if as_json else []) + doubts
    lasting = ledger is not None
    work.end(lambda: _tell(estimator, work, book, notes, lasting=lasting, as_json=as_json))


def _aim(objective: Aimed, quantile: float, exposure: str | None, model: ModelKind) -> Aim:
    """What a regression is to tell, checked before the file is read."""
    from voile.models.ebm.objectives import SQUARED, Aim

    aim = Aim(objective.value, quantile, exposure)
    if quantile != SQUARED.quantile and objective is not Aimed.QUANTILE:
        raise SettingError("A --quantile needs --objective quantile: give it, too.")
    if aim != SQUARED and model is not ModelKind.EBM:
        raise SettingError("An --objective is for --model ebm alone: leave it out.")
    return aim


def _check_settings(public: Schema, wanted: Interactions, aim: Aim) -> None:
    """Refuse what no additive model can be, before a payment is announced."""
    from voile.models.ebm.settings import Settings, check

    told = {name: getattr(aim, name) for name in ("objective", "quantile", "exposure")}
    check(public, Settings(interactions=wanted, **told))


def _announce(whole: Budget, public: Schema, *, by_rule: bool) -> None:
    """Tell what is about to be paid, and for whom."""
    rule = " (by default" + (f", for {public.rows:,} rows)" if public.rows else ")")
    print(
        f"Paying for {whole}{rule if by_rule else ''}, for one {public.privacy_unit.described}.\n",
        flush=True,
    )


def _read(table: TableFile, public: Schema, target: str) -> Any:
    from voile.schema import Schema

    assert public.target is not None
    own = public.privacy_unit.column
    return table.read(Schema({**public, target: public.target}), [] if own is None else [own])


def _divide(whole: Budget, *, evaluate: bool) -> tuple[Budget, Budget | None]:
    """Budgets of the training and of the estimate of quality, if there is to be one."""
    from voile.privacy.calibrate import divide

    if not evaluate:
        return whole, None
    training, quality = divide(whole, 1.0 - QUALITY_SHARE, QUALITY_SHARE)
    return training, quality


def _part(
    rows: Any,
    public: Schema,
    whole: Budget,
    training: Budget,
    quality: Budget | None,
    book: Ledger,
    holdout: float,
) -> tuple[Any, Any]:
    """Rows to learn from, and rows to be held out, if the budget has room for both."""
    if quality is None:
        return rows, None
    from voile.privacy.holdout import hold_out

    _check_room(whole, training, quality, book, public)
    learned, held, _, _ = hold_out(rows, None, share=holdout, unit=public.privacy_unit.column)
    return learned, held


def _check_room(
    whole: Budget, training: Budget, quality: Budget, book: Ledger, public: Schema
) -> None:
    """Refuse a training whose estimate of quality the ledger would refuse: nothing is paid yet."""
    from voile.privacy.calibrate import gaussian_of
    from voile.privacy.events import Plan

    if training.unlimited:
        return
    both = Plan.of(training=gaussian_of(training), quality=gaussian_of(quality))
    try:
        what = "The training with the estimate of its quality"
        book.check_can_pay(both, what, unit=public.privacy_unit.name, asked=whole)
    except BudgetExceeded as error:
        raise BudgetExceeded(f"{error} Or leave the estimate out: --no-evaluate.") from None


def _evaluate(
    estimator: Any, held: Any, target: str, planned: Budget, book: Ledger, groups: list[str]
) -> Evaluation:
    from voile.privacy.calibrate import shrink_to

    price = shrink_to(planned, book.remaining())
    quality: Evaluation = estimator.score_private(
        held, target, epsilon=price.epsilon, delta=price.delta, ledger=book, groups=groups
    )
    return quality


def _tell_doubts(
    estimator: Any, public: Schema, whole: Budget, quality: Evaluation | None, holdout: float
) -> list[str]:
    """What a person may want to change, by released and public facts alone."""
    from voile.models.ebm.model import EBMModel
    from voile.schema import Date, Number

    notes = []
    rows = public.rows or (None if quality is None else quality.rows / holdout)
    people = None if rows is None else rows / public.privacy_unit.rows
    if people is not None and people >= 1 and whole.delta * people > 0.1:
        notes.append(
            f"The delta {whole.delta:g} is large for about {people:,.0f} people: with that "
            f"probability the guarantee may fail for any of them. Choose {0.01 / people:.0e} or "
            "less, or tell the rows in the schema."
        )
    if isinstance(estimator.model_, EBMModel):
        return notes  # its bins follow the values, whatever the bounds
    rough = [
        name
        for name, column in estimator.model_.schema.items()
        if isinstance(column, Number)
        and not isinstance(column, Date)
        and not public[name].known
        and _one_power(column)
    ]
    if rough:
        notes.append(
            f"The bounds of {', '.join(rough)} were found only to a power of two, far from zero: "
            "a model that measures distances sees little of them. Give bounds in the schema."
        )
    return notes


def _one_power(column: Number) -> bool:
    """Whether bounds that were found span one power of two alone, as those of years do."""
    lower, upper = column.lower or 0.0, column.upper or 0.0
    return (lower > 0 and upper <= 2 * lower) or (upper < 0 and lower >= 2 * upper)


def build_estimator(
    model: ModelKind,
    public: Schema,
    budget: Budget,
    book: Ledger,
    *,
    positive: Level | None = None,
    interactions: Interactions = AUTO,
    aim: Aim | None = None,
) -> Any:
    """The estimator of a kind, not fitted yet."""
    from voile.schema import Number

    settings: dict[str, Any] = {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "schema": public,
        "ledger": book,
        **({} if positive is None else {"positive": positive}),
    }
    if model is ModelKind.EBM:
        from voile.models.ebm.estimator import EBMClassifier, EBMRegressor

        regression = isinstance(public.target, Number)
        settings["interactions"] = interactions
        if not regression:
            return EBMClassifier(**settings)
        if aim is not None:
            settings |= {name: getattr(aim, name) for name in ("objective", "quantile", "exposure")}
        return EBMRegressor(**settings)
    if model is ModelKind.LOCALLY_LINEAR:
        from voile.models.locally_linear.estimator import LocallyLinearClassifier

        return LocallyLinearClassifier(**settings)
    from voile.models.lvq.estimator import GLVQClassifier, GMLVQClassifier, LVQ1Classifier

    kinds = {
        ModelKind.GLVQ: GLVQClassifier,
        ModelKind.GMLVQ: GMLVQClassifier,
        ModelKind.LVQ1: LVQ1Classifier,
    }
    return kinds[model](**settings)


def _tell(
    estimator: Any,
    work: Results,
    book: Ledger,
    notes: list[str],
    *,
    lasting: bool,
    as_json: bool,
) -> None:
    quality = work.quality
    if as_json:
        print_json(
            {
                "model": str(work.place),
                "kind": type(estimator).__name__,
                "receipt": estimator.receipt_.to_dict(),
                "quality": None if quality is None else quality.to_dict(),
                "pairs": find_pairs(estimator.model_),
                "ledger": work.attempt(lambda: tell_ledger(book)),
                "notes": notes,
            }
        )
        return
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    console.print(str(estimator.receipt_), markup=False)
    if quality is not None:
        console.print()
        console.print(str(quality), markup=False)
    console.print()
    if pairs := tell_pairs(estimator.model_):
        console.print(pairs, markup=False)
    spent = work.attempt(book.spent)
    console.print(
        f"Spent in all: epsilon {'(not known)' if spent is None else f'{spent.epsilon:.4g}'} of "
        f"{book.budget.epsilon:g} at delta {book.budget.delta:g}, for one "
        f"{estimator.model_.schema.privacy_unit.described}"
        + (f" (ledger of '{book.dataset}')" if lasting else " (this command alone)"),
        markup=False,
    )
    if not lasting:
        console.print(
            "No --ledger was given: nothing adds this to what was or will be spent on these people."
        )
    for note in notes:
        console.print(note, markup=False)
    console.print(f"Model: {work.place}", markup=False)
    console.print(f"Next:  voile report {work.place} -o report.html", markup=False)
