"""What a user gives as a model, read: a classifier, a regressor, a function, or a saved model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from voile.errors import SchemaError, SettingError
from voile.explain.blackbox.rows.black_box import (
    AnswerKind,
    BlackBox,
    Scores,
    schema_of,
    type_name,
)
from voile.schema import Category, Number

_NETWORKS = {"torch", "keras", "tensorflow", "tf_keras"}


def read_model(
    model: Any,
    *,
    output: object = None,
    scores: Scores = "auto",
    output_range: tuple[float, float] | None = None,
    target: Number | Category | None = None,
) -> BlackBox:
    """Read what a model is, and how it is asked.

    Parameters
    ----------
    model : object
        A fitted classifier or regressor with scikit-learn's methods (those of this library, too),
        the path of a saved model of this library, or a function from rows to an array of shape
        (rows,) or (rows, outputs).
    output : object, optional
        One class, by its label, or one output, by its position. By default all are explained (of
        two classes, the second).
    scores : {"auto", "probabilities", "labels"}
        Of a classifier: 2 p - 1 of probabilities p, or +1 and -1 of labels; "auto" takes
        probabilities where there are any.
    output_range : tuple of float, optional
        Public bounds of a regressor's or function's answers; those outside count as the bounds.
        Without it, a function's answers must be within -1 and 1.
    target : Number or Category, optional
        What is public of the target: the bounds of a regressor, if `output_range` is not given.

    Returns
    -------
    BlackBox
    """
    if scores not in ("auto", "probabilities", "labels"):
        raise SettingError(
            f"The 'scores' must be 'auto', 'probabilities' or 'labels'. Got {scores!r} instead."
        )
    if isinstance(model, (str, os.PathLike)):
        from voile.models.load import load

        model = load(Path(model))
    _refuse_unusable(model)
    has_probabilities = hasattr(model, "predict_proba")
    classes = _classes_of(model)
    if has_probabilities or (classes is not None and hasattr(model, "predict")):
        if output_range is not None:
            raise SettingError(
                "An 'output_range' is for numbers, and the model is a classifier: leave it out."
            )
        if has_probabilities and scores != "labels":
            return BlackBox(
                model, AnswerKind.PROBABILITIES, model.predict_proba, classes=classes, output=output
            )
        if scores == "probabilities" or classes is None:
            lack = "probabilities (predict_proba)" if classes else "list of classes (classes_)"
            raise SettingError(
                f"{type_name(model)} has no {lack}, which scores={scores!r} needs: leave 'scores' "
                f"out."
            )
        return BlackBox(model, AnswerKind.LABELS, model.predict, classes=classes, output=output)
    if scores != "auto":
        raise SettingError(
            f"The 'scores' are of classifiers, and {type_name(model)} gives numbers: leave them "
            f"out."
        )
    bounds = None if output_range is None else _check_range(output_range)
    if not hasattr(model, "predict"):
        return BlackBox(model, AnswerKind.NUMBERS, model, output=output, output_range=bounds)
    bounds = bounds or _bounds_of(target) or _bounds_of(getattr(schema_of(model), "target", None))
    if bounds is None:
        raise SettingError(
            "Predictions of numbers need public bounds: give output_range=(lowest, highest), or a "
            "schema with target=Number(lowest, highest)."
        )
    return BlackBox(model, AnswerKind.NUMBERS, model.predict, output=output, output_range=bounds)


def _refuse_unusable(model: Any) -> None:
    """Refuse what cannot be asked: classes, networks, models before their fit."""
    packages = {one.__module__.partition(".")[0] for one in type(model).__mro__}
    if packages & _NETWORKS:
        raise SettingError(
            f"{type_name(model)} is a network, which does not take rows as they were given: give "
            f"a function of rows, such as lambda rows: "
            f"network(torch.tensor(rows)).detach().numpy(), and the 'output_range' of its answers."
        )
    asked = any(hasattr(model, name) for name in ("predict", "predict_proba", "__call__"))
    if isinstance(model, type) or not asked:
        raise SettingError(
            f"{type_name(model)} is no model that can be asked: give a fitted object with "
            f"'predict', a function of rows, or the path of a saved model of this library."
        )
    if isinstance(model, BaseEstimator):
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise SettingError(
                f"{type_name(model)} is not fitted yet: call its 'fit' first."
            ) from None


def _classes_of(model: Any) -> tuple[Any, ...] | None:
    found = getattr(model, "classes_", None)
    if found is None:
        return None
    if isinstance(found, list) and any(np.ndim(one) for one in found):
        raise SettingError(
            f"{type_name(model)} has several targets: give a function that returns the answers "
            f"for one of them."
        )
    return tuple(np.asarray(found, dtype=object).tolist())


def _bounds_of(target: object) -> tuple[float, float] | None:
    if not isinstance(target, Number) or target.lower is None or target.upper is None:
        return None
    return target.lower, target.upper


def _check_range(output_range: object) -> tuple[float, float]:
    try:
        bounds = _bounds_of(Number(*output_range))  # type: ignore[misc]
    except (TypeError, SchemaError):
        bounds = None
    if bounds is None:
        raise SettingError(
            f"The 'output_range' must be two finite numbers, the lower first. Got "
            f"{output_range!r} instead."
        )
    return bounds
