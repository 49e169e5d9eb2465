"""A released value: numbers that left the vault, and how uncertain their noise makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Release:
    """Noised sums.

    Attributes
    ----------
    label : str
        The step of the plan that paid for it.
    values : ndarray of shape (size,)
        Released values, multiples of ``grid`` (from a public origin).
    standard_error : float
        Standard deviation of the noise on each value, in the units of the values; 0 without noise,
        NaN where the noise depends on the rows, so that its scale is private.
    grid : float
        Spacing of the values that could have been released.
    """

    label: str
    values: NDArray[np.float64]
    standard_error: float
    grid: float

    @property
    def variance(self) -> float:
        """Variance of the noise on each value."""
        return self.standard_error**2
