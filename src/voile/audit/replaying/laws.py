"""How far two laws of one release lie apart, and what events cost at least, without a single draw.

Distances are exact and in closed form. The least epsilon of many events is a lower end, by
dp-accounting: discretised losses are rounded down, so that a claim below it is wrong, whoever made
it. Nothing here is shared with the code that calibrates noise or with Voile's accountant, so that a
mistake there is not repeated. Proof: docs/proofs/replay.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from dp_accounting import privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as pld
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import ncx2

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
from voile.privacy.tape import Choice

Floats = NDArray[np.float64]

_LARGEST_EPSILON = 1e4


def apart(first: NDArray[np.int64], second: NDArray[np.int64], kind: str) -> float:
    """Distance of two totals in steps of the grid: L2 under Gaussian noise, L1 under Laplace.

    The difference is taken in whole numbers of 64 bits, in which sums wrap around harmlessly.
    """
    with np.errstate(all="ignore"):  # totals of others may be infinite: nothing is near them
        gap = (first - second).astype(np.float64)
        return float(np.abs(gap).sum() if kind == "laplace" else np.linalg.norm(gap))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Smallest delta of two Gaussians that lie ``mu`` standard deviations apart."""
    if mu <= 0:
        return 0.0
    at = epsilon / mu
    # Phi(-at + mu/2) - e^epsilon Phi(-at - mu/2), by logarithms: no overflow.
    first, second = float(log_ndtr(mu / 2 - at)), epsilon + float(log_ndtr(-mu / 2 - at))
    if second >= first:
        return 0.0
    return math.exp(first) * -math.expm1(second - first)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon at ``delta`` of two Gaussians that lie ``mu`` standard deviations apart."""
    if mu <= 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    if gaussian_delta(mu, _LARGEST_EPSILON) > delta:
        return math.inf
    return float(brentq(lambda e: gaussian_delta(mu, e) - delta, 0.0, _LARGEST_EPSILON, xtol=1e-12))


def stretched_delta(
    gap: float, scale: float, other_scale: float, size: int, epsilon: float
) -> float:
    """Delta(epsilon) of N(c, s^2 I) against N(c', s'^2 I) with |c - c'| = gap, in one direction.

    The privacy loss is a quadratic function of the draw, so the set where it exceeds epsilon is a
    ball or the outside of one, whose probabilities are those of noncentral chi-squared laws.
    """
    s, t = scale, other_scale
    if math.isclose(s, t, rel_tol=1e-13):
        return gaussian_delta(gap / s, epsilon)
    # loss(x) = size ln(t/s) + |x - c'|^2 / 2t^2 - |x - c|^2 / 2s^2; with u = x - c, v = c' - c:
    # a |u|^2 - <u, v> / t^2 + |v|^2 / 2t^2 + size ln(t/s) > epsilon, a = 1/2t^2 - 1/2s^2.
    a = 1 / (2 * t * t) - 1 / (2 * s * s)
    shift = 1 / (2 * a * t * t)  # the ball's centre is c + shift v
    level = epsilon - size * math.log(t / s) - gap**2 / (2 * t * t)
    square = level / a + (shift * gap) ** 2
    if square <= 0:
        return -math.expm1(epsilon) if a > 0 and epsilon < 0 else 0.0
    far, near = abs(shift) * gap, abs(shift - 1) * gap
    tail = ncx2.sf if a > 0 else ncx2.cdf
    own = float(tail(square / s**2, size, (far / s) ** 2))
    other = float(tail(square / t**2, size, (near / t) ** 2))
    return max(own - math.exp(epsilon) * other, 0.0)


def choice_law(choice: Choice) -> Floats:
    """Logarithm of the probability of each candidate; of shape (candidates,).

    Permute-and-flip: q_i times the integral of the product of (1 - t q_j) over all others, as each
    of them stands before i with probability t and would then be taken with probability q_j. The
    product is a polynomial in t, which Gauss and Legendre integrate exactly.
    """
    assert choice.exponents is not None
    minus = -np.array(choice.exponents)
    if not choice.each_once:
        top = minus.max()
        return np.asarray(minus - top - math.log(math.fsum(np.exp(minus - top))))
    nodes, weights = np.polynomial.legendre.leggauss(len(minus) // 2 + 2)
    places, weights = (nodes + 1) / 2, weights / 2
    factors = np.log1p(-np.outer(places, np.exp(minus)))
    products = np.exp(factors.sum(axis=1)[:, None] - factors)
    return np.asarray(minus + np.log(weights @ products))


_STEP = 1e-3
_NEIGHBOURS = {
    NeighbouringRelation.ADD_REMOVE: privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighbouringRelation.REPLACE_ONE: privacy_accountant.NeighboringRelation.REPLACE_ONE,
}


def least_epsilon(events: Iterable[Event], relation: NeighbouringRelation, delta: float) -> float:
    """No smaller epsilon at ``delta`` is true of these events together, fixed in advance."""
    counts: Counter[Event] = Counter()
    for event in events:
        counts[replace(event, count=1)] += event.count
    return _least(tuple(counts.items()), relation, delta)


@lru_cache(maxsize=256)
def _least(
    counts: tuple[tuple[Event, int], ...], relation: NeighbouringRelation, delta: float
) -> float:
    if any(isinstance(event, Unprotected) for event, _ in counts):
        return math.inf
    own = math.fsum(
        count * event.delta
        for event, count in counts
        if isinstance(event, (Threshold, Approximate))
    )
    if own > delta:
        return math.inf
    if own == delta:
        # Without a delta, distributions have nothing to say: pure losses add up.
        return math.fsum(count * _pure(event) for event, count in counts)
    # Fine against the smallest pure loss, so that rounding down leaves most of it.
    small = [event.epsilon for event, _ in counts if isinstance(event, (Pure, Approximate))]
    step = max(min([_STEP, *(epsilon / 20 for epsilon in small)]), 1e-6)
    mu = 0.0
    others: list[Any] = []
    for event, count in counts:
        if isinstance(event, (Gaussian, Threshold)):
            mu = math.hypot(mu, math.sqrt(count) / event.noise_multiplier)
        else:
            others.append(_distribution(event, relation, step).self_compose(count))
    if not others:
        return gaussian_epsilon(mu, delta - own)
    whole = others[0]
    for one in others[1:]:
        whole = whole.compose(one)
    if mu > 0:
        whole = whole.compose(
            pld.from_gaussian_mechanism(
                1 / mu,
                value_discretization_interval=step,
                pessimistic_estimate=False,
                use_connect_dots=False,
            )
        )
    return float(whole.get_epsilon_for_delta(delta - own))


def _pure(event: Event) -> float:
    match event:
        case Laplace():
            return 1 / event.noise_multiplier
        case Pure() | Approximate():
            return event.epsilon
        case _:
            return math.inf


def _distribution(event: Event, relation: NeighbouringRelation, step: float) -> Any:
    how: dict[str, Any] = {"value_discretization_interval": step, "pessimistic_estimate": False}
    dots: dict[str, Any] = {"use_connect_dots": False}
    match event:
        case PoissonGaussian():
            return pld.from_gaussian_mechanism(
                event.noise_multiplier,
                sampling_prob=event.rate,
                neighboring_relation=_NEIGHBOURS[relation],
                **how,
                **dots,
            )
        case Laplace():
            return pld.from_laplace_mechanism(event.noise_multiplier, **how, **dots)
        case Pure() | Approximate():
            # Randomised response between two answers is the worst that epsilon allows.
            noise = 2 / (1 + math.exp(event.epsilon))
            return pld.from_randomized_response(noise, 2, **how)
        case _:
            raise AssertionError(f"no loss is known for {event.kind!r}")
