"""Networks that are built and checked once per thread, and how many rows they keep apart.

A row's gradient must not depend on its neighbours, to the bit: docs/proofs/network.md.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from voile.federated.networks.architectures import Description, flatten, unflatten
from voile.federated.networks.clipping import PerExample, cross_entropy_pull

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

CHUNK_ROWS = 32
"""Rows that are worked on at once: few enough for the processor's cache, and for small clients."""

_CHUNK_NUMBERS = 32 * 1024 * 1024
"""Most numbers of gradients in a chunk (128 MB)."""


class Workshop:
    """A network with its weights, ready to differentiate rows.

    Parameters
    ----------
    description : Description
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        self.module = description.build()
        self.per_example = PerExample(self.module, description.image_shape)
        self._loaded: Floats | None = None

    def load(self, weights: Floats) -> None:
        """Take weights of shape (parameters,); the same array is not loaded twice."""
        if self._loaded is not weights:
            unflatten(self.module, weights)
            self._loaded = weights

    @property
    def rows_at_once(self) -> int:
        """Rows in a chunk: a constant of the network and this machine."""
        with _CHECKING:
            if self.description not in _ROWS_AT_ONCE:
                _ROWS_AT_ONCE[self.description] = self._find_rows()
        return _ROWS_AT_ONCE[self.description]

    def _find_rows(self) -> int:
        """The largest size of chunks up to 32 at which rows are kept apart."""
        numbers = sum(parameter.numel() for parameter in self.per_example.parameters)
        rows = max(min(CHUNK_ROWS, _CHUNK_NUMBERS // numbers), 1)
        apart = rows == 1 or check_rows_apart(Workshop(self.description), rows)
        return rows if apart else 1

    def gradients(self, inputs: torch.Tensor, classes: NDArray[np.integer[Any]]) -> list[Singles]:
        """Gradients of the first rows, one array of shape (rows, numbers) per parameter.

        Parameters
        ----------
        inputs : tensor of shape (chunk, channels, height, width)
        classes : ndarray of shape (rows,)
            Rows beyond them are filling.
        """
        own = torch.full((len(inputs),), -1, dtype=torch.int64)
        own[: len(classes)] = torch.from_numpy(np.ascontiguousarray(classes, dtype=np.int64))
        found = self.per_example.gradients(inputs, cross_entropy_pull(own))
        return [part.numpy()[: len(classes)] for part in found]


def check_rows_apart(workshop: Workshop, rows: int) -> bool:
    """Whether no bit of a row's gradient depends on its place or its neighbours in a chunk.

    Public images alone: all in their places, each in the next place, half a chunk further, and
    every second one among black images and infinite ones.
    """
    description = workshop.description
    chance = np.random.default_rng(description.seed)
    start = flatten(description.build())
    # A little away from a beginning that may have many zeros.
    workshop.load(start + 0.05 * chance.normal(size=len(start)))
    shape = (rows, *description.image_shape)
    images = chance.normal(size=shape).astype(np.float32)
    classes = chance.integers(0, description.classes, rows)

    def bits(which: NDArray[np.float32], own: NDArray[np.int64]) -> list[NDArray[np.uint32]]:
        with one_thread():
            found = workshop.gradients(torch.from_numpy(np.array(which)), own)
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
_MOST_WORKSHOPS = 8


def workshop_of(description: Description) -> Workshop:
    """The calling thread's own network of a description, built when first asked for."""
    known: dict[Description, Workshop] = _LOCAL.__dict__.setdefault("workshops", {})
    found = known.pop(description, None)
    if found is None:
        found = Workshop(description)
    known[description] = found  # the last used stands last
    while len(known) > _MOST_WORKSHOPS:
        del known[next(iter(known))]
    return found


class _Threads:
    """How many are at work with one thread, and what to go back to after the last."""

    count = 0
    before = 1
    lock = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work with one thread, so that the number of cores changes no bit of a sum."""
    with _Threads.lock:
        current = torch.get_num_threads()
        if _Threads.count == 0:
            _Threads.before = current
        _Threads.count += 1
        if current != 1:
            torch.set_num_threads(1)
    try:
        yield
    finally:
        with _Threads.lock:
            _Threads.count -= 1
            if _Threads.count == 0 and _Threads.before != 1:
                torch.set_num_threads(_Threads.before)
