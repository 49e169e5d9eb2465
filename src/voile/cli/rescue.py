"""Paid results are saved: where they were asked for, or else somewhere, and it is told where.

Nothing that is paid may be lost because a disk is full or a folder is gone: it is tried beside the
place, in the current folder, in the user's folder and in the one for passing files.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from voile.cli import account
from voile.errors import ModelError

if TYPE_CHECKING:
    from voile.privacy.signing import SigningKey


class NotSaved(OSError):
    """A result is not where it was asked for."""


def save_model(estimator: object, place: Path, signer: SigningKey | None = None) -> None:
    """Save a model; what the disk says against it is an error of files, not of models."""
    try:
        estimator.save(place, key=signer)  # type: ignore[attr-defined]
    except ModelError as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from None
        raise


def save_paid(
    what: str, save: Callable[[Path], object], place: Path
) -> tuple[Path | None, NotSaved | None]:
    """Save a result, which if it is paid for goes into another place if need be; note where it is.

    Parameters
    ----------
    what : str
        What it is called in messages.
    save : callable
        Given a path, writes the file; OSError if it cannot.
    place : Path

    Returns
    -------
    place : Path or None
        Where it is; None if no file could be written.
    error : NotSaved or None
        To be raised when all else is done, if that is not the place asked for.
    """
    try:
        save(place)
    except OSError as error:
        if not account.current().paid:
            raise
        trouble = NotSaved(error.errno, error.strerror or type(error).__name__, str(place))
    else:
        account.current().note_saved(what, place)
        return place, None
    for other in _other_places(place):
        with suppress(OSError):
            save(other)
            account.current().note_saved(what, other)
            return other, trouble
    return None, trouble


def print_paid(what: str, save: Callable[[Path], object]) -> None:
    """Print what could not be saved anywhere."""
    sys.stdout.write(_written(save))
    sys.stdout.flush()
    account.current().note_printed(what)


def _other_places(place: Path) -> Iterator[Path]:
    """A free name in each folder where something may be written."""
    folders: list[Callable[[], str | Path]] = [
        lambda: Path(os.path.realpath(place)).parent,
        os.getcwd,
        Path.home,
        lambda: tempfile.mkdtemp(prefix="voile-"),  # others may look into the folder itself
    ]
    for folder in folders:
        # Any of them may be gone, or have no name.
        with suppress(OSError, RuntimeError):
            where = Path(folder())
            for number in itertools.count(1):
                name = f"{place.stem}.saved{number if number > 1 else ''}{place.suffix}"
                if not os.path.lexists(where / name):
                    yield where / name
                    break


def _written(save: Callable[[Path], object]) -> str:
    """What is written to a file, without a disk."""
    out, into = os.pipe()
    pieces: list[bytes] = []

    def read() -> None:
        while piece := os.read(out, 2**16):
            pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        save(Path(f"/dev/fd/{into}"))
    finally:
        os.close(into)
        reader.join()
        os.close(out)
    return b"".join(pieces).decode()
