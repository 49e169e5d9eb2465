"""Contributions: they are Shapley values, add up, cost nothing, and say how sure they are."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from contribution_records import make_contributions
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from voile import Category, Number, PrivateExplainer, Schema
from voile.errors import SettingError
from voile.explain import BlackBoxLocalExplanation
from voile.explain.blackbox.shapley.background import Backgrounds
from voile.explain.blackbox.shapley.tree_arrays import read_trees
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.filterwarnings("ignore::voile.errors.NoLedgerWarning")

SCHEMA = Schema(
    {"age": Number(0, 100), "ward": Category(["A", "B", "C"]), "dose": Number(0, 10)}, rows=600
)


def by_hand(predict, row, background, players):
    """Shapley values by their definition, over all sets of players."""
    count = int(max(players)) + 1
    values = {}
    for size in range(count + 1):
        for chosen in combinations(range(count), size):
            mixed = background.copy()
            own = np.isin(players, chosen)
            mixed[:, own] = row[own]
            values[chosen] = predict(mixed).mean()
    found = np.zeros(count)
    for j in range(count):
        for chosen, value in values.items():
            if j in chosen:
                continue
            joined = values[tuple(sorted((*chosen, j)))]
            rest = count - len(chosen) - 1
            weight = factorial(len(chosen)) * factorial(rest) / factorial(count)
            found[j] += weight * (joined - value)
    return found


def patients(rows=600):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(0, 101, rows).astype(float),
            "ward": rng.choice(["A", "B", "C"], rows),
            "dose": rng.uniform(0, 10, rows),
        }
    )
    risk = table["age"] / 50 + (table["ward"] == "C") + table["dose"] / 10
    return table, (risk + rng.logistic(0, 0.3, rows) > 2).astype(int)


def piped(last, table, target):
    encoder = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    return make_pipeline(encoder, last).fit(table, target)


def explainer_of(model, table, **more):
    return PrivateExplainer(model, table, schema=SCHEMA, epsilon=2, **more)


@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingRegressor])
def test_contributions_of_trees_are_those_of_the_definition(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 5)).astype(np.float32).astype(float)
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) > 0
    target = y.astype(int) if kind is RandomForestClassifier else X[:, 0] * X[:, 1]
    model = kind(n_estimators=4, max_depth=4, random_state=0).fit(X, target)
    classifies = kind is RandomForestClassifier
    trees = read_trees(model, [1] if classifies else [0])
    players = np.array([0, 1, 1, 2, 3])  # two features are one column
    found = trees.contributions(X[:2], X[10:17], players, 4).mean(axis=1)[..., 0]

    def predict(rows):
        return model.predict_proba(rows)[:, 1] if classifies else model.predict(rows)

    for i in range(2):
        np.testing.assert_allclose(found[i], by_hand(predict, X[i], X[10:17], players), atol=1e-9)


@pytest.mark.parametrize(
    ("last", "exact"),
    [
        (RandomForestClassifier(10, random_state=0), True),
        (GradientBoostingClassifier(n_estimators=10, random_state=0), False),
    ],
)
def test_contributions_of_columns_add_up_to_the_score(last, exact):
    table, ill = patients()
    model = piped(last, table, ill)
    why = explainer_of(model, table).explain(table.head(3))
    assert why.exact is exact
    assert why.columns == ("age", "ward", "dose")  # and not its encoded features
    scores = model.predict_proba(table.head(3))[:, 1]
    np.testing.assert_allclose(why.scores[:, 0], scores, atol=1e-12)
    np.testing.assert_allclose(why.base_values + why.values.sum(axis=1), why.scores, atol=1e-9)
    assert (why.standard_errors >= why.sampling_errors).all()


def test_a_function_is_asked_until_the_error_is_small_enough():
    table, _ = patients()

    def box(rows):
        return (rows["age"] / 100 * (rows["ward"] == "C")).to_numpy(float)

    explainer = explainer_of(box, table, output_range=(0, 1))
    asked = {"age": 90.0, "ward": "C", "dose": 5.0}
    rough = explainer.explain(asked, sampling_error=0.1)
    fine = explainer.explain(asked, sampling_error=0.005)
    assert fine.calls[0] >= rough.calls[0]
    assert fine.sampling_errors.max() <= 0.005
    assert fine.values[0, 2, 0] == 0.0  # the dose takes no part
    assert fine.verdicts()[2] == "cannot be told from nothing"
    np.testing.assert_array_equal(explainer.explain(asked).values, explainer.explain(asked).values)
    with pytest.raises(SettingError, match="most_calls"):
        explainer.explain(asked, most_calls=3)
    with pytest.raises(SettingError, match="sampling_error"):
        explainer.explain(asked, sampling_error=0)


def test_explanations_are_free_and_need_a_summary():
    table, ill = patients()
    model = piped(RandomForestClassifier(5, random_state=0), table, ill)
    explainer = explainer_of(model, table)
    before = explainer.receipt_
    explainer.explain(table.head(2))
    assert explainer.receipt_.epsilon == before.epsilon
    reads = explainer_of(model, table, strategy="release", queries=3)
    with pytest.raises(SettingError, match="explain_slopes"):
        reads.explain(table.head(1))


def test_a_record_is_the_same_after_a_round_trip_and_has_parts():
    why = make_contributions(3, outputs=("ill", "well"))
    again = BlackBoxLocalExplanation.from_dict(why.to_dict())
    assert str(again) == str(why)
    assert len(why[1]) == 1
    assert {one["column"] for one in why.to_records()} == {*why.columns, "(average score)"}
    assert [one.column for one in why.top(2)] == [why.columns[j] for j in why.ranked()[:2]]


def test_the_text_names_what_raised_and_lowered_and_what_is_nothing():
    values = np.array([[[0.2], [-0.1], [0.05], [0.001]]])
    why = make_contributions(1, values=values, scores=np.array([[0.551]]))
    told = " ".join(str(why).split())
    assert "+20.0 ± 2.0" in told
    assert "sex (+0.10) cannot be told from nothing" in told
    assert "± 95 % interval: privacy noise plus sampling error" in told
    unknown = " ".join(str(make_contributions(1, error=np.inf)).split())
    assert "not known for so many columns" in unknown


def test_importances_do_not_get_surer_with_more_of_the_same_noise():
    few, many = make_contributions(4), make_contributions(40)
    assert many.importances()[0].standard_error == pytest.approx(
        few.importances()[0].standard_error
    )
    sizes = [one.size for one in many.importances()]
    assert sizes == sorted(sizes, reverse=True)
    last = many.importances()[-1]
    assert (last.column, last.verdict) == ("sex", "cannot be told from nothing")
    assert make_contributions(2)[2:].importances() == []


def flagged(rows=6000, rate=0.004):
    """Few rows with a flag that changes everything, and a box that says so."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "flag": np.where(np.arange(rows) < rate * rows, "y", "n"),
            "x": rng.normal(size=rows).clip(-4, 4),
        }
    )
    return frame, lambda t: 0.1 + 0.8 * (t["flag"] == "y").to_numpy() + 0.01 * t["x"].to_numpy()


