"""Allowances: nothing beyond them or the ledger; receipts that add up."""

import math

import numpy as np
import pytest

from voile import Budget, Ledger, Number, Schema, protect
from voile.errors import BudgetExceeded, LedgerUnavailable, PlanError
from voile.explain.blackbox.answers.opening import open_table
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Plan, Pure, Step, Unprotected
from voile.privacy.gaussian_dp import epsilon_of, mu_of_pure
from voile.privacy.ledger import EntryKind
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import open_answers
from voile.privacy.ledger.filter import Filter
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import RowCount

BUDGET = Budget(1.0, 1e-6)
ROWS = {"a": [0.1, 0.2, 0.9]}
SCHEMA = Schema({"a": Number(0, 1)})


def table_of(schema=SCHEMA):
    return protect(ROWS, schema=schema)


def purse_of(ledger, budget=BUDGET, name="e", table=None):
    book = open_answers(ledger, name)
    book.facts({})
    return Allowance(table or table_of(), ledger, book, budget, f"explanations ({name})"), book


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    return Ledger(BUDGET) if request.param == "memory" else Ledger(tmp_path / "l.db", BUDGET)


def share(allowance, part, count=1):
    """Gaussian accesses that cost this part of the allowance."""
    return Plan.of(look=Gaussian(count, math.sqrt(count / (part * allowance.limit))))


def kinds(ledger):
    return [str(entry.kind) for entry in ledger.history()]


def total(ledger):
    history = ledger.history()
    return history[-1].total.loss if history else 0.0


# -- prices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0])
def test_one_choice_costs_the_mu_that_dominates_it_and_no_chance(epsilon):
    for relation in NeighbouringRelation:
        prices = Filter(BUDGET, relation)
        for found in (prices.price([Pure(1, epsilon)]), prices.price_apart([Pure(1, epsilon)])):
            assert (found.loss, found.failure) == (mu_of_pure(epsilon) ** 2, 0.0)
        many = prices.price_apart([Pure(50, epsilon)])
        assert many.loss == pytest.approx(50 * mu_of_pure(epsilon) ** 2, rel=1e-12)
        assert many.failure == 0.0
    # It dominates randomised response, the worst of its kind, at every other epsilon.
    mu = mu_of_pure(epsilon)
    for other in np.linspace(0, epsilon, 20):
        needed = (math.exp(epsilon) - math.exp(other)) / (1 + math.exp(epsilon))
        if needed > 1e-12:
            assert epsilon_of(mu, needed) >= other - 1e-9


def test_a_choice_beside_gaussian_looks_costs_the_sum():
    prices = Filter(BUDGET)
    found = prices.price([Gaussian(3, 10.0), Pure(1, 0.1), Gaussian(1, 20.0)])
    assert found.loss == pytest.approx(3e-2 + mu_of_pure(0.1) ** 2 + 1 / 400, rel=1e-12)
    assert found.failure == 0.0
    # The exact composition is within it.
    exact = compose(
        [Gaussian(3, 10.0), Pure(1, 0.1), Gaussian(1, 20.0)], NeighbouringRelation.ADD_REMOVE
    )
    assert exact.epsilon(1e-6) <= epsilon_of(math.sqrt(found.loss), 1e-6) * (1 + 1e-3)


def test_prices_of_a_purse(ledger):
    allowance, _ = purse_of(ledger)
    assert allowance.limit == ledger.filter.limit.loss
    plan = Plan((Step("steps", Gaussian(7, 30.0)), Step("start", Pure(1, 0.2))))
    assert allowance.price(plan) == pytest.approx(7 / 900 + mu_of_pure(0.2) ** 2, rel=1e-12)
    assert allowance.price(Plan(())) == 0.0
    assert allowance.price(Plan.of(a=Unprotected(3))) == 0.0


# -- reservation ---------------------------------------------------------------------------------


def test_the_own_allowance_refuses_before_the_ledger_is_asked(tmp_path):
    ledger = Ledger(tmp_path / "l.db", Budget(10.0, 1e-6))
    allowance, book = purse_of(ledger)
    with allowance.reserve(share(allowance, 0.75)) as payment:
        payment.pay(share(allowance, 0.75))
    used, lines = book.used(), len(ledger.history())
    with allowance.reserve(share(allowance, 0.26)) as payment:
        assert payment is None
    assert book.used() == used
    assert len(ledger.history()) == lines
    with allowance.reserve(share(allowance, 0.25)) as payment:
        assert payment is not None
        payment.pay(share(allowance, 0.25))
    assert book.used() == pytest.approx(allowance.limit, rel=1e-9)
    assert book.used() <= allowance.limit * (1 + 1e-9)


