"""A whole additive model and how much each of its terms matters, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from voile.arrays import Array, Floats
from voile.errors import DataError
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.ebm.text import global_text
from voile.explain.explanation import Explanation


@dataclass(frozen=True, eq=False, kw_only=True)
class EBMExplanation(Explanation):
    """A whole additive model: the shape of each term, and how much it matters.

    Attributes
    ----------
    terms : tuple of ExplainedTerm
        In the order of the model.
    intercept, intercept_errors : ndarray of shape (outputs,)
        Score of an average row, and its standard deviation by the noise; in `units`.
    """

    kind: ClassVar[str] = "global"

    intercept: Annotated[Floats, Array("outputs")]
    intercept_errors: Annotated[Floats, Array("outputs", null=math.inf)]
    terms: tuple[ExplainedTerm, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for term in self.terms:
            if len(term.importance) != len(self.outputs):
                raise DataError(f"Term {term.name!r} must have scores for each output.")

    @property
    def ranked(self) -> tuple[ExplainedTerm, ...]:
        """Terms by their importance over all outputs, the greatest first."""
        return tuple(sorted(self.terms, key=lambda term: -float(term.importance.sum())))

    def __getitem__(self, name: str) -> ExplainedTerm:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per term, bin and output."""
        return [record for term in self.terms for record in term.to_records(self.outputs)]

    def __str__(self) -> str:
        return global_text(self)
