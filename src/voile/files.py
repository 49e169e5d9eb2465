"""Files that are replaced wholly or not at all, whatever becomes of the disk or the process.

A new file is filled in a folder ``.voile-...`` beside the old one, brought to the disk, and then
put into its place in one step. A process that is killed meanwhile leaves the old file, and perhaps
such a folder, which may be deleted.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".voile-"
"""How the names of passing files begin."""


def replace_file(path: str | Path, fill: Callable[[Path], object]) -> Path:
    """Fill a new file, then put it in the place of the old one: nobody sees half a file.

    A link stays one: what it points at is replaced. The rights of the old file are kept. What is no
    file on a disk (a pipe, a device) cannot be replaced and is written to.

    Parameters
    ----------
    path : str or Path
        The file to make or to replace.
    fill : callable
        Given the path of the new file, writes it.

    Raises
    ------
    OSError
        With the name of the file; the old one is as it was.
    """
    path = Path(path)
    try:
        if _is_stream(path):
            fill(path)
            return path
        place = Path(os.path.realpath(path))
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder: name a file")
        # A folder rather than a file, so that the new file gets the user's usual permissions.
        with tempfile.TemporaryDirectory(
            prefix=PREFIX, dir=place.parent, ignore_cleanup_errors=True
        ) as folder:
            new = Path(folder, place.name)
            fill(new)
            with new.open("rb+") as stream:
                os.fsync(stream.fileno())
            with suppress(OSError):
                new.chmod(stat.S_IMODE(place.stat().st_mode))
            new.replace(place)
    except OSError as error:
        # The path of the passing file would help nobody.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    _sync_folder(place.parent)
    return path


def hold_file(path: Path) -> Callable[[], None] | None:
    """Hold a file, made if need be, for one user at a time; None if another holds it.

    Returns what lets go of it; the system does so when the process ends. On systems without such
    locks nobody is kept away.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        import fcntl
    except ImportError:  # pragma: no cover (Windows has no such locks)
        return lambda: os.close(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return lambda: os.close(handle)


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file in UTF-8, wholly or not at all."""
    return replace_file(path, lambda place: place.write_bytes(text.encode()))


@contextmanager
def keeping_earlier(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Give files that will be replaced a second name: ``NAME.bak``, ``NAME.bak2``, ...

    They stay in their places, so that there is no moment without them. All get the same number. If
    the block fails, the second names are taken back.

    Parameters
    ----------
    *paths : Path
        Those that are not there are passed over.

    Yields
    ------
    tuple of Path
        The second names, of those that were there.
    """
    places = [Path(os.path.realpath(path)) for path in paths]
    pairs = list(zip(places, _free_names(places), strict=True))
    kept: list[Path] = []
    try:
        for place, name in pairs:
            if place.exists():
                if not _is_same(place, name):
                    _link(place, name)
                kept.append(name)
        yield tuple(kept)
    except BaseException:
        for place, name in pairs:
            # The same file still: it was not replaced.
            if _is_same(place, name):
                with suppress(OSError):
                    name.unlink()
        raise


def _free_names(places: list[Path]) -> list[Path]:
    """Second names with the first number that none of them has for another file.

    Where an earlier attempt ended between the second name and the new file, both are one.
    """
    for number in itertools.count(1):
        ending = f".bak{number if number > 1 else ''}"
        names = [place.with_name(place.name + ending) for place in places]
        pairs = zip(places, names, strict=True)
        if not any(os.path.lexists(name) and not _is_same(place, name) for place, name in pairs):
            break
    return names


def _link(place: Path, name: Path) -> None:
    try:
        os.link(place, name)
    except OSError:
        # Not every file system has links.
        replace_file(name, lambda new: shutil.copyfile(place, new))
    _sync_folder(name.parent)


def _is_same(place: Path, name: Path) -> bool:
    try:
        return name.samefile(place)
    except OSError:
        return False


def _is_stream(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
