"""Training divides by public and released numbers alone, never by how many rows a lot really had.

The guarantee of sampled sums is for sums: a mean over the rows that happened to be drawn has
another sensitivity, and a step that is left out because nobody was drawn tells that nobody was.
So the releases of one training are played back to another one, on other rows and other lots:
whatever it computes from them must come out the same to the bit.
"""

from dataclasses import replace

import fedavg_clients
import network_modules  # noqa: F401
import numpy as np
import pytest

from voile import (
    Category,
    Federation,
    GLVQClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    Number,
    Schema,
)
from voile.models import descent
from voile.models.descent import Adam
from voile.models.networks.estimator import NetworkClassifier
from voile.models.networks.images import KeptImages
from voile.models.networks.queries import NetworkSteps
from voile.privacy import noise
from voile.privacy.clients import updates
from voile.privacy.events import PoissonGaussian
from voile.privacy.mechanisms import sums
from voile.privacy.mechanisms.release import Release
from voile.privacy.noise import fixed_noise
from voile.privacy.sources.table import TableSource

SIDE, ROWS = 6, 60
PIXELS = SIDE * SIDE
SCHEMA = Schema(
    {f"x{i}": Number(0, 255) for i in range(PIXELS)}, target=Category(["a", "b"]), rows=ROWS
)
NOBODY_COUNTED = replace(SCHEMA, rows=None)


class Tape:
    """Records what a training releases, and plays it back to another one."""

    def __init__(self, monkeypatch):
        self.releases: list[Release] = []
        self.lots: list[int] = []
        self.steps: list[tuple[float, int, float]] = []
        self.playing: list[Release] | None = None
        made, drawn, start = sums._release, noise.bernoulli, Adam.__init__

        def draw(size, rate):
            chosen = drawn(size, rate)
            self.lots.append(int(chosen.sum()))
            return chosen

        def begin(adam, weights, rate, steps, average, pull=0.0):
            self.steps.append((rate, steps, average))
            start(adam, weights, rate, steps, average, pull)

        monkeypatch.setattr(sums, "_release", lambda *facts: self.pass_on(made(*facts)))
        monkeypatch.setattr(updates, "Release", lambda *facts: self.pass_on(Release(*facts)))
        monkeypatch.setattr(noise, "bernoulli", draw)
        monkeypatch.setattr(Adam, "__init__", begin)

    def pass_on(self, release: Release) -> Release:
        self.releases.append(release)
        if self.playing is None:
            return release
        before = self.playing[len(self.releases) - 1]
        # What is public of a release is the same, whoever is in the table.
        assert (release.label, release.standard_error) == (before.label, before.standard_error)
        assert release.values.shape == before.values.shape
        return before

    def rewind(self) -> tuple[list[Release], list[int], list[tuple[float, int, float]]]:
        """What was recorded; the next training hears the releases again."""
        told = (self.releases, self.lots, self.steps)
        self.playing = self.playing or self.releases
        self.releases, self.lots, self.steps = [], [], []
        return told


@pytest.fixture
def tape(monkeypatch):
    return Tape(monkeypatch)


def pictures(rows=ROWS, seed=0):
    X = np.random.default_rng(seed).integers(0, 255, (rows, PIXELS)).astype(np.float64)
    return X, np.array(["a", "b"])[np.arange(rows) % 2]


def network(schema=SCHEMA, **settings):
    settings = {"architecture": "test small", "steps": 6, "lot": 0.3, "random_state": 0} | settings
    return NetworkClassifier(epsilon=1.0, schema=schema, image_shape=(SIDE, SIDE), **settings)


def maps(**settings):
    settings = {"steps": 6, "sampling_rate": 0.3, "maps": 2, "random_state": 0} | settings
    return LocallyLinearClassifier(epsilon=1.0, schema=SCHEMA, **settings)


def prototypes(kind):
    return kind(
        epsilon=1.0, schema=SCHEMA, mechanism="sgd", rate=0.3, epochs=2, clip=0.1, random_state=0
    )


def in_places(model, X, y):
    """The same rows at three clients, who draw their own lots."""
    parts = [(X[k::3], y[k::3]) for k in range(3)]
    return model.fit_federated(Federation.local(parts, model.schema, trust="shares"))


def of_clients(model, X, y):
    """Three rows each; a table with fewer rows has clients with nothing at the end."""
    size = ROWS // 20
    parts = [(X[k * size : (k + 1) * size], y[k * size : (k + 1) * size]) for k in range(20)]
    return model.fit_federated(Federation.local(parts, fedavg_clients.SCHEMA))


def averaging():
    return fedavg_clients.classifier(
        "client", rounds=6, fraction=0.3, clip=0.5, epsilon=1.0, delta=1e-4
    )


TRAININGS = {
    **{
        f"network, {one}": (lambda one=one: network(placement=one)) for one in ("uniform", "sparse")
    },
    "network, selective": lambda: network(placement="selective", steps=12),
    "network, shuffled": lambda: network(placement="shuffled", steps=12),
    "network, rows not known": lambda: network(NOBODY_COUNTED),
    "network, all rows": lambda: network(lot=1.0),
    "network at clients": network,
    "maps": maps,
    "maps of pictures": lambda: maps(image_shape=(SIDE, SIDE)),
    "readable maps": lambda: maps(image_shape=(SIDE, SIDE), preset="readable"),
    "projected maps": lambda: maps(projection=4),
    "maps, all rows": lambda: maps(sampling_rate=1.0),
    "maps at clients": maps,
    "prototypes": lambda: prototypes(GLVQClassifier),
    "prototypes, metric": lambda: prototypes(GMLVQClassifier),
    "averaging": averaging,
}

