"""Distribution of a number, found privately: a noised tree of counts.

The public range is cut into 16 x 16 x 16 cells; the counts of all nodes on the three levels are
released at once, made consistent by least squares (Hay et al., VLDB 2010), and read only as deep as
the noise allows. Quantiles and bins of equal mass follow without further cost. One row is in one
node per level: sensitivity sqrt(3). Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from voile.errors import SchemaError, SettingError
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms import Release, gaussian_sum
from voile.privacy.queries import TARGET, ColumnCells
from voile.privacy.query_kernels import leaf_counts
from voile.privacy.sources.block import Block
from voile.privacy.vault import PrivateTable
from voile.privacy.wire import sendable
from voile.schema import Number

FANOUT = 16
DEPTH = 3
CELLS: int = FANOUT**DEPTH
_NODES = FANOUT + FANOUT**2 + FANOUT**3
CLEAR = 4.0
"""A node is split when its count stands this many standard errors clear of zero."""


@sendable
@dataclass(frozen=True)
class TreeCells(ColumnCells):
    """Counts of all tree nodes, coarse level first, then one cell per level for missing values."""

    lower: float
    upper: float

    levels = DEPTH

    def __post_init__(self) -> None:
        # Written so that what is not a number is refused, too.
        if not -math.inf < self.lower < self.upper < math.inf:
            raise SettingError(
                f"The range of column {self.column!r} must be from a lower to an upper bound, both "
                f"finite. Got {self.lower!r} and {self.upper!r} instead."
            )

    @property
    def size(self) -> int:
        """Nodes of all levels, and missing values once per level."""
        return _NODES + DEPTH

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Node of each row on each level."""
        values = block[self.column]
        missing = np.isnan(values)
        # Halves first: the range of two huge bounds would overflow.
        half = self.upper / 2 - self.lower / 2
        with np.errstate(all="ignore"):  # bounds a few denormals apart have no halves
            part = (np.where(missing, self.lower, values) / 2 - self.lower / 2) / half
        part = np.clip(np.nan_to_num(part), 0.0, 1.0)
        leaf = np.minimum((part * CELLS).astype(np.int64), CELLS - 1)
        result, offset = [], 0
        for level in range(1, DEPTH + 1):
            node = offset + leaf // FANOUT ** (DEPTH - level)
            # A cell per level: three times into one cell would be a share of norm 3, not sqrt(3).
            result.append(np.where(missing, self.size - level, node))
            offset += FANOUT**level
        return result

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Counts, in whole units of ``grid``: only leaves are counted, and added up level by level.

        Each row is in one leaf (or missing), so in one node per level, as `cells` has it.
        """
        values, units = block[self.column], int(1.0 / grid)
        leaves = leaf_counts(values, self.lower, self.upper, CELLS, units, block.weights)
        levels = [leaves[:-1]]
        for _ in range(1, DEPTH):
            levels.insert(0, levels[0].reshape(-1, FANOUT).sum(axis=1))
        return np.concatenate([*levels, np.repeat(leaves[-1:], DEPTH)])


@dataclass(frozen=True, eq=False)
class Histogram:
    """A released distribution over intervals of a public range.

    Attributes
    ----------
    edges : ndarray of shape (intervals + 1,)
        Increasing, from lower to upper bound.
    counts : ndarray of shape (intervals,)
        Estimated rows in each interval; unbiased, so noise may make it negative.
    standard_errors : ndarray of shape (intervals,)
        Standard deviation of each count by the noise (an upper estimate).
    missing : float
        Estimated rows without a value; may be negative.
    cells : ndarray of shape (intervals + 1,)
        The edges as positions among the cells of the tree.
    node_error : float
        Standard deviation of the noise on one node of the tree.
    whole : bool
        Whether the values are whole numbers: inner edges lie halfway between two of them.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    missing: float
    cells: NDArray[np.int64]
    node_error: float
    whole: bool = False

    @property
    def rows(self) -> float:
        """Estimated rows with a value."""
        return float(self.counts.sum())

    def quantile(self, share: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Value below which a share of the rows lies, by linear interpolation."""
        cumulative = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(self.counts)]))
        if cumulative[-1] <= 0:
            cumulative = np.arange(len(self.edges), dtype=np.float64)
        # Strictly increasing, so that empty intervals do not make the inverse ambiguous.
        cumulative = cumulative / cumulative[-1] + np.arange(len(cumulative)) * 1e-12
        return np.interp(np.asarray(share, dtype=np.float64), cumulative, self.edges)

    def equal_width(self, bins: int) -> Histogram:
        """Cut the range into ``bins`` intervals of equal width, for looking at.

        ``bins`` is rounded down to a divisor of the number of cells. An interval of the tree that
        was read as a whole is spread evenly. Whole numbers are never cut: their bins hold equally
        many of them, or one more.
        """
        if self.whole:
            return self._equal_wholes(bins)
        bins = next(b for b in range(min(max(bins, 1), CELLS), 0, -1) if CELLS % b == 0)
        cells = np.arange(bins + 1) * (CELLS // bins)
        cumulative = np.concatenate([[0.0], np.cumsum(self.counts)])
        part = cells / CELLS
        return Histogram(
            self.edges[0] * (1 - part) + self.edges[-1] * part,
            np.diff(np.interp(cells, self.cells, cumulative)),
            self._errors(cells),
            self.missing,
            cells,
            self.node_error,
        )

    def _equal_wholes(self, bins: int) -> Histogram:
        lower, upper = self.edges[0], self.edges[-1]
        numbers = upper - lower + 1.0
        bins = int(min(max(bins, 1), numbers if numbers <= CELLS else CELLS // 2))
        below = np.rint(np.linspace(0.0, numbers, bins + 1))
        ends = np.concatenate([[lower - 0.5], self.edges[1:-1], [upper + 0.5]])
        cumulative = np.concatenate([[0.0], np.cumsum(self.counts)])
        # The first cell of each bin is that of its first number.
        cells = np.floor((below + 0.5) * (CELLS / numbers)).astype(np.int64)
        cells[0], cells[-1] = 0, CELLS
        return Histogram(
            np.clip(lower + below - 0.5, lower, upper),
            np.diff(np.interp(lower + below - 0.5, ends, cumulative)),
            self._errors(cells),
            self.missing,
            cells,
            self.node_error,
            True,
        )

    def equal_mass(self, bins: int) -> Histogram:
        """Merge neighbouring intervals into about ``bins`` bins of equal mass.

        An interval that alone is heavier than its share (a spike, such as a value most rows hold)
        becomes a bin of its own, and the others share what is left. Bins that stay light, such as
        the gaps between whole numbers, join their lighter neighbour.
        """
        counts = self.counts
        spike = np.zeros(len(counts), dtype=np.bool_)
        while True:
            left = float(counts[~spike].sum())
            # Never below half a row: without noise, gaps between few rows would all stay bins.
            target = max(
                left / max(bins - int(spike.sum()), bins // 8, 1), CLEAR * self.node_error, 0.5
            )
            more = ~spike & (counts > target)
            if not more.any():
                break
            spike |= more
        starts, masses = [0], [0.0]
        for i in range(len(counts)):
            if i and (spike[i] or spike[i - 1] or masses[-1] >= target):
                starts.append(i)
                masses.append(0.0)
            masses[-1] += float(counts[i])
        while len(starts) > 1 and min(masses) < target / 2:
            light = int(np.argmin(masses))
            before = masses[light - 1] if light else np.inf
            after = masses[light + 1] if light + 1 < len(masses) else np.inf
            join = light if before <= after else light + 1
            masses[join - 1] += masses.pop(join)
            starts.pop(join)
        return self._merged(np.asarray(starts))

    def _errors(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.node_error * np.sqrt(cover(cells[:-1], cells[1:]))

    def _merged(self, starts: NDArray[np.int64]) -> Histogram:
        cells = np.append(self.cells[starts], self.cells[-1])
        return Histogram(
            np.append(self.edges[starts], self.edges[-1]),
            np.add.reduceat(self.counts, starts),
            self._errors(cells),
            self.missing,
            cells,
            self.node_error,
            self.whole,
        )


def find_histogram(
    table: PrivateTable, column: str, ticket: Ticket, *, resolution: int = 64
) -> Histogram:
    """Find the distribution of a number inside its public bounds.

    Parameters
    ----------
    table : PrivateTable
    column : str
        A column whose schema gives bounds.
    ticket : Ticket
        One access of a ``Gaussian`` event.
    resolution : int
        A node is read deeper when it holds more than one ``resolution``-th of the rows (and stands
        clear of the noise).

    Returns
    -------
    Histogram
        Intervals are fine where the rows are and coarse elsewhere. Those of whole numbers end
        halfway between two of them.
    """
    bounds = table.schema.target if column == TARGET else table.schema[column]
    if not isinstance(bounds, Number) or bounds.lower is None or bounds.upper is None:
        raise SchemaError(
            f"column {column!r} has no bounds: give Number(lower, upper), or leave them to be "
            "found and pay for it."
        )
    # Half a unit more on both sides gives every whole number as many cells as any other.
    more = 0.5 if bounds.whole else 0.0
    query = TreeCells(column, bounds.lower - more, bounds.upper + more)
    release = gaussian_sum(table, query, ticket)
    levels = _consistent(_split_levels(release.values))
    error = release.standard_error
    total = float(levels[0].sum())
    limit = max(total / resolution, CLEAR * error, 0.5)
    starts: list[int] = []
    counts: list[float] = []
    for node in range(FANOUT):
        _read(levels, 0, node, limit, starts, counts)
    cells = np.append(np.asarray(starts, dtype=np.int64), CELLS)
    if bounds.whole:
        return _whole_histogram(bounds.lower, bounds.upper, cells, counts, release)
    part = cells / CELLS
    return Histogram(
        edges=bounds.lower * (1 - part) + bounds.upper * part,
        counts=np.asarray(counts),
        standard_errors=np.full(len(counts), error),
        missing=float(release.values[-DEPTH:].mean()),
        cells=cells,
        node_error=error,
    )


def _whole_histogram(
    lower: float,
    upper: float,
    cells: NDArray[np.int64],
    counts: list[float],
    release: Release,
) -> Histogram:
    """Intervals of whole numbers; those that hold none of them join the next one."""
    numbers = upper - lower + 1.0
    # How many numbers lie below the beginning of each interval.
    below = np.clip(np.ceil(cells[:-1] * (numbers / CELLS) - 0.5), 0.0, numbers)
    kept = np.flatnonzero(np.append(True, below[1:] > below[:-1]) & (below < numbers))
    error = release.standard_error
    return Histogram(
        edges=np.concatenate([[lower], lower + below[kept[1:]] - 0.5, [upper]]),
        counts=np.add.reduceat(np.asarray(counts), kept),
        standard_errors=np.full(len(kept), error),
        missing=float(release.values[-DEPTH:].mean()),
        cells=np.append(cells[kept], CELLS),
        node_error=error,
        whole=True,
    )


def _split_levels(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    ends = np.cumsum([FANOUT**level for level in range(1, DEPTH + 1)])
    return np.split(values[: ends[-1]], ends[:-1])


def _consistent(levels: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Least-squares estimate under "children sum to their parent", equal noise on all nodes."""
    up = [level.copy() for level in levels]
    for depth in range(DEPTH - 2, -1, -1):
        height = DEPTH - depth  # leaves have height 1
        own = (FANOUT**height - FANOUT ** (height - 1)) / (FANOUT**height - 1)
        children = up[depth + 1].reshape(-1, FANOUT).sum(axis=1)
        up[depth] = own * up[depth] + (1 - own) * children
    for depth in range(1, DEPTH):
        kids = up[depth].reshape(-1, FANOUT)
        gap = up[depth - 1] - kids.sum(axis=1)
        up[depth] = (kids + gap[:, None] / FANOUT).ravel()
    return up


def _read(
    levels: list[NDArray[np.float64]],
    depth: int,
    node: int,
    limit: float,
    starts: list[int],
    counts: list[float],
) -> None:
    """Collect the nodes at which reading stops: their first cells and their counts."""
    count = float(levels[depth][node])
    if depth + 1 < DEPTH and count > limit:
        for child in range(FANOUT):
            _read(levels, depth + 1, node * FANOUT + child, limit, starts, counts)
        return
    starts.append(node * FANOUT ** (DEPTH - 1 - depth))
    counts.append(count)


def cover(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
    """Fewest nodes that add or subtract up to the cells [start, stop), for each pair.

    Least squares is at least as good as this unbiased estimate, so it bounds the variance.
    """
    small, large = _ends(1), _ends(2)
    size = FANOUT**2
    first, last = starts // size, (stops - 1) // size
    a, b = starts - first * size, stops - last * size
    # Beginning and end in different nodes of the first level: whole ones between count 1 each.
    apart = large[size - a] + (last - first - 1) + large[b]
    # In one node of the first level: added up from below, or the node without both its ends.
    i, j = a // FANOUT, (b - 1) // FANOUT
    c, d = a - i * FANOUT, b - j * FANOUT
    below = np.where(
        i == j,
        np.minimum(d - c + 0.0, 1.0 + c + (FANOUT - d)),
        small[FANOUT - c] + (j - i - 1) + small[d],
    )
    left_over = 1.0 + (i + small[c]) + (small[FANOUT - d] + FANOUT - 1 - j)
    inside = np.minimum(below, left_over)
    inside = np.where((a == 0) & (b == size), 1.0, inside)
    found: NDArray[np.float64] = np.where(first == last, inside, apart)
    return found


@lru_cache(maxsize=DEPTH)
def _ends(height: int) -> NDArray[np.float64]:
    """Fewest nodes for the first p cells of a node with FANOUT^height cells, p = 0, 1, ..."""
    if height == 0:
        return np.array([0.0, 1.0])
    below, step = _ends(height - 1), FANOUT ** (height - 1)
    p = np.arange(FANOUT**height + 1)
    whole, rest = p // step, p % step
    added = whole + below[rest]
    # The node without its other end, which is as long from the right.
    found: NDArray[np.float64] = np.minimum(added, 1.0 + added[::-1])
    found[-1] = 1.0
    return found
