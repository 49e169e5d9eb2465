"""The way from a table to a released sum where it is odd: values, columns, weights, looks."""

import datetime as dt
import math
import sys
from dataclasses import replace

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile import Budget, Category, Ledger, Number, Schema, Unit, protect
from voile.errors import DataError, PlanError, SettingError
from voile.privacy.encode import encode_frame, encode_values
from voile.privacy.encode.column import _list_of
from voile.privacy.encode.identity import identity_of
from voile.privacy.encode.value import UNFIT, plain_value
from voile.privacy.events import Gaussian, Plan, Pure, Unprotected
from voile.privacy.mechanisms import attention, gaussian_sum, laplace_sum, permute_and_flip, top_k
from voile.privacy.mechanisms.attention import (
    SmoothNoise,
    attention_groups,
    least_share,
    smooth_noise,
)
from voile.privacy.public_rows import encode_public
from voile.privacy.queries import TARGET, CategoryCounts, NumberCounts, RowCount, Together
from voile.privacy.receipt import write_receipt
from voile.privacy.receipt_check import check_receipt
from voile.privacy.sources.block import Block
from voile.privacy.sources.weights import RowWeights
from voile.privacy.vault import open_rows

SCHEMA = Schema({"a": Number(0, 10), "b": Category(["x", "y", "z"])})
ROWS = {"a": [1.0, 2.0, 9.0], "b": ["x", "x", "y"]}
ENDLESS = Budget(math.inf)


def table():
    return protect(ROWS, schema=SCHEMA)


def granted(event, rows=None, budget=ENDLESS):
    return Ledger(budget).pay(Plan.of(q=event), rows or table(), "job")


# --- values


@pytest.mark.parametrize(
    ("stranger", "plain"),
    [
        (dt.date(2020, 2, 3), dt.date(2020, 2, 3)),
        (dt.datetime(2020, 2, 3, 4), dt.datetime(2020, 2, 3, 4)),
        (dt.time(4, 5), dt.time(4, 5)),
        (dt.timedelta(hours=3), dt.timedelta(hours=3)),
    ],
)
def test_a_strangers_moment_is_what_it_derives_from_and_its_methods_are_not_asked(stranger, plain):
    def speak(self, *args, **named):
        raise AssertionError("a method of a stranger was called")

    base = type(stranger)
    spoken = dict.fromkeys(("isoformat", "__str__", "__repr__", "total_seconds"), speak)
    kind = type("Stranger", (base,), spoken)
    if base is dt.timedelta:
        odd = kind(seconds=stranger.total_seconds())
    else:
        names = ("year", "month", "day", "hour", "minute", "second")
        odd = kind(*(getattr(stranger, name) for name in names if hasattr(stranger, name)))
    assert plain_value(odd) == plain_value(plain)


def test_without_pandas_no_value_is_one_of_its(monkeypatch):
    class Odd:
        pass

    monkeypatch.setitem(sys.modules, "pandas", None)
    assert plain_value(Odd()) is UNFIT


@pytest.mark.parametrize(
    ("value", "identity"),
    [
        (bytes(range(16)), "#000102030405060708090a0b0c0d0e0f"),  # text, but none to read
        (b"0123456789abcdef", "0123456789abcdef"),
        ("2020-13-45", "2020-13-45"),  # no date after all
    ],
)
def test_what_looks_like_another_kind_of_id_keeps_its_own_form(value, identity):
    assert identity_of(value) == identity


def test_a_series_whose_list_cannot_be_had_is_read_one_by_one(monkeypatch):
    series = nw.from_native(pd.Series([1, 2, 3]), series_only=True)

    def fail(self):
        raise ValueError("3 rows about anna")

    def item(self, row):
        if row == 1:
            raise ValueError("row 1 is anna's")
        return row

    monkeypatch.setattr(nw.Series, "to_list", fail)
    monkeypatch.setattr(nw.Series, "item", item)
    assert _list_of(series) == [0, UNFIT, 2]


