"""Dates, whole numbers and ordered levels from the schema to what people read."""

import datetime as dt
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import voile
from voile import Budget, Category, Date, EBMClassifier, Ledger, Number, Schema
from voile.errors import DataError, ModelError, SchemaError, SettingError
from voile.models.ebm.smoothing import shaped_smoother
from voile.privacy.noise import fixed_noise

PAIN = ["none", "mild", "moderate", "severe"]
SCHEMA = Schema(
    {
        "admitted": Date("2019-01-01", "2024-12-31"),
        "seen": Date("2024-03-01", "2024-03-31", time=True),
        "visits": Number(0, 12, whole=True),
        "pain": Category(PAIN, ordered=True),
    },
    target=Category(["no", "yes"]),
)


def make(rows=4_000, seed=0):
    rng = np.random.default_rng(seed)
    admitted = np.datetime64("2019-01-01") + rng.integers(0, 2192, rows)
    seen = np.datetime64("2024-03-01T00:00:00.000") + 60_000 * rng.integers(0, 31 * 1440, rows)
    visits, pain = rng.poisson(3, rows), rng.integers(0, 4, rows)
    score = (admitted >= np.datetime64("2022-01-01")) * 1.5 - 1 + 0.2 * (visits - 3)
    yes = rng.random(rows) < 1 / (1 + np.exp(-score - 0.4 * (pain - 1.5)))
    columns = {"admitted": admitted, "seen": seen, "visits": visits, "pain": np.array(PAIN)[pain]}
    return columns, np.where(yes, "yes", "no")


def fit(X, y, schema=SCHEMA, **settings):
    with fixed_noise(3):
        return EBMClassifier(epsilon=2.0, schema=schema, rounds=4, **settings).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fit(*make(), monotone={"pain": "increasing"})


@pytest.fixture(scope="module")
def whole(model):
    return model.explain_global()


def test_every_label_is_a_date_a_whole_number_or_a_level(whole):
    day = r"20(19|2\d)-\d\d-\d\d"
    for label in whole["admitted"].labels[:-1]:
        assert re.fullmatch(rf"{day}( to {day})?", label), label
    for label in whole["seen"].labels[:-1]:
        assert re.fullmatch(rf"{day}.* to .*", label), label
    for label in whole["visits"].labels[:-1]:
        assert re.fullmatch(r"\d+( to \d+)?", label), label
    assert whole["pain"].labels == (*PAIN, "(other)", "(missing)")
    text = str(whole)
    assert "e+09" not in text
    assert not re.search(r"\d{9}", text)


def test_intervals_follow_each_other_without_gaps(whole):
    ends = [label.split(" to ") for label in whole["admitted"].labels[:-1]]
    for before, after in pairwise(ends):
        gap = dt.date.fromisoformat(after[0]) - dt.date.fromisoformat(before[-1])
        assert gap == dt.timedelta(days=1)
    assert ends[0][0] == "2019-01-01"
    assert ends[-1][-1] == "2024-12-31"


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "text", "objects", "german"])
def test_a_model_is_the_same_to_the_bit_however_dates_come(model, kind):
    X, y = make()
    days = pd.to_datetime(X["admitted"])
    frame = pd.DataFrame(X)
    match kind:
        case "polars":
            frame = pl.DataFrame({**X, "admitted": days.date})
        case "arrow":
            frame = pa.table({**X, "admitted": pa.array(days.date), "pain": X["pain"].tolist()})
        case "text":
            frame["admitted"] = [f"{day}T17:30:00" for day in days.date]
            frame["seen"] = frame["seen"].astype(str)
        case "objects":
            frame["admitted"] = pd.Series(list(days.date), dtype=object)
        case "german":
            frame["admitted"] = [day.strftime("%d.%m.%Y") for day in days]
    other = fit(frame, y, monotone={"pain": "increasing"})
    for one, two in zip(model.model_.terms, other.model_.terms, strict=True):
        np.testing.assert_array_equal(one.scores, two.scores)
        np.testing.assert_array_equal(one.cuts, two.cuts)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(frame))


