"""Choosing some clients for a round: what it costs, and what it does not give.

A whole client is hidden by being chosen secretly; a single row is not: the other rows of its client
tell whether the client took part. Proof: docs/proofs/federated.md ("Sampling").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from dp_accounting import privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as pld_module
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom

from voile.errors import PlanError, SettingError
from voile.privacy.accounting import compose, mu_squared
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.updates import ClientWork
from voile.privacy.events import PoissonGaussian, Unprotected
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms.release import Release
from voile.privacy.vault import PrivateTable, open_rows

_NOISELESS_BITS = 30
_TAIL = 1e-3
"""Numbers of rounds that are less probable than this part of delta are counted as disclosures."""

_LARGEST_EPSILON = 200.0

_NEIGHBOURS = {
    NeighbouringRelation.ADD_REMOVE: privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighbouringRelation.REPLACE_ONE: privacy_accountant.NeighboringRelation.REPLACE_ONE,
}


@dataclass(frozen=True)
class SampledClients:
    """Example-level privacy when clients are sampled, and then their rows.

    Attributes
    ----------
    noise_multiplier : float
        Noise of a round's sum, relative to what one row may add.
    rounds : int
    client_rate : float
        Probability p that a client takes part in a round, independently.
    row_rate : float
        Probability q that a row of a client that takes part is in the sum, independently.
    """

    noise_multiplier: float
    rounds: int
    client_rate: float
    row_rate: float

    def __post_init__(self) -> None:
        PoissonGaussian(self.rounds, self.noise_multiplier, self.row_rate)  # its own checks
        PoissonGaussian(self.rounds, self.noise_multiplier, self.client_rate)
        if not 1 <= self.rounds <= 10_000:
            raise SettingError(f"The 'rounds' must be from 1 to 10,000. Got {self.rounds!r}.")

    def naive_epsilon(self, delta: float) -> float:
        """The usual claim: every row sampled at the rate p q. It is wrong: it is too small."""
        rate = self.client_rate * self.row_rate
        event = PoissonGaussian(self.rounds, self.noise_multiplier, rate)
        return compose([event]).epsilon(_checked(delta))

    def epsilon(
        self, delta: float, relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE
    ) -> float:
        """Smallest epsilon for one row, against somebody who sees who takes part.

        Who takes part does not depend on the rows, so the loss of what is seen, participation and
        sums, is a mixture: delta(eps) = sum over n of P(n of ``rounds``) delta_n(eps), with delta_n
        of n rounds at the rate q, n binomial. It is exact for a client whose other rows move the
        sums by far more than the noise (up to the discretisation of losses, which is upwards).
        """
        numbers, chances = self._likely_numbers(_checked(delta))
        losses = self._losses(numbers, relation)

        def excess(epsilon: float) -> float:
            deltas = [one.get_delta_for_epsilon(epsilon) for one in losses]
            return math.fsum(chances * np.array(deltas)) + _TAIL * delta - delta

        if not losses or excess(0.0) <= 0:
            return 0.0
        if excess(_LARGEST_EPSILON) > 0:
            return math.inf
        return float(brentq(excess, 0.0, _LARGEST_EPSILON, xtol=1e-4)) + 1e-4

    def _likely_numbers(self, delta: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Numbers of rounds of a client with their probabilities, without improbable ones and 0."""
        numbers = np.arange(self.rounds + 1)
        chances = binom(self.rounds, self.client_rate).pmf(numbers)
        # The least probable numbers, as long as all of them together are below the tail.
        order = np.argsort(chances, kind="stable")
        rare = order[np.cumsum(chances[order]) < _TAIL * delta]
        chances[rare] = 0.0
        chances[0] = 0.0  # without a look there is no loss
        kept = np.flatnonzero(chances)
        return kept, chances[kept]

    def _losses(self, numbers: NDArray[np.int64], relation: NeighbouringRelation) -> list[Any]:
        """Privacy loss distributions of so many rounds, each made from the one before."""
        if not len(numbers):
            return []
        most = PoissonGaussian(int(numbers[-1]), self.noise_multiplier, self.row_rate)
        one = pld_module.from_gaussian_mechanism(
            self.noise_multiplier,
            value_discretization_interval=min(max(math.sqrt(mu_squared(most)) / 300, 1e-6), 1e-3),
            sampling_prob=self.row_rate,
            neighboring_relation=_NEIGHBOURS[relation],
        )
        result = [one.self_compose(int(numbers[0]))]
        for before, after in pairwise(numbers.tolist()):
            more = one if after - before == 1 else one.self_compose(after - before)
            result.append(result[-1].compose(more))
        return result


def _checked(delta: float) -> float:
    if not 0.0 < delta < 1.0:
        raise SettingError(f"The 'delta' must be between 0 and 1. Got {delta!r} instead.")
    return delta


def unprotected_client_sum(
    table: PrivateTable, work: ClientWork, ticket: Ticket, fraction: float
) -> Release:
    """Sum of the vectors of some clients without noise: for algorithms that guarantee nothing.

    Parameters
    ----------
    table : PrivateTable
        Of a federation.
    work : ClientWork
    ticket : Ticket
        One access of an ``Unprotected`` event.
    fraction : float
        Probability that a client takes part, by a coin of its own.
    """
    if not isinstance(ticket.event, Unprotected):
        raise PlanError(
            f"This access was paid as a {ticket.event.kind!r} event: use client_sum, which adds "
            "its noise."
        )
    grid = 2.0 ** (math.floor(math.log2(work.bound)) - _NOISELESS_BITS)
    total = open_rows(table, ticket).updates(work, grid, rate=fraction)
    return Release(ticket.label, total.astype(np.float64) * grid, 0.0, grid)
