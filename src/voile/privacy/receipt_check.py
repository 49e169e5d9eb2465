"""Whether a receipt says what follows from the accesses that it lists; the rows are not needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from voile.errors import ReceiptError
from voile.privacy.accounting import compose
from voile.privacy.events import Event, Step
from voile.privacy.ledger.entry import Entry, EntryKind
from voile.privacy.ledger.reading import LedgerReading
from voile.privacy.receipt import Receipt, ReceiptLine, is_running
from voile.schema.unit import unit_of

_CLOSE = 1e-6
"""Relative difference that another version of the accounting may make."""


def check_receipt(receipt: Receipt, said: str | None = None) -> None:
    """Compute a receipt's claim again from its accesses.

    Parameters
    ----------
    receipt : Receipt
    said : str, optional
        The sentence of the guarantee as it stands in the file, for people.

    Raises
    ------
    ReceiptError
        If the accesses cost more than the receipt says, or were used more often than planned.
    """
    for line in receipt.lines:
        if line.openings > line.event.count:
            raise ReceiptError(
                f"The receipt is wrong: {line.label!r} was planned {line.event.count} times and "
                f"used {line.openings} times. Do not rely on it."
            )
    if math.isfinite(receipt.epsilon):
        needed = compose([line.event for line in receipt.lines], receipt.relation).epsilon(
            receipt.delta
        )
        if not receipt.epsilon >= needed * (1 - _CLOSE):
            raise ReceiptError(
                f"The receipt is wrong: it says epsilon {receipt.epsilon:.4g}, and the accesses "
                f"that it lists cost {needed:.4g} at delta {receipt.delta:g}. Do not rely on it."
            )
    if said is not None and said != receipt.guarantee:
        raise ReceiptError(
            "The receipt is wrong: its sentence for people does not say what its numbers say "
            f"({receipt.guarantee}). Do not rely on it."
        )


def check_entry(receipt: Receipt, ledger: LedgerReading) -> Entry:
    """The line of the ledger that a receipt names.

    Raises
    ------
    ReceiptError
        If the ledger has no such line, or another one in its place.
    """
    entries = ledger.history()
    entry = next((one for one in entries if one.id == receipt.entry), None)
    if entry is None or ledger.dataset != receipt.dataset or entry.digest != receipt.digest:
        raise ReceiptError(
            f"The ledger of '{ledger.dataset}' does not hold what this receipt says was paid "
            f"(entry {receipt.entry[:12]}): it is the ledger of other data, an older copy, or was "
            "changed."
        )
    told = (receipt.what, receipt.relation, _unit_of(receipt))
    if told != (entry.what, ledger.relation, entry.unit):
        raise ReceiptError(
            f"The receipt tells of {told[0]!r} for one {told[2]} ({told[1]}), and the ledger has "
            f"paid for {entry.what!r} for one {entry.unit} ({ledger.relation}): it was changed."
        )
    if _count(receipt.lines) != _count(step for one in _job(entry, entries) for step in one.plan):
        raise ReceiptError(
            "The receipt lists other accesses than the ledger has paid for: it was changed."
        )
    return entry


def _unit_of(receipt: Receipt) -> str:
    """The unit as a ledger tells it, without how many rows of each are used."""
    unit = unit_of(receipt.unit)
    return receipt.unit if unit is None else unit.name


def _job(entry: Entry, entries: Sequence[Entry]) -> list[Entry]:
    """All lines that paid for the job of a receipt that names one of them."""
    if entry.kind is EntryKind.SPEND:
        return [entry]
    charges = [one for one in entries if one.kind in (EntryKind.SPEND, EntryKind.CHARGE)]
    if is_running(entry.what):  # its receipt tells all that was paid up to the line it names
        return [one for one in charges if one.what == entry.what and one.seq <= entry.seq]
    return [one for one in charges if one.parent == entry.parent]


def _count(accesses: Iterable[ReceiptLine | Step]) -> dict[tuple[str, Event], int]:
    """How often each access was announced."""
    counts: dict[tuple[str, Event], int] = {}
    for one in accesses:
        key = (one.label, replace(one.event, count=1))
        counts[key] = counts.get(key, 0) + one.event.count
    return {key: count for key, count in counts.items() if count}
