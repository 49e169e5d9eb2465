"""The noise of locally linear maps, foretold from public facts in closed form.

Steps are divided by the size of the noised gradients, so the noise on the weights hardly depends on
epsilon. What does is how far the maps get: with more noise, a step is a smaller part of the way.
The model's own standard errors are upper estimates, and so are these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from voile.models.features import Features
from voile.models.locally_linear.fit import _shape
from voile.models.locally_linear.settings import Course, Settings, choose
from voile.models.locally_linear.train import STEPS_LOOK, Adam
from voile.planning.facts import Facts
from voile.planning.noise import ColumnNoise
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate
from voile.privacy.events import Gaussian, Plan, PoissonGaussian
from voile.schema import Category, Number

_PULL = 0.5
"""Typical length of a row's gradient, relative to the clip."""

_CURVATURE = 0.5
"""Of the loss by the difference of two classes' scores, at equal chances of both."""


def forecast_maps(facts: Facts, budget: Budget) -> tuple[ColumnNoise, ...]:
    """Expected noise of what each column adds to the log-odds of two classes.

    Parameters
    ----------
    facts : Facts
    budget : Budget
        Finite.

    Returns
    -------
    tuple of ColumnNoise
        In log-odds, for a row of typical length.
    """
    settings = Settings()
    course = choose(settings, budget, sampled=facts.rows_per_unit == 1)
    shape = Plan(tuple(_shape(facts.schema, course, settings, budget.delta)))
    event = calibrate(budget, shape)[STEPS_LOOK]
    assert isinstance(event, (Gaussian, PoissonGaussian))
    found = foretell_weights(facts, course, event.noise_multiplier)
    # The maps of a class are blended, and two classes are compared.
    score = 2.0 * found.error * math.sqrt(2.0 / course.maps)
    squares = {name: _square(column) for name, column in facts.complete.items()}
    whole = sum(squares.values())
    result = []
    for name, column in facts.complete.items():
        number, levels = isinstance(column, Number), len(getattr(column, "levels", None) or ())
        part = squares[name] / whole
        result.append(
            ColumnNoise(
                name,
                "number" if number else "category",
                1 if number else levels,
                score * math.sqrt(part),
                found.kept(part / max(levels, 1)),
            )
        )
    return tuple(result)


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


def foretell_weights(facts: Facts, course: Course, multiplier: float) -> ForetoldWeights:
    """Noised gradients through the steps of the fit.

    Parameters
    ----------
    multiplier : float
        Noise on the sum of a lot, relative to the clip.
    """
    classes, size = len(facts.rates), len(Features(facts.complete))
    lot = max(facts.rows * course.rate, 1.0)
    noise = multiplier * course.clip * facts.rows_per_unit / lot
    weights = classes * course.maps * (size + 1)
    # Beside the noise, which rows are in the lot: gradients of independent rows.
    scatter = _PULL * course.clip / math.sqrt(weights * lot)
    scale = math.hypot(noise, scatter)
    rate = course.learning_rate_for(classes)
    adam = Adam(np.zeros(2), rate, course.steps, course.average, course.pull)
    for _ in range(course.steps):
        adam.step(np.array([scale, -scale]))
    # Newton's way is the slope over the curvature (p (1 - p) for two classes that both move); a
    # step goes that slope, a map's share of it, over the scale.
    steps = (1.0 - course.average / 2.0) * course.steps
    pace = steps * rate * _CURVATURE / (course.maps * scale)
    return ForetoldWeights(adam.error(noise), pace)


def _square(column: Number | Category) -> float:
    """Mean square of a column's coordinates if its rows are spread evenly."""
    return 1.0 / 3.0 if isinstance(column, Number) else 1.0
