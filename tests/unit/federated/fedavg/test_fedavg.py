"""FedAvgClassifier: what it learns, noise on every parameter, refusals, files."""

import copy
import json
import math

import numpy as np
import pytest
import torch
from fedavg_clients import NO_GUARANTEE, SCHEMA, SIDE, classifier, federation, pictures
from sklearn.base import clone
from torch import nn

from voile import Budget, Category, Ledger, Number, Schema
from voile.errors import (
    BudgetExceeded,
    DataError,
    LedgerMismatch,
    ModelError,
    PlanError,
    SchemaError,
    SettingError,
)
from voile.federated.fedavg.estimator import load_estimator
from voile.federated.fedavg.files import SavedAverage
from voile.federated.federation import Federation
from voile.models.networks.architectures import (
    Description,
    initial_weights,
    register,
)
from voile.models.networks.parameters import (
    flatten,
)
from voile.privacy.events import Gaussian, Plan
from voile.privacy.noise import fixed_noise

# -- what it learns ------------------------------------------------------------------------------


def test_averaging_is_what_it_says():
    """The same numbers by a plain loop in torch that shares no code with it."""
    model = classifier(rounds=3, local_epochs=2, learning_rate=0.05).fit_federated(federation())
    module = Description("odd network of tests", (1, SIDE, SIDE), 2, 3).build()
    for turn in range(3):
        states = []
        for seed in range(6):
            X, y = pictures(20, seed)
            images = (torch.from_numpy(X).float().reshape(-1, 1, SIDE, SIDE) / 255 - 0.5) / 0.5
            classes = torch.from_numpy((y == "right").astype(np.int64))
            mine = copy.deepcopy(module)
            optimiser = torch.optim.SGD([p for p in mine.parameters() if p.requires_grad], lr=0.05)
            rng = np.random.default_rng(3 + turn)
            for _ in range(2):
                order = rng.permutation(20)
                for some in (order[:10], order[10:]):
                    optimiser.zero_grad()
                    nn.functional.cross_entropy(mine(images[some]), classes[some]).backward()
                    optimiser.step()
            states.append(mine.state_dict())
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(torch.stack([state[name] for state in states]).mean(0))
    assert model.model_.weights == pytest.approx(flatten(module), abs=3e-5)


@pytest.mark.parametrize("noise", NO_GUARANTEE)
def test_all_modes_learn_what_is_easy(noise):
    model = classifier(noise, rounds=8, epsilon=50.0).fit_federated(federation())
    X, y = pictures(100, 99)
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(100))
    assert list(model.classes_) == ["left", "right"]


@pytest.mark.slow
def test_a_guarantee_for_clients_can_learn_from_many_of_them():
    many = federation(clients=100, rows=4)
    model = classifier("client", rounds=5, clip=0.5, learning_rate=0.3).fit_federated(many)
    X, y = pictures(100, 99)
    assert model.score(X, y) > 0.9
    assert model.receipt_.has_guarantee
    assert model.receipt_.delta == pytest.approx(100**-1.1)


def test_the_same_public_chance_gives_the_same_network():
    one, two = (classifier().fit_federated(federation()) for _ in range(2))
    other = classifier(random_state=4).fit_federated(federation())
    assert (one.model_.weights == two.model_.weights).all()
    assert not np.allclose(one.model_.weights, other.model_.weights)


def test_a_fraction_takes_some_clients(monkeypatch):
    from voile.federated.fedavg.work import ClientUpdate

    asked = []
    run = ClientUpdate.run
    monkeypatch.setattr(
        ClientUpdate, "run", lambda self, blocks: asked.append(1) or run(self, blocks)
    )
    with fixed_noise(5):
        classifier(rounds=10, fraction=0.5).fit_federated(federation(clients=20, rows=2))
    assert 60 < len(asked) < 140  # 100 expected, standard deviation 7; the seed is fixed


# -- noise on every parameter, and nothing else --------------------------------------------------


@pytest.mark.parametrize("noise", ["dp_faithful", "client"])
def test_noise_reaches_every_parameter(noise):
    """Also lone numbers; two runs with the same public randomness differ in every coordinate."""
    one, two = (classifier(noise).fit_federated(federation()).model_ for _ in range(2))
    assert (one.weights != two.weights).all()
    start = initial_weights(one.description)
    assert len(start) == sum(
        p.numel() for p in one.to_torch().network.parameters() if p.requires_grad
    )


