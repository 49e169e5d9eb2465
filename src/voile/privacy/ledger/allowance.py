"""An allowance: a part of a ledger's budget for one purpose, kept across restarts.

A question is answered from the rows only if the most it can cost fits both the allowance and the
ledger; what it really costs is charged before each access, and the rest is given
back. A process that dies in between has paid the most, which is safe.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from voile.errors import BudgetExceeded, LedgerMismatch
from voile.privacy.budget import Budget
from voile.privacy.events import Plan, Unprotected
from voile.privacy.gaussian_dp import epsilon_of, mu_of
from voile.privacy.grant import Grant
from voile.privacy.ledger import Entry, EntryKind, Ledger, Reservation
from voile.privacy.ledger.answers import AnswerBook
from voile.privacy.ledger.filter import Filter
from voile.privacy.ledger.refusing import round_down
from voile.privacy.noise import NoiseSource
from voile.privacy.receipt import Receipt, write_running_receipt
from voile.privacy.vault import PrivateTable


class Allowance:
    """What an explainer may spend, and what it has spent.

    Parameters
    ----------
    table : PrivateTable
    ledger : Ledger
    book : AnswerBook
    budget : Budget
        The allowance.
    what : str
        Name of the job in the ledger.
    """

    def __init__(
        self, table: PrivateTable, ledger: Ledger, book: AnswerBook, budget: Budget, what: str
    ) -> None:
        self.table, self.ledger, self.budget, self.what = table, ledger, budget, what
        self._book = book
        self._prices = Filter(budget, ledger.relation)
        self._entries: list[Entry] = []
        self._seen = 0
        self._grants: list[Grant] = []
        self._own: set[str] = set()
        self.fixed_noise = False
        self._checked = budget.unlimited

    def _check_allowance(self) -> None:
        """Refuse an allowance that says less than the ledger's own lines, which nobody changes."""
        if self._checked:
            return
        charged = sum(
            self.price(entry.plan)
            for entry in self.ledger.history()
            if entry.what == self.what and entry.kind is EntryKind.CHARGE
        )
        # Set aside before it is charged, so that it is never less, whoever asks meanwhile.
        if self._book.used() < charged * (1 - 1e-6):
            raise LedgerMismatch(
                "What this explainer has used of its allowance is less than what the ledger has "
                "charged for it: its table was changed. Put a good copy back."
            )
        self._checked = True

    @property
    def limit(self) -> float:
        """The allowance as a total of mu^2."""
        return self._prices.limit.loss

    @property
    def slack(self) -> float:
        """Share of delta that the filter sets aside."""
        return self._prices.slack

    def price(self, plan: Plan) -> float:
        """What a plan costs, as mu^2, if each access is decided on by itself.

        Accesses without noise are not counted: only a ledger without limit allows them, and the
        receipt then says that there is no guarantee.
        """
        noised = [event for event in plan.events if not isinstance(event, Unprotected)]
        return self._prices.price_apart(noised).loss

    @contextmanager
    def reserve(self, most: Plan, *, whole: bool = False) -> Iterator[AllowedPayment | None]:
        """Set aside the most that a question may cost; None if it does not fit any more.

        Parameters
        ----------
        most : Plan
        whole : bool
            The job is the only one of this explainer for ever and was calibrated to its budget, so
            that the ledger alone decides (and raises BudgetExceeded).
        """
        if whole:
            unit, asked = self.table.unit, self.budget
            with self.ledger.reserve(most, self.what, unit=unit, asked=asked) as reservation:
                yield AllowedPayment(self, reservation)
            return
        self._check_allowance()
        price = self.price(most)
        if not self.budget.unlimited and not self._book.set_aside(price, self.limit):
            yield None
            return
        payment = None
        try:
            try:
                reservation = self.ledger.reserve(most, self.what, unit=self.table.unit)
            except BudgetExceeded:
                # Others have used the ledger up: nothing was spent.
                yield None
                return
            with reservation:
                payment = AllowedPayment(self, reservation)
                yield payment
        finally:
            spent = 0.0 if payment is None else payment.spent
            if not self.budget.unlimited:
                self._book.give_back(max(price - spent, 0.0))

    def advice(self, text: str) -> str:
        """A sentence with the largest epsilon that another allowance could have at this delta."""
        left = self.ledger.remaining()
        if left.unlimited or left.epsilon <= 0 or not 0 < self.budget.delta < 1:
            return "" if left.unlimited else "Nothing is left in the ledger."
        kept = self.budget.delta * (1 - self.slack)
        mu = mu_of(left.epsilon, left.delta)
        return text.format(f"{round_down(epsilon_of(mu, kept)):g}")

    def note(self, grant: Grant) -> None:
        """Remember what noise was used, for the receipt."""
        self._grants.append(grant)
        self._own.add(grant.entry.id)

    @property
    def noise(self) -> NoiseSource:
        """Where all noise came from; one fixed seed spoils the whole."""
        fixed = self.fixed_noise or any(one.noise is NoiseSource.FIXED for one in self._grants)
        # What was looked at is known; remember the verdict, not every grant.
        self.fixed_noise, self._grants = fixed, self._grants[-1:]
        return NoiseSource.FIXED if fixed else NoiseSource.SYSTEM

    def receipt(self, notes: tuple[str, ...]) -> Receipt:
        """All that was paid so far, by whichever process."""
        others = False
        for entry in self.ledger.history(self._seen):
            self._seen = entry.seq
            if entry.what == self.what and entry.kind in (EntryKind.SPEND, EntryKind.CHARGE):
                self._entries.append(entry)
                others |= entry.id not in self._own
        if others:
            # What others have released under this name is in the book, with its noise.
            fixed = str(NoiseSource.FIXED)
            self.fixed_noise |= any(
                isinstance(one, dict) and one.get("noise") == fixed
                for one in self._book.all().values()
            )
        return write_running_receipt(
            self.ledger,
            self._entries,
            self.budget,
            what=self.what,
            unit=str(self.table.schema.privacy_unit),
            source=self.noise,
            notes=(*self.table.notes, *notes),
        )


class AllowedPayment:
    """A question that fits an allowance: pays before each access."""

    def __init__(self, allowance: Allowance, reservation: Reservation) -> None:
        self._allowance, self._reservation = allowance, reservation
        self.spent = 0.0

    def pay(self, plan: Plan) -> Grant:
        """Pay for the next accesses, and get the right to carry them out."""
        grant = self._reservation.pay(plan, self._allowance.table)
        self.spent += self._allowance.price(plan)
        self._allowance.note(grant)
        return grant
