"""What is known while an additive model is trained: scores, terms, noise; all of it released."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import ColumnBins, TargetFacts
from voile.models.ebm.interactions import WantedPairs
from voile.models.ebm.joined_pairs import (
    JoinedPairs,
)
from voile.models.ebm.losses import (
    LinearLoss,
    TrainingLoss,
    start_of,
)
from voile.models.ebm.misses import Misses
from voile.models.ebm.objective_losses import ExposureFacts, start_of_aim
from voile.models.ebm.objectives import Residual
from voile.models.ebm.pair_cells import PairCells
from voile.models.ebm.pairs import ColumnPairs, PairCounts, group_bins
from voile.models.ebm.queries import (
    BinLayout,
    ResidualSums,
)
from voile.models.ebm.settings import (
    PAIRS_ACCESS,
    ROUNDS_ACCESS,
)
from voile.models.ebm.side_by_side import side_by_side
from voile.models.ebm.tails import Tails, WideClip
from voile.models.ebm.terms import TermState, start_term
from voile.privacy.events import Gaussian
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import Release, gaussian_sum
from voile.privacy.vault import PrivateTable

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

_LINEAR: tuple[Residual, ...] = ("identity", "gamma", "quantile")
"""Residuals whose sums are taken as linear in the scores."""

LARGEST_SPREAD, LARGEST_SCORE = 4.0, 8.0
"""Limits of the other terms' variance and of a score (log-odds), against runaway noise."""


class TrainingState:
    """Scores, terms and what follows from them."""

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
        self.sensitivities: dict[float, float] = {}
        self.outputs = layout.outputs
        self.choosing: TrainingLoss | None = None
        self.linear, self.misses = layout.residual in _LINEAR, Misses.unknown()
        if layout.residual in ("poisson", "gamma", "quantile"):
            self.loss, self.intercept, self.unit = start_of_aim(layout.aim, target, exposures)
        else:
            self.loss, self.intercept, self.unit = start_of(layout.link, target)
        self.multiplier = self._multiplier(ROUNDS_ACCESS)
        self.scores = np.zeros((int(layout.offsets[-1]), self.outputs))
        self.terms = side_by_side(self._term, bins)
        self.shares = np.full(len(self.terms), 1.0 / len(self.terms))
        self.mixing: tuple[NDArray[np.int64], ...] = ()
        self.unmixing: list[Floats] = []
        self.age = 0.0
        self.discount = DISCOUNT[layout.residual]
        self.settled = False
        self.swept = 1.0
        self.best: tuple[LinearLoss, Floats, Floats] | None = None
        self.pairs = self._release_pairs(bins) if PAIRS_ACCESS in grant.plan else None
        self.intercept_variance = np.zeros(self.outputs)
        self.sizes: Release | None = None
        self.wide: WideClip | None = None
        self.tails: Tails | None = None

    def _multiplier(self, access: str) -> float:
        event = self.grant.plan[access]
        return event.noise_multiplier if isinstance(event, Gaussian) else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one round; without noise a trace of it."""
        return self._deviation_of(self.multiplier)

    def _deviation_of(self, multiplier: float) -> float:
        if self.loss.cap not in self.sensitivities:
            query = self._query(())
            self.sensitivities[self.loss.cap] = query.sensitivity(self.grant.relation)
        scale = (
            multiplier
            * self.sensitivities[self.loss.cap]
            * self.table.weight_per_unit
            * self.table.noise_growth
        )
        return max(scale, 1e-2 * self.loss.cap) / self.loss.gain

    def _query(self, mixing: tuple[NDArray[np.int64], ...]) -> ResidualSums:
        state = self.scores, self.intercept, self.loss.cap
        return ResidualSums(self.layout, *state, mixing, self._cells(), self.loss.width)

    def _cells(self) -> tuple[PairCells, ...]:
        return self.joined.cells if self.joined else ()

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

    @property
    def _joined(self) -> JoinedPairs:
        """The pairs, where there are some."""
        assert self.joined is not None
        return self.joined

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
        rest: Floats = np.clip(spreads.sum(axis=0) - own, 0.0, LARGEST_SPREAD)
        return rest[:, None]

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
