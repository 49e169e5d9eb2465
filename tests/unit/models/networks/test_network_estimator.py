"""NetworkClassifier: fits, receipts, files, settings and refusals."""

import json
import math

import dp_accounting
import network_modules  # noqa: F401
import numpy as np
import pytest
import torch
from dp_accounting.pld import PLDAccountant
from sklearn.base import clone

import voile
from voile import Budget, Category, Federation, Ledger, Number, Schema, Unit
from voile.errors import (
    BudgetExceeded,
    DataError,
    ModelError,
    SchemaError,
    SettingError,
    VoileError,
)
from voile.models.networks.architectures import initial_weights
from voile.models.networks.estimator import NetworkClassifier
from voile.models.networks.files import SavedNetwork
from voile.models.networks.fit import IMAGES_GIVEN_AS_PUBLIC
from voile.privacy.events import PoissonGaussian, Unprotected
from voile.privacy.noise import fixed_noise

from_dict, to_dict, read = SavedNetwork.model_of, SavedNetwork.data_of, SavedNetwork.read

SIDE = 8


def pictures(rows=600, seed=0, channels=None):
    """A bright bar, lying or standing, among grey noise."""
    generator = np.random.default_rng(seed)
    images = generator.integers(0, 120, (rows, SIDE, SIDE))
    classes = np.arange(rows) % 2
    place = generator.integers(1, SIDE - 1, rows)
    for i in range(rows):
        if classes[i]:
            images[i, place[i]] = 230
        else:
            images[i, :, place[i]] = 230
    images = images.astype(np.uint8)
    if channels:
        images = np.repeat(images[..., None], channels, axis=3)
    return images, np.array(["standing", "lying"])[classes]


def schema_of(pixels=SIDE * SIDE, rows=600, top=255, **more):
    columns = {f"x{i}": Number(0, top) for i in range(pixels)}
    return Schema(columns, target=Category(["lying", "standing"]), rows=rows, **more)


def classifier(**more):
    given = {
        "epsilon": 8.0,
        "schema": schema_of(),
        "architecture": "test small",
        "image_shape": (SIDE, SIDE),
        "lot": 300,
        "steps": 30,
        "random_state": 0,
        "learning_rate": 0.1,
    }
    return NetworkClassifier(**(given | more))


@pytest.fixture(scope="module")
def fitted():
    with fixed_noise(3):
        return classifier().fit(*pictures())


def test_it_learns(fitted):
    images, classes = pictures(400, 1)
    assert (fitted.predict(images) == classes).mean() > 0.9
    assert fitted.score(images.reshape(400, -1), classes) > 0.9
    chances = fitted.predict_proba(images)
    assert chances.shape == (400, 2)
    assert np.allclose(chances.sum(1), 1.0)
    odds = fitted.decision_function(images)
    assert np.array_equal(fitted.classes_[(odds > 0).astype(int)], fitted.predict(images))


def test_answers_do_not_depend_on_other_rows(fitted):
    images, _ = pictures(70, 2)
    assert np.array_equal(fitted.predict_proba(images)[65], fitted.predict_proba(images[65:66])[0])
    assert fitted.predict_proba(images[:0]).shape == (0, 2)


def test_the_receipt_says_what_was_done(fitted):
    receipt = classifier().fit(*pictures(60)).receipt_
    assert receipt.has_guarantee
    assert not fitted.receipt_.has_guarantee  # its noise was fixed
    assert receipt.delta == 1e-5
    assert 7.9 < receipt.epsilon <= 8.0
    lines = {line.label: line for line in receipt.lines}
    assert set(lines) == {"brightness and row count", "steps"}
    event = lines["steps"].event
    assert isinstance(event, PoissonGaussian)
    assert (event.count, event.rate) == (30, 0.5)
    assert lines["steps"].openings == 30


