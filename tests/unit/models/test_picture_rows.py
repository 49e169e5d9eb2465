"""Arrays of three or four dimensions are pictures, without further words."""

import math

import numpy as np
import pytest

import voile
from voile import (
    Budget,
    Category,
    EBMClassifier,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
)
from voile.errors import DataError, SettingError
from voile.models.pixels import infer_shape

KINDS = (LocallyLinearClassifier, GLVQClassifier, GMLVQClassifier, LVQ1Classifier)


def make(shape=(6, 5), rows=120, dtype=np.uint8):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    pictures = rng.integers(0, 120, (rows, *shape))
    pictures[:, : shape[0] // 2] += 100 * y.reshape(-1, *[1] * len(shape))
    scaled = pictures if dtype == np.uint8 else pictures / 255
    return scaled.astype(dtype), y


def settings_of(kind):
    few = {"steps": 5, "copies": False, "maps": 2} if kind is LocallyLinearClassifier else {}
    return {"epsilon": math.inf, "random_state": 0, "classes": [0, 1], **few}


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_need_no_words(kind, tmp_path):
    X, y = make()
    model = kind(**settings_of(kind)).fit(X, y)
    assert model.image_shape is None  # a parameter stays as it was given
    assert model.model_.image_shape == (6, 5)
    assert model.n_features_in_ == 30
    assert (model.predict(X) == y).mean() > 0.9
    said = kind(image_shape=(6, 5), **settings_of(kind)).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), said.predict(X))
    if kind is LocallyLinearClassifier:  # bounds of LVQ's flat tables are found one by one
        np.testing.assert_array_equal(model.decision_function(X), said.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), model.predict(X.reshape(len(X), -1)))
    np.testing.assert_array_equal(model.predict(X), model.predict(X[..., np.newaxis]))
    assert model.explain_local(X[:2]).image_shape == (6, 5)
    again = voile.load(model.save(tmp_path / "m.voile"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.report(tmp_path / "r.html", rows=X[:1]).exists()
    assert model.score_private(X, y, epsilon=math.inf)["accuracy"].value > 0.8
    # A second fit on a table is of a table.
    flat = model.fit(X.reshape(len(X), -1).astype(float), y)
    assert flat.model_.image_shape is None


def test_types_say_the_range():
    X, y = make()
    for kind in (LocallyLinearClassifier, GLVQClassifier):
        model = kind(**settings_of(kind)).fit(X, y)
        assert set(model.model_.schema.values()) == {Number(0, 255)}


def test_channels():
    X, y = make((4, 4, 3))
    model = LocallyLinearClassifier(**settings_of(LocallyLinearClassifier)).fit(X, y)
    assert model.model_.image_shape == (4, 4, 3)
    one, y = make((4, 4, 1), dtype=np.float64)
    model = LocallyLinearClassifier(**settings_of(LocallyLinearClassifier)).fit(one, y)
    assert model.model_.image_shape == (4, 4)
    assert model.predict(one[..., 0]).shape == y.shape


@pytest.mark.parametrize(
    ("kind", "shape", "settings", "error", "match"),
    [
        (GLVQClassifier, (4, 4, 3), {}, SettingError, "image_shape"),
        (GLVQClassifier, (2, 2, 2, 2), {}, DataError, "dimensions"),
        (LocallyLinearClassifier, (2, 2, 2, 2), {}, DataError, "dimensions"),
        (LocallyLinearClassifier, (4, 4), {"image_shape": (4, 5)}, DataError, "shape"),
        (EBMClassifier, (4, 4), {}, DataError, "3 dimensions"),
    ],
)
def test_what_cannot_be_is_refused_before_paying(kind, shape, settings, error, match):
    X, y = make(shape)
    ledger = Ledger(Budget(2.0, 1e-6))
    with pytest.raises(error, match=match) as caught:
        kind(epsilon=1.0, ledger=ledger, **settings).fit(X, y)
    assert "\n" not in str(caught.value)
    assert ledger.spent().epsilon == 0


def test_a_schema_of_another_number_of_pixels_is_refused():
    X, y = make()
    schema = Schema({f"x{i}": Number(0, 255) for i in range(29)}, target=Category([0, 1]))
    with pytest.raises((DataError, SettingError)):
        LocallyLinearClassifier(epsilon=1.0, schema=schema).fit(X, y)


def test_shapes_are_read_off_arrays_alone():
    assert infer_shape(np.zeros((3, 4, 5))) == (4, 5)
    assert infer_shape(np.zeros((3, 4, 5, 1))) == (4, 5)
    assert infer_shape(np.zeros((3, 4, 5, 3))) == (4, 5, 3)
    assert infer_shape(np.zeros((3, 4))) is None
    assert infer_shape([[[1]]]) is None
    assert infer_shape(None) is None
