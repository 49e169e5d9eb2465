"""The lines of federated jobs beside a ledger's entries: in its database, or in memory with it.

One agent works for a client at a time: it holds a lock for its life. Whoever works without it, or
from an older state, finds that the last line is not the one it knows, and nothing is written.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from voile.errors import FederationError, LedgerMismatch, LedgerUnavailable
from voile.files import hold_file
from voile.privacy.ledger import tables
from voile.privacy.ledger.entry import Beside, Entry
from voile.privacy.ledger.facts import LedgerFacts
from voile.privacy.ledger.job_lines import JobLine, beginning_of_job, follow_job, next_line
from voile.privacy.ledger.ledger import Ledger
from voile.privacy.ledger.sql import SqlBook

Content = Mapping[str, Any]


class Jobs(Protocol):
    """Lines of jobs by the job's key; written by one agent, after the last line it knows."""

    def lines(self, job: str) -> tuple[JobLine, ...]:
        """All lines of a job, oldest first, each checked against the one before."""

    def add(self, job: str, last: JobLine | None, kind: str, content: Content) -> JobLine:
        """Write the next line, durably; refused if ``last`` is not the last one any more."""

    def beside(
        self,
        job: str,
        last: JobLine | None,
        kind: str,
        content: Callable[[Entry], Content],
        made: Callable[[JobLine], None],
    ) -> Beside:
        """The same in the transaction of an entry; ``made`` gets the line."""

    def hold(self, client: str) -> Callable[[], None]:
        """Keep all other agents of a client away; call what it returns to let go."""


class MemoryJobs:
    """Lines in this process, for ledgers in memory: they live as long as the ledger."""

    def __init__(self, facts: LedgerFacts) -> None:
        self._facts = facts
        self._lines: dict[str, list[JobLine]] = {}
        self._lock, self._process = threading.Lock(), os.getpid()

    def lines(self, job: str) -> tuple[JobLine, ...]:
        """All lines of a job."""
        with self._lock:
            return tuple(self._lines.get(job, ()))

    def add(self, job: str, last: JobLine | None, kind: str, content: Content) -> JobLine:
        """Write the next line."""
        if os.getpid() != self._process:
            raise _another_run()  # a copy of it in a forked process knows nothing of this one's
        with self._lock:
            known = self._lines.setdefault(job, [])
            if (known[-1] if known else None) != last:
                raise _another_run()
            before = beginning_of_job(self._facts, job) if last is None else last.digest
            known.append(next_line(job, len(known) + 1, before, kind, content))
            return known[-1]

    def beside(
        self,
        job: str,
        last: JobLine | None,
        kind: str,
        content: Callable[[Entry], Content],
        made: Callable[[JobLine], None],
    ) -> Beside:
        """The same together with an entry."""
        return lambda _, entry: made(self.add(job, last, kind, content(entry)))

    def hold(self, client: str) -> Callable[[], None]:
        """Nothing to hold: nobody but this process has the ledger, and lines follow each other."""
        return _nothing


class SqlJobs:
    """Lines in the ledger's own database; each is one durable transaction."""

    def __init__(self, book: SqlBook) -> None:
        self._book, self._facts = book, book.facts()
        book._transaction(tables.make_job_table)

    def lines(self, job: str) -> tuple[JobLine, ...]:
        """All lines of a job, checked."""
        return self._book._transaction(lambda c: self._read(c, job))

    def add(self, job: str, last: JobLine | None, kind: str, content: Content) -> JobLine:
        """Write the next line, durably."""
        return self._book._transaction(lambda c: self._add(c, job, last, kind, content))

    def beside(
        self,
        job: str,
        last: JobLine | None,
        kind: str,
        content: Callable[[Entry], Content],
        made: Callable[[JobLine], None],
    ) -> Beside:
        """The same in the transaction of an entry."""
        return lambda c, entry: made(self._add(c, job, last, kind, content(entry)))

    def hold(self, client: str) -> Callable[[], None]:
        """A lock on a file beside the ledger, or one that the database server keeps."""
        key = beginning_of_job(self._facts, f"agent of {client}")
        path = self._book._path
        if path is None:
            return self._hold_on_server(client, int.from_bytes(bytes.fromhex(key[:14]), "big"))
        held = hold_file(path.with_name(f"{path.name}.{key[:12]}.lock"))
        if held is None:
            raise FederationError(
                f"Client {client!r} works with the ledger {path} already, in another process or in "
                "this one: close that agent first (ClientAgent.close, Federation.close)."
            )
        return held

    def _hold_on_server(self, client: str, key: int) -> Callable[[], None]:
        connection = self._book._engine.connect()
        try:
            free = connection.execute(sa.select(sa.func.pg_try_advisory_lock(key))).scalar()
            connection.commit()  # the lock belongs to the connection, not to the transaction
        except sa.exc.SQLAlchemyError as error:
            connection.close()
            raise LedgerUnavailable(
                f"The ledger does not answer ({type(error).__name__})."
            ) from error
        if not free:
            connection.close()
            raise FederationError(
                f"Client {client!r} works with this ledger already: close that agent first."
            )
        process = os.getpid()

        def let_go() -> None:
            # The connection may be lost, and its lock with it; a forked child has no part in it.
            if os.getpid() == process:
                connection.invalidate()
                connection.close()

        return let_go

    def _read(self, connection: sa.Connection, job: str) -> tuple[JobLine, ...]:
        mine = {"dataset": self._facts.dataset, "job": job}
        rows = connection.execute(tables.lines_of_job, mine).mappings()
        return follow_job(self._facts, job, [{str(k): v for k, v in row.items()} for row in rows])

    def _add(
        self, connection: sa.Connection, job: str, last: JobLine | None, kind: str, content: Content
    ) -> JobLine:
        self._book._hold(connection)
        mine = {"dataset": self._facts.dataset, "job": job}
        row = connection.execute(tables.last_line_of_job, mine).mappings().first()
        known = None if last is None else {"dataset": self._facts.dataset, **last.stored(job)}
        if (None if row is None else {str(k): v for k, v in row.items()}) != known:
            raise _another_run()
        before = beginning_of_job(self._facts, job) if last is None else last.digest
        line = next_line(job, 1 if last is None else last.seq + 1, before, kind, content)
        stored = {"dataset": self._facts.dataset, **line.stored(job)}
        connection.execute(tables.insert_job_line, stored)
        row = connection.execute(tables.last_line_of_job, mine).mappings().first()
        if row is None or dict(row) != stored:
            raise LedgerMismatch("The ledger's database does not keep what is written.")
        return line


_IN_MEMORY: WeakKeyDictionary[Ledger, MemoryJobs] = WeakKeyDictionary()


def open_jobs(ledger: Ledger) -> Jobs:
    """The federated jobs of a ledger: in its database, or beside it in memory."""
    book = ledger._book
    if isinstance(book, SqlBook):
        return SqlJobs(book)
    return _IN_MEMORY.setdefault(ledger, MemoryJobs(book.facts()))


def _nothing() -> None:
    """There is nothing to let go of."""


def _another_run() -> LedgerMismatch:
    return LedgerMismatch(
        "Another run of this client has written into this job, or an older copy of the ledger was "
        "put back while this one works: nothing is answered. Let one agent work for a client."
    )