def test_the_epsilon_is_that_of_dp_accounting(fitted):
    receipt = fitted.receipt_
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for line in receipt.lines:
        one = dp_accounting.GaussianDpEvent(line.event.noise_multiplier)
        if isinstance(line.event, PoissonGaussian):
            one = dp_accounting.PoissonSampledDpEvent(line.event.rate, one)
        accountant.compose(one, line.event.count)
    assert receipt.epsilon == pytest.approx(accountant.get_epsilon(receipt.delta), rel=0.01)


def test_what_the_schema_lacks_is_found_privately():
    images, classes = pictures()
    with fixed_noise(1):
        model = classifier(schema=None, lot=1.0, steps=2).fit(images / 255.0, classes)
    labels = [line.label for line in model.receipt_.lines]
    assert "range of pixels" in labels
    assert "classes of the target" in labels
    assert sorted(model.classes_) == ["lying", "standing"]
    assert {(c.lower, c.upper) for c in model.model_.schema.values()} == {(0.0, 1.0)}
    assert model.model_.standard.bits == 16


def test_the_range_of_bytes_is_public():
    images, classes = pictures(100)
    model = classifier(epsilon=math.inf, schema=None, lot=0.5, steps=2).fit(images, classes)
    assert "range of pixels" not in [line.label for line in model.receipt_.lines]
    assert model.model_.standard.bits == 8


def test_without_noise_it_says_so_and_learns():
    images, classes = pictures()
    model = classifier(epsilon=math.inf).fit(images, classes)
    assert not model.receipt_.has_guarantee
    assert all(isinstance(line.event, Unprotected) for line in model.receipt_.lines)
    assert model.score(*(pictures(300, 1)[0].reshape(300, -1), pictures(300, 1)[1])) > 0.9


@pytest.mark.parametrize("placement", ["selective", "shuffled", "sparse"])
@pytest.mark.parametrize("public", [False, True])
def test_every_placement_learns_at_the_same_price(placement, public, fitted):
    images, classes = pictures()
    given = pictures(20, 9)[0] if public else None
    with fixed_noise(4):
        model = classifier(placement=placement, public_images=given).fit(images, classes)
    test_images, test_classes = pictures(300, 1)
    assert (model.predict(test_images) == test_classes).mean() > 0.75
    assert model.receipt_.epsilon == fitted.receipt_.epsilon
    events = [line.event for line in model.receipt_.lines]
    assert events == [line.event for line in fitted.receipt_.lines]
    judged = public and placement != "sparse"
    assert model.receipt_.notes == ((IMAGES_GIVEN_AS_PUBLIC,) if judged else ())


def test_sparse_training_leaves_the_other_weights_as_they_began():
    model = classifier(placement="sparse").fit(*pictures(100)).model_
    start = initial_weights(model.description)
    same = np.isclose(model.weights, start, atol=1e-15)
    assert 0.45 < same.mean() < 0.55


def test_colour_images_are_read_channels_last():
    images, classes = pictures(200, channels=3)
    schema = schema_of(SIDE * SIDE * 3, rows=200)
    model = classifier(schema=schema, image_shape=(SIDE, SIDE, 3), lot=100)
    model.fit(images, classes)
    assert model.model_.description.image_shape == (3, SIDE, SIDE)
    assert len(model.model_.standard.means) == 3
    assert len(model.predict(images)) == 200


def test_a_torch_module_gives_the_same_scores(fitted):
    images, _ = pictures(40, 5)
    module = fitted.to_torch()
    with torch.no_grad():
        scores = module(torch.from_numpy(images[:, None].astype(np.float32) / 255.0)).numpy()
    expected = fitted.decision_function(images)
    assert np.allclose(scores[:, 1] - scores[:, 0], expected, atol=1e-4)
    assert set(dict(module.named_buffers())) >= {"means", "spreads"}


def test_random_state_decides_everything_but_noise():
    def weights(seed, noise):
        with fixed_noise(noise):
            return classifier(random_state=seed).fit(*pictures(40)).model_.weights

    assert np.array_equal(weights(1, 7), weights(1, 7))
    assert not np.array_equal(weights(1, 7), weights(1, 8))
    assert not np.array_equal(weights(1, 7), weights(2, 7))


