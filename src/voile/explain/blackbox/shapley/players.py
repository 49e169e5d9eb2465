"""What contributions are attributed to: columns of the user's table, or patches of a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.rows.given_rows import GivenRows
from voile.schema import Schema

MOST_PATCHES = 8
"""Patches of a picture along each side: thousands of pixels would need millions of calls."""


@dataclass(frozen=True, eq=False)
class Players:
    """Groups of columns whose values are exchanged together.

    Attributes
    ----------
    names : tuple of str
    of_column : ndarray of shape (columns,)
        To which of them each column of the schema belongs.
    patch : tuple of int, or None
        Height and width of a patch in pixels, if these are pictures.
    """

    names: tuple[str, ...]
    of_column: NDArray[np.int64]
    patch: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.names)


def find_players(schema: Schema, given: GivenRows) -> Players:
    """Every column of a table or word of a vocabulary; patches of pixels, all channels together."""
    if given.image_shape is None:
        return Players(tuple(schema), np.arange(len(schema)))
    height, width = given.image_shape[:2]
    channels = math.prod(given.image_shape[2:])
    tall, wide = -(-height // MOST_PATCHES), -(-width // MOST_PATCHES)
    across = -(-width // wide)
    rows, columns = np.arange(height) // tall, np.arange(width) // wide
    patches = rows[:, None] * across + columns[None]
    names = [
        f"pixels {top + 1}-{min(top + tall, height)} down, "
        f"{left + 1}-{min(left + wide, width)} across"
        for top in range(0, height, tall)
        for left in range(0, width, wide)
    ]
    return Players(tuple(names), np.repeat(patches.ravel(), channels), (tall, wide))
