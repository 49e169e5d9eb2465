"""What one process can do to a ledger: overspend it, copy it, or share it among threads."""

import copy
import json
import math
import pickle
import traceback
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import joblib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from needs import needs
from voile import Budget, Ledger
from voile.errors import (
    BudgetExceeded,
    LedgerError,
    LedgerMismatch,
    LedgerUnavailable,
    PlanError,
    SettingError,
)
from voile.privacy.accounting import compose
from voile.privacy.calibrate import (
    approximate_step,
    calibrate,
    gaussian_step,
    poisson_step,
    threshold_step,
)
from voile.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    Plan,
    PoissonGaussian,
    Pure,
    Step,
    Threshold,
    Unprotected,
)
from voile.privacy.ledger import EntryKind
from voile.privacy.ledger.engines import url_of
from voile.privacy.ledger.filter import Amount

BUDGET = Budget(1, 1e-6)
SHAPE = Plan((gaussian_step("sums", 1.0),))
PIECE = Plan.of(sums=Gaussian(noise_multiplier=100))


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    return Ledger(BUDGET) if request.param == "memory" else Ledger(tmp_path / "l.db", BUDGET)


def total_of(ledger):
    history = ledger.history()
    return history[-1].total if history else Amount()


# --- spending and refusing


def test_an_empty_ledger_has_its_whole_budget(ledger):
    assert ledger.remaining() == BUDGET
    assert ledger.spent() == Budget(0.0, 1e-6)
    assert ledger.fraction_spent() == 0
    assert ledger.history() == ()


def test_a_spend_is_written_and_counted(ledger):
    entry = ledger.spend(PIECE, "train")
    assert ledger.history() == (entry,)
    assert (entry.seq, entry.kind, entry.what, entry.plan) == (1, EntryKind.SPEND, "train", PIECE)
    assert entry.total.loss >= entry.price.loss == pytest.approx(1e-4)
    assert 0 < ledger.remaining().epsilon < 1
    assert ledger.fraction_spent() == pytest.approx(1e-4 / ledger.filter.limit.loss)


def test_a_refusal_changes_nothing(ledger):
    ledger.spend(calibrate(Budget(0.7, 1e-6), SHAPE), "first")
    history, remaining = ledger.history(), ledger.remaining()
    with pytest.raises(BudgetExceeded, match=r"second was refused.*Nothing was spent"):
        ledger.spend(calibrate(Budget(0.9, 1e-6), SHAPE), "second")
    assert (ledger.history(), ledger.remaining()) == (history, remaining)
    ledger.spend(calibrate(Budget(0.1, 1e-6), SHAPE), "third")


@pytest.mark.parametrize(
    "shape",
    [
        SHAPE,
        Plan((gaussian_step("a", 0.3, count=7), threshold_step("b", 0.7, delta=5e-7))),
        Plan((Step("a", Laplace(1, math.sqrt(2.0))), gaussian_step("b", 0.5))),
        Plan((poisson_step("a", 1.0, rate=0.05, count=100),)),
        Plan((approximate_step("a", 1.0, delta=1e-6),)),
    ],
    ids=["gaussian", "threshold", "laplace", "poisson", "approximate"],
)
def test_the_first_entry_may_use_the_whole_budget_and_nothing_follows(ledger, shape):
    entry = ledger.spend(calibrate(BUDGET, shape), "all")
    assert entry.alone
    assert ledger.remaining().epsilon == 0
    assert ledger.spent() == BUDGET
    assert ledger.fraction_spent() == 1
    for later in (Plan.of(a=Gaussian(noise_multiplier=1e6)), Plan.of(a=Pure(epsilon=1e-9))):
        with pytest.raises(BudgetExceeded, match="used up"):
            ledger.spend(later, "more")
        with pytest.raises(BudgetExceeded, match="used up"):
            ledger.reserve(later, "more")
    assert ledger.history() == (entry,)


