"""The grid of a pair that joined the training, and what the training leaves of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.pair_cells import PairCells
from voile.models.ebm.pair_sides import Side

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairGrid:
    """A chosen pair: its cells and sides."""

    cells: PairCells
    first: Side
    second: Side

    @property
    def columns(self) -> tuple[int, int]:
        """Numbers of the two columns."""
        return self.cells.first, self.cells.second

    @property
    def shape(self) -> tuple[int, int]:
        """Parts of both sides."""
        return self.cells.height, self.cells.width

    def expected(self, rows: float) -> Floats:
        """Rows of each cell if the columns were independent, shape (cells,)."""
        return np.asarray(rows * np.kron(self.first.mass, self.second.mass))


def make_grid(first: int, second: int, one: Side, other: Side) -> PairGrid:
    """The grid of two columns."""
    cells = PairCells(first, second, one.groups, other.groups, one.parts, other.parts)
    return PairGrid(cells, one, other)


@dataclass(frozen=True, eq=False)
class ReleasedPair:
    """A pair as training leaves it; arrays are by cells, row by row of the grid.

    Attributes
    ----------
    grid : PairGrid
    counts : ndarray of shape (cells,)
    count_error : float
    scores, errors, whole_errors : ndarray of shape (cells, outputs)
    evidence : TermEvidence
        Of the cells as if they were bins.
    candidates : int
        Pairs among which it was chosen; 1 if a person named it.
    """

    grid: PairGrid
    counts: Floats
    count_error: float
    scores: Floats
    errors: Floats
    whole_errors: Floats
    evidence: TermEvidence
    candidates: int
