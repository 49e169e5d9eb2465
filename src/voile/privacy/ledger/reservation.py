"""Budget set aside for one adaptive job, charged before each of its accesses."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from voile.errors import BudgetExceeded, LedgerError, PlanError
from voile.privacy.events import Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger.entry import Entry, EntryKind
from voile.privacy.ledger.filter import Amount, compose_adaptively

if TYPE_CHECKING:
    from voile.privacy.ledger.ledger import Ledger
    from voile.privacy.vault import PrivateTable


class Reservation:
    """Budget set aside for one adaptive job; charge it before each access, then close it."""

    def __init__(self, ledger: Ledger, entry: Entry) -> None:
        self.ledger = ledger
        self.entry = entry
        self._used = Amount()
        self._apart = Amount()  # by the filter's prices, for a job that stands alone
        self._open = True
        self._lock = threading.Lock()
        self._process = os.getpid()

    def pay(self, plan: Plan, table: PrivateTable) -> Grant:
        """Pay for the next part of the job, and get the right to carry it out on ``table``.

        Raises
        ------
        BudgetExceeded
            If the parts so far and this one exceed the upper bound; nothing was charged.
        """
        if self.entry.unit != table.unit:
            raise PlanError(
                "The budget was set aside for another privacy unit than that of this table: "
                "reserve it for this table."
            )
        entry = table.settle(plan, self.entry.what, self.ledger, lambda: self.charge(plan))
        return Grant(plan, entry, self.ledger, table)

    def charge(self, plan: Plan, what: str | None = None) -> Entry:
        """Write what the next access costs into the ledger, out of what was set aside.

        Raises
        ------
        BudgetExceeded
            If the accesses so far and this one exceed the upper bound; nothing was charged.
        """
        if os.getpid() != self._process:
            raise LedgerError(
                "A reservation belongs to the process that asked for it: ask the ledger for "
                "another one in the forked process."
            )
        if self.entry.alone and not compose_adaptively(plan.events):
            raise PlanError(
                "This job has the whole budget for Gaussian accesses: charge no others."
            )
        price = self._price(plan)
        with self._lock:
            if not self._open:
                raise PlanError("This reservation is closed; ask the ledger for a new one.")
            used = self._used + price
            with self.ledger._recorded(plan, what or self.entry.what):
                if not used.within(self._most()):
                    raise BudgetExceeded(
                        "The charge is larger than what was set aside for this job: reserve a "
                        "larger upper bound. Nothing was charged."
                    )
                entry = self._append(plan, price, used, what)
            self._used = used
            if self.entry.alone:
                self._apart = self._apart + self.ledger.filter.price_apart(plan.events)
            return entry

    def close(self) -> None:
        """Give back what was not charged. A job that never gets here has paid its upper bound.

        Does nothing in a forked process: only the one that asked may give back, and only once.
        """
        if os.getpid() != self._process:
            return
        with self._lock:
            if not self._open:
                return
            self._open = False
            # Who had the whole budget alone and went to the end gives nothing back: nothing may
            # follow.
            if not self.entry.alone:
                self._release(self.entry.price - self._used)

    def stop(self) -> None:
        """Close before the end, by what was released so far: also a job that stood alone.

        What it was charged so far counts by the prices of the ledger's filter from then on, and
        others may follow (docs/proofs/filter.md).
        """
        if not self.entry.alone:
            self.close()
        elif os.getpid() == self._process:
            with self._lock:
                was_open, self._open = self._open, False
                if was_open and self._apart.within(self.entry.price):
                    self._release(self.entry.price - self._apart)

    def _release(self, left: Amount) -> None:
        if left.loss > 0 or left.failure > 0:
            self.ledger._book.append(
                lambda last: self._line(last, EntryKind.RELEASE, Plan(()), left, None)
            )

    def _append(self, plan: Plan, price: Amount, used: Amount, what: str | None) -> Entry:
        made: list[Entry] = []

        def decide(last: Entry | None) -> Entry:
            made.append(self._line(last, EntryKind.CHARGE, plan, price, what))
            return made[-1]

        try:
            return self.ledger._append(decide)
        except LedgerError:
            # A commit that failed may have been one: what may stand in the ledger is used.
            if made and self.ledger._may_hold(made[-1]):
                self._used = used
            raise

    def _price(self, plan: Plan) -> Amount:
        """What accesses cost out of this; by their own arithmetic if it stands alone."""
        prices = self.ledger.filter
        if self.entry.alone:
            return prices.part_alone(plan.events, self.entry.plan.events)
        return prices.price_apart(plan.events)

    def _most(self) -> Amount:
        """What may be charged in all; parts of a whole are rounded, so they get room for that."""
        price = self.entry.price
        if self.entry.alone:
            return Amount(price.loss * (1 + 1e-12), price.failure * (1 + 1e-12))
        return price

    def _line(
        self, last: Entry | None, kind: EntryKind, plan: Plan, price: Amount, what: str | None
    ) -> Entry:
        if last is None:
            raise LedgerError("The ledger has lost the reservation this job was given.")
        return self.ledger._line(
            last,
            what or self.entry.what,
            kind,
            plan,
            price,
            last.total - price if kind is EntryKind.RELEASE else last.total,
            alone=last.alone and kind is not EntryKind.RELEASE,
            unit=self.entry.unit,
            parent=self.entry.id,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What cannot be given back stays paid, which is safe; the job's result, or its own error,
        # must not be lost for it.
        with suppress(LedgerError):
            self.close()

    def __reduce__(self) -> NoReturn:
        raise LedgerError("A reservation belongs to the process that asked for it.")
