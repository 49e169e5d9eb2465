"""Images, classes and settings as a caller gives them, checked before anything is computed."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SettingError

Floats = NDArray[np.float64]


def read_images(images: Any) -> NDArray[np.floating[Any]]:
    """Read images as an array.

    Parameters
    ----------
    images : array or tensor of shape (rows, channels, height, width) or (rows, height, width)

    Returns
    -------
    ndarray of shape (rows, channels, height, width)
        Of type float64 if they were given so, else float32; a missing channel axis is added.
        Numbers are not changed: bytes from 0 to 255 stay what they are.

    Raises
    ------
    DataError
        If they are no finite real numbers, have another number of axes, or are none.
    """
    if hasattr(images, "detach"):
        images = images.detach().cpu()
        # Types that numpy does not know, such as bfloat16.
        images = images.double() if images.element_size() == 8 else images.float()
    try:
        array = np.asarray(images)
    except ValueError as error:
        raise DataError(f"The images have no common shape: {error}.") from error
    if array.dtype.kind not in "buif":
        raise DataError(
            f"Images must be real numbers. Got an array of {array.dtype}: give an array or tensor "
            f"of shape (rows, channels, height, width) or (rows, height, width)."
        )
    if array.ndim == 3:
        array = array[:, None]
    if array.ndim != 4:
        raise DataError(
            f"Images must have shape (rows, channels, height, width) or (rows, height, width). Got "
            f"{array.shape}: a single image needs a first axis of length 1."
        )
    if 0 in array.shape:
        raise DataError(f"There is nothing to explain in images of shape {array.shape}.")
    array = array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=False)
    bad = ~np.isfinite(array).all(axis=(1, 2, 3))
    if bad.any():
        raise DataError(
            f"{_count(bad)} of {len(array)} images have pixels that are no finite numbers, the "
            f"first is image {int(np.argmax(bad))} (counted from 0): fill or leave them out."
        )
    return array


def read_maps(maps: Any, what: str = "maps") -> Floats:
    """Read maps as an array of shape (rows, height, width); a HeatMaps record gives its maps.

    Raises
    ------
    DataError
        If they are no finite numbers, have another number of axes, or are none.
    """
    try:
        array = np.asarray(getattr(maps, "maps", maps), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The {what} must be numbers: {error}.") from error
    if array.ndim != 3 or 0 in array.shape:
        raise DataError(
            f"The {what} must have shape (rows, height, width), none of them 0. Got {array.shape}."
        )
    if not np.isfinite(array).all():
        raise DataError(f"The {what} must be finite: leave the others out of both sides.")
    return array


def read_target(target: Any, predicted: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Read which class the heat of each image is about.

    Parameters
    ----------
    target : int, sequence of int, or None
        One number of a class for all images, one for each, or None: the predicted ones.
    predicted : ndarray of int, shape (rows,)
    classes : int

    Raises
    ------
    SettingError
        If it is no number of a class, or there are more or fewer than images.
    """
    if target is None:
        return predicted
    given = np.asarray(target.detach().cpu() if hasattr(target, "detach") else target)
    if given.dtype.kind not in "ui" or given.shape not in ((), predicted.shape):
        raise SettingError(
            f"target must be the number of a class, or one for each of the {len(predicted)} "
            f"images, or None. Got {_brief(target)}."
        )
    if given.min() < 0 or given.max() >= classes:
        wrong = int(given.min() if given.min() < 0 else given.max())
        raise SettingError(
            f"target {wrong} is no class: the network has {classes}, numbered from 0 to "
            f"{classes - 1}."
        )
    return np.broadcast_to(given.astype(np.int64), predicted.shape).copy()


def read_classes(names: Sequence[Any] | None, network: Any, classes: int) -> tuple[str, ...]:
    """Names of classes: as given, else as the network tells (``classes_``), else their numbers.

    Raises
    ------
    SettingError
        If there are more or fewer than the network has outputs.
    """
    told = getattr(network, "classes_", None) if names is None else names
    if told is None:
        return tuple(map(str, range(classes)))
    result = (told,) if isinstance(told, str) else tuple(str(one) for one in told)
    if len(result) != classes:
        raise SettingError(
            f"The network has {classes} classes, and there are {len(result)} names: give a name "
            f"for each in `classes`."
        )
    return result


def read_count(value: Any, name: str, least: int = 1) -> int:
    """Read a whole number of at least ``least`` (SettingError)."""
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool) or count < least:
        raise SettingError(
            f"{name} must be a whole number of at least {least}. Got {_brief(value)}."
        )
    return count


def read_positive(value: Any, name: str, most: float = math.inf) -> float:
    """Read a number above 0 and at most ``most`` (SettingError)."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        number = math.nan
    else:
        number = float(value)
    if not (0 < number <= most and math.isfinite(number)):
        limit = "" if math.isinf(most) else f" and at most {most:g}"
        raise SettingError(f"{name} must be a number above 0{limit}. Got {_brief(value)}.")
    return number


def _count(bad: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(bad))


def _brief(value: object, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
