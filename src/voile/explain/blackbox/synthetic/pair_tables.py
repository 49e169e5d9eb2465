"""Tables of pairs of columns from noised sums: made consistent, and the strongest as a tree.

Post-processing of released values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from voile.explain.blackbox.synthetic.bins import Bins, project
from voile.explain.blackbox.synthetic.marginals import Maps, bins_of

Floats = NDArray[np.float64]
Edges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class PairTables:
    """Estimated counts of pairs of bins.

    Attributes
    ----------
    bins : Bins
    rows : float
    margins, margin_variances : ndarray of shape (bins,)
        Counts of single bins, positive, summing to ``rows`` in each column; variance by the noise.
    counts, variances : ndarray of shape (bins, bins)
        Symmetric; within a column the margins on the diagonal. Variances are by the noise of pairs
        alone.
    """

    bins: Bins
    rows: float
    margins: Floats
    margin_variances: Floats
    counts: Floats
    variances: Floats

    @cached_property
    def all_variances(self) -> Floats:
        """Variances of the counts by all noise, that of the margins included."""
        share = 1.0 / self.bins.sizes[self.bins.owners]
        part = np.outer(self.margin_variances, share**2)
        result = self.variances + part + part.T
        same = self.bins.owners[:, None] == self.bins.owners[None]
        result[same] = 0.0
        return np.asarray(result + np.diag(self.margin_variances))


@dataclass(frozen=True, eq=False)
class Margins:
    """Counts of single bins and cells from two releases.

    Attributes
    ----------
    counts, variances : ndarray of shape (bins,)
        Positive, summing to the number of rows in each column; variance by the noise.
    cells : list of ndarray of shape (cells,)
        Noised counts of the cells of each column, from both releases.
    cell_variances : list of float
        Variance of each of them.
    """

    counts: Floats
    variances: Floats
    cells: list[Floats]
    cell_variances: list[float]


def estimate_margins(
    bins: Bins,
    rows: float,
    fine: list[Floats],
    fine_error: float,
    second_maps: Maps,
    second: Floats,
    second_error: float,
    unseen: list[NDArray[np.bool_]],
) -> Margins:
    """Combine two releases of counts by inverse variance.

    The first is of all cells, the second of the bins that ``second_maps`` says, which may be cells.
    Unseen cells count as empty.
    """
    counts, variances, cells, cell_variances = [], [], [], []
    parts = np.split(second, np.cumsum(bins_of(second_maps))[:-1])
    f, c = fine_error**2, second_error**2
    for j, (first, own) in enumerate(zip(fine, bins.maps, strict=True)):
        size = int(bins.sizes[j])
        first = np.where(unseen[j], 0.0, first)
        if len(parts[j]) == len(first):
            # Cells were counted twice.
            again = np.where(unseen[j], 0.0, parts[j])
            mixed = (first * c + again * f) / (f + c) if f + c > 0 else first
            each = f * c / (f + c) if f + c > 0 else 0.0
            sums = np.asarray(np.bincount(own, mixed, minlength=size), dtype=np.float64)
            v = np.bincount(own, minlength=size) * each
        else:
            mixed, each = first, f
            v = np.bincount(own, minlength=size) * f
            sums = np.asarray(np.bincount(own, first, minlength=size), dtype=np.float64)
            total = np.maximum(v + c, 1e-300)
            sums = (sums * c + parts[j] * v) / total if f > 0 else sums
            v = v * c / total
        counts.append(np.maximum(project(sums, rows), 1e-3))
        variances.append(np.asarray(v, dtype=np.float64))
        cells.append(mixed)
        cell_variances.append(each)
    return Margins(np.concatenate(counts), np.concatenate(variances), cells, cell_variances)


def estimate_tables(
    bins: Bins,
    rows: float,
    margins: Floats,
    margin_variances: Floats,
    centred: Floats,
    error: float,
) -> PairTables:
    """Counts from sums of products of centred columns.

    T = B + r / l + c / k - n / (k l); rows and columns of B sum to 0, so noise that does not is
    taken out, which leaves (1 - 1/k)(1 - 1/l) of its variance.
    """
    zero_sum = _without_means(bins, centred)
    share = 1.0 / bins.sizes[bins.owners]
    counts = zero_sum + np.outer(margins, share) + np.outer(share, margins)
    counts -= rows * np.outer(share, share)
    variances = error**2 * np.outer(1.0 - share, 1.0 - share)
    same = bins.owners[:, None] == bins.owners[None]
    counts[same], variances[same] = 0.0, 0.0
    counts += np.diag(margins)
    return PairTables(bins, rows, margins, margin_variances, counts, variances)


def refine_tables(tables: PairTables, edges: Edges, centred: Floats, error: float) -> PairTables:
    """Average the pairs that were measured again with their first measurement."""
    again = estimate_tables(
        tables.bins, tables.rows, tables.margins, tables.margin_variances, centred, error
    )
    counts, variances = tables.counts.copy(), tables.variances.copy()
    for i, j in edges:
        for a, b in (
            (tables.bins.of(i), tables.bins.of(j)),
            (tables.bins.of(j), tables.bins.of(i)),
        ):
            v, w = variances[a, b], again.variances[a, b]
            total = np.maximum(v + w, 1e-300)
            mixed = (counts[a, b] * w + again.counts[a, b] * v) / total
            counts[a, b] = np.where(v + w > 0, mixed, again.counts[a, b])
            variances[a, b] = v * w / total
    return PairTables(
        tables.bins, tables.rows, tables.margins, tables.margin_variances, counts, variances
    )


def strongest_tree(tables: PairTables) -> Edges:
    """The spanning tree of the most dependent pairs, as (parent, child) in an order to draw by."""
    bins, margins = tables.bins, tables.margins
    expected = np.outer(margins, margins) / tables.rows
    variances = tables.all_variances
    excess = (tables.counts - expected) ** 2 - variances
    score = excess / (expected + np.sqrt(variances) + 1e-9)
    starts = bins.starts[:-1]
    scores = np.add.reduceat(np.add.reduceat(score, starts, axis=0), starts, axis=1)
    count = len(bins.sizes)
    inside, edges = [0], []
    best, parent = scores[0].copy(), np.zeros(count, dtype=np.int64)
    best[0] = -np.inf
    for _ in range(count - 1):
        child = int(np.argmax(best))
        edges.append((int(parent[child]), child))
        inside.append(child)
        closer = scores[child] > best
        closer[inside] = False
        best[closer], parent[closer] = scores[child][closer], child
        best[child] = -np.inf
    return tuple(edges)


def interaction_sizes(
    target: Floats, start: Floats, spread: Floats, variance: Floats, group: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Size tau^2 of log-linear terms in each group of them, by empirical Bayes.

    From E (target - start)^2 = spread^2 tau^2 + variance: less one standard error of it, to be
    used, and as it is, for standard errors.
    """
    weight = spread**2 / (variance + spread**2 / 4.0) ** 2
    count = int(group.max(initial=-1)) + 1
    excess = np.bincount(group, weight * ((target - start) ** 2 - variance), minlength=count)
    error = np.sqrt(np.bincount(group, 2.0 * (weight * variance) ** 2, minlength=count))
    scale_of = np.maximum(np.bincount(group, weight * spread**2, minlength=count), 1e-300)
    least, likely = (excess - error) / scale_of, excess / scale_of
    return np.clip(least, 1e-6, 4.0), np.clip(likely, 1e-6, 4.0)


