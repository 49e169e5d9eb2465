"""Strict reading of a stored model's parts: what `voile.strict` reads, as errors of models."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile.errors import ModelError
from voile.strict import Strict

Floats = NDArray[np.float64]

MODEL = Strict(ModelError, "a model")

LARGEST = 1e30
"""Numbers in tables of models are no larger: far beyond any noise, and their powers are finite."""

read_fields, read_list, read_text = MODEL.fields, MODEL.listed, MODEL.text
read_number, read_whole, read_truth = MODEL.number, MODEL.whole, MODEL.truth


def read_table(
    data: object,
    shape: tuple[int, ...],
    where: str,
    *,
    least: float = -LARGEST,
    most: float = LARGEST,
    null: float | None = None,
) -> Floats:
    """A read-only array of exactly this shape, of finite numbers.

    Parameters
    ----------
    data : object
        What stands in the file.
    shape : tuple of one or two int
    where : str
        The place, for messages.
    least, most : float
        Smallest and largest number allowed.
    null : float or None
        What ``null`` stands for; without it, ``null`` is refused.
    """
    rows = read_list(data, where)
    if len(rows) != shape[0]:
        raise ModelError(
            f"In a model, {where} must have length {shape[0]}, one per bin or output. Got "
            f"{len(rows)} instead."
        )
    if len(shape) == 2:
        lines = [
            read_table(row, shape[1:], where, least=least, most=most, null=null) for row in rows
        ]
        table = np.array(lines).reshape(shape)  # without rows it does not know its width
    else:
        table = np.array(
            [read_number(one, where, least, most, null=null) for one in rows], dtype=np.float64
        )
    table.setflags(write=False)
    return table


def read_errors(
    data: object, shape: tuple[int, ...], where: str, *, most: float = LARGEST
) -> Floats:
    """A table of standard deviations, in which ``null`` is infinity."""
    return read_table(data, shape, where, least=0.0, most=most, null=math.inf)


def is_same(stored: Sequence[object], expected: Sequence[object]) -> bool:
    """Whether levels are the same, also in type: 1 is not true here."""
    pairs = zip(stored, expected, strict=False)
    return len(stored) == len(expected) and all(
        type(one) is type(other) and one == other for one, other in pairs
    )
