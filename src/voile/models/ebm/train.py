"""Training an additive model from released sums: a few rounds over all columns at once.

Each round releases, with one access, the noised residual sums of every bin of every column at the
present scores, and then, free of cost, combines them with those of earlier rounds and smooths
them. Nori et al. (ICML 2021) spend one look on each of thousands of small steps instead.
Sensitivity and accounting: docs/proofs/ebm.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from voile.models.ebm.binning import ColumnBins, TargetFacts
from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.interactions import WantedPairs, joining_round
from voile.models.ebm.joined_pairs import (
    PAIR_SHARE_ROUNDS,
    JoinedPairs,
    JoiningFacts,
    join_pairs,
)
from voile.models.ebm.losses import (
    ClipPrices,
    LinearLoss,
    SoftmaxLoss,
    TrainingLoss,
    squared_loss,
    start_of,
)
from voile.models.ebm.misses import Misses
from voile.models.ebm.objective_looks import ScoresNow, look_at_level, look_at_misses
from voile.models.ebm.objective_losses import CountLoss, ExposureFacts, start_of_aim
from voile.models.ebm.objectives import Residual
from voile.models.ebm.pairs import ColumnPairs, PairCounts, group_bins
from voile.models.ebm.queries import (
    MIXING_BITS,
    SIZE_CUTS,
    BinLayout,
    ResidualSizes,
    ResidualSums,
    whole_mixing,
)
from voile.models.ebm.settings import (
    LEVEL_ACCESS,
    PAIRS_ACCESS,
    ROUNDS_ACCESS,
    SIZES_ACCESS,
    size_rounds,
)
from voile.models.ebm.smoothing import share_out, smooth
from voile.models.ebm.terms import ReleasedTerms, TermState, start_term, weigh_term
from voile.privacy.events import Gaussian
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep

Floats = NDArray[np.float64]

DISCOUNT: dict[str, float] = {
    "logit": 0.9,
    "softmax": 0.9,
    "poisson": 0.9,
    "identity": 0.75,
    "gamma": 0.75,
    "quantile": 0.75,
}
"""Weight of a round relative to the next: older sums were taken at other scores."""

_TRUST = 1.5
"""Most that the largest changes of all terms may add up to in a round of classification."""

_AVERAGED = 0.4
"""Part of the rounds, the last ones, whose scores are averaged (classification)."""

_SETTLING: dict[Residual, float] = {
    "logit": 0.3,
    "softmax": 0.3,
    "poisson": 0.5,
    "identity": 0.1,
    "gamma": 0.35,
    "quantile": 0.35,
}
"""Part of the rounds, the first ones, that verdicts leave out: the other columns' scores were far
from what they became."""

_LINEAR: tuple[Residual, ...] = ("identity", "gamma", "quantile")
"""Residuals whose sums are taken as linear in the scores."""

_SHARE_ROUNDS = (0, 1, 3, 7, 12)
"""Rounds before which the budget is shared out among the terms anew."""

_SMOOTHED_ANEW, _EVERY = 4, 3
"""The first rounds, and then every third and the last, choose anew how strongly to smooth; it
changes little in between, and costs more than the pass over a hundred thousand rows."""

_SWEEPS = 6
"""Passes over the terms when they are solved for together (regression)."""

_FREEDOM, _REMEMBERED = 6.0, 7.0
"""Numbers that a smoothed term is free in, and rounds whose sums count, of all that were averaged
with a discount: what the clip of a regression rests on."""

_WORSE = 1.5
"""Growth of the typical residual, relative to the best one, that counts as having been misled."""

_LARGEST_SPREAD, _LARGEST_SCORE = 4.0, 8.0
"""Limits of the other terms' variance and of a score (log-odds), against runaway noise."""


