"""What the training of maps asks of the rows: three sums, each with its bound.

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
from voile.models.locally_linear.inputs import BITS, CLASSES, ONE, POINTS, Inputs
from voile.models.locally_linear.kernels import blend_copies, blend_projected
from voile.models.whole_numbers import WholeQuery, exponent, in_units, whole
from voile.privacy.queries import Block, CellQuery, Query

Floats = NDArray[np.float64]

COUNT_WEIGHT = 0.25
"""Weight of a count beside a vector of length 1."""

_COEFFICIENT_BITS = 20
"""Coefficients of gradients are multiples of 2^-20, if the grid of the noise is that fine."""

_LARGEST = 32.0
"""Most that a single coefficient may be; with 20 bits, 11 of a point and 2^16 rows: below 2^53."""

_SCORE_LIMIT = 2.0**24
"""Whole numbers below it are exact in single precision."""

PROJECTION_BITS = 9
"""Entries of projections are multiples of 2^-9; they are chance anyway."""

_CHUNK_NUMBERS = 120_000
"""Scores that are worked on at once, so that they stay in the processor's cache."""

SQUARES = "maps squares"

BRIGHTEST = (1.0, 255.0, 4095.0, 65535.0)
"""Upper ends of the usual ranges of pixels: fractions, and 8, 12 and 16 bits."""


@dataclass(frozen=True)
class PixelRanges(CellQuery):
    """How many pictures have their brightest pixel in each of the usual ranges.

    One cell per range and one beyond, then the same for pictures with a negative pixel.
    """

    columns: tuple[str, ...]

    size = 2 * (len(BRIGHTEST) + 1)

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """The range of each row."""
        top, bottom = np.zeros(block.rows), np.zeros(block.rows)
        for name in self.columns:
            values = np.nan_to_num(block[name])
            np.maximum(top, np.abs(values), out=top)
            np.minimum(bottom, values, out=bottom)
        places = np.searchsorted(np.array(BRIGHTEST), top, side="left").astype(np.int64)
        return [places + np.where(bottom < 0, len(BRIGHTEST) + 1, 0)]


@dataclass(frozen=True, eq=False)
class Directions(Query):
    """Sums of (d, l/4, 1/4): d the row's direction, l its length, and a quarter per row.

    Features have length sqrt(features) at most, and l is in that unit. d has length 1 at most; rows
    that are not normalised are divided by that unit, too.
    """

    layout: Inputs

    bound = math.sqrt(1.0 + 2.0 * COUNT_WEIGHT**2)

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

    def shares(self, block: Block) -> Floats:
        """Shape (rows, size + 2)."""
        columns = {name: block[name] for name in self.layout.schema}
        features = self.layout.read(columns, block.rows)
        found = self.layout.directions(features)
        if not self.layout.normalise:
            found = found / self.longest
        lengths = np.sqrt(np.einsum("ij,ij->i", features, features)) / self.longest
        counts = np.full(block.rows, COUNT_WEIGHT)
        return np.column_stack([found, COUNT_WEIGHT * lengths, counts])

    def split(self, values: Floats) -> tuple[float, Floats, float]:
        """Released number of rows (at least 10), mean direction (size,) and mean length."""
        rows = max(float(values[-1]) / COUNT_WEIGHT, 10.0)
        length = max(float(values[-2]) / COUNT_WEIGHT / rows, 0.0) * self.longest
        unit = 1.0 if self.layout.normalise else self.longest
        return rows, values[:-2] * unit / rows, length


@dataclass(frozen=True, eq=False)
class ClassPoints(WholeQuery):
    """Per class the sum of its points, of length 1 at most, and a quarter per row."""

    layout: Inputs

    bound = math.sqrt(1.0 + COUNT_WEIGHT**2)

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
        count = self.layout.class_count
        own = np.zeros((block.rows, count))
        seen = np.flatnonzero((classes >= 0) & (classes < count))
        own[seen, classes[seen]] = 1.0
        # Sums of whole numbers far below 2^53.
        sums = in_units(whole(own.T @ points.astype(np.float64)), BITS, grid)
        return np.column_stack([sums, in_units(whole(own.sum(axis=0)), 2, grid)]).ravel()

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Released sums (classes, size) and counts (classes,)."""
        table = values.reshape(self.layout.class_count, -1)
        return table[:, :-1], table[:, -1] / COUNT_WEIGHT


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
        Numbers of the copies to use, by public chance; all without it.
    """

    layout: Inputs
    weights: Floats
    beta: float
    bias: float
    clip: float
    lot: tuple[int, int] | None = None
    chosen: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not (0 < self.clip <= 1e4 and 0 <= self.beta < 1e4 and 0 <= self.bias <= 1.0):
            raise SettingError("The clip, temperature and bias of a step must be sensible numbers.")
        if not np.isfinite(self.weights).all():
            raise SettingError("The weights of maps must be finite.")

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
        return in_units(self._sums(block, bits).ravel(), bits + BITS, grid)

    def _bits(self, grid: float) -> int:
        return min(_COEFFICIENT_BITS, exponent(grid) - BITS)

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
        step = max(_CHUNK_NUMBERS // (copies * width), 8)
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
            _LARGEST,
            2.0**bits,
            out.reshape(shape),
        )


