"""A model to explain, whatever it is: asked about rows, it answers in [-1, 1].

It is asked about rows that were made up, and about rows that a user holds: what goes wrong with an
answer is said, and depends on the rows. Strategies that read the table for each question have it
answer the private rows, too, once and inside the vault; what is said of them stays there, and
`ask_about_rows` (opening.py) tells nobody whether the model failed.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from voile.errors import SchemaError, SettingError
from voile.models.setting_checks import is_count
from voile.privacy.receipt import Receipt
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]
Scores = Literal["auto", "probabilities", "labels"]

BATCH_ROWS = 8_192
"""Rows that a model is handed at a time."""

_FINGERPRINT_ROWS, _FINGERPRINT_DIGITS = 16, 4
_SLACK = 1e-5  # single precision, in a sum of some terms
_MOST_TEXT = 300
_NETWORKS = {"torch", "keras", "tensorflow", "tf_keras"}


class AnswerKind(StrEnum):
    """What a model answers."""

    PROBABILITIES = "probabilities of classes"
    LABELS = "labels of classes"
    NUMBERS = "numbers"


class BlackBox:
    """A model that is asked about rows; made by `read_model`.

    Attributes
    ----------
    answer : AnswerKind
    classes : tuple, or None
        Labels of a classifier's classes; None for numbers (and, before the first question, for a
        classifier that does not name its classes: they are then numbered).
    receipt : Receipt or None
        Of the model's own training, if it is a model of this library.
    names_read : tuple of str, or None
        Names of the columns that the model reads, if it knows them.
    """

    def __init__(
        self,
        model: Any,
        answer: AnswerKind,
        function: Callable[[Any], Any],
        *,
        classes: tuple[Any, ...] | None = None,
        output: object = None,
        output_range: tuple[float, float] | None = None,
    ) -> None:
        self.answer = answer
        self.classes = classes
        found = getattr(model, "receipt_", None)
        self.receipt: Receipt | None = found if isinstance(found, Receipt) else None
        self.names_read = _names_of(model)
        self._name = _type_name(model)
        self._function = function
        self._output = output
        self._range = output_range
        self._width: int | None = None
        self._places: tuple[int, ...] = ()
        if classes is not None:
            self._fix(len(classes))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what is explained: classes, or numbered outputs.

        Refused (SettingError) before the first question to a model that does not tell beforehand.
        """
        if self._width is None:
            raise SettingError(
                f"How many outputs {self._name} has is known once it has answered: ask it about "
                "some rows first."
            )
        if self.classes is not None:
            return tuple(str(self.classes[place]) for place in self._places)
        if self._width == 1:
            return ("output",)
        return tuple(f"output {place}" for place in self._places)

    def ask(self, rows: object, count: int) -> Floats:
        """Answers for rows; what is wrong with an answer may quote them.

        Parameters
        ----------
        rows : data frame, array, mapping or list
            As `GivenRows.rebuild` gives them. The model gets copies, `BATCH_ROWS` at a time.
        count : int
            How many there are.

        Returns
        -------
        ndarray of shape (rows, outputs)
            In [-1, 1].

        Raises
        ------
        SettingError
            If the model fails, or its answers are not of the shape or range they must have.
        """
        answers = []
        for start in range(0, count, BATCH_ROWS):
            stop = min(start + BATCH_ROWS, count)
            answers.append(self._ask(_copy_rows(rows, start, stop), stop - start))
        return np.concatenate(answers) if answers else np.zeros((0, len(self.outputs)))

    def fingerprint(self, rows: object, count: int) -> tuple[tuple[float, ...], ...]:
        """Rounded answers for the first few of some public rows: another model has others.

        Compare them with a tolerance: what is rounded may fall to either side.
        """
        answers = self.ask(rows, min(count, _FINGERPRINT_ROWS)).round(_FINGERPRINT_DIGITS)
        return tuple(tuple(map(float, row)) for row in answers)

    def _ask(self, batch: object, count: int) -> Floats:
        try:
            answers = self._function(batch)
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            said = said if len(said) <= _MOST_TEXT else f"{said[:_MOST_TEXT]}..."
            raise SettingError(
                f"The model failed on rows like those of the table: {said} (It must take rows as "
                f"they were given, also with the public levels and bounds of the schema, and with "
                f"missing values where the table may have some: give such a model, or a function "
                f"that prepares the rows for it.)"
            ) from error
        if self.answer is AnswerKind.LABELS:
            return self._compare(answers, count)
        try:
            if np.iscomplexobj(answers):
                raise TypeError
            values = np.asarray(answers, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise SettingError(
                f"The answers of {self._name} are not numbers: give a model or function that "
                f"returns an array of shape (rows,) or (rows, outputs)."
            ) from error
        if values.ndim == 1 and self.answer is AnswerKind.NUMBERS:
            values = values[:, None]
        if values.ndim != 2 or len(values) != count or not values.shape[1]:
            raise self._wrong_shape(values.shape, count)
        if values.shape[1] != self._width:
            self._fix(values.shape[1])
        if not np.isfinite(values).all():
            raise SettingError(
                f"{self._name} gave answers that are NaN or infinite for rows like those of the "
                f"table: give a model that answers every row, or a function that fills the gaps."
            )
        return self._scale(values)[:, self._places]

    def _fix(self, width: int) -> None:
        """Hold the number of outputs, which then may not change."""
        if self._width is not None:
            what = "classes" if self.classes is not None else "outputs"
            raise SettingError(
                f"{self._name} has {self._width} {what}, and answered with {width}: its number of "
                f"answers per row must not change."
            )
        if self.answer is not AnswerKind.NUMBERS:
            if width < 2:
                raise SettingError(
                    f"{self._name} knows {width} class, so its answers are all the same: give a "
                    f"model of two classes or more, or a function of the rows."
                )
            self.classes = self.classes or tuple(range(width))
        if self._output is not None:
            self._places = (self._find_output(width),)
        else:
            # Of two classes, the first is the mirror image of the second.
            self._places = (1,) if self.classes and width == 2 else tuple(range(width))
        self._width = width

    def _find_output(self, width: int) -> int:
        """The place of the chosen output: a class by its label, or else a position."""
        for place, label in enumerate(self.classes or ()):
            if label == self._output:
                return place
        if is_count(self._output, 0, width - 1):
            return int(self._output)
        known = f"classes {', '.join(map(repr, self.classes))}, or " if self.classes else ""
        raise SettingError(
            f"The model has no 'output' {self._output!r}: choose among {known}positions 0 to "
            f"{width - 1}."
        )

    def _compare(self, answers: Any, count: int) -> Floats:
        """One versus the rest: +1 where the label is a class's, -1 elsewhere."""
        labels = np.asarray(answers)
        if labels.shape not in ((count,), (count, 1)):
            raise self._wrong_shape(labels.shape, count)
        assert self.classes is not None
        plain = labels.reshape(-1).tolist()
        chosen = [self.classes[place] for place in self._places]
        signs = [[1.0 if label == one else -1.0 for one in chosen] for label in plain]
        return np.array(signs, dtype=np.float64).reshape(count, len(chosen))

    def _scale(self, values: Floats) -> Floats:
        if self.answer is AnswerKind.PROBABILITIES:
            low, high, remedy = 0.0, 1.0, "give a model whose predict_proba gives probabilities"
        elif self._range is None:
            low, high, remedy = -1.0, 1.0, "give the public range of its answers as 'output_range'"
        else:
            (low, high), remedy = self._range, ""
        if remedy and (values.min() < low - _SLACK or values.max() > high + _SLACK):
            raise SettingError(f"{self._name} gave answers outside {low:g} to {high:g}: {remedy}.")
        return np.asarray(2.0 * ((np.clip(values, low, high) - low) / (high - low)) - 1.0)

    def _wrong_shape(self, shape: tuple[int, ...], count: int) -> SettingError:
        wanted = {
            AnswerKind.PROBABILITIES: f"({count}, classes)",
            AnswerKind.LABELS: f"({count},)",
            AnswerKind.NUMBERS: f"({count},) or ({count}, outputs)",
        }[self.answer]
        return SettingError(
            f"{self._name} must answer {count} rows with an array of shape {wanted}. Got shape "
            f"{shape} instead: give a model or function with one answer per row."
        )


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
                f"{_type_name(model)} has no {lack}, which scores={scores!r} needs: leave 'scores' "
                f"out."
            )
        return BlackBox(model, AnswerKind.LABELS, model.predict, classes=classes, output=output)
    if scores != "auto":
        raise SettingError(
            f"The 'scores' are of classifiers, and {_type_name(model)} gives numbers: leave them "
            f"out."
        )
    bounds = None if output_range is None else _check_range(output_range)
    if not hasattr(model, "predict"):
        return BlackBox(model, AnswerKind.NUMBERS, model, output=output, output_range=bounds)
    bounds = bounds or _bounds_of(target) or _bounds_of(getattr(_schema_of(model), "target", None))
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
            f"{_type_name(model)} is a network, which does not take rows as they were given: give "
            f"a function of rows, such as lambda rows: "
            f"network(torch.tensor(rows)).detach().numpy(), and the 'output_range' of its answers."
        )
    asked = any(hasattr(model, name) for name in ("predict", "predict_proba", "__call__"))
    if isinstance(model, type) or not asked:
        raise SettingError(
            f"{_type_name(model)} is no model that can be asked: give a fitted object with "
            f"'predict', a function of rows, or the path of a saved model of this library."
        )
    if isinstance(model, BaseEstimator):
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise SettingError(
                f"{_type_name(model)} is not fitted yet: call its 'fit' first."
            ) from None