def draw_noise(tables: PairTables, rng: np.random.Generator) -> Floats:
    """Another draw of the noise on all counts, shape (bins, bins): of pairs, and of margins."""
    count = len(tables.margins)
    pairs = np.triu(rng.standard_normal((count, count)) * np.sqrt(tables.variances), 1)
    margins = rng.standard_normal(count) * np.sqrt(tables.margin_variances)
    share = 1.0 / tables.bins.sizes[tables.bins.owners]
    spread = np.outer(margins, share)
    spread[tables.bins.owners[:, None] == tables.bins.owners[None]] = 0.0
    return np.asarray(pairs + pairs.T + spread + spread.T + np.diag(margins))


def fit_table(tables: PairTables, i: int, j: int) -> Floats:
    """One table without negative entries and with the right margins, to draw rows from.

    Where the dependence is weak against the noise, it is drawn to independence as far as the noise
    says (a penalised log-linear fit); where it is strong, the nearest table is taken.
    """
    a, b = tables.bins.of(i), tables.bins.of(j)
    rows, columns, n = tables.margins[a], tables.margins[b], tables.rows
    expected = np.outer(rows, columns) / n**2
    target = tables.counts[a, b] / n
    spread = expected * (1.0 - expected) + 0.1 / n
    # Never trusted beyond what as many rows could tell.
    variance = tables.all_variances[a, b] / n**2 + spread / n
    weight = spread**2 / (variance + spread**2 / 4.0) ** 2
    excess = float((weight * ((target - expected) ** 2 - variance)).sum())
    size = float(np.clip(excess / (weight * spread**2).sum(), 1e-6, 4.0))
    if size > 1.0:
        table = project(tables.counts[a, b], n) + 1e-9
    else:
        table = _penalised(expected, target, variance / (spread * size), spread) * n
    for _ in range(20):
        table = table * (rows / table.sum(axis=1))[:, None]
        table = table * (columns / table.sum(axis=0))[None]
    return table


def _penalised(expected: Floats, target: Floats, ridge: Floats, spread: Floats) -> Floats:
    scale = 1.0 / np.sqrt(ridge + spread)
    logs = np.log(expected)

    def dual(x: Floats) -> tuple[float, Floats]:
        terms = x.reshape(expected.shape) * scale
        scores = logs + terms
        top = float(scores.max())
        shares = np.exp(scores - top)
        total = float(shares.sum())
        value = top + np.log(total) - float((terms * target).sum())
        value += 0.5 * float((ridge * terms**2).sum())
        return value, ((shares / total - target + ridge * terms) * scale).ravel()

    found = minimize(
        dual, np.zeros(expected.size), jac=True, method="L-BFGS-B", options={"maxiter": 200}
    )
    scores = logs + found.x.reshape(expected.shape) * scale
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def _without_means(bins: Bins, centred: Floats) -> Floats:
    """Take the mean over each column's bins out of every line, on both sides."""
    starts = bins.starts[:-1]
    means = np.add.reduceat(centred, starts, axis=0) / bins.sizes[:, None]
    result = centred - means[bins.owners]
    means = np.add.reduceat(result, starts, axis=1) / bins.sizes[None]
    return np.asarray(result - means[:, bins.owners])
