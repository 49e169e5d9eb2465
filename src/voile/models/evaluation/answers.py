"""What a model says of private rows, computed so that no row changes what it says of another.

BLAS rounds a row otherwise when others stand beside it; counts of cells would then move by more
than one when one row is added (docs/proofs/evaluation.md). So additive models are read by access-up
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


@dataclass(frozen=True)
class Answers:
    """What a model says of some rows.

    Attributes
    ----------
    predicted : ndarray of shape (rows,)
        Position of the predicted class, or the predicted number in the target's units.
    margins : ndarray of shape (rows,)
        Two classes: score of the second (log-odds where there are probabilities). More: the
        probability of the predicted class, NaN where there are none. Regression: unused, zeros.
    """

    predicted: NDArray[Any]
    margins: Floats


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
    if model.link == "identity":
        return Answers(model.respond(scores), np.zeros(rows))
    if model.link == "logit":
        return Answers((scores[:, 0] > 0).astype(np.int64), scores[:, 0])
    return _of_scores(scores)


@answer.register
def _(model: LVQModel, columns: Mapping[str, NDArray[Any]], rows: int) -> Answers:
    points = model.points(columns)
    buffer = np.empty((1, points.shape[1]))
    predicted, margins = np.zeros(rows, dtype=np.int64), np.full(rows, np.nan)
    for row in range(rows):
        buffer[0] = points[row]
        far = model.class_distances(buffer)[0]
        predicted[row] = int(far.argmin())
        if len(far) == 2:
            total = far[0] + far[1]
            margins[row] = (far[0] - far[1]) / max(total, 1e-300) if np.isfinite(total) else 0.0
    return Answers(predicted, margins)


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
    return _of_scores(scores)


def _of_scores(scores: Floats) -> Answers:
    """Classes by scores whose softmax gives probabilities."""
    predicted = scores.argmax(axis=1).astype(np.int64)
    if scores.shape[1] == 2:
        return Answers(predicted, scores[:, 1] - scores[:, 0])
    if scores.shape[1] < 2:
        return Answers(predicted, np.full(len(scores), np.nan))
    # The probability of the best class, from elementwise functions that treat rows alike: its
    # odds against each other class, one after the other.
    best = scores[np.arange(len(scores)), predicted] if len(scores) else np.zeros(0)
    against = np.zeros(len(scores))
    for k in range(scores.shape[1]):
        odds = expit(scores[:, k] - best)  # p_k / (p_k + p_best)
        against += np.where(predicted == k, 0.0, odds / (1.0 - odds))
    return Answers(predicted, 1.0 / (1.0 + against))