@pytest.mark.parametrize("how", ["pooled", "federated"])
def test_noise_reaches_every_parameter_and_no_buffer(how):
    """Also a parameter without dimensions; buffers and frozen ones stay as the seed made them."""

    def fit():
        model = classifier(architecture="test odd", steps=2, lot=1.0)
        X, y = pictures(60)
        if how == "pooled":
            return model.fit(X, y)
        flat = X.reshape(len(X), -1)
        parts = [(flat[:50], y[:50]), (flat[50:], y[50:])]
        return model.set_params(schema=None).fit_federated(Federation.local(parts, schema_of()))

    one, two = fit(), fit()
    assert (one.model_.weights != two.model_.weights).all()
    began = one.model_.description.build()
    for name, buffer in began.named_buffers():
        assert torch.equal(one.to_torch().network.get_buffer(name), buffer)
    assert torch.equal(one.to_torch().network.frozen, began.frozen)


def test_federated_and_pooled_steps_are_equal_where_the_coins_are():
    """One full block for both: with the same noise the same weights."""
    X, y = pictures(60)
    flat = X.reshape(len(X), -1)
    with fixed_noise(5):
        pooled = classifier(lot=1.0, steps=3).fit(flat, y)
    parts = [(flat[:13], y[:13]), (flat[13:], y[13:])]
    with fixed_noise(5):
        federated = classifier(lot=1.0, steps=3, schema=None).fit_federated(
            Federation.local(parts, schema_of())
        )
    np.testing.assert_array_equal(federated.model_.weights, pooled.model_.weights)


def test_a_saved_network_answers_to_the_bit(fitted, tmp_path):
    images, _ = pictures(50, 8)
    again = voile.load(fitted.save(tmp_path / "network.json"))
    np.testing.assert_array_equal(again.predict_proba(images), fitted.predict_proba(images))
    assert again.receipt_.to_dict() == fitted.receipt_.to_dict()


def settings_of(model):
    given = model.get_params()
    return {name: one for name, one in given.items() if name not in ("schema", "ledger")}


def test_the_settings_of_the_training_are_saved(fitted, tmp_path):
    again = voile.load(fitted.save(tmp_path / "network.json"))
    assert settings_of(again) == settings_of(fitted)
    images = pictures(20)[0]
    made = classifier(placement="selective", public_images=images, lot=0.5, random_state=None)
    again = voile.load(made.fit(*pictures(50)).save(tmp_path / "network.json"))
    assert settings_of(again) == {**settings_of(made), "public_images": None}
    assert again.training_settings_["public_images"] == {"object": "ndarray"}


