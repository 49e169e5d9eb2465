"""The noise of locally linear maps, foretold from public facts in closed form.

Steps are divided by the size of the noised gradients, so the noise on the weights hardly depends on
epsilon. What does is how far the maps get: with more noise, a step is a smaller part of the way.
The model's own standard errors are upper estimates, and so are these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from voile.models.descent import STEPS_ACCESS, Adam
from voile.models.features import Features
from voile.models.locally_linear.settings import Schedule, Settings, choose, plan_shape
from voile.planning.facts import ForecastFacts
from voile.planning.noise import ColumnNoise, noise_multiplier
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate
from voile.schema import Category, Number

_PULL = 0.5
"""Typical length of a row's gradient, relative to the clip."""

_CURVATURE = 0.5
"""Of the loss by the difference of two classes' scores, at equal chances of both."""


def forecast_maps(facts: ForecastFacts, budget: Budget) -> tuple[ColumnNoise, ...]:
    """Expected noise of what each column adds to the log-odds of two classes.

    Parameters
    ----------
    facts : ForecastFacts
    budget : Budget
        Finite.

    Returns
    -------
    tuple of ColumnNoise
        In log-odds, for a row of typical length.
    """
    schedule = choose(Settings(), budget, sampled=facts.rows_per_unit == 1)
    plan = calibrate(budget, plan_shape(facts.schema, schedule, budget.delta))
    found = foretell_weights(facts, schedule, noise_multiplier(plan, STEPS_ACCESS))
    # The maps of a class are blended, and two classes are compared.
    score = 2.0 * found.error * math.sqrt(2.0 / schedule.maps)
    squares = {name: _square(column) for name, column in facts.complete.items()}
    whole = sum(squares.values())
    parts = {name: square / whole for name, square in squares.items()}
    return tuple(
        ColumnNoise.of(
            name,
            column,
            score * math.sqrt(parts[name]),
            found.kept(parts[name] / max(len(getattr(column, "levels", None) or ()), 1)),
        )
        for name, column in facts.complete.items()
    )


@dataclass(frozen=True)
class ForetoldWeights:
    """Standard error of a weight, and how fast an effect is learned.

    Attributes
    ----------
    error : float
    pace : float
        Part of the way that the averaged maps go, per mean square of a coordinate; 1 and more is
        all of it.
    """

    error: float
    pace: float

    def kept(self, square: float) -> float:
        """Part of an effect that is learned, of a coordinate with this mean square."""
        return -math.expm1(-self.pace * square)


def foretell_weights(
    facts: ForecastFacts, schedule: Schedule, multiplier: float
) -> ForetoldWeights:
    """Noised gradients through the steps of the fit.

    Parameters
    ----------
    multiplier : float
        Noise on the sum of a lot, relative to the clip.
    """
    classes, size = len(facts.rates), len(Features(facts.complete))
    lot = max(facts.rows * schedule.rate, 1.0)
    noise = multiplier * schedule.clip * facts.rows_per_unit / lot
    weights = classes * schedule.maps * (size + 1)
    # Beside the noise, which rows are in the lot: gradients of independent rows.
    scatter = _PULL * schedule.clip / math.sqrt(weights * lot)
    scale = math.hypot(noise, scatter)
    rate = schedule.learning_rate_for(classes)
    adam = Adam(np.zeros(2), rate, schedule.steps, schedule.average, schedule.pull)
    for _ in range(schedule.steps):
        adam.step(np.array([scale, -scale]))
    # Newton's way is the slope over the curvature (p (1 - p) for two classes that both move); a
    # step goes that slope, a map's share of it, over the scale.
    steps = (1.0 - schedule.average / 2.0) * schedule.steps
    pace = steps * rate * _CURVATURE / (schedule.maps * scale)
    return ForetoldWeights(adam.error(noise), pace)


def _square(column: Number | Category) -> float:
    """Mean square of a column's coordinates if its rows are spread evenly."""
    return 1.0 / 3.0 if isinstance(column, Number) else 1.0
