"""Buying a summary: every access to the rows, fixed in advance, paid, and carried out once.

Proof: docs/proofs/explainer.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.answers.opening import DISCOVERY
from voile.explain.blackbox.synthetic.cells import CellKeeper
from voile.explain.blackbox.synthetic.marginals import BinCounts, PairProducts, SignProducts
from voile.explain.blackbox.synthetic.summary import (
    AGAIN_ACCESS,
    BIN_ACCESS,
    CELL_ACCESS,
    PAIR_ACCESS,
    WIDE,
    PaidSummary,
)
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_step
from voile.privacy.discovery import complete, discovery_shape
from voile.privacy.events import Plan, Step
from voile.privacy.grant import Grant
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import AnswerBook
from voile.privacy.mechanisms import Release, gaussian_sum
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Number, Schema

Floats = NDArray[np.float64]

_SHARES = {CELL_ACCESS: 0.15, BIN_ACCESS: 0.15, PAIR_ACCESS: 0.45, AGAIN_ACCESS: 0.25}
_WIDE_SHARES = {CELL_ACCESS: 0.2, PAIR_ACCESS: 0.8}
"""Shares of mu^2 for each access, of tables of a hundred columns and of wider ones."""

_KEY = "summary"


def plan_summary(schema: Schema, budget: Budget, allowance: Allowance) -> Plan:
    """Every access to the rows, fixed in advance."""
    steps: list[Step] = list(discovery_shape(schema, DISCOVERY, budget.delta))
    left = 1.0 - (DISCOVERY if steps else 0.0)
    shares = _WIDE_SHARES if len(schema) > WIDE else _SHARES
    if len(schema) < 2:
        shares = {CELL_ACCESS: 1.0}
    steps += [gaussian_step(label, left * share) for label, share in shares.items()]
    return calibrate(budget, Plan(tuple(steps)), allowance.ledger.relation)


def find_summary(allowance: Allowance, book: AnswerBook, budget: Budget) -> PaidSummary:
    """The summary that was bought under this name before, or a new one.

    Raises
    ------
    BudgetExceeded
        If it does not fit the ledger; nothing was spent.
    """
    stored = book.find([_KEY]).get(_KEY)
    if stored is None:
        bought = _buy(allowance, budget)
        stored = book.store({_KEY: bought.to_dict()})[_KEY]
    return PaidSummary.from_dict(stored)


def _buy(allowance: Allowance, budget: Budget) -> PaidSummary:
    plan = plan_summary(allowance.table.schema, budget, allowance)
    with allowance.reserve(plan, whole=True) as payment:
        assert payment is not None
        grant = payment.pay(plan)
        table = complete(allowance.table, grant)
        summary = _measure(table, grant)
    return PaidSummary(
        summary.schema,
        summary.whole,
        summary.never_missing,
        summary.released,
        summary.errors,
        write_receipt(grant, budget),
    )


def _measure(table: PrivateTable, grant: Grant) -> PaidSummary:
    """Carry the plan out: each access uses what the ones before it released."""
    schema = table.schema
    released: dict[str, Floats] = {}
    errors: dict[str, float] = {}
    blank = write_receipt(grant, Budget(1.0, 0.5))  # replaced when all accesses are done
    numbers = {name: one for name, one in schema.items() if isinstance(one, Number)}
    whole = frozenset(name for name, one in numbers.items() if one.whole)
    never = frozenset(name for name, one in numbers.items() if not one.missing)
    found = PaidSummary(schema, whole, never, released, errors, blank)
    keep(table, list(schema), CellKeeper(found.cells).prepare)

    def take(release: Release) -> None:
        released[release.label] = release.values
        errors[release.label] = release.standard_error

    fine = BinCounts(tuple(np.arange(one.count) for one in found.cells))
    take(gaussian_sum(table, fine, grant.take(CELL_ACCESS)))
    if found.wide:
        take(gaussian_sum(table, SignProducts(found.halves), grant.take(PAIR_ACCESS)))
    elif len(schema) > 1:
        take(gaussian_sum(table, BinCounts(found.second_maps), grant.take(BIN_ACCESS)))
        take(gaussian_sum(table, PairProducts(found.bins.maps), grant.take(PAIR_ACCESS)))
        again = PairProducts(found.bins.maps, found.edges)
        take(gaussian_sum(table, again, grant.take(AGAIN_ACCESS)))
    return found
