"""What an attacker can do, against brute force over all rules and numerical Gaussian tests."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from voile.errors import SettingError
from voile.planning.attacker import (
    FALSE_ALARMS,
    advantage,
    advantage_gaussian,
    belief,
    belief_gaussian,
    best_rate,
    best_rate_gaussian,
    describe_attacker,
    percent,
)
from voile.privacy.gaussian_dp import delta_of, mu_of

PROMISES = [(0.0, 0.0), (0.1, 0.0), (1.0, 1e-6), (1.0, 0.05), (3.0, 0.2), (8.0, 1e-3)]


def worst_case(epsilon, delta):
    """Randomised response: chances of its four results, out and in (docs/proofs/attacker.md)."""
    rest, grown = (1 - delta) / (1 + math.exp(epsilon)), math.exp(epsilon)
    return np.array([0, rest, rest * grown, delta]), np.array([delta, rest * grown, rest, 0])


def best_by_brute_force(out, inside, alpha):
    """Largest TPR over all randomised rules with FPR <= alpha, by linear programming."""
    found = optimize.linprog(-inside, A_ub=[out], b_ub=[alpha], bounds=[(0, 1)] * len(out))
    return -found.fun


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize("alpha", [0.0, 0.001, 0.03, 0.1, 0.3, 0.5, 0.9, 1.0])
def test_no_rule_finds_more_and_one_finds_as_much(epsilon, delta, alpha):
    out, inside = worst_case(epsilon, delta)
    brute = best_by_brute_force(out, inside, alpha)
    assert float(best_rate(epsilon, delta, alpha)) == pytest.approx(brute, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_the_worst_case_keeps_its_guarantee(epsilon, delta):
    """Or the comparison above would be with another one."""
    out, inside = worst_case(epsilon, delta)
    for chosen in itertools.product([0, 1], repeat=4):
        rule = np.array(chosen)
        assert rule @ inside <= math.exp(epsilon) * (rule @ out) + delta + 1e-12
        assert rule @ out <= math.exp(epsilon) * (rule @ inside) + delta + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_the_advantage_is_the_largest_over_all_rules(epsilon, delta):
    out, inside = worst_case(epsilon, delta)
    rules = np.array(list(itertools.product([0, 1], repeat=4)))
    assert advantage(epsilon, delta) == pytest.approx((rules @ (inside - out)).max(), abs=1e-12)
    alphas = np.linspace(0, 1, 2001)
    assert (best_rate(epsilon, delta, alphas) - alphas).max() <= advantage(epsilon, delta) + 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_the_belief_is_that_of_bayes_after_the_worst_result(epsilon, prior):
    out, inside = worst_case(epsilon, 0.0)
    seen = out > 0
    posterior = prior * inside[seen] / (prior * inside[seen] + (1 - prior) * out[seen])
    assert belief(epsilon, prior) == pytest.approx(posterior.max(), rel=1e-12)


@pytest.mark.parametrize("mu", [0.0, 0.05, 0.5, 1.0, 3.0])
def test_the_gaussian_rates_are_those_of_a_threshold_found_numerically(mu):
    for alpha in FALSE_ALARMS:
        cut = optimize.brentq(
            lambda t, alpha=alpha: integrate.quad(stats.norm.pdf, t, 40)[0] - alpha, -10, 10
        )
        power = integrate.quad(stats.norm(mu, 1).pdf, cut, 40, points=[mu])[0]
        assert float(best_rate_gaussian(mu, alpha)) == pytest.approx(power, rel=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 3.0])
def test_the_gaussian_advantage_is_half_the_distance_of_the_densities(mu):
    gap = integrate.quad(lambda x: abs(stats.norm.pdf(x - mu) - stats.norm.pdf(x)), -30, 30)[0]
    assert advantage_gaussian(mu) == pytest.approx(gap / 2, abs=1e-7)


def test_the_gaussian_belief_is_exceeded_as_rarely_as_it_says():
    rng = np.random.default_rng(4)
    mu, draws = 0.8, 400_000
    x = rng.normal(mu, 1, draws)
    ratio = np.exp(mu * x - mu * mu / 2)
    posterior = 0.3 * ratio / (0.3 * ratio + 0.7)
    share = np.mean(posterior <= belief_gaussian(mu, prior=0.3, confidence=0.95))
    # Six standard deviations of a binomial share: the seed is fixed anyway.
    assert share == pytest.approx(0.95, abs=6 * math.sqrt(0.95 * 0.05 / draws))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_the_gaussian_mechanism_never_gives_away_more_than_its_guarantee(epsilon, delta):
    mu = mu_of(epsilon, delta)
    assert float(delta_of(mu, epsilon)) <= delta
    alphas = np.linspace(0, 1, 501)
    assert np.all(best_rate_gaussian(mu, alphas) <= best_rate(epsilon, delta, alphas) + 1e-12)
    assert advantage_gaussian(mu) <= advantage(epsilon, delta)


def test_rates_grow_with_epsilon_and_with_false_alarms():
    found = [describe_attacker(epsilon, 1e-6) for epsilon in (0.1, 0.5, 1, 2, 4, 8)]
    for weaker, stronger in itertools.pairwise(found):
        assert weaker.belief < stronger.belief
        assert weaker.gaussian_advantage < stronger.gaussian_advantage
        assert all(a < b for a, b in zip(weaker.found, stronger.found, strict=True))
        assert all(a < b for a, b in itertools.pairwise(stronger.gaussian_found))


def test_the_words_are_those_of_the_known_example():
    one = describe_attacker(1.0, 1e-6)
    assert "at most about 73 % sure" in one.words
    assert one.right_guesses(gaussian=False) == pytest.approx(0.731, abs=1e-3)
    assert one.right_guesses(gaussian=True) < 0.55
    assert one.to_dict()["words"] == one.words


def test_huge_epsilons_do_not_overflow():
    one = describe_attacker(5000.0, 1e-6)
    assert one.belief == one.advantage == 1.0
    assert all(np.isfinite(one.found))
    assert float(best_rate(5000.0, 1e-6, 0.0)) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("part", "text"),
    [(0.731, "73 %"), (0.99966, "99.97 %"), (0.00004, "0.004 %"), (0.0, "0 %"), (1.0, "100 %")],
)
def test_percent_never_rounds_to_all_or_nothing(part, text):
    assert percent(part) == text


@pytest.mark.parametrize(
    "call",
    [
        lambda: describe_attacker(-1.0, 1e-6),
        lambda: describe_attacker(math.nan, 1e-6),
        lambda: describe_attacker(math.inf, 1e-6),
        lambda: describe_attacker(1.0, 1.0),
        lambda: best_rate(1.0, 0.0, [0.5, 1.5]),
        lambda: best_rate(1.0, 0.0, math.nan),
        lambda: best_rate_gaussian(-1.0, 0.1),
        lambda: advantage_gaussian(math.nan),
        lambda: belief(1.0, prior=0.0),
        lambda: belief_gaussian(1.0, confidence=1.0),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(SettingError):
        call()


@pytest.mark.parametrize(
    ("epsilon", "delta", "times"), [(1.0, 1e-6, 20), (0.1, 1e-6, 149), (0.1, 1e-3, 43)]
)
def test_a_belief_above_the_bound_is_rarer_than_told_but_not_as_rare_as_delta(
    epsilon, delta, times
):
    """P(log LR > epsilon) of a Gaussian mechanism, if the person is in, by its own distribution."""
    one = describe_attacker(epsilon, delta)
    exact = stats.norm.sf(epsilon, loc=one.mu**2 / 2, scale=one.mu)
    assert one.rare == pytest.approx(exact, rel=1e-6)
    assert one.rare == pytest.approx(times * delta, rel=0.05)
