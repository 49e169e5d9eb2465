"""Whether a heat map points at what the network needs: pixels shown or hidden in its order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from voile.errors import DataError, SettingError
from voile.explain.networks.given_images import (
    read_count,
    read_images,
    read_maps,
    read_positive,
    read_target,
)
from voile.explain.networks.measures import find_constant
from voile.explain.networks.network import find_module, predict, undisturbed

Floats = NDArray[np.float64]

BASELINES = ("blur", "mean")


def insertion_auc(
    module: Any,
    images: Any,
    maps: Any,
    target: Any = None,
    *,
    steps: int = 20,
    baseline: str = "blur",
    blur: float | None = None,
    batch_size: int = 256,
) -> Floats:
    """How soon a network is sure of a class as the hottest pixels are shown first.

    From an image without content, pixels are put in place in ``steps`` equal parts, hottest first
    (Petsiuk et al. 2018). The result is the area under the probability of the class over the share
    of pixels shown, by the trapezoid rule: high is good.

    Parameters
    ----------
    module : torch.nn.Module, or an object whose ``to_torch()`` gives one
        It is left as it was.
    images : array or tensor of shape (rows, channels, height, width) or (rows, height, width)
    maps : HeatMaps or array of shape (rows, height, width)
        Equally hot pixels follow each other row by row.
    target : int or sequence of int, optional
        Number of the class; by default the one predicted for the whole image.
    steps : int
    baseline : {"blur", "mean"}
        The image without content: itself, blurred, or the mean of each of its channels.
    blur : float, optional
        Standard deviation of the blur in pixels; by default a tenth of the longer side. A slight
        blur leaves much to recognise: compare only numbers of equal settings.
    batch_size : int

    Returns
    -------
    ndarray of shape (rows,)
        From 0 to 1; NaN where the map is constant: it gives no order.
    """
    return _area(module, images, maps, target, steps, baseline, blur, batch_size, show=True)


def deletion_auc(
    module: Any,
    images: Any,
    maps: Any,
    target: Any = None,
    *,
    steps: int = 20,
    baseline: str = "mean",
    blur: float | None = None,
    batch_size: int = 256,
) -> Floats:
    """How soon a network loses a class as the hottest pixels are hidden first: low is good.

    Parameters and result are those of `insertion_auc`, but pixels of the image are replaced by
    those of the image without content, and the area is over the share of pixels hidden.
    """
    return _area(module, images, maps, target, steps, baseline, blur, batch_size, show=False)


def _area(
    module: Any,
    images: Any,
    maps: Any,
    target: Any,
    steps: int,
    baseline: str,
    blur: float | None,
    batch_size: int,
    *,
    show: bool,
) -> Floats:
    steps, batch_size = read_count(steps, "steps"), read_count(batch_size, "batch_size")
    pixels, heat = read_images(images), read_maps(maps)
    if heat.shape != (len(pixels), *pixels.shape[2:]):
        raise DataError(
            f"Maps of shape {heat.shape} do not fit images of shape {pixels.shape} (rows, "
            f"channels, height, width)."
        )
    empty = _clear(pixels, baseline, blur)
    start, end = (empty, pixels) if show else (pixels, empty)
    places = _places(heat)[:, None]  # one order for all channels
    count = heat[0].size
    network = find_module(module)
    with undisturbed(network):
        whole, _ = predict(network, pixels, batch_size)
        targets = read_target(target, whole.argmax(axis=1).astype(np.int64), whole.shape[1])
        curve = np.empty((steps + 1, len(pixels)))
        for step in range(steps + 1):
            changed = round(count * step / steps)
            mixed = np.where(places < changed, end, start)
            found, _ = predict(network, mixed, batch_size)
            curve[step] = found[np.arange(len(pixels)), targets]
    area = np.asarray((curve[:-1] + curve[1:]).mean(axis=0) / 2)
    area[find_constant(heat)] = np.nan
    return area


def _places(heat: Floats) -> NDArray[np.int64]:
    """When each pixel's turn comes: 0 for the hottest, shape of the maps."""
    flat = heat.reshape(len(heat), -1)
    order = np.argsort(-flat, axis=1, kind="stable")
    places = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.arange(flat.shape[1])[None], axis=1)
    return places.reshape(heat.shape)


def _clear(pixels: NDArray[Any], baseline: str, blur: float | None) -> NDArray[Any]:
    """Images without content."""
    if baseline not in BASELINES:
        raise SettingError(f"baseline must be one of {', '.join(BASELINES)}. Got {baseline!r}.")
    if baseline == "mean":
        means = pixels.mean(axis=(2, 3), keepdims=True)
        return np.broadcast_to(means, pixels.shape)
    sigma = max(pixels.shape[2:]) / 10 if blur is None else read_positive(blur, "blur")
    return np.asarray(gaussian_filter(pixels, sigma=(0, 0, sigma, sigma), mode="nearest"))
