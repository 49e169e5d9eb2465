"""What a client does in a round of federated averaging: train on all its rows, answer one vector.

Deterministic given the question, the rows, and (in the published modes) the client's own noise.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from voile.errors import SettingError
from voile.federated.fedavg.placement import (
    Filters,
    grad_cam_weights,
    least_important,
    place,
    target_layers,
)
from voile.models.networks.architectures import Description, parameter_count
from voile.models.networks.images import CLASSES, IMAGES, Standard
from voile.models.networks.parameters import flatten, trained_parameters, unflatten
from voile.models.networks.state import copy_of
from voile.models.networks.threads import one_thread
from voile.models.setting_checks import is_count, is_number
from voile.privacy.clients.updates import ClientWork, noise_of_a_published_algorithm
from voile.privacy.queries import Block
from voile.privacy.wire import sendable

Floats = NDArray[np.float64]

COUNTED_BOUND = 2.0**17
"""Largest norm of rows x vector that is sent without a guarantee; a larger client counts less."""

_LARGEST_WEIGHT = 1e12
_LARGEST_BOUND = 1e9
_MOST_CAM_ROWS = 256
_PLACEMENTS = ("everywhere", "random", "gradcam")


@sendable
@dataclass(frozen=True, eq=False)
class LocalTraining:
    """Plain steps of gradient descent on a client's rows, from the weights that were released.

    Attributes
    ----------
    architecture : str
        A registered name.
    image_shape : tuple of int
        Channels, height, width.
    classes : int
    network_seed : int
        Of the network's buffers and frozen parameters.
    weights : ndarray of shape (parameters,)
        Released: where training begins.
    means, spreads : tuple of float
        Public: how pixels are standardised.
    bits : int
        Of the kept pixels: 8 or 16.
    epochs, batch : int
    learning_rate : float
    seed : int
        Public randomness: the order of rows, new in each round.
    gradient_clip : float or None
        Largest norm of a step's gradient (of the mean over its batch).
    """

    architecture: str
    image_shape: tuple[int, int, int]
    classes: int
    network_seed: int
    weights: Floats
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    bits: int
    epochs: int
    batch: int
    learning_rate: float
    seed: int
    gradient_clip: float | None = None

    def __post_init__(self) -> None:
        # All of it may come from a server that nobody trusts: no question keeps a client at work
        # for ever. The same limits as those of the settings.
        for name, high in (("epochs", 1000), ("batch", 2**20), ("seed", 2**64 - 1)):
            if not is_count(getattr(self, name), int(name != "seed"), high):
                raise SettingError(
                    f"The '{name}' of a client's training must be a whole number from "
                    f"{int(name != 'seed')} to {high}. Got {getattr(self, name)!r} instead."
                )
        _check_above_zero("learning_rate", self.learning_rate, 1e3)
        if self.gradient_clip is not None:
            _check_above_zero("gradient_clip", self.gradient_clip, 1e6)
        if self.standard.channels != self.description.image_shape[0]:
            raise SettingError(
                f"The 'means' and 'spreads' must be one per channel, {self.image_shape[0]} here. "
                f"Got {len(self.means)} instead."
            )
        count = parameter_count(self.description)
        weights = np.array(self.weights, dtype=np.float64)
        object.__setattr__(self, "weights", weights)
        if weights.shape != (count,):
            raise SettingError(
                f"The weights of {self.architecture!r} must have shape ({count},). Got "
                f"{weights.shape} instead."
            )
        # Written so that what is not a number is refused, too.
        if not np.abs(weights).max() < _LARGEST_WEIGHT:
            raise SettingError(
                f"The weights of a network must be smaller than {_LARGEST_WEIGHT:g}: take smaller "
                "steps, or less noise."
            )

    @property
    def description(self) -> Description:
        """The network without its weights."""
        return Description(self.architecture, self.image_shape, self.classes, self.network_seed)

    @property
    def standard(self) -> Standard:
        """How pixels become inputs."""
        return Standard(self.means, self.spreads, self.bits)

    def read(self, blocks: Sequence[Block]) -> tuple[torch.Tensor, torch.Tensor]:
        """All rows of a client with a class: inputs (rows, channels, h, w), and classes (rows,)."""
        images = np.concatenate([block.kept[IMAGES] for block in blocks])
        classes = np.concatenate([block.kept[CLASSES] for block in blocks]).astype(np.int64)
        usable = (classes >= 0) & (classes < self.classes)
        images, classes = images[usable], classes[usable]
        inputs = self.standard.inputs(images, self.image_shape, len(classes))
        return inputs, torch.from_numpy(classes)

    def train(self, inputs: torch.Tensor, classes: torch.Tensor) -> nn.Module:
        """A network as it was made, trained; its buffers stay as they began."""
        module = _new_module(self.description)
        unflatten(module, self.weights)
        parameters = trained_parameters(module)
        rng = np.random.default_rng(self.seed)
        for _ in range(self.epochs):
            order = torch.from_numpy(rng.permutation(len(classes)))
            for some in torch.split(order, self.batch):
                loss = cross_entropy(module(inputs[some]), classes[some])
                slopes = torch.autograd.grad(loss, parameters)
                rate = self.learning_rate
                if self.gradient_clip is not None:
                    length = float(torch.sqrt(sum(one.square().sum() for one in slopes)))  # type: ignore[arg-type]
                    rate *= min(1.0, self.gradient_clip / max(length, 1e-30))
                with torch.no_grad():
                    for parameter, slope in zip(parameters, slopes, strict=True):
                        parameter.sub_(slope, alpha=rate)
        return module


@sendable
@dataclass(frozen=True, eq=False)
class ClientUpdate(ClientWork):
    """How training moved the weights: new - old, shortened as a whole to ``bound``.

    Attributes
    ----------
    training : LocalTraining
    bound : float
    counted : bool
        Whether it is multiplied by the client's rows and sent with their number, so that the server
        can take the mean over rows (without a guarantee; a guarantee for clients gives all clients
        the same weight, and divides by their expected number).
    """

    training: LocalTraining
    bound: float
    counted: bool = False

    columns = ()

    def __post_init__(self) -> None:
        _check_above_zero("bound", self.bound, _LARGEST_BOUND)

    @property
    def size(self) -> int:
        """Parameters, and perhaps the number of rows."""
        return len(self.training.weights) + self.counted

    def run(self, blocks: Sequence[Block]) -> Floats:
        """The update, shape (size,); zeros of a client without rows."""
        with one_thread():
            inputs, classes = self.training.read(blocks)
            if not len(classes):
                return np.zeros(self.size)
            new = flatten(self.training.train(inputs, classes))
        # Against the same single precision that training began from.
        old = self.training.weights.astype(np.float32).astype(np.float64)
        return len(classes) * np.append(new - old, 1.0) if self.counted else new - old


@sendable
@dataclass(frozen=True, eq=False)
class PublishedUpload(ClientWork):
    """All weights after training with the noise of the published algorithm: no guarantee.

    Multiplied by the client's rows, and sent with their number.

    Attributes
    ----------
    training : LocalTraining
    scale : float
        Standard deviation of the noise for a single row; divided by the client's rows.
    placement : {"everywhere", "random", "gradcam"}
    noisy_share : float
        Part of the target layers' filters that are noised.
    shorten : bool
        Whether filters that noise made longer than the shortest kept one are shortened.
    """

    training: LocalTraining
    scale: float
    placement: str
    noisy_share: float
    shorten: bool = False

    columns = ()

    def __post_init__(self) -> None:
        _check_above_zero("scale", self.scale, _LARGEST_BOUND)
        _check_above_zero("noisy_share", self.noisy_share, 1.0)
        if self.placement not in _PLACEMENTS:
            raise SettingError(
                f"The 'placement' of published noise must be one of {', '.join(_PLACEMENTS)}. Got "
                f"{self.placement!r} instead."
            )

    @property
    def bound(self) -> float:
        """Far beyond what the noise reaches."""
        return COUNTED_BOUND + 8.0 * self.scale * math.sqrt(self.size)

    @property
    def size(self) -> int:
        """Parameters and the number of rows."""
        return len(self.training.weights) + 1

    def run(self, blocks: Sequence[Block]) -> Floats:
        """Shape (size,); zeros of a client without rows."""
        with one_thread():
            inputs, classes = self.training.read(blocks)
            if not len(classes):
                return np.zeros(self.size)
            module = self.training.train(inputs, classes)
            new = flatten(module)
            filters, noised = self._choose(module, inputs, classes)
        noise = noise_of_a_published_algorithm(len(new), self.scale / len(classes))
        placed = place(new, noise, filters, noised, shorten=self.shorten)
        return len(classes) * np.append(placed, 1.0)

    def _choose(
        self, module: nn.Module, inputs: torch.Tensor, classes: torch.Tensor
    ) -> tuple[tuple[Filters, ...], list[NDArray[np.bool_]]]:
        """Which filters of which layers are noised."""
        if self.placement == "everywhere":
            return (), []
        filters = target_layers(module)
        weights: list[Any]
        if self.placement == "gradcam":
            some = slice(_MOST_CAM_ROWS)
            weights = grad_cam_weights(module, filters, inputs[some], classes[some])
        else:
            weights = [noise_of_a_published_algorithm(one.channels, 1.0) for one in filters]
        return filters, [least_important(one, self.noisy_share) for one in weights]


_LOCAL = threading.local()
_MOST_MODULES = 4


def _new_module(description: Description) -> nn.Module:
    """A copy of this thread's network, which is never run itself; building takes far longer.

    Clients may share a process: what a pass leaves in a network must not reach another client.
    """
    known: dict[Description, nn.Module] = _LOCAL.__dict__.setdefault("modules", {})
    found = known.pop(description, None)
    if found is None:
        found = description.build()
    known[description] = found  # the last used stands last
    while len(known) > _MOST_MODULES:
        del known[next(iter(known))]
    return copy_of(found, description.architecture)


def _check_above_zero(name: str, value: object, high: float) -> None:
    # Written so that what is not a number is refused, too.
    if not (is_number(value) and 0.0 < value <= high):
        raise SettingError(
            f"The '{name}' of a client's work must be > 0 and <= {high:g}. Got {value!r} instead."
        )
