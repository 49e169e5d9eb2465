"""What is public about pictures: smooth bases, windows, and slightly moved copies, as matrices.

Everything here is made of the picture's shape alone, so it costs no privacy. A filter that is
trained in a smooth basis is still a picture: its coordinates times the basis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron

from voile.errors import DataError, SettingError
from voile.privacy.wire import sendable

Floats = NDArray[np.float64]

Shape = tuple[int, int, int]
"""Height, width and channels; pixels are listed row by row, channels last."""

_MOST_NUMBERS = 2**27
"""Of a basis: 1 GiB. What a file or a message declares is checked before it is made."""

MOST_MOVED = 1e4
"""Pixels, degrees and shears further than that are no small moves."""


@sendable
@dataclass(frozen=True)
class SmoothBasis:
    """The lowest frequencies of the cosine transform, each with a gain.

    Attributes
    ----------
    shape : tuple of int
        Height, width, channels.
    cut : int
        Frequencies f = sqrt(fy^2 + fx^2) up to this are kept, below it in each direction.
    width : float
        Gains fall as exp(-f^2 / (2 width^2)).
    window : bool
        Whether pictures fade towards the border before they are transformed.
    """

    shape: Shape
    cut: int
    width: float
    window: bool = False

    def __post_init__(self) -> None:
        whole = (*self.shape, self.cut)
        if len(self.shape) != 3 or not all(type(one) is int and one >= 1 for one in whole):
            raise SettingError("A smooth basis needs a height, a width, channels and a cut, >= 1.")
        if not 1e-9 <= self.width <= 1e9:
            raise SettingError(
                f"The width of a smooth basis must be from 1e-9 to 1e9. Got {self.width!r}."
            )
        height, width, channels = self.shape
        numbers = min(self.cut, height) * min(self.cut, width) * height * width * channels**2
        if numbers > _MOST_NUMBERS:
            raise SettingError(
                f"A smooth basis of {height} x {width} pixels up to frequency {self.cut} would "
                f"have {numbers} numbers: give smaller pictures or a smaller cut."
            )

    @property
    def pixels(self) -> int:
        """Numbers of a picture."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Coordinates of a picture, without making the matrix."""
        height, width, channels = self.shape
        lines = np.arange(min(self.cut, height)) ** 2
        across = np.arange(min(self.cut, width)) ** 2
        kept = np.searchsorted(across, self.cut**2 - lines, side="right")
        return int(kept.sum()) * channels

    def matrix(self) -> Floats:
        """Coordinates of a picture as ``matrix @ pixels``, shape (size, pixels)."""
        height, width, channels = self.shape
        rows, columns = _cosines(height, self.cut), _cosines(width, self.cut)
        one = np.einsum("ay,bx->abyx", rows, columns)
        squares = np.add.outer(
            np.arange(len(rows), dtype=float) ** 2, np.arange(len(columns), dtype=float) ** 2
        )
        gains = (1.0 + squares / 4.0) ** 0.75 * np.exp(-squares / (2.0 * self.width**2))
        one *= gains[:, :, None, None]
        kept = squares <= self.cut**2
        if self.window:
            one *= np.outer(_fade(height), _fade(width))
        flat = one[kept].reshape(-1, height * width)
        return np.asarray(np.kron(flat, np.eye(channels)))


def _cosines(length: int, cut: int) -> Floats:
    """The first orthonormal cosines of a line, shape (cut, length)."""
    frequencies = np.arange(min(cut, length))[:, None]
    waves = np.cos(math.pi * (np.arange(length) + 0.5) * frequencies / length)
    waves *= math.sqrt(2.0 / length)
    waves[0] /= math.sqrt(2.0)
    return np.asarray(waves)


def _fade(length: int) -> Floats:
    """One in the middle, falling smoothly to nearly nothing at both ends of a line."""
    place = np.abs(2.0 * (np.arange(length) + 0.5) / length - 1.0)
    return np.asarray(np.exp(-((place / 0.85) ** 8)))


@sendable
@dataclass(frozen=True)
class Move:
    """A small move of a picture: shifted by pixels, turned, sheared.

    Attributes
    ----------
    down, right : float
        In pixels.
    turn : float
        In degrees.
    shear : float
        Columns move by ``shear`` pixels per row away from the middle.
    """

    down: float = 0.0
    right: float = 0.0
    turn: float = 0.0
    shear: float = 0.0

    def __post_init__(self) -> None:
        # Written so that what is not a number is refused, too.
        if not all(
            abs(one) <= MOST_MOVED for one in (self.down, self.right, self.turn, self.shear)
        ):
            raise SettingError(f"A picture is moved by at most {MOST_MOVED:g} pixels or degrees.")


