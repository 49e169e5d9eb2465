"""The Ledger: spend before read, refuse what exceeds the budget, forget nothing."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from voile.errors import BudgetExceeded, LedgerError, LedgerMismatch
from voile.privacy.budget import Budget, Relation
from voile.privacy.events import Approximate, Laplace, Plan, Pure
from voile.privacy.filter import SLACK, Amount, Filter, FilterKind, compose_adaptively
from voile.privacy.ledger.admission import Admission
from voile.privacy.ledger.entry import UNNAMED, Book, Decide, Entry, EntryKind, Facts, new_entry
from voile.privacy.ledger.memory import MemoryBook
from voile.rendering import draw_card

_ROUNDING = 1 + 1e-12


class Ledger:
    """The budget of one data set and every use of it.

    One ledger belongs to one data set and is shared by everything that is ever done with it. It is
    a privacy filter: what is done next may depend on all results so far, and the budget holds.

    Parameters
    ----------
    where : str, Path, Budget or None
        A path (SQLite file), a ``postgresql://`` url, or None for memory. A Budget here means
        memory with that budget.
    budget : Budget, optional
        Needed to make a ledger; when an existing one is opened it may be left out, and must agree
        if given.
    dataset : str, optional
        Name of the data set. PostgreSQL keeps many ledgers by this name; a file keeps one.
    relation : {"add_remove", "replace_one"}
        Neighbouring relation, fixed when the ledger is made.
    filter : {"gdp", "renyi", "pure"}
        Which running total is kept (privacy/filter.py), fixed when the ledger is made.
    slack : float
        Share of delta set aside for failures beside the loss, fixed when the ledger is made.

    Notes
    -----
    ``copy``, ``deepcopy`` and ``sklearn.base.clone`` return the same ledger, never a fresh budget.
    A pickle of a file or database ledger re-opens it by url; one in memory refuses to be pickled.

    Examples
    --------
    >>> from voile import Budget, Ledger
    >>> ledger = Ledger(Budget(epsilon=2, delta=1e-6))
    >>> ledger.remaining()
    Budget(epsilon=2.0, delta=1e-06)
    """

    def __init__(
        self,
        where: str | Path | Budget | None = None,
        budget: Budget | None = None,
        *,
        dataset: str | None = None,
        relation: Relation | str | None = None,
        filter: FilterKind | str | None = None,
        slack: float | None = None,
    ) -> None:
        if isinstance(where, Budget):
            where, budget = None, where

        def made() -> Facts:
            if budget is None:
                raise LedgerMismatch(
                    "There is no ledger there yet, and a new one needs a budget: "
                    "Ledger('ledger.db', Budget(epsilon=1, delta=1e-6))."
                )
            facts = Facts(
                dataset or UNNAMED,
                budget,
                Relation(relation or Relation.ADD_REMOVE),
                FilterKind(filter or FilterKind.GDP),
                SLACK if slack is None else float(slack),
            )
            _ = facts.filter.limit  # an impossible budget is refused before anything is stored
            return facts

        self._book: Book
        if where is None:
            self._book = MemoryBook(made())
        else:
            from voile.privacy.ledger.sql import SqlBook, url_of

            self._book = SqlBook(url_of(where), dataset, made)
        facts = self._book.facts()
        self._check("budget", budget, facts.budget)
        self._check("relation", relation and Relation(relation), facts.relation)
        self._check("filter", filter and FilterKind(filter), facts.kind)
        self._check("slack", slack, facts.slack)
        self._filter = facts.filter
        self._has_paid, self._unsure = False, set[str]()

    def _check(self, name: str, given: object, stored: object) -> None:
        if given is not None and given != stored:
            raise LedgerMismatch(
                f"The ledger was made with {name} {stored}, not {given}: leave {name} out to use "
                "the ledger as it is. A budget is never enlarged."
            )

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._filter.budget

    @property
    def relation(self) -> Relation:
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
    def has_paid(self) -> bool:
        """Whether anything was paid through this very object, or may have been.

        May have been: the store failed while an entry was written, and does not tell since.
        """
        return self._has_paid or bool(self._unsure)

    def spend(self, plan: Plan, what: str) -> Entry:
        """Pay for a whole plan before its first look at the rows.

        Parameters
        ----------
        plan : Plan
            Every look, fixed in advance.
        what : str
            The job, for the history.

        Returns
        -------
        Entry
            The line that was written, durably.

        Raises
        ------
        BudgetExceeded
            If the plan does not fit; nothing was spent.
        LedgerUnavailable
            If the line could not be stored; nothing may be released.
        """
        price = self._filter.price(plan.events)
        fits_alone = self._fits_alone(plan, price)
        return self._append(
            lambda last: self._decide(last, what, EntryKind.SPEND, plan, price, fits_alone)
        )

    def admit(self, upper_bound: Plan, what: str) -> Admission:
        """Set aside the most that an adaptive job may cost, or refuse.

        The job then charges what it really does, before doing it, and gives back the rest::

            with ledger.admit(most, "explain") as admission:
                admission.charge(first)      # pays, then look
                admission.charge(second)     # may depend on what the first look released
        """
        bound = self._filter.price_apart(upper_bound.events)
        # Room for rounding: parts that make up the whole must fit.
        price = Amount(bound.loss * _ROUNDING, bound.chance * _ROUNDING)
        exact = compose_adaptively(upper_bound.events)
        fits_alone = exact and self._fits_alone(upper_bound, price)
        entry = self._append(
            lambda last: self._decide(last, what, EntryKind.ADMIT, upper_bound, price, fits_alone)
        )
        return Admission(self, entry)

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
        return self._filter.worth(last.total)

    def fraction_spent(self) -> float:
        """Share of the budget that is used, 0 to 1 (of mu^2 under ``gdp``)."""
        last = self._book.last()
        if last is None or self.budget.unlimited:
            return 0.0
        if last.alone:
            return 1.0
        return last.total.loss / self._filter.limit.loss

    def history(self, after: int = 0) -> tuple[Entry, ...]:
        """Every entry, oldest first; or those after the entry of that number."""
        return tuple(self._book.entries(after))

    def to_dict(self) -> dict[str, Any]:
        """The whole ledger as plain data."""
        return {
            "dataset": self.dataset,
            "budget": {"epsilon": _finite(self.budget.epsilon), "delta": self.budget.delta},
            "relation": str(self.relation),
            "filter": str(self._filter.kind),
            "slack": self._filter.slack,
            "remaining": _finite(self.remaining().epsilon),
            "entries": [entry.to_dict() for entry in self.history()],
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The whole ledger as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def _append(self, decide: Decide) -> Entry:
        def note(last: Entry | None) -> Entry:
            entry = decide(last)
            self._unsure.add(entry.id)  # from here on a failure or an interrupt may leave an entry
            tried.append(entry.id)
            return entry

        tried: list[str] = []
        try:
            entry = self._book.append(note)
        except LedgerError:
            # A commit that failed may have been one, or not: what was stored says it.
            with suppress(LedgerError):
                if tried and all(one.id not in tried for one in self._book.entries()):
                    self._unsure.difference_update(tried)
            raise
        self._has_paid = True
        self._unsure.difference_update(tried)
        return entry

    def _fits_alone(self, plan: Plan, price: Amount) -> bool:
        # Only the first entry may use this; the exact accounting is costly, so ask when it decides.
        if self._filter.admits(price) or self._book.last() is not None:
            return False
        return self._filter.fits_alone(plan.events)

    def _decide(
        self,
        last: Entry | None,
        what: str,
        kind: EntryKind,
        plan: Plan,
        price: Amount,
        fits_alone: bool,
    ) -> Entry:
        before = Amount() if last is None else last.total
        total = before + price
        closed = last is not None and last.alone
        if not closed and self._filter.admits(total):
            return new_entry(last, what=what, kind=kind, plan=plan, price=price, total=total)
        if last is None and fits_alone:
            return new_entry(
                last, what=what, kind=kind, plan=plan, price=price, total=total, alone=True
            )
        raise BudgetExceeded(self._refusal(what, before, price, closed) + self._hint(plan))

    def _refusal(self, what: str, before: Amount, price: Amount, closed: bool) -> str:
        limit = self._filter.limit
        if closed:
            return (
                f"{what} was refused: the budget ({self.budget}) is used up. Nothing was spent. "
                "A larger budget needs a decision about the people in the data, not a setting."
            )
        if price.loss == float("inf"):
            return (
                f"{what} was refused: it has no finite price under the {self._filter.kind} filter "
                "(no noise, or a mechanism this filter cannot count), and the budget is finite. "
                "Nothing was spent."
            )
        if before.loss + price.loss > limit.loss:
            left = self._filter.worth(limit - before).epsilon
            wanted = self._filter.worth(Amount(price.loss)).epsilon
            return (
                f"{what} was refused: it would cost about epsilon {wanted:.4g} and about "
                f"{left:.4g} is left of {self.budget}. Nothing was spent. Ask for less."
            )
        return (
            f"{what} was refused: the share of delta set aside for thresholds and approximate "
            f"looks ({limit.chance:.3g}) is used up. Nothing was spent. List categories in the "
            "schema, so that no threshold must find them, or give such looks a smaller delta."
        )

    def _hint(self, plan: Plan) -> str:
        pure = any(isinstance(event, (Laplace, Pure, Approximate)) for event in plan.events)
        if not pure or self._filter.kind is not FilterKind.GDP:
            return ""
        return " Other looks than Gaussian are dear here: make a ledger for them, filter='renyi'."

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> Any:
        if self._book.url is None:
            raise LedgerError(
                "A ledger in memory cannot be sent to another process: its copy would spend the "
                "budget a second time. Give the ledger a file: Ledger('ledger.db', budget)."
            )
        return _reopen, (self._book.url, self.dataset)

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


def _reopen(url: str, dataset: str) -> Ledger:
    return Ledger(url, dataset=dataset)
