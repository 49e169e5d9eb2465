"""Maps that learn from a teacher: its receipt, no access to private rows, much the same answers."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from explained_models import make_receipt

from voile import (
    Budget,
    Category,
    EBMClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    Schema,
    load,
    protect,
)
from voile.errors import DataError, SettingError, VoileError
from voile.models.locally_linear.teacher import ROWS_GIVEN_AS_PUBLIC
from voile.privacy.noise import fixed_noise
from voile.privacy.sources.source import RowSource

SCHEMA = Schema({"a": Number(-3, 3), "b": Number(-3, 3)}, target=Category(["no", "yes"]))
QUICK = {"steps": 100, "random_state": 0}


def make_rows(rows=600, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(generator.uniform(-3, 3, (rows, 2)), columns=["a", "b"])


def column_of(X, name):
    return np.asarray(X[name], dtype=float)


class Teacher:
    """Answers by a rule, and says what its training cost."""

    classes_ = np.array(["no", "yes"])
    model_ = SimpleNamespace(schema=SCHEMA)

    def __init__(self, receipt=None, **more):
        self.asked = 0
        if receipt is not None:
            self.receipt_ = receipt
        for name, value in more.items():
            setattr(self, name, value)

    def predict_proba(self, X):
        self.asked += 1
        odds = 4 * column_of(X, "a") - 3 * column_of(X, "b")
        yes = 1 / (1 + np.exp(-odds))
        return np.column_stack([1 - yes, yes])


class Answers(Teacher):
    """Gives whatever a test likes."""

    def __init__(self, give):
        super().__init__(make_receipt())
        self.give = give

    def predict_proba(self, X):
        return self.give(len(column_of(X, "a")))


@pytest.fixture(scope="module")
def trained():
    """A private teacher of this library."""
    rows = make_rows(4000, 3)
    labels = np.where(rows["a"] > rows["b"], "yes", "no")
    with fixed_noise(1):
        return EBMClassifier(epsilon=4.0, schema=SCHEMA).fit(rows, labels)


@pytest.fixture(autouse=True)
def nobody_looks(monkeypatch, request):
    """No private row is summed over while a student learns."""
    if "trained" in request.fixturenames:
        request.getfixturevalue("trained")  # which looked, beforehand

    def refuse(*args, **kwargs):
        raise AssertionError("a private row was looked at")

    monkeypatch.setattr(RowSource, "total", refuse)
    monkeypatch.setattr(RowSource, "keep", refuse)
    monkeypatch.setattr(RowSource, "tally", refuse)


# -- what comes out --------------------------------------------------------------------------------


def test_the_student_agrees_with_its_teacher():
    teacher = Teacher(make_receipt())
    student = LocallyLinearClassifier(**QUICK).learn_from(
        teacher, make_rows(), rows_are_public=True
    )
    fresh = make_rows(500, 9)
    assert list(student.classes_) == ["no", "yes"]
    agreed = teacher.classes_[teacher.predict_proba(fresh).argmax(axis=1)]
    assert (student.predict(fresh) == agreed).mean() > 0.93
    chances = [one.predict_proba(fresh)[:, 1] for one in (student, teacher)]
    assert np.corrcoef(*chances)[0, 1] > 0.9
    assert student.model_.taught_by == "Teacher"
    assert not student.model_.weight_errors.any()


def test_the_receipt_is_the_teachers_and_no_ledger_is_touched(trained, tmp_path):
    ledger = Ledger(Budget(0.1, 1e-9))
    model = LocallyLinearClassifier(epsilon=0.05, delta=1e-9, ledger=ledger, **QUICK)
    student = model.learn_from(trained, make_rows(), rows_are_public=True)
    assert student is model
    noted = replace(trained.receipt_, notes=(ROWS_GIVEN_AS_PUBLIC,))
    assert student.receipt_ == noted
    assert ledger.history() == ()
    assert ledger.spent().epsilon == 0
    back = load(student.save(tmp_path / "m.json"))
    assert back.receipt_ == noted
    assert back.model_.taught_by == "EBMClassifier"
    fresh = make_rows(50, 7)
    assert np.array_equal(back.predict_proba(fresh), student.predict_proba(fresh))
    assert (student.predict(fresh) == trained.predict(fresh)).mean() > 0.85


@pytest.mark.parametrize("name", ["receipt_", "receipt"])
def test_a_receipt_is_found_under_either_name(name):
    receipt = make_receipt()
    teacher = Teacher(**{name: receipt})
    assert LocallyLinearClassifier(**QUICK).learn_from(teacher).receipt_ is receipt


def test_a_teacher_without_a_guarantee_has_students_without_one():
    receipt = replace(make_receipt(), epsilon=math.inf)
    student = LocallyLinearClassifier(epsilon=0.1, **QUICK).learn_from(
        Teacher(receipt), make_rows(), rows_are_public=True
    )
    assert not student.receipt_.has_guarantee


def test_the_same_seed_gives_the_same_student():
    teacher = Teacher(make_receipt())
    one, again, other = (
        LocallyLinearClassifier(steps=20, maps=3, random_state=seed)
        .learn_from(teacher, make_rows(), rows_are_public=True)
        .linear_maps_
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_student_of_a_student_keeps_the_receipt():
    receipt = make_receipt()
    first = LocallyLinearClassifier(**QUICK).learn_from(
        Teacher(receipt), make_rows(), rows_are_public=True
    )
    second = LocallyLinearClassifier(**QUICK).learn_from(first, make_rows(), rows_are_public=True)
    assert second.receipt_ == replace(receipt, notes=(ROWS_GIVEN_AS_PUBLIC,))
    fresh = make_rows(300, 5)
    assert (first.predict(fresh) == second.predict(fresh)).mean() > 0.9


def test_teachers_of_pictures():
    generator = np.random.default_rng(0)
    pictures = generator.uniform(0, 1, (300, 6, 6))

    class Above:
        receipt_ = make_receipt()

        def predict_proba(self, X):
            high = np.asarray(X).reshape(-1, 6, 6)
            odds = 20 * (high[:, :3].mean(axis=(1, 2)) - high[:, 3:].mean(axis=(1, 2)))
            return np.column_stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])

    pixels = Schema({f"x{k}": Number(0, 1) for k in range(36)})
    student = LocallyLinearClassifier(image_shape=(6, 6), maps=2, schema=pixels, **QUICK)
    student.learn_from(Above(), pictures, rows_are_public=True)
    assert list(student.classes_) == [0, 1]  # by number, if the teacher does not name them
    agreed = Above().predict_proba(pictures).argmax(axis=1)
    assert (student.predict(pictures) == agreed).mean() > 0.8
    assert np.array_equal(student.predict(pictures), student.predict(pictures.reshape(-1, 36)))
    assert student.linear_maps_.shape == (2, 2, 36)


# -- made-up rows ----------------------------------------------------------------------------------


def test_rows_are_made_up_from_the_schema(trained, monkeypatch):
    from voile.models.locally_linear import teacher as module

    monkeypatch.setattr(module, "MADE_UP_ROWS", 700)
    seen = []
    teacher = Teacher(make_receipt())
    original = teacher.predict_proba
    teacher.predict_proba = lambda X: seen.append(X) or original(X)
    student = LocallyLinearClassifier(schema=SCHEMA, **QUICK).learn_from(teacher)
    (made,) = seen
    assert set(made) == {"a", "b"}
    for values in made.values():
        assert len(values) == 700
        assert -3 <= values.min() < -2.5
        assert 2.5 < values.max() <= 3
    fresh = make_rows(300, 5)
    agreed = np.array(["no", "yes"])[original(fresh).argmax(axis=1)]
    assert (student.predict(fresh) == agreed).mean() > 0.93
    # The teacher's own schema will do, too.
    student = LocallyLinearClassifier(**QUICK).learn_from(trained)
    assert (student.predict(fresh) == trained.predict(fresh)).mean() > 0.85


def test_made_up_categories_are_the_listed_ones():
    schema = Schema({"a": Number(0, 1), "c": Category(["u", 1, False])})
    receipt = make_receipt()

    class ByLevel:
        receipt_ = receipt
        classes_ = ("x", "y", "z")

        def predict_proba(self, X):
            assert {(type(one), one) for one in X["c"]} == {(str, "u"), (int, 1), (bool, False)}
            return np.eye(3)[[["u", 1, False].index(one) for one in X["c"]]]

    student = LocallyLinearClassifier(schema=schema, **QUICK).learn_from(ByLevel())
    rows = {"a": [0.5, 0.5, 0.5], "c": ["u", 1, False]}
    assert student.predict(rows).tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"schema": Schema({"a": Number(), "b": Number(0, 1)})},
        {"schema": Schema({"a": Number(0, 1), "b": Category()})},
    ],
    ids=str,
)
@pytest.mark.parametrize("given", [False, True])
def test_without_a_complete_schema_nothing_is_learned(settings, given):
    """Neither from made-up rows nor from given ones: bounds and levels are never read off them."""
    teacher = Teacher(make_receipt(), model_=None)
    rows = (make_rows(),) if given else ()
    with pytest.raises(SettingError, match="complete schema"):
        LocallyLinearClassifier(**QUICK, **settings).learn_from(
            teacher, *rows, rows_are_public=given
        )
    assert teacher.asked == 0


def test_pictures_are_not_made_up():
    teacher = Teacher(make_receipt())
    with pytest.raises(SettingError, match="made up"):
        LocallyLinearClassifier(image_shape=(1, 2), **QUICK).learn_from(teacher)
    assert teacher.asked == 0


def test_no_name_bound_or_level_is_read_off_rows():
    """Rows beyond the schema's bounds and levels, and with more columns, leave it as it is."""
    schema = Schema({"a": Number(0, 1), "b": Number(-3, 3), "c": Category(["u", "v"])})
    rows = {
        "a": np.array([0.0, 7.0, math.nan, 3.0] * 50),
        "b": np.ones(200),
        "c": ["u", "v", None, "secret"] * 50,
        "secret column": np.arange(200),
    }
    teacher = Teacher(make_receipt())
    teacher.predict_proba = lambda X: np.tile([0.3, 0.7], (200, 1))
    model = LocallyLinearClassifier(schema=schema, **QUICK)
    student = model.learn_from(teacher, rows, rows_are_public=True)
    assert student.model_.schema == schema.with_target(Category(["no", "yes"]))
    np.testing.assert_allclose(student.predict_proba(rows)[:, 1], 0.7, atol=0.1)