STILL = Move()


def moved(matrix: Floats, shape: Shape, move: Move) -> Floats:
    """What turns a picture into the coordinates of its moved copy: ``matrix`` after the move.

    The copy is bilinear, and black where nothing was; ``matrix`` has shape (size, pixels).
    """
    return matrix if move == STILL else np.asarray(_move(shape, move).T @ matrix.T).T


def _move(shape: Shape, move: Move) -> csr_array:
    """The moved picture as ``result @ pixels``."""
    height, width, channels = shape
    angle = math.radians(move.turn)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    turn = turn @ np.array([[1.0, 0.0], [move.shear, 1.0]])
    middle = np.array([[(height - 1) / 2], [(width - 1) / 2]])
    to = np.indices((height, width)).reshape(2, -1)
    source = turn @ (to - middle) + middle - np.array([[move.down], [move.right]])
    corner = np.floor(source).astype(np.int64)
    part = source - corner
    rows, columns, weights = [], [], []
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        y, x = corner[0] + dy, corner[1] + dx
        weight = np.abs(1 - dy - part[0]) * np.abs(1 - dx - part[1])
        seen = (y >= 0) & (y < height) & (x >= 0) & (x < width) & (weight > 1e-9)
        rows.append(np.flatnonzero(seen))
        columns.append((y * width + x)[seen])
        weights.append(weight[seen])
    size = height * width
    places = (np.concatenate(rows), np.concatenate(columns))
    one = csr_array((np.concatenate(weights), places), shape=(size, size))
    return one if channels == 1 else csr_array(kron(one, eye_array(channels)))


def flatten_pictures(X: object, image_shape: tuple[int, ...] | None) -> object:
    """Rows of pixels from an array of pictures; all else as it is.

    Raises
    ------
    DataError
        If the pictures have another shape than those the model was trained on.
    """
    if isinstance(X, list) and image_shape is not None:
        X = _array_of(X, image_shape)
    shape = getattr(X, "shape", ())
    if not isinstance(shape, tuple) or len(shape) <= 2:
        return X
    array = np.asarray(X)
    if image_shape is None:
        raise DataError(
            f"An array of shape {array.shape} has no rows and columns: train the model with "
            f"image_shape, or give an array of shape (rows, columns)."
        )
    # A single channel may be left out, in training and here.
    if _plain_shape(array.shape[1:]) != _plain_shape(image_shape):
        raise DataError(
            f"The model knows pictures of shape {tuple(image_shape)}: give an array of shape "
            f"{('rows', *image_shape)}. Got {array.shape} instead.".replace("'", "")
        )
    return array.reshape(len(array), math.prod(image_shape))


def _plain_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape[:2]) if len(shape) == 3 and shape[2] == 1 else tuple(shape)


def _array_of(pictures: list[Any], image_shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Nested lists as an array; the first picture alone says what shape they have.

    Pictures may be private: none decides by what is in it whether there is an error. A pixel that
    is no number is missing, and so is all of a picture of another shape.
    """
    if not pictures:
        return np.empty((0, math.prod(image_shape)))
    shape = _shape_of(pictures[0])
    array = np.full((len(pictures), *shape), np.nan)
    for place, picture in enumerate(pictures):
        _fill(array[place : place + 1], [picture])
    return array


def _shape_of(picture: object) -> tuple[int, ...]:
    """Shape by the first entry of each list, whatever the others are."""
    if isinstance(picture, np.ndarray):
        return tuple(picture.shape)
    if not isinstance(picture, (list, tuple)):
        return ()
    return (len(picture), *(_shape_of(picture[0]) if picture else ()))


def _fill(array: NDArray[np.float64], values: Any) -> None:
    """Write nested lists into an array of their shape; what does not fit stays as it was."""
    try:
        if len(values) != len(array):
            return
        found = np.asarray(values, dtype=np.float64)
    except Exception:  # ragged, or not all numbers: one by one, so that the rest is kept
        if array.ndim == 1 and len(array) == 1:
            return
        for place in range(len(array)):
            inner = values[place]
            _fill(
                array[place : place + 1] if array.ndim == 1 else array[place],
                [inner] if array.ndim == 1 else inner,
            )
        return
    if found.shape == array.shape:
        array[...] = found
