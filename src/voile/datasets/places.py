"""Where data sets are looked for: a given folder, VOILE_DATA, and the user's cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from voile.datasets.stored_set import StoredSet
from voile.errors import DataError

VARIABLE = "VOILE_DATA"
"""Environment variable that names a folder of data sets."""

_MODULES = {"scikit-learn": "sklearn"}
"""Packages whose module has another name."""


def folder() -> Path:
    """Return the folder that `fetch` writes to: voile in the user's cache folder.

    That is ``$XDG_CACHE_HOME/voile``, or ``~/.cache/voile``.
    """
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "voile"


def find_file(entry: StoredSet, given: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the first file that has the rows of a set, or None.

    Parameters
    ----------
    entry : StoredSet
    given : path or None
        A folder to look in first.

    Raises
    ------
    DataError
        If the folder that is given, or the one that VOILE_DATA names, is none.
    """
    if entry.file is None:
        return None
    for place in _folders(given):
        if (place / entry.file).is_file():
            return place / entry.file
    return None


def place_of(entry: StoredSet, given: str | os.PathLike[str] | None = None) -> str | None:
    """Say where the rows of a set can be had now: a file, a package, or nowhere (None)."""
    if entry.package is not None:
        module = _MODULES.get(entry.package, entry.package)
        return entry.package if find_spec(module) is not None else None
    path = find_file(entry, given)
    return None if path is None else str(path)


def _folders(given: str | os.PathLike[str] | None) -> Iterator[Path]:
    named = os.environ.get(VARIABLE)
    for place, who in ((given, "that was given"), (named or None, f"that {VARIABLE} names")):
        if place is not None:
            path = Path(place)
            if not path.is_dir():
                raise DataError(
                    f"There is no folder {str(path)!r}, the one {who}: correct its name, or leave "
                    f"it out to use {str(folder())!r}."
                )
            yield path
    yield folder()
