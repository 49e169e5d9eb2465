"""Explanations of locally maps: the linear maps of each class, and how single rows blend them.

Everything here is computed from the released values of the model and from rows that the caller
holds anyway, so it costs nothing. Maps are ranked without any row: by inputs that the linear maps
themselves describe.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from voile.explain.ebm.text import CLASS_SCORE
from voile.explain.given_values import explain_features, tell_features
from voile.explain.locally_linear.local import LinearMapDecision, LocallyLinearLocalExplanation
from voile.explain.locally_linear.overall import LocallyLinearExplanation
from voile.explaining import explains
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.pixels import flatten_pictures
from voile.models.verdict import ColumnVerdict, allow_for_many, judge
from voile.privacy.public_rows import encode_public

Floats = NDArray[np.float64]

_SMALLEST = 1e-3
"""Directions that the basis keeps less of, compared with the strongest, are left out of the average
picture: dividing by so little would show noise."""


@explains(LocallyLinearModel)
def explain_global(model: LocallyLinearModel) -> LocallyLinearExplanation:
    """Show a whole model: the maps of each class with their errors, and how much each counts."""
    p_values, known = _p_values(model), model.evidence is not None
    return LocallyLinearExplanation(
        outputs=tuple(map(str, model.classes)),
        units=CLASS_SCORE,
        receipt=model.receipt,
        features=explain_features(model.features),
        verdicts=_verdicts(p_values),
        linear_maps=model.linear_maps,
        standard_errors=model.whole_linear_map_errors,
        noise_errors=model.linear_map_errors if known else None,
        evidence=model.feature_evidence,
        p_values=p_values,
        offsets=model.offsets,
        shares=rank_maps(model),
        average=_average_input(model),
        beta=float(model.beta),
        taught_by=model.taught_by,
        image_shape=model.image_shape,
    )


def _p_values(model: LocallyLinearModel) -> Floats | None:
    """Of each column, allowing for all of them; None for pictures, or if nothing is known."""
    evidence = model.feature_evidence
    if evidence is None or model.image_shape is not None:
        return None
    names = [one.column for one in model.features.each]
    places = [[j for j, name in enumerate(names) if name == own] for own in dict.fromkeys(names)]
    return allow_for_many([evidence.p_value(c, own) for c, own in enumerate(places)])


def _verdicts(p_values: Floats | None) -> tuple[ColumnVerdict, ...]:
    return () if p_values is None else tuple(judge(p) for p in p_values.tolist())


@explains(LocallyLinearModel, rows=True)
def explain_local(model: LocallyLinearModel, X: object) -> LocallyLinearLocalExplanation:
    """Show why some rows got their class: the maps that counted, and what each input added.

    Parameters
    ----------
    model : LocallyLinearModel
    X : data frame, array, mapping or list of rows, shape (rows, columns)
        Rows that the caller holds; they are not kept behind the vault. Pictures may also be an
        array of shape (rows, height, width) or (rows, height, width, channels).

    Returns
    -------
    LocallyLinearLocalExplanation
        With u the row's features and c those of the average input, a point of the model is
        ``B (scale u - shift c)`` over the radius. So the score of class k is the blended offset
        plus the sum over features j of ``map_kj (scale u_j - shift c_j)``.
    """
    rows = flatten_pictures(X, model.image_shape)
    columns = encode_public(rows, model.schema)
    features = explain_features(model.features)
    given, read_as = tell_features(
        model.schema, features, rows, columns, _in_units(model, model.inputs.filling)
    )
    return LocallyLinearLocalExplanation(
        outputs=tuple(map(str, model.classes)),
        units=CLASS_SCORE,
        receipt=model.receipt,
        features=features,
        verdicts=_verdicts(_p_values(model)),
        linear_maps=model.linear_maps,
        standard_errors=model.whole_linear_map_errors,
        noise_errors=model.linear_map_errors if model.evidence is not None else None,
        common_errors=None
        if model.feature_evidence is None
        else model.feature_evidence.class_errors,
        average=_average_input(model),
        decisions=_decide(model, columns, given, read_as) if given else (),
        image_shape=model.image_shape,
    )


def rank_maps(model: LocallyLinearModel) -> Floats:
    """How much each map counts for inputs of its class, shape (classes, maps), without any row.

    Such inputs are made of the model alone. What a map says beyond the same map of the other
    classes is a direction; halfway between it and the mean of such directions of the class lies an
    input that is typical of the class and suits this map. The shares of all maps are taken there,
    and their mean over these inputs. On MNIST and Fashion-MNIST (epsilon 2), where this way was
    chosen, they agree with the mean shares of test rows: rank correlation 0.7 to 0.85, and the
    linear maps of a class that are blended by them have a cosine of 0.96 to 0.99.
    """
    weights = model.weights
    # Common to all classes, as the chance they all start from, is what no answer depends on.
    own = weights - weights.mean(axis=0) if len(weights) > 1 else weights
    middle = _directions(own.mean(axis=1, keepdims=True))
    inputs = _directions(middle + _directions(own))
    result = np.empty(weights.shape[:2])
    for k in range(len(weights)):
        result[k] = model.contributions(model.map_scores(inputs[k]))[:, k].mean(axis=0)
    return result


def _directions(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


# -- single rows --------------------------------------------------------------------------------


def _decide(
    model: LocallyLinearModel,
    columns: dict[str, NDArray[Any]],
    given: tuple[tuple[str, ...], ...],
    read_as: tuple[tuple[str, ...], ...],
) -> tuple[LinearMapDecision, ...]:
    spread = model.spread(columns)
    maps = model.map_scores(spread.points)
    shares, scores = model.contributions(maps), model.class_scores(maps)
    average = _average_input(model)
    strengths = spread.scale[:, None] * spread.features - spread.shift[:, None] * average
    # The rest of a point, which no feature shows: rounding (the model rounds a smooth basis), and
    # what the average picture cannot have of the centre.
    seen = strengths @ model.inputs.matrix.T / model.inputs.radius
    rest = model.map_scores(spread.points - seen)
    base = (shares * rest).sum(axis=2)
    errors = score_errors(model, spread.points, shares)
    probabilities = softmax(scores, axis=1)
    values = _in_units(model, spread.features)
    order = np.argsort(-scores, axis=1, kind="stable")
    several = len(model.classes) > 1
    return tuple(
        LinearMapDecision(
            predicted=int(order[i, 0]),
            runner_up=int(order[i, 1]) if several else -1,
            probabilities=probabilities[i],
            scores=scores[i],
            score_errors=errors[i],
            margin_error=float(np.hypot(*errors[i, order[i, :2]])) if several else 0.0,
            base=base[i],
            shares=shares[i],
            map_scores=maps[i],
            values=values[i],
            strengths=strengths[i],
            given=given[i],
            read_as=read_as[i],
        )
        for i in range(len(scores))
    )


def _average_input(model: LocallyLinearModel) -> Floats:
    """Features of the average input: those whose point is the centre, or as near as it gets."""
    if model.inputs.basis is None:
        return model.inputs.centre
    return np.asarray(np.linalg.pinv(model.inputs.matrix, rcond=_SMALLEST) @ model.inputs.centre)


def score_errors(model: LocallyLinearModel, points: Floats, shares: Floats) -> Floats:
    """Standard deviation of the scores by the errors of the weights, shape (rows, classes).

    By privacy noise and sampling together, if the latter is known: then the noise of single maps
    counts as far as their shares differ, beside the error of what they have in common. The shares
    are held fixed. Training corrects noise where answers depend on it, so this is rather too much:
    between repeated trainings on Fashion-MNIST and MNIST (epsilon 2) scores differed by 0.7 to 1
    times of the noise, and leads of the first class over the next by 0.5 to 0.7 times. With shares
    that move along (to first order) it would be 1.3 to 1.9 times as much.
    """
    classes, count, size = model.weight_errors.shape
    with np.errstate(invalid="ignore"):
        squared = (points**2) @ (model.weight_errors.reshape(-1, size) ** 2).T
        apart = shares if model.evidence is None else shares - 1.0 / count
        total = (apart**2 * squared.reshape(-1, classes, count)).sum(axis=2)
        if model.evidence is not None:
            total = total + (points**2) @ (model.evidence.class_errors**2).T
    # An unknown error times nothing is still unknown.
    return np.sqrt(np.where(np.isnan(total), np.inf, total))


def _in_units(model: LocallyLinearModel, features: Floats) -> Floats:
    """Features in the columns' own units."""
    inputs = model.inputs
    if inputs.picture is None:
        return model.features.in_units(features)
    shares = features**2 if inputs.root else features
    return model.features.in_units(2.0 * shares - 1.0)
