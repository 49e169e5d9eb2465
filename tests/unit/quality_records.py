"""Evaluations of made-up rows, for tests of pages and of what browsers compute."""

import numpy as np
from ebm_models import make_receipt

from voile.models.evaluation.answers import ScoredClass
from voile.models.evaluation.counted_scores import WatchedScores
from voile.models.evaluation.cutting import Grid
from voile.models.evaluation.intervals import Counted
from voile.models.evaluation.measure import Difference, Measure
from voile.models.evaluation.of_classes import two_classes
from voile.models.evaluation.record import Evaluation, GroupScores, Reliability
from voile.models.evaluation.scores import ScoreHistogram
from voile.models.evaluation.strategy import best_strategy


def counted_scores(scores, positive, noise, rng, *, name="yes", together=1, log_odds=True):
    """What the two accesses would release of some scores: a fifth of the budget, and the rest.

    ``noise`` is the standard error of a sum of norm 1 that gets the whole budget.
    """
    grid = Grid.of(probabilities=True, log_odds=log_odds)
    first, second = noise / np.sqrt(0.2), noise / np.sqrt(0.8)
    cuts, strategy = np.array(grid.cuts), grid.strategy
    fine = np.bincount(np.searchsorted(cuts, scores), minlength=strategy.cells)
    fine = strategy.counts(strategy.matrix @ fine + first * rng.standard_normal(strategy.cells))
    chosen = tuple(grid.choose(fine, first))
    strategy = best_strategy(len(chosen) + 1, chosen.index(grid.usual) + 1)
    places = np.searchsorted(cuts[list(chosen)], scores)
    halves = [np.bincount(places[positive == one], minlength=strategy.cells) for one in (0, 1)]
    released = [
        strategy.matrix @ half + second * rng.standard_normal(strategy.cells) for half in halves
    ]
    histogram = ScoreHistogram.of(strategy, np.concatenate(released), second, together)
    return WatchedScores(
        ScoredClass(name, 1), grid, chosen, histogram, Counted(fine, first, together)
    )


def draw_scores(rows, rng, *, level=-1.0, spread=1.2):
    """Log-odds of a calibrated model, and what happened."""
    scores = level + spread * rng.standard_normal(rows)
    return scores, (rng.random(rows) < 1 / (1 + np.exp(-scores))).astype(int)


def evaluated(rows=3000, noise=4.0, seed=0, names=("no", "yes"), together=1):
    """An evaluation of two classes, without a vault."""
    rng = np.random.default_rng(seed)
    counted = counted_scores(*draw_scores(rows, rng), noise, rng, name=names[1], together=together)
    figures = two_classes(counted, names, 0.95)
    measures, scores = figures.settle()
    groups = tuple(
        GroupScores(
            "ward",
            level,
            rows / 2,
            (Measure("accuracy", 0.8, 0.75, 0.85, 0.01),),
            (
                Difference(
                    "accuracy", sign * 0.05, sign * 0.05 - 0.04, sign * 0.05 + 0.04, p, verdict
                ),
            ),
        )
        for level, sign, p, verdict in (
            ("A", 1, 0.03, "perhaps"),
            ("B", -1, 0.03, "perhaps"),
        )
    )
    return Evaluation(
        model="EBMClassifier",
        target="classification",
        rows=float(rows),
        confidence=0.95,
        measures=measures,
        classes=names,
        confusion=figures.confusion,
        reliability=tuple(figures.reliability),
        groups=groups,
        receipt=make_receipt(),
        entry=make_receipt().entry,
        scores=scores,
    )


def evaluated_numbers():
    """An evaluation of a regression, without a vault."""
    happened = [Measure("observed", v, v - 1, v + 1, 0.2, "units of the target") for v in (2.5, 6)]
    return Evaluation(
        model="EBMRegressor",
        target="regression",
        rows=900.0,
        confidence=0.95,
        measures=(Measure("RMSE", 1.0, 0.9, 1.4, 0.05, "units of the target"),),
        classes=(),
        confusion=(),
        reliability=tuple(
            Reliability(p, one, 450.0) for p, one in zip((2.0, 6.0), happened, strict=True)
        ),
        groups=(),
        receipt=make_receipt(),
    )
