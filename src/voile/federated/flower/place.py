"""A private folder for sockets and locks, and one process at most that holds a client agent."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from voile.errors import SettingError

if TYPE_CHECKING:
    from flwr.app import Context

_held: dict[tuple[int, int], IO[bytes]] = {}
"""Locks of this process, by run and node; the system lets go of them when the process ends."""


def private_folder() -> Path:
    """The folder that only this user may enter, made if need be."""
    folder = Path(tempfile.gettempdir()) / f"voile-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise SettingError(
            f"Others may enter {folder}, where agents have their sockets: remove it, or set TMPDIR."
        )
    return folder


def hold_place(context: Context) -> None:
    """Make sure that no other process has a agent for this run and node."""
    key = (context.run_id, context.node_id)
    try:
        import fcntl
    except ImportError:  # a system without such locks: nothing can be checked
        return
    if key in _held:
        return
    lock = (private_folder() / f"{context.run_id:x}-{context.node_id:x}.lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise SettingError(
            "This client agent is open in another process, and one works for it at a time. On a "
            "SuperNode end the earlier process; in a simulation let one process serve all clients "
            "(--federation-config 'client-resources-num-cpus=<all CPUs>'), or set agent='resident'."
        ) from None
    _held[key] = lock
