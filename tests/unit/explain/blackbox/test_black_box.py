"""Models of every kind, well-behaved and hostile, asked about public rows."""

import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from voile import Category, EBMClassifier, EBMRegressor, Number, Schema
from voile.errors import ModelError, SettingError
from voile.explain.blackbox.rows.black_box import BATCH_ROWS
from voile.explain.blackbox.rows.given_model import read_model
from voile.explain.blackbox.rows.given_rows import read_rows

X = np.random.default_rng(0).normal(size=(200, 3))
SIGN = np.where(X[:, 0] > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.5, 0.5]) * 10


def test_probabilities_of_two_classes():
    model = LogisticRegression().fit(X, SIGN)
    box = read_model(model)
    assert box.outputs == ("yes",)
    assert box.classes == ("no", "yes")
    assert box.receipt is None
    answers = box.ask(X, len(X))
    assert answers.dtype == np.float64
    np.testing.assert_allclose(answers[:, 0], 2 * model.predict_proba(X)[:, 1] - 1, atol=1e-12)
    first = read_model(model, output="no")
    assert first.outputs == ("no",)
    np.testing.assert_allclose(first.ask(X, len(X)), -answers, atol=1e-12)


def test_many_classes_one_versus_rest():
    model = RandomForestClassifier(5, random_state=0).fit(X, THREE)
    box = read_model(model)
    assert box.outputs == ("0", "10", "20")
    assert np.allclose(box.ask(X, 200), 2 * model.predict_proba(X) - 1)
    assert read_model(model, output=20).outputs == ("20",)
    assert read_model(model, output=1).outputs == ("10",)  # no label, so a position
    labels = read_model(model, scores="labels").ask(X, 200)
    assert set(labels.ravel()) == {-1.0, 1.0}
    assert (labels.argmax(axis=1) * 10 == model.predict(X)).all()
    for output in ("20", 3, -1, 2.5):
        with pytest.raises(SettingError, match="no 'output'"):
            read_model(model, output=output)


def test_a_model_without_probabilities_gives_labels():
    model = LinearSVC().fit(X, SIGN)
    answers = read_model(model).ask(X, 200)
    assert ((answers[:, 0] > 0) == (model.predict(X) == "yes")).all()
    with pytest.raises(SettingError, match="predict_proba"):
        read_model(model, scores="probabilities")


def test_a_classifier_that_does_not_name_its_classes():
    class Nameless:
        def predict_proba(self, rows):
            return np.full((len(rows), 3), 1 / 3)

        predict = predict_proba

    box = read_model(Nameless(), output=2)
    with pytest.raises(SettingError, match="ask it"):
        _ = box.outputs
    assert box.ask(X, 5).shape == (5, 1)
    assert box.outputs == ("2",)
    with pytest.raises(SettingError, match="classes_"):
        read_model(Nameless(), scores="labels")


def test_a_regressor_is_scaled_from_public_bounds():
    model = LinearRegression().fit(X, 10 * X[:, 0])
    with pytest.raises(SettingError, match="output_range"):
        read_model(model)
    with pytest.raises(SettingError, match="output_range"):
        read_model(model, target=Number())
    expected = np.clip(model.predict(X) / 10, -1, 1)[:, None]
    for settings in ({"output_range": (-10, 10)}, {"target": Number(-10, 10)}):
        box = read_model(model, **settings)
        np.testing.assert_allclose(box.ask(X, 200), expected, atol=1e-12)
        assert box.outputs == ("output",)
    several = RandomForestRegressor(3).fit(X, X[:, :2])
    box = read_model(several, output_range=(-3, 3))
    assert box.ask(X, 200).shape == (200, 2)
    assert box.outputs == ("output 0", "output 1")
    for wrong in ((1, 0), (0, math.inf), 3, (1, 2, 3), ("a", "b"), (None, None)):
        with pytest.raises(SettingError, match="two finite numbers"):
            read_model(model, output_range=wrong)