def _classes_of(model: Any) -> tuple[Any, ...] | None:
    found = getattr(model, "classes_", None)
    if found is None:
        return None
    if isinstance(found, list) and any(np.ndim(one) for one in found):
        raise SettingError(
            f"{_type_name(model)} has several targets: give a function that returns the answers "
            f"for one of them."
        )
    return tuple(np.asarray(found, dtype=object).tolist())


def _schema_of(model: Any) -> Schema | None:
    found = getattr(getattr(model, "model_", None), "schema", None)
    return found if isinstance(found, Schema) else None


def _names_of(model: Any) -> tuple[str, ...] | None:
    schema = _schema_of(model)
    names = schema if schema is not None else getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


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


def _type_name(model: object) -> str:
    """What to call a model in an error."""
    own = getattr(model, "__name__", None)
    return f"The function {own!r}" if isinstance(own, str) else f"The {type(model).__name__}"


def _copy_rows(rows: Any, start: int, stop: int) -> Any:
    """Some rows in the same container, so that a model may do with them what it likes."""
    if hasattr(rows, "iloc"):
        return rows.iloc[start:stop].reset_index(drop=True)
    if isinstance(rows, Mapping):
        return {name: _copy_rows(values, start, stop) for name, values in rows.items()}
    if hasattr(rows, "slice"):  # of polars and pyarrow, whose tables cannot be changed
        return rows.slice(start, stop - start)
    return copy.deepcopy(rows[start:stop])
