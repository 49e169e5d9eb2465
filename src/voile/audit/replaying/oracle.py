"""What events cost at least, by dp-accounting and closed forms, without Voile's accountant.

A lower end: discretised losses are rounded down. A claim below it is wrong, whoever made it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dp_accounting import privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as pld

from voile.audit.replaying.laws import gaussian_epsilon
from voile.privacy.budget import Relation
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

_STEP = 1e-3
_NEIGHBOURS = {
    Relation.ADD_REMOVE: privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE,
    Relation.REPLACE_ONE: privacy_accountant.NeighboringRelation.REPLACE_ONE,
}


def least_epsilon(events: Iterable[Event], relation: Relation, delta: float) -> float:
    """No smaller epsilon at ``delta`` is true of these events together, fixed in advance."""
    counts: Counter[Event] = Counter()
    for event in events:
        counts[replace(event, count=1)] += event.count
    return _least(tuple(counts.items()), relation, delta)


@lru_cache(maxsize=256)
def _least(counts: tuple[tuple[Event, int], ...], relation: Relation, delta: float) -> float:
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


def _distribution(event: Event, relation: Relation, step: float) -> Any:
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
