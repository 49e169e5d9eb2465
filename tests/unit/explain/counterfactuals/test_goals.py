"""What may be wanted of a model, and what is refused in one line."""

import math

import numpy as np
import pytest

from voile.errors import SettingError
from voile.explain.counterfactuals.goals import ModelAnswers, read_goal

TWO = ModelAnswers("probability", ("no", "yes"), ("no", "yes"))
THREE = ModelAnswers("probability", (1, 2, 3), ("1", "2", "3"))
ONE_OF = ModelAnswers("probability", ("b",), ("b",))
LABELS = ModelAnswers("label", ("a", "b"), ("a", "b"))
NUMBER = ModelAnswers("number", (), ("prediction",), -10.0, 10.0)

SAYS_NO = np.array([[0.7, 0.3]])
SAYS_TWO = np.array([[0.2, 0.5, 0.3]])


@pytest.mark.parametrize(
    ("want", "kind", "place", "low", "high"),
    [
        (None, "class", 1, -math.inf, math.inf),
        ("no", "class", 0, -math.inf, math.inf),
        (np.str_("yes"), "class", 1, -math.inf, math.inf),
        (">= 0.6", "range", 1, 0.6, math.inf),
        (" <=20% ", "range", 1, -math.inf, 0.2),
        ({"no": ">= 90 %"}, "range", 0, 0.9, math.inf),
    ],
)
def test_what_may_be_wanted_of_two_classes(want, kind, place, low, high):
    goal = read_goal(want, TWO, SAYS_NO)
    assert (goal.kind, goal.place) == (kind, place)
    assert (goal.low, goal.high) == pytest.approx((low, high))


def test_what_may_be_wanted_of_more_classes():
    assert (read_goal(None, THREE, SAYS_TWO).kind, read_goal(None, THREE, SAYS_TWO).place) == (
        "other class",
        1,
    )
    assert read_goal(3, THREE, SAYS_TWO).place == 2
    assert read_goal("3", THREE, SAYS_TWO).place == 2  # as people read it
    assert read_goal({2: "<= 0.1"}, THREE, SAYS_TWO).high == 0.1


def test_of_one_chosen_class_half_decides():
    assert read_goal("b", ONE_OF, np.array([[0.2]])).low == 0.5
    assert read_goal(None, ONE_OF, np.array([[0.2]])).low == 0.5
    assert read_goal(None, ONE_OF, np.array([[0.8]])).high == 0.5


@pytest.mark.parametrize(
    ("want", "low", "high"),
    [
        (3, 3.0, math.inf),
        (-3.5, -math.inf, -3.5),
        ((1, 2), 1.0, 2.0),
        ([1, math.inf], 1.0, math.inf),
        (">= 4", 4.0, math.inf),
        ("3", 3.0, math.inf),
        ("1 to 2.5", 1.0, 2.5),
        ("<= -4e0", -math.inf, -4.0),
    ],
)
def test_what_may_be_wanted_of_numbers(want, low, high):
    goal = read_goal(want, NUMBER, np.array([[0.5]]))
    assert (goal.low, goal.high) == (low, high)


@pytest.mark.parametrize(
    ("want", "answers", "values"),
    [
        ("maybe", TWO, SAYS_NO),
        (0.7, TWO, SAYS_NO),
        (True, TWO, SAYS_NO),
        (">= 70", TWO, SAYS_NO),
        (">= 0", TWO, SAYS_NO),
        (">= 1", TWO, SAYS_NO),
        ("> 0.5", TWO, SAYS_NO),
        (">= .", TWO, SAYS_NO),
        (">= 1e999", TWO, SAYS_NO),
        ({"no": 0.7}, TWO, SAYS_NO),
        ({"maybe": ">= 0.7"}, TWO, SAYS_NO),
        ({}, TWO, SAYS_NO),
        ({"no": ">= 0.5", "yes": ">= 0.5"}, TWO, SAYS_NO),
        (b"no", TWO, SAYS_NO),
        (["no"], TWO, SAYS_NO),
        (">= 0.6", THREE, SAYS_TWO),
        (">= 0.6", LABELS, np.array([[1.0, 0.0]])),
        (None, NUMBER, np.array([[0.5]])),
        ("high", NUMBER, np.array([[0.5]])),
        ("nan", NUMBER, np.array([[0.5]])),
        ("2 to 1", NUMBER, np.array([[0.5]])),
        ("a to b", NUMBER, np.array([[0.5]])),
        (math.nan, NUMBER, np.array([[0.5]])),
        (math.inf, NUMBER, np.array([[0.5]])),
        ((2, 1), NUMBER, np.array([[0.5]])),
        ((1, 2, 3), NUMBER, np.array([[0.5]])),
        ((1, None), NUMBER, np.array([[0.5]])),
        (11, NUMBER, np.array([[0.5]])),
        ("<= -11", NUMBER, np.array([[0.5]])),
        (">= 50 %", NUMBER, np.array([[0.5]])),
        (True, NUMBER, np.array([[0.5]])),
    ],
)
def test_what_cannot_be_wanted_is_refused_in_one_line(want, answers, values):
    with pytest.raises(SettingError) as told:
        read_goal(want, answers, values)
    assert "\n" not in str(told.value)
    assert ":" in str(told.value) or "Want one of" in str(told.value)  # with a remedy


def test_shortfalls_are_below_zero_exactly_where_it_is_met():
    rng = np.random.default_rng(0)
    for want in (None, 1, 3, {2: ">= 0.4"}, {2: "<= 0.4"}):
        values = rng.dirichlet(np.ones(3), 200)
        goal = read_goal(want, THREE, SAYS_TWO)
        met = goal.is_met(values)
        assert 0 < met.sum() < 200
        assert ((goal.shortfall(values) < 0) == met).all()
        for row, own in zip(values, met, strict=True):
            assert goal.is_met_already(row[None]) == own


def test_a_class_without_prototypes_is_infinitely_far():
    answers = ModelAnswers("distance", ("a", "b", "c"), ("a", "b", "c"))
    values = -np.array([[1.0, 2.0, np.inf], [3.0, 1.0, np.inf]])
    goal = read_goal("c", answers, values[:1])
    assert goal.number(values).tolist() == [-1.0, -1.0]
    assert not goal.is_met(values).any()
    assert read_goal("a", answers, values[1:]).number(values).tolist() == [1 / 3, -0.5]
