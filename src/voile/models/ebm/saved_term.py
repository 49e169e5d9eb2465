"""What stands in the file of an additive model about one column's term."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np

from voile.arrays import Array, Floats
from voile.errors import ModelError
from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.model import Term
from voile.models.saved_model import LARGEST, is_same
from voile.schema import Category, Number, Schema
from voile.stored import Stored


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedTerm:
    """What stands in the file of a term: see `Term`; a number has edges, a category levels."""

    name: str
    kind: Literal["number", "category"]
    edges: Annotated[Floats | None, Array("edges", most=math.inf), Stored(optional=True)] = None
    levels: Annotated[tuple[object, ...] | None, Stored(optional=True)] = None
    scores: Annotated[Floats, Array("bins", "outputs", most=math.inf)]
    standard_errors: Annotated[
        Floats, Array("bins", "outputs", least=0.0, most=math.inf, null=math.inf)
    ]
    counts: Annotated[Floats, Array("bins", least=0.0, most=LARGEST)]
    count_errors: Annotated[Floats, Array("bins", least=0.0, most=LARGEST, null=math.inf)]
    whole_errors: Annotated[
        Floats | None,
        Array("bins", "outputs", least=0.0, most=math.inf, null=math.inf),
        Stored(optional=True),
    ] = None
    evidence: Annotated[TermEvidence | None, Stored(optional=True)] = None

    @classmethod
    def of(cls, term: Term) -> Self:
        """What is written of a term."""
        column, number = term.column, isinstance(term.column, Number)
        return cls(
            name=term.name,
            kind="number" if number else "category",
            edges=term.edges if number else None,
            levels=tuple(column.levels or ()) if isinstance(column, Category) else None,
            scores=term.scores,
            standard_errors=term.standard_errors,
            counts=term.counts,
            count_errors=term.count_errors,
            whole_errors=term.whole_errors,
            evidence=term.evidence,
        )

    @property
    def bins(self) -> int:
        """Number of bins, those for other and missing values included."""
        if self.edges is not None:
            return len(self.edges)  # one more than intervals: missing values have their own bin
        return len(self.levels or ()) + 2

    def build(self, schema: Schema, where: str) -> Term:
        """The term, if it fits the schema (ModelError)."""
        column, where = schema[self.name], f"term {self.name!r} of {where}"
        kind = "number" if isinstance(column, Number) else "category"
        if self.kind != kind or (self.edges is None) == (self.levels is None):
            raise ModelError(f"In {where}, 'kind' must be {kind!r}, as in the schema.")
        if isinstance(column, Number):
            edges = self.edges if self.edges is not None else np.empty(0)
            if len(edges) < 2 or edges[0] != column.lower or edges[-1] != column.upper:
                raise ModelError(f"The 'edges' of {where} must begin and end at {column!r}.")
            if not (np.diff(edges) > 0).all():
                raise ModelError(f"The 'edges' of {where} must increase strictly.")
        elif self.levels is None or not is_same(self.levels, column.levels or ()):
            raise ModelError(f"The 'levels' of {where} are not those of the schema.")
        for name in ("scores", "standard_errors"):
            check_size(getattr(self, name), schema, f"'{name}' of {where}")
        if self.evidence is not None and self.evidence.estimates.shape != self.scores.shape:
            raise ModelError(f"The 'evidence' of {where} must have its bins and outputs.")
        return Term(
            name=self.name,
            column=column,
            cuts=np.empty(0) if self.edges is None else self.edges[1:-1],
            scores=self.scores,
            standard_errors=self.standard_errors,
            counts=self.counts,
            count_errors=self.count_errors,
            whole_errors=self.whole_errors,
            evidence=self.evidence,
        )


def check_size(table: Floats, schema: Schema, where: str) -> None:
    """Refuse numbers far beyond any noise; of a regression, scores are in the target's unit."""
    target, most = schema.target, LARGEST
    if isinstance(target, Number) and target.lower is not None and target.upper is not None:
        most *= max(1.0, abs(target.lower), abs(target.upper))
    if (np.abs(table[np.isfinite(table)]) > most).any():
        raise ModelError(f"In a model, {where} must be finite numbers up to {most:g}.")
