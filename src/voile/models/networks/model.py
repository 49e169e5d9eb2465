"""A trained network: frozen facts, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from voile.models.networks.architectures import Description
from voile.models.networks.images import KeptImages, Standard
from voile.models.networks.parameters import unflatten
from voile.models.networks.threads import one_thread
from voile.privacy.receipt import Receipt
from voile.schema import Category, Schema
from voile.schema.columns import Level

Floats = NDArray[np.float64]

_ROWS_AT_ONCE = 512


class Standardised(nn.Module):
    """A network behind what standardises its images: pixels from 0 to 1 in, scores out."""

    means: torch.Tensor
    spreads: torch.Tensor

    def __init__(self, network: nn.Module, standard: Standard) -> None:
        super().__init__()
        self.network = network
        shape = (1, standard.channels, 1, 1)
        self.register_buffer("means", torch.tensor(standard.means).reshape(shape))
        self.register_buffer("spreads", torch.tensor(standard.spreads).reshape(shape))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Images of shape (rows, channels, height, width) to scores of shape (rows, classes)."""
        scores: torch.Tensor = self.network((images - self.means) / self.spreads)
        return scores


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """A network that was trained on noised sums.

    Attributes
    ----------
    schema : Schema
        Complete: with everything that was found privately.
    description : Description
        Architecture, image shape (channels first), classes and seed.
    weights : ndarray of shape (parameters,)
        Released.
    standard : Standard
        Released: how pixels become inputs.
    image_shape : tuple of int
        (height, width) or (height, width, channels), as the user gave it.
    placement : str
        Where the noise went.
    receipt : Receipt
    """

    schema: Schema
    description: Description
    weights: Floats
    standard: Standard
    image_shape: tuple[int, ...]
    placement: str
    receipt: Receipt

    @property
    def classes(self) -> tuple[Level, ...]:
        """Classes, in order."""
        target = self.schema.target
        assert isinstance(target, Category)
        return tuple(target.levels or ())

    def to_torch(self) -> nn.Module:
        """A new module that reads pixels from 0 to 1, (rows, channels, height, width)."""
        network = self.description.build()
        unflatten(network, self.weights)
        return Standardised(network, self.standard).eval()

    @cached_property
    def _network(self) -> nn.Module:
        network = self.description.build()
        unflatten(network, self.weights)
        return network

    def inputs(self, columns: Mapping[str, Any]) -> torch.Tensor:
        """Encoded public rows as standardised images; a missing pixel is at its lower bound."""
        rows = len(next(iter(columns.values())))
        pixels, _ = KeptImages(self.schema).read(columns, rows)
        return self.standard.inputs(pixels, self.description.image_shape, rows)

    def decide(self, columns: Mapping[str, Any]) -> Floats:
        """Scores of the classes for encoded rows, shape (rows, classes)."""
        inputs = self.inputs(columns)
        with torch.no_grad(), one_thread():
            # Filled up to one size: what a row is told does not depend on its neighbours.
            parts = [self._scores(part) for part in torch.split(inputs, _ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))

    def _scores(self, part: torch.Tensor) -> Floats:
        rows = len(part)
        size = 32 * max(1, -(-rows // 32))
        filled = torch.cat([part, part.new_zeros(size - rows, *part.shape[1:])])
        found = [self._network(some) for some in torch.split(filled, 32)]
        return np.asarray(torch.cat(found)[:rows].double().numpy())
