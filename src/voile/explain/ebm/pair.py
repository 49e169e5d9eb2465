"""What two columns do together, as an explanation shows it: a map of scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from voile.arrays import Array, Floats, freeze_arrays
from voile.errors import DataError
from voile.explain.ebm.part_text import head_text, part_text
from voile.explain.explanation import EXPLANATION
from voile.models.ebm.pair_term import pair_name
from voile.models.verdict import NOTHING, ColumnVerdict
from voile.schema.scale import Scale
from voile.stored import Stored


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplainedSide:
    """One side of a pair's grid.

    Attributes
    ----------
    name : str
        Name of the column.
    scale : {"number", "whole", "day", "time"}
        What the values of a number are.
    edges : ndarray of shape (intervals + 1,)
        Borders of a number's intervals; empty for a category.
    labels : tuple of str
        A readable name for each part. The last part is apart: of a number it is for missing
        values, of a category for levels that are not listed and missing values.
    """

    name: str
    scale: Annotated[Scale, Stored(optional=True)] = "number"
    edges: Annotated[Floats, Array("edges")]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        freeze_arrays(self, EXPLANATION)
        if not (np.diff(self.edges) >= 0).all():
            raise DataError(f"The edges of {self.name!r} in a pair must not decrease.")
        if len(self.labels) < 1 or (self.is_number and len(self.edges) != len(self.labels)):
            raise DataError(
                f"The parts of {self.name!r} in a pair do not fit its edges: a number has one more "
                "edge than intervals, and a last part for missing values."
            )

    @property
    def is_number(self) -> bool:
        """Whether it is a number, with intervals side by side."""
        return len(self.edges) > 0

    @property
    def regular(self) -> int:
        """Number of parts on the column's own axis."""
        return len(self.labels) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplainedPair:
    """What two columns add together beyond what each adds by itself: a score for each cell.

    Attributes
    ----------
    first, second : ExplainedSide
        Rows and columns of the grid.
    scores, standard_errors : ndarray of shape (first.parts, second.parts, outputs)
        What a cell adds to the score, and its standard deviation by privacy noise and sampling
        together (by the noise alone if `noise_errors` is None); in units of the score.
    counts, count_errors : ndarray of shape (first.parts, second.parts)
        Privately estimated rows per cell, and their standard deviation by the noise.
    importance : ndarray of shape (outputs,)
        Mean absolute score over the private distribution of both columns.
    original : ndarray of shape (first.parts, second.parts, outputs), or None
        Scores as they were trained, if the pair was edited since.
    noise_errors : ndarray of shape (first.parts, second.parts, outputs), or None
    p_value : float
        Of no effect of both together, allowing for all terms and pairs of the model; NaN if it is
        not known.
    verdict : str
        As of a term.
    """

    first: ExplainedSide
    second: ExplainedSide
    scores: Annotated[Floats, Array("rows", "columns", "importance")]
    standard_errors: Annotated[Floats, Array("rows", "columns", "importance", null=math.inf)]
    counts: Annotated[Floats, Array("rows", "columns")]
    count_errors: Annotated[Floats, Array("rows", "columns", null=math.inf)]
    importance: Annotated[Floats, Array("importance")]
    original: Annotated[
        Floats | None, Array("rows", "columns", "importance"), Stored(optional=True)
    ] = None
    noise_errors: Annotated[
        Floats | None, Array("rows", "columns", "importance", null=math.inf), Stored(optional=True)
    ] = None
    p_value: Annotated[float, Stored(optional=True, null=math.nan)] = math.nan
    verdict: Annotated[ColumnVerdict, Stored(optional=True)] = "not known"

    def __post_init__(self) -> None:
        freeze_arrays(self, EXPLANATION, nan_is_null=True)

    @property
    def name(self) -> str:
        """Both names: ``"latitude & longitude"``."""
        return pair_name(self.first.name, self.second.name)

    @property
    def names(self) -> tuple[str, str]:
        """Of both columns."""
        return self.first.name, self.second.name

    @property
    def rows(self) -> int:
        """Parts of the first column."""
        return len(self.first.labels)

    @property
    def columns(self) -> int:
        """Parts of the second column."""
        return len(self.second.labels)

    @property
    def is_nothing(self) -> bool:
        """Whether the pair cannot be told from one without any effect."""
        return self.verdict == NOTHING

    @property
    def null_importance(self) -> Floats:
        """Importance that the errors alone could give a pair without any effect, (outputs,)."""
        weights = self.counts if self.counts.sum() > 0 else np.ones_like(self.counts)
        seen = weights > 0
        mean = weights[seen] @ self.standard_errors[seen] / weights.sum()
        return np.asarray(math.sqrt(2 / math.pi) * mean)

    def to_records(self, outputs: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """One flat record per cell and output, with the same names as those of a term."""
        errors = self.standard_errors if self.noise_errors is None else self.noise_errors
        for i, one in enumerate(self.first.labels):
            for j, other in enumerate(self.second.labels):
                for k, output in enumerate(outputs):
                    original = math.nan if self.original is None else self.original[i, j, k]
                    yield {
                        "term": self.name,
                        "kind": "pair",
                        "bin": pair_name(one, other),
                        "lower": math.nan,
                        "upper": math.nan,
                        "output": output,
                        "score": float(self.scores[i, j, k]),
                        "standard_error": float(self.standard_errors[i, j, k]),
                        "noise_error": float(errors[i, j, k]),
                        "verdict": self.verdict,
                        "count": float(self.counts[i, j]),
                        "count_error": float(self.count_errors[i, j]),
                        "original": float(original),
                    }

    def __str__(self) -> str:
        head = head_text(self.name, self.verdict, self.importance, self.null_importance)
        both = [pair_name(one, other) for one in self.first.labels for other in self.second.labels]
        scores, errors = (
            given.reshape(len(both), -1) for given in (self.scores, self.standard_errors)
        )
        counts = self.counts.ravel(), self.count_errors.ravel()
        return part_text(head, both, scores, errors, counts, "cells")
