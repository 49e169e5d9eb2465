"""One fit from rows to receipt: what is the same for every family of models.

A family says which steps its fit has (`Plan` with shares of the budget) and what it makes of the
rows once they are paid; paying, completing the schema and the receipt are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from voile.errors import NothingFound
from voile.models.classes import order_found_classes
from voile.models.pixels import RANGE_ACCESS, find_range
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate
from voile.privacy.discovery import complete, complete_target
from voile.privacy.events import Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.reservation import Reservation
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Level

S = TypeVar("S")
T = TypeVar("T")
Floats = NDArray[np.float64]

_INTERRUPTED = (
    "Training was interrupted: nothing of it is released, and what it was to cost stays spent in "
    "the ledger, because the rows were read."
)


@dataclass(frozen=True, eq=False)
class FitJob:
    """Rows to learn from or to be judged by, what that may cost, and where it is written down.

    Attributes
    ----------
    table : PrivateTable
        With a place of its own for what is kept per row: others may work on the same rows at once.
    budget : Budget
    ledger : Ledger
    what : str
        For the ledger.
    lasting : bool
        Whether the ledger is for more than this job: what a job that stops early did not use is
        given back to it then.
    positive : level or None
        Of two classes that are found privately, the one that is to come last.
    """

    table: PrivateTable
    budget: Budget
    ledger: Ledger
    what: str
    lasting: bool = False
    positive: Level | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", self.table.apart())

    @property
    def stops_early(self) -> bool:
        """Whether the first look at the target is paid by itself, so that the rest can be kept.

        For classes, which may be misspelt. Clients of a federation pay for the whole.
        """
        classes = isinstance(self.table.schema.target, Category)
        return self.lasting and classes and not self.table.summed_only

    def plan(self, shape: Plan) -> Plan:
        """The noise of every step from its share of the budget."""
        return calibrate(self.budget, shape, self.ledger.relation)

    def pay(self, plan: Plan) -> Grant:
        """Pay for a whole plan.

        Raises
        ------
        BudgetExceeded
            If it does not fit the ledger; nothing was spent.
        """
        return self.ledger.pay(plan, self.table, self.what, asked=self.budget)

    def carry_out(
        self, plan: Plan, release: Callable[[PrivateTable, Grant], T]
    ) -> tuple[T, Receipt]:
        """Pay for a plan, complete the schema, and release what a family makes of the rows.

        Parameters
        ----------
        plan : Plan
        release : callable
            Given the table with a complete schema, and the right to look at its rows.

        Returns
        -------
        released, receipt
        """
        grant = self.pay(plan)
        with looking_at_rows():
            table = self.table
            if RANGE_ACCESS in plan:
                table = find_range(table, grant.take(RANGE_ACCESS))
            released = release(self.complete(table, grant), grant)
        return released, write_receipt(grant, self.budget)

    def complete(self, table: PrivateTable, grant: Grant) -> PrivateTable:
        """The same rows under a complete schema: what it lacks is found privately."""
        return complete(self.complete_target(table, grant), grant)

    def complete_target(self, table: PrivateTable, grant: Grant) -> PrivateTable:
        """The same rows with a target that is known; columns may stay unknown."""
        known = table.schema.target
        table = complete_target(table, grant)
        if known is None or known.known:
            return table
        return table.with_schema(order_found_classes(table.schema, self.positive))

    def carry_out_in_parts(
        self,
        plan: Plan,
        opening: int,
        look: Callable[[PrivateTable, Grant], S],
        release: Callable[[PrivateTable, Grant, S], T],
    ) -> tuple[T, Receipt]:
        """The same for a fit that may stop after its first accesses, by what they released.

        Parameters
        ----------
        plan : Plan
            Gaussian accesses and thresholds, whose adaptive composition is exact.
        opening : int
            Steps of the plan that are paid first: of the target alone.
        look : callable
            Carries these out, given the table with a target that is known, but perhaps unknown
            columns; raises `NothingFound` to stop, and the rest stays unspent.
        release : callable
            Given what ``look`` gave, and the right to the other steps.
        """
        if not self.stops_early:
            grant = self.pay(plan)
            with looking_at_rows():
                table = self.complete_target(self.table, grant)
                found = look(table, grant)
                released = release(self.complete(table, grant), grant, found)
            return released, write_receipt(grant, self.budget)
        steps = Plan(plan.steps[:opening]), Plan(plan.steps[opening:])
        unit = self.table.unit
        held = self.ledger.reserve(plan, self.what, unit=unit, asked=self.budget)
        with looking_at_rows(), held as reservation:
            first = reservation.pay(steps[0], self.table)
            with self.giving_back(reservation, first):
                table = self.complete_target(self.table, first)
                found = look(table, first)
            rest = reservation.pay(steps[1], table)
            released = release(self.complete(table, rest), rest, found)
        return released, write_receipt(first, self.budget, rest)

    @contextmanager
    def giving_back(self, reservation: Reservation, *paid: Grant) -> Iterator[None]:
        """Give back what was not charged when a look finds too little, and say what it cost."""
        try:
            yield
        except NothingFound as error:
            reservation.stop()
            if not self.stops_early:
                raise
            cost = write_receipt(paid[0], self.budget, *paid[1:]).epsilon
            raise NothingFound(
                f"{error} What was read cost epsilon {cost:.2g} of {self.budget.epsilon:g}; the "
                "rest was not spent."
            ) from error


@contextmanager
def looking_at_rows() -> Iterator[None]:
    """One thread for the linear algebra, and what an interruption costs."""
    try:
        # Blocks of rows are worked on side by side; threads inside each would be in the way.
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    except KeyboardInterrupt as interruption:
        interruption.add_note(_INTERRUPTED)
        raise


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Libraries with threads of their own; to look for them takes as long as a pass over rows."""
    return ThreadpoolController()


def frozen(values: Floats) -> Floats:
    """Released numbers that nobody can change."""
    result = np.array(values, dtype=np.float64)
    result.setflags(write=False)
    return result
