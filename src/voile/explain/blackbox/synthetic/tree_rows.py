"""Synthetic rows: bins drawn along a tree of pair tables, then values within the bins.

Draws are spread out as evenly as possible, so that few rows tell as much as many. Post-processing
of released values; chance is public.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.synthetic.bins import Bins
from voile.explain.blackbox.synthetic.cells import Cells
from voile.explain.blackbox.synthetic.pair_tables import Edges, PairTables, fit_table

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def draw_bins(
    tables: PairTables, edges: Edges, count: int, rng: np.random.Generator
) -> list[Codes]:
    """Bins of ``count`` rows in each column, each column given its parent in the tree."""
    bins = tables.bins
    drawn: list[Codes] = [np.zeros(count, dtype=np.int64) for _ in bins.sizes]
    drawn[0] = spread_out(tables.margins[bins.of(0)], count, rng)
    for parent, child in edges:
        table = fit_table(tables, parent, child)
        for k in range(int(bins.sizes[parent])):
            here = np.flatnonzero(drawn[parent] == k)
            drawn[child][here] = spread_out(table[k], len(here), rng)
    return drawn


def draw_cells(
    binned: Sequence[Codes], bins: Bins, counts: Sequence[Floats], rng: np.random.Generator
) -> list[Codes]:
    """A cell for each drawn bin, by the released counts of cells."""
    result = []
    for j, own in enumerate(bins.maps):
        cells = np.zeros(len(binned[j]), dtype=np.int64)
        for k in range(int(bins.sizes[j])):
            here, inside = np.flatnonzero(binned[j] == k), np.flatnonzero(own == k)
            shares = counts[j][inside]
            if shares.sum() <= 0:
                # Nothing was seen in any of them; unusual cells (missing, unlisted) stay unseen.
                shares = np.where(np.arange(len(inside)) == 0, 1.0, 0.0)
            cells[here] = inside[spread_out(shares, len(here), rng)]
        result.append(cells)
    return result


def draw_values(
    cells: Sequence[Cells], codes: Sequence[Codes], rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Encoded columns: a value from each drawn cell."""
    return {one.name: one.draw(drawn, rng) for one, drawn in zip(cells, codes, strict=True)}


def spread_out(shares: Floats, count: int, rng: np.random.Generator) -> Codes:
    """Draw positions by shares, each as often as its share says up to one; in random order."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(shares / max(float(shares.sum()), 1e-300))
    places = (np.arange(count) + rng.random()) / count
    found = np.searchsorted(ends, places, side="right")
    # Rounding must not lead to a position without a share.
    last = int(np.flatnonzero(shares > 0)[-1]) if (shares > 0).any() else len(shares) - 1
    return rng.permutation(np.minimum(found, last))
