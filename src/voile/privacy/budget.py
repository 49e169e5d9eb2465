"""What may be spent (Budget) and between which tables the promise holds (Relation)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from voile.errors import SettingError


class Relation(StrEnum):
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
        if not isinstance(self.epsilon, (int, float)) or not self.epsilon >= 0:
            raise SettingError(
                f"The 'epsilon' of a Budget must be a number >= 0. Got {self.epsilon!r} instead."
            )
        if not isinstance(self.delta, (int, float)) or not 0 <= self.delta < 1:
            raise SettingError(
                f"The 'delta' of a Budget must be in [0, 1). Got {self.delta!r} instead."
            )

    @property
    def unlimited(self) -> bool:
        """Whether this budget promises nothing (epsilon is infinite)."""
        return math.isinf(self.epsilon)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}"
