"""Where noise goes: evenly, unevenly by importance, or only on the coordinates that are sent.

Everything here reads released weights, public images and public randomness alone, so the choice is
free; docs/proofs/network.md says why, and how uneven noise keeps the same price. Experiments find
no placement that beats uniform noise: see the controls in benchmarks/federated/quality.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from voile.errors import SettingError
from voile.models.networks.architectures import Description
from voile.models.networks.parameters import trained_parameters, unflatten

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

_LEAST_IMPORTANCE = 0.01
"""Of the mean importance; noise on the rest must stay finite."""

MADE_UP_IMAGES = 64


@dataclass(frozen=True, eq=False)
class Placed:
    """How one step's noise is placed; the empty one is uniform.

    Attributes
    ----------
    groups : ndarray of shape (parameters,), or None
    scales : tuple of float
        Per group: noise on its coordinates relative to the mechanism's.
    mask : ndarray of shape (size,), or None
    """

    groups: Wholes | None = None
    scales: tuple[float, ...] = ()
    mask: Wholes | None = None

    def gradient(self, released: Floats, parameters: int) -> Floats:
        """The released sum in the parameters' own coordinates; 0 where nothing was sent."""
        result = np.zeros(parameters)
        if self.mask is None:
            result[:] = released
        else:
            result[self.mask] = released
        if self.groups is not None:
            result *= np.array(self.scales)[self.groups]
        return result


def uniform() -> Placed:
    """The same noise on every coordinate."""
    return Placed()


def split_noise(clips: Floats, importances: Floats, sizes: Floats, mu: float) -> Floats:
    """Noise scales of groups that cost ``mu`` together and hurt importance least, shape (groups,).

    s_g^2 = C_g sum_j C_j sqrt(w_j n_j) / (mu^2 sqrt(w_g n_g)).

    Parameters
    ----------
    clips, importances, sizes : ndarray of shape (groups,)
        C, w and n; all positive.
    mu : float
        sqrt(sum_g (C_g / s_g)^2).
    """
    roots = np.sqrt(importances * sizes)
    squares = clips * float(clips @ roots) / (mu**2 * roots)
    return np.asarray(np.sqrt(squares))


def channel_groups(description: Description) -> tuple[Wholes, list[tuple[str, int, int]]]:
    """A group per output channel of each convolution (weights and bias), and one for the rest.

    Returns
    -------
    groups : ndarray of shape (parameters,)
        The rest is group 0.
    layers : list of (name, first group, channels)
    """
    module = description.build()
    names = {id(p): name for name, p in module.named_parameters()}
    convolutions = {name: one for name, one in module.named_modules() if isinstance(one, nn.Conv2d)}
    layers, first = [], {}
    count = 1
    for name, one in convolutions.items():
        layers.append((name, count, one.out_channels))
        first[name] = count
        count += one.out_channels
    groups = []
    for parameter in trained_parameters(module):
        owner = names[id(parameter)].rpartition(".")[0]
        if owner in first:
            channels = parameter.shape[0]
            each = np.arange(first[owner], first[owner] + channels)
            groups.append(np.repeat(each, parameter.numel() // channels))
        else:
            groups.append(np.zeros(parameter.numel(), dtype=np.int64))
    return np.concatenate(groups).astype(np.int64), layers


def channel_importances(
    description: Description, weights: Floats, images: torch.Tensor
) -> dict[str, Floats]:
    """Grad-CAM weights of the channels of every convolution, on public images.

    |mean over pixels of the slope of the winning class's score by the channel|, averaged over
    images (Selvaraju et al. 2017).

    Parameters
    ----------
    weights : ndarray of shape (parameters,)
        Released.
    images : tensor of shape (rows, channels, height, width)
        Public or made up, standardised.

    Returns
    -------
    dict
        From the name of a convolution to an array of shape (channels,).
    """
    module = description.build()
    unflatten(module, weights)
    seen: dict[str, torch.Tensor] = {}

    def record(name: str) -> None:
        def hook(_: nn.Module, inputs: object, out: torch.Tensor) -> torch.Tensor:
            seen[name] = out
            # What follows may work in place: on a copy, so that the slope is by the channel.
            return out.clone()

        chosen[name].register_forward_hook(hook)

    chosen = {name: one for name, one in module.named_modules() if isinstance(one, nn.Conv2d)}
    for name in chosen:
        record(name)
    with torch.enable_grad():
        scores = module(images.detach().requires_grad_(True))
        best = scores.max(dim=1).values.sum()
    slopes: tuple[torch.Tensor | None, ...] = torch.autograd.grad(
        best, list(seen.values()), allow_unused=True
    )
    result = {}
    for name, slope in zip(seen, slopes, strict=True):
        channels = chosen[name].out_channels
        if slope is None:
            result[name] = np.zeros(channels)
        else:
            found = slope.flatten(2).mean(2).abs().mean(0).double().numpy()
            result[name] = np.nan_to_num(found, nan=0.0, posinf=0.0)
    return result


def selective(
    description: Description,
    weights: Floats,
    images: torch.Tensor,
    shuffle: np.random.Generator | None = None,
) -> Placed:
    """Less noise on channels that Grad-CAM finds important, more on others, at the same price.

    Parameters
    ----------
    shuffle : Generator, optional
        Public randomness: deals the importances out to other channels of their layer, the control
        that tells whether importance itself matters.
    """
    groups, layers = channel_groups(description)
    if not layers:
        raise SettingError(
            f"The network {description.architecture!r} has no convolutions, and importance is "
            "that of their channels: use placement='uniform'."
        )
    found = channel_importances(description, weights, images)
    # Within each layer: Grad-CAM weights of different layers are not in one unit.
    importances = np.ones(1 + sum(channels for _, _, channels in layers))
    for name, first, channels in layers:
        own = found.get(name, np.zeros(channels))
        mean = float(own.mean())
        own = np.maximum(own / mean, _LEAST_IMPORTANCE) if mean > 0 else np.ones(channels)
        importances[first : first + channels] = own if shuffle is None else shuffle.permutation(own)
    sizes = np.maximum(np.bincount(groups, minlength=len(importances)).astype(np.float64), 1.0)
    # Typical lengths as the root of sizes; mu such that equal importances give scales of 1.
    lengths = np.sqrt(sizes)
    scales = split_noise(lengths, importances, sizes, math.sqrt(float(sizes.sum())))
    return Placed(groups, tuple(map(float, scales)))


def sparse(weights: Floats, share: float, rng: np.random.Generator | None = None) -> Placed:
    """Send only some coordinates: the largest of the initial or released weights, or any.

    Parameters
    ----------
    share : float
        Part of the coordinates that is sent.
    rng : Generator, optional
        Public: chooses at random instead.
    """
    count = max(round(share * len(weights)), 1)
    keys = np.abs(weights) if rng is None else rng.random(len(weights))
    chosen = np.argsort(-keys, kind="stable")[:count]
    return Placed(mask=np.sort(chosen).astype(np.int64))


def made_up_images(
    description: Description, rng: np.random.Generator, rows: int = MADE_UP_IMAGES
) -> torch.Tensor:
    """Smooth random images of mean 0 and spread 1, where there are no public ones."""
    channels, height, width = description.image_shape
    coarse = rng.normal(size=(rows, channels, max(height // 4, 1), max(width // 4, 1)))
    fine = torch.nn.functional.interpolate(
        torch.from_numpy(coarse.astype(np.float32)), size=(height, width), mode="bilinear"
    )
    return (fine - fine.mean((1, 2, 3), keepdim=True)) / (
        fine.std((1, 2, 3), keepdim=True).clamp(min=1e-6)
    )
