"""The accountant against closed forms, dp-accounting itself and published values."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event, pld
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from voile.errors import SettingError
from voile.privacy.accounting import _dominating_mu, compose
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.calibrate import (
    approximate_step,
    calibrate,
    gaussian_step,
    poisson_step,
    threshold_step,
)
from voile.privacy.events import (
    KINDS,
    Approximate,
    Event,
    Gaussian,
    Laplace,
    Plan,
    PoissonGaussian,
    Pure,
    Step,
    Threshold,
    Unprotected,
)
from voile.privacy.gaussian_dp import (
    delta_of,
    epsilon_of,
    mu_of,
    mu_of_pure,
)
from voile.privacy.ledger.filter import Filter, FilterKind

EVENTS = st.one_of(
    st.builds(Gaussian, st.integers(1, 50), st.floats(0.5, 100)),
    st.builds(Threshold, st.integers(1, 5), st.floats(0.5, 100), st.floats(1e-12, 1e-9)),
    st.builds(Laplace, st.integers(1, 5), st.floats(1, 100)),
    st.builds(Pure, st.integers(1, 5), st.floats(0.01, 1)),
    st.builds(Approximate, st.integers(1, 5), st.floats(0.01, 1), st.floats(1e-12, 1e-9)),
    st.builds(PoissonGaussian, st.integers(1, 50), st.floats(1, 20), st.floats(0.01, 0.5)),
)


def google(events: list[tuple[dp_event.DpEvent, int]]) -> pld.PLDAccountant:
    accountant = pld.PLDAccountant()
    for event, count in events:
        accountant.compose(event, count)
    return accountant


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 1e-6), (8.0, 1e-6), (0.5, 1e-9)])
def test_analytic_gaussian_solves_its_equation(epsilon, delta):
    scale = 1 / mu_of(epsilon, delta)
    a, b = 1 / (2 * scale), epsilon * scale
    assert norm.cdf(a - b) - math.exp(epsilon) * norm.cdf(-a - b) == pytest.approx(delta, rel=1e-6)


def test_published_value_of_the_analytic_gaussian():
    assert 1 / mu_of(1.0, 1e-5) == pytest.approx(3.730631, rel=1e-6)


def test_published_value_of_the_moments_accountant_example():
    # q = 500/60000, sigma 1.3, 2,400 steps, delta 1e-5: published as eps 2 by moments, 1.47 by PLD.
    loss = compose([PoissonGaussian(2400, 1.3, 500 / 60000)])
    assert loss.epsilon(1e-5) == pytest.approx(1.47, abs=0.01)


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1))
def test_mu_and_epsilon_are_inverse(epsilon, delta):
    mu = mu_of(epsilon, delta)
    assert float(delta_of(mu, epsilon)) <= delta
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)


@given(st.floats(0.001, 10))
def test_every_pure_mechanism_is_gaussian_private(epsilon):
    mu = mu_of_pure(epsilon)
    alpha = np.linspace(0, 1, 2001)[1:-1]
    pure = np.maximum(1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
    gaussian = norm.cdf(norm.ppf(1 - alpha) - mu)
    assert np.all(gaussian <= np.maximum(pure, 0) + 1e-12)
    smaller = norm.cdf(norm.ppf(1 - 1 / (1 + math.exp(epsilon))) - 0.99 * mu)
    assert smaller > 1 / (1 + math.exp(epsilon))  # no smaller mu would do


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([Gaussian(10, 5.0)], [(dp_event.GaussianDpEvent(5.0), 10)]),
        ([Laplace(4, 10.0)], [(dp_event.LaplaceDpEvent(10.0), 4)]),
        (
            [Gaussian(3, 4.0), PoissonGaussian(100, 2.0, 0.05), Laplace(2, 20.0)],
            [
                (dp_event.GaussianDpEvent(4.0), 3),
                (dp_event.PoissonSampledDpEvent(0.05, dp_event.GaussianDpEvent(2.0)), 100),
                (dp_event.LaplaceDpEvent(20.0), 2),
            ],
        ),
    ],
)
def test_compositions_agree_with_dp_accounting(ours, theirs):
    assert compose(ours).epsilon(1e-6) == pytest.approx(google(theirs).get_epsilon(1e-6), rel=2e-3)


def test_replacing_a_row_costs_more_than_adding_one_under_sampling():
    events = [PoissonGaussian(200, 2.0, 0.1)]
    add = compose(events, NeighbouringRelation.ADD_REMOVE).epsilon(1e-6)
    replace = compose(events, NeighbouringRelation.REPLACE_ONE).epsilon(1e-6)
    assert add < replace < 2.2 * add


def test_threshold_adds_its_own_delta():
    with_threshold = compose([Threshold(3, 5.0, 1e-7)])
    without = compose([Gaussian(3, 5.0)])
    assert with_threshold.delta(1.0) == pytest.approx(without.delta(1.0) + 3e-7, rel=1e-6)
    assert with_threshold.epsilon(2e-7) == math.inf


def test_every_kind_of_event_is_known_and_described():
    assert {cls.kind for cls in Event.__subclasses__()} >= set(KINDS)
    assert "approximate" in KINDS
    assert Approximate(1, 0.5, 1e-7).describe() == "approximate, epsilon 0.5, delta 1e-07"


@pytest.mark.parametrize("count", [1, 7])
def test_an_approximate_look_agrees_with_dp_accounting(count):
    """There its delta is a mass at infinity, here a chance beside: the same up to delta squared."""
    loss = compose([Approximate(count, 0.3, 1e-7), Gaussian(2, 5.0)])
    one = pld.privacy_loss_distribution.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(0.3, 1e-7), value_discretization_interval=1e-4
    )
    gauss = pld.privacy_loss_distribution.from_gaussian_mechanism(5 / math.sqrt(2))
    whole = one.self_compose(count).compose(gauss) if count > 1 else one.compose(gauss)
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        theirs = whole.get_delta_for_epsilon(epsilon)
        assert loss.delta(epsilon) == pytest.approx(theirs, rel=1e-3)
        assert loss.delta(epsilon) >= 1e-7 * count


def test_an_approximate_look_alone_is_what_it_says():
    loss = compose([Approximate(1, 0.7, 1e-6)])
    assert loss.epsilon(1e-6) == 0.7
    assert loss.delta(0.7) == 1e-6
    assert loss.epsilon(0.9e-6) == math.inf
    assert loss.delta(100.0) == 1e-6  # never less than the chance
    assert compose([Approximate(3, 0.7, 1e-6)]).epsilon(3.1e-6) <= 2.1 + 1e-12


def test_approximate_looks_keep_their_delta_when_calibrated():
    shape = Plan((approximate_step("a", 0.5, delta=2e-7, count=2), gaussian_step("b", 0.5)))
    budget = Budget(1.0, 1e-6)
    plan = calibrate(budget, shape)
    assert plan["a"].delta == 2e-7
    assert compose(plan.events).delta(1.0) <= 1e-6
    assert compose(plan.events).epsilon(1e-6) == pytest.approx(1.0, rel=0.01)
    # All of delta for the one access: the closed form, as for pure accesses and delta 0.
    alone = calibrate(budget, Plan((approximate_step("a", 1, delta=1e-6),)))
    assert alone["a"].epsilon == pytest.approx(1.0)
    assert compose(alone.events).epsilon(1e-6) <= 1.0
    free = calibrate(Budget(math.inf), shape)
    assert all(isinstance(event, Unprotected) for event in free.events)


def test_a_look_without_noise_has_no_guarantee():
    loss = compose([Gaussian(1, 100.0), Unprotected()])
    assert loss.epsilon(0.999) == math.inf
    assert loss.delta(50.0) == 1.0


@given(st.lists(EVENTS, min_size=1, max_size=4))
def test_events_survive_json(events):
    for event in events:
        assert Event.from_dict(event.to_dict()) == event


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(1, 0.0),
        lambda: Gaussian(1, math.nan),
        lambda: Gaussian(1, math.inf),
        lambda: Gaussian(1, "3"),
        lambda: Gaussian(1.5, 3.0),
        lambda: Budget("1", 1e-6),
        lambda: Gaussian(-1, 1.0),
        lambda: Pure(1, -1.0),
        lambda: Approximate(1, 0.0, 1e-6),
        lambda: Approximate(1, 1.0, 0.0),
        lambda: Approximate(1, 1.0, 1.0),
        lambda: calibrate(Budget(1.0, 0.0), Plan((approximate_step("a", 1, delta=1e-9),))),
        lambda: calibrate(Budget(1.0, 1e-9), Plan((approximate_step("a", 1, delta=2e-9),))),
        lambda: PoissonGaussian(1, 1.0, 1.5),
        lambda: PoissonGaussian(1, 1.0, 0.0),
        lambda: Budget(-1, 1e-6),
        lambda: Budget(1, 1.0),
        lambda: Budget(math.nan, 1e-6),
        lambda: calibrate(Budget(0, 1e-6), Plan((gaussian_step("a", 1),))),
        lambda: calibrate(Budget(1, 1e-9), Plan((threshold_step("a", 1, delta=1e-8),))),
    ],
)
def test_impossible_settings_are_refused(make):
    with pytest.raises(SettingError):
        make()


@given(
    st.floats(0.05, 16),
    st.floats(1e-10, 1e-3),
    st.lists(st.tuples(st.floats(0.01, 1), st.integers(1, 500)), min_size=1, max_size=5),
)
def test_gaussian_plans_use_the_whole_budget_and_no_more(epsilon, delta, shares):
    shape = Plan(tuple(gaussian_step(f"s{i}", w, count=n) for i, (w, n) in enumerate(shares)))
    plan = calibrate(Budget(epsilon, delta), shape)
    assert compose(plan.events).epsilon(delta) <= epsilon
    assert compose(plan.events).epsilon(delta) == pytest.approx(epsilon, rel=1e-6)
    # Shares of mu^2 are as asked.
    parts = [e.count / e.noise_multiplier**2 for e in plan.events]
    weights = [w for w, _ in shares]
    assert parts[0] / sum(parts) == pytest.approx(weights[0] / sum(weights))


def test_mixed_plans_are_calibrated_jointly():
    budget = Budget(1.0, 1e-6)
    shape = Plan(
        (
            gaussian_step("centre", 0.1),
            poisson_step("steps", 0.7, rate=0.05, count=200),
            Step("counts", Laplace(3, math.sqrt(3 / 0.1))),
            Step("choice", Pure(2, math.sqrt(0.1 / 2))),
        )
    )
    plan = calibrate(budget, shape)
    epsilon = compose(plan.events).epsilon(budget.delta)
    assert epsilon <= budget.epsilon
    assert epsilon == pytest.approx(budget.epsilon, rel=5e-3)


def test_pure_plans_need_no_delta():
    plan = calibrate(
        Budget(1.0, 0.0), Plan((Step("a", Laplace(3, math.sqrt(3.0))), Step("b", Pure(1, 1.0))))
    )
    assert compose(plan.events).epsilon(0.0) == pytest.approx(1.0, rel=1e-6)
    assert compose(plan.events).epsilon(0.0) <= 1.0
    assert compose(plan.events).delta(1.0) == 0.0
    assert compose([Gaussian(1, 5.0)]).epsilon(0.0) == math.inf


def test_infinite_epsilon_means_no_noise():
    plan = calibrate(Budget(math.inf, 1e-6), Plan((gaussian_step("a", 1, count=7),)))
    assert plan["a"] == Unprotected(7)


@pytest.mark.slow
def test_the_paper_setting_is_calibrated_as_dp_accounting_does_and_from_cache():
    rate, steps, budget = 500 / 60000, 2400, Budget(2.0, 1e-5)
    shape = Plan((poisson_step("steps", 1.0, rate=rate, count=steps),))
    plan = calibrate(budget, shape)
    theirs = dp_accounting.calibrate_dp_mechanism(
        pld.PLDAccountant,
        lambda sigma: dp_event.SelfComposedDpEvent(
            dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), steps
        ),
        2.0,
        1e-5,
        dp_accounting.ExplicitBracketInterval(1.0, 1.2),
        tol=1e-3,
    )
    step: Event = plan["steps"]
    assert isinstance(step, PoissonGaussian)
    assert step.noise_multiplier == pytest.approx(theirs, rel=0.01)
    assert calibrate(budget, shape) is plan  # the very one: it was not searched again


def test_domination_by_a_gaussian_holds_everywhere():
    loss = compose([PoissonGaussian(100, 2.0, 0.1), Laplace(1, 5.0)])
    chance = 1e-8
    mu = loss.gdp(chance)
    # A finer grid than the one that proved it, offset from it.
    points = np.linspace(0.0, 3.0, 7919)
    curve = np.asarray(loss.other.get_delta_for_epsilon(points))
    assert np.all(curve <= chance + (1 - chance) * delta_of(mu, points) + 1e-15)
    # ... and it is not wasteful.
    assert epsilon_of(mu, 1e-6) == pytest.approx(loss.epsilon(1e-6), rel=0.25)


# --- ends of the scales


class Curve:
    """A privacy loss distribution as far as domination asks for it."""

    def __init__(self, reach, delta):
        self.reach, self.delta = reach, delta

    def get_epsilon_for_delta(self, chance):
        return self.reach

    def get_delta_for_epsilon(self, points):
        return np.full_like(points, self.delta)


def test_domination_at_the_ends_is_infinite_or_never_too_small():
    assert compose([Gaussian(4, 2.0)]).gdp(1e-8) == 1.0  # needs no chance
    assert math.isinf(_dominating_mu(Curve(math.inf, 0.5), 1e-8))
    assert math.isinf(_dominating_mu(Curve(1e9, 1.0), 1e-8))  # more than any mu allows
    assert 0 < _dominating_mu(Curve(1.0, 0.0), 1e-8) <= 1e-9


def test_a_kind_of_look_that_nobody_has_analysed_has_no_price():
    class Strange(Event):
        kind = "strange"

    assert Strange().describe() == "strange"
    with pytest.raises(SettingError, match=r"no privacy loss is known .*'strange'"):
        compose([Strange()])
    with pytest.raises(SettingError, match=r"no Renyi price is known .*'strange'"):
        Filter(Budget(1, 1e-6), kind=FilterKind.RENYI).price([Strange()])


def test_mu_at_the_ends_of_the_scale_never_guarantees_too_much():
    assert mu_of(math.inf, 1e-6) == math.inf
    assert mu_of(1.0, 0.0) == 0.0
    for epsilon in (0.8e8, 2e8):  # from both sides of the largest that is told apart
        assert mu_of(epsilon, 1e-6) == 1e4
        assert float(delta_of(1e4, epsilon)) <= 1e-6
    assert mu_of(0.0, 1e-13) == 0.0


def test_a_plan_without_looks_needs_no_noise():
    nothing = Plan.of(a=Gaussian(0, 1.0))
    assert calibrate(Budget(1, 1e-6), nothing) == nothing
    # An access that is announced and never taken may be one without noise.
    plan = calibrate(Budget(1, 1e-6), Plan.of(a=Gaussian(1, 1.0), b=Unprotected(0)))
    assert plan["b"] == Unprotected(0)
    assert compose(plan.events).epsilon(1e-6) == pytest.approx(1.0)
    with pytest.raises(SettingError, match="fits no finite budget"):
        calibrate(Budget(1, 1e-6), Plan.of(a=Gaussian(1, 1.0), b=Unprotected(1)))
