"""What stands alone in a ledger is counted by its own arithmetic, and nothing costs infinity."""

import math

import pytest

from voile import Budget, Ledger
from voile.errors import BudgetExceeded, LedgerMismatch, PlanError, SettingError, VoileError
from voile.privacy.accounting import compose
from voile.privacy.calibrate import calibrate, gaussian_step
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
from voile.privacy.ledger.filter import Amount, Filter, FilterKind

BUDGET = Budget(1.0, 1e-6)
FILTERS = ["gdp", "renyi", "pure"]


def whole_budget(count):
    """Gaussian accesses that use the whole budget, by exact accounting."""
    return calibrate(BUDGET, Plan((gaussian_step("accesses", 1.0, count=count),)))


def one_of(plan):
    (step,) = plan
    return Plan.of(looks=Gaussian(1, step.event.noise_multiplier))


@pytest.mark.parametrize("kind", FILTERS)
def test_a_reservation_alone_pays_for_what_was_reserved_and_no_more(kind):
    ledger = Ledger(BUDGET, filter=kind)
    plan = whole_budget(4)
    with ledger.reserve(plan, "job") as reservation:
        assert reservation.entry.alone
        for _ in range(4):
            reservation.charge(one_of(plan))
        for more in (one_of(plan), Plan.of(looks=Gaussian(1, 0.05)), Plan.of(a=Gaussian(1, 1e4))):
            with pytest.raises(BudgetExceeded, match="larger than what was set aside"):
                reservation.charge(more)
    charged = [entry for entry in ledger.history() if entry.kind == "charge"]
    true = compose([event for entry in charged for event in entry.plan.events])
    assert true.epsilon(BUDGET.delta) <= BUDGET.epsilon * (1 + 1e-9)
    assert all(entry.price.finite and entry.total.finite for entry in ledger.history())
    assert ledger.spent() == BUDGET
    with pytest.raises(BudgetExceeded, match="used up"):
        ledger.spend(Plan.of(a=Laplace(1, 1e9)), "more")


@pytest.mark.parametrize("kind", FILTERS)
def test_fifty_loud_looks_after_a_quiet_reservation_are_refused(kind):
    """Under "pure" a Gaussian access has no price: that is no reason to let all of them pass."""
    ledger = Ledger(BUDGET, filter=kind)
    reservation = ledger.reserve(whole_budget(1), "job")
    for _ in range(50):
        with pytest.raises(BudgetExceeded):
            reservation.charge(Plan.of(look=Gaussian(1, 0.05)))
    assert [entry.kind for entry in ledger.history()] == ["reserve"]


@pytest.mark.parametrize("kind", FILTERS)
def test_a_reservation_alone_counts_the_chance_of_thresholds(kind):
    shape = Plan.of(a=Gaussian(1, 6.0), b=Threshold(2, 6.0, 3e-7))
    needed = compose(shape.events).epsilon(BUDGET.delta)
    ledger = Ledger(Budget(needed * 1.0001, BUDGET.delta), filter=kind)
    reservation = ledger.reserve(shape, "job")
    assert reservation.entry.alone
    with pytest.raises(BudgetExceeded):
        reservation.charge(Plan.of(b=Threshold(1, 600.0, 7e-7)))
    reservation.charge(Plan.of(b=Threshold(2, 6.0, 3e-7)))
    reservation.charge(Plan.of(a=Gaussian(1, 6.0)))
    with pytest.raises(BudgetExceeded):
        reservation.charge(Plan.of(b=Threshold(1, 1e9, 1e-12)))


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize(
    "event",
    [Unprotected(), Gaussian(1, 1e-49), Laplace(1, 1e-9), Pure(1, 1e9), Approximate(1, 1e9)],
)
def test_what_has_no_finite_price_is_refused(kind, event):
    ledger = Ledger(BUDGET, filter=kind)
    for pay in (ledger.spend, ledger.reserve):
        with pytest.raises(BudgetExceeded, match="refused"):
            pay(Plan.of(look=event), "job")
    assert ledger.history() == ()


