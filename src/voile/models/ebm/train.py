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

from voile.models.ebm.binning import ColumnBins, TargetFacts
from voile.models.ebm.doubts import Doubts
from voile.models.ebm.interactions import WantedPairs, joining_round
from voile.models.ebm.joined_pairs import (
    PAIR_SHARE_ROUNDS,
    JoiningFacts,
    join_pairs,
)
from voile.models.ebm.losses import (
    ClipPrices,
    LinearLoss,
    TrainingLoss,
    squared_loss,
)
from voile.models.ebm.objective_looks import ScoresNow, look_at_level, look_at_misses
from voile.models.ebm.objective_losses import CountLoss, ExposureFacts
from voile.models.ebm.objectives import Residual
from voile.models.ebm.queries import (
    MIXING_BITS,
    SIZE_CUTS,
    BinLayout,
    ResidualSizes,
    ResidualSums,
)
from voile.models.ebm.settings import (
    LEVEL_ACCESS,
    ROUNDS_ACCESS,
    SIZES_ACCESS,
    size_rounds,
)
from voile.models.ebm.side_by_side import side_by_side
from voile.models.ebm.tails import Tails, WideClip, pooled, wide_clip
from voile.models.ebm.terms import ReleasedTerms
from voile.models.ebm.training_state import LARGEST_SPREAD
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep

Floats = NDArray[np.float64]

_TRUST = 1.5
"""Most that the largest changes of all terms may add up to in a round of classification."""

_AVERAGED = 0.15
"""Part of the rounds, the last ones, whose scores are averaged (classification)."""

_JOINED_DISCOUNT, _BEFORE_PAIRS = 0.8, 0.2
"""With pairs, weight of a round relative to the next, and of what columns summed before them, when
they had to speak for the pairs, too (classification)."""

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

_SHARE_ROUNDS = (0, 1, 3, 7, 12)
"""Rounds before which the budget is shared out among the terms anew."""

_SMOOTHED_ANEW, _EVERY = 4, 3
"""The first rounds, and then every third and the last, choose anew how strongly to smooth; it
changes little in between, and costs more than the pass over a hundred thousand rows."""

_WIDE_FROM = 3
"""First round that may be asked with a wide clip (regression): sizes were looked at twice."""

_WORSE = 1.5
"""Growth of the residuals, relative to the best one, that counts as having been misled."""


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
    facts = ExposureFacts.of(None) if exposures is None else exposures
    training = _Training(table, grant, layout, bins, target, rounds, shape, wanted, facts)
    return training.run(progress)