# -- whose rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [{}, {"rows_are_public": False}, {"rows_are_public": "yes"}])
def test_rows_that_nobody_called_public_are_refused(said):
    teacher = Teacher(make_receipt())
    model = LocallyLinearClassifier(**QUICK)
    with pytest.raises(SettingError, match="rows_are_public=True"):
        model.learn_from(teacher, make_rows(), **said)
    assert teacher.asked == 0
    assert not hasattr(model, "model_")


def test_the_receipt_says_that_rows_were_given_as_public(tmp_path):
    teacher = Teacher(make_receipt())
    student = LocallyLinearClassifier(**QUICK).learn_from(
        teacher, make_rows(), rows_are_public=True
    )
    assert student.receipt_.notes == (ROWS_GIVEN_AS_PUBLIC,)
    page = student.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "about rows that were given as public" in page
    assert LocallyLinearClassifier(**QUICK).learn_from(teacher).receipt_.notes == ()


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("receipt", [None, "epsilon 1", {"epsilon": 1.0}, 1.0])
def test_a_teacher_without_a_receipt_is_refused(receipt):
    teacher = Teacher(receipt)
    model = LocallyLinearClassifier(**QUICK)
    with pytest.raises(SettingError, match="receipt"):
        model.learn_from(teacher, make_rows(), rows_are_public=True)
    assert teacher.asked == 0
    assert not hasattr(model, "model_")


