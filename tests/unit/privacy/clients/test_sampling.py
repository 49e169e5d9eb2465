"""Choosing clients does not hide their rows: the accountant says so, and an attack shows it."""

import math

import numpy as np
import pytest

from voile.audit.bounds import epsilon_by_rates
from voile.errors import SettingError
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.sampling import SampledClients
from voile.privacy.events import PoissonGaussian

DELTA = 1e-5
ROUNDS, RATE, SIGMA = 40, 0.05, 1.101
"""A row is in a round's sum with the probability .05 in all, for 40 rounds."""


@pytest.mark.parametrize(("client_rate", "truth"), [(0.5, 3.0), (0.1, 7.0)])
def test_the_naive_claim_is_far_too_small(client_rate, truth):
    one = SampledClients(SIGMA, ROUNDS, client_rate, RATE / client_rate)
    assert one.naive_epsilon(DELTA) == pytest.approx(2.0, abs=0.02)
    assert one.epsilon(DELTA) == pytest.approx(truth, abs=0.1)


def test_every_client_in_every_round_has_full_amplification():
    one = SampledClients(SIGMA, ROUNDS, 1.0, RATE)
    assert one.epsilon(DELTA) == pytest.approx(one.naive_epsilon(DELTA), rel=2e-3)


def test_a_single_round_is_a_mixture_of_two():
    """With one round the truth has a closed form: delta(eps) = p delta_1(eps)."""
    one = SampledClients(0.8, 1, 0.25, 0.5)
    found = one.epsilon(DELTA)
    exact = compose([PoissonGaussian(1, 0.8, 0.5)])
    assert 0.25 * exact.delta(found) == pytest.approx(DELTA, rel=0.01)
    assert 0.25 * exact.delta(found) <= DELTA


@pytest.mark.slow
def test_truth_lies_between_the_claim_and_no_amplification_by_clients():
    for client_rate in (0.05, 0.3, 0.9):
        one = SampledClients(1.5, 30, client_rate, 0.2)
        all_rounds = compose([PoissonGaussian(30, 1.5, 0.2)]).epsilon(DELTA)
        assert one.naive_epsilon(DELTA) < one.epsilon(DELTA) <= all_rounds * (1 + 1e-3)


def test_a_row_that_is_replaced_costs_more():
    one = SampledClients(1.5, 10, 0.3, 0.2)
    assert one.epsilon(DELTA, NeighbouringRelation.REPLACE_ONE) > one.epsilon(DELTA)


def test_a_large_delta_needs_no_epsilon():
    assert SampledClients(5.0, 2, 0.1, 0.1).epsilon(0.9) == 0.0


@pytest.mark.parametrize(
    "settings",
    [(0.0, 10, 0.5, 0.5), (1.0, 0, 0.5, 0.5), (1.0, 10, 1.5, 0.5), (1.0, 10, 0.5, 0.0),
     (math.nan, 10, 0.5, 0.5), (1.0, 10.5, 0.5, 0.5), (1.0, 10**6, 0.5, 0.5)],
)  # fmt: skip
def test_impossible_settings_are_refused(settings):
    with pytest.raises(SettingError):
        SampledClients(*settings)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_impossible_deltas_are_refused(delta):
    one = SampledClients(1.0, 10, 0.5, 0.5)
    with pytest.raises(SettingError):
        one.epsilon(delta)
    with pytest.raises(SettingError):
        one.naive_epsilon(delta)


# -- an attack -----------------------------------------------------------------------------------

OTHER_ROWS = 60
"""Rows of the client beside the one that is looked for, each at the bound in another direction."""


def simulate(runs, *, with_row, sigma, rounds, client_rate, row_rate, rng):
    """What is released: per run and round a sum over two clients' sampled rows with noise.

    The first client's rows point along the first axis, but for one that points along the second.
    The second client's rows are spread over both.
    """
    shape = (runs, rounds)
    here = rng.random(shape) < client_rate
    others = here * rng.binomial(OTHER_ROWS, row_rate, shape)
    row = here * (rng.random(shape) < row_rate) * with_row
    elsewhere = (rng.random(shape) < client_rate) * rng.binomial(20, row_rate, shape) * 0.6
    noise = sigma * rng.normal(size=(*shape, 2))
    # The second client's rows are known to the enemy, and so is their part of the second axis here.
    return others + elsewhere + noise[..., 0], row + noise[..., 1]


def likelihood_ratio(first, second, *, sigma, row_rate):
    """Log likelihood ratio of "the row is there", participation guessed from the first axis."""
    takes_part = first > OTHER_ROWS * row_rate / 2
    loss = np.log1p(row_rate * np.expm1((2.0 * second - 1.0) / (2.0 * sigma**2)))
    return (loss * takes_part).sum(axis=1)


def test_an_attack_breaks_the_naive_claim_and_not_the_truth():
    """Wrong alarms of the bound itself: 1 in 1000 (it holds with 99.9 % confidence)."""
    sigma, rounds, client_rate, row_rate, delta = 1.0, 10, 0.1, 0.9, 1e-3
    claim = SampledClients(sigma, rounds, client_rate, row_rate)
    naive, truth = claim.naive_epsilon(delta), claim.epsilon(delta)
    known = {"sigma": sigma, "rounds": rounds, "client_rate": client_rate, "row_rate": row_rate}

    def losses(with_row, runs, seed):
        rng = np.random.default_rng(seed)
        seen = simulate(runs, with_row=with_row, rng=rng, **known)
        return likelihood_ratio(*seen, sigma=sigma, row_rate=row_rate)

    # The alarm is fixed on runs of its own.
    tried = losses(True, 20_000, 1), losses(False, 20_000, 2)
    runs = 100_000
    alarm = max(
        np.linspace(0.5, 8.0, 31),
        key=lambda t: epsilon_by_rates(
            int((tried[1] > t).sum()), int((tried[0] > t).sum()), 20_000, delta=delta
        ),
    )
    right, wrong = (losses(True, runs, 3) > alarm).sum(), (losses(False, runs, 4) > alarm).sum()
    found = epsilon_by_rates(int(wrong), int(right), runs, delta=delta, confidence=0.999)
    print(naive, found, truth)
    assert found > 1.2 * naive
    assert found <= truth
