"""Synthetic rows of tables with very many columns: Gaussian latent variables behind every column.

Each column is cut in two; which of all pairs of columns fall on the same side, more often than
chance, gives the correlations of the latent variables (tetrachoric, to third order). Noise is taken
out of the correlations by their eigenvalues, then entry by entry. Post-processing of released
values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from voile.explain.of_blackbox.bins import cell_order
from voile.explain.of_blackbox.cells import Cells
from voile.explain.of_blackbox.marginals import Maps

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_STRONGEST = 0.9
"""Largest correlation that is believed in."""


def draw_latent(
    cells: Sequence[Cells],
    counts: Sequence[Floats],
    halves: Maps,
    signs: Floats,
    error: float,
    rows: float,
    drawn: int,
    chance: np.random.Generator,
) -> list[Codes]:
    """Cells of synthetic rows in each column.

    Parameters
    ----------
    cells : sequence of Cells
    counts : sequence of ndarray of shape (cells,)
        Released, without negative entries.
    halves : tuple of ndarray of shape (cells,)
        Which of two sides each cell is on.
    signs : ndarray of shape (columns, columns)
        Released sum over rows of the products of sides (-1, 1), symmetric.
    error : float
        Its standard deviation by the noise.
    rows : float
    drawn : int
        How many rows to draw.
    chance : Generator
        Public.
    """
    upper = np.array(
        [float(mass[own == 1].sum()) for mass, own in zip(counts, halves, strict=True)]
    )
    high = np.clip(upper / rows, 1e-3, 1.0 - 1e-3)
    factor = _factor(_correlations(high, signs / rows, (error / rows) ** 2))
    half = drawn - drawn // 2
    # A draw and its mirror image: means come out right.
    latent = chance.standard_normal((half, len(cells))) @ factor.T
    latent = np.vstack([latent, -latent[: drawn // 2]])
    places = norm.cdf(latent)
    result = []
    for j, one in enumerate(cells):
        order = cell_order(one, counts[j])
        # The first side lies below the cut, as it did when sides were counted.
        ends = np.cumsum(counts[j][order])
        ends = ends / max(float(ends[-1]), 1e-300)
        last = int(np.flatnonzero(counts[j][order] > 0)[-1]) if counts[j].any() else 0
        found = np.searchsorted(ends, places[:, j], side="right")
        result.append(order[np.minimum(found, last)])
    return result


def _correlations(high: Floats, products: Floats, variance: float) -> Floats:
    """Latent correlations from the probabilities of the upper side and mean products of sides."""
    count = len(high)
    # Sides are -1 and 1: a quarter of their covariance is that of 0 and 1.
    means = 2.0 * high - 1.0
    covariance = (products - np.outer(means, means)) / 4.0
    np.fill_diagonal(covariance, 0.0)
    variance = variance / 16.0
    values, axes = np.linalg.eigh(covariance)
    # Eigenvalues of pure noise stay within this edge; those beyond are shrunk by it.
    edge = 2.0 * np.sqrt(variance * count)
    clear = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    smooth = (axes * clear) @ axes.T
    rest = covariance - smooth
    np.fill_diagonal(rest, 0.0)
    own = high * (1.0 - high)
    sizes = np.outer(own, own)
    apart = ~np.eye(count, dtype=np.bool_)
    weight = sizes / (variance + sizes * 0.05**2) ** 2
    scale = float((weight * sizes)[apart].sum()) if count > 1 else 0.0
    excess = float((weight * (rest**2 - variance))[apart].sum())
    size = max(excess / scale, 0.0) if scale > 0 else 0.0
    believed = smooth + rest * (size * sizes) / (size * sizes + variance + 1e-300)
    cuts = norm.ppf(high)
    first = believed / np.outer(norm.pdf(cuts), norm.pdf(cuts))
    product, squares = np.outer(cuts, cuts), np.outer(cuts**2 - 1.0, cuts**2 - 1.0)
    found = np.clip(first, -_STRONGEST, _STRONGEST)
    for _ in range(8):
        bend = np.clip(1.0 + product * found / 2.0 + squares * found**2 / 6.0, 0.3, 3.0)
        found = np.clip(first / bend, -_STRONGEST, _STRONGEST)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def _factor(correlations: Floats) -> Floats:
    """A factor of the nearest correlations that are possible, unit length in every row."""
    values, axes = np.linalg.eigh(correlations)
    factor = axes * np.sqrt(np.maximum(values, 1e-3))
    return np.asarray(factor / np.linalg.norm(factor, axis=1, keepdims=True))
