"""What may be spent (Budget) and which tables are neighbours (NeighbouringRelation)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real

from voile.errors import SettingError


def plain_float(value: object) -> float:
    """A number of any type as Python's own float; nan if it is not a number.

    What is written into ledgers must be plain: the repr of numpy's floats cannot be read back.
    """
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:  # a whole number beyond all floats
        return math.nan


class NeighbouringRelation(StrEnum):
    """Which tables count as neighbours: those an observer must not tell apart."""

    ADD_REMOVE = "add_remove"
    """One table has one row (privacy unit) more than the other."""

    REPLACE_ONE = "replace_one"
    """Both have the same number of rows, and one row differs."""


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta) differential-privacy budget.

    Parameters
    ----------
    epsilon : float
        Bound on the privacy loss, >= 0. ``inf`` means "no noise and no guarantee".
    delta : float
        Probability with which that bound may fail, 0 <= delta < 1. Should be well below one over
        the number of rows.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        epsilon, delta = plain_float(self.epsilon), plain_float(self.delta)
        if not epsilon >= 0:
            raise SettingError(
                f"The 'epsilon' of a Budget must be a number >= 0. Got {self.epsilon!r} instead."
            )
        if not 0 <= delta < 1:
            raise SettingError(
                f"The 'delta' of a Budget must be in [0, 1). Got {self.delta!r} instead."
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @property
    def unlimited(self) -> bool:
        """Whether this budget guarantees nothing (epsilon is infinite)."""
        return math.isinf(self.epsilon)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}"
