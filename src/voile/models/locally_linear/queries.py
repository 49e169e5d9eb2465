"""What the training of maps asks of the rows: sums, each with its bound.

Bounds are enforced where the sums are made, from the very numbers that are added, in exact
arithmetic. Proofs: docs/proofs/locally-linear.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.exact_sums import WholeQuery, exponent, in_units, whole
from voile.models.locally_linear.inputs import (
    BITS,
    CLASSES,
    MOST_COPIES,
    ONE,
    POINTS,
    Inputs,
    kept_copies,
)
from voile.models.locally_linear.kernels import blend_copies, squared_lengths
from voile.models.public_numbers import check_lot, check_numbers
from voile.privacy.queries import Block, Preparation, Query
from voile.privacy.wire import sendable
from voile.schema import Schema

Floats = NDArray[np.float64]

COUNT_WEIGHT = 0.25
"""Weight of a count beside a vector of length 1."""

COEFFICIENT_BITS = 20
"""Coefficients of gradients are multiples of 2^-20, if the grid of the noise is that fine."""

LARGEST = 32.0
"""Most that a single coefficient may be; with 20 bits, 11 of a point and 2^16 rows: below 2^53."""

_SCORE_LIMIT = 2.0**24
"""Whole numbers below it are exact in single precision."""

_LARGEST_WEIGHT = 1e12
"""Scores of larger weights would leave the range of single precision."""

_MOST_SCORES = 2**20
"""Most maps of all classes together."""

_CHUNK_NUMBERS = 120_000
"""Scores that are worked on at once, so that they stay in the processor's cache."""

_CLASS_NUMBERS = 4_000_000
"""The same for places of classes."""


@sendable
@dataclass(frozen=True, eq=False)
class Directions(Query):
    """Sums of (d, l/4, 1/4): d the row's direction, l its length, and a quarter per row.

    Features have length sqrt(features) at most, and l is in that unit. d has length 1 at most; rows
    that are not normalised are divided by that unit, too.
    """

    layout: Inputs

    bound = math.sqrt(1.0 + 2.0 * COUNT_WEIGHT**2)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the rows are encoded by just its schema."""
        return self.layout.schema == schema

    @property
    def columns(self) -> tuple[str, ...]:
        """All features."""
        return tuple(self.layout.schema)

    @property
    def size(self) -> int:
        """Coordinates, and two."""
        return self.layout.size + 2

    @property
    def longest(self) -> float:
        """Longest that features can be."""
        return math.sqrt(len(self.layout.features))

    def contributions(self, block: Block) -> Floats:
        """Shape (rows, size + 2)."""
        columns = {name: block[name] for name in self.layout.schema}
        features = self.layout.read(columns, block.rows)
        found = self.layout.directions(features)
        if not self.layout.normalise:
            found = found / self.longest
        squares = np.empty(block.rows)
        squared_lengths(features, squares)
        lengths = COUNT_WEIGHT * np.sqrt(squares) / self.longest
        return np.column_stack([found, lengths, np.full(block.rows, COUNT_WEIGHT)])

    def split(self, values: Floats) -> tuple[float, Floats, float]:
        """Released number of rows (at least 10), mean direction (size,) and mean length."""
        rows = max(float(values[-1]) / COUNT_WEIGHT, 10.0)
        length = max(float(values[-2]) / COUNT_WEIGHT / rows, 0.0) * self.longest
        unit = 1.0 if self.layout.normalise else self.longest
        return rows, values[:-2] * unit / rows, length


@sendable
@dataclass(frozen=True, eq=False)
class ClassPoints(WholeQuery):
    """Per class the sum of its points, of length 1 at most, and a quarter per row."""

    layout: Inputs

    bound = math.sqrt(1.0 + COUNT_WEIGHT**2)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep points of this layout."""
        return kept_copies(prepared, self.layout) > 0

    @property
    def size(self) -> int:
        """A point and a count per class."""
        return self.layout.class_count * (self.layout.size + 1)

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: points are whole numbers of 2^-BITS."""
        if block.weights is not None:
            raise SettingError("Maps are trained without weights: leave them out.")
        if exponent(grid) < BITS:
            return np.zeros(self.size, dtype=np.int64)
        points, classes = block.kept[POINTS][:, 0], block.kept[CLASSES]
        count, size = self.layout.class_count, self.layout.size
        sums, counts = np.zeros((count, size), dtype=np.int64), np.zeros(count, dtype=np.int64)
        squares = np.empty(block.rows)
        squared_lengths(points, squares)
        # Points longer than 1 (there are none) would exceed the bound.
        seen = (classes >= 0) & (classes < count) & (squares <= float(ONE) ** 2)
        step = max(_CLASS_NUMBERS // max(count, 1), 1)
        for start in range(0, block.rows, step):
            some, mine = points[start : start + step], classes[start : start + step]
            used = np.flatnonzero(seen[start : start + step])
            own = np.zeros((len(mine), count))
            own[used, mine[used]] = 1.0
            # Sums of whole numbers far below 2^53.
            sums += whole(own.T @ some.astype(np.float64))
            counts += whole(own.sum(axis=0))
        return np.column_stack([in_units(sums, BITS, grid), in_units(counts, 2, grid)]).ravel()

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Released sums (classes, size) and counts (classes,)."""
        table = values.reshape(self.layout.class_count, -1)
        return table[:, :-1], table[:, -1] / COUNT_WEIGHT


