"""What a list of events costs: epsilon for a delta, delta for an epsilon.

Gaussian events compose in closed form; everything else goes through the privacy loss distributions
of Google's dp-accounting, always with its pessimistic estimate. This is the composition of events
that were *fixed in advance*; across decisions made after seeing results the ledger's filter counts
(privacy/ledger/filter.py). Proofs: docs/proofs/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from dp_accounting import privacy_accountant
from dp_accounting.pld import common as pld_common
from dp_accounting.pld import privacy_loss_distribution as pld_module
from scipy.optimize import brentq

from voile.errors import SettingError
from voile.privacy.budget import NeighbouringRelation
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
from voile.privacy.gaussian_dp import delta_of, epsilon_of

_FINE = 1e-4
_COARSENESS = 10
"""Discretisation of privacy losses, and how much coarser it may be to find where to look."""

_LARGEST_LOSS = 500.0
"""Loss of one look beyond which nothing is protected, and distributions outgrow any memory."""

_NEIGHBOURS = {
    NeighbouringRelation.ADD_REMOVE: privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighbouringRelation.REPLACE_ONE: privacy_accountant.NeighboringRelation.REPLACE_ONE,
}


@dataclass(frozen=True)
class Loss:
    """The composed privacy loss of events fixed in advance.

    Attributes
    ----------
    mu : float
        GDP parameter of all Gaussian events together.
    failure : float
        Probability that something outside that analysis goes wrong: a threshold lets a lone value
        pass, an approximate access discloses its rows. Added to every delta.
    other : PrivacyLossDistribution or None
        Composition of *all* events when some are not Gaussian (then it includes mu).
    unprotected : bool
        Whether any event has no noise at all.
    pure : float
        Sum of epsilons when all events are pure (Laplace, selection) but for their failures, else
        ``inf``. It holds for delta 0, where discretised distributions have nothing to say.
    """

    mu: float
    failure: float
    other: Any = None
    unprotected: bool = False
    pure: float = math.inf
    _known: dict[float, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def delta(self, epsilon: float) -> float:
        """Smallest delta for which the events are (epsilon, delta)-DP."""
        if self.unprotected:
            return 1.0
        if self.other is None:
            value = float(delta_of(self.mu, epsilon))
        else:
            value = float(self.other.get_delta_for_epsilon(epsilon))
            if epsilon >= self.pure:
                value = 0.0
        return min(1.0, value + self.failure)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon for which the events are (epsilon, delta)-DP; ``inf`` if none is."""
        if self.unprotected or self.failure > delta:
            return math.inf
        rest = delta - self.failure
        if self.other is None:
            return epsilon_of(self.mu, rest)
        # Losses are kept, and asked again by every fit with the same plan; the answer takes 0.1 s.
        if rest not in self._known:
            self._known[rest] = float(self.other.get_epsilon_for_delta(rest))
        return min(self._known[rest], self.pure)

    def gdp(self, failure: float) -> float:
        """Smallest mu for which the loss is mu-GDP outside an event of probability ``failure``.

        Exact for Gaussian events (which do not use ``failure``). Otherwise the curve
        delta(epsilon) must lie below failure + (1 - failure) delta_mu(epsilon) for all epsilon >= 0
        in both directions; it is checked at grid points, each against the *next* point of the
        decreasing right-hand side, which proves it in between too.
        """
        if self.other is None:
            return self.mu
        return _dominating_mu(self.other, failure)


def _dominating_mu(distribution: Any, failure: float) -> float:
    reach = max(float(distribution.get_epsilon_for_delta(failure)), 0.0)
    if math.isinf(reach):
        return math.inf
    if reach == 0:
        return 0.0
    # At `reach` the curve is at most `chance`, and it decreases from there on.
    points = np.linspace(0.0, reach, 2048)
    needed = np.asarray(distribution.get_delta_for_epsilon(points), dtype=np.float64)
    excess = (needed[:-1] - failure) / (1 - failure)

    def worst(log_mu: float) -> float:
        return float(np.max(excess - delta_of(math.exp(log_mu), points[1:])))

    low, high = math.log(1e-9), math.log(1e3)
    if worst(high) > 0:
        return math.inf
    if worst(low) <= 0:
        return 1e-9
    root = float(brentq(worst, low, high, xtol=1e-7))
    # A root is where the worst violation is zero up to the tolerance: step to the safe side.
    return math.exp(root + 1e-6)


