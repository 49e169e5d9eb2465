"""How alike two heat maps of an image are: by ranks, by their hottest pixels, by structure.

SSIM is written here because scikit-image, the well-kept library that has it, would be a large
dependency for five filters; a test compares the two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.stats import rankdata

from voile.errors import DataError, SettingError
from voile.explain.networks.given_images import read_maps, read_positive

Floats = NDArray[np.float64]

_REACH = 3.5
"""The window of SSIM ends after so many standard deviations."""


def spearman(a: Any, b: Any) -> Floats:
    """Rank correlation of the pixels of two maps, image by image.

    Parameters
    ----------
    a, b : HeatMaps or array of shape (rows, height, width)

    Returns
    -------
    ndarray of shape (rows,)
        From -1 to 1; equal pixels have the mean of their ranks. NaN where a map is constant: it
        ranks nothing.

    Examples
    --------
    >>> spearman([[[1.0, 2.0], [3.0, 4.0]]], [[[1.0, 4.0], [9.0, 16.0]]])
    array([1.])
    """
    one, other = _read_pair(a, b)
    ranks = [rankdata(maps.reshape(len(maps), -1), axis=1) for maps in (one, other)]
    first, second = (rank - rank.mean(axis=1, keepdims=True) for rank in ranks)
    top = (first * second).sum(axis=1)
    bottom = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    defined = ~(find_constant(one) | find_constant(other))
    result = np.full(len(one), np.nan)
    result[defined] = np.clip(top[defined] / bottom[defined], -1.0, 1.0)
    return result


def top_share_iou(a: Any, b: Any, share: float = 0.2) -> Floats:
    """Intersection over union of the hottest pixels of two maps, image by image.

    With n pixels and k = share * n, rounded (a half goes up) and at least 1, a pixel is among the
    hottest if no more than k pixels, itself included, are at least as hot as it is. So pixels that
    tie across the border are all left out: the set is the same in whatever order pixels are read,
    two maps that are 0 in the same places gain nothing by it, and a map with fewer than k pixels
    above 0 has only those.

    Parameters
    ----------
    a, b : HeatMaps or array of shape (rows, height, width)
    share : float
        Above 0 and below 1.

    Returns
    -------
    ndarray of shape (rows,)
        From 0 to 1. NaN where a map has no such pixel: its hottest ones tie, and are more than k (a
        constant map is one of these).

    Examples
    --------
    >>> a = [[[9.0, 8.0, 1.0, 0.0]]]; b = [[[9.0, 1.0, 8.0, 0.0]]]
    >>> top_share_iou(a, b, share=0.5)
    array([0.33333333])
    """
    one, other = (find_hottest(maps, share) for maps in _read_pair(a, b))
    shared = (one & other).sum(axis=(1, 2))
    either = (one | other).sum(axis=(1, 2))
    defined = one.any(axis=(1, 2)) & other.any(axis=(1, 2))
    result = np.full(len(one), np.nan)
    result[defined] = shared[defined] / either[defined]
    return result


def ssim(a: Any, b: Any, *, data_range: float = 1.0, sigma: float = 1.5) -> Floats:
    """Structural similarity (Wang et al. 2004) of two maps, image by image.

    Parameters
    ----------
    a, b : HeatMaps or array of shape (rows, height, width)
        Maps of different networks have different units: bring them to one by `scale_maps`.
    data_range : float
        Distance between the least and the greatest value that maps can have.
    sigma : float
        Standard deviation of the Gaussian window, in pixels; it ends after 3.5 of them.

    Returns
    -------
    ndarray of shape (rows,)
        Mean over the pixels whose window lies inside the map; at most 1. It is defined for constant
        maps, too.

    Raises
    ------
    DataError
        If maps are smaller than the window.
    """
    one, other = _read_pair(a, b)
    data_range = read_positive(data_range, "data_range")
    sigma = read_positive(sigma, "sigma")
    reach = int(_REACH * sigma + 0.5)
    if min(one.shape[1:]) < 2 * reach + 1:
        raise DataError(
            f"Maps of {one.shape[1]} x {one.shape[2]} pixels are smaller than the window of "
            f"{2 * reach + 1}: give a smaller sigma."
        )

    def mean(values: Floats) -> Floats:
        smooth = gaussian_filter(values, sigma=(0, sigma, sigma), truncate=_REACH)
        height, width = values.shape[1:]
        return np.asarray(smooth[:, reach : height - reach, reach : width - reach])

    light, contrast = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    first, second = mean(one), mean(other)
    spread = mean(one**2) - first**2 + mean(other**2) - second**2
    joint = mean(one * other) - first * second
    likeness = (2 * first * second + light) * (2 * joint + contrast)
    likeness /= (first**2 + second**2 + light) * (spread + contrast)
    return np.asarray(likeness.mean(axis=(1, 2)))


def scale_maps(maps: Any) -> Floats:
    """Each map divided by its largest size, shape (rows, height, width); empty ones stay 0."""
    array = read_maps(maps)
    tops = np.abs(array).max(axis=(1, 2), keepdims=True)
    return np.asarray(array / np.where(tops > 0, tops, 1.0))


def find_constant(maps: Floats) -> NDArray[np.bool_]:
    """Which maps say the same of every pixel, shape (rows,)."""
    return np.asarray(maps.max(axis=(1, 2)) == maps.min(axis=(1, 2)))


def find_hottest(maps: Floats, share: float) -> NDArray[np.bool_]:
    """The hottest pixels of each map by the rule of `top_share_iou`, shape of the maps."""
    share = read_positive(share, "share")
    if share >= 1:
        raise SettingError(f"share must be above 0 and below 1. Got {share:g}.")
    flat = maps.reshape(len(maps), -1)
    most = max(1, math.floor(share * flat.shape[1] + 0.5))
    # The "max" rank of -x counts the pixels that are at least as hot.
    as_hot = rankdata(-flat, method="max", axis=1)
    return np.asarray(as_hot <= most).reshape(maps.shape)


def _read_pair(a: Any, b: Any) -> tuple[Floats, Floats]:
    one, other = read_maps(a, "first maps"), read_maps(b, "second maps")
    if one.shape != other.shape:
        raise DataError(
            f"Maps of shapes {one.shape} and {other.shape} cannot be compared: both must be of the "
            f"same images, in the same order."
        )
    return one, other
