"""Mechanisms release what their law says: noise as large as guaranteed, choices as likely.

Fixed noise: a correct mechanism passes for good, and planted mistakes are shown to be noticed.
"""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from voile import Budget, Category, Ledger, Number, Schema, protect
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.discovery import find_levels
from voile.privacy.events import (
    Gaussian,
    Laplace,
    Plan,
    PoissonGaussian,
    Pure,
    Threshold,
    Unprotected,
)
from voile.privacy.grant import Grant
from voile.privacy.ledger.entry import EntryKind, new_entry
from voile.privacy.ledger.filter import Amount
from voile.privacy.mechanisms import exponential, gaussian_sum, laplace_sum, permute_and_flip, top_k
from voile.privacy.queries import CategoryCounts, NumberCounts, Query, RowCount

CELLS = 20_000
SURPRISE = 1e-6

SCHEMA = Schema({"a": Number(0, 1), "b": Category(["x", "y", "z"])})
CUTS = tuple((np.arange(1, CELLS) / CELLS).tolist())


def grant_for(table, event, relation=NeighbouringRelation.ADD_REMOVE):
    """A grant nobody priced: thousands of accesses to one table are a test, not a job."""
    plan = Plan.of(look=event)
    kind, none = EntryKind.SPEND, Amount()
    entry = new_entry(None, what="test", kind=kind, plan=plan, price=none, total=none)
    return Grant(plan, entry, Ledger(Budget(math.inf), relation=relation), table)


def spread_table(rows=3 * CELLS):
    """Rows that fall evenly into CELLS cells, three each."""
    return protect({"a": (np.arange(rows) % CELLS + 0.5) / CELLS, "b": ["x"] * rows}, schema=SCHEMA)


def released(mechanism, event, relation=NeighbouringRelation.ADD_REMOVE, seed=1):
    table = spread_table()
    grant = grant_for(table, event, relation)
    with noise.fixed_noise(seed):
        return mechanism(table, NumberCounts("a", CUTS), grant.take("look"))


# -- size and shape of the noise -------------------------------------------------------------------


def check_gaussian(event, relation=NeighbouringRelation.ADD_REMOVE):
    release = released(gaussian_sum, event, relation)
    factor = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else math.sqrt(2)
    assert release.standard_error == pytest.approx(event.noise_multiplier * factor)
    errors = (release.values[:CELLS] - 3) / release.standard_error
    assert stats.kstest(errors, "norm").pvalue > SURPRISE
    # 20,000 draws: the standard deviation is known to half a percent, the mean to 0.007.
    assert abs(errors.std() - 1) < 0.03
    assert abs(errors.mean()) < 0.04


def check_laplace(event, relation=NeighbouringRelation.ADD_REMOVE):
    release = released(laplace_sum, event, relation)
    factor = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else 2.0
    scale = event.noise_multiplier * factor
    assert release.standard_error == pytest.approx(math.sqrt(2) * scale)
    errors = (release.values[:CELLS] - 3) / scale
    assert stats.kstest(errors, "laplace").pvalue > SURPRISE
    assert abs(errors.std() / math.sqrt(2) - 1) < 0.05


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("multiplier", [0.3, 4.7, 1e6])
def test_sums_have_the_guaranteed_noise(multiplier, relation):
    check_gaussian(Gaussian(1, multiplier), relation)
    check_laplace(Laplace(1, multiplier), relation)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_half_the_noise_would_be_noticed(kind, monkeypatch):
    original = getattr(noise, kind)
    monkeypatch.setattr(noise, kind, lambda size, scale: original(size, scale) // 2)
    with pytest.raises(AssertionError):
        check_gaussian(Gaussian(1, 4.7)) if kind == "gaussian" else check_laplace(Laplace(1, 4.7))


def test_shared_noise_would_be_noticed(monkeypatch):
    original = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda n, scale: np.repeat(original(1, scale), n))
    with pytest.raises(AssertionError):
        check_gaussian(Gaussian(1, 4.7))


def test_a_sampled_sum_has_noise_for_one_rows_bound_and_the_sampled_mean():
    table = protect({"a": np.full(50_000, 0.5), "b": ["x"] * 50_000}, schema=SCHEMA)
    for relation in NeighbouringRelation:
        grant = grant_for(table, PoissonGaussian(1, 20.0, 0.2), relation)
        with noise.fixed_noise(2):
            release = gaussian_sum(table, RowCount(), grant.take("look"))
        assert release.standard_error == 20.0
        spread = math.hypot(20.0, math.sqrt(50_000 * 0.2 * 0.8))
        assert 0 < abs(release.values[0] - 10_000) < 6 * spread


def test_no_noise_gives_the_exact_sum():
    table = spread_table()
    for mechanism in (gaussian_sum, laplace_sum):
        grant = grant_for(table, Unprotected(1))
        release = mechanism(table, NumberCounts("a", CUTS), grant.take("look"))
        assert release.values.tolist() == [3.0] * CELLS + [0.0]
        assert release.standard_error == release.variance == 0.0


# -- the grid hides the low bits -------------------------------------------------------------------


