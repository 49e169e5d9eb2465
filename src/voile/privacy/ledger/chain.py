"""Reading a ledger line by line, and noticing every line that was removed, changed or moved.

Each line carries a digest of itself and of the line before it, and the running totals follow from
the prices: both are computed again here (docs/proofs/ledger.md). A ledger whose *last* lines are
gone looks whole by itself; a head kept elsewhere, a receipt or another process that has seen them
tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from voile.errors import LedgerError, LedgerMismatch, SettingError, VoileError
from voile.privacy.ledger.digest import (
    Stored,
    beginning_of,
    beginning_of_refusals,
    digest_of,
)
from voile.privacy.ledger.entry import Entry, EntryKind, Refusal
from voile.privacy.ledger.facts import LedgerFacts
from voile.privacy.ledger.filter import Amount
from voile.privacy.signing import is_signed

_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Chain:
    """What follows from the lines read so far; a new one for each line, so that threads may share.

    Parameters
    ----------
    facts : LedgerFacts
    last : Entry or None
    left : mapping of str to Amount
        What each open reservation may still charge.
    apart : Amount
        What the charges of a reservation that stands alone cost by the filter's own prices.
    """

    facts: LedgerFacts
    last: Entry | None = None
    left: Mapping[str, Amount] = field(default_factory=dict)
    apart: Amount = field(default_factory=Amount)

    def follow(self, fields: Mapping[str, Stored], digest: Any, signature: Any) -> Chain:
        """Read the next stored line and check all that follows from those before it.

        Raises
        ------
        LedgerMismatch
            If the line cannot be read, or is not the one that was written there.
        """
        seq = 1 if self.last is None else self.last.seq + 1
        before = beginning_of(self.facts) if self.last is None else self.last.digest
        if fields.get("seq") != seq:
            raise tampered(f"entry {seq} is missing")
        try:
            if digest_of(before, fields) != digest:
                raise tampered(f"entry {seq} was changed, or one before it was removed or moved")
            entry = Entry.from_fields(fields, digest, signature)
        except (KeyError, TypeError, ValueError, RecursionError, SettingError) as error:
            raise _unreadable(f"entry {seq}", error) from error
        except LedgerError as error:
            if isinstance(error, LedgerMismatch):
                raise
            raise LedgerMismatch(str(error)) from error
        except VoileError as error:
            raise _unreadable(f"entry {seq}", error) from error
        self._check_signature(entry)
        left, apart = self._check_total(entry), self.apart
        if entry.kind is EntryKind.CHARGE and entry.alone:
            apart = apart + self.facts.filter.price_apart(entry.plan.events)
        return replace(self, last=entry, left=left, apart=apart)

    def _check_signature(self, entry: Entry) -> None:
        signer = self.facts.signer
        if signer is None:
            if entry.signature is not None:
                raise tampered(f"entry {entry.seq} has a signature, and the ledger has no key")
            return
        if not is_signed(signer, entry.digest, entry.signature):
            raise tampered(f"entry {entry.seq} is not signed by the ledger's key")

    def _check_total(self, entry: Entry) -> Mapping[str, Amount]:
        """Compute the running total again; what reservations may charge after this line."""
        before = Amount() if self.last is None else self.last.total
        closed = self.last is not None and self.last.alone
        unit = self.facts.unit if self.last is None else self.last.unit
        sound = entry.price.finite and (unit is None or entry.unit == unit)
        left = dict(self.left)
        mine = None if entry.parent is None else left.get(entry.parent)
        match entry.kind:
            case EntryKind.SPEND | EntryKind.RESERVE:
                total = before + entry.price
                sound &= not closed and entry.parent is None
                sound &= self.last is None or not entry.alone
                limit = self.facts.filter.limit
                sound &= entry.price == limit if entry.alone else self.facts.filter.allows(total)
                if entry.kind is EntryKind.RESERVE:
                    left[entry.id] = entry.price
            case EntryKind.CHARGE:
                total = before
                sound &= mine is not None and entry.price.within(_with_room(mine))
                sound &= entry.alone == closed
                if mine is not None and entry.parent is not None:
                    left[entry.parent] = mine - entry.price
            case EntryKind.RELEASE:  # pragma: no branch (there are no other kinds)
                total = before - entry.price
                sound &= mine is not None and not entry.alone
                if closed:
                    # A job that stood alone may end early; it leaves what it cost by the filter.
                    sound &= self.apart.within(_with_room(total))
                else:
                    sound &= mine is not None and entry.price.within(_with_room(mine))
                left.pop(entry.parent or "", None)
        if not sound or entry.total != total:
            raise tampered(f"the total of entry {entry.seq} does not follow from the lines")
        return left


def _with_room(amount: Amount) -> Amount:
    """Parts that were added up in another order may differ by rounding."""
    return Amount(amount.loss * _ROUNDING + 1e-12 * (amount.loss > 0), amount.failure * _ROUNDING)


def follow_refusals(
    facts: LedgerFacts, lines: Sequence[tuple[Mapping[str, Stored], Any]]
) -> list[Refusal]:
    """Read stored refusals and check that each is bound to the one before."""
    before, found = beginning_of_refusals(facts), list[Refusal]()
    for seq, (fields, digest) in enumerate(lines, 1):
        try:
            if fields.get("seq") != seq or digest_of(before, fields) != digest:
                raise tampered(f"the refused attempt {seq} was changed or removed")
            found.append(Refusal.from_fields(fields, digest))
        except LedgerMismatch:
            raise
        except (KeyError, TypeError, ValueError, RecursionError, LedgerError) as error:
            raise _unreadable(f"the refused attempt {seq}", error) from error
        before = digest
    return found


def tampered(what: str) -> LedgerMismatch:
    """The ledger is not what was written."""
    return LedgerMismatch(
        f"The ledger was tampered with or damaged: {what}. Nothing can be spent from it. Put the "
        "newest whole copy back."
    )


def _unreadable(which: str, error: Exception) -> LedgerMismatch:
    return LedgerMismatch(
        f"The ledger cannot be read at {which} ({type(error).__name__}): it is damaged. Restore a "
        "copy of it."
    )
