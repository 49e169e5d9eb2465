"""Classes that an estimator declares, and the positive one of two."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

import voile
from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
)
from voile.errors import NothingFound, SchemaError, SettingError
from voile.models.classes import declare_classes
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.filterwarnings("ignore::voile.errors.GuessedTargetWarning")

KINDS = (EBMClassifier, GLVQClassifier, GMLVQClassifier, LVQ1Classifier, LocallyLinearClassifier)
COLUMNS = Schema({"x0": Number(-4, 4), "x1": Number(-4, 4)})


def make(rows=2_000, classes=(0, 1)):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    return X, np.array(classes)[(X[:, 0] + 0.5 * rng.normal(size=rows) > 0).astype(int)]


def fit(kind, y=None, epsilon=8.0, **settings):
    X, told = make()
    settings.setdefault("schema", COLUMNS)
    if kind is LocallyLinearClassifier:  # calibrating sampled accesses takes long
        epsilon, settings = math.inf, {**settings, "steps": 20, "random_state": 0}
    with fixed_noise(1):
        return clone(kind(epsilon=epsilon, **settings)).fit(X, told if y is None else y)


@pytest.mark.parametrize("kind", KINDS)
def test_classes_need_no_schema_and_no_budget(kind):
    model = fit(kind, classes=[0, 1])
    assert model.classes_.tolist() == [0, 1]
    assert model.model_.schema.target == Category([0, 1])
    assert not any("levels" in line.label for line in model.receipt_.lines)
    X, y = make()
    assert (model.predict(X) == y).mean() > 0.8
    assert model.get_params()["classes"] == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [[0, 1], None])
def test_pages_speak_of_the_positive_class_and_scikit_learn_of_sorted_ones(kind, classes, tmp_path):
    usual, other = fit(kind, classes=[0, 1]), fit(kind, classes=classes, positive=0)
    X, y = make()
    assert other.model_.classes == (1, 0)
    assert other.classes_.tolist() == [0, 1]
    assert (other.predict(X) == y).mean() > 0.8
    # As for scikit-learn: a positive score is the last class, whose probability is the last column.
    decided = other.decision_function(X)
    np.testing.assert_array_equal(other.predict(X), np.where(decided > 0, 1, 0))
    assert roc_auc_score(y, decided) > 0.85
    if hasattr(other, "predict_proba"):
        assert roc_auc_score(y, other.predict_proba(X)[:, 1]) > 0.85
        np.testing.assert_allclose(other.predict_proba(X).sum(axis=1), 1.0)
    if kind is EBMClassifier:
        assert other.explain_global().outputs == ("0",)
        assert usual.explain_global().outputs == ("1",)
        told = other.explain_global().compare("x0", (-4.0, -1.0), (1.0, 4.0))
        assert told.differences[0] > 0  # for 0, which small values have
    else:
        assert hasattr(other.explain_global(), "outputs")
    again = voile.load(other.save(tmp_path / "m.voile"))
    assert again.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(again.decision_function(X), decided)
    assert again.get_params()["positive"] == 0


def test_prototypes_keep_their_classes():
    model = fit(GLVQClassifier, classes=[0, 1], positive=0)
    for point, label in zip(model.prototypes_, model.prototype_labels_, strict=True):
        assert (point[0] > 0) == (label == 1)


def test_scores_of_scikit_learn_are_of_the_right_class():
    X, y = make()
    model = EBMClassifier(epsilon=20.0, schema=COLUMNS, classes=[0, 1], positive=0, rounds=2)
    model.ledger = Ledger(Budget(500.0, 1e-5))
    assert cross_val_score(model, X, y, cv=2, scoring="roc_auc").min() > 0.85


def test_edits_and_copies_keep_the_order():
    model = fit(EBMClassifier, classes=[0, 1], positive=0)
    edited = model.with_model(model.edit("me").drop("x1"))
    assert edited.classes_.tolist() == [0, 1]
    X, y = make()
    assert roc_auc_score(y, edited.decision_function(X)) > 0.85


def test_truth_values_and_words():
    X, _ = make()
    y = X[:, 0] > 0
    model = fit(EBMClassifier, y, classes=[False, True], positive=True)
    assert model.explain_global().outputs == ("True",)
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    words = fit(EBMClassifier, pd.Series(np.where(y, "yes", "no")), classes=["yes", "no"])
    assert words.classes_.tolist() == ["yes", "no"]
    positive = fit(EBMClassifier, np.where(y, "yes", "no"), positive="yes", classes=["yes", "no"])
    assert positive.classes_.tolist() == ["no", "yes"]
    assert positive.explain_global().outputs == ("yes",)
    assert (positive.predict(frame) == np.where(y, "yes", "no")).mean() > 0.9


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"classes": ["a", "b"], "positive": "c"}, SettingError, "one of two"),
        ({"classes": [0, 1, 2], "positive": 1}, SettingError, "one of two"),
        ({"classes": [0]}, SchemaError, "at least two"),
        ({"classes": []}, SchemaError, "at least two"),
        ({"classes": [0, 0]}, SettingError, "more than once"),
        ({"classes": [0, None]}, SettingError, "'classes' cannot be"),
        ({"classes": "ab"}, SettingError, "'classes' cannot be"),
        ({"classes": {0, 1}}, SettingError, "'classes' cannot be"),
        ({"classes": 2}, SettingError, "'classes' cannot be"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_is_refused_before_paying(kind, settings, error, match):
    X, y = make(100)
    ledger = Ledger(Budget(2.0, 1e-6))
    with pytest.raises(error, match=match) as caught:
        kind(epsilon=1.0, schema=COLUMNS, ledger=ledger, **settings).fit(X, y)
    assert "\n" not in str(caught.value)
    assert ledger.spent().epsilon == 0


def test_classes_and_schema_must_agree():
    schema = COLUMNS.with_target(Category([1, 0]))
    assert fit(EBMClassifier, schema=schema, classes=[0, 1]).model_.classes == (1, 0)
    with pytest.raises(SettingError, match="not those of the schema's target"):
        fit(EBMClassifier, schema=schema, classes=["no", "yes"])
    assert declare_classes(None, [0, 1], None) == Category([0, 1])
    assert declare_classes(Category([0, 1]), None, True) == Category([0, 1])


def test_a_positive_class_that_was_not_found_gives_the_rest_back():
    ledger = Ledger(Budget(8.0, 1e-6))
    with pytest.raises(NothingFound, match="'positive' class 5") as caught:
        fit(EBMClassifier, epsilon=2.0, positive=5, ledger=ledger)
    assert "the rest was not spent" in str(caught.value)
    assert ledger.remaining().epsilon > 7
    # Noise that drowns the classes makes none that was hoped for.
    with pytest.raises(NothingFound):
        fit(EBMClassifier, epsilon=1e-3, positive=5, ledger=ledger)


def test_regressions_have_no_classes():
    assert "classes" not in EBMRegressor().get_params()
    assert math.isclose(EBMRegressor().epsilon, 1.0)


@pytest.mark.parametrize("kind", [EBMClassifier, GLVQClassifier])
def test_of_found_classes_yes_is_the_positive_one(kind):
    words = np.where(make()[1] == 1, "Ja", "Nein")
    assert fit(kind, words).model_.schema.target == Category(["Nein", "Ja"])
    assert fit(kind, words, positive="Nein").model_.schema.target == Category(["Ja", "Nein"])
    # What somebody lists stands as listed.
    listed = fit(kind, words, classes=["Ja", "Nein"]).model_.schema.target
    assert listed == Category(["Ja", "Nein"])
