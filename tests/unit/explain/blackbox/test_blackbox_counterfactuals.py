"""What would have to change for another answer of any model, from a bought summary."""

import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from voile import Category, Number, PrivateExplainer, Schema
from voile.errors import DataError, SettingError
from voile.explain.counterfactuals.record import Counterfactuals
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

ROWS = 1500
SCHEMA = Schema(
    {
        "age": Number(18, 90, whole=True, missing=False),
        "dose": Number(0, 20),
        "ward": Category(["A", "B", "C"]),
        "visits": Number(0, 30, whole=True, missing=False),
    }
)


def people(count=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 91, count),
            "dose": rng.gamma(2.0, 2.0, count).clip(0, 20),
            "ward": rng.choice(["A", "B", "C"], count, p=[0.6, 0.3, 0.1]),
            "visits": rng.poisson(4, count).clip(0, 30),
        }
    )


def risk(frame):
    return frame["age"] / 25 + (frame["dose"] > 6) + 2 * (frame["ward"] == "C") - 3


X = people()
RISK = risk(X)
Y = np.where(RISK + np.random.default_rng(1).logistic(0, 0.4, ROWS) > 0, "ill", "well")
THREE = np.where(RISK > 0.8, "ill", np.where(RISK > -0.8, "fair", "well"))
ASKED = people(6, 5)


def prepared(model):
    encode = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    return make_pipeline(encode, model)


@pytest.fixture(scope="module")
def explainers():
    """One explainer per kind of model, of one summary."""
    draw = pytest.MonkeyPatch()
    from voile.explain.blackbox.synthetic.summary import PaidSummary

    draw.setattr(PaidSummary.draw, "__defaults__", (None, 2000))
    forest = prepared(RandomForestClassifier(10, max_depth=5, random_state=0)).fit(X, Y)
    with fixed_noise(7):
        first = PrivateExplainer(forest, X, schema=SCHEMA, epsilon=4)
    draw.undo()
    three = prepared(LogisticRegression(max_iter=2000)).fit(X, THREE)
    number = prepared(LinearRegression()).fit(X, RISK)
    svm = prepared(LinearSVC(random_state=0)).fit(X, Y)
    return {
        "two": (forest, first),
        "three": (three, first.with_model(three)),
        "one of three": (three, first.with_model(three, output="ill")),
        "labels": (svm, first.with_model(svm)),
        "number": (number, first.with_model(number, output_range=(-4, 4))),
    }


CASES = [
    ("two", None),
    ("two", "well"),
    ("two", ">= 0.8"),
    ("two", {"ill": ">= 60 %"}),
    ("three", None),
    ("three", "fair"),
    ("three", {"ill": "<= 0.1"}),
    ("one of three", "ill"),
    ("labels", None),
    ("number", -0.5),
    ("number", (0.0, 0.3)),
]


def meets(model, want, row, changed, name):
    """Whether a model's own answer for a changed row is what is wanted."""
    if name == "number":
        value, was = float(model.predict(changed)[0]), float(model.predict(row)[0])
        if isinstance(want, tuple):
            return want[0] <= value <= want[1]
        return value >= want if was < want else value <= want
    if want is None or (isinstance(want, str) and want in model.classes_):
        said = model.predict(changed)[0]
        if name == "one of three":
            return model.predict_proba(changed)[0][list(model.classes_).index(want)] >= 0.5
        return said == want if want else said != model.predict(row)[0]
    # Classes are sorted: "well" is the second of two.
    label, limit = next(iter(want.items())) if isinstance(want, dict) else ("well", want)
    share = model.predict_proba(changed)[0][list(model.classes_).index(label)]
    sign, number = limit.split(" ", 1)
    bound = float(number.rstrip(" %")) / (100 if "%" in number else 1)
    return share >= bound if sign == ">=" else share <= bound


