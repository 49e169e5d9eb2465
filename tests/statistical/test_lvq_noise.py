"""Prototypes carry the noise that was announced, and two neighbouring tables cannot be told apart.

Fixed noise: a correct library passes for good, and planted mistakes are shown to be noticed. With
fresh noise each check would fail by chance in less than one of a million runs.
"""

import math

import numpy as np
import pytest
from scipy import stats

from voile import Budget, Category, GLVQClassifier, Ledger, Number, Schema, protect
from voile.audit.two_worlds import allowed_advantage
from voile.models.lvq.queries import COUNT_WEIGHT, ClassSums, ClusterSums, Pulls
from voile.models.lvq.space import Space
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger.entry import EntryKind, new_entry
from voile.privacy.ledger.filter import Amount
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import keep

SURPRISE = 1e-6
DRAWS = 3_000
SCHEMA = Schema({"a": Number(-1, 1), "b": Number(-1, 1)}, target=Category(["u", "v"]))
ROWS = {"a": [0.5, 0.25] * 10 + [-0.5] * 20, "b": [0.0, 0.5] * 20}
LABELS = ["u"] * 20 + ["v"] * 20


def grant_for(table, event, relation=NeighbouringRelation.ADD_REMOVE):
    """A grant nobody priced: thousands of accesses to one table are a test, not a job."""
    plan, none = Plan.of(look=event), Amount()
    entry = new_entry(None, what="test", kind=EntryKind.SPEND, plan=plan, price=none, total=none)
    return Grant(plan, entry, Ledger(Budget(math.inf), relation=relation), table)


def releases(make, relation=NeighbouringRelation.ADD_REMOVE, multiplier=3.0, seed=0):
    """Many releases of one query over the same rows, in units of the announced deviation."""
    space = Space(SCHEMA, np.zeros(2), 2.0)
    table = protect(ROWS, LABELS, schema=SCHEMA)
    keep(table, space.columns, space.prepare)
    query = make(space)
    grant = grant_for(table, Gaussian(DRAWS, multiplier), relation)
    with noise.fixed_noise(seed):
        found = [gaussian_sum(table, query, grant.take("look")) for _ in range(DRAWS)]
    sides = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else 2.0
    for one in found[:3]:
        assert one.standard_error == pytest.approx(multiplier * query.bound * sides)
    return query, np.stack([one.values for one in found]), found[0].standard_error


def places():
    return np.array([[0.2, 0.1], [-0.2, 0.1]]), np.array([0, 1])


MAKERS = {
    "class sums": lambda space: ClassSums(space, True),
    "clusters": lambda space: ClusterSums(space, *places()),
    "pulls": lambda space: Pulls(space, *places(), "glvq", 2.0, 0.5),
}


def check_noise(make, relation):
    query, values, deviation = releases(make, relation)
    errors = (values - values.mean(axis=0)) / deviation
    assert stats.kstest(errors.ravel(), "norm").pvalue > SURPRISE
    # Six standard errors of a standard deviation from so many draws, in every coordinate.
    assert np.abs(errors.std(axis=0) - 1).max() < 6 / math.sqrt(2 * DRAWS)
    # Coordinates are independent of each other: six standard errors of a correlation.
    correlation = np.corrcoef(errors.T) - np.eye(query.size)
    assert np.abs(correlation).max() < 6 / math.sqrt(DRAWS)


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_release_has_the_noise_that_was_announced(make, relation):
    check_noise(make, relation)


def test_a_class_mean_is_right_and_as_noisy_as_stated():
    query, values, deviation = releases(MAKERS["class sums"], multiplier=0.05)
    sums = np.array([query.split(one)[0] for one in values])
    counts = np.array([query.split(one)[1] for one in values])
    # Points are features / 2 here, cut towards nought to multiples of 2^-14.
    exact = np.array([[0.1875, 0.125], [-0.25, 0.125]])
    error = deviation / 20
    # Dividing by a noised count adds to it: |mean|^2 / COUNT_WEIGHT^2 of the variance of a sum.
    widest = error * np.sqrt(1 + exact**2 / COUNT_WEIGHT**2)
    means = sums / counts[:, :, None]
    assert np.abs((means.mean(axis=0) - exact) / (widest / math.sqrt(DRAWS))).max() < 6
    assert np.abs(means.std(axis=0) / widest - 1).max() < 0.1
    assert counts.mean(axis=0) == pytest.approx([20, 20], rel=0.05)
    assert counts.std(axis=0) == pytest.approx(deviation / COUNT_WEIGHT, rel=0.1)


def test_half_the_noise_would_be_noticed(monkeypatch):
    original = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: original(size, scale) // 2)
    with pytest.raises(AssertionError):
        check_noise(MAKERS["pulls"], NeighbouringRelation.ADD_REMOVE)


# -- an attack on whole fits -----------------------------------------------------------------------

FITS = 300
"""Models per table."""

TAUGHT = 100
"""Of which the attacker learns by so many, and is judged on the rest."""


def margin(count):
    """Hoeffding: the difference of two rates of so many draws each is above what is expected of it
    by more than this in less than one of a million runs."""
    return math.sqrt(-math.log(SURPRISE) / count)


