"""The space in which explanations are made: rows as points of the unit ball, in whole numbers.

Numbers are scaled from their public bounds to [-1, 1], a category has a coordinate per level (1 for
rows of that level), and all is divided by the root of the number of columns. So no point is longer
than 1 and no two lie further apart than 2, whatever the rows are. Coordinates are cut to multiples
of 2^-18: products and sums of such numbers are exact in doubles, in any order and on any number of
threads, so one row more never moves what the others add (docs/proofs/explainer.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.features import Features
from voile.privacy.queries import Block
from voile.schema import Number, Schema

Floats = NDArray[np.float64]

BITS = 18
"""Coordinates are multiples of 2^-BITS."""

ONE = 2**BITS

POINTS, ANSWERS = "explained points", "black box answers"
"""What is kept per row inside the vault: its point, and what the black box says of it."""

_CHUNK = 2_000_000
"""Coordinates that are made at once."""


@dataclass(frozen=True, eq=False)
class PointSpace:
    """From encoded columns to points of the unit ball, and from slopes back to columns.

    Parameters
    ----------
    schema : Schema
        Complete.
    """

    schema: Schema

    @cached_property
    def features(self) -> Features:
        """The coordinates before they are scaled to the ball."""
        return Features(self.schema)

    def __len__(self) -> int:
        return len(self.features)

    @property
    def shrink(self) -> float:
        """What features in [-1, 1] are multiplied by: 1 / sqrt(columns)."""
        return 1.0 / math.sqrt(max(len(self.schema), 1))

    @cached_property
    def scales(self) -> Floats:
        """What a coefficient is multiplied by to be a change of the score, shape (features,).

        A number from its lower to its upper bound moves by 2, a level by 1, times `shrink`.
        """
        moves = [2.0 if isinstance(one.described, Number) else 1.0 for one in self.features.each]
        return np.array(moves) * self.shrink

    def place(self, columns: Mapping[str, Any], rows: int) -> NDArray[np.int32]:
        """Points of rows in whole numbers of 2^-BITS, shape (rows, features).

        A missing number is at the middle of its range, a level that is not listed nowhere.
        """
        points = np.empty((rows, len(self)), dtype=np.int32)
        step = max(_CHUNK // max(len(self), 1), 1)
        # Cutting towards zero and the margin keep every point within the ball.
        unit = ONE * self.shrink * (1.0 - 1e-9)
        for start in range(0, rows, step):
            part = slice(start, start + step)
            some = {name: values[part] for name, values in columns.items()}
            features = self.features.encode(some, min(start + step, rows) - start)
            moved = np.nan_to_num(features.astype(np.float64), nan=0.0) * unit
            points[part] = np.trunc(moved)
        return points

    def prepare(self, block: Block) -> None:
        """Keep each row's point in the vault (four bytes per coordinate)."""
        columns = {name: block[name] for name in self.schema}
        block.kept[POINTS] = self.place(columns, block.rows)
