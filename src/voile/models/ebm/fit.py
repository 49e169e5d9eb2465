"""One fit of an additive model: bins, rounds, and the frozen record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import (
    ColumnBins,
    TargetFacts,
    find_bins,
    find_exposures,
    lay_out,
    release_target,
)
from voile.models.ebm.curves import nearest_monotone
from voile.models.ebm.cyclic import train_cyclic
from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.freeze_pairs import freeze_pair
from voile.models.ebm.model import EBMModel, Link, Term
from voile.models.ebm.objective_losses import ExposureFacts, with_events
from voile.models.ebm.objectives import LINK_OF, Aim, Exposure
from voile.models.ebm.queries import BinLayout
from voile.models.ebm.settings import (
    BINS_BELOW,
    ROUNDS_ACCESS,
    TARGET_ACCESS,
    Direction,
    Schedule,
    Settings,
    check,
    choose,
    choose_bins,
    plan_shape,
)
from voile.models.ebm.terms import ReleasedTerms
from voile.models.ebm.train import train
from voile.models.fit import FitJob, frozen
from voile.models.setting_checks import count_found_classes
from voile.privacy.events import Gaussian
from voile.privacy.grant import Grant
from voile.privacy.public_rows import encode_public
from voile.privacy.receipt import Receipt
from voile.privacy.vault import PrivateTable
from voile.progress import progress_bar
from voile.schema import Category, Column, Number, Schema

Floats = NDArray[np.float64]
Shape = Callable[[int, Floats, Floats], Floats]


def fit_model(job: FitJob, settings: Settings) -> EBMModel:
    """Pay for the whole plan, carry it out, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit the ledger; nothing was spent.
    """
    schema = job.table.schema
    check(schema, settings)
    schedule = choose(settings, schema)
    plan = job.plan(plan_shape(schema, schedule, job.budget.delta))
    opening = [step.label for step in plan].index(TARGET_ACCESS) + 1
    (layout, bins, trained), receipt = job.carry_out_in_parts(
        plan,
        opening,
        release_target,
        lambda table, grant, target: _release(table, grant, target, schedule),
    )
    return _freeze(layout, bins, trained, receipt)


def _release(
    table: PrivateTable, grant: Grant, target: TargetFacts, schedule: Schedule
) -> tuple[BinLayout, tuple[ColumnBins, ...], ReleasedTerms]:
    settings, rounds = schedule.settings, schedule.rounds
    aim = settings.aim
    link = _link(table.schema, aim)
    features, target = aim.features(table.schema), with_events(aim, target)
    if schedule.cyclic:
        most = settings.bins or BINS_BELOW
    else:
        most = settings.bins or _most_bins(
            table, grant, target, rounds, apart=len(table.schema) - len(features)
        )
    bins = find_bins(table, grant, features, most)
    exposures = find_exposures(table, grant, aim.exposure)
    layout = lay_out(table, link, bins, aim)
    with progress_bar("training", rounds) as progress:
        if schedule.cyclic:
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
            allowed = _monotone_shape(features, settings.monotone)
            trained = train(
                table,
                grant,
                layout,
                bins,
                target,
                rounds=rounds,
                shape=allowed,
                wanted=schedule.wanted,
                exposures=ExposureFacts.of(exposures),
                progress=progress,
            )
    return layout, bins, trained


def _most_bins(
    table: PrivateTable, grant: Grant, target: TargetFacts, rounds: int, *, apart: int = 0
) -> int:
    """By the noise that one column's sums have after all rounds; ``apart`` columns are no terms."""
    event = grant.plan[ROUNDS_ACCESS]
    noise = 0.0
    if isinstance(event, Gaussian):
        noise = event.noise_multiplier * math.sqrt((len(table.schema) - apart) / rounds)
        noise *= table.weight_per_unit
    scarce = float(target.counts.min()) if len(target.counts) else target.scarce
    return choose_bins(target.rows, scarce, noise)


def _link(schema: Schema, aim: Aim) -> Link:
    if isinstance(schema.target, Number):
        return LINK_OF[aim.objective]
    return "logit" if count_found_classes(schema) == 2 else "softmax"


def _monotone_shape(schema: Schema, monotone: Mapping[str, Direction]) -> Shape | None:
    """The projection of scores onto what was asked for; values without a place keep theirs."""
    if not monotone:
        return None
    order = list(schema)
    rising = {order.index(name): way == "increasing" for name, way in monotone.items()}
    apart = {order.index(name): 2 if name in schema.categories else 1 for name in monotone}

    def shape(k: int, scores: Floats, counts: Floats) -> Floats:
        if k not in rising:
            return scores
        end = len(scores) - apart[k]
        ordered = nearest_monotone(scores[:end], counts[:end], increasing=rising[k])
        return np.append(ordered, scores[end:])

    return shape


def _freeze(
    layout: BinLayout, bins: tuple[ColumnBins, ...], trained: ReleasedTerms, receipt: Receipt
) -> EBMModel:
    """Centre the terms, return to the target's units, and make the record."""
    schema, link, offsets = layout.features, layout.link, layout.offsets
    unit, middle = 1.0, 0.0
    if isinstance(schema.target, Number) and link == "identity":
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
        whole = None if trained.whole_errors is None else trained.whole_errors[part]
        if not column.missing:
            # Nobody taught it anything: what is missing all the same is read as something else.
            place = _read_missing(column, bins[k].cuts)
            scores = np.vstack([scores[:-1], scores[[place]]])
            errors = np.vstack([errors[:-1], errors[[place]]])
            whole = None if whole is None else np.vstack([whole[:-1], whole[[place]]])
        terms.append(
            Term(
                name,
                column,
                frozen(bins[k].cuts),
                frozen(scores * unit),
                frozen(errors * unit),
                frozen(counts),
                frozen(bins[k].count_errors),
                None if whole is None else frozen(whole * unit),
                None if trained.evidence is None else _scaled(trained.evidence[k], unit),
            )
        )
    return EBMModel(
        tuple(terms),
        frozen(intercept * unit + middle),
        frozen(trained.intercept_errors * unit),
        link,
        schema,
        receipt,
        whole_intercept_errors=None
        if trained.whole_intercept_errors is None
        else frozen(trained.whole_intercept_errors * unit),
        pairs=tuple(freeze_pair(one, layout, unit) for one in trained.pairs),
        objective=layout.aim.objective,
        quantile=layout.aim.quantile,
        exposure=Exposure.of(layout.aim, layout.schema),
    )


def _scaled(evidence: TermEvidence, unit: float) -> TermEvidence:
    """Evidence in the target's units."""
    return replace(
        evidence,
        estimates=frozen(evidence.estimates * unit),
        sampling_variances=frozen(evidence.sampling_variances * unit**2),
        noise_scales=frozen(evidence.noise_scales * unit),
        prior=evidence.prior * unit**2,
    )


def _read_missing(column: Column, cuts: Floats) -> int:
    """The bin of a missing value where the schema says that there is none."""
    middle = encode_public({"gap": [None]}, Schema({"gap": column}))["gap"][0]
    return int(middle if isinstance(column, Category) else np.searchsorted(cuts, middle, "right"))
