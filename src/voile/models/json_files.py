"""Model files on disk: JSON, written wholly or not at all and read without executing anything."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from voile.errors import ModelError
from voile.models.fields import MODEL

T = TypeVar("T")


def write_json(data: dict[str, Any], path: str | Path) -> Path:
    """Write plain data to a JSON file, and return its path.

    Raises
    ------
    ModelError
        If the file cannot be written.
    """
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return replace_file(path, lambda place: place.write_bytes(text.encode()))


def replace_file(path: str | Path, fill: Callable[[Path], object]) -> Path:
    """Fill a new file beside the old one, then put it in its place: nobody sees half a file.

    Parameters
    ----------
    path : str or Path
        The file to make or to replace.
    fill : callable
        Given the path of the new file, writes it.
    """
    path = Path(path)
    try:
        # A folder rather than a file, so that the new file gets the user's usual permissions.
        with tempfile.TemporaryDirectory(prefix=".voile-", dir=path.parent) as folder:
            place = Path(folder, path.name)
            fill(place)
            with place.open("rb+") as stream:
                os.fsync(stream.fileno())
            place.replace(path)
    except (OSError, ValueError) as error:  # ValueError: no file can have such a name
        raise ModelError(
            f"The file {str(path)!r} cannot be written ({error}): check the folder."
        ) from error
    return path


def read_json(path: str | Path, build: Callable[[Any], T]) -> T:
    """Read a JSON file and build a model of what it holds.

    Raises
    ------
    ModelError
        If there is no such file, or it is not, or no longer, such a model.
    """
    text = MODEL.load_text(path)
    try:
        return build(MODEL.parse(text))
    except ModelError as error:
        raise ModelError(f"The model file {str(path)!r} cannot be used. {error}") from error