def test_monotone_levels_keep_their_order(model, whole):
    scores = whole["pain"].scores[:4, 0]
    assert (np.diff(scores) >= 0).all()
    assert scores[3] > scores[0]
    with pytest.raises(SchemaError, match="neither a number nor an ordered category"):
        fit(
            *make(),
            schema=SCHEMA.with_column("pain", Category(PAIN)),
            monotone={"pain": "increasing"},
        )


def test_levels_in_an_order_vary_together():
    # Many levels with a gentle slope: with their order the scores are nearer to it.
    rng = np.random.default_rng(5)
    levels = [f"step {i:02}" for i in range(12)]
    codes = rng.integers(0, 12, 3_000)
    truth = np.linspace(-0.7, 0.7, 12)
    y = np.where(rng.random(3_000) < 1 / (1 + np.exp(-truth[codes])), 1, 0)
    X = {"step": np.array(levels)[codes]}
    off = []
    for ordered in (False, True):
        schema = Schema({"step": Category(levels, ordered=ordered)}, target=Category([0, 1]))
        scores = fit(X, y, schema).model_["step"].scores[:12, 0]
        off.append(np.std(scores - scores.mean() - truth))
    assert off[1] < off[0]


@pytest.mark.parametrize("apart", [1, 2])
def test_mixing_costs_the_same_whatever_the_order(apart):
    # One row is in one bin: columns of norm 1 at most keep the sensitivity (docs/proofs/ebm.md).
    counts = np.array([100.0, 80.0, 60.0, 40.0, 3.0, 2.0])
    found = shaped_smoother(counts, counts / 4, counts / 4, 50.0, 1.0, apart)
    assert (np.linalg.norm(found.mixing, axis=0) <= 1.0 + 1e-12).all()
    alone = found.mixing[-apart:, :-apart]
    np.testing.assert_allclose(alone, 0.0, atol=1e-9)


def test_comparisons_take_dates_and_whole_numbers(whole):
    told = whole.compare("admitted", ("2019-01-01", "2021-12-31"), ("2022-01-01", "2024-12-31"))
    assert str(told).startswith("admitted: 2019-01-01 to 2021-12-31 against 2022-01-01 to 2024")
    assert told.verdicts == ("clear",)
    same = whole.compare(
        "admitted", (dt.date(2019, 1, 1), np.datetime64("2021-12-31")), ("2022-01-01", "2024-12-31")
    )
    assert same.differences == told.differences
    told = whole.compare("visits", (0, 2), (3, 12))
    assert (told.first, told.second) == ("0 to 2", "3 to 12")
    # Both ends belong to the range, so two ranges make up the whole.
    weights = whole.compare("visits", (0, 3), (4, 12)).differences
    assert np.isfinite(weights).all()
    first = whole.compare("admitted", "2020-02-03", pd.Timestamp("2023-05-01")).first
    assert first in whole["admitted"].labels
    for wrong in (5, "soon", ("2025-01-01", "2026-01-01"), ("2022-01-01", "2021-01-01")):
        with pytest.raises(SettingError, match="'2019-01-01', '2024-12-31'"):
            whole.compare("admitted", wrong, "2020-01-01")


def test_rows_are_shown_as_given_and_as_read(model):
    rows = pd.DataFrame(
        {
            "admitted": ["2030-05-01", "31.12.2020", "never", None],
            "seen": ["2024-03-05T08:30", "2024-03-06", "2020-01-01", None],
            "visits": [2.6, 40, 3, None],
            "pain": ["mild"] * 4,
        }
    )
    told = model.explain_local(rows)
    assert [one[0] for one in told.given] == ["2030-05-01", "2020-12-31", "never", "(missing)"]
    assert [one[0] for one in told.read_as] == ["2024-12-31", "", "(missing)", ""]
    assert [one[1] for one in told.given][:2] == ["2024-03-05 08:30", "2024-03-06"]
    assert told.read_as[2][1] == "2024-03-01 00:00"
    assert [one[2] for one in told.read_as] == ["3", "12", "", ""]
    assert "e+09" not in str(told)


def test_files_keep_kinds(model, tmp_path):
    path = model.save(tmp_path / "m.voile")
    again = voile.load(path)
    assert again.model_.schema == SCHEMA
    np.testing.assert_array_equal(again.predict_proba(make()[0]), model.predict_proba(make()[0]))
    record = model.explain_global()
    back = type(record).from_json(record.to_json())
    assert back["admitted"].scale == "day"
    assert back["pain"].ordered
    assert str(back) == str(record)
    both = [one.compare("pain", "none", "severe") for one in (record, back)]
    np.testing.assert_array_equal(both[0].noise_errors, both[1].noise_errors)


