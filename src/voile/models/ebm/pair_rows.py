"""How many rows the cells of a pair hold, as far as it is released, and what doubts of it cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.pair_grid import PairGrid

Floats = NDArray[np.float64]

_EMPTY = 0.05
"""No cell is taken to have fewer rows than this part of what independent columns would have."""

_SILENT = 0.02
"""Part of the rows that a step reckons with from which on a cell says nothing."""


@dataclass(frozen=True, eq=False)
class PairRows:
    """Rows of each cell of a pair.

    Attributes
    ----------
    estimates : ndarray of shape (cells,)
        Noised counts, drawn towards what independent columns would have; may be negative.
    error : float
        Standard error of each.
    expected : ndarray of shape (cells,)
        What independent columns would have.
    """

    estimates: Floats
    error: float
    expected: Floats

    @classmethod
    def of(cls, grid: PairGrid, released: Floats, error: float, rows: float) -> PairRows:
        """From noised counts, each with a standard error.

        They are drawn as far as they look like noise around independent columns (empirical Bayes).
        """
        expected = grid.expected(rows)
        spread = max(float(((released - expected) ** 2).mean()) - error**2, 0.0)
        kept = spread / max(spread + error**2, 1e-300)
        return cls(expected + kept * (released - expected), math.sqrt(kept) * error, expected)

    @property
    def counts(self) -> Floats:
        """The estimates, but none of no rows."""
        return np.maximum(self.estimates, np.maximum(_EMPTY * self.expected, 1e-6))

    @property
    def reckoned(self) -> Floats:
        """Rows that a step reckons with: through counts that are too small it would be too long."""
        return np.maximum(self.counts, 1.0) + self.error

    @property
    def part(self) -> Floats:
        """The rows that a cell has as a part of those that a step reckons with, (cells,).

        A cell's sums hold its rows times what the scores miss: a step goes only this part of the
        way, and where there are no rows it stays at the score and says nothing.
        """
        return np.clip(self.estimates / self.reckoned, _SILENT, 1.0)

    def doubt(self, squares: Floats) -> Floats:
        """What noised counts add to the variance of a pair's estimates, shape (cells, outputs).

        What scores miss, divided by another number of rows, is no sum of two curves. How much they
        miss is not known: related columns may have divided an effect between them in any way, so it
        is as much as they say, and their misses may add up: twice the squares
        (docs/proofs/pairs.md).

        Parameters
        ----------
        squares : ndarray of shape (cells, outputs)
            Of the scores of both curves and of the pair, added up.
        """
        off = self.error / (self.part * self.reckoned)
        return np.asarray(2.0 * off[:, None] ** 2 * squares)