@pytest.mark.parametrize("kind", ["gdp", "renyi", "pure"])
def test_an_approximate_look_is_priced_by_epsilon_and_its_delta_is_a_chance(kind):
    ledger = Ledger(BUDGET, filter=kind)
    event, pure = Approximate(2, 0.01, 1e-9), Pure(2, 0.01)
    price, without = ledger.filter.price((event,)), ledger.filter.price((pure,))
    assert price.loss == without.loss
    assert price.failure == pytest.approx(without.failure + 2e-9)
    entry = ledger.spend(Plan.of(a=event), "look")
    assert entry.price == price
    # A delta beyond what is set aside is refused, however small the epsilon.
    with pytest.raises(BudgetExceeded, match="used up"):
        ledger.spend(Plan.of(a=Approximate(1, 1e-6, 1e-6)), "greedy")


def test_more_than_the_whole_budget_is_refused_even_when_first(ledger):
    with pytest.raises(BudgetExceeded):
        ledger.spend(calibrate(Budget(1.001, 1e-6), SHAPE), "too much")
    assert ledger.remaining() == BUDGET


def test_the_whole_budget_does_not_fit_after_the_smallest_entry(ledger):
    ledger.spend(Plan.of(a=Gaussian(noise_multiplier=1e4)), "tiny")
    with pytest.raises(BudgetExceeded):
        ledger.spend(calibrate(BUDGET, SHAPE), "all")


def test_two_trainings_of_epsilon_one_fit_into_two():
    ledger = Ledger(Budget(2, 1e-6))
    for name in ("first", "second"):
        ledger.spend(calibrate(Budget(1, 1e-6), SHAPE), name)
    assert 0 < ledger.remaining().epsilon < 2


@pytest.mark.parametrize("kind", ["gdp", "renyi"])
def test_what_remains_can_be_spent(tmp_path, kind):
    ledger = Ledger(tmp_path / "l.db", Budget(2, 1e-6), filter=kind)
    ledger.spend(calibrate(Budget(1, 1e-6), SHAPE), "first")
    ledger.spend(calibrate(ledger.remaining(), SHAPE), "rest")
    assert ledger.remaining().epsilon < 1e-3
    with pytest.raises(BudgetExceeded):
        ledger.spend(calibrate(Budget(0.05, 1e-6), SHAPE), "more")


def test_rows_without_noise_need_an_unlimited_budget(ledger):
    plan = Plan.of(rows=Unprotected())
    with pytest.raises(BudgetExceeded, match="no finite price"):
        ledger.spend(plan, "look")
    with pytest.raises(BudgetExceeded, match="no finite price"):
        ledger.reserve(plan, "look")
    assert ledger.remaining() == BUDGET


def test_an_unlimited_budget_admits_everything_and_guarantees_nothing(tmp_path):
    ledger = Ledger(tmp_path / "l.db", Budget(math.inf))
    ledger.spend(Plan.of(rows=Unprotected()), "look")
    with ledger.reserve(Plan.of(rows=Unprotected(count=3)), "look on") as reservation:
        reservation.charge(Plan.of(rows=Unprotected()))
        reservation.charge(Plan.of(rows=Unprotected()))
    with ledger.reserve(PIECE, "with noise") as reservation:
        reservation.charge(PIECE)
    ledger.spend(Plan.of(rows=Unprotected()), "look again")
    assert ledger.remaining().unlimited
    assert ledger.spent().unlimited
    assert not any(math.isnan(entry.total.loss) for entry in ledger.history())


def test_an_impossible_budget_leaves_no_file(tmp_path):
    with pytest.raises(SettingError, match="delta"):
        Ledger(tmp_path / "l.db", Budget(1, 0))
    assert list(tmp_path.iterdir()) == []


# --- reservations


