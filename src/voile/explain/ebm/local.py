"""Why single rows got their scores, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from voile.arrays import Array, Floats
from voile.errors import DataError
from voile.explain.ebm.text import local_text
from voile.explain.explanation import ExplainedRows, check_row_texts
from voile.stored import Stored

BASE = "(base value)"
"""Stands for the base value where features are listed."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EBMLocalExplanation(ExplainedRows):
    """Why some rows got their scores: what each column, and each pair of columns, added.

    ``base_values + values.sum(axis=1)`` are the scores. Values always have three dimensions, also
    for a single row or a single output.

    Attributes
    ----------
    features : tuple of str
        Columns, then pairs of columns ("latitude & longitude"): what both add together beyond what
        each adds by itself.
    given : sequence of tuple of str, (rows, features)
        The rows' own values as they were given, readable; of a pair both ("52 & nurse").
    read_as : sequence of tuple of str, (rows, features)
        How a value was read where that differs (clamped to its bounds, a level that is not
        listed); empty text where it does not.
    values, standard_errors : ndarray of shape (rows, features, outputs)
        What each feature added to the score, and its standard deviation by privacy noise and
        sampling together (by the noise alone if `whole` is False); in `units`.
    base_values, base_errors : ndarray of shape (outputs,)
        The score before any feature, and its standard deviation.
    scores, score_errors : ndarray of shape (rows, outputs)
        Scores, and their standard deviation.
    predictions : ndarray of shape (rows,), or (rows, classes)
        Numbers in the target's unit, or probabilities.
    classes : tuple of str
        Classes in the order of the probabilities; empty if numbers are predicted.
    whole : bool
        Whether errors hold the sampling error, not the privacy noise alone.
    """

    kind: ClassVar[str] = "local"

    of_rows: ClassVar[tuple[str, ...]] = (
        *("given", "read_as", "values", "standard_errors", "scores", "score_errors"),
        "predictions",
    )

    features: tuple[str, ...]
    classes: tuple[str, ...] = ()
    given: Sequence[tuple[str, ...]]
    read_as: Sequence[tuple[str, ...]]
    values: Annotated[Floats, Array("given", "features", "outputs")]
    standard_errors: Annotated[Floats, Array("given", "features", "outputs", null=math.inf)]
    base_values: Annotated[Floats, Array("outputs")]
    base_errors: Annotated[Floats, Array("outputs", null=math.inf)]
    scores: Annotated[Floats, Array("given", "outputs")]
    score_errors: Annotated[Floats, Array("given", "outputs", null=math.inf)]
    predictions: Annotated[Floats, Array("prediction_shape")]
    whole: Annotated[bool, Stored(optional=True)] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, features, outputs = len(self), len(self.features), len(self.outputs)
        check_row_texts(self.given, rows, features, "given values")
        check_row_texts(self.read_as, rows, features, "values as they were read")
        if outputs != 1 and self.classes and outputs != len(self.classes):
            raise DataError("An explanation of rows must have one output, or one for each class.")

    @property
    def prediction_shape(self) -> tuple[int, ...]:
        """Of `predictions`."""
        return (len(self), len(self.classes)) if self.classes else (len(self),)

    def predicted(self, row: int) -> int | None:
        """Position of the most probable class of a row; None if numbers are predicted."""
        return int(np.argmax(self.predictions[row])) if self.classes else None

    def told_output(self, row: int) -> int:
        """Position of the output that tells most about a row: its predicted class, or the one."""
        predicted = self.predicted(row)
        return 0 if len(self.outputs) == 1 or predicted is None else predicted

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per row, feature and output; the base value counts as a feature."""
        return [
            {
                "row": i,
                "feature": name,
                "given": self.given[i][j] if j < len(self.features) else "",
                "output": output,
                "contribution": float(part[k]),
                "standard_error": float(error[k]),
            }
            for i in range(len(self))
            for j, (name, part, error) in enumerate(
                zip(
                    (*self.features, BASE),
                    (*self.values[i], self.base_values),
                    (*self.standard_errors[i], self.base_errors),
                    strict=True,
                )
            )
            for k, output in enumerate(self.outputs)
        ]

    def __str__(self) -> str:
        return local_text(self)
