"""Mixtures of cells: no column is longer than 1, and sums up to a cut carry little noise."""

import numpy as np
import pytest

from voile.errors import SettingError
from voile.models.evaluation.strategy import MIXING_BITS, Strategy, best_strategy

UNIT = 2**MIXING_BITS


@pytest.mark.parametrize(
    ("cells", "chosen"), [(1, 0), (2, 1), (3, 3), (17, 0), (40, 20), (136, 68)]
)
def test_no_column_is_longer_than_one(cells, chosen):
    mixing = best_strategy(cells, chosen).mixing
    assert mixing.shape == (cells, cells)
    assert mixing.min() >= 0
    assert max(int(one) for one in (mixing.astype(object) ** 2).sum(axis=0)) <= UNIT**2


@pytest.mark.parametrize(
    "mixing",
    [
        np.eye(2) * UNIT,
        np.array([[UNIT, 0], [1, UNIT]]),
        np.array([[-1, 0], [0, 1]]),
        np.array([[2**40, 0], [0, 1]]),
    ],
)
def test_matrices_that_would_let_a_row_add_more_are_refused(mixing):
    with pytest.raises(SettingError):
        Strategy(mixing)


@pytest.mark.parametrize(("cells", "least"), [(40, 1.8), (136, 2.5)])
def test_sums_up_to_a_cut_have_less_noise_than_counts_one_by_one(cells, least):
    strategy = best_strategy(cells, cells // 2)
    below = np.tril(np.ones((cells, cells)))[:-1]
    mixed = np.sqrt(((below @ strategy.covariance) * below).sum(axis=1))
    alone = np.sqrt(np.arange(1.0, cells))
    assert alone.mean() / mixed.mean() > least
    # Most wanted of all: the cut by which classes are predicted.
    assert mixed[cells // 2 - 1] < 0.85 * np.median(mixed)


def test_without_noise_the_counts_come_back():
    counts = np.random.default_rng(0).integers(0, 50, 30).astype(float)
    strategy = best_strategy(30, 10)
    np.testing.assert_allclose(strategy.counts(strategy.matrix @ counts), counts, atol=1e-6)


def test_no_count_is_below_zero_whatever_the_noise():
    strategy, rng = best_strategy(20, 10), np.random.default_rng(1)
    for _ in range(20):
        counts = strategy.counts(strategy.matrix @ np.ones(20) + 50 * rng.standard_normal(20))
        assert counts.min() >= 0


def test_the_covariance_is_that_of_least_squares():
    strategy, rng = best_strategy(12, 6), np.random.default_rng(2)
    counts = np.full(12, 1e6)  # far from 0: nothing is restricted
    errors = [
        strategy.counts(strategy.matrix @ counts + rng.standard_normal(12)) - counts
        for _ in range(4000)
    ]
    found = np.cov(np.array(errors).T)
    np.testing.assert_allclose(np.diag(found), np.diag(strategy.covariance), rtol=0.15)
