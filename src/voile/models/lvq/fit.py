"""One fit from budget to frozen model: what is paid when, and which mechanism does what."""

from __future__ import annotations

import math

import numpy as np

from voile.errors import SchemaError, SettingError
from voile.models.features import Features
from voile.models.fit import FitJob, frozen, looking_at_rows
from voile.models.lvq import aggregation, plain, sgd
from voile.models.lvq.files import frozen_labels
from voile.models.lvq.model import LVQModel
from voile.models.lvq.queries import Moments
from voile.models.lvq.settings import (
    CENTRE_ACCESS,
    REST,
    Schedule,
    Settings,
    Start,
    check,
    choose,
    first_steps,
    labels_of,
    left_after_first,
    plan_shape,
)
from voile.models.lvq.space import Space
from voile.models.lvq.train import Trained, release_classes, train
from voile.models.setting_checks import count_found_classes, too_little_found
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Event, Gaussian, Plan, Step, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.vault import PrivateTable
from voile.progress import progress_bar
from voile.schema import Schema


def fit_model(job: FitJob, settings: Settings) -> LVQModel:
    """Pay, carry out, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit the ledger; nothing was spent.
    """
    table = job.table
    check(table.schema, settings)
    if settings.mechanism != "gaussian" and table.rows_per_unit > 1 and not job.budget.unlimited:
        raise SettingError(
            "Rows are sampled or dealt one by one, which proves nothing for units of several rows: "
            "use Unit(..., rows=1), or mechanism='gaussian'."
        )
    if table.summed_only and settings.mechanism not in ("gaussian", "sgd"):
        raise SettingError(
            f"mechanism={settings.mechanism!r} learns on groups of rows, which would have to be "
            "gathered: a federation needs mechanism='gaussian' or 'sgd'."
        )
    return (_adaptive if settings.mechanism == "gaussian" else _fixed)(job, settings)


def _adaptive(job: FitJob, settings: Settings) -> LVQModel:
    """The default: the second part of the plan is made when centre and row count are known.

    All accesses are Gaussian, whose adaptive composition is exact (docs/proofs/filter.md).
    """
    table, ledger = job.table, job.ledger
    bound = job.plan(plan_shape(table.schema, job.budget.delta))
    reserved = ledger.reserve(bound, job.what, unit=table.unit, asked=job.budget)
    with looking_at_rows(), reserved as admission:
        opening = admission.pay(Plan(bound.steps[:-1]), table)
        with job.giving_back(admission, opening):
            table = job.complete(table, opening)
            start = look_around(table, opening, _strength(table, bound, ledger.relation))
        schedule = choose(start, settings)
        polished = job.budget.unlimited and settings.kind != "lvq1" and schedule.steps > 0
        steps = [_accesses(label, schedule, bound[REST]) for label in schedule.counts]
        steps += plain.polish_shape() if polished else ()
        # The means, which have the classes' counts, are paid by themselves where the rest can stay.
        parts = [steps[:1], steps[1:]] if job.stops_early and len(steps) > 1 else [steps]
        grants = [admission.pay(Plan(tuple(parts[0])), table)]
        with job.giving_back(admission, opening, *grants):
            seen = release_classes(table, grants[0], start, schedule)
        if len(parts) > 1:
            grants.append(admission.pay(Plan(tuple(parts[1])), table))
        with progress_bar("training", schedule.steps) as progress:
            trained = train(table, grants[-1], start, schedule, seen, progress)
        if polished:
            trained = plain.polish(table, grants[-1], trained)
    receipt = write_receipt(opening, job.budget, *grants)
    return freeze(table.schema, settings, start, trained, receipt)


def _accesses(label: str, schedule: Schedule, rest: Event) -> Step:
    """A step of the second part, with its share of what was left for it."""
    count = schedule.counts[label]
    if not isinstance(rest, Gaussian):
        return Step(label, Unprotected(count))
    # A little more noise than the share says, so that rounding never exceeds the whole.
    scale = rest.noise_multiplier * (1.0 + 1e-10)
    return Step(label, Gaussian(count, scale * math.sqrt(count / schedule.shares[label])))


