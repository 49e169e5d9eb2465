"""Waiting for a turn at a SQLite file without disturbing the one whose turn it is.

Only an aid to speed. SQLite's own locks keep spenders apart, but many who wait inside SQLite hold
up the commit of the one who works, and back off so far that some starve: sixteen processes spend
about half as fast. So they wait outside, for an advisory lock on the folder: it needs no file
of its own and vanishes with its process. Where there is no such lock, SQLite's waiting is used.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":  # pragma: no branch (Windows has no such lock)
    import fcntl

_POLL_SECONDS = 0.002


@contextmanager
def turn(folder: Path, patience: float) -> Iterator[None]:
    """Wait until no other spender is at work in this folder, at most ``patience`` seconds."""
    handle = None
    with suppress(OSError):
        handle = _take(folder, patience)
    try:
        yield
    finally:
        if handle is not None and sys.platform != "win32":
            # Unlocked by name: a process forked meanwhile holds the folder open as well.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _take(folder: Path, patience: float) -> int | None:
    if sys.platform == "win32":  # pragma: no cover (Windows has no such lock)
        return None
    handle = os.open(folder, os.O_RDONLY)
    give_up = time.monotonic() + patience
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            if time.monotonic() > give_up:
                break
            time.sleep(_POLL_SECONDS)
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None