def test_a_ledger_used_up_by_others_refuses_and_nothing_is_set_aside(ledger):
    allowance, book = purse_of(ledger)
    ledger.spend(share(allowance, 0.9), "others")
    with allowance.reserve(share(allowance, 0.2)) as payment:
        assert payment is None
    assert book.used() == 0.0
    assert kinds(ledger) == ["spend"]
    with allowance.reserve(share(allowance, 0.1 * (1 - 1e-9))) as payment:
        assert payment is not None


def test_what_is_not_spent_is_given_back_exactly(ledger):
    allowance, book = purse_of(ledger)
    for turn in range(5):
        with allowance.reserve(share(allowance, 0.5)) as payment:
            assert book.used() >= 0.5 * allowance.limit * (1 - 1e-12)
            payment.pay(share(allowance, 0.03))
            payment.pay(share(allowance, 0.02, count=4))
            assert payment.spent == pytest.approx(0.05 * allowance.limit, rel=1e-12)
        expected = (turn + 1) * 0.05 * allowance.limit
        assert book.used() == pytest.approx(expected, rel=1e-12)
        assert total(ledger) == pytest.approx(expected, rel=1e-9)
        assert total(ledger) >= expected * (1 - 1e-12)
    assert kinds(ledger) == ["reserve", "charge", "charge", "release"] * 5


def test_a_question_that_looks_at_nothing_costs_nothing(ledger):
    allowance, book = purse_of(ledger)
    with allowance.reserve(share(allowance, 0.5)) as payment:
        assert payment is not None
    assert book.used() == 0.0
    assert total(ledger) == pytest.approx(0.0, abs=1e-15)


def test_nothing_is_charged_to_a_question_that_is_over(ledger):
    allowance, book = purse_of(ledger)
    with allowance.reserve(share(allowance, 0.5)) as payment:
        payment.pay(share(allowance, 0.1))
    with pytest.raises(PlanError, match="closed"):
        payment.pay(share(allowance, 0.1))
    assert book.used() == pytest.approx(0.1 * allowance.limit, rel=1e-12)
    assert allowance.receipt(()).lines[0].event.count == 1


def charge_and_fail(allowance, most, part, error):
    with allowance.reserve(share(allowance, most)) as payment:
        payment.pay(share(allowance, part))
        raise error


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), BudgetExceeded("x")])
def test_an_error_inside_pays_what_was_charged_and_no_more(ledger, error):
    allowance, book = purse_of(ledger)
    with pytest.raises(type(error)):
        charge_and_fail(allowance, 0.5, 0.1, error)
    assert book.used() == pytest.approx(0.1 * allowance.limit, rel=1e-12)
    assert total(ledger) == pytest.approx(0.1 * allowance.limit, rel=1e-9)


def test_an_error_inside_a_refused_question_changes_nothing(ledger):
    allowance, book = purse_of(ledger)
    ledger.spend(share(allowance, 0.9), "others")
    with pytest.raises(ValueError, match="x"), allowance.reserve(share(allowance, 0.2)):
        raise ValueError("x")
    with pytest.raises(ValueError, match="x"), allowance.reserve(share(allowance, 2.0)):
        raise ValueError("x")
    assert book.used() == 0.0


def test_no_more_than_the_most_is_charged(ledger):
    allowance, book = purse_of(ledger)
    with allowance.reserve(share(allowance, 0.2)) as payment:
        payment.pay(share(allowance, 0.15))
        with pytest.raises(BudgetExceeded):
            payment.pay(share(allowance, 0.1))
    assert book.used() == pytest.approx(0.15 * allowance.limit, rel=1e-12)
    assert kinds(ledger) == ["reserve", "charge", "release"]


def test_a_ledger_that_does_not_answer_gives_back_what_was_set_aside(ledger, monkeypatch):
    allowance, book = purse_of(ledger)

    def broken(*_):
        raise LedgerUnavailable("no")

    with monkeypatch.context() as patch:
        patch.setattr(ledger._book, "append", broken)
        with pytest.raises(LedgerUnavailable), allowance.reserve(share(allowance, 0.2)):
            raise AssertionError("refused")
    assert book.used() == 0.0
    # A charge that was not written down pays for nothing, and opens nothing.
    with allowance.reserve(share(allowance, 0.2)) as payment, monkeypatch.context() as patch:
        patch.setattr(ledger._book, "append", broken)
        with pytest.raises(LedgerUnavailable):
            payment.pay(share(allowance, 0.1))
    assert (payment.spent, book.used()) == (0.0, 0.0)
    assert allowance.receipt(()).lines == ()


