"""Dates: bounds as people write them, and files that keep them."""

import copy
import datetime as dt
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from voile.errors import SchemaError
from voile.schema import Category, Date, Number, Schema
from voile.schema.dates import read_instant, read_moment

DAY = 86_400.0


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ("2019-01-01", "2024-12-31"),
        ("20190101", "2024-12-31T23:59"),
        ("01.01.2019", "31.12.2024"),
        (dt.date(2019, 1, 1), dt.datetime(2024, 12, 31, 7)),
        (np.datetime64("2019-01"), np.datetime64("2024-12-31T05:00:00.123456789")),
        (pd.Timestamp("2019-01-01T23:00"), pd.Timestamp("2024-12-31", tz="UTC")),
    ],
)
def test_days_are_the_same_however_bounds_are_given(lower, upper):
    found = Date(lower, upper)
    assert found == Date("2019-01-01", "2024-12-31")
    assert repr(found) == "Date('2019-01-01', '2024-12-31')"
    # The upper bound is a whole day.
    assert (found.lower, found.upper) == (17_897 * DAY, 20_089 * DAY - 1)
    assert found.known
    assert found.scale == "day"
    assert isinstance(found, Number)
    assert found != Number(found.lower, found.upper)


def test_bounds_with_a_time():
    found = Date("2024-01-01T06:30", "2024-01-31", time=True)
    assert repr(found) == "Date('2024-01-01T06:30:00', '2024-01-31T23:59:59', time=True)"
    assert found.scale == "time"
    assert Date("2024-01-01T02:00+02:00", "2024-01-02", time=True).lower == 19_723 * DAY
    assert eval(repr(found), {"Date": Date}) == found


@pytest.mark.parametrize(
    "bounds",
    [
        ("2019-01-01", None),
        (None, "2019-01-01"),
        (2019, 2024),
        ("2019", "2024"),
        ("soon", "later"),
        ("2024-13-01", "2025-01-01"),
        ("2024-12-31", "2019-01-01"),
        ("2024-12-31", "2024-12-31"),
        (float("nan"), 1.0),
        (1e300, 2e300),
        (dt.time(1), dt.time(2)),
        (pd.NaT, pd.Timestamp("2024-01-01")),
        (np.datetime64("NaT"), np.datetime64("2024-01-01")),
        (np.datetime64("-300000-01"), np.datetime64("2024-01-01")),
        (True, False),
    ],
)
def test_what_is_no_date_is_refused_in_one_line(bounds):
    with pytest.raises(SchemaError) as caught:
        Date(*bounds)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("flags", [{"time": 1}, {"missing": None}])
def test_flags_are_truth_values(flags):
    with pytest.raises(SchemaError, match="True or False"):
        Date("2019-01-01", "2020-01-01", **flags)


def test_a_number_with_dates_as_bounds_names_the_remedy():
    with pytest.raises(SchemaError, match=r"Date\(lower, upper\)"):
        Number("2019-01-01", "2020-01-01")


DATES = [
    Date(),
    Date(time=True, missing=False),
    Date("2019-01-01", "2024-12-31"),
    Date("2024-01-01T06:30", "2024-01-31T07:45:12.5", time=True),
    Date("0001-01-01", "9999-12-31", missing=False),
]


@pytest.mark.parametrize("date", DATES, ids=repr)
def test_dates_survive_files_copies_and_pickles(date):
    schema = Schema({"a": date, "b": Category(["x"])})
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert Schema.from_json(schema.to_json()) == schema
    assert pickle.loads(pickle.dumps(date)) == date
    assert copy.deepcopy(date) == date
    assert replace(date) == date
    assert hash(replace(date)) == hash(date)


def test_dates_in_yaml_need_no_quotes():
    text = "voile_schema: 1\ncolumns:\n  a: {kind: date, lower: 2019-01-01, upper: 2024-12-31}\n"
    assert Schema.from_yaml(text)["a"] == Date("2019-01-01", "2024-12-31")


@pytest.mark.parametrize(
    "column",
    [
        {"kind": "date", "lower": 2019, "upper": 2024},
        {"kind": "date", "lower": "2019-01-01"},
        {"kind": "date", "whole": True},
        {"kind": "date", "time": "yes"},
        {"kind": "dates"},
    ],
)
def test_files_are_read_strictly(column):
    with pytest.raises(SchemaError, match="column 'a'"):
        Schema.from_dict({"voile_schema": 1, "columns": {"a": column}})


def test_a_date_cannot_be_predicted():
    with pytest.raises(SchemaError, match="days until"):
        Schema({"a": Number(0, 1)}, target=Date())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", DAY),
        (" 1970-01-02 ", DAY),
        ("1970-01-01T01:00", 3600.0),
        ("1970-01-01 01:00:00.25", 3600.25),
        ("1970-01-01T01:00Z", 3600.0),
        ("1970-01-01T01:00+01:00", 0.0),
        ("2.1.1970", DAY),
        ("02.01.1970 00:30", DAY + 1800),
        ("31.02.1970", None),
        ("1/2/1970", None),
        ("1970", None),
        ("0001-01-01T00:00+23:00", -62135596800.0 - 23 * 3600),
        ("\ud800", None),
        ("x" * 10_000, None),
        ("", None),
    ],
)
def test_dates_are_read_from_text(text, seconds):
    assert read_instant(text) == seconds


def test_moments_of_people():
    assert read_moment("1970-01-01", last=True) == DAY - 1
    assert read_moment(dt.date(1970, 1, 1), last=True) == DAY - 1
    assert read_moment(dt.datetime(1970, 1, 1), last=True) == 0.0
    assert all(np.isnan(read_moment(one)) for one in (5, None, "x", pd.NaT, dt.time(1)))


def test_levels_with_an_order():
    pain = Category(["none", "mild", "severe"], ordered=True)
    assert repr(pain) == "Category(['none', 'mild', 'severe'], ordered=True)"
    assert pain != Category(["none", "mild", "severe"])
    schema = Schema({"pain": pain})
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert "ordered: true" in schema.to_yaml()
    assert "ordered" not in Schema({"a": Category(["x"])}).to_yaml()
    with pytest.raises(SchemaError, match="must be listed, the least first"):
        Category(ordered=True)
    with pytest.raises(SchemaError, match="True or False"):
        Category(["a"], ordered="yes")
