"""Why single rows got their scores, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.explain.explanation import Explanation
from voile.explain.plain_data import EXPLANATION, check_rows, freeze, read_text_rows, thaw
from voile.explain.plain_text import local_text

BASE = "(base value)"
"""Stands for the base value where features are listed."""

_ARRAYS = (
    "values",
    "standard_errors",
    "base_values",
    "base_errors",
    "scores",
    "score_errors",
    "predictions",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalExplanation(Explanation):
    """Why some rows got their scores: what each feature added.

    ``base_values + values.sum(axis=1)`` are the scores. Values always have three dimensions, also
    for a single row or a single output.

    Attributes
    ----------
    features : tuple of str
    given : tuple of tuple of str, (rows, features)
        The rows' own values as they were given, readable.
    read_as : tuple of tuple of str, (rows, features)
        How a value was read where that differs (clamped to its bounds, a level that is not
        listed); empty text where it does not.
    values, standard_errors : ndarray of shape (rows, features, outputs)
        What each feature added to the score, and its standard deviation by the privacy noise; in
        `units`.
    base_values, base_errors : ndarray of shape (outputs,)
        The score before any feature, and its standard deviation by the noise.
    scores, score_errors : ndarray of shape (rows, outputs)
        Scores, and their standard deviation by the noise.
    predictions : ndarray of shape (rows,), or (rows, classes)
        Numbers in the target's unit, or probabilities.
    classes : tuple of str
        Classes in the order of the probabilities; empty if numbers are predicted.
    """

    kind: ClassVar[str] = "local"

    features: tuple[str, ...]
    given: tuple[tuple[str, ...], ...]
    read_as: tuple[tuple[str, ...], ...]
    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    base_values: NDArray[np.float64]
    base_errors: NDArray[np.float64]
    scores: NDArray[np.float64]
    score_errors: NDArray[np.float64]
    predictions: NDArray[np.float64]
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows, features, outputs = len(self.given), len(self.features), len(self.outputs)
        for name, shape in {
            "values": (rows, features, outputs),
            "standard_errors": (rows, features, outputs),
            "base_values": (outputs,),
            "base_errors": (outputs,),
            "scores": (rows, outputs),
            "score_errors": (rows, outputs),
            "predictions": (rows, len(self.classes)) if self.classes else (rows,),
        }.items():
            known = not name.endswith("_errors")
            object.__setattr__(self, name, freeze(getattr(self, name), shape, name, known=known))
        check_rows(self.given, rows, features, "given values")
        check_rows(self.read_as, rows, features, "values as they were read")
        if outputs != 1 and self.classes and outputs != len(self.classes):
            raise DataError("An explanation of rows must have one output, or one for each class.")

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, rows: int | slice) -> LocalExplanation:
        """Some of the rows, as an explanation of their own."""
        if isinstance(rows, int):
            position = range(len(self))[rows]
            rows = slice(position, position + 1)
        names = ("values", "standard_errors", "scores", "score_errors", "predictions")
        picked = {name: getattr(self, name)[rows] for name in (*names, "given", "read_as")}
        return replace(self, **picked)

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

    def _facts(self) -> dict[str, Any]:
        return {
            "features": list(self.features),
            "classes": list(self.classes),
            "given": [list(row) for row in self.given],
            "read_as": [list(row) for row in self.read_as],
            **{name: thaw(getattr(self, name)) for name in _ARRAYS},
        }

    @classmethod
    def _read_facts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "features": EXPLANATION.texts(data["features"], "'features'"),
            "classes": EXPLANATION.texts(data["classes"], "'classes'"),
            "given": read_text_rows(data["given"], "'given'"),
            "read_as": read_text_rows(data["read_as"], "'read_as'"),
            **{name: data[name] for name in _ARRAYS},
        }

    def __str__(self) -> str:
        return local_text(self)
