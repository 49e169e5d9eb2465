"""From released gradient sums to weights: Adam, and the mean over the last steps.

Everything here reads released values and public randomness only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.public_numbers import Lot
from voile.privacy.budget import Budget
from voile.privacy.calibrate import gaussian_step, poisson_step
from voile.privacy.events import Step, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Query
from voile.privacy.vault import PrivateTable
from voile.progress import progress_bar

Floats = NDArray[np.float64]

STEPS_ACCESS = "steps"

_MOMENTUM, _MEMORY = 0.9, 0.99
"""Decay of the means of gradients and of their squares."""


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
        self._rate, self.steps = rate, steps
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

    def steepest(self, maps: int) -> float:
        """The largest curvature that `responses` reckons with: steps would overshoot."""
        return 10.0 * max(self._scale(), 1e-300) * maps / self._rate

    def responses(self, curvatures: Floats, maps: int) -> tuple[Floats, Floats]:
        """What forces do to the mean weights, where the loss is curved.

        For weights that ``maps`` maps share, each moved by its own part of their common gradient,
        which is the curvature times the distance from the best weight, and a force.

        Parameters
        ----------
        curvatures : ndarray of shape (n,)
            At most `steepest`.

        Returns
        -------
        forced, shaken : ndarray of shape (n,)
            Change by a force of 1 that is the same in all steps, and variance by independent ones
            of variance 1.
        """
        size = self._rate / max(self._scale(), 1e-300) / maps
        kept = max(self._done - self._from, 1)
        forced, shaken = np.zeros(len(curvatures)), np.zeros(len(curvatures))
        # Backwards: what the weight and the momentum after a step do to the mean of the last ones.
        by_weight, by_momentum = np.zeros(len(curvatures)), np.zeros(len(curvatures))
        for number in range(self._done, 0, -1):
            by_weight = (1.0 - self._pull) * (
                by_weight + (1.0 / kept if number > self._done - kept else 0.0)
            )
            moved = by_momentum - size / (1.0 - _MOMENTUM**number) * by_weight
            by_force = (1.0 - _MOMENTUM) * moved
            forced += by_force
            shaken += by_force**2
            by_weight, by_momentum = by_weight + curvatures * by_force, _MOMENTUM * moved
        return forced, shaken


def steps_share(left: float, *, rate: float, count: int) -> Step:
    """All steps of a descent with their share of mu^2; lots of a part of the rows are sampled."""
    if rate < 1.0:
        return poisson_step(STEPS_ACCESS, left, rate=rate, count=count)
    return gaussian_step(STEPS_ACCESS, left, count=count)


def choose_rate(
    rate: float, budget: Budget, *, sampled: bool, asked: float | None, name: str
) -> float:
    """Part of the rows in a lot: all of them where rows may not be sampled one by one.

    Parameters
    ----------
    rate : float
        What was asked for, or the rule's.
    sampled : bool
        Whether they may (they may not if a privacy unit has several).
    asked : float, optional
        What the user asked for, refused if it cannot be (SettingError).
    name : str
        The setting that can.
    """
    if sampled or budget.unlimited:
        return rate
    if asked not in (None, 1.0):
        raise SettingError(
            "Rows are sampled one by one, which proves nothing for units of several rows: use "
            f"Unit(..., rows=1), or {name}."
        )
    return 1.0


def is_plain(grant: Grant) -> bool:
    """Whether steps have no noise, so that there is nothing to gain from chance."""
    return isinstance(grant.plan[STEPS_ACCESS], Unprotected)


def descend(
    table: PrivateTable,
    grant: Grant,
    adam: Adam,
    lot: tuple[float, float],
    ask: Callable[[int, Lot | None], tuple[Query, Callable[[Floats], Floats]]],
) -> float:
    """Take all steps by noised sums over sampled lots.

    Parameters
    ----------
    adam : Adam
        With the weights at the start.
    lot : tuple of float
        Part of the rows in a lot, and the released number of rows.
    ask : callable
        Given the number of a step and its lot (None: whichever rows are sampled), the query at the
        present weights, and what turns its sum into one of gradients.

    Returns
    -------
    float
        Standard deviation of the noise on the last step's mean gradient.
    """
    rate, rows = lot
    lots, size = max(round(1.0 / rate), 1), max(rows * rate, 1.0)
    plain, noise = is_plain(grant), 0.0
    with progress_bar("training", adam.steps) as progress:
        for number in range(adam.steps):
            # Without noise there is nothing to gain from chance: lots take turns.
            query, read = ask(number, (number % lots, lots) if plain and lots > 1 else None)
            release = gaussian_sum(table, query, grant.take(STEPS_ACCESS))
            noise = release.standard_error / size
            adam.step(read(release.values) / size)
            progress(number + 1)
    return noise