def test_edits_take_dates_whole_numbers_and_orders(model):
    editor = model.edit("me")
    editor.set("admitted", 0.25, between=(dt.date(2020, 1, 1), "2020-12-31"))
    term = editor.model["admitted"]
    years = {"2019-12-31": False, "2020-01-01": True, "2020-12-31": True, "2021-01-01": False}
    for day, inside in years.items():
        code = np.array([Date(day, "2030-01-01").lower])
        assert bool(term.scores[term.find_bins(code)[0], 0] == 0.25) is inside, day
    assert "2020-01-01" in editor.model.edits[0].settings["between"]
    editor.set("visits", -0.5, between=(3, 5))
    term = editor.model["visits"]
    found = [
        bool(term.scores[term.find_bins(np.array([float(v)]))[0], 0] == -0.5) for v in range(8)
    ]
    assert found == [False] * 3 + [True] * 3 + [False] * 2
    assert all(re.fullmatch(r"\d+( to \d+)?", label) for label in term.labels[:-1])
    editor.set("visits", 0.0, between=(4, 4))
    editor.monotone("pain", "decreasing")
    assert (np.diff(editor.model["pain"].scores[:4, 0]) <= 0).all()
    editor.smooth("pain", 10.0)
    with pytest.raises(ModelError, match="no ranges"):
        editor.smooth("pain", 1.0, between=(0, 1))
    with pytest.raises(SettingError, match="2019-01-01 <= a < b <= 2024-12-31"):
        editor.set("admitted", 1.0, between=("2018-01-01", "2020-01-01"))
    with pytest.raises(SettingError, match="0 <= a < b <= 12"):
        editor.set("visits", 1.0, between=(5, 3))


@pytest.mark.parametrize(
    ("column", "values", "error"),
    [
        ("admitted", np.arange(50), "of numbers in the table"),
        ("admitted", np.arange(50.0), "of numbers in the table"),
        ("admitted", np.zeros(50, bool), "of truth values"),
        ("admitted", np.zeros(50, "m8[s]"), "of durations"),
    ],
)
def test_what_cannot_be_a_date_is_refused_before_paying(column, values, error):
    X, y = make(50)
    ledger = Ledger(voile.Budget(2.0, 1e-6))
    with pytest.raises(SchemaError, match=error) as caught:
        EBMClassifier(epsilon=1.0, schema=SCHEMA, ledger=ledger).fit({**X, column: values}, y)
    assert "\n" not in str(caught.value)
    assert ledger.spent().epsilon == 0


def test_dates_without_bounds_are_found():
    X, y = make()
    found = fit(pd.DataFrame(X), y, Schema({"admitted": Date()}, target=Category(["no", "yes"])))
    first, last = found.model_.schema["admitted"].bound_texts
    assert "2017-09-01" <= first <= "2019-02-01"
    assert "2024-11-01" <= last <= "2026-03-31"


def test_a_table_without_a_schema_has_dates_too():
    X, y = make(2_000)
    with fixed_noise(1):
        found = EBMClassifier(epsilon=20.0, rounds=2).fit(pd.DataFrame(X)[["admitted"]], y)
    assert isinstance(found.model_.schema["admitted"], Date)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("patient_id", "suggests that one patient"),
        ("ID", "suggests that one person"),
        ("phone", "looks like an identifier"),
        ("zip", "looks like a code"),
        ("icd10", "looks like a code"),
    ],
)
def test_numbers_that_are_names_are_refused_without_a_schema(name, what):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 90, 50), name: rng.integers(0, 99, 50)})
    ledger = Ledger(voile.Budget(2.0, 1e-6))
    with pytest.raises(SchemaError, match=f"{name!r} {what}"):
        EBMClassifier(epsilon=1.0, ledger=ledger).fit(X, rng.integers(0, 2, 50))
    assert ledger.spent().epsilon == 0


