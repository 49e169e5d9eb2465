"""One term of an additive model as an explanation shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.explain.plain_data import EXPLANATION, freeze, thaw

_ARRAYS = ("edges", "scores", "standard_errors", "counts", "count_errors", "importance")
_KNOWN = ("edges", "scores", "counts", "importance", "original")
"""Numbers that must be finite; of errors, infinity says that nobody knows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplainedTerm:
    """The shape of one column's part in a model: a score for each of its bins.

    The bins of a number are its intervals, then one for missing values. The bins of a category are
    its levels, then one for levels that are not listed, then one for missing values. Those at the
    end are *apart*: they have no place on the column's axis.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"number", "category"}
    edges : ndarray of shape (intervals + 1,)
        Borders of a number's intervals, in the column's unit; empty for a category.
    labels : tuple of str
        A readable name for each bin, those apart included.
    scores, standard_errors : ndarray of shape (bins, outputs)
        What a bin adds to the score, and its standard deviation by the privacy noise; in units of
        the score.
    counts, count_errors : ndarray of shape (bins,)
        Privately estimated rows per bin, and their standard deviation by the noise.
    importance : ndarray of shape (outputs,)
        Mean absolute score over the private distribution of the column.
    original : ndarray of shape (bins, outputs), or None
        Scores as they were trained, if the term was edited since.
    """

    name: str
    kind: Literal["number", "category"]
    edges: NDArray[np.float64]
    labels: tuple[str, ...]
    scores: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    counts: NDArray[np.float64]
    count_errors: NDArray[np.float64]
    importance: NDArray[np.float64]
    original: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("number", "category"):
            raise DataError(
                f"The kind of term {self.name!r} must be 'number' or 'category'. Got "
                f"{self.kind!r} instead."
            )
        where = f"of term {self.name!r}"
        bins, outputs = len(self.labels), len(self.importance)
        shapes = {
            "edges": (len(self.edges),),
            "scores": (bins, outputs),
            "standard_errors": (bins, outputs),
            "counts": (bins,),
            "count_errors": (bins,),
            "importance": (outputs,),
        }
        if self.original is not None:
            shapes["original"] = (bins, outputs)
        object.__setattr__(self, "labels", tuple(self.labels))
        for name, shape in shapes.items():
            given, what = getattr(self, name), f"{name} {where}"
            object.__setattr__(self, name, freeze(given, shape, what, known=name in _KNOWN))
        if not (np.diff(self.edges) >= 0).all():
            raise DataError(f"The edges {where} must not decrease.")
        apart = 1 if self.kind == "number" else 2
        if bins < apart or (self.kind == "number" and len(self.edges) != bins - apart + 1):
            raise DataError(
                f"The bins {where} do not fit its edges: a number has one more edge than "
                f"intervals, and all terms have a last bin for missing values."
            )

    @property
    def regular(self) -> int:
        """Number of bins on the column's own axis; the rest are apart."""
        return len(self.labels) - (1 if self.kind == "number" else 2)

    @property
    def noise_importance(self) -> NDArray[np.float64]:
        """Importance that noise alone would give a term without any effect, shape (outputs,).

        The mean absolute value of a centred Gaussian is its standard deviation times
        ``sqrt(2 / pi)``.
        """
        weights = self.counts if self.counts.sum() > 0 else np.ones(len(self.labels))
        seen = weights > 0  # an infinite error of a bin without rows weighs nothing
        mean = weights[seen] @ self.standard_errors[seen] / weights.sum()
        return np.asarray(math.sqrt(2 / math.pi) * mean)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "edges": thaw(self.edges),
            "labels": list(self.labels),
            "scores": thaw(self.scores),
            "standard_errors": thaw(self.standard_errors),
            "counts": thaw(self.counts),
            "count_errors": thaw(self.count_errors),
            "importance": thaw(self.importance),
            "original": None if self.original is None else thaw(self.original),
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` gave (DataError)."""
        fields = EXPLANATION.fields(
            data, ("name", "kind", "labels", *_ARRAYS, "original"), "a term"
        )
        arrays: dict[str, Any] = {
            name: EXPLANATION.listed(fields[name], f"'{name}'") for name in _ARRAYS
        }
        original = fields["original"]
        return cls(
            name=EXPLANATION.text(fields["name"], "the name of a term"),
            kind=fields["kind"],
            labels=EXPLANATION.texts(fields["labels"], "the labels of a term"),
            original=original,
            **arrays,
        )

    def to_records(self, outputs: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """One flat record per bin and output, for a long table."""
        for i, label in enumerate(self.labels):
            inside = self.kind == "number" and i < self.regular
            for k, output in enumerate(outputs):
                yield {
                    "term": self.name,
                    "kind": self.kind,
                    "bin": label,
                    "lower": float(self.edges[i]) if inside else math.nan,
                    "upper": float(self.edges[i + 1]) if inside else math.nan,
                    "output": output,
                    "score": float(self.scores[i, k]),
                    "standard_error": float(self.standard_errors[i, k]),
                    "count": float(self.counts[i]),
                    "count_error": float(self.count_errors[i]),
                    "original": math.nan if self.original is None else float(self.original[i, k]),
                }
