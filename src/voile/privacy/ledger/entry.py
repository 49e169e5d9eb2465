"""One line of a ledger: a payment, or an attempt that was refused."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from voile.codec import Order, Writable
from voile.privacy.events import Plan
from voile.privacy.ledger.digest import Stored, digest_of
from voile.privacy.ledger.filter import Amount
from voile.privacy.ledger.person import KnownBy, Person, person_of
from voile.schema.unit import ROW

if TYPE_CHECKING:
    from voile.privacy.ledger.facts import LedgerFacts
    from voile.privacy.ledger.head import Head
    from voile.privacy.signing import SigningKey


class EntryKind(StrEnum):
    """What a line does to the running total."""

    SPEND = "spend"
    """Pays for a whole plan."""
    RESERVE = "reserve"
    """Sets aside the most that an adaptive job may cost."""
    CHARGE = "charge"
    """Uses a part of what was set aside; the total stays."""
    RELEASE = "release"
    """Gives back what an adaptive job did not use."""

    @property
    def meaning(self) -> str:
        """For a reader."""
        return _MEANING[self]


_MEANING = {
    EntryKind.SPEND: "paid",
    EntryKind.RESERVE: "set aside",
    EntryKind.CHARGE: "used of it",
    EntryKind.RELEASE: "given back",
}


@dataclass(frozen=True, slots=True)
class Entry(Writable):
    """One line: who did what, when, by which events, at what price.

    Attributes
    ----------
    seq : int
        Position in the ledger, from 1.
    id : str
        Unique name, also written into receipts.
    at : str
        Time, ISO 8601, UTC.
    who, what : str
        User and machine; the job.
    kind : EntryKind
    plan : Plan
        The events.
    price : Amount
        What this line adds to the total (for a release: what it gives back).
    total : Amount
        Running total after this line.
    alone : bool
        The line used the whole budget by exact accounting: nothing may follow. Its price is the
        whole limit.
    parent : str or None
        The reservation that a charge or release belongs to.
    known_by : KnownBy
        How ``who`` is known.
    unit : str
        Who is protected: the same in every line.
    digest : str
        SHA-256 of this line and the digest of the line before it (docs/proofs/ledger.md).
    signature : str or None
        Of the digest, if the ledger is signed.
    """

    file_order: ClassVar[Order] = (
        *("seq", "id", "at", "who", "known_by", "what", "kind", "unit", "plan", "price", "total"),
        *("alone", "parent", "digest", "signature"),
    )

    seq: int
    id: str
    at: str
    who: str
    what: str
    kind: EntryKind
    plan: Plan
    price: Amount
    total: Amount
    alone: bool = False
    parent: str | None = None
    known_by: KnownBy = KnownBy.LOGIN
    unit: str = ROW
    digest: str = ""
    signature: str | None = None

    def fields(self) -> dict[str, Stored]:
        """What is stored of the line and covered by its digest."""
        return {
            "seq": self.seq,
            "id": self.id,
            "at": self.at,
            "who": self.who,
            "known_by": str(self.known_by),
            "what": self.what,
            "kind": str(self.kind),
            "unit": self.unit,
            "plan": json.dumps(self.plan.to_dict()),
            # Text, because a float must come back with every bit from any database.
            "price_loss": repr(float(self.price.loss)),
            "price_failure": repr(float(self.price.failure)),
            "total_loss": repr(float(self.total.loss)),
            "total_failure": repr(float(self.total.failure)),
            "alone": int(self.alone),
            "parent": self.parent,
        }

    @classmethod
    def from_fields(
        cls, fields: Mapping[str, Any], digest: str, signature: str | None = None
    ) -> Entry:
        """Read back what `fields` gave; raises ValueError, KeyError or TypeError if it cannot."""
        return cls(
            seq=int(fields["seq"]),
            id=fields["id"],
            at=fields["at"],
            who=fields["who"],
            what=fields["what"],
            kind=EntryKind(fields["kind"]),
            plan=Plan.from_dict(json.loads(fields["plan"])),
            price=Amount(float(fields["price_loss"]), float(fields["price_failure"])),
            total=Amount(float(fields["total_loss"]), float(fields["total_failure"])),
            alone=bool(fields["alone"]),
            parent=fields["parent"],
            known_by=KnownBy(fields["known_by"]),
            unit=fields["unit"],
            digest=digest,
            signature=signature,
        )


@dataclass(frozen=True, slots=True)
class Refusal(Writable):
    """An attempt that was refused: who wanted what, and why not. Nothing was spent."""

    seq: int
    at: str
    who: str
    known_by: KnownBy
    what: str
    why: str
    plan: Plan
    digest: str = ""

    def fields(self) -> dict[str, Stored]:
        """What is stored of the attempt and covered by its digest."""
        return {
            "seq": self.seq,
            "at": self.at,
            "who": self.who,
            "known_by": str(self.known_by),
            "what": self.what,
            "why": self.why,
            "plan": json.dumps(self.plan.to_dict()),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], digest: str) -> Refusal:
        """Read back what `fields` gave; raises ValueError, KeyError or TypeError if it cannot."""
        return cls(
            seq=int(fields["seq"]),
            at=fields["at"],
            who=fields["who"],
            known_by=KnownBy(fields["known_by"]),
            what=fields["what"],
            why=fields["why"],
            plan=Plan.from_dict(json.loads(fields["plan"])),
            digest=digest,
        )


Decide = Callable[[Entry | None], Entry]
"""Given the last entry, the next one; raises to refuse."""

Beside = Callable[[Any, Entry], None]
"""Writes something else in the same transaction (a connection, or None in memory)."""

Refuse = Callable[[Refusal | None], Refusal]
"""Given the last refusal, the next one."""


class Book(Protocol):
    """Where entries are kept. ``append`` is atomic and durable, or raises and changes nothing."""

    @property
    def url(self) -> str | None:
        """How another process opens the same book; None if it cannot."""

    def facts(self) -> LedgerFacts:
        """What is true of the whole ledger."""

    def append(self, decide: Decide, beside: Beside | None = None) -> Entry:
        """Read the last entry, decide on the next, store it: one transaction."""

    def last(self) -> Entry | None:
        """The newest entry."""

    def entries(self, after: int = 0) -> Iterable[Entry]:
        """All entries after the given number, oldest first."""

    def refuse(self, decide: Refuse) -> Refusal:
        """Record an attempt that was refused."""

    def refusals(self) -> Iterable[Refusal]:
        """All attempts that were refused, oldest first."""

    def head(self) -> Head:
        """What to keep elsewhere, so that an older or changed copy is noticed."""

    def verify(self) -> None:
        """Check everything stored from the beginning, and where it is stored."""


def new_entry(
    last: Entry | None,
    *,
    what: str,
    kind: EntryKind,
    plan: Plan,
    price: Amount,
    total: Amount,
    alone: bool = False,
    parent: str | None = None,
    unit: str = ROW,
    who: Person | None = None,
    beginning: str = "",
    key: SigningKey | None = None,
) -> Entry:
    """The entry that follows ``last`` (or the ``beginning``), stamped with time and user."""
    person = who or person_of(None)
    entry = Entry(
        seq=1 if last is None else last.seq + 1,
        id=uuid.uuid4().hex,
        at=_now(),
        who=person.name,
        what=what,
        kind=kind,
        plan=plan,
        price=price,
        total=total,
        alone=alone,
        parent=parent,
        known_by=person.known_by,
        unit=unit,
    )
    digest = digest_of(beginning if last is None else last.digest, entry.fields())
    signature = None if key is None else key.sign_digest(digest)
    return replace(entry, digest=digest, signature=signature)


def new_refusal(
    last: Refusal | None, *, what: str, why: str, plan: Plan, who: Person, beginning: str
) -> Refusal:
    """The refusal that follows ``last``, stamped with time and user."""
    refusal = Refusal(
        seq=1 if last is None else last.seq + 1,
        at=_now(),
        who=who.name,
        known_by=who.known_by,
        what=what,
        why=why,
        plan=plan,
    )
    before = beginning if last is None else last.digest
    return replace(refusal, digest=digest_of(before, refusal.fields()))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
