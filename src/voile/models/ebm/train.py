"""Training an additive model from released sums: a few rounds over all columns at once.

Each round releases, with one look, the noised residual sums of every bin of every column at the
present scores, and then, free of cost, combines them with those of earlier rounds and smooths
them. Nori et al. (ICML 2021) spend one look on each of thousands of small steps instead.
Sensitivity and accounting: docs/proofs/ebm.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from voile.models.ebm.binning import ColumnBins, TargetFacts
from voile.models.ebm.losses import Loss, squared_loss, start_of
from voile.models.ebm.model import Link
from voile.models.ebm.pairs import PairCounts, PairTables, group_bins
from voile.models.ebm.queries import (
    MIXING_BITS,
    SIZE_CUTS,
    Layout,
    ResidualSizes,
    ResidualSums,
    whole_mixing,
)
from voile.models.ebm.smoothing import (
    Smoothed,
    Smoother,
    plain_smoother,
    shaped_smoother,
    share_out,
    smooth,
)
from voile.privacy.events import Gaussian
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep

Floats = NDArray[np.float64]

ROUNDS_LOOK = "rounds"
SIZES_LOOK = "sizes of residuals"
PAIRS_LOOK = "pairs of columns"

_DISCOUNT: dict[Link, float] = {"logit": 0.9, "softmax": 0.9, "identity": 0.75}
"""Weight of a round relative to the next: older sums were taken at other scores."""

_TRUST = 1.5
"""Most that the largest changes of all terms may add up to in a round of classification."""

_AVERAGED = 0.4
"""Part of the rounds, the last ones, whose scores are averaged (classification)."""

SIZE_ROUNDS = (1, 2, 4, 8, 12, 16)
"""Rounds before which the sizes of residuals are looked at (regression)."""

_SHARE_ROUNDS = (0, 1, 3, 7, 12)
"""Rounds before which the budget is shared out among the terms anew."""

_SWEEPS = 6
"""Passes over the terms when they are solved for together (regression)."""

_WORSE = 1.5
"""Growth of the clip, relative to the best so far, that counts as having been misled."""

_LARGEST_SPREAD, _LARGEST_SCORE = 4.0, 8.0
"""Limits of the other terms' variance and of a score (log-odds), against runaway noise."""


@dataclass(eq=False)
class TermState:
    """A term while it is trained; all of it released."""

    counts: Floats
    weights: Floats
    smoother: Smoother
    sums: Floats
    certainty: float = 0.0
    scale: float = 0.25
    smoothed: list[Smoothed] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Trained:
    """Released scores: shape (cells, outputs), with their standard errors by the noise."""

    scores: Floats
    standard_errors: Floats
    intercept: Floats
    intercept_errors: Floats