def test_functions():
    box = read_model(lambda rows: np.tanh(rows[:, 0]))
    with pytest.raises(SettingError, match="ask it"):
        box.ask(X, 0)
    np.testing.assert_allclose(box.ask(X, 200)[:, 0], np.tanh(X[:, 0]))
    assert box.outputs == ("output",)
    assert box.ask(X, 0).shape == (0, 1)
    with pytest.raises(SettingError, match="output_range"):
        read_model(lambda rows: rows[:, 0] * 100).ask(X, 200)
    box = read_model(lambda rows: (rows > 0).astype("float32"), output_range=(0, 1), output=2)
    assert (box.ask(X, 200)[:, 0] == np.where(X[:, 2] > 0, 1, -1)).all()
    assert box.outputs == ("output 2",)
    with pytest.raises(SettingError, match="positions 0 to 2"):
        read_model(lambda rows: np.tanh(rows), output=3).ask(X, 200)
    series = read_model(lambda rows: rows["a"] > 0, output_range=(0, 1))
    assert series.ask(pd.DataFrame({"a": [1, -1]}), 2)[:, 0].tolist() == [1, -1]


def test_rows_come_in_order_and_in_batches():
    seen = []

    def model(rows):
        seen.append(len(rows))
        return rows[:, 0]

    many = np.linspace(-1, 1, 2 * BATCH_ROWS + 5)[:, None]
    np.testing.assert_allclose(read_model(model).ask(many, len(many)), many, atol=1e-12)
    assert seen == [BATCH_ROWS, BATCH_ROWS, 5]


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((3, 2)),
        pd.DataFrame({"a": [1.0, 1, 1]}),
        pl.DataFrame({"a": [1.0, 1, 1]}),
        pl.DataFrame({"a": [1.0, 1, 1]}).to_arrow(),
        {"a": np.ones(3), "b": [1, 1, 1]},
        [[1, 1], [1, 1], [1, 1]],
        [{"a": 1}, {"a": 1}, {"a": 1}],
        ["good film", "bad", ""],
    ],
)
def test_a_model_may_change_its_rows(rows):
    before = repr(rows)

    def model(batch):
        count = 3
        if isinstance(batch, np.ndarray):
            batch[:] = 7
        elif isinstance(batch, pd.DataFrame):
            batch.loc[:, "a"] = 7
            batch["new"] = 1
        elif isinstance(batch, dict):
            batch["a"][:] = 7
            batch["b"][0] = 7
        elif isinstance(batch, list):
            if not isinstance(batch[0], str):
                batch[0][next(iter(batch[0])) if isinstance(batch[0], dict) else 0] = 7
            batch.clear()
        return np.zeros(count)

    assert (read_model(model).ask(rows, 3) == 0).all()
    assert repr(rows) == before


HOSTILE = [
    (lambda rows: np.zeros(len(rows) + 1), "shape"),
    (lambda rows: np.zeros((len(rows), 2, 2)), "shape"),
    (lambda rows: 0.5, "shape"),
    (lambda rows: np.zeros((len(rows), 0)), "shape"),
    (lambda rows: np.full(len(rows), np.nan), "NaN or infinite"),
    (lambda rows: np.full(len(rows), np.inf), "NaN or infinite"),
    (lambda rows: ["a"] * len(rows), "not numbers"),
    (lambda rows: None, "not numbers|NaN|shape"),
    (lambda rows: 1 / 0, "The model failed on rows like those of the table: ZeroDivisionError"),
]


@pytest.mark.parametrize(("model", "message"), HOSTILE)
def test_hostile_functions(model, message):
    with pytest.raises(SettingError, match=message):
        read_model(model).ask(X, 20)


def test_a_long_message_is_cut():
    def model(rows):
        raise ValueError("long " * 1000)

    with pytest.raises(SettingError) as caught:
        read_model(model).ask(X, 20)
    assert len(str(caught.value)) < 1000


