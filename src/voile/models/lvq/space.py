"""The space in which prototypes are trained: points around a released centre, in whole numbers.

Coordinates are cut to multiples of 2^-14. Products and sums of such numbers are whole numbers far
below 2^53, so matrix products in doubles give them exactly, in any order and on any number of
threads: distances and sums are those of the proof (docs/proofs/lvq.md), at the speed of BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.exact_sums import MOST_COLUMNS, exact_product
from voile.models.features import Features
from voile.models.public_numbers import (
    check_classes,
    check_numbers,
    check_wholes,
    class_count,
    feature_count,
)
from voile.privacy.queries import TARGET, Block, Preparation, last_kept
from voile.privacy.wire import lasting
from voile.schema import Schema

Floats = NDArray[np.float64]

BITS = 14
"""Coordinates are multiples of 2^-BITS."""

ONE = 2**BITS

CHUNK_NUMBERS = 400_000
"""Coordinates that are worked on at once, so that they stay in the processor's cache."""

MOST_ROWS = 65_536
"""Rows that are summed in doubles before the sum is taken into integers: no more than exact."""

_MOST_SIZE = 2**22

MOST_PROTOTYPES = 2**16
"""Most prototypes; a label of each is compared with the class of each row."""

POINTS, SQUARES, CLASSES = "lvq points", "lvq squares", "lvq classes"


