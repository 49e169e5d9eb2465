"""EBMClassifier and EBMRegressor: scikit-learn's manners, every table form, files and bad input."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    Ledger,
    Number,
    Schema,
    VoileError,
    load,
)
from voile.errors import BudgetExceeded, DataError, NothingFound, SchemaError, SettingError
from voile.privacy.noise import fixed_noise
from voile.privacy.public_rows import encode_public

# -- scikit-learn's own checks ---------------------------------------------------------------------

EMPTY = (
    "An error for an empty table would tell that it is empty, and the message that is asked for "
    "holds the exact number of rows."
)
WEIGHTS = {
    "check_all_zero_sample_weights_error": "Whether a fit fails may not depend on private weights.",
}

GRID = {
    "check_sample_weight_equivalence_on_dense_data": (
        "Sums are whole units of a grid, so that they are exact: equal to 1e-6, tested below."
    ),
}
EXPECTED_FAILURES = {
    "EBMClassifier": {
        **WEIGHTS,
        **GRID,
        "check_estimators_empty_data_messages": EMPTY,
        "check_classifiers_regression_target": (
            "Whether a target is refused may not depend on its values: classes come from the "
            "schema or from private discovery."
        ),
    },
    "EBMRegressor": {
        **WEIGHTS,
        **GRID,
        "check_estimators_empty_data_messages": EMPTY,
        "check_supervised_y_no_nan": (
            "Whether a fit fails may not depend on a value: an infinite target is moved to its "
            "bound, and a row without one is left out."
        ),
    },
}


# Without noise, because noise makes any two fits differ (check_fit_idempotent and others) and the
# tens of rows that these checks give teach nothing at a finite epsilon.
@parametrize_with_checks(
    [
        EBMClassifier(epsilon=math.inf, rounds=5, bins=4, largest_weight=8.0),
        EBMRegressor(epsilon=math.inf, rounds=5, bins=4, largest_weight=8.0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[type(estimator).__name__],
)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_manners_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [EBMClassifier, EBMRegressor])
def test_nothing_works_before_the_fit(estimator, tmp_path):
    model = estimator()
    for use in (
        lambda: model.predict([[1.0]]),
        lambda: model.receipt_,
        lambda: model.explain_global(),
        lambda: model.explain_local([[1.0]]),
        lambda: model.edit(),
        lambda: model.save(tmp_path / "x.json"),
        lambda: model.original(),
    ):
        with pytest.raises(NotFittedError):
            use()


# -- tables ----------------------------------------------------------------------------------------

ROWS = 3001
COLUMNS = {"age": Number(0, 100), "job": Category(["nurse", "clerk"]), "pay": Number(-5, 5)}
TARGETS = {EBMClassifier: Category(["no", "yes"]), EBMRegressor: Number(0, 10)}
KINDS = list(TARGETS)


def make_frame(kind, rows=ROWS):
    """Numbers, a category, missing values in both, values outside the bounds and the levels."""
    generator = np.random.default_rng(5)
    age = generator.uniform(-5, 105, rows).round(1)
    pay = generator.normal(size=rows)
    pay[::50] = np.nan
    job = generator.choice(["nurse", "clerk", "other one"], rows).astype(object)
    job[::70] = None
    score = np.clip(age, 0, 100) / 20 + (job == "nurse") + np.nan_to_num(pay)
    label = np.where(score > 3.2, "yes", "no") if kind is EBMClassifier else score
    return pd.DataFrame({"age": age, "job": job, "pay": pay, "label": label})


def schema_of(kind):
    return Schema(COLUMNS, target=TARGETS[kind])


def fit(kind, X, y, seed=3, **settings):
    settings = {"epsilon": 2.0, "schema": schema_of(kind), "rounds": 6} | settings
    with fixed_noise(seed):
        return kind(**settings).fit(X, y)


def numbers_of(model):
    record = model.model_
    parts = [
        np.concatenate([t.cuts, t.scores.ravel(), t.standard_errors.ravel(), t.counts])
        for t in record.terms
    ]
    return np.concatenate([record.intercept, *parts])


def outputs_of(model, X):
    return model.decision_function(X) if isinstance(model, EBMClassifier) else model.predict(X)


@pytest.fixture(scope="module")
def fitted():
    """One model of each kind, with its table."""
    result = {}
    for kind in KINDS:
        frame = make_frame(kind)
        result[kind] = fit(kind, frame[list(COLUMNS)], frame["label"]), frame
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_all_forms_of_a_table_give_the_same_model(kind, fitted, tmp_path):
    model, frame = fitted[kind]
    X, y = frame[list(COLUMNS)], frame["label"]
    path = tmp_path / "rows.parquet"
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, path, row_group_size=1000)
    polars = pl.from_arrow(table)
    unnamed = Schema({f"x{i}": c for i, c in enumerate(COLUMNS.values())}, target=TARGETS[kind])
    forms = {
        "pandas with target": (frame, "label"),
        "polars": (polars.drop("label"), polars["label"]),
        "polars with target": (polars, "label"),
        "pyarrow": (table.drop_columns("label"), table["label"]),
        "mapping": ({name: list(X[name]) for name in X}, list(y)),
        "parquet": (path, "label"),
        "parquet by text": (str(path), "label"),
    }
    expected = numbers_of(model)
    for name, (form, target) in forms.items():
        assert np.array_equal(numbers_of(fit(kind, form, target)), expected), name
    array = fit(kind, X.to_numpy(dtype=object), y.to_numpy(), schema=unnamed)
    assert np.array_equal(numbers_of(array), expected)
    answers = outputs_of(model, X)
    for form in (X, polars, table, forms["mapping"][0]):
        assert np.array_equal(outputs_of(model, form), answers)
    assert np.array_equal(outputs_of(array, X.to_numpy(dtype=object)), answers)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_unseen_values_are_predicted(kind, fitted):
    model, _ = fitted[kind]
    rows = {
        "age": [None, math.nan, -1e300, math.inf, "x", 50],
        "job": [None, "pilot", 7, "nurse", "", "clerk"],
        "pay": [None, 0.0, 1e9, -math.inf, math.nan, True],
    }
    assert np.isfinite(outputs_of(model, rows)).all()
    assert len(model.predict(rows)) == 6
    if kind is EBMRegressor:
        assert ((model.predict(rows) >= 0) & (model.predict(rows) <= 10)).all()
    else:
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_add_up_to_the_score(kind, fitted):
    model, frame = fitted[kind]
    X = frame[list(COLUMNS)].head(200)
    local = model.explain_local(X)
    values = np.asarray(local.values).reshape(200, len(model.model_.parts), -1)
    scores = model.model_.scores(encode_public(X, model.model_.schema))
    np.testing.assert_allclose(values.sum(axis=1) + model.model_.intercept, scores, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_an_edited_model_comes_back_from_its_file_bit_for_bit(kind, fitted, tmp_path):
    model, frame = fitted[kind]
    X = frame[list(COLUMNS)]
    edited = model.with_model(
        model.edit("me")
        .set("age", 0.1 + 0.2, between=(20, 41), why="known")
        .set("job", -1 / 3, levels="nurse")
    )
    assert not np.array_equal(outputs_of(edited, X), outputs_of(model, X))
    back = load(edited.save(tmp_path / "model.json"))
    assert type(back) is kind
    assert np.array_equal(outputs_of(back, X), outputs_of(edited, X))
    assert np.array_equal(outputs_of(back.original(), X), outputs_of(model, X))
    assert np.array_equal(back.predict(X), edited.predict(X))
    assert back.receipt_ == model.receipt_


@pytest.mark.parametrize("way", ["increasing", "decreasing"])
@pytest.mark.parametrize("kind", KINDS)
def test_monotone_columns_are_monotone(kind, way):
    X = make_frame(kind)[list(COLUMNS)]
    middle = (X["age"] - 50).abs() < 25  # neither rising nor falling
    y = np.where(middle, "yes", "no") if kind is EBMClassifier else np.where(middle, 9.0, 1.0)
    free = fit(kind, X, y)
    bound = fit(kind, X, y, monotone={"pay": way, "age": way})
    sign = 1 if way == "increasing" else -1
    for name in ("pay", "age"):
        assert (sign * np.diff(bound.model_[name].scores[:-1, 0]) >= -1e-12).all()
    assert (sign * np.diff(free.model_["age"].scores[:-1, 0])).min() < -0.1


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_the_receipt_guarantees_nothing(kind, fitted):
    _, frame = fitted[kind]
    model = kind(epsilon=math.inf, schema=schema_of(kind), rounds=3)
    model.fit(frame[list(COLUMNS)], frame["label"])
    assert not model.receipt_.has_guarantee
    assert "no guarantee" in str(model.receipt_)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_schema_everything_is_found(kind, fitted):
    _, frame = fitted[kind]
    model = fit(kind, frame[list(COLUMNS)], frame["label"], schema=None, epsilon=4.0)
    assert model.receipt_.epsilon <= 4.0
    assert list(model.feature_names_in_) == list(COLUMNS)
    assert model.score(frame[list(COLUMNS)], frame["label"]) > (0.8 if kind is EBMClassifier else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_published_algorithm_trains_too(kind, fitted):
    _, frame = fitted[kind]
    X, y = frame[list(COLUMNS)], frame["label"]
    settings = {"method": "cyclic", "epsilon": 8.0, "rounds": 100, "random_state": 1}
    model, again = (fit(kind, X, y, **settings) for _ in range(2))
    assert np.array_equal(numbers_of(model), numbers_of(again))
    assert model.receipt_.epsilon <= 8.0
    assert model.score(X, y) > (0.7 if kind is EBMClassifier else 0.2)


# -- more classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "least"), [(3, 0.6), (10, 0.3)])
def test_many_classes_beat_chance(classes, least):
    X, y = make_classification(
        20_000,
        n_features=8,
        n_informative=8,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=2,
    )
    schema = Schema({f"x{i}": Number(-8, 8) for i in range(8)}, target=Category(range(classes)))
    with fixed_noise(8):
        model = EBMClassifier(epsilon=4.0, schema=schema, rounds=12).fit(X[:15_000], y[:15_000])
    assert model.score(X[15_000:], y[15_000:]) > least
    probabilities = model.predict_proba(X[:50])
    assert probabilities.shape == (50, classes)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.decision_function(X[:50]).shape == (50, classes)
    contributions = model.model_.contributions({f"x{i}": X[:50, i] for i in range(8)})
    total = contributions.sum(axis=1) + model.model_.intercept
    np.testing.assert_allclose(total, model.decision_function(X[:50]), atol=1e-9)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"rounds": 0}, SettingError),
        ({"rounds": 2.5}, SettingError),
        ({"rounds": True}, SettingError),
        ({"rounds": "many"}, SettingError),
        ({"bins": 1}, SettingError),
        ({"bins": 5000}, SettingError),
        ({"method": "magic"}, SettingError),
        ({"monotone": {"age": "up"}}, SettingError),
        ({"monotone": {"job": "increasing"}}, SchemaError),
        ({"monotone": {"nobody": "increasing"}}, SchemaError),
        ({"epsilon": 0.0}, SettingError),
        ({"epsilon": -1.0}, SettingError),
        ({"epsilon": math.nan}, SettingError),
        ({"epsilon": "1"}, SettingError),
        ({"delta": 1.5}, SettingError),
        ({"epsilon": 3.0}, BudgetExceeded),
    ],
    ids=str,
)
def test_bad_settings_spend_nothing(kind, settings, error, fitted):
    _, frame = fitted[kind]
    ledger = Ledger(Budget(2.0, 1e-6))
    model = kind(**{"schema": schema_of(kind), "ledger": ledger} | settings)
    with pytest.raises(error):
        model.fit(frame[list(COLUMNS)], frame["label"])
    assert ledger.history() == ()
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("kind", KINDS)
def test_bad_tables_and_targets_spend_nothing(kind, fitted):
    _, frame = fitted[kind]
    X, y = frame[list(COLUMNS)], frame["label"]
    other = KINDS[1 - KINDS.index(kind)]
    for rows, target, schema in (
        (X, None, schema_of(kind)),
        (X, y[:-1], schema_of(kind)),
        (X, "nobody", schema_of(kind)),
        (X[["age"]], y, schema_of(kind)),
        (X["age"].to_numpy(), y, None),
        (X, y, schema_of(other)),
        (X, y, Schema({}, target=TARGETS[kind])),
    ):
        ledger = Ledger(Budget(2.0, 1e-6))
        with pytest.raises(VoileError):
            kind(schema=schema, ledger=ledger).fit(rows, target)
        assert ledger.history() == ()


def test_arrays_of_another_width_are_refused():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(500, 3)), generator.integers(0, 2, 500)
    schema = Schema({f"x{i}": Number(-3, 3) for i in range(3)}, target=Category([0, 1]))
    model = EBMClassifier(schema=schema, rounds=2).fit(X, y)
    for other in (X[:, :2], np.hstack([X, X])):
        with pytest.raises(DataError, match="features, but EBMClassifier is expecting 3"):
            model.predict(other)
    with pytest.raises(DataError, match="Reshape your data"):
        model.predict(X[0])
    # A schema may leave columns of an array out, by naming others.
    part = EBMClassifier(schema=schema.select(["x0", "x2"]), rounds=2).fit(X, y)
    assert np.array_equal(part.with_model(part.model_).predict(X), part.predict(X))
    with pytest.warns(DataConversionWarning):
        EBMClassifier(schema=schema, rounds=2).fit(X, y[:, None])


# -- tables with little in them --------------------------------------------------------------------


def odd_tables(kind):
    yes, no = ("yes", "no") if kind is EBMClassifier else (9.0, 1.0)
    return {
        "constant": ({"age": [50.0] * 40, "job": ["nurse"] * 40}, [yes, no] * 20),
        "missing": ({"age": [None] * 40, "job": [None] * 40}, [yes, no] * 20),
        "one target": ({"age": list(range(40)), "job": ["clerk"] * 40}, [yes] * 40),
        "no target": ({"age": list(range(40)), "job": ["clerk"] * 40}, [None] * 40),
        "strange target": ({"age": list(range(40)), "job": ["clerk"] * 40}, ["?"] * 40),
        "empty": ({"age": [], "job": []}, []),
        "one row": ({"age": [1.0], "job": ["nurse"]}, [yes]),
    }


ODD_SCHEMAS = {
    "full": {"age": Number(0, 100), "job": Category(["nurse", "clerk"])},
    "one level": {"age": Number(0, 100), "job": Category(["nurse"])},
    "one column": {"age": Number(0, 100)},
    "one category": {"job": Category(["nurse", "clerk"])},
    "to be found": {"age": Number(), "job": Category()},
}


@pytest.mark.parametrize("epsilon", [0.1, 3.0, math.inf])
@pytest.mark.parametrize("columns", ODD_SCHEMAS.values(), ids=ODD_SCHEMAS)
@pytest.mark.parametrize("kind", KINDS)
def test_odd_tables_fit(kind, columns, epsilon):
    schema = Schema(columns, target=TARGETS[kind])
    for name, (X, y) in odd_tables(kind).items():
        try:
            model = fit(kind, X, y, schema=schema, epsilon=epsilon, bins=4)
        except NothingFound:
            assert (kind, name) == (EBMClassifier, "strange target")
            continue
        answers = outputs_of(model, {"age": [None, 1.0, 99.0], "job": [None, "nurse", "x"]})
        assert np.isfinite(answers).all(), name
        assert np.isfinite(numbers_of(model)).all(), name


@pytest.mark.parametrize("name", odd_tables(EBMClassifier))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::voile.errors.GuessedTargetWarning")
def test_odd_tables_without_a_schema_fit_or_say_why(kind, name):
    X, y = odd_tables(kind)[name]
    for epsilon in (0.5, math.inf):
        try:
            model = fit(kind, X, y, schema=None, epsilon=epsilon, bins=4)
        except NothingFound:
            assert kind is EBMClassifier  # too few classes were found
        else:
            assert np.isfinite(numbers_of(model)).all()


# -- weights ---------------------------------------------------------------------------------------


def weighted_rows(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (count, 2))
    y = X[:, 0] ** 2 / 2 + rng.normal(0, 2, count)
    return X, y, rng.integers(0, 5, count).astype(float)


WEIGHTED = Schema({"a": Number(0, 10), "b": Number(0, 10)}, target=Number(0, 60))


@pytest.mark.parametrize("largest", [4.0, 9.0])
def test_a_weight_is_as_good_as_repeated_rows(largest):
    X, y, weight = weighted_rows()
    often = np.repeat(np.arange(len(X)), weight.astype(int))
    plain = EBMRegressor(epsilon=math.inf, schema=WEIGHTED).fit(X[often], y[often])
    model = EBMRegressor(epsilon=math.inf, schema=WEIGHTED, largest_weight=largest)
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=0, atol=1e-4)
    for weighed, counted in zip(model.model_.terms, plain.model_.terms, strict=True):
        np.testing.assert_allclose(weighed.counts, counted.counts, atol=1e-4)


def test_wild_weights_count_as_the_nearest_allowed_one():
    X, y, _ = weighted_rows()
    wild = np.tile([-1.0, math.nan, math.inf, 1e300, 1.0, 0.5], 500)
    tame = np.tile([0.0, 0.0, 2.0, 2.0, 1.0, 0.5], 500)
    first, second = (
        EBMRegressor(epsilon=math.inf, schema=WEIGHTED, largest_weight=2.0)
        .fit(X, y, sample_weight=weight)
        .predict(X)
        for weight in (wild, tame)
    )
    np.testing.assert_array_equal(first, second)


def test_noise_is_that_of_the_heaviest_row():
    X, y, weight = weighted_rows()
    errors = []
    for largest in (4.0, 40.0):
        model = EBMRegressor(epsilon=1.0, schema=WEIGHTED, largest_weight=largest)
        model.fit(X, y, sample_weight=weight)
        errors.append(model.model_.terms[0].count_errors[-1])
        assert model.receipt_.epsilon <= 1.0
    assert errors[1] == pytest.approx(10 * errors[0])


def test_weights_without_a_public_largest_one_are_warned_about():
    X, y, _ = weighted_rows()
    ones, tens = np.ones(len(X)), np.full(len(X), 10.0)
    with pytest.warns(UserWarning, match="largest_weight"):
        first = EBMRegressor(epsilon=math.inf, schema=WEIGHTED).fit(X, y, sample_weight=ones)
    with pytest.warns(UserWarning, match="count as 1"):
        second = EBMRegressor(epsilon=math.inf, schema=WEIGHTED).fit(X, y, sample_weight=tens)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("largest", [0.0, -1.0, math.inf, math.nan])
def test_the_largest_weight_is_a_positive_number(largest):
    X, y, weight = weighted_rows(50)
    ledger = Ledger(Budget(1.0, 1e-6))
    model = EBMRegressor(schema=WEIGHTED, ledger=ledger, largest_weight=largest)
    with pytest.raises(SettingError, match="largest_weight"):
        model.fit(X, y, sample_weight=weight)
    assert len(ledger.history()) == 0


def test_there_is_one_weight_per_row():
    X, y, weight = weighted_rows(50)
    with pytest.raises(DataError, match="one weight per row"):
        EBMRegressor(schema=WEIGHTED, largest_weight=4.0).fit(X, y, sample_weight=weight[:-1])
    with pytest.raises(DataError, match="In the weights"):
        EBMRegressor(schema=WEIGHTED, largest_weight=4.0).fit(X, y, sample_weight="w")


def test_weights_of_parquet_files_are_a_column_of_them(tmp_path):
    X, y, weight = weighted_rows(200)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "w": weight})
    frame.to_parquet(tmp_path / "rows.parquet")
    settings = {"epsilon": math.inf, "schema": WEIGHTED, "largest_weight": 4.0}
    on_disk = EBMRegressor(**settings).fit(tmp_path / "rows.parquet", "y", sample_weight="w")
    in_memory = EBMRegressor(**settings).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(on_disk.predict(X), in_memory.predict(X), rtol=1e-9)
    with pytest.raises(DataError, match="name of a column"):
        EBMRegressor(**settings).fit(tmp_path / "rows.parquet", "y", sample_weight=weight)
    with pytest.raises(DataError, match="no column 'v'"):
        EBMRegressor(**settings).fit(tmp_path / "rows.parquet", "y", sample_weight="v")
