"""Prices of every filter: finite or refused, never negative, never less for more accesses."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voile import Budget, Ledger
from voile.errors import SettingError, VoileError
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import (
    Event,
    Gaussian,
    Laplace,
    Plan,
    PoissonGaussian,
    Pure,
    Threshold,
)
from voile.privacy.ledger.filter import Amount, Filter, FilterKind

BUDGETS = [Budget(1, 1e-6), Budget(0.1, 1e-6), Budget(8, 1e-5)]
MOST = 2**53 - 1

magnitude = st.floats(-12, 12).map(lambda power: 10.0**power)
rates = st.floats(-12, -0.01).map(lambda power: 10.0**power)
counts = st.sampled_from([1, 2, 1000, MOST])
renyi_events = st.one_of(
    st.builds(Gaussian, count=counts, noise_multiplier=magnitude),
    st.builds(Laplace, count=counts, noise_multiplier=magnitude.map(lambda one: max(one, 0.01))),
    st.builds(Pure, count=counts, epsilon=magnitude.map(lambda one: min(one, 100.0))),
    st.builds(
        PoissonGaussian,
        count=counts,
        noise_multiplier=magnitude.map(lambda one: max(one, 0.3)),
        rate=rates,
    ),
)


def renyi(budget: Budget) -> Filter:
    return Filter(budget, NeighbouringRelation.ADD_REMOVE, FilterKind.RENYI)


@given(budget=st.sampled_from(BUDGETS), events=st.lists(renyi_events, min_size=1, max_size=3))
def test_no_look_makes_an_entry_cheaper(budget: Budget, events: list[Event]):
    prices = renyi(budget)
    whole = prices.price(events).loss
    parts = [prices.price([event]).loss for event in events]
    assert all(part >= 0 for part in parts)
    assert whole >= max(parts) * (1 - 1e-12)
    assert prices.price_apart(events).loss >= max(parts) * (1 - 1e-9)


@given(budget=st.sampled_from(BUDGETS), noise=st.floats(1, 1e12), rate=rates)
def test_a_sampled_look_costs_at_least_its_leading_term(budget, noise, rate):
    # Of the divergence at order a, all terms of its power series in the rate being positive:
    # a / 2 * rate^2 * (e^(1 / sigma^2) - 1) comes first. Only then: rounding must not eat it.
    prices = renyi(budget)
    assume(rate * prices.order < 0.01)
    leading = prices.order / 2 * rate**2 * math.expm1(noise**-2)
    price = prices.price([PoissonGaussian(noise_multiplier=noise, rate=rate)]).loss
    assert price >= leading * (1 - 1e-2)


def test_rounding_errors_times_many_looks_pay_for_nothing():
    # Each of the sampled accesses is all but free, and rounding made its price negative: 2^53 of
    # them in a hundred steps paid for a Gaussian access of epsilon 19.
    free = PoissonGaussian(
        noise_multiplier=2068336527.6578372, rate=0.22043166965956829, count=MOST
    )
    ledger = Ledger(Budget(1, 1e-6), filter="renyi")
    steps = {f"free {number}": free for number in range(100)}
    for share in (0.29, 0.3, 0.31, 0.323, 0.34, 0.4, 0.5, 1.0):
        with pytest.raises(VoileError):
            ledger.spend(Plan.of(**steps, look=Gaussian(noise_multiplier=share)), "job")
    assert ledger.history() == ()


@pytest.mark.parametrize("kind", ["gdp", "renyi", "pure"])
@pytest.mark.parametrize(
    "events",
    [
        [Gaussian(noise_multiplier=1e-40)],
        [Gaussian(noise_multiplier=1e-40, count=5)],
        [Gaussian(noise_multiplier=1e-3), Laplace(noise_multiplier=50)],
        [Gaussian(noise_multiplier=1e-40), Laplace(noise_multiplier=50)],
        [Laplace(noise_multiplier=1e-6)],
        [Pure(epsilon=800.0)],
        [Pure(epsilon=1e5, count=3)],
        [PoissonGaussian(noise_multiplier=1e-3, rate=0.1)],
    ],
    ids=repr,
)
def test_what_protects_nothing_is_refused_in_our_words(kind, events):
    for budget in (Budget(1, 1e-6), Budget(20, 1e-3)):
        ledger = Ledger(budget, filter=kind)
        plan = Plan.of(**{f"s{number}": event for number, event in enumerate(events)})
        for attempt in (ledger.spend, ledger.reserve):
            with pytest.raises(VoileError):
                attempt(plan, "job")
        assert ledger.history() == ()


@pytest.mark.parametrize(
    ("kind", "budget", "event"),
    [
        ("renyi", Budget(50, 1e-6), PoissonGaussian(noise_multiplier=0.5, rate=0.001)),
        ("renyi", Budget(8, 1e-5), PoissonGaussian(noise_multiplier=1.0, rate=0.01)),
        ("renyi", Budget(1, 1e-6), Threshold(noise_multiplier=10.0, delta=9e-8)),
        ("gdp", Budget(1, 1e-6), Threshold(noise_multiplier=10.0, delta=9e-8)),
    ],
    ids=repr,
)
def test_the_ledger_never_says_that_less_was_spent(kind, budget, event):
    ledger = Ledger(budget, filter=kind)
    ledger.spend(Plan.of(look=event), "job")
    exact = compose([event], coarse=True).epsilon(budget.delta)
    discretised = isinstance(event, PoissonGaussian)
    assert ledger.spent().epsilon >= exact * (0.99 if discretised else 1 - 1e-9)


@pytest.mark.parametrize("kind", list(FilterKind))
def test_a_total_is_told_as_an_epsilon_within_the_budget(kind):
    prices = Filter(Budget(2, 1e-6), kind=kind)
    assert prices.cost(Amount()) == 0.0
    one = prices.cost(Amount(prices.limit.loss / 4, 0.0))
    assert 0 < one < prices.cost(Amount(prices.limit.loss / 2, 0.0)) <= 2
    # Nothing of delta is left for the loss: no epsilon is known below the whole budget.
    if kind is not FilterKind.PURE:
        assert prices.cost(Amount(prices.limit.loss / 4, 1e-6)) == 2


def test_a_budget_without_end_is_worth_itself():
    endless = Filter(Budget(math.inf))
    assert endless.worth(Amount(1.0)) == endless.budget
    assert endless.cost(Amount(1.0)) == math.inf


def test_looks_that_are_never_taken_cost_nothing_apart():
    prices = Filter(Budget(1, 1e-6))
    assert prices.price_apart([Gaussian(0, 0.1)]) == Amount()


def test_sampling_has_no_renyi_price_where_rows_are_replaced():
    ledger = Ledger(Budget(1, 1e-6), relation="replace_one", filter="renyi")
    with pytest.raises(SettingError, match="filter='gdp'"):
        ledger.spend(Plan.of(sums=PoissonGaussian(1, 2.0, 0.1)), "sampled")
    assert ledger.history() == ()


def test_what_is_not_gaussian_is_no_part_of_a_job_with_the_whole_budget():
    prices = Filter(Budget(1, 1e-6))
    whole = [Gaussian(2, 5.0)]
    assert prices.part_alone([Gaussian(1, 5.0)], whole).loss == pytest.approx(prices.limit.loss / 2)
    assert not prices.part_alone([Laplace(1, 1e6)], whole).within(prices.limit)