def train(
    table: PrivateTable,
    grant: Grant,
    layout: Layout,
    bins: tuple[ColumnBins, ...],
    target: TargetFacts,
    *,
    rounds: int,
    shape: Callable[[int, Floats, Floats], Floats] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Train all terms together.

    Parameters
    ----------
    table : PrivateTable
    grant : Grant
        Holds ``rounds`` looks of `ROUNDS_LOOK`; for regression also those of `SIZES_LOOK`.
    layout, bins, target
        What was released before.
    rounds : int
    shape : callable, optional
        Given a term's number, scores of shape (bins,) and weights, returns the nearest scores that
        are allowed (monotone terms).
    progress : callable
        Told the number of rounds done.
    """
    keep(table, layout.columns, layout.prepare)
    # Many small matrices: threads inside the linear algebra cost more than they bring.
    with threadpool_limits(1, user_api="blas"):
        return _Training(table, grant, layout, bins, target, rounds, shape).run(progress)


class _Training:
    """The loop and its state."""

    def __init__(
        self,
        table: PrivateTable,
        grant: Grant,
        layout: Layout,
        bins: tuple[ColumnBins, ...],
        target: TargetFacts,
        rounds: int,
        shape: Callable[[int, Floats, Floats], Floats] | None,
    ) -> None:
        self.table, self.grant, self.layout, self.rounds = table, grant, layout, rounds
        self.target, self.shape = target, shape
        self.outputs = layout.outputs
        self.loss, self.intercept, self.unit = start_of(layout.link, target)
        event = grant.plan[ROUNDS_LOOK]
        self.multiplier = event.noise_multiplier if isinstance(event, Gaussian) else 0.0
        self.scores = np.zeros((int(layout.offsets[-1]), self.outputs))
        self.terms = [self._term(one) for one in bins]
        self.shares = np.full(len(self.terms), 1.0 / len(self.terms))
        self.age = 0.0
        self.discount = _DISCOUNT[layout.link]
        self.swept = 1.0
        self.best: tuple[float, Floats, Floats, Loss] | None = None
        self.pairs = self._look_at_pairs(bins) if PAIRS_LOOK in labels_of(grant) else None
        self.intercept_variance = np.zeros(self.outputs)

    # -- noise --------------------------------------------------------------------------------

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one round; without noise a trace of it."""
        query = self._query(())
        scale = self.multiplier * query.sensitivity(self.grant.relation) * self.table.rows_per_unit
        return max(scale, 1e-2 * self.loss.cap) / self.loss.gain

    def _query(self, mixing: tuple[NDArray[np.int64], ...]) -> ResidualSums:
        return ResidualSums(self.layout, self.scores, self.intercept, self.loss.cap, mixing)

    # -- terms --------------------------------------------------------------------------------

    def _term(self, one: ColumnBins) -> TermState:
        # No count is taken below its own noise: a step is a sum divided by a count.
        counts = np.maximum(one.counts, np.maximum(one.count_errors, 1.0))
        weights = np.maximum(one.counts, 0.0)
        weights = weights / weights.sum() if weights.sum() > 0 else counts / counts.sum()
        number = len(one.cuts) > 0
        if number:
            zero = np.zeros((len(counts), self.outputs))
            spread = np.full(self.outputs, 0.5)[:, None]
            slope = self.loss.curvature(self.intercept, zero, spread).mean(axis=1) * counts
            variance = self.loss.variance(self.intercept, zero, spread).mean(axis=1) * counts
            noise = self.deviation**2 * self._term_count / self.rounds
            smoother = shaped_smoother(counts, slope, variance, noise, self.unit)
        else:
            smoother = plain_smoother(len(counts))
        return TermState(
            counts, weights, smoother, np.zeros((len(counts), self.outputs)), scale=0.25 * self.unit
        )

    def _look_at_pairs(self, bins: tuple[ColumnBins, ...]) -> PairTables:
        groups = np.concatenate([group_bins(one.counts, len(one.cuts) > 0) for one in bins])
        query = PairCounts(self.layout, groups)
        release = gaussian_sum(self.table, query, self.grant.take(PAIRS_LOOK))
        tables = PairTables(self.layout, groups, [t.counts for t in self.terms], release)
        # Steps through noised tables are shortened as their noise grows.
        self.swept = 1.0 / (1.0 + 8.0 * tables.doubt)
        return tables

    @property
    def _term_count(self) -> int:
        return len(self.layout.offsets) - 1

    def _part(self, k: int) -> Floats:
        return self.scores[self.layout.part(k)]

    def _spreads(self) -> Floats:
        """Variance of each term's scores over the rows, shape (terms, outputs)."""
        parts = [
            t.weights @ (self._part(k) - t.weights @ self._part(k)) ** 2
            for k, t in enumerate(self.terms)
        ]
        return np.stack(parts)

    def _others(self, spreads: Floats, k: int) -> Floats:
        rest: Floats = np.minimum(spreads.sum(axis=0) - spreads[k], _LARGEST_SPREAD)
        return rest[:, None]

    # -- rounds -------------------------------------------------------------------------------

    def run(self, progress: Callable[[int], None]) -> Trained:
        """All rounds, then the average of the last ones."""
        classification = self.layout.link != "identity"
        averaged = max(round(_AVERAGED * self.rounds), 1) if classification else 1
        kept: list[tuple[Floats, Floats]] = []
        for number in range(self.rounds):
            if number in SIZE_ROUNDS and not classification:
                self._measure_residuals()
            if number in _SHARE_ROUNDS:
                self._share_out(first=number == 0)
            self._round(first=number == 0)
            if number >= self.rounds - averaged:
                kept.append((self.scores, self.intercept))
            progress(number + 1)
        scores = np.mean([s for s, _ in kept], axis=0)
        intercept = np.mean([i for _, i in kept], axis=0)
        errors = np.concatenate([self._errors(t) for t in self.terms])
        return Trained(scores, errors, intercept, np.sqrt(self.intercept_variance))

    def _share_out(self, *, first: bool) -> None:
        spreads = self._spreads()
        slopes = []
        for k, term in enumerate(self.terms):
            spread = np.full((self.outputs, 1), 0.5) if first else self._others(spreads, k)
            slope = self.loss.curvature(self.intercept, self._part(k), spread).mean(axis=1)
            slopes.append(slope * term.counts)
        self.shares = share_out(
            [t.smoother for t in self.terms],
            slopes,
            [t.weights for t in self.terms],
            [t.scale for t in self.terms],
            self.rounds / self.deviation**2,
        )

    def _measure_residuals(self) -> None:
        """Set the clip of the next round by a noised histogram of absolute residuals."""
        query = ResidualSizes(self.layout, self.scores, self.intercept)
        release = gaussian_sum(self.table, query, self.grant.take(SIZES_LOOK))
        edges = np.concatenate([[0.0], SIZE_CUTS, [2.0]])
        loss = squared_loss((edges[1:] + edges[:-1]) / 2, release.values[:-1], edges[1:])
        if self.best is not None and loss.cap > _WORSE * self.best[0]:
            # Noised pairs can mislead: go back, and trust them less from here on.
            self.scores, self.intercept, self.loss = self.best[1:]
            self.swept /= 2.0
            return
        self.loss = loss
        if self.best is None or loss.cap <= self.best[0]:
            self.best = (loss.cap, self.scores, self.intercept, loss)

    def _round(self, *, first: bool) -> None:
        weights = np.sqrt(self.shares / self.shares.sum())
        mixing = tuple(
            whole_mixing(t.smoother.mixing, float(w))
            for t, w in zip(self.terms, weights, strict=True)
        )
        deviation = self.deviation
        release = gaussian_sum(self.table, self._query(mixing), self.grant.take(ROUNDS_LOOK))
        values = release.values.reshape(-1, self.outputs) * 2.0**MIXING_BITS / self.loss.gain
        spreads = self._spreads()
        self.age = self.discount * self.age + 1.0
        damping = 1.0 / (1.0 + 2.0 / self.age)
        steps = np.zeros_like(self.scores)
        totals, doubts = [], []
        others = None if self.pairs is None else self.pairs.others(self.scores[:, 0])[:, None]
        for k, term in enumerate(self.terms):
            part, matrix = self.layout.part(k), mixing[k]
            mixed = values[part]
            sums = _unmixed(matrix, mixed)
            variance = deviation**2 / self.shares[k]
            cross = 0.0 if others is None else others[part]
            step = self._step(k, term, sums, variance, self._others(spreads, k), cross)
            steps[part] = damping * step
            shape = term.smoother.noise
            totals.append(sums.sum(axis=0))
            doubts.append(variance * float(shape.sum()))
        if self.pairs is not None:
            steps = self._sweep(self.pairs)
        elif self.layout.link != "identity":
            largest = sum(
                float(np.abs(steps[self.layout.part(k)]).max()) for k in range(len(self.terms))
            )
            steps *= min(1.0, _TRUST / max(largest, 1e-12))
        self.scores = self.scores + steps
        if not first or self.layout.link == "identity":
            self._move_intercept(np.array(totals), np.array(doubts), spreads)

    def _step(
        self,
        k: int,
        term: TermState,
        sums: Floats,
        variance: float,
        spread: Floats,
        cross: Floats | float,
    ) -> Floats:
        """Change of a term's scores, shape (bins, outputs)."""
        now, counts = self._part(k), term.counts[:, None]
        explained = counts * self.loss.response(self.intercept, now, spread) + cross
        fresh = 1.0 / variance
        old = self.discount * term.certainty
        # What a round releases plus what the model explained already estimates the same thing.
        term.sums = (old * term.sums + fresh * (sums + explained)) / (old + fresh)
        term.certainty = old + fresh
        slope = counts * self.loss.curvature(self.intercept, now, spread)
        scatter = counts * self.loss.variance(self.intercept, now, spread)
        result = np.empty_like(now)
        term.smoothed = []
        for o in range(self.outputs):
            found = smooth(
                term.smoother,
                term.sums[:, o] - explained[:, o],
                now[:, o],
                slope[:, o],
                scatter[:, o],
                term.weights,
                1.0 / term.certainty,
                self.unit,
            )
            scores = found.scores
            if self.shape is not None:
                scores = self.shape(k, scores, term.counts)
            result[:, o] = np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE) - now[:, o]
            term.smoothed.append(found)
        term.scale = float(np.mean([one.scale for one in term.smoothed]))
        return np.clip(result, -1.5, 1.5)

    def _sweep(self, pairs: PairTables) -> Floats:
        """Solve for all terms together, as far as the pairs tell: free Gauss-Seidel sweeps."""
        scores = self.scores[:, 0].copy()
        for _ in range(_SWEEPS):
            for k, term in enumerate(self.terms):
                part = self.layout.part(k)
                left = term.sums[:, 0] - term.counts * self.intercept[0]
                left = left - pairs.others_of(k, scores)
                found = term.smoothed[0].again(left, term.counts)
                scores[part] = found if self.shape is None else self.shape(k, found, term.counts)
        # Scaled targets lie in [-1, 1]; no score needs to leave [-2, 2].
        return self.swept * (np.clip(scores, -2.0, 2.0)[:, None] - self.scores)

    def _move_intercept(self, totals: Floats, doubts: Floats, spreads: Floats) -> None:
        """Every term's sums add up to the same total: their weighted mean moves the intercept."""
        weights = (1.0 / doubts) / (1.0 / doubts).sum()
        total = weights @ totals
        spread = np.minimum(spreads.sum(axis=0), _LARGEST_SPREAD)[:, None]
        zero = np.zeros((1, self.outputs))
        slope = self.target.rows * self.loss.curvature(self.intercept, zero, spread)[0]
        step = np.clip(total / np.maximum(slope, 1e-9), -0.3, 0.3)
        self.intercept = self.intercept + step
        self.intercept_variance = (1.0 / (1.0 / doubts).sum()) / np.maximum(slope, 1e-9) ** 2

    def _errors(self, term: TermState) -> Floats:
        """Standard deviation of a term's scores by the noise, shape (bins, outputs)."""
        if self.multiplier == 0.0:
            return np.zeros_like(term.sums)
        columns = []
        for response in (one.response for one in term.smoothed):
            if response.ndim == 1:
                variance = response**2 * term.smoother.noise
            else:
                variance = np.einsum("ij,jk,ik->i", response, term.smoother.noise, response)
            columns.append(np.sqrt(np.maximum(variance, 0.0) / term.certainty))
        return np.stack(columns, axis=1)


def _unmixed(matrix: NDArray[np.int64], mixed: Floats) -> Floats:
    """Sums per bin from mixed ones, shape (bins, outputs)."""
    if matrix.ndim == 1:
        return mixed / matrix[:, None]
    return np.asarray(np.linalg.solve(matrix, mixed), dtype=np.float64)


def labels_of(grant: Grant) -> set[str]:
    """Names of the looks that a grant has paid for."""
    return {step.label for step in grant.plan}
