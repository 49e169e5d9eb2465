"""How scores move in a round of training: all of it computed from released sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.losses import (
    SoftmaxLoss,
)
from voile.models.ebm.pairs import ColumnPairs
from voile.models.ebm.queries import (
    whole_mixing,
)
from voile.models.ebm.smoothing import share_out, smooth
from voile.models.ebm.terms import TermState
from voile.models.ebm.training_state import LARGEST_SCORE, LARGEST_SPREAD, TrainingState

Floats = NDArray[np.float64]

_SWEEPS = 6
"""Passes over the terms when they are solved for together (regression)."""


class ScoreSteps(TrainingState):
    """Steps of terms, pairs and the intercept, and how the next round is shared out."""

    def _share_out(self, *, first: bool) -> None:
        spreads = self._spreads()
        slopes = []
        for k, term in enumerate(self.terms):
            spread = np.full((self.outputs, 1), 0.5) if first else self._others(spreads, k)
            at = self._part(k) + self._base(k)
            slope = self.loss.curvature(self.intercept, at, spread).mean(axis=1)
            slopes.append(slope * term.counts)
        self.shares = share_out(
            [t.smoother for t in self.terms],
            slopes,
            [t.weights for t in self.terms],
            [t.scale for t in self.terms],
            self.rounds / self.deviation**2,
        )
        weights = np.sqrt(self.shares / self.shares.sum())
        self.mixing = tuple(
            whole_mixing(t.smoother.mixing, float(w))
            for t, w in zip(self.terms, weights, strict=True)
        )
        self.unmixing = [_inverse(matrix) for matrix in self.mixing]

    def _step(
        self, k: int, spread: Floats, cross: Floats | float, base: Floats | float, anew: bool
    ) -> Floats:
        """Change of a term's scores, shape (bins, outputs)."""
        term, now = self.terms[k], self._part(k)
        counts, at = term.counts[:, None], now + base
        slope = counts * self.loss.curvature(self.intercept, at, spread)
        scatter = counts * self.loss.variance(self.intercept, at, spread)
        residual = term.sums - (counts * self.loss.response(self.intercept, at, spread) + cross)
        term.scatter = scatter
        unit = self.unit if self._is_column(k) else self._joined.unit
        if anew or term.smoothed is None:
            noise = self._noise(term)
            term.smoothed = smooth(
                term.smoother, residual, now, slope, scatter, term.weights, noise, unit
            )
            term.scale = float(np.mean(term.smoothed.scales))
        scores = term.smoothed.scores(residual + slope * now, slope)
        if not self._is_column(k):
            if self.linear:
                # Columns are solved for together with all that curves can say. Elsewhere each term
                # moves by itself, and pairs help: their curves become the columns' at the end.
                scores = self._joined.without_curves(k, scores)
        elif self.shape is not None:
            shaped = [self.shape(k, one, term.counts) for one in scores.T]
            scores = np.column_stack(shaped)
        result = np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE) - now
        return np.clip(result, -1.5, 1.5)

    def _noise(self, term: TermState) -> float:
        """Variance of a term's sums to smooth by.

        For squared loss that of the noise. For the others older sums were also taken at another
        curvature, and count as no better than their weight.
        """
        return term.variance if self.linear else 1.0 / term.weight

    def _sweep_all(self, pairs: ColumnPairs, steps: Floats, spreads: Floats, anew: bool) -> None:
        """Steps of all columns together, then those of each pair from where the others will be."""
        columns, before = int(self.layout.offsets[-1]), self.scores
        steps[:columns] = self._sweep(pairs)
        if self.joined is None:
            return
        for k in range(len(self.bins), len(self.terms)):
            self.scores = before + steps
            step = self._step(k, self._others(spreads, k), 0.0, self._base(k), anew)
            steps[self._at(k)] = self.joined.damping * step
        self.scores = before

    def _sweep(self, pairs: ColumnPairs) -> Floats:
        """Solve for all columns together, as far as the pairs tell: free Gauss-Seidel sweeps."""
        columns = int(self.layout.offsets[-1])
        scores = self.scores[:columns, 0].copy()
        added = self._curves()[:, 0] - scores
        means = pairs.means(scores + added)
        for _ in range(_SWEEPS):
            for k, term in enumerate(self.terms[: len(self.bins)]):
                part = self.layout.part(k)
                left = term.sums[:, 0] - term.counts * (self.intercept[0] + added[part])
                left = left - pairs.others_of(k, means)
                assert term.smoothed is not None
                found = term.smoothed.only(left, term.counts)
                scores[part] = found if self.shape is None else self.shape(k, found, term.counts)
                pairs.renew(k, means, scores[part] + added[part])
        # Scaled targets lie in [-1, 1]; no score needs to leave [-2, 2]. Logs may be larger.
        most = 2.0 if self.layout.link == "identity" else LARGEST_SCORE
        return self.swept * (np.clip(scores, -most, most)[:, None] - self.scores[:columns])

    def _move_intercept(self, totals: Floats, doubts: Floats, spreads: Floats) -> None:
        """Every term's sums add up to the same total: their weighted mean moves the intercept."""
        weights = (1.0 / doubts) / (1.0 / doubts).sum()
        total = weights @ totals
        spread = np.minimum(spreads.sum(axis=0), LARGEST_SPREAD)[:, None]
        zero = np.zeros((1, self.outputs))
        slope = self.target.rows * self.loss.curvature(self.intercept, zero, spread)[0]
        steep = slope
        if isinstance(self.loss, SoftmaxLoss):
            shares = self.target.counts / self.target.rows
            steep = self.target.rows * self.loss.intercept_slope(self.intercept, shares)
        step = np.clip(total / np.maximum(steep, 1e-9), -0.3, 0.3)
        self.intercept = self.intercept + step
        self.intercept_variance = (1.0 / (1.0 / doubts).sum()) / np.maximum(slope, 1e-9) ** 2


def _inverse(matrix: NDArray[np.int64]) -> Floats:
    """What turns mixed sums back into sums per bin."""
    if matrix.ndim == 1:
        return 1.0 / matrix
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
