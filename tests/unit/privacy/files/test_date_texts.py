"""Texts as dates: the same seconds as the times of a Parquet file, or nothing."""

import datetime as dt

import pyarrow as pa
import pytest

from voile import Number
from voile.privacy.encode import encode_target, encode_values
from voile.privacy.files.date_texts import read_seconds
from voile.privacy.files.dialect import DateOrder, Spelling

OPEN = Spelling()
DMY, MDY, YMD = (Spelling(dates=order) for order in DateOrder)
CHRISTMAS = dt.datetime(2024, 12, 25)


def read(text, spelling):
    return read_seconds(pa.array([text], pa.string()), spelling)[0].as_py()


def seconds(moment):
    return None if moment is None else encode_values([moment], Number())[0]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-12-25", CHRISTMAS),
        ("2024/12/25", CHRISTMAS),
        ("2024-12-25T08:30", CHRISTMAS.replace(hour=8, minute=30)),
        ("2024-12-25 08:30:01.5", dt.datetime(2024, 12, 25, 8, 30, 1, 500_000)),
        ("2024-12-25 08:30:01.123456789", dt.datetime(2024, 12, 25, 8, 30, 1, 123_456)),
        ("2024-12-25T08:30:00Z", CHRISTMAS.replace(hour=8, minute=30)),
        ("2024-12-25T08:30:00+02:00", CHRISTMAS.replace(hour=6, minute=30)),
        ("2024-12-25 08:30 -0130", CHRISTMAS.replace(hour=10)),
        ("25.12.2024", CHRISTMAS),
        ("1.2.2024 8:05", dt.datetime(2024, 2, 1, 8, 5)),
        ("25/12/2024", CHRISTMAS),
        ("12/25/2024 3:45 PM", CHRISTMAS.replace(hour=15, minute=45)),
        ("12/25/2024 12:00 am", CHRISTMAS),
        ("0001-01-01", dt.datetime(1, 1, 1)),
        ("9999-12-31", dt.datetime(9999, 12, 31)),
        ("29.02.2024", dt.datetime(2024, 2, 29)),
        ("03/03/2024", dt.datetime(2024, 3, 3)),
        *((text, None) for text in ("29.02.2023", "30.02.2024", "31.04.2024", "0000-01-01")),
        *((text, None) for text in ("2024-13-01", "2024-12-25 24:00", "25.12.24", "2024-12-25T")),
        *((text, None) for text in ("03/04/2024", "2024-12/25", "12:30", "20241225", "", "soon")),
        *((text, None) for text in ("1/2/2024 13:00 PM", "99/99/2024", "2024-12-25 08:60")),
    ],
)
def test_dates_that_can_be_read_in_one_way(text, moment):
    assert read(text, OPEN) == seconds(moment)


@pytest.mark.parametrize(
    ("text", "day_first", "month_first", "year_first"),
    [
        ("03/04/2024", dt.date(2024, 4, 3), dt.date(2024, 3, 4), None),
        ("03-04-2024", dt.date(2024, 4, 3), dt.date(2024, 3, 4), None),
        ("03.04.2024", dt.date(2024, 4, 3), dt.date(2024, 3, 4), None),
        ("31.12.2024", dt.date(2024, 12, 31), None, None),
        ("12/31/2024", None, dt.date(2024, 12, 31), None),
        ("2024-04-03", *[dt.date(2024, 4, 3)] * 3),
    ],
)
def test_what_is_said_of_the_order_counts(text, day_first, month_first, year_first):
    found = [read(text, one) for one in (DMY, MDY, YMD)]
    assert found == [seconds(one) for one in (day_first, month_first, year_first)]


def test_dates_have_the_seconds_of_a_parquet_file():
    texts = ["2024-12-25", "1969-07-20T20:17:40", "2024-02-29 23:59:59.999999"]
    times = pa.array([dt.datetime.fromisoformat(one) for one in texts], pa.timestamp("us"))
    expected = encode_target(times, Number())
    assert read_seconds(pa.array(texts), OPEN).to_pylist() == expected.tolist()


def test_columns_in_pieces_and_without_rows():
    pieces = pa.chunked_array([["2024-12-25"], [], [None, "x"]], pa.string())
    assert read_seconds(pieces, OPEN).to_pylist() == [seconds(CHRISTMAS), None, None]
    assert len(read_seconds(pa.chunked_array([], pa.string()), OPEN)) == 0
