"""Images inside the vault: pixels as whole numbers, classes, and how they become inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.features import Features
from voile.models.networks.architectures import ImageShape
from voile.models.setting_checks import is_number
from voile.privacy.queries import TARGET, Block, Preparation
from voile.privacy.wire import lasting, sendable
from voile.schema import Category, Number, Schema

IMAGES, CLASSES = "network images", "network classes"

Pixels = NDArray[np.unsignedinteger[Any]]

MOST_CHANNELS = 4096

_CHUNK_NUMBERS = 2_000_000


def check_bits(bits: object) -> None:
    """Refuse pixels of other sizes than one and two bytes (SettingError)."""
    if type(bits) is not int or bits not in (8, 16):
        raise SettingError(f"Pixels are kept in 8 or 16 bits. Got {bits!r} instead.")


@sendable
@dataclass(frozen=True)
class Standard:
    """How kept pixels become inputs of a network: (pixel / top - mean) / spread, by channel.

    Attributes
    ----------
    means, spreads : tuple of float
        Public or released, of pixels from 0 to 1.
    bits : int
        Of the kept pixels: 8 or 16.
    """

    means: tuple[float, ...]
    spreads: tuple[float, ...]
    bits: int

    def __post_init__(self) -> None:
        check_bits(self.bits)
        means, spreads = self.means, self.spreads
        both = isinstance(means, tuple) and isinstance(spreads, tuple)
        if not both or not len(means) == len(spreads) >= 1 or len(means) > MOST_CHANNELS:
            raise SettingError(
                "Images are standardised by a mean and a spread per channel: give two tuples of "
                f"one length, from 1 to {MOST_CHANNELS}."
            )
        # Written so that what is not a number is refused, too.
        if not all(is_number(one) and abs(one) <= 1e6 for one in means):
            raise SettingError("The means of channels must be numbers from -1e6 to 1e6.")
        if not all(is_number(one) and 1e-6 <= one <= 1e6 for one in spreads):
            raise SettingError("The spreads of channels must be from 1e-6 to 1e6.")

    @property
    def channels(self) -> int:
        """Number of channels."""
        return len(self.means)

    def inputs(self, images: NDArray[Any], image_shape: ImageShape, rows: int) -> torch.Tensor:
        """Inputs of shape (rows, channels, height, width), filled up with zeros.

        Parameters
        ----------
        images : ndarray of shape (some rows, pixels)
            Pixel by pixel, channels last.
        """
        channels, height, width = image_shape
        result = np.zeros((rows, channels, height, width), dtype=np.float32)
        some = images.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
        top = 2**self.bits - 1
        slopes = np.array([1.0 / (top * s) for s in self.spreads], dtype=np.float32)
        offsets = np.array([m / s for m, s in zip(self.means, self.spreads, strict=True)])
        mine = result[: len(some)]
        # Number by number, so no row knows of another.
        np.multiply(some, slopes[:, None, None], out=mine, casting="unsafe", dtype=np.float32)
        mine -= offsets.astype(np.float32)[:, None, None]
        return torch.from_numpy(result)


@lasting
@dataclass(frozen=True, eq=False)
class KeptImages(Preparation):
    """Keeps the pixels of each row as whole numbers between its public bounds, and its class.

    Attributes
    ----------
    schema : Schema
        Complete: pixels row by row, channels last, and the classes as target.
    """

    schema: Schema

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that `prepare` reads."""
        return (*self.schema, TARGET)

    @property
    def bits(self) -> int:
        """8 if all pixels lie from 0 to 255, and 16 otherwise."""
        ends = {
            (column.lower, column.upper)
            for column in self.schema.values()
            if isinstance(column, Number)
        }
        return 8 if ends == {(0.0, 255.0)} else 16

    @property
    def class_count(self) -> int:
        """Classes of the target."""
        target = self.schema.target
        assert isinstance(target, Category)
        return len(target.levels or ())

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the rows are encoded by just its schema, of pixels and listed classes."""
        pixels = all(isinstance(column, Number) for column in schema.values())
        classes = isinstance(schema.target, Category)
        return self.schema == schema and len(schema) > 0 and pixels and classes and schema.known

    def read(self, columns: Mapping[str, Any], rows: int) -> tuple[Pixels, NDArray[np.bool_]]:
        """Pixels of encoded rows, shape (rows, pixels), and which rows have all of them."""
        found = Features(self.schema).encode(columns, rows).astype(np.float64)
        gaps = np.isnan(found)
        found[gaps] = -1.0
        found += 1.0
        found *= 0.5 * (2**self.bits - 1)
        # Within bounds already; once more, because a type that is too small would wrap around.
        found = np.clip(np.rint(found), 0, 2**self.bits - 1)
        pixels: Pixels = found.astype(np.uint8 if self.bits == 8 else np.uint16)
        return pixels, np.asarray(~gaps.any(axis=1))

    def prepare(self, block: Block) -> None:
        """Keep pixels and class of each row inside the vault; class -1 counts nothing."""
        columns = {name: block[name] for name in self.schema}
        kind = np.uint8 if self.bits == 8 else np.uint16
        images = np.zeros((block.rows, len(self.schema)), dtype=kind)
        codes = np.asarray(block[TARGET])
        classes = np.where(codes < self.class_count, codes, -1).astype(np.int32)
        step = max(_CHUNK_NUMBERS // max(len(self.schema), 1), 1)
        for start in range(0, block.rows, step):
            part = slice(start, start + step)
            some = {name: values[part] for name, values in columns.items()}
            pixels, whole = self.read(some, min(start + step, block.rows) - start)
            images[part] = pixels
            classes[part][~whole] = -1
        block.kept[IMAGES] = images
        block.kept[CLASSES] = classes