def test_a_reservation_is_charged_and_the_rest_given_back(ledger):
    with ledger.reserve(
        Plan.of(a=Gaussian(count=10, noise_multiplier=50)), "explain"
    ) as reservation:
        assert total_of(ledger).loss == pytest.approx(10 / 50**2)
        first = reservation.charge(Plan.of(a=Gaussian(noise_multiplier=50)), "look 1")
        second = reservation.charge(Plan.of(a=Gaussian(noise_multiplier=100)))
        assert total_of(ledger).loss == pytest.approx(10 / 50**2)
    assert total_of(ledger).loss == pytest.approx(1 / 50**2 + 1 / 100**2)
    kinds = [entry.kind for entry in ledger.history()]
    assert kinds == [EntryKind.RESERVE, EntryKind.CHARGE, EntryKind.CHARGE, EntryKind.RELEASE]
    parents = [entry.parent for entry in ledger.history()]
    assert parents == [None] + [reservation.entry.id] * 3
    assert (first.what, second.what) == ("look 1", "explain")
    assert ledger.history()[-1].price.loss == pytest.approx(9 / 50**2 - 1 / 100**2)


def test_more_than_was_paid_for_is_refused(ledger):
    reservation = ledger.reserve(Plan.of(a=Gaussian(count=3, noise_multiplier=50)), "explain")
    reservation.charge(Plan.of(a=Gaussian(count=2, noise_multiplier=50)))
    history = ledger.history()
    with pytest.raises(BudgetExceeded, match="larger than what was set aside"):
        reservation.charge(Plan.of(a=Gaussian(count=2, noise_multiplier=50)))
    assert ledger.history() == history
    reservation.charge(Plan.of(a=Gaussian(noise_multiplier=50)))


@pytest.mark.parametrize("parts", [3, 7, 10, 49, 1000])
def test_parts_that_make_up_the_whole_fit(parts):
    ledger = Ledger(Budget(3, 1e-6))
    one = Plan.of(a=Gaussian(noise_multiplier=50.1))
    with ledger.reserve(
        Plan.of(a=Gaussian(count=parts, noise_multiplier=50.1)), "x"
    ) as reservation:
        for _ in range(parts):
            reservation.charge(one)
        with pytest.raises(BudgetExceeded):
            reservation.charge(one)
    assert total_of(ledger).loss == pytest.approx(parts / 50.1**2)


