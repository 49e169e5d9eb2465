"""What everything a ledger granted costs at the very least, worked out apart from Voile.

The oracle never over-estimates, so that an alarm is always a true violation. It gives a *lower*
bound of delta(epsilon) for the worst mechanisms that fit the granted events, composed as if all of
them had been fixed in advance; a filter guarantees the same for events chosen one after the other,
which is more. Each of the bounds below is sound, and the largest counts:

- some of the accesses tell no more than all of them, so any part of the events may be left out;
- Gaussian accesses compose exactly to one of mu^2 = sum count / sigma^2 (closed form);
- a pure access may be randomised response, and the sign of a Laplace release is one: counts of them
  are binomial;
- one Laplace or sampled Gaussian access alone has a closed form;
- everything else goes through the privacy loss distributions of dp-accounting with
  ``pessimistic_estimate=False``, whose losses are rounded down and whose tails are dropped.

The delta of a threshold or an approximate access may be a disclosure of its own, independent of the
rest. Nothing here is imported from `voile.privacy.accounting`, `filter` or `gaussian_dp`.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from dp_accounting import privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import binom, norm

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

ROUNDING = 1e-12
"""What sums and Fourier transforms of distributions may get wrong, absolutely."""

_MOST_POINTS = 20_000
_MOST_BINOMIAL = 10**6
_LARGEST_LOSS = 60.0

_NEIGHBOURS = {
    "add_remove": privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace_one": privacy_accountant.NeighboringRelation.REPLACE_ONE,
}

Accesses = Counter[Event]
"""How often each access (an event of count 1) was granted."""


def looks_of(events: Iterable[Event]) -> Accesses:
    """Count the single accesses of some events."""
    accesses: Accesses = Counter()
    for event in events:
        if event.count:
            accesses[replace(event, count=1)] += event.count
    return accesses


def exceeds(accesses: Accesses, epsilon: float, delta: float, relation: str) -> bool:
    """Whether the accesses are certainly not (epsilon, delta)-DP, rounding apart."""
    if math.isinf(epsilon):
        return False
    epsilon = epsilon * (1 + 1e-6) + 1e-9
    if delta == 0:
        return largest_loss(accesses) > epsilon
    least = least_delta(accesses, epsilon, relation)
    return least > delta * (1 + 1e-6) + ROUNDING


def largest_loss(accesses: Accesses) -> float:
    """The largest privacy loss that can come about, which epsilon must reach at delta 0."""
    total = 0.0
    for access, count in accesses.items():
        match access:
            case Pure():
                total += count * access.epsilon
            case Laplace():
                total += count / access.noise_multiplier
            case _:
                return math.inf
    return total


def least_delta(accesses: Accesses, epsilon: float, relation: str) -> float:
    """A lower bound of the smallest delta for which the accesses are (epsilon, delta)-DP."""
    return _least_delta(frozenset(accesses.items()), epsilon, str(relation))


@lru_cache(maxsize=4096)
def _least_delta(counted: frozenset[tuple[Event, int]], epsilon: float, relation: str) -> float:
    if any(isinstance(access, Unprotected) for access, _ in counted):
        return 1.0
    kept = 0.0  # the logarithm of the probability that no disclosure of its own happens
    for access, count in counted:
        if isinstance(access, (Threshold, Approximate)):
            if access.delta >= 1:
                return 1.0
            kept += count * math.log1p(-access.delta)
    gaussian, others = 0.0, Counter[Event]()
    for access, count in counted:
        match access:
            case Gaussian() | Threshold():
                gaussian += count / access.noise_multiplier / access.noise_multiplier
            case Approximate():
                others[Pure(epsilon=access.epsilon)] += count
            case _:
                others[access] += count
    bounds = [gaussian_delta(math.sqrt(gaussian), epsilon)]
    bounds += [_alone(access, epsilon) for access in others]
    bounds += [_repeated(access, count, epsilon) for access, count in others.items()]
    if others:
        bounds.append(_composed(frozenset(others.items()), gaussian, epsilon, relation))
    return -math.expm1(kept) + math.exp(kept) * max(bounds)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta(epsilon) of N(0, 1) against N(mu, 1)."""
    if mu <= 0:
        return 0.0
    if mu > 1e6:
        return 1.0 if epsilon < mu * mu / 4 else 0.0  # the second is a lower bound, too
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return max(math.exp(first) * -math.expm1(min(second - first, 0.0)), 0.0)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The mu for which N(0, 1) against N(mu, 1) is exactly (epsilon, delta)-DP."""

    def excess(log_mu: float) -> float:
        return math.log(max(gaussian_delta(math.exp(log_mu), epsilon), 1e-300)) - math.log(delta)

    return math.exp(brentq(excess, math.log(1e-10), math.log(1e5), xtol=1e-13))


def _alone(access: Event, epsilon: float) -> float:
    """One access by itself, in closed form."""
    match access:
        case Pure():
            loss = access.epsilon
            return -math.expm1(epsilon - loss) / (1 + math.exp(-loss)) if loss > epsilon else 0.0
        case Laplace():
            loss = 1 / access.noise_multiplier
            return -math.expm1((epsilon - loss) / 2) if loss > epsilon else 0.0
        case PoissonGaussian() if epsilon < 500:
            # A row more against none, beyond the point where the likelihood ratio is e^epsilon.
            sigma, rate = access.noise_multiplier, access.rate
            border = sigma * sigma * math.log((math.expm1(epsilon) + rate) / rate) + 0.5
            with_row, without = norm.sf((border - 1) / sigma), norm.sf(border / sigma)
            return float(max(rate * with_row - (math.expm1(epsilon) + rate) * without, 0.0))
        case _:
            return 0.0


def _repeated(access: Event, count: int, epsilon: float) -> float:
    """Many accesses of one kind as that many randomised responses."""
    match access:
        case Pure():
            loss = access.epsilon
        case Laplace():
            # Whether the noisy sum lies beyond the middle: true with probability 1 - e^(-1/2b) / 2.
            half = 1 / (2 * access.noise_multiplier)
            loss = half + math.log(2 - math.exp(-half))
        case _:
            return 0.0
    if loss * count <= epsilon:
        return 0.0
    # Few enough to add up; the rest is left out.
    count = min(count, _MOST_BINOMIAL)
    yes = np.arange(count + 1)
    losses = loss * (2.0 * yes - count)
    beyond = losses > epsilon
    mass = binom.pmf(yes[beyond], count, 1 / (1 + math.exp(-loss)))
    return float(np.sum(mass * -np.expm1(epsilon - losses[beyond])))


@lru_cache(maxsize=1024)
def _composed(
    counted: frozenset[tuple[Event, int]], gaussian: float, epsilon: float, relation: str
) -> float:
    """All accesses whose losses are of moderate size together, rounded to the safe side."""
    moderate = {
        access: count
        for access, count in counted
        if 1e-7 < _spread(access) < _LARGEST_LOSS and count < 10**6
    }
    if gaussian > _LARGEST_LOSS**2:
        gaussian = 0.0
    if not moderate:
        return 0.0
    spread = math.sqrt(gaussian + sum(n * _spread(access) ** 2 for access, n in moderate.items()))
    fine = spread / (40 * sum(moderate.values()))
    interval = 2.0 ** math.floor(math.log2(max(fine, (spread + spread**2) * 30 / _MOST_POINTS)))
    parts = [
        _distribution(access, relation, interval).self_compose(count)
        for access, count in sorted(moderate.items(), key=repr)
    ]
    if gaussian > 0:
        parts.append(_distribution(Gaussian(noise_multiplier=gaussian**-0.5), relation, interval))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return float(whole.get_delta_for_epsilon(epsilon))


def _spread(access: Event) -> float:
    """About the standard deviation of one access's loss; only for the choice of a grid."""
    match access:
        case Pure():
            return access.epsilon
        case PoissonGaussian():
            whole = 1 / access.noise_multiplier
            return min(whole, access.rate * math.sqrt(math.expm1(min(whole * whole, 100.0))))
        case Laplace() | Gaussian():
            return 1 / access.noise_multiplier
        case _:
            raise AssertionError(f"no loss is known of {access}")


@lru_cache(maxsize=256)
def _distribution(access: Event, relation: str, interval: float) -> pld.PrivacyLossDistribution:
    grid = {
        "pessimistic_estimate": False,
        "value_discretization_interval": interval,
        "use_connect_dots": False,
    }
    match access:
        case Gaussian():
            return pld.from_gaussian_mechanism(access.noise_multiplier, **grid)
        case PoissonGaussian():
            return pld.from_gaussian_mechanism(
                access.noise_multiplier,
                sampling_prob=access.rate,
                neighboring_relation=_NEIGHBOURS[relation],
                **grid,
            )
        case Laplace():
            return pld.from_laplace_mechanism(access.noise_multiplier, **grid)
        case Pure():
            del grid["use_connect_dots"]
            lie = 2 / (1 + math.exp(access.epsilon))
            return pld.from_randomized_response(lie, 2, **grid)
        case _:
            raise AssertionError(f"no loss is known of {access}")
