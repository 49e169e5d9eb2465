"""Every access to the rows was paid for before it, once, for this table, in this process."""

import copy
import os
import pickle
import sys
import threading
from collections import Counter

import numpy as np
import pytest

from voile import Category, Ledger, Number, Schema, protect, summarize
from voile.errors import BudgetExceeded, PlanError
from voile.privacy import vault
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.calibrate import calibrate
from voile.privacy.discovery import find_levels
from voile.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    Plan,
    PoissonGaussian,
    Pure,
    Threshold,
    Unprotected,
)
from voile.privacy.mechanisms import (
    exponential,
    gaussian_sum,
    laplace_sum,
    permute_and_flip,
    top_k,
)
from voile.privacy.noise import NoiseSource, fixed_noise
from voile.privacy.queries import CategoryCounts, NumberCounts, RowCount

SCHEMA = Schema({"a": Number(0, 10), "b": Category(["x", "y", "z"])})
BUDGET = Budget(10.0, 1e-6)


def private_table():
    return protect({"a": [1.0, 2.0, 9.0], "b": ["x", "x", "y"]}, schema=SCHEMA)


# -- tickets ---------------------------------------------------------------------------------------


def test_a_ticket_is_good_once(openings):
    table = private_table()
    grant = Ledger(BUDGET).pay(Plan.of(a=Gaussian(5, 10.0)), table, "test")
    ticket = grant.take("a")
    gaussian_sum(table, RowCount(), ticket)
    with pytest.raises(PlanError, match="used already"):
        gaussian_sum(table, RowCount(), ticket)
    assert openings == ["a"]
    assert grant.openings == {"a": 1}


def test_no_more_looks_than_announced(openings):
    table = private_table()
    grant = Ledger(BUDGET).pay(Plan.of(a=Gaussian(2, 10.0), b=Pure(1, 0.1)), table, "test")
    for _ in range(2):
        gaussian_sum(table, RowCount(), grant.take("a"))
    with pytest.raises(PlanError, match="announced 2 accesses"):
        grant.take("a")
    with pytest.raises(PlanError, match="no step"):
        grant.take("c")
    with pytest.raises(PlanError, match="all are taken"):
        top_k(table, CategoryCounts("b", 3), grant, "b", 2)
    assert openings == ["a", "a", "b"]


def test_a_ticket_is_good_for_its_table_alone(openings):
    table, other = private_table(), private_table()
    grant = Ledger(BUDGET).pay(Plan.of(a=Gaussian(1, 10.0)), table, "test")
    ticket = grant.take("a")
    with pytest.raises(PlanError, match="another table"):
        gaussian_sum(other, RowCount(), ticket)
    assert openings == []
    # The same rows under a schema that knows more are the same table.
    gaussian_sum(table.with_schema(SCHEMA), RowCount(), ticket)
    assert openings == ["a"]


def test_tickets_and_grants_cannot_be_copied():
    grant = Ledger(BUDGET).pay(Plan.of(a=Gaussian(1, 10.0)), private_table(), "test")
    for thing in (grant, grant.take("a")):
        for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(PlanError, match="belongs to the process"):
                duplicate(thing)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_cannot_look_again():
    table = private_table()
    grant = Ledger(BUDGET).pay(Plan.of(a=Gaussian(2, 10.0)), table, "test")
    ticket = grant.take("a")
    child = os.fork()
    if child == 0:  # never leave this block: the child must not run other tests
        refused = 0
        for attempt in (lambda: grant.take("a"), lambda: vault.open_rows(table, ticket)):
            try:
                attempt()
            except PlanError:
                refused += 1
        os._exit(refused)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 2
    gaussian_sum(table, RowCount(), ticket)


def test_threads_share_the_looks():
    table = private_table()
    grant = Ledger(BUDGET).pay(Plan.of(a=Gaussian(20, 50.0)), table, "test")
    taken, refused = [], []

    def work():
        for _ in range(10):
            try:
                taken.append(grant.take("a"))
            except PlanError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (20, 20)


@pytest.mark.parametrize(
    ("event", "mechanism"),
    [
        (Laplace(1, 9.0), lambda t, ticket: gaussian_sum(t, RowCount(), ticket)),
        (Gaussian(1, 9.0), lambda t, ticket: laplace_sum(t, RowCount(), ticket)),
        (Gaussian(1, 9.0), lambda t, ticket: permute_and_flip(t, RowCount(), ticket)),
        (Laplace(1, 9.0), lambda t, ticket: exponential(t, RowCount(), ticket)),
        (Gaussian(1, 9.0), lambda t, ticket: find_levels(t, "b", ticket)),
        (Approximate(1, 0.1, 1e-9), lambda t, ticket: gaussian_sum(t, RowCount(), ticket)),
        (Approximate(1, 0.1, 1e-9), lambda t, ticket: permute_and_flip(t, RowCount(), ticket)),
        (Pure(1, 0.1), lambda t, ticket: gaussian_sum(t, RowCount(), ticket)),
        (Threshold(1, 9.0, 1e-9), lambda t, ticket: gaussian_sum(t, RowCount(), ticket)),
    ],
)
def test_a_look_of_another_kind_than_was_paid_is_refused(event, mechanism, openings):
    table = private_table()
    grant = Ledger(BUDGET).pay(Plan.of(a=event), table, "test")
    with pytest.raises(PlanError):
        mechanism(table, grant.take("a"))
    assert openings == []


# -- spend before read -----------------------------------------------------------------------------


