"""One line of a ledger, and what is true of the whole ledger."""

from __future__ import annotations

import getpass
import json
import os
import platform
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from voile.errors import LedgerMismatch
from voile.privacy.budget import Budget, Relation
from voile.privacy.events import Plan
from voile.privacy.filter import Amount, Filter, FilterKind

FORMAT = 1
"""Version of what is stored; a ledger of a newer one is not opened."""


UNNAMED = "default"
"""Name of a data set that was given none."""


class EntryKind(StrEnum):
    """What a line does to the running total."""

    SPEND = "spend"
    """Pays for a whole plan."""
    ADMIT = "admit"
    """Sets aside the most that an adaptive job may cost."""
    CHARGE = "charge"
    """Uses a part of what was set aside; the total stays."""
    RELEASE = "release"
    """Gives back what an adaptive job did not use."""


@dataclass(frozen=True, slots=True)
class Entry:
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
        The line used the whole budget by exact accounting: nothing may follow.
    parent : str or None
        The admission that a charge or release belongs to.
    """

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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "seq": self.seq,
            "id": self.id,
            "at": self.at,
            "who": self.who,
            "what": self.what,
            "kind": str(self.kind),
            "plan": self.plan.to_dict(),
            "price": self.price.to_dict(),
            "total": self.total.to_dict(),
            "alone": self.alone,
            "parent": self.parent,
        }


Decide = Callable[[Entry | None], Entry]
"""Given the last entry, the next one; raises to refuse."""


class Book(Protocol):
    """Where entries are kept. ``append`` is atomic and durable, or raises and changes nothing."""

    @property
    def url(self) -> str | None:
        """How another process opens the same book; None if it cannot."""

    def facts(self) -> Facts:
        """What is true of the whole ledger."""

    def append(self, decide: Decide) -> Entry:
        """Read the last entry, decide on the next, store it: one transaction."""

    def last(self) -> Entry | None:
        """The newest entry."""

    def entries(self, after: int = 0) -> Iterable[Entry]:
        """All entries after the given number, oldest first."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is fixed when a ledger is made."""

    dataset: str
    budget: Budget
    relation: Relation
    kind: FilterKind
    slack: float

    @property
    def filter(self) -> Filter:
        """The privacy filter of this ledger."""
        return Filter(self.budget, self.relation, self.kind, self.slack)

    def to_json(self) -> str:
        """Store as text; repr of floats keeps every bit."""
        return json.dumps(
            {
                "format": FORMAT,
                "epsilon": repr(self.budget.epsilon),
                "delta": repr(self.budget.delta),
                "relation": str(self.relation),
                "filter": str(self.kind),
                "slack": repr(float(self.slack)),
            }
        )

    @classmethod
    def from_json(cls, dataset: str, text: str) -> Facts:
        """Read back; refuses formats it does not know."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise LedgerMismatch(
                    f"The ledger has format {data['format']!r}, this version of voile reads "
                    f"format {FORMAT}: use the version that made it."
                )
            return cls(
                dataset,
                Budget(float(data["epsilon"]), float(data["delta"])),
                Relation(data["relation"]),
                FilterKind(data["filter"]),
                float(data["slack"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerMismatch(f"The ledger's own description is damaged ({error}).") from error


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
) -> Entry:
    """The entry that follows ``last``, stamped with time and user."""
    return Entry(
        seq=1 if last is None else last.seq + 1,
        id=uuid.uuid4().hex,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        who=_who(),
        what=what,
        kind=kind,
        plan=plan,
        price=price,
        total=total,
        alone=alone,
        parent=parent,
    )


def _who() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in a container
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
    return f"{user}@{platform.node()}"