@pytest.mark.parametrize(("name", "want"), CASES)
def test_suggested_rows_really_get_it_and_change_nothing_needless(explainers, name, want):
    model, explainer = explainers[name]
    record = explainer.counterfactuals(
        ASKED, want, keep=["visits"], directions={"age": "down"}, most=2
    )
    found = 0
    for i, told in enumerate(record.rows):
        row = ASKED.iloc[[i]]
        if told.already:
            assert meets(model, want, row, row, name)
            continue
        for one in told.suggestions:
            found += 1
            assert {change.column for change in one.changes} <= {"age", "dose", "ward"}
            for count in range(len(one.changes) + 1):
                for kept in itertools.combinations(one.changes, count):
                    changed = row.copy()
                    for change in kept:
                        changed[change.column] = change.value
                    got = meets(model, want, row, changed, name)
                    assert got == (count == len(one.changes))
            for change in one.changes:
                assert change.column != "age" or change.value < row["age"].iloc[0]
                assert change.column != "age" or isinstance(change.value, int)
                assert change.column != "ward" or change.value in ("A", "B", "C")
                assert change.column != "dose" or 0 <= change.value <= 20
            assert 0 <= one.usual <= 1
            assert 0 <= one.steady <= 1
        sets = [frozenset(change.column for change in one.changes) for one in told.suggestions]
        assert len(set(sets)) == len(sets)
    assert found


def test_the_same_question_has_the_same_answer(explainers):
    _, explainer = explainers["two"]
    first = explainer.counterfactuals(ASKED)
    assert first.to_dict() == explainer.counterfactuals(ASKED).to_dict()
    again = Counterfactuals.from_dict(json.loads(first.to_json()))
    assert again.to_dict() == first.to_dict()
    assert str(again) == str(first)
    frame = first.to_frame()
    assert set(frame["row"]) <= set(range(6))
    assert {"from", "to", "before", "after", "usual", "steady"} <= set(frame.columns)


def test_sure_changes_hold_for_rows_that_hardly_differ(explainers):
    _, explainer = explainers["two"]
    plain = explainer.counterfactuals(ASKED, most=3)
    record = explainer.counterfactuals(ASKED, most=3, sure=True)
    steady = [one.steady for row in record.rows for one in row.suggestions]
    assert steady
    assert min(steady) >= 0.8
    assert min(one.steady for row in plain.rows for one in row.suggestions) < 0.8
    assert "for certain" in str(record)


def test_what_cannot_be_reached_is_said_with_how_far_one_gets(explainers):
    _, explainer = explainers["number"]
    row = ASKED.iloc[:1]
    record = explainer.counterfactuals(row, 3.9, change=["visits"])
    (told,) = record.rows
    assert told.suggestions == ()
    assert not told.impossible  # searched, not proven
    assert "was found that gives it" in str(record)
    further = explainer.counterfactuals(row, 3.9, change=["age", "dose"]).rows[0]
    assert further.suggestions == ()
    assert further.nearest.after > further.before


def test_rows_may_come_in_any_form(explainers):
    _, explainer = explainers["two"]
    whole = explainer.counterfactuals(ASKED.iloc[:2])
    for rows in (ASKED.iloc[:2].to_dict("records"), {c: ASKED[c][:2].tolist() for c in ASKED}):
        assert explainer.counterfactuals(rows).to_dict()["rows"] == whole.to_dict()["rows"]
    one = explainer.counterfactuals(dict(ASKED.iloc[0]))
    assert one.to_dict()["rows"] == whole.to_dict()["rows"][:1]
    assert len(explainer.counterfactuals(ASKED.iloc[:0])) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"want": "sick"},
        {"want": 0.7},
        {"want": ">= 2"},
        {"change": ["income"]},
        {"change": []},
        {"keep": ["income"]},
        {"change": ["age"], "keep": ["age"]},
        {"directions": {"ward": "up"}},
        {"directions": {"age": "older"}},
        {"most": 0},
        {"sure": "yes"},
        {"sure": 1},
    ],
)
def test_odd_wishes_are_refused_in_one_line(explainers, changes):
    _, explainer = explainers["two"]
    with pytest.raises(SettingError) as told:
        explainer.counterfactuals(ASKED, **changes)
    assert "\n" not in str(told.value)