def test_a_reservation_that_is_never_closed_has_paid_its_upper_bound(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    ledger.reserve(Plan.of(a=Gaussian(noise_multiplier=10)), "crash").charge(PIECE)
    del ledger
    assert total_of(Ledger(tmp_path / "l.db")).loss == pytest.approx(1 / 10**2)


def test_an_error_inside_gives_back_only_what_was_not_charged(ledger):
    def fail():
        with ledger.reserve(Plan.of(a=Gaussian(noise_multiplier=10)), "fails") as reservation:
            reservation.charge(PIECE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert total_of(ledger).loss == pytest.approx(1e-4)


def test_a_closed_reservation_gives_back_once_and_pays_no_more(ledger):
    reservation = ledger.reserve(PIECE, "x")
    reservation.close()
    reservation.close()
    assert len(ledger.history()) == 2
    with pytest.raises(PlanError, match="closed"):
        reservation.charge(PIECE)
    for clone_it in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LedgerError, match="belongs to the process"):
            clone_it(reservation)


def test_open_reservations_together_stay_within_the_budget(ledger):
    half = calibrate(Budget(0.6, 1e-6), SHAPE)
    first = ledger.reserve(half, "first")
    second = ledger.reserve(half, "second")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(half, "third")
    first.close()
    third = ledger.reserve(half, "third")
    with pytest.raises(BudgetExceeded):
        ledger.spend(half, "fourth")
    second.charge(half)
    third.charge(half)
    second.close()
    third.close()
    with pytest.raises(BudgetExceeded):
        ledger.spend(half, "fourth")


# --- the filters never pass their limits

GAUSSIANS = st.builds(
    Gaussian, count=st.integers(0, 5), noise_multiplier=st.floats(0.5, 200, allow_nan=False)
)
ROUNDING = 1e-12  # the filter keeps a margin of 1e-9 for it
# Few different ones: each costs a convolution, which is remembered.
EVENTS = st.sampled_from(
    [
        Gaussian(noise_multiplier=3.7),
        Gaussian(count=3, noise_multiplier=17.3),
        Gaussian(noise_multiplier=100),
        Laplace(noise_multiplier=2.9),
        Laplace(noise_multiplier=31),
        Pure(epsilon=0.013),
        Pure(epsilon=0.31),
        Threshold(noise_multiplier=11, delta=1e-8),
        Threshold(noise_multiplier=40, delta=4e-8),
        PoissonGaussian(count=10, noise_multiplier=1.5, rate=0.01),
        Unprotected(),
    ]
)


@settings(max_examples=30)
@given(
    kind=st.sampled_from(["gdp", "renyi", "pure"]),
    plans=st.lists(st.lists(EVENTS, min_size=1, max_size=1), max_size=25),
)
def test_no_sequence_of_spends_passes_the_limit(kind, plans):
    ledger = Ledger(Budget(1.3, 1e-6), filter=kind)
    limit = ledger.filter.limit
    for number, events in enumerate(plans):
        plan = Plan.of(**{f"e{i}": event for i, event in enumerate(events)})
        before = ledger.history()
        try:
            entry = ledger.spend(plan, f"job {number}")
        except BudgetExceeded:
            assert ledger.history() == before
        else:
            assert ledger.history() == (*before, entry)
            assert entry.price == ledger.filter.price(plan.events)
    history = ledger.history()
    if history and history[0].alone:
        assert len(history) == 1
        assert ledger.filter.fits_alone(history[0].plan.events)
        return
    for part in ("loss", "failure"):
        exact = sum(Fraction(getattr(entry.price, part)) for entry in history)
        total = getattr(total_of(ledger), part)
        assert total <= getattr(limit, part)
        assert float(exact) == pytest.approx(total, rel=ROUNDING, abs=0)


@settings(max_examples=60)
@given(
    events=st.lists(GAUSSIANS, max_size=60),
    epsilon=st.floats(0.05, 8),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
)
def test_what_a_gaussian_ledger_admits_composes_within_its_budget(events, epsilon, delta):
    ledger = Ledger(Budget(epsilon, delta))
    for event in events:
        try:
            ledger.spend(Plan.of(a=event), "job")
        except BudgetExceeded:
            continue
    paid_for = [event for entry in ledger.history() for event in entry.plan.events]
    assert compose(paid_for).epsilon(delta) <= epsilon
    assert 0 <= ledger.remaining().epsilon <= epsilon


@settings(max_examples=60)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["spend", "reserve", "charge", "charge", "close"]),
            st.floats(3, 60),
            st.integers(0, 3),
        ),
        max_size=60,
    )
)
def test_totals_with_reservations_are_the_true_sum(steps):
    ledger = Ledger(Budget(1.7, 1e-6))
    spent, open_ones, used = Fraction(0), [], {}
    for verb, noise, which in steps:
        plan = Plan.of(a=Gaussian(noise_multiplier=noise))
        try:
            if verb == "spend":
                spent += Fraction(ledger.spend(plan, "s").price.loss)
            elif verb == "reserve":
                open_ones.append(ledger.reserve(plan, "a"))
                used[open_ones[-1].entry.id] = Fraction(0)
            elif open_ones:
                reservation = open_ones[which % len(open_ones)]
                if verb == "charge":
                    charged = reservation.charge(Plan.of(a=Gaussian(noise_multiplier=3 * noise)))
                    used[reservation.entry.id] += Fraction(charged.price.loss)
                else:
                    reservation.close()
                    open_ones.remove(reservation)
                    spent += used[reservation.entry.id]
        except BudgetExceeded:
            pass
        reserved = sum(Fraction(reservation.entry.price.loss) for reservation in open_ones)
        total = total_of(ledger).loss
        assert total <= ledger.filter.limit.loss
        assert float(spent + reserved) == pytest.approx(total, rel=ROUNDING, abs=1e-15)
        for reservation in open_ones:
            most = reservation.entry.price.loss
            assert float(used[reservation.entry.id]) <= most * (1 + ROUNDING)


