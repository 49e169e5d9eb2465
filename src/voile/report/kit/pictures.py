"""Features that are pixels, drawn as pictures: inside the page, without any file beside it.

The few lines that write PNG stand here because none of Voile's libraries does: a picture library
would be one more dependency for a header and a call of zlib.
"""

from __future__ import annotations

import base64
import struct
import textwrap
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from voile.explain.picture_shape import PictureShape
from voile.report.kit.text import plot_text
from voile.report.kit.theme import INK, LOWER, RAISE, dress

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

_FAINT = 224
"""The grey of pixels that may be noise."""

MOST_ACROSS, MOST_CAPTION = 3, 14
"""Pictures beside each other in a figure, and characters in a line of what they are called."""

MOST_SIDE = 128
"""Pixels of a side in a page."""

HARDLY = 0.03
"""Part of the strongest weight below which a pixel has hardly any."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels of shape (height, width, 3), what stands beneath, and what there is to see."""

    pixels: Pixels
    caption: str
    description: str

    @property
    def source(self) -> str:
        """The picture itself, as an address that needs no file; a large one made smaller."""
        pixels = _shrink(self.pixels)
        return f"data:image/png;base64,{base64.b64encode(encode_png(pixels)).decode('ascii')}"


def draw_pictures(pictures: Sequence[Picture]) -> go.Figure:
    """Pictures beside each other as one figure, each beneath its caption."""
    across = min(len(pictures), MOST_ACROSS)
    down = -(-len(pictures) // across)
    captions = [
        "<br>".join(map(plot_text, textwrap.wrap(one.caption, MOST_CAPTION))) for one in pictures
    ]
    lines = max(text.count("<br>") + 1 for text in captions)
    high = 150 + 16 * lines
    figure = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=captions,
        horizontal_spacing=0.1 / across,
        vertical_spacing=16 * (lines + 1) / (high * down),
    )
    for i, one in enumerate(pictures):
        figure.add_trace(go.Image(z=one.pixels, hoverinfo="skip"), i // across + 1, i % across + 1)
    for axis in figure.select_yaxes():
        axis.update(scaleanchor=axis.anchor, visible=False)
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_annotations(font_size=12)
    return dress(figure, high * down + 20, "pictures", margin_t=16 * lines + 8)


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


def paint_weights(values: Floats, shape: PictureShape, errors: Floats | None = None) -> Pixels:
    """Paint weights of pixels, their channels summed; grey where two standard errors reach to 0.

    Where there is hardly any weight it is grey, too: white specks among grey would mislead.
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


def _shrink(pixels: Pixels) -> Pixels:
    """Means of squares of pixels, where there are more than a page shows."""
    height, width, _ = pixels.shape
    side = -(-max(height, width) // MOST_SIDE)
    if side == 1:
        return pixels
    whole = pixels[: height // side * side, : width // side * side].astype(float)
    squares = whole.reshape(height // side, side, width // side, side, 3)
    means: Pixels = np.rint(squares.mean(axis=(1, 3))).astype(np.uint8)
    return means


def _blend(shares: Floats, colour: str) -> Pixels:
    """From white at 0 to a colour at 1."""
    blended: Pixels = np.rint(255 + shares[..., None] * (rgb_of(colour) - 255)).astype(np.uint8)
    return blended


def rgb_of(colour: str) -> Floats:
    """Red, green and blue of a colour of the form #rrggbb."""
    return np.array([float(int(colour[i : i + 2], 16)) for i in (1, 3, 5)])


def encode_png(pixels: Pixels) -> bytes:
    """Encode pixels of shape (height, width, 3) as PNG: grey, by a palette, or by red, green, blue.

    Whichever is shortest: a page may have hundreds of pictures.
    """
    height, width, _ = pixels.shape
    forms: list[tuple[int, NDArray[np.uint8], bytes]] = [(2, pixels, b"")]
    if (pixels == pixels[..., :1]).all():
        forms = [(0, pixels[..., :1], b"")]
    else:
        # One number for each colour is sorted faster than three.
        packed = pixels.astype(np.int64) @ np.array([65536, 256, 1])
        colours, places = np.unique(packed, return_inverse=True)
        if len(colours) <= 256:
            palette = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
            table = _chunk(b"PLTE", palette.astype(np.uint8).tobytes())
            forms.append((3, places.reshape(height, width, 1).astype(np.uint8), table))
    encoded = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + table
        + _chunk(b"IDAT", _compress(values.reshape(height, -1), values.shape[2]))
        for kind, values, table in forms
    ]
    return b"\x89PNG\r\n\x1a\n" + min(encoded, key=len) + _chunk(b"IEND", b"")


def _compress(lines: NDArray[np.uint8], step: int) -> bytes:
    """Lines as they are, or as differences from the left or from above: whatever is shortest."""
    left = lines.copy()
    left[:, step:] -= lines[:, :-step]
    above = np.diff(lines, axis=0, prepend=np.zeros((1, lines.shape[1]), np.uint8))
    filtered = []
    for number, one in enumerate((lines, left, above)):
        # Each line starts with the number of its filter.
        column = np.full((len(one), 1), number, np.uint8)
        filtered.append(zlib.compress(np.concatenate([column, one], axis=1).tobytes(), 9))
    return min(filtered, key=len)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
