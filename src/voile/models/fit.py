"""One fit from rows to receipt: what is the same for every family of models.

A family says which steps its fit has (`Plan` with shares of the budget) and what it makes of the
rows once they are paid; paying, completing the schema and the receipt are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from voile.models.pixels import RANGE_ACCESS, find_range
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate
from voile.privacy.discovery import complete
from voile.privacy.events import Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.vault import PrivateTable

T = TypeVar("T")
Floats = NDArray[np.float64]

_INTERRUPTED = (
    "Training was interrupted: nothing of it is released, and what it was to cost stays spent in "
    "the ledger, because the rows were looked at."
)


@dataclass(frozen=True, eq=False)
class FitJob:
    """Rows to learn from or to be judged by, what that may cost, and where it is written down.

    Attributes
    ----------
    table : PrivateTable
    budget : Budget
    ledger : Ledger
    what : str
        For the ledger.
    """

    table: PrivateTable
    budget: Budget
    ledger: Ledger
    what: str

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
        return self.ledger.pay(plan, self.table, self.what)

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
            released = release(complete(table, grant), grant)
        return released, write_receipt(grant, self.budget)


@contextmanager
def looking_at_rows() -> Iterator[None]:
    """One thread for the linear algebra, and what an interruption costs."""
    try:
        # Blocks of rows are worked on side by side; threads inside each would be in the way.
        with threadpool_limits(1, user_api="blas"):
            yield
    except KeyboardInterrupt as interruption:
        interruption.add_note(_INTERRUPTED)
        raise


def frozen(values: Floats) -> Floats:
    """Released numbers that nobody can change."""
    result = np.array(values, dtype=np.float64)
    result.setflags(write=False)
    return result
