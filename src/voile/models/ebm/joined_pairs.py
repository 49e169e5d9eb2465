"""Pairs of columns that join the training: their choice, their counts, and their state.

After some rounds of the columns alone, one access scores the candidates, one counts the rows of
those that were chosen, and from then on pairs are terms like any other. An access for which nothing
is left to do is used as a further round. Proof: docs/proofs/pairs.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import ColumnBins
from voile.models.ebm.grid_counts import GridCounts
from voile.models.ebm.interactions import WantedPairs
from voile.models.ebm.losses import LinearLoss, TrainingLoss
from voile.models.ebm.pair_cells import PairCells, all_offsets
from voile.models.ebm.pair_choice import (
    LEAST_EXPLAINED,
    Candidate,
    candidate_columns,
    choose_pairs,
    grid_of,
    make_candidates,
    score_candidates,
    worth_choosing,
)
from voile.models.ebm.pair_grid import PairGrid, ReleasedPair, make_grid
from voile.models.ebm.pair_rows import PairRows
from voile.models.ebm.pair_sides import Side, make_side
from voile.models.ebm.pair_training import (
    beyond_curves,
    curves_in_cells,
    margins,
    mean_error,
    parts_per_side,
    purify,
    start_pair,
    unit_of_pairs,
)
from voile.models.ebm.queries import BinLayout, ResidualSums, whole_mixing
from voile.models.ebm.settings import CHOICE_ACCESS, GRIDS_ACCESS, ROUNDS_ACCESS
from voile.models.ebm.terms import ReleasedTerms, TermState
from voile.privacy.mechanisms import Release
from voile.privacy.queries import Query

Floats = NDArray[np.float64]

PAIR_SHARE_ROUNDS = (0, 1, 3, 6, 10)
"""Rounds since pairs joined before which the budget is shared out anew."""


@dataclass(frozen=True, eq=False)
class JoiningFacts:
    """The state of a training when pairs may join; all of it released.

    Attributes
    ----------
    layout : BinLayout
    bins : tuple of ColumnBins
    terms : list of TermState
    scores : ndarray of shape (cells, outputs)
    intercept : ndarray of shape (outputs,)
    loss : TrainingLoss
    choosing : TrainingLoss
        The same for the choice: of a number with the smaller clip, through which a few large
        residuals hide less.
    spreads : ndarray of shape (terms, outputs)
        Variance of each column's scores over the rows.
    unit : float
        Typical variance of a column's scores.
    rows, scarce : float
        Rows, and those of a class that is not the largest, on average.
    noise_of : callable
        Standard deviation of the noise of a residual sum in an access, by its name.
    rounds : int
    round_noise : float
        Variance of the noise on one sum if all rounds that are left were one.
    """

    layout: BinLayout
    bins: tuple[ColumnBins, ...]
    terms: list[TermState]
    scores: Floats
    intercept: Floats
    loss: TrainingLoss
    choosing: TrainingLoss
    spreads: Floats
    unit: float
    rows: float
    scarce: float
    noise_of: Callable[[str], float]
    rounds: int
    round_noise: float

    def side(self, k: int, parts: int) -> Side:
        """The bins of a column in parts."""
        column = self.bins[k]
        scores = self.scores[self.layout.part(k)]
        known = column.counts, column.count_errors
        return make_side(*known, scores, parts, ordered=column.ordered, apart=column.apart)

    def base(self, sides: tuple[Side, Side], first: int, second: int) -> Floats:
        """What the curves of two columns say in each cell of their grid."""
        one, other = (
            side.gather(self.scores[self.layout.part(k)])
            for side, k in zip(sides, (first, second), strict=True)
        )
        return (one[:, None, :] + other[None, :, :]).reshape(-1, one.shape[1])

    def spread_without(self, first: int, second: int) -> Floats:
        """Variance of all terms but two, shape (outputs, 1)."""
        rest = self.spreads.sum(axis=0) - self.spreads[first] - self.spreads[second]
        return np.asarray(np.clip(rest, 0.0, 4.0)[:, None])

    def own_error(self, k: int) -> float:
        """Mean squared error of a column's scores, by noise, sampling and smoothing."""
        term = self.terms[k]
        assert term.smoothed is not None
        return float(np.mean([term.weights @ one for one in term.smoothed.variance]))

    @property
    def pair_unit(self) -> float:
        """Typical variance of a pair's scores."""
        return unit_of_pairs(self.loss, self.unit)


