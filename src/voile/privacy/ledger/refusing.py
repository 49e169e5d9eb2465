"""Why a ledger refuses, in words: what is wrong and what can be done."""

from __future__ import annotations

import math
from dataclasses import dataclass

from voile.privacy.accounting import chance_of, compose
from voile.privacy.budget import Budget
from voile.privacy.events import Approximate, Event, Laplace, Plan, Pure, scale_noise
from voile.privacy.gaussian_dp import epsilon_of, mu_of
from voile.privacy.ledger.filter import Amount, Filter, FilterKind, compose_adaptively
from voile.schema.unit import ROW

_TRIALS, _RAISE, _ROUNDING = 10, 1.02, 1e-9
"""How often noise is raised, and by how much at first, until a plan that is not Gaussian fits."""

_MARGIN = 0.98
"""Of such a plan, whose price may be a little different at another epsilon."""

_LARGE_DELTA = 0.01
"""Above it, a delta is the reason why a job cannot be paid."""


@dataclass(frozen=True)
class Refused:
    """A plan that a ledger did not take, and the state it was in.

    Attributes
    ----------
    prices : Filter
        Of the ledger.
    plan : Plan
    what : str
        The job.
    before : Amount
        Spent so far.
    price : Amount
        Of the plan.
    asked : Budget or None
        What the job was calibrated to; its delta is the one for which epsilon is told.
    first : bool
        Whether the ledger has no entry yet.
    closed : bool
        Whether one entry has used up everything.
    adaptive : bool
        Whether the accesses are decided on one by one.
    """

    prices: Filter
    plan: Plan
    what: str
    before: Amount
    price: Amount
    asked: Budget | None
    first: bool
    closed: bool
    adaptive: bool

    @property
    def delta(self) -> float:
        """For which epsilons are told."""
        return self.prices.budget.delta if self.asked is None else self.asked.delta

    def largest_epsilon(self) -> float:
        """The largest epsilon, rounded down, for which this job would be taken now; 0 if none is.

        The noise of the whole plan is raised until the ledger's own filter takes it, and what the
        plan is then is told by the accountant that calibrates.
        """
        events = [event for event in self.plan.events if event.count]
        if self.closed or not events or not self.price.finite:
            return 0.0
        whole, gaussian = self.prices.budget, compose_adaptively(events)
        # A first job may use up the whole budget by its exact accounting.
        if self.first and gaussian:
            failure = chance_of(events)
            mu = mu_of(whole.epsilon, whole.delta - failure)
            return round_down(epsilon_of(mu, self.delta - failure))
        if self.first and not self.adaptive and self.delta <= whole.delta:
            return round_down(whole.epsilon)
        room = (self.prices.limit - self.before).loss
        # Loss goes by one over the square of the noise, for Gaussian accesses exactly.
        factor = math.sqrt(self.price.loss / room) * (1 + _ROUNDING) if room > 0 else math.inf
        if not math.isfinite(factor):
            return 0.0
        price = self.prices.price_apart if self.adaptive else self.prices.price

        def scaled(power: float) -> list[Event]:
            return [scale_noise(event, factor * _RAISE**power) for event in events]

        def fits(power: float) -> bool:
            return self.prices.allows(self.before + price(scaled(power)))

        # In steps that double, then halving the last of them.
        tried = [2.0**trial - 1 for trial in range(_TRIALS)]
        high = next((power for power in tried if fits(power)), None)
        if high is None:
            return 0.0
        low = max((high - 1) / 2, 0.0)
        while high - low > 1:
            middle = (low + high) / 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        most = compose(scaled(high), self.prices.relation).epsilon(self.delta)
        return round_down(most if gaussian else most * _MARGIN)

    def __str__(self) -> str:
        return self._reason() + self._hint()

    def _reason(self) -> str:
        limit, budget = self.prices.limit, self.prices.budget
        if self.closed:
            return (
                f"{self.what} was refused: the budget ({budget}) is used up. Nothing was spent. "
                "A larger budget needs a decision about the people in the data, not a setting."
            )
        if not self.price.finite:
            return (
                f"{self.what} was refused: it has no finite price under the {self.prices.kind} "
                "filter (no noise, or a mechanism this filter cannot count), and the budget is "
                "finite. Nothing was spent."
            )
        if self.before.loss + self.price.loss > limit.loss and (most := self.largest_epsilon()):
            wanted = self.prices.worth(Amount(self.price.loss)).epsilon
            # What was asked for is no advice.
            if self.asked is not None and most >= self.asked.epsilon and self.delta > _LARGE_DELTA:
                return (
                    f"{self.what} was refused: with a delta of {self.delta:g} its accesses cannot "
                    f"be added up within {budget}. Nothing was spent. That delta is too large: ask "
                    "for one far below 1 over the number of people, such as 1e-6."
                )
            return (
                f"{self.what} was refused: it would cost about epsilon {wanted:.4g}, and less is "
                f"left of {budget}. Nothing was spent. Ask for epsilon {most:g} or less at delta "
                f"{self.delta:g}."
            )
        if (self.before + self.price).failure <= limit.failure:
            return (
                f"{self.what} was refused: nothing that such a job could use is left of {budget}. "
                "Nothing was spent."
            )
        return (
            f"{self.what} was refused: the share of delta set aside for thresholds and approximate "
            f"accesses ({limit.failure:.3g}) is used up. Nothing was spent. List categories in the "
            "schema, so that no threshold must find them, or give such accesses a smaller delta."
        )

    def _hint(self) -> str:
        pure = any(isinstance(event, (Laplace, Pure, Approximate)) for event in self.plan.events)
        if not pure or self.prices.kind is not FilterKind.GDP:
            return ""
        return (
            " Other accesses than Gaussian are dear here: make a ledger for them, filter='renyi'."
        )


def round_down(number: float, digits: int = 4) -> float:
    """A number >= 0 with so many digits, never more than it is.

    Examples
    --------
    >>> round_down(0.123456), round_down(2.0), round_down(0.0)
    (0.1234, 2.0, 0.0)
    """
    if not 0 < number < math.inf:
        return number if number > 0 else 0.0
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(number)))
    # A number that is meant to be round may be a little below it.
    return math.floor(number * scale * (1 + 1e-9)) / scale


def why_other_unit(known: str, unit: str) -> str:
    """Why a job that protects another unit is not added to a ledger."""
    if known == ROW:
        remedy = (
            f"Make a ledger for this unit, Ledger(..., unit={unit!r}), and do all jobs on this "
            "data set under it."
        )
    elif unit == ROW:
        remedy = f"Say whose row it is: give the schema unit=Unit({known!r}, rows=...)."
    else:
        remedy = f"Call the unit {known!r} in the schema too, if it is the same."
    return (
        f"This ledger adds up what one {known} may lose, and the job protects one {unit}: "
        f"guarantees for different units do not add up. Nothing was spent. {remedy}"
    )
