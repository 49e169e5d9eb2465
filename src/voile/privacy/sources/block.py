"""A block of private rows, as queries see it inside the vault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from voile.errors import VaultError

Column = NDArray[Any]


class Block:
    """Some consecutive private rows.

    Columns are encoded by the schema when first asked for: numbers as float64 inside their bounds
    (missing: NaN), categories as int32 codes (levels, then "other", then "missing").

    Parameters
    ----------
    rows : int
        Number of rows.
    load : callable
        Gives the encoded column of a name.
    kept : dict
        What queries keep per row between rounds; belongs to the source and outlives the block.
    weights : ndarray of shape (rows,), or None
        Weight of each row relative to the largest, in [0, 1]; every sum multiplies a row's share by
        it. None: all 1.
    """

    def __init__(
        self,
        rows: int,
        load: Callable[[str], Column],
        kept: dict[str, Column],
        weights: NDArray[np.float32] | None = None,
    ) -> None:
        self.rows = rows
        self.kept = kept
        self.weights = weights
        self._load = load
        self._columns: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = self._load(name)
        return self._columns[name]

    def where(self, mask: NDArray[np.bool_]) -> Block:
        """The chosen rows only; what they keep is a copy and is not written back."""
        return Block(
            int(np.count_nonzero(mask)),
            lambda name: self[name][mask],
            {name: values[mask] for name, values in self.kept.items()},
            None if self.weights is None else self.weights[mask],
        )

    def part(self, start: int, stop: int) -> Block:
        """Some consecutive rows; what they keep is a view of what this block keeps."""
        return Block(
            min(stop, self.rows) - start,
            lambda name: self[name][start:stop],
            {name: values[start:stop] for name, values in self.kept.items()},
            None if self.weights is None else self.weights[start:stop],
        )

    def __repr__(self) -> str:
        return "<Block of private rows>"

    def __reduce__(self) -> NoReturn:
        raise VaultError("Private rows cannot be pickled.")
