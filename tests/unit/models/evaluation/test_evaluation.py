"""A private evaluation: the figures are right, the intervals hold, and every access is paid."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    Schema,
    Unit,
    hold_out,
)
from voile.errors import BudgetExceeded, DataError, ModelError, SchemaError, SettingError
from voile.models.evaluation import Evaluation
from voile.privacy import noise

TWO = Schema(
    {"x": Number(-4, 4), "z": Number(-4, 4), "g": Category(["f", "m"])},
    target=Category(["no", "yes"]),
)
THREE = TWO.with_target(Category(["a", "b", "c"]))
REAL = TWO.with_target(Number(-10, 10))


def draw(rows, seed):
    rng = np.random.default_rng(seed)
    X = {
        "x": rng.normal(size=rows),
        "z": rng.normal(size=rows),
        "g": rng.choice(["f", "m"], rows),
    }
    score = 1.5 * X["x"] - X["z"] + 0.5 * (X["g"] == "m")
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")
    return X, y, score + rng.normal(size=rows)


def classes_of(score):
    return np.array(["a", "b", "c"])[np.digitize(score, [-1, 1])]


@pytest.fixture(scope="module")
def models():
    X, y, number = draw(4000, 0)
    with noise.fixed_noise(1):
        return {
            "two": EBMClassifier(epsilon=4, schema=TWO).fit(X, y),
            "three": EBMClassifier(epsilon=4, schema=THREE).fit(X, classes_of(number)),
            "real": EBMRegressor(epsilon=4, schema=REAL).fit(X, number),
            "glvq": GLVQClassifier(epsilon=4, schema=TWO).fit(X, y),
            "maps": LocallyLinearClassifier(epsilon=4, schema=TWO).fit(X, y),
        }


@pytest.mark.parametrize("name", ["two", "glvq", "maps"])
def test_without_noise_the_figures_are_those_of_scikit_learn(models, name):
    model = models[name]
    X, y, _ = draw(6000, 7)
    found = model.score_private(X, y, epsilon=math.inf)
    said = model.predict(X)
    assert found["accuracy"].value == pytest.approx(accuracy_score(y, said), abs=1e-9)
    assert found["balanced accuracy"].value == pytest.approx(
        balanced_accuracy_score(y, said), abs=1e-9
    )
    area = roc_auc_score(y, model.decision_function(X))
    assert found["AUROC"].value == pytest.approx(area, abs=0.004)
    assert found.rows == pytest.approx(6000)
    assert not found.receipt.has_guarantee


def test_without_noise_the_errors_of_a_regression_are_exact(models):
    X, _, number = draw(5000, 8)
    found = models["real"].score_private(X, number, epsilon=math.inf)
    errors = np.clip(number, -10, 10) - models["real"].predict(X)
    assert found["RMSE"].value == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-6)
    assert found["MAE"].value == pytest.approx(np.abs(errors).mean(), rel=1e-6)
    assert found["bias"].value == pytest.approx(errors.mean(), abs=1e-6)


def test_three_classes_have_accuracy_and_calibration(models):
    X, _, number = draw(6000, 9)
    y = classes_of(number)
    found = models["three"].score_private(X, y, epsilon=math.inf)
    assert found["accuracy"].value == pytest.approx(
        accuracy_score(y, models["three"].predict(X)), abs=1e-9
    )
    assert [m.name for m in found.measures] == [
        "AUROC (mean of classes)",
        "accuracy",
        "balanced accuracy",
        "calibration error",
    ]
    right = models["three"].predict(X) == y
    rows = [one.rows for one in found.reliability]
    assert sum(rows) == pytest.approx(6000)
    mean = np.average([one.happened.value for one in found.reliability], weights=rows)
    assert mean == pytest.approx(right.mean(), abs=1e-6)
    top = models["three"].predict_proba(X).max(axis=1)
    mean = np.average([one.predicted for one in found.reliability], weights=rows)
    assert mean == pytest.approx(top.mean(), abs=0.003)
    for k, name in enumerate("abc"):
        area = roc_auc_score(y == name, models["three"].predict_proba(X)[:, k])
        mine = next(one for one in found.scores if one.positive == name)
        assert mine.measures[0].value == pytest.approx(area, abs=0.004)


@pytest.mark.parametrize(("name", "measure"), [("two", "AUROC"), ("real", "RMSE")])
def test_intervals_hold_the_truth_as_often_as_they_say(models, name, measure):
    """90 runs at 95 %: fewer than 77 right ones have a chance of 1 in 10,000, if 93 % are."""
    model = models[name]
    X, y, number = draw(200_000, 10)
    if name == "two":
        truth = roc_auc_score(y, model.decision_function(X))
    else:
        truth = math.sqrt(((number - model.predict(X)) ** 2).mean())
    held = 0
    for run in range(90):
        X, y, number = draw(3000, 100 + run)
        with noise.fixed_noise(run):
            found = model.score_private(X, y if name == "two" else number, epsilon=1.0)[measure]
        held += found.low <= truth <= found.high
    assert held >= 77


def test_groups_tell_what_each_would_see(models):
    X, y, _ = draw(6000, 11)
    found = models["two"].score_private(X, y, epsilon=math.inf, groups=["g"])
    told = {group.level: group for group in found.groups}
    assert set(told) == {"f", "m"}
    said = models["two"].predict(X)
    for level, group in told.items():
        mine = X["g"] == level
        by_name = {m.name: m.value for m in group.measures}
        assert group.rows == mine.sum()
        assert by_name["accuracy"] == pytest.approx((said == y)[mine].mean())
        positive = mine & (y == "yes")
        assert by_name["true-positive rate"] == pytest.approx((said == "yes")[positive].mean())


def test_groups_of_a_regression_have_errors_of_their_own(models):
    X, _, number = draw(4000, 21)
    number = number + 2.0 * (X["g"] == "f")
    found = models["real"].score_private(X, number, epsilon=math.inf, groups=["g"])
    errors = np.clip(number, -10, 10) - models["real"].predict(X)
    for group in found.groups:
        mine = errors[X["g"] == group.level]
        by_name = {m.name: m.value for m in group.measures}
        assert by_name["RMSE"] == pytest.approx(np.sqrt((mine**2).mean()), rel=1e-6)
        assert by_name["bias"] == pytest.approx(mine.mean(), abs=1e-6)


def test_it_costs_what_it_says_and_stands_in_the_ledger(models):
    X, y, _ = draw(2000, 12)
    ledger = Ledger(Budget(1, 1e-6))
    found = models["two"].score_private(X, y, epsilon=0.5, ledger=ledger)
    assert found.receipt.epsilon == pytest.approx(0.5, abs=1e-6)
    assert [entry.what for entry in ledger.history()] == ["quality of EBMClassifier"]
    assert all(line.openings == line.event.count for line in found.receipt.lines)
    with pytest.raises(BudgetExceeded):
        models["two"].score_private(X, y, epsilon=1, ledger=ledger)
    assert len(ledger.history()) == 1


def test_the_estimators_own_ledger_pays_by_default():
    X, y, _ = draw(2000, 13)
    ledger = Ledger(Budget(2, 1e-6))
    model = EBMClassifier(epsilon=1, schema=TWO, ledger=ledger, rounds=2).fit(X, y)
    model.score_private(X, y, epsilon=0.3)
    assert sum(entry.parent is None for entry in ledger.history()) == 2


def test_rows_of_no_listed_class_are_left_out_and_told(models):
    X, y, _ = draw(2000, 14)
    y[:500] = "perhaps"
    found = models["two"].score_private(X, y, epsilon=math.inf)
    assert found.rows == pytest.approx(1500)
    assert "500 rows have no listed class" in found.notes[0]


def test_little_budget_is_said_to_be_lost_in_the_noise(models):
    X, y, _ = draw(200, 15)
    found = models["two"].score_private(X, y, epsilon=0.01)
    assert math.isnan(found["AUROC"].value)
    assert (found["AUROC"].low, found["AUROC"].high) == (0.0, 1.0)
    assert "lost in the noise" in str(found)


def test_no_rows_at_all_is_no_error(models):
    empty = {"x": np.zeros(0), "z": np.zeros(0), "g": np.array([], dtype=str)}
    for name, y in (("two", np.array([], dtype=str)), ("real", np.zeros(0))):
        found = models[name].score_private(empty, y, epsilon=1)
        assert all(math.isnan(one.value) or one.low <= one.value for one in found.measures)


def test_the_record_travels_as_json(models):
    X, y, _ = draw(2000, 16)
    found = models["two"].score_private(X, y, epsilon=1, groups=["g"])
    again = Evaluation.from_json(found.to_json())
    assert again.to_dict() == found.to_dict()
    assert json.loads(found.to_json())["measures"][0]["name"] == "AUROC"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"voile_evaluation": 9}', "nonsense"])
def test_what_is_no_evaluation_is_refused(text):
    with pytest.raises(ModelError):
        Evaluation.from_json(text)


def test_pages_are_drawn(models, tmp_path):
    X, y, number = draw(3000, 17)
    for name, target in (("two", y), ("three", classes_of(number)), ("real", number)):
        page = models[name].score_private(X, target, epsilon=2).to_html(tmp_path / "q.html")
        text = page.read_text()
        assert "privacy noise plus sampling error" in text
        assert "What this estimate cost" in text


def test_evaluations_of_earlier_versions_are_read(models):
    X, y, _ = draw(500, 17)
    data = models["two"].score_private(X, y, epsilon=1, groups=["g"]).to_dict()
    for name in ("scores", "thresholds", "curves"):
        del data[name]
    for measure in data["measures"]:
        measure.pop("baseline", None)
    for group in data["groups"]:
        del group["differences"]
    for one in data["reliability"]:
        del one["of"]
    old = Evaluation.from_dict(data)
    assert old.scores == () == old.groups[0].differences
    assert "AUROC" in str(old)
    with pytest.raises(SettingError, match="older version"):
        old.at_threshold(0.5)


def test_wrong_settings_are_refused_before_anything_is_spent(models):
    X, y, _ = draw(100, 18)
    ledger = Ledger(Budget(1, 1e-6))
    for error, settings in (
        (SettingError, {"confidence": 1.0}),
        (SettingError, {"epsilon": 0.0}),
        (SettingError, {"epsilon": -1.0}),
        (SchemaError, {"groups": ["x"]}),
        (SchemaError, {"groups": ["nobody"]}),
        (SettingError, {"groups": ["g", "g"]}),
    ):
        with pytest.raises(error):
            models["two"].score_private(X, y, ledger=ledger, **settings)
    assert ledger.history() == ()


# -- rows held out --------------------------------------------------------------------------------


def test_rows_are_parted_and_none_is_lost():
    table = pa.table({"a": list(range(5000)), "b": ["x"] * 5000})
    learned, held, y_learned, y_held = hold_out(table, np.arange(5000), share=0.3)
    assert sorted(learned["a"].to_pylist() + held["a"].to_pylist()) == list(range(5000))
    assert learned["a"].to_pylist() == y_learned.tolist()
    assert held["a"].to_pylist() == y_held.tolist()
    assert 1300 < len(held) < 1700  # 6 standard deviations are 194


def test_types_stay_what_they_were():
    import pandas as pd
    import polars as pl

    for table in (
        pd.DataFrame({"a": range(100)}),
        pl.DataFrame({"a": range(100)}),
        pa.table({"a": list(range(100))}),
        np.arange(100.0).reshape(-1, 1),
        {"a": np.arange(100)},
    ):
        learned, held, none, name = hold_out(table, "a")
        assert type(learned) is type(held) is type(table)
        assert none == name == "a"


def test_neighbours_stay_neighbours():
    """With the same coins, one row more at the end leaves all others where they were."""
    with noise.fixed_noise(5), pytest.warns(UserWarning, match="fixed_noise"):
        _, held, _, _ = hold_out(np.arange(1000).reshape(-1, 1))
    with noise.fixed_noise(5), pytest.warns(UserWarning, match="fixed_noise"):
        _, more, _, _ = hold_out(np.arange(1001).reshape(-1, 1))
    assert set(held.ravel().tolist()) == set(more.ravel().tolist()) - {1000}


def test_the_coins_are_secret():
    runs = [hold_out(np.arange(300).reshape(-1, 1))[1].ravel().tolist() for _ in range(3)]
    assert runs[0] != runs[1] != runs[2]


def test_a_persons_rows_stay_together():
    people = [i // 4 for i in range(2000)]
    people[-3:] = [None, None, float("nan")]
    table = pa.table({"who": pa.array(people, pa.float64()), "a": list(range(2000))})
    learned, held, _, _ = hold_out(table, unit="who")
    assert not {str(p) for p in learned["who"].to_pylist()} & {
        str(p) for p in held["who"].to_pylist()
    }


def odd_ids():
    """Columns of ids of many types, with values that nobody should have to think of."""
    import uuid

    import pandas as pd

    loose = np.empty(12, object)
    loose[:] = ["a", [1], {}, b"a", None, pd.NA, math.nan, 1, True, 1.0, uuid.UUID(int=1), 2**70]
    ends = np.array([0, 1, 3, 4, 6], np.int32)
    raw = [None, pa.py_buffer(ends), pa.py_buffer(b"a\xff\xfea\xff\xfe")]
    return {
        "whole numbers": pd.DataFrame({"who": pd.array([1, 2, None, 1, None], dtype="Int64")}),
        "texts": pd.DataFrame({"who": pd.array(["a", None, "b", "a", None], dtype="string")}),
        "objects": pd.DataFrame({"who": np.tile(loose, 3)}),
        "times": pd.DataFrame({"who": [pd.NaT, pd.Timestamp("2020-01-01")] * 3}),
        "no UTF-8": pa.table({"who": pa.Array.from_buffers(pa.string(), 4, raw)}),
        "codes": pa.table({"who": pa.array(["a", None, "a"]).dictionary_encode()}),
        "mapping": {"who": np.tile(loose, 3)},
        "lists": pa.table({"who": [[1], None, [1]]}),
        "floats": {"who": np.array([1.0, np.nan, -0.0, 0.0, 1.0, np.nan, np.inf])},
    }


@pytest.mark.parametrize("kind", odd_ids())
def test_no_id_is_an_error_and_units_are_those_of_the_vault(kind):
    """What is one unit for the vault is never parted: it would count twice otherwise."""
    from voile.privacy.sources.units import UnitRows
    from voile.schema.frames import adopt_column

    def used(*parts):
        units = UnitRows(Unit("who", rows=1))
        for part in parts:
            units.add(adopted[part.tolist()])
        return [chosen.tolist() for chosen in units.choose()]

    table = odd_ids()[kind]
    count, adopted = len(table["who"]), adopt_column(table["who"], "who")
    for _ in range(12):
        _, _, learned, held = hold_out(table, np.arange(count), share=0.5, unit="who")
        assert sorted([*learned, *held]) == list(range(count))
        # Together the parts use the rows that each would use by itself: nobody is in both.
        assert used(learned, held) == [*used(learned), *used(held)]


def test_values_that_the_vault_takes_for_one_unit_share_a_coin():
    who = np.array([1, 1.0, True, b"x", None, [2], math.nan, "1"] * 50, object)
    for _ in range(5):
        _, _, learned, held = hold_out({"who": who}, np.arange(400) % 8, share=0.5, unit="who")
        for same in ({0, 1, 2, 7}, {3}, {4, 5, 6}):
            assert same <= set(learned) or same <= set(held)
            assert not (same & set(learned) and same & set(held))


def test_coins_that_are_not_secret_are_told():
    with noise.fixed_noise(1), pytest.warns(UserWarning, match="outside the fixed_noise block"):
        hold_out(np.zeros((5, 1)))
    hold_out(np.zeros((5, 1)))  # warnings are errors here


def test_units_count_once_in_an_evaluation(models):
    X, y, _ = draw(1000, 19)
    X = {**X, "who": np.repeat(np.arange(250), 4)}
    schema = TWO.with_unit(Unit("who", rows=2))
    with noise.fixed_noise(0):
        model = EBMClassifier(epsilon=4, schema=schema, rounds=2).fit(X, y)
    found = model.score_private(X, y, epsilon=math.inf)
    assert found.rows == pytest.approx(500)
    assert "who" in found.receipt.unit


@pytest.mark.parametrize("share", [0, 1, -0.1, "half", True, float("nan")])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(SettingError):
        hold_out(np.zeros((5, 1)), share=share)


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="different numbers"):
        hold_out(np.zeros((5, 1)), np.zeros(4))
    with pytest.raises(DataError, match="'who'"):
        hold_out(pa.table({"a": [1]}), unit="who")
