"""Axes: round numbers within their ends, that do not touch each other and read well."""

import itertools
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.report.kit.drawing.chart import Axis
from voile.report.kit.drawing.ticks import find_ticks, number_text, width

ENDS = st.floats(-1e9, 1e9).filter(lambda one: abs(one) > 1e-9 or one == 0)


def texts(axis, room=500.0, *, upright=False):
    return [
        "".join(one.text for one in tick.lines[0])
        for tick in find_ticks(axis, room, upright=upright)
    ]


@settings(max_examples=200, deadline=None)
@given(low=ENDS, size=st.floats(1e-6, 1e9), room=st.floats(60, 1200), upright=st.booleans())
def test_numbers_are_within_their_axis_apart_and_different(low, size, room, upright):
    axis = Axis(low, low + size)
    ticks = find_ticks(axis, room, upright=upright)
    assert all(-1e-5 <= tick.at <= 1 + 1e-5 for tick in ticks)
    places = sorted(tick.at for tick in ticks)
    if not upright and len(ticks) > 2:
        for one, other in itertools.pairwise(places):
            assert (other - one) * room > 20
        for one, other in itertools.pairwise(ticks):
            assert abs(other.at - one.at) * room >= (width(one) + width(other)) / 2
    written = texts(axis, room, upright=upright)
    if size > 1e-4 * abs(low):
        assert len(set(written)) == len(written)
    assert all(re.fullmatch(r"−?[\d,]*\.?\d*(×?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", one) for one in written)


def test_a_wide_axis_has_more_numbers_than_a_narrow_one():
    axis = Axis(0.0, 1.0)
    assert texts(axis, 600) == ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert texts(axis, 120) == ["0", "0.5", "1.0"]
    assert len(texts(replace(axis, most=3), 2000)) <= 4


@pytest.mark.parametrize(
    ("axis", "wanted"),
    [
        (Axis(1910, 2030), ["1920", "1940", "1960", "1980", "2000", "2020"]),
        (Axis(0, 60_000), ["0", "10,000", "20,000", "30,000", "40,000", "50,000", "60,000"]),
        (Axis(0, 5000, form="~s"), ["0", "1k", "2k", "3k", "4k", "5k"]),
        (Axis(0, 4e9, most=5), ["0", "10⁹", "2×10⁹", "3×10⁹", "4×10⁹"]),
        (Axis(-3e-6, 0, most=3), ["−3×10⁻⁶", "−2×10⁻⁶", "−10⁻⁶", "0"]),
        (Axis(0, 1, form=".0%"), ["0", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        (Axis(0, 50, suffix=" %"), ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]),
        (Axis(-2, 1, log=True, form="~g"), ["0.01", "0.1", "1", "10"]),
        (Axis(-1, 0, log=True, step="D2"), ["0.1", "0.2", "0.5", "1"]),
        (Axis(0, 4, step=1), ["0", "1", "2", "3", "4"]),
        (Axis(4, 0, most=4), ["0", "1", "2", "3", "4"]),
    ],
)
def test_numbers_read_as_people_write_them(axis, wanted):
    assert texts(axis) == wanted


def test_given_places_keep_their_texts_and_make_room_for_the_last():
    names = tuple(f"2024-{month:02}-01" for month in range(1, 13))
    axis = Axis(0, 11, places=tuple(range(12)), texts=names)
    assert texts(axis, 2000) == list(names)
    few = texts(axis, 300)
    assert 2 <= len(few) < 5
    assert (few[0], few[-1]) == (names[0], names[-1])
    # What lies beyond the ends is not written.
    assert texts(replace(axis, high=5.2), 2000) == list(names[:6])


def test_names_above_each_other_are_thinned_where_they_would_overlap():
    axis = Axis(39.5, -0.5, places=tuple(range(40)), texts=tuple(f"name {i}" for i in range(40)))
    assert len(texts(axis, 800, upright=True)) == 40
    assert len(texts(axis, 200, upright=True)) <= 17


def test_unusual_axes_have_numbers():
    for axis in (Axis(1, 1), Axis(0, math.inf), Axis(5e-324, 1e-300), Axis(-300, 300, log=True)):
        assert find_ticks(axis, 400, upright=False) is not None
    assert number_text(0.0, Axis(0, 1), 0.1) == "0"