def test_a_date_is_no_target():
    X, _ = make(50)
    for wrong in (np.array(["a"] * 50), np.zeros(50, bool), X["admitted"]):
        with pytest.raises(DataError, match="regression needs numbers"):
            voile.EBMRegressor(epsilon=1.0).fit({"visits": X["visits"]}, wrong)


def test_exports_have_dates(model, tmp_path):
    text = model.to_csv(tmp_path / "scores.csv").read_text()
    lines = [line for line in text.splitlines() if line.startswith("admitted,")]
    assert ",2019-01-01T00:00," in lines[0]
    assert "2024-12-31T23:59:59" in lines[-2]
    assert not re.search(r"\d{9}\.", text)


def test_pages_have_dates_and_fields_for_them(model, tmp_path):
    page = model.report(tmp_path / "r.html", rows=make(2)[0]).read_text(encoding="utf-8")
    assert 'type="date" id="field-0" step="1" min="2019-01-01" max="2024-12-31"' in page
    assert 'type="datetime-local" id="field-1"' in page
    assert 'type="number" id="field-2" step="1" min="0.0" max="12.0"' in page
    assert "from 2019-01-01 to 2024-12-31" in page
    assert "ordered category" in page
    assert "whole number" in page
    # Levels keep their order from the top, whatever their scores.
    from voile.report.ebm.shapes import order_levels

    assert order_levels(model.explain_global()["pain"]) == [5, 4, 3, 2, 1, 0]


def test_a_report_of_prototypes_and_maps_shows_dates(tmp_path):
    X, y = make(600)
    schema = SCHEMA.select(["admitted", "visits"])
    with fixed_noise(1):
        model = voile.GLVQClassifier(epsilon=8.0, schema=schema).fit(X, y)
    text = str(model.explain_global())
    assert re.search(r"admitted +20\d\d-\d\d-\d\d ± \d+ days", text)
    assert re.search(r"cannot be told from nothing: visits", text)
    page = model.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "2019-01-01 to 2024-12-31" in page
    told = model.explain_local(X)
    for decision in told.decisions:
        for change in decision.changes:
            if change.column == "visits":
                assert change.value == round(change.value)
                row = {
                    "admitted": X["admitted"][told.decisions.index(decision)],
                    "visits": change.value,
                }
                moved = model.predict({name: [value] for name, value in row.items()})
                assert moved[0] == model.classes_[change.to_class]


@pytest.mark.parametrize(
    ("y", "levels", "found"),
    [
        (np.arange(40) % 2, ["no", "yes"], "is of numbers"),
        (np.arange(40) % 2, ["0", "1"], "is of numbers"),
        (np.array(["0", "1"] * 20), [0, 1], "is of text"),
    ],
)
def test_classes_of_another_type_than_the_target_are_refused_before_paying(y, levels, found):
    ledger = Ledger(Budget(2))
    schema = Schema({"a": Number(0, 40)}, target=Category(levels))
    with pytest.raises(DataError, match=found):
        EBMClassifier(epsilon=1, schema=schema, ledger=ledger).fit({"a": np.arange(40.0)}, y)
    assert not ledger.history()


def test_rows_with_a_class_or_level_that_is_not_listed_are_told():
    rng = np.random.default_rng(0)
    X = {"a": rng.uniform(0, 1, 6000), "ward": rng.choice(["West", "Ost", "Süd"], 6000)}
    y = rng.choice(["no", "yes", "Yes"], 6000)
    columns = {"a": Number(0, 1), "ward": Category(["West", "Öst", "Süd"])}
    with fixed_noise(0):
        model = EBMClassifier(
            epsilon=1, schema=Schema(columns, target=Category(["no", "yes"])), rounds=1
        ).fit(X, y)
    told = [note for note in model.receipt_.notes if "rows have none of the" in note]
    assert len(told) == 2
    assert "classes 'no', 'yes' and taught nothing" in told[0]
    assert "levels of 'ward' that are listed and count as (other)" in told[1]
    with fixed_noise(0):
        right = EBMClassifier(
            epsilon=1,
            schema=Schema(
                columns | {"ward": Category(["West", "Ost", "Süd"])},
                target=Category(["no", "yes", "Yes"]),
            ),
            rounds=1,
        ).fit(X, y)
    assert not right.receipt_.notes
