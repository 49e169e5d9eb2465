"""From released gradient sums to the weights of a network, and where its noise goes.

Everything here reads released values and public randomness only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from voile.models.descent import Adam, descend, is_plain
from voile.models.networks.placement import (
    Placed,
    made_up_images,
    selective,
    sparse,
    uniform,
)
from voile.models.networks.queries import NetworkSteps
from voile.models.networks.settings import Placement, Schedule
from voile.models.public_numbers import Lot
from voile.privacy.grant import Grant
from voile.privacy.vault import PrivateTable

Floats = NDArray[np.float64]

JUDGED = ("selective", "shuffled")
"""Placements that judge importance on images."""

_PLACED_ANEW = 10
"""Steps after which importances are found anew."""

_SENT = 0.5
"""Part of the coordinates that "sparse" sends."""


class Placer:
    """Places the noise of each step by the released weights.

    Parameters
    ----------
    placement : str
    images : tensor of shape (rows, channels, height, width), or None
        Public, standardised; made up without them.
    rng : Generator
        Public.
    """

    def __init__(
        self,
        placement: Placement,
        images: torch.Tensor | None,
        rng: np.random.Generator,
    ) -> None:
        self._placement, self._images, self._chance = placement, images, rng
        self._placed = uniform()

    def place(self, number: int, query: NetworkSteps) -> Placed:
        """How the noise of step ``number`` is placed."""
        if self._placement == "sparse" and number == 0:
            # By the initial weights, for good: what is not sent stays as it began.
            self._placed = sparse(query.weights, _SENT)
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
    schedule: Schedule,
    rows: float,
    placer: Placer,
) -> Floats:
    """Descend by noised sums over sampled lots; the mean weights of the last steps.

    Parameters
    ----------
    query : NetworkSteps
        With the weights at the start.
    rows : float
        Released or public number of rows.
    """
    plain, count = is_plain(grant), len(query.weights)
    rate = schedule.learning_rate_for(count)
    adam = Adam(query.weights, rate, schedule.steps, schedule.average)

    def ask(number: int, turn: Lot | None) -> tuple[NetworkSteps, Callable[[Floats], Floats]]:
        placed = placer.place(number, replace(query, weights=adam.weights))
        # Without noise there is nothing to lose by floating point.
        step = replace(
            query,
            weights=adam.weights,
            groups=placed.groups,
            scales=placed.scales,
            mask=placed.mask,
            turn=turn,
            exact=not plain or placed.groups is not None or placed.mask is not None,
        )
        return step, lambda values: placed.gradient(values, count)

    descend(table, grant, adam, (schedule.rate, rows), ask)
    return adam.mean
