"""Trained parameters of a network, one by one and end to end."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from voile.errors import SettingError

Floats = NDArray[np.float64]


def trained_parameters(module: nn.Module) -> list[nn.Parameter]:
    """Parameters that are trained, in order; those without gradient stay as they begin."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def flatten(module: nn.Module) -> Floats:
    """Trained parameters end to end, 0-d ones too, shape (parameters,)."""
    parts = [p.detach().reshape(-1).double().numpy() for p in trained_parameters(module)]
    return np.concatenate(parts)


def unflatten(module: nn.Module, weights: Floats) -> list[torch.Tensor]:
    """Write a vector of shape (parameters,) into the trained parameters.

    Returns
    -------
    list of tensor
        What each of them was given, in their shapes.
    """
    parameters = trained_parameters(module)
    sizes = [parameter.numel() for parameter in parameters]
    if weights.shape != (sum(sizes),):
        raise SettingError(
            f"The network has {sum(sizes)} parameters and the weights have shape {weights.shape}."
        )
    flat = torch.from_numpy(weights.astype(np.float32))
    given = [
        part.view(parameter.shape)
        for parameter, part in zip(parameters, torch.split(flat, sizes), strict=True)
    ]
    with torch.no_grad():
        for parameter, part in zip(parameters, given, strict=True):
            parameter.copy_(part)
    return given
