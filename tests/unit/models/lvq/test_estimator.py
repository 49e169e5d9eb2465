"""GLVQ, GMLVQ and LVQ1 classifiers: scikit-learn's manners, receipts, settings, tables, answers."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from classified_table import COLUMNS, EXPECTED_FAILURES, FRAME, SCHEMA, X, Y
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from voile import (
    Budget,
    Category,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LVQ1Classifier,
    Number,
    Schema,
    Unit,
    VoileError,
    load,
)
from voile.errors import BudgetExceeded, DataError, NothingFound, SettingError
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.noise import fixed_noise

KINDS = [GLVQClassifier, GMLVQClassifier, LVQ1Classifier]

# -- scikit-learn's own checks ---------------------------------------------------------------------


# Without noise, because noise makes any two fits differ and the tens of rows that these checks give
# teach nothing at a finite epsilon.
@parametrize_with_checks(
    [GLVQClassifier(epsilon=math.inf)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_manners_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [GMLVQClassifier(epsilon=math.inf), LVQ1Classifier(epsilon=math.inf)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_relatives_have_the_same_manners(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_works_before_the_fit(kind, tmp_path):
    model = kind()
    for use in (
        lambda: model.predict([[1.0]]),
        lambda: model.decision_function([[1.0]]),
        lambda: model.confidence([[1.0]]),
        lambda: model.receipt_,
        lambda: model.distance_from_mean_,
        lambda: model.explain_global(),
        lambda: model.explain_local([[1.0]]),
        lambda: model.save(tmp_path / "x.json"),
    ):
        with pytest.raises(NotFittedError):
            use()


# -- tables ----------------------------------------------------------------------------------------


def fit(kind, rows=X, target=Y, seed=3, **settings):
    with fixed_noise(seed):
        return kind(**{"epsilon": 2.0, "schema": SCHEMA} | settings).fit(rows, target)


def numbers_of(model):
    record = model.model_
    names = ("prototypes", "prototype_errors", "labels", "means", "counts", "omega", "centre")
    return np.concatenate([np.ravel(getattr(record, name)) for name in names])


def blobs(classes=3, rows=1500, size=2, seed=0, spread=0.5):
    """Round heaps on a circle of radius 4, inside bounds of -8 and 8."""
    generator = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    angle = 2 * np.pi * np.arange(classes) / classes
    centres = np.zeros((classes, size))
    centres[:, 0], centres[:, 1] = 4 * np.cos(angle), 4 * np.sin(angle)
    schema = Schema({f"x{i}": Number(-8, 8) for i in range(size)}, target=Category(range(classes)))
    return centres[y] + generator.normal(0, spread, (rows, size)), y, schema


@pytest.fixture(scope="module")
def fitted():
    return {kind: fit(kind) for kind in KINDS}


def test_all_forms_of_a_table_give_the_same_model(fitted, tmp_path):
    kind = GMLVQClassifier
    path = tmp_path / "rows.parquet"
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    pq.write_table(table, path, row_group_size=700)
    polars = pl.from_arrow(table)
    unnamed = Schema({f"x{i}": c for i, c in enumerate(COLUMNS.values())}, target=SCHEMA.target)
    forms = {
        "pandas with target": (FRAME, "label"),
        "polars": (polars.drop("label"), polars["label"]),
        "pyarrow": (table.drop_columns("label"), table["label"]),
        "mapping": ({name: list(X[name]) for name in X}, list(Y)),
        "parquet": (path, "label"),
        "parquet by text": (str(path), "label"),
    }
    model = fitted[kind]
    for name, (form, target) in forms.items():
        assert np.array_equal(numbers_of(fit(kind, form, target)), numbers_of(model)), name
    array = fit(kind, X.to_numpy(dtype=object), Y.to_numpy(), schema=unnamed)
    assert np.array_equal(numbers_of(array), numbers_of(model))
    answers = model.decision_function(X)
    for form in (X, polars, table, forms["mapping"][0]):
        assert np.array_equal(model.decision_function(form), answers)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_unseen_values_are_predicted(kind, fitted):
    model = fitted[kind]
    rows = {
        "age": [None, math.nan, -1e300, math.inf, "x", 50],
        "job": [None, "pilot", 7, "nurse", "", "clerk"],
        "pay": [None, 0.0, 1e9, -math.inf, math.nan, True],
    }
    assert set(model.predict(rows)) <= {"no", "yes"}
    assert np.isfinite(model.decision_function(rows)).all()
    assert ((model.confidence(rows) >= 0) & (model.confidence(rows) <= 1)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns(kind, fitted):
    assert fitted[kind].score(X, Y) > 0.75
    rows, labels, schema = blobs()
    model = fit(kind, rows, labels, schema=schema, epsilon=1.0)
    assert model.score(rows, labels) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_prototypes_are_inside_their_columns(kind, fitted):
    for seed in range(3):
        model = fit(kind, seed=seed, epsilon=0.3)
        places = model.prototypes_
        assert places.shape == (2, 4)
        assert (places >= [0, 0, 0, -5]).all()
        assert (places <= [100, 1, 1, 5]).all()
        assert list(model.prototype_labels_) == ["no", "yes"]
        assert model.relevances_.shape == (4,)
        assert model.relevances_.sum() == pytest.approx(1.0)
        assert (model.distance_from_mean_ >= 0).all()


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_confidence_and_classes_agree(kind, classes):
    rows, labels, schema = blobs(classes, 4000, size=3, spread=1.5)
    model = fit(kind, rows, labels, schema=schema, epsilon=8.0)
    scores, answers = model.decision_function(rows), model.predict(rows)
    assert scores.shape == ((len(rows),) if classes == 2 else (len(rows), classes))
    assert (np.abs(scores) <= 1).all()
    chosen = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert np.array_equal(model.classes_[chosen], answers)
    confidence = model.confidence(rows)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    best = np.abs(scores) if classes == 2 else scores.max(axis=1)
    np.testing.assert_allclose(confidence, best, atol=1e-12)
    if classes > 2:
        # Nobody but the class that is predicted has a positive score.
        assert ((scores > 0).sum(axis=1) <= 1).all()
    assert model.score(rows, labels) > 1.5 / classes


@pytest.mark.parametrize("kind", KINDS)
def test_rows_at_a_prototype_are_certain(kind, fitted):
    rows, labels, schema = blobs()
    model = fit(kind, rows, labels, schema=schema)
    at = model.prototypes_
    assert np.array_equal(model.predict(at), model.prototype_labels_)
    np.testing.assert_allclose(model.confidence(at), 1.0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_unsure_answers_can_be_left_out(kind, fitted):
    model = fitted[kind]
    sure, plain = model.confidence(X), model.predict(X)
    for least in (0.0, 0.2, 0.5, 1.0):
        answers = model.predict(X, reject=least)
        assert answers.dtype == object
        left_out = np.array([one is None for one in answers])
        assert np.array_equal(left_out, sure < least)
        assert np.array_equal(answers[~left_out], plain[~left_out])
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(SettingError, match="reject"):
            model.predict(X, reject=wrong)


def test_a_row_as_near_to_both_is_nobodys():
    schema = Schema({"x": Number(-1, 1)}, target=Category(["a", "b"]))
    rows = {"x": [-0.5, 0.5] * 50}
    model = GLVQClassifier(epsilon=math.inf, schema=schema, typical=1.0).fit(rows, ["a", "b"] * 50)
    assert model.confidence({"x": [0.0]})[0] == pytest.approx(0.0, abs=1e-3)
    assert model.decision_function({"x": [0.0]})[0] == pytest.approx(0.0, abs=1e-3)


# -- prototypes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.5, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_typical_prototypes_are_the_class_means(kind, spread):
    """Of the rows clipped to the bounds, then to the ball around the centre."""
    rows, labels, schema = blobs(3, 900, size=3, spread=spread)
    rows[:5] = 50.0
    model = kind(epsilon=math.inf, schema=schema, typical=1.0).fit(rows, labels)
    gaps = np.clip(rows, -8, 8) / 8 - (centre := model.model_.centre)
    radius = math.sqrt((gaps**2).sum(axis=1).mean())  # the root mean square, as documented
    gaps *= np.minimum(1.0, radius / np.linalg.norm(gaps, axis=1))[:, None]
    means = np.array([8 * (centre + gaps[labels == one].mean(axis=0)) for one in range(3)])
    np.testing.assert_allclose(model.prototypes_, means, atol=8e-3)
    np.testing.assert_allclose(model.distance_from_mean_, 0.0, atol=1e-9)
    np.testing.assert_allclose(model.model_.counts, np.bincount(labels), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_typical_prototypes_are_the_exact_means_of_rows_inside_the_ball(kind):
    """Four rows of the same length around the middle: none is cut."""
    schema = Schema({"a": Number(-2, 2), "b": Number(-2, 2)}, target=Category(["u", "v"]))
    places = np.array([[1.0, 0.5], [0.5, 1.0], [-1.0, -0.5], [-0.5, -1.0]])
    rows, labels = np.tile(places, (50, 1)), np.tile(["u", "u", "v", "v"], 50)
    model = kind(epsilon=math.inf, schema=schema, typical=1.0).fit(rows, labels)
    means = np.array([rows[labels == one].mean(axis=0) for one in ("u", "v")])
    np.testing.assert_allclose(model.prototypes_, means, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_typicality_holds_prototypes_near_the_means(kind):
    rows, labels, schema = blobs(3, 1500, spread=3.0)
    far = [
        fit(kind, rows, labels, schema=schema, epsilon=8.0, typical=one).distance_from_mean_.mean()
        for one in (0.0, 0.9, 1.0)
    ]
    assert far[0] > far[1] > far[2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("mechanism", ["gaussian", "sgd"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_prototypes_is_what_was_asked_for(kind, mechanism):
    if kind is LVQ1Classifier and mechanism == "sgd":
        pytest.skip("has no cost to descend")
    rows, labels, schema = blobs(3, 1500)
    settings = {"schema": schema, "mechanism": mechanism, "epochs": 2, "rate": 0.1}
    if mechanism == "sgd":
        settings["epsilon"] = math.inf  # the search for the noise of samples takes seconds
    for asked, expected in (
        (1, [0, 1, 2]),
        (2, [0, 0, 1, 1, 2, 2]),
        (np.int64(2), [0, 0, 1, 1, 2, 2]),
        ({0: 1, 1: 3, 2: 2}, [0, 1, 1, 1, 2, 2]),
    ):
        model = fit(kind, rows, labels, prototypes_per_class=asked, random_state=1, **settings)
        assert list(model.prototype_labels_) == expected
        assert model.prototypes_.shape == (len(expected), 2)
        assert model.score(rows, labels) > 0.9
    model = fit(kind, rows, labels, prototypes_per_class="auto", **settings)
    assert set(model.prototype_labels_) == {0, 1, 2}


def test_the_seed_is_for_public_choices_alone():
    rows, labels, schema = blobs(3, 1500)
    settings = {"schema": schema, "prototypes_per_class": 3, "epsilon": 8.0}
    one, again, other = (
        fit(GLVQClassifier, rows, labels, random_state=s, **settings) for s in (1, 1, 2)
    )
    assert np.array_equal(numbers_of(one), numbers_of(again))
    assert not np.array_equal(numbers_of(one), numbers_of(other))
    free = [
        GLVQClassifier(random_state=1, **settings).fit(rows, labels).prototypes_ for _ in range(2)
    ]
    assert not np.array_equal(*free)  # noise is never seeded


# -- classes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [["no", "yes"], [0, 1], [7, -3], ["1", 1], [True, False], ["a", 2, 2.5, "b"], list(range(10))],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS)
def test_classes_come_back_as_they_were_given(kind, names, tmp_path):
    rows, codes, schema = blobs(len(names), 150 * len(names))
    labels = [names[code] for code in codes]
    model = fit(kind, rows, labels, schema=schema.with_target(Category(names)), epsilon=8.0)
    assert [*model.classes_] == names
    assert [type(one) for one in model.classes_.tolist()] == [type(one) for one in names]
    answers = model.predict(rows)
    right = [a == b and type(a) is type(b) for a, b in zip(answers.tolist(), labels, strict=True)]
    assert np.mean(right) > 0.9
    back = load(model.save(tmp_path / "m.json"))
    assert [type(one) for one in back.classes_.tolist()] == [type(one) for one in names]
    assert np.array_equal(back.predict(rows), answers)


def test_a_class_nobody_has_is_harmless():
    rows, labels, schema = blobs(2, 400)
    model = fit(GLVQClassifier, rows, labels, schema=schema.with_target(Category([0, 1, 2])))
    assert model.score(rows, labels) > 0.6
    assert np.isfinite(numbers_of(model)).all()


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_comes_back_from_its_file_bit_for_bit(kind, fitted, tmp_path):
    model = fitted[kind]
    back = load(model.save(tmp_path / "model.json"))
    assert type(back) is kind
    assert np.array_equal(numbers_of(back), numbers_of(model))
    for method in ("predict", "decision_function", "confidence"):
        assert np.array_equal(getattr(back, method)(X), getattr(model, method)(X))
    assert np.array_equal(back.prototypes_, model.prototypes_)
    assert np.array_equal(back.relevances_, model.relevances_)
    assert np.array_equal(back.distance_from_mean_, model.distance_from_mean_)
    assert back.receipt_ == model.receipt_
    assert back.model_.image_shape == model.model_.image_shape


# -- budget and receipt ----------------------------------------------------------------------------

UNKNOWN = Schema({"age": Number(), "job": Category(), "pay": Number()}, target=Category())


@pytest.mark.parametrize("schema", [SCHEMA, UNKNOWN, None], ids=["known", "unknown", "none"])
@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("kind", KINDS)
def test_the_receipt_adds_up(kind, relation, schema):
    ledger = Ledger(Budget(1.5, 1e-6), relation=relation)
    model = kind(epsilon=1.5, delta=1e-6, schema=schema, ledger=ledger).fit(X, Y)
    receipt = model.receipt_
    assert receipt.has_guarantee
    assert receipt.relation is relation
    assert receipt.epsilon <= 1.5
    assert receipt.epsilon == pytest.approx(1.5, rel=1e-5)
    events = [line.event for line in receipt.lines]
    assert compose(events, relation).epsilon(1e-6) == receipt.epsilon
    assert math.fsum(line.share for line in receipt.lines) == pytest.approx(1.0)
    assert [line.openings for line in receipt.lines] == [line.event.count for line in receipt.lines]
    assert len({line.label for line in receipt.lines}) == len(receipt.lines)
    spent = len(ledger.history())
    with pytest.raises(BudgetExceeded):
        kind(epsilon=0.1, delta=1e-6, schema=schema, ledger=ledger).fit(X, Y)
    assert len(ledger.history()) == spent
    assert ledger.spent().epsilon <= 1.5 * (1 + 1e-9)
    if schema is None:
        assert model.score(X, Y) > 0.6
        assert set(model.classes_) == {"no", "yes"}


@pytest.mark.parametrize("mechanism_steps", [1, 4])
def test_few_sampled_steps_are_enough(mechanism_steps):
    rows, labels, schema = blobs(2, 400)
    settings = {"mechanism": "sgd", "rate": 1.0, "epochs": mechanism_steps, "epsilon": math.inf}
    for kind in (GLVQClassifier, GMLVQClassifier):
        model = fit(kind, rows, labels, schema=schema, **settings)
        assert np.isfinite(numbers_of(model)).all()
        assert model.score(rows, labels) > 0.9


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_the_receipt_of_sampled_steps_adds_up(relation):
    ledger = Ledger(Budget(1.5, 1e-6), relation=relation)
    settings = {"delta": 1e-6, "schema": SCHEMA, "ledger": ledger, "epochs": 2, "rate": 0.5}
    model = GLVQClassifier(epsilon=1.5, mechanism="sgd", **settings).fit(X, Y)
    receipt = model.receipt_
    assert 1.4 < receipt.epsilon <= 1.5
    assert [line.openings for line in receipt.lines] == [line.event.count for line in receipt.lines]
    with pytest.raises(BudgetExceeded):
        GLVQClassifier(epsilon=0.5, **settings).fit(X, Y)
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_replaced_rows_need_twice_the_noise(kind):
    rows, labels, schema = blobs(3, 600)
    errors = {}
    for relation in NeighbouringRelation:
        ledger = Ledger(Budget(1.0, 1e-6), relation=relation)
        settings = {"schema": schema, "ledger": ledger, "typical": 1.0}
        model = fit(kind, rows, labels, epsilon=1.0, delta=1e-6, **settings)
        errors[relation] = np.median(model.model_.prototype_errors)
        assert model.receipt_.relation is relation
    assert errors[NeighbouringRelation.REPLACE_ONE] == pytest.approx(
        2 * errors[NeighbouringRelation.ADD_REMOVE], rel=0.3
    )


def test_noise_grows_with_the_rows_of_a_person():
    kind = GMLVQClassifier
    rows, labels, schema = blobs(3, 9000)
    frame = {"who": list(range(3000)) * 3, "x0": rows[:, 0], "x1": rows[:, 1]}
    errors = {}
    for most in (1, 3):
        of_people = Schema(dict(schema), target=schema.target, unit=Unit("who", most))
        model = kind(epsilon=2.0, schema=of_people, typical=1.0).fit(frame, labels)
        errors[most] = np.median(model.model_.prototype_errors)
        assert model.receipt_.epsilon <= 2.0
        rows_each = {1: "one row", 3: "3 rows"}[most]
        assert f"one who (at most {rows_each} each)" in model.receipt_.guarantee
        assert model.n_features_in_ == 2
    # Three times the rows are used, and three times the noise: much the same on a mean.
    assert errors[3] == pytest.approx(errors[1], rel=0.5)
    # The same rows all the same: the bound is for the person.
    other = Schema(dict(schema), target=schema.target, unit=Unit("who", 6))
    wider = kind(epsilon=2.0, schema=other, typical=1.0).fit(frame, labels)
    assert np.median(wider.model_.prototype_errors) > 1.5 * errors[3]


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_the_receipt_guarantees_nothing(kind):
    model = kind(epsilon=math.inf, schema=SCHEMA).fit(X, Y)
    assert not model.receipt_.has_guarantee
    assert "no guarantee" in str(model.receipt_)
    assert not model.model_.prototype_errors.any()
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize("typical", [0.2, 1.0])
def test_errors_are_those_of_repeated_fits(typical):
    """The stated standard deviation by the noise is no smaller than what repeated fits have."""
    rows, labels, schema = blobs(2, 1000)
    settings = {"schema": schema, "typical": typical, "epsilon": 1.0}
    fits = [fit(GLVQClassifier, rows, labels, seed, **settings).model_ for seed in range(30)]
    found = np.std([one.prototypes for one in fits], axis=0)
    stated = np.mean([one.prototype_errors for one in fits], axis=0)
    assert np.sqrt(np.mean(stated**2)) > 0.7 * np.sqrt(np.mean(found**2))


# -- refusals --------------------------------------------------------------------------------------

BAD_SETTINGS = [
    ({"epsilon": 0.0}, "epsilon"),
    ({"epsilon": -1.0}, "epsilon"),
    ({"epsilon": math.nan}, "epsilon"),
    ({"epsilon": "1"}, "epsilon"),
    ({"delta": 1.5}, "delta"),
    ({"delta": -0.1}, "delta"),
    ({"delta": "no"}, "delta"),
    *(({"prototypes_per_class": bad}, "prototypes_per_class") for bad in (0, -1, 101, 1.5, True)),
    ({"prototypes_per_class": "many"}, "prototypes_per_class"),
    ({"prototypes_per_class": [1, 2]}, "prototypes_per_class"),
    ({"prototypes_per_class": {}}, "prototypes_per_class"),
    ({"prototypes_per_class": {"no": 1}}, "'yes'"),
    ({"prototypes_per_class": {"no": 1, "yes": 2, "maybe": 1}}, "maybe"),
    ({"prototypes_per_class": {"no": 1, "yes": 0}}, "prototypes_per_class"),
    ({"mechanism": "magic"}, "mechanism"),
    ({"mechanism": None}, "mechanism"),
    ({"mechanism": ["sgd"]}, "mechanism"),
    *(({"typical": bad}, "typical") for bad in (-0.1, 1.1, math.nan, "very", True, None)),
    *(({"image_shape": bad}, "image_shape") for bad in ((4,), (0, 4), (2.0, 2), "4x1", 4, [2] * 3)),
    ({"image_shape": (2, 3)}, "6 pixels"),
    ({"image_shape": (1, 3)}, "4 features"),
    *(({"groups": bad}, "groups") for bad in (0, 1.5, "many", True)),
    *(({"rate": bad}, "rate") for bad in (0.0, 1.1, -1, math.nan, "slow", True)),
    *(({"epochs": bad}, "epochs") for bad in (0, 1.5, 10**6, "all", True)),
    *(({"clip": bad}, "clip") for bad in (0.0, 9.0, math.nan, math.inf, "short")),
    *(({"random_state": bad}, "random_state") for bad in ("seed", -1, 1.5, math.nan)),
]


@pytest.mark.parametrize(("settings", "said"), BAD_SETTINGS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_settings_spend_nothing_and_say_why(kind, settings, said):
    ledger = Ledger(Budget(2.0, 1e-5))
    settings = {"prototypes_per_class": 2} | settings
    model = kind(**{"schema": SCHEMA, "ledger": ledger, "epsilon": 2.0} | settings)
    with pytest.raises(SettingError, match=said) as caught:
        model.fit(X.head(50), Y.head(50))
    assert ledger.history() == ()
    assert not hasattr(model, "model_")
    # What is wrong, and what would be right.
    assert len(str(caught.value)) > 30


def test_a_picture_of_another_size_is_refused_before_bounds_are_found():
    """How many numbers there are is public, whatever their bounds."""
    ledger = Ledger(Budget(2.0, 1e-5))
    model = GLVQClassifier(image_shape=(2, 2), ledger=ledger)
    with pytest.raises(SettingError, match="image_shape"):
        model.fit(np.zeros((50, 3)), ["a", "b"] * 25)
    assert ledger.history() == ()


def test_mechanisms_that_do_not_fit_the_rule_are_refused():
    for kind, mechanism in (
        (LVQ1Classifier, "sgd"),
        (GMLVQClassifier, "sample_aggregate"),
        (GMLVQClassifier, "center_of_attention"),
    ):
        ledger = Ledger(Budget(2.0, 1e-5))
        with pytest.raises(SettingError, match=r"use (GLVQ|LVQ1)Classifier"):
            kind(mechanism=mechanism, schema=SCHEMA, ledger=ledger).fit(X, Y)
        assert ledger.history() == ()


def test_sampled_steps_are_refused_for_people_with_several_rows_before_anything_is_spent():
    rows, labels, schema = blobs(2, 200)
    frame = {"who": list(range(100)) * 2, "x0": rows[:, 0], "x1": rows[:, 1]}
    people = Schema(dict(schema), target=schema.target, unit=Unit("who", 2))
    ledger = Ledger(Budget(1.0, 1e-5))
    with pytest.raises(SettingError, match="rows"):
        GLVQClassifier(mechanism="sgd", schema=people, ledger=ledger, rate=1.0).fit(frame, labels)
    assert ledger.history() == ()


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_the_ledger_has_is_refused(kind):
    ledger = Ledger(Budget(2.0, 1e-5))
    with pytest.raises(BudgetExceeded):
        kind(epsilon=3.0, schema=SCHEMA, ledger=ledger).fit(X, Y)
    assert ledger.history() == ()


@pytest.mark.parametrize("kind", KINDS)
def test_bad_tables_and_targets_spend_nothing(kind):
    for rows, target, schema in (
        (X, None, SCHEMA),
        (X, Y[:-1], SCHEMA),
        (X, "nobody", SCHEMA),
        (X[["age"]], Y, SCHEMA),
        (X["age"].to_numpy(), Y, None),
        (X, Y, Schema(COLUMNS, target=Number(0, 1))),
        (X, Y, Schema({}, target=SCHEMA.target)),
        (X, Y, Schema(COLUMNS, target=Category(["yes"]))),
    ):
        ledger = Ledger(Budget(2.0, 1e-5))
        with pytest.raises(VoileError):
            kind(schema=schema, ledger=ledger).fit(rows, target)
        assert ledger.history() == ()


def test_arrays_of_another_width_are_refused():
    rows, labels, schema = blobs(2, 200, size=3)
    model = fit(GLVQClassifier, rows, labels, schema=schema)
    for other in (rows[:, :2], np.hstack([rows, rows])):
        with pytest.raises(DataError, match="features, but GLVQClassifier is expecting 3"):
            model.predict(other)


def test_one_class_found_is_told():
    with pytest.raises(NothingFound, match="two are needed"):
        GLVQClassifier(epsilon=2.0).fit(X, ["only"] * len(X))


# -- tables with little in them --------------------------------------------------------------------

ODD_TABLES = {
    "constant": ({"age": [50.0] * 40, "job": ["nurse"] * 40}, ["yes", "no"] * 20),
    "missing": ({"age": [None] * 40, "job": [None] * 40}, ["yes", "no"] * 20),
    "one target": ({"age": list(range(40)), "job": ["clerk"] * 40}, ["yes"] * 40),
    "no target": ({"age": list(range(40)), "job": ["clerk"] * 40}, [None] * 40),
    "strange target": ({"age": list(range(40)), "job": ["clerk"] * 40}, ["?"] * 40),
    "empty": ({"age": [], "job": []}, []),
    "one row": ({"age": [1.0], "job": ["nurse"]}, ["yes"]),
}
ODD_SCHEMAS = {
    "full": {"age": Number(0, 100), "job": Category(["nurse", "clerk"])},
    "one column": {"age": Number(0, 100)},
    "one level": {"job": Category(["nurse"])},
    "narrow": {"age": Number(0, 5e-324)},
    "wide": {"age": Number(-8e307, 8e307)},
    "to be found": {"age": Number(), "job": Category()},
    "levels to be found": {"job": Category()},
}


ODD_SETTINGS = (
    (GLVQClassifier, {"epsilon": 0.1}),
    (GMLVQClassifier, {"epsilon": 3.0, "prototypes_per_class": 2}),
    (LVQ1Classifier, {"epsilon": 9.0, "typical": 1.0}),
    (GMLVQClassifier, {"epsilon": math.inf}),
)


@pytest.mark.parametrize("columns", ODD_SCHEMAS.values(), ids=ODD_SCHEMAS)
def test_odd_tables_fit_or_say_why(columns, tmp_path):
    schema = Schema(columns, target=Category(["no", "yes"]))
    for name, (rows, target) in ODD_TABLES.items():
        for kind, settings in ODD_SETTINGS:
            try:
                model = fit(kind, rows, target, schema=schema, **settings)
            except NothingFound:
                assert not schema.known or name in ("no target", "strange target"), name
                continue
            answers = model.decision_function({"age": [None, 1.0, 99.0], "job": [None, "nurse", 1]})
            assert np.isfinite(answers).all(), (name, settings)
            assert np.isfinite(numbers_of(model)).all(), (name, settings)
            load(model.save(tmp_path / "m.json"))


@pytest.mark.parametrize("name", ODD_TABLES)
def test_odd_tables_without_a_schema_fit_or_say_why(name):
    rows, target = ODD_TABLES[name]
    for epsilon in (0.5, math.inf):
        try:
            model = fit(GMLVQClassifier, rows, target, schema=None, epsilon=epsilon)
        except NothingFound:
            assert name != "constant" or epsilon < 1  # too few classes or no levels were found
        else:
            assert np.isfinite(numbers_of(model)).all()


def test_the_metric_does_not_look_at_what_cannot_differ():
    """The levels of a category add up to 1 in every row: no scatter, and nothing to see."""
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 2, 4000)
    frame = pd.DataFrame(
        {
            "size": labels * 2.0 + draws.normal(0, 0.5, 4000),
            "ward": draws.choice(["A", "B", "C"], 4000),
        }
    )
    schema = Schema(
        {"size": Number(-2, 5), "ward": Category(["A", "B", "C"])}, target=Category([0, 1])
    )
    model = fit(GMLVQClassifier, frame, labels, 0, schema=schema, epsilon=4.0)
    assert model.model_.omega.shape == (3, 4)
    assert np.abs(model.model_.omega @ [0, 1, 1, 1]).max() < 1e-9
    assert model.relevances_[0] > 0.8
    assert model.score(frame, labels) > 0.95


def test_several_prototypes_of_a_very_wide_table_part(monkeypatch):
    """Beyond some features no matrix of products is released; prototypes must differ anyway."""
    monkeypatch.setattr("voile.models.lvq.settings.MOST_FEATURES_OF_METRIC", 1)
    model = fit(GLVQClassifier, epsilon=4.0, prototypes_per_class=2)
    labels, places = model.model_.labels, model.model_.prototypes
    for number in np.unique(labels):
        first, second = places[labels == number]
        assert np.linalg.norm(first - second) > 1e-3
    assert model.score(X, Y) > 0.6