def train(
    table: PrivateTable,
    grant: Grant,
    layout: BinLayout,
    bins: tuple[ColumnBins, ...],
    target: TargetFacts,
    *,
    rounds: int,
    shape: Callable[[int, Floats, Floats], Floats] | None = None,
    wanted: WantedPairs | None = None,
    exposures: ExposureFacts | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> ReleasedTerms:
    """Train all terms together.

    Parameters
    ----------
    table : PrivateTable
    grant : Grant
        Holds ``rounds`` accesses of `ROUNDS_ACCESS`; for regression also those of `SIZES_ACCESS`.
    layout, bins, target
        What was released before.
    rounds : int
    shape : callable, optional
        Given a term's number, scores of shape (bins,) and weights, returns the nearest scores that
        are allowed (monotone terms).
    wanted : WantedPairs, optional
        Which pairs of columns may become terms; the grant holds the accesses for it.
    exposures : ExposureFacts, optional
    progress : callable
        Told the number of rounds done.
    """
    keep(table, layout.columns, layout.prepare)
    # Many small matrices: threads inside the linear algebra, or around it, cost more than they
    # bring.
    with threadpool_limits(1, user_api="blas"):
        facts = ExposureFacts.of(None) if exposures is None else exposures
        training = _Training(table, grant, layout, bins, target, rounds, shape, wanted, facts)
        return training.run(progress)


class _Training:
    """The loop and its state."""

    def __init__(
        self,
        table: PrivateTable,
        grant: Grant,
        layout: BinLayout,
        bins: tuple[ColumnBins, ...],
        target: TargetFacts,
        rounds: int,
        shape: Callable[[int, Floats, Floats], Floats] | None,
        wanted: WantedPairs | None,
        exposures: ExposureFacts,
    ) -> None:
        self.table, self.grant, self.layout, self.rounds = table, grant, layout, rounds
        self.target, self.shape, self.wanted = target, shape, wanted
        self.bins, self.offsets = bins, layout.offsets
        self.joined: JoinedPairs | None = None
        self.outputs = layout.outputs
        self.linear, self.misses = layout.residual in _LINEAR, Misses.unknown()
        if layout.residual in ("poisson", "gamma", "quantile"):
            self.loss, self.intercept, self.unit = start_of_aim(layout.aim, target, exposures)
        else:
            self.loss, self.intercept, self.unit = start_of(layout.link, target)
        self.multiplier = self._multiplier(ROUNDS_ACCESS)
        self.scores = np.zeros((int(layout.offsets[-1]), self.outputs))
        self.terms = [self._term(one) for one in bins]
        self.shares = np.full(len(self.terms), 1.0 / len(self.terms))
        self.mixing: tuple[NDArray[np.int64], ...] = ()
        self.unmixing: list[Floats] = []
        self.age = 0.0
        self.discount = DISCOUNT[layout.residual]
        self.settled = False
        self.swept = 1.0
        self.best: tuple[float, Floats, Floats, TrainingLoss] | None = None
        self.pairs = self._release_pairs(bins) if PAIRS_ACCESS in grant.plan else None
        self.intercept_variance = np.zeros(self.outputs)

    # -- noise --------------------------------------------------------------------------------

    def _multiplier(self, access: str) -> float:
        event = self.grant.plan[access]
        return event.noise_multiplier if isinstance(event, Gaussian) else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one round; without noise a trace of it."""
        return self._deviation_of(self.multiplier)

    def _deviation_of(self, multiplier: float) -> float:
        query = self._query(())
        scale = (
            multiplier
            * query.sensitivity(self.grant.relation)
            * self.table.weight_per_unit
            * self.table.noise_growth
        )
        return max(scale, 1e-2 * self.loss.cap) / self.loss.gain

    def _query(self, mixing: tuple[NDArray[np.int64], ...]) -> ResidualSums:
        cells = self.joined.cells if self.joined else ()
        width = self.loss.width if isinstance(self.loss, CountLoss) else 1.0
        return ResidualSums(
            self.layout, self.scores, self.intercept, self.loss.cap, mixing, cells, width
        )

    # -- terms --------------------------------------------------------------------------------

    def _term(self, one: ColumnBins) -> TermState:
        noise = self.deviation**2 * self._term_count / self.rounds
        return start_term(one, self.loss, self.intercept, noise, self.unit)

    def _release_pairs(self, bins: tuple[ColumnBins, ...]) -> ColumnPairs:
        groups = np.concatenate([group_bins(one.counts, len(one.cuts) > 0) for one in bins])
        query = PairCounts(self.layout, groups)
        release = gaussian_sum(self.table, query, self.grant.take(PAIRS_ACCESS))
        tables = ColumnPairs(self.layout, groups, [t.counts for t in self.terms], release)
        # Steps through noised tables are shortened as their noise grows.
        self.swept = 1.0 / (1.0 + 2.0 * tables.doubt)
        return tables

    @property
    def _term_count(self) -> int:
        return len(self.offsets) - 1

    def _at(self, k: int) -> slice:
        """Cells of a term or pair."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def _part(self, k: int) -> Floats:
        return self.scores[self._at(k)]

    def _base(self, k: int) -> Floats | float:
        """What others say of just the cells of a term: a pair's columns, or a column's pairs."""
        return 0.0 if self.joined is None else self.joined.base(k, self.scores)

    def _spreads(self) -> Floats:
        """Variance of each term's scores over the rows, shape (terms, outputs)."""
        parts = [
            t.weights @ (self._part(k) - t.weights @ self._part(k)) ** 2
            for k, t in enumerate(self.terms)
        ]
        return np.stack(parts)

    def _others(self, spreads: Floats, k: int) -> Floats:
        own = spreads[k]
        if self.joined is not None:
            own = own + sum(spreads[one] for one in self.joined.columns_of(k))
        # Rounding may leave less than nothing of a sum less its only part.
        rest: Floats = np.clip(spreads.sum(axis=0) - own, 0.0, _LARGEST_SPREAD)
        return rest[:, None]

    # -- rounds -------------------------------------------------------------------------------

    def run(self, progress: Callable[[int], None]) -> ReleasedTerms:
        """All rounds, then the average of the last ones."""
        averaged = 1 if self.linear else max(round(_AVERAGED * self.rounds), 1)
        kept: list[tuple[Floats, Floats]] = []
        joining = joining_round(self.rounds) if self.wanted else self.rounds
        for number in range(self.rounds):
            if SIZES_ACCESS in self.grant.plan and number in size_rounds(self.layout.aim):
                self._measure_residuals()
            if number == joining:
                self._join()
            since = number - joining if self.joined else -1
            if number in _SHARE_ROUNDS or since in PAIR_SHARE_ROUNDS:
                self._share_out(first=number == 0)
            self.settled = number >= int(_SETTLING[self.layout.residual] * self.rounds)
            anew = number < _SMOOTHED_ANEW or number % _EVERY == 0 or number == self.rounds - 1
            self._round(first=number == 0, anew=anew or 0 <= since < _SMOOTHED_ANEW)
            if number >= self.rounds - averaged:
                kept.append((self.scores, self.intercept))
            progress(number + 1)
        scores = np.mean([s for s, _ in kept], axis=0)
        intercept = np.mean([i for _, i in kept], axis=0) + self._level()
        exact = self.multiplier == 0.0
        errors = np.concatenate([t.errors() * (not exact) for t in self.terms])
        noise = np.sqrt(self.intercept_variance)
        per_unit = self.table.weight_per_unit
        whole = np.concatenate([term.whole_errors(per_unit) for term in self.terms])
        evidence = tuple(self._weigh(k, noisy=not exact) for k in range(self._term_count))
        sampled = np.hypot(noise * (not exact), self._intercept_sampling())
        released = ReleasedTerms(scores, errors, intercept, noise, whole, sampled, evidence)
        return released if self.joined is None else self.joined.part_from(released)

    def _weigh(self, k: int, *, noisy: bool) -> TermEvidence:
        """What the released sums say of a term by themselves."""
        term, spread = self.terms[k], self._others(self._spreads(), k)
        cross = self._cross()
        left = 0.0 if cross is None or not self._is_column(k) else cross[self._at(k)]
        now = self._part(k) + self._base(k)
        found = weigh_term(term, self.loss, self.intercept, now, spread, left, self.unit)
        return found.of_units(self.table.weight_per_unit, noisy=noisy)

    def _intercept_sampling(self) -> Floats:
        """Standard deviation of the intercept by who was among the rows, shape (outputs,)."""
        spread = np.minimum(self._spreads().sum(axis=0), _LARGEST_SPREAD)[:, None]
        zero, rows = np.zeros((1, self.outputs)), max(self.target.rows, 1.0)
        scatter = self.loss.variance(self.intercept, zero, spread)[0]
        slope = self.loss.curvature(self.intercept, zero, spread)[0]
        per_unit = self.table.weight_per_unit
        return np.asarray(np.sqrt(per_unit * scatter / rows) / np.maximum(slope, 1e-9))

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

    def _measure_residuals(self) -> None:
        """Set the clip of the next round by a noised histogram of absolute residuals."""
        loss = self._measured()
        if not isinstance(loss, LinearLoss):
            self._restate(loss)
            return
        if self.best is not None and loss.typical > _WORSE * self.best[0]:
            # Noised pairs can mislead: go back, and trust them less from here on.
            self.scores, self.intercept, self.loss = self.best[1:]
            self.swept /= 2.0
            return
        self.loss = loss
        if self.best is None or loss.typical <= self.best[0]:
            self.best = (loss.typical, self.scores, self.intercept, loss)

    def _clip_prices(self, error: float) -> ClipPrices:
        rows, free = max(self.target.rows, 1.0), _FREEDOM * len(self.terms)
        scale = self.multiplier * self.table.weight_per_unit * self.table.noise_growth
        return ClipPrices(error, (scale * free / rows) ** 2 / _REMEMBERED, free / rows)

    def _restate(self, loss: TrainingLoss) -> None:
        """Take another loss of the same kind: what was released so far is put in its terms."""
        spreads, was = self._spreads(), self.loss
        for k, term in enumerate(self.terms):
            at, spread = self._part(k) + self._base(k), self._others(spreads, k)
            state = (self.intercept, at, spread)
            counts = term.counts[:, None]
            term.restate(
                counts * was.response(*state),
                counts * loss.response(*state),
                loss.curvature(*state) / was.curvature(*state),
            )
        self.loss = loss

    def _measured(self) -> TrainingLoss:
        """The loss by a released histogram of residuals at the present scores."""
        if self.layout.residual != "identity":
            state = (self.loss, self.misses, self._now())
            found = look_at_misses(self.table, self.grant, self.layout, *state)
            self.misses, self.intercept = found.misses, self.intercept + found.shift
            return found.loss
        cells = self.joined.cells if self.joined else ()
        query = ResidualSizes(self.layout, self.scores, self.intercept, cells)
        release = gaussian_sum(self.table, query, self.grant.take(SIZES_ACCESS))
        edges = np.concatenate([[0.0], SIZE_CUTS, [2.0]])
        prices = self._clip_prices(release.standard_error)
        return squared_loss((edges[1:] + edges[:-1]) / 2, release.values[:-1], edges[1:], prices)

    def _now(self) -> ScoresNow:
        spread = min(float(self._spreads().sum()), _LARGEST_SPREAD)
        cells = self.joined.cells if self.joined else ()
        return ScoresNow(self.scores, self.intercept, cells, spread)

    def _level(self) -> float:
        """What is added to the intercept at the end."""
        if isinstance(self.loss, CountLoss):
            return float(np.log1p(self.loss.hidden))
        if LEVEL_ACCESS not in self.grant.plan:
            return 0.0
        state = (self.loss, self.misses, self._now(), self.target.rows)
        found = look_at_level(self.table, self.grant, self.layout, *state)
        self.intercept_variance = np.full(self.outputs, found.variance)
        return found.shift

    def _is_column(self, k: int) -> bool:
        """Whether a term is a column's, not a pair's."""
        return k < len(self.bins)

    def _cross(self) -> Floats | None:
        """What the other columns add to each bin's sum, if counts of all pairs tell it."""
        if self.pairs is None:
            return None
        return self.pairs.others(self._curves()[:, 0])[:, None]

    def _curves(self) -> Floats:
        """Scores of the columns, with what pairs add to them, shape (cells, outputs)."""
        curves = self.scores[: int(self.layout.offsets[-1])]
        return curves if self.joined is None else curves + self.joined.margins(self.scores)

    def _join(self) -> None:
        """Let pairs become terms, if any are worth it; else use their accesses for rounds."""
        assert self.wanted is not None
        facts = JoiningFacts(
            self.layout,
            self.bins,
            self.terms,
            self.scores,
            self.intercept,
            self.loss,
            self._spreads(),
            self.unit,
            self.target.rows,
            self.target.scarce,
            lambda access: self._deviation_of(self._multiplier(access)) * self.loss.gain,
            self.rounds,
            self.deviation**2 / (self.rounds - joining_round(self.rounds)),
        )
        self.joined = join_pairs(
            self.wanted,
            facts,
            lambda query, access: gaussian_sum(self.table, query, self.grant.take(access)),
            lambda access: self._round(first=False, anew=False, access=access),
        )
        if self.joined is None:
            return
        cells = self.joined.cell_count
        self.scores = np.vstack([self.scores, np.zeros((cells, self.outputs))])
        if self.best is not None:
            cap, scores, intercept, loss = self.best
            self.best = (cap, np.vstack([scores, np.zeros((cells, self.outputs))]), intercept, loss)
        self.offsets = self.joined.offsets
        self.terms = [*self.terms, *self.joined.states]

    def _round(self, *, first: bool, anew: bool, access: str = ROUNDS_ACCESS) -> None:
        deviation = self._deviation_of(self._multiplier(access))
        query = self._query(self.mixing)
        release = gaussian_sum(self.table, query, self.grant.take(access))
        values = release.values.reshape(-1, self.outputs) * 2.0**MIXING_BITS / self.loss.gain
        spreads = self._spreads()
        self.age = self.discount * self.age + 1.0
        damping = 1.0 / (1.0 + 2.0 / self.age)
        steps = np.zeros_like(self.scores)
        others, bases = self._cross(), [self._base(k) for k in range(len(self.terms))]

        def take_in(k: int) -> tuple[Floats, float]:
            """One term's step; its sums over all bins, and the variance of their noise."""
            term, part = self.terms[k], self._at(k)
            sums = _times(self.unmixing[k], values[part])
            variance = deviation**2 / self.shares[k]
            cross = 0.0 if others is None or not self._is_column(k) else others[part]
            now, spread = self._part(k) + bases[k], self._others(spreads, k)
            # What a round releases plus what the model explained already estimates the same thing.
            counts = term.counts[:, None]
            explained = counts * self.loss.response(self.intercept, now, spread) + cross
            term.average(sums + explained, variance, self.discount, settled=self.settled)
            if self._is_column(k) or self.pairs is None:
                steps[part] = self._step(k, spread, cross, bases[k], anew)
                steps[part] *= damping if self._is_column(k) else self.joined.damping
            return sums.sum(axis=0), variance * float(term.smoother.noise.sum())

        if self.joined is not None:
            self.joined.grow_older(self.discount)
        told = [take_in(k) for k in range(len(self.terms))]
        totals, doubts = [total for total, _ in told], [doubt for _, doubt in told]
        if self.pairs is not None:
            self._sweep_all(self.pairs, steps, spreads, anew)
        elif not self.linear:
            largest = sum(float(np.abs(steps[self._at(k)]).max()) for k in range(len(self.terms)))
            steps *= min(1.0, _TRUST / max(largest, 1e-12))
        self.scores = self.scores + steps
        if not first or self.linear:
            self._move_intercept(np.array(totals), np.array(doubts), spreads)

    def _step(
        self, k: int, spread: Floats, cross: Floats | float, base: Floats | float, anew: bool
    ) -> Floats:
        """Change of a term's scores, shape (bins, outputs)."""
        term, now = self.terms[k], self._part(k)
        counts, at = term.counts[:, None], now + base
        slope = counts * self.loss.curvature(self.intercept, at, spread)
        scatter = counts * self.loss.variance(self.intercept, at, spread)
        result = np.empty_like(now)
        residual = term.sums - (counts * self.loss.response(self.intercept, at, spread) + cross)
        term.scatter = scatter
        unit = self.unit if self._is_column(k) else self.joined.unit
        if anew or not term.smoothed:
            term.smoothed = [
                smooth(
                    term.smoother,
                    residual[:, o],
                    now[:, o],
                    slope[:, o],
                    scatter[:, o],
                    term.weights,
                    self._noise(term),
                    unit,
                )
                for o in range(self.outputs)
            ]
            term.scale = float(np.mean([one.scale for one in term.smoothed]))
        for o, found in enumerate(term.smoothed):
            scores = found.scores(residual[:, o] + slope[:, o] * now[:, o], slope[:, o])
            if not self._is_column(k):
                scores = self.joined.without_curves(k, scores)
            elif self.shape is not None:
                scores = self.shape(k, scores, term.counts)
            result[:, o] = np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE) - now[:, o]
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
        for _ in range(_SWEEPS):
            for k, term in enumerate(self.terms[: len(self.bins)]):
                part = self.layout.part(k)
                left = term.sums[:, 0] - term.counts * (self.intercept[0] + added[part])
                left = left - pairs.others_of(k, scores + added)
                found = term.smoothed[0].scores(left, term.counts)
                scores[part] = found if self.shape is None else self.shape(k, found, term.counts)
        # Scaled targets lie in [-1, 1]; no score needs to leave [-2, 2]. Logs may be larger.
        most = 2.0 if self.layout.link == "identity" else _LARGEST_SCORE
        return self.swept * (np.clip(scores, -most, most)[:, None] - self.scores[:columns])

    def _move_intercept(self, totals: Floats, doubts: Floats, spreads: Floats) -> None:
        """Every term's sums add up to the same total: their weighted mean moves the intercept."""
        weights = (1.0 / doubts) / (1.0 / doubts).sum()
        total = weights @ totals
        spread = np.minimum(spreads.sum(axis=0), _LARGEST_SPREAD)[:, None]
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


def _times(matrix: Floats, values: Floats) -> Floats:
    """A matrix, or a diagonal, times columns of shape (bins, outputs)."""
    return matrix[:, None] * values if matrix.ndim == 1 else matrix @ values