@dataclass(frozen=True, eq=False)
class ProjectedSteps(MapSteps):
    """The same for maps that see a row through a random projection each (Harder et al. 2020).

    Weights v_mk belong to the coordinates R_m z, so a row adds c_mk (R_m z, bias). The sum over
    rows is taken before the projection, which is linear; only lengths are needed row by row.

    Parameters
    ----------
    projections : int64 array of shape (maps or 1, size, coordinates)
        In units of 2^-PROJECTION_BITS; one for all maps, or one for each.
    """

    projections: NDArray[np.int64] = None  # type: ignore[assignment]

    @cached_property
    def seen(self) -> Floats:
        """Weights of points: v_mk R_m, with the constant's; shape (classes, maps, size + 1)."""
        return np.concatenate(
            [unproject(self.weights[:, :, :-1], self.projections), self.weights[:, :, -1:]], axis=2
        )

    @cached_property
    def _whole_weights(self) -> tuple[NDArray[np.float32], float]:
        return MapSteps(self.layout, self.seen, self.beta, self.bias, self.clip)._whole_weights

    def _bits(self, grid: float) -> int:
        return min(_COEFFICIENT_BITS, exponent(grid) - BITS - PROJECTION_BITS)

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: what is summed before the projection is whole, and so are its entries."""
        bits = self._bits(grid)
        if self.lot is not None:
            block = block.where(np.arange(block.rows) % self.lot[1] == self.lot[0])
        if bits < 1:
            return np.zeros(self.size, dtype=np.int64)
        classes, maps, _ = self.weights.shape
        sums = self._sums(block, bits).reshape(classes, maps, -1)
        result = np.empty(self.weights.shape, dtype=np.int64)
        for m in range(maps):
            matrix = self.projections[m % len(self.projections)]
            result[:, m, :-1] = _whole_product(sums[:, m, :-1], matrix)
        result[:, :, -1] = sums[:, :, -1] << PROJECTION_BITS
        return in_units(result.ravel(), bits + BITS + PROJECTION_BITS, grid)

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
        squares = block.kept[SQUARES][start : start + len(own)]
        blend_projected(
            scores,
            np.broadcast_to(squares, (len(own), maps)) + np.float32((self._constant / ONE) ** 2),
            own,
            classes,
            maps,
            np.float32(unit),
            np.float32(self.beta),
            self.clip,
            _LARGEST,
            2.0**bits,
            out,
        )


def keep_squares(block: Block, projections: NDArray[np.int64]) -> None:
    """Keep the squared length of each row's projections, rounded up, shape (rows, maps or 1)."""
    points = block.kept[POINTS][:, 0]
    squares = np.empty((block.rows, len(projections)), dtype=np.float32)
    step = max(_CHUNK_NUMBERS * 8 // max(projections.shape[2], 1), 1)
    for m, matrix in enumerate(projections):
        factor = matrix.astype(np.float64).T
        for start in range(0, block.rows, step):
            seen = points[start : start + step].astype(np.float64) @ factor
            # Whole numbers below 2^53 all the way, so the same in any company.
            found = np.einsum("ij,ij->i", seen, seen) * 2.0 ** (-2 * (BITS + PROJECTION_BITS))
            squares[start : start + step, m] = found * (1.0 + 1e-5)
    block.kept[SQUARES] = squares


def unproject(weights: Floats, projections: NDArray[np.int64]) -> Floats:
    """Weights of projections as weights of points, shape (classes, maps, coordinates)."""
    unit = 2.0**-PROJECTION_BITS
    each = [
        weights[:, m] @ (projections[m % len(projections)] * unit) for m in range(weights.shape[1])
    ]
    return np.stack(each, axis=1)


def _whole_product(sums: NDArray[np.int64], matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """``sums @ matrix.T`` in 64-bit integers, by exact products of doubles (which BLAS does)."""
    factor = matrix.astype(np.float64).T
    result = np.zeros((len(sums), len(matrix)), dtype=np.int64)
    # Entries of the matrix are below 2^15: with 24 bits at a time and 2^13 terms, below 2^53.
    for shift in (0, 24, 48):
        limb = sums >> shift if shift == 48 else (sums >> shift) & ((1 << 24) - 1)
        result += whole(limb.astype(np.float64) @ factor) << shift
    return result