def test_odd_models_and_strategies_are_refused_with_the_remedy(explainers):
    rows = np.random.default_rng(0).uniform(0, 1, (300, 2))
    schema = Schema({"a": Number(0, 1), "b": Number(0, 1)}, rows=300)
    reading = PrivateExplainer(
        lambda r: r[:, 0] - r[:, 1], rows, schema=schema, strategy="release", queries=3, key=None
    )
    with pytest.raises(SettingError, match="summary"):
        reading.counterfactuals([[0.5, 0.5]], 0.2)
    with pytest.raises(SettingError, match="summary"):
        reading.sample(5)
    two = PrivateExplainer(lambda r: r / 2, rows, schema=schema)
    with pytest.raises(SettingError, match="say which one"):
        two.counterfactuals([[0.5, 0.5]], 0.2)
    pictures = np.random.default_rng(0).integers(0, 255, (200, 3, 3)).astype(np.uint8)
    drawn = PrivateExplainer(lambda r: r.reshape(len(r), -1)[:, 0] / 255.0, pictures)
    with pytest.raises(SettingError, match="pictures"):
        drawn.counterfactuals(pictures[:1], 0.5)
    with pytest.raises(DataError):
        explainers["two"][1].counterfactuals("rows.csv")


def test_missing_and_unlisted_values_may_become_known_ones(explainers):
    _, explainer = explainers["three"]
    # The model cannot take a missing ward; a function that can.
    other = explainer.with_model(
        lambda rows: np.where(rows["ward"].isna() | rows["dose"].isna(), -1.0, 0.5)
    )
    row = {"age": [40, 40], "dose": [None, 3.0], "ward": ["B", "Z"], "visits": [3, 3]}
    told = other.counterfactuals(row, 0.0).rows
    assert [one.suggestions[0].changes[0].column for one in told] == ["dose", "ward"]
    assert [one.suggestions[0].changes[0].before for one in told] == ["(missing)", "(other)"]


def test_public_rows_stand_in_and_are_called_so(explainers):
    forest, _ = explainers["two"]
    with fixed_noise(7):
        explainer = PrivateExplainer(forest, X, schema=SCHEMA, epsilon=4, public=people(600, 9))
    record = explainer.counterfactuals(ASKED.iloc[:3])
    assert "public rows that stand in" in record.among
    assert any(row.suggestions for row in record.rows)


def test_a_model_is_asked_about_a_bounded_number_of_rows(explainers):
    _, explainer = explainers["two"]
    asked = []

    def stubborn(rows):
        asked.append(len(rows))
        return np.full(len(rows), -1.0)

    other = explainer.with_model(stubborn)
    asked.clear()
    (told,) = other.counterfactuals(ASKED.iloc[:1], 0.5).rows
    assert told.suggestions == ()
    assert told.nearest is None
    assert sum(asked) < 15_000
    assert len(asked) < 40


def test_frames_of_other_libraries():
    rows = pl.DataFrame({"a": np.linspace(0, 1, 300), "b": np.linspace(1, 0, 300)})
    schema = Schema({"a": Number(0, 1), "b": Number(0, 1)})
    explainer = PrivateExplainer(
        lambda frame: frame["a"].to_numpy() - frame["b"].to_numpy(), rows, schema=schema
    )
    (told,) = explainer.counterfactuals({"a": 0.1, "b": 0.9}, 0.05).rows
    assert told.suggestions
    sample = explainer.sample(20)
    assert isinstance(sample, pl.DataFrame)
    assert sample.columns == ["a", "b"]
