"""The quality of a classifier: order, accuracy, calibration, thresholds, rates by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from voile.models.evaluation import measures as m
from voile.models.evaluation.access import LEAST_ROWS, access, of_group, pay
from voile.models.evaluation.answers import MOST_CLASSES, has_probabilities, watched
from voile.models.evaluation.baselines import Commonest, known_value, with_baselines
from voile.models.evaluation.counted_scores import (
    CountedScores,
    Pair,
    WatchedScores,
    count_scores,
    score_steps,
)
from voile.models.evaluation.cutting import Grid
from voile.models.evaluation.groups import group_classes
from voile.models.evaluation.intervals import Counted, Share, lost, mean_share
from voile.models.evaluation.measure import Measure
from voile.models.evaluation.queries import ConfusionCells
from voile.models.evaluation.record import Evaluation, Reliability, digest_of_edits
from voile.models.evaluation.thresholds import ScoreCounts
from voile.models.fit import FitJob
from voile.privacy.calibrate import gaussian_step
from voile.privacy.receipt import write_receipt
from voile.schema import Category

_CONFUSION = "predicted and true classes"

Confusion = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Figures:
    """What the accesses to rows of a classifier came to.

    Attributes
    ----------
    pairs : list of (Measure, Rival or None)
        Measures of the whole.
    confusion : tuple of tuple of float
    reliability : list of Reliability
    scores : list of (WatchedScores, list of (Measure, Rival or None))
        Counted scores, each with measures of its own.
    """

    pairs: list[Pair]
    confusion: Confusion
    reliability: list[Reliability]
    scores: list[tuple[WatchedScores, list[Pair]]]

    def settle(self) -> tuple[tuple[Measure, ...], tuple[ScoreCounts, ...]]:
        """Measures and scores with their baselines, which allow for each other."""
        every = [*self.pairs, *(pair for _, own in self.scores for pair in own)]
        settled = iter(with_baselines(every))
        measures = tuple(next(settled) for _ in self.pairs)
        scores = tuple(one.counts([next(settled) for _ in own]) for one, own in self.scores)
        return measures, scores


def evaluate_classes(
    job: FitJob, model: Any, kind: str, groups: tuple[str, ...], confidence: float
) -> Evaluation:
    """Measure a classifier on protected rows."""
    table, target = job.table, model.schema.target
    assert isinstance(target, Category)
    names = tuple(str(one) for one in target.levels or ())
    scored, two = watched(model), len(names) == 2
    shape = [] if two else [gaussian_step(_CONFUSION, 0.15 if scored else 0.5)]
    shape += score_steps(0.8 if two else 0.35) if scored else []
    shape += [gaussian_step(of_group(name), 0.3) for name in groups]
    grant = pay(job, model, groups, shape)
    counted, others, noise = None, 0.0, 0.0
    if not two:
        release = access(table, ConfusionCells(len(names)), grant, _CONFUSION)
        others, noise = float(release.values[-1]), release.noise
    if scored:
        grid = Grid.of(probabilities=has_probabilities(model), log_odds=two)
        counted = count_scores(table, grant, scored, grid)
        if two:
            others, noise = counted.others, counted.noise
    if two:
        assert counted is not None
        found = two_classes(counted.scores[0], names, confidence)
    else:
        found = _many_classes(release, counted, names, confidence)
    told, notes = group_classes(table, grant, model.schema, groups, len(names), confidence)
    if others > max(LEAST_ROWS * noise, 0.5):
        notes.append(f"About {others:,.0f} rows have no listed class: left out.")
    if len(names) > MOST_CLASSES:
        notes.append(f"Curves and thresholds are measured for up to {MOST_CLASSES} classes.")
    measures, scores = found.settle()
    return Evaluation(
        model=kind,
        target="classification",
        rows=math.fsum(math.fsum(line) for line in found.confusion),
        confidence=confidence,
        measures=measures,
        classes=names,
        confusion=found.confusion,
        reliability=tuple(found.reliability),
        groups=tuple(told),
        receipt=write_receipt(grant, job.budget),
        notes=tuple(notes),
        entry=model.receipt.entry,
        edits=digest_of_edits(model),
        scores=scores,
    )


def two_classes(scores: WatchedScores, names: tuple[str, ...], confidence: float) -> Figures:
    """All that one counted score says of two classes."""
    counts, place = scores.counts(), scores.usual
    hit, alarm, missed, passed = (float(one) for one in counts.sides[place])
    above, below = counts.noise_above[place], counts.noise_below[place]
    both, whole = counts.noise_both[place], counts.prevalence.noise_inside
    right = Share(
        hit + passed, missed + alarm, above + below, above + below, 2 * both, counts.together
    )
    accuracy = right.measure("accuracy", confidence)
    rates = [counts.shares(place)[name] for name in ("sensitivity", "specificity")]
    commonest = Commonest(
        names,
        (
            Share(passed + alarm, hit + missed, whole, whole, 0.0, counts.together),
            counts.prevalence,
        ),
        won=np.array([hit, passed]),
        lost=np.array([alarm, missed]),
        noise=2.0 * np.array([above, below]),
        together=counts.together,
    )
    pairs = [
        *scores.order(confidence),
        (accuracy, commonest.rival(accuracy, confidence)),
        _balanced(rates, confidence),
    ]
    curve: list[Reliability] = []
    if scores.grid.scale == "probability":
        error, curve = scores.calibration(confidence)
        pairs += [scores.brier(confidence), (error, None)]
    return Figures(pairs, ((passed, missed), (alarm, hit)), curve, [(scores, [])])


def _many_classes(
    release: Counted, counted: CountedScores | None, names: tuple[str, ...], confidence: float
) -> Figures:
    classes = len(names)
    pairs, whether = release.part(slice(classes**2)), release.part(slice(-3, -1))
    accuracy = Share.of(whether, np.array([False, True])).measure("accuracy", confidence)
    commonest = Commonest.of_pairs(pairs, names)
    found: list[Pair] = [
        (accuracy, commonest.rival(accuracy, confidence)),
        _balanced(m.recalls(pairs, classes), confidence),
    ]
    scores: list[tuple[WatchedScores, list[Pair]]] = []
    curve: list[Reliability] = []
    for one in () if counted is None else counted.scores:
        if one.watched.true is not None:
            scores.append((one, one.order(confidence)))
            continue
        error, points = one.calibration(confidence)
        found.append((error, None))
        curve += points
    areas = [own[0][0] for _, own in scores]
    if areas:
        found.insert(0, _mean_area(areas))
    cells = pairs.values.reshape(classes, classes).tolist()
    return Figures(found, tuple(map(tuple, cells)), curve, scores)


def _balanced(rates: Sequence[Share], confidence: float) -> Pair:
    """Balanced accuracy, against guessing."""
    measure = mean_share("balanced accuracy", rates, confidence)
    known = [one for one in rates if not one.empty]
    variance = math.fsum(one.variance_at(one.value) for one in known) / max(len(known), 1) ** 2
    return measure, known_value("always one class", 1.0 / max(len(known), 1), measure, variance)


def _mean_area(areas: Sequence[Measure]) -> Pair:
    """Mean AUROC of each class against the rest; their errors may all go the same way."""
    name = "AUROC (mean of classes)"
    if any(one.lost for one in areas):
        measure = lost(name)
        return measure, known_value("a random order", 0.5, measure, math.nan)
    figures = np.array([[one.value, one.low, one.high, one.noise] for one in areas])
    measure = Measure(name, *figures.mean(axis=0).tolist())
    spread = (measure.high - measure.low) / 4.0
    return measure, known_value("a random order", 0.5, measure, spread**2)
