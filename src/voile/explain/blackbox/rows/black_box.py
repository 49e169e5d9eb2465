"""A model to explain, whatever it is: asked about rows, it answers in its own unit or in [-1, 1].

It is asked about rows that were made up, and about rows that a user holds: what goes wrong with an
answer is said, and depends on the rows. Strategies that read the table for each question have it
answer the private rows, too, once and inside the vault; what is said of them stays there, and
`ask_about_rows` (opening.py) tells nobody whether the model failed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.setting_checks import is_count
from voile.privacy.receipt import Receipt
from voile.schema import Schema

Floats = NDArray[np.float64]
Scores = Literal["auto", "probabilities", "labels"]

BATCH_ROWS = 8_192
"""Rows that a model is handed at a time."""

_FINGERPRINT_ROWS, _FINGERPRINT_DIGITS = 16, 4
_SLACK = 1e-5  # single precision, in a sum of some terms
_MOST_TEXT = 300


class AnswerKind(StrEnum):
    """What a model answers."""

    PROBABILITIES = "probabilities of classes"
    LABELS = "labels of classes"
    NUMBERS = "numbers"


class BlackBox:
    """A model that is asked about rows; made by `read_model`.

    Attributes
    ----------
    model : object
        As it was given.
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
        self.model = model
        self.answer = answer
        self.classes = classes
        found = getattr(model, "receipt_", None)
        self.receipt: Receipt | None = found if isinstance(found, Receipt) else None
        self.names_read = _names_of(model)
        self._name = type_name(model)
        self._function = function
        self._output = output
        self._range = output_range
        self._width: int | None = None
        self.places: tuple[int, ...] = ()
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
            return tuple(str(self.classes[place]) for place in self.places)
        if self._width == 1:
            return ("output",)
        return tuple(f"output {place}" for place in self.places)

    @property
    def is_classifier(self) -> bool:
        """Whether answers are probabilities of classes, or labels counted as such."""
        return self.answer is not AnswerKind.NUMBERS

    @property
    def bounds(self) -> tuple[float, float]:
        """What -1 and 1 stand for, in the model's own unit."""
        if self.is_classifier:
            return 0.0, 1.0
        return (-1.0, 1.0) if self._range is None else self._range

    def ask(self, rows: object, count: int) -> Floats:
        """The answers of `predict` in [-1, 1]; those outside the public range count as its ends."""
        return self.scale(self.predict(rows, count))

    def scale(self, answers: Floats) -> Floats:
        """Answers in the model's own unit as numbers in [-1, 1]."""
        low, high = self.bounds
        return np.asarray(2.0 * ((np.clip(answers, low, high) - low) / (high - low)) - 1.0)

    def of_step(self, last: Any) -> Self:
        """The same answers from the last step of a pipeline, which takes encoded rows."""
        other = copy.copy(self)
        has_scores = self.answer is AnswerKind.PROBABILITIES
        other._function = last.predict_proba if has_scores else last.predict
        return other

    def predict(self, rows: object, count: int) -> Floats:
        """Answers for rows in the model's own unit; what is wrong with them may quote the rows.

        Parameters
        ----------
        rows : data frame, array, mapping or list
            As `GivenRows.rebuild` gives them. The model gets copies, `BATCH_ROWS` at a time.
        count : int

        Returns
        -------
        ndarray of shape (rows, outputs)
            Probabilities of classes (labels count as 1 and 0), or numbers; SettingError if the
            model fails, or answers in another shape or range.
        """
        answers = []
        for start in range(0, count, BATCH_ROWS):
            stop = min(start + BATCH_ROWS, count)
            answers.append(self._ask(_copy_rows(rows, start, stop), stop - start))
        return np.concatenate(answers) if answers else np.zeros((0, len(self.outputs)))

    def fingerprint(self, rows: object, count: int) -> tuple[tuple[float, ...], ...]:
        """Rounded answers for the first of some public rows; to be compared with a tolerance."""
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
        self._check_within(values)
        return values[:, self.places]

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
            self.places = (self._find_output(width),)
        else:
            # Of two classes, the first is the mirror image of the second.
            self.places = (1,) if self.classes and width == 2 else tuple(range(width))
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
        """One versus the rest: 1 where the label is a class's, 0 elsewhere."""
        labels = np.asarray(answers)
        if labels.shape not in ((count,), (count, 1)):
            raise self._wrong_shape(labels.shape, count)
        assert self.classes is not None
        plain = labels.reshape(-1).tolist()
        chosen = [self.classes[place] for place in self.places]
        hits = [[float(label == one) for one in chosen] for label in plain]
        return np.array(hits, dtype=np.float64).reshape(count, len(chosen))

    def _check_within(self, values: Floats) -> None:
        """Refuse probabilities that are none, and numbers beyond [-1, 1] without a range."""
        if self._range is not None:
            return
        low, high = self.bounds
        if values.min() < low - _SLACK or values.max() > high + _SLACK:
            remedy = (
                "give a model whose predict_proba gives probabilities"
                if self.is_classifier
                else "give the public range of its answers as 'output_range'"
            )
            raise SettingError(f"{self._name} gave answers outside {low:g} to {high:g}: {remedy}.")

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


def schema_of(model: Any) -> Schema | None:
    """What a model of this library says is public of its table."""
    found = getattr(getattr(model, "model_", None), "schema", None)
    return found if isinstance(found, Schema) else None


def _names_of(model: Any) -> tuple[str, ...] | None:
    schema = schema_of(model)
    names = schema if schema is not None else getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def type_name(model: object) -> str:
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
