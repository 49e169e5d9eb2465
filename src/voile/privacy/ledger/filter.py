"""The privacy filter: when the next step may still be taken, after seeing the last results.

People choose what to do next by what they have seen. Composition theorems for events fixed in
advance do not cover that; a *filter* does: it keeps a running total that, by its theorem, may be
spent on adaptively chosen events as long as it never passes a limit fixed at the beginning.

- ``gdp`` (default): total of mu^2. Fully adaptive Gaussian composition: Smith & Thakurta 2022;
  Koskela, Tobaben & Honkela 2023. An entry that is not Gaussian enters with the smallest mu that
  dominates it outside an event of small probability, which is charged to ``failure``.
- ``renyi``: total of the Renyi divergence at one order, fixed when the ledger is made. Feldman &
  Zrnic 2021. Tighter for many small Laplace releases or selections.
- ``pure``: total of epsilon, for Laplace releases, selections and, outside their ``failure``,
  approximate accesses only. Rogers et al. 2016.

Each keeps a second total, ``failure``: the probability that something outside the first analysis
goes wrong. Its limit is fixed at the beginning too. Proofs: docs/proofs/filter.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np
from dp_accounting import dp_event, privacy_accountant, rdp

from voile.errors import SettingError
from voile.privacy.accounting import chance_of, compose, pure_epsilon
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.events import (
    Approximate,
    Event,
    Gaussian,
    Laplace,
    PoissonGaussian,
    Pure,
    Threshold,
    Unprotected,
)
from voile.privacy.gaussian_dp import epsilon_of, mu_of, mu_of_pure
from voile.stored import Stored


class FilterKind(StrEnum):
    """Which running total a ledger keeps; fixed when it is made."""

    GDP = "gdp"
    RENYI = "renyi"
    PURE = "pure"


@dataclass(frozen=True, slots=True)
class Amount:
    """A cost, a running total or a limit: privacy loss, and probability of failure beside it."""

    loss: Annotated[float, Stored(null=math.inf)] = 0.0
    failure: Annotated[float, Stored(null=math.inf)] = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.loss + other.loss, self.failure + other.failure)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(max(self.loss - other.loss, 0.0), max(self.failure - other.failure, 0.0))

    def within(self, limit: Amount) -> bool:
        """Whether neither part exceeds the limit; what is infinite is within nothing."""
        return self.finite and self.loss <= limit.loss and self.failure <= limit.failure

    @property
    def finite(self) -> bool:
        """Whether both parts are numbers >= 0."""
        return 0 <= self.loss < math.inf and 0 <= self.failure < math.inf


SLACK = 0.1
"""Share of delta set aside for ``failure``: thresholds, approximate accesses, and domination of
entries that are not Gaussian.

Costs about a third of a percent of mu.
"""

_ROUNDING = 1e-9
"""Relative margin kept from the true limit, far more than sums of floats can lose."""

_WORTH_ALL = 0.9
"""Share of epsilon from which a first entry may use up the whole budget by exact accounting."""

_LEAST_RATE, _MOST_NOISE, _CANCELLED = 1e-5, 100.0, 1e-5
"""Within these the accountant's Renyi divergence of a sampled access is right to that share."""

_DOMINATION_SHARE = 0.02
"""Share of the slack that one non-Gaussian entry may use to be dominated by a Gaussian."""


def compose_adaptively(events: Sequence[Event]) -> bool:
    """Whether accesses decided on one by one cost what the same ones fixed in advance cost.

    Gaussian accesses do: they compose to the very mu of their total, so a first and only job of
    them has its exact accounting, whatever it decides on the way (docs/proofs/filter.md).
    """
    return all(isinstance(event, (Gaussian, Threshold)) for event in events)


