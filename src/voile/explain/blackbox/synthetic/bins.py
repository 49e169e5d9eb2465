"""Bins of columns, chosen from noised counts of their cells: fine where the rows are.

Post-processing of released values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.synthetic.cells import Cells
from voile.explain.blackbox.synthetic.marginals import Maps, bins_of

Floats = NDArray[np.float64]

_MOST, _FEWEST, _TOGETHER = 12, 5, 300
"""Most bins of a number with many cells; fewer in tables of many columns, to keep pairs few."""

_CLEAR = 3.0
"""A bin should stand this many standard errors of a cell clear of zero."""

_SHORT = 17
"""Numbers of no more cells keep every cell as a bin."""

_SEEN = 4.0
"""Missing and unlisted values are believed in from so many standard errors on."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Which bin each cell of each column belongs to.

    Attributes
    ----------
    maps : tuple of ndarray of shape (cells,)
    """

    maps: Maps

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Bins of each column."""
        return np.array(bins_of(self.maps), dtype=np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First of all bins that belongs to each column, and their number at the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The column of each bin."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def of(self, column: int) -> slice:
        """The bins of a column."""
        return slice(int(self.starts[column]), int(self.starts[column + 1]))


def project(values: Floats, total: float) -> Floats:
    """The nearest table without negative entries that sums to ``total``."""
    ranked = np.sort(values.ravel())[::-1]
    cuts = (np.cumsum(ranked) - total) / np.arange(1, ranked.size + 1)
    above = np.flatnonzero(ranked > cuts)
    return np.asarray(np.maximum(values - cuts[above[-1] if above.size else 0], 0.0))


def count_rows(noised: Sequence[Floats]) -> float:
    """Every histogram sums to the number of rows: their mean by inverse variance."""
    sums = [float(one.sum()) for one in noised]
    return max(float(np.average(sums, weights=[1.0 / len(one) for one in noised])), 1.0)


def find_unseen(
    cells: Sequence[Cells], noised: Sequence[Floats], error: float, never: frozenset[str]
) -> list[NDArray[np.bool_]]:
    """Cells for missing and unlisted values that are believed to be empty, in each column.

    Parameters
    ----------
    cells : sequence of Cells
    noised : sequence of ndarray of shape (cells,)
    error : float
        Standard deviation of the noise on a count.
    never : frozenset of str
        Names of columns in which nothing can be missing.
    """
    result = []
    for one, counts in zip(cells, noised, strict=True):
        unseen = np.zeros(one.count, dtype=np.bool_)
        for k in [one.count - 1] if one.is_number else [one.count - 2, one.count - 1]:
            unseen[k] = one.name in never or counts[k] < max(_SEEN * error, 0.5)
        # Something must be drawn: a category without levels has nothing but missing values.
        if unseen.all():
            unseen[-1] = False
        result.append(unseen)
    return result


def believe(
    noised: Sequence[Floats], unseen: Sequence[NDArray[np.bool_]], rows: float
) -> list[Floats]:
    """Counts of cells without negative entries, nothing in the unseen ones, summing to ``rows``."""
    result = []
    for counts, hidden in zip(noised, unseen, strict=True):
        kept = np.zeros(len(counts))
        kept[~hidden] = project(counts[~hidden], rows)
        result.append(kept)
    return result


def even_out(
    cells: Sequence[Cells],
    bins: Bins,
    noised: Sequence[Floats],
    variances: Sequence[float],
    unseen: Sequence[NDArray[np.bool_]],
) -> list[Floats]:
    """Counts of cells drawn to an even spread over their bin, as far as the rest may be noise.

    James and Stein's estimate within each bin. Even is by the width of cells, or the same count in
    each, whichever is nearer to what was released. Unseen cells stay empty.

    Parameters
    ----------
    cells : sequence of Cells
    bins : Bins
    noised : sequence of ndarray of shape (cells,)
    variances : sequence of float
        Variance of the noise on a cell of each column.
    unseen : sequence of ndarray of shape (cells,)
        Which cells are believed to be empty.
    """
    result = []
    for j, own in enumerate(bins.maps):
        counts = np.zeros(len(own))
        widths = cells[j].widths if cells[j].is_number else np.ones(len(own))
        for k in range(int(bins.sizes[j])):
            here = np.flatnonzero((own == k) & ~unseen[j])
            if here.size:
                counts[here] = _evened(noised[j][here], widths[here], variances[j])
        result.append(counts)
    return result


def _evened(noised: Floats, widths: Floats, variance: float) -> Floats:
    total = float(noised.sum())
    evens = [np.full(len(noised), total / len(noised))]
    if 0.0 < float(widths.sum()) < np.inf:
        evens.append(total * (widths / widths.sum()))
    even = min(evens, key=lambda one: float(((noised - one) ** 2).sum()))
    apart = noised - even
    square = float(apart @ apart)
    spare = max(len(noised) - 3, 0) * variance
    kept = max(0.0, 1.0 - spare / square) if square > 0 else 0.0
    return np.asarray(np.maximum(even + kept * apart, 0.0))


def choose_bins(
    cells: Sequence[Cells],
    counts: Sequence[Floats],
    unseen: Sequence[NDArray[np.bool_]],
    rows: float,
    error: float,
) -> Bins:
    """Merge cells into bins that stand clear of the noise; unseen cells go with another bin."""
    maps = []
    for one, mass, hidden in zip(cells, counts, unseen, strict=True):
        if not one.is_number:
            maps.append(_merge_levels(mass, hidden, error))
        elif one.count - 1 <= _SHORT:
            maps.append(_with_missing(np.arange(one.count - 1), hidden))
        else:
            most = min(max(_TOGETHER // len(cells), _FEWEST), _MOST)
            inner = _merge_numbers(mass[:-1], rows, error, most)
            maps.append(_with_missing(inner, hidden))
    return Bins(tuple(maps))


def split_in_two(cells: Sequence[Cells], counts: Sequence[Floats]) -> Maps:
    """Two bins a column, as even as cells allow; for tables of very many columns."""
    maps = []
    for one, mass in zip(cells, counts, strict=True):
        order = cell_order(one, mass)
        below = np.cumsum(mass[order]) / max(float(mass.sum()), 1e-12)
        # At least one cell on either side.
        cut = int(np.clip(np.argmin(np.abs(below - 0.5)), 0, max(one.count - 2, 0)))
        halves = np.zeros(one.count, dtype=np.int64)
        halves[order[cut + 1 :]] = 1
        maps.append(halves)
    return tuple(maps)


def cell_order(cells: Cells, mass: Floats) -> NDArray[np.int64]:
    """Cells from small to large; levels by how frequent they are."""
    if cells.is_number:
        return np.arange(cells.count)
    return np.asarray(np.argsort(-mass, kind="stable"), dtype=np.int64)


def _with_missing(inner: NDArray[np.int64], unseen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """A bin for missing values if there are any; else they go with the last bin."""
    last = int(inner.max())
    return np.append(inner, last if unseen[-1] else last + 1)


def _merge_levels(mass: Floats, unseen: NDArray[np.bool_], error: float) -> NDArray[np.int64]:
    """Levels that do not stand clear of the noise share one bin; unseen ones join the first."""
    clear = (mass >= max(_CLEAR * error, 0.5)) & ~unseen
    rare = ~clear & ~unseen
    bins = np.zeros(len(mass), dtype=np.int64)
    bins[clear] = np.arange(clear.sum())
    bins[rare] = clear.sum()
    return bins


def _merge_numbers(mass: Floats, rows: float, error: float, most: int) -> NDArray[np.int64]:
    """Heavy cells stay alone; the others are merged to about equal mass, from left to right."""
    heavy = mass >= max(rows / most, 3.0 * error)
    target = max(min(rows / most, float(mass[~heavy].sum()) / 4), _CLEAR * error)
    bins = np.zeros(len(mass), dtype=np.int64)
    current, held, alone = -1, np.inf, False
    for i, share in enumerate(mass):
        if heavy[i] or alone or held >= target:
            current, held = current + 1, 0.0
        bins[i], alone = current, bool(heavy[i])
        held += float(share)
    return bins
