"""A misspelt class stops training after the first look, and the rest of the budget stays."""

import math
import re

import numpy as np
import pytest

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
from voile.errors import NothingFound
from voile.models.target_look import stop_if_fewer, stop_if_unlisted
from voile.privacy.noise import fixed_noise

COLUMNS = {"a": Number(-4, 4), "b": Number(-4, 4)}
KINDS = (EBMClassifier, GLVQClassifier, GMLVQClassifier, LVQ1Classifier)


def make(rows=4_000):
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=rows), "b": rng.normal(size=rows)}
    return X, np.where(X["a"] + rng.normal(size=rows) > 0, "Yes", "No")


def fit(kind, ledger, classes, y=None, epsilon=1.0, **settings):
    X, told = make()
    schema = Schema(COLUMNS, target=Category(classes))
    with fixed_noise(2):
        return kind(epsilon=epsilon, schema=schema, ledger=ledger, **settings).fit(
            X, told if y is None else y
        )


@pytest.mark.parametrize("whole", [1.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_class_costs_a_look_and_no_more(kind, whole):
    ledger = Ledger(Budget(whole, 1e-6))
    with pytest.raises(NothingFound) as caught:
        fit(kind, ledger, ["no", "yes"])
    text = str(caught.value)
    assert "\n" not in text
    assert "have none of the classes 'no', 'yes'" in text
    assert re.search(r"of about (3,[89]|4,[01])\d\d rows, about (3,[789]|4,[01])\d\d have", text)
    assert "the rest was not spent" in text
    # Of mu^2, of which the budget is made, nearly all is left: the look is a part of one percent
    # (EBM), or a few of the whole (LVQ, whose class means say it).
    assert ledger.remaining().epsilon > 0.75 * whole
    assert ledger.spent().epsilon < 0.6
    ledger.verify()
    left = ledger.remaining().epsilon
    model = fit(kind, ledger, ["No", "Yes"], epsilon=0.99 * left)
    assert model.classes_.tolist() == ["No", "Yes"]
    assert ledger.spent().epsilon <= whole
    ledger.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_one_misspelt_class_of_two_stops_it_too(kind):
    _, y = make()
    with pytest.raises(NothingFound, match="'no', 'yes'"):
        fit(kind, Ledger(Budget(3.0, 1e-6)), ["no", "yes"], np.where(y == "No", "no", y))


@pytest.mark.parametrize("kind", KINDS)
def test_some_unlisted_rows_do_not_stop_it(kind):
    _, y = make()
    y = y.astype(object)
    y[:400] = "Perhaps"
    y[400:800] = None
    model = fit(kind, Ledger(Budget(3.0, 1e-6)), ["No", "Yes"], y)
    assert model.receipt_.epsilon <= 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_models_and_receipts_do_not_depend_on_how_they_are_paid(kind):
    own = fit(kind, None, ["No", "Yes"])
    shared = fit(kind, Ledger(Budget(5.0, 1e-6)), ["No", "Yes"])
    X, _ = make()
    np.testing.assert_array_equal(own.decision_function(X), shared.decision_function(X))
    assert own.receipt_.lines == shared.receipt_.lines
    assert own.receipt_.epsilon == shared.receipt_.epsilon


def test_without_a_ledger_it_stops_as_well():
    with pytest.raises(NothingFound, match="check their spelling"):
        fit(EBMClassifier, None, ["no", "yes"])


def test_pictures_stop_where_their_classes_are_counted():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (600, 8, 8)).astype(np.uint8)
    y = np.where(rng.random(600) < 0.5, "Cat", "Dog")
    schema = Schema({f"x{i}": Number(0, 255) for i in range(64)}, target=Category(["cat", "dog"]))
    model = LocallyLinearClassifier(
        epsilon=math.inf, schema=schema, image_shape=(8, 8), steps=2, copies=False, maps=1
    )
    with pytest.raises(NothingFound, match="'cat', 'dog'"):
        model.fit(X, y)


LEVELS = ["no", "yes"]


@pytest.mark.parametrize(
    ("listed", "unlisted", "error", "stops"),
    [
        ([10.0, 20.0], 9_990.0, 15.0, True),
        ([10.0, 20.0], 60.0, 50.0, False),  # noise
        ([4_000.0, 5_000.0], 1_000.0, 15.0, False),
        ([4_000.0, 900.0], 5_200.0, 15.0, True),
        ([4_990.0, 0.0], 3_000.0, 15.0, True),  # one class has no rows
        ([4_990.0, 0.0], 50.0, 15.0, False),  # but hardly any row has another
        ([0.0, 0.0], 0.0, 15.0, False),
        ([-30.0, -10.0], 500.0, 15.0, True),
        ([5.0, 5.0], 11.0, 0.0, True),
        ([5.0, 5.0], 0.0, 0.0, False),
    ],
)
def test_the_decision_is_a_function_of_released_counts(listed, unlisted, error, stops):
    def decide():
        stop_if_unlisted(LEVELS, np.array(listed), unlisted, error, error)

    if stops:
        with pytest.raises(NothingFound):
            decide()
    else:
        decide()


def test_rows_without_a_target_are_no_misspelt_class():
    # Where they cannot be told apart, only nearly all of them stop a training.
    stop_if_fewer(LEVELS, np.array([600.0, 500.0]), 4_000.0, 5.0, 5.0)
    stop_if_fewer(LEVELS, np.array([0.0, 0.0]), 10.0, 0.0, 0.0)
    with pytest.raises(NothingFound):
        stop_if_fewer(LEVELS, np.array([6.0, 5.0]), 4_000.0, 5.0, 5.0)
