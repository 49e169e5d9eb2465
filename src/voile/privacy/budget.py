"""What may be spent (Budget) and which tables are neighbours (NeighbouringRelation)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real

from voile.errors import SettingError

USUAL_DELTA = 1e-6
"""Delta where nobody asks for another and nothing is known of the number of rows."""

_EXPOSED = 0.01
"""Most people whom a guarantee may fail for, on average over its failures, by the rule of delta."""


def plain_float(value: object) -> float:
    """A number of any type as Python's own float; nan if it is not a number.

    What is written into ledgers must be plain: the repr of numpy's floats cannot be read back.
    """
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:  # a whole number beyond all floats
        return math.nan


def delta_for(rows: int | None) -> float:
    """Delta where nobody asks for one: one in a million, and at most a hundredth of 1 / rows.

    Delta allows a mechanism to publish every person with that probability, so that rows * delta
    people are given away on average: the rule keeps this at a hundredth of one person
    (docs/explanation/neighbours-delta-post-processing.md).

    Parameters
    ----------
    rows : int or None
        The row count, if it is public; at least as many as there are people.

    Examples
    --------
    >>> delta_for(None), delta_for(5_000), delta_for(2_000_000)
    (1e-06, 1e-06, 5e-09)
    """
    return USUAL_DELTA if rows is None else min(USUAL_DELTA, _EXPOSED / rows)


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
        the number of rows. 0 allows Laplace noise and selections alone.
    """

    epsilon: float
    delta: float = USUAL_DELTA

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

    @classmethod
    def of_job(cls, epsilon: float, delta: float | None, rows: int | None) -> Budget:
        """The budget of a job on so many rows (None: not public); without a delta, by the rule."""
        return cls(epsilon, delta_for(rows) if delta is None else delta)

    @property
    def unlimited(self) -> bool:
        """Whether this budget guarantees nothing (epsilon is infinite)."""
        return math.isinf(self.epsilon)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}"
