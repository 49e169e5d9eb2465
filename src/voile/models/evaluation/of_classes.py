"""The quality of a classifier: accuracy, area under the curve, calibration, rates by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation import measures as m
from voile.models.evaluation.answers import has_probabilities
from voile.models.evaluation.looks import LEAST_ROWS, level_names, look, of_group, pay
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
from voile.privacy.budget import Budget
from voile.privacy.calibrate import gaussian_share
from voile.privacy.events import Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
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
    table: PrivateTable,
    model: Any,
    kind: str,
    budget: Budget,
    book: Ledger,
    groups: tuple[str, ...],
    confidence: float,
) -> Evaluation:
    """Measure a classifier on protected rows."""
    target = model.schema.target
    assert isinstance(target, Category)
    classes = len(target.levels or ())
    two, chances = classes == 2, has_probabilities(model)
    shape = [gaussian_share(_CONFUSION, 0.2)]
    if two:
        shape += [gaussian_share(_FINE, 0.15), gaussian_share(_MARGINS, 0.45)]
    elif chances:
        shape += [gaussian_share(_CONFIDENCE, 0.3)]
    shape += [gaussian_share(of_group(name), 0.3) for name in groups]
    grant = pay(table, model, kind, groups, Plan(tuple(shape)), budget, book)
    counted = look(table, ConfusionCells(classes), grant, _CONFUSION)
    pairs = m.Counted(counted.values[:-1], counted.noise)
    found = _of_pairs(pairs, classes, confidence)
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
        receipt=write_receipt(grant, budget),
        notes=tuple(notes),
        entry=model.receipt.entry,
        edits=digest_of_edits(model),
    )


def _of_pairs(pairs: m.Counted, classes: int, confidence: float) -> list[Measure]:
    def of_square(measure: Any) -> Any:
        return lambda counts: measure(counts.reshape(-1, classes, classes))

    return [
        m.estimate("accuracy", pairs, of_square(m.accuracy), confidence),
        m.estimate("balanced accuracy", pairs, of_square(m.balanced_accuracy), confidence),
    ]


def _two_classes(
    table: PrivateTable, grant: Grant, confidence: float, *, chances: bool
) -> tuple[list[Measure], list[Reliability]]:
    fine = _FINE_CUTS if chances else _FINE_CUTS / 8.0
    spread = look(table, MarginCells(tuple(fine.tolist())), grant, _FINE)
    cuts = m.choose_cuts(fine, spread.values[:-1].copy(), spread.noise, _MOST_INTERVALS)
    counted = look(table, ClassMargins(tuple(cuts.tolist())), grant, _MARGINS)
    cells = m.Counted(counted.values[:-1], counted.noise)

    def by_class(counts: Floats) -> Floats:
        return m.auroc(counts.reshape(len(counts), -1, 2))

    totals = cells.values.reshape(-1, 2).sum(axis=0)
    if totals.min() < 1.5 * LEAST_ROWS * cells.noise * math.sqrt(len(cuts) + 1):
        found = [Measure("AUROC", math.nan, 0.0, 1.0, math.nan)]
    else:
        found = [m.estimate("AUROC", cells, by_class, confidence)]
    if not chances:
        return found, []
    predicted = m.mean_chance(cuts, fine, spread.values[:-1])
    gap = m.calibration_error(predicted, cells.noise)
    found.append(
        m.estimate(
            "calibration error",
            cells,
            lambda counts: gap(counts.reshape(len(counts), -1, 2)),
            confidence,
        )
    )
    return found, m.reliability(cells, predicted, confidence)


def _many_classes(
    table: PrivateTable, grant: Grant, confidence: float
) -> tuple[list[Measure], list[Reliability]]:
    counted = look(table, ConfidenceCells(_CONFIDENCE_CUTS), grant, _CONFIDENCE)
    cells = m.Counted(counted.values[:-1], counted.noise)
    predicted = (np.arange(len(_CONFIDENCE_CUTS) + 1) + 0.5) / (len(_CONFIDENCE_CUTS) + 1)
    gap = m.calibration_error(predicted, cells.noise)
    measure = m.estimate(
        "calibration error",
        cells,
        lambda counts: gap(counts.reshape(len(counts), -1, 2)),
        confidence,
    )
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
        counted = look(table, GroupCells(classes, name, len(levels) - 2), grant, of_group(name))
        silent = []
        for level, cells in zip(levels, counted.values.reshape(len(levels), -1), strict=True):
            pairs = m.Counted(cells[:-1], counted.noise)
            rows = float(pairs.values.sum())
            if rows < LEAST_ROWS * counted.noise * classes or rows < 1.0:
                silent.append(level)
                continue
            measures = _of_pairs(pairs, classes, confidence)[:1]
            if classes == 2:
                measures += _rates(pairs, confidence)
            told.append(GroupScores(name, level, rows, tuple(measures)))
        if silent:
            notes.append(f"Too few rows to tell, by {name}: {', '.join(silent)}.")
    return told, notes


def _rates(pairs: m.Counted, confidence: float) -> list[Measure]:
    """What fairness asks: how often the second class is predicted, and rightly or wrongly so."""

    def rate(true: int | None) -> Any:
        return lambda counts: m.rate_of(counts.reshape(-1, 2, 2), true=true)

    return [
        m.estimate("predicted rate", pairs, rate(None), confidence),
        m.estimate("true-positive rate", pairs, rate(1), confidence),
        m.estimate("false-positive rate", pairs, rate(0), confidence),
    ]