def test_a_rare_level_that_matters_is_neither_missed_nor_certain():
    frame, box = flagged()
    schema = Schema({"flag": Category(["n", "y"]), "x": Number(-4, 4)})
    with fixed_noise(1):
        explainer = PrivateExplainer(box, frame, schema=schema, epsilon=4, output_range=(0, 1))
    told = explainer.explain(frame.tail(3))
    flag = list(told.columns).index("flag")
    values, errors = told.values[:, flag, 0], told.standard_errors[:, flag, 0]
    assert (errors > 0).all()
    assert (np.abs(values + 0.8 * 0.004) <= 2.5 * errors).all()


def test_rows_with_unusual_scores_are_taken_more_often_and_count_less():
    rng = np.random.default_rng(0)
    answers = np.where(np.arange(4000) < 16, 0.9, 0.1)[:, None]
    points = np.column_stack([answers[:, 0] > 0.5, rng.normal(size=4000)]).astype(float)
    even = np.full(4000, 1 / 4000)
    population = Backgrounds(points, answers, even, np.zeros((4000, 1)))
    few = population.take(32)
    assert 1 <= (answers[few.rows, 0] > 0.5).sum() <= 4
    assert few.weights[answers[few.rows, 0] > 0.5].sum() == pytest.approx(0.004, abs=1e-6)
    assert few.weights @ answers[few.rows, 0] == pytest.approx(float(answers.mean()))


def test_levels_that_no_background_row_has_are_a_doubt():
    levels = [f"v{i}" for i in range(200)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"code": rng.choice(levels, 6000), "x": rng.uniform(size=6000)})
    schema = Schema({"code": Category(levels), "x": Number(0, 1)})
    box = lambda t: 0.5 * (t["code"] > "v50").to_numpy() + 0.5 * t["x"].to_numpy()  # noqa: E731
    with fixed_noise(1):
        explainer = PrivateExplainer(box, frame, schema=schema, epsilon=2, output_range=(0, 1))
    told = explainer.explain(frame.head(1), sampling_error=0.5)
    assert told.background == (32,)
    code = list(told.columns).index("code")
    # Some 170 of 200 levels are not among 32 rows: nearly the whole spread of the scores.
    assert told.standard_errors[0, code, 0] > 0.15