def test_a_plan_that_is_all_of_the_budget_is_decided_by_the_ledger_alone(ledger):
    allowance, book = purse_of(ledger)
    with allowance.reserve(share(allowance, 1.0), whole=True) as payment:
        grant = payment.pay(share(allowance, 1.0))
    assert grant.plan == share(allowance, 1.0)
    assert book.used() == 0.0
    with pytest.raises(BudgetExceeded), allowance.reserve(share(allowance, 0.1), whole=True):
        raise AssertionError("refused")


def test_an_unlimited_allowance_needs_no_setting_aside():
    ledger = Ledger(Budget(math.inf, 1e-6))
    allowance, book = purse_of(ledger, Budget(math.inf, 1e-6))
    with allowance.reserve(Plan.of(a=Unprotected(5))) as payment:
        payment.pay(Plan.of(a=Unprotected(5)))
    assert book.used() == 0.0
    assert not allowance.receipt(()).has_guarantee


def test_a_finite_ledger_never_admits_looks_without_noise(ledger):
    allowance, book = purse_of(ledger)
    with allowance.reserve(Plan.of(a=Unprotected(1))) as payment:
        assert payment is None
    assert (book.used(), total(ledger)) == (0.0, 0.0)


# -- receipts --------------------------------------------------------------------------------------


def pay(allowance, *events, access=True):
    """One question of these events."""
    plan = Plan(tuple(Step(f"look {i}", event) for i, event in enumerate(events)))
    with allowance.reserve(plan) as payment:
        grant = payment.pay(plan)
        if access and isinstance(events[0], (Gaussian, Unprotected)):
            gaussian_sum(allowance.table, RowCount(), grant.take("look 0"))
    return sum(
        event.count * (event.noise_multiplier**-2)
        if isinstance(event, Gaussian)
        else event.count * mu_of_pure(event.epsilon) ** 2
        for event in events
        if not isinstance(event, Unprotected)
    )


def test_an_empty_receipt_costs_nothing(ledger):
    allowance, _ = purse_of(ledger)
    receipt = allowance.receipt(("a note",))
    assert (receipt.epsilon, receipt.lines, receipt.notes) == (0.0, (), ("a note",))


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_a_receipt_is_the_composition_of_all_that_was_charged_over_restarts(tmp_path, relation):
    paid = 0.0
    for turn in range(4):
        ledger = Ledger(tmp_path / "l.db", BUDGET, relation=relation)
        allowance, _ = purse_of(ledger)
        paid += pay(allowance, Gaussian(3, 40.0), Pure(1, 0.01), Gaussian(1, 50.0 + turn))
        paid += pay(allowance, Gaussian(3, 40.0))
        # Another explainer and other jobs are not its own.
        other, _ = purse_of(ledger, name="other")
        pay(other, Gaussian(1, 30.0))
        ledger.spend(Plan.of(a=Gaussian(1, 100.0)), "training")
        receipt = allowance.receipt(())
        assert receipt.epsilon == pytest.approx(epsilon_of(math.sqrt(paid), 1e-6), rel=1e-9)
        assert receipt.has_guarantee
        assert receipt.delta == 1e-6
        assert receipt.relation is relation
        again, _ = purse_of(Ledger(tmp_path / "l.db"))
        assert again.receipt(()).epsilon == receipt.epsilon
        assert again.receipt(()).lines == receipt.lines
    counts = {(line.label, line.event.describe()): line.event.count for line in receipt.lines}
    assert counts["look 0", "Gaussian, sigma 40"] == 24
    assert counts["look 1", "selection, epsilon 0.01"] == 4
    assert math.fsum(line.share for line in receipt.lines) == pytest.approx(1.0)
    ids = {entry.id for entry in ledger.history() if entry.kind is EntryKind.CHARGE}
    assert receipt.entry in ids


def test_a_receipt_is_never_below_what_the_exact_accountant_says(ledger):
    allowance, _ = purse_of(ledger)
    events = [Gaussian(5, 40.0), Pure(1, 0.1), Pure(1, 0.05)]
    for event in events:
        pay(allowance, event, access=False)
    exact = compose(events, NeighbouringRelation.ADD_REMOVE).epsilon(1e-6)
    assert allowance.receipt(()).epsilon >= exact * (1 - 1e-3)
    assert allowance.receipt(()).epsilon <= BUDGET.epsilon


