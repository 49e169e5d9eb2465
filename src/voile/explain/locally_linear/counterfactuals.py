"""What would have to change for another answer of locally linear maps: a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, softmax

from voile.errors import SettingError
from voile.explain.counterfactuals.goals import Goal, ModelAnswers
from voile.explain.counterfactuals.own import OwnModel
from voile.explain.counterfactuals.record import Counterfactuals
from voile.explain.counterfactuals.ruler import rule_by_range
from voile.explain.counterfactuals.suggest import search_row
from voile.explain.locally_linear.explain import score_errors
from voile.explaining import Wish, suggests
from voile.models.locally_linear.model import LocallyLinearModel

Floats = NDArray[np.float64]

METHOD = (
    "Suggestions were searched for: no change in one of them is needless, and numbers go no "
    "further than needed; that nothing smaller exists is not proven."
)


@suggests(LocallyLinearModel)
def suggest_changes(model: LocallyLinearModel, X: object, wish: Wish) -> Counterfactuals:
    """Tell what would have to change in rows for another class."""
    if model.image_shape is not None:
        raise SettingError(
            "What would have to change is asked of columns, and these rows are pictures: use "
            "explain_local(), which shows the linear maps that counted."
        )
    classes = model.classes

    def ask(columns: Mapping[str, NDArray[Any]], rows: int) -> Floats:
        return np.asarray(softmax(model.decide(columns), axis=1))

    def doubt(columns: Mapping[str, NDArray[Any]], rows: int, goal: Goal) -> Floats:
        """By how many standard errors of the noise (shares held fixed) rows pass what is wanted."""
        points = model.spread(columns).points
        maps = model.map_scores(points)
        scores, errors = (
            model.class_scores(maps),
            score_errors(model, points, model.contributions(maps)),
        )
        own, error = scores[:, goal.place], errors[:, goal.place]
        rest = np.delete(np.arange(len(classes)), goal.place)
        rival = rest[scores[:, rest].argmax(axis=1)]
        each = np.arange(rows)
        lead = own - scores[each, rival]
        whole = np.hypot(error, errors[each, rival])
        if goal.kind == "other class":
            lead = -lead
        elif goal.kind == "range":
            odds = logit(softmax(scores, axis=1)[:, goal.place])
            lead = np.minimum(odds - logit(max(goal.low, 0.0)), logit(min(goal.high, 1.0)) - odds)
        return np.asarray(lead / np.maximum(whole, 1e-300))

    return OwnModel(
        schema=model.schema,
        receipt=model.receipt,
        answers=ModelAnswers("probability", classes, tuple(map(str, classes))),
        ask=ask,
        ruler=rule_by_range(model.schema),
        method=METHOD,
        solver=search_row,
        doubt=doubt if model.weight_errors.any() else None,
    ).suggest(X, wish)
