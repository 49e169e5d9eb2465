"""What a test needs besides Voile itself: absent, the test is skipped and says so."""

import importlib
import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

EXTRAS = {
    "captum": "federated",
    "flwr": "federated",
    "interpret": "interpret",
    "mkdocs": "docs",
    "mkdocstrings": "docs",
    "openpyxl": "excel",
    "pandas": "demo",
    "playwright": "dev",
    "polars": "dev",
    "psycopg": "postgres",
    "statsmodels": "demo",
    "torch": "federated",
}
"""Libraries that may be absent, and the extra of Voile that brings each."""


def _has_postgresql() -> bool:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return bool(installed) or shutil.which("postgres") is not None


PROGRAMS: dict[str, Callable[[], bool]] = {
    "PostgreSQL": _has_postgresql,
    "Chromium": lambda: shutil.which("chromium") is not None,
}
"""Programs that may be absent, and whether they are there."""


def find_missing(*names: str) -> list[str]:
    """Say of each name that is absent how to get it."""
    missing = []
    for name in names:
        if name in PROGRAMS:
            if not PROGRAMS[name]():
                missing.append(f"{name}: install it")
        elif importlib.util.find_spec(name) is None:
            extra = f"voile[{EXTRAS[name]}]" if name in EXTRAS else name
            missing.append(f"{name}: pip install '{extra}'")
    return missing


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test where a library or program is absent."""
    missing = find_missing(*names)
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def need(*names: str) -> ModuleType | None:
    """Skip the rest of a module, or the test that calls it; return the first library."""
    missing = find_missing(*names)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}", allow_module_level=True)
    return None if names[0] in PROGRAMS else importlib.import_module(names[0])
