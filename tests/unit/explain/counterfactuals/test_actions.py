"""What a user says of actions that are possible: read, or refused in one line."""

import numpy as np
import pytest

from voile import Category, Number, Schema
from voile.errors import SettingError
from voile.explain.counterfactuals.actions import read_actions

SCHEMA = Schema({"age": Number(0, 9), "job": Category(["a", "b"]), "note": Category([])})


def read(**changes):
    settings = {"change": None, "keep": (), "directions": None, "most": 3} | changes
    return read_actions(SCHEMA, **settings)


def test_what_may_change():
    assert read().columns == ("age", "job")  # a category without levels cannot
    assert not read().chosen
    assert read(change=["job", "age"]).columns == ("age", "job")
    assert read(change="job").columns == ("job",)
    assert read(keep=["job"]).columns == ("age",)
    assert read(keep=["job"]).chosen
    assert read(unused=["job"]).columns == ("age",)
    assert read(change=["job"], unused=["job"]).columns == ("job",)
    told = read(directions={"age": "up"})
    assert told.told == ("age (up only)", "job")
    assert told.admit("age", 4.0, np.array([3.0, 4.0, 5.0])).tolist() == [False, False, True]
    assert told.admit("age", np.nan, np.array([3.0])).all()


@pytest.mark.parametrize(
    "changes",
    [
        {"change": []},
        {"change": ["salary"]},
        {"change": {"age": 1}},
        {"change": 3},
        {"change": [None]},
        {"change": ["note"]},
        {"keep": ["salary"]},
        {"keep": ["age", "job"]},
        {"change": ["age"], "keep": ["age"]},
        {"directions": {"salary": "up"}},
        {"directions": {"age": "higher"}},
        {"directions": {"job": "up"}},
        {"directions": ["age"]},
        {"directions": {"age": "up"}, "keep": ["age"]},
        {"most": 0},
        {"most": 11},
        {"most": 2.0},
        {"most": True},
    ],
)
def test_what_cannot_be_is_refused_in_one_line(changes):
    with pytest.raises(SettingError) as told:
        read(**changes)
    assert "\n" not in str(told.value)
