"""Steps of maps carry the noise that was announced, and neighbouring tables cannot be told apart.

Fixed noise: a correct library passes for good, and planted mistakes are shown to be noticed. With
fresh noise each check would fail by chance in less than one of a million runs.
"""

import math

import numpy as np
import pytest
from scipy import stats

from voile import Budget, Category, Ledger, LocallyLinearClassifier, Number, Schema, protect
from voile.audit.two_worlds import allowed_advantage, tell_apart
from voile.models.locally_linear import projections as projections_module
from voile.models.locally_linear import queries as queries_module
from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.pictures import STILL, Move
from voile.models.locally_linear.projections import PROJECTION_BITS, ProjectedSteps, keep_squares
from voile.models.locally_linear.queries import Directions, MapSteps
from voile.models.pixels import PixelRanges
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Plan, PoissonGaussian
from voile.privacy.grant import Grant
from voile.privacy.ledger.entry import EntryKind, new_entry
from voile.privacy.ledger.filter import Amount
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import keep

SURPRISE = 1e-6
DRAWS = 1_500
SCHEMA = Schema({"x0": Number(0, 1), "x1": Number(0, 1)}, target=Category(["u", "v"]))
ROWS = np.array([[0.5, 0.25], [0.25, 0.5], [0.9, 0.1], [0.1, 0.9]] * 5)
LABELS = ["u", "v"] * 10
SILENT = ["?"] * 20
"""Of no class: these rows add nothing to a step, and hide nobody when they are sampled."""

CANARY = np.array([[1.0, 0.0]]), ["v"]
"""A row like no other of its class."""

COPIES = (STILL, Move(right=0.5), Move(right=-0.5))
CLIP = 0.01


def margin(count):
    """Hoeffding: the difference of two rates of so many draws each is above what is expected of it
    by more than this in less than one of a million runs."""
    return math.sqrt(-math.log(SURPRISE) / count)


def query_of(kind):
    """A query, and what rows have to keep for it."""
    generator = np.random.default_rng(3)
    inputs = Inputs.uncentred(SCHEMA, (1, 2, 1), None, root=False, normalise=True)
    shape = (2, 3, 3) if kind == "projected" else (2, 10, 3)
    if kind == "projected":
        drawn = generator.normal(size=(3, 2, 2)) * 2**PROJECTION_BITS
        drawn = np.round(drawn).astype(np.int64)
        weights = generator.normal(size=shape)
        query = ProjectedSteps(inputs, weights, 0.5, 0.3, CLIP, projections=drawn)
        return query, lambda block: (inputs.prepare(block), keep_squares(block, drawn))
    copies = COPIES if kind == "copies" else (STILL,)
    if kind == "directions":
        return Directions(inputs), inputs.prepare
    if kind == "range":
        return PixelRanges(("x0", "x1")), inputs.prepare
    query = MapSteps(inputs, generator.normal(size=shape), 0.5, 0.3, CLIP)
    return query, lambda block: inputs.prepare(block, copies)


def grant_for(table, event, relation):
    """A grant nobody priced: thousands of accesses to one table are a test, not a job."""
    plan, none = Plan.of(look=event), Amount()
    entry = new_entry(None, what="test", kind=EntryKind.SPEND, plan=plan, price=none, total=none)
    return Grant(plan, entry, Ledger(Budget(math.inf), relation=relation), table)


def releases(kind, event, relation=NeighbouringRelation.ADD_REMOVE, more=None, seed=0):
    """Many releases of one query over the same rows, and the announced deviation."""
    rows, labels = ROWS, SILENT if isinstance(event, PoissonGaussian) else LABELS
    if more is not None:
        rows, labels = np.vstack([rows, more[0]]), [*labels, *more[1]]
    query, prepare = query_of(kind)
    table = protect(rows, labels, schema=SCHEMA)
    keep(table, (*SCHEMA, "\0target"), prepare)
    grant = grant_for(table, event, relation)
    with noise.fixed_noise(seed):
        found = [gaussian_sum(table, query, grant.take("look")) for _ in range(event.count)]
    return query, np.stack([one.values for one in found]), found[0].standard_error


# -- noise -----------------------------------------------------------------------------------------

KINDS = ["plain", "copies", "projected", "directions", "range"]


def check_noise(kind, relation):
    query, values, deviation = releases(kind, Gaussian(DRAWS, 3.0), relation)
    sides = {
        NeighbouringRelation.ADD_REMOVE: 1.0,
        NeighbouringRelation.REPLACE_ONE: 2.0 if query.signed else 2**0.5,
    }
    assert deviation == pytest.approx(3.0 * query.bound * sides[relation])
    errors = (values - values.mean(axis=0)) / deviation
    assert stats.kstest(errors.ravel(), "norm").pvalue > SURPRISE
    # Six standard errors of a standard deviation from so many draws, in every coordinate.
    assert np.abs(errors.std(axis=0) - 1).max() < 6 / math.sqrt(2 * DRAWS)
    # Coordinates are independent of each other: six standard errors of a correlation.
    correlation = np.corrcoef(errors.T) - np.eye(query.size)
    assert np.abs(correlation).max() < 6 / math.sqrt(DRAWS)


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("kind", KINDS)
def test_a_look_has_the_noise_that_was_announced(kind, relation):
    check_noise(kind, relation)


