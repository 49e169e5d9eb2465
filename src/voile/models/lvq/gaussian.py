"""Training prototypes with whole-table Gaussian sums: the default.

Every look is a sum over all rows with plain Gaussian noise: no sampling, so the composition is
exact. Centre and radius first; then class means, and for a metric the products of coordinates,
from which it follows as post-processing; then steps of a margin loss whose total travel is matched
to the noise. Bounds and accounting: docs/proofs/lvq.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.features import Features
from voile.models.lvq.means import MEANS_LOOK, drawn_in, in_ball, look_at_means, spread_out
from voile.models.lvq.metric import Scatter, learn_metric, telling_directions, within_scatter
from voile.models.lvq.pulls import Rule
from voile.models.lvq.queries import ClusterSums, Lengths, Pulls
from voile.models.lvq.settings import (
    MOST_FEATURES_OF_METRIC,
    Settings,
    choose_prototypes,
    labels_of,
    usable_metric,
)
from voile.models.lvq.space import Space
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep

Floats = NDArray[np.float64]

RADIUS_LOOK = "radius under the metric"
CLUSTERS_LOOK = "parts of classes"
STEPS_LOOK = "steps"

_START, _START_METRIC, _START_SEVERAL, _START_MOST = 0.15, 0.30, 0.25, 0.80
"""Shares of what is left after the centre for class means; more where rows are few."""

_NOISY_MEANS = 0.45
"""Noise of a class mean at the whole budget from which on the start's share grows."""

_RADIUS, _CLUSTERS = 0.02, 0.15
_CLUSTER_ROUNDS = 3
_SEED_SPREAD = 0.7

CLIP = 0.5
_SLOPE = 15.0
_TRAVEL = 0.6
"""Norm of the noise that all steps together put on a prototype; the ball has radius 1."""

STRIDE, _FEWEST_STEPS, _MOST_STEPS = 2.0, 60, 200
_WIDER = 1.2
"""Radius under the metric, relative to the root mean square."""


@dataclass(frozen=True, eq=False)
class Start:
    """What is known before the second part of the plan is made; all of it released or public.

    Attributes
    ----------
    rows : float
        Released number of rows, at least 10.
    space : Space
    strength : float
        1 / noise multiplier of the whole budget, per privacy unit; inf without noise.
    centre_error, radius_error : float
        Standard deviation of the noise on a coordinate of the centre and, relatively, on the
        radius.
    """

    rows: float
    space: Space
    strength: float
    centre_error: float = 0.0
    radius_error: float = 0.0


@dataclass(frozen=True, eq=False)
class Course:
    """The second part of the plan: shares of the budget that is left, and what they are for."""

    labels: NDArray[np.int64]
    metric: bool
    scatter: bool
    steps: int
    shares: dict[str, float]
    counts: dict[str, int]


@dataclass(frozen=True, eq=False)
class Trained:
    """Released prototypes in the coordinates of a space.

    Attributes
    ----------
    space : Space
    prototypes : ndarray of shape (prototypes, size)
    variance : ndarray of shape (prototypes,)
        Of the noise on each coordinate.
    labels : ndarray of shape (prototypes,)
    means : ndarray of shape (classes, size)
    counts : ndarray of shape (classes,)
        Rows.
    count_error : float
        Standard deviation of their noise.
    """

    space: Space
    prototypes: Floats
    variance: Floats
    labels: NDArray[np.int64]
    means: Floats
    counts: Floats
    count_error: float


def plan_course(start: Start, settings: Settings) -> Course:
    """Decide on metric, prototypes, steps and shares, from released and public facts."""
    d, m = start.space.size, start.space.class_count
    strength = min(start.strength, 1e6)
    readable = usable_metric(d, start.rows, strength)
    wanted = settings.kind == "gmlvq"
    metric = wanted and readable
    each = choose_prototypes(d, m, start.rows, strength, metric=wanted)
    labels = labels_of(settings, start.space.schema, each)
    several = len(labels) > m
    noise = m * math.sqrt(d) / (start.rows * strength)
    if several:
        first = _START_SEVERAL
    else:
        least = _START_METRIC if metric else _START
        first = float(np.clip((noise / _NOISY_MEANS) ** 2, least, _START_MOST))
    shares, counts = {MEANS_LOOK: first}, {MEANS_LOOK: 1}
    if metric:
        shares[RADIUS_LOOK], counts[RADIUS_LOOK] = _RADIUS, 1
    if several:
        shares[CLUSTERS_LOOK], counts[CLUSTERS_LOOK] = _CLUSTERS, _CLUSTER_ROUNDS
    rest = 1.0 - sum(shares.values())
    steps = 0
    if settings.typical >= 1.0:
        # Nothing moves: the means get what the steps would have had.
        shares[MEANS_LOOK] += rest
    else:
        travel = _TRAVEL * strength * math.sqrt(rest) * start.rows / (m * math.sqrt(d)) / CLIP
        length = STRIDE * math.sqrt(len(labels) / m)
        steps = int(np.clip(math.ceil(travel * m / length), _FEWEST_STEPS, _MOST_STEPS))
        shares[STEPS_LOOK], counts[STEPS_LOOK] = rest, steps
    scatter = metric or (several and d <= MOST_FEATURES_OF_METRIC)
    return Course(labels, metric, scatter, steps, shares, counts)


