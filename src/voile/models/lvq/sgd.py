"""DP-SGD as Brinkrolf et al. (2019) publish it, with an honest accountant.

Private class means, then many small steps on Poisson-sampled lots, each row's gradient clipped in
closed form. Their formula for the noise is not valid in general; here the noise is solved for with
the accountant. GMLVQ learns Omega by gradient too. It is there to be compared with: `gaussian` is
more accurate at the same budget. Bounds: docs/proofs/lvq.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from voile.models.lvq.evidence import weigh_classes
from voile.models.lvq.means import in_ball, release_means, spread_out
from voile.models.lvq.metric_steps import MetricPulls
from voile.models.lvq.queries import Pulls
from voile.models.lvq.settings import MEANS_ACCESS, STEPS_ACCESS, Settings, Start, labels_of
from voile.models.lvq.train import Trained
from voile.privacy.calibrate import gaussian_step, poisson_step
from voile.privacy.events import Step, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep

_MEANS = 0.2
"""Share for the initialisation, as published."""

_RATE_OF_LEARNING = 0.1


def step_count(settings: Settings) -> int:
    """Lots: as many as pass over the rows ``epochs`` times on average."""
    return max(round(settings.epochs / settings.rate), 1)


def shape(settings: Settings, left: float) -> tuple[Step, ...]:
    """Looks and their shares of mu^2."""
    steps = poisson_step(
        STEPS_ACCESS, left * (1.0 - _MEANS), rate=settings.rate, count=step_count(settings)
    )
    return gaussian_step(MEANS_ACCESS, left * _MEANS), steps


def train(
    table: PrivateTable,
    grant: Grant,
    start: Start,
    settings: Settings,
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Private means, then steps on lots at a falling rate; the mean of the last tenth is kept."""
    space, m = start.space, start.space.class_count
    keep(table, space.columns, space.prepare)
    seen = release_means(table, grant, start)
    means = in_ball(seen.means)
    labels = labels_of(settings, space.schema, 1)
    now = spread_out(means[labels], labels, settings.random_state)
    steps, lot = step_count(settings), max(start.rows * settings.rate, 1.0)
    metric = settings.kind == "gmlvq"
    slope = 1.0
    omega = np.eye(space.size)
    query = Pulls(space, now, labels, "glvq", slope, settings.clip)
    plain_lots = isinstance(grant.plan[STEPS_ACCESS], Unprotected)
    lots = max(round(1.0 / settings.rate), 1)
    averaged, taken = np.zeros_like(now), 0
    averaged_omega = np.zeros_like(omega)
    for number in range(steps):
        rate = _RATE_OF_LEARNING * (1.0 - number / steps) / lot * m
        # Without noise there is nothing to gain from chance: lots take turns.
        turn = (number % lots, lots) if plain_lots else None
        if metric:
            pulls = MetricPulls(space, now, labels, slope, settings.clip, omega, turn)
            release = gaussian_sum(table, pulls, grant.take(STEPS_ACCESS))
            by_point, by_omega = pulls.split(release.values)
            now = in_ball(now - rate * by_point)
            omega = omega - rate / m * by_omega
            # Of norm sqrt(size), as the identity has it: the cost does not see the scale.
            omega = omega * math.sqrt(space.size) / max(float(np.linalg.norm(omega)), 1e-12)
        else:
            query = replace(query, prototypes=now, lot=turn)
            release = gaussian_sum(table, query, grant.take(STEPS_ACCESS))
            now = in_ball(now - rate * release.values.reshape(now.shape))
        if number >= math.floor(0.9 * steps):
            averaged += now
            averaged_omega += omega
            taken += 1
        if number % 50 == 0:
            progress(number + 1)
    # The noise of all steps; the cost draws prototypes back, so this is an upper estimate.
    walked = (_RATE_OF_LEARNING / lot * m * release.standard_error) ** 2 * steps / 3.0
    variance = (seen.errors**2)[labels] + walked
    weight = table.weight_per_unit
    pictures = settings.image_shape is not None
    evidence = weigh_classes(
        seen, start, labels, weight, moved=1.0, pictures=pictures, learned=metric
    )
    if metric:
        whole = averaged_omega / taken
        # Prototypes live in the space before omega; a model's prototypes are seen through it.
        return Trained(
            replace(space, omega=whole),
            (averaged / taken) @ whole.T,
            variance,
            labels,
            means @ whole.T,
            seen.counts,
            seen.count_error,
            evidence,
        )
    counts, error = seen.counts, seen.count_error
    return Trained(space, averaged / taken, variance, labels, means, counts, error, evidence)
