"""How near a rebuilt image is to the true one: PSNR and SSIM, beside guesses that need no update.

The grey guess is the best constant there is, the mean of the true image itself: the strongest
guess that shows nothing. An attack has to beat it to have shown something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.codec import Order, Writable
from voile.errors import DataError

Floats = NDArray[np.float64]

MOST_DB = 120.0
"""PSNR of images that are the same to the last bit of any screen: it would be infinite."""

_WINDOW = 7
"""Pixels on a side within which SSIM compares, as Wang et al. 2004 with equal weights."""


@dataclass(frozen=True)
class Score(Writable):
    """One rebuilt image beside the true one.

    Attributes
    ----------
    truth : int
        Which of the true images it was matched with.
    psnr, ssim : float
        Of the rebuilt image; PSNR in decibels, at most 120.
    toned_psnr : float
        PSNR once the true image has set the best brightness and contrast: an attack that only
        got those wrong, or is drowned in noise, cannot hide behind a low PSNR. Never below the
        grey guess, and above it by chance where images are small and smooth.
    grey_psnr, grey_ssim : float
        Of the constant image with the true mean.
    mean_psnr, mean_ssim : float or None
        Of the public mean image, if one was given.
    """

    file_order: ClassVar[Order] = (..., "gain", "toned_gain")

    truth: int
    psnr: float
    ssim: float
    toned_psnr: float
    grey_psnr: float
    grey_ssim: float
    mean_psnr: float | None = None
    mean_ssim: float | None = None

    @property
    def gain(self) -> float:
        """Decibels above the grey guess; below 0 the attack did worse than showing nothing."""
        return self.psnr - self.grey_psnr

    @property
    def toned_gain(self) -> float:
        """Decibels above the grey guess with the best brightness and contrast."""
        return self.toned_psnr - self.grey_psnr


def psnr(image: ArrayLike, truth: ArrayLike) -> float:
    """Peak signal to noise ratio in decibels, for values from 0 to 1; at most 120.

    Examples
    --------
    >>> round(psnr([[0.5, 0.5]], [[0.6, 0.4]]), 6)
    20.0
    """
    one, other = _same_shape(image, truth)
    error = float(np.mean((one - other) ** 2))
    return min(MOST_DB, -10.0 * math.log10(max(error, 1e-300)))


def ssim(image: ArrayLike, truth: ArrayLike) -> float:
    """Structural similarity (Wang et al. 2004), for values from 0 to 1: 1 is the same image.

    Parameters
    ----------
    image, truth : array of shape (height, width) or (channels, height, width)
        Channels count alike. Windows of 7 pixels, or the most that fit; only whole windows count.

    Examples
    --------
    >>> import numpy as np
    >>> ssim(np.eye(8), np.eye(8))
    1.0
    """
    from scipy.ndimage import uniform_filter

    one, other = _same_shape(image, truth)
    if one.ndim not in (2, 3):
        raise DataError(f"Images have shape {one.shape}: give (height, width), channels before.")
    side = min(_WINDOW, *((n - 1) // 2 * 2 + 1 for n in one.shape[-2:]))
    margin, size = side // 2, (1,) * (one.ndim - 2) + (side, side)
    inner = (..., slice(margin, one.shape[-2] - margin), slice(margin, one.shape[-1] - margin))

    def average(values: Floats) -> Floats:
        return np.asarray(uniform_filter(values, size))[inner]

    first, second = average(one), average(other)
    unbiased = side * side / max(side * side - 1.0, 1.0)
    spread_one = unbiased * (average(one * one) - first**2)
    spread_other = unbiased * (average(other * other) - second**2)
    shared = unbiased * (average(one * other) - first * second)
    light, contrast = 0.01**2, 0.03**2
    top = (2.0 * first * second + light) * (2.0 * shared + contrast)
    return float(
        np.mean(top / ((first**2 + second**2 + light) * (spread_one + spread_other + contrast)))
    )


def measure_images(
    images: ArrayLike, truth: ArrayLike, *, public_mean: ArrayLike | None = None
) -> tuple[Score, ...]:
    """Match rebuilt images with true ones, in the enemy's favour, and measure each pair.

    Parameters
    ----------
    images : array of shape (rebuilt, *shape)
    truth : array of shape (true, *shape)
        As many, or more: then those count for which the attack gained most.
    public_mean : array of shape (*shape,), optional
        An image that anybody could guess, such as the mean of public ones.

    Returns
    -------
    tuple of Score
        One for each matched pair, in the order of ``images``.
    """
    from scipy.optimize import linear_sum_assignment

    rebuilt, true = np.asarray(images, np.float64), np.asarray(truth, np.float64)
    if rebuilt.ndim < 3 or rebuilt.shape[1:] != true.shape[1:] or not len(true):
        raise DataError(f"Rebuilt images have shape {rebuilt.shape}, true ones {true.shape}.")
    grey = np.stack([np.full_like(one, one.mean()) for one in true])
    gains = np.array(
        [
            [psnr(one, other) - psnr(flat, other) for other, flat in zip(true, grey, strict=True)]
            for one in rebuilt
        ]
    )
    scores = []
    for i, j in zip(*linear_sum_assignment(gains, maximize=True), strict=True):
        scores.append(
            Score(
                truth=int(j),
                psnr=psnr(rebuilt[i], true[j]),
                ssim=ssim(rebuilt[i], true[j]),
                toned_psnr=_toned_psnr(rebuilt[i], true[j]),
                grey_psnr=psnr(grey[j], true[j]),
                grey_ssim=ssim(grey[j], true[j]),
                mean_psnr=None if public_mean is None else psnr(public_mean, true[j]),
                mean_ssim=None if public_mean is None else ssim(public_mean, true[j]),
            )
        )
    return tuple(scores)


def _toned_psnr(image: Floats, truth: Floats) -> float:
    """PSNR of the best a * image + b."""
    own, true = image - image.mean(), truth - truth.mean()
    power = float((own * own).sum())
    slope = float((own * true).sum()) / power if power > 0.0 else 0.0
    return max(psnr(truth.mean() + slope * own, truth), psnr(image, truth))


def _same_shape(image: ArrayLike, truth: ArrayLike) -> tuple[Floats, Floats]:
    one, other = np.asarray(image, np.float64), np.asarray(truth, np.float64)
    if one.shape != other.shape or not one.size:
        raise DataError(f"Images have shapes {one.shape} and {other.shape}: give equal ones.")
    return one, other
