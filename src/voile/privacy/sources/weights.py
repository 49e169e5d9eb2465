"""Weights of rows: private values between 0 and a public largest one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.privacy.encode import encode_values
from voile.schema import Number
from voile.schema.frames import adopt_column


@dataclass(frozen=True, repr=False, eq=False)
class RowWeights:
    """A column of weights, or its name, and the largest weight a row can have.

    Parameters
    ----------
    values : column of shape (rows,), or str
        Private. For Parquet on disk the name of a column of the same files.
    largest : float
        Public. A larger weight counts as this, a negative or missing one as 0.
    """

    values: object
    largest: float

    def __post_init__(self) -> None:
        if not 0.0 < self.largest < math.inf:
            raise SettingError(
                f"The 'largest_weight' must be a positive number. Got {self.largest!r} instead."
            )

    def relative(self, values: object) -> NDArray[np.float32]:
        """Weights relative to the largest, in [0, 1], whatever the values are: shape (rows,)."""
        column = adopt_column(values, "the weights")
        within = encode_values(column, Number(0.0, self.largest))
        with np.errstate(all="ignore"):
            return np.clip(np.nan_to_num(within / self.largest), 0.0, 1.0).astype(np.float32)
