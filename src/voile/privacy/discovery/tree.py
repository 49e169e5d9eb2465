"""Distribution of a number, found privately: a noised tree of counts.

The public range is cut into 16 x 16 x 16 cells; the counts of all nodes on the three levels are
released at once, made consistent by least squares (Hay et al., VLDB 2010), and read only as deep as
the noise allows. Quantiles and bins of equal mass follow without further cost. One row is in one
node per level: sensitivity sqrt(3). Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.errors import SchemaError, SettingError
from voile.privacy.discovery.dates import calendar_cells
from voile.privacy.discovery.histogram import CELLS, CLEAR, DEPTH, FANOUT, Histogram
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms import Release, gaussian_sum
from voile.privacy.queries import TARGET, ColumnCells
from voile.privacy.query_kernels import leaf_counts
from voile.privacy.sources.block import Block
from voile.privacy.vault import PrivateTable
from voile.privacy.wire import sendable
from voile.schema import Date, Number

_NODES = FANOUT + FANOUT**2 + FANOUT**3


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
    lower, upper, calendar = bounds.lower - more, bounds.upper + more, None
    if isinstance(bounds, Date):
        start, width = calendar = calendar_cells(bounds, CELLS)
        lower, upper = start, start + CELLS * width
    query = TreeCells(column, lower, upper)
    release = gaussian_sum(table, query, ticket)
    levels = _consistent(split_levels(release.values))
    error = release.standard_error
    total = float(levels[0].sum())
    limit = max(total / resolution, CLEAR * error, 0.5)
    starts, counts = _read(levels, limit)
    cells = np.append(starts, CELLS)
    if bounds.whole:
        return _whole_histogram(bounds.lower, bounds.upper, cells, counts, release)
    part = cells / CELLS
    found = Histogram(
        edges=lower * (1 - part) + upper * part,
        counts=counts,
        standard_errors=np.full(len(counts), error),
        missing=float(release.values[-DEPTH:].mean()),
        cells=cells,
        node_error=error,
        calendar=calendar,
    )
    return found if calendar is None else _up_to(found, bounds.lower, bounds.upper)


def _up_to(found: Histogram, lower: float, upper: float) -> Histogram:
    """Intervals of dates within the bounds; no row is beyond them."""
    kept = int(np.searchsorted(found.edges[:-1], upper, "right"))
    return replace(
        found,
        edges=np.concatenate([[lower], found.edges[1:kept], [upper]]),
        counts=found.counts[:kept],
        standard_errors=found.standard_errors[:kept],
        cells=found.cells[: kept + 1],
    )


def _whole_histogram(
    lower: float,
    upper: float,
    cells: NDArray[np.int64],
    counts: NDArray[np.float64],
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
        counts=np.add.reduceat(counts, kept),
        standard_errors=np.full(len(kept), error),
        missing=float(release.values[-DEPTH:].mean()),
        cells=np.append(cells[kept], CELLS),
        node_error=error,
        whole=True,
    )


def split_levels(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Counts of the nodes, level by level, the coarsest first; missing values left out."""
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
    levels: list[NDArray[np.float64]], limit: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """First cells and counts of the nodes at which reading stops, in their order."""
    starts, counts = [], []
    nodes = np.arange(FANOUT)
    for depth, level in enumerate(levels):
        found = level[nodes]
        deeper = (found > limit) & (depth + 1 < DEPTH)
        starts.append(nodes[~deeper] * FANOUT ** (DEPTH - 1 - depth))
        counts.append(found[~deeper])
        nodes = (nodes[deeper, None] * FANOUT + np.arange(FANOUT)).ravel()
    order = np.argsort(np.concatenate(starts))
    return np.concatenate(starts)[order], np.concatenate(counts)[order]
