"""Whether a network remembers: gradients of public images, alone and after very different ones.

What a row adds to a sum must depend on that row alone, and a network is somebody's code. It is
tried in the mode and by the very way in which rows are differentiated, on images that are made up
from sines, before any row is looked at. What such a check can show and what it cannot:
docs/proofs/network.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from voile.errors import SettingError
from voile.models.networks.clipping import PerExample, Pull, cross_entropy_pull
from voile.models.networks.parameters import flatten, trained_parameters, unflatten
from voile.models.networks.state import Snapshot, copy_of, refuse_shared
from voile.models.networks.threads import one_thread

CALLS = 48
"""Passes over other images between the first and the last access to an image."""

_EVERY = 12
"""Of so many passes one goes backward, too, and images are compared after twice as many."""

_STATELESS = (
    "Let 'forward' depend on its images and weights alone: keep nothing between calls, in the "
    "network or elsewhere, and draw nothing at random in evaluation mode."
)


@dataclass(frozen=True, eq=False)
class Probe:
    """A network to be tried, as it was made, and what it is tried on.

    Attributes
    ----------
    module : nn.Module
        In evaluation mode; only copies of it are run.
    name : str
        Of the architecture, for errors.
    image_shape : tuple of int
        Channels, height, width.
    classes : int
    """

    module: nn.Module
    name: str
    image_shape: tuple[int, int, int]
    classes: int
    images: list[torch.Tensor] = field(init=False)
    others: list[torch.Tensor] = field(init=False)
    weights: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        waves = [_wave(self.image_shape, turn) for turn in range(6)]
        one, constant = waves[5], torch.ones(self.image_shape)
        others = [
            *(waves[2], 1e4 * one, 1e-4 * one, -3.0 * waves[3], 0.0 * one, 255.0 * one.abs()),
            *(torch.inf * constant, one.sign(), torch.nan * constant, -torch.inf * constant),
            *(1e30 * waves[4], constant, -constant, 1e-30 * one, one.roll(1, -1), 7.0 * waves[3]),
        ]
        object.__setattr__(self, "images", waves[:2])
        object.__setattr__(self, "others", others)
        # A beginning may have many zeros, behind which a memory would hide.
        start = flatten(self.module)
        object.__setattr__(self, "weights", start + 0.05 * np.sin(1.7 * np.arange(len(start))))

    def refuse_memory(self) -> None:
        """Refuse a network that carries something from one pass to the next (SettingError)."""
        with one_thread():
            drawn = torch.default_generator.get_state()
            try:
                self._compare()
            except SettingError:
                raise
            except Exception as error:
                raise SettingError(
                    f"The network {self.name!r} fails on some images ({type(error).__name__}: "
                    f"{error}): whether it fails would tell of private rows. Let it give scores "
                    "for images of any numbers, also for ones that are infinite or no numbers."
                ) from error
            if not torch.equal(drawn, torch.default_generator.get_state()):
                raise SettingError(
                    f"The network {self.name!r} draws random numbers in evaluation mode (such as "
                    "functional.dropout without training=self.training): a row's gradient would "
                    f"depend on the rows before it. {_STATELESS}"
                )

    def _compare(self) -> None:
        refuse_shared(self.module, copy_of(self.module, self.name), self.name)
        way = PerExample(copy_of(self.module, self.name), self.image_shape).way
        first, second = _Copy(self, way), _Copy(self, way)
        alone = [first.bits(0), second.bits(1)]
        first.refuse_change()
        # Each after the other one, in both orders.
        self._refuse_difference(alone[1], first.bits(1))
        self._refuse_difference(alone[0], second.bits(0))
        quick = first.quick()
        later = _Copy(self, way)
        for call in range(CALLS):
            later.disturb(self.others[call % len(self.others)], call)
            if call % (2 * _EVERY) == 2 * _EVERY - 1:
                later.refuse_change()
                for which in (1, 0):
                    self._refuse_difference(alone[which], later.bits(which))
        self._refuse_difference(quick, later.quick())
        later.refuse_change()
        # What lies outside of the network reaches a new copy, too.
        self._refuse_difference(alone[0], _Copy(self, way).bits(0))

    def _refuse_difference(self, one: list[torch.Tensor], other: list[torch.Tensor]) -> None:
        if not all(map(torch.equal, one, other)):
            raise SettingError(
                f"What the network {self.name!r} makes of an image depends on other images that it "
                "saw before, or is random: a row could move the sum by more than its bound. "
                f"{_STATELESS}"
            )


class _Copy:
    """A copy of the network, a little away from its beginning, and what it held before a pass."""

    def __init__(self, probe: Probe, way: str) -> None:
        self._probe = probe
        module = copy_of(probe.module, probe.name)
        self._given = unflatten(module, probe.weights)
        self._per_example = PerExample(module, probe.image_shape, way)
        self._snapshot = Snapshot(module, probe.name, trained_parameters(module))

    def bits(self, which: int) -> list[torch.Tensor]:
        """Scores and gradients of an image, as whole numbers that are equal if all bits are."""
        image = self._probe.images[which]
        with torch.no_grad():
            scores = self._per_example.module(image.unsqueeze(0))
        found = self._per_example.gradients(self._filled(image), self._pull(which))
        return [_whole(scores), *(_whole(part[:1]) for part in found)]

    def quick(self) -> list[torch.Tensor]:
        """The same of the quick sums that are never noised."""
        image = self._filled(self._probe.images[0])
        sums, norms = self._per_example.clipped_sum(image, self._pull(0), 1.0)
        return [_whole(norms), *map(_whole, sums)]

    def disturb(self, image: torch.Tensor, call: int) -> None:
        """A pass over another image: now and then backward, else with or without a graph."""
        if call % _EVERY == _EVERY - 1:
            self._per_example.gradients(self._filled(image), self._pull(0))
            return
        with torch.set_grad_enabled(call % 2 == 0):
            self._per_example.module(image.unsqueeze(0))

    def refuse_change(self) -> None:
        """Refuse what a pass has changed in the network (SettingError)."""
        found, module = self._snapshot.change(), self._per_example.module
        if found is None:
            for parameter, given in zip(trained_parameters(module), self._given, strict=True):
                if not torch.equal(parameter, given):
                    names = {id(one): path for path, one in module.named_parameters()}
                    found = names[id(parameter)]
        if found is None:
            return
        kind = "buffer" if found in dict(module.named_buffers()) else "attribute"
        raise SettingError(
            f"The {kind} {found!r} of {self._probe.name!r} changes when images pass through it: it "
            f"would carry one private row into the gradients of others. {_STATELESS}"
        )

    def _filled(self, image: torch.Tensor) -> torch.Tensor:
        """As rows are: beside filling."""
        return torch.stack([image, torch.zeros_like(image)])

    def _pull(self, which: int) -> Pull:
        own = which % self._probe.classes
        return cross_entropy_pull(torch.tensor([own, -1]))


def _wave(image_shape: tuple[int, int, int], turn: int) -> torch.Tensor:
    """An image of no mean, spread or symmetry that a network could begin with."""
    places = np.arange(int(np.prod(image_shape)))
    values = 1.3 * np.sin((1.1 + 0.37 * turn) * places + turn) + 0.2 * turn - 0.3
    return torch.from_numpy(values.astype(np.float32)).reshape(image_shape)


def _whole(values: torch.Tensor) -> torch.Tensor:
    return values.detach().contiguous().view(torch.uint8).clone()
