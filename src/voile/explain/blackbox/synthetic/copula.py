"""Synthetic rows from Gaussian latent variables: one behind every column, correlated in pairs.

A column's bins get the mean of the latent variable within them (their normal score); the covariance
of two columns' scores, divided by the variances of both, is the correlation of the latent variables
to first order. Noise is taken out of the correlations by their eigenvalues, then entry by entry.
Tables of many related numbers are drawn better so than along a tree. Post-processing of released
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from voile.explain.blackbox.synthetic.cells import Cells
from voile.explain.blackbox.synthetic.pair_tables import PairTables

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_STRONGEST = 0.98
"""Largest correlation that is believed in."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Covariances of the columns' normal scores.

    Attributes
    ----------
    covariance, variance : ndarray of shape (columns, columns)
        Estimates, and their variance by the noise; nothing on the diagonal.
    spread : ndarray of shape (columns,)
        Variance of each column's own scores: 1 for the finest bins.
    """

    covariance: Floats
    variance: Floats
    spread: Floats


def normal_scores(shares: Floats) -> Floats:
    """Mean of a standard normal variable within consecutive parts of these shares."""
    ends = np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
    heights = norm.pdf(norm.ppf(np.clip(ends, 1e-12, 1.0 - 1e-12)))
    heights[[0, -1]] = 0.0
    return np.asarray((heights[:-1] - heights[1:]) / np.maximum(shares / shares.sum(), 1e-12))


def score_sides(high: Floats, products: Floats, variance: float) -> Scores:
    """Scores of columns cut in two.

    Parameters
    ----------
    high : ndarray of shape (columns,)
        Share of rows on the upper side.
    products : ndarray of shape (columns, columns)
        Mean products of the sides (-1, 1).
    variance : float
        Of each by the noise.
    """
    means = 2.0 * high - 1.0
    # A quarter of the covariance of -1 and 1 is that of 0 and 1.
    covariance = (products - np.outer(means, means)) / 4.0
    own = high * (1.0 - high)
    heights = norm.pdf(norm.ppf(high))
    step = heights / own
    scale = np.outer(step, step)
    np.fill_diagonal(covariance, 0.0)
    return Scores(covariance * scale, variance / 16.0 * scale**2, heights**2 / own)


def score_bins(tables: PairTables, orders: Sequence[Codes]) -> Scores:
    """Scores of columns with bins, each ordered as ``orders`` says."""
    bins = tables.bins
    lines = np.zeros((len(bins.sizes), len(bins)))
    spread = np.empty(len(bins.sizes))
    for j, order in enumerate(orders):
        shares = tables.margins[bins.of(j)] / tables.rows
        scores = np.empty(len(shares))
        scores[order] = normal_scores(shares[order])
        scores -= shares @ scores
        lines[j, bins.of(j)] = scores
        spread[j] = max(float(shares @ scores**2), 1e-6)
    covariance = lines @ tables.counts @ lines.T / tables.rows
    variance = (lines**2) @ tables.variances @ (lines**2).T / tables.rows**2
    np.fill_diagonal(covariance, 0.0)
    return Scores(covariance, variance, spread)


def order_bins(tables: PairTables, cells: Sequence[Cells]) -> list[Codes]:
    """Bins from small to large; those of a category along the main axis of all dependence."""
    bins = tables.bins
    shares = np.maximum(tables.margins / tables.rows, 1e-9)
    roots = np.sqrt(shares)
    apart = (tables.counts / tables.rows - np.outer(shares, shares)) / np.outer(roots, roots)
    # Bins that hardly stand clear of the noise would make the axis theirs.
    doubt = np.sqrt(tables.variances) / tables.rows / np.outer(roots, roots)
    apart[(bins.owners[:, None] == bins.owners[None]) | (np.abs(apart) < 2.0 * doubt)] = 0.0
    axis = np.linalg.eigh(apart)[1][:, -1] / roots
    orders = []
    for j, one in enumerate(cells):
        places = np.arange(int(bins.sizes[j])) if one.is_number else axis[bins.of(j)]
        orders.append(np.argsort(places, kind="stable"))
    return orders


def draw_ordered(
    shares: Sequence[Floats],
    orders: Sequence[Codes],
    scores: Scores,
    count: int,
    rng: np.random.Generator,
) -> list[Codes]:
    """Parts (bins or cells) of ``count`` rows in each column.

    Parameters
    ----------
    shares : sequence of ndarray of shape (parts,)
        How many rows each part has.
    orders : sequence of ndarray of shape (parts,)
        Parts from small to large.
    scores : Scores
    count : int
    rng : Generator
        Public.
    """
    factor = _factor(_correlations(scores))
    half = count - count // 2
    # A draw and its mirror image: means come out right.
    latent = rng.standard_normal((half, len(shares))) @ factor.T
    latent = np.vstack([latent, -latent[: count // 2]])
    result = []
    for j, (own, order) in enumerate(zip(shares, orders, strict=True)):
        # By rank, so that every part is drawn as often as its share says.
        ranks = np.argsort(np.argsort(latent[:, j], kind="stable"), kind="stable")
        ends = np.cumsum(own[order]) / max(float(own.sum()), 1e-300)
        seen = np.flatnonzero(own[order] > 0)
        found = np.searchsorted(ends, (ranks + 0.5) / count, side="right")
        result.append(order[np.minimum(found, seen[-1] if seen.size else 0)])
    return result


def _correlations(scores: Scores) -> Floats:
    """Latent correlations, without what may be noise."""
    count = len(scores.spread)
    scale = np.outer(scores.spread, scores.spread)
    raw, variance = scores.covariance / scale, scores.variance / scale**2
    values, axes = np.linalg.eigh(raw)
    # Eigenvalues of pure noise stay within this edge; those beyond are shrunk by it.
    edge = 2.0 * np.sqrt(float(variance.mean()) * count)
    clear = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    smooth = (axes * clear) @ axes.T
    np.fill_diagonal(smooth, 0.0)
    rest = raw - smooth
    np.fill_diagonal(rest, 0.0)
    apart = ~np.eye(count, dtype=np.bool_)
    weight = 1.0 / (variance + 0.05**2) ** 2
    excess = float((weight * (rest**2 - variance))[apart].sum())
    total = float(weight[apart].sum())
    size = max(excess / total, 0.0) if total > 0 else 0.0
    found = np.clip(smooth + rest * size / (size + variance + 1e-300), -_STRONGEST, _STRONGEST)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def _factor(correlations: Floats) -> Floats:
    """A factor of the nearest correlations that are possible, unit length in every row."""
    values, axes = np.linalg.eigh(correlations)
    factor = axes * np.sqrt(np.maximum(values, 1e-3))
    return np.asarray(factor / np.linalg.norm(factor, axis=1, keepdims=True))