@pytest.mark.parametrize(
    "change",
    [
        {"architecture": "cnn"},
        {"image_shape": [4, 16]},
        {"placement": "sparse"},
        {"random_state": 1},
        {"lot": -1},
        {"public_images": [[0]]},
        {"noise": "client"},
    ],
    ids=str,
)
def test_settings_that_the_training_cannot_have_had_are_refused(fitted, change, tmp_path):
    path = fitted.save(tmp_path / "network.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "settings": {**data["settings"], **change}}))
    with pytest.raises(ModelError):
        voile.load(path)


def test_without_random_state_the_seed_is_kept():
    model = classifier(random_state=None).fit(*pictures(50)).model_
    assert from_dict(to_dict(model)).description.seed == model.description.seed


def test_clones_are_unfitted_and_equal(fitted):
    copy = clone(fitted)
    assert not hasattr(copy, "model_")
    assert copy.get_params()["steps"] == 30


def test_one_ledger_pays_for_all():
    ledger = Ledger(Budget(8.0, 1e-5))
    classifier(ledger=ledger).fit(*pictures(50))
    with pytest.raises(BudgetExceeded):
        classifier(ledger=ledger).fit(*pictures(50))


def test_units_of_several_rows_are_not_sampled():
    images, classes = pictures(100)
    frame = {f"x{i}": images.reshape(100, -1)[:, i] for i in range(SIDE * SIDE)}
    frame["who"] = np.arange(100) // 2
    schema = schema_of(rows=100, unit=Unit("who", rows=2))
    with pytest.raises(SettingError, match="units of several rows"):
        classifier(schema=schema, lot=50).fit(frame, classes)
    model = classifier(schema=schema, lot="auto").fit(frame, classes)
    assert not any(isinstance(line.event, PoissonGaussian) for line in model.receipt_.lines)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"architecture": "nothing"},
        {"placement": "gradcam"},
        {"image_shape": (8,)},
        {"image_shape": (8, 8.0)},
        {"image_shape": (8, 9)},
        {"lot": 0},
        {"lot": -0.5},
        {"lot": 1.5},
        {"lot": "many"},
        {"lot": math.nan},
        {"steps": 0},
        {"steps": 2.5},
        {"steps": True},
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"clip": -1.0},
        {"clip": "small"},
        {"random_state": -1},
        {"random_state": 1.5},
        {"epsilon": 0.0},
        {"delta": 0.0},
        {"schema": None, "lot": 300},
        {"public_images": np.zeros((3, 5, 5))},
        {"public_images": np.full((3, 8, 8), np.nan)},
        {"public_images": np.zeros((0, 8, 8))},
    ],
)
def test_settings_are_checked_before_anything_is_spent(change):
    ledger = Ledger(Budget(10.0, 1e-4))
    with pytest.raises(VoileError):
        classifier(ledger=ledger, **change).fit(*pictures(50))
    assert ledger.fraction_spent() == 0.0


def test_tables_that_are_no_images_are_refused():
    images, classes = pictures(50)
    with pytest.raises(DataError):
        classifier().fit(images[:, :5], classes)
    with pytest.raises(DataError):
        classifier().fit(images, None)
    category = Schema({"a": Category(["x"])}, target=Category(["lying", "standing"]))
    with pytest.raises(SettingError, match="category"):
        classifier(schema=category, image_shape=(1, 1), lot=0.5).fit({"a": ["x"]}, ["lying"])
    one = schema_of().with_target(Category(["lying"]))
    with pytest.raises(SchemaError):
        classifier(schema=one).fit(images, classes)


def test_rows_that_cannot_be_read_change_nothing():
    images, classes = pictures(100)
    flat = images.reshape(100, -1).astype(float)
    holes = np.vstack([flat, flat[:3]])
    holes[100:, 0] = np.nan
    labels = np.concatenate([classes, classes[:3]])
    given = {"epsilon": math.inf, "lot": 1.0, "steps": 3}
    one = classifier(**given).fit(np.vstack([flat, flat[:1]]), np.append(classes, "?"))
    other = classifier(**given).fit(holes, labels)
    # They are counted as rows; their gradients are nothing.
    assert np.isfinite(one.model_.weights).all()
    assert np.isfinite(other.model_.weights).all()


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tiny_tables_are_trained_on_noise(rows):
    images, classes = pictures(2)
    model = classifier().fit(images[:rows], classes[:rows])
    assert np.isfinite(model.predict_proba(images)).all()


def test_pictures_in_their_shape_need_no_words(tmp_path):
    X, y = pictures(60)
    classes = ["lying", "standing"]
    model = NetworkClassifier(epsilon=math.inf, classes=classes, steps=1, random_state=0)
    model.fit(X, y)
    assert model.image_shape is None
    assert model.model_.image_shape == (SIDE, SIDE)
    assert model.classes_.tolist() == classes
    again = voile.load(model.save(tmp_path / "m.voile"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(SettingError, match="or an array of pictures"):
        NetworkClassifier(epsilon=1.0).fit(X.reshape(len(X), -1), y)
