"""One fit from budget to frozen model: what is paid when, and what is made of what comes out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from voile.models.features import Features
from voile.models.locally_linear.inputs import Inputs, KeptPoints
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.projections import (
    PROJECTION_BITS,
    KeptSquares,
    ProjectedSteps,
    unproject,
)
from voile.models.locally_linear.queries import (
    BRIGHTEST,
    COUNT_WEIGHT,
    ClassPoints,
    Directions,
    MapSteps,
    PixelRanges,
)
from voile.models.locally_linear.settings import Course, Settings, check, choose
from voile.models.locally_linear.train import (
    STEPS_LOOK,
    Trained,
    draw_projections,
    freeze,
    start_weights,
    train,
)
from voile.models.progress import progress_bar
from voile.models.setting_checks import count_found_classes, too_little_found
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_share, poisson_share
from voile.privacy.discovery import complete, discovery_shape
from voile.privacy.events import Plan, Step
from voile.privacy.grant import Grant, Ticket
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]

RANGE_LOOK = "range of pixels"
CENTRE_LOOK = "centre and row count"
MEANS_LOOK = "class means"

_RANGE, _CENTRE, _MEANS = 0.005, 0.01, 0.02
_CLASSES, _DISCOVERY = 0.02, 0.15
"""Shares of mu^2: for the pixels' range, for the mean of all and those of classes, for what the
schema lacks: classes alone, or columns, too."""

_INTERRUPTED = (
    "Training was interrupted: nothing of it is released, and what it was to cost stays spent in "
    "the ledger, because the rows were looked at."
)


def fit_model(
    table: PrivateTable, budget: Budget, ledger: Ledger, settings: Settings, what: str
) -> LocallyLinearModel:
    """Pay, carry out, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit the ledger; nothing was spent.
    """
    levels = [one.levels for one in table.schema.values() if isinstance(one, Category)]
    listed = all(one is not None for one in levels)
    check(table.schema, settings, len(Features(table.schema)) if listed else None)
    course = choose(settings, budget, sampled=table.rows_per_unit == 1)
    shape = Plan(tuple(_shape(table.schema, course, settings, budget.delta)))
    plan = calibrate(budget, shape, ledger.relation)
    grant = ledger.pay(plan, table, what)
    try:
        # Blocks of rows are worked on side by side; threads inside each would be in the way.
        with threadpool_limits(1, user_api="blas"):
            return _carry_out(table, grant, budget, course, settings)
    except KeyboardInterrupt as interruption:
        interruption.add_note(_INTERRUPTED)
        raise


def _shape(schema: Schema, course: Course, settings: Settings, delta: float) -> list[Step]:
    """All looks, with their shares of mu^2."""
    steps: list[Step] = []
    pixels = settings.image_shape is not None
    known = with_range(schema, 1.0) if pixels else schema
    if known is not schema:
        steps.append(gaussian_share(RANGE_LOOK, _RANGE))
    columns_known = all(column.known for column in known.values())
    found = discovery_shape(known, _CLASSES if columns_known else _DISCOVERY, delta)
    steps += found
    steps.append(gaussian_share(CENTRE_LOOK, _CENTRE))
    if course.towards_means:
        steps.append(gaussian_share(MEANS_LOOK, _MEANS))
    left = 1.0 - _RANGE - _CENTRE - _MEANS
    left -= _DISCOVERY if found and not columns_known else _CLASSES
    if course.rate < 1.0:
        steps.append(poisson_share(STEPS_LOOK, left, rate=course.rate, count=course.steps))
    else:
        steps.append(gaussian_share(STEPS_LOOK, left, count=course.steps))
    return steps


def _carry_out(
    table: PrivateTable, grant: Grant, budget: Budget, course: Course, settings: Settings
) -> LocallyLinearModel:
    if RANGE_LOOK in [step.label for step in grant.plan]:
        table = find_range(table, grant.take(RANGE_LOOK))
    table = complete(table, grant)
    inputs, rows = _look_around(table, grant, course, settings)
    keep(table, inputs.columns, KeptPoints(inputs, course.copies).prepare)
    classes, size = inputs.class_count, inputs.size
    seed = settings.random_state
    with progress_bar("training", course.steps) as progress:
        if course.projection is None:
            means = _look_at_means(table, grant, inputs) if course.towards_means else None
            weights = start_weights(course, classes, size, seed, means)
            query = MapSteps(inputs, weights, course.beta, course.bias, course.clip)
            trained = train(table, grant, query, course, rows, seed, progress)
        else:
            shared = settings.shared_projection
            drawn = draw_projections(course, size, shared=shared, random_state=seed)
            keep(table, (), KeptSquares(drawn).prepare)
            weights = start_weights(course, classes, course.projection, seed)
            query = ProjectedSteps(
                inputs, weights, course.beta, course.bias, course.clip, projections=drawn
            )
            trained = _seen(train(table, grant, query, course, rows, seed, progress), drawn)
    return freeze(inputs, course, trained, write_receipt(grant, budget), settings.image_shape)


def with_range(schema: Schema, top: float, *, signed: bool = False) -> Schema:
    """The schema with all pixels of unknown range between 0 (or -top) and top."""
    if all(column.known for column in schema.values()):
        return schema

    def pixel(column: Number) -> Number:
        most = float(math.ceil(top)) if column.whole else top
        return replace(column, lower=-most if signed else 0.0, upper=most)

    columns = {
        name: pixel(column) if isinstance(column, Number) and not column.known else column
        for name, column in schema.items()
    }
    return Schema(columns, target=schema.target, rows=schema.rows, unit=schema.unit)


def find_range(table: PrivateTable, ticket: Ticket) -> PrivateTable:
    """All pixels get the smallest usual range that nearly all pictures keep to."""
    schema = table.schema
    unknown = tuple(n for n, c in schema.items() if isinstance(c, Number) and not c.known)
    release = gaussian_sum(table, PixelRanges(unknown), ticket)
    counts = release.values.reshape(2, -1)
    # Where most pictures are; wider, if clearly some are beyond.
    signed, place = divmod(int(counts.argmax()), counts.shape[1])
    few = max(0.01 * float(counts.sum()), 4.0 * release.standard_error * math.sqrt(counts.size))
    while place < len(BRIGHTEST) and counts[:, place + 1 :].sum() > few:
        place += 1
    signed = signed or int(counts[1].sum() > few)
    place = min(place, len(BRIGHTEST) - 1)
    return table.with_schema(with_range(schema, BRIGHTEST[place], signed=bool(signed)))


def _look_around(
    table: PrivateTable, grant: Grant, course: Course, settings: Settings
) -> tuple[Inputs, float]:
    """Release the mean direction and the number of rows, and make the inputs of them."""
    schema, picture = table.schema, settings.picture
    features = len(Features(schema))
    count_found_classes(schema)
    if not features:
        raise too_little_found("no level of any column", "the levels")
    plain = Inputs.uncentred(
        schema, picture, course.basis, root=course.root, normalise=course.normalise
    )
    query = Directions(plain)
    release = gaussian_sum(table, query, grant.take(CENTRE_LOOK))
    rows, mean, length = query.split(release.values)
    if course.centring == "none":
        return plain, rows
    if course.centring == "fixed":
        middle = np.full(features, 0.5 if picture is not None else 0.0)
        return plain.with_centre(plain.directions(middle[None])[0], length), rows
    # Drawn to nothing as far as its noise says.
    spread = release.standard_error * (1.0 if course.normalise else query.longest) / rows
    doubt = plain.size * spread**2 / max(float(mean @ mean), 1e-12)
    return plain.with_centre(mean * max(0.0, 1.0 - doubt), length), rows


def _look_at_means(table: PrivateTable, grant: Grant, inputs: Inputs) -> Floats:
    """Release the mean point of each class, drawn to the mean of all as far as its noise says."""
    query = ClassPoints(inputs)
    release = gaussian_sum(table, query, grant.take(MEANS_LOOK))
    sums, counts = query.split(release.values)
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
