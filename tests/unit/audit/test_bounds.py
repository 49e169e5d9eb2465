"""Bounds on epsilon from counts: right as often as they say, and tight where they can be."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

from voile.audit.bounds import (
    epsilon_by_guesses,
    epsilon_by_rates,
    epsilon_in_one_run,
    interval,
    mu_by_rates,
)
from voile.errors import SettingError

# -- two rates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(0, 50), (3, 40), (10, 49), (0, 5), (25, 25)])
def test_alarms_and_silence_count_alike(counts):
    a, b = counts
    found = epsilon_by_rates(a, b, 50)
    assert found == pytest.approx(epsilon_by_rates(50 - b, 50 - a, 50))
    assert found == pytest.approx(epsilon_by_rates(b, a, 50))
    assert found >= epsilon_by_rates(a, b, 50, delta=0.05) >= 0.0
    assert found >= epsilon_by_rates(a, b, 50, confidence=0.999)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("runs", [10, 50])
def test_the_bound_errs_no_more_often_than_it_says(epsilon, runs):
    """Exactly, over all outcomes of the attacker that is best under epsilon."""
    rate = 1.0 / (1.0 + math.exp(epsilon))
    wrong = sum(
        binom.pmf(a, runs, rate) * binom.pmf(b, runs, 1.0 - rate)
        for a in range(runs + 1)
        for b in range(runs + 1)
        if binom.pmf(a, runs, rate) > 1e-9
        and binom.pmf(b, runs, 1.0 - rate) > 1e-9
        and epsilon_by_rates(a, b, runs, confidence=0.95) > epsilon
    )
    assert wrong <= 0.05


def test_certain_alarms_bound_epsilon_by_the_number_of_runs():
    bounds = [epsilon_by_rates(0, runs, runs) for runs in (1, 10, 100, 1000, 10_000)]
    assert bounds == sorted(bounds)
    assert bounds[0] == 0.0
    assert bounds[3] == pytest.approx(math.log(0.0125 ** (-1 / 1000) - 1) * -1, rel=1e-9)
    assert epsilon_by_rates(0, 0, 10) == epsilon_by_rates(10, 10, 10) == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {"runs_without": 0, "false_alarms": 0, "right_alarms": 0},
        {"false_alarms": -1},
        {"right_alarms": 11},
        {"delta": 1.5},
        {"confidence": 1.0},
        {"confidence": math.nan},
    ],
)
def test_a_bound_of_nothing_is_refused(settings):
    with pytest.raises(SettingError):
        epsilon_by_rates(**{"false_alarms": 1, "right_alarms": 2, "runs_without": 10, **settings})


def test_what_delta_explains_is_no_evidence():
    """With a delta that large nothing can be said, and nothing is."""
    for counts in [(5, 5), (0, 10), (10, 0), (0, 0), (10, 10)]:
        assert epsilon_by_rates(*counts, 10, delta=1.0) == 0.0
        assert epsilon_by_rates(*counts, 10, delta=0.6) >= 0.0
    assert epsilon_by_guesses(10, 10, 10, delta=1.0) == 0.0
    assert epsilon_in_one_run(1000, 1000, 1000, delta=1.0) == 0.0


# -- guesses ---------------------------------------------------------------------------------------


def revealing(runs, epsilon, delta, venture):
    """Chances of (right, guesses) of the best attacker: it is told the world with probability
    delta, and ventures a share of its other guesses."""
    sure = expit(epsilon)
    chances = {}
    for told in range(runs + 1):
        for guessed in range(runs - told + 1):
            both = binom.pmf(told, runs, delta) * binom.pmf(guessed, runs - told, venture)
            if both < 1e-12:
                continue
            for right, own in enumerate(binom.pmf(np.arange(guessed + 1), guessed, sure)):
                key = (told + right, told + guessed)
                chances[key] = chances.get(key, 0.0) + both * own
    return chances


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.001, 0.1])
@pytest.mark.parametrize("venture", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_guesses_err_no_more_often_than_they_say(epsilon, delta, venture, confidence):
    chances = revealing(24, epsilon, delta, venture)
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-8)
    wrong = sum(
        chance
        for (right, guesses), chance in chances.items()
        if epsilon_by_guesses(right, guesses, 24, delta=delta, confidence=confidence) > epsilon
    )
    assert wrong <= 1.0 - confidence


def test_guesses_are_nearly_as_tight_as_can_be():
    """Without delta, the bound errs nearly as often as it may."""
    right = np.arange(2001)
    found = np.array([epsilon_by_guesses(int(v), 2000, 2000) for v in right[1000:1700:1]])
    wrong = binom.pmf(right[1000:1700], 2000, expit(1.0))[found > 1.0].sum()
    assert 0.04 < wrong + binom.sf(1699, 2000, expit(1.0)) <= 0.05


def test_what_is_given_up_is_what_delta_may_reveal():
    """As many as plausible, and one right guess less for each."""
    for runs, delta in [(100, 0.01), (10_000, 1e-5), (10_000, 0.2), (50, 1e-9)]:
        given_up = next(k for k in range(runs + 1) if binom.sf(k, runs, delta) <= 0.005)
        with_delta = epsilon_by_guesses(runs, runs, runs, delta=delta)
        rest = runs - given_up
        assert with_delta == pytest.approx(epsilon_by_guesses(rest, rest, runs, confidence=0.955))


@pytest.mark.parametrize("bound", [epsilon_by_guesses, epsilon_in_one_run])
def test_bounds_of_guesses_are_monotone(bound):
    for guesses in (1, 7, 60):
        rising = [bound(v, guesses, 60) for v in range(guesses + 1)]
        assert rising == sorted(rising)
        assert rising[0] == 0.0
        assert all(math.isfinite(one) and one >= 0.0 for one in rising)
        for v in (0, guesses // 2, guesses):
            by_confidence = [
                bound(v, guesses, 60, confidence=c) for c in (0.01, 0.5, 0.95, 1 - 1e-9)
            ]
            assert by_confidence == sorted(by_confidence, reverse=True)
            by_delta = [bound(v, guesses, 60, delta=d) for d in (0, 1e-12, 1e-4, 0.01, 0.3, 1)]
            assert by_delta == sorted(by_delta, reverse=True)
            by_runs = [bound(v, guesses, runs, delta=0.01) for runs in (60, 100, 10_000)]
            assert by_runs == sorted(by_runs, reverse=True)
    wrong_ones = [bound(50, guesses, 60) for guesses in range(50, 61)]
    assert wrong_ones == sorted(wrong_ones, reverse=True)
    assert bound(0, 0, 5) == 0.0


@pytest.mark.parametrize("right", [0, 1, 30, 55, 60])
def test_without_delta_one_run_says_what_guesses_say(right):
    """A binomial number of right guesses bounds both."""
    assert epsilon_in_one_run(right, 60, 60) == pytest.approx(
        epsilon_by_guesses(right, 60, 60), abs=1e-7
    )


@pytest.mark.parametrize("bound", [epsilon_by_guesses, epsilon_in_one_run])
@pytest.mark.parametrize(
    ("counts", "settings"),
    [
        ((2, 1, 3), {}),
        ((1, 4, 3), {}),
        ((-1, 2, 3), {}),
        ((0, -1, 3), {}),
        ((0, 0, 0), {}),
        ((1, 2, 3), {"delta": -1e-9}),
        ((1, 2, 3), {"delta": math.nan}),
        ((1, 2, 3), {"confidence": 0.0}),
        ((1, 2, 3), {"confidence": 1.0}),
        ((1, 2, 3), {"confidence": math.nan}),
    ],
)
def test_guesses_that_cannot_be_are_refused(bound, counts, settings):
    with pytest.raises(SettingError):
        bound(*counts, **settings)


# -- one run ---------------------------------------------------------------------------------------


def chance_in_one_run(epsilon, right, guesses, canaries, delta):
    """The main theorem written out, in other words than the code's."""
    sure = 1.0 / (1.0 + math.exp(-epsilon))
    pmf = [
        math.comb(guesses, w) * sure**w * (1.0 - sure) ** (guesses - w) for w in range(guesses + 1)
    ]
    lift = max(sum(pmf[max(right - i, 0) : right]) / i for i in range(1, canaries + 1))
    return sum(pmf[right:]) + 2.0 * canaries * delta * lift


