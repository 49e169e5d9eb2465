"""What is wanted of a model's answer, and how far an answer is from it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.wording import percent, short
from voile.models.setting_checks import is_number

Floats = NDArray[np.float64]

AnswerUnit = Literal["probability", "label", "distance", "number"]

SLACK = 1e-9
"""By so much a probability must pass what is wanted: sums of threads differ by less."""

_RANGE = re.compile(r"\s*(\S+)\s+to\s+(\S+)\s*")
_CONDITION = re.compile(r"\s*(>=|<=)\s*([-+0-9.eE]+)\s*(%?)\s*")


@dataclass(frozen=True)
class ModelAnswers:
    """What a model answers with: an array of shape (rows, answers).

    Attributes
    ----------
    unit : str
        Of the numbers: probabilities of classes, labels (1 for the class, 0 for others), distances
        (negative: the nearest class has the greatest), or numbers that are predicted.
    classes : tuple
        One for each answer, or for the second of two classes alone; empty if numbers are predicted.
    names : tuple of str
        One for each answer.
    lower, upper : float
        What an answer can be.
    """

    unit: AnswerUnit
    classes: tuple[object, ...]
    names: tuple[str, ...]
    lower: float = 0.0
    upper: float = 1.0

    @property
    def compared(self) -> bool:
        """Whether there is an answer for each class, so that the greatest wins."""
        return len(self.names) > 1

    def predict(self, answers: Floats) -> list[str]:
        """The class of each row; nothing where numbers are predicted, or one class is known."""
        if not self.compared:
            return [""] * len(answers)
        return [self.names[place] for place in answers.argmax(axis=1)]

    def tell(self, value: float) -> str:
        """An answer as people read it."""
        if self.unit == "probability":
            return percent(value)
        return short(value, digits=4)


@dataclass(frozen=True)
class Goal:
    """What is wanted of the answer for one row.

    Attributes
    ----------
    answers : ModelAnswers
    place : int
        Which answer is meant.
    kind : str
        "class": it is the greatest; "other class": it is not; "range": it lies within `low` and
        `high`.
    low, high : float
    """

    answers: ModelAnswers
    place: int
    kind: Literal["class", "other class", "range"]
    low: float = -math.inf
    high: float = math.inf

    def shortfall(self, values: Floats) -> Floats:
        """How far answers of shape (rows, answers) are from what is wanted; below 0: passed."""
        own = values[:, self.place]
        if self.kind == "range":
            return np.asarray(np.maximum(self.low - own, own - self.high))
        if self.answers.unit == "distance":
            lead = self.number(values)
            return -lead if self.kind == "class" else lead
        others = np.delete(values, self.place, axis=1).max(axis=1)
        return np.asarray(others - own if self.kind == "class" else own - others)

    def is_met(self, values: Floats) -> NDArray[np.bool_]:
        """Whether answers are what is wanted; of classes by a little more than rounding."""
        slack = 0.0 if self.answers.unit == "number" else SLACK
        return np.asarray(self.shortfall(values) <= -slack)

    def is_met_already(self, values: Floats) -> bool:
        """Whether the answer for the row as it is, of shape (1, answers), is what is wanted."""
        if self.kind == "range":
            return bool(self.shortfall(values)[0] <= 0)
        return (int(values[0].argmax()) == self.place) == (self.kind == "class")

    @property
    def told(self) -> str:
        """What the numbers before and after are."""
        name = self.answers.names[self.place]
        if self.answers.unit == "number":
            return name
        what = {"probability": "probability of", "label": "class", "distance": "lead of"}
        return f"{what[self.answers.unit]} '{name}'"

    @property
    def wanted(self) -> str:
        """What is wanted, in words."""
        name = self.answers.names[self.place]
        if self.kind == "class":
            return f"'{name}'"
        if self.kind == "other class":
            return f"another class than '{name}'"
        tell = self.answers.tell
        if math.isinf(self.high):
            limit = f"of at least {tell(self.low)}"
        elif math.isinf(self.low):
            limit = f"of at most {tell(self.high)}"
        else:
            limit = f"from {tell(self.low)} to {tell(self.high)}"
        return f"{self.told} {limit}"

    def number(self, values: Floats) -> Floats:
        """The numbers that are told, of answers of shape (rows, answers)."""
        if self.answers.unit != "distance":
            return np.asarray(values[:, self.place])
        own = -values[:, self.place]
        others = -np.delete(values, self.place, axis=1).max(axis=1)
        # A class without prototypes is infinitely far.
        far = np.isinf(own) | np.isinf(others)
        total = np.where(far, 1.0, np.maximum(others + own, 1e-300))
        lead = np.where(np.isinf(own), -1.0, 1.0)
        return np.asarray(np.where(far, lead, (np.where(far, 0.0, others - own)) / total))


def read_goal(want: object, answers: ModelAnswers, values: Floats) -> Goal:
    """What is wanted for one row.

    Parameters
    ----------
    want : object
        None (another class), a class, a condition such as ">= 0.7" or {"ill": "<= 20 %"}; of
        numbers a number (to reach it from either side), a range (low, high) or a condition.
    answers : ModelAnswers
    values : ndarray of shape (1, answers)
        What the model says of the row as it is.
    """
    if isinstance(want, np.generic):
        want = want.item()
    if answers.unit == "number":
        return _read_number(want, answers, float(values[0, 0]))
    if want is None:
        return _other_class(answers, values)
    if isinstance(want, Mapping):
        if len(want) != 1:
            raise _misread(want, answers)
        ((name, limit),) = want.items()
        place = _find_class(name, answers)
        return _limited(limit, answers, place, want)
    place = _find_class(want, answers, must=False)
    if place >= 0:
        if answers.compared:
            return Goal(answers, place, "class")
        # Of one class alone: it is more probable than all others together.
        return Goal(answers, 0, "range", low=0.5)
    if isinstance(want, str) and _CONDITION.fullmatch(want):
        if len(answers.names) > 2:
            raise SettingError(
                f"Of which class should want={want!r} be? Say want={{{answers.classes[-1]!r}: "
                f"{want!r}}}."
            )
        return _limited(want, answers, len(answers.names) - 1, want)
    raise _misread(want, answers)


def _other_class(answers: ModelAnswers, values: Floats) -> Goal:
    if not answers.compared:
        reached = values[0, 0] >= 0.5
        return Goal(answers, 0, "range", high=0.5) if reached else Goal(answers, 0, "range", 0.5)
    predicted = int(values[0].argmax())
    if len(answers.names) == 2:
        return Goal(answers, 1 - predicted, "class")
    return Goal(answers, predicted, "other class")


def _find_class(want: object, answers: ModelAnswers, *, must: bool = True) -> int:
    """Place of a class by its label, or by its name as people read it."""
    for known in (answers.classes, answers.names):
        for place, label in enumerate(known):
            # 1 and True are one label, as for schemas; 1 and "1" are not.
            if label == want and isinstance(label, str) == isinstance(want, str):
                return place
    if must:
        raise _misread(want, answers)
    return -1


def _limited(limit: object, answers: ModelAnswers, place: int, want: object) -> Goal:
    """A range of one answer by a condition in text."""
    if answers.unit != "probability":
        raise SettingError(
            f"The model gives {'labels' if answers.unit == 'label' else 'distances'} and no "
            f"probabilities: want a class, such as want={answers.classes[place]!r}."
        )
    found = _CONDITION.fullmatch(limit) if isinstance(limit, str) else None
    if found is None:
        raise _misread(want, answers)
    bound = _number_of(found, want, answers)
    if not 0.0 < bound < 1.0:
        raise SettingError(
            f"A probability that is wanted must be between 0 and 1, ends excluded. Got {want!r} "
            f"instead: write '>= 0.7' or '>= 70 %'."
        )
    if found[1] == ">=":
        return Goal(answers, place, "range", low=bound)
    return Goal(answers, place, "range", high=bound)


def _read_number(want: object, answers: ModelAnswers, now: float) -> Goal:
    low, high = -math.inf, math.inf
    if isinstance(want, str) and not _CONDITION.fullmatch(want):
        want = _numbers_in(want)
    if is_number(want):
        low, high = (float(want), math.inf) if now < want else (-math.inf, float(want))
    elif isinstance(want, str) and (found := _CONDITION.fullmatch(want)) and not found[3]:
        bound = _number_of(found, want, answers)
        low, high = (bound, math.inf) if found[1] == ">=" else (-math.inf, bound)
    elif (
        isinstance(want, Sequence)
        and not isinstance(want, str)
        and len(want) == 2
        and all(is_number(end) for end in want)
    ):
        low, high = float(want[0]), float(want[1])
    else:
        raise _misread(want, answers)
    if not low < high:
        raise _misread(want, answers)
    if low > answers.upper or high < answers.lower:
        raise SettingError(
            f"The model predicts numbers from {answers.lower:g} to {answers.upper:g} alone. Got "
            f"want={want!r}: want something within."
        )
    return Goal(answers, 0, "range", low, high)


def _numbers_in(want: str) -> object:
    """A number, or the two of "10 to 20", as text; the text itself if it is neither."""
    found = _RANGE.fullmatch(want)
    try:
        return (float(found[1]), float(found[2])) if found else float(want)
    except ValueError:
        return want


def _number_of(found: re.Match[str], want: object, answers: ModelAnswers) -> float:
    try:
        bound = float(found[2]) / (100.0 if found[3] else 1.0)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise _misread(want, answers)
    return bound


def _misread(want: object, answers: ModelAnswers) -> SettingError:
    if answers.unit == "number":
        if want is None:
            return SettingError(
                "Say which number is wanted (want=..., --want): give a number, a range such as '10 "
                "to 20', or '>= 30'."
            )
        return SettingError(
            "That is not understood: give a number, a range (low, high), or text such as '>= 30'. "
            f"Got want={want!r} instead."
        )
    known = ", ".join([*map(repr, answers.classes[:6]), *(["..."] if answers.classes[6:] else [])])
    more = ", or a probability such as '>= 0.7'" if answers.unit == "probability" else ""
    return SettingError(f"Want one of the classes {known}{more}. Got want={want!r} instead.")
