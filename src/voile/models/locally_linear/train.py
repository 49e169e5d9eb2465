"""From released gradient sums to weights: Adam, and the mean over the last steps.

Everything here reads released values and public chance only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.projections import PROJECTION_BITS
from voile.models.locally_linear.queries import MapSteps
from voile.models.locally_linear.settings import Course
from voile.privacy.events import Unprotected
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.receipt import Receipt
from voile.privacy.vault import PrivateTable

Floats = NDArray[np.float64]

STEPS_LOOK = "steps"

_MOMENTUM, _MEMORY = 0.9, 0.99
"""Decay of the means of gradients and of their squares."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Weights of shape (classes, maps, coordinates + 1), and their standard error by the noise."""

    weights: Floats
    errors: Floats


class Adam:
    """Kingma & Ba's steps with one scale for all weights, and the mean of weights at the end.

    Noise is the same on every coordinate; a scale of its own for each would blow up those on which
    there is nothing else.
    """

    def __init__(
        self, weights: Floats, rate: float, steps: int, average: float, pull: float = 0.0
    ) -> None:
        self.weights = self._start = weights
        self._pull = pull
        self._rate, self._steps = rate, steps
        self._first = np.zeros_like(weights)
        self._second = 0.0
        self._from = min(math.floor((1.0 - average) * steps), steps - 1)
        self._sum = np.zeros_like(weights)
        self._done = 0

    def step(self, gradient: Floats) -> None:
        """Take one step."""
        self._done += 1
        self._first += (1.0 - _MOMENTUM) * (gradient - self._first)
        self._second += (1.0 - _MEMORY) * (float(np.mean(gradient**2)) - self._second)
        moved = self._first / (1.0 - _MOMENTUM**self._done) / (self._scale() + 1e-10)
        self.weights = self.weights - self._rate * moved
        self.weights += self._pull * (self._start - self.weights)
        if self._done > self._from:
            self._sum += self.weights

    def _scale(self) -> float:
        return math.sqrt(self._second / (1.0 - _MEMORY**self._done))

    @property
    def mean(self) -> Floats:
        """Mean weights of the last steps."""
        return self._sum / max(self._done - self._from, 1)

    def error(self, noise: float) -> float:
        """Standard error of the mean weights by noise of this deviation on each gradient.

        Steps are divided by the scale of the last one, and nothing pulls weights back: an upper
        estimate.
        """
        total, later = 0.0, 0.0
        kept = max(self._done - self._from, 1)
        # What one gradient does to the mean: its momentum times the part of the mean after it,
        # of which each step keeps what the pull leaves.
        part = 0.0
        for number in range(self._done, 0, -1):
            part = (1.0 - self._pull) * (part + (1.0 / kept if number > self._done - kept else 0.0))
            later = _MOMENTUM * later + (1.0 - _MOMENTUM) * part
            total += later**2
        return self._rate * noise * math.sqrt(total) / max(self._scale(), 1e-300)


def _choose(course: Course, chance: np.random.Generator) -> tuple[int, ...] | None:
    """Copies of one step: the picture as it is, and some of the others."""
    count = len(course.copies)
    if course.copies_per_step >= count:
        return None
    others = chance.permutation(count - 1)[: course.copies_per_step - 1] + 1
    return (0, *sorted(map(int, others)))


def start_weights(
    course: Course,
    classes: int,
    coordinates: int,
    random_state: int | None,
    means: Floats | None = None,
) -> Floats:
    """Public chance, the same for all classes, and a class's own mean against the others'.

    Chance makes maps differ; being the same for all classes, it puts none ahead of another.

    Parameters
    ----------
    means : ndarray of shape (classes, coordinates), optional
        Released.
    """
    chance = np.random.default_rng(random_state)
    one = chance.normal(0.0, course.spread, (course.maps, coordinates + 1))
    result = np.repeat(one[None], classes, axis=0)
    if means is not None:
        result[:, :, :-1] += course.towards_means * (means - means.mean(axis=0))[:, None]
    return result


def draw_projections(
    course: Course, coordinates: int, *, shared: bool, random_state: int | None
) -> NDArray[np.int64]:
    """Public chance: entries N(0, 1 / size), in whole units; (maps or 1, size, coordinates)."""
    assert course.projection is not None
    chance = np.random.default_rng(None if random_state is None else random_state + 1)
    count = 1 if shared else course.maps
    drawn = chance.normal(
        0.0, 1.0 / math.sqrt(course.projection), (count, course.projection, coordinates)
    )
    return np.asarray(np.round(drawn * 2**PROJECTION_BITS).astype(np.int64))


def train(
    table: PrivateTable,
    grant: Grant,
    query: MapSteps,
    course: Course,
    rows: float,
    random_state: int | None,
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Descend by noised sums over sampled lots.

    Parameters
    ----------
    query : MapSteps
        With the weights at the start.
    rows : float
        Released number of rows.
    random_state : int, optional
        For the choice of copies.
    """
    plain = isinstance(grant.plan[STEPS_LOOK], Unprotected)
    # Public chance: which of the moved copies a step looks at, beside the picture itself.
    chance = np.random.default_rng(random_state)
    lots = max(round(1.0 / course.rate), 1)
    lot = max(rows * course.rate, 1.0)
    rate = course.learning_rate_for(len(query.weights))
    adam = Adam(query.weights, rate, course.steps, course.average, course.pull)
    noise = 0.0
    for number in range(course.steps):
        # Without noise there is nothing to gain from chance: lots take turns.
        turn = (number % lots, lots) if plain and lots > 1 else None
        query = replace(query, weights=adam.weights, lot=turn, chosen=_choose(course, chance))
        release = gaussian_sum(table, query, grant.take(STEPS_LOOK))
        noise = release.standard_error / lot
        adam.step(release.values.reshape(adam.weights.shape) / lot)
        progress(number + 1)
    return Trained(adam.mean, np.full_like(adam.mean, adam.error(noise)))


def freeze(
    inputs: Inputs,
    course: Course,
    trained: Trained,
    receipt: Receipt,
    image_shape: tuple[int, ...] | None,
    taught_by: str | None = None,
) -> LocallyLinearModel:
    """Make the record."""
    return LocallyLinearModel(
        inputs.frozen(),
        _frozen(trained.weights[:, :, :-1]),
        _frozen(trained.weights[:, :, -1] * course.bias),
        _frozen(trained.errors[:, :, :-1]),
        course.beta,
        receipt,
        image_shape,
        taught_by,
    )


def _frozen(values: Floats) -> Floats:
    result = np.array(values, dtype=np.float64)
    result.setflags(write=False)
    return result
