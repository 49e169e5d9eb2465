"""Tails of statistics and one p-value of several, against distributions and draws."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from voile.models.significance import combine, exceed, same


@pytest.mark.parametrize("freedom", [1, 2, 7, 40])
@pytest.mark.parametrize("tail", [0.9, 0.5, 0.05, 1e-4, 1e-9])
def test_equal_weights_are_a_chi_square(freedom, tail):
    size = chi2.isf(tail, freedom)
    assert exceed(3 * size, 3 * np.ones(freedom)) == pytest.approx(tail, rel=1e-6)
    # Nearly equal ones go through the formula, whose relative error is small in the tail, too.
    near = 3 * np.linspace(0.99, 1.01, freedom) if freedom > 1 else 3 * np.ones(1)
    assert exceed(3 * size, near) == pytest.approx(tail, rel=0.12, abs=0.01 * (tail > 0.3))


def test_unequal_weights_against_draws():
    # 400,000 draws with a fixed seed: deterministic.
    weights = np.array([5.0, 2.0, 1.0, 0.3, 0.01])
    draws = (np.random.default_rng(0).normal(size=(400_000, 5)) ** 2) @ weights
    for tail in (0.3, 0.05, 0.01, 0.001):
        size = float(np.quantile(draws, 1 - tail))
        assert exceed(size, weights) == pytest.approx(tail, rel=0.08)


def test_the_tail_falls_and_stays_a_probability():
    weights = np.array([4.0, 1.0, 0.5])
    tails = [exceed(size, weights) for size in np.linspace(-1, 200, 2000)]
    assert tails[0] == 1.0
    assert (np.diff(tails) <= 1e-3).all()
    assert all(0 <= tail <= 1 for tail in tails)
    assert exceed(1.0, np.zeros(3)) == 1.0


@pytest.mark.parametrize("weights", [[0.054, 0.868], [5.0, 2.0, 1e-9], list(range(1, 40))])
def test_sizes_of_rows_without_noise_have_a_tail(weights):
    """Where rows all agree, or say nothing at all, sizes are far beyond or far below the mean."""
    weights = np.array(weights)
    for size in (5e-324, 5.7e-34, 1e-12):
        assert exceed(size, weights) == pytest.approx(1.0, abs=1e-3)
    for size in (1e6, 1e14, 1e30, 1e300):
        assert exceed(size * weights.max(), weights) < 1e-100


def test_same_is_the_test_of_two_means():
    values, variances = np.array([1.0, 1.5]), np.array([0.01, 0.03])
    expected = 2 * norm.sf(0.5 / 0.2)
    assert same(values, variances) == pytest.approx(expected)
    assert same(values + 7, variances) == pytest.approx(expected)
    assert same(np.ones(4), np.ones(4)) == pytest.approx(1.0)


def test_same_has_the_level_it_says():
    # 4,000 draws with a fixed seed, four means of unequal variance: deterministic.
    variances = np.array([1.0, 0.2, 3.0, 0.5])
    draws = np.random.default_rng(1).normal(size=(4000, 4)) * np.sqrt(variances)
    found = np.array([same(one, variances) for one in draws])
    assert (found <= 0.05).mean() == pytest.approx(0.05, abs=0.01)
    assert (found <= 0.01).mean() == pytest.approx(0.01, abs=0.005)


def test_a_combination_is_near_bonferroni_and_never_of_one_alone():
    assert combine([0.2]) == pytest.approx(0.2)
    assert combine([1e-6, 0.9, 0.9, 0.9]) == pytest.approx(4e-6, rel=0.01)
    assert combine([1.0, 1.0]) > 0.9
