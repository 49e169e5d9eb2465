"""What a linear map of pixels looks for, as a picture that people recognise.

A map tells classes apart and is no picture of either: where neighbouring pixels say the same it
weighs their small differences. What it responds to is the covariance of the inputs times the
map (Haufe et al. 2014, NeuroImage 87). The covariance of the training rows is private, so that
of pictures in general takes its place, which is public: their power falls with the square of the
frequency (Field 1987, J. Opt. Soc. Am. A 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from voile.explain.picture_shape import PictureShape

Floats = NDArray[np.float64]

STRENGTH = 0.8
"""Length of what a linear map adds to the average picture, compared with that picture."""

_BRIGHTEST = 99.5
"""Percentile of the pixels that is drawn white."""


def smooth(linear_maps: Floats, shape: PictureShape) -> Floats:
    """Linear maps times the covariance of pictures in general, shape (..., features)."""
    height, width = shape[:2]
    squares = np.add.outer(np.arange(float(height)) ** 2, np.arange(float(width)) ** 2)
    pictures = linear_maps.reshape(*linear_maps.shape[:-1], height, width, -1)
    waves = dctn(pictures, axes=(-3, -2), norm="ortho")
    waves *= (1.0 / (1.0 + squares / 4.0))[:, :, None]
    return np.asarray(idctn(waves, axes=(-3, -2), norm="ortho")).reshape(linear_maps.shape)


def draw_likeness(linear_maps: Floats, average: Floats, shape: PictureShape) -> Floats:
    """The average picture with what linear maps look for added to it, from 0 (black) to 1 (white).

    Parameters
    ----------
    linear_maps : ndarray of shape (..., features)
        Without what all classes share, as that would hide what is their own.
    average : ndarray of shape (features,)
        Zeros if it is not known.
    shape : tuple of int
    """
    added = smooth(linear_maps, shape)
    lengths = np.linalg.norm(added, axis=-1, keepdims=True)
    long = float(np.linalg.norm(average)) or 1.0
    seen = average + STRENGTH * long * added / np.where(lengths > 0, lengths, 1.0)
    top = np.percentile(seen, _BRIGHTEST, axis=-1, keepdims=True)
    return np.asarray(np.clip(seen / np.where(top > 0, top, 1.0), 0.0, 1.0))