@sendable
@dataclass(frozen=True, eq=False)
class MapSteps(WholeQuery):
    """Sum of the gradients of the cross-entropy by all maps, each row's cut to norm ``clip``.

    A row adds c_mk (z, bias) to map m of class k, the mean over its copies z.

    Parameters
    ----------
    layout : Inputs
    weights : ndarray of shape (classes, maps, size + 1)
        The last coordinate belongs to the constant input.
    beta : float
        Inverse temperature.
    bias : float
        The constant input.
    clip : float
    lot : tuple of int, optional
        (k, n): every n-th row of a block only, beginning with the k-th (plain SGD).
    chosen : tuple of int, optional
        Numbers of the copies to use, by public randomness; all without it.
    """

    layout: Inputs
    weights: Floats
    beta: float
    bias: float
    clip: float
    lot: tuple[int, int] | None = None
    chosen: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not (1e-140 <= self.clip <= 1e4 and 0 <= self.beta < 1e4 and 0 <= self.bias <= 1.0):
            raise SettingError("The clip, temperature and bias of a step must be sensible numbers.")
        # Written so that what is not a number is refused, too.
        if not np.abs(self.weights).max(initial=0.0) < _LARGEST_WEIGHT:
            raise SettingError(
                f"The weights of maps must be smaller than {_LARGEST_WEIGHT:g}: take smaller steps."
            )
        check_numbers(
            self.weights, (self.layout.class_count, None, self._inputs + 1), "weights of maps"
        )
        if not 1 <= self.weights.shape[0] * self.weights.shape[1] <= _MOST_SCORES:
            raise SettingError(f"There must be from 1 to {_MOST_SCORES} maps of all classes.")
        check_lot(self.lot)
        if self.chosen is not None and not (
            1 <= len(self.chosen) <= MOST_COPIES
            and all(type(one) is int and 0 <= one < MOST_COPIES for one in self.chosen)
        ):
            raise SettingError(f"From 1 to {MOST_COPIES} copies can be chosen, by their numbers.")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep points of this layout, and the copies that are chosen."""
        return kept_copies(prepared, self.layout) > max(self.chosen or (0,))

    @property
    def _inputs(self) -> int:
        """Coordinates that a map sees."""
        return self.layout.size

    @property
    def size(self) -> int:
        """A vector per map."""
        return int(np.prod(self.weights.shape))

    @property
    def bound(self) -> float:
        """Norm of a row's gradient."""
        return self.clip

    @property
    def bounded(self) -> bool:
        """Lots go by the place of a row, which others before it change: for plain SGD alone."""
        return self.lot is None

    @cached_property
    def _constant(self) -> int:
        """The constant input in whole units of points."""
        return math.floor(self.bias * ONE + 0.5)

    @cached_property
    def _whole_weights(self) -> tuple[NDArray[np.float32], float]:
        """Weights as whole numbers, shape (classes maps, size + 1), and their unit."""
        flat = self.weights.reshape(-1, self.weights.shape[-1])
        longest = float(np.linalg.norm(flat, axis=1).max(initial=1e-6))
        reach = math.hypot(ONE, self._constant)
        # Rounding lengthens a weight by half a unit per coordinate at most.
        spare = 0.5 * math.sqrt(flat.shape[1]) * reach
        room = (_SCORE_LIMIT - spare) / (reach * longest)
        unit = 2.0 ** -math.floor(math.log2(room))
        return np.round(flat / unit).astype(np.float32), unit

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: coefficients are whole numbers of 2^-bits, points of 2^-BITS."""
        bits = self._bits(grid)
        if self.lot is not None:
            block = block.where(np.arange(block.rows) % self.lot[1] == self.lot[0])
        if bits < 1:
            return np.zeros(self.size, dtype=np.int64)
        return self._in_units(self._sums(block, bits), bits, grid)

    def _in_units(self, sums: NDArray[np.int64], bits: int, grid: float) -> NDArray[np.int64]:
        return in_units(sums.ravel(), bits + BITS, grid)

    def _bits(self, grid: float) -> int:
        return min(COEFFICIENT_BITS, exponent(grid) - BITS)

    def _sums(self, block: Block, bits: int) -> NDArray[np.int64]:
        """Sum of coefficient times (point, bias), shape (classes maps, size + 1)."""
        if block.weights is not None:
            raise SettingError("Maps are trained without weights: leave them out.")
        points, classes = block.kept[POINTS], block.kept[CLASSES].astype(np.int64)
        size = points.shape[2]
        chosen = np.arange(points.shape[1]) if self.chosen is None else np.array(self.chosen)
        copies = len(chosen)
        weights, unit = self._whole_weights
        width = len(weights)
        sums = np.zeros((width, size + 1), dtype=np.int64)
        step = max(min(_CHUNK_NUMBERS // (copies * width), block.rows), 1)
        single = np.empty((step * copies, size + 1), dtype=np.float32)
        double = np.empty((step * copies, size + 1))
        single[:, -1] = double[:, -1] = self._constant
        scores = np.empty((step * copies, width), dtype=np.float32)
        pulls = np.empty((step * copies, width))
        for start in range(0, block.rows, step):
            some, own = points[start : start + step, chosen], classes[start : start + step]
            rows = len(own) * copies
            single[:rows, :-1] = some.reshape(rows, size)
            double[:rows, :-1] = single[:rows, :-1]
            np.matmul(single[:rows], weights.T, out=scores[:rows])
            self._coefficients(
                block, start, scores[:rows], some, own, unit / ONE, bits, pulls[:rows]
            )
            sums += whole(pulls[:rows].T @ double[:rows])
        return sums

    def _coefficients(
        self,
        block: Block,
        start: int,
        scores: NDArray[np.float32],
        points: NDArray[np.int16],
        own: NDArray[np.int64],
        unit: float,
        bits: int,
        out: Floats,
    ) -> None:
        classes, maps = self.weights.shape[:2]
        shape = (len(own), points.shape[1], classes * maps)
        blend_copies(
            scores.reshape(shape),
            points,
            own,
            classes,
            maps,
            np.float32(unit),
            np.float32(self.beta),
            float(self._constant**2),
            self.clip,
            LARGEST,
            2.0**bits,
            out.reshape(shape),
        )
