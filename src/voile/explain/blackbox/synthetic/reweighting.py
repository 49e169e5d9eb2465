"""Weights of synthetic rows that agree with released tables: maximum entropy, as far as noise says.

Rows drawn along a tree know only its pairs. Weights exp(sum of log-linear terms) tilt them towards
all released pair tables: the dual of maximum entropy, with a penalty v / (C tau^2) for each term (v
variance of the released moment, C its variance among the rows, tau^2 the size of such terms for
that pair of columns, by empirical Bayes). Post-processing of released values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from voile.explain.blackbox.synthetic.bins import Bins
from voile.explain.blackbox.synthetic.cells import Cells
from voile.explain.blackbox.synthetic.pair_tables import (
    PairTables,
    draw_noise,
    interaction_sizes,
)
from voile.explain.blackbox.synthetic.reweighting_kernels import pair_scores, pair_sums

Floats = NDArray[np.float64]

_ITERATIONS = 100
_MANY = 20_000
"""Terms from which on half as many iterations must do."""

_NOTHING = 2e-6
"""Sizes of terms up to this are those of noise."""

_FEWEST = 0.1
"""Effective share of the rows that must carry the weights."""

_DRAWS = 24
"""Draws of the noise by which standard errors are found."""

_LARGER, _SLOPES = 4.0, 1.5
"""How much larger than is likely terms may be, and by how much more slopes move than averages.