OTHERS = {
    "one row less": lambda X, y: (X[:-1], y[:-1]),
    "one row more": lambda X, y: (np.vstack([X, 255 - X[:1]]), np.append(y, y[:1])),
    "most rows gone": lambda X, y: (X[:7], y[:7]),
    "no rows": lambda X, y: (X[:0], y[:0]),
}


def fit(name, X, y):
    model = TRAININGS[name]()
    if "clients" in name:
        return in_places(model, X, y)
    if name == "averaging":
        X = np.resize(X, (len(X), fedavg_clients.SIDE**2))
        return of_clients(model, X, np.where(y == "a", "left", "right"))
    return model.fit(X, y)


def numbers_of(model) -> list[np.ndarray]:
    frozen = model.model_
    found = [getattr(frozen, name, None) for name in ("weights", "biases", "weight_errors")]
    found += [getattr(model, "prototypes_", None), getattr(frozen, "omega", None)]
    return [np.asarray(one) for one in found if one is not None]


def same(one, other) -> bool:
    pairs = zip(numbers_of(one), numbers_of(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", TRAININGS)
def test_what_is_made_of_releases_knows_no_private_number(name, tape):
    X, y = pictures()
    with fixed_noise(1):
        first = fit(name, X, y)
    releases, lots, steps = tape.rewind()
    assert numbers_of(first)
    for seed, (kind, change) in enumerate(OTHERS.items(), 2):
        with fixed_noise(seed):
            other = fit(name, *change(X, y))
        heard, others_lots, others_steps = tape.rewind()
        assert same(first, other), kind
        # As many accesses, of the same lengths, with the same rates of learning.
        assert len(heard) == len(releases)
        assert others_steps == steps
        used = [[line.openings for line in one.receipt_.lines] for one in (first, other)]
        assert used[0] == used[1] == [line.event.count for line in first.receipt_.lines]
        sampled = any(isinstance(line.event, PoissonGaussian) for line in first.receipt_.lines)
        # The test is one: what was really drawn and summed over was not the same.
        assert (others_lots != lots) == sampled
        assert any((a.values != b.values).any() for a, b in zip(heard, releases, strict=True))


@pytest.mark.parametrize("name", ["network, uniform", "maps", "prototypes", "averaging"])
def test_an_empty_lot_is_a_step_of_noise_alone(name, monkeypatch):
    monkeypatch.setattr(noise, "bernoulli", lambda size, rate: np.zeros(size, dtype=bool))
    tape = Tape(monkeypatch)
    model = fit(name, *pictures())
    assert set(tape.lots) == {0}
    (line,) = (one for one in model.receipt_.lines if isinstance(one.event, PoissonGaussian))
    steps = [one for one in tape.releases if one.label == line.label]
    assert line.openings == line.event.count == len(steps)
    for one in steps:
        # All coordinates have noise: 0 on more than half of them has probability < 1e-9.
        assert np.count_nonzero(one.values) > len(one.values) / 2
        assert np.abs(one.values).max() < 9 * one.standard_error


def test_a_lot_is_summed_not_averaged():
    """k times the same row adds k times what it adds alone, to the unit."""
    X, y = pictures(1)
    kept = KeptImages(SCHEMA)
    totals = []
    for count in (1, 2, 5, 33):
        source = TableSource(np.repeat(X, count, axis=0), np.repeat(y, count), SCHEMA)
        source.keep(kept.columns, kept.prepare)
        query = _steps(kept.bits)
        totals.append(source.total(query, 2.0**-20) / count)
    assert totals[0].any()
    assert all(np.array_equal(one, totals[0]) for one in totals)


def _steps(bits):
    from voile.models.networks.architectures import Description, initial_weights
    from voile.models.networks.images import Standard

    shape = (1, SIDE, SIDE)
    start = initial_weights(Description("test small", shape, 2, 0))
    standard = Standard((0.5,), (0.25,), bits)
    return NetworkSteps("test small", shape, 2, 0, start, standard, 1.0)


# -- the test itself is tested ---------------------------------------------------------------------


def _divide_by_the_real_lot(tape, monkeypatch):
    whole = descent.gaussian_sum

    def mean(*given):
        release = whole(*given)
        return replace(release, values=release.values / max(sum(tape.lots[-1:]), 1))

    monkeypatch.setattr(descent, "gaussian_sum", mean)


def _leave_out_empty_lots(tape, monkeypatch):
    step = Adam.step
    monkeypatch.setattr(
        Adam, "step", lambda adam, slope: step(adam, slope) if any(tape.lots[-1:]) else None
    )


def _learn_by_the_real_lot(tape, monkeypatch):
    step = Adam.step

    def faster(adam, slope):
        adam._rate = 0.01 * sum(tape.lots[-1:])
        step(adam, slope)

    monkeypatch.setattr(Adam, "step", faster)


@pytest.mark.parametrize(
    "plant", [_divide_by_the_real_lot, _leave_out_empty_lots, _learn_by_the_real_lot]
)
def test_a_planted_fault_is_found(plant, tape, monkeypatch):
    plant(tape, monkeypatch)
    X, y = pictures()
    with fixed_noise(1):
        first = fit("network, uniform", X, y)
    tape.rewind()
    found = []
    for change in OTHERS.values():
        with fixed_noise(5):
            other = fit("network, uniform", *change(X, y))
        tape.rewind()
        found.append(not same(first, other))
    assert any(found)
