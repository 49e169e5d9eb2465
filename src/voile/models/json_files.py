"""Model files on disk: JSON, written wholly or not at all and read without executing anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import voile.files
from voile.errors import ModelError
from voile.models.fields import build_object, refuse_constant

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
    """`voile.files.replace_file`, with an error of models.

    Raises
    ------
    ModelError
        If the file cannot be written.
    """
    try:
        return voile.files.replace_file(path, fill)
    except OSError as error:
        raise ModelError(
            f"The file {str(path)!r} cannot be written ({error.strerror}): check the folder."
        ) from error


def read_json(path: str | Path, build: Callable[[Any], T]) -> T:
    """Read a JSON file and build a model of what it holds.

    Raises
    ------
    ModelError
        If there is no such file, or it is not, or no longer, such a model.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(
            f"The model file {str(path)!r} cannot be read ({error}): check the path."
        ) from error
    try:
        data = json.loads(text, object_pairs_hook=build_object, parse_constant=refuse_constant)
        return build(data)
    except ModelError as error:
        raise ModelError(f"The model file {str(path)!r} cannot be used. {error}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"The model file {str(path)!r} is not JSON ({error}): was it copied completely?"
        ) from error