def test_a_teacher_that_is_not_fitted_is_refused():
    with pytest.raises(VoileError, match="receipt"):
        LocallyLinearClassifier(**QUICK).learn_from(
            EBMClassifier(), make_rows(), rows_are_public=True
        )


def test_private_rows_are_refused():
    teacher = Teacher(make_receipt())
    table = protect(make_rows(), schema=SCHEMA.with_target(None))
    with pytest.raises(DataError, match="public"):
        LocallyLinearClassifier(**QUICK).learn_from(teacher, table)
    assert teacher.asked == 0


def test_a_teacher_without_probabilities_is_refused():
    class Silent:
        receipt_ = make_receipt()

    with pytest.raises(SettingError, match="predict_proba"):
        LocallyLinearClassifier(schema=SCHEMA, **QUICK).learn_from(
            Silent(), make_rows(), rows_are_public=True
        )


BAD_ANSWERS = {
    "one column": lambda n: np.ones((n, 1)),
    "flat": lambda n: np.ones(n),
    "three axes": lambda n: np.full((n, 2, 1), 0.5),
    "negative": lambda n: np.tile([-0.5, 1.5], (n, 1)),
    "not a number": lambda n: np.full((n, 2), np.nan),
    "infinite": lambda n: np.full((n, 2), np.inf),
    "sums": lambda n: np.full((n, 2), 0.6),
    "another number of classes": lambda n: np.full((n, 4), 0.25),
    "rows left out": lambda n: np.full((n - 1, 2), 0.5),
    "none": lambda n: np.zeros((0, 2)),
}


@pytest.mark.parametrize("give", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_answers_that_are_no_probabilities_are_refused(give):
    model = LocallyLinearClassifier(**QUICK)
    with pytest.raises(VoileError):
        model.learn_from(Answers(give), make_rows(), rows_are_public=True)
    assert not hasattr(model, "model_")


def test_bad_settings_are_refused_before_the_teacher_is_asked():
    teacher = Teacher(make_receipt())
    with pytest.raises(SettingError, match="maps"):
        LocallyLinearClassifier(maps=0).learn_from(teacher, make_rows(), rows_are_public=True)
    assert teacher.asked == 0


def test_a_failed_lesson_leaves_the_model_as_it_was():
    model = LocallyLinearClassifier(**QUICK).learn_from(
        Teacher(make_receipt()), make_rows(), rows_are_public=True
    )
    before = model.predict_proba(make_rows())
    with pytest.raises(VoileError):
        model.learn_from(Answers(BAD_ANSWERS["sums"]), make_rows(), rows_are_public=True)
    assert np.array_equal(model.predict_proba(make_rows()), before)


def test_what_a_student_cannot_do_is_refused_or_done():
    """A projection that was asked for is not forgotten without a word."""
    rows, teacher = make_rows(), Teacher(make_receipt())
    model = LocallyLinearClassifier(projection=1, shared_projection=True, maps=3, **QUICK)
    try:
        model.learn_from(teacher, rows, rows_are_public=True)
    except SettingError:
        return
    assert np.linalg.matrix_rank(model.linear_maps_.reshape(-1, 2), tol=1e-9) == 1
