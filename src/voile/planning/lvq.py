"""The noise of prototypes, foretold from public facts in closed form.

The schedule of training (accesses, shares, steps) is that of the fit, made from the row count as if
it had been released; centre and radius are those of evenly spread rows. A learned metric cannot be
foretold: its accesses are paid for, and its space is taken to be that without one.
"""

from __future__ import annotations

import math

import numpy as np

from voile.models.features import Features
from voile.models.lvq.model import Kind
from voile.models.lvq.queries import COUNT_WEIGHT, SCATTER_WEIGHT
from voile.models.lvq.settings import (
    CENTRE_ACCESS,
    CLIP,
    CLUSTERS_ACCESS,
    MEANS_ACCESS,
    MOST_STEPS,
    REST,
    STEPS_ACCESS,
    STRIDE,
    TRAVEL,
    Settings,
    Start,
    choose,
    plan_shape,
)
from voile.models.lvq.space import Space
from voile.models.lvq.train import noise_of_average
from voile.planning.facts import ForecastFacts
from voile.planning.noise import ColumnNoise, noise_multiplier
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate
from voile.privacy.events import Gaussian
from voile.schema import Category, Number

_AWAY = 0.5
"""Distance of a class's mean from the centre, relative to the radius."""


def forecast_prototypes(
    facts: ForecastFacts, budget: Budget, kind: Kind
) -> tuple[ColumnNoise, ...]:
    """Expected noise of a prototype's coordinates.

    Parameters
    ----------
    facts : ForecastFacts
    budget : Budget
        Finite.
    kind : {"lvq1", "glvq", "gmlvq"}

    Returns
    -------
    tuple of ColumnNoise
        As parts of the range of a number, or of the rows that have a level.
    """
    schema, rows, each = facts.schema, float(facts.rows), float(facts.rows_per_unit)
    plan = calibrate(budget, plan_shape(schema, budget.delta))
    d = len(Features(facts.complete))
    radius = math.sqrt(sum(map(_variance, facts.complete.values())))
    error = noise_multiplier(plan, CENTRE_ACCESS) * math.sqrt(3.0) * each
    accesses = [event for event in plan.events if isinstance(event, Gaussian)]
    total = math.fsum(one.count / one.noise_multiplier**2 for one in accesses)
    start = Start(
        max(rows, 10.0),
        Space(facts.complete, np.zeros(d), radius),
        math.sqrt(total) / each,
        error * math.sqrt(d) / rows,
        error * d / rows / (2.0 * radius**2),
    )
    settings = Settings(kind=kind)
    schedule = choose(start, settings)

    def noise(label: str, bound: float) -> float:
        count, share = schedule.counts[label], schedule.shares[label]
        return noise_multiplier(plan, REST) * math.sqrt(count / share) * bound * each

    scatter = SCATTER_WEIGHT**2 if schedule.scatter else 0.0
    of_means = noise(MEANS_ACCESS, math.sqrt(1.0 + COUNT_WEIGHT**2 + scatter))
    counts = np.maximum(rows * np.array(facts.rates), 0.1 * rows / len(facts.rates))
    errors = of_means / counts
    kept = _AWAY**2 / (_AWAY**2 + d * errors**2)
    variance = errors**2
    several = len(schedule.labels) / len(facts.rates)
    if several > 1:
        found = noise(CLUSTERS_ACCESS, math.sqrt(1.0 + COUNT_WEIGHT**2)) / (counts / several)
        variance = found**2
    if schedule.steps:
        typical = 2.0 * settings.typical / (1.0 - settings.typical)
        one = noise(STEPS_ACCESS, CLIP)
        variance = variance + _of_steps(schedule.steps, d, rows, several, typical, one)
    relative = start.radius_error**2 + (of_means / COUNT_WEIGHT / counts) ** 2
    away = (_AWAY * radius) ** 2 / d
    whole = variance * radius**2 + start.centre_error**2 + relative * away
    two = 2.0 * math.sqrt(float(whole.mean()))
    return tuple(
        ColumnNoise.of(
            name,
            column,
            # A number's coordinate runs from -1 to 1, a level's from 0 to 1.
            min(two / 2.0 if isinstance(column, Number) else two, 1.0),
            float(kept.mean()),
        )
        for name, column in facts.complete.items()
    )


def _variance(column: Number | Category) -> float:
    """Variance of a column's coordinates if its rows are spread evenly."""
    if isinstance(column, Number):
        return 1.0 / 3.0
    return 1.0 - 1.0 / max(len(column.levels or ()), 2)


def _of_steps(
    steps: int, size: int, rows: float, several: float, typical: float, noise: float
) -> float:
    """Variance that the steps of the descent add to a coordinate of the averaged prototypes."""
    stride = STRIDE * math.sqrt(several) / rows
    rate = min(stride * MOST_STEPS / steps, TRAVEL / (noise * math.sqrt(steps * size)))
    stay = math.exp(-typical / steps)
    return noise_of_average(steps, steps // 2, stay) * (rate * noise) ** 2
