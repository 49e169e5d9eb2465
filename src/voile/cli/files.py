"""Places that verbs write to: checked before anything is spent for what goes there."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from voile.files import PREFIX


def check_writable(path: Path) -> Path:
    """Refuse a place where nothing can be written, before a budget is spent for what goes there.

    Raises
    ------
    OSError
        With the name of the place.
    """
    # Of a link, what it points at is replaced.
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(21, "it is a folder: name a file", str(path))
    folder = place.parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(folder))
    if path.exists() and not path.is_file():
        raise FileExistsError(17, "it is no file that can be replaced: name another", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, "it may not be written", str(path))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=PREFIX):
            pass
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(folder)) from None
    return path


def print_json(data: Any) -> None:
    """Print plain data as JSON and nothing else."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
