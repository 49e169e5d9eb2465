"""Ticks of whole numbers and dates."""

import pytest

from voile.report.kit.axis import MOST_TICKS, MOST_YEARS, value_ticks
from voile.schema import Date


def ticks(first, last, *, time=False):
    column = Date(first, last, time=time)
    return value_ticks(column.lower, column.upper, column.scale)


@pytest.mark.parametrize(
    ("first", "last", "texts"),
    [
        ("2019-01-01", "2024-12-31", ["2019", "2020", "2021", "2022", "2023", "2024"]),
        ("1900-01-01", "2099-12-31", ["1900", "1950", "2000", "2050"]),
        ("2024-01-01", "2024-12-31", ["2024-01", "2024-04", "2024-07", "2024-10"]),
        ("2024-02-27", "2024-03-02", [f"2024-0{day}" for day in ("2-27", "2-28", "2-29")]),
    ],
)
def test_dates(first, last, texts):
    found = ticks(first, last)["ticktext"]
    assert found[: len(texts)] == texts
    assert len(found) <= MOST_YEARS


def test_times_of_one_day():
    found = ticks("2024-03-01T06:00", "2024-03-01T18:00", time=True)
    assert found["ticktext"][0] == "06:00<br>2024-03-01"
    assert len(found["tickvals"]) <= MOST_TICKS + 1


@pytest.mark.parametrize("years", [(1, 9999), (1, 2), (9998, 9999)])
def test_any_range_has_ticks(years):
    found = ticks(*(f"{year:04}-01-01" for year in years))
    assert found["tickvals"] == sorted(found["tickvals"])
    assert 1 <= len(found["tickvals"]) <= 12


def test_whole_numbers_and_others():
    assert value_ticks(0, 5, "whole") == {"tick0": 0, "dtick": 1}
    assert value_ticks(0, 500, "whole") == {}
    assert value_ticks(0, 5, "number") == {}
