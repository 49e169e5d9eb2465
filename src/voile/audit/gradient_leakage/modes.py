"""What a client may send of its images: the raw gradient, a clipped one, or a noised sum.

A mode is called with (module, images, labels), the image under attack first, and gives the update
that the enemy sees. It takes its lot from the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.audit.gradient_leakage.gradients import (
    clip_rows,
    copy_module,
    count_parameters,
    example_gradients,
)
from voile.errors import DataError, SettingError
from voile.privacy import noise

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenUpdate:
    """What the enemy sees.

    Attributes
    ----------
    vector : ndarray of shape (parameters,)
    lot : int
        Images whose gradients it sums up.
    clean : ndarray of bool, shape (parameters,), or None
        Coordinates that the enemy knows to be without noise; None if it knows of none such.
    """

    vector: Floats
    lot: int = 1
    clean: NDArray[np.bool_] | None = None


Mode = Callable[[Any, Floats, NDArray[np.int64]], SeenUpdate | ArrayLike]
"""Maps (module, images, labels) to what the enemy sees."""


def un_noised(lot: int = 1) -> Mode:
    """The sum of gradients as it is.

    Parameters
    ----------
    lot : int
        Images in the sum.
    """
    _check_lot(lot)

    def send(module: Any, images: Floats, labels: NDArray[np.int64]) -> SeenUpdate:
        return SeenUpdate(_gradients(module, images, labels, lot).sum(axis=0), lot)

    return send


def clipped(clip: float, lot: int = 1) -> Mode:
    """The sum of gradients, each shortened to a norm of at most ``clip``; without noise."""
    _check_lot(lot)
    _check_positive(clip=clip)

    def send(module: Any, images: Floats, labels: NDArray[np.int64]) -> SeenUpdate:
        return SeenUpdate(_clipped_sum(module, images, labels, clip, lot), lot)

    return send


def gaussian(clip: float, noise_multiplier: float, lot: int = 1) -> Mode:
    """The Gaussian mechanism: a clipped sum, and noise on every coordinate.

    Parameters
    ----------
    clip : float
        Largest norm of one image's gradient.
    noise_multiplier : float
        Standard deviation of the noise, in units of ``clip``.
    lot : int
        Images in the sum.
    """
    _check_lot(lot)
    _check_positive(clip=clip, noise_multiplier=noise_multiplier)

    def send(module: Any, images: Floats, labels: NDArray[np.int64]) -> SeenUpdate:
        total = _clipped_sum(module, images, labels, clip, lot)
        return SeenUpdate(_add_noise(total, clip * noise_multiplier), lot)

    return send


def noise_only(clip: float, noise_multiplier: float, lot: int = 1) -> Mode:
    """The noise of `gaussian` and nothing else: what attacks reach by chance.

    An attack on a noised update has shown something only where it does better than on this. Give
    the same lot: among more true images the enemy's oracle finds a better match.
    """
    _check_lot(lot)
    _check_positive(clip=clip, noise_multiplier=noise_multiplier)

    def send(module: Any, images: Floats, labels: NDArray[np.int64]) -> SeenUpdate:
        silent = np.zeros(count_parameters(copy_module(module)))
        return SeenUpdate(_add_noise(silent, clip * noise_multiplier), lot)

    return send


def selective_faithful(
    share: float,
    clip: float = 1.0,
    noise_multiplier: float = 1.0,
    lot: int = 1,
    *,
    importance: ArrayLike | None = None,
) -> Mode:
    """Noise except where it matters: the published way, which gives no guarantee at all.

    Li, Chen, Ni & Shao 2023 leave the most important coordinates without noise. These are then
    exact functions of the images, and which they are is a second release without noise. The enemy
    here is told which.

    Parameters
    ----------
    share : float
        Part of the coordinates that stays without noise, between 0 and 1.
    clip, noise_multiplier, lot
        As of `gaussian`.
    importance : array of shape (parameters,), optional
        The larger, the rather without noise; ties in the order of coordinates. The paper takes
        Grad-CAM weights of convolutions. By default the size of the coordinate itself, and noised
        coordinates are then cut to the size of the smallest one that was kept, as published.
    """
    _check_lot(lot)
    _check_positive(clip=clip, noise_multiplier=noise_multiplier)
    if not 0.0 < share < 1.0:
        raise SettingError(f"share is {share!r}: give a number between 0 and 1.")

    def send(module: Any, images: Floats, labels: NDArray[np.int64]) -> SeenUpdate:
        total = _clipped_sum(module, images, labels, clip, lot)
        sizes = np.abs(total) if importance is None else np.asarray(importance, np.float64)
        if sizes.shape != total.shape or not np.isfinite(sizes).all():
            raise DataError(f"importance must hold {len(total)} finite numbers: one per parameter.")
        kept = np.argsort(-sizes, kind="stable")[: max(1, math.floor(share * len(total)))]
        clean = np.zeros(len(total), np.bool_)
        clean[kept] = True
        sent = _add_noise(total, clip * noise_multiplier)
        if importance is None:
            smallest = float(sizes[kept].min())
            sent = np.clip(sent, -smallest, smallest)
        sent[clean] = total[clean]
        return SeenUpdate(sent, lot, clean)

    return send


def _gradients(module: Any, images: Floats, labels: NDArray[np.int64], lot: int) -> Floats:
    if len(images) < lot:
        raise SettingError(
            f"A lot of {lot} needs as many images, and there are {len(images)}: give more images,"
            " or a smaller lot."
        )
    return example_gradients(module, images[:lot], labels[:lot])


def _clipped_sum(
    module: Any, images: Floats, labels: NDArray[np.int64], clip: float, lot: int
) -> Floats:
    rows = clip_rows(_gradients(module, images, labels, lot), clip)
    return np.asarray(rows.sum(axis=0))


def _add_noise(total: Floats, scale: float) -> Floats:
    """Noise of standard deviation ``scale`` on the grid of the mechanisms."""
    grid = noise.grid_for(scale)
    drawn = noise.gaussian(len(total), scale / grid)
    return np.asarray((np.rint(total / grid) + drawn) * grid)


def _check_lot(lot: int) -> None:
    if lot < 1:
        raise SettingError(f"lot is {lot!r}: give 1 or more.")


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise SettingError(f"{name} is {value!r}: give a positive number.")
