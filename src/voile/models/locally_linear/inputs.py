"""From the columns of a row to the point that the maps see, and back to pictures and bars.

A point is z = scale (B u) - shift c: u the features, B a public basis, c a released centre; the two
numbers per row come from bringing the row to length 1 (or into the unit ball). So a map of the
maps is a picture B'w, and what each pixel adds to a score is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.exact_sums import MOST_COLUMNS, exact_product
from voile.models.features import Features
from voile.models.locally_linear.kernels import shorten
from voile.models.locally_linear.pictures import STILL, Move, SmoothBasis, moved
from voile.models.pixels import Shape
from voile.models.public_numbers import check_classes, check_numbers, class_count, feature_count
from voile.privacy.queries import TARGET, Block, Preparation, last_kept
from voile.privacy.wire import lasting
from voile.schema import Category, Schema

Floats = NDArray[np.float64]
Wholes = NDArray[np.int16]

BITS = 11
"""Coordinates of points in training are multiples of 2^-BITS: products with weights of 13 bits are
whole numbers below 2^24, which single precision holds exactly."""

ONE: int = 2**BITS

POINTS, CLASSES = "maps points", "maps classes"

MOST_COPIES = 64
"""Most moved copies of a row. With steps of 120,000 scores, 2^25 of a coefficient and 2^11 of a
coordinate, sums over copies stay below 2^53."""

_CHUNK_NUMBERS = 2_000_000


@dataclass(frozen=True, eq=False)
class Spread:
    """Rows that a caller holds, taken apart: ``points = scale (B features) - shift centre``."""

    features: Floats
    scale: Floats
    shift: Floats
    points: Floats


@lasting
@dataclass(frozen=True, eq=False)
class Inputs:
    """How rows become points of length 1 (``normalise``), or of length 1 at most.

    Attributes
    ----------
    schema : Schema
        Complete, with the classes as its target.
    picture : tuple of int, or None
        Height, width and channels if features are pixels: they are then read from 0 (lower bound)
        to 1 (upper bound), and from -1 to 1 otherwise.
    basis : SmoothBasis or None
        Public. None: the features themselves.
    root : bool
        Pixels are replaced by their square roots, which shows dark parts better.
    normalise : bool
        Rows are brought to length 1 before and after the centre is subtracted.
    centre : ndarray of shape (size,)
        Released, or zeros.
    radius : ndarray of shape (size,)
        Released, or ones: what coordinates are divided by.
    filling : ndarray of shape (features,)
        Released or public: what a missing number counts as.
    """

    schema: Schema
    picture: Shape | None
    basis: SmoothBasis | None
    root: bool
    normalise: bool
    centre: Floats
    radius: Floats
    filling: Floats

    def __post_init__(self) -> None:
        check_classes(self.schema)
        features = feature_count(self.schema)
        size = features if self.basis is None else self.basis.size
        if not 1 <= max(features, size) <= MOST_COLUMNS:
            raise SettingError(f"Maps are for 1 to {MOST_COLUMNS} features. Got {features}.")
        self._check_picture(features)
        check_numbers(self.centre, (size,), "centre of points")
        check_numbers(self.radius, (size,), "widths of points")
        check_numbers(self.filling, (features,), "filling of gaps")
        if not (self.radius > 0.0).all():
            raise SettingError("The widths of points must be positive.")

    def _check_picture(self, features: int) -> None:
        if self.basis is not None and self.basis.shape != self.picture:
            raise SettingError("A smooth basis must be one for the pictures' own shape.")
        if self.picture is None:
            return
        if any(isinstance(column, Category) for column in self.schema.values()):
            raise SettingError("Pixels must be numbers: the table has a category among them.")
        sizes = [type(one) is int and one >= 1 for one in self.picture]
        if sizes != [True] * 3 or math.prod(self.picture) != features:
            raise SettingError("A picture needs one column per pixel: height x width x channels.")

    @classmethod
    def uncentred(
        cls,
        schema: Schema,
        picture: Shape | None,
        basis: SmoothBasis | None,
        *,
        root: bool,
        normalise: bool,
    ) -> Self:
        """Inputs before anything was released: no centre, widths of 1, gaps in the middle."""
        features = feature_count(schema)
        size = features if basis is None else basis.size
        widths, middle = np.ones(size), np.zeros(features)
        return cls(schema, picture, basis, root, normalise, np.zeros(size), widths, middle)

    def with_centre(self, centre: Floats, length: float) -> Self:
        """The same around the mean of rows, whose features have this length on average.

        A missing pixel is black; another missing number is about the mean.
        """
        if self.picture is not None or self.basis is not None:
            return replace(self, centre=centre)
        mean = centre * length if self.normalise else centre
        return replace(self, centre=centre, filling=np.clip(mean, -1.0, 1.0))

    def frozen(self) -> Self:
        """The same with arrays that nobody can change."""
        centre, radius, filling = (np.array(a) for a in (self.centre, self.radius, self.filling))
        for values in (centre, radius, filling):
            values.setflags(write=False)
        return replace(self, centre=centre, radius=radius, filling=filling)

    @property
    def size(self) -> int:
        """Coordinates of a point."""
        return len(self.centre)

    @cached_property
    def features(self) -> Features:
        """Names and scales of the features."""
        return Features(self.schema)

    @cached_property
    def matrix(self) -> Floats:
        """The basis, shape (size, features)."""
        return np.eye(len(self.features)) if self.basis is None else self.basis.matrix()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that `prepare` reads."""
        return (*self.schema, TARGET)

    @property
    def class_count(self) -> int:
        """Classes of the target."""
        return class_count(self.schema)

    def read(self, columns: Mapping[str, Any], rows: int) -> Floats:
        """Features of encoded rows, shape (rows, features); missing ones are filled in."""
        found = self.features.encode(columns, rows).astype(np.float64)
        if self.picture is not None:
            found += 1.0
            found *= 0.5
            if self.root:
                np.sqrt(found, out=found)
        gaps = np.isnan(found)
        return np.where(gaps, self.filling, found) if gaps.any() else found

    def transform(self, features: Floats, move: Move = STILL) -> Floats:
        """Coordinates before anything is subtracted, shape (rows, size), exact for each row."""
        if self.basis is None and move == STILL:
            return features
        if self.picture is None:
            raise SettingError("Only pictures can be moved: give their image_shape.")
        return exact_product(features, moved(self.matrix, self.picture, move))

    def directions(self, features: Floats) -> Floats:
        """Rows as they are when their mean is taken: of length 1 if rows are normalised."""
        found = self.transform(features)
        if self.normalise:
            shorten(found, 1.0, found := np.array(found))
        return found

    def place(self, transformed: Floats) -> Floats:
        """Points of rows that were transformed, in full precision."""
        result = np.array(transformed, dtype=np.float64)
        if self.normalise:
            shorten(result, 1.0, result)
        result -= self.centre
        result /= self.radius
        shorten(result, 1.0 if self.normalise else 0.0, result)
        return result

    def prepare(self, block: Block, copies: tuple[Move, ...] = (STILL,)) -> None:
        """Keep points of each row and its moved copies, and its class, inside the vault."""
        columns = {name: block[name] for name in self.schema}
        points: Wholes = np.empty((block.rows, len(copies), self.size), dtype=np.int16)
        step = max(_CHUNK_NUMBERS // max(len(self.features), self.size, 1), 1)
        for start in range(0, block.rows, step):
            part = slice(start, start + step)
            some = {name: values[part] for name, values in columns.items()}
            features = self.read(some, min(start + step, block.rows) - start)
            for a, move in enumerate(copies):
                placed = self.place(self.transform(features, move))
                # Centre and radius may come from anybody: as an integer, what is no number would
                # be the largest there is.
                placed[~np.isfinite(placed).all(axis=1)] = 0.0
                # Towards zero, and a little less: never longer than 1.
                points[part, a] = placed * (ONE * (1.0 - 1e-9))
        block.kept[POINTS] = points
        codes = block[TARGET]
        block.kept[CLASSES] = np.where(codes < self.class_count, codes, -1).astype(np.int32)

    def spread(self, columns: Mapping[str, Any], rows: int) -> Spread:
        """Take public rows apart, so that each feature's part in a score can be told."""
        features = self.read(columns, rows)
        return self.spread_transformed(features, self.transform(features))

    def spread_transformed(self, features: Floats, found: Floats) -> Spread:
        """The same of rows that were read and transformed."""
        first = np.ones(len(features))
        if self.normalise:
            norms = np.linalg.norm(found, axis=1)
            first = np.where(norms > 1e-9, 1.0 / np.maximum(norms, 1e-9), 0.0)
        moved_rows = (found * first[:, None] - self.centre) / self.radius
        norms = np.linalg.norm(moved_rows, axis=1)
        if self.normalise:
            second = np.where(norms > 1e-9, 1.0 / np.maximum(norms, 1e-9), 0.0)
        else:
            second = 1.0 / np.maximum(norms, 1.0)
        return Spread(features, first * second, second, moved_rows * second[:, None])

    def linear_maps(self, weights: Floats) -> Floats:
        """Weights of points as weights of features, shape (..., features)."""
        found = weights / self.radius
        return np.asarray(found if self.basis is None else found @ self.matrix)


@lasting
@dataclass(frozen=True, eq=False)
class KeptPoints(Preparation):
    """Has rows keep their points, moved copies included."""

    layout: Inputs
    copies: tuple[Move, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.copies) <= MOST_COPIES:
            raise SettingError(f"A row has from 1 to {MOST_COPIES} copies. Got {len(self.copies)}.")
        if self.layout.picture is None and any(move != STILL for move in self.copies):
            raise SettingError("Only pictures can be moved: give their image_shape.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that `prepare` reads."""
        return self.layout.columns

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the rows are encoded by just its schema."""
        return self.layout.schema == schema

    def prepare(self, block: Block) -> None:
        """Keep them inside the vault."""
        self.layout.prepare(block, self.copies)


def kept_copies(prepared: Sequence[Preparation], layout: Inputs) -> int:
    """How many copies of points of just this layout rows keep; 0 if they keep others, or none."""
    last = last_kept(prepared, KeptPoints)
    return 0 if last is None or last.layout is not layout else len(last.copies)