def _distribution(event: Event, relation: NeighbouringRelation, interval: float) -> Any:
    """The dp-accounting distribution of one event, all its repetitions included."""
    match event:
        case Gaussian() | Threshold():
            return pld_module.from_gaussian_mechanism(
                event.noise_multiplier / math.sqrt(event.count),
                value_discretization_interval=interval,
            )
        case PoissonGaussian():
            one = pld_module.from_gaussian_mechanism(
                event.noise_multiplier,
                value_discretization_interval=interval,
                sampling_prob=event.rate,
                neighboring_relation=_NEIGHBOURS[relation],
            )
        case Laplace():
            one = pld_module.from_laplace_mechanism(
                event.noise_multiplier, value_discretization_interval=interval
            )
        case Pure() | Approximate():
            # The delta of an approximate access is a chance, counted beside the distributions.
            one = pld_module.from_privacy_parameters(
                pld_common.DifferentialPrivacyParameters(event.epsilon, 0.0),
                value_discretization_interval=interval,
            )
        case _:
            raise SettingError(f"no privacy loss is known for events of kind {event.kind!r}")
    return one if event.count == 1 else one.self_compose(event.count)


def chance_of(events: Sequence[Event]) -> float:
    """Probability of what the distributions do not cover.

    A threshold lets a lone value pass, or an approximate access discloses its rows. The noise
    itself adds nothing: its samplers are exact (docs/proofs/noise.md).
    """
    return math.fsum(
        event.count * event.delta for event in events if isinstance(event, (Threshold, Approximate))
    )


def compose(
    events: Sequence[Event],
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    *,
    coarse: bool = False,
) -> Loss:
    """Compose events that were fixed in advance.

    Parameters
    ----------
    events : sequence of Event
    relation : NeighbouringRelation
        Matters for Poisson-sampled events; others carry it in their noise multiplier.
    coarse : bool
        Quicker and more pessimistic, where privacy losses must be discretised.
    """
    return _compose(tuple(event for event in events if event.count), relation, coarse)


# Few: a discretised distribution may take tens of megabytes.
@lru_cache(maxsize=16)
def _compose(events: tuple[Event, ...], relation: NeighbouringRelation, coarse: bool) -> Loss:
    failure = chance_of(events)
    if any(isinstance(event, Unprotected) or _hopeless(event) for event in events):
        return Loss(math.inf, failure, unprotected=True)
    gaussians = [event for event in events if isinstance(event, (Gaussian, Threshold))]
    others = [event for event in events if not isinstance(event, (Gaussian, Threshold))]
    mu = math.sqrt(math.fsum(event.count / event.noise_multiplier**2 for event in gaussians))
    if not others:
        return Loss(mu, failure)
    accesses = math.fsum(event.count for event in others)
    if mu * mu > 2 * _LARGEST_LOSS or accesses >= 2.0**53:  # the same, in a mixture
        return Loss(math.inf, failure, unprotected=True)
    # Fine against the spread of the whole loss, so that small budgets are not rounded away.
    spread = math.sqrt(math.fsum(mu_squared(event) for event in events))
    interval = max(min(_FINE, spread / 300), 1e-7) * (_COARSENESS if coarse else 1)
    merged: dict[Event, int] = {}
    for event in others:
        one = replace(event, count=1)
        merged[one] = merged.get(one, 0) + event.count
    parts = [
        _distribution(replace(one, count=count), relation, interval)
        for one, count in merged.items()
    ]
    if mu > 0:
        parts.append(_distribution(Gaussian(noise_multiplier=1 / mu), relation, interval))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return Loss(mu, failure, other=whole, pure=math.fsum(map(pure_epsilon, events)))


def _hopeless(event: Event) -> bool:
    """Whether an access loses so much that counting is pointless; Gaussian ones need no grid."""
    match event:
        case Laplace():
            return 1 / event.noise_multiplier > _LARGEST_LOSS
        case PoissonGaussian():
            return 1 / event.noise_multiplier**2 > 2 * _LARGEST_LOSS
        case Pure() | Approximate():
            return event.epsilon > _LARGEST_LOSS
        case _:
            return False


def mu_squared(event: Event) -> float:
    """Part of mu^2 that an event takes: exact for Gaussian ones, else by the central limit theorem.

    For comparing parts and choosing grids; guarantees never rest on it.
    """
    match event:
        case Gaussian() | Threshold() | Laplace():
            return event.count / event.noise_multiplier**2
        case PoissonGaussian():
            # Bu, Dong, Long & Su 2020; never more than without sampling.
            whole = 1 / event.noise_multiplier**2
            return event.count * min(event.rate**2 * math.expm1(min(whole, 100.0)), whole)
        case Pure() | Approximate():
            return event.count * event.epsilon**2
        case _:
            return math.nan


def pure_epsilon(event: Event) -> float:
    """Epsilon of an event at delta 0, outside its chance; ``inf`` if it has none."""
    match event:
        case Laplace():
            return event.count / event.noise_multiplier
        case Pure() | Approximate():
            return event.count * event.epsilon
        case _:
            return math.inf
