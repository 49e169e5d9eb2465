"""How large a network is, counted before anything of that size is made.

A description may come from a server that nobody trusts, and is built before anything is paid: no
message may fill the memory of a client or keep it at work for ever. Torch's meta device knows the
shapes of tensors without their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from voile.errors import SettingError
from voile.models.networks.parameters import trained_parameters

MOST_PARAMETERS = 100_000_000

MOST_PIXELS = 2**22
"""Numbers of an image, all channels: 3 x 1024 x 1024 is below it."""

MOST_ACTIVATIONS = 2**27
"""Numbers that the layers make of one image (512 MB)."""

_SMALL_PIXELS, _FEW_CLASSES = 2**16, 1000
"""Up to here no included network is too large, and the meta device takes a second to load."""


def check_image(image_shape: tuple[int, int, int]) -> None:
    """Refuse images of too many numbers (SettingError)."""
    if math.prod(image_shape) > MOST_PIXELS:
        raise SettingError(
            f"An image of shape {image_shape} (channels, height, width) has more than "
            f"{MOST_PIXELS} numbers: give smaller images."
        )


def check_parameters(module: nn.Module, name: str) -> None:
    """Refuse a network without parameters to train, or with too many (SettingError)."""
    if any(isinstance(one, nn.UninitializedParameter) for one in module.parameters()):
        raise SettingError(
            f"The architecture {name!r} has layers that find their size by the first image: say it."
        )
    count = sum(parameter.numel() for parameter in trained_parameters(module))
    if count < 1 or sum(parameter.numel() for parameter in module.parameters()) > MOST_PARAMETERS:
        raise SettingError(
            f"The architecture {name!r} has {count} parameters to train: from 1 to "
            f"{MOST_PARAMETERS} are possible, frozen ones included."
        )


def check_activations(count: int, name: str, image_shape: tuple[int, int, int]) -> None:
    """Refuse a network that makes too many numbers of one image (SettingError)."""
    if count > MOST_ACTIVATIONS:
        raise SettingError(
            f"The architecture {name!r} makes {count} numbers of one image of shape {image_shape} "
            f"(channels, height, width): {MOST_ACTIVATIONS} are possible. Give smaller images."
        )


def check_size_first(
    factory: Callable[[tuple[int, int, int], int], object],
    name: str,
    image_shape: tuple[int, int, int],
    classes: int,
) -> None:
    """Refuse what is too large without making it (SettingError).

    A factory that cannot work without numbers is let through: it is code of this machine's owner,
    reads images of bounded size, and what it makes is counted once it is made. So is one for small
    images, whose size is its owner's choice alone.
    """
    if math.prod(image_shape) <= _SMALL_PIXELS and classes <= _FEW_CLASSES:
        return
    try:
        with torch.device("meta"):
            module = factory(image_shape, classes)
        if not isinstance(module, nn.Module):
            return
        check_parameters(module, name)
        with torch.device("meta"):
            count = activations(module.eval(), image_shape)
    except SettingError:
        raise
    except Exception:
        return
    check_activations(count, name, image_shape)


def activations(module: nn.Module, image_shape: tuple[int, int, int]) -> int:
    """Numbers that the layers make of one image, found by a pass over an image of zeros."""
    counted = [0]

    def count(layer: nn.Module, inputs: object, out: Any) -> None:
        if isinstance(out, torch.Tensor):
            counted[0] += out.numel()

    layers = [one for one in module.modules() if next(one.children(), None) is None]
    handles = [one.register_forward_hook(count) for one in layers]
    try:
        with torch.no_grad():
            module(torch.zeros(1, *image_shape))
    finally:
        for handle in handles:
            handle.remove()
    return counted[0]
