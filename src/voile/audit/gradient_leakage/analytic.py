"""What an update says without a search: an image in closed form, and the classes of all images.

A first layer that sees every pixel and has a bias gives the image away. Of z = W x + b the
gradients are dW = d xᵀ and db = d, so each row i with d_i not 0 says x = dW_i / db_i (Phong et al.
2018; Zhu & Blaschko 2021). With several images in the sum, a row shows one of them where only that
one woke its unit. A convolution sums its gradient over places, so the quotient is no image: the
attack does not apply.

Classes show in the signs of the last layer's gradient. For one image the gradient of an output's
bias is its probability, less 1 for the true class: the only negative one (Zhao, Mopuri & Bilen,
iDLG, 2020). For several images the most negative outputs are taken in turn, each time put back by
an equal share of all that is negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.audit.gradient_leakage.gradients import Floats, Shape, load_torch
from voile.errors import SettingError

if TYPE_CHECKING:
    from torch.nn import Module


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """A first layer that sees all pixels, and how pixels come to it.

    Attributes
    ----------
    units : int
    weights_at, bias_at : int
        Where its gradients begin in the update.
    scale, shift : ndarray of shape (pixels,)
        The layer sees pixel * scale + shift: images may be standardised on the way.
    """

    units: int
    weights_at: int
    bias_at: int
    scale: Floats
    shift: Floats


def find_first_layer(module: Module, shape: Shape) -> FirstLayer | None:
    """The layer that the closed form needs, or None if the network has none."""
    torch = load_torch()
    pixels = math.prod(shape)
    first = next((one for one in module.modules() if list(one.parameters(recurse=False))), None)
    if not isinstance(first, torch.nn.Linear) or first.in_features != pixels or first.bias is None:
        return None
    probes = [np.zeros(pixels), np.ones(pixels), np.arange(pixels) / pixels]
    seen = [_entering(module, first, probe.reshape(1, *shape)) for probe in probes]
    if any(one is None for one in seen):
        return None
    zero, one, ramp = (np.asarray(values) for values in seen)
    scale = one - zero
    if not np.allclose(ramp, zero + probes[2] * scale, atol=1e-6) or not scale.all():
        return None
    at, places = 0, {}
    for parameter in module.parameters():
        places[id(parameter)] = at
        at += parameter.numel()
    return FirstLayer(
        units=first.out_features,
        weights_at=places[id(first.weight)],
        bias_at=places[id(first.bias)],
        scale=scale,
        shift=zero,
    )


def _entering(module: Module, layer: Module, image: Floats) -> Floats | None:
    """What enters a layer for one image, or None if it is no vector of pixels."""
    torch = load_torch()
    caught: list[Any] = []
    hook = layer.register_forward_pre_hook(lambda _, given: caught.append(given[0].detach()))
    try:
        with torch.no_grad():
            module(torch.from_numpy(image).to(next(module.parameters()).dtype))
    finally:
        hook.remove()
    if len(caught) != 1 or caught[0].numel() != image.size:
        return None
    flat: Floats = caught[0].reshape(-1).double().numpy()
    return flat


def rebuild_rows(
    layer: FirstLayer, update: Floats, clean: NDArray[np.bool_] | None
) -> tuple[Floats, int]:
    """Candidates for the image, from each row and from all together.

    Parameters
    ----------
    layer : FirstLayer
    update : ndarray of shape (parameters,)
    clean : ndarray of bool, shape (parameters,), or None
        Coordinates known to be without noise: if some are, no others are used.

    Returns
    -------
    ndarray of shape (candidates, pixels)
        Within 0 and 1. First all rows together, by least squares, then single rows, those with
        the largest db first. Pixels that nothing is known of are 0, or in a second version of
        the first candidate the mean of the known ones.
    int
        How many of them are of all rows together.
    """
    pixels = len(layer.scale)
    span = slice(layer.weights_at, layer.weights_at + layer.units * pixels)
    ends = slice(layer.bias_at, layer.bias_at + layer.units)
    weights, bias = update[span].reshape(layer.units, pixels), update[ends]
    known = np.ones_like(weights, np.bool_)
    if clean is not None:
        known = clean[span].reshape(weights.shape) & clean[ends][:, None]
    use = known * bias[:, None]
    power = (use * bias[:, None]).sum(axis=0)
    seen = power > 0.0
    together = (use * weights).sum(axis=0) / np.where(seen, power, 1.0)
    joint = _image(layer, together, seen)
    versions = [np.where(seen, joint, 0.0)]
    if not seen.all():
        versions.append(np.where(seen, joint, joint[seen].mean() if seen.any() else 0.5))
    ranked = np.argsort(-np.abs(bias), kind="stable")
    rows = [
        np.where(known[i], _image(layer, weights[i] / bias[i], known[i]), 0.0)
        for i in ranked
        if bias[i] != 0.0 and known[i].any()
    ]
    return np.stack([*versions, *rows]), len(versions)


def _image(layer: FirstLayer, entering: Floats, seen: NDArray[np.bool_]) -> Floats:
    found = (np.where(seen, entering, layer.shift) - layer.shift) / layer.scale
    return np.clip(found, 0.0, 1.0)


def infer_labels(module: Module, update: Floats, classes: int, count: int) -> NDArray[np.int64]:
    """The most likely classes, shape (count,).

    Parameters
    ----------
    module : Module
        Its last parameter is the bias of the outputs, or their weights, which work where what
        enters them is not negative.
    update : ndarray of shape (parameters,)
    classes, count : int
    """
    last = list(module.parameters())[-1]
    if last.ndim not in (1, 2) or last.shape[0] != classes:
        raise SettingError(
            f"The module's last parameter has shape {tuple(last.shape)} and does not belong to"
            f" {classes} outputs: classes cannot be read off it. Give labels."
        )
    tail = update[len(update) - last.numel() :].reshape(classes, -1).sum(axis=1)
    share = float(-np.minimum(tail, 0.0).sum()) / count
    found = []
    for _ in range(count):
        found.append(int(tail.argmin()))
        tail[found[-1]] += share
    return np.array(found, np.int64)