def test_a_full_allowance_states_no_more_than_its_budget(ledger):
    allowance, _ = purse_of(ledger)
    for _ in range(10):
        with allowance.reserve(share(allowance, 0.1)) as payment:
            payment.pay(share(allowance, 0.1))
    with allowance.reserve(share(allowance, 0.01)) as payment:
        assert payment is None
    assert 0.98 <= allowance.receipt(()).epsilon <= 1.0


def test_a_look_that_was_charged_and_not_taken_is_on_the_receipt(ledger):
    allowance, _ = purse_of(ledger)
    with pytest.raises(KeyError):
        charge_and_fail(allowance, 0.5, 0.5, KeyError())
    paid = 0.5 * allowance.limit
    assert allowance.receipt(()).epsilon == pytest.approx(
        epsilon_of(math.sqrt(paid), 1e-6), rel=1e-9
    )


def test_one_look_without_noise_leaves_no_guarantee(tmp_path):
    ledger = Ledger(tmp_path / "l.db", Budget(math.inf, 1e-6))
    allowance, _ = purse_of(ledger)
    pay(allowance, Gaussian(1, 50.0))
    assert allowance.receipt(()).has_guarantee
    pay(allowance, Unprotected(1))
    for one in (allowance, purse_of(Ledger(tmp_path / "l.db"))[0]):
        receipt = one.receipt(())
        assert not receipt.has_guarantee
        assert math.isinf(receipt.epsilon)
        assert receipt.guarantee == "no guarantee: at least one access to the rows had no noise"


def test_fixed_noise_leaves_no_guarantee_however_long_ago(ledger):
    allowance, _ = purse_of(ledger)
    with fixed_noise(1):
        pay(allowance, Gaussian(1, 50.0))
    for _ in range(3):
        pay(allowance, Gaussian(1, 50.0))
        receipt = allowance.receipt(())
        assert not receipt.has_guarantee
        assert "fixed seed" in receipt.guarantee


def test_fixed_noise_of_a_grant_still_in_use_is_noticed(ledger):
    """The allowance forgets grants it has judged, but not the last, which may be used later."""
    allowance, _ = purse_of(ledger)
    with allowance.reserve(share(allowance, 0.2)) as payment:
        grant = payment.pay(share(allowance, 0.2))
        assert allowance.receipt(()).has_guarantee
        with fixed_noise(1):
            gaussian_sum(allowance.table, RowCount(), grant.take("look"))
    assert not allowance.receipt(()).has_guarantee


def test_a_receipt_counts_what_another_process_has_charged_meanwhile(tmp_path):
    """Two processes serve one explainer: each gives out answers that the other one has paid."""
    first, _ = purse_of(Ledger(tmp_path / "l.db", BUDGET))
    second, _ = purse_of(Ledger(tmp_path / "l.db"))
    paid = pay(first, Gaussian(1, 20.0))
    paid += pay(second, Gaussian(1, 10.0))
    expected = pytest.approx(epsilon_of(math.sqrt(paid), 1e-6), rel=1e-9)
    assert second.receipt(()).epsilon == expected
    assert first.receipt(()).epsilon == expected


def test_an_opening_with_fixed_noise_leaves_no_guarantee_after_a_restart(tmp_path):
    for turn in range(2):
        allowance, book = purse_of(Ledger(tmp_path / "l.db", BUDGET))
        with fixed_noise(1):
            open_table(allowance.table, BUDGET, allowance, book)
        assert len(allowance.receipt(()).lines) == 1  # the count of the rows
        assert not allowance.receipt(()).has_guarantee, turn


def test_an_opening_is_paid_once_over_restarts(tmp_path):
    found = []
    for _ in range(3):
        ledger = Ledger(tmp_path / "l.db", BUDGET)
        allowance, book = purse_of(ledger)
        opened = open_table(allowance.table, BUDGET, allowance, book)
        found.append((opened.rows, opened.mu_squared, len(ledger.history()), book.used()))
    assert found[0] == found[1] == found[2]
    # What is left for questions and what the opening took are all of the allowance.
    assert found[0][1] + found[0][3] == pytest.approx(allowance.limit, rel=1e-6)
    assert found[0][1] + found[0][3] <= allowance.limit * (1 + 1e-9)


def test_two_purses_of_one_explainer_share_its_allowance(tmp_path):
    allowances = [purse_of(Ledger(tmp_path / "l.db", BUDGET)) for _ in range(2)]
    for turn in range(10):
        allowance, _ = allowances[turn % 2]
        with allowance.reserve(share(allowance, 0.1)) as payment:
            payment.pay(share(allowance, 0.1))
    for allowance, book in allowances:
        assert book.used() == pytest.approx(allowance.limit, rel=1e-9)
        with allowance.reserve(share(allowance, 0.01)) as payment:
            assert payment is None
