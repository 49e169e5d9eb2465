"""Noise in sums over clients has the law that was paid for, whoever adds it and whoever is missing.

Draws are fixed by a seed except where a test says otherwise, so nothing here fails by chance.
"""

import math

import numpy as np
import pytest
from scipy import stats

from voile import Budget, Category, Ledger, Number, Schema
from voile.federated.federation import Federation
from voile.privacy.clients.channel import Silence
from voile.privacy.clients.questions import SumAnswer
from voile.privacy.events import Gaussian, Plan, PoissonGaussian
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import RowCount
from voile.privacy.wire import Unpacker

SCHEMA = Schema({"x": Number(-1, 1)}, target=Category([0, 1]))
DRAWS = 40_000
SIGMA = 3.0
# The variance of so many draws is known to 0.7 %; 4 % off is noise of another law.
WITHIN = 0.04
WIDE = RowCount(size=DRAWS + 1)
"""The number of rows, and beside it as many cells into which no row falls: noise alone."""


def parts(counts):
    r = np.random.default_rng(0)
    return [(r.uniform(-1, 1, (n, 1)), r.integers(0, 2, n)) for n in counts]


class Listening:
    """A channel that hears all answers; clients in ``gone`` answer no access."""

    def __init__(self, inner, gone=()):
        self.inner, self.gone, self.heard = inner, gone, []

    @property
    def clients(self):
        return self.inner.clients

    def ask(self, messages):
        replies = self.inner.ask(messages)
        for name, reply in list(replies.items()):
            said = Unpacker().unpack(reply)
            if isinstance(said, SumAnswer):
                if name in self.gone:
                    replies[name] = Silence("gone")
                else:
                    self.heard.append((name, said.values))
        return replies


def access(counts, event=None, gone=(), query=WIDE, accesses=1, **terms):
    """Releases of one query, with the federation that made them."""
    federation = Federation.local(parts(counts), SCHEMA, **terms)
    federation._channel = Listening(federation._channel, gone)
    ledger = Ledger(Budget(math.inf, 1e-6))
    table = federation.join(ledger).table
    event = Gaussian(accesses, SIGMA) if event is None else event
    grant = ledger.pay(Plan.of(look=event), table, "test")
    found = [gaussian_sum(table, query, grant.take("look")) for _ in range(accesses)]
    return found, federation


CASES = {
    # trust, terms, clients that answer no access, standard deviation in units of what was paid
    "aggregator": ({"trust": "aggregator"}, (), 1.0),
    "aggregator, one missing": ({"trust": "aggregator", "dropouts": 1}, ("client 4",), 1.0),
    "shares": ({"trust": "shares"}, (), 1.0),
    "shares, colluders": ({"trust": "shares", "colluders": 2}, (), math.sqrt(5 / 3)),
    # Where a sum may be made twice, the first one has three quarters of the precision.
    "shares, all there": (
        {"trust": "shares", "dropouts": 1, "colluders": 1},
        (),
        math.sqrt(5 / 3 / 0.75),
    ),
    "shares, one missing": (
        {"trust": "shares", "dropouts": 1, "colluders": 1},
        ("client 2",),
        math.sqrt(4 / 3 / 0.25),
    ),
    "shares, two of three missing": (
        {"trust": "shares", "dropouts": 3},
        ("client 2", "client 4"),
        math.sqrt(3 / 2 / (0.25 / 3)),
    ),
    "nobody": ({"trust": "nobody"}, (), math.sqrt(5)),
    "nobody, two missing": ({"trust": "nobody", "dropouts": 2}, ("client 0", "client 3"), 3**0.5),
}


@pytest.mark.parametrize("case", CASES)
def test_released_noise_has_the_guaranteed_law(case):
    terms, gone, growth = CASES[case]
    with fixed_noise(1):
        (release,), _ = access((10, 0, 3, 1, 7), gone=gone, **terms)
    assert release.standard_error == pytest.approx(SIGMA * growth, rel=1e-12)
    noise = release.values[1:] / (SIGMA * growth)
    assert np.var(noise) == pytest.approx(1.0, rel=WITHIN)
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    rows = sum(n for k, n in enumerate((10, 0, 3, 1, 7)) if f"client {k}" not in gone)
    assert abs(release.values[0] - rows) < 6 * release.standard_error


@pytest.mark.parametrize("count", [2, 3, 17])
def test_a_sum_of_shares_is_normal(count):
    with fixed_noise(2):
        (release,), _ = access((1,) * count, trust="shares")
    assert release.standard_error == pytest.approx(SIGMA, rel=1e-12)
    assert stats.kstest(release.values[1:] / SIGMA, "norm").pvalue > 1e-3


