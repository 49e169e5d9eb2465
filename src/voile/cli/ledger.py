"""The ledger verbs: make a ledger, see what is left, who spent what, and take it elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from voile.cli.account import open_existing, part_of, tell_ledger
from voile.cli.options import AmongSeveral, AsJson, KeyFile
from voile.cli.results import check_writable, print_json
from voile.errors import LedgerMismatch

app = typer.Typer(
    name="ledger",
    help="What may be spent on a data set, what was, and by whom.",
    no_args_is_help=True,
)

Place = Annotated[str, typer.Argument(help="Ledger: a file or a PostgreSQL url.")]


@app.command()
def create(
    place: Place,
    epsilon: Annotated[float, typer.Option(help="What may be spent in all, for ever.")],
    delta: Annotated[
        float, typer.Option(help="Probability with which the guarantee may fail.")
    ] = 1e-6,
    dataset: AmongSeveral = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Whom every job must protect: the column of a unit, or row."),
    ] = None,
    key: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Make the ledger of a data set; its budget can never be enlarged.

    Example: voile ledger create hospital.db --epsilon 3 --dataset patients --unit patient
    """
    from voile.privacy.budget import Budget
    from voile.privacy.ledger import Ledger

    if "://" not in place and Path(place).expanduser().exists():
        raise LedgerMismatch(
            f"There is a file {place!r} already: see voile ledger show, or give another path."
        )
    book = Ledger(place, Budget(epsilon, delta), dataset=dataset, unit=unit, key=key)
    if as_json:
        print_json(tell_ledger(book))
    else:
        print(f"Ledger of '{book.dataset}': {book.budget}, nothing spent.")


@app.command()
def show(place: Place, dataset: AmongSeveral = None, as_json: AsJson = False) -> None:
    """How much is spent and how much is left.

    Example: voile ledger show hospital.db
    """
    book = open_existing(place, dataset)
    if as_json:
        print_json(tell_ledger(book))
        return
    spent, left, part = book.spent(), book.remaining(), book.fraction_spent()
    bar = "█" * round(30 * part) + "·" * (30 - round(30 * part))
    entries = len(book.history())
    print(f"Data set  {book.dataset}")
    print(f"Protects  one {book.unit or 'row or unit: the first job decides'}")
    print(f"Budget    {book.budget}")
    print(f"Spent     epsilon {spent.epsilon:.4g}  {bar} {part:.0%} of the loss")
    print(f"Left      a training with epsilon {left.epsilon:.4g} can still be paid")
    print(f"Entries   {entries}" + (", see voile ledger history" if entries else ""))


@app.command()
def history(place: Place, dataset: AmongSeveral = None, as_json: AsJson = False) -> None:
    """Every entry: when, who, what, and what it cost.

    Example: voile ledger history hospital.db --json
    """
    book = open_existing(place, dataset)
    entries = book.history()
    if as_json:
        print_json([entry.to_dict() for entry in entries])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None)
    for name in ("no.", "when", "who", "what", "does", "cost", "total"):
        table.add_column(name, justify="right" if name in ("no.", "cost", "total") else "left")
    for entry in entries:
        total = 1.0 if entry.alone else part_of(book, entry.total.loss)
        table.add_row(
            str(entry.seq),
            entry.at[:19].replace("T", " "),
            f"{entry.who} ({entry.known_by})",
            entry.what,
            entry.kind.meaning,
            f"{part_of(book, entry.price.loss):.1%}" if not entry.alone else "100.0%",
            f"{total:.1%}",
        )
    console = Console()
    console = Console(width=max(console.width, 110))  # a narrower terminal wraps by itself
    console.print(table)
    console.print("Cost and total are parts of the loss that the budget allows.")


@app.command()
def refusals(place: Place, dataset: AmongSeveral = None, as_json: AsJson = False) -> None:
    """Every attempt that was refused: when, who, what, and why.

    Example: voile ledger refusals hospital.db
    """
    refused = open_existing(place, dataset).refusals()
    if as_json:
        print_json([one.to_dict() for one in refused])
        return
    for one in refused:
        print(f"{one.at[:19].replace('T', ' ')}  {one.who} ({one.known_by})  {one.what}")
        print(f"    {one.why}")
    if not refused:
        print("Nothing was refused.")


@app.command()
def head(place: Place, dataset: AmongSeveral = None, as_json: AsJson = False) -> None:
    """A short text to keep elsewhere: it exposes an older or changed copy of the ledger.

    Example: voile ledger head hospital.db
    """
    text = str(open_existing(place, dataset).head())
    if as_json:
        print_json({"head": text})
    else:
        print(text)


@app.command("verify")
def verify_ledger(
    place: Place,
    since: Annotated[
        str | None, typer.Option("--head", help="Earlier head, kept elsewhere.")
    ] = None,
    dataset: AmongSeveral = None,
    as_json: AsJson = False,
) -> None:
    """Check every line, total, price and signature of a ledger, and compare an earlier head.

    Example: voile ledger verify hospital.db --head 12:ab...
    """
    verified = open_existing(place, dataset).verify(since)
    if as_json:
        print_json(verified.to_dict())
    else:
        print(verified)


@app.command()
def export(
    place: Place,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of printing.")
    ] = None,
    dataset: AmongSeveral = None,
) -> None:
    """The whole ledger as JSON: every event with its noise, for an auditor.

    Example: voile ledger export hospital.db -o hospital-ledger.json
    """
    from voile.files import write_text

    if output is not None:
        check_writable(output)
    text = open_existing(place, dataset).to_json() + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
        print(f"Ledger: {output.resolve()}")
