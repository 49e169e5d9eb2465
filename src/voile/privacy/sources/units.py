"""Bounded contribution: which rows of each privacy unit are used.

The first rows of each unit, in table order, up to the number the schema allows. Taking a unit away
takes its own rows away and touches no other, so neighbouring tables differ in at most that many
rows. Proof: docs/proofs/gaussian-sum.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.privacy.encode import encode_values
from voile.schema import Category, Unit


class UnitCounter:
    """Counts the rows of each unit, block after block."""

    def __init__(self, unit: Unit) -> None:
        self._most = unit.rows
        self._seen: dict[object, int] = {}

    def choose(self, private_values: Any) -> NDArray[np.bool_]:
        """Which of these rows are used; rows without a readable value are one unit together."""
        private_units = encode_values(private_values, Category()).tolist()
        chosen = np.zeros(len(private_units), dtype=np.bool_)
        seen, most = self._seen, self._most
        for row, unit in enumerate(private_units):
            count = seen.get(unit, 0)
            if count < most:
                seen[unit] = count + 1
                chosen[row] = True
        return chosen
