"""Where the published algorithms leave noise out: filters of high Grad-CAM weight, or random ones.

Li, Chen, Ni, Shao, "Balancing Privacy Protection and Interpretability in Federated Learning",
2023, Algorithm 1. What is left without noise is an exact function of private rows, and so is the
choice: nothing here gives any guarantee.

Where the paper leaves room, it is read as follows. A Grad-CAM weight belongs to a channel of a
feature map, so a channel's whole filter is noised or not; the share ``r`` of the channels of
lowest weight is noised. The weight of a channel is the mean over images, each with its own class.

The prose adds what Algorithm 1 does not have: "if [a noised weight] exceeds the smallest value of
the [kept] weights, it should be clipped". On request (``shorten``) a filter that noise made longer
than the shortest kept one is shortened to that, or to its own length before, whatever is longer.
Compared number by number nothing would be left: the smallest kept number of a layer is nearly its
most negative one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from voile.errors import SettingError
from voile.models.networks.parameters import trained_parameters

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Filters:
    """The filters of one target layer among all parameters.

    Attributes
    ----------
    layer : torch.nn.Conv2d
    start : int
        Where its weights begin in the vector of all parameters.
    channels : int
        Its filters, one per output channel, one after the other.
    size : int
        Numbers of a filter.
    """

    layer: nn.Conv2d
    start: int
    channels: int
    size: int

    def of(self, vector: Floats) -> Floats:
        """Its part of a vector of all parameters: a view of shape (channels, size)."""
        end = self.start + self.channels * self.size
        return vector[self.start : end].reshape(self.channels, self.size)


def target_layers(module: nn.Module) -> tuple[Filters, ...]:
    """The last convolution of each block of a network.

    Blocks are the parts of a network that hold convolutions themselves, such as residual blocks
    (without their short cuts of single pixels); without any, each convolution is a block.

    Raises
    ------
    SettingError
        If the network has no convolution to train.
    """
    parts = list(module.children())
    while len(parts) == 1 and not isinstance(parts[0], nn.Conv2d):
        parts = list(parts[0].children())
    blocks = [found for part in parts if not isinstance(part, nn.Conv2d) if (found := _wide(part))]
    layers = [block[-1] for block in blocks] or _wide(module)
    starts, end = {}, 0
    for parameter in trained_parameters(module):
        starts[id(parameter)] = end
        end += parameter.numel()
    result = tuple(
        Filters(one, starts[id(one.weight)], one.out_channels, one.weight[0].numel())
        for one in layers
        if id(one.weight) in starts
    )
    if not result:
        raise SettingError(
            "Grad-CAM needs a convolution, and this network has none to train: use noise="
            "'dp_faithful', or another architecture."
        )
    return result


def _wide(part: nn.Module) -> list[nn.Conv2d]:
    """Convolutions that look beyond a pixel; all of them if none does."""
    found = [one for one in part.modules() if isinstance(one, nn.Conv2d)]
    wide = [one for one in found if max(one.kernel_size) > 1]
    return wide or found


def grad_cam_weights(
    module: nn.Module, filters: Sequence[Filters], images: torch.Tensor, classes: torch.Tensor
) -> list[Floats]:
    """Mean over places and images of d score of the image's class / d feature map, by channel.

    Parameters
    ----------
    images : tensor of shape (rows, channels, height, width)
    classes : tensor of shape (rows,)

    Returns
    -------
    list of ndarray of shape (channels,)
    """
    maps: dict[nn.Module, torch.Tensor] = {}

    def remember(layer: nn.Module, inputs: object, output: torch.Tensor) -> None:
        maps[layer] = output

    hooks = [one.layer.register_forward_hook(remember) for one in filters]
    try:
        scores = module(images)
    finally:
        for hook in hooks:
            hook.remove()
    chosen = scores.gather(1, classes[:, None]).sum()
    slopes = torch.autograd.grad(chosen, [maps[one.layer] for one in filters])
    return [one.mean(dim=(0, 2, 3)).double().numpy() for one in slopes]


def least_important(weights: Floats, share: float) -> NDArray[np.bool_]:
    """Which channels are noised: the share of lowest weight, shape (channels,).

    Never none and never all, as long as there are two channels.
    """
    count = len(weights)
    noised = min(max(round(share * count), 1), max(count - 1, 1))
    result = np.zeros(count, dtype=bool)
    result[np.argsort(weights, kind="stable")[:noised]] = True
    return result


def place(
    weights: Floats,
    noise: Floats,
    filters: Sequence[Filters],
    noised: Sequence[NDArray[np.bool_]],
    *,
    shorten: bool,
) -> Floats:
    """Weights with noise everywhere but on the kept filters.

    Parameters
    ----------
    weights, noise : ndarray of shape (parameters,)
    filters : sequence of Filters
    noised : sequence of ndarray of shape (channels,)
        Which filters of each layer get their noise.
    shorten : bool
        Whether filters that noise made longer than the shortest kept one are shortened.
    """
    noise = noise.copy()
    for one, which in zip(filters, noised, strict=True):
        one.of(noise)[~which] = 0.0
    result = weights + noise
    for one, which in zip(filters, noised, strict=True):
        mine = one.of(result)
        if shorten and which.any() and not which.all():
            lengths = np.linalg.norm(mine, axis=1)
            most = np.maximum(lengths[~which].min(), np.linalg.norm(one.of(weights), axis=1))
            too_long = which & (lengths > most)
            mine[too_long] *= (most[too_long] / lengths[too_long])[:, None]
    return result