class _Training(Doubts):
    """The loop."""

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
            if self.wide is not None and number >= _WIDE_FROM and self.wide.is_for(number):
                self._wide_round(self.wide)
            else:
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
        whole = np.hypot(whole, self._guessed() * scores)
        evidence = tuple(self._weigh(k, noisy=not exact) for k in range(self._term_count))
        sampled = np.hypot(noise * (not exact), self._intercept_sampling())
        released = ReleasedTerms(scores, errors, intercept, noise, whole, sampled, evidence)
        if self.tails is not None and self.wide is not None:
            released = self._with_tails(self.tails, self.wide, released)
        return released if self.joined is None else self.joined.part_from(released)

    def _measure_residuals(self) -> None:
        """Set the clip of the next round by a noised histogram of absolute residuals."""
        loss = self._measured()
        if not isinstance(loss, LinearLoss):
            self._restate(loss)
            return
        if self.best is not None and _is_worse(loss, self.best[0], _WORSE):
            # Noised pairs can mislead: go back, and trust them less from here on.
            self.loss, self.scores, self.intercept = self.best
            self.swept /= 2.0
            return
        # Sums with a smaller clip are precise, and hide what a larger one is to show.
        for term in self.terms:
            term.count_less(min(1.0, (self.loss.cap / loss.cap) ** 2))
        self.loss = loss
        if self.best is None or not _is_worse(loss, self.best[0]):
            self.best = (loss, self.scores, self.intercept)

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
        scale = self.multiplier * self.table.weight_per_unit * self.table.noise_growth
        rows, terms = max(self.target.rows, 1.0), len(self.terms)
        prices = ClipPrices.of(scale, rows, terms, release.standard_error)
        told = (edges[1:] + edges[:-1]) / 2, release.values[:-1], edges[1:]
        self.choosing = squared_loss(*told)
        narrow = squared_loss(*told, prices)
        self.sizes = release if self.sizes is None else pooled(self.sizes, release)
        told = told[0], self.sizes.values[:-1], told[2]
        self.wide = wide_clip(*told, self.sizes.standard_error, narrow)
        return narrow

    def _wide_round(self, wide: WideClip) -> None:
        """Sums with a clip that hides next to nothing."""
        if self.tails is None:
            place = self.layout.offsets, self.target.rows
            self.tails = Tails(self.terms, self.bins, *place, self.pairs)
        tails = self.tails
        deviation = self.deviation * self.loss.gain / self.loss.cap * wide.cap / wide.inside
        mixing, unmixing = tails.share_out(deviation)
        none = [np.zeros((0, one.size), dtype=np.int64) for one in self._cells()]
        scores, level = self.scores.copy(), self.intercept + tails.level
        scores[: len(tails.scores), 0] += tails.scores
        state = scores, level, wide.cap, (*mixing, *none), self._cells()
        release = gaussian_sum(
            self.table, ResidualSums(self.layout, *state), self.grant.take(ROUNDS_ACCESS)
        )
        values = release.values * 2.0**MIXING_BITS / wide.inside
        sums = [
            _times(one, values[self.layout.part(k)][:, None])[:, 0]
            for k, one in enumerate(unmixing)
        ]
        curves = self._curves()[:, 0]
        tails.take_in(sums, deviation**2, curves + tails.scores, float(level[0]))
        tails.solve(curves, float(self.intercept[0]), wide)

    def _with_tails(self, tails: Tails, wide: WideClip, released: ReleasedTerms) -> ReleasedTerms:
        """Curves and intercept with what the narrow clip hid."""
        tails.solve(self._curves()[:, 0], float(self.intercept[0]), wide)
        per_unit = self.table.weight_per_unit
        told = tails.told(wide, per_unit, noisy=self.multiplier > 0.0)
        scores = released.scores.copy()
        for k, one in enumerate(told):
            own = scores[self._at(k), 0] + one.scores
            if self.shape is not None:
                own = self.shape(k, own, self.terms[k].counts)
            scores[self._at(k), 0] = own
        variance = tails.level_variance * max(per_unit, 1.0)
        return released.with_more(told, scores, tails.level, variance)

    def _now(self) -> ScoresNow:
        spread = min(float(self._spreads().sum()), LARGEST_SPREAD)
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
            self.choosing or self.loss,
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
            loss, scores, intercept = self.best
            self.best = (loss, np.vstack([scores, np.zeros((cells, self.outputs))]), intercept)
        self.offsets = self.joined.offsets
        if not self.linear:
            self.discount = min(self.discount, _JOINED_DISCOUNT)
            for term in self.terms:
                term.count_less(_BEFORE_PAIRS)
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
                steps[part] *= damping if self._is_column(k) else self._joined.damping
            return sums.sum(axis=0), variance * float(term.smoother.noise.sum())

        if self.joined is not None:
            self.joined.grow_older(self.discount)
        numbers = range(len(self.terms))
        # What is smoothed as before takes less than to hand it over.
        told = side_by_side(take_in, numbers) if anew else list(map(take_in, numbers))
        totals, doubts = [total for total, _ in told], [doubt for _, doubt in told]
        if self.pairs is not None:
            self._sweep_all(self.pairs, steps, spreads, anew)
        elif not self.linear:
            largest = sum(float(np.abs(steps[self._at(k)]).max()) for k in range(len(self.terms)))
            steps *= min(1.0, _TRUST / max(largest, 1e-12))
        self.scores = self.scores + steps
        if not first or self.linear:
            self._move_intercept(np.array(totals), np.array(doubts), spreads)


def _is_worse(loss: LinearLoss, than: LinearLoss, times: float = 1.0) -> bool:
    """Whether residuals are larger than others, by so much."""
    cap = max(loss.cap, than.cap)
    return loss.moment(cap) > times**2 * than.moment(cap)


def _times(matrix: Floats, values: Floats) -> Floats:
    """A matrix, or a diagonal, times columns of shape (bins, outputs)."""
    return matrix[:, None] * values if matrix.ndim == 1 else matrix @ values