class Constant(Query):
    """Each row adds the same awkward number to many entries."""

    columns = ()
    size = CELLS

    def __init__(self, value):
        self.value = value
        self.bound = 2 * abs(value) * math.sqrt(CELLS)

    def contributions(self, block):
        return np.full((block.rows, CELLS), self.value)


def low_bits(release, bits=6):
    units = release.values / release.grid
    assert (units == np.round(units)).all()
    assert np.abs(units).max() < 2**53
    return np.bincount(units.astype(np.int64) % 2**bits, minlength=2**bits)


@pytest.mark.parametrize("mechanism", [gaussian_sum, laplace_sum], ids=lambda m: m.__name__)
@pytest.mark.parametrize("value", [0.1, math.pi * 1e-7, 1 / 3])
def test_low_bits_do_not_tell_neighbours_apart(mechanism, value):
    event = Gaussian(1, 1.0) if mechanism is gaussian_sum else Laplace(1, 1.0)
    bits = []
    for rows, seed in ((10, 3), (11, 4)):
        table = protect({"a": [0.5] * rows, "b": ["x"] * rows}, schema=SCHEMA)
        ticket = grant_for(table, event).take("look")
        with noise.fixed_noise(seed):
            bits.append(low_bits(mechanism(table, Constant(value), ticket)))
    for counts in bits:
        assert stats.chisquare(counts).pvalue > SURPRISE
    assert stats.chi2_contingency(np.array(bits)).pvalue > SURPRISE


def test_low_bits_of_floating_point_noise_would_be_noticed():
    """The same check on noise added in floating point finds that the inputs differ."""
    generator = np.random.default_rng(0)
    bits = []
    for rows in (10, 11):
        values = rows * 2.0**-3 + np.round(generator.normal(size=CELLS) * 2**4) / 2**2
        bits.append(np.bincount((values * 2**3).astype(np.int64) % 2, minlength=2) + 1)
    assert stats.chi2_contingency(np.array(bits)).pvalue < SURPRISE


@pytest.mark.parametrize("multiplier", [1e-3, 0.77, 33.3, 1e7])
def test_released_values_are_multiples_of_the_grid(multiplier):
    for mechanism, event in (
        (gaussian_sum, Gaussian(1, multiplier)),
        (laplace_sum, Laplace(1, multiplier)),
    ):
        release = released(mechanism, event)
        mantissa, _ = math.frexp(release.grid)
        assert mantissa == 0.5
        units = release.values / release.grid
        assert (units == np.round(units)).all()
        assert release.grid <= release.standard_error * 2.0**-29


# -- private selection -----------------------------------------------------------------------------

COUNTS = [3, 5, 6]
TRIALS = 6_000


def counted_table(counts=COUNTS):
    values = [level for level, n in zip("xyz", counts, strict=True) for _ in range(n)]
    return protect({"a": [0.5] * len(values), "b": values}, schema=SCHEMA)


class Scores(CategoryCounts):
    """Counts of the three listed levels alone."""

    @property
    def size(self):
        return self.listed

    def cells(self, block):
        return [np.minimum(block["b"].astype(np.int64), 2)]


def exponential_law(counts, epsilon, sensitivity=1.0):
    weights = np.exp(epsilon * np.array(counts) / (2 * sensitivity))
    return weights / weights.sum()


def permute_and_flip_law(counts, epsilon, sensitivity=1.0):
    accept = [math.exp(epsilon * (c - max(counts)) / (2 * sensitivity)) for c in counts]
    law = np.zeros(len(counts))
    orders = list(permutations(range(len(counts))))
    for order in orders:
        reached = 1.0
        for i in order:
            law[i] += reached * accept[i] / len(orders)
            reached *= 1 - accept[i]
    return law


def choices(mechanism, epsilon, seed, relation=NeighbouringRelation.ADD_REMOVE):
    table = counted_table()
    grant = grant_for(table, Pure(TRIALS, epsilon), relation)
    with noise.fixed_noise(seed):
        chosen = [mechanism(table, Scores("b", 3), grant.take("look")) for _ in range(TRIALS)]
    return np.bincount(chosen, minlength=3)


@pytest.mark.parametrize("epsilon", [0.4, 1.5])
def test_selection_has_the_exact_probabilities(epsilon):
    seen = choices(permute_and_flip, epsilon, 1)
    law = permute_and_flip_law(COUNTS, epsilon)
    assert law.sum() == pytest.approx(1.0)
    assert stats.chisquare(seen, law * TRIALS).pvalue > SURPRISE
    seen = choices(exponential, epsilon, 2)
    law = exponential_law(COUNTS, epsilon)
    assert stats.chisquare(seen, law * TRIALS).pvalue > SURPRISE


def test_the_other_law_or_twice_the_epsilon_would_be_noticed():
    seen = choices(permute_and_flip, 1.5, 1)
    assert stats.chisquare(seen, exponential_law(COUNTS, 1.5) * TRIALS).pvalue < SURPRISE
    assert stats.chisquare(seen, permute_and_flip_law(COUNTS, 3.0) * TRIALS).pvalue < SURPRISE


