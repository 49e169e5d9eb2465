"""Training prototypes with whole-table Gaussian sums: the default.

Every access is a sum over all rows with plain Gaussian noise: no sampling, so the composition is
exact. Centre and radius first; then class means, and for a metric the products of coordinates,
from which it follows as post-processing, stable under noise; then steps of a margin loss whose
total travel is matched to the noise. Bounds and accounting: docs/proofs/lvq.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.features import Features
from voile.models.lvq.evidence import ClassEvidence, weigh_classes
from voile.models.lvq.means import ClassMeans, drawn_in, in_ball, release_means, spread_out
from voile.models.lvq.queries import ClusterSums, Lengths, Pulls
from voile.models.lvq.scatter import Scatter, learn_metric, telling_directions, within_scatter
from voile.models.lvq.settings import (
    CLIP,
    CLUSTER_ROUNDS,
    CLUSTERS_ACCESS,
    MOST_STEPS,
    RADIUS_ACCESS,
    STEPS_ACCESS,
    STRIDE,
    TRAVEL,
    Schedule,
    Start,
)
from voile.models.lvq.space import Space
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep

Floats = NDArray[np.float64]

_SEED_SPREAD = 0.7
_SLOPE = 15.0
_WIDER = 1.2
"""Radius under the metric, relative to the root mean square."""


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
    evidence : ClassEvidence or None
        What is known of the sampling error; None where class means are not released.
    """

    space: Space
    prototypes: Floats
    variance: Floats
    labels: NDArray[np.int64]
    means: Floats
    counts: Floats
    count_error: float
    evidence: ClassEvidence | None = None


def release_classes(
    table: PrivateTable, grant: Grant, start: Start, schedule: Schedule
) -> ClassMeans:
    """Release the means and counts of the classes, and if asked the scatter, with one access.

    Raises
    ------
    NothingFound
        If the rows have other classes than are listed.
    """
    space = start.space
    keep(table, space.columns, space.prepare)
    return release_means(table, grant, start, scatter=schedule.scatter)