# --- threads, copies, other processes


def test_eight_threads_share_one_ledger(ledger):
    pieces = 60
    piece = Plan.of(
        a=Gaussian(noise_multiplier=math.sqrt((pieces + 0.5) / ledger.filter.limit.loss))
    )

    def work(_):
        ids = []
        for _ in range(10):
            try:
                ids.append(ledger.spend(piece, "thread").id)
            except BudgetExceeded:
                continue
        return ids

    with ThreadPoolExecutor(8) as pool:
        ids = [one for part in pool.map(work, range(8)) for one in part]
    history = ledger.history()
    assert len(ids) == len(history) == pieces
    assert set(ids) == {entry.id for entry in history}
    assert [entry.seq for entry in history] == list(range(1, pieces + 1))
    assert total_of(ledger).within(ledger.filter.limit)


def test_eight_threads_share_one_reservation(ledger):
    reservation = ledger.reserve(Plan.of(a=Gaussian(count=20, noise_multiplier=50)), "explain")

    def work(_):
        try:
            reservation.charge(Plan.of(a=Gaussian(noise_multiplier=50)))
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(40))) == 20


class Model(BaseEstimator):
    def __init__(self, ledger=None):
        self.ledger = ledger


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda one: clone(Model(one)).ledger,
        lambda one: copy.deepcopy({"in": [one]})["in"][0],
    ],
    ids=["copy", "deepcopy", "clone", "nested"],
)
def test_copies_keep_the_same_book(ledger, duplicate):
    other = duplicate(ledger)
    entry = other.spend(PIECE, "by the copy")
    assert ledger.history() == other.history() == (entry,)


def test_a_pickle_opens_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("l.db", BUDGET, dataset="ward 7")
    text = pickle.dumps(ledger)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    other = pickle.loads(text)
    entry = other.spend(PIECE, "by the copy")
    assert ledger.history() == (entry,)
    assert (other.dataset, other.budget) == ("ward 7", BUDGET)


def test_a_pickle_of_a_ledger_that_is_gone_makes_no_new_one(tmp_path):
    text = pickle.dumps(Ledger(tmp_path / "l.db", BUDGET))
    (tmp_path / "l.db").unlink()
    with pytest.raises(LedgerMismatch, match="no ledger there"):
        pickle.loads(text)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_in_memory_is_not_pickled():
    with pytest.raises(LedgerError, match="Give the ledger a file"):
        pickle.dumps(Ledger(BUDGET))


def test_joblib_workers_record_everything_in_a_file(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    entries = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(ledger.spend)(PIECE, f"job {number}") for number in range(12)
    )
    assert sorted(entries, key=lambda entry: entry.seq) == list(ledger.history())
    assert [entry.seq for entry in ledger.history()] == list(range(1, 13))


def test_joblib_workers_refuse_a_ledger_in_memory():
    ledger = Ledger(BUDGET)
    with pytest.raises(Exception, match="pickle") as caught:
        joblib.Parallel(n_jobs=2, backend="loky")(
            joblib.delayed(ledger.spend)(PIECE, f"job {number}") for number in range(2)
        )
    shown = "".join(traceback.format_exception(caught.value))
    assert "Give the ledger a file: Ledger('ledger.db', budget)" in shown
    assert ledger.history() == ()


# --- urls and export


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:s3cret@host/db",
        "postgresql://me:s3cret@host:port/db",
        "postgresql://me:s3cret/@host:x/db",
        "nonsense://me:s3cret",
        pytest.param("postgresql://me:s3cret@127.0.0.1:1/db", marks=needs("psycopg")),
        pytest.param("postgresql://127.0.0.1:1/db?user=me&password=s3cret", marks=needs("psycopg")),
    ],
)
def test_no_message_shows_a_password(url):
    with pytest.raises((LedgerMismatch, LedgerUnavailable)) as caught:
        Ledger(url, BUDGET)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value)