@pytest.mark.parametrize(
    "counts", [(20, 20, 20), (45, 50, 100), (30, 50, 100), (100, 100, 100), (61, 80, 80)]
)
@pytest.mark.parametrize("delta", [1e-6, 1e-4, 1e-3])
def test_one_run_is_where_the_theorem_puts_it(counts, delta):
    found = epsilon_in_one_run(*counts, delta=delta)
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if chance_in_one_run(middle, *counts, delta) < 0.05:
            low = middle
        else:
            high = middle
    assert found == pytest.approx(low, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.02])
def test_one_run_errs_no_more_often_than_it_says(epsilon, delta):
    """Exactly, for canaries that are answered one by one, the surest first."""
    canaries, guesses, wrong = 60, 40, 0.0
    bounds = [epsilon_in_one_run(v, guesses, canaries, delta=delta) for v in range(guesses + 1)]
    for told in range(canaries + 1):
        sure = min(told, guesses)
        chances = binom.pmf(np.arange(guesses - sure + 1), guesses - sure, expit(epsilon))
        too_large = np.array(bounds[sure:]) > epsilon
        wrong += binom.pmf(told, canaries, delta) * chances[too_large].sum()
    assert wrong <= 0.05


# -- Gaussian --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("limit", [-1.0, 0.0, 0.7, 2.5])
def test_mu_errs_no_more_often_than_it_says(mu, limit):
    """Exactly, with a Gaussian at several thresholds."""
    runs = 24
    false = binom.pmf(np.arange(runs + 1), runs, norm.sf(limit))
    right = binom.pmf(np.arange(runs + 1), runs, norm.sf(limit - mu))
    wrong = sum(
        false[a] * right[b]
        for a in range(runs + 1)
        for b in range(runs + 1)
        if false[a] * right[b] > 1e-9 and mu_by_rates(a, b, runs) > mu
    )
    assert wrong <= 0.05


