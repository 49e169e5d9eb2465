"""A released distribution over intervals of a public range, and its merging into bins.

It stands on the cells of a tree of counts (`tree.py`); everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FANOUT = 16
DEPTH = 3
CELLS: int = FANOUT**DEPTH
"""Cells of the tree."""

CLEAR, MERGED = 4.0, 3.0
"""A node is split when its count stands this many standard errors clear of zero; bins of equal mass
have this many standard errors of a node at least."""


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
    calendar : tuple of float, or None
        Of dates, where the first cell begins and how wide each is, in seconds.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    missing: float
    cells: NDArray[np.int64]
    node_error: float
    whole: bool = False
    calendar: tuple[float, float] | None = None

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
        many of them, those of dates equally many days or hours; only the last one may hold fewer.
        """
        if self.whole:
            return self._equal_wholes(bins)
        if self.calendar is not None:
            return self._equal_dates(bins, *self.calendar)
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

    def _equal_dates(self, bins: int, start: float, width: float) -> Histogram:
        used = int((self.edges[-1] - start) // width) + 1
        cells = np.append(np.arange(0, used, -(-used // max(bins, 1))), used)
        cumulative = np.concatenate([[0.0], np.cumsum(self.counts)])
        return replace(
            self,
            edges=np.clip(start + cells * width, self.edges[0], self.edges[-1]),
            counts=np.diff(np.interp(cells, np.minimum(self.cells, used), cumulative)),
            standard_errors=self._errors(cells),
            cells=cells,
        )

    def _equal_wholes(self, bins: int) -> Histogram:
        lower, upper = self.edges[0], self.edges[-1]
        numbers = upper - lower + 1.0
        # Equally many numbers each, and about so many bins: one number more would look like a peak.
        bins = min(max(bins, 1), CELLS // 2)
        below = np.append(np.arange(0.0, numbers, max(np.rint(numbers / bins), 1.0)), numbers)
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
                left / max(bins - int(spike.sum()), bins // 8, 1), MERGED * self.node_error, 0.5
            )
            more = ~spike & (counts > target)
            if not more.any():
                break
            spike |= more
        starts, masses = [0], [0.0]
        apart = (spike[1:] | spike[:-1]).tolist()
        for i, count in enumerate(counts.tolist()):
            if i and (apart[i - 1] or masses[-1] >= target):
                starts.append(i)
                masses.append(0.0)
            masses[-1] += count
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
        return replace(
            self,
            edges=np.append(self.edges[starts], self.edges[-1]),
            counts=np.add.reduceat(self.counts, starts),
            standard_errors=self._errors(cells),
            cells=cells,
        )


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
