"""A ledger in this process' memory: the default for a single job."""

from __future__ import annotations

import os
import threading

from voile.errors import LedgerError
from voile.privacy.ledger.digest import beginning_of, beginning_of_refusals
from voile.privacy.ledger.entry import Beside, Decide, Entry, Refusal, Refuse
from voile.privacy.ledger.facts import LedgerFacts
from voile.privacy.ledger.head import Head


class MemoryBook:
    """Entries in a list under a lock; useless, and therefore refused, in any other process."""

    url = None

    def __init__(self, facts: LedgerFacts) -> None:
        self._facts = facts
        self._entries: list[Entry] = []
        self._refusals: list[Refusal] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def facts(self) -> LedgerFacts:
        """What is true of the whole ledger."""
        return self._facts

    def append(self, decide: Decide, beside: Beside | None = None) -> Entry:
        """Decide on and store the next entry."""
        if os.getpid() != self._process:
            raise LedgerError(
                "A ledger in memory cannot be used in a forked process: its copy would spend the "
                "budget a second time. Give the ledger a file: Ledger('ledger.db', budget)."
            )
        with self._lock:
            entry = decide(self._entries[-1] if self._entries else None)
            if beside is not None:
                beside(None, entry)
            self._entries.append(entry)
            return entry

    def last(self) -> Entry | None:
        """The newest entry."""
        with self._lock:
            return self._entries[-1] if self._entries else None

    def entries(self, after: int = 0) -> list[Entry]:
        """All entries after the given number, oldest first."""
        with self._lock:
            return self._entries[max(after, 0) :]

    def refuse(self, decide: Refuse) -> Refusal:
        """Record an attempt that was refused."""
        with self._lock:
            refusal = decide(self._refusals[-1] if self._refusals else None)
            self._refusals.append(refusal)
            return refusal

    def refusals(self) -> list[Refusal]:
        """All attempts that were refused, oldest first."""
        with self._lock:
            return list(self._refusals)

    def head(self) -> Head:
        """What to keep elsewhere, so that an older or changed copy is noticed."""
        entries, refusals = self.entries(), self.refusals()
        return Head(
            len(entries),
            entries[-1].digest if entries else beginning_of(self._facts),
            len(refusals),
            refusals[-1].digest if refusals else beginning_of_refusals(self._facts),
        )

    def verify(self) -> None:
        """Nothing to check: nobody can reach this memory but this process."""