Fits respond to other noise by more than their terms: sizes of terms, the tree and the bins are
chosen anew. Averages over all rows feel little of that, slopes among correlated columns more. In
tables that are summarised again (benchmarks/blackbox/whiskers.py) these factors bring stated errors
to real ones.
"""

_SOME, _STEPS, _CLOSE = 2_000, 20, 0.05
"""Rows, steps and precision that suffice for these."""


@dataclass(frozen=True, eq=False)
class Reweighted:
    """Weighted rows.

    Attributes
    ----------
    weights : ndarray of shape (rows,)
        They sum to 1.
    noise : ndarray of shape (rows, draws)
        By which part weights would differ under other draws of the noise; no draws where that is
        not known.
    reweightings : ndarray of shape (rows, draws)
        The same under other draws of the noise and of the rows.
    """

    weights: Floats
    noise: Floats
    reweightings: Floats


@dataclass(frozen=True, eq=False)
class _TableMoments:
    """Products of pairs of features whose means are matched.

    Features are bins and positions on a number's axis; both are functions of a row's bins, so all
    sums are taken over pairs of bins and mixed afterwards.
    """

    binned: NDArray[np.int32]
    mix: Floats
    at: tuple[NDArray[np.intp], NDArray[np.intp]]
    target: Floats
    variance: Floats
    spread: Floats
    ridge: Floats
    scale: Floats

    def scores(self, terms: Floats) -> Floats:
        """Sum of log-linear terms for each row."""
        matrix = np.zeros((len(self.mix), len(self.mix)))
        matrix[self.at] = terms
        whole = self.mix.T @ matrix @ self.mix
        # A pair of bins is met once, a single bin with itself.
        upper = np.triu(whole + whole.T, 1) + np.diag(np.diag(whole))
        return pair_scores(self.binned, upper)

    def means(self, weights: Floats) -> Floats:
        """Weighted means of the products."""
        sums = pair_sums(self.binned, weights, self.mix.shape[1])
        whole = sums + np.triu(sums, 1).T
        return np.asarray((self.mix @ whole @ self.mix.T)[self.at])

    def weights(self, terms: Floats) -> tuple[Floats, float]:
        """Weights, and the logarithm of their mean before they were made to sum to 1."""
        scores = self.scores(terms)
        top = float(scores.max())
        shares = np.exp(scores - top)
        return shares / shares.sum(), top + float(np.log(shares.mean()))

    def some(self, rows: int) -> _TableMoments:
        """The same moments of the first rows alone."""
        return replace(self, binned=self.binned[:rows])

    def respond(self, weights: Floats, moved: Floats) -> Floats:
        """Terms by which a fit would differ had the targets moved: to first order.

        Solves (covariance of the products + penalty) terms = moved by conjugate gradients.
        """

        def curve(x: Floats) -> Floats:
            terms = x * self.scale
            scores = self.scores(terms)
            means = self.means(weights * (scores - weights @ scores))
            return np.asarray((means + self.ridge * terms) * self.scale)

        size = len(self.scale)
        operator = LinearOperator((size, size), matvec=curve)
        found = cg(operator, moved * self.scale, rtol=_CLOSE, maxiter=_STEPS)[0]
        return np.asarray(self.scale * found)

    def dual(self, x: Floats) -> tuple[float, Floats]:
        """What is minimised, and its gradient, in scaled terms."""
        terms = x * self.scale
        weights, log_mean = self.weights(terms)
        value = log_mean - float(terms @ self.target) + 0.5 * float(self.ridge @ terms**2)
        slope = self.means(weights) - self.target + self.ridge * terms
        return value, slope * self.scale


def reweight_rows(
    binned: Sequence[NDArray[np.int64]],
    tables: PairTables,
    cells: Sequence[Cells],
    counts: Sequence[Floats],
    rng: np.random.Generator,
) -> Reweighted:
    """Fit weights for rows of bins.

    Parameters
    ----------
    binned : sequence of ndarray of shape (rows,)
        Bins of the rows in each column.
    tables : PairTables
    cells, counts
        Cells of the columns and their released counts: they say where bins of a number lie.
    rng : Generator
        Public; for the draws of standard errors.
    """
    moments, doubts = _moments(binned, tables, _positions(tables, cells, counts))
    found = minimize(
        moments.dual,
        np.zeros(len(moments.target)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _ITERATIONS if len(moments.target) < _MANY else _ITERATIONS // 2},
    )
    weights = _tempered(moments.scores(found.x * moments.scale))
    if doubts.variance.max(initial=0.0) < 1e-18:
        nothing = np.zeros((len(weights), 1))  # there was none
        return Reweighted(weights, nothing, nothing)
    few = doubts.some(_SOME)
    few_weights = weights[:_SOME] / weights[:_SOME].sum()
    by_noise = np.empty((len(weights), _DRAWS))
    reweightings = np.empty((len(weights), _DRAWS))
    for k in range(_DRAWS):
        moved = (doubts.mix @ draw_noise(tables, rng) @ doubts.mix.T)[doubts.at] / tables.rows
        scores = doubts.scores(few.respond(few_weights, moved))
        # Other rows could have been drawn, too: signs by chance have the variance of that.
        both = _SLOPES * scores + 2.0 * rng.integers(0, 2, len(weights)) - 1.0
        by_noise[:, k] = scores - weights @ scores
        reweightings[:, k] = both - weights @ both
    return Reweighted(weights, by_noise, reweightings)


def disagreement(
    binned: Sequence[NDArray[np.int64]],
    tables: PairTables,
    cells: Sequence[Cells],
    counts: Sequence[Floats],
) -> float:
    """How far rows are from the released tables before they are weighted, beyond the noise."""
    moments, _ = _moments(binned, tables, _positions(tables, cells, counts))
    found = moments.means(np.full(len(moments.binned), 1.0 / len(moments.binned)))
    excess = (found - moments.target) ** 2 - moments.variance
    return float((excess / (moments.variance + moments.spread / tables.rows)).sum())


def _tempered(scores: Floats) -> Floats:
    """Weights exp(scores), drawn to equal ones if too few rows would carry them all."""
    for share in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        weights = np.exp(share * (scores - scores.max()))
        weights /= weights.sum()
        if 1.0 / float(weights @ weights) >= _FEWEST * len(weights):
            return np.asarray(weights)
    return np.full(len(scores), 1.0 / len(scores))


def _positions(
    tables: PairTables, cells: Sequence[Cells], counts: Sequence[Floats]
) -> tuple[Floats, NDArray[np.int64]]:
    """For each number of three bins or more, where its bins lie: standardised, (numbers, bins)."""
    bins = tables.bins
    lines, owners = [], []
    for j, one in enumerate(cells):
        size = int(bins.sizes[j])
        if not one.is_number or size < 3:
            continue
        mass = counts[j] + 1e-6
        own = bins.maps[j]
        sums = np.bincount(own, one.middles * mass, minlength=size)
        places = np.asarray(sums / np.bincount(own, mass, minlength=size), dtype=np.float64)
        shares = tables.margins[bins.of(j)] / tables.margins[bins.of(j)].sum()
        places = places - shares @ places
        line = np.zeros(len(bins))
        line[bins.of(j)] = np.clip(places / (np.sqrt(shares @ places**2) + 1e-12), -4.0, 4.0)
        lines.append(line)
        owners.append(j)
    return np.array(lines).reshape(-1, len(bins)), np.array(owners, dtype=np.int64)


def _moments(
    binned: Sequence[NDArray[np.int64]],
    tables: PairTables,
    positions: tuple[Floats, NDArray[np.int64]],
) -> tuple[_TableMoments, _TableMoments]:
    """What is matched, and the same with every pair and a penalty as small as may be."""
    bins: Bins = tables.bins
    lines, line_owners = positions
    count = len(bins)
    numbered = np.stack([start + own for start, own in zip(bins.starts, binned, strict=False)], 1)
    mix = np.vstack([np.eye(count), lines])
    means = mix @ tables.counts @ mix.T / tables.rows
    variances = (mix**2) @ tables.all_variances @ (mix**2).T / tables.rows**2
    owners = np.concatenate([bins.owners, line_owners])
    # Pairs of a column's bins form a group, and so does each line by itself.
    groups = np.concatenate([bins.owners, len(bins.sizes) + np.arange(len(lines))])
    first, second = np.triu_indices(len(owners))
    single = (first == second) & (first < count)
    kept = (owners[first] != owners[second]) | single
    at = (first[kept], second[kept])
    single = single[kept]
    sums = pair_sums(numbered.astype(np.int32), np.full(len(numbered), 1.0 / len(numbered)), count)
    whole = sums + np.triu(sums, 1).T
    start = (mix @ whole @ mix.T)[at]
    spread = ((mix**2) @ whole @ (mix**2).T)[at] - start**2
    spread = np.maximum(spread, 0.0) + 0.1 / tables.rows
    target, variance = means[at], variances[at]
    # So many rows, real or drawn, cannot tell more than this.
    doubt = variance + spread * (1.0 / len(numbered) + 1.0 / tables.rows)
    group = groups[at[0]] * (int(groups.max()) + 1) + groups[at[1]]
    least, likely = interaction_sizes(target, start, spread, doubt, group)
    numbered = numbered.astype(np.int32)

    def made(sizes: Floats, kept: NDArray[np.bool_]) -> _TableMoments:
        ridge = doubt / (spread * np.where(single, 1.0, sizes)) + 1e-12
        return _TableMoments(
            numbered,
            mix,
            (at[0][kept], at[1][kept]),
            target[kept],
            variance[kept],
            spread[kept],
            ridge[kept],
            1.0 / np.sqrt(ridge + spread)[kept],
        )

    # Pairs of columns that show nothing beyond the noise need no terms.
    told = single | (least[group] > _NOTHING)
    return made(least[group], told), made(_LARGER * likely[group], np.ones_like(told))
