"""Dates found privately: bounds are near, cells lie at midnights and full hours."""

import numpy as np
import pytest

from voile import Budget, Date, Ledger, Schema, protect
from voile.privacy.calibrate import calibrate
from voile.privacy.discovery import complete, discovery_shape, find_histogram
from voile.privacy.discovery.dates import calendar_cells
from voile.privacy.events import Gaussian, Plan, Unprotected
from voile.privacy.noise import fixed_noise

DAY = 86_400
ROWS = 5_000


def find(days, column=None, epsilon=1.0):
    schema = Schema({"d": Date() if column is None else column})
    table = protect({"d": days}, schema=schema)
    budget = Budget(epsilon, 1e-6)
    ledger = Ledger(budget)
    grant = ledger.pay(calibrate(budget, Plan(discovery_shape(schema, 1.0, 1e-6))), table, "test")
    with fixed_noise(1):
        return complete(table, grant).schema["d"]


def days_from(first, count, rng):
    return np.datetime64(first) + rng.integers(0, count, ROWS)


def test_bounds_are_whole_months_around_the_dates():
    found = find(days_from("2019-01-01", 2191, np.random.default_rng(0)))
    assert repr(found).startswith("Date('20")
    first, last = found.bound_texts
    # No row is lost at the ends; the last node of 64 weeks is filled in part, and kept whole.
    assert "2017-09-01" <= first <= "2019-01-01"
    assert "2024-12-31" <= last <= "2026-03-31"


def test_thinly_spread_dates_are_found_by_blocks_of_cells():
    # Dates of birth over 90 years: four weeks hold about 4 rows, and the noise is larger.
    found = find(days_from("1930-01-01", 90 * 365, np.random.default_rng(0)), epsilon=0.3)
    first, last = found.bound_texts
    assert "1910-01-01" <= first <= "1945-01-01"
    assert "2005-01-01" <= last <= "2040-01-01"


def test_kinds_are_kept_and_nothing_gives_usual_bounds():
    empty = np.full(10, np.datetime64("NaT"), "M8[s]")
    found = find(empty, Date(time=True, missing=False))
    assert found == Date("1950-01-01", "2049-12-31", time=True, missing=False)


def test_dates_beyond_the_calendar_do_not_break_anything():
    far = np.array(["0001-01-01", "9999-12-31"] * (ROWS // 2), "M8[D]")
    assert find(far).bound_texts == ("1837-01-01", "2151-01-31")


@pytest.mark.parametrize(
    ("column", "width"),
    [
        (Date("2019-01-01", "2024-12-31"), DAY),
        (Date("2024-01-01", "2024-01-02"), DAY),
        (Date("1900-01-01", "2099-12-31"), 18 * DAY),
        (Date("0001-01-01", "9999-12-31"), 892 * DAY),
        (Date("2024-01-01T00:10", "2024-01-01T01:00", time=True), 1),
        (Date("2024-01-01T07:10", "2024-01-31", time=True), 900),
        (Date("2024-01-01", "2025-12-31", time=True), 21_600),
    ],
    ids=repr,
)
def test_cells_cover_the_bounds_at_times_that_clocks_show(column, width):
    start, found = calendar_cells(column, 4096)
    assert found == width
    assert start % min(width, DAY) == 0
    assert start <= column.lower < column.upper < start + 4096 * width


def histogram(column, values, event):
    table = protect({"d": values}, schema=Schema({"d": column}))
    grant = Ledger(Budget(float("inf"))).pay(Plan.of(all=event), table, "test")
    return find_histogram(table, "d", grant.take("all"), resolution=64)


def test_intervals_of_days_end_at_midnight_and_count_every_row():
    rng = np.random.default_rng(3)
    column = Date("2019-01-01", "2024-12-31")
    values = days_from("2019-01-01", 2192, rng).astype("M8[s]") + rng.integers(0, DAY, ROWS)
    found = histogram(column, values, Unprotected())
    assert (found.edges[0], found.edges[-1]) == (column.lower, column.upper)
    assert (found.edges[:-1] % DAY == 0).all()
    assert (np.diff(found.edges) > 0).all()
    assert found.rows == ROWS
    moments = values.astype("M8[D]").astype("M8[s]").astype(np.int64)
    exact, _ = np.histogram(moments, [*found.edges[:-1], np.inf])
    np.testing.assert_array_equal(found.counts, exact)
    coarse = found.equal_width(20)
    assert coarse.rows == pytest.approx(ROWS)
    assert len(coarse.counts) <= 20
    assert (coarse.edges[:-1] % DAY == 0).all()
    exact, _ = np.histogram(moments, [*coarse.edges[:-1], np.inf])
    np.testing.assert_allclose(coarse.counts, exact, atol=60)  # intervals that were read coarsely
    merged = found.equal_mass(8)
    assert merged.rows == ROWS
    assert (merged.edges[:-1] % DAY == 0).all()


def test_the_last_day_is_an_interval_of_its_own_where_it_is_full():
    column = Date("2024-01-01", "2024-02-29")
    values = np.array(["2024-02-29"] * 900 + ["2024-01-05"] * 100, "M8[D]")
    found = histogram(column, values, Unprotected()).equal_mass(8)
    assert found.edges[-2] == column.upper - DAY + 1
    assert found.counts[-1] == 900


def test_noise_is_in_the_counts():
    column = Date("2024-01-01", "2024-12-31")
    with fixed_noise(5):
        values = days_from("2024-01-01", 366, np.random.default_rng(0))
        found = histogram(column, values, Gaussian(noise_multiplier=2.0))
    assert found.node_error == pytest.approx(2 * np.sqrt(3), rel=1e-6)
    assert abs(found.rows - ROWS) < 200