def test_an_infinite_amount_is_within_nothing():
    for wrong in (math.inf, math.nan, -1.0):
        assert not Amount(wrong, 0.0).within(Amount(math.inf, math.inf))
        assert not Amount(0.0, wrong).within(Amount(math.inf, math.inf))
        for kind in FilterKind:
            assert not Filter(Budget(1e300, 0.5), kind=kind).allows(Amount(wrong, 0.0))


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("epsilon", [1e3, 1e9, 1e100, 1e300])
def test_a_huge_budget_is_still_a_number(kind, epsilon):
    ledger = Ledger(Budget(epsilon, 1e-6), filter=kind)
    assert math.isfinite(ledger.filter.limit.loss)
    with pytest.raises(BudgetExceeded):
        ledger.spend(Plan.of(look=Unprotected()), "job")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(1, 1e-200),
        lambda: Gaussian(1, 1e200),
        lambda: Gaussian(10**400, 1.0),
        lambda: Gaussian(2**53, 1.0),
        lambda: Laplace(1, 5e-324),
        lambda: PoissonGaussian(1, 1.0, 1e-60),
        lambda: Pure(1, 1e60),
        lambda: Budget(10**400),
    ],
)
def test_numbers_that_no_price_can_hold_are_refused(make):
    with pytest.raises(SettingError):
        make()


def test_a_charge_alone_must_be_gaussian():
    reservation = Ledger(BUDGET, filter="pure").reserve(whole_budget(1), "job")
    with pytest.raises(PlanError, match="Gaussian"):
        reservation.charge(Plan.of(look=Laplace(1, 1e6)))


# --- one unit


def test_the_first_entry_says_who_is_protected():
    ledger = Ledger(BUDGET)
    assert ledger.unit is None
    ledger.spend(Plan.of(a=Gaussian(1, 50.0)), "per patient", unit="patient")
    assert ledger.unit == "patient"
    for pay in (ledger.spend, ledger.reserve, ledger.check_can_pay):
        with pytest.raises(LedgerMismatch, match=r"one patient may lose.*one row.*Unit\('patient'"):
            pay(Plan.of(a=Gaussian(1, 50.0)), "unit forgotten")
        with pytest.raises(LedgerMismatch, match="Call the unit 'patient'"):
            pay(Plan.of(a=Gaussian(1, 50.0)), "another", unit="ward")
    assert len(ledger.history()) == 1
    ledger.spend(Plan.of(a=Gaussian(1, 50.0)), "per patient", unit="patient")


def test_a_ledger_of_rows_refuses_patients():
    ledger = Ledger(BUDGET)
    ledger.spend(Plan.of(a=Gaussian(1, 50.0)), "rows")
    with pytest.raises(LedgerMismatch, match=r"Ledger\(\.\.\., unit='patient'\)"):
        ledger.spend(Plan.of(a=Gaussian(1, 50.0)), "patients", unit="patient")


def test_the_unit_can_be_fixed_when_a_ledger_is_made(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET, unit="patient")
    with pytest.raises(LedgerMismatch, match="one patient"):
        ledger.spend(Plan.of(a=Gaussian(1, 50.0)), "rows")
    assert Ledger(path).unit == Ledger(path, unit="patient").unit == "patient"
    with pytest.raises(LedgerMismatch, match="one patient"):
        Ledger(path, unit="row")


# --- refusals are recorded


def test_refused_attempts_are_kept_and_change_nothing(tmp_path):
    for ledger in (Ledger(BUDGET, who="anna"), Ledger(tmp_path / "l.db", BUDGET, who="anna")):
        entry = ledger.spend(Plan.of(a=Gaussian(1, 50.0)), "small")
        left = ledger.remaining()
        with pytest.raises(BudgetExceeded):
            ledger.spend(Plan.of(a=Gaussian(1, 0.1)), "too much")
        with pytest.raises(LedgerMismatch):
            ledger.reserve(Plan.of(a=Gaussian(1, 50.0)), "other unit", unit="patient")
        reservation = ledger.reserve(Plan.of(a=Gaussian(1, 50.0)), "job")
        with pytest.raises(BudgetExceeded):
            reservation.charge(Plan.of(a=Gaussian(1, 5.0)), "more than reserved")
        reservation.close()
        assert ledger.history()[0] == entry
        assert ledger.remaining().epsilon == pytest.approx(left.epsilon, rel=1e-9)
        refusals = ledger.refusals()
        assert [one.what for one in refusals] == ["too much", "other unit", "more than reserved"]
        assert [one.who for one in refusals] == ["anna"] * 3
        assert "refused" in refusals[0].why
        assert "units" in refusals[1].why
        assert refusals[0].plan == Plan.of(a=Gaussian(1, 0.1))
        assert len(ledger.to_dict()["refusals"]) == 3
    assert Ledger(tmp_path / "l.db").refusals() == refusals


