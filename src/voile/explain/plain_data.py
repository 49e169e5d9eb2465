"""Arrays as plain data and back: frozen, of a known shape, and fit for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.strict import Strict

EXPLANATION = Strict(DataError, "an explanation")

LARGEST = 1e100
"""Numbers of explanations are no larger: what is added up and multiplied of them stays finite."""


def freeze(
    values: object, shape: tuple[int, ...], what: str, *, known: bool = False
) -> NDArray[np.float64]:
    """Copy numbers into a read-only array of exactly this shape.

    Parameters
    ----------
    values : array or nested lists
        None stands for infinity: a standard error that nobody knows.
    shape : tuple of int
    what : str
        What the numbers are, for the error.
    known : bool
        Whether all of them must be known, and finite.

    Raises
    ------
    DataError
        If they are no numbers, of another shape, or not known and must be.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"The {what} of an explanation must be numbers: {error}.") from error
    array[np.isnan(array)] = math.inf
    if array.size == 0 and 0 in shape:  # nested lists without rows do not tell their width
        array = array.reshape(shape)
    if array.shape != shape:
        raise DataError(
            f"The {what} of an explanation must have shape {shape}. Got {array.shape} instead."
        )
    finite = np.isfinite(array)
    if known and not finite.all():
        raise DataError(f"The {what} of an explanation must be finite numbers.")
    if (np.abs(array[finite]) > LARGEST).any():
        raise DataError(f"The {what} of an explanation must be numbers up to {LARGEST:g}.")
    array.setflags(write=False)
    return array


def check_rows(rows: Sequence[Sequence[str]], count: int, width: int, what: str) -> None:
    """Refuse texts that are not one for each of ``count`` rows and ``width`` columns."""
    if len(rows) != count or any(len(row) != width for row in rows):
        raise DataError(
            f"The {what} of an explanation must be {width} texts for each of {count} rows."
        )


def read_text_rows(data: object, where: str) -> tuple[tuple[str, ...], ...]:
    """Lists of texts from plain data."""
    return tuple(EXPLANATION.texts(row, where) for row in EXPLANATION.listed(data, where))


def read_wholes(data: object, where: str, most: int) -> tuple[int, ...]:
    """Whole numbers from 0 up to, but without, ``most``."""
    listed = EXPLANATION.listed(data, where)
    return tuple(EXPLANATION.whole(one, where, 0, most - 1) for one in listed)


def thaw(array: NDArray[np.float64]) -> list[Any]:
    """Turn an array into nested lists for JSON, with None for what is not a finite number."""
    if np.isfinite(array).all():
        return list(array.tolist())
    plain = array.astype(object)
    plain[~np.isfinite(array)] = None
    return list(plain.tolist())
