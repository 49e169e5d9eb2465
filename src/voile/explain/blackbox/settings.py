"""Settings of a private explainer, checked before anything is paid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.solvers.weights import LOCAL_TEXT, Weight, WeightName, read_weight
from voile.models.setting_checks import is_count, is_number
from voile.schema import Schema

Floats = NDArray[np.float64]

Strategy = Literal["summary", "release", "interactive", "adaptive", "enhanced", "offline"]

READING = ("release", "interactive", "adaptive", "enhanced")
"""Strategies that read rows for each question."""

_LEARNING = ("adaptive", "enhanced", "offline")
"""Strategies that answer by what was asked and answered before."""


def usual_radius(schema: Schema) -> float:
    """2/3 of the root of the number of columns, but within 2.5 and 5.

    Points are divided by that root, so a local model needs coefficients that grow with it.
    """
    return min(max(2.0 / 3.0 * math.sqrt(len(schema)), 2.5), 5.0)


@dataclass(frozen=True, eq=False)
class Weighting:
    """How rows count for slopes, as a user said it; parameters as for `read_weight`.

    Without any, the width is chosen for each row where there are released rows to choose it by.
    """

    weight: WeightName | Callable[[Floats], Floats] | Weight | None = None
    width: float | None = None
    c: float = 1.0

    @property
    def is_local(self) -> bool:
        """Whether nothing was said."""
        return self.weight is None and self.width is None

    @property
    def table(self) -> Weight:
        """Weights by distance; the widest admissible ones where nothing was said."""
        usual: WeightName = "stable" if self.width is None else "gaussian"
        return read_weight(self.weight or usual, width=self.width, c=self.c)


@dataclass(frozen=True, eq=False)
class Settings:
    """How an explainer answers; public.

    Attributes
    ----------
    strategy : str
    weight : Weight
    radius : float
        Largest length of a local model's coefficients.
    intercept : bool
    queries : int
        Questions at full price that the budget is divided into.
    steps : int
        T, most gradient steps per question.
    parts : int
        Disjoint parts of the table, for questions asked together.
    faithful : bool
        The published adaptive rule, which has no guarantee.
    random_state : int
        Of public choices (synthetic rows).
    ridge : float
        Added to the curvature of the local loss, so that features that say the same share it.
    local : bool
        Whether the weight's width is chosen for each row, from released rows; `weight` is for
        strategies that have none.
    shared_questions : bool
        Whether all who ask under the explainer's name may know what was asked, so that earlier
        questions and answers may serve later ones.
    """

    strategy: Strategy
    weight: Weight
    radius: float
    intercept: bool
    queries: int
    steps: int
    parts: int
    faithful: bool
    random_state: int
    ridge: float = 0.0
    local: bool = False
    shared_questions: bool = False

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            raise SettingError(
                f"The 'strategy' must be one of 'auto', {', '.join(map(repr, get_args(Strategy)))}."
                f" Got {self.strategy!r} instead."
            )
        if not (is_number(self.radius) and 0.0 < self.radius <= 50.0):
            raise SettingError(f"The 'radius' must be in (0, 50]. Got {self.radius!r} instead.")
        object.__setattr__(self, "radius", float(self.radius))
        for name, least in (("queries", 1), ("steps", 2), ("parts", 1), ("random_state", 0)):
            value = getattr(self, name)
            if not is_count(value, least):
                raise SettingError(
                    f"The {name!r} must be a whole number >= {least}. Got {value!r} instead."
                )
        if self.strategy in _LEARNING and not self.shared_questions:
            raise SettingError(
                f"strategy={self.strategy!r} answers by what was asked before, so whoever asks "
                "later learns of it: say shared_questions=True if all who ask under this name may "
                "know the rows asked about, or use 'summary', 'release' or 'interactive'."
            )
        if self.faithful and self.strategy not in ("adaptive", "enhanced"):
            raise SettingError(
                "faithful=True is the published adaptive rule: use strategy='adaptive' or "
                "'enhanced' with it."
            )
        if self.parts > 1 and self.strategy != "release":
            raise SettingError("Disjoint parts are for questions asked together: 'release' alone.")

    @property
    def weight_text(self) -> str:
        """The weight in words."""
        return LOCAL_TEXT if self.local else self.weight.name

    @property
    def near(self) -> float:
        """Distance within which an earlier answer is given again: log T / sqrt T."""
        return math.log(self.steps) / math.sqrt(self.steps)