def test_a_refusal_that_cannot_be_recorded_is_still_a_refusal(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "l.db", BUDGET)

    def broken(decide):
        raise LedgerMismatch("full")

    monkeypatch.setattr(ledger._book, "refuse", broken)
    with pytest.raises(BudgetExceeded):
        ledger.spend(Plan.of(a=Gaussian(1, 0.1)), "too much")


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", 7])
def test_names_that_no_database_keeps_are_refused_before_anything_is_paid(tmp_path, text):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    with pytest.raises(SettingError):
        ledger.spend(Plan.of(a=Gaussian(1, 50.0)), text)
    with pytest.raises(SettingError):
        Ledger(BUDGET, who=text)
    if text != "":
        with pytest.raises(VoileError):
            Ledger(tmp_path / "other.db", BUDGET, dataset=text)
    assert ledger.history() == () == ledger.refusals()


def test_a_name_may_not_be_longer_than_its_column(tmp_path):
    with pytest.raises(SettingError, match="200 are allowed"):
        Ledger(tmp_path / "l.db", BUDGET, dataset="x" * 201)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", FILTERS)
def test_a_job_that_stood_alone_and_stops_early_leaves_what_it_cost(kind, tmp_path):
    path = tmp_path / "book.db"
    ledger = Ledger(path, BUDGET, filter=kind)
    plan = whole_budget(4)
    with ledger.reserve(plan, "job") as reservation:
        reservation.charge(one_of(plan))
        reservation.stop()
        reservation.stop()  # once
        with pytest.raises(PlanError, match="closed"):
            reservation.charge(one_of(plan))
    ledger.verify()
    made = [event for entry in ledger.history() for event in one_of(plan).events][:1]
    if kind == "pure":  # a Gaussian access has no price there: nothing is given back
        assert ledger.spent() == BUDGET
        return
    assert [entry.kind for entry in ledger.history()] == ["reserve", "charge", "release"]
    again = Ledger(path)  # read from its first line, every total computed anew
    assert again.history()[-1].total == ledger.history()[-1].total
    assert not again.history()[-1].alone
    price = again.filter.price_apart(made)
    assert again.history()[-1].total.loss == pytest.approx(price.loss, rel=1e-9)
    assert compose(made).epsilon(BUDGET.delta) <= again.spent().epsilon * (1 + 1e-9)
    # Others may follow, up to the limits of the filter and no further.
    multiplier = made[0].noise_multiplier
    for _ in range(2):
        again.spend(Plan.of(more=Gaussian(1, multiplier)), "more")
    with pytest.raises(BudgetExceeded):
        again.spend(Plan.of(more=Gaussian(1, multiplier)), "more")
    again.verify()


def test_thresholds_count_when_a_job_that_stood_alone_stops():
    shape = Plan.of(b=Threshold(2, 6.0, 2e-8), a=Gaussian(1, 6.0))
    needed = compose(shape.events).epsilon(BUDGET.delta)
    ledger = Ledger(Budget(needed * 1.0001, BUDGET.delta))
    reservation = ledger.reserve(shape, "job")
    assert reservation.entry.alone
    reservation.charge(Plan.of(b=Threshold(2, 6.0, 2e-8)))
    reservation.stop()
    assert ledger.history()[-1].total.failure == pytest.approx(4e-8)
    ledger.verify()


def test_a_failure_beyond_the_filter_s_limit_is_not_given_back():
    shape = Plan.of(b=Threshold(2, 6.0, 3e-7), a=Gaussian(1, 6.0))
    needed = compose(shape.events).epsilon(BUDGET.delta)
    ledger = Ledger(Budget(needed * 1.0001, BUDGET.delta))
    reservation = ledger.reserve(shape, "job")
    reservation.charge(Plan.of(b=Threshold(2, 6.0, 3e-7)))
    reservation.stop()
    assert ledger.spent() == ledger.budget
    with pytest.raises(BudgetExceeded):
        ledger.spend(Plan.of(a=Gaussian(1, 1e3)), "more")


@pytest.mark.parametrize("too_much", [1.001, 1.5])
def test_giving_back_more_than_was_left_is_noticed(too_much, tmp_path):
    ledger = Ledger(tmp_path / "book.db", BUDGET)
    plan = whole_budget(4)
    reservation = ledger.reserve(plan, "job")
    reservation.charge(one_of(plan))
    reservation._apart = Amount(reservation._apart.loss / too_much, 0.0)
    with pytest.raises(LedgerMismatch, match="does not follow"):
        reservation.stop()
    with pytest.raises(LedgerMismatch, match="does not follow"):
        Ledger(tmp_path / "book.db")


def test_a_job_that_went_to_its_end_is_closed_as_before():
    ledger = Ledger(BUDGET)
    plan = whole_budget(2)
    with ledger.reserve(plan, "job") as reservation:
        reservation.charge(one_of(plan))
    assert ledger.spent() == BUDGET  # closed without being stopped