def train(
    table: PrivateTable,
    grant: Grant,
    start: Start,
    schedule: Schedule,
    seen: ClassMeans,
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Carry out a schedule after its class means: metric, parts of classes, steps."""
    space, m = start.space, start.space.class_count
    means, errors = seen.means, seen.errors
    scatter = None
    if seen.products is not None:
        basis = telling_directions(Features(space.schema))
        scatter = within_scatter(
            seen.products, seen.sums, seen.counts, start.rows, seen.sum_error, basis
        )
    if schedule.metric and scatter is not None:
        space, means = _with_metric(table, grant, start, scatter, means)
        keep(table, space.columns, space.prepare)
        # The noise of the old coordinates in the new ones, on average over directions.
        assert space.omega is not None
        errors = errors * float(np.linalg.norm(space.omega)) / math.sqrt(space.size)
    means = in_ball(means)
    variance = (errors**2)[schedule.labels]
    prototypes = means[schedule.labels]
    if len(schedule.labels) > m:
        prototypes, variance = _split(table, grant, space, start, schedule, means, scatter)
    if schedule.steps:
        prototypes, variance = descend(
            table, grant, space, prototypes, variance, schedule, start, progress
        )
    evidence = weigh_classes(
        seen,
        start,
        schedule.labels,
        table.weight_per_unit,
        moved=1.0 - schedule.settings.typical if schedule.steps else 0.0,
        pictures=schedule.settings.image_shape is not None,
        metric=scatter if schedule.metric else None,
        learned=schedule.metric,
    )
    return Trained(
        space,
        prototypes,
        variance,
        schedule.labels,
        means,
        seen.counts,
        seen.count_error,
        evidence,
    )


def _with_metric(
    table: PrivateTable, grant: Grant, start: Start, scatter: Scatter, means: Floats
) -> tuple[Space, Floats]:
    """The space under the learned metric, its radius released, and the means in it."""
    omega, guess = learn_metric(scatter, means)
    query = Lengths(start.space, omega, 4.0 * guess)
    release = gaussian_sum(table, query, grant.take(RADIUS_ACCESS))
    square = float(np.clip(release.values[0] / start.rows, guess / 16.0, 4.0 * guess))
    omega = omega / (_WIDER * math.sqrt(square))
    return replace(start.space, omega=omega), means @ omega.T


def _split(
    table: PrivateTable,
    grant: Grant,
    space: Space,
    start: Start,
    schedule: Schedule,
    means: Floats,
    scatter: Scatter | None,
) -> tuple[Floats, Floats]:
    """Several prototypes per class: seeds from the released scatter, then noised Lloyd rounds."""
    # Public randomness: the seeds are functions of it and of released values.
    random_state = schedule.settings.random_state
    if scatter is None:
        found = spread_out(means[schedule.labels], schedule.labels, random_state)
    else:
        shape = (len(schedule.labels), start.space.size)
        seeds = scatter.draw(np.random.default_rng(random_state).standard_normal(shape))
        if space.omega is not None:
            seeds = seeds @ space.omega.T
        found = in_ball(means[schedule.labels] + _SEED_SPREAD * seeds)
    variance = np.zeros(len(schedule.labels))
    for _ in range(CLUSTER_ROUNDS):
        query = ClusterSums(space, found, schedule.labels)
        release = gaussian_sum(table, query, grant.take(CLUSTERS_ACCESS))
        sums, counts = query.split(release.values)
        counts = np.maximum(counts, 0.1 * start.rows / len(schedule.labels))
        errors = release.standard_error / counts
        found = in_ball(drawn_in(sums / counts[:, None], means[schedule.labels], errors))
        variance = errors**2
    return found, variance


def descend(
    table: PrivateTable,
    grant: Grant,
    space: Space,
    first: Floats,
    variance: Floats,
    schedule: Schedule,
    start: Start,
    progress: Callable[[int], None],
) -> tuple[Floats, Floats]:
    """Steps of the margin loss; returns the mean of the later prototypes and their variance."""
    d, m, steps = space.size, space.class_count, schedule.steps
    several = len(schedule.labels) / m
    typical = schedule.settings.typical
    slope = slope_for(d, several)
    query = Pulls(space, first, schedule.labels, schedule.settings.rule, slope, CLIP)
    pull = 2.0 * typical / (1.0 - typical)
    stay = math.exp(-pull / steps)
    # The longest stride is that of a noise-free descent; noise shortens it to the travel allowed.
    stride = STRIDE * math.sqrt(several) / start.rows
    now, total, taken = first.copy(), np.zeros_like(first), 0
    rate = 0.0
    for number in range(steps):
        query = replace(query, prototypes=now)
        release = gaussian_sum(table, query, grant.take(STEPS_ACCESS))
        noise = release.standard_error * math.sqrt(steps * d)
        rate = min(stride * MOST_STEPS / steps, TRAVEL / noise if noise > 0 else math.inf)
        now = now - rate * release.values.reshape(now.shape)
        # Free of cost: drawn back to the start, so that prototypes stay typical.
        now = in_ball(first + stay * (now - first))
        if number >= steps // 2:
            total += now
            taken += 1
        progress(number + 1)
    added = noise_of_average(steps, steps // 2, stay) * (rate * release.standard_error) ** 2
    return total / taken, variance + added


def slope_for(size: int, several: float) -> float:
    """Slope of the softplus: steeper in many dimensions, where relative distances are alike."""
    return float(_SLOPE * (size / several) ** (1 / 3))


def noise_of_average(steps: int, skipped: int, stay: float) -> float:
    """Sum over steps of the squared weight that a step's noise has in the average."""
    powers = stay ** np.arange(1, steps + 1)
    reach = np.concatenate([[0.0], np.cumsum(powers)])
    weights = []
    for t in range(steps):
        first = max(t, skipped)
        weights.append((reach[steps - t] - reach[first - t]) / (steps - skipped))
    return float(np.sum(np.square(weights)))
