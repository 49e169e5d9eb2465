"""The datasets verb: list the public data sets, and fetch one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voile.cli.options import AsJson
from voile.errors import DataError

if TYPE_CHECKING:
    from rich.text import Text

app = typer.Typer(
    name="datasets", help="Public data sets with ready schemas.", no_args_is_help=True
)


@app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the public data sets, and where each can be had now.

    Example: voile datasets list
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from voile.datasets.catalogue import can_fetch, describe, names, where

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


@app.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(help="Name of a data set, as listed.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to keep it; a cache folder by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a public data set from OpenML and keep it.

    Example: voile datasets fetch adult --folder data
    """
    from voile.datasets.catalogue import describe, fetch

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
    from rich.text import Text

    from voile.datasets.catalogue import can_fetch, where
    from voile.datasets.places import VARIABLE
    from voile.datasets.places import folder as cache_folder

    place = where(name)
    if place is None:
        return Text("to fetch" if can_fetch(name) else "not here", style="dim")
    if not Path(place).is_file():
        return Text(place)
    return Text("cache" if Path(place).parent == cache_folder() else VARIABLE)
