"""Values as people write them: whole numbers, dates, ranges."""

import math

import numpy as np
import pytest

from voile.schema import Date
from voile.schema.scale import on_scale
from voile.schema.value_texts import duration_text, edge_texts, interval_texts, value_text

DAY = 86_400.0


def seconds(*texts):
    return [Date(text, "2030-01-01", time=True).lower for text in texts]


def test_scales_round():
    values = np.array([-0.5, 0.49, 2.5, np.nan])
    assert on_scale(values, "number") is values
    np.testing.assert_array_equal(on_scale(values, "whole"), [0.0, 0.0, 3.0, np.nan])
    days = np.array([-1.0, 0.0, DAY - 1, 3 * DAY + 5])
    np.testing.assert_array_equal(on_scale(days, "day"), [-DAY, 0.0, 0.0, 3 * DAY])


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (1.002, "whole", "1"),
        (2.5, "whole", "3"),
        (-0.4, "whole", "0"),
        (12_345_678.0, "whole", "12345678"),
        (1.61e9, "day", "2021-01-07"),
        (1.61e9, "time", "2021-01-07 06:13:20"),
        (1.61e9 + 0.25, "time", "2021-01-07 06:13:20.250"),
        (0.0, "time", "1970-01-01 00:00"),
        (1e18, "day", "a date after the year 9999"),
        (-1e18, "time", "a date before the year 1"),
        (math.inf, "day", "unknown"),
    ],
)
def test_values(value, scale, text):
    assert value_text(value, scale) == text


def test_ranges_of_whole_numbers_have_no_gaps():
    assert interval_texts([0, 2.5, 3.5, 20], "whole") == ("0 to 2", "3", "4 to 20")
    assert edge_texts([0.0, 20.0], "whole") == ("0", "20")


def test_ranges_of_days():
    edges = seconds("2021-01-01", "2021-02-01", "2021-02-02", "2021-12-31T23:59:59")
    expected = ("2021-01-01 to 2021-01-31", "2021-02-01", "2021-02-02 to 2021-12-31")
    assert interval_texts(edges, "day") == expected
    # Instants that are midnights are read as days, too.
    assert interval_texts(edges, "time") == expected
    assert edge_texts(edges, "time") == ("2021-01-01", "2021-02-01", "2021-02-02", "2021-12-31")


def test_ranges_of_times_say_a_day_once():
    edges = seconds("2021-01-01T06:00", "2021-01-01T12:30", "2021-01-02T00:00:05")
    assert interval_texts(edges, "time") == (
        "2021-01-01 06:00 to 12:30",
        "2021-01-01 12:30 to 2021-01-02 00:00:05",
    )


def test_durations():
    assert duration_text(40 * DAY) == "40 days"
    assert duration_text(DAY) == "1 day"
    assert duration_text(1_800.0) == "30 minutes"
    assert duration_text(0.0) == "0 seconds"
