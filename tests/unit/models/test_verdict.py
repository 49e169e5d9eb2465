"""Verdicts: one rule for what may be concluded from a p-value, also among many."""

import math

import numpy as np
import pytest

from voile.models.verdict import CLEAR_LEVEL, PERHAPS_LEVEL, allow_for_many, judge


@pytest.mark.parametrize(
    ("p_value", "verdict"),
    [
        (0.0, "clear"),
        (CLEAR_LEVEL, "clear"),
        (math.nextafter(CLEAR_LEVEL, 1), "perhaps"),
        (PERHAPS_LEVEL, "perhaps"),
        (math.nextafter(PERHAPS_LEVEL, 1), "cannot be told from nothing"),
        (1.0, "cannot be told from nothing"),
        (math.nan, "cannot be told from nothing"),
    ],
)
def test_levels(p_value, verdict):
    assert judge(p_value) == verdict


def test_looking_at_many_is_allowed_for():
    assert allow_for_many([0.04]).tolist() == [0.04]
    assert allow_for_many([0.004, 0.03, 0.9, math.nan]).tolist() == pytest.approx(
        [0.016, 0.09, 1, 1]
    )
    assert allow_for_many([]).tolist() == []


def test_a_smaller_p_value_never_gets_a_greater_one():
    given = np.random.default_rng(0).random(50) ** 4
    adjusted = allow_for_many(given)
    assert (np.diff(adjusted[np.argsort(given)]) >= 0).all()
    assert (adjusted >= given).all()


def test_among_nothing_hardly_anything_is_called_clear():
    # 4,000 families of 20 null tests: expected 40 with any "clear"; more than 90 has probability
    # below 1e-9.
    given = np.random.default_rng(1).random((4000, 20))
    clear = [any(judge(p) == "clear" for p in allow_for_many(family)) for family in given]
    assert sum(clear) <= 90
