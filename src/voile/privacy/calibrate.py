"""How much noise a job needs: one budget, several steps, shares by weight.

A job states the *shape* of its plan: what it will do and how the budget is to be shared. All noise
is then multiplied by the one smallest factor for which the accountant confirms the budget, so noise
is calibrated with the very accountant that later checks it.

>>> from voile import Budget
>>> plan = calibrate(
...     Budget(1.0, 1e-6),
...     Plan((gaussian_step("bins", 0.1, count=14), gaussian_step("rounds", 0.9, count=140))),
... )
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.optimize import brentq

from voile.errors import SettingError
from voile.privacy.accounting import chance_of, compose, mu_squared, pure_epsilon
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.events import (
    Approximate,
    Event,
    Gaussian,
    Plan,
    PoissonGaussian,
    Step,
    Threshold,
    Unprotected,
    scale_noise,
)
from voile.privacy.gaussian_dp import epsilon_of, mu_of
from voile.privacy.ledger.filter import SLACK, Filter

_MARGIN = 1e-9
"""Noise is raised by this much, so that sums of parts never exceed the whole by rounding."""

_STEP = 1e-3
"""Relative steps in which the last search walks."""

_ROOM = 1e-6
"""Relative room that parts of a budget leave, so that a ledger never refuses one by rounding."""


def gaussian_step(label: str, weight: float, *, count: int = 1) -> Step:
    """A step of ``count`` Gaussian releases that together take ``weight`` shares of mu^2."""
    return Step(label, Gaussian(count, math.sqrt(count / weight)))


def poisson_step(label: str, weight: float, *, rate: float, count: int) -> Step:
    """A step of ``count`` Poisson-sampled releases (weight by its central-limit mu^2)."""
    return Step(label, PoissonGaussian(count, rate * math.sqrt(count / weight), rate))


def threshold_step(label: str, weight: float, *, delta: float, count: int = 1) -> Step:
    """A step of ``count`` threshold releases; ``delta`` is for each of them."""
    return Step(label, Threshold(count, math.sqrt(count / weight), delta))


def approximate_step(label: str, weight: float, *, delta: float, count: int = 1) -> Step:
    """A step of ``count`` (epsilon, delta)-DP accesses; ``delta`` is for each, and stays."""
    return Step(label, Approximate(count, math.sqrt(weight / count), delta))


def calibrate(
    budget: Budget, shape: Plan, relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE
) -> Plan:
    """Scale the noise of a plan to a budget.

    Parameters
    ----------
    budget : Budget
        ``epsilon=inf`` gives a plan without noise, whose receipt says "no guarantee".
    shape : Plan
        Steps whose noise multipliers matter only relative to each other.
    relation : NeighbouringRelation

    Returns
    -------
    Plan
        The same steps with the smallest common noise for which the plan is within the budget.
    """
    if budget.unlimited:
        return Plan(tuple(Step(s.label, Unprotected(s.event.count)) for s in shape))
    if budget.epsilon <= 0:
        raise SettingError(
            f"The 'epsilon' must be > 0 to learn anything. Got {budget.epsilon!r} instead."
        )
    return _calibrate(budget, shape, relation)


@lru_cache(maxsize=256)
def _calibrate(budget: Budget, shape: Plan, relation: NeighbouringRelation) -> Plan:
    events = [event for event in shape.events if event.count]
    if not events:
        return shape
    if any(isinstance(event, Unprotected) for event in events):
        raise SettingError("An access without noise fits no finite budget: ask for epsilon=inf.")
    pure, failure = math.fsum(map(pure_epsilon, events)), chance_of(events)
    if budget.delta == failure and math.isfinite(pure):
        # Nothing is left for a distribution to use (without approximate accesses: delta is 0).
        factor = pure / budget.epsilon
    elif budget.delta <= failure:
        raise SettingError(
            f"delta {budget.delta:g} is too small for this plan: Gaussian noise needs some, and "
            f"thresholds and approximate accesses alone take {failure:.3g}. Give a larger delta, "
            "give such accesses a smaller one, or list the categories in the schema."
        )
    elif all(isinstance(event, (Gaussian, Threshold)) for event in events):
        loss = compose(events, relation)
        factor = loss.mu / mu_of(budget.epsilon, budget.delta - loss.failure)
    else:
        factor = _search(budget, events, relation)
    return Plan(tuple(Step(s.label, scale_noise(s.event, factor * (1 + _MARGIN))) for s in shape))


def _search(budget: Budget, events: list[Event], relation: NeighbouringRelation) -> float:
    """Smallest common noise factor within the budget, by the privacy loss distributions.

    A coarse discretisation finds the neighbourhood cheaply; the answer itself is confirmed with
    the fine one, and only confirmed factors are returned.
    """

    def excess(log_factor: float, *, coarse: bool = False) -> float:
        scaled = [scale_noise(event, math.exp(log_factor)) for event in events]
        return compose(scaled, relation, coarse=coarse).epsilon(budget.delta) - budget.epsilon

    def beyond_limit_theorem(log_factor: float) -> float:
        scaled = [scale_noise(event, math.exp(log_factor)) for event in events]
        return math.fsum(map(mu_squared, scaled)) - mu_of(budget.epsilon, budget.delta) ** 2

    # Start where the central limit theorem would put it, and widen until it is bracketed.
    low = high = float(brentq(beyond_limit_theorem, -30.0, 30.0, xtol=0.01))
    while excess(high, coarse=True) > 0:
        low, high = high, high + 0.1
    while low == high or excess(low, coarse=True) <= 0:
        high, low = low, low - 0.1
    best = float(brentq(lambda x: excess(x, coarse=True), low, high, xtol=_STEP / 2))
    # The fine accountant is tighter: walk down while it confirms, up while it does not.
    while excess(best) > 0:
        best += _STEP
    while excess(best - _STEP) <= 0:
        best -= _STEP
    return math.exp(best)


# -- several jobs, one budget ---------------------------------------------------------------------


def divide(whole: Budget, *weights: float) -> tuple[Budget, ...]:
    """Budgets of several jobs that a ledger of the whole allows one after the other.

    The epsilons add up to more than that of the whole: what adds up is mu^2, the loss that the
    ledger's filter counts (docs/proofs/filter.md).

    Parameters
    ----------
    whole : Budget
        Of the ledger that all jobs are paid from; its filter is ``gdp``, the default.
    *weights : float
        One for each job, > 0: its share of the loss, relative to the sum of all.

    Returns
    -------
    tuple of Budget
        One for each weight. A whole without a limit is handed on as it is.

    Examples
    --------
    >>> from voile import Budget
    >>> training, quality = divide(Budget(1.0, 1e-6), 9, 1)
    >>> print(f"{training.epsilon:.3f} and {quality.epsilon:.3f}")
    0.945 and 0.291
    """
    if not weights or not all(0 < weight < math.inf for weight in weights):
        raise SettingError(
            f"The weights must be numbers > 0, one for each job. Got {weights!r} instead."
        )
    if whole.unlimited:
        return (whole,) * len(weights)
    # Calibrated at the part of delta that the ledger keeps for the loss: the parts then add up.
    limit, kept, total = Filter(whole).limit.loss, whole.delta * (1 - SLACK), math.fsum(weights)
    shares = [weight / total for weight in weights]
    return tuple(
        Budget(epsilon_of(math.sqrt(limit * share * (1 - _ROOM)), kept), kept) for share in shares
    )


def shrink_to(planned: Budget, left: Budget) -> Budget:
    """The planned budget, or a little less where a ledger has a little less left.

    Sampled steps cost a ledger up to a few percent more than their own exact accounting says, so
    the last of the jobs that a budget was divided among may find less than was planned for it.
    Where less than half is left the plan stays, for the ledger to refuse.

    Parameters
    ----------
    planned : Budget
        What `divide` gave the job.
    left : Budget
        What `Ledger.remaining` says.
    """
    if planned.unlimited or left.unlimited or left.epsilon < planned.epsilon / 2:
        return planned
    if mu_of(planned.epsilon, planned.delta) <= mu_of(left.epsilon, left.delta):
        return planned
    return Budget(left.epsilon * (1 - _ROOM), left.delta)


def gaussian_of(budget: Budget) -> Gaussian:
    """The one Gaussian access that costs a budget: what a job costs, before it has a plan.

    Parameters
    ----------
    budget : Budget
        With a finite epsilon, and delta > 0.
    """
    return Gaussian(noise_multiplier=1 / mu_of(budget.epsilon, budget.delta))
