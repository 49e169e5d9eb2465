"""One private evaluation: plan, ledger, looks, measures, receipt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from voile.errors import SchemaError, SettingError
from voile.models.evaluation import measures as m
from voile.models.evaluation.answers import has_probabilities
from voile.models.evaluation.queries import (
    ERROR_CUTS,
    ClassMargins,
    ConfidenceCells,
    ConfusionCells,
    ErrorSizes,
    ErrorSums,
    GroupCells,
    MarginCells,
    Prepared,
)
from voile.models.evaluation.record import (
    Evaluation,
    GroupScores,
    Measure,
    Reliability,
    digest_of_edits,
)
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_share
from voile.privacy.events import Plan
from voile.privacy.grant import Grant, reserve
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Query
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable, keep, protect
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]

_CONFUSION, _FINE, _MARGINS, _CONFIDENCE = (
    "predicted and true classes",
    "distribution of scores",
    "scores by class",
    "confidence and success",
)
_SIZES, _SUMS = "sizes of errors", "errors"
_FINE_CUTS: Floats = np.arange(-31.0, 32.0) * 0.25
"""Cuts of log-odds; of relative distances, divided by 8."""
_MOST_INTERVALS = 16
_CONFIDENCE_CUTS = tuple(float(one) for one in np.arange(1, 10) / 10)
_LEAST_ROWS = 4.0
"""A group is told if its noised rows stand this many standard errors clear of 0."""


def evaluate(
    model: Any,
    kind: str,
    X: object,
    y: object,
    *,
    budget: Budget,
    ledger: Ledger | None,
    groups: Sequence[str] = (),
    confidence: float = 0.95,
) -> Evaluation:
    """Measure a frozen model on private rows.

    Parameters
    ----------
    model : frozen model
        With a complete schema.
    kind : str
        What to call it.
    X, y : as for ``fit``
        Rows that the model has not seen, or the figures flatter it.
    budget : Budget
        What this may cost.
    ledger : Ledger or None
        Where it is recorded; None for one of its own.
    groups : sequence of str
        Categories by whose levels the measures are told, too.
    confidence : float
        Of the intervals, in (0, 1).

    Raises
    ------
    BudgetExceeded
        If it does not fit the ledger; nothing was spent.
    """
    if isinstance(confidence, bool) or not 0.0 < confidence < 1.0:
        raise SettingError(f"The 'confidence' must be in (0, 1). Got {confidence!r} instead.")
    schema: Schema = model.schema
    groups = _check_groups(groups, schema)
    table = protect(X, y, schema=schema)
    book = Ledger(budget) if ledger is None else ledger
    if isinstance(schema.target, Number):
        return _evaluate_numbers(table, model, kind, budget, book, confidence)
    return _evaluate_classes(table, model, kind, budget, book, groups, confidence)


def _check_groups(groups: Sequence[str], schema: Schema) -> tuple[str, ...]:
    groups = (groups,) if isinstance(groups, str) else tuple(groups)
    if groups and isinstance(schema.target, Number):
        raise SettingError("Groups are told for classes alone: leave 'groups' out of a regression.")
    for name in groups:
        if name not in schema.categories:
            raise SchemaError(
                f"The group {name!r} is not a category of the model: name some of "
                f"{', '.join(map(repr, schema.categories)) or '(there are none)'}."
            )
    if len(set(groups)) < len(groups):
        raise SettingError("A group is named twice: name each once.")
    return groups


def _pay(
    table: PrivateTable,
    model: Any,
    kind: str,
    groups: tuple[str, ...],
    shape: Plan,
    budget: Budget,
    book: Ledger,
) -> Grant:
    plan = calibrate(budget, shape, book.relation)
    grant = reserve(table, book, plan, f"quality of {kind}")
    prepared = Prepared(model, model.schema, groups)
    keep(table, prepared.columns, prepared.prepare)
    return grant


def _look(table: PrivateTable, query: Query, grant: Grant, label: str) -> m.Counted:
    release = gaussian_sum(table, query, grant.take(label))
    return m.Counted(release.values, release.standard_error)


# -- classes --------------------------------------------------------------------------------------


def _evaluate_classes(
    table: PrivateTable,
    model: Any,
    kind: str,
    budget: Budget,
    book: Ledger,
    groups: tuple[str, ...],
    confidence: float,
) -> Evaluation:
    target = model.schema.target
    assert isinstance(target, Category)
    classes = len(target.levels or ())
    two, chances = classes == 2, has_probabilities(model)
    shape = [gaussian_share(_CONFUSION, 0.2)]
    if two:
        shape += [gaussian_share(_FINE, 0.15), gaussian_share(_MARGINS, 0.45)]
    elif chances:
        shape += [gaussian_share(_CONFIDENCE, 0.3)]
    shape += [gaussian_share(_of_group(name), 0.3) for name in groups]
    grant = _pay(table, model, kind, groups, Plan(tuple(shape)), budget, book)
    counted = _look(table, ConfusionCells(classes), grant, _CONFUSION)
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
    if counted.values[-1] > _LEAST_ROWS * counted.noise:
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
    spread = _look(table, MarginCells(tuple(fine.tolist())), grant, _FINE)
    cuts = m.choose_cuts(fine, spread.values[:-1].copy(), spread.noise, _MOST_INTERVALS)
    counted = _look(table, ClassMargins(tuple(cuts.tolist())), grant, _MARGINS)
    cells = m.Counted(counted.values[:-1], counted.noise)

    def by_class(counts: Floats) -> Floats:
        return m.auroc(counts.reshape(len(counts), -1, 2))

    totals = cells.values.reshape(-1, 2).sum(axis=0)
    if totals.min() < 1.5 * _LEAST_ROWS * cells.noise * math.sqrt(len(cuts) + 1):
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
    counted = _look(table, ConfidenceCells(_CONFIDENCE_CUTS), grant, _CONFIDENCE)
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


def _of_group(name: str) -> str:
    return f"classes by {name}"


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
        column = schema[name]
        assert isinstance(column, Category)
        levels = (*map(str, column.levels or ()), "(other)", "(missing)")
        counted = _look(table, GroupCells(classes, name, len(levels) - 2), grant, _of_group(name))
        silent = []
        for level, cells in zip(levels, counted.values.reshape(len(levels), -1), strict=True):
            pairs = m.Counted(cells[:-1], counted.noise)
            rows = float(pairs.values.sum())
            if rows < _LEAST_ROWS * counted.noise * classes or rows < 1.0:
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


# -- numbers --------------------------------------------------------------------------------------


def _evaluate_numbers(
    table: PrivateTable, model: Any, kind: str, budget: Budget, book: Ledger, confidence: float
) -> Evaluation:
    target = model.schema.target
    width = float(target.upper) - float(target.lower)
    shape = Plan((gaussian_share(_SIZES, 0.25), gaussian_share(_SUMS, 0.75)))
    grant = _pay(table, model, kind, (), shape, budget, book)
    sizes = _look(table, ErrorSizes(width), grant, _SIZES)
    clip, beyond = _choose_clip(sizes, width)
    sums = _look(table, ErrorSums(clip), grant, _SUMS)
    rows = float(sums.values[0])
    notes = []
    if beyond > 0:
        notes.append(
            f"Errors beyond {clip:.4g} (at most about {100 * beyond:.1f} % of the rows) count as "
            "that much."
        )
    return Evaluation(
        model=kind,
        target="regression",
        rows=rows,
        confidence=confidence,
        measures=tuple(_of_errors(sizes, sums, clip, width, confidence)),
        classes=(),
        confusion=(),
        reliability=(),
        groups=(),
        receipt=write_receipt(grant, budget),
        notes=tuple(notes),
        entry=model.receipt.entry,
        edits=digest_of_edits(model),
    )


def _choose_clip(sizes: m.Counted, width: float) -> tuple[float, float]:
    """The largest size of errors that stands clear of the noise, and what may lie beyond it."""
    counts = sizes.values[:-1]
    # Thirty cells: noise alone passes four standard errors once in a thousand evaluations.
    clear = max(4.0 * sizes.noise, 0.5)
    filled = np.flatnonzero(counts > clear)
    if not len(filled) or filled[-1] >= len(ERROR_CUTS):
        return width, 0.0
    last = int(filled[-1])
    beyond = float(np.maximum(counts[last + 1 :], 0.0).sum() / max(counts.sum(), 1.0))
    return float(ERROR_CUTS[last]) * width, beyond


def _of_errors(
    sizes: m.Counted, sums: m.Counted, clip: float, width: float, confidence: float
) -> list[Measure]:
    rows, first, second, absolute = (float(one) for one in sums.values)
    if rows < 3.0 * max(sums.noise, 1e-9) or rows < 1.0:
        return [
            Measure(name, math.nan, low, width, math.nan, "units of the target")
            for name, low in (("RMSE", 0.0), ("MAE", 0.0), ("bias", -width))
        ]
    # Fourth moments, for the chance of which rows were there: from the sizes that were counted.
    edges = np.minimum(np.concatenate([[0.0], ERROR_CUTS]) * width / clip, 1.0)
    middles = np.append((edges[1:] + edges[:-1]) / 2, 1.0)
    weights = np.maximum(sizes.values[:-1], 0.0)
    fourth = float((weights * middles**4).sum() / max(weights.sum(), 1.0))
    mean, square, size = first / rows, max(second / rows, 0.0), max(absolute / rows, 0.0)
    reach = float(-ndtri((1.0 - confidence) / 2.0))
    noise = sums.noise / rows

    def measure(name: str, value: float, low: float, spread: float, slope: float) -> Measure:
        # Noise of the sum and of the row count it is divided by.
        own = slope * noise * math.sqrt(1.0 + value**2)
        total = reach * math.sqrt(own**2 + slope**2 * max(spread, 0.0) / rows)
        return Measure(
            name,
            value * clip,
            max((value - total) * clip, low),
            (value + total) * clip,
            own * clip,
            "units of the target",
        )

    root = math.sqrt(square)
    slope = 1.0 / (2.0 * max(root, math.sqrt(noise), 1e-12))
    return [
        measure("RMSE", root, 0.0, fourth - square**2, slope),
        measure("MAE", size, 0.0, square - size**2, 1.0),
        measure("bias", mean, -width, square - mean**2, 1.0),
    ]