def released(model):
    """Every number in the model that came from the rows."""
    record = model.model_
    parts = [record.prototypes, record.prototype_errors, record.means, record.counts]
    return np.concatenate([np.ravel(one) for one in (*parts, record.omega, record.centre)])


def fits(kind, table, epsilon, relation, seed):
    result = []
    with noise.fixed_noise(seed):
        for _ in range(FITS):
            ledger = Ledger(Budget(epsilon, 1e-6), relation=relation)
            model = kind(epsilon=epsilon, delta=1e-6, schema=SCHEMA, ledger=ledger, typical=1.0)
            result.append(released(model.fit(*table)))
    return np.array(result)


def best_threshold(first, second):
    """The number, sign and cut that tell the tables apart best, after their advantage."""
    best = (-1.0, None)
    for j in range(first.shape[1]):
        cuts = np.unique(np.concatenate([first[:, j], second[:, j]]))
        ranked = [np.sort(x[:, j]) for x in (first, second)]
        below = [np.searchsorted(x, cuts, side="right") / len(x) for x in ranked]
        for sign in (1.0, -1.0):
            gains = sign * (below[0] - below[1])
            at = int(gains.argmax())
            if gains[at] > best[0]:
                best = (float(gains[at]), (j, sign, float(cuts[at])))
    return best


def attack(kind, relation, epsilon):
    """Advantage of an attacker who chooses on one half of the fits and is judged on the other."""
    few, labels = {"a": [-0.1] * 40, "b": [0.0] * 40}, ["u"] * 30 + ["v"] * 10
    odd = {"a": [*few["a"], 1.0], "b": [*few["b"], 1.0]}
    if relation is NeighbouringRelation.ADD_REMOVE:
        tables = (few, labels), (odd, [*labels, "v"])
    else:
        other = {"a": [*few["a"], -1.0], "b": [*few["b"], -1.0]}
        tables = (other, [*labels, "u"]), (odd, [*labels, "v"])
    first, second = (fits(kind, table, epsilon, relation, i) for i, table in enumerate(tables))
    _, (j, sign, cut) = best_threshold(first[:TAUGHT], second[:TAUGHT])
    rates = [np.mean(x[TAUGHT:, j] <= cut) for x in (first, second)]
    gain = sign * (rates[0] - rates[1])
    allowed = allowed_advantage(1.0, 1e-6)
    assert gain <= allowed + margin(FITS - TAUGHT), f"advantage {gain:.3f}"
    return gain


@pytest.mark.slow
@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_one_extreme_row_does_not_show_in_the_prototypes(relation):
    attack(GLVQClassifier, relation, 1.0)


@pytest.mark.slow
def test_too_little_noise_would_be_noticed():
    with pytest.raises(AssertionError, match="advantage"):
        attack(GLVQClassifier, NeighbouringRelation.ADD_REMOVE, 1000.0)


# -- one access by itself, with many draws ---------------------------------------------------------


def tell_looks_apart(make, relation):
    """Advantage of the best direction there is: along the difference of the exact sums."""
    multiplier, draws = 1.0, 4_000
    low, high = (-0.9, "u"), (0.9, "v")
    pairs = (
        ([low], [low, high])
        if relation is NeighbouringRelation.ADD_REMOVE
        else ([high, low], [high, high])
    )
    tables = [
        ({"a": [x for x, _ in rows], "b": [x for x, _ in rows]}, [y for _, y in rows])
        for rows in pairs
    ]
    space = Space(SCHEMA, np.zeros(2), 1.0)
    found, exact = [], []
    for seed, (rows, labels) in enumerate(tables):
        table = protect(rows, labels, schema=SCHEMA)
        keep(table, space.columns, space.prepare)
        query = make(space)
        grant = grant_for(table, Gaussian(draws, multiplier), relation)
        with noise.fixed_noise(seed):
            values = [gaussian_sum(table, query, grant.take("look")).values for _ in range(draws)]
        found.append(np.stack(values))
        exact.append(found[-1].mean(axis=0))
    direction = exact[1] - exact[0]
    middle = (exact[0] + exact[1]) @ direction / 2
    rates = [np.mean(one @ direction > middle) for one in found]
    gain = rates[1] - rates[0]
    # The exact advantage of the best test between two normal laws 1 / multiplier apart.
    allowed = 2 * stats.norm.cdf(0.5 / multiplier) - 1
    assert gain <= allowed + margin(draws), f"advantage {gain:.3f}"
    return gain


@pytest.mark.slow
@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_one_look_lets_out_what_its_noise_allows_and_no_more(relation):
    # The longest points there are: attacks come close to the bound, so they are real ones.
    assert tell_looks_apart(MAKERS["class sums"], relation) > 0.2
    gain = tell_looks_apart(lambda space: Pulls(space, *places(), "glvq", 50.0, 0.5), relation)
    assert gain > 0.2 or relation is NeighbouringRelation.REPLACE_ONE


def test_a_bound_that_is_too_small_is_noticed():
    class Understated(ClassSums):
        @property
        def bound(self):
            return super().bound * 0.7

    with pytest.raises(AssertionError, match="advantage"):
        tell_looks_apart(lambda space: Understated(space, True), NeighbouringRelation.ADD_REMOVE)
