"""Why a ledger refuses, in words: what is wrong and what can be done."""

from __future__ import annotations

from voile.privacy.events import Approximate, Laplace, Plan, Pure
from voile.privacy.ledger.filter import Amount, Filter, FilterKind
from voile.schema.unit import ROW


def why_refused(
    prices: Filter, plan: Plan, what: str, before: Amount, price: Amount, closed: bool
) -> str:
    """Why a plan does not fit what is left."""
    return _reason(prices, what, before, price, closed) + _hint(prices, plan)


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


def _reason(prices: Filter, what: str, before: Amount, price: Amount, closed: bool) -> str:
    limit, budget = prices.limit, prices.budget
    if closed:
        return (
            f"{what} was refused: the budget ({budget}) is used up. Nothing was spent. "
            "A larger budget needs a decision about the people in the data, not a setting."
        )
    if not price.finite:
        return (
            f"{what} was refused: it has no finite price under the {prices.kind} filter "
            "(no noise, or a mechanism this filter cannot count), and the budget is finite. "
            "Nothing was spent."
        )
    if before.loss + price.loss > limit.loss:
        left = prices.worth(limit - before).epsilon
        wanted = prices.worth(Amount(price.loss)).epsilon
        return (
            f"{what} was refused: it would cost about epsilon {wanted:.4g} and about "
            f"{left:.4g} is left of {budget}. Nothing was spent. Ask for less."
        )
    return (
        f"{what} was refused: the share of delta set aside for thresholds and approximate "
        f"accesses ({limit.failure:.3g}) is used up. Nothing was spent. List categories in the "
        "schema, so that no threshold must find them, or give such accesses a smaller delta."
    )


def _hint(prices: Filter, plan: Plan) -> str:
    pure = any(isinstance(event, (Laplace, Pure, Approximate)) for event in plan.events)
    if not pure or prices.kind is not FilterKind.GDP:
        return ""
    return " Other accesses than Gaussian are dear here: make a ledger for them, filter='renyi'."
