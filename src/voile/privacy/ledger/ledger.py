"""The Ledger: spend before read, refuse what exceeds the budget, forget nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from voile.errors import BudgetExceeded, LedgerError, LedgerMismatch, SettingError
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.events import Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger.digest import beginning_of, beginning_of_refusals
from voile.privacy.ledger.entry import Beside, Decide, Entry, EntryKind, new_entry, new_refusal
from voile.privacy.ledger.facts import UNNAMED, LedgerFacts
from voile.privacy.ledger.filter import SLACK, Amount, FilterKind, compose_adaptively
from voile.privacy.ledger.memory import MemoryBook
from voile.privacy.ledger.person import Person, check_text, person_of
from voile.privacy.ledger.reading import LedgerReading
from voile.privacy.ledger.refusing import Refused, why_other_unit
from voile.privacy.ledger.reservation import Reservation
from voile.privacy.signing import SigningKey, find_key
from voile.schema.unit import ROW

if TYPE_CHECKING:
    from voile.privacy.vault import PrivateTable

_ROUNDING = 1 + 1e-12

_Kind = TypeVar("_Kind", bound=StrEnum)


class Ledger(LedgerReading):
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
        Which running total is kept (privacy/ledger/filter.py), fixed when the ledger is made.
    slack : float
        Share of delta set aside for failures beside the loss, fixed when the ledger is made.
    unit : str, optional
        Who is protected: ``"row"``, or the column of a `Unit` ("patient"). Guarantees for different
        units do not add up, so one ledger has one. Without it, the first entry decides.
    who : str or Person, optional
        Who spends; the login name without it. Each entry says how the name is known.
    key : SigningKey or path, optional
        Signs every entry, for ever, of a ledger that is made with it; needed to spend from it then
        (not to read it). The environment variable ``VOILE_KEY`` may name it.

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
        relation: NeighbouringRelation | str | None = None,
        filter: FilterKind | str | None = None,
        slack: float | None = None,
        unit: str | None = None,
        who: str | Person | None = None,
        key: SigningKey | str | Path | None = None,
    ) -> None:
        if isinstance(where, Budget):
            where, budget = None, where
        if dataset is not None:
            check_text("name of the data set", dataset)
        self._who = None if who is None else person_of(who)
        # What lives for one job alone is signed only if asked for.
        self._key = None if where is None and key is None else find_key(key)

        def made() -> LedgerFacts:
            if budget is None:
                raise LedgerMismatch(
                    "There is no ledger there yet, and a new one needs a budget: "
                    "Ledger('ledger.db', Budget(epsilon=1, delta=1e-6))."
                )
            facts = LedgerFacts(
                dataset or UNNAMED,
                budget,
                _one_of(NeighbouringRelation, relation or NeighbouringRelation.ADD_REMOVE),
                _one_of(FilterKind, filter or FilterKind.GDP),
                SLACK if slack is None else float(slack),
                unit,
                None if self._key is None else self._key.public,
            )
            _ = facts.filter.limit  # an impossible budget is refused before anything is stored
            return facts

        if where is None:
            self._book = MemoryBook(made())
        else:
            from voile.privacy.ledger.engines import url_of
            from voile.privacy.ledger.sql import SqlBook

            self._book = SqlBook(url_of(where), dataset, made)
        facts = self._book.facts()
        self._check("budget", budget, facts.budget)
        self._check(
            "relation", relation and _one_of(NeighbouringRelation, relation), facts.relation
        )
        self._check("filter", filter and _one_of(FilterKind, filter), facts.kind)
        self._check("slack", slack, facts.slack)
        self._filter = facts.filter
        if unit is not None:
            self._check_unit(unit, self._book.last())
        if key is not None and self._key is not None and self._key.public != facts.signer:
            raise LedgerMismatch(
                "The ledger was made with another key, or without one: leave the key out to read "
                "it, or give the one it was made with."
            )
        self._has_paid, self._unsure = False, set[str]()

    def _check(self, name: str, given: object, stored: object) -> None:
        if given is not None and given != stored:
            raise LedgerMismatch(
                f"The ledger was made with {name} {stored}, not {given}: leave {name} out to use "
                "the ledger as it is. A budget is never enlarged."
            )

    @property
    def has_paid(self) -> bool:
        """Whether anything was paid through this very object, or may have been.

        May have been: the store failed while an entry was written, and does not tell since.
        """
        return self._has_paid or bool(self._unsure)

    def pay(
        self,
        plan: Plan,
        table: PrivateTable,
        what: str,
        *,
        unit: str | None = None,
        beside: Beside | None = None,
        asked: Budget | None = None,
    ) -> Grant:
        """Pay for a whole plan in one entry, and get the right to carry it out on ``table``.

        Parameters
        ----------
        plan : Plan
            Every access, fixed in advance.
        table : PrivateTable
        what : str
            The job, for the history.
        unit : str, optional
            Who is protected, if not whom the table's schema names.
        beside : callable, optional
            Written in the entry's own transaction (`voile.privacy.ledger.jobs`).
        asked : Budget, optional
            What the plan was calibrated to, so that a refusal can tell what may be asked for.

        Raises
        ------
        BudgetExceeded
            If the plan does not fit; nothing was spent.
        LedgerMismatch
            If the ledger protects another unit, or was tampered with; nothing was spent.
        LedgerUnavailable
            If the line could not be stored; nothing may be released.
        """
        whom = unit or table.unit
        spend = partial(self.spend, plan, what, unit=whom, beside=beside, asked=asked)
        entry = table.settle(plan, what, self, spend, unit)
        return Grant(plan, entry, self, table, unit)

    def spend(
        self,
        plan: Plan,
        what: str,
        *,
        unit: str = ROW,
        beside: Beside | None = None,
        asked: Budget | None = None,
    ) -> Entry:
        """Write what a plan costs into this ledger; `pay` does so for a table of Voile.

        ``unit`` says who is protected, the same in all entries of a ledger; the rest is as in
        `pay`. The line stands durably when this returns.
        """
        price = self._filter.price(plan.events)
        fits_alone = self._fits_alone(plan, price)
        with self._recorded(plan, what):
            return self._append(
                lambda last: self._decide(
                    last, what, EntryKind.SPEND, plan, price, fits_alone, unit, asked
                ),
                beside,
            )

    def check_can_pay(
        self, plan: Plan, what: str, *, unit: str = ROW, asked: Budget | None = None
    ) -> None:
        """Raise what `spend` would raise now; nothing is spent, a refusal is recorded.

        Another job may spend in between: the payment itself decides again.
        """
        price = self._filter.price(plan.events)
        fits_alone = self._fits_alone(plan, price)
        with self._recorded(plan, what):
            last = self._book.last()
            self._decide(last, what, EntryKind.SPEND, plan, price, fits_alone, unit, asked)

    def reserve(
        self, most: Plan, what: str, *, unit: str = ROW, asked: Budget | None = None
    ) -> Reservation:
        """Set aside the most that an adaptive job may cost, or refuse.

        The job then pays what it really does, before doing it, and gives back the rest::

            with ledger.reserve(most, "explain", unit=table.unit) as reservation:
                grant = reservation.pay(first, table)
                grant = reservation.pay(second, table)   # may depend on what the first released
        """
        bound = self._filter.price_apart(most.events)
        # Room for rounding: parts that make up the whole must fit.
        price = Amount(bound.loss * _ROUNDING, bound.failure * _ROUNDING)
        exact = compose_adaptively(most.events)
        fits_alone = exact and self._fits_alone(most, price)
        with self._recorded(most, what):
            entry = self._append(
                lambda last: self._decide(
                    last, what, EntryKind.RESERVE, most, price, fits_alone, unit, asked
                )
            )
        return Reservation(self, entry)

    def _append(self, decide: Decide, beside: Beside | None = None) -> Entry:
        def note(last: Entry | None) -> Entry:
            entry = decide(last)
            self._unsure.add(entry.id)  # from here on a failure or an interrupt may leave an entry
            tried.append(entry.id)
            return entry

        tried: list[str] = []
        try:
            entry = self._book.append(note, beside)
        except LedgerError:
            # A commit that failed may have been one, or not: what was stored says it.
            with suppress(LedgerError):
                if tried and all(one.id not in tried for one in self._book.entries()):
                    self._unsure.difference_update(tried)
            raise
        self._has_paid = True
        self._unsure.difference_update(tried)
        return entry

    def _may_hold(self, entry: Entry) -> bool:
        """Whether an entry whose writing failed may stand in the book all the same."""
        return entry.id in self._unsure

    def _fits_alone(self, plan: Plan, price: Amount) -> bool:
        # Only the first entry may use this; the exact accounting is costly, so ask when it decides.
        if self._filter.allows(price) or self._book.last() is not None:
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
        unit: str,
        asked: Budget | None,
    ) -> Entry:
        self._check_unit(unit, last)
        before = Amount() if last is None else last.total
        closed = last is not None and last.alone
        allowed = not closed and price.finite and self._filter.allows(before + price)
        alone = last is None and fits_alone and not allowed
        if not allowed and not alone:
            state = (asked, last is None, closed, kind is EntryKind.RESERVE)
            raise BudgetExceeded(str(Refused(self._filter, plan, what, before, price, *state)))
        if alone:
            # What stands alone is not priced by the filter, and takes all that there is.
            price = self._filter.limit
        return self._line(last, what, kind, plan, price, before + price, alone=alone, unit=unit)

    def _line(
        self,
        last: Entry | None,
        what: str,
        kind: EntryKind,
        plan: Plan,
        price: Amount,
        total: Amount,
        *,
        alone: bool,
        unit: str,
        parent: str | None = None,
    ) -> Entry:
        """The next line: bound to the one before, and signed where the ledger is."""
        facts = self._book.facts()
        if facts.signer is not None and (self._key is None or self._key.public != facts.signer):
            raise LedgerMismatch(
                "Every entry of this ledger is signed, and its key is not here: give "
                "Ledger(..., key='PATH'), or name it in VOILE_KEY. Nothing was spent."
            )
        return new_entry(
            last,
            what=what,
            kind=kind,
            plan=plan,
            price=price,
            total=total,
            alone=alone,
            parent=parent,
            unit=unit,
            who=self._who,
            beginning=beginning_of(facts),
            key=None if facts.signer is None else self._key,
        )

    def _check_unit(self, unit: str, last: Entry | None) -> None:
        known = self._book.facts().unit if last is None else last.unit
        if known is not None and unit != known:
            raise LedgerMismatch(why_other_unit(known, unit))

    @contextmanager
    def _recorded(self, plan: Plan, what: str) -> Iterator[None]:
        """Keep who wanted what and why not, if it is refused; a refusal never fails for that."""
        check_text("name of a job", what)
        try:
            yield
        except (BudgetExceeded, LedgerMismatch) as error:
            why = str(error)
            with suppress(LedgerError):
                self._book.refuse(
                    lambda last: new_refusal(
                        last,
                        what=what,
                        why=why,
                        plan=plan,
                        who=self._who or person_of(None),
                        beginning=beginning_of_refusals(self._book.facts()),
                    )
                )
            raise

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
        path = None if self._key is None or self._key.path is None else str(self._key.path)
        return _reopen, (self._book.url, self.dataset, self._who, path if self.signer else None)


def _reopen(url: str, dataset: str, who: Person | None, key: str | None) -> Ledger:
    return Ledger(url, dataset=dataset, who=who, key=key)


def _one_of(kinds: type[_Kind], given: str) -> _Kind:
    try:
        return kinds(given)
    except ValueError:
        known = ", ".join(repr(str(kind)) for kind in kinds)
        raise SettingError(f"There is no {given!r} here: it must be one of {known}.") from None
