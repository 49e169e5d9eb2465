"""How columns go together: noised tables of pairs, which let regression undo collinearity for free.

With squared loss, what one column's sums owe to the scores of the others is a matter of counts
alone. Coarse counts of all pairs of columns, released once, replace many rounds of accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.kernels import pair_totals
from voile.models.ebm.queries import BINS, BinLayout, keeps
from voile.models.public_numbers import check_wholes
from voile.privacy.mechanisms import Release
from voile.privacy.queries import Block, CellQuery, Preparation
from voile.privacy.wire import sendable
from voile.schema import Schema

Floats = NDArray[np.float64]

GROUPS = 5
"""Groups of bins per column."""

_CLEAR = 4.0
"""A part of a table counts as far as it stands this many noise deviations clear of zero."""

_SMALLEST_EIGENVALUE = 0.01
"""Floor of the columns' common eigenvalues without noise; noise raises it."""


@sendable
@dataclass(frozen=True, eq=False)
class PairCounts(CellQuery):
    """How many rows fall into each pair of groups, for all pairs of columns.

    A row adds 1 to one cell of each table: sensitivity sqrt(number of tables).

    Parameters
    ----------
    layout : BinLayout
    groups : ndarray of shape (cells,)
        Group of each bin, 0 to GROUPS - 1.
    """

    layout: BinLayout
    groups: NDArray[np.int64]

    columns = ()

    def __post_init__(self) -> None:
        # A group of another table would count one row twice there.
        cells = int(self.layout.offsets[-1])
        check_wholes(self.groups, (cells,), "groups of bins", 0, GROUPS - 1)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the bins of this layout."""
        return keeps(prepared, self.layout)

    @property
    def levels(self) -> int:  # type: ignore[override]
        """Number of tables."""
        terms = len(self.layout.offsets) - 1
        return terms * (terms - 1) // 2

    @property
    def size(self) -> int:
        """Cells of all tables."""
        return self.levels * GROUPS**2

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Cell of each row in each table; for tests and small blocks."""
        bins = block.kept[BINS].astype(np.int64)
        found = self.groups[self.layout.offsets[:-1] + bins]
        result, start = [], 0
        for k in range(found.shape[1]):
            for j in range(k + 1, found.shape[1]):
                result.append(start + found[:, k] * GROUPS + found[:, j])
                start += GROUPS**2
        return result

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Counts by a kernel, in whole units of ``grid``."""
        bins, offsets, units = block.kept[BINS], self.layout.offsets, int(1.0 / grid)
        return pair_totals(bins, offsets, self.groups, GROUPS, units, block.weights)


def group_bins(counts: Floats, ordered: bool) -> NDArray[np.int64]:
    """Groups of about equal mass: of neighbours for numbers, by size for levels."""
    mass = np.maximum(counts, 0.0)
    if mass.sum() <= 0:
        return np.zeros(len(counts), dtype=np.int64)
    order = np.arange(len(counts)) if ordered else np.argsort(-mass, kind="stable")
    sorted_mass = mass[order]
    middle = (np.cumsum(sorted_mass) - sorted_mass / 2) / mass.sum()
    result = np.empty(len(counts), dtype=np.int64)
    result[order] = np.minimum((middle * GROUPS).astype(np.int64), GROUPS - 1)
    return result


class ColumnPairs:
    """What the scores of the other columns add to each bin's sum, by released counts.

    Parameters
    ----------
    layout : BinLayout
    groups : ndarray of shape (cells,)
    counts : list of ndarray of shape (bins,)
        Released counts per term, positive.
    release : Release
        Of `PairCounts`.
    """

    def __init__(
        self,
        layout: BinLayout,
        groups: NDArray[np.int64],
        counts: list[Floats],
        release: Release,
    ) -> None:
        terms = len(counts)
        self._layout = layout
        self._place = groups + GROUPS * np.repeat(np.arange(terms), np.diff(layout.offsets))
        mass = _sum_by(self._place, np.concatenate(counts), terms * GROUPS)
        # Part of its group that each bin is.
        self._part = np.concatenate(counts) / np.maximum(mass[self._place], 1e-9)
        tables = release.values.reshape(-1, GROUPS, GROUPS)
        rows = max(float(np.concatenate(counts).sum()) / terms, 1.0)
        self.doubt = release.standard_error * GROUPS / rows
        """Noise of a cell relative to a group's rows."""
        gram = _assemble(tables, mass, terms, release.standard_error)
        self._gram = _positive(gram, mass, terms, _SMALLEST_EIGENVALUE + self.doubt)

    def others(self, scores: Floats) -> Floats:
        """For every bin, the other columns' scores summed over its rows, shape (cells,)."""
        sums: Floats = self._gram @ self.means(scores)
        found: Floats = self._part * sums[self._place]
        return found

    def means(self, scores: Floats) -> Floats:
        """Mean score of each group of each column, shape (terms x groups,)."""
        return _sum_by(self._place, self._part * scores, len(self._gram))

    def renew(self, k: int, means: Floats, scores: Floats) -> None:
        """Write the means of one column, whose scores have changed, into those of all."""
        part, own = self._layout.part(k), slice(k * GROUPS, (k + 1) * GROUPS)
        means[own] = _sum_by(self._place[part] - k * GROUPS, self._part[part] * scores, GROUPS)

    def others_of(self, k: int, means: Floats) -> Floats:
        """`others` for one column, shape (bins,), by the means of all."""
        part = self._layout.part(k)
        own: Floats = self._gram[k * GROUPS : (k + 1) * GROUPS] @ means
        found: Floats = self._part[part] * own[self._place[part] - k * GROUPS]
        return found


