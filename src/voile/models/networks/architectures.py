"""Networks by name: a name and a few numbers say what is built, on every side of a wire.

A factory makes a torch module for an image shape and a number of classes. Own ones are registered
under the same name wherever rows lie. What may not be trained privately is refused when it is
built: docs/proofs/network.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from voile.errors import SettingError
from voile.models.networks.included import make_cnn, make_resnet8, make_resnet18
from voile.models.networks.parameters import flatten, trained_parameters
from voile.models.networks.probes import Probe
from voile.models.networks.sizes import (
    activations,
    check_activations,
    check_image,
    check_parameters,
    check_size_first,
)
from voile.models.networks.state import copy_of, same
from voile.models.networks.threads import one_thread

Floats = NDArray[np.float64]
ImageShape = tuple[int, int, int]
"""Channels, height, width."""

Factory = Callable[[ImageShape, int], nn.Module]

LARGEST_SEED = 2**63 - 1

_FACTORIES: dict[str, Factory] = {
    "cnn": make_cnn,
    "resnet8": make_resnet8,
    "resnet18": make_resnet18,
}

# torch's default generator belongs to the whole process: one network is begun at a time.
_BUILDING = threading.RLock()


def register(name: str, factory: Factory) -> None:
    """Make a network known under a name.

    Parameters
    ----------
    name : str
    factory : callable
        ``factory((channels, height, width), classes)`` gives a `torch.nn.Module` that maps images
        of shape (rows, channels, height, width) to scores of shape (rows, classes). It must begin
        at random from torch's default generator only, so that a seed decides everything.

    Raises
    ------
    SettingError
        If the name is taken by another factory.
    """
    if not isinstance(name, str) or not name or not callable(factory):
        raise SettingError("An architecture needs a name and a factory that can be called.")
    if _FACTORIES.setdefault(name, factory) is not factory:
        raise SettingError(f"There is another architecture {name!r}: choose another name.")


def names() -> tuple[str, ...]:
    """All names that are known here."""
    return tuple(_FACTORIES)


@dataclass(frozen=True)
class Description:
    """What is needed to build a network, but for its weights.

    Attributes
    ----------
    architecture : str
    image_shape : tuple of int
        Channels, height, width.
    classes : int
    seed : int
        Public randomness: of the initial weights, and of buffers and frozen parameters for good.
    """

    architecture: str
    image_shape: ImageShape
    classes: int
    seed: int = 0
    _factory: Factory = field(init=False, repr=False, compare=True)

    def __post_init__(self) -> None:
        name = self.architecture
        factory = _FACTORIES.get(name) if isinstance(name, str) else None
        if factory is None:
            raise SettingError(
                f"There is no architecture {self.architecture!r}: use one of "
                f"{', '.join(map(repr, _FACTORIES))}, or register it with "
                "voile.models.networks.architectures.register."
            )
        object.__setattr__(self, "_factory", factory)
        shape = self.image_shape
        whole = isinstance(shape, tuple) and all(type(one) is int for one in shape)
        if not whole or len(shape) != 3 or not all(1 <= one <= 4096 for one in shape):
            raise SettingError(
                "The image shape of a network must be (channels, height, width), each from 1 to "
                f"4096. Got {shape!r} instead."
            )
        check_image(shape)
        if type(self.classes) is not int or not 2 <= self.classes <= 10_000:
            raise SettingError(
                f"A network needs from 2 to 10,000 classes. Got {self.classes!r} instead."
            )
        if type(self.seed) is not int or not 0 <= self.seed <= LARGEST_SEED:
            raise SettingError(
                f"The seed of a network must be a whole number from 0 to {LARGEST_SEED}. Got "
                f"{self.seed!r} instead."
            )

    def build(self) -> nn.Module:
        """A new network as it begins, checked, in evaluation mode (no dropout).

        Raises
        ------
        SettingError
            If it cannot be trained privately, or does not fit images and classes.
        """
        with _BUILDING, torch.random.fork_rng(devices=[]):
            if self not in _CHECKED:
                with one_thread():
                    self._check()
                _CHECKED.add(self)
            return self._make()

    def _make(self) -> nn.Module:
        torch.random.manual_seed(self.seed)
        module = self._factory(self.image_shape, self.classes)
        if not isinstance(module, nn.Module):
            raise SettingError(f"The factory of {self.architecture!r} made no torch.nn.Module.")
        # Single precision everywhere, whatever a factory or torch's default type made.
        return module.to(torch.float32).eval()

    def _check(self) -> None:
        """By public facts alone: what is too large is not even made."""
        name = self.architecture
        check_size_first(self._factory, name, self.image_shape, self.classes)
        module, again = self._make(), self._make()
        refuse_statistics(module, name)
        own = {id(parameter) for parameter in trained_parameters(module)}
        tensors = [*module.parameters(), *module.buffers()]
        if own & set(map(id, again.parameters())) or any(
            one.device.type != "cpu" for one in tensors
        ):
            raise SettingError(
                f"The factory of {name!r} must make a new network each time that it is called, in "
                "the processor's memory: make its layers inside of the factory."
            )
        check_parameters(module, name)
        self._check_training_mode(again)
        try:
            count = activations(copy_of(module, name), self.image_shape)
        except SettingError:
            raise
        except Exception as error:
            raise self._cannot_read(error) from error
        check_activations(count, name, self.image_shape)
        Probe(module, name, self.image_shape, self.classes).refuse_memory()

    def _check_training_mode(self, module: nn.Module) -> None:
        """Scores of the right shape, and buffers that stay as they are."""
        before = {name: buffer.clone() for name, buffer in module.named_buffers()}
        # Of no mean, spread or sum that a statistic could begin with.
        images = torch.linspace(-0.9, 1.7, 2 * int(np.prod(self.image_shape)))
        try:
            with torch.no_grad():
                scores = module.train()(images.reshape(2, *self.image_shape))
        except Exception as error:
            raise self._cannot_read(error) from error
        if not isinstance(scores, torch.Tensor) or scores.shape != (2, self.classes):
            raise SettingError(
                f"The architecture {self.architecture!r} must give scores of shape (rows, "
                f"{self.classes})."
            )
        for name, buffer in module.named_buffers():
            if name not in before or not same(before[name], buffer):
                raise SettingError(
                    f"The buffer {name!r} of {self.architecture!r} changes in training: it would "
                    "carry statistics of private rows out without noise. Use GroupNorm, or keep "
                    "buffers as they begin."
                )

    def _cannot_read(self, error: Exception) -> SettingError:
        return SettingError(
            f"The architecture {self.architecture!r} cannot read images of shape "
            f"{self.image_shape} (channels, height, width): {error}"
        )


_CHECKED: set[Description] = set()


_MIXING = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


def refuse_statistics(module: nn.Module, name: str) -> None:
    """Refuse layers that keep running statistics of the rows (SettingError)."""
    for path, one in module.named_modules():
        keeps = getattr(one, "track_running_stats", False)
        if isinstance(one, _MIXING) or keeps:
            raise SettingError(
                f"The layer {path or type(one).__name__!r} of {name!r} is a "
                f"{type(one).__name__}, which mixes the rows of a batch and keeps running "
                "statistics of them: a release without noise. Use GroupNorm instead."
            )


@lru_cache(maxsize=32)
def parameter_count(description: Description) -> int:
    """Number of trained parameters."""
    return sum(parameter.numel() for parameter in trained_parameters(description.build()))


def initial_weights(description: Description) -> Floats:
    """Weights as the seed makes them, shape (parameters,)."""
    return flatten(description.build())