def test_a_row_that_is_no_row_is_missing_throughout():
    encoded = encode_frame([[1.0, "x"], None, 5], Schema({"x0": Number(0, 10)}))
    np.testing.assert_array_equal(encoded["x0"], [1.0, np.nan, np.nan])


def test_text_that_is_no_unicode_is_unfit_in_any_array():
    odd = np.array(["x", "y"])
    odd.view(np.uint32)[-1] = 0x7FFFFFFF  # beyond the last character there is
    codes = encode_values(odd, SCHEMA["b"])
    assert codes[0] == 0
    assert codes[1] != 1


def test_text_too_long_for_one_arrow_array_is_read_all_the_same(monkeypatch):
    odd, real = np.array(["x", "y"]), pa.array
    monkeypatch.setattr(pa, "array", lambda values: pa.chunked_array([real(values)]))
    np.testing.assert_array_equal(encode_values(odd, SCHEMA["b"]), [0, 1])


def test_a_table_with_none_of_the_columns_is_another_table():
    with pytest.raises(DataError, match="no column"):
        encode_public({"other": [1]}, SCHEMA, may_lack=("a", "b"))


# --- tables


def test_weights_are_one_per_row_below_a_public_bound():
    with pytest.raises(DataError, match="different numbers of rows"):
        protect(ROWS, schema=SCHEMA, weights=[1.0], largest_weight=2.0)
    for largest in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(SettingError, match="must be a positive number"):
            RowWeights([1.0], largest)


def test_a_column_of_weights_is_not_learned_from(tmp_path):
    pq.write_table(pa.table(ROWS), tmp_path / "a.parquet")
    private = protect(tmp_path / "a.parquet", schema=SCHEMA, weights="a", largest_weight=10.0)
    assert list(private.schema) == ["b"]


def test_weights_and_units_of_a_table_go_together():
    schema = Schema({"a": Number(0, 10)}, unit=Unit("who", rows=1))
    rows = {"a": [1.0, 2.0, 3.0], "who": [1, 1, 2]}
    private = protect(rows, schema=schema, weights=[1.0, 8.0, 4.0], largest_weight=8.0)
    grant = granted(Unprotected(), private)
    released = gaussian_sum(private, RowCount(), grant.take("q"))
    assert released.values == pytest.approx([5.0])  # the first row of each, by its weight
    assert released.variance == 0.0


