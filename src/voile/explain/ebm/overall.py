"""A whole additive model and how much each of its terms matters, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from voile.arrays import Array, Floats
from voile.errors import DataError, SettingError
from voile.explain.comparison import Comparison
from voile.explain.ebm.comparing import compare
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.ebm.text import global_text
from voile.explain.explanation import Explanation


@dataclass(frozen=True, eq=False, kw_only=True)
class EBMExplanation(Explanation):
    """A whole additive model: the shape of each term, and how much it matters.

    `compare` answers whether a difference between two levels or ranges is real.

    Attributes
    ----------
    terms : tuple of ExplainedTerm
        In the order of the model.
    intercept, intercept_errors : ndarray of shape (outputs,)
        Score of an average row, and its standard deviation; in `units`.
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
        """Terms by their importance over all outputs, the greatest first.

        Those that cannot be told from nothing come last.
        """
        return tuple(
            sorted(self.terms, key=lambda term: (term.is_nothing, -float(term.importance.sum())))
        )

    @property
    def shown(self) -> tuple[ExplainedTerm, ...]:
        """Terms that may be something, as they are ranked."""
        return tuple(term for term in self.ranked if not term.is_nothing)

    @property
    def nothing(self) -> tuple[ExplainedTerm, ...]:
        """Terms that cannot be told from nothing."""
        return tuple(term for term in self.ranked if term.is_nothing)

    @property
    def whole(self) -> bool:
        """Whether errors hold the sampling error, not the privacy noise alone."""
        return all(term.noise_errors is not None for term in self.terms)

    def compare(self, column: str, first: object, second: object) -> Comparison:
        """Is the difference between two levels, values or ranges of a column real?

        Parameters
        ----------
        column : str
        first, second : level, number, or pair of numbers
            Levels of a category; of a number a value (its bin is meant) or a range ``(30, 50)``;
            "(missing)" for missing values.

        Returns
        -------
        Comparison
            The difference with its 95 % interval (privacy noise plus sampling error) and a verdict
            that allows for having looked at many. It costs nothing.

        Raises
        ------
        SettingError
            If the column or a level does not exist, both are the same, or nothing is known of the
            sampling error.
        """
        try:
            term = self[column]
        except KeyError:
            known = ", ".join(repr(term.name) for term in self.terms)
            raise SettingError(f"The model has no column {column!r}: it has {known}.") from None
        return compare(self, term, first, second)

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