def test_mu_is_monotone_and_never_infinite():
    table = np.array([[mu_by_rates(a, b, 30, 20) for b in range(21)] for a in range(31)])
    assert np.isfinite(table).all()
    assert (table >= 0.0).all()
    # More right alarms or fewer false ones never lower it, where the canary makes alarms likelier.
    assert (np.diff(table[0]) >= 0.0).all()
    assert (np.diff(table[:, 20]) <= 0.0).all()
    assert table[0, 0] == table[30, 20] == 0.0
    assert mu_by_rates(3, 25, 30) == pytest.approx(mu_by_rates(25, 3, 30))
    assert mu_by_rates(3, 25, 30) == pytest.approx(mu_by_rates(5, 27, 30))
    assert mu_by_rates(0, 30, 30, confidence=0.5) > mu_by_rates(0, 30, 30) > 2.0


def test_mu_of_a_gaussian_is_nearly_found():
    runs, mu = 1_000_000, 1.0
    found = mu_by_rates(int(runs * norm.sf(0.5)), int(runs * norm.sf(-0.5)), runs)
    assert 0.99 < found < mu


# -- the ends of a rate ----------------------------------------------------------------------------


@pytest.mark.parametrize("risk", [1e-9, 0.0125, 0.5])
def test_ends_are_where_the_tails_are_as_rare_as_they_say(risk):
    for hits, runs in [(1, 10), (5, 10), (10, 10), (3, 1000), (999, 1000)]:
        low, high = interval(hits, runs, risk)
        assert 0.0 <= low < high <= 1.0
        assert binom.sf(hits - 1, runs, low) == pytest.approx(risk, rel=1e-6)
        if hits < runs:
            assert binom.cdf(hits, runs, high) == pytest.approx(risk, rel=1e-6)
    assert interval(0, 10, risk)[0] == 0.0
    assert interval(10, 10, risk)[1] == 1.0


def test_taking_away_a_right_guess_lowers_the_limit():
    """The step of the proof on which giving up guesses for delta rests."""
    for guesses in range(1, 24):
        lows = [interval(right, guesses, 0.045)[0] for right in range(guesses + 1)]
        assert lows == sorted(lows)
        for right in range(1, guesses + 1):
            fewer = interval(right - 1, guesses - 1, 0.045)[0] if guesses > 1 else 0.0
            assert fewer <= interval(right, guesses, 0.045)[0]
            assert interval(right, guesses + 1, 0.045)[0] <= interval(right, guesses, 0.045)[0]
