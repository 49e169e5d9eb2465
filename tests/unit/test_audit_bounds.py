"""Bounds on epsilon from counts: right as often as they say, and tight where they can be."""

import math

import pytest
from scipy.stats import binom

from voile.audit.bounds import (
    epsilon_by_rates,
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
