"""What a model says of private rows, computed so that no row changes what it says of another.

BLAS rounds a row otherwise when others stand beside it; counts of cells would then move by more
than one when one row is added (docs/proofs/evaluation.md). So additive models are read by look-up
and sums in a fixed order, and other models one row at a time from one buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from voile.errors import SettingError
from voile.models.ebm.model import EBMModel
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.lvq.model import LVQModel

Floats = NDArray[np.float64]


MOST_CLASSES = 10
"""With more classes, no curves of each class against the rest are measured."""


@dataclass(frozen=True)
class ScoredClass:
    """One score of every row that shall tell two kinds of rows apart.

    Attributes
    ----------
    name : str
        The positive class; "" for right predictions.
    true : int or None
        Position of the positive class; None: a row is positive if its prediction is right.
    """

    name: str
    true: int | None


def watched(model: Any) -> tuple[ScoredClass, ...]:
    """What the scores of a classifier are of, in the order of `Answers.scores`."""
    names = [str(one) for one in model.schema.target.levels]
    if len(names) < 2:
        return ()
    if len(names) == 2:
        return (ScoredClass(names[1], 1),)
    each = tuple(ScoredClass(name, k) for k, name in enumerate(names))
    each = each if len(names) <= MOST_CLASSES else ()
    return (*each, ScoredClass("", None)) if has_probabilities(model) else each


@dataclass(frozen=True)
class Answers:
    """What a model says of some rows.

    Attributes
    ----------
    predicted : ndarray of shape (rows,)
        Position of the predicted class, or the predicted number in the target's units.
    scores : ndarray of shape (rows, watched)
        Of everything that is `watched`: log-odds (two classes) or probabilities (more); of
        prototypes, relative distances in [-1, 1]. Regression: none.
    """

    predicted: NDArray[Any]
    scores: Floats


@singledispatch
def answer(model: Any, columns: Mapping[str, NDArray[Any]], rows: int) -> Answers:
    """What ``model`` says of encoded rows, each by itself."""
    raise SettingError(
        f"A {type(model).__name__} cannot be scored privately: additive models, prototypes and "
        "locally linear maps can."
    )


def has_probabilities(model: Any) -> bool:
    """Whether a model's scores are log-odds, so that calibration means something."""
    return not isinstance(model, LVQModel)


@answer.register
def _(model: EBMModel, columns: Mapping[str, NDArray[Any]], rows: int) -> Answers:
    scores = model.scores(columns) if rows else np.zeros((0, model.outputs))
    if model.exposure is not None:
        exposures = columns[model.exposure.name]
        return Answers(model.respond_to(scores, exposures), np.zeros((rows, 0)))
    if not model.classes:
        return Answers(model.respond(scores), np.zeros((rows, 0)))
    if model.link == "logit":
        return Answers((scores[:, 0] > 0).astype(np.int64), scores[:, :1])
    return _of_scores(scores, len(watched(model)))


@answer.register
def _(model: LVQModel, columns: Mapping[str, NDArray[Any]], rows: int) -> Answers:
    points = model.points(columns)
    buffer = np.empty((1, points.shape[1]))
    classes = [one.true for one in watched(model)]
    predicted, scores = np.zeros(rows, dtype=np.int64), np.zeros((rows, len(classes)))
    for row in range(rows):
        buffer[0] = points[row]
        far = model.class_distances(buffer)[0]
        predicted[row] = int(far.argmin())
        for i, k in enumerate(classes):
            scores[row, i] = _relative_distance(far, int(k or 0))
    return Answers(predicted, scores)


@answer.register
def _(model: LocallyLinearModel, columns: Mapping[str, NDArray[Any]], rows: int) -> Answers:
    features = model.inputs.read(columns, rows)
    transformed = model.inputs.transform(features)  # exact for each row
    seen, moved = np.empty((1, features.shape[1])), np.empty((1, transformed.shape[1]))
    scores = np.zeros((rows, len(model.classes)))
    for row in range(rows):
        seen[0], moved[0] = features[row], transformed[row]
        points = model.inputs.spread_transformed(seen, moved).points
        scores[row] = model.class_scores(model.map_scores(points))[0]
    return _of_scores(scores, len(watched(model)))


def _relative_distance(far: Floats, k: int) -> float:
    """How much farther the nearest other class is than class ``k``, as a part of both."""
    other = float(np.delete(far, k).min(initial=np.inf))
    total = other + float(far[k])
    return (other - float(far[k])) / max(total, 1e-300) if np.isfinite(total) else 0.0


def _of_scores(scores: Floats, wanted: int) -> Answers:
    """Classes by scores whose softmax gives probabilities."""
    predicted = scores.argmax(axis=1).astype(np.int64)
    if scores.shape[1] == 2:
        return Answers(predicted, (scores[:, 1] - scores[:, 0])[:, None])
    if scores.shape[1] < 2:
        return Answers(predicted, np.zeros((len(scores), wanted)))
    best = scores[np.arange(len(scores)), predicted] if len(scores) else np.zeros(0)
    columns = [*(scores[:, k] for k in range(wanted - 1)), best]
    return Answers(predicted, np.stack([_probability(scores, one) for one in columns], axis=1))


def _probability(scores: Floats, own: Floats) -> Floats:
    """The probability of the class with the score ``own``, among those of ``scores``.

    From elementwise functions that treat rows alike, one class after the other.
    """
    # exp of a score minus the own one; the own one adds 1.
    total = np.zeros(len(scores))
    for k in range(scores.shape[1]):
        odds = expit(scores[:, k] - own)  # p_k / (p_k + p_own)
        with np.errstate(divide="ignore"):
            total += odds / (1.0 - odds)
    return np.asarray(1.0 / total)
