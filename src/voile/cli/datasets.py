"""The datasets verb: list the public data sets, and fetch one."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.datasets.catalogue import can_fetch, describe, fetch, names, where
from voile.datasets.places import VARIABLE
from voile.datasets.places import folder as cache_folder
from voile.errors import DataError


def run_list(*, as_json: bool) -> None:
    """Print every data set, and where it can be had now."""
    if as_json:
        listed = [
            {**describe(name).to_dict(), "place": where(name), "can_fetch": can_fetch(name)}
            for name in names()
        ]
        print(json.dumps(listed, indent=2))
        return
    table = Table(title="Public data sets", title_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column("rows x features", justify="right", no_wrap=True)
    table.add_column("task", no_wrap=True)
    table.add_column("where", no_wrap=True)
    table.add_column("licence", overflow="fold")
    for name in names():
        facts = describe(name)
        table.add_row(
            name,
            f"{facts.rows:,} x {facts.features:,}",
            facts.task,
            _place(name),
            Text(facts.licence),
        )
    console = Console()
    console.print(table)
    console.print(
        "Load one with voile.datasets.load(NAME). 'to fetch': first run voile datasets fetch NAME. "
        "'not here': it cannot be fetched; set VOILE_DATA to a folder that has it."
    )


def run_fetch(name: str, *, folder: Path | None, as_json: bool) -> None:
    """Download a data set, and print the file it was stored in."""
    path = fetch(name, folder)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read ({error.strerror}).") from None
    if as_json:
        print(json.dumps({"name": name, "file": str(path.resolve()), "bytes": size}))
        return
    print(f"{describe(name).title}: {path.resolve()} ({size / 1e6:,.1f} MB)")


def _place(name: str) -> Text:
    """Say in a word where a set is, or how to get it; JSON has the whole path."""
    place = where(name)
    if place is None:
        return Text("to fetch" if can_fetch(name) else "not here", style="dim")
    if not Path(place).is_file():
        return Text(place)
    return Text("cache" if Path(place).parent == cache_folder() else VARIABLE)