@pytest.mark.parametrize("noise", [*NO_GUARANTEE, "client"])
def test_buffers_and_frozen_parameters_stay_as_they_began(noise):
    network = classifier(noise).fit_federated(federation()).to_torch().network
    assert network.steps == 7
    assert network.steps.dtype == torch.int64
    assert (network.frozen == 1).all()


@pytest.mark.parametrize("noise", [*NO_GUARANTEE, "client"])
def test_clients_without_a_usable_row_do_no_harm(noise):
    """All pixels missing: nothing to train on, an update of zeros, and no error."""
    X, y = pictures(4, 0)
    nothing = [(np.full(X.shape, np.nan), y)] * 2
    model = classifier(noise).fit_federated(Federation.local(nothing, SCHEMA))
    start = initial_weights(model.model_.description)
    if noise == "client":
        assert (model.model_.weights != start).all()
    else:
        assert (model.model_.weights == start).all()


def test_the_noise_for_clients_is_what_the_receipt_says():
    """Updates of zeros: what moves is noise of sigma C / clients in each of nine rounds."""
    X, y = pictures(2, 0)
    register(
        "wide network of tests",
        lambda s, c: nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.Linear(32, c)),
    )
    nothing = Federation.local([(np.full(X.shape, np.nan), y)] * 4, SCHEMA)
    settings = {"architecture": "wide network of tests", "clip": 0.7, "rounds": 9, "epsilon": 1.0}
    with fixed_noise(2):
        model = classifier("client", **settings).fit_federated(nothing).model_
    sigma = model.receipt.lines[0].event.noise_multiplier
    moved = model.weights - initial_weights(model.description)
    assert moved.std() == pytest.approx(math.sqrt(9) * sigma * 0.7 / 4, rel=0.06)


@pytest.mark.parametrize("noise", [*NO_GUARANTEE, "client"])
def test_steps_of_no_length_do_not_crash(noise):
    model = classifier(noise, learning_rate=1e-30).fit_federated(federation())
    assert np.isfinite(model.model_.weights).all()


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"noise": "selective"}, {"rounds": 0}, {"rounds": 2.5}, {"fraction": 0.0},
        {"fraction": 1.1}, {"local_epochs": 0}, {"local_batch": 0}, {"learning_rate": 0.0},
        {"learning_rate": math.nan}, {"clip": -1.0}, {"clip": math.inf}, {"noisy_share": 0.0},
        {"noisy_share": 1.0}, {"noise_factor": 0.0}, {"pixel_spread": 0.0},
        {"pixel_mean": (0.1, 0.2)}, {"pixel_mean": "dark"}, {"image_shape": (8,)},
        {"image_shape": (8, 8, 0)}, {"architecture": "none such"}, {"random_state": -1},
        {"server_momentum": 1.0}, {"server_learning_rate": 0.0},
        {"schema": Schema({"a": Number(0, 1)})},
        {"noise": "dp_faithful", "epsilon": math.inf}, {"noise": "dp_faithful", "epsilon": 0.0},
        {"noise": "dp_faithful", "server_momentum": 0.9}, {"noise": "client", "epsilon": 0.0},
        {"noise": "dp_faithful", "noise_factor": 1e6, "epsilon": 1e-6},
        {"noise": "client", "delta": 2.0},
        {"noise": "client", "delta": "small"}, {"shorten_noised": True},
        {"noise": "gradcam_faithful", "shorten_noised": "yes"},
    ],
)  # fmt: skip
def test_bad_settings_are_refused_before_anything_is_paid(settings):
    ledger = Ledger(Budget(math.inf, 0.1))
    with pytest.raises(SettingError):
        classifier(**{"ledger": ledger, **settings}).fit_federated(federation())
    assert not ledger.history()


def test_a_network_without_convolutions_has_no_grad_cam():
    register("dense network of tests", lambda s, c: nn.Sequential(nn.Flatten(), nn.Linear(64, c)))
    ledger = Ledger(Budget(math.inf, 0.1))
    made = classifier("gradcam_faithful", architecture="dense network of tests", ledger=ledger)
    with pytest.raises(SettingError, match="convolution"):
        made.fit_federated(federation())
    assert not ledger.history()
    classifier(architecture="dense network of tests").fit_federated(federation())


