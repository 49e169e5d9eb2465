"""What can be read of a ledger: what is left, who spent what, who was refused, its head."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from voile.errors import LedgerError
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.ledger.entry import Book, Entry, Refusal
from voile.privacy.ledger.filter import Filter
from voile.privacy.ledger.head import Head
from voile.rendering import draw_card

if TYPE_CHECKING:
    from voile.privacy.ledger.verify import Verified


class LedgerReading:
    """The half of a ledger that changes nothing."""

    _book: Book
    _filter: Filter

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._filter.budget

    @property
    def relation(self) -> NeighbouringRelation:
        """Neighbouring relation of every entry."""
        return self._filter.relation

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self._book.facts().dataset

    @property
    def filter(self) -> Filter:
        """The privacy filter: limits and prices."""
        return self._filter

    @property
    def signer(self) -> str | None:
        """Public key by which every entry is signed; None if none is."""
        return self._book.facts().signer

    @property
    def unit(self) -> str | None:
        """Who is protected by every entry; None as long as there is none."""
        last = self._book.last()
        return self._book.facts().unit if last is None else last.unit

    def remaining(self) -> Budget:
        """What an all-Gaussian training could still spend, as (epsilon, delta)."""
        last = self._book.last()
        if last is None or self.budget.unlimited:
            return self.budget
        if last.alone:
            return Budget(0.0, self.budget.delta)
        return self._filter.worth(self._filter.limit - last.total)

    def spent(self) -> Budget:
        """What everything so far has cost together, as (epsilon, delta)."""
        last = self._book.last()
        if last is None:
            return Budget(0.0, self.budget.delta)
        if last.alone or self.budget.unlimited:
            return self.budget
        return Budget(self._filter.cost(last.total), self.budget.delta)

    def fraction_spent(self) -> float:
        """Share of the budget that is used, 0 to 1 (of mu^2 under ``gdp``)."""
        last = self._book.last()
        if last is None or self.budget.unlimited:
            return 0.0
        if last.alone:
            return 1.0
        limit = self._filter.limit.loss
        return last.total.loss / limit if limit else 0.0

    def history(self, after: int = 0) -> tuple[Entry, ...]:
        """Every entry, oldest first; or those after the entry of that number."""
        return tuple(self._book.entries(after))

    def refusals(self) -> tuple[Refusal, ...]:
        """Every attempt that was refused, oldest first: who, what, why. None was paid."""
        return tuple(self._book.refusals())

    def head(self) -> Head:
        """A short text to keep elsewhere: with it, `verify` notices an older or changed copy."""
        return self._book.head()

    def verify(self, head: Head | str | None = None) -> Verified:
        """Check every line, total, price and signature again, and that nothing is missing.

        Parameters
        ----------
        head : Head or str, optional
            Of this ledger, from earlier, kept elsewhere.

        Raises
        ------
        LedgerMismatch
            If anything was removed, changed, added or moved, or is older than the head.
        """
        from voile.privacy.ledger.verify import verify

        return verify(self, head)

    def to_dict(self) -> dict[str, Any]:
        """The whole ledger as plain data."""
        return {
            "dataset": self.dataset,
            "budget": {"epsilon": _finite(self.budget.epsilon), "delta": self.budget.delta},
            "relation": str(self.relation),
            "filter": str(self._filter.kind),
            "slack": self._filter.slack,
            "unit": self.unit,
            "signer": self.signer,
            "head": str(self.head()),
            "remaining": _finite(self.remaining().epsilon),
            "entries": [entry.to_dict() for entry in self.history()],
            "refusals": [refusal.to_dict() for refusal in self.refusals()],
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The whole ledger as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def _repr_html_(self) -> str:
        return draw_card(self)

    def __repr__(self) -> str:
        where = "memory" if self._book.url is None else self.dataset
        try:
            return f"<Ledger {where}: {self.remaining().epsilon:.4g} of {self.budget} left>"
        except LedgerError as error:
            return f"<Ledger {where}: {self.budget}, {type(error).__name__}>"


def _finite(epsilon: float) -> float | None:
    """JSON has no infinity: None stands for a budget without end."""
    return epsilon if math.isfinite(epsilon) else None
