"""The server's journal: what was paid and released, so that a job goes on after a restart.

It holds released values alone. Training is a function of them and of public chance, so repeating it
from the journal leads to where it stopped, without a second look and without a second payment.
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import Any

from voile.errors import DataError, FederationError
from voile.privacy.wire import Packer, Unpacker

_FRAME = struct.Struct("<Q8s")


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
        if self._path is not None and self._path.exists():
            self._read(self._path)

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
                    f"The journal {path} is damaged: restore it, or begin the job anew (its looks "
                    "are paid again)."
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
        self.lines.append(line)
        body = self._packer.pack(line).body
        frame = _FRAME.pack(len(body), hashlib.sha256(body).digest()[:8])
        try:
            with self._path.open("ab") as file:
                start = file.tell()
                try:
                    file.write(frame + body)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(start)
                    raise
        except OSError as error:
            raise FederationError(
                f"The journal {self._path} cannot be written ({error.strerror}): nothing was "
                "released. Make room, or give another path."
            ) from error