def test_honest_shares_alone_are_the_noise_that_was_paid_for():
    """With the fewest clients in the sum, and colluders' shares known, the rest is enough."""
    with fixed_noise(3):
        _, federation = access(
            (4, 4, 4, 4, 4), trust="shares", dropouts=1, colluders=2, gone=("client 0",)
        )
    # What each agent sent before masks: colluders (clients 1 and 2) would tell the server.
    each = [sent(federation, attempt) for attempt in (0, 1)]
    assert [sorted(one) for one in each] == [
        [f"client {k}" for k in range(5)],
        [f"client {k}" for k in range(1, 5)],
    ]
    for attempt, part in enumerate((0.75, 0.25)):
        honest = each[attempt]["client 3"] + each[attempt]["client 4"]
        assert np.std(honest) == pytest.approx(SIGMA / math.sqrt(part), rel=WITHIN)
        for values in each[attempt].values():
            assert np.std(values) == pytest.approx(SIGMA / math.sqrt(2 * part), rel=WITHIN)
    # No two messages share noise, neither of two clients nor of two attempts of one.
    all_of = [values for one in each for values in one.values()]
    for k, one in enumerate(all_of):
        for other in all_of[k + 1 :]:
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.03


def sent(federation, attempt):
    """What clients sent at an attempt at their only look, before masks, without the count."""
    jobs = {
        name: next(iter(agent._open_jobs.values())) for name, agent in federation.agents.items()
    }
    return {
        name: values[1:] * _grid()
        for name, job in jobs.items()
        for (_, number), values in job._answers.items()
        if number == attempt
    }


def test_a_late_answer_tells_a_curious_server_no_more_than_was_paid():
    """It has the sum with the late client and the one without, and knows all other rows."""
    with fixed_noise(3):
        (release,), federation = access((4, 4, 4), trust="shares", dropouts=1, gone=("client 0",))
    first, second = (sum(sent(federation, attempt).values()) for attempt in (0, 1))
    # Of client 0: the first sum alone has its rows; the second, subtracted, brings more noise.
    assert np.std(first) >= SIGMA * 0.98
    assert np.std(first - second) >= SIGMA * 0.98
    # Of the others, whose rows are in both: the best mean of the two has the noise that was paid.
    weights = np.array([1 / np.var(first), 1 / np.var(second)])
    best = (weights[0] * first + weights[1] * second) / weights.sum()
    assert np.std(best) >= SIGMA * 0.98
    assert release.standard_error == pytest.approx(np.std(second), rel=WITHIN)


def test_a_message_alone_carries_the_whole_noise_where_nobody_is_trusted():
    with fixed_noise(4):
        _, federation = access((10, 0, 1), trust="nobody")
    assert len(federation._channel.heard) == 3
    for _, values in federation._channel.heard:
        noise = values[1:] * _grid() / SIGMA
        assert np.var(noise) == pytest.approx(1.0, rel=WITHIN)
        assert stats.kstest(noise, "norm").pvalue > 1e-3


def test_exact_sums_leave_clients_only_where_the_aggregator_is_trusted():
    with fixed_noise(5):
        _, federation = access((10, 0, 1), trust="aggregator")
    assert [values[0] * _grid() for _, values in federation._channel.heard] == [10, 0, 1]
    assert not any(values[1:].any() for _, values in federation._channel.heard)


@pytest.mark.parametrize("trust", ["aggregator", "shares", "nobody"])
def test_looks_have_noise_of_their_own(trust):
    """By real entropy: two of 40,000 draws on a grid of 2^-30 are equal with chance 10^-5 each."""
    releases, _ = access((5, 5), accesses=3, trust=trust)
    for k, one in enumerate(releases):
        for other in releases[:k]:
            assert np.mean(one.values == other.values) < 0.01
            # Normal with deviation 1/200: beyond 0.04 with chance 10^-15.
            assert abs(np.corrcoef(one.values[1:], other.values[1:])[0, 1]) < 0.04


@pytest.mark.parametrize("trust", ["aggregator", "shares", "nobody"])
def test_rows_are_sampled_at_clients_by_independent_coins(trust):
    rate, counts, accesses = 0.3, (4000, 1, 0, 2000), 60
    event = PoissonGaussian(accesses, 1.0, rate)
    with fixed_noise(6):
        releases, federation = access(
            counts, event, query=RowCount(), accesses=accesses, trust=trust
        )
    found = np.array([release.values[0] for release in releases])
    rows = sum(counts)
    error = releases[0].standard_error
    variance = rows * rate * (1 - rate) + error**2
    # Means and variances of 60 binomial numbers; six deviations off means other coins.
    assert abs(found.mean() - rows * rate) < 6 * math.sqrt(variance / accesses)
    assert 0.25 < found.var(ddof=1) / variance < 2.5
    if trust == "aggregator":
        each = np.array([v[0] for name, v in federation._channel.heard if name == "client 0"])
        other = np.array([v[0] for name, v in federation._channel.heard if name == "client 3"])
        assert abs(np.corrcoef(each, other)[0, 1]) < 0.7
        assert len(set(each)) > 30


def _grid():
    from voile.privacy.budget import NeighbouringRelation
    from voile.privacy.mechanisms.sums import gaussian_measure

    return gaussian_measure(WIDE, Gaussian(1, SIGMA), NeighbouringRelation.ADD_REMOVE, 1).grid
