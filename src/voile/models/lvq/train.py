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
from voile.models.lvq.means import drawn_in, in_ball, release_means, spread_out
from voile.models.lvq.queries import ClusterSums, Lengths, Pulls
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

_RIDGE, _FLOOR = 0.5, 1e-4
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
    """

    space: Space
    prototypes: Floats
    variance: Floats
    labels: NDArray[np.int64]
    means: Floats
    counts: Floats
    count_error: float


def train(
    table: PrivateTable,
    grant: Grant,
    start: Start,
    schedule: Schedule,
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Carry out a schedule: class means, metric, parts of classes, steps."""
    space, m = start.space, start.space.class_count
    keep(table, space.columns, space.prepare)
    seen = release_means(table, grant, space, start.rows, scatter=schedule.scatter)
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
    return Trained(
        space, prototypes, variance, schedule.labels, means, seen.counts, seen.count_error
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


# -- the metric, from one released matrix of products ------------------------------------------

# Directions in which the rows of a class scatter most count least (the whitening of linear
# discriminant analysis); a ridge at the edge of the noise's own spectrum keeps noise from posing
# as a direction without scatter.


@dataclass(frozen=True, eq=False)
class Scatter:
    """Scatter of the points within their classes.

    Attributes
    ----------
    values : ndarray of shape (directions,)
        Eigenvalues, at least 0.
    vectors : ndarray of shape (size, directions)
        In columns.
    edge : float
        Largest eigenvalue that noise alone would make.
    """

    values: Floats
    vectors: Floats
    edge: float

    def draw(self, draws: Floats) -> Floats:
        """Turn standard normal draws of shape (count, size) into ones with this scatter.

        Only along directions that stand clear of the noise.
        """
        deviations = np.sqrt(np.where(self.values > self.edge, self.values, 0.0))
        return np.asarray((draws[:, : len(deviations)] * deviations) @ self.vectors.T)


def within_scatter(
    products: Floats, sums: Floats, counts: Floats, rows: float, error: float, basis: Floats
) -> Scatter:
    """Scatter within classes from released sums.

    Parameters
    ----------
    products : ndarray of shape (size, size)
        Sum of z z' over all rows, symmetric.
    sums : ndarray of shape (classes, size)
    counts : ndarray of shape (classes,)
        Positive.
    rows : float
    error : float
        Standard deviation of the noise on a class sum; on a product it is 2 x that (its weight is
        a half), and off the diagonal less by sqrt 2.
    basis : ndarray of shape (size, directions)
        Orthonormal: the directions to look at (`telling_directions`).
    """
    size = len(products)
    between = (sums.T / counts) @ sums
    # The noise of the sums makes their products too large; its expectation is known.
    scatter = (products - between) / rows + np.eye(size) * (error**2 / counts).sum() / rows
    values, vectors = np.linalg.eigh(basis.T @ scatter @ basis)
    edge = 2.0 * error * np.sqrt(2.0 * size) / rows
    return Scatter(np.maximum(values, 0.0), basis @ vectors, float(edge))


def telling_directions(features: Features) -> Floats:
    """Orthonormal directions that can differ between rows, (features, directions).

    The coordinates of a category's levels add up to 1 for every listed level. A metric would see no
    scatter at all in their sum, weigh it most, and find nothing there but the noise.
    """
    size = len(features)
    columns = [one.column for one in features.each]
    sums = [
        [float(name == own) for name in columns]
        for own in dict.fromkeys(one.column for one in features.each if one.level >= 0)
    ]
    if not sums or len(sums) >= size:
        return np.eye(size)
    known = np.linalg.qr(np.array(sums).T, mode="complete")[0]
    return np.asarray(known[:, len(sums) :])


def learn_metric(scatter: Scatter, means: Floats) -> tuple[Floats, float]:
    """Omega of shape (directions, size), of norm 1, and the mean square length under it."""
    gains = (scatter.values + _RIDGE * scatter.edge + _FLOOR) ** -0.5
    gains = gains / gains.max()
    omega = (scatter.vectors * gains).T
    between = ((means @ omega.T) ** 2).sum(axis=1).mean()
    guess = float((gains**2 * scatter.values).sum() + between)
    return np.asarray(omega), max(guess, 1e-6)