def test_a_tenth_less_noise_would_be_noticed(monkeypatch):
    original = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: original(size, scale) * 9 // 10)
    with pytest.raises(AssertionError):
        check_noise("plain", NeighbouringRelation.ADD_REMOVE)


def test_the_mean_of_many_releases_is_the_sum():
    query, values, deviation = releases("plain", Gaussian(DRAWS, 1.0))
    table = protect(ROWS, LABELS, schema=SCHEMA)
    _, prepare = query_of("plain")
    keep(table, (*SCHEMA, "\0target"), prepare)
    exact = []
    keep(table, (), lambda block: exact.append(query.total(block, 2.0**-40) * 2.0**-40))
    np.testing.assert_allclose(values.mean(axis=0), exact[0], atol=6 * deviation / math.sqrt(DRAWS))


# -- two worlds ------------------------------------------------------------------------------------


def attack(kind, event, relation=NeighbouringRelation.ADD_REMOVE):
    """The best there is: how far a release lies along what the row adds."""
    other = None if relation is NeighbouringRelation.ADD_REMOVE else (np.array([[0.0, 1.0]]), ["u"])
    query, without, _ = releases(kind, event, relation, other, seed=1)
    _, with_row, _ = releases(kind, event, relation, CANARY, seed=2)
    # The attacker knows all other rows, and what this one adds.
    shares = []
    for extra in (other, CANARY):
        if extra is None:
            shares.append(np.zeros(query.size))
            continue
        table = protect(*extra, schema=SCHEMA)
        keep(table, (*SCHEMA, "\0target"), query_of(kind)[1])
        keep(table, (), lambda block: shares.append(query.total(block, 2.0**-40) * 2.0**-40))
    direction = shares[1] - shares[0]
    return tell_apart(without @ direction, with_row @ direction).advantage


def allowed(event):
    """Total variation between the worlds: (0, TV) is the tightest guarantee for an advantage."""
    rate = getattr(event, "rate", 1.0)
    return allowed_advantage(0.0, rate * math.erf(1 / event.noise_multiplier / math.sqrt(8.0)))


EVENTS = {
    "all rows": Gaussian(DRAWS, 1.0),
    "sampled": PoissonGaussian(DRAWS, 1.0, 0.6),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
@pytest.mark.parametrize("kind", ["plain", "copies", "projected"])
def test_a_row_in_a_step_is_told_no_better_than_allowed(kind, event):
    found = attack(kind, event)
    assert found.value <= allowed(event) + margin(DRAWS // 2)
    # The row is as loud as the clip lets it be, and the attack is a good one.
    assert found.value >= allowed(event) - margin(DRAWS // 2)


@pytest.mark.parametrize("kind", ["plain", "projected"])
def test_a_replaced_row_is_told_no_better_than_allowed(kind):
    event = Gaussian(DRAWS, 1.0)
    found = attack(kind, event, NeighbouringRelation.REPLACE_ONE)
    assert found.value <= allowed(event) + margin(DRAWS // 2)


def unclip(monkeypatch):
    """Kernels that let every row through as it is."""
    for module, name, place in (
        (queries_module, "blend_copies", 8),
        (projections_module, "blend_projected", 7),
    ):
        original = getattr(module, name)

        def open_wide(*given, original=original, place=place):
            return original(*given[:place], 1e4, *given[place + 1 :])

        monkeypatch.setattr(module, name, open_wide)


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
@pytest.mark.parametrize("kind", ["plain", "copies", "projected"])
def test_a_row_that_is_not_clipped_is_noticed(kind, event, monkeypatch):
    """The same attack on a step whose clip does nothing: otherwise it would prove nothing."""
    unclip(monkeypatch)
    found = attack(kind, event)
    assert found.value > allowed(event) + margin(DRAWS // 2)


# -- whole fits ------------------------------------------------------------------------------------

FITS = 120
EPSILON = 0.5


def fits(with_row, seed):
    """Scores of the canary's class at the canary, with or without it in the training."""
    rows, labels = ROWS, SILENT
    if with_row:
        rows, labels = np.vstack([rows, CANARY[0]]), [*labels, *CANARY[1]]
    scores = []
    with noise.fixed_noise(seed):
        for _ in range(FITS):
            model = LocallyLinearClassifier(
                epsilon=EPSILON,
                schema=SCHEMA,
                maps=2,
                steps=2,
                sampling_rate=1.0,
                clip=1e-3,
                random_state=0,
            ).fit(rows, labels)
            scores.append(float(model.decision_function(CANARY[0])[0]))
    return np.array(scores)


def advantage():
    return tell_apart(fits(False, 1), fits(True, 2)).advantage.value


@pytest.mark.slow
def test_a_row_of_a_whole_fit_is_told_no_better_than_allowed():
    assert advantage() <= allowed_advantage(EPSILON, 1e-6) + margin(FITS // 2)


@pytest.mark.slow
def test_a_whole_fit_without_clip_would_be_noticed(monkeypatch):
    unclip(monkeypatch)
    assert advantage() > allowed_advantage(EPSILON, 1e-6) + margin(FITS // 2)
