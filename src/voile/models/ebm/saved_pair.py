"""What stands in the file of an additive model about a pair of columns: its grid and two sides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Array, Floats, freeze_arrays
from voile.errors import ModelError
from voile.models.ebm.pair_evidence import PairEvidence
from voile.models.ebm.pair_term import PairAxis, PairTerm, pair_name
from voile.models.ebm.saved_term import check_size
from voile.models.json_files import MODEL
from voile.models.saved_model import LARGEST
from voile.schema import Category, Number, Schema
from voile.stored import Stored
from voile.strict import show


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedAxis:
    """What stands in the file of a side: see `PairAxis`; a number has edges, a category groups."""

    name: str
    kind: Literal["number", "category"]
    edges: Annotated[Floats | None, Array("edges", most=math.inf), Stored(optional=True)] = None
    groups: Annotated[
        NDArray[np.int64] | None, Array("groups", least=0.0), Stored(optional=True)
    ] = None

    @classmethod
    def of(cls, axis: PairAxis) -> Self:
        """What is written of a side."""
        if isinstance(axis.column, Number):
            return cls(name=axis.name, kind="number", edges=axis.edges)
        return cls(name=axis.name, kind="category", groups=axis.groups)

    @property
    def parts(self) -> int:
        """Number of parts, that of missing values included."""
        if self.edges is not None:
            return len(self.edges)  # one more than intervals: missing values have their own part
        return int(self.groups.max(initial=-1)) + 1 if self.groups is not None else 0

    def build(self, schema: Schema, where: str) -> PairAxis:
        """The side, if it fits the schema (ModelError)."""
        column = schema.get(self.name)
        if column is None:
            raise ModelError(f"In {where}, the model has no column {show(self.name)}.")
        where = f"side {self.name!r} of {where}"
        kind = "number" if isinstance(column, Number) else "category"
        if self.kind != kind or (self.edges is None) == (self.groups is None):
            raise ModelError(f"In {where}, 'kind' must be {kind!r}, as in the schema.")
        if isinstance(column, Category):
            return PairAxis(self.name, column, _fixed([]), self._checked_groups(column, where))
        edges = self.edges if self.edges is not None else np.empty(0)
        if len(edges) < 2 or edges[0] != column.lower or edges[-1] != column.upper:
            raise ModelError(f"The 'edges' of {where} must begin and end at {column!r}.")
        if not (np.diff(edges) > 0).all():
            raise ModelError(f"The 'edges' of {where} must increase strictly.")
        nothing = np.empty(0, dtype=np.int64)
        nothing.setflags(write=False)
        return PairAxis(self.name, column, edges[1:-1], nothing)

    def _checked_groups(self, column: Category, where: str) -> NDArray[np.int64]:
        groups = np.empty(0, dtype=np.int64) if self.groups is None else self.groups
        wanted = len(column.levels or ()) + 2
        if len(groups) != wanted:
            raise ModelError(
                f"The 'groups' of {where} must be {wanted} numbers: of each level, of others and "
                f"of missing values. Got {len(groups)} instead."
            )
        if not np.array_equal(np.unique(groups), np.arange(self.parts)):
            raise ModelError(f"The 'groups' of {where} must be numbered from 0 without gaps.")
        return groups


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedPair:
    """What stands in the file of a pair: see `PairTerm`."""

    first: SavedAxis
    second: SavedAxis
    scores: Annotated[Floats, Array("height", "width", "outputs", most=math.inf)]
    standard_errors: Annotated[
        Floats, Array("height", "width", "outputs", least=0.0, most=math.inf, null=math.inf)
    ]
    counts: Annotated[Floats, Array("height", "width", least=0.0, most=LARGEST)]
    count_errors: Annotated[
        Floats, Array("height", "width", least=0.0, most=LARGEST, null=math.inf)
    ]
    whole_errors: Annotated[
        Floats | None,
        Array("height", "width", "outputs", least=0.0, most=math.inf, null=math.inf),
        Stored(optional=True),
    ] = None
    evidence: Annotated[PairEvidence | None, Stored(optional=True)] = None

    @classmethod
    def of(cls, pair: PairTerm) -> Self:
        """What is written of a pair."""
        return cls(
            first=SavedAxis.of(pair.first),
            second=SavedAxis.of(pair.second),
            scores=pair.scores,
            standard_errors=pair.standard_errors,
            counts=pair.counts,
            count_errors=pair.count_errors,
            whole_errors=pair.whole_errors,
            evidence=pair.evidence,
        )

    @property
    def name(self) -> str:
        """Both names."""
        return pair_name(self.first.name, self.second.name)

    @property
    def height(self) -> int:
        """Parts of the first column."""
        return self.first.parts

    @property
    def width(self) -> int:
        """Parts of the second column."""
        return self.second.parts

    def freeze(self, home: object) -> None:
        """Make all arrays read-only and refuse other shapes; ``home`` tells the outputs."""
        freeze_arrays(self.first, MODEL)
        freeze_arrays(self.second, MODEL)
        freeze_arrays(self, MODEL, home)
        if self.evidence is not None:
            freeze_arrays(self.evidence, MODEL)

    def build(self, schema: Schema, where: str) -> PairTerm:
        """The pair, if it fits the schema (ModelError)."""
        where = f"pair {show(self.name)} of {where}"
        first, second = self.first.build(schema, where), self.second.build(schema, where)
        if first.name == second.name:
            raise ModelError(f"The {where} must have two columns: its sides are the same.")
        for name in ("scores", "standard_errors"):
            check_size(getattr(self, name), schema, f"'{name}' of {where}")
        if self.evidence is not None:
            self._check_evidence(self.evidence, where)
        return PairTerm(
            first=first,
            second=second,
            scores=self.scores,
            standard_errors=self.standard_errors,
            counts=self.counts,
            count_errors=self.count_errors,
            whole_errors=self.whole_errors,
            evidence=self.evidence,
        )

    def _check_evidence(self, evidence: PairEvidence, where: str) -> None:
        if evidence.estimates.shape != self.scores.shape:
            raise ModelError(f"The 'evidence' of {where} must have its cells and outputs.")
        aparts = zip(evidence.aparts, (self.height, self.width), strict=True)
        fits = (
            *(1 <= one <= parts for one, parts in aparts),
            *(length >= 0 for length in evidence.noise_lengths),
            *(0 <= plain <= 1 for plain in evidence.noise_plains),
            evidence.candidates >= 1,
            evidence.prior >= 0,
        )
        if not all(fits):
            raise ModelError(
                f"In the 'evidence' of {where} stands what cannot be: 'aparts' are numbers of "
                "parts, 'noise_lengths' and 'prior' >= 0, 'noise_plains' from 0 to 1, "
                "'candidates' >= 1."
            )


def build_pairs(pairs: tuple[SavedPair, ...], schema: Schema, where: str) -> tuple[PairTerm, ...]:
    """The pairs, if each is of other columns (ModelError)."""
    built = tuple(pair.build(schema, where) for pair in pairs)
    seen: set[frozenset[str]] = set()
    for pair in built:
        if frozenset(pair.columns) in seen:
            raise ModelError(f"In {where}, the pair {show(pair.name)} stands twice.")
        seen.add(frozenset(pair.columns))
    return built


def check_same_pairs(pairs: tuple[PairTerm, ...], original: tuple[PairTerm, ...]) -> None:
    """Refuse an original that edits, which only split its parts, cannot have led away from."""
    if [pair.columns for pair in pairs] != [pair.columns for pair in original]:
        raise ModelError("The original of a model has other 'pairs': use an undamaged copy.")
    for pair, before in zip(pairs, original, strict=True):
        sides = ((pair.first, before.first), (pair.second, before.second))
        if not all(_is_split_of(now, then) for now, then in sides):
            raise ModelError(
                f"The pair {show(pair.name)} does not have the parts of its original, nor parts of "
                "them: use an undamaged copy."
            )


def _is_split_of(now: PairAxis, then: PairAxis) -> bool:
    """Whether each part of a side lies in one part of another."""
    if isinstance(now.column, Number):
        return bool(np.isin(then.cuts, now.cuts).all())
    return len(np.unique(np.column_stack([now.groups, then.groups]), axis=0)) == now.parts


def _fixed(values: list[float]) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
