"""A whole additive model and how much each of its terms and pairs matters, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from voile.arrays import Array, Floats
from voile.errors import DataError, SettingError
from voile.explain.comparison import Comparison
from voile.explain.ebm.comparing import compare
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.ebm.text import global_text
from voile.explain.explanation import Explanation
from voile.models.ebm.pair_term import pair_name
from voile.stored import Stored

Part = ExplainedTerm | ExplainedPair
"""What a model adds up: the parts of single columns, and of pairs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EBMExplanation(Explanation):
    """A whole additive model: the shape of each term and pair, and how much it matters.

    A term is the whole effect of its column, averaged over all others; a pair is what two columns
    do together beyond their terms.

    `compare` answers whether a difference between two levels or ranges is real.

    Attributes
    ----------
    terms : tuple of ExplainedTerm
        In the order of the model.
    pairs : tuple of ExplainedPair
        The same; empty for a model without pairs.
    intercept, intercept_errors : ndarray of shape (outputs,)
        Score of an average row, and its standard deviation; in `units`.
    """

    kind: ClassVar[str] = "global"

    intercept: Annotated[Floats, Array("outputs")]
    intercept_errors: Annotated[Floats, Array("outputs", null=math.inf)]
    terms: tuple[ExplainedTerm, ...]
    pairs: Annotated[tuple[ExplainedPair, ...], Stored(optional=True)] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for term in self.terms:
            if len(term.importance) != len(self.outputs):
                raise DataError(f"Term {term.name!r} must have scores for each output.")
        names = {term.name for term in self.terms}
        for pair in self.pairs:
            if len(pair.importance) != len(self.outputs):
                raise DataError(f"Pair {pair.name!r} must have scores for each output.")
            if not names >= set(pair.names) or pair.first.name == pair.second.name:
                raise DataError(f"Pair {pair.name!r} must be of two columns that have terms.")
        if len({frozenset(pair.names) for pair in self.pairs}) < len(self.pairs):
            raise DataError("An explanation must have one pair for each two columns at most.")

    @property
    def parts(self) -> tuple[Part, ...]:
        """All terms, then all pairs, in the order of the model."""
        return (*self.terms, *self.pairs)

    @property
    def ranked(self) -> tuple[ExplainedTerm, ...]:
        """Terms by their importance over all outputs, the greatest first.

        Those that cannot be told from nothing come last.
        """
        return tuple(sorted(self.terms, key=_rank))

    @property
    def ranked_parts(self) -> tuple[Part, ...]:
        """Terms and pairs in one list, ranked in the same way."""
        return tuple(sorted(self.parts, key=_rank))

    @property
    def shown_parts(self) -> tuple[Part, ...]:
        """Terms and pairs that may be something, as they are ranked."""
        return tuple(part for part in self.ranked_parts if not part.is_nothing)

    @property
    def shown(self) -> tuple[ExplainedTerm, ...]:
        """Terms that may be something, as they are ranked."""
        return tuple(term for term in self.ranked if not term.is_nothing)

    @property
    def nothing(self) -> tuple[ExplainedTerm, ...]:
        """Terms that cannot be told from nothing."""
        return tuple(term for term in self.ranked if term.is_nothing)

    @property
    def nothing_together(self) -> tuple[ExplainedPair, ...]:
        """Pairs that cannot be told from nothing: their columns may well be something."""
        found = [pair for pair in self.pairs if pair.is_nothing]
        return tuple(sorted(found, key=_rank))

    @property
    def whole(self) -> bool:
        """Whether errors hold the sampling error, not the privacy noise alone."""
        return all(part.noise_errors is not None for part in self.parts)

    def compare(self, column: str, first: object, second: object) -> Comparison:
        """Is the difference between two levels, values or ranges of a column real?

        It is a difference of the column's own term. Where the column is in pairs, that is the
        average over the other column: among rows of one value of it, the difference may be another.

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
        for term in self.terms:
            if term.name == column:
                return compare(self, term, first, second)
        known = ", ".join(repr(term.name) for term in self.terms)
        raise SettingError(f"The model has no column {column!r}: it has {known}.")

    def __getitem__(self, name: str | tuple[str, str]) -> Part:
        """A term by its column; a pair by ``"latitude & longitude"`` or by both, in any order."""
        if isinstance(name, str):
            for part in self.parts:
                if part.name == name:
                    return part
        for pair in self.pairs:
            turned = pair.names[::-1]
            if name in (pair.names, turned, pair_name(*turned)):
                return pair
        known = ", ".join(repr(part.name) for part in self.parts)
        raise KeyError(f"There is no term or pair {name!r}: there are {known}.")

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per bin of a term, or cell of a pair, and output."""
        return [record for part in self.parts for record in part.to_records(self.outputs)]

    def __str__(self) -> str:
        return global_text(self)


def _rank(part: Part) -> tuple[bool, float]:
    return part.is_nothing, -float(part.importance.sum())