@pytest.mark.parametrize(
    "schema",
    [
        Schema({f"p{i}": Number() for i in range(64)}, target=Category(["left", "right"])),
        Schema({f"p{i}": Number(0, 255) for i in range(64)}, target=Category()),
        Schema({f"p{i}": Number(0, 255) for i in range(63)}, target=Category(["left", "right"])),
        Schema({f"p{i}": Number(0, 255) for i in range(64)}, target=Number(0, 1)),
        Schema({f"p{i}": Category(["a"]) for i in range(64)}, target=Category(["left", "right"])),
    ],
)
def test_an_incomplete_schema_is_refused(schema):
    X, y = pictures(4, 0)
    X = X[:, : len(schema)]
    if isinstance(schema.target, Number):
        y = np.zeros(4)
    part = X if isinstance(schema["p0"], Number) else np.full(X.shape, "a", dtype=object)
    with pytest.raises(SchemaError):
        classifier().fit_federated(Federation.local([(part, y)], schema))


def test_there_is_no_fit_on_one_table():
    with pytest.raises(SettingError, match="fit_federated"):
        classifier().fit(*pictures(10, 0))


@pytest.mark.parametrize("noise", ["none", "client"])
@pytest.mark.parametrize("trust", ["shares", "nobody"])
def test_whole_updates_need_a_trusted_aggregator(noise, trust):
    with pytest.raises(PlanError, match="aggregator"):
        classifier(noise).fit_federated(federation(trust=trust))


def test_a_ledger_with_a_limit_refuses_what_has_no_guarantee():
    ledger = Ledger(Budget(5.0, 1e-5))
    with pytest.raises(BudgetExceeded):
        classifier("gradcam_faithful", ledger=ledger).fit_federated(federation())
    assert not ledger.history()


def test_a_ledger_of_rows_is_not_one_of_clients():
    ledger = Ledger(Budget(100.0, 0.5))
    classifier("client", ledger=ledger, epsilon=1.0).fit_federated(federation())
    classifier("client", ledger=ledger, epsilon=1.0).fit_federated(federation())
    assert len(ledger.history()) == 2
    with pytest.raises(LedgerMismatch, match="one client may lose, and the job protects one row"):
        ledger.spend(Plan.of(count=Gaussian(noise_multiplier=10)), "a count of rows")
    rows = Ledger(Budget(100.0, 0.5))
    rows.spend(Plan.of(count=Gaussian(noise_multiplier=10)), "a count of rows")
    with pytest.raises(LedgerMismatch, match="one row may lose, and the job protects one client"):
        classifier("client", ledger=rows, epsilon=1.0).fit_federated(federation())
    assert (len(ledger.history()), len(rows.history())) == (2, 1)


# -- manners -------------------------------------------------------------------------------------


def test_it_can_be_cloned_and_describes_itself():
    made = classifier("client", epsilon=3.0)
    assert clone(made).get_params() == made.get_params()


@pytest.mark.parametrize("noise", ["client", "gradcam_faithful"])
def test_saved_and_read_back(tmp_path, noise):
    model = classifier(noise).fit_federated(federation())
    path = model.save(tmp_path / "network.voile")
    other = load_estimator(json.loads(path.read_text()))
    X, _ = pictures(30, 7)
    assert (model.predict_proba(X) == other.predict_proba(X)).all()
    assert other.receipt_ == model.receipt_
    kept, given = other.get_params(), model.get_params()
    assert {**kept, "schema": None} == {**given, "schema": None}
    assert SavedAverage.read(path).placement == noise
    data = json.loads(path.read_text())
    for change in ({"noise": "none"}, {"pixel_mean": 0.1}, {"rounds": 0}, {"placement": "sparse"}):
        with pytest.raises(ModelError):
            load_estimator({**data, "settings": {**data["settings"], **change}})
    del data["settings"]
    assert load_estimator(data).noise == noise
    scores = model.to_torch()(torch.from_numpy(X).float().reshape(-1, 1, SIDE, SIDE) / 255)
    assert np.allclose(
        scores.detach().numpy()[:, 1] - scores.detach().numpy()[:, 0],
        model.decision_function(X),
        atol=1e-5,
    )


def test_pictures_of_another_shape_are_refused():
    model = classifier().fit_federated(federation())
    X, _ = pictures(10, 0)
    assert (model.predict(X.reshape(-1, SIDE, SIDE)) == model.predict(X)).all()
    with pytest.raises(DataError):
        model.predict(X.reshape(-1, SIDE * 2, SIDE // 2))
