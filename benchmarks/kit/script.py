"""What every benchmark's command line needs: arguments, notes, facts of the machine, files."""

import argparse
import json
import math
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def note(text: str) -> None:
    """Say how far a run is, on stderr."""
    print(text, file=sys.stderr, flush=True)


def installed(package: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine(*packages: str) -> dict[str, object]:
    """What a figure depends on besides the code: cores, Python, and versions of packages."""
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: installed(name) for name in ("voile", "numpy", *packages)},
    }


def numbers(text: str) -> tuple[float, ...]:
    """Epsilons with commas, as an argument's type."""
    found = tuple(sorted({float(part) for part in text.split(",")}))
    if not all(value > 0 for value in found):
        raise argparse.ArgumentTypeError("every epsilon must be above 0")
    return found


def some_of(known: Sequence[str], what: str) -> Callable[[str], tuple[str, ...]]:
    """Names with commas, as an argument's type; an unknown one lists all."""

    def chosen(text: str) -> tuple[str, ...]:
        found = tuple(text.split(","))
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"there is no {what} {name!r}: choose from {', '.join(known)}"
                )
        return found

    return chosen


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows a module's docstring as it stands, and knows --quick."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    return parser


def read_options(
    parser: argparse.ArgumentParser, arguments: list[str] | None, name: str, **least: int
) -> argparse.Namespace:
    """Read arguments: --out is a new temporary folder if not given, counts are not too small."""
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    for option, smallest in least.items():
        given = getattr(options, option)
        if given is not None and given < smallest:
            parser.error(f"--{option} must be at least {smallest}")
    options.out = options.out or Path(tempfile.mkdtemp(prefix=f"voile-{name}-"))
    return options


def write_json(path: Path, data: Any) -> None:
    """Write a dictionary or a dataclass as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_plain(data), indent=1, default=str, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """The same without infinity, which JSON does not have: as text."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_findings(folder: Path, name: str, data: Any, text: str) -> None:
    """Write NAME.json and NAME.md."""
    write_json(folder / f"{name}.json", data)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
