"""Two accesses that count rows by score and class, and what each score says: order, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation import measures as m
from voile.models.evaluation import scores as s
from voile.models.evaluation.access import access
from voile.models.evaluation.answers import ScoredClass
from voile.models.evaluation.baselines import Rival, known_value, of_same_rows
from voile.models.evaluation.cutting import Grid, Predicted, like_parts
from voile.models.evaluation.intervals import Counted
from voile.models.evaluation.measure import Measure
from voile.models.evaluation.queries import ClassScores, ScoreCells, ScorePart
from voile.models.evaluation.record import Reliability
from voile.models.evaluation.scores import ScoreHistogram
from voile.models.evaluation.strategy import best_strategy
from voile.models.evaluation.thresholds import ScoreCounts
from voile.privacy.calibrate import gaussian_step
from voile.privacy.events import Step
from voile.privacy.grant import Grant
from voile.privacy.vault import PrivateTable

Floats = NDArray[np.float64]
Pair = tuple[Measure, Rival | None]

_FINE, _SCORES = "distribution of scores", "scores by class"


@dataclass(frozen=True, eq=False)
class WatchedScores:
    """One score, counted.

    Attributes
    ----------
    watched : ScoredClass
    grid : Grid
        The fine cuts.
    chosen : tuple of int
        Which of them classes were counted between.
    histogram : ScoreHistogram
        Rows by class between the chosen cuts.
    fine : Counted
        Rows between the fine cuts; the noise is that of the mixtures.
    """

    watched: ScoredClass
    grid: Grid
    chosen: tuple[int, ...]
    histogram: ScoreHistogram
    fine: Counted

    @property
    def thresholds(self) -> list[float]:
        """The chosen cuts, as people read them."""
        return [float(self.grid.thresholds[one]) for one in self.chosen]

    @property
    def usual(self) -> int:
        """Position, among the chosen cuts, of the one by which classes are predicted."""
        return self.chosen.index(self.grid.usual)

    def counts(self, measures: Sequence[Measure] = ()) -> ScoreCounts:
        """What is kept for curves and thresholds."""
        return ScoreCounts.of(
            self.watched.name, self.grid.scale, self.thresholds, self.histogram, measures
        )

    def order(self, confidence: float) -> list[Pair]:
        """AUROC and average precision."""
        histogram = self.histogram
        room = (0.0, s.auroc_room(histogram.counts))
        area = histogram.measure("AUROC", s.auroc, confidence, room=room)
        variance = histogram.errors(s.auroc)[1] if histogram.known else np.nan
        precision = histogram.measure("average precision", s.average_precision, confidence)
        rate = of_same_rows(
            "a random order",
            histogram,
            s.average_precision,
            s.positive_rate,
            confidence,
        )
        return [(area, known_value("a random order", 0.5, area, variance)), (precision, rate)]

    def brier(self, confidence: float) -> Pair:
        """The Brier score."""
        groups = np.searchsorted(self.chosen, np.arange(len(self.fine.values)), side="left")
        cells = Predicted.of(self.grid, self.fine.values, self.fine.noise, groups)
        figure = partial(s.brier_score, predicted=cells.mean, spread=cells.spread)
        measure = self.histogram.measure("Brier score", figure, confidence)
        rival = of_same_rows(
            "the class rate",
            self.histogram,
            figure,
            s.class_rate_brier,
            confidence,
            more_is_better=False,
        )
        return measure, rival

    def calibration(self, confidence: float) -> tuple[Measure, list[Reliability]]:
        """Calibration error, and what happened in a few stretches of probabilities."""
        groups, merged = self._groups
        inside = np.searchsorted(self.chosen, np.arange(len(self.fine.values)), side="left")
        predicted = Predicted.of(self.grid, self.fine.values, self.fine.noise, groups[inside])
        error = m.calibration_error(merged, predicted, confidence)
        return error, m.reliability(self.watched.name, merged, predicted, confidence)

    @cached_property
    def _groups(self) -> tuple[NDArray[np.int64], ScoreHistogram]:
        """Few groups of neighbouring cells, and the counts of those."""
        histogram = self.histogram
        noise = float(np.sqrt(2.0 * np.diag(histogram.covariance).max(initial=0.0)))
        groups = like_parts(histogram.counts.sum(axis=1), noise)
        return groups, histogram.merged(groups)


@dataclass(frozen=True, eq=False)
class CountedScores:
    """All scores of a classifier, counted, and the rows of no listed class (with their noise)."""

    scores: tuple[WatchedScores, ...]
    others: float
    noise: float


def score_steps(weight: float) -> list[Step]:
    """What counting scores takes of the budget: a part to find the cuts, the rest between them."""
    return [gaussian_step(_FINE, 0.2 * weight), gaussian_step(_SCORES, 0.8 * weight)]


def count_scores(
    table: PrivateTable, grant: Grant, scored: tuple[ScoredClass, ...], grid: Grid
) -> CountedScores:
    """Two accesses: where the scores lie, then the classes between chosen cuts."""
    strategy = grid.strategy
    fine_parts = tuple(ScorePart(i, grid.cuts, strategy) for i in range(len(scored)))
    first = access(table, ScoreCells(fine_parts), grant, _FINE)
    fine = [strategy.counts(one) for one in _split(first.values, fine_parts, 1)]
    chosen = [tuple(grid.choose(one, first.noise)) for one in fine]
    parts = tuple(
        ScorePart(
            i,
            tuple(grid.cuts[one] for one in some),
            best_strategy(len(some) + 1, some.index(grid.usual) + 1),
        )
        for i, some in enumerate(chosen)
    )
    second = access(table, ClassScores(parts, scored), grant, _SCORES)
    found = [
        WatchedScores(
            one,
            grid,
            some,
            ScoreHistogram.of(part.strategy, values, second.noise, second.together),
            Counted(counts, first.noise, first.together),
        )
        for one, some, part, values, counts in zip(
            scored, chosen, parts, _split(second.values, parts, 2), fine, strict=True
        )
    ]
    return CountedScores(tuple(found), float(second.values[-1]), second.noise)


def _split(values: Floats, parts: Sequence[ScorePart], halves: int) -> list[Floats]:
    """Released mixtures of each part; the last entry is of rows without a class."""
    ends = np.cumsum([halves * part.strategy.cells for part in parts])
    return np.split(values[:-1], ends[:-1])