def test_hostile_classifiers():
    class Changing:
        def __init__(self, *widths):
            self.widths = list(widths)

        def predict_proba(self, rows):
            return np.full((len(rows), self.widths.pop(0)), 0.5)

    box = read_model(Changing(3, 2))
    box.ask(X, 5)
    with pytest.raises(SettingError, match="3 classes, and answered with 2"):
        box.ask(X, 5)
    with pytest.raises(SettingError, match="knows 1 class"):
        read_model(Changing(1)).ask(X, 5)
    named = Changing(3)
    named.classes_ = np.array([0, 1])
    with pytest.raises(SettingError, match="2 classes, and answered with 3"):
        read_model(named).ask(X, 5)
    named.predict_proba = lambda rows: np.full((len(rows), 2), 1.5)
    with pytest.raises(SettingError, match="outside 0 to 1"):
        read_model(named).ask(X, 5)
    named.predict_proba = lambda rows: np.zeros(len(rows))
    with pytest.raises(SettingError, match="shape"):
        read_model(named).ask(X, 5)
    named.predict = lambda rows: ["a"]
    with pytest.raises(SettingError, match="shape"):
        read_model(named, scores="labels").ask(X, 5)
    named.classes_ = np.array([0])
    with pytest.raises(SettingError, match="knows 1 class"):
        read_model(named)
    outputs = iter([1, 2])
    box = read_model(lambda rows: np.zeros((len(rows), next(outputs))))
    box.ask(X, 5)
    with pytest.raises(SettingError, match="1 outputs, and answered with 2"):
        box.ask(X, 5)


class Network:
    """Looks like one of torch."""

    def __call__(self, rows):
        return rows


Network.__module__ = "torch.nn.modules"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(), "not fitted"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "not fitted"),
        (LogisticRegression, "no model"),
        (5, "no model"),
        (None, "no model"),
        (Network(), "give a function of rows"),
        (MultiOutputClassifier(LogisticRegression()).fit(X, THREE[:, None] % [3, 7]), "several"),
    ],
)
def test_what_cannot_be_asked(model, message):
    with pytest.raises(SettingError, match=message):
        read_model(model)


def test_settings_that_do_not_fit():
    model = LogisticRegression().fit(X, SIGN)
    with pytest.raises(SettingError, match="output_range"):
        read_model(model, output_range=(0, 1))
    with pytest.raises(SettingError, match="scores"):
        read_model(model, scores="odds")
    with pytest.raises(SettingError, match="scores"):
        read_model(lambda rows: rows, scores="labels")


def test_models_of_this_library(tmp_path):
    schema = Schema({"a": Number(-3, 3), "b": Number(-3, 3), "c": Number(-3, 3)})
    frame = pd.DataFrame(X, columns=list("abc"))
    classes = schema.with_target(Category(["no", "yes"]))
    model = EBMClassifier(epsilon=5.0, schema=classes).fit(frame, SIGN)
    for one in (model, model.save(tmp_path / "model.voile"), str(tmp_path / "model.voile")):
        box = read_model(one)
        assert box.receipt == model.receipt_
        assert box.names_read == ("a", "b", "c")
        assert box.outputs == ("yes",)
        expected = 2 * model.predict_proba(frame)[:, 1] - 1
        np.testing.assert_allclose(box.ask(frame, 200)[:, 0], expected, atol=1e-12)
    numbers = schema.with_target(Number(-3, 3))
    regressor = EBMRegressor(epsilon=5.0, schema=numbers).fit(frame, X[:, 0])
    answers = read_model(regressor).ask(frame, 200)  # its own schema has the bounds
    np.testing.assert_allclose(answers[:, 0], regressor.predict(frame).clip(-3, 3) / 3, atol=1e-12)
    with pytest.raises(ModelError):
        read_model(tmp_path / "nothing")


def test_rebuilt_rows_make_no_warnings():
    frame = pd.DataFrame(X, columns=list("abc")).assign(unread="text")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame[["b", "a"]], SIGN)
    schema = Schema({"a": Number(-9, 9), "b": Number(-9, 9)})
    box = read_model(model)
    _, _, given = read_rows(frame, schema=schema, names_read=box.names_read)
    rows = given.rebuild(given.encode(frame, schema), 200, schema)
    expected = 2 * model.predict_proba(frame[["b", "a"]])[:, 1] - 1
    np.testing.assert_allclose(box.ask(rows, 200)[:, 0], expected, atol=1e-12)


def test_another_model_has_another_fingerprint():
    model = LogisticRegression().fit(X, SIGN)
    mark = read_model(model).fingerprint(X, 200)
    assert mark == read_model(model).fingerprint(X, 200)
    assert len(mark) == 16
    assert all(re.fullmatch(r"-?\d\.\d{1,4}", repr(value)) for (value,) in mark)
    other = LogisticRegression(C=0.01).fit(X, SIGN)
    assert mark != read_model(other).fingerprint(X, 200)
