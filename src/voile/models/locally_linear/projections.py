"""Maps behind random projections, as published: each sees a row through a public matrix.

Harder, Bauer & Park (2020). The sum over rows is taken before the projection, which is linear; only
the lengths of projected rows are needed one by one, and are kept. Proof:
docs/proofs/locally-linear.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.exact_sums import exponent, in_units, whole
from voile.models.locally_linear.inputs import BITS, ONE, POINTS, KeptPoints, kept_copies
from voile.models.locally_linear.kernels import blend_projected, squared_lengths
from voile.models.locally_linear.queries import COEFFICIENT_BITS, LARGEST, MapSteps
from voile.models.public_numbers import check_wholes
from voile.privacy.queries import Block, Preparation, last_kept
from voile.privacy.wire import lasting, sendable
from voile.schema import Schema

Floats = NDArray[np.float64]

PROJECTION_BITS = 9
"""Entries of projections are multiples of 2^-9; they are chance anyway."""

ENTRY_BITS, SIZE_BITS = 15, 13
"""Entries are below 2^15 and rows have at most 2^13 coordinates. A sum is projected in limbs of 24
bits, and 24 + 15 + 13 = 52: partial sums stay below 2^53, where doubles hold whole numbers."""

_LIMB_BITS = 24

SQUARES = "maps squares"

_CHUNK_NUMBERS = 1_000_000


@sendable
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

    def __post_init__(self) -> None:
        check_projections(self.projections)
        super().__post_init__()
        maps, _, size = self.projections.shape
        if size != self.layout.size or maps not in (1, self.weights.shape[1]):
            raise SettingError("Projections must be one for all maps or one for each, of points.")
        if self.chosen not in (None, (0,)):
            raise SettingError("Rows behind projections have no moved copies to choose from.")
        _ = self._whole_weights  # refuses weights that are too large once they are projected back

    @property
    def _inputs(self) -> int:
        return int(self.projections.shape[1])

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the lengths of just these projections of just these points.

        Lengths are those of a row's first copy, and are not made anew with other points.
        """
        kinds = (KeptPoints, KeptSquares)
        last = [one for one in prepared if isinstance(one, kinds)][-2:]
        kept = last_kept(prepared, KeptSquares)
        return (
            kept is not None
            and [type(one) for one in last] == [*kinds]
            and kept_copies(prepared, self.layout) == 1
            and np.array_equal(kept.projections, self.projections)
        )

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
        return min(COEFFICIENT_BITS, exponent(grid) - BITS - PROJECTION_BITS)

    def _in_units(self, sums: NDArray[np.int64], bits: int, grid: float) -> NDArray[np.int64]:
        # Exact: what is summed before the projection is whole, and so are its entries.
        classes, maps, _ = self.weights.shape
        sums = sums.reshape(classes, maps, -1)
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
        # The kernel reads a class and lengths for each line of scores.
        if not len(scores) == len(own) == len(squares):
            raise SettingError("Rows keep lengths of their projections for one copy alone.")
        blend_projected(
            scores,
            np.broadcast_to(squares, (len(own), maps)) + np.float32((self._constant / ONE) ** 2),
            own,
            classes,
            maps,
            np.float32(unit),
            np.float32(self.beta),
            self.clip,
            LARGEST,
            2.0**bits,
            out,
        )


@lasting
@dataclass(frozen=True, eq=False)
class KeptSquares(Preparation):
    """Has rows keep the lengths of their projections."""

    projections: NDArray[np.int64]

    columns = ()

    def __post_init__(self) -> None:
        check_projections(self.projections)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep one point each to project, of as many coordinates."""
        last = last_kept(prepared, KeptPoints)
        size = self.projections.shape[2]
        return last is not None and len(last.copies) == 1 and last.layout.size == size

    def prepare(self, block: Block) -> None:
        """Keep them inside the vault."""
        keep_squares(block, self.projections)


def check_projections(projections: NDArray[np.int64]) -> None:
    """Refuse matrices whose products would not be exact, whoever made them."""
    most = 2**ENTRY_BITS - 1
    check_wholes(projections, (None, None, None), "entries of projections", -most, most)
    if not (projections.size and projections.shape[2] <= 2**SIZE_BITS):
        raise SettingError(
            f"Projections are for points of 1 to {2**SIZE_BITS} coordinates: give fewer columns, "
            "or projection=None."
        )


def keep_squares(block: Block, projections: NDArray[np.int64]) -> None:
    """Keep the squared length of each row's projections, rounded up, shape (rows, maps or 1)."""
    points = block.kept[POINTS][:, 0]
    squares = np.empty((block.rows, len(projections)), dtype=np.float32)
    step = max(_CHUNK_NUMBERS // max(projections.shape[2], 1), 1)
    for m, matrix in enumerate(projections):
        factor = matrix.astype(np.float64).T
        for start in range(0, block.rows, step):
            # Whole numbers below 2^53, so the same in any company.
            seen = points[start : start + step].astype(np.float64) @ factor
            found = np.empty(len(seen))
            squared_lengths(seen, found)
            unit = 2.0 ** (-2 * (BITS + PROJECTION_BITS))
            squares[start : start + step, m] = found * unit * (1.0 + 1e-5)
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
    # Whoever made the matrix: beyond these limits doubles would round, and a bound would be lost.
    check_projections(matrix[None])
    for shift in (0, _LIMB_BITS, 2 * _LIMB_BITS):
        last = shift == 2 * _LIMB_BITS
        limb = sums >> shift if last else (sums >> shift) & ((1 << _LIMB_BITS) - 1)
        result += whole(limb.astype(np.float64) @ factor) << shift
    return result
