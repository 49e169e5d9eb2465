"""The quality of a classifier: accuracy, area under the curve, calibration, rates by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation import measures as m
from voile.models.evaluation.access import LEAST_ROWS, access, level_names, of_group, pay
from voile.models.evaluation.answers import has_probabilities
from voile.models.evaluation.intervals import Counted, lost, redrawn
from voile.models.evaluation.queries import (
    ClassMargins,
    ConfidenceCells,
    ConfusionCells,
    GroupCells,
    MarginCells,
)
from voile.models.evaluation.record import (
    Evaluation,
    GroupScores,
    Measure,
    Reliability,
    digest_of_edits,
)
from voile.models.fit import FitJob
from voile.privacy.calibrate import gaussian_step
from voile.privacy.grant import Grant
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Schema

Floats = NDArray[np.float64]

_CONFUSION, _FINE, _MARGINS, _CONFIDENCE = (
    "predicted and true classes",
    "distribution of scores",
    "scores by class",
    "confidence and success",
)
_FINE_CUTS: Floats = np.arange(-31.0, 32.0) * 0.25
"""Cuts of log-odds; of relative distances, divided by 8."""

_MOST_INTERVALS = 16
_CONFIDENCE_CUTS = tuple(float(one) for one in np.arange(1, 10) / 10)


def evaluate_classes(
    job: FitJob, model: Any, kind: str, groups: tuple[str, ...], confidence: float
) -> Evaluation:
    """Measure a classifier on protected rows."""
    table, target = job.table, model.schema.target
    assert isinstance(target, Category)
    classes = len(target.levels or ())
    two, chances = classes == 2, has_probabilities(model)
    shape = [gaussian_step(_CONFUSION, 0.2)]
    if two:
        shape += [gaussian_step(_FINE, 0.15), gaussian_step(_MARGINS, 0.45)]
    elif chances:
        shape += [gaussian_step(_CONFIDENCE, 0.3)]
    shape += [gaussian_step(of_group(name), 0.3) for name in groups]
    grant = pay(job, model, groups, shape)
    counted = access(table, ConfusionCells(classes), grant, _CONFUSION)
    pairs = counted.part(slice(-1))
    found = [
        m.accuracy(pairs, classes, confidence),
        m.balanced_accuracy(pairs, classes, confidence),
    ]
    curve: list[Reliability] = []
    if two:
        more, curve = _two_classes(table, grant, confidence, chances=chances)
        found = [*more[:1], *found, *more[1:]]
    elif chances:
        more, curve = _many_classes(table, grant, confidence)
        found += more
    told, notes = _groups(table, grant, model.schema, groups, classes, confidence)
    if counted.values[-1] > LEAST_ROWS * counted.noise:
        notes.append(f"About {counted.values[-1]:,.0f} rows have no listed class: left out.")
    return Evaluation(
        model=kind,
        target="classification",
        rows=float(pairs.values.sum()),
        confidence=confidence,
        measures=tuple(found),
        classes=tuple(str(one) for one in target.levels or ()),
        confusion=tuple(map(tuple, pairs.values.reshape(classes, classes).tolist())),
        reliability=tuple(curve),
        groups=tuple(told),
        receipt=write_receipt(grant, job.budget),
        notes=tuple(notes),
        entry=model.receipt.entry,
        edits=digest_of_edits(model),
    )


def _two_classes(
    table: PrivateTable, grant: Grant, confidence: float, *, chances: bool
) -> tuple[list[Measure], list[Reliability]]:
    fine = _FINE_CUTS if chances else _FINE_CUTS / 8.0
    spread = access(table, MarginCells(tuple(fine.tolist())), grant, _FINE)
    cuts = m.choose_cuts(fine, spread.values[:-1].copy(), spread.noise, _MOST_INTERVALS)
    counted = access(table, ClassMargins(tuple(cuts.tolist())), grant, _MARGINS)
    cells = counted.part(slice(-1))

    def by_class(counts: Floats) -> Floats:
        return m.auroc(counts.reshape(len(counts), -1, 2))

    totals = cells.values.reshape(-1, 2).sum(axis=0)
    if totals.min() < 1.5 * LEAST_ROWS * cells.noise * math.sqrt(len(cuts) + 1):
        found = [lost("AUROC")]
    else:
        room = m.auroc_room(cells.values.reshape(-1, 2))
        found = [redrawn("AUROC", cells, by_class, confidence, room=room)]
    if not chances:
        return found, []
    predicted, doubt = m.mean_chance(cuts, fine, spread.part(slice(-1)))
    found.append(m.calibration_error(cells, predicted, doubt, confidence))
    return found, m.reliability(cells, predicted, confidence)


def _many_classes(
    table: PrivateTable, grant: Grant, confidence: float
) -> tuple[list[Measure], list[Reliability]]:
    counted = access(table, ConfidenceCells(_CONFIDENCE_CUTS), grant, _CONFIDENCE)
    cells = counted.part(slice(-1))
    predicted = (np.arange(len(_CONFIDENCE_CUTS) + 1) + 0.5) / (len(_CONFIDENCE_CUTS) + 1)
    # Where in its interval of a tenth a row lies is not known: anywhere, all of them together.
    doubt = np.full(len(predicted), 0.1 / math.sqrt(12.0))
    measure = m.calibration_error(cells, predicted, doubt, confidence)
    return [measure], m.reliability(cells, predicted, confidence)


def _groups(
    table: PrivateTable,
    grant: Grant,
    schema: Schema,
    groups: tuple[str, ...],
    classes: int,
    confidence: float,
) -> tuple[list[GroupScores], list[str]]:
    told, notes = [], []
    for name in groups:
        levels = level_names(schema, name)
        counted = access(table, GroupCells(classes, name, len(levels) - 2), grant, of_group(name))
        silent = []
        for level, cells in zip(levels, counted.values.reshape(len(levels), -1), strict=True):
            pairs = Counted(cells[:-1], counted.noise, counted.together)
            rows = float(pairs.values.sum())
            if rows < LEAST_ROWS * counted.noise * classes or rows < 1.0:
                silent.append(level)
                continue
            measures = [m.accuracy(pairs, classes, confidence)]
            if classes == 2:
                measures += [m.rate_of(*one, confidence) for one in _rates(pairs)]
            told.append(GroupScores(name, level, rows, tuple(measures)))
        if silent:
            notes.append(f"Too few rows to tell, by {name}: {', '.join(silent)}.")
    return told, notes


def _rates(pairs: Counted) -> list[tuple[str, Counted, int | None]]:
    """What fairness asks: how often the second class is predicted, and rightly or wrongly so."""
    return [
        ("predicted rate", pairs, None),
        ("true-positive rate", pairs, 1),
        ("false-positive rate", pairs, 0),
    ]
