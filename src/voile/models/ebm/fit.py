"""One fit from budget to frozen model: plan, ledger, bins, rounds, receipt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.errors import SchemaError, SettingError
from voile.models.ebm.binning import (
    CATEGORIES_LOOK,
    NUMBERS_LOOK,
    TARGET_LOOK,
    ColumnBins,
    TargetFacts,
    find_bins,
    lay_out,
    look_at_target,
)
from voile.models.ebm.curves import nearest_monotone
from voile.models.ebm.cyclic import EPOCHS, STEPS_LOOK, train_cyclic
from voile.models.ebm.model import AdditiveModel, Link, Term
from voile.models.ebm.train import PAIRS_LOOK, ROUNDS_LOOK, SIZE_ROUNDS, SIZES_LOOK, Trained, train
from voile.models.progress import progress_bar
from voile.models.setting_checks import count_found_classes
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_share
from voile.privacy.discovery import complete, discovery_shape
from voile.privacy.events import Gaussian, Plan, Step
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
from voile.privacy.public_rows import encode_public
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Column, Number, Schema

Floats = NDArray[np.float64]
Shape = Callable[[int, Floats, Floats], Floats]

_DISCOVERY = 0.15
_TARGET, _BINS, _SIZES = 0.01, 0.1, 0.02
_PAIRS_EACH, _PAIRS_LEAST, _PAIRS_MOST = 0.0065, 0.05, 0.12
"""Shares of mu^2; that of the pair tables grows with the columns, as their noise does. The rounds
have the rest."""

_NUMBER_WEIGHT = 3.0
"""A tree of counts has three levels: this gives its nodes the noise of a level of a category."""

_ROUNDS, _REGRESSION_ROUNDS = 20, 26
_FEWEST_BINS, _BINS_BELOW, _MOST_BINS = 6, 32, 64
_ROWS_PER_BIN = 400


@dataclass(frozen=True)
class Settings:
    """How to train; None means chosen by a rule from public and released facts."""

    method: Literal["rounds", "cyclic"] = "rounds"
    rounds: int | None = None
    bins: int | None = None
    monotone: Mapping[str, str] = field(default_factory=dict)
    random_state: int | None = None

    def __post_init__(self) -> None:
        if self.method not in ("rounds", "cyclic"):
            raise SettingError(
                f"The 'method' must be 'rounds' or 'cyclic'. Got {self.method!r} instead."
            )
        for name, low, high in (("rounds", 1, 100_000), ("bins", 2, 1024)):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if value is not None and not (whole and low <= value <= high):
                raise SettingError(
                    f"The '{name}' must be 'auto' or a whole number from {low} to {high}. Got "
                    f"{value!r} instead."
                )
        for name, direction in self.monotone.items():
            if direction not in ("increasing", "decreasing"):
                raise SettingError(
                    f"The direction of monotone column {name!r} must be 'increasing' or "
                    f"'decreasing'. Got {direction!r} instead."
                )


def fit_model(
    table: PrivateTable, budget: Budget, ledger: Ledger, settings: Settings, what: str
) -> AdditiveModel:
    """Pay for the whole plan, carry it out, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit the ledger; nothing was spent.
    """
    _check(table.schema, settings)
    cyclic = settings.method == "cyclic"
    usual = _REGRESSION_ROUNDS if isinstance(table.schema.target, Number) else _ROUNDS
    rounds = settings.rounds or (EPOCHS if cyclic else usual)
    shape = (cyclic_shape if cyclic else plan_shape)(table.schema, budget.delta, rounds)
    plan = calibrate(budget, shape, ledger.relation)
    grant = ledger.pay(plan, table, what)
    table = complete(table, grant)
    link = _link(table.schema)
    target = look_at_target(table, grant)
    most = settings.bins or (_BINS_BELOW if cyclic else choose_bins(table, grant, target, rounds))
    bins = find_bins(table, grant, most)
    layout = lay_out(table, link, bins)
    with progress_bar("training", rounds) as progress:
        if cyclic:
            # Public choices alone: the splits look at no data.
            splits = np.random.default_rng(settings.random_state)
            trained = train_cyclic(
                table,
                grant,
                layout,
                bins,
                target,
                epochs=rounds,
                splits=splits,
                progress=progress,
            )
        else:
            allowed = _monotone_shape(table.schema, settings.monotone)
            trained = train(
                table, grant, layout, bins, target, rounds=rounds, shape=allowed, progress=progress
            )
    receipt = write_receipt(grant, budget)
    return _freeze(table.schema, link, bins, trained, layout.offsets, receipt)


def plan_shape(schema: Schema, delta: float, rounds: int) -> Plan:
    """Every look of a fit with its share of mu^2."""
    numbers, categories = len(schema.numbers), len(schema.categories)
    steps: list[Step] = list(discovery_shape(schema, _DISCOVERY, delta))
    left = 1.0 - (_DISCOVERY if steps else 0.0)
    steps.append(gaussian_share(TARGET_LOOK, left * _TARGET))
    total = _NUMBER_WEIGHT * numbers + categories
    if numbers:
        share = left * _BINS * _NUMBER_WEIGHT * numbers / total
        steps.append(gaussian_share(NUMBERS_LOOK, share, count=numbers))
    if categories:
        share = left * _BINS * categories / total
        steps.append(gaussian_share(CATEGORIES_LOOK, share, count=categories))
    rest = 1.0 - _TARGET - _BINS
    if isinstance(schema.target, Number) and rounds > 1:
        looks = sum(number < rounds for number in SIZE_ROUNDS)
        steps.append(gaussian_share(SIZES_LOOK, left * _SIZES, count=looks))
        rest -= _SIZES
        if len(schema) > 1:
            pairs = min(max(_PAIRS_EACH * len(schema), _PAIRS_LEAST), _PAIRS_MOST)
            steps.append(gaussian_share(PAIRS_LOOK, left * pairs))
            rest -= pairs
    steps.append(gaussian_share(ROUNDS_LOOK, left * rest, count=rounds))
    return Plan(tuple(steps))


def cyclic_shape(schema: Schema, delta: float, epochs: int) -> Plan:
    """The same for the published algorithm: one look per epoch and column."""
    steps = [s for s in plan_shape(schema, delta, 1) if s.label != ROUNDS_LOOK]
    left = 1.0 - (_DISCOVERY if not schema.known else 0.0)
    share = left * (1.0 - _TARGET - _BINS)
    return Plan((*steps, gaussian_share(STEPS_LOOK, share, count=epochs * len(schema))))


def choose_bins(table: PrivateTable, grant: Grant, target: TargetFacts, rounds: int) -> int:
    """Most intervals of a number: as many as the rows fill and the noise can tell apart.

    The scarcer class (or, for regression, all rows) is compared with the noise that one column's
    sums have after all rounds; a bin whose share of it is below that noise says nothing.
    """
    most = int(np.clip(target.rows / _ROWS_PER_BIN, _BINS_BELOW, _MOST_BINS))
    event = grant.plan[ROUNDS_LOOK]
    if not isinstance(event, Gaussian):
        return most
    scarce = float(target.counts.min()) if len(target.counts) else target.rows
    noise = event.noise_multiplier * math.sqrt(len(table.schema) / rounds) * table.weight_per_unit
    return int(np.clip(scarce / noise, _FEWEST_BINS, most))


def _check(schema: Schema, settings: Settings) -> None:
    """Refuse what no fit can do before anything is spent."""
    if not len(schema):
        raise SchemaError("The schema has no columns to learn from: give at least one.")
    target = schema.target
    if isinstance(target, Category) and target.levels is not None and len(target.levels) < 2:
        raise SchemaError(
            f"The target has {len(target.levels)} class: give at least two, in schema.target."
        )
    if settings.method == "cyclic":
        if settings.monotone:
            raise SettingError("The 'monotone' columns need method='rounds'.")
        if isinstance(target, Category) and len(target.levels or (0, 1)) > 2:
            raise SettingError(
                "method='cyclic' is for two classes or regression, as published: use 'rounds'."
            )
    for name in settings.monotone:
        if name not in schema.numbers:
            raise SchemaError(
                f"The monotone column {name!r} is not a number of the schema: name one of "
                f"{', '.join(map(repr, schema.numbers)) or '(there are none)'}."
            )


def _link(schema: Schema) -> Link:
    target = schema.target
    if isinstance(target, Number):
        return "identity"
    return "logit" if count_found_classes(schema) == 2 else "softmax"


def _monotone_shape(schema: Schema, monotone: Mapping[str, str]) -> Shape | None:
    """The projection of scores onto what was asked for; missing values keep theirs."""
    if not monotone:
        return None
    order = list(schema)
    rising = {order.index(name): way == "increasing" for name, way in monotone.items()}

    def shape(k: int, scores: Floats, counts: Floats) -> Floats:
        if k not in rising:
            return scores
        ordered = nearest_monotone(scores[:-1], counts[:-1], increasing=rising[k])
        return np.append(ordered, scores[-1])

    return shape


def _freeze(
    schema: Schema,
    link: Link,
    bins: tuple[ColumnBins, ...],
    trained: Trained,
    offsets: NDArray[np.int64],
    receipt: Receipt,
) -> AdditiveModel:
    """Centre the terms, return to the target's units, and make the record."""
    unit, middle = 1.0, 0.0
    if isinstance(schema.target, Number):
        assert schema.target.lower is not None
        assert schema.target.upper is not None
        unit = schema.target.upper / 2 - schema.target.lower / 2
        middle = schema.target.upper / 2 + schema.target.lower / 2
    intercept = trained.intercept.copy()
    terms = []
    for k, (name, column) in enumerate(schema.items()):
        part = slice(int(offsets[k]), int(offsets[k + 1]))
        scores = trained.scores[part]
        if link == "softmax":
            scores = scores - scores.mean(axis=1, keepdims=True)
        counts = np.maximum(bins[k].counts, 0.0)
        if counts.sum() > 0:
            mean = counts @ scores / counts.sum()
            scores, intercept = scores - mean, intercept + mean
        errors = trained.standard_errors[part]
        if not column.missing:
            # Nobody taught it anything: what is missing all the same is read as something else.
            place = _read_missing(column, bins[k].cuts)
            scores = np.vstack([scores[:-1], scores[[place]]])
            errors = np.vstack([errors[:-1], errors[[place]]])
        terms.append(
            Term(
                name,
                column,
                _frozen(bins[k].cuts),
                _frozen(scores * unit),
                _frozen(errors * unit),
                _frozen(counts),
                _frozen(bins[k].count_errors),
            )
        )
    return AdditiveModel(
        tuple(terms),
        _frozen(intercept * unit + middle),
        _frozen(trained.intercept_errors * unit),
        link,
        schema,
        receipt,
    )


def _read_missing(column: Column, cuts: Floats) -> int:
    """The bin of a missing value where the schema says that there is none."""
    middle = encode_public({"gap": [None]}, Schema({"gap": column}))["gap"][0]
    return int(middle if isinstance(column, Category) else np.searchsorted(cuts, middle, "right"))


def _frozen(values: Floats) -> Floats:
    result = np.array(values, dtype=np.float64)
    result.setflags(write=False)
    return result
