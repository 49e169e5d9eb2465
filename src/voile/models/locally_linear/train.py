"""From released gradient sums to the weights of maps.

Everything here reads released values and public randomness only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.descent import Adam, descend
from voile.models.fit import frozen
from voile.models.locally_linear.evidence import GradientSpread, MapEvidence, weigh_maps
from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.projections import PROJECTION_BITS
from voile.models.locally_linear.queries import MapSteps
from voile.models.locally_linear.settings import Schedule
from voile.models.public_numbers import Lot
from voile.privacy.grant import Grant
from voile.privacy.receipt import Receipt
from voile.privacy.vault import PrivateTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trained:
    """Weights of shape (classes, maps, coordinates + 1), and their standard error by the noise.

    The evidence is known where points are those of features, and rows taught the maps.
    """

    weights: Floats
    errors: Floats
    evidence: MapEvidence | None = None


def _choose(schedule: Schedule, rng: np.random.Generator) -> tuple[int, ...] | None:
    """Copies of one step: the picture as it is, and some of the others."""
    count = len(schedule.copies)
    if schedule.copies_per_step >= count:
        return None
    others = rng.permutation(count - 1)[: schedule.copies_per_step - 1] + 1
    return (0, *sorted(map(int, others)))


def start_weights(
    schedule: Schedule, classes: int, coordinates: int, means: Floats | None = None
) -> Floats:
    """Public randomness, the same for all classes, and a class's own mean against the others'.

    Chance makes maps differ; being the same for all classes, it puts none ahead of another.

    Parameters
    ----------
    means : ndarray of shape (classes, coordinates), optional
        Released.
    """
    rng = np.random.default_rng(schedule.settings.random_state)
    one = rng.normal(0.0, schedule.spread, (schedule.maps, coordinates + 1))
    result = np.repeat(one[None], classes, axis=0)
    if means is not None:
        result[:, :, :-1] += schedule.towards_means * (means - means.mean(axis=0))[:, None]
    return result


def draw_projections(schedule: Schedule, coordinates: int) -> NDArray[np.int64]:
    """Public randomness: entries N(0, 1 / size), in whole units; (maps or 1, size, coordinates)."""
    settings, seed = schedule.settings, schedule.settings.random_state
    assert settings.projection is not None
    rng = np.random.default_rng(None if seed is None else seed + 1)
    count = 1 if settings.shared_projection else schedule.maps
    drawn = rng.normal(
        0.0, 1.0 / math.sqrt(settings.projection), (count, settings.projection, coordinates)
    )
    return np.asarray(np.round(drawn * 2**PROJECTION_BITS).astype(np.int64))


def train(
    table: PrivateTable, grant: Grant, query: MapSteps, schedule: Schedule, rows: float
) -> Trained:
    """Descend by noised sums over sampled lots.

    Parameters
    ----------
    query : MapSteps
        With the weights at the start.
    rows : float
        Released number of rows.
    """
    # Public randomness: which of the moved copies a step looks at, beside the picture itself.
    rng = np.random.default_rng(schedule.settings.random_state)
    shape = query.weights.shape
    rate = schedule.learning_rate_for(len(query.weights))
    adam = Adam(query.weights, rate, schedule.steps, schedule.average, schedule.pull)
    spread = GradientSpread(shape[0], shape[2], schedule.steps)
    lot_size = max(rows * schedule.rate, 1.0)

    def read(values: Floats) -> Floats:
        gradients = values.reshape(shape)
        spread.take(gradients / lot_size)
        return gradients

    def ask(number: int, lot: Lot | None) -> tuple[MapSteps, Callable[[Floats], Floats]]:
        chosen = _choose(schedule, rng)
        step = replace(query, weights=adam.weights, lot=lot, chosen=chosen)
        return step, read

    lot_and_rows = schedule.rate, rows
    noise = descend(table, grant, adam, lot_and_rows, ask)
    errors = np.full_like(adam.mean, adam.error(noise))
    if schedule.settings.projection is not None:
        return Trained(adam.mean, errors)
    inputs, per_unit = query.layout, table.rows_per_unit
    evidence = weigh_maps(spread, adam, noise, lot_and_rows, inputs, per_unit)
    return Trained(adam.mean, errors, evidence)


def freeze(
    inputs: Inputs,
    schedule: Schedule,
    trained: Trained,
    receipt: Receipt,
    taught_by: str | None = None,
) -> LocallyLinearModel:
    """Make the record."""
    return LocallyLinearModel(
        inputs.frozen(),
        frozen(trained.weights[:, :, :-1]),
        frozen(trained.weights[:, :, -1] * schedule.bias),
        frozen(trained.errors[:, :, :-1]),
        schedule.beta,
        receipt,
        schedule.settings.image_shape,
        taught_by,
        trained.evidence,
    )