@lasting
@dataclass(frozen=True, eq=False)
class Space(Preparation):
    """z = omega (x - centre) / radius, cut to the unit ball; x are the features in [-1, 1].

    Attributes
    ----------
    schema : Schema
        Complete, with the classes as its target.
    centre : ndarray of shape (features,)
        Released.
    radius : float
        Released.
    omega : ndarray of shape (directions, features), or None
        Released; None: the identity.
    """

    schema: Schema
    centre: Floats
    radius: float
    omega: Floats | None = None

    def __post_init__(self) -> None:
        check_classes(self.schema)
        features = feature_count(self.schema)
        check_numbers(self.centre, (features,), "centre of a space")
        if self.omega is not None:
            check_numbers(self.omega, (None, features), "metric of a space")
        # Coordinates are 2^14 at most, differences 2^15: a squared distance is a whole number
        # below size 2^30, so below 2^53. A product with a metric is exact for fewer columns.
        most = _MOST_SIZE if self.omega is None else MOST_COLUMNS
        if not (1 <= max(features, self.size) <= most and self.size and self.radius > 0.0):
            raise SettingError(f"A space needs a positive radius, and from 1 to {most} features.")
        if not math.isfinite(self.radius):
            raise SettingError("The radius of a space must be finite.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that `prepare` reads."""
        return (*self.schema, TARGET)

    @property
    def size(self) -> int:
        """Coordinates of a point."""
        return len(self.centre) if self.omega is None else len(self.omega)

    @property
    def class_count(self) -> int:
        """Classes of the target."""
        return class_count(self.schema)

    @property
    def matrix(self) -> Floats:
        """What a difference of features is multiplied by, shape (directions, features)."""
        whole = np.eye(len(self.centre)) if self.omega is None else self.omega
        return np.asarray(whole / self.radius)

    @property
    def back(self) -> Floats:
        """What a point is multiplied by to be a difference of features, (features, directions)."""
        if self.omega is None:
            return np.eye(len(self.centre)) * self.radius
        return np.asarray(np.linalg.pinv(self.omega) * self.radius)

    def prepare(self, block: Block) -> None:
        """Keep each row's point (two bytes per coordinate) and class in the vault."""
        features = Features(self.schema)
        points = np.empty((block.rows, self.size), dtype=np.int16)
        squares = np.empty(block.rows)
        columns = {name: block[name] for name in self.schema}
        step = max(CHUNK_NUMBERS // max(self.size, 1), 1)
        for start in range(0, block.rows, step):
            part = slice(start, start + step)
            some = {name: values[part] for name, values in columns.items()}
            count = min(start + step, block.rows) - start
            placed = self.place(features.encode(some, count))
            points[part] = placed
            # Whole numbers below 2^53, so exact; kept, because every step needs them.
            squares[part] = np.einsum("ij,ij->i", placed, placed, dtype=np.float64)
        block.kept[POINTS] = points
        block.kept[SQUARES] = squares
        codes = block[TARGET]
        block.kept[CLASSES] = np.where(codes < self.class_count, codes, -1).astype(np.int32)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the rows are encoded by just its schema."""
        return self.schema == schema

    def place(self, features: NDArray[np.float32]) -> NDArray[np.int16]:
        """Points of rows of features, whole numbers of 2^-BITS; a missing number is at the centre.

        No point is longer than 1.
        """
        # A tiny radius or a huge metric may leave the range of doubles, row by row.
        with np.errstate(over="ignore", invalid="ignore"):
            moved = (features - self.centre) / self.radius
            moved = np.where(np.isnan(moved), 0.0, moved)
            if self.omega is not None:
                moved = exact_product(moved, self.omega)
            norms = np.linalg.norm(moved, axis=1)
            # Cutting towards zero shortens further; the margin covers the norm's own rounding.
            moved *= (ONE * (1.0 - 1e-9) / np.maximum(norms, 1.0))[:, None]
        # As an integer, what is no number would be anything.
        moved[~np.isfinite(moved).all(axis=1)] = 0.0
        return np.asarray(moved.astype(np.int16))

    def whole(self, points: Floats) -> Floats:
        """Public points as whole numbers of 2^-BITS, in doubles."""
        # Larger ones would let sums leave the range in which doubles are exact.
        if not np.isfinite(points).all() or np.abs(points).max(initial=0.0) > 1.0 + 1e-9:
            raise SettingError("Coordinates of prototypes must be finite and within [-1, 1].")
        return np.asarray(np.round(np.clip(points, -1.0, 1.0) * ONE))


def keeps(prepared: Sequence[Preparation], layout: Space) -> bool:
    """Whether these preparations leave rows with the points of just this space."""
    return last_kept(prepared, Space) is layout


def check_prototypes(layout: Space, prototypes: Floats, labels: NDArray[np.int64]) -> None:
    """Refuse prototypes of another space, outside [-1, 1], or of classes that there are not."""
    check_wholes(labels, (None,), "classes of prototypes", 0, layout.class_count - 1)
    if not 1 <= len(labels) <= MOST_PROTOTYPES:
        raise SettingError(f"There must be from 1 to {MOST_PROTOTYPES} prototypes.")
    check_numbers(prototypes, (len(labels), layout.size), "prototypes")
    layout.whole(prototypes)


def chunks(
    block: Block, size: int, most: int = MOST_ROWS, *, beside: int = 0
) -> Iterator[tuple[Floats, Floats, NDArray[np.int64]]]:
    """Points as doubles, their squared norms (both exact) and classes, some rows at a time.

    ``beside``: so many numbers per row are made of them (distances, places of classes). Rows
    without a class, and points longer than 1 (there are none), come as zeros with class -1.
    """
    points, classes = block.kept[POINTS], block.kept[CLASSES]
    if points.shape[1] != size:
        # numpy would stretch a single coordinate to all of them.
        raise SettingError("Rows keep points of another space.")
    if block.weights is not None:
        raise SettingError("Prototypes are trained without weights: leave them out.")
    step = min(max(CHUNK_NUMBERS // max(size, beside, 1), 1), most)
    for start in range(0, block.rows, step):
        some = points[start : start + step].astype(np.float64)
        squares = block.kept[SQUARES][start : start + step]
        own = classes[start : start + step].astype(np.int64)
        out = (squares > float(ONE) ** 2) | (own < 0)
        if out.any():
            squares = np.where(out, 0.0, squares)
            some[out], own[out] = 0.0, -1
        yield some, squares, own
