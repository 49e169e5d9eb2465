"""The secret key under which answers are kept: in a file of its own, never in the ledger.

Whoever reads the ledger (a copy in a mail, a backup, an auditor) then sees neither what was asked
nor what was answered, and cannot try out rows that it might have been. The file can be read by the
account that made it alone. Whoever has both, the ledger and the key, can try rows out.
"""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

from cryptography.fernet import Fernet

from voile.errors import LedgerMismatch, LedgerUnavailable, SettingError
from voile.privacy.ledger.ledger import Ledger

KEY_BYTES = 32
SUFFIX = ".answers.key"
"""What the key's file is called beside the file of a ledger: ``hospital.db.answers.key``."""

_SQLITE = "sqlite:///"

# A ledger in memory has its key there, too.
_IN_MEMORY: WeakKeyDictionary[Ledger, bytes] = WeakKeyDictionary()


def open_key(ledger: Ledger, where: str | Path | None = None, *, make: bool) -> bytes:
    """Read the key of a ledger's answers, or make one.

    Parameters
    ----------
    ledger : Ledger
    where : str or path, optional
        The key's file. By default it lies beside the ledger's; a ledger in memory needs none, and
        one in PostgreSQL has no place beside it, so that the file must be named.
    make : bool
        Whether to make one where there is none. Nothing must have been kept under it before.

    Raises
    ------
    LedgerMismatch
        If there should be a key and is none, or the file holds something else.
    LedgerUnavailable
        If the file cannot be read or written.
    SettingError
        If the file must be named.
    """
    path = None if where is None else Path(where).expanduser()
    if path is None:
        url = ledger._book.url
        if url is None:
            return _IN_MEMORY.setdefault(ledger, _read(Fernet.generate_key()))
        if not url.startswith(_SQLITE):
            raise SettingError(
                "Answers of a ledger in PostgreSQL are kept under a key that must not lie in the "
                "database: give key='FILE', a file that all who ask share (it is made if it is "
                "missing), or use strategy='summary', which keeps nothing of what is asked."
            )
        path = Path(url.removeprefix(_SQLITE) + SUFFIX)
    try:
        if not path.exists():
            if not make:
                raise LedgerMismatch(
                    f"The key {str(path)!r} is missing under which this explainer's answers are "
                    "kept: put it back, or give the explainer another name (which pays anew)."
                )
            _make(path)
        text = path.read_bytes()
    except OSError as error:
        raise LedgerUnavailable(
            f"The key {str(path)!r} of the answers cannot be read or written "
            f"({error.strerror or type(error).__name__}). Nothing was spent. It is made for the "
            "account that asked first: check the folder and its rights, or give key='FILE'."
        ) from error
    try:
        return _read(text)
    except ValueError:
        raise LedgerMismatch(
            f"The file {str(path)!r} is no key of answers: put the right one back."
        ) from None


def _read(text: bytes) -> bytes:
    try:
        key = base64.b64decode(text.strip(), altchars=b"-_", validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
    if len(key) != KEY_BYTES:
        raise ValueError("a key of another length")
    return key


def _make(path: Path) -> None:
    """Write a new key, whole or not at all; of several who do, the first one's stays."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # of rights 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(Fernet.generate_key() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(name)
    finally:
        Path(name).unlink()
    with suppress(PermissionError):  # folders cannot be opened on Windows
        # The name, too, is on disk before anything is kept under the key.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
