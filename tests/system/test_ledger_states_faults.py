"""The machine that looks for wrong ledgers finds those that were made wrong on purpose."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from ledger_machine import LedgerStates

from voile.privacy import accounting
from voile.privacy.events import Plan
from voile.privacy.ledger import Ledger, Reservation, filter
from voile.privacy.ledger.filter import Amount, Filter

SEARCH = settings(
    max_examples=300,
    stateful_step_count=15,
    derandomize=True,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    database=None,
)


def forget_prices() -> None:
    """Prices are remembered: those of the faulty ledger must not be, nor hide it."""
    for module in (accounting, filter):
        for _, function in inspect.getmembers(module, lambda one: hasattr(one, "cache_clear")):
            function.cache_clear()


@pytest.fixture(autouse=True)
def fresh_prices():
    forget_prices()
    yield
    forget_prices()


def changed(method: Callable, change: Callable) -> Callable:
    """The method with its result changed."""
    return lambda *given: change(method(*given))


def half(amount: Amount) -> Amount:
    return Amount(amount.loss / 2, amount.failure / 2)


def halve_prices(patch: pytest.MonkeyPatch) -> None:
    """An entry costs half of what it should."""
    patch.setattr(Filter, "price", changed(Filter.price, half))


def halve_prices_of_reservations(patch: pytest.MonkeyPatch) -> None:
    """A job of many accesses sets aside, and is charged, half of what it should."""
    patch.setattr(Filter, "price_apart", changed(Filter.price_apart, half))


def count_once(patch: pytest.MonkeyPatch) -> None:
    """Accesses that are repeated are priced as one."""
    one = Filter.price_apart
    patch.setattr(
        Filter,
        "price_apart",
        lambda self, events: one(self, [replace(e, count=min(e.count, 1)) for e in events]),
    )


def forget_totals(patch: pytest.MonkeyPatch) -> None:
    """The running total stays where it was."""
    patch.setattr(Amount, "__add__", lambda self, other: self)


def never_compare(patch: pytest.MonkeyPatch) -> None:
    """A charge is not compared with what was set aside."""
    patch.setattr(Amount, "within", lambda self, limit: True)


def never_refuse(patch: pytest.MonkeyPatch) -> None:
    """The running total is not compared with the limit."""
    patch.setattr(Filter, "allows", lambda self, total: True)


def give_back_too_much(patch: pytest.MonkeyPatch) -> None:
    """Closing a reservation gives back what was charged, too."""
    close = Reservation.close

    def forget(self: Reservation) -> None:
        self._used = Amount()
        close(self)

    patch.setattr(Reservation, "close", forget)


def give_back_twice(patch: pytest.MonkeyPatch) -> None:
    """A reservation can be closed again and again."""
    close = Reservation.close

    def again(self: Reservation) -> None:
        self._open = True
        close(self)

    patch.setattr(Reservation, "close", again)


def charge_afresh(patch: pytest.MonkeyPatch) -> None:
    """A reservation forgets what it was charged, as if a restarted job had been handed it anew."""
    charge = Reservation.charge

    def afresh(self: Reservation, plan: Plan, *given: object):
        self._used = Amount()
        return charge(self, plan, *given)

    patch.setattr(Reservation, "charge", afresh)


def charge_when_closed(patch: pytest.MonkeyPatch) -> None:
    """A closed reservation can be charged."""
    charge = Reservation.charge

    def reopened(self: Reservation, plan: Plan, *given: object):
        self._open = True
        return charge(self, plan, *given)

    patch.setattr(Reservation, "charge", reopened)


def count_fewer_looks(patch: pytest.MonkeyPatch) -> None:
    """Exact accounting composes half of the accesses that are not Gaussian."""
    whole = accounting._distribution
    patch.setattr(
        accounting,
        "_distribution",
        lambda event, *given: whole(replace(event, count=(event.count + 1) // 2), *given),
    )


def overlook_failures(patch: pytest.MonkeyPatch) -> None:
    """Thresholds and approximate accesses never fail."""
    for module in (accounting, filter):
        patch.setattr(module, "chance_of", lambda events: 0.0)


def price_unprotected(patch: pytest.MonkeyPatch) -> None:
    """An access without noise is free."""
    price = Filter.price
    patch.setattr(
        Filter,
        "price",
        lambda self, events: price(self, [e for e in events if e.kind != "unprotected"]),
    )


def mistake_what_is_spent(patch: pytest.MonkeyPatch) -> None:
    """The ledger says that less was spent than was."""
    patch.setattr(
        Ledger,
        "spent",
        changed(Ledger.spent, lambda spent: replace(spent, epsilon=spent.epsilon * 0.8)),
    )


def copy_budgets(patch: pytest.MonkeyPatch) -> None:
    """A copy of a ledger has a budget of its own."""
    patch.setattr(
        Ledger,
        "__deepcopy__",
        lambda self, memo: Ledger(
            self.budget,
            dataset="rows",
            relation=self.relation,
            filter=self.filter.kind,
            slack=self.filter.slack,
        ),
    )


FAULTS = [
    halve_prices,
    halve_prices_of_reservations,
    count_once,
    forget_totals,
    never_compare,
    never_refuse,
    give_back_too_much,
    give_back_twice,
    charge_afresh,
    charge_when_closed,
    overlook_failures,
    price_unprotected,
    mistake_what_is_spent,
    copy_budgets,
]


class Quick(LedgerStates):
    """One budget in memory and events with closed forms, so that a fault is found soon."""

    places = ("memory",)
    kinds = ("gdp",)
    budgets: ClassVar = {"gdp": [(1, 1e-6)]}
    quick = True


class Discretised(Quick):
    """The same with events of all kinds, many accesses each."""

    quick = False
    counts = (40,)


def test_nothing_is_found_where_nothing_is_wrong():
    run_state_machine_as_test(Quick, settings=settings(SEARCH, max_examples=50))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_wrong_ledger_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Quick, settings=SEARCH)


@pytest.mark.slow
def test_fewer_looks_than_there_are_is_found(monkeypatch):
    count_fewer_looks(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Discretised, settings=SEARCH)