def test_weights_of_files_are_a_column_of_theirs(tmp_path):
    pq.write_table(pa.table({**ROWS, "w": [1.0, 2.0, 3.0]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="must be the name of a column"):
        protect(tmp_path / "a.parquet", schema=SCHEMA, weights=[1.0] * 3, largest_weight=3.0)
    private = protect(tmp_path / "a.parquet", schema=SCHEMA, weights="w", largest_weight=3.0)
    grant = granted(Unprotected(2), private)
    assert gaussian_sum(private, RowCount(), grant.take("q")).values == pytest.approx([6.0])
    pq.write_table(pa.table({**ROWS, "w": [1.0, 2.0, 3.0]}).slice(1), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="changed since they were protected"):
        gaussian_sum(private, RowCount(), grant.take("q"))


def test_a_target_that_was_not_given_cannot_be_had(tmp_path):
    pq.write_table(pa.table(ROWS), tmp_path / "a.parquet")
    for where in (ROWS, tmp_path / "a.parquet"):
        private = protect(where, schema=SCHEMA)
        block = next(
            iter(open_rows(private, granted(Unprotected(), private).take("q")).blocks("a"))
        )
        with pytest.raises(KeyError):
            block[TARGET]


# --- looks


class TooLong(RowCount):
    """Sums more than it announces."""

    def total(self, block: Block, grid: float):
        return np.zeros(2, dtype=np.int64)


def test_a_query_sums_what_it_has_announced():
    private = table()
    with pytest.raises(SettingError, match="not summed what it announced"):
        gaussian_sum(private, TooLong(), granted(Unprotected(), private).take("q"))


def test_without_noise_sums_and_choices_are_exact():
    private, counts = table(), CategoryCounts("b", 3)
    grant = granted(Unprotected(5), private)
    assert laplace_sum(private, counts, grant.take("q")).values[:3] == pytest.approx([2, 1, 0])
    assert permute_and_flip(private, counts, grant.take("q")) == 0
    assert top_k(private, counts, grant, "q", 2) == [0, 1]
    with pytest.raises(SettingError, match="The 'k' must be in"):
        top_k(private, counts, grant, "q", counts.size + 1)
    assert grant.openings["q"] == 4


class Unbounded(RowCount):
    bounded = False


@pytest.mark.parametrize("mechanism", [gaussian_sum, permute_and_flip])
def test_what_has_no_bound_is_looked_at_without_noise_alone(mechanism):
    private = table()
    event = Gaussian(1, 5.0) if mechanism is gaussian_sum else Pure(1, 0.1)
    grant = granted(event, private, Budget(10, 1e-6))
    with pytest.raises(PlanError, match="no bound on what one row changes"):
        mechanism(private, Unbounded(), grant.take("q"))
    assert grant.openings["q"] == 0


def test_joined_queries_lay_shares_side_by_side():
    counts = NumberCounts("a", np.array([0.0, 5.0, 10.0]))
    joined = Together((RowCount(), counts))
    block = Block(3, lambda name: np.array(ROWS[name]), {})
    np.testing.assert_array_equal(
        joined.contributions(block),
        np.hstack([RowCount().contributions(block), counts.contributions(block)]),
    )


def test_smooth_noise_of_too_small_a_budget_is_refused():
    with pytest.raises(SettingError, match="too small for smooth noise"):
        smooth_noise(1e-9, 1e-9, 100)


@pytest.mark.parametrize(("size", "epsilon"), [(1, 0.1), (1, 1.0), (3, 5.0), (1, 50.0)])
def test_the_least_number_of_groups_is_the_least(size, epsilon):
    groups = attention_groups(size, epsilon, 1e-6)
    noise = smooth_noise(epsilon, 1e-6, size)
    assert least_share(noise, groups) <= 1
    assert groups == 3 or least_share(noise, groups - 1) > 1


def test_the_number_of_groups_is_enough_where_rounding_would_have_it_one_short(monkeypatch):
    edge = SmoothNoise(4.755640611640389e-09, 1.3688524590163935)
    monkeypatch.setattr(attention, "smooth_noise", lambda *facts: edge)
    assert least_share(edge, 30) > 1
    assert least_share(edge, attention_groups(1, 1.0, 1e-6)) <= 1


# --- grants and receipts


def test_budget_set_aside_for_one_unit_pays_for_no_other():
    patients = Schema({"a": Number(0, 10)}, unit=Unit("who", rows=1))
    other = protect({"a": [1.0], "who": [1]}, schema=patients)
    reservation = Ledger(Budget(10, 1e-6)).reserve(
        Plan.of(q=Gaussian(1, 5.0)), "job", unit=table().unit
    )
    with pytest.raises(PlanError, match="another privacy unit"):
        reservation.pay(Plan.of(q=Gaussian(1, 5.0)), other)


def test_a_grant_is_worth_nothing_in_a_forked_process():
    grant = granted(Unprotected())
    grant._process += 1  # as the copy in a child sees it
    with pytest.raises(PlanError, match="forked process"):
        grant.take("q")


def test_receipts_without_a_guarantee_claim_none():
    private = table()
    grant = granted(Unprotected(), private)
    gaussian_sum(private, RowCount(), grant.take("q"))
    receipt = write_receipt(grant, ENDLESS)
    check_receipt(receipt, receipt.guarantee)
    assert not receipt.has_guarantee
    bare = replace(receipt, lines=())
    assert bare.guarantee.startswith("no guarantee is known")


def test_looks_decided_on_one_after_the_other_must_be_gaussian():
    private, budget = table(), Budget(10, 1e-6)
    plan = Plan.of(q=Pure(1, 0.1))
    ledger = Ledger(budget)
    first = ledger.pay(Plan.of(p=Pure(1, 0.1)), private, "job")
    later = ledger.pay(plan, private, "job")
    with pytest.raises(PlanError, match="must all be Gaussian"):
        write_receipt(first, budget, later)
