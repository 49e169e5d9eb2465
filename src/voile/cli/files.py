"""Files that verbs write: checked before anything is spent, replaced wholly or not at all."""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def check_writable(path: Path) -> Path:
    """Refuse a place where nothing can be written, before a budget is spent for what goes there.

    Raises
    ------
    OSError
        With the name of the place.
    """
    if path.is_dir():
        raise IsADirectoryError(21, "it is a folder: name a file", str(path))
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(folder))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, "it may not be written", str(path))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".voile-"):
            pass
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(folder)) from None
    return path


def set_aside(path: Path) -> Path | None:
    """Keep an earlier file as ``NAME.bak``, ``NAME.bak2``, ...: it may have cost a budget."""
    if not path.exists():
        return None
    for number in itertools.count(1):
        kept = path.with_name(f"{path.name}.bak{number if number > 1 else ''}")
        if not kept.exists():
            break
    path.replace(kept)
    return kept


def write_text(path: Path, text: str) -> Path:
    """Write a text file wholly or not at all."""
    folder = path.parent
    with tempfile.TemporaryDirectory(prefix=".voile-", dir=folder) as beside:
        place = Path(beside, path.name)
        place.write_text(text, encoding="utf-8")
        place.replace(path)
    return path


def print_json(data: Any) -> None:
    """Print plain data as JSON and nothing else."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
