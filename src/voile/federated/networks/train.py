"""From released gradient sums to weights: Adam, and the mean over the last steps.

Everything here reads released values and public chance only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from voile.federated.networks.placement import (
    Placed,
    made_up_images,
    selective,
    sparse,
    uniform,
)
from voile.federated.networks.queries import NetworkSteps
from voile.federated.networks.settings import Course, Placement
from voile.models.locally_linear.train import Adam
from voile.privacy.events import Unprotected
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable

Floats = NDArray[np.float64]

STEPS_LOOK = "steps"

JUDGED = ("selective", "shuffled")
"""Placements that judge importance on images."""

_PLACED_ANEW = 10
"""Steps after which importances are found anew."""


class Placer:
    """Places the noise of each step by the released weights.

    Parameters
    ----------
    placement : str
    kept_share : float
        Part of the coordinates that "sparse" sends.
    images : tensor of shape (rows, channels, height, width), or None
        Public, standardised; made up without them.
    chance : Generator
        Public.
    """

    def __init__(
        self,
        placement: Placement,
        kept_share: float,
        images: torch.Tensor | None,
        chance: np.random.Generator,
    ) -> None:
        self._placement, self._share = placement, kept_share
        self._images, self._chance = images, chance
        self._placed = uniform()

    def place(self, number: int, query: NetworkSteps) -> Placed:
        """How the noise of step ``number`` is placed."""
        if self._placement == "sparse" and number == 0:
            # By the initial weights, for good: what is not sent stays as it began.
            self._placed = sparse(query.weights, self._share)
        elif self._placement in JUDGED and number % _PLACED_ANEW == 0:
            description = query.description
            if self._images is None:
                self._images = made_up_images(description, self._chance)
            shuffle = self._chance if self._placement == "shuffled" else None
            self._placed = selective(description, query.weights, self._images, shuffle)
        return self._placed


def train(
    table: PrivateTable,
    grant: Grant,
    query: NetworkSteps,
    course: Course,
    rows: float,
    placer: Placer,
    progress: Callable[[int], None] = lambda done: None,
) -> Floats:
    """Descend by noised sums over sampled lots; the mean weights of the last steps.

    Parameters
    ----------
    query : NetworkSteps
        With the weights at the start.
    rows : float
        Released or public number of rows.
    """
    plain = isinstance(grant.plan[STEPS_LOOK], Unprotected)
    lots = max(round(1.0 / course.rate), 1)
    lot = max(rows * course.rate, 1.0)
    count = len(query.weights)
    adam = Adam(query.weights, course.learning_rate_for(count), course.steps, course.average)
    for number in range(course.steps):
        placed = placer.place(number, replace(query, weights=adam.weights))
        # Without noise there is nothing to gain from chance, nor to lose by floating point.
        step = replace(
            query,
            weights=adam.weights,
            groups=placed.groups,
            scales=placed.scales,
            mask=placed.mask,
            turn=(number % lots, lots) if plain and lots > 1 else None,
            exact=not plain or placed.groups is not None or placed.mask is not None,
        )
        release = gaussian_sum(table, step, grant.take(STEPS_LOOK))
        adam.step(placed.gradient(release.values, count) / lot)
        progress(number + 1)
    return adam.mean
