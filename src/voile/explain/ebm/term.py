"""One term of an additive model as an explanation shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from voile.arrays import Array, Floats, freeze_arrays
from voile.errors import DataError
from voile.explain.ebm.part_text import head_text, part_text
from voile.explain.explanation import EXPLANATION
from voile.models.ebm.evidence import TermEvidence
from voile.models.verdict import NOTHING, ColumnVerdict
from voile.schema.scale import Scale
from voile.stored import Stored


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
    scale : {"number", "whole", "day", "time"}
        What the values of a number are; dates are in seconds since 1970-01-01 UTC.
    ordered : bool
        Whether the levels of a category have an order, which is that of the bins.
    edges : ndarray of shape (intervals + 1,)
        Borders of a number's intervals, in the column's unit; empty for a category.
    labels : tuple of str
        A readable name for each bin, those apart included.
    scores, standard_errors : ndarray of shape (bins, outputs)
        What a bin adds to the score, and its standard deviation by privacy noise and sampling
        together (by the noise alone if `noise_errors` is None); in units of the score.
    counts, count_errors : ndarray of shape (bins,)
        Privately estimated rows per bin, and their standard deviation by the noise.
    importance : ndarray of shape (outputs,)
        Mean absolute score over the private distribution of the column.
    original : ndarray of shape (bins, outputs), or None
        Scores as they were trained, if the term was edited since.
    noise_errors : ndarray of shape (bins, outputs), or None
        The standard deviation by the privacy noise alone; None if no more than that is known.
    evidence : TermEvidence or None
        What `EBMExplanation.compare` and the verdict rest on.
    p_value : float
        Of no effect at all, allowing for all terms of the model; NaN if it is not known.
    verdict : str
        "clear", "perhaps" or "cannot be told from nothing"; "edited" if people changed the term,
        "not known" for models from before verdicts.
    """

    name: str
    kind: Literal["number", "category"]
    scale: Annotated[Scale, Stored(optional=True)] = "number"
    ordered: Annotated[bool, Stored(optional=True)] = False
    edges: Annotated[Floats, Array("edges")]
    labels: tuple[str, ...]
    scores: Annotated[Floats, Array("labels", "importance")]
    standard_errors: Annotated[Floats, Array("labels", "importance", null=math.inf)]
    counts: Annotated[Floats, Array("labels")]
    count_errors: Annotated[Floats, Array("labels", null=math.inf)]
    importance: Annotated[Floats, Array("importance")]
    original: Annotated[Floats | None, Array("labels", "importance")] = None
    noise_errors: Annotated[
        Floats | None, Array("labels", "importance", null=math.inf), Stored(optional=True)
    ] = None
    evidence: Annotated[TermEvidence | None, Stored(optional=True)] = None
    p_value: Annotated[float, Stored(optional=True, null=math.nan)] = math.nan
    verdict: Annotated[ColumnVerdict, Stored(optional=True)] = "not known"

    def __post_init__(self) -> None:
        if self.kind not in ("number", "category"):
            raise DataError(
                f"The kind of term {self.name!r} must be 'number' or 'category'. Got "
                f"{self.kind!r} instead."
            )
        where, bins = f"of term {self.name!r}", len(self.labels)
        object.__setattr__(self, "labels", tuple(self.labels))
        freeze_arrays(self, EXPLANATION, nan_is_null=True)
        if self.evidence is not None:
            freeze_arrays(self.evidence, EXPLANATION)
            if self.evidence.estimates.shape != self.scores.shape:
                raise DataError(f"The evidence {where} must have its bins and outputs.")
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
    def is_nothing(self) -> bool:
        """Whether the term cannot be told from one without any effect."""
        return self.verdict == NOTHING

    @property
    def null_importance(self) -> Floats:
        """Importance that the errors alone could give a term without any effect, shape (outputs,).

        The mean absolute value of a centred Gaussian is its standard deviation times
        ``sqrt(2 / pi)``.
        """
        weights = self.counts if self.counts.sum() > 0 else np.ones(len(self.labels))
        seen = weights > 0  # an infinite error of a bin without rows weighs nothing
        mean = weights[seen] @ self.standard_errors[seen] / weights.sum()
        return np.asarray(math.sqrt(2 / math.pi) * mean)

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
                    "noise_error": float(
                        (self.standard_errors if self.noise_errors is None else self.noise_errors)[
                            i, k
                        ]
                    ),
                    "verdict": self.verdict,
                    "count": float(self.counts[i]),
                    "count_error": float(self.count_errors[i]),
                    "original": math.nan if self.original is None else float(self.original[i, k]),
                }

    def __str__(self) -> str:
        head = head_text(self.name, self.verdict, self.importance, self.null_importance)
        counts = self.counts, self.count_errors
        return part_text(head, self.labels, self.scores, self.standard_errors, counts, "bins")
