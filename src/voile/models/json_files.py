"""Model files on disk: JSON, written wholly or not at all and read without executing anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from voile.errors import ModelError, ReceiptError
from voile.files import replace_file as put_in_place
from voile.privacy.signing import SigningKey, without_signature
from voile.strict import Strict, show

T = TypeVar("T")

MODEL = Strict(ModelError, "a model")


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
        return put_in_place(path, fill)
    except ValueError as error:
        raise ModelError(f"No file can be called {show(str(path))}: rename it.") from error
    except OSError as error:
        raise ModelError(
            f"The file {str(path)!r} cannot be written ({error.strerror}): check the folder."
        ) from error


def sign_file(path: str | Path, key: SigningKey) -> Path:
    """Sign a file of JSON in place: whoever reads it later notices a change."""
    data = MODEL.parse(MODEL.load_text(path))
    if not isinstance(data, dict):
        raise ModelError(f"The file {show(str(path))} is no model or receipt: sign one of those.")
    return write_json(key.sign_record(data), path)


def read_json(path: str | Path, build: Callable[[Any], T]) -> T:
    """Read a JSON file and build a model of what it holds.

    Raises
    ------
    ModelError
        If there is no such file, or it is not, or no longer, such a model.
    """
    text = MODEL.load_text(path)
    try:
        return build(without_signature(MODEL.parse(text)))
    except (ModelError, ReceiptError) as error:
        raise ModelError(f"The model file {show(str(path))} cannot be used. {error}") from error
