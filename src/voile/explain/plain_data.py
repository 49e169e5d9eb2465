"""Arrays as plain data and back: frozen, of a known shape, and fit for JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError


def freeze(values: object, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Copy numbers into a read-only array of exactly this shape.

    Parameters
    ----------
    values : array or nested lists
        None stands for infinity: a standard error that nobody knows.
    shape : tuple of int
    what : str
        What the numbers are, for the error.

    Raises
    ------
    DataError
        If they are no numbers, or of another shape.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The {what} of an explanation must be numbers: {error}.") from error
    array[np.isnan(array)] = math.inf
    if array.size == 0 and 0 in shape:  # nested lists without rows do not tell their width
        array = array.reshape(shape)
    if array.shape != shape:
        raise DataError(
            f"The {what} of an explanation must have shape {shape}. Got {array.shape} instead."
        )
    array.setflags(write=False)
    return array


def thaw(array: NDArray[np.float64]) -> list[Any]:
    """Turn an array into nested lists for JSON, with None for what is not a finite number."""
    if np.isfinite(array).all():
        return list(array.tolist())
    plain = array.astype(object)
    plain[~np.isfinite(array)] = None
    return list(plain.tolist())