@dataclass(frozen=True)
class Filter:
    """Limits and prices of one ledger; a pure function of public facts.

    Parameters
    ----------
    budget : Budget
    relation : NeighbouringRelation
    kind : FilterKind
    slack : float
        Share of delta reserved for ``failure`` under ``gdp`` and ``renyi``.
    """

    budget: Budget
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE
    kind: FilterKind = FilterKind.GDP
    slack: float = SLACK

    def __post_init__(self) -> None:
        if (
            self.kind is not FilterKind.PURE
            and not self.budget.unlimited
            and self.budget.delta <= 0
        ):
            raise SettingError(
                "The 'delta' of a ledger's budget must be > 0: Gaussian noise needs one well below "
                "one over the number of rows. For Laplace noise and selections alone use "
                "filter='pure'."
            )
        if not 0 < self.slack < 1:
            raise SettingError(f"The 'slack' must be in (0, 1). Got {self.slack!r} instead.")

    @cached_property
    def limit(self) -> Amount:
        """What may be spent in all."""
        budget = self.budget
        if budget.unlimited:
            return Amount(math.inf, math.inf)
        if self.kind is FilterKind.PURE:
            return Amount(budget.epsilon, budget.delta)
        delta = budget.delta * (1 - self.slack)
        failure = budget.delta * self.slack
        if self.kind is FilterKind.GDP:
            loss = mu_of(budget.epsilon, delta) ** 2
        else:
            loss = _renyi_limit(self.order, budget.epsilon, delta)
        return Amount(loss * (1 - _ROUNDING), failure)

    def allows(self, total: Amount) -> bool:
        """Whether a running total is within the limit, up to a tenth of the margin kept from it.

        So that a limit divided into equal pieces can be spent to the last of them.
        """
        if not total.finite:
            return False
        grace = 1.0 if self.kind is FilterKind.PURE else 1 + _ROUNDING / 10
        return total.loss <= self.limit.loss * grace and total.failure <= self.limit.failure

    @cached_property
    def order(self) -> float:
        """The Renyi order of this ledger: the best one for Gaussian spending, fixed for ever."""
        delta = self.budget.delta * (1 - self.slack)
        orders = 1 + np.geomspace(1e-2, 1e5, 2000)
        worth = [_renyi_limit(a, self.budget.epsilon, delta) / a for a in orders]
        return float(orders[int(np.argmax(worth))])

    def price(self, events: Sequence[Event]) -> Amount:
        """What one entry of these events (fixed in advance) adds to the running total."""
        if self.budget.unlimited:
            return Amount()  # nothing is guaranteed, so nothing needs a price
        return _price(self, tuple(event for event in events if event.count))

    def _price(self, events: tuple[Event, ...]) -> Amount:
        if not events:
            return Amount()
        if any(isinstance(event, Unprotected) for event in events):
            return Amount(math.inf, math.inf)
        failure = chance_of(events)
        match self.kind:
            case FilterKind.PURE:
                return Amount(math.fsum(map(pure_epsilon, events)), failure)
            case FilterKind.RENYI:
                return Amount(self._renyi(events), failure)
            case FilterKind.GDP:  # pragma: no branch (there are no other kinds)
                pure = [event for event in events if isinstance(event, Pure)]
                if len(pure) == 1 and pure[0].count == 1:
                    # Dominated exactly, so that jobs of many single selections need no chance.
                    rest = self._price(tuple(e for e in events if e is not pure[0]))
                    return rest + Amount(mu_of_pure(pure[0].epsilon) ** 2)
                loss = compose(events, self.relation)
                if loss.other is None:
                    return Amount(loss.mu**2, failure)
                allowance = self.budget.delta * self.slack * _DOMINATION_SHARE
                return Amount(loss.gdp(allowance) ** 2, failure + allowance)

    def price_apart(self, events: Sequence[Event]) -> Amount:
        """What these accesses add to the running total if each is decided on by itself."""
        total = Amount()
        for event in events:
            if event.count:
                one = self.price((replace(event, count=1),))
                total = total + Amount(one.loss * event.count, one.failure * event.count)
        return total

    def part_alone(self, events: Sequence[Event], whole: Sequence[Event]) -> Amount:
        """What accesses out of an entry that has the whole budget cost, as a part of the limit.

        Such an entry has no price of the filter's kind (a Gaussian access costs infinitely much
        under ``pure``): its exact accounting goes by mu^2 and the chance, and so do its parts.
        """
        used, most = _gaussian_amount(events), _gaussian_amount(whole)
        loss = used.loss / most.loss if most.loss else math.inf
        failure = used.failure and (used.failure / most.failure if most.failure else math.inf)
        return Amount(self.limit.loss * loss, self.limit.failure * failure)

    def fits_alone(self, events: Sequence[Event]) -> bool:
        """Whether the entry, as the only one for ever, is within the budget and worth all of it.

        The very first entry is chosen before anything is released, so its exact accounting holds.
        An entry that exactly needs far less than the budget is not given all of it.
        """
        needed = compose(events, self.relation).epsilon(self.budget.delta)
        return _WORTH_ALL * self.budget.epsilon <= needed <= self.budget.epsilon

    def worth(self, amount: Amount) -> Budget:
        """The (epsilon, delta) of a Gaussian training that would use up this amount of loss."""
        if self.budget.unlimited:
            return self.budget
        delta = self.budget.delta
        match self.kind:
            case FilterKind.PURE:
                return Budget(amount.loss, delta)
            case FilterKind.GDP:
                return Budget(epsilon_of(math.sqrt(amount.loss), delta), delta)
            case FilterKind.RENYI:  # pragma: no branch (there are no other kinds)
                mu = math.sqrt(2 * amount.loss / self.order)
                return Budget(epsilon_of(mu, delta), delta)

    def cost(self, total: Amount) -> float:
        """The epsilon that a running total guarantees at the budget's delta, at most the budget's.

        Unlike `worth`, which says what Gaussian accesses could be had for an amount.
        """
        if self.budget.unlimited or not (total.loss or total.failure):
            return self.budget.epsilon if self.budget.unlimited else 0.0
        rest = self.budget.delta - total.failure
        match self.kind:
            case FilterKind.PURE:
                epsilon = total.loss
            case FilterKind.GDP:
                epsilon = epsilon_of(math.sqrt(total.loss), rest)
            case FilterKind.RENYI:  # pragma: no branch (there are no other kinds)
                epsilon = _epsilon_of_renyi(self.order, total.loss, rest)
        return min(max(epsilon, 0.0), self.budget.epsilon)

    def _renyi(self, events: Sequence[Event]) -> float:
        total = 0.0
        accountant = rdp.RdpAccountant(
            [self.order],
            privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE,
        )
        for event in events:
            match event:
                case Gaussian() | Threshold():
                    total += event.count * self.order / (2 * event.noise_multiplier**2)
                case Pure() | Approximate():
                    # Bun & Steinke 2016, Prop. 3.3: epsilon-DP is (epsilon^2/2)-zCDP.
                    total += event.count * min(event.epsilon, self.order * event.epsilon**2 / 2)
                case Laplace():
                    accountant.compose(dp_event.LaplaceDpEvent(event.noise_multiplier), event.count)
                case PoissonGaussian():
                    if self.relation is not NeighbouringRelation.ADD_REMOVE:
                        raise SettingError(
                            "The Renyi filter prices Poisson sampling for add/remove neighbours "
                            "only: make the ledger with filter='gdp'."
                        )
                    total += event.count * self._renyi_sampled(event)
                case _:
                    raise SettingError(f"no Renyi price is known for {event.kind!r}")
        return total + max(float(accountant.rdp[0]), 0.0)

    def _renyi_sampled(self, event: PoissonGaussian) -> float:
        """Renyi divergence of one sampled access, never below the true one.

        Where it is tiny, the sums of the accountant cancel, even to below zero: a larger rate and
        less noise, which cost more, are priced instead. It never costs more than without sampling.
        """
        rate, noise = max(event.rate, _LEAST_RATE), min(event.noise_multiplier, _MOST_NOISE)
        accountant = rdp.RdpAccountant(
            [self.order], privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE
        )
        accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)))
        sampled = float(accountant.rdp[0]) * (1 + _CANCELLED)
        return min(sampled, self.order / (2 * event.noise_multiplier**2))


def _gaussian_amount(events: Sequence[Event]) -> Amount:
    """Total of mu^2, and the chance, of accesses that `compose_adaptively`; infinite for others."""
    if not compose_adaptively(events):
        return Amount(math.inf, math.inf)
    return Amount(compose(events).mu ** 2, chance_of(events))


@lru_cache(maxsize=1024)
def _price(prices: Filter, events: tuple[Event, ...]) -> Amount:
    """Remembered, because jobs of many accesses ask the same again and domination takes a while."""
    return prices._price(events)


def _epsilon_of_renyi(order: float, loss: float, delta: float) -> float:
    """Epsilon that a Renyi divergence at ``order`` implies (Canonne, Kamath & Steinke 2020)."""
    if delta <= 0:
        return math.inf
    return loss + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


def _renyi_limit(order: float, epsilon: float, delta: float) -> float:
    """Largest Renyi divergence at ``order`` that implies (epsilon, delta)-DP.

    Canonne, Kamath & Steinke 2020, Proposition 12.
    """
    a = order
    return max(epsilon - math.log1p(-1 / a) + (math.log(delta) + math.log(a)) / (a - 1), 0.0)