def _fixed(job: FitJob, settings: Settings) -> LVQModel:
    """The published ways, whose accounting needs the whole plan in advance."""
    schema, by_steps = job.table.schema, settings.mechanism == "sgd"
    left = left_after_first(schema)
    later = sgd.shape(settings, left) if by_steps else aggregation.shape(settings, left, job.budget)
    plan = job.plan(Plan((*first_steps(schema, job.budget.delta), *later)))
    groups = 0
    if not by_steps:
        if not schema.known:
            raise SchemaError(
                f"mechanism={settings.mechanism!r} needs a complete schema, because what it costs "
                "depends on the number of features: give bounds, levels and classes."
            )
        size = len(Features(schema)) * len(labels_of(settings, schema, 1))
        groups = aggregation.check_groups(settings, plan, size)

    def release(table: PrivateTable, grant: Grant) -> tuple[Start, Trained]:
        start = look_around(table, grant, _strength(table, plan, job.ledger.relation))
        with progress_bar("training", sgd.step_count(settings) if by_steps else 1) as progress:
            if by_steps:
                return start, sgd.train(table, grant, start, settings, progress)
            return start, aggregation.train(table, grant, start, settings, groups)

    (start, trained), receipt = job.carry_out(plan, release)
    return freeze(start.space.schema, settings, start, trained, receipt)


def look_around(table: PrivateTable, grant: Grant, strength: float) -> Start:
    """Release centre, radius and number of rows, and make the space of them."""
    classes = count_found_classes(table.schema)
    query = Moments(table.schema)
    d = query.size - 2
    if d == 0:
        raise too_little_found("no level of any column", "the levels")
    release = gaussian_sum(table, query, grant.take(CENTRE_ACCESS))
    error = release.standard_error
    rows = max(float(release.values[-1]), 10.0)
    centre = release.values[:d] * math.sqrt(d) / rows
    # Drawn to the middle of the ranges as far as its noise says.
    doubt = d * (error * math.sqrt(d) / rows) ** 2 / max(float(centre @ centre), 1e-12)
    centre = np.clip(centre * max(0.0, 1.0 - doubt), -1.0, 1.0)
    square = float(np.clip(release.values[d] * d / rows, 1e-6 * d, d))
    # No smaller than its own noise: a radius of nearly nothing would cut every row.
    doubt = min(error * d / rows, float(d))
    radius = math.sqrt(max(square - float(centre @ centre), 1e-3 * square, doubt))
    assert classes >= 2
    centre_error = error * math.sqrt(d) / rows
    radius_error = error * d / rows / (2.0 * radius**2)
    space = Space(table.schema, centre, radius)
    return Start(rows, space, strength, centre_error, radius_error, error)


def _strength(table: PrivateTable, plan: Plan, relation: NeighbouringRelation) -> float:
    """1 / noise on a sum of vectors of norm 1, if the whole budget went into it."""
    total = math.fsum(
        event.count / event.noise_multiplier**2
        for event in plan.events
        if isinstance(event, Gaussian)
    )
    sides = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else 2.0
    each = sides * table.weight_per_unit * table.noise_growth
    return math.sqrt(total) / each if total > 0 else math.inf


def freeze(
    schema: Schema, settings: Settings, start: Start, trained: Trained, receipt: Receipt
) -> LVQModel:
    """Return to the features' own coordinates, and make the record."""
    space, centre = trained.space, start.space.centre
    back = space.back
    moved = trained.prototypes @ back.T
    # Noise is the same in all directions of the space; omega turns it into the features' own.
    widths = (back**2).sum(axis=1)
    with np.errstate(invalid="ignore"):
        doubts = np.nan_to_num(trained.count_error / trained.counts)[trained.labels]
    relative = start.radius_error**2 + doubts**2
    # Where rows are cut to the ball, centre and radius move what comes out: an upper estimate.
    variance = trained.variance[:, None] * widths + start.centre_error**2
    variance = variance + relative[:, None] * moved**2
    exact = not math.isfinite(receipt.epsilon)
    errors = np.sqrt(variance) * (0.0 if exact else 1.0)
    return LVQModel(
        settings.kind,
        settings.mechanism,
        schema,
        frozen(centre + moved),
        frozen(errors),
        frozen_labels(trained.labels),
        frozen(centre + trained.means @ back.T),
        frozen(np.maximum(trained.counts, 0.0)),
        frozen(space.matrix),
        frozen(centre),
        receipt,
        settings.image_shape,
        trained.evidence,
    )
