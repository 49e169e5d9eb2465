"""What the training of prototypes asks of the rows: sums, each with its bound.

Every bound is enforced where the sum is made, from the very numbers that are added, in exact
arithmetic (`space.py`). Proofs: docs/proofs/lvq.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.exact_sums import (
    WholeQuery,
    exact_product,
    exponent,
    in_units,
    squared_norms,
    whole,
)
from voile.models.features import Features
from voile.models.lvq.pulls import Rule, distances, short_pulls
from voile.models.lvq.space import BITS, ONE, Space, check_prototypes, chunks, keeps
from voile.models.public_numbers import check_lot, check_number, check_numbers, feature_count
from voile.privacy.queries import Block, Preparation, Query
from voile.privacy.wire import sendable
from voile.schema import Schema

Floats = NDArray[np.float64]

COUNT_WEIGHT = 0.25
"""Weight of a count beside sums of points of length 1; a power of two keeps sums whole."""

SCATTER_WEIGHT = 0.5
"""The same for products of coordinates."""

_PULL_BITS = 17
"""Pulls of rows are multiples of 2^-17, if the grid of the noise is that fine."""

_CAPS = (1e-140, 1e140)
"""Bounds whose squares are numbers."""

LARGEST_PULL = 8.0
"""A row at a prototype's very place would pull without bound; this keeps sums below 2^53."""


@sendable
@dataclass(frozen=True, eq=False)
class Moments(Query):
    """Sums of (x / sqrt d, |x|^2 / d, 1): each of the three parts has norm at most 1.

    Parameters
    ----------
    schema : Schema
        Complete.
    """

    schema: Schema

    bound = math.sqrt(3.0)

    def __post_init__(self) -> None:
        if not all(column.known for column in self.schema.values()):
            raise SettingError("Moments need all bounds and levels: complete the schema first.")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the rows are encoded by just its schema."""
        return self.schema == schema

    @property
    def columns(self) -> tuple[str, ...]:
        """All features."""
        return tuple(self.schema)

    @property
    def size(self) -> int:
        """Features, and two."""
        return feature_count(self.schema) + 2

    def contributions(self, block: Block) -> Floats:
        """Shape (rows, features + 2); a missing number counts as the middle of its range."""
        features = Features(self.schema)
        columns = {name: block[name] for name in self.schema}
        points = np.nan_to_num(features.encode(columns, block.rows).astype(np.float64))
        d = max(len(features), 1)
        squares = squared_norms(points) / d
        return np.column_stack([points / math.sqrt(d), squares, np.ones(block.rows)])


@sendable
@dataclass(frozen=True, eq=False)
class ClassSums(WholeQuery):
    """Per class the sum of its points and its rows; if asked, all products of coordinates.

    A row adds its point z (|z| <= 1) and COUNT_WEIGHT to its class, and SCATTER_WEIGHT z z' (whose
    entries have norm |z|^2 <= 1) to the scatter.

    Parameters
    ----------
    layout : Space
    scatter : bool
    """

    layout: Space
    scatter: bool

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the points of this space."""
        return keeps(prepared, self.layout)

    @property
    def size(self) -> int:
        """Class sums, counts, products."""
        d, m = self.layout.size, self.layout.class_count
        return m * d + m + (d * d if self.scatter else 0)

    @property
    def bound(self) -> float:
        """Norms of the three parts add in squares."""
        return math.sqrt(1.0 + COUNT_WEIGHT**2 + (SCATTER_WEIGHT**2 if self.scatter else 0.0))

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: points are whole numbers of 2^-BITS, products of 2^-2BITS."""
        d, m = self.layout.size, self.layout.class_count
        # A coarser grid than the products' has points cut to fewer bits.
        drop = max(0, -(-(2 * BITS + 1 - exponent(grid)) // 2)) if self.scatter else 0
        drop = max(drop, BITS - exponent(grid), 0)
        if drop >= BITS:
            return np.zeros(self.size, dtype=np.int64)
        sums, counts = np.zeros((m, d), dtype=np.int64), np.zeros(m, dtype=np.int64)
        products = np.zeros((d, d) if self.scatter else (0, 0), dtype=np.int64)
        for points, _, classes in chunks(block, d, beside=m):
            if drop:
                points = np.trunc(points / 2**drop)
            own = np.zeros((len(points), m))
            seen = classes >= 0
            own[seen, classes[seen]] = 1.0
            sums += whole(own.T @ points)
            counts += whole(own.sum(axis=0))
            if self.scatter:
                products += whole(points.T @ points)
        bits = BITS - drop
        parts = [in_units(sums.ravel(), bits, grid)]
        # Counts in quarters: 2 bits.
        parts.append(in_units(counts, 2, grid))
        if self.scatter:
            parts.append(in_units(products.ravel(), 2 * bits + 1, grid))
        return np.concatenate(parts)

    def split(self, values: Floats) -> tuple[Floats, Floats, Floats | None]:
        """Released class sums (classes, size), counts (classes,) and scatter (size, size).

        The noise of a symmetric pair is averaged: its deviation is that of one value / sqrt 2.
        """
        d, m = self.layout.size, self.layout.class_count
        sums = values[: m * d].reshape(m, d)
        counts = values[m * d : m * d + m] / COUNT_WEIGHT
        if not self.scatter:
            return sums, counts, None
        products = values[m * d + m :].reshape(d, d) / SCATTER_WEIGHT
        return sums, counts, (products + products.T) / 2


@sendable
@dataclass(frozen=True, eq=False)
class Lengths(WholeQuery):
    """Sum of the squared lengths of points under a matrix, each cut to ``cap``."""

    layout: Space
    matrix: Floats
    cap: float

    size = 1
    signed = False

    def __post_init__(self) -> None:
        check_numbers(self.matrix, (None, self.layout.size), "matrix of lengths")
        check_number(self.cap, "cap of lengths", *_CAPS)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the points of this space."""
        return keeps(prepared, self.layout)

    @property
    def bound(self) -> float:
        """The cap."""
        return self.cap

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Each row's length cut to whole units of ``grid``, added in integers."""
        result = np.zeros(1, dtype=np.int64)
        largest = self.cap * (1.0 - 1e-12) / grid
        for points, _, classes in chunks(block, self.layout.size, beside=len(self.matrix)):
            with np.errstate(over="ignore", invalid="ignore"):  # of huge matrices
                moved = exact_product(points / ONE, self.matrix)
                lengths = squared_norms(moved) / grid
            most = min(largest, 2.0**62)
            # Also for what is not a number: as an integer it would be the smallest there is.
            lengths = np.where(lengths < most, lengths, most)
            lengths = np.where(classes >= 0, lengths, 0.0)
            result += lengths.astype(np.int64).sum()
        return result


