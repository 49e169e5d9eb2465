"""Budgets and events for random histories of a ledger, of sizes that matter to one another."""

import math

import hypothesis.strategies as st
from ledger_oracle import gaussian_mu

from voile import Budget
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

BUDGETS = {
    "gdp": [(1, 1e-6), (0.1, 1e-6), (8, 1e-5), (1e-3, 1e-4), (0, 1e-3), (math.inf, 0)],
    "renyi": [(1, 1e-6), (0.1, 1e-6), (8, 1e-5), (50, 1e-6), (math.inf, 1e-6)],
    "pure": [(1, 0), (1, 1e-6), (0.01, 0), (20, 1e-3), (0, 0), (math.inf, 0)],
}
SHARES = [0.1, 0.3, 0.5, 0.7, 0.97, 1e-5, 0.03, 1.0, 1.3, 30.0]
COUNTS = (1, 1, 1, 2, 5, 40, 0)


def events_for(
    budget: Budget, kind: str, quick: bool, counts: tuple[int, ...]
) -> st.SearchStrategy[Event]:
    """Events of every kind, most of them of about the size of a part of the budget.

    The quick ones have closed forms; distributions of the others take a while.
    """
    mu, delta = 1.0, max(budget.delta, 1e-15)
    if budget.delta > 0 and not budget.unlimited:
        mu = gaussian_mu(budget.epsilon, budget.delta)
    whole = budget.epsilon if kind == "pure" and 0 < budget.epsilon < math.inf else mu
    share = st.sampled_from(SHARES)
    size = share.map(lambda part: min(whole * part, 15.0))
    width = share.map(lambda part: 1 / (mu * part))
    count = st.sampled_from(counts)
    chance = st.sampled_from([0.02, 0.3, 0.9, 1.1]).map(lambda part: delta * part)
    closed = [
        st.builds(Gaussian, count=count, noise_multiplier=width),
        st.builds(Gaussian, noise_multiplier=st.sampled_from([1e-40, 1e-4, 1e8, 1e40])),
        st.builds(Pure, epsilon=size),
        st.builds(Threshold, count=count, noise_multiplier=width, delta=chance),
        st.builds(Unprotected, count=st.sampled_from([0, 1])),
    ]
    discretised = [
        st.builds(Laplace, count=count, noise_multiplier=size.map(lambda one: 1 / one)),
        st.builds(Pure, count=count, epsilon=size),
        st.builds(Approximate, count=count, epsilon=size, delta=chance),
        st.builds(
            PoissonGaussian,
            count=count,
            noise_multiplier=width.map(lambda one: max(one, 0.5)),
            rate=st.sampled_from([0.05, 0.3, 1.0]),
        ),
    ]
    return st.one_of(closed if quick else [*closed, *discretised])
