"""What a test needs besides Voile itself: absent, the test is skipped and says so.

A test module says it by importing the library (`find_absent` finds it in the error); a single test
says it with `needs`.
"""

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

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
    "python_calamine": "excel",
    "statsmodels": "demo",
    "torch": "federated",
}
"""Libraries that may be absent, and the extra of Voile that brings each."""


def find_postgresql() -> Path | None:
    """The folder of initdb and pg_ctl: Debian's newest, or wherever the path finds them."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda one: float(one.parts[-3])
    )
    if found:
        return found[-1].parent
    on_path = shutil.which("pg_ctl")
    return None if on_path is None else Path(on_path).resolve().parent


def find_chromium() -> str | None:
    """The browser that pages are tested in."""
    names = ("chromium", "chromium-browser", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


PROGRAMS: dict[str, Callable[[], object]] = {
    "PostgreSQL": find_postgresql,
    "Chromium": find_chromium,
}
"""Programs that may be absent, and where they are."""


def find_missing(*names: str) -> list[str]:
    """Say of each name that is absent how to get it."""
    missing = []
    for name in names:
        if name in PROGRAMS:
            if PROGRAMS[name]() is None:
                missing.append(f"{name}: install it")
        elif importlib.util.find_spec(name) is None:
            extra = f"voile[{EXTRAS[name]}]" if name in EXTRAS else name
            missing.append(f"{name}: pip install '{extra}'")
    return missing


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test where a library or program is absent."""
    missing = find_missing(*names)
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def find_absent(error: BaseException | None) -> str | None:
    """The library whose absence an error comes from, and how to get it; None if it is another."""
    while error is not None:
        name = (getattr(error, "name", None) or "").split(".")[0]
        if isinstance(error, ModuleNotFoundError) and name in EXTRAS:
            return next(iter(find_missing(name)), None)
        error = error.__cause__ or error.__context__
    return None
