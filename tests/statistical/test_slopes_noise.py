"""Gradients, their lengths and choices among them carry the noise that was announced.

Fixed noise: a correct library passes for good, and planted mistakes are shown to be noticed. With
fresh noise each check would fail by chance in less than one of a million runs.
"""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from test_slopes import case, grant_for, in_ball, table_of

from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.descent import DescentAnswerer, costs_of
from voile.explain.blackbox.solvers.products import LocalProducts
from voile.explain.blackbox.solvers.weights import read_weight
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Pure, Unprotected
from voile.privacy.mechanisms import PrivateSlopes

SURPRISE = 1e-6
DRAWS = 1_500
TRIALS = 1_500


def draws_of(access, relation=NeighbouringRelation.ADD_REMOVE, multiplier=2.0, seed=0):
    """Many noised looks at one gradient, without noise, and the stated deviation."""
    table, query, phi, *_ = case()
    slopes = PrivateSlopes(table, query)
    exact = access(slopes, phi, grant_for(table, Unprotected(1)).take("look")).values
    grant = grant_for(table, Gaussian(DRAWS, multiplier), relation)
    with noise.fixed_noise(seed):
        found = [access(slopes, phi, grant.take("look")) for _ in range(DRAWS)]
    assert len({one.standard_error for one in found}) == 1
    return query, exact, np.stack([one.values for one in found]), found[0].standard_error


LOOKS = {"gradient": PrivateSlopes.gradient, "steepness": PrivateSlopes.steepness}


def check_noise(access, relation, multiplier=2.0):
    query, exact, values, deviation = draws_of(access, relation, multiplier)
    sides = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else 2.0
    assert deviation == pytest.approx(multiplier * query.steepness * sides, rel=1e-3)
    errors = (values - exact) / deviation
    assert stats.kstest(errors.ravel(), "norm").pvalue > SURPRISE
    # Five standard errors of a mean and of a standard deviation, in every coordinate.
    assert np.abs(errors.mean(axis=0)).max() < 5 / math.sqrt(DRAWS)
    assert np.abs(errors.std(axis=0) - 1).max() < 5 / math.sqrt(2 * DRAWS)
    if errors.shape[1] > 1:
        correlation = np.corrcoef(errors.T) - np.eye(errors.shape[1])
        assert np.abs(correlation).max() < 5 / math.sqrt(DRAWS)


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("access", LOOKS.values(), ids=LOOKS)
def test_the_noise_is_gaussian_with_the_stated_error(access, relation):
    check_noise(access, relation)


@pytest.mark.parametrize("multiplier", [1e-3, 1e5])
def test_little_and_much_noise_are_as_stated_too(multiplier):
    check_noise(PrivateSlopes.gradient, NeighbouringRelation.ADD_REMOVE, multiplier)


def test_a_tenth_less_noise_would_be_noticed(monkeypatch):
    original = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: original(size, scale * 0.9))
    with pytest.raises(AssertionError):
        check_noise(PrivateSlopes.gradient, NeighbouringRelation.ADD_REMOVE)


def test_each_look_has_noise_of_its_own():
    _, _, values, _ = draws_of(PrivateSlopes.gradient)
    assert len({row.tobytes() for row in values}) == DRAWS
    lagged = np.corrcoef(values[:-1, 0], values[1:, 0])[0, 1]
    assert abs(lagged) < 5 / math.sqrt(DRAWS)


