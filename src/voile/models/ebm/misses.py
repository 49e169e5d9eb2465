"""How far targets are from their scores: a released histogram with signs, and what it tells.

Sensitivity: docs/proofs/objectives.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.ebm.objective_kernels import objective_misses
from voile.models.ebm.pair_cells import PairCells, all_offsets, with_pairs
from voile.models.ebm.queries import (
    BINS,
    LOG_EXPOSURE,
    SCALED_TARGET,
    BinLayout,
    check_shapes,
    check_state,
    keeps,
    parts_of,
)
from voile.privacy.queries import Block, CellQuery, Preparation
from voile.privacy.wire import sendable
from voile.schema import Schema

Floats = NDArray[np.float64]

_SIZES: Floats = 2.0 ** (np.arange(-27, 19) / 3.0)

MISS_CUTS: Floats = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
"""Cut points of misses: three per doubling, from 2^-9 to 2^6, below zero and above."""

_CLEAR = 4.5
"""Noise deviations by which the rows of a far cell must stand out to be believed."""


_NOTHING = 1.0
"""Standard error of a share that says nothing."""


@sendable
@dataclass(frozen=True, eq=False)
class MissSizes(CellQuery):
    """How many rows miss their score by how much, with a sign (not for squared loss)."""

    layout: BinLayout
    scores: NDArray[np.float64]
    intercept: NDArray[np.float64]
    pairs: tuple[PairCells, ...] = ()

    columns = ()
    size = len(MISS_CUTS) + 2

    def __post_init__(self) -> None:
        if self.layout.residual not in ("poisson", "gamma", "quantile"):
            raise SettingError("Misses are for counts, amounts and quantiles alone.")
        check_state(self.scores, self.intercept, 1.0)
        check_shapes(self.layout, self.scores, self.intercept, self.pairs)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the bins of this layout."""
        return keeps(prepared, self.layout)

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Cell of each row's miss; rows without a target fall into the last."""
        offsets = all_offsets(self.layout.offsets, self.pairs)
        parts = [
            objective_misses(
                self.layout.aim,
                with_pairs(part.kept[BINS], self.pairs),
                part.kept[SCALED_TARGET],
                part.kept[LOG_EXPOSURE] if self.layout.exposes_counts else None,
                offsets,
                self.scores,
                self.intercept,
            )
            for part in parts_of(block, self.pairs)
        ]
        misses = np.concatenate(parts) if parts else np.zeros(0)
        found = np.searchsorted(MISS_CUTS, misses, side="right")
        found[np.isnan(misses)] = self.size - 1
        return [found]


def _edges() -> Floats:
    """Ends of the cells of misses; the outermost are taken to be near."""
    return np.concatenate([[MISS_CUTS[0] * 1.3], MISS_CUTS, [MISS_CUTS[-1] * 1.3]])


@dataclass(frozen=True, eq=False)
class Misses:
    """A distribution of misses.

    Attributes
    ----------
    edges : ndarray of shape (cells + 1,)
        Increasing.
    shares : ndarray of shape (cells,)
        Estimated part of the rows in each; they sum to 1.
    error : float
        Standard error of each by the noise.
    """

    edges: Floats
    shares: Floats
    error: float = 0.0

    @classmethod
    def unknown(cls) -> Misses:
        """Before the first look, or if it said nothing: spread evenly around zero."""
        edges = _edges()
        inside = (edges[1:] > -0.5) & (edges[:-1] < 0.5)
        widths = np.where(inside, np.diff(edges), 0.0)
        return cls(edges, widths / widths.sum(), _NOTHING)

    @classmethod
    def of(cls, values: Floats, error: float, *, clear: bool) -> Misses:
        """From noised counts of the cells of `MissSizes`, and the standard error of each.

        ``clear``: only cells that stand clear of the noise count. For means, in which noise far
        from zero would weigh most; shares of the rows are rather unbiased.
        """
        edges = _edges()
        counts, total = values[:-1], float(values[:-1].sum())
        if not clear:
            return cls(edges, counts / total, error / total) if total > error else cls.unknown()
        around = np.convolve(counts, np.ones(3), mode="same")
        return cls.from_counts(edges, counts * (around > _CLEAR * math.sqrt(3.0) * error), error)

    @classmethod
    def from_counts(cls, edges: Floats, counts: Floats, error: float = 0.0) -> Misses:
        """From estimated rows between edges; evenly spread if there are none."""
        counts = np.maximum(counts, 0.0)
        total = float(counts.sum())
        if total <= 0:
            return cls(edges, np.full(len(counts), 1.0 / len(counts)), 1.0)
        return cls(edges, counts / total, error / total)

    @classmethod
    def from_places(cls, places: Floats, counts: Floats) -> Misses:
        """From rows at some places, as `MissSizes` would count them."""
        cells = np.clip(np.searchsorted(MISS_CUTS, places, side="right"), 1, len(MISS_CUTS) - 1)
        found = np.bincount(cells - 1, weights=counts, minlength=len(MISS_CUTS) - 1)
        return cls.from_counts(MISS_CUTS, np.asarray(found, dtype=np.float64))

    def mixed_with(self, older: Misses) -> Misses:
        """The mean of two looks, if both said something."""
        if max(self.error, older.error) >= _NOTHING:
            return self
        error = math.hypot(self.error, older.error) / 2.0
        return Misses(self.edges, (self.shares + older.shares) / 2.0, error)

    @property
    def middles(self) -> Floats:
        """A miss in each cell."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    def mean(self, values: Floats) -> float:
        """Mean of a function of the middles over the rows."""
        return float(self.shares @ values)

    def error_of(self, values: Floats) -> float:
        """Standard deviation of such a mean by the noise, in the cells that count."""
        return self.error * float(np.linalg.norm(values[self.shares != 0]))

    def below(self, value: float) -> float:
        """Part of the rows below a value."""
        return float(np.interp(value, self.edges, self._sums))

    def error_below(self, value: float) -> float:
        """Standard deviation of `below` by the noise, in the cells that count."""
        known, below = self.shares > 0, self.middles < value
        cells = min(int((known & below).sum()), int((known & ~below).sum()))
        return self.error * math.sqrt(max(cells, 1))

    def quantile(self, share: float) -> float:
        """Value below which a part of the rows lies."""
        return float(np.interp(share, self._sums, self.edges))

    @property
    def _sums(self) -> Floats:
        """Part of the rows below each edge: rising, whatever the noise."""
        sums = np.maximum.accumulate(np.append(0.0, np.cumsum(self.shares)))
        return np.asarray(sums + 1e-12 * np.arange(len(sums)))
