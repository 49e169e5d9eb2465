"""Networks that are built and checked once per thread, and how many rows they keep apart.

A row's gradient must not depend on its neighbours, to the bit, nor on what rows before it left in
the network: docs/proofs/network.md.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from voile.models.networks.architectures import Description
from voile.models.networks.clipping import PerExample, Pull, cross_entropy_pull
from voile.models.networks.parameters import flatten, trained_parameters, unflatten
from voile.models.networks.sizes import activations
from voile.models.networks.state import Snapshot, copy_of
from voile.models.networks.threads import one_thread

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

CHUNK_ROWS = 32
"""Rows that are worked on at once: few enough for the processor's cache, and for small clients."""

_CHUNK_NUMBERS = 32 * 1024 * 1024
"""Most numbers of gradients in a chunk (128 MB)."""


_CHUNK_ACTIVATIONS = 2**28
"""Most numbers that layers make of the rows of a chunk (1 GB)."""


class PerExampleEngine:
    """A network with its weights, ready to differentiate rows.

    Rows are worked on in a copy of the network as it was made. After each chunk all that the copy
    holds is compared with what it held before; if a pass has left something, the copy is thrown
    away. So every chunk begins with a network as it was made.

    Parameters
    ----------
    description : Description
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        self._made = description.build()  # never run
        self._way = PerExample(self._copy(), description.image_shape).way
        self._weights: Floats | None = None
        self._renew()

    def _copy(self) -> nn.Module:
        return copy_of(self._made, self.description.architecture)

    def _renew(self) -> None:
        """Take a new copy, with the weights that are loaded."""
        self.module = self._copy()
        self.per_example = PerExample(self.module, self.description.image_shape, self._way)
        self._parameters = trained_parameters(self.module)
        self._snapshot = Snapshot(self.module, self.description.architecture, self._parameters)
        self._as_made = True
        if self._weights is not None:
            self._given = unflatten(self.module, self._weights)

    def load(self, weights: Floats) -> None:
        """Take weights of shape (parameters,); the same array is not loaded twice."""
        if not self._as_made:
            self._renew()
        if self._weights is not weights:
            self._given = unflatten(self.module, weights)
            self._weights = weights

    @property
    def rows_at_once(self) -> int:
        """Rows in a chunk: a constant of the network and this machine."""
        with _CHECKING:
            if self.description not in _ROWS_AT_ONCE:
                _ROWS_AT_ONCE[self.description] = self._find_rows()
        return _ROWS_AT_ONCE[self.description]

    def _find_rows(self) -> int:
        """The largest size of chunks up to 32 at which rows are kept apart."""
        if self._way == "one by one":
            # Nothing is gained by more, and each begins with the network as it was made.
            return 1
        numbers = sum(parameter.numel() for parameter in self._parameters)
        made = max(activations(self._copy(), self.description.image_shape), 1)
        rows = min(CHUNK_ROWS, _CHUNK_NUMBERS // numbers, _CHUNK_ACTIVATIONS // made)
        if rows > 1 and check_rows_apart(PerExampleEngine(self.description), rows):
            return rows
        return 1

    def gradients(self, inputs: torch.Tensor, classes: NDArray[np.integer[Any]]) -> list[Singles]:
        """Gradients of the first rows, one array of shape (rows, numbers) per parameter.

        Of a network that changes by what it sees, although public images did not show it, rows are
        differentiated one by one, each in a new copy, beside filling alone. Nobody is told: whether
        a row changes a network is a fact about that row.

        Parameters
        ----------
        inputs : tensor of shape (chunk, channels, height, width)
        classes : ndarray of shape (rows,)
            Rows beyond them are filling.
        """
        found = self._differentiate(inputs, classes)
        if self._as_made or len(classes) == 1:
            return found
        rows = []
        for place in range(len(classes)):
            self._renew()
            alone = torch.zeros_like(inputs)
            alone[0] = inputs[place]
            rows.append(self._differentiate(alone, classes[place : place + 1]))
        return [np.concatenate(parts) for parts in zip(*rows, strict=True)]

    def _differentiate(
        self, inputs: torch.Tensor, classes: NDArray[np.integer[Any]]
    ) -> list[Singles]:
        own = torch.full((len(inputs),), -1, dtype=torch.int64)
        own[: len(classes)] = torch.from_numpy(np.ascontiguousarray(classes, dtype=np.int64))
        self._begin()
        found = self.per_example.gradients(inputs, cross_entropy_pull(own))
        result = [part.numpy()[: len(classes)] for part in found]
        self._end()
        return result

    def clipped_sum(self, inputs: torch.Tensor, pull: Pull, clip: float) -> torch.Tensor:
        """Sum of the clipped gradients in floating point, shape (parameters,); never noised."""
        self._begin()
        sums, _ = self.per_example.clipped_sum(inputs, pull, clip)
        self._end()
        return torch.cat(sums)

    def _begin(self) -> None:
        """Begin with the network as it was made."""
        if not self._as_made:
            self._renew()
        # Until the end is reached: an interrupted pass may have left something.
        self._as_made = False

    def _end(self) -> None:
        """See whether the pass has left something; what cannot be compared any more has changed."""
        with suppress(Exception):
            kept = all(map(torch.equal, self._parameters, self._given))
            self._as_made = kept and self._snapshot.change() is None


def check_rows_apart(engine: PerExampleEngine, rows: int) -> bool:
    """Whether no bit of a row's gradient depends on its place or its neighbours in a chunk.

    Public images alone: all in their places, each in the next place, half a chunk further, and
    every second one among black images and infinite ones.
    """
    description = engine.description
    rng = np.random.default_rng(description.seed)
    start = flatten(description.build())
    # A little away from a beginning that may have many zeros.
    engine.load(start + 0.05 * rng.normal(size=len(start)))
    shape = (rows, *description.image_shape)
    images = rng.normal(size=shape).astype(np.float32)
    classes = rng.integers(0, description.classes, rows)

    def bits(which: NDArray[np.float32], own: NDArray[np.int64]) -> list[NDArray[np.uint32]]:
        with one_thread():
            found = engine.gradients(torch.from_numpy(np.array(which)), own)
        return [np.ascontiguousarray(part).view(np.uint32) for part in found]

    first = bits(images, classes)
    for places in (1, max(rows // 2, 1)):
        moved = bits(np.roll(images, places, axis=0), np.roll(classes, places))
        if any((np.roll(a, places, axis=0) != b).any() for a, b in zip(first, moved, strict=True)):
            return False
    for filling, kept in ((0.0, 0), (np.inf, 1)):
        others = np.arange(rows) % 2 != kept
        changed, labels = np.array(images), np.array(classes)
        changed[others], labels[others] = filling, -1
        beside = bits(changed, labels)
        if any((a[~others] != b[~others]).any() for a, b in zip(first, beside, strict=True)):
            return False
    return True


_ROWS_AT_ONCE: dict[Description, int] = {}
_CHECKING = threading.RLock()
_LOCAL = threading.local()
_MOST_ENGINES = 8


def engine_of(description: Description) -> PerExampleEngine:
    """The calling thread's own network of a description, built when first asked for."""
    known: dict[Description, PerExampleEngine] = _LOCAL.__dict__.setdefault("engines", {})
    found = known.pop(description, None)
    if found is None:
        found = PerExampleEngine(description)
    known[description] = found  # the last used stands last
    while len(known) > _MOST_ENGINES:
        del known[next(iter(known))]
    return found
