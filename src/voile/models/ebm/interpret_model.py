"""A model as an Explainable Boosting Machine of the package interpret, for its plots and tools.

Conversion goes one way and through public attributes alone. Predictions agree, with these limits:

- A regression's predictions are not kept inside the target's bounds.
- Levels are text there: 1, 1.0 and True are all "1", also for a text column that holds "1"; truth
  values in one column with text or whole numbers are not recognised.
- Dates and times must be given as numbers, in seconds as in Voile.
- Of three or more classes, interpret warns and leaves pairs out when it explains.
- `interpret.glassbox.merge_ebms` centres scores anew, and forgets those of bins without a count.

Privacy does not change: only released values are passed on. But interpret keeps no receipt. To
draw its explanations, interpret needs packages of its own (matplotlib, plotly).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import MissingExtra, ModelError
from voile.models.ebm.interpret_pairs import pair_cuts, rearrange_pairs
from voile.models.ebm.model import EBMModel, Term
from voile.schema import Category, Number
from voile.schema.columns import Level

_Floats = NDArray[np.float64]

_LINKS = {"identity": "identity", "log": "log", "logit": "logit", "softmax": "mlogit"}


def to_interpret(model: EBMModel) -> Any:
    """An ExplainableBoostingClassifier or -Regressor with the model's scores.

    It can predict, explain (`explain_global`, `explain_local`) and be merged. Its bin weights are
    the private counts, its standard deviations the privacy noise of the scores.

    Raises
    ------
    MissingExtra
        If interpret-core is not installed.
    ModelError
        If two levels of a category have the same text, or a softmax has fewer than three classes.
    """
    try:
        from interpret.glassbox import (
            ExplainableBoostingClassifier,
            ExplainableBoostingRegressor,
        )
    except ImportError as error:
        raise MissingExtra("interpret-core", "interpret") from error

    names = [term.name for term in model.terms]
    pairs = rearrange_pairs(model)
    types = ["continuous" if isinstance(t.column, Number) else "nominal" for t in model.terms]
    kind = ExplainableBoostingClassifier if model.classes else ExplainableBoostingRegressor
    # Fitting it again would otherwise add other interactions than this model has.
    interactions = [pair.features for pair in pairs] or 0
    machine = kind(
        feature_names=names, feature_types=types, interactions=interactions, outer_bags=1
    )
    machine.n_features_in_ = len(names)
    machine.feature_names_in_ = list(names)
    machine.feature_types_in_ = list(types)
    machine.feature_bounds_ = np.array([_bounds(term) for term in model.terms])
    cuts = pair_cuts(model)
    machine.bins_ = [[_bins(t), *([cuts[t.name]] if t.name in cuts else [])] for t in model.terms]
    machine.term_features_ = [
        *((position,) for position in range(len(names))),
        *(pair.features for pair in pairs),
    ]
    machine.term_names_ = [*names, *(pair.name for pair in pairs)]
    machine.bin_weights_ = [
        *(_weights(term) for term in model.terms),
        *(pair.weights for pair in pairs),
    ]
    machine.term_scores_ = [
        *(_rearrange(term, term.scores) for term in model.terms),
        *(pair.scores for pair in pairs),
    ]
    machine.standard_deviations_ = [
        *(_rearrange(term, term.standard_errors) for term in model.terms),
        *(pair.errors for pair in pairs),
    ]
    machine.bagged_scores_ = [scores[None].copy() for scores in machine.term_scores_]
    # Merging weighs machines by this: the rows behind each, as far as they are known.
    machine.bag_weights_ = np.array([np.mean([w.sum() for w in machine.bin_weights_])])
    machine.link_ = _LINKS[model.link]
    machine.link_param_ = float("nan")
    _set_target(machine, model)
    machine.has_fitted_ = True
    return machine


def _set_target(machine: Any, model: EBMModel) -> None:
    """The intercept, and the classes or bounds of the target."""
    target = model.schema.target
    if isinstance(target, Number):
        machine.intercept_ = float(model.intercept[0])
        machine.min_target_, machine.max_target_ = target.lower, target.upper
    else:
        if model.link == "softmax" and model.outputs < 3:
            raise ModelError(
                f"interpret needs three classes or more for a softmax, and the model has "
                f"{model.outputs}: train it with the link of two classes."
            )
        machine.intercept_ = np.array(model.intercept)
        machine.classes_ = _class_array(model.classes)
    bagged = np.array(model.intercept)[None]
    machine.bagged_intercept_ = bagged if model.outputs > 1 else bagged[0]


def _class_array(classes: Sequence[object]) -> NDArray[Any]:
    """Classes of one type as numpy's type for it; mixed ones as they are."""
    if len({type(one) for one in classes}) == 1:
        return np.array(classes)
    array = np.empty(len(classes), object)
    array[:] = classes
    return array


def _bounds(term: Term) -> tuple[float, float]:
    if isinstance(term.column, Number):
        return float(term.edges[0]), float(term.edges[-1])
    return float("nan"), float("nan")


def _bins(term: Term) -> _Floats | dict[str, int]:
    """Cuts, or positions of the levels' texts from 1 on."""
    if isinstance(term.column, Number):
        return np.array(term.cuts, dtype=np.float64, order="C")
    texts: dict[str, int] = {}
    for position, level in enumerate(term.column.levels or (), 1):
        text = _level_text(level)
        if text in texts:
            raise ModelError(
                f"Term {term.name!r} has two levels with the text {text!r}, which interpret cannot "
                f"tell apart: rename one of them in the data and the schema."
            )
        texts[text] = position
    return texts


def _level_text(level: Level) -> str:
    """The text that interpret makes of a value: whole numbers without a point, truth as 1 and 0."""
    if isinstance(level, str):
        return level
    if isinstance(level, float):
        return str(level + 0.0).removesuffix(".0")  # + 0.0: no negative zero
    return str(int(level))


def _rearrange(term: Term, table: _Floats) -> _Floats:
    """Scores in interpret's order: missing, then bins or levels, then values that are unknown.

    Shape (bins,), or (bins, outputs) with several outputs. An unknown value of a number is one that
    cannot be read, which counts as missing here.
    """
    missing, rest = table[-1:], table[:-1]
    parts = [missing, rest, missing] if isinstance(term.column, Number) else [missing, rest]
    ordered = np.concatenate(parts)
    return ordered if ordered.shape[1] > 1 else ordered[:, 0].copy()


def _weights(term: Term) -> _Floats:
    """Private counts in the same order; values that cannot be read are counted as missing."""
    counts = term.counts
    if counts.sum() <= 0:  # interpret divides by the sum
        counts = np.ones(term.bins)
    parts = [counts[-1:], counts[:-1]]
    if not isinstance(term.column, Category):
        parts.append(np.zeros(1))
    return np.concatenate(parts)
