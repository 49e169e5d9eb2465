"""Pictures as tables of pixels: their shape, their range, and rows of pixels from arrays.

What is the same for every model that reads pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SettingError
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Block, CellQuery, Preparation
from voile.privacy.vault import PrivateTable
from voile.privacy.wire import sendable
from voile.schema import Category, Number, Schema

Shape = tuple[int, int, int]
"""Height, width and channels; pixels are listed row by row, channels last."""

RANGE_ACCESS = "range of pixels"

BRIGHTEST = (1.0, 255.0, 4095.0, 65535.0)
"""Upper ends of the usual ranges of pixels: fractions, and 8, 12 and 16 bits."""


@sendable
@dataclass(frozen=True)
class PixelRanges(CellQuery):
    """How many pictures have their brightest pixel in each of the usual ranges.

    One cell per range and one beyond, then the same for pictures with a negative pixel.
    """

    columns: tuple[str, ...]

    size = 2 * (len(BRIGHTEST) + 1)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether all of its columns are numbers, each named once."""
        numbers = all(isinstance(schema.get(name), Number) for name in self.columns)
        return numbers and len(set(self.columns)) == len(self.columns)

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """The range of each row."""
        top, bottom = np.zeros(block.rows), np.zeros(block.rows)
        for name in self.columns:
            values = np.nan_to_num(block[name])
            np.maximum(top, np.abs(values), out=top)
            np.minimum(bottom, values, out=bottom)
        places = np.searchsorted(np.array(BRIGHTEST), top, side="left").astype(np.int64)
        return [places + np.where(bottom < 0, len(BRIGHTEST) + 1, 0)]


def full_shape(image_shape: tuple[int, ...]) -> Shape:
    """Height, width, channels; a single channel may be left out."""
    return image_shape[0], image_shape[1], image_shape[2] if len(image_shape) == 3 else 1


def channels_first(image_shape: tuple[int, ...]) -> Shape:
    """Channels, height, width, as networks read pictures."""
    height, width, channels = full_shape(image_shape)
    return channels, height, width


def check_pixels(schema: Schema, image_shape: tuple[int, ...]) -> None:
    """Refuse a table that has not one number per pixel (SettingError)."""
    pixels = math.prod(image_shape)
    if pixels != len(schema):
        raise SettingError(
            f"The 'image_shape' {image_shape} has {pixels} pixels and the table has "
            f"{len(schema)} columns: give one column per pixel."
        )
    if any(isinstance(one, Category) for one in schema.values()):
        raise SettingError("Pixels must be numbers: the table has a category among them.")


def with_range(schema: Schema, top: float, *, signed: bool = False) -> Schema:
    """The schema with all pixels of unknown range between 0 (or -top) and top."""
    if all(column.known for column in schema.values()):
        return schema

    def pixel(column: Number) -> Number:
        most = float(math.ceil(top)) if column.whole else top
        return replace(column, lower=-most if signed else 0.0, upper=most)

    columns = {
        name: pixel(column) if isinstance(column, Number) and not column.known else column
        for name, column in schema.items()
    }
    return Schema(columns, target=schema.target, rows=schema.rows, unit=schema.unit)


def find_range(table: PrivateTable, ticket: Ticket) -> PrivateTable:
    """All pixels get the smallest usual range that nearly all pictures keep to."""
    schema = table.schema
    unknown = tuple(n for n, c in schema.items() if isinstance(c, Number) and not c.known)
    release = gaussian_sum(table, PixelRanges(unknown), ticket)
    counts = release.values.reshape(2, -1)
    # Where most pictures are; wider, if clearly some are beyond.
    signed, place = divmod(int(counts.argmax()), counts.shape[1])
    few = max(0.01 * float(counts.sum()), 4.0 * release.standard_error * math.sqrt(counts.size))
    while place < len(BRIGHTEST) and counts[:, place + 1 :].sum() > few:
        place += 1
    signed = signed or int(counts[1].sum() > few)
    place = min(place, len(BRIGHTEST) - 1)
    return table.with_schema(with_range(schema, BRIGHTEST[place], signed=bool(signed)))


def infer_shape(X: object) -> tuple[int, ...] | None:
    """Shape of the pictures in an array of three or four dimensions; None if it holds none.

    A single channel is left out.
    """
    shape = getattr(X, "shape", ())
    if hasattr(X, "columns") or not isinstance(shape, tuple) or len(shape) not in (3, 4):
        return None
    return tuple(map(int, _plain_shape(shape[1:])))


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
            f"An array of shape {array.shape} has no rows and columns: give one of shape "
            f"(rows, columns), or train the model on pictures."
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
