"""Verifying a ledger without the rows: lines, totals, prices, signatures, an earlier head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voile.privacy.ledger.chain import tampered
from voile.privacy.ledger.digest import beginning_of, beginning_of_refusals
from voile.privacy.ledger.entry import Entry, EntryKind
from voile.privacy.ledger.filter import Amount
from voile.privacy.ledger.head import Head

if TYPE_CHECKING:
    from voile.privacy.ledger.reading import LedgerReading

_CLOSE = 1e-6
"""Relative difference that another version of the accounting may make."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked of a ledger and found whole.

    Attributes
    ----------
    dataset : str
    entries, refusals : int
        How many there are.
    signer : str or None
        Public key by which every entry is signed.
    head : Head
        Of the ledger now: keep it elsewhere.
    since : Head or None
        The head from earlier that the ledger was compared with.
    """

    dataset: str
    entries: int
    refusals: int
    signer: str | None
    head: Head
    since: Head | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "dataset": self.dataset,
            "entries": self.entries,
            "refusals": self.refusals,
            "signer": self.signer,
            "head": str(self.head),
            "compared_with": None if self.since is None else str(self.since),
        }

    def __str__(self) -> str:
        refused = f", {self.refusals} refused attempts" if self.refusals else ""
        lines = [
            f"The ledger of '{self.dataset}' is whole: {self.entries} entries{refused}, each bound "
            "to the one before; totals and prices agree.",
            "Signatures: "
            + ("none" if self.signer is None else f"every entry is signed by {self.signer}"),
        ]
        if self.since is None:
            lines.append(
                "Not compared with an earlier head: an older copy of this ledger would look whole, "
                "too. Keep the head below elsewhere, and give it next time (--head)."
            )
        else:
            lines.append(
                f"It holds all {self.since.entries} entries of the head that was given, unchanged."
            )
        return "\n".join([*lines, f"Head: {self.head}"])


def verify(ledger: LedgerReading, known: Head | str | None) -> Verified:
    """Check a ledger from its first line; see `Ledger.verify`."""
    since = Head.from_text(known) if isinstance(known, str) else known
    ledger._book.verify()
    entries, refusals, now = ledger.history(), ledger.refusals(), ledger.head()
    reservations: dict[str, Entry] = {}
    for entry in entries:
        _check_price(ledger, entry, reservations)
    if since is not None:
        facts = ledger._book.facts()
        digests = [beginning_of(facts), *(entry.digest for entry in entries)]
        refused = [beginning_of_refusals(facts), *(one.digest for one in refusals)]
        _check_head(since, now, digests, refused)
    return Verified(ledger.dataset, len(entries), len(refusals), ledger.signer, now, since)


def _check_price(ledger: LedgerReading, entry: Entry, reservations: dict[str, Entry]) -> None:
    """Whether a line was paid at least what its events cost."""
    prices, events = ledger.filter, entry.plan.events
    if ledger.budget.unlimited or entry.kind is EntryKind.RELEASE:
        return
    if entry.kind is EntryKind.RESERVE:
        reservations[entry.id] = entry
    parent = reservations.get(entry.parent or "")
    if entry.kind is EntryKind.CHARGE and parent is not None and parent.alone:
        needed = prices.part_alone(events, parent.plan.events)
    elif entry.alone:
        needed = Amount() if prices.fits_alone(events) else Amount(float("inf"))
    elif entry.kind is EntryKind.SPEND:
        needed = prices.price(events)
    else:
        needed = prices.price_apart(events)
    paid = Amount(entry.price.loss * (1 + _CLOSE), entry.price.failure * (1 + _CLOSE))
    if not needed.within(paid):
        raise tampered(f"entry {entry.seq} was paid less than its events cost")


def _check_head(since: Head, now: Head, digests: list[str], refused: list[str]) -> None:
    if since.entries >= len(digests) or since.refusals >= len(refused):
        raise tampered(
            f"it is older than the head: that one knows {since.entries} entries and "
            f"{since.refusals} refusals, and there are {now.entries} and {now.refusals}"
        )
    if digests[since.entries] != since.digest or refused[since.refusals] != since.refused:
        raise tampered("it is not the ledger of this head, or lines up to it were changed")
    if since.writes is None or now.writes is None:
        return
    if now.writes < since.writes:
        raise tampered("its file was written less often than the head knows: it is an older copy")
    if now.writes == since.writes and now.file != since.file:
        raise tampered("its file was changed without a write of the ledger")