def test_low_bits_do_not_tell_neighbours_apart():
    bits = []
    for seed, rows in enumerate((40, 41)):
        generator = np.random.default_rng(9)
        points = in_ball(generator, 41, 3)[:rows]
        answers = np.full((rows, 1), ONE // 3, dtype=np.int32)
        query = LocalProducts(np.zeros((1, 3), dtype=np.int32), read_weight("stable"), 1, False)
        table = table_of(points, answers)
        slopes, grant = PrivateSlopes(table, query), grant_for(table, Gaussian(DRAWS, 1.0))
        with noise.fixed_noise(seed):
            phi = np.full((3, 1), 0.3)
            found = [slopes.gradient(phi, grant.take("look")) for _ in range(DRAWS)]
        units = np.concatenate([one.values / one.grid for one in found]).astype(np.int64)
        bits.append(np.bincount(units % 32, minlength=32))
        assert stats.chisquare(bits[-1]).pvalue > SURPRISE
    assert stats.chi2_contingency(np.array(bits)).pvalue > SURPRISE


# -- choices ---------------------------------------------------------------------------------------


def permute_and_flip_law(scores, epsilon, sensitivity):
    accept = [math.exp(epsilon * (s - max(scores)) / (2 * sensitivity)) for s in scores]
    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for i in order:
            law[i] += reached * accept[i] / len(orders)
            reached *= 1 - accept[i]
    return law


def chosen(epsilon, relation, seed):
    """How often each of four candidates was chosen, and their lengths without noise."""
    table, query, phi, *_ = case(rows=20)
    slopes = PrivateSlopes(table, query)
    candidates = [phi, 0.6 * phi, -0.5 * phi, 0 * phi]
    exact = grant_for(table, Unprotected(4))
    lengths = [slopes.steepness(one, exact.take("look")).values[0] for one in candidates]
    grant = grant_for(table, Pure(TRIALS, epsilon), relation)
    with noise.fixed_noise(seed):
        found = [slopes.flattest(candidates, grant.take("look")) for _ in range(TRIALS)]
    return query, np.bincount(found, minlength=4), -np.array(lengths)


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("epsilon", [3.0, 9.0])
def test_a_start_is_chosen_by_permute_and_flip(epsilon, relation):
    query, seen, scores = chosen(epsilon, relation, 1)
    sides = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else 2.0
    law = permute_and_flip_law(scores, epsilon, sides * query.steepness)
    assert stats.chisquare(seen, law * TRIALS).pvalue > SURPRISE
    # Twice the epsilon, or half the sensitivity, would be noticed.
    law = permute_and_flip_law(scores, 2 * epsilon, sides * query.steepness)
    assert stats.chisquare(seen, law * TRIALS).pvalue < SURPRISE


def test_neighbours_choose_alike():
    """Exact probabilities on neighbouring tables: no candidate gains more than e^epsilon."""
    generator = np.random.default_rng(3)
    asked = np.zeros((1, 2), dtype=np.int32)
    query = LocalProducts(asked, read_weight("stable"), 1, False)
    candidates = [np.array([[math.cos(t)], [math.sin(t)]]) * 0.99 for t in np.linspace(0, 6, 5)]
    points = in_ball(generator, 12, 2)
    points[-1] = [ONE, 0]
    answers = np.where(generator.random((12, 1)) < 0.5, -ONE, ONE).astype(np.int32)
    for epsilon in (0.1, 1.0, 3.0):
        laws = []
        for rows in (11, 12):
            table = table_of(points[:rows], answers[:rows])
            slopes, grant = PrivateSlopes(table, query), grant_for(table, Unprotected(5))
            scores = [-slopes.steepness(c, grant.take("look")).values[0] for c in candidates]
            laws.append(permute_and_flip_law(scores, epsilon, query.steepness))
        assert np.abs(np.log(laws[0] / laws[1])).max() <= epsilon


# -- what the answers say of it --------------------------------------------------------------------


class NoPurse:
    """An allowance of which only the table is asked."""

    def __init__(self, table):
        self.table = table


@pytest.mark.parametrize(
    "relation",
    [
        NeighbouringRelation.ADD_REMOVE,
        pytest.param(NeighbouringRelation.REPLACE_ONE),
    ],
)
def test_the_stated_noise_of_a_step_is_that_of_its_release(relation):
    table, query, phi, *_ = case()
    settings = Settings("interactive", query.weight, 1.0, True, 10, 50, 1, False, 0)
    costs = costs_of(settings, 0.1)
    ledger = grant_for(table, Gaussian(1, costs.step), relation)
    allowance = NoPurse(table)
    allowance.ledger = ledger
    answerer = DescentAnswerer(allowance, settings, costs, 40.0, (3, 2))
    found = PrivateSlopes(table, query).gradient(phi, ledger.take("look"))
    assert answerer.noise == pytest.approx(found.standard_error / 40.0, rel=1e-6)