def join_pairs(
    wanted: WantedPairs,
    facts: JoiningFacts,
    ask: Callable[[Query, str], Release],
    spend_on_round: Callable[[str], None],
) -> JoinedPairs | None:
    """Choose pairs, count their rows, and make them ready for the rounds that are left.

    Parameters
    ----------
    wanted : WantedPairs
    facts : JoiningFacts
    ask : callable
        Releases the noised sum of a query by an access of a name.
    spend_on_round : callable
        Uses an access of a name as a further round instead.

    Returns
    -------
    JoinedPairs or None
        None if no pair is worth it.
    """
    named = wanted.named
    candidates = 1
    if not named:
        cap, loud = facts.loss.cap, math.sqrt(len(facts.terms) / facts.rounds)
        choice, curves = facts.noise_of(CHOICE_ACCESS) / cap, facts.noise_of(ROUNDS_ACCESS) / cap
        if not worth_choosing(choice, loud * curves, facts.scarce):
            spend_on_round(CHOICE_ACCESS)
            spend_on_round(GRIDS_ACCESS)
            return None
        named, candidates = _choose(wanted, facts, ask)
        if not named:
            if not candidates:  # nothing was asked
                spend_on_round(CHOICE_ACCESS)
            spend_on_round(GRIDS_ACCESS)
            return None
    return _start(named, candidates, facts, ask)


def _choose(
    wanted: WantedPairs, facts: JoiningFacts, ask: Callable[[Query, str], Release]
) -> tuple[tuple[tuple[int, int], ...], int]:
    """The pairs that are clear, and among how many they were chosen."""
    noise = facts.noise_of(CHOICE_ACCESS) / facts.loss.cap
    spreads = facts.spreads.sum(axis=1)
    columns, relative = candidate_columns(wanted.eligible, spreads, noise, facts.scarce)
    parts, contrasts = grid_of(relative)
    candidates = make_candidates({k: facts.side(k, parts) for k in columns}, contrasts)
    if not candidates:
        return (), 0
    sums, error = _release_contrasts(candidates, facts, ask)
    scored = score_candidates(
        candidates,
        sums,
        error,
        facts.choosing,
        facts.intercept,
        [facts.base(c.sides, c.cells.first, c.cells.second) for c in candidates],
        [facts.spread_without(c.cells.first, c.cells.second) for c in candidates],
        [(facts.own_error(c.cells.first), facts.own_error(c.cells.second)) for c in candidates],
        facts.rows,
        facts.pair_unit,
    )
    least = 0.0 if isinstance(facts.loss, LinearLoss) else LEAST_EXPLAINED
    chosen = choose_pairs(scored, wanted.most, least)
    return tuple((one.first, one.second) for one in chosen), len(candidates)


def _release_contrasts(
    candidates: list[Candidate], facts: JoiningFacts, ask: Callable[[Query, str], Release]
) -> tuple[list[Floats], float]:
    """Noised contrasts of all candidates, and the noise of each."""
    layout, outputs, loss = facts.layout, len(facts.intercept), facts.choosing
    weight = 1.0 / np.sqrt(len(candidates))
    # The columns' own bins take no part in this access: their matrices have no rows.
    none = [np.zeros((0, int(width)), dtype=np.int64) for width in np.diff(layout.offsets)]
    mixing = [whole_mixing(one.contrasts, weight) for one in candidates]
    cells = tuple(one.cells for one in candidates)
    zeros = np.zeros((sum(one.size for one in cells), outputs))
    state = np.vstack([facts.scores, zeros]), facts.intercept, loss.cap
    query = ResidualSums(layout, *state, (*none, *mixing), cells, loss.width)
    release = ask(query, CHOICE_ACCESS)
    values = release.values.reshape(-1, outputs) / (weight * loss.gain)
    ends = np.cumsum([len(one) for one in mixing])[:-1]
    noise = facts.noise_of(CHOICE_ACCESS) * loss.cap / facts.loss.cap
    return np.split(values, ends), noise / (weight * loss.gain)


def _start(
    named: tuple[tuple[int, int], ...],
    candidates: int,
    facts: JoiningFacts,
    ask: Callable[[Query, str], Release],
) -> JoinedPairs:
    parts = parts_per_side(facts.rows)
    grids = [make_grid(i, j, facts.side(i, parts), facts.side(j, parts)) for i, j in named]
    query = GridCounts(facts.layout, tuple(grid.cells for grid in grids))
    release = ask(query, GRIDS_ACCESS)
    ends = np.cumsum([grid.cells.size for grid in grids])[:-1]
    states, rows = [], []
    noise = facts.round_noise * (len(facts.terms) + len(grids))
    for grid, counts in zip(grids, np.split(release.values, ends), strict=True):
        rows.append(PairRows.of(grid, counts, release.standard_error, facts.rows))
        i, j = grid.columns
        base = facts.base((grid.first, grid.second), i, j)
        spread = facts.spread_without(i, j)
        states.append(
            start_pair(
                grid,
                rows[-1].reckoned,
                facts.loss,
                facts.intercept,
                base,
                spread,
                noise,
                facts.pair_unit,
            )
        )
    return JoinedPairs(facts.layout, grids, states, rows, facts.pair_unit, candidates)


