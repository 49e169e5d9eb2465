"""A first try gives a model, however small or odd the table; what is refused costs nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from voile import (
    Budget,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
)
from voile.errors import GuessedTargetWarning, NothingFound, SchemaError
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.filterwarnings("ignore::voile.errors.GuessedTargetWarning")

RNG = np.random.default_rng(0)
CLASSIFIERS = {
    "EBM": lambda **settings: EBMClassifier(rounds=2, **settings),
    "GLVQ": GLVQClassifier,
    "LVQ1": LVQ1Classifier,
    "maps": lambda **settings: LocallyLinearClassifier(steps=3, **settings),
}


def mixed(rows):
    return pd.DataFrame(
        {"a": RNG.normal(size=rows), "b": RNG.choice(["x", "y"], rows), "c": np.ones(rows)}
    )


ODD = {
    "no rows": (mixed(0), np.zeros(0, int)),
    "one row": (mixed(1), np.ones(1, int)),
    "five rows": (mixed(5), np.arange(5)),
    "one class": (mixed(300), np.zeros(300, int)),
    "all missing": (mixed(300).assign(a=np.nan, b=None), np.arange(300) % 2),
    "a constant": (mixed(300)[["c"]], np.arange(300) % 2),
    "nothing but codes": (pd.DataFrame({"t": [f"v{i}" for i in range(300)]}), np.arange(300) % 2),
    "infinite": (mixed(50).assign(a=np.inf), np.arange(50) % 2),
}


SOME = ["EBM", "GLVQ", "LVQ1", pytest.param("maps", marks=pytest.mark.slow)]


@pytest.mark.parametrize("odd", list(ODD))
@pytest.mark.parametrize("family", SOME)
def test_a_fit_that_has_paid_gives_a_model_that_answers_and_explains(family, odd):
    X, y = ODD[odd]
    model = CLASSIFIERS[family](epsilon=1).fit(X, y)
    assert len(model.classes_) >= 2
    asked = mixed(3)[["c"]] if odd == "a constant" else mixed(3).assign(t="v1")
    assert set(model.predict(asked)) <= set(model.classes_)
    assert str(model.explain_global())
    assert str(model.explain_local(asked))


@pytest.mark.parametrize("family", ["EBM", "GLVQ", "LVQ1"])
def test_rows_that_clearly_have_other_classes_stop_a_training_and_the_rest_is_kept(family):
    ledger = Ledger(Budget(2))
    with fixed_noise(1), pytest.raises(NothingFound, match="have none of the classes") as stopped:
        CLASSIFIERS[family](epsilon=1, ledger=ledger).fit(mixed(3000), 100 + np.arange(3000))
    assert "the rest was not spent" in str(stopped.value)
    assert ledger.fraction_spent() < 0.2  # of 0.28


@pytest.mark.parametrize("odd", [name for name, (X, _) in ODD.items()])
def test_regressions_do_too(odd):
    X, y = ODD[odd]
    model = EBMRegressor(epsilon=1, rounds=2).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("family", list(CLASSIFIERS))
def test_a_table_without_columns_is_refused_before_paying(family):
    ledger = Ledger(Budget(1))
    with pytest.raises(SchemaError, match="no columns"):
        CLASSIFIERS[family](ledger=ledger).fit(mixed(9)[[]], np.arange(9) % 2)
    assert not ledger.history()


def test_breast_cancer_at_epsilon_one_without_a_schema():
    X, y = load_breast_cancer(return_X_y=True)
    with fixed_noise(1):
        model = EBMClassifier(epsilon=1).fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert not any("classes" in note for note in model.receipt_.notes)


def test_a_model_of_guesses_says_so_where_it_is_seen():
    X, y = load_iris(return_X_y=True)
    with fixed_noise(1):
        model = EBMClassifier(epsilon=0.01, rounds=1).fit(X, y)
    (guessed,) = [note for note in model.receipt_.notes if "guessed, not found" in note]
    assert guessed in model._repr_html_().replace("&#39;", "'")
    assert guessed in str(model.receipt_)


def test_the_bounds_of_a_target_are_found_among_many_columns():
    X, y = load_diabetes(return_X_y=True)
    with fixed_noise(1):
        model = EBMRegressor(epsilon=2, rounds=1).fit(np.hstack([X, X, X]), y)
    target = model.model_.schema.target
    assert target.lower <= 64
    assert target.upper >= 256


def test_guesses_of_what_is_predicted_warn():
    few = {"a": np.arange(12.0)}
    schema = Schema({"a": Number(0, 12)})
    with pytest.warns(GuessedTargetWarning, match="Give the classes"):
        EBMClassifier(epsilon=0.5, schema=schema, rounds=1).fit(few, np.arange(12) % 2)
    with pytest.warns(GuessedTargetWarning, match="Bounds of the target"):
        EBMRegressor(epsilon=0.5, schema=schema, rounds=1).fit(few, np.arange(12.0))


def test_a_warning_that_is_an_error_loses_nothing_that_was_paid():
    model = EBMClassifier(epsilon=0.5, schema=Schema({"a": Number(0, 12)}), rounds=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GuessedTargetWarning)
        with pytest.raises(GuessedTargetWarning):
            model.fit({"a": np.arange(12.0)}, np.arange(12) % 2)
    assert model.receipt_.notes
    assert len(model.predict({"a": [1.0]})) == 1
