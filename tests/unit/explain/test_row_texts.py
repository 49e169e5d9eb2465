"""Texts of rows that are made when they are read: the same as if all had been written down."""

import copy
import datetime as dt
import pickle
import time
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from ebm_models import make_model, make_rows
from explained_models import census_model
from random_pairs import with_pairs

from voile.errors import DataError
from voile.explain import EBMLocalExplanation
from voile.explain.given_values import hold_texts, tell_rows
from voile.explain.row_texts import RowTexts, TextMaker
from voile.explaining import explain_local
from voile.privacy.held_rows import hold_public
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Date, Number, Schema

ROWS = make_rows(1000)


def listed(rows=1000):
    return RowTexts(
        TextMaker(
            lambda start, stop: (
                [(f"{i}", "a") for i in range(start, stop)],
                [("", f"b{i}") for i in range(start, stop)],
            ),
            rows,
            2,
        ),
        0,
    )


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda rows: rows, id="mapping"),
        pytest.param(lambda rows: {k: list(v) for k, v in rows.items()}, id="lists"),
        pytest.param(
            lambda rows: [list(row) for row in zip(*rows.values(), strict=True)], id="rows"
        ),
        pytest.param(pd.DataFrame, id="pandas"),
        pytest.param(lambda rows: pd.DataFrame(rows).convert_dtypes(), id="nullable"),
        pytest.param(lambda rows: pd.DataFrame(rows).astype({"job": "category"}), id="categorical"),
        pytest.param(lambda rows: pd.DataFrame(rows)[::-1], id="index"),
        pytest.param(lambda rows: pl.from_pandas(pd.DataFrame(rows)), id="polars"),
        pytest.param(lambda rows: pa.Table.from_pandas(pd.DataFrame(rows)), id="arrow"),
    ],
)
def test_texts_are_the_same_whenever_they_are_made(form):
    rows = form(ROWS)
    schema = make_model().schema
    columns = encode_public(rows, schema)
    held = hold_texts(schema, rows, columns)
    told = tell_rows(schema, rows, columns)
    assert tuple(held[0]) == told[0]
    assert tuple(held[1]) == told[1]
    for i in (999, 0, 256, 255, 512, 3):
        assert held[0][i] == told[0][i]
        assert held[1][i] == told[1][i]
    assert any(any(texts) for texts in told[1])


def test_an_array_of_numbers_is_told_like_a_table():
    columns = {"a": Number(0, 1), "b": Category([1, 2])}
    values = np.array([[0.25, 1], [7, 2], [np.nan, np.nan], [0.1, 3]])
    schema = Schema(columns)
    given, read = hold_texts(schema, values, encode_public(values, schema))
    assert given == (("0.25", "1"), ("7", "2"), ("(missing)", "(missing)"), ("0.1", "3"))
    assert read == (("", ""), ("1", ""), ("", ""), ("", "(other)"))


@pytest.mark.parametrize("kind", ["pandas", "array", "lists", "objects"])
def test_later_changes_of_the_table_do_not_reach_texts(kind):
    schema = Schema({"a": Number(0, 9), "b": Number(0, 9)})
    values = np.arange(10.0).reshape(5, 2)
    table = {
        "pandas": lambda: pd.DataFrame(values.copy(), columns=["a", "b"]),
        "array": values.copy,
        "lists": lambda: {"a": values[:, 0].tolist(), "b": values[:, 1].tolist()},
        "objects": lambda: values.astype(object),
    }[kind]()
    given, _ = hold_texts(schema, table, encode_public(table, schema))
    if kind == "pandas":
        table.iloc[:, 0] = 99.0
    elif kind == "lists":
        table["a"][:] = [99] * 5
        table["b"].clear()
    else:
        table[:] = 99
    assert given == tuple((f"{2 * i}", f"{2 * i + 1}") for i in range(5))


