"""Laws of releases in closed form, against sums and integrals that nothing is shared with."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from voile.audit.replaying.laws import (
    apart,
    choice_law,
    gaussian_delta,
    gaussian_epsilon,
    least_epsilon,
    stretched_delta,
)
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    PoissonGaussian,
    Pure,
    Threshold,
    Unprotected,
)
from voile.privacy.gaussian_dp import delta_of, epsilon_of
from voile.privacy.tape import Choice


def brute_permute_and_flip(exponents):
    """All orders, all coins."""
    accepted = [math.exp(-x) for x in exponents]
    result = np.zeros(len(exponents))
    orders = list(itertools.permutations(range(len(exponents))))
    for order in orders:
        left = 1.0
        for one in order:
            result[one] += left * accepted[one] / len(orders)
            left *= 1 - accepted[one]
    return result


@pytest.mark.parametrize("exponents", [(0.0,), (0.0, 1.3), (0.4, 0.0, 0.0, 2.0), (9.0, 0.0, 0.1)])
def test_permute_and_flip_has_the_law_of_its_coins(exponents):
    law = np.exp(choice_law(Choice(0, exponents, each_once=True)))
    assert law == pytest.approx(brute_permute_and_flip(exponents), rel=1e-12)
    assert law.sum() == pytest.approx(1.0)


def test_the_exponential_mechanism_has_the_law_of_its_coins():
    law = np.exp(choice_law(Choice(0, (0.0, 1.0, 800.0), each_once=False)))
    assert law[:2] == pytest.approx(np.exp([0, -1]) / np.exp([0, -1]).sum())
    assert math.isfinite(choice_law(Choice(0, (0.0, 2000.0), each_once=True))[1])


@pytest.mark.parametrize("mu", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 4.0])
def test_two_gaussians_of_one_scale(mu, epsilon):
    exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert gaussian_delta(mu, epsilon) == pytest.approx(max(exact, 0.0), abs=1e-14)
    assert gaussian_delta(mu, epsilon) == pytest.approx(float(delta_of(mu, epsilon)), abs=1e-14)


def test_epsilon_is_the_root_of_delta():
    assert gaussian_epsilon(0.7, 1e-6) == pytest.approx(epsilon_of(0.7, 1e-6), rel=1e-9)
    assert gaussian_epsilon(0.0, 1e-6) == 0.0
    assert gaussian_epsilon(1e3, 1e-6) == math.inf


@pytest.mark.parametrize("gap", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 1.2), (1.3, 1.0), (1.0, 3.0)])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_two_gaussians_of_two_scales(gap, scales, epsilon):
    """Against a sum over a fine grid in two dimensions."""
    places = np.linspace(-18, 18, 901)
    grid = np.dstack(np.meshgrid(places, places))
    first = multivariate_normal([0, 0], scales[0] ** 2 * np.eye(2)).pdf(grid)
    second = multivariate_normal([gap, 0], scales[1] ** 2 * np.eye(2)).pdf(grid)
    cell = (places[1] - places[0]) ** 2
    exact = np.maximum(first - math.exp(epsilon) * second, 0).sum() * cell
    assert stretched_delta(gap, *scales, 2, epsilon) == pytest.approx(exact, abs=2e-4)


def test_distances_are_those_of_the_noise_and_do_not_overflow():
    first, second = np.array([3, 0, 2**63 - 1]), np.array([0, 4, 2**63 - 1])
    assert apart(first, second, "gaussian") == 5.0
    assert apart(first, second, "laplace") == 7.0
    wrapped = np.array([2**63 - 1]) + np.array([1])
    assert apart(wrapped, np.array([2**63 - 1]), "gaussian") == 1.0


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize(
    "events",
    [
        [Gaussian(3, 2.0)],
        [Gaussian(1, 4.0), Threshold(1, 5.0, 1e-8)],
        [Laplace(4, 5.0)],
        [Pure(5, 0.03)],
        [Pure(1, 0.02), Gaussian(1, 3.0)],
        [PoissonGaussian(4, 1.2, 0.1)],
        [PoissonGaussian(5, 1.2, 0.1), Laplace(1, 3.0), Gaussian(2, 6.0)],
        [Approximate(1, 0.5, 1e-8), Gaussian(1, 3.0)],
    ],
)
def test_the_other_accountant_is_just_below_ours(events, relation):
    ours = compose(events, relation).epsilon(1e-5)
    least = least_epsilon(events, relation, 1e-5)
    assert 0.97 * ours - 0.003 <= least <= ours * (1 + 1e-9) + 1e-9


def test_the_other_accountant_knows_what_has_no_end():
    assert least_epsilon([Unprotected()], NeighbouringRelation.ADD_REMOVE, 1e-6) == math.inf
    assert (
        least_epsilon([Threshold(1, 1.0, 1e-3)], NeighbouringRelation.ADD_REMOVE, 1e-6) == math.inf
    )
    assert (
        least_epsilon([Laplace(2, 4.0), Pure(1, 0.5)], NeighbouringRelation.ADD_REMOVE, 0.0) == 1.0
    )
    assert least_epsilon([Gaussian(1, 4.0)], NeighbouringRelation.ADD_REMOVE, 0.0) == math.inf
    assert least_epsilon([], NeighbouringRelation.ADD_REMOVE, 1e-6) == 0.0
