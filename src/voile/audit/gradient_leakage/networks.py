"""Small networks with public weights, on which attacks on gradients are known to work.

Each is the easy case of one attack: smooth activations for L-BFGS, a first layer that sees every
pixel for the closed form, rectified units for the cosine. Any other torch module may be attacked,
too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from voile.audit.gradient_leakage.gradients import check_shape, load_torch
from voile.errors import SettingError

if TYPE_CHECKING:
    from torch.nn import Module

KINDS = ("sigmoid_lenet", "mlp", "relu_cnn")


def leaky_net(
    kind: str,
    image_shape: tuple[int, ...] = (1, 28, 28),
    classes: int = 10,
    *,
    seed: int = 0,
) -> Module:
    """A small network with weights drawn from a public seed.

    Parameters
    ----------
    kind : {"sigmoid_lenet", "mlp", "relu_cnn"}
        Three convolutions with sigmoids; one hidden layer of 64 rectified units that sees all
        pixels; two convolutions with rectified units.
    image_shape : tuple of int
        (channels, height, width).
    classes : int
        At least 2.
    seed : int
        Of the weights.

    Returns
    -------
    torch.nn.Module
        Maps (images, channels, height, width) to (images, classes).
    """
    torch = load_torch()
    if kind not in KINDS:
        raise SettingError(f"kind is {kind!r}: give one of {', '.join(KINDS)}.")
    shape = check_shape(image_shape)
    if len(shape) != 3:
        raise SettingError(f"image_shape is {shape}: give (channels, height, width).")
    if classes < 2:
        raise SettingError(f"classes is {classes}: give 2 or more.")
    nn, (channels, height, width) = torch.nn, shape

    def make(layer: Any, *sizes: int) -> Any:
        # Weights are filled in below: torch's own first values would move its global generator.
        return nn.utils.skip_init(layer, *sizes)

    quarter = math.ceil(math.ceil(height / 2) / 2) * math.ceil(math.ceil(width / 2) / 2)
    if kind == "sigmoid_lenet":
        layers = [
            *(make(nn.Conv2d, channels, 12, 5, 2, 2), nn.Sigmoid()),
            *(make(nn.Conv2d, 12, 12, 5, 2, 2), nn.Sigmoid()),
            *(make(nn.Conv2d, 12, 12, 5, 1, 2), nn.Sigmoid()),
            *(nn.Flatten(), make(nn.Linear, 12 * quarter, classes)),
        ]
    elif kind == "mlp":
        layers = [
            *(nn.Flatten(), make(nn.Linear, math.prod(shape), 64), nn.ReLU()),
            make(nn.Linear, 64, classes),
        ]
    else:
        layers = [
            *(make(nn.Conv2d, channels, 12, 5, 2, 2), nn.ReLU()),
            *(make(nn.Conv2d, 12, 24, 5, 2, 2), nn.ReLU()),
            *(nn.Flatten(), make(nn.Linear, 24 * quarter, classes)),
        ]
    net: Module = nn.Sequential(*layers)
    _fill(net, seed, wide=kind == "sigmoid_lenet")
    return net


def _fill(net: Module, seed: int, *, wide: bool) -> None:
    """Draw weights: within 1 / sqrt(inputs of a unit), or within .5 where sigmoids dampen."""
    torch = load_torch()
    rng = np.random.default_rng(seed)
    bound = 0.5
    with torch.no_grad():
        for one in net.parameters():
            if one.ndim > 1 and not wide:  # a bias follows its weights, and takes their bound
                bound = 1.0 / math.sqrt(math.prod(one.shape[1:]))
            one.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(one.shape))))
