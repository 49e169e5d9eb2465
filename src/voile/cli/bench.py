"""The bench verb: list the benchmarks of the source checkout, and run one."""

from __future__ import annotations

import ast
import difflib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from voile.cli.options import AsJson
from voile.errors import SettingError

VARIABLE = "VOILE_BENCHMARKS"
"""Environment variable that names the folder of benchmarks."""


def bench(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Name of a benchmark; without one, all are listed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark of the source checkout; further options go to it.

    Examples:
        voile bench

        voile bench noise
    """
    raise typer.Exit(run_bench(name, context.args, as_json=as_json))


def run_bench(name: str | None, arguments: Sequence[str], *, as_json: bool) -> int:
    """List the benchmarks, or run one and return its exit code.

    Parameters
    ----------
    name : str or None
        A benchmark, as "family/name"; None lists them.
    arguments : sequence of str
        Passed on to the benchmark.
    as_json : bool
        Print the list as JSON. What a benchmark prints is its own, and is passed on as it is.

    Raises
    ------
    SettingError
        If there are no benchmarks here, or not this one.
    """
    folder = benchmark_folder()
    if name is None:
        _print_list(folder, as_json=as_json)
        return 0
    known = benchmarks(folder)
    # Looked up, not joined to the folder: a name with ".." would reach files elsewhere.
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise SettingError(f"There is no benchmark {name!r}.{guess} There are: {', '.join(known)}.")
    path = folder / f"{name}.py"
    done = subprocess.run([sys.executable, str(path), *arguments], check=False)
    return done.returncode


def benchmark_folder() -> Path:
    """Return the folder of benchmarks: VOILE_BENCHMARKS, or that of the checkout Voile runs from.

    Raises
    ------
    SettingError
        If there is none.
    """
    given = os.environ.get(VARIABLE)
    if given:
        folder = Path(given)
        if not folder.is_dir():
            raise SettingError(
                f"There is no folder {given!r}, which {VARIABLE} names: correct it, or leave it "
                f"out in a checkout of the repository."
            )
        return folder
    root = Path(__file__).resolve().parents[3]
    # An installed package has another folder above it, whose "benchmarks" would not be ours.
    if (root / "pyproject.toml").is_file() and (root / "benchmarks").is_dir():
        return root / "benchmarks"
    raise SettingError(
        "Benchmarks come with the source, not with the installed package: clone the repository "
        f"and run voile bench there, or set {VARIABLE} to its folder benchmarks."
    )


def benchmarks(folder: Path) -> dict[str, str]:
    """Return the benchmarks of a folder as "family/name", each with its docstring's first line.

    Files are read, not imported. A file without a main part is a part of a benchmark, and what is
    in kit/ serves them all: neither is listed.
    """
    scripts = sorted(path for path in folder.glob("*/*.py") if path.parent.name != "kit")
    return {
        f"{path.parent.name}/{path.stem}": _first_line(path)
        for path in scripts
        if "__main__" in path.read_text(encoding="utf-8", errors="replace")
    }


def _first_line(path: Path) -> str:
    try:
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, SyntaxError):
        return "(cannot be read)"
    return (said or "").split("\n")[0]


def _print_list(folder: Path, *, as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found = benchmarks(folder)
    if as_json:
        print(json.dumps([{"name": name, "about": about} for name, about in found.items()]))
        return
    table = Table(title=f"Benchmarks in {folder}", title_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column("what it measures")
    for name, about in found.items():
        table.add_row(name, Text(about))
    console = Console()
    console.print(table)
    console.print("Run one with voile bench NAME; what follows the name is passed on to it.")
