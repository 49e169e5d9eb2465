"""When one person has several rows, the guarantee covers the person."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from voile import Budget, Category, Ledger, Number, Schema, Unit, protect, summarize
from voile.errors import DataError, LedgerMismatch, SchemaError, SettingError
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.discovery import TreeCells, find_levels
from voile.privacy.events import Gaussian, Laplace, Plan, PoissonGaussian, Threshold
from voile.privacy.mechanisms import gaussian_sum, laplace_sum
from voile.privacy.queries import CategoryCounts, RowCount
from voile.privacy.sources.table import TableSource

PEOPLE = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "cyd", None, 3]), st.sampled_from("xyz"), st.floats()),
    max_size=30,
)


def source_of(rows, most):
    schema = Schema({"b": Category(["x", "y"]), "a": Number(0, 1)}, unit=Unit("who", most))
    columns = dict(zip(("who", "b", "a"), zip(*rows, strict=True), strict=False)) if rows else {}
    frame = {name: list(columns.get(name, ())) for name in ("who", "b", "a")}
    return TableSource(frame, None, schema)


@given(PEOPLE, st.integers(1, 4), st.sampled_from(["ann", None, 3]))
def test_taking_a_person_away_moves_a_sum_by_at_most_so_many_rows(rows, most, person):
    without = [row for row in rows if row[0] != person]
    for query in (CategoryCounts("b", 2), TreeCells("a", 0.0, 1.0), RowCount()):
        change = source_of(rows, most).total(query, 1.0) - source_of(without, most).total(
            query, 1.0
        )
        assert np.linalg.norm(change) <= most * query.sensitivity(
            NeighbouringRelation.ADD_REMOVE
        ) * (1 + 1e-12)


@given(PEOPLE, st.integers(1, 4))
def test_nobody_has_more_rows_than_allowed(rows, most):
    used = source_of(rows, most).total(RowCount(), 1.0)[0]
    held = Counter(row[0] for row in rows if row[0] is not None)  # rows of nobody are not used
    assert used == sum(min(count, most) for count in held.values())


def test_files_and_memory_use_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("voile.privacy.sources.table.BLOCK_ROWS", 7)
    monkeypatch.setattr("voile.privacy.sources.parquet.BLOCK_ROWS", 5)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": rng.integers(0, 20, 100), "a": rng.random(100)})
    frame.to_parquet(tmp_path / "rows.parquet")
    schema = Schema({"a": Number(0, 1)}, unit=Unit("who", 2))
    exact = [
        summarize(table, epsilon=math.inf, schema=schema, bins=4096)["a"].counts
        for table in (frame, tmp_path / "rows.parquet")
    ]
    assert exact[0] == exact[1]
    assert sum(exact[0]) == np.minimum(frame["who"].value_counts(), 2).sum()


def test_noise_grows_with_the_rows_of_a_unit():
    frame = {"who": list(range(50)) * 2, "b": ["x"] * 100}
    scales = {}
    for most in (1, 2):
        schema = Schema({"b": Category(["x"])}, unit=Unit("who", most))
        table = protect(frame, schema=schema)
        plan = Plan.of(g=Gaussian(noise_multiplier=9.0), l=Laplace(noise_multiplier=50.0))
        grant = Ledger(Budget(5, 1e-6), filter="renyi").pay(plan, table, "x")
        scales[most] = (
            gaussian_sum(table, RowCount(), grant.take("g")).standard_error,
            laplace_sum(table, RowCount(), grant.take("l")).standard_error,
        )
    assert scales[2] == pytest.approx((2 * scales[1][0], 2 * scales[1][1]))


def test_the_threshold_allows_for_all_rows_of_a_unit():
    table = protect(
        {"who": [1, 1, 1], "b": ["x"] * 3}, schema=Schema({"b": Category()}, unit=Unit("who", 3))
    )
    plan = Plan.of(levels=Threshold(noise_multiplier=2.0, delta=1e-6))
    grant = Ledger(Budget(9, 1e-4)).pay(plan, table, "x")
    found = find_levels(table, "b", grant.take("levels"))
    assert found.standard_error == 6.0
    # A value that one unit alone brings, three times over; delta / 3 for each of three values.
    assert found.threshold == pytest.approx(3 - 6 * norm.ppf(1e-6 / 3))


def test_sampling_rows_is_refused_for_units_of_several_rows():
    table = protect(
        {"who": [1], "a": [0.5]}, schema=Schema({"a": Number(0, 1)}, unit=Unit("who", 2))
    )
    plan = Plan.of(s=PoissonGaussian(noise_multiplier=5.0, rate=0.1))
    grant = Ledger(Budget(5, 1e-6)).pay(plan, table, "x")
    with pytest.raises(SettingError, match="rows=1"):
        gaussian_sum(table, RowCount(), grant.take("s"))
    assert grant.openings == {"s": 0}


def test_the_receipt_names_the_unit():
    schema = Schema({"a": Number(0, 1)}, unit=Unit("patient", 2))
    receipt = summarize({"patient": [1, 1, 2], "a": [0.1, 0.2, 0.3]}, schema=schema).receipt
    assert "for one patient (at most 2 rows each) added or removed" in receipt.guarantee


def test_wrong_units_are_refused():
    with pytest.raises(SchemaError, match="cannot be a feature"):
        Schema({"who": Category()}, unit=Unit("who"))
    with pytest.raises(SchemaError, match="rows"):
        Unit("who", 0)
    with pytest.raises(DataError, match="'who'"):
        protect({"a": [1.0]}, schema=Schema({"a": Number(0, 1)}, unit=Unit("who")))
    table = protect({"a": [1.0]}, schema=Schema({"a": Number(0, 1)}))
    with pytest.raises(SchemaError, match="protect again"):
        table.with_schema(table.schema.with_unit(Unit("a2")))


def test_units_survive_files(tmp_path):
    schema = Schema({"a": Number(0, 1)}, unit=Unit("who", 3))
    for name in ("s.json", "s.yaml"):
        schema.save(tmp_path / name)
        assert Schema.load(tmp_path / name) == schema
    with pytest.raises(SchemaError, match="unit"):
        Schema.from_dict({**schema.to_dict(), "unit": {"column": "who", "lines": 3}})


def test_files_that_changed_are_refused_without_numbers(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"who": [1, 2, 3], "a": [0.1, 0.2, 0.3]}).to_parquet(path)
    table = protect(path, schema=Schema({"a": Number(0, 1)}, unit=Unit("who")))
    pd.DataFrame({"who": [1, 2, 3, 4], "a": [0.1, 0.2, 0.3, 0.4]}).to_parquet(path)
    with pytest.raises(DataError, match="protect again") as caught:
        summarize(table)
    assert not any(character.isdigit() for character in str(caught.value))


# --- people whom no column tells apart


@given(PEOPLE, st.integers(1, 4), st.data())
def test_taking_any_few_rows_away_moves_a_sum_by_at_most_so_many(rows, most, data):
    schema = Schema({"b": Category(["x", "y"]), "a": Number(0, 1)}, unit=Unit(rows=most))

    def source(some):
        return TableSource({"b": [r[1] for r in some], "a": [r[2] for r in some]}, None, schema)

    places = st.integers(0, max(len(rows) - 1, 0))
    gone = data.draw(st.sets(places, max_size=min(most, len(rows))))
    left = [row for place, row in enumerate(rows) if place not in gone]
    for query in (CategoryCounts("b", 2), TreeCells("a", 0.0, 1.0), RowCount()):
        change = source(rows).total(query, 1.0) - source(left).total(query, 1.0)
        bound = most * query.sensitivity(NeighbouringRelation.ADD_REMOVE)
        assert np.linalg.norm(change) <= bound * (1 + 1e-12)


def test_noise_is_for_as_many_rows_as_a_person_may_have():
    table = {"a": [0.1] * 50}
    scales = []
    for most in (1, 5):
        private = protect(table, schema=Schema({"a": Number(0, 1)}, unit=Unit(rows=most)))
        ledger = Ledger(Budget(1, 1e-6))
        grant = ledger.pay(Plan.of(count=Gaussian(1, 8.0)), private, "count")
        scales.append(gaussian_sum(private, RowCount(), grant.take("count")).standard_error)
        assert ledger.unit == ("row" if most == 1 else "person with at most 5 rows")
    assert scales[1] == pytest.approx(5 * scales[0], rel=1e-6)


def test_a_bound_that_nothing_enforces_is_in_the_receipt_and_in_the_name_of_the_unit():
    schema = Schema({"a": Number(0, 1)}, unit=Unit(rows=5))
    ledger = Ledger(Budget(2, 1e-6))
    receipt = summarize({"a": [0.5] * 9}, epsilon=1, schema=schema, ledger=ledger).receipt
    assert "one person with at most 5 rows added or removed" in receipt.guarantee
    assert any("nobody has more than 5 rows" in note for note in receipt.notes)
    # Another bound is another guarantee, which does not add up with this one.
    with pytest.raises(LedgerMismatch, match="different units"):
        summarize({"a": [0.5]}, epsilon=0.1, schema=schema.with_unit(Unit(rows=3)), ledger=ledger)


def test_sampling_of_rows_is_refused_for_people_whom_no_column_tells_apart():
    private = protect({"a": [0.5] * 9}, schema=Schema({"a": Number(0, 1)}, unit=Unit(rows=2)))
    grant = Ledger(Budget(1, 1e-6)).pay(
        Plan.of(count=PoissonGaussian(1, 8.0, 0.1)), private, "count"
    )
    with pytest.raises(SettingError, match="rows=1"):
        gaussian_sum(private, RowCount(), grant.take("count"))