class JoinedPairs:
    """The pairs of a training, beside the columns' terms."""

    def __init__(
        self,
        layout: BinLayout,
        grids: list[PairGrid],
        states: list[TermState],
        rows: list[PairRows],
        unit: float,
        candidates: int,
    ) -> None:
        self.grids, self.states, self.unit = grids, states, unit
        self.cells: tuple[PairCells, ...] = tuple(grid.cells for grid in grids)
        self.offsets = all_offsets(layout.offsets, self.cells)
        self._layout, self._columns = layout, len(layout.offsets) - 1
        self._last = int(layout.offsets[-1])
        self._rows, self._candidates = rows, candidates
        self._beyond = [
            beyond_curves(grid, one.counts) for grid, one in zip(grids, rows, strict=True)
        ]
        self._age = 0.0

    @property
    def cell_count(self) -> int:
        """Cells of all grids."""
        return sum(one.size for one in self.cells)

    @property
    def damping(self) -> float:
        """Length of a step of pairs: short at first, when little is known of them."""
        return 1.0 / (1.0 + 1.0 / self._age)

    def grow_older(self, discount: float) -> None:
        """Count a round."""
        self._age = discount * self._age + 1.0

    def columns_of(self, k: int) -> tuple[int, ...]:
        """Columns of a pair by its number among all terms; none for a column."""
        return () if k < self._columns else self.grids[k - self._columns].columns

    def base(self, k: int, scores: Floats) -> Floats:
        """What others say of just the cells of a term, shape (bins, outputs).

        Of a pair what the curves of its columns say, with what other pairs add to them; of a column
        the means of its pairs.
        """
        whole = scores[: self._last] + self.margins(scores)
        if k < self._columns:
            part = self._layout.part(k)
            return np.asarray(whole[part] - scores[part])
        number = k - self._columns
        grid = self.grids[number]
        own = self._margins_of(number, scores)
        one, other = (
            whole[self._layout.part(i)] - change
            for i, change in zip(grid.columns, own, strict=True)
        )
        return curves_in_cells(grid, one, other)

    def without_curves(self, k: int, scores: Floats) -> Floats:
        """Scores of a pair without what curves of its columns can say, shape (cells,)."""
        return np.asarray(self._beyond[k - self._columns] @ scores)

    def rows_of(self, k: int) -> PairRows:
        """Rows of the cells of a pair by its number among all terms."""
        return self._rows[k - self._columns]

    def doubt(self, k: int, scores: Floats) -> Floats:
        """What the noise of a pair's counts adds to the variance of its estimates."""
        grid, whole = self.grids[k - self._columns], scores[: self._last] + self.margins(scores)
        squares = (whole[self._layout.part(i)] ** 2 for i in grid.columns)
        pair = scores[self._cells_of(k - self._columns)]
        return self.rows_of(k).doubt(curves_in_cells(grid, *squares) + pair**2)

    def margins(self, scores: Floats) -> Floats:
        """What all pairs add to the curves of their columns, shape (cells of columns, outputs)."""
        result = np.zeros((self._last, scores.shape[1]))
        for number, grid in enumerate(self.grids):
            for k, change in zip(grid.columns, self._margins_of(number, scores), strict=True):
                result[self._layout.part(k)] += change
        return result

    def _margins_of(self, number: int, scores: Floats) -> tuple[Floats, Floats]:
        own = scores[self._cells_of(number)]
        return margins(self.grids[number], self._rows[number].counts, own)

    def _cells_of(self, number: int) -> slice:
        at = self._columns + number
        return slice(int(self.offsets[at]), int(self.offsets[at + 1]))

    def part_from(self, released: ReleasedTerms) -> ReleasedTerms:
        """Columns and pairs apart, and each curve as the whole effect of its column.

        What curves can say is moved from the pairs to them, weighted by released counts; every
        row's score stays as it was. Errors of what was moved are added to the curves' own.
        """
        last = self._last
        scores = released.scores[:last].copy()
        intercept = released.intercept.copy()
        assert released.whole_errors is not None
        assert released.evidence is not None
        variance = released.whole_errors[:last] ** 2
        pairs = []
        for number, (grid, rows) in enumerate(zip(self.grids, self._rows, strict=True)):
            own = self._cells_of(number)
            left, moved, level = purify(grid, rows.counts, released.scores[own])
            intercept += level
            whole = released.whole_errors[own]
            for k, change, groups, axis in zip(
                grid.columns, moved, (grid.cells.rows, grid.cells.columns), (1, 0), strict=True
            ):
                part = self._layout.part(k)
                scores[part] += change[groups]
                variance[part] += mean_error(grid, rows.counts, whole, axis)[groups] ** 2
            pairs.append(
                ReleasedPair(
                    grid,
                    rows.counts,
                    rows.error,
                    left,
                    released.standard_errors[own],
                    whole,
                    released.evidence[self._columns + number],
                    self._candidates,
                )
            )
        return replace(
            released,
            scores=scores,
            standard_errors=released.standard_errors[:last],
            intercept=intercept,
            whole_errors=np.sqrt(variance),
            evidence=released.evidence[: self._columns],
            pairs=tuple(pairs),
        )
