"""Which values are suggested: readable, within bounds, in the interval that is meant."""

import numpy as np
import pytest

from voile import Category, Number
from voile.explain.counterfactuals.steps import plain_value, steps_of, value_text


def test_numbers_in_intervals_are_readable_and_inside():
    rng = np.random.default_rng(0)
    steps = steps_of(Number(-50, 1000))
    for _ in range(300):
        low, high = np.sort(rng.uniform(-50, 1000, 2))
        for first in (True, False):
            found = steps.inside(low, high, first=first)
            assert low <= found < high
            edge = low if first else high
            assert abs(found - edge) <= 0.2 * (high - low)
            assert len(f"{found:.12g}") <= len(f"{high - low:.2g}") + 8


def test_whole_numbers_in_intervals():
    steps = steps_of(Number(0, 20, whole=True))
    assert steps.inside(3.5, 7.5, first=True) == 4
    assert steps.inside(3.5, 7.5, first=False) == 7
    assert steps.inside(3.0, 7.0, first=False) == 6
    assert steps.inside(18.5, 20.0, first=False) == 20  # the bound belongs to the last interval
    assert steps.inside(3.2, 3.8, first=True) is None


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (17.0, 90.0), (-1e6, 1e9), (1e-7, 3e-7)])
def test_values_between_two_are_few_different_and_inside(bounds):
    steps = steps_of(Number(*bounds))
    low, high = bounds
    for start, end in ((low, high), (high, low), (low + 0.3 * (high - low), high)):
        found = steps.between(start, end, 15)
        assert 5 <= len(found) <= 15
        assert ((found - start) * (found - end) < 0).all()
        assert (np.diff(np.abs(found - start)) > 0).all()
    assert len(steps.between(low, low, 15)) == 0


def test_steps_are_fine_where_the_usual_values_are():
    assert steps_of(Number(0, 1e6)).step == 1000
    assert steps_of(Number(0, 1e6), 40.0).step == 0.1
    assert steps_of(Number(0, 1e6), 0.0).step == 1000
    assert steps_of(Number(0, 1000, whole=True), 2.0).step == 1


def test_values_as_people_and_models_read_them():
    job = Category(["a", 2, False])
    assert [value_text(code, job) for code in range(5)] == [
        "a",
        "2",
        "False",
        "(other)",
        "(missing)",
    ]
    assert plain_value(2.0, job) is False
    assert value_text(float("nan"), Number(0, 1)) == "(missing)"
    assert plain_value(3.0, Number(0, 9, whole=True)) == 3
    assert isinstance(plain_value(3.0, Number(0, 9, whole=True)), int)
