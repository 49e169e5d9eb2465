"""One fit of locally linear maps: what is looked at, and what is made of what comes out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.models.features import Features
from voile.models.fit import FitJob
from voile.models.locally_linear.inputs import Inputs, KeptPoints
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.projections import (
    PROJECTION_BITS,
    KeptSquares,
    ProjectedSteps,
    unproject,
)
from voile.models.locally_linear.queries import COUNT_WEIGHT, ClassPoints, Directions, MapSteps
from voile.models.locally_linear.settings import (
    CENTRE_ACCESS,
    MEANS_ACCESS,
    Schedule,
    Settings,
    check,
    choose,
    plan_shape,
)
from voile.models.locally_linear.train import (
    Trained,
    draw_projections,
    freeze,
    start_weights,
    train,
)
from voile.models.setting_checks import count_found_classes, too_little_found
from voile.models.target_look import stop_if_fewer
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Category

Floats = NDArray[np.float64]


def fit_model(job: FitJob, settings: Settings) -> LocallyLinearModel:
    """Pay, carry out, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit the ledger; nothing was spent.
    """
    schema = job.table.schema
    check(schema, settings)
    schedule = choose(settings, job.budget, sampled=job.table.rows_per_unit == 1)
    plan = job.plan(plan_shape(schema, schedule, job.budget.delta))
    (inputs, trained), receipt = job.carry_out(
        plan, lambda table, grant: _release(table, grant, schedule)
    )
    return freeze(inputs, schedule, trained, receipt)


def _release(table: PrivateTable, grant: Grant, schedule: Schedule) -> tuple[Inputs, Trained]:
    inputs, rows, rows_error = _look_around(table, grant, schedule)
    keep(table, inputs.columns, KeptPoints(inputs, schedule.copies).prepare)
    classes, size, coordinates = inputs.class_count, inputs.size, schedule.settings.projection
    how = schedule.beta, schedule.bias, schedule.clip
    if coordinates is None:
        means = None
        if schedule.towards_means:
            means = _release_means(table, grant, inputs, rows, rows_error)
        query = MapSteps(inputs, start_weights(schedule, classes, size, means), *how)
        return inputs, train(table, grant, query, schedule, rows)
    drawn = draw_projections(schedule, size)
    keep(table, (), KeptSquares(drawn).prepare)
    weights = start_weights(schedule, classes, coordinates)
    query = ProjectedSteps(inputs, weights, *how, projections=drawn)
    return inputs, _seen(train(table, grant, query, schedule, rows), drawn)


def _look_around(
    table: PrivateTable, grant: Grant, schedule: Schedule
) -> tuple[Inputs, float, float]:
    """Release the mean direction and the number of rows, and make the inputs of them.

    Returns the inputs, the rows, and the standard deviation of the noise on these.
    """
    schema = table.schema
    features = len(Features(schema))
    count_found_classes(schema)
    if not features:
        raise too_little_found("no level of any column", "the levels")
    plain = schedule.uncentred(schema)
    query = Directions(plain)
    release = gaussian_sum(table, query, grant.take(CENTRE_ACCESS))
    rows, mean, length = query.split(release.values)
    error = release.standard_error / COUNT_WEIGHT
    if schedule.centring == "none":
        return plain, rows, error
    if schedule.centring == "fixed":
        middle = np.full(features, 0.5 if plain.picture is not None else 0.0)
        return plain.with_centre(plain.directions(middle[None])[0], length), rows, error
    # Drawn to nothing as far as its noise says.
    spread = release.standard_error * (1.0 if schedule.normalise else query.longest) / rows
    doubt = plain.size * spread**2 / max(float(mean @ mean), 1e-12)
    return plain.with_centre(mean * max(0.0, 1.0 - doubt), length), rows, error


def _release_means(
    table: PrivateTable, grant: Grant, inputs: Inputs, rows: float, rows_error: float
) -> Floats:
    """Release the mean point of each class, drawn to the mean of all as far as its noise says.

    Raises
    ------
    NothingFound
        If the rows have other classes than are listed.
    """
    query = ClassPoints(inputs)
    release = gaussian_sum(table, query, grant.take(MEANS_ACCESS))
    sums, counts = query.split(release.values)
    target = inputs.schema.target
    assert isinstance(target, Category)
    each = release.standard_error / COUNT_WEIGHT
    stop_if_fewer(target.levels or (), counts, rows, each, rows_error)
    # A class that hardly anybody has would get the noise alone, divided by next to nothing.
    least = max(4.0 * release.standard_error / COUNT_WEIGHT, 1.0)
    counts = np.maximum(counts, least)[:, None]
    means = sums / counts
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1.0)
    apart = means - means.mean(axis=0)
    noise = inputs.size * (release.standard_error / counts) ** 2
    kept = 1.0 - noise / np.maximum((apart**2).sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(means.mean(axis=0) + apart * np.maximum(kept, 0.0))


def _seen(trained: Trained, projections: NDArray[np.int64]) -> Trained:
    """Weights of projections as weights of points."""
    points = unproject(trained.weights[:, :, :-1], projections)
    squares = (projections * 2.0**-PROJECTION_BITS) ** 2
    maps = trained.weights.shape[1]
    variance = np.stack(
        [trained.errors[:, m, :-1] ** 2 @ squares[m % len(squares)] for m in range(maps)], axis=1
    )
    return Trained(
        np.concatenate([points, trained.weights[:, :, -1:]], axis=2),
        np.concatenate([np.sqrt(variance), trained.errors[:, :, -1:]], axis=2),
    )
