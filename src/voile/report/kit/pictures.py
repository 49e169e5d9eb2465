"""Features that are pixels, drawn as pictures: inside the page, without any file beside it.

The few lines that write PNG stand here because none of Voile's libraries does: a picture library
would be one more dependency for a header and a call of zlib.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.explain.picture_shape import PictureShape
from voile.report.kit.theme import INK, LOWER, RAISE

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

_FAINT = 224
"""The grey of pixels that may be noise."""

HARDLY = 0.03
"""Part of the strongest weight of a filter below which a pixel has hardly any."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels of shape (height, width, 3), what stands beneath, and what there is to see."""

    pixels: Pixels
    caption: str
    description: str

    @property
    def source(self) -> str:
        """The picture itself, as an address that needs no file."""
        return f"data:image/png;base64,{base64.b64encode(encode_png(self.pixels)).decode('ascii')}"


def paint_grey(shares: Floats, shape: tuple[int, int]) -> Pixels:
    """Paint numbers from 0 (black) to 1 (white)."""
    grey = np.clip(np.rint(255 * shares.reshape(shape)), 0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def paint_picture(shares: Floats, shape: tuple[int, ...]) -> Pixels:
    """Paint numbers from 0 to 1: three channels in their colours, others by their mean in grey."""
    if len(shape) == 3 and shape[2] == 3:
        return np.clip(np.rint(255 * shares.reshape(shape)), 0, 255).astype(np.uint8)
    flat = shares.reshape(shape[0] * shape[1], -1).mean(axis=1)
    return paint_grey(flat, (shape[0], shape[1]))


def paint_signed(
    values: Floats,
    shape: tuple[int, int],
    *,
    top: float | None = None,
    faint: NDArray[np.bool_] | None = None,
) -> Pixels:
    """Paint what is above 0 orange, what is below 0 blue, and 0 white.

    Parameters
    ----------
    values : ndarray of shape (pixels,)
    shape : tuple of int
    top : float, optional
        What has the full colour, to compare pictures; by default the greatest of these values.
    faint : ndarray of bool, shape (pixels,), optional
        What is painted grey instead: pixels that may be noise.
    """
    top = top or float(np.abs(values).max(initial=0.0)) or 1.0
    shares = np.clip(values.reshape(shape) / top, -1.0, 1.0)
    above, below = np.maximum(shares, 0.0), np.maximum(-shares, 0.0)
    # Where one has a colour the other is white, the greatest of all numbers.
    painted = np.minimum(_blend(above, RAISE), _blend(below, LOWER))
    if faint is not None:
        painted[faint.reshape(shape)] = _FAINT
    return painted


def paint_over(values: Floats, backdrop: Pixels) -> Pixels:
    """Paint what is above 0 orange and what is below 0 blue over a pale negative of a picture."""
    height, width, _ = backdrop.shape
    top = float(np.abs(values).max(initial=0.0)) or 1.0
    shares = values.reshape(height, width) / top
    # Weak colours would drown in the picture beneath.
    opacity = np.abs(shares)[..., None] ** 0.6
    full = np.where(shares[..., None] > 0, rgb_of(RAISE), rgb_of(LOWER))
    pale = 255.0 - 0.3 * backdrop.mean(axis=2, keepdims=True)
    blended: Pixels = np.rint((1.0 - opacity) * pale + opacity * full).astype(np.uint8)
    return blended


def paint_tints(values: Floats, shape: tuple[int, ...]) -> Pixels:
    """Paint signed numbers of three channels in their colours: grey is 0."""
    top = float(np.abs(values).max(initial=0.0)) or 1.0
    return paint_picture(0.5 + 0.5 * values / top, shape)


def paint_sizes(values: Floats, shape: tuple[int, int]) -> Pixels:
    """Paint sizes from 0 (white) to the greatest (blue)."""
    top = float(values.max(initial=0.0)) or 1.0
    return _blend(values.reshape(shape) / top, INK)


def sum_channels(values: Floats, shape: PictureShape) -> Floats:
    """One number per pixel: the sum over its channels."""
    return np.asarray(values.reshape(shape[0] * shape[1], -1).sum(axis=1))


def paint_filter(values: Floats, shape: PictureShape, errors: Floats | None = None) -> Pixels:
    """Paint a filter, its channels summed; grey where two standard errors reach to 0.

    Where a filter has hardly any weight it is grey, too: white specks among grey would mislead.
    """
    flat = sum_channels(values, shape)
    faint = None
    if errors is not None:
        sizes = np.abs(flat)
        faint = sizes <= 2 * np.sqrt(sum_channels(errors**2, shape))
        faint |= sizes < HARDLY * sizes.max(initial=0.0)
    return paint_signed(flat, (shape[0], shape[1]), faint=faint)


def is_coloured(shape: PictureShape) -> bool:
    """Whether pictures have the three channels of colours."""
    return len(shape) == 3 and shape[2] == 3


def _blend(shares: Floats, colour: str) -> Pixels:
    """From white at 0 to a colour at 1."""
    blended: Pixels = np.rint(255 + shares[..., None] * (rgb_of(colour) - 255)).astype(np.uint8)
    return blended


def rgb_of(colour: str) -> Floats:
    """Red, green and blue of a colour of the form #rrggbb."""
    return np.array([float(int(colour[i : i + 2], 16)) for i in (1, 3, 5)])


def encode_png(pixels: Pixels) -> bytes:
    """Encode pixels of shape (height, width, 3) as PNG."""
    height, width, _ = pixels.shape
    # Each line starts with the number of its filter: 0, none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