def _sum_by(place: NDArray[np.int64], values: Floats, size: int) -> Floats:
    return np.bincount(place, weights=values, minlength=size).astype(np.float64)


def _assemble(tables: Floats, mass: Floats, terms: int, error: float) -> Floats:
    """Deviations from independence of every pair, cleaned of what noise alone would make."""
    size = terms * GROUPS
    gram = np.zeros((size, size))
    number = 0
    for k in range(terms):
        for j in range(k + 1, terms):
            table = tables[number]
            number += 1
            row = mass[k * GROUPS : (k + 1) * GROUPS]
            column = mass[j * GROUPS : (j + 1) * GROUPS]
            total = max(float(row.sum()), 1.0)
            expected = np.outer(row, column) / max(float(column.sum()), 1.0)
            excess = table - expected
            # The margins are known better from the bins: take them out again, by mass.
            excess = excess - np.outer(excess.sum(axis=1), column / max(float(column.sum()), 1.0))
            excess = excess - np.outer(row / total, excess.sum(axis=0))
            # A group lighter than the noise (or empty, at a spike) tells nothing.
            excess[row < 2.0 * error] = 0.0
            excess[:, column < 2.0 * error] = 0.0
            left, values, right = np.linalg.svd(excess)
            noise = _CLEAR * error
            kept = values * np.maximum(0.0, 1.0 - (noise / np.maximum(values, 1e-9)) ** 2)
            clean = (left * kept) @ right + expected
            gram[k * GROUPS : (k + 1) * GROUPS, j * GROUPS : (j + 1) * GROUPS] = clean
            gram[j * GROUPS : (j + 1) * GROUPS, k * GROUPS : (k + 1) * GROUPS] = clean.T
    return gram


def _positive(gram: Floats, mass: Floats, terms: int, least: float) -> Floats:
    """Keep the whole matrix positive, as counts of real rows are; return what is off the blocks."""
    root = np.sqrt(np.maximum(mass, 1.0))
    scaled = gram / np.outer(root, root) + np.eye(len(mass))
    values, vectors = np.linalg.eigh(scaled)
    scaled = (vectors * np.maximum(values, least)) @ vectors.T
    for k in range(terms):
        block = slice(k * GROUPS, (k + 1) * GROUPS)
        scaled[block, block] = 0.0
    # Without the blocks the matrix may have lost the floor again: what is left is drawn to zero
    # until the whole is positive, for only then do the sweeps converge.
    lowest = 1.0 + float(np.linalg.eigvalsh(scaled)[0])
    scaled *= min(1.0, (1.0 - least) / max(1.0 - lowest, 1e-9))
    return np.asarray(scaled * np.outer(root, root))
