"""What is public about pictures: smooth bases, windows, and slightly moved copies, as matrices.

Everything here is made of the picture's shape alone, so it costs no privacy. A linear map that is
trained in a smooth basis is still a picture: its coordinates times the basis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron

from voile.errors import SettingError
from voile.models.pixels import Shape
from voile.privacy.wire import sendable

Floats = NDArray[np.float64]

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
