"""A summary says what is in the table, within its error bars, in every form alike."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile import Budget, Category, Ledger, Number, Schema, protect, summarize
from voile.errors import BudgetExceeded, SchemaError, SettingError
from voile.privacy.noise import fixed_noise

ROWS = 20_000


def people():
    generator = np.random.default_rng(0)
    age = np.round(generator.normal(45, 15, ROWS).clip(0, 100))
    age[:1000] = np.nan
    job = generator.choice(["clerk", "nurse", "smith"], ROWS, p=[0.5, 0.3, 0.2]).astype(object)
    job[:500] = None
    job[500:503] = ["king", "queen", "jester"]
    return pd.DataFrame({"age": age, "job": job, "member": generator.random(ROWS) < 0.25})


SCHEMA = Schema(
    {
        "age": Number(0, 120),
        "job": Category(["clerk", "nurse", "smith"]),
        "member": Category([False, True]),
    }
)


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "no schema"])
def test_counts_are_within_their_error_bars(table, schema):
    with fixed_noise(1):
        summary = summarize(table, schema=schema, epsilon=2.0)
    assert abs(summary.rows - ROWS) < 5 * summary.rows_standard_error
    job = summary["job"]
    assert job.found is (schema is None)
    assert set(job.levels) == {"clerk", "nurse", "smith", "(other)", "(missing)"}
    truth = {**table["job"].value_counts(), "(missing)": 500, "(other)": 3}
    for level, count in zip(job.levels, job.counts, strict=True):
        assert abs(count - truth[level]) < 5 * job.standard_error
    age = summary["age"]
    assert age.found is (schema is None)
    assert abs(age.missing - 1000) < 5 * max(age.standard_errors)
    known = table["age"].dropna()
    for share, value in zip((0.25, 0.5, 0.75), age.quartiles, strict=True):
        assert (known < value - 1).mean() - 0.03 <= share <= (known <= value + 1).mean() + 0.03
    assert list(age.edges) == sorted(set(age.edges))
    assert len(age.counts) == len(age.standard_errors) == len(age.edges) - 1
    assert summary["member"].levels[:2] == ("False", "True")
    assert summary["member"].found is False


def test_values_of_a_few_people_are_never_named(table):
    with fixed_noise(2):
        text = "".join(str(summarize(table, epsilon=2.0).to_dict()) for _ in range(5))
    assert not any(rare in text for rare in ("king", "queen", "jester"))


def test_without_noise_the_counts_are_exact(table):
    summary = summarize(table, epsilon=math.inf, schema=SCHEMA)
    assert (summary.rows, summary.rows_standard_error) == (ROWS, 0.0)
    truth = table["job"].value_counts()
    assert summary["job"].counts == (truth["clerk"], truth["nurse"], truth["smith"], 3, 500)
    age = summary["age"]
    assert age.missing == pytest.approx(1000)
    assert sum(age.counts) == pytest.approx(ROWS - 1000)
    edges = np.asarray(age.edges)
    expected, _ = np.histogram(table["age"].dropna(), edges)
    assert np.allclose(age.counts, expected)


def test_all_forms_of_a_table_give_the_same_summary(table, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.Table.from_pandas(table), path)
    mapping = {name: list(table[name]) for name in table}
    seen = []
    for form in (table, pa.Table.from_pandas(table), mapping, path, str(path)):
        with fixed_noise(7):
            seen.append(summarize(form, schema=SCHEMA).to_dict())
    with fixed_noise(7):
        seen.append(summarize(protect(table, schema=SCHEMA)).to_dict())
    for one in seen:
        one.pop("receipt")
    assert all(one == seen[0] for one in seen)


def test_forms_agree(table):
    with fixed_noise(3):
        summary = summarize(table, schema=SCHEMA, bins=5)
    data = json.loads(summary.to_json())
    assert data["rows"] == summary.rows
    assert [column["kind"] for column in data["columns"]] == ["number", "category", "category"]
    assert data["receipt"]["guarantee"] == summary.receipt.guarantee
    assert summary["age"].name == "age"
    with pytest.raises(KeyError):
        summary["nobody"]
    text = str(summary)
    for name in table:
        assert name in text
    assert len(summary["age"].counts) <= 2 * 5


def test_two_summaries_of_a_ledger_share_its_budget(table):
    ledger = Ledger(Budget(1.5, 1e-6))
    summarize(table, schema=SCHEMA, epsilon=1.0, ledger=ledger)
    left = ledger.remaining().epsilon
    assert 0 < left < 1.5
    with pytest.raises(BudgetExceeded):
        summarize(table, schema=SCHEMA, epsilon=1.4, ledger=ledger)
    assert ledger.remaining().epsilon == left
    summarize(table, schema=SCHEMA, epsilon=0.9 * left, ledger=ledger)


def test_error_bars_grow_as_epsilon_falls(table):
    errors = [
        summarize(table, schema=SCHEMA, epsilon=epsilon)["job"].standard_error
        for epsilon in (4.0, 1.0, 0.25)
    ]
    assert errors == sorted(errors)
    assert 3 < errors[2] / errors[1] < 5


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, "1"])
def test_a_wrong_epsilon_is_refused(epsilon):
    with pytest.raises(SettingError):
        summarize({"a": [1.0]}, epsilon=epsilon)


@pytest.mark.parametrize("delta", [0.0, -1e-6, 1.0, math.nan])
def test_a_wrong_delta_is_refused(delta):
    with pytest.raises(SettingError):
        summarize({"a": [1.0]}, delta=delta)


def test_a_table_without_columns_is_refused():
    with pytest.raises(SchemaError, match="no columns"):
        summarize({"a": [1.0]}, schema=Schema({}))
