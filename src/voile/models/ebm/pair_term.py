"""A pair term: what two columns add together beyond what each adds by itself, on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Floats
from voile.models.ebm.pair_evidence import PairEvidence
from voile.privacy.cut_kernels import CutSearch
from voile.schema import Category, Number
from voile.schema.columns import Column
from voile.schema.value_texts import interval_texts

JOINED = " & "
"""Between the names of two columns in the name of their pair."""

_MOST_NAMED = 3
"""Levels of a group that its label names."""


@dataclass(frozen=True, eq=False)
class PairAxis:
    """One side of a grid: which part of it each value of a column falls into.

    Attributes
    ----------
    name : str
        Name of the column.
    column : Number or Category
    cuts : ndarray of shape (intervals - 1,)
        Inner cut points of a number, increasing; empty for a category. Missing values have a part
        of their own, the last.
    groups : ndarray of int64 of shape (levels + 2,)
        Of a category: the part of each level, of other levels and of missing values; parts are
        numbered from 0 without gaps. Empty for a number.
    """

    name: str
    column: Column
    cuts: Floats
    groups: NDArray[np.int64]

    @property
    def parts(self) -> int:
        """Number of parts, that of missing values included."""
        if isinstance(self.column, Number):
            return len(self.cuts) + 2
        return int(self.groups.max()) + 1

    @property
    def edges(self) -> Floats:
        """Borders of a number's intervals, bounds included; empty for a category."""
        if not isinstance(self.column, Number):
            return np.empty(0)
        return np.array([self.column.lower, *self.cuts, self.column.upper], dtype=np.float64)

    @property
    def labels(self) -> tuple[str, ...]:
        """A readable name for each part."""
        if isinstance(self.column, Number):
            return (*interval_texts(self.edges.tolist(), self.column.scale), "(missing)")
        names = [*(str(level) for level in self.column.levels or ()), "(other)", "(missing)"]
        return tuple(
            _listed([name for name, own in zip(names, self.groups, strict=True) if own == part])
            for part in range(self.parts)
        )

    def find(self, values: NDArray[np.float64] | NDArray[np.int32]) -> NDArray[np.int64]:
        """Part of each encoded value (numbers: NaN is missing; categories: codes)."""
        if isinstance(self.column, Category):
            return self.groups[np.minimum(values.astype(np.int64), len(self.groups) - 1)]
        found = np.empty(len(values), dtype=np.int64)
        self._search.find(np.asarray(values, dtype=np.float64), len(self.cuts) + 1, found)
        return found

    @cached_property
    def _search(self) -> CutSearch:
        return CutSearch.of(self.cuts)


@dataclass(frozen=True, eq=False)
class PairTerm:
    """The part of two columns together: a score for each cell of a grid.

    Weighted by its counts, every row and column of the grid averages to zero, as far as a score of
    the columns by themselves can say it: a curve reads as the whole effect of its column, and the
    pair as what is left.

    Attributes
    ----------
    first, second : PairAxis
        Rows and columns of the grid.
    scores, standard_errors : ndarray of shape (first.parts, second.parts, outputs)
        What a cell adds to the score, in units of the score, and its standard deviation by the
        privacy noise.
    counts, count_errors : ndarray of shape (first.parts, second.parts)
        Privately estimated rows per cell (>= 0), and their standard deviation by the noise.
    whole_errors : ndarray of shape (first.parts, second.parts, outputs), or None
        Standard deviation of each score by noise, sampling and smoothing together.
    evidence : PairEvidence or None
        What the verdict rests on; None if people edited the pair.
    """

    first: PairAxis
    second: PairAxis
    scores: Floats
    standard_errors: Floats
    counts: Floats
    count_errors: Floats
    whole_errors: Floats | None = None
    evidence: PairEvidence | None = None

    @property
    def name(self) -> str:
        """Both names: ``"latitude & longitude"``."""
        return pair_name(self.first.name, self.second.name)

    @property
    def columns(self) -> tuple[str, str]:
        """Names of the two columns."""
        return self.first.name, self.second.name

    @property
    def errors(self) -> Floats:
        """Standard deviations of the scores, as whole as they are known."""
        return self.standard_errors if self.whole_errors is None else self.whole_errors

    @property
    def importance(self) -> Floats:
        """Mean absolute score over the private distribution of both columns, one per output."""
        total = self.counts.sum()
        if total <= 0:
            return np.asarray(np.abs(self.scores).mean(axis=(0, 1)))
        return np.asarray(np.einsum("ij,ijo->o", self.counts, np.abs(self.scores)) / total)

    def find_cells(
        self,
        first: NDArray[np.float64] | NDArray[np.int32],
        second: NDArray[np.float64] | NDArray[np.int32],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row and column of the grid for encoded values of both columns."""
        return self.first.find(first), self.second.find(second)


def pair_name(first: str, second: str) -> str:
    """How a pair is called."""
    return f"{first}{JOINED}{second}"


def _listed(names: list[str]) -> str:
    left = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {left} more" if left > 0 else "")
