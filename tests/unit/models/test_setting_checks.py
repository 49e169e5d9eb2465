"""What settings may be is declared once, and said in one way."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pytest

from voile.errors import SettingError
from voile.models import setting_checks as may


@dataclass(frozen=True)
class Settings(may.CheckedSettings):
    rounds: Annotated[int | None, may.or_auto(may.count(1, 9))] = None
    rate: Annotated[float, may.number(0.0, 1.0)] = 0.5
    fraction: Annotated[float, may.above(0.0, 1.0)] = 1.0
    smooth: Annotated[bool | None, may.or_auto(may.truth())] = None
    shape: Annotated[tuple[int, ...] | None, may.optional(may.picture_shape(2, 3))] = None
    random_state: Annotated[int | None, may.SEED] = None
    free: object = "auto"


GIVEN = {"rounds": "auto", "rate": 0.5, "fraction": 1, "smooth": "auto", "shape": [2, 3]}


def test_settings_are_those_of_an_estimator():
    estimator = SimpleNamespace(**GIVEN, random_state=None, free="auto")
    found = Settings.of(estimator, seed=4)
    assert found == Settings(None, 0.5, 1.0, None, (2, 3), 4, "auto")
    assert Settings.of(SimpleNamespace(**GIVEN, random_state=7), 4, free=1).random_state == 7


def test_numbers_of_numpy_become_those_of_python():
    found = Settings(np.int64(3), np.float32(0.25), 1, np.True_, [np.int8(2), 3])
    kinds = [type(one) for one in (found.rounds, found.rate, found.fraction, found.smooth)]
    assert kinds == [int, float, float, bool]
    assert found.shape == (2, 3)
    assert {type(one) for one in found.shape} == {int}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("rounds", 10, "'auto' or a whole number from 1 to 9. Got 10 instead."),
        ("rounds", True, "'auto' or a whole number"),
        ("rate", float("nan"), "a number from 0 to 1. Got nan"),
        ("fraction", 0.0, "> 0 and <= 1. Got 0.0"),
        ("smooth", "yes", "'auto', True or False. Got 'yes'"),
        ("shape", (1, 2, 3, 4), r"\(height, width\) or \(height, width, channels\), in pixels"),
        ("random_state", -1, "None or a whole number of at least 0. Got -1"),
    ],
)
def test_another_value_is_refused_with_what_may_be(name, value, words):
    with pytest.raises(SettingError, match=f"The '{name}' must be {words}"):
        Settings(**{name: value})
