"""One budget for several jobs: its parts are admitted one after the other, and use it up."""

import math

import pytest

from voile import Budget, Ledger
from voile.errors import BudgetExceeded, SettingError
from voile.privacy.calibrate import divide, gaussian_of, shrink_to
from voile.privacy.events import Plan


def spend(ledger, budget):
    ledger.spend(Plan.of(look=gaussian_of(budget)), "a job")


@pytest.mark.parametrize("weights", [(9, 1), (0.9, 0.1), (1, 1, 1), (5,), (1,) * 40])
@pytest.mark.parametrize("whole", [Budget(1.0, 1e-6), Budget(0.01, 1e-9), Budget(20.0, 1e-3)])
def test_a_ledger_admits_all_parts_and_no_more(whole, weights):
    ledger, parts = Ledger(whole), divide(whole, *weights)
    assert len(parts) == len(weights)
    for one in parts:
        spend(ledger, one)
    assert ledger.fraction_spent() == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(BudgetExceeded):
        spend(ledger, parts[-1])


def test_weights_are_shares_of_the_loss():
    whole = Budget(1.0, 1e-6)
    ledger = Ledger(whole)
    assert divide(whole, 9, 1) == divide(whole, 0.9, 0.1)
    for one, share in zip(divide(whole, 1, 2, 7), (0.1, 0.3, 1.0), strict=True):
        spend(ledger, one)
        assert ledger.fraction_spent() == pytest.approx(share, rel=1e-5)


def test_what_has_no_limit_is_handed_on():
    whole = Budget(math.inf, 1e-6)
    assert divide(whole, 1, 2) == (whole, whole)
    assert shrink_to(whole, Budget(1, 1e-6)) == whole
    assert shrink_to(Budget(1, 1e-6), whole) == Budget(1, 1e-6)


@pytest.mark.parametrize("weights", [(), (0,), (1, -1), (math.nan, 1), (math.inf,)])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(SettingError, match="weights must be numbers > 0"):
        divide(Budget(1.0, 1e-6), *weights)


def test_a_budget_without_a_delta_cannot_be_divided():
    with pytest.raises(SettingError, match="must be > 0"):
        divide(Budget(1.0, 0.0), 1, 1)


def test_a_plan_gives_way_to_a_little_less_and_to_no_more():
    planned = Budget(1.0, 1e-6)
    assert shrink_to(planned, Budget(1.1, 1e-6)) == planned
    assert shrink_to(planned, Budget(0.9, 1e-6)) == Budget(0.9 * (1 - 1e-6), 1e-6)
    assert shrink_to(planned, Budget(0.4, 1e-6)) == planned