@sendable
@dataclass(frozen=True, eq=False)
class ClusterSums(WholeQuery):
    """Per prototype the sum of the points of its class that are nearest to it, and their number.

    Parameters
    ----------
    layout : Space
    prototypes : ndarray of shape (prototypes, size)
    labels : ndarray of shape (prototypes,)
        Class numbers.
    """

    layout: Space
    prototypes: Floats
    labels: NDArray[np.int64]

    bound = math.sqrt(1.0 + COUNT_WEIGHT**2)

    def __post_init__(self) -> None:
        check_prototypes(self.layout, self.prototypes, self.labels)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the points of this space."""
        return keeps(prepared, self.layout)

    @property
    def size(self) -> int:
        """A point and a count per prototype."""
        return len(self.labels) * (self.layout.size + 1)

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: points are whole numbers of 2^-BITS."""
        d, count = self.layout.size, len(self.labels)
        placed = self.layout.whole(self.prototypes)
        drop = max(BITS - exponent(grid), 0)
        if drop >= BITS:
            return np.zeros(self.size, dtype=np.int64)
        sums, counts = np.zeros((count, d), dtype=np.int64), np.zeros(count, dtype=np.int64)
        for points, squares, classes in chunks(block, d, beside=count):
            far = distances(points, squares, placed)
            far[self.labels[None] != classes[:, None]] = np.inf
            nearest = far.argmin(axis=1)
            seen = np.isfinite(far[np.arange(len(far)), nearest])
            own = np.zeros((len(points), count))
            own[seen, nearest[seen]] = 1.0
            if drop:
                points = np.trunc(points / 2**drop)
            sums += whole(own.T @ points)
            counts += whole(own.sum(axis=0))
        first = in_units(sums, BITS - drop, grid)
        second = in_units(counts, 2, grid)
        return np.column_stack([first, second]).ravel()

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Released sums (prototypes, size) and counts (prototypes,)."""
        table = values.reshape(len(self.labels), -1)
        return table[:, :-1], table[:, -1] / COUNT_WEIGHT


@sendable
@dataclass(frozen=True, eq=False)
class Pulls(WholeQuery):
    """Sum of the gradients of a margin loss by the prototypes, each row's cut to norm ``clip``.

    A row adds a (w - z) at the nearest prototype w of its class and b (w - z) at the nearest other
    one ("glvq"), or at the winner alone ("lvq1"); norm^2 = a^2 d+ + b^2 d-, with exact distances.

    Parameters
    ----------
    layout : Space
    prototypes : ndarray of shape (prototypes, size)
    labels : ndarray of shape (prototypes,)
    rule : {"glvq", "lvq1"}
    slope : float
        Of the softplus of the relative distance ("glvq").
    clip : float
    weight : float
        Multiplies gradients before they are cut.
    lot : tuple of int, optional
        (k, n): every n-th row of a block only, beginning with the k-th (plain SGD).
    """

    layout: Space
    prototypes: Floats
    labels: NDArray[np.int64]
    rule: Rule
    slope: float
    clip: float
    weight: float = 1.0
    lot: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """A vector per prototype."""
        return len(self.labels) * self.layout.size

    @property
    def bounded(self) -> bool:
        """Lots go by the place of a row, which others before it change: for plain SGD alone."""
        return self.lot is None

    @property
    def bound(self) -> float:
        """Norm of a row's gradient."""
        return self.clip

    def __post_init__(self) -> None:
        check_prototypes(self.layout, self.prototypes, self.labels)
        check_lot(self.lot)
        if self.rule not in ("lvq1", "glvq"):
            raise SettingError(f"There is no rule {self.rule!r} of pulls.")
        positive = (self.clip, self.slope, self.weight)
        if not (self.clip <= LARGEST_PULL and all(0 < one < 1e6 for one in positive)):
            raise SettingError("The clip and slope of a step must be positive and not huge.")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the points of this space."""
        return keeps(prepared, self.layout)

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: pulls are whole numbers of 2^-bits, points of 2^-BITS."""
        d, count = self.layout.size, len(self.labels)
        bits = min(_PULL_BITS, exponent(grid) - BITS)
        if bits < 1:
            return np.zeros(self.size, dtype=np.int64)
        placed = self.layout.whole(self.prototypes)
        sums, pulls = np.zeros((count, d), dtype=np.int64), np.zeros(count, dtype=np.int64)
        if self.lot is not None:
            block = block.where(np.arange(block.rows) % self.lot[1] == self.lot[0])
        for points, squares, classes in chunks(block, d, beside=count):
            far = distances(points, squares, placed)
            own = self._coefficients(far, classes, 2.0**bits)
            sums += whole(own.T @ points)
            pulls += whole(own.sum(axis=0))
        return in_units((pulls[:, None] * whole(placed) - sums).ravel(), bits + BITS, grid)

    def _coefficients(self, far: Floats, classes: NDArray[np.int64], unit: float) -> Floats:
        """Whole multiples of 1 / unit per row and prototype, so short that the norm is kept."""
        rows = np.arange(len(far))
        plus, minus, a, b = short_pulls(
            far, self.labels, classes, self.rule, self.slope, self.clip, self.weight
        )
        limit = LARGEST_PULL * unit
        result = np.zeros_like(far)
        result[rows, minus] = np.trunc(np.clip(b * unit, -limit, limit))
        result[rows, plus] = np.trunc(np.clip(a * unit, -limit, limit))
        return result