def test_a_refused_plan_never_opens_the_vault(openings):
    ledger = Ledger(Budget(0.5, 1e-6))
    table = private_table()
    with pytest.raises(BudgetExceeded):
        summarize(table, epsilon=1.0, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        summarize(table, epsilon=float("inf"), ledger=ledger)
    with pytest.raises(BudgetExceeded):
        ledger.pay(Plan.of(a=Unprotected(1)), table, "test")
    assert openings == []
    assert ledger.history() == ()


@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "no schema"])
@pytest.mark.parametrize("epsilon", [1.0, float("inf")])
def test_every_opening_is_in_the_receipt_and_after_the_payment(
    schema, epsilon, openings, monkeypatch
):
    paid = []
    original = Ledger.spend

    def watched(self, plan, what, **unit):
        assert openings == [], "the rows were looked at before the plan was paid"
        entry = original(self, plan, what, **unit)
        paid.append(entry)
        return entry

    monkeypatch.setattr(Ledger, "spend", watched)
    rows = {"a": np.linspace(0, 9, 300), "b": ["x", "y", "z"] * 100}
    ledger = Ledger(Budget(epsilon, 1e-6))
    summary = summarize(rows, epsilon=epsilon, schema=schema, ledger=ledger)
    (entry,) = paid
    receipt = summary.receipt
    assert receipt.entry == entry.id == ledger.history()[-1].id
    used = {line.label: line.openings for line in receipt.lines}
    assert used == Counter(openings)
    assert used == {step.label: step.event.count for step in entry.plan}
    assert [line.event for line in receipt.lines] == list(entry.plan.events)
    assert sum(used.values()) == (3 if schema else 5)


def test_a_job_that_breaks_off_stays_spent(monkeypatch, openings):
    module = sys.modules["voile.summary.summarize"]

    def broken(*args, **kwargs):
        raise RuntimeError("in the middle")

    monkeypatch.setattr(module, "find_histogram", broken)
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(RuntimeError, match="in the middle"):
        summarize(private_table(), epsilon=1.0, ledger=ledger)
    assert openings == ["row count"]
    assert len(ledger.history()) == 1
    assert ledger.remaining().epsilon < 1e-3
    with pytest.raises(BudgetExceeded):
        summarize(private_table(), epsilon=0.5, ledger=ledger)


def test_settings_are_refused_before_anything_is_spent(openings):
    ledger = Ledger(BUDGET)
    for settings in ({"bins": 0}, {"bins": 2.5}, {"bins": True}, {"schema": SCHEMA}):
        with pytest.raises(ValueError, match=r"bins|schema"):
            summarize(private_table(), ledger=ledger, **settings)
    assert openings == []
    assert ledger.history() == ()


def test_charges_of_a_reservation_pay_before_each_look(openings):
    ledger, table = Ledger(BUDGET), private_table()
    with ledger.reserve(Plan.of(a=Gaussian(2, 5.0)), "adaptive") as reservation:
        for expected in (["a"], ["a", "a"]):
            grant = reservation.pay(Plan.of(a=Gaussian(1, 5.0)), table)
            gaussian_sum(table, RowCount(), grant.take("a"))
            assert openings == expected
        with pytest.raises(BudgetExceeded):
            reservation.pay(Plan.of(a=Gaussian(1, 5.0)), table)
    assert openings == ["a", "a"]


def test_a_reservation_keeps_the_relation_of_its_ledger():
    """Noise for add/remove is too small for replacement, under which the charge was priced."""
    priced = Ledger(BUDGET, relation="replace_one")
    with priced.reserve(Plan.of(a=Gaussian(1, 5.0)), "adaptive") as reservation:
        grant = reservation.pay(Plan.of(a=Gaussian(1, 5.0)), private_table())
    assert grant.relation is NeighbouringRelation.REPLACE_ONE


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_noise_follows_the_relation_of_the_ledger(relation):
    table = private_table()
    query = NumberCounts("a", (5.0,))
    plan = Plan.of(a=Gaussian(1, 3.0), b=Laplace(1, 2.0), c=Threshold(1, 3.0, 1e-8))
    grant = Ledger(BUDGET, relation=relation).pay(plan, table, "test")
    factor = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else 2.0
    gaussian = gaussian_sum(table, query, grant.take("a"))
    assert gaussian.standard_error == pytest.approx(3.0 * factor**0.5)
    laplace = laplace_sum(table, query, grant.take("b"))
    assert laplace.standard_error == pytest.approx(2.0 * 2**0.5 * factor)
    found = find_levels(table, "b", grant.take("c"))
    assert found.standard_error == pytest.approx(3.0 * factor**0.5)


def test_one_fixed_seed_is_remembered():
    table = private_table()
    grant = Ledger(BUDGET).pay(Plan.of(a=Gaussian(2, 10.0)), table, "test")
    gaussian_sum(table, RowCount(), grant.take("a"))
    assert grant.noise is NoiseSource.SYSTEM
    with fixed_noise(1):
        gaussian_sum(table, RowCount(), grant.take("a"))
    assert grant.noise is NoiseSource.FIXED


@pytest.mark.parametrize("kind", ["gdp", "renyi"])
def test_a_job_with_the_whole_budget_is_charged_for_gaussian_looks_alone(kind):
    """Its exact price rests on their adaptive composition, which others do not have."""
    budget = Budget(0.75, 1e-5)
    bound = calibrate(budget, Plan.of(a=Gaussian(1, 1.0), b=Gaussian(1, 3.0)))
    ledger = Ledger(budget, filter=kind)
    with ledger.reserve(bound, "adaptive") as reservation:
        assert reservation.entry.alone
        for event in (Laplace(1, 1e4), PoissonGaussian(1, 1e4, 0.1)):
            with pytest.raises(PlanError, match="Gaussian"):
                reservation.charge(Plan.of(other=event))
        reservation.charge(Plan(bound.steps[:1]))
        reservation.charge(Plan(bound.steps[1:]))
    assert ledger.remaining().epsilon == 0.0
