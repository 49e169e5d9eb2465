"""Noise that is the same in every run of a test, though the library takes it for real.

`fixed_noise` would change what receipts say. Here the entropy of the operating system is replaced,
in the one module that asks for it: keys follow from the name of the test (or of the fixture that
draws, if several tests share it) and from how many were asked for before. What is right by luck in
one run is right by the same luck in all, so a test that fails has been broken by a change. A forked
process draws real entropy, as do all others.
"""

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager


class RepeatableEntropy:
    """Stands for the module `os` in `voile.privacy.noise`."""

    def __init__(self, place: str = "") -> None:
        self._process = os.getpid()
        self._places: list[tuple[str, Iterator[int]]] = []
        if place:
            self._places.append((place, itertools.count()))

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Keys of a place, counted from its beginning."""
        self._places.append((place, itertools.count()))
        try:
            yield
        finally:
            self._places.pop()

    def urandom(self, size: int) -> bytes:
        """Bytes that follow from the place and the number of calls."""
        if not self._places or os.getpid() != self._process:
            return os.urandom(size)
        place, counter = self._places[-1]
        return hashlib.shake_256(f"{place} {next(counter)}".encode()).digest(size)


def begin(place: str) -> None:
    """Replace the entropy for the rest of a process: a page of the documentation, run by itself."""
    from voile.privacy import noise

    noise.os = RepeatableEntropy(place)  # type: ignore[assignment]
