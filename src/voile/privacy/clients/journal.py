"""The server's journal: what was paid and released, so that a job goes on after a restart.

It holds released values alone. Training is a function of them and of public randomness, so
repeating it from the journal leads to where it stopped, without a second access and without a
second payment.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import finalize

from voile.errors import DataError, FederationError
from voile.files import hold_file
from voile.privacy.wire import Packer, Unpacker

_FRAME = struct.Struct("<Q8s")


def _hold(path: Path) -> Callable[[], None]:
    """For this process alone: two servers would release one sum with two noises."""
    try:
        held = hold_file(path)
    except OSError as error:
        raise FederationError(
            f"The journal {path} cannot be opened ({error.strerror}): give another path."
        ) from error
    if held is None:
        raise FederationError(
            f"Another server works with the journal {path}: wait for it, or give another path."
        )
    return held


class Journal:
    """Lines that are on disk before anybody acts on them; without a path, nowhere.

    Parameters
    ----------
    path : path or None
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._packer = Packer()
        self.lines: list[dict[str, Any]] = []
        self._let_go: Callable[[], object] | None = None
        if self._path is not None:
            # Let go of when nobody has the journal any more, whatever happened.
            self._let_go = finalize(self, _hold(self._path))
            try:
                self._read(self._path)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Let others go on with it."""
        if self._let_go is not None:
            self._let_go()

    def _read(self, path: Path) -> None:
        data = path.read_bytes()
        place, unpacker = 0, Unpacker()
        while place + _FRAME.size <= len(data):
            length, check = _FRAME.unpack_from(data, place)
            body = data[place + _FRAME.size : place + _FRAME.size + length]
            if len(body) < length:
                break
            if hashlib.sha256(body).digest()[:8] != check:
                raise FederationError(
                    f"The journal {path} is damaged: restore it, or begin the job anew (its "
                    "accesses are paid again)."
                )
            try:
                self.lines.append(unpacker.unpack(body))
            except DataError as error:
                raise FederationError(f"The journal {path} cannot be read: {error}") from error
            place += _FRAME.size + length
        if place < len(data):
            # The last line was cut by a crash: nobody acted on it.
            with path.open("r+b") as file:
                file.truncate(place)

    def write(self, line: dict[str, Any]) -> None:
        """Add a line, durably."""
        if self._path is None:
            return
        body = self._packer.pack(line).body
        frame = _FRAME.pack(len(body), hashlib.sha256(body).digest()[:8])
        start = self._path.stat().st_size if self._path.exists() else 0
        try:
            with self._path.open("ab") as file:
                file.write(frame + body)
                file.flush()
                os.fsync(file.fileno())
            self.lines.append(line)
        except OSError as error:
            # By name: the file object still holds what it could not write.
            with contextlib.suppress(OSError):
                os.truncate(self._path, start)
            raise FederationError(
                f"The journal {self._path} cannot be written ({error.strerror}): nothing was "
                "released. Make room, or give another path."
            ) from error
