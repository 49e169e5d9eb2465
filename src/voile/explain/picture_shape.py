"""Height, width and channels of features that are pixels."""

from __future__ import annotations

import math

from voile.errors import DataError
from voile.stored import Size

PictureShape = tuple[Size, ...]
"""(height, width) or (height, width, channels); pixels row by row, channels last."""


def check_pixels(shape: PictureShape | None, features: int) -> None:
    """Refuse a shape that does not fit the features (DataError)."""
    if shape is None:
        return
    if len(shape) not in (2, 3) or min(shape) < 1 or math.prod(shape) != features:
        raise DataError(
            f"A picture of shape {shape} has no {features} features: give the model's image_shape "
            f"as (height, width) or (height, width, channels), or None."
        )


def picture_text(shape: PictureShape) -> str:
    """Name a size.

    Examples
    --------
    >>> picture_text((28, 28)), picture_text((32, 32, 3))
    ('28 x 28 pixels', '32 x 32 pixels in 3 channels')
    """
    size = f"{shape[0]} x {shape[1]} pixels"
    return size if len(shape) == 2 or shape[2] == 1 else f"{size} in {shape[2]} channels"