@pytest.mark.parametrize("where", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_what_sqlite_calls_memory_is_no_file(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerMismatch, match=r"Ledger\(Budget\("):
        Ledger(where, BUDGET)
    assert not list(tmp_path.iterdir())


def test_urls_of_paths_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert url_of("l.db") == url_of("sqlite:///l.db") == f"sqlite:///{tmp_path.resolve()}/l.db"
    assert url_of("postgres://h/d") == url_of("postgresql://h/d") == "postgresql+psycopg://h/d"


def test_the_export_holds_every_entry(ledger):
    ledger.spend(calibrate(Budget(0.03, 1e-6), Plan((Step("a", Laplace(1, 1.0)),))), "laplace")
    with ledger.reserve(Plan.of(a=Gaussian(count=2, noise_multiplier=50)), "explain") as held:
        held.charge(PIECE)
    ledger.spend(Plan.of(a=Threshold(noise_multiplier=70, delta=1e-9), b=Pure(epsilon=1e-3)), "é\n")
    data = json.loads(ledger.to_json())
    assert data == ledger.to_dict()
    assert data["entries"] == [entry.to_dict() for entry in ledger.history()]
    assert len(data["entries"]) == 5
    assert data["budget"] == {"epsilon": 1, "delta": 1e-6}
    assert data["remaining"] == ledger.remaining().epsilon
    assert [Plan.from_dict(one["plan"]) for one in data["entries"]] == [
        entry.plan for entry in ledger.history()
    ]


def test_a_file_gives_back_every_bit(tmp_path):
    memory, file = Ledger(BUDGET), Ledger(tmp_path / "l.db", BUDGET)
    for noise in (math.pi * 20, 1e3 / 3, 77.7):
        plan = Plan.of(a=Gaussian(noise_multiplier=noise), b=Pure(epsilon=noise / 1e5))
        memory.spend(plan, "x")
        file.spend(plan, "x")
    for one, other in zip(memory.history(), file.history(), strict=True):
        assert (one.plan, one.price, one.total) == (other.plan, other.price, other.total)


def test_a_small_first_entry_is_not_given_the_whole_budget():
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(BudgetExceeded, match="filter='renyi'"):
        ledger.spend(Plan.of(small=Laplace(noise_multiplier=1 / 0.3)), "a Laplace count")
    assert ledger.history() == ()
    other = Ledger(Budget(1.0, 1e-6), filter="renyi")
    other.spend(Plan.of(small=Laplace(noise_multiplier=1 / 0.3)), "a Laplace count")
    assert 0.2 < other.remaining().epsilon < 1.0


@pytest.mark.parametrize("kind", ["gdp", "renyi"])
def test_charges_of_any_kind_add_up_to_what_was_paid_for(kind):
    ledger = Ledger(Budget(1.0, 1e-6), filter=kind)
    most = Plan.of(a=Laplace(count=3, noise_multiplier=200.0), b=Pure(count=2, epsilon=0.002))
    with ledger.reserve(most, "accesses") as reservation:
        for _ in range(3):
            reservation.charge(Plan.of(a=Laplace(noise_multiplier=200.0)))
        for _ in range(2):
            reservation.charge(Plan.of(b=Pure(epsilon=0.002)))
        with pytest.raises(BudgetExceeded):
            reservation.charge(Plan.of(b=Pure(epsilon=0.002)))


def test_a_budget_without_end_is_strict_json():
    ledger = Ledger(Budget(math.inf))
    ledger.spend(Plan.of(a=Unprotected()), "look")

    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(ledger.to_json(), parse_constant=refuse)
    assert data["budget"]["epsilon"] is None
