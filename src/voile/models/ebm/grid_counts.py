"""How many rows lie in each cell of the grids of pairs that were chosen.

One access for all of them; sensitivity and proof: docs/proofs/pairs.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.ebm.pair_cells import MOST_TERMS, PairCells, all_offsets, check_pairs, with_pairs
from voile.models.ebm.queries import BINS, BinLayout, keeps
from voile.privacy.queries import Block, CellQuery, Preparation
from voile.privacy.wire import sendable
from voile.schema import Schema


@sendable
@dataclass(frozen=True, eq=False)
class GridCounts(CellQuery):
    """How many rows fall into each cell of the grids of some pairs.

    A row adds 1 to one cell of each grid: sensitivity sqrt(number of pairs).

    Parameters
    ----------
    layout : BinLayout
    pairs : tuple of PairCells
    """

    layout: BinLayout
    pairs: tuple[PairCells, ...]

    columns = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.pairs) <= MOST_TERMS:
            raise SettingError(f"Counts of pairs need from 1 to {MOST_TERMS} pairs.")
        check_pairs(self.pairs, self.layout.offsets)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the bins of this layout."""
        return keeps(prepared, self.layout)

    @property
    def levels(self) -> int:  # type: ignore[override]
        """Number of grids."""
        return len(self.pairs)

    @property
    def size(self) -> int:
        """Cells of all grids."""
        return sum(pair.size for pair in self.pairs)

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Cell of each row in each grid."""
        bins = block.kept[BINS]
        terms = bins.shape[1]
        offsets = self.layout.offsets
        starts = all_offsets(offsets, self.pairs)[terms:] - offsets[-1]
        placed = with_pairs(bins, self.pairs)[:, terms:].astype(np.int64)
        return [placed[:, k] + starts[k] for k in range(len(self.pairs))]