def test_they_are_as_a_tuple_of_tuples():
    texts, plain = listed(), tuple((f"{i}", "a") for i in range(1000))
    assert texts == plain
    assert plain == texts
    assert texts == listed()
    assert texts != plain[:-1]
    assert texts != listed(999)
    assert texts != list(plain)
    assert len(texts) == 1000
    assert hash(texts) == hash(plain)
    assert repr(texts[:3]) == repr(plain[:3])
    assert list(texts) == list(plain)
    assert list(reversed(texts)) == list(reversed(plain))
    assert plain[3] in texts
    assert texts.index(plain[700]) == 700
    for rows in (
        slice(0, 5),
        slice(None, None, -1),
        slice(990, 2000),
        slice(5, 2),
        slice(1, 900, 7),
    ):
        assert texts[rows] == plain[rows]
        assert texts[rows][:4] == plain[rows][:4]
        assert tuple(texts[rows]) == plain[rows]
    assert texts[-1] == plain[-1]
    for place in (1000, -1001):
        with pytest.raises(IndexError):
            texts[place]
    for again in (pickle.loads(pickle.dumps(texts)), copy.deepcopy(texts)):
        assert type(again) is tuple
        assert again == plain


def test_a_record_with_them_is_saved_and_compared_as_before():
    model = with_pairs(make_model(), ("age", "job"), ("pay", "age"))
    told = explain_local(model, ROWS)
    assert isinstance(told.given, RowTexts)
    back = EBMLocalExplanation.from_json(told.to_json())
    assert type(back.given) is tuple
    assert back.to_dict() == told.to_dict()
    assert back.given == told.given
    assert back.read_as == told.read_as
    assert str(back) == str(told)
    assert back.to_records() == told.to_records()
    assert told[900:].to_dict() == back[900:].to_dict()
    assert told[5].given == back.given[5:6]
    assert pickle.loads(pickle.dumps(told)).to_dict() == told.to_dict()
    assert copy.deepcopy(told).to_dict() == told.to_dict()
    data = told[:2].to_dict()
    for wrong in ([["x"]] * 2, [data["given"][0]], "text", [[1] * 7] * 2):
        with pytest.raises(DataError):
            EBMLocalExplanation.from_dict({**data, "given": wrong})


def test_columns_that_were_taken_out_are_missing():
    held = hold_public({"a": [1, 2]}, ["a", "b"])
    assert held.row_count == 2
    plain = held.read(0, 2)
    assert plain["a"].tolist() == [1, 2]
    assert plain["b"].tolist() == [None, None]


def test_dates_are_told_in_parts_as_in_whole():
    days = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=5 * i) for i in range(600)]
    schema = Schema({"when": Date("2024-01-02", "2024-03-01")})
    for table in (pd.DataFrame({"when": days}), {"when": np.array(days, "M8[s]")}, {"when": days}):
        columns = encode_public(table, schema)
        given, read = hold_texts(schema, table, columns)
        assert (tuple(given), tuple(read)) == tell_rows(schema, table, columns)
        assert given[300] == tell_rows(schema, table, columns)[0][300]
        assert read[0] == ("2024-01-02",)


def test_many_rows_are_explained_at_once():
    """Seconds and bytes are generous: with all texts written down it was 5 s and 190 MB."""
    model, count = census_model(), 100_000
    rng = np.random.default_rng(0)
    rows = {
        term.name: rng.choice(np.array(term.column.levels, object), count)
        if isinstance(term.column, Category)
        else rng.uniform(term.column.lower, term.column.upper, count)
        for term in model.terms
    }
    table = pd.DataFrame(rows)
    explain_local(model, table[:10])
    began = time.process_time()
    tracemalloc.start()
    told = explain_local(model, table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - began < 3
    assert peak < 150e6
    assert (
        told.given[99_999][0]
        == tell_rows(model.schema, table[-1:], encode_public(table[-1:], model.schema))[0][0][0]
    )
    assert len(told.given) == count
