"""The forecast: what a training at each epsilon would give, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from voile.errors import SettingError
from voile.models.ebm.interactions import Interactions
from voile.models.ebm.objectives import LINK_OF, SQUARED, Aim, Objective
from voile.models.ebm.settings import Settings, check
from voile.models.locally_linear.settings import CLASSES
from voile.models.setting_checks import DISCOVERY, is_count, is_number
from voile.planning.attacker import describe_attacker
from voile.planning.ebm import forecast_additive
from voile.planning.facts import ForecastFacts, ModelName, check_epsilons, check_model, gather_facts
from voile.planning.family_choice import suggest_family
from voile.planning.locally_linear import forecast_maps
from voile.planning.lvq import forecast_prototypes
from voile.planning.record import Forecast, Lacks, MissingFact, Outlook, sum_up
from voile.planning.verdict import Rule, make_rule
from voile.privacy.budget import Budget, delta_for
from voile.privacy.discovery import target_part
from voile.schema import Category, Column, Date, Number, Schema

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


def forecast(
    schema: Schema,
    *,
    rows: int | None = None,
    epsilons: Sequence[float] = EPSILONS,
    delta: float | None = None,
    model: ModelName = "ebm",
    target_rate: float | None = None,
    target_spread: float | None = None,
    bins: int | None = None,
    interactions: Interactions = "auto",
    objective: Objective = "squared",
    exposure: str | None = None,
    worth_seeing: float | None = None,
) -> Forecast:
    """Say what a training would give at each epsilon, from public facts alone.

    It takes no data, so it can neither read nor spend anything. The noise of a training depends on
    counts, bins and the budget, not on what the rows say; what has to be assumed about them is
    listed in the answer.

    Parameters
    ----------
    schema : Schema
        With the target.
    rows : int, optional
        The public row count, if the schema does not say it; the order of magnitude is enough.
    epsilons : sequence of float
        Finite, > 0.
    delta : float
        By default that of a training with this schema: 1e-6, and at most 0.01 / rows where the
        schema tells the number of rows.
    model : {"ebm", "glvq", "gmlvq", "lvq1", "locally_linear"}
    target_rate : float, optional
        Public share of the scarcest class; equal shares if not given.
    target_spread : float, optional
        Public standard deviation of a target that is a number, in its own units.
    bins : int, optional
        Most intervals of a number ("ebm"); by default the rule of the fit.
    interactions : "auto", int, or list of pairs of column names
        Which pairs of columns are to be terms ("ebm"), as the estimator takes them.
    objective : {"squared", "poisson", "gamma", "quantile"}
        What is to be told of a number ("ebm"). The noise is that of squared loss all the same, and
        the answer says so.
    exposure : str, optional
        Of counts and amounts, the column that is no term.
    worth_seeing : float, optional
        Size of an effect that is worth seeing, in the forecast's units: by default 0.1 log-odds, a
        tenth of the target's spread, or 5 % of a column's range (prototypes).

    Returns
    -------
    Forecast
        Prints itself; ``show()`` for a table, ``to_html(path)`` for a page.

    Raises
    ------
    SchemaError, SettingError
        If a fact is missing that cannot be assumed, or a setting is out of its range.

    Examples
    --------
    >>> from voile import Category, Number, Schema
    >>> schema = Schema({"age": Number(0, 100), "ward": Category(["A", "B"])},
    ...                 target=Category(["well", "ill"]))
    >>> found = forecast(schema, rows=5000, epsilons=[0.1, 1])
    >>> [one.verdict for one in found.outlooks]
    ['broad shapes only', 'curves clear']
    """
    wanted = Settings(interactions=interactions, objective=objective, exposure=exposure)
    aim = _check_aim(schema, model, wanted)
    if aim.exposure is not None:
        schema = aim.features(schema)
    facts = gather_facts(schema, rows=rows, target_rate=target_rate, target_spread=target_spread)
    name = check_model(model, schema)
    budgets = check_epsilons(epsilons, delta_for(facts.schema.rows) if delta is None else delta)
    if bins is not None and not (name == "ebm" and is_count(bins, 2, 1024)):
        raise SettingError(
            f"The 'bins' are for model='ebm', a whole number from 2 to 1024. Got {bins!r} with "
            f"model={name!r} instead."
        )
    settings = Settings(bins=bins, interactions=wanted.interactions)
    if name != "ebm" and settings.interactions is not None:
        raise SettingError(
            f"The 'interactions' are for model='ebm'. Got {interactions!r} with model={name!r} "
            "instead: leave them out."
        )
    if worth_seeing is not None and not (is_number(worth_seeing) and 0 < worth_seeing < math.inf):
        raise SettingError(
            f"The 'worth_seeing' must be a finite number > 0. Got {worth_seeing!r} instead."
        )
    rule = make_rule(facts, name, None if worth_seeing is None else float(worth_seeing))
    outlooks = tuple(_look_ahead(facts, budget, name, settings, rule) for budget in budgets)
    unit = str(schema.privacy_unit)
    return Forecast(
        name,
        facts.rows,
        budgets[0].delta,
        unit,
        rule,
        outlooks,
        _missing(schema, name),
        facts.assumed,
        (*_aim_notes(aim), *_notes(facts, name, budgets[0].delta)),
    )


def _check_aim(schema: object, model: object, settings: Settings) -> Aim:
    """What is to be told of a number, refused where no training could tell it."""
    aim = settings.aim
    if aim == SQUARED or not isinstance(schema, Schema):
        return SQUARED
    if model != "ebm":
        raise SettingError(f"An 'objective' is for model='ebm'. Got model={model!r}: leave it out.")
    if isinstance(schema.target, Category):
        raise SettingError(
            f"objective={aim.objective!r} is for a target that is a number, and that of the schema "
            "is a category: leave it out, or correct the schema."
        )
    if schema.target is not None:
        check(schema, settings)
    return aim


def _aim_notes(aim: Aim) -> tuple[str, ...]:
    if aim == SQUARED:
        return ()
    differs = "curves multiply the prediction, and their" if LINK_OF[aim.objective] == "log" else ""
    return (
        "This forecast is that of squared loss, in units of the target. With objective="
        f"{aim.objective!r} {differs or 'the'} noise is another, which is not forecast: noise, "
        "verdicts and pairs are a rough guide. What an attacker gets holds.",
    )


def _look_ahead(
    facts: ForecastFacts, budget: Budget, model: ModelName, settings: Settings, rule: Rule
) -> Outlook:
    attacker = describe_attacker(budget.epsilon, budget.delta)
    family, pairs = suggest_family(facts, budget.epsilon), None
    if model == "ebm":
        found = forecast_additive(facts, budget, settings, rule)
        columns, pairs = found.columns, found.pairs
    elif model == "locally_linear":
        columns = forecast_maps(facts, budget)
    else:
        columns = forecast_prototypes(facts, budget, model)
    return sum_up(columns, rule, attacker, budget.epsilon, pairs, family)


def _missing(schema: Schema, model: ModelName) -> tuple[MissingFact, ...]:
    """What has to be found privately; columns have equal shares, the target its own."""
    lacking: list[tuple[str, Lacks]] = [
        (name, _lack(column)) for name, column in schema.items() if not column.known
    ]
    whole = CLASSES if model == "locally_linear" and not lacking else DISCOVERY
    own = whole * target_part(schema)
    each = (whole - own) / max(len(lacking), 1)
    facts = [MissingFact(name, lacks, each) for name, lacks in lacking]
    if own:
        facts.append(
            MissingFact(None, "bounds" if isinstance(schema.target, Number) else "classes", own)
        )
    return tuple(facts)


def _lack(column: Column) -> Lacks:
    if isinstance(column, Date):
        return "dates"
    return "bounds" if isinstance(column, Number) else "levels"


def _notes(facts: ForecastFacts, model: ModelName, delta: float) -> tuple[str, ...]:
    notes = []
    if delta * facts.rows > 0.1:
        notes.append(
            f"delta {delta:g} should be well below one over the number of rows "
            f"({1 / facts.rows:.2g}): it would allow a job that publishes one random row."
        )
    if facts.rows_per_unit > 1:
        notes.append(
            f"One {facts.schema.unit} is protected: noise is {facts.rows_per_unit} times that for "
            "single rows."
        )
    if model == "ebm":
        notes.append(
            "Assumed: every column matters as much as the prior of the training says. One that "
            "matters less is smoothed more and has less noise."
        )
        if facts.classification:
            notes.append(
                "Accuracy of this forecast: half to twice the noise shown in many tables, up to "
                "four times where levels or classes are very unevenly frequent."
            )
        else:
            notes.append(
                "Assumed: the model explains two thirds of the target's variance. Accuracy of this "
                "forecast: 0.4 to 1 times the noise shown in many tables."
            )
    elif model == "locally_linear":
        notes.append(
            "The noise of maps is an upper estimate that hardly depends on epsilon; what grows "
            "with epsilon is the part of an effect that is learned."
        )
        notes.append(
            "Rows are sampled, so the attacker's figures follow from (epsilon, delta) alone."
        )
    elif model == "gmlvq":
        notes.append("A learned metric cannot be forecast: the noise is that without one.")
    return tuple(notes)
