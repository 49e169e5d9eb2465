"""Making heat maps: from a network and images that the caller holds to a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import ModelError, SettingError
from voile.explain.networks.attribution import (
    METHODS,
    AskedImages,
    make_grad_cam,
    make_integrated_gradients,
    make_smooth_grad,
    read_baseline,
)
from voile.explain.networks.given_images import (
    read_classes,
    read_count,
    read_images,
    read_positive,
    read_target,
)
from voile.explain.networks.network import find_layer, find_module, predict, undisturbed
from voile.explain.networks.record import COST, NO_RECEIPT, HeatMaps
from voile.privacy.receipt import Receipt


def explain_images(
    module: Any,
    images: Any,
    *,
    method: str = "grad_cam",
    target: Any = None,
    layer: Any = None,
    classes: Sequence[Any] | None = None,
    baseline: Any = 0.0,
    steps: int = 50,
    samples: int = 25,
    noise: float = 0.15,
    seed: int = 0,
    batch_size: int = 256,
    receipt: Receipt | None = None,
) -> HeatMaps:
    """Show where in an image a network finds the reasons for its answer.

    It costs nothing: the network is released, and the images are the caller's own. Never give rows
    that are to stay private: pictures and maps are shown and stored.

    Parameters
    ----------
    module : torch.nn.Module, or an object whose ``to_torch()`` gives one
        It is asked in evaluation mode, and left as it was: modes, parameters and their gradients.
        Outputs are scores of shape (rows, classes); a single output is read as log-odds of the
        second class.
    images : array or tensor of shape (rows, channels, height, width) or (rows, height, width)
        Scaled as the network expects them.
    method : {"grad_cam", "integrated_gradients", "smooth_grad"}
    target : int or sequence of int, optional
        Number of the class the heat is about, for all images or for each; by default the predicted
        class of each.
    layer : str or torch.nn.Module, optional
        For Grad-CAM: the layer whose feature maps are looked at. By default the convolution that is
        used last; convolutions of one pixel only if there are no others.
    classes : sequence, optional
        Names of the classes; by default ``module.classes_`` if there is one, or numbers.
    baseline : float or array that fits (channels, height, width)
        For integrated gradients: the image without content, in the network's own scale.
    steps : int
        For integrated gradients: points between baseline and image.
    samples : int
        For SmoothGrad: noisy copies of each image.
    noise : float
        For SmoothGrad: standard deviation of that (public) noise, as a share of the range of the
        image's pixels.
    seed : int
        For SmoothGrad: equal seeds give equal maps.
    batch_size : int
        Images that go through the network at once, at most; results do not depend on it.
    receipt : Receipt, optional
        The guarantee that the network rests on; by default ``module.receipt_`` if there is one.

    Returns
    -------
    HeatMaps

    Raises
    ------
    DataError, SettingError
        If images or settings cannot be used.
    ModelError
        If the network's outputs or gradients cannot be used.
    MissingExtra
        If torch or captum is not installed.
    """
    if method not in METHODS:
        raise SettingError(f"method must be one of {', '.join(METHODS)}. Got {method!r}.")
    if layer is not None and method != "grad_cam":
        raise SettingError(f"method {method!r} uses no layer: leave `layer` out.")
    batch_size = read_count(batch_size, "batch_size")
    steps, samples = read_count(steps, "steps"), read_count(samples, "samples")
    noise, seed = read_positive(noise, "noise"), read_count(seed, "seed", 0)
    pixels = read_images(images)
    read_baseline(baseline, pixels.shape[1:])
    network, name = find_module(module), ""
    guaranteed = _find_receipt(module, receipt)
    with undisturbed(network):
        probabilities, _ = predict(network, pixels, batch_size)
        predicted = probabilities.argmax(axis=1).astype(np.int64)
        targets = read_target(target, predicted, probabilities.shape[1])
        names = read_classes(classes, module, probabilities.shape[1])
        asked = AskedImages(network, pixels, targets, batch_size)
        if method == "grad_cam":
            name, chosen = find_layer(network, layer, pixels[:1])
            maps, how = make_grad_cam(asked, chosen), f"layer {name}"
        elif method == "integrated_gradients":
            maps = make_integrated_gradients(asked, baseline, steps)
            how = f"{steps} steps from {_baseline_text(baseline)}"
        else:
            maps = make_smooth_grad(asked, samples, noise, seed)
            how = f"{samples} noisy copies, noise {noise:g} of an image's range, seed {seed}"
    bad = ~np.isfinite(maps).all(axis=(1, 2))
    if bad.any():
        raise ModelError(
            f"The gradients of {int(bad.sum())} of {len(maps)} images are not finite, the first is "
            f"image {int(np.argmax(bad))} (counted from 0): leave them out, or take another method."
        )
    return HeatMaps(
        outputs=names,
        units="the network's score",
        receipt=guaranteed,
        cost=COST,
        maps=maps,
        pictures=_paint(pixels),
        method=method,
        how=how,
        layer=name,
        targets=targets,
        probabilities=probabilities,
    )


def _find_receipt(network: Any, given: Any) -> Receipt:
    if given is not None and not isinstance(given, Receipt):
        raise SettingError(f"receipt must be a voile.Receipt. Got a {type(given).__name__}.")
    found = getattr(network, "receipt_", None) if given is None else given
    return found if isinstance(found, Receipt) else NO_RECEIPT


def _baseline_text(baseline: Any) -> str:
    return f"{float(baseline):g}" if np.ndim(baseline) == 0 else "a given image"


def _paint(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Images in grey: the mean of their channels, from the darkest of all images to the lightest.

    Returns
    -------
    ndarray of uint8, shape (rows, height, width)
    """
    grey = pixels.mean(axis=1, dtype=np.float64)
    low, high = float(grey.min()), float(grey.max())
    shares = (grey - low) / (high - low) if high > low else np.full(grey.shape, 0.5)
    return np.asarray(np.rint(255 * shares), dtype=np.uint8)