def test_both_laws_keep_epsilon_for_neighbours():
    for epsilon in (0.1, 1.0, 3.0):
        for law in (permute_and_flip_law, exponential_law):
            for i in range(3):
                more = [c + (j == i) for j, c in enumerate(COUNTS)]
                ratios = law(more, epsilon) / law(COUNTS, epsilon)
                assert np.abs(np.log(ratios)).max() <= epsilon


class Signed(Scores):
    """Scores that one row may lower as well as raise."""

    signed = True
    bound = 1.0

    def total(self, block, grid):
        return Query.total(self, block, grid)

    def sensitivity_max(self, relation):
        return Query.sensitivity_max(self, relation)


def test_replacing_a_row_halves_the_weight_of_signed_scores():
    table = counted_table()
    grant = grant_for(table, Pure(TRIALS, 1.5), NeighbouringRelation.REPLACE_ONE)
    with noise.fixed_noise(5):
        seen = [exponential(table, Signed("b", 3), grant.take("look")) for _ in range(TRIALS)]
    law = exponential_law(COUNTS, 1.5, sensitivity=2.0)
    assert stats.chisquare(np.bincount(seen, minlength=3), law * TRIALS).pvalue > SURPRISE


def test_the_best_k_are_distinct_and_a_strong_order_is_found():
    table = counted_table([10, 400, 200])
    grant = grant_for(table, Pure(1000, 0.5))
    with noise.fixed_noise(6):
        for k in (1, 2, 3):
            for _ in range(20):
                best = top_k(table, Scores("b", 3), grant, "look", k)
                assert best == [1, 2, 0][:k]
    table = counted_table([1, 1, 1])
    grant = grant_for(table, Pure(1000, 0.01))
    with noise.fixed_noise(7):
        seen = [tuple(top_k(table, Scores("b", 3), grant, "look", 3)) for _ in range(200)]
    assert all(sorted(order) == [0, 1, 2] for order in seen)
    assert len(set(seen)) == 6
    for k in (0, 4):
        with pytest.raises(ValueError, match="'k' must be"):
            top_k(table, Scores("b", 3), grant, "look", k)


def test_no_noise_chooses_the_best():
    table = counted_table()
    grant = grant_for(table, Unprotected(4))
    assert permute_and_flip(table, Scores("b", 3), grant.take("look")) == 2
    assert exponential(table, Scores("b", 3), grant.take("look")) == 2
    assert top_k(table, Scores("b", 3), grant, "look", 2) == [2, 1]


# -- levels that nobody listed ---------------------------------------------------------------------

LONERS = 20_000
DELTA = 0.01


def loners_found(relation, delta=DELTA):
    """How many of 20,000 values that one row each holds are released; the others are frequent."""
    values = [f"one {i}" for i in range(LONERS)] + ["many"] * 60
    table = protect({"b": values}, schema=Schema({"b": Category()}))
    grant = grant_for(table, Threshold(1, 3.0, delta), relation)
    with noise.fixed_noise(8):
        found = find_levels(table, "b", grant.take("look"))
    assert found.levels[0] == "many"
    assert list(found.counts) == sorted(found.counts, reverse=True)
    assert min(found.counts) > found.threshold
    return len(found.levels) - 1


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_a_value_of_one_row_is_released_with_probability_delta(relation):
    rng = DELTA if relation is NeighbouringRelation.ADD_REMOVE else DELTA / 2
    spread = math.sqrt(LONERS * rng)
    assert abs(loners_found(relation) - LONERS * rng) < 6 * spread


def test_half_the_noise_under_a_threshold_would_be_noticed(monkeypatch):
    """Noise and threshold half as large would do the same as this: noise alone twice as large."""
    original = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda n, scale: original(n, scale) * 2)
    with pytest.raises(AssertionError):
        test_a_value_of_one_row_is_released_with_probability_delta(NeighbouringRelation.ADD_REMOVE)


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12, 1e-300])
def test_the_threshold_covers_the_rounding_of_the_noise(relation, delta):
    table = protect({"b": ["x"]}, schema=Schema({"b": Category()}))
    grant = grant_for(table, Threshold(1, 3.0, delta), relation)
    found = find_levels(table, "b", grant.take("look"))
    changed = 1 if relation is NeighbouringRelation.ADD_REMOVE else 2
    scale = 3.0 * math.sqrt(changed)
    grid = noise.grid_for(scale)
    # The least multiple of the grid above the threshold, and the least normal that rounds to it.
    least = math.floor(Fraction(found.threshold) / Fraction(grid)) + 1
    normal = float((least - Fraction(1, 2)) * Fraction(grid) - 1) / scale
    assert stats.norm.sf(normal) <= delta / changed
    assert stats.norm.sf(normal) > 0.99 * delta / changed


def test_without_noise_every_level_is_found():
    table = protect({"b": ["x", "y", "y", None, 1, "1"]}, schema=Schema({"b": Category()}))
    found = find_levels(table, "b", grant_for(table, Unprotected(1)).take("look"))
    assert set(found.levels) == {"x", "y", 1, "1"}
    assert found.levels[0] == "y"
