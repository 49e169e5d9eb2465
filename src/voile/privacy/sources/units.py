"""Bounded contribution: which rows of each privacy unit are used.

The first rows of each id, in table order, up to the number the schema allows. Two ids that may be
one person's or two people's ("0012" and "12", "ab" and "AB") are used if they have no more rows
than that together, and not at all otherwise: only so is the bound right in both cases. A row
without an id is not used: it could be anybody's, also of somebody whose other rows have one.
Proof: docs/proofs/gaussian-sum.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.privacy.encode import Identity, encode_values, loosely
from voile.schema import Unit


class UnitRows:
    """Gathers whose rows there are, block after block, and then tells which of them are used."""

    def __init__(self, unit: Unit) -> None:
        self._most = unit.rows
        # What is no id has the number -1.
        self._numbers: dict[str | None, int] = {None: -1}
        self._blocks: list[NDArray[np.int32]] = []

    def add(self, private_values: Any) -> None:
        """Add a block of rows by their ids."""
        private_ids = encode_values(private_values, Identity()).tolist()
        numbers, number = self._numbers, self._numbers.setdefault
        found = (number(one, len(numbers) - 1) for one in private_ids)
        self._blocks.append(np.fromiter(found, np.int32, len(private_ids)))

    def choose(self) -> list[NDArray[np.bool_]]:
        """Which rows of each block are used."""
        private_ids = np.concatenate([np.zeros(0, np.int32), *self._blocks])
        order = np.argsort(private_ids, kind="stable")
        ranked, places = private_ids[order], np.arange(len(order))
        # How many rows of the same id come before each.
        first = np.append(True, ranked[1:] != ranked[:-1])[: len(order)]
        before = places - np.maximum.accumulate(np.where(first, places, 0))
        chosen = np.zeros(len(order), dtype=np.bool_)
        chosen[order] = before < self._most
        chosen &= (private_ids >= 0) & ~self._doubtful(private_ids)[private_ids]
        ends = np.cumsum([len(block) for block in self._blocks])[:-1]
        return np.split(chosen, ends)

    def _doubtful(self, private_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Ids that may be another's, too, and have too many rows with it; and what is no id."""
        counts = np.bincount(private_ids + 1, minlength=len(self._numbers))[1:]
        first_alike: dict[str, int] = {}
        alike: dict[int, list[int]] = {}
        for one, number in self._numbers.items():
            if one is not None:
                first = first_alike.setdefault(loosely(one), number)
                if first != number:
                    alike.setdefault(first, [first]).append(number)
        doubtful = np.zeros(len(self._numbers), dtype=np.bool_)
        doubtful[-1] = True
        for numbers in alike.values():
            if counts[numbers].sum() > self._most:
                doubtful[numbers] = True
        return doubtful