def train(
    table: PrivateTable,
    grant: Grant,
    start: Start,
    course: Course,
    settings: Settings,
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Carry out a course: class means, metric, parts of classes, steps."""
    space, m = start.space, start.space.class_count
    keep(table, space.columns, space.prepare)
    seen = look_at_means(table, grant, space, start.rows, scatter=course.scatter)
    means, errors = seen.means, seen.errors
    scatter = None
    if seen.products is not None:
        basis = telling_directions(Features(space.schema))
        scatter = within_scatter(
            seen.products, seen.sums, seen.counts, start.rows, seen.sum_error, basis
        )
    if course.metric and scatter is not None:
        space, means = _with_metric(table, grant, start, scatter, means)
        keep(table, space.columns, space.prepare)
        # The noise of the old coordinates in the new ones, on average over directions.
        assert space.omega is not None
        errors = errors * float(np.linalg.norm(space.omega)) / math.sqrt(space.size)
    means = in_ball(means)
    variance = (errors**2)[course.labels]
    prototypes = means[course.labels]
    if len(course.labels) > m:
        prototypes, variance = _split(
            table, grant, space, start, course, means, scatter, settings.random_state
        )
    if course.steps:
        prototypes, variance = descend(
            table, grant, space, prototypes, variance, course, start, settings, progress
        )
    return Trained(space, prototypes, variance, course.labels, means, seen.counts, seen.count_error)


def _with_metric(
    table: PrivateTable, grant: Grant, start: Start, scatter: Scatter, means: Floats
) -> tuple[Space, Floats]:
    """The space under the learned metric, its radius released, and the means in it."""
    omega, guess = learn_metric(scatter, means)
    query = Lengths(start.space, omega, 4.0 * guess)
    release = gaussian_sum(table, query, grant.take(RADIUS_LOOK))
    square = float(np.clip(release.values[0] / start.rows, guess / 16.0, 4.0 * guess))
    omega = omega / (_WIDER * math.sqrt(square))
    return replace(start.space, omega=omega), means @ omega.T


def _split(
    table: PrivateTable,
    grant: Grant,
    space: Space,
    start: Start,
    course: Course,
    means: Floats,
    scatter: Scatter | None,
    random_state: int | None,
) -> tuple[Floats, Floats]:
    """Several prototypes per class: seeds from the released scatter, then noised Lloyd rounds."""
    # Public randomness: the seeds are functions of it and of released values.
    if scatter is None:
        found = spread_out(means[course.labels], course.labels, random_state)
    else:
        shape = (len(course.labels), start.space.size)
        seeds = scatter.draw(np.random.default_rng(random_state).standard_normal(shape))
        if space.omega is not None:
            seeds = seeds @ space.omega.T
        found = in_ball(means[course.labels] + _SEED_SPREAD * seeds)
    variance = np.zeros(len(course.labels))
    for _ in range(_CLUSTER_ROUNDS):
        query = ClusterSums(space, found, course.labels)
        release = gaussian_sum(table, query, grant.take(CLUSTERS_LOOK))
        sums, counts = query.split(release.values)
        counts = np.maximum(counts, 0.1 * start.rows / len(course.labels))
        errors = release.standard_error / counts
        found = in_ball(drawn_in(sums / counts[:, None], means[course.labels], errors))
        variance = errors**2
    return found, variance


def descend(
    table: PrivateTable,
    grant: Grant,
    space: Space,
    first: Floats,
    variance: Floats,
    course: Course,
    start: Start,
    settings: Settings,
    progress: Callable[[int], None],
) -> tuple[Floats, Floats]:
    """Steps of the margin loss; returns the mean of the later prototypes and their variance."""
    d, m, steps = space.size, space.class_count, course.steps
    several = len(course.labels) / m
    rule: Rule = "lvq1" if settings.kind == "lvq1" else "glvq"
    slope = slope_for(d, several)
    query = Pulls(space, first, course.labels, rule, slope, CLIP)
    pull = 2.0 * settings.typical / (1.0 - settings.typical)
    stay = math.exp(-pull / steps)
    # The longest stride is that of a noise-free descent; noise shortens it to the travel allowed.
    stride = STRIDE * math.sqrt(several) / start.rows
    now, total, taken = first.copy(), np.zeros_like(first), 0
    rate = 0.0
    for number in range(steps):
        query = replace(query, prototypes=now)
        release = gaussian_sum(table, query, grant.take(STEPS_LOOK))
        noise = release.standard_error * math.sqrt(steps * d)
        rate = min(stride * _MOST_STEPS / steps, _TRAVEL / noise if noise > 0 else math.inf)
        now = now - rate * release.values.reshape(now.shape)
        # Free of cost: drawn back to the start, so that prototypes stay typical.
        now = in_ball(first + stay * (now - first))
        if number >= steps // 2:
            total += now
            taken += 1
        progress(number + 1)
    added = _noise_of_average(steps, steps // 2, stay) * (rate * release.standard_error) ** 2
    return total / taken, variance + added


def slope_for(size: int, several: float) -> float:
    """Slope of the softplus: steeper in many dimensions, where relative distances are alike."""
    return float(_SLOPE * (size / several) ** (1 / 3))


def _noise_of_average(steps: int, skipped: int, stay: float) -> float:
    """Sum over steps of the squared weight that a step's noise has in the average."""
    powers = stay ** np.arange(1, steps + 1)
    reach = np.concatenate([[0.0], np.cumsum(powers)])
    weights = []
    for t in range(steps):
        first = max(t, skipped)
        weights.append((reach[steps - t] - reach[first - t]) / (steps - skipped))
    return float(np.sum(np.square(weights)))
