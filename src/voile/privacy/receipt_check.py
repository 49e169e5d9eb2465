"""Whether a receipt says what follows from the looks that it lists; the rows are not needed."""

from __future__ import annotations

import math

from voile.errors import ReceiptError
from voile.privacy.accounting import compose
from voile.privacy.ledger.entry import Entry, EntryKind
from voile.privacy.ledger.reading import LedgerReading
from voile.privacy.receipt import Receipt

_CLOSE = 1e-6
"""Relative difference that another version of the accounting may make."""


def check_receipt(receipt: Receipt, said: str | None = None) -> None:
    """Compute a receipt's claim again from its looks.

    Parameters
    ----------
    receipt : Receipt
    said : str, optional
        The sentence of the guarantee as it stands in the file, for people.

    Raises
    ------
    ReceiptError
        If the looks cost more than the receipt says, or were used more often than planned.
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
                f"The receipt is wrong: it says epsilon {receipt.epsilon:.4g}, and the looks that "
                f"it lists cost {needed:.4g} at delta {receipt.delta:g}. Do not rely on it."
            )
    if said is not None and said != receipt.promise:
        raise ReceiptError(
            "The receipt is wrong: its sentence for people does not say what its numbers say "
            f"({receipt.promise}). Do not rely on it."
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
    paid = {(step.label, step.event) for step in entry.plan}
    # Charges are parts of a job whose receipt lists several of them.
    if entry.kind is EntryKind.SPEND and paid != {(one.label, one.event) for one in receipt.lines}:
        raise ReceiptError(
            "The receipt lists other looks than the ledger has paid for: it was changed."
        )
    return entry
