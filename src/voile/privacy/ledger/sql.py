"""A ledger in a SQLite file or a PostgreSQL database (SQLAlchemy Core).

SQLite keeps a rollback journal, not a write-ahead log: after each commit the one ``.db`` file holds
everything, so that a plain copy of it forgets nothing. Its connections are opened per transaction.
Those to PostgreSQL are kept, per process: nothing is inherited through fork.

A file is made once, whole, under another name, and from then on only opened: what exists and is no
ledger, or was deleted, replaced, changed or set back to an old copy, is an error, never a fresh
budget. Every opening reads all lines and checks what follows from them (chain.py).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import uuid
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from voile.errors import LedgerMismatch, LedgerUnavailable, VoileError
from voile.privacy.ledger import tables
from voile.privacy.ledger.chain import Chain, follow_refusals, tampered
from voile.privacy.ledger.digest import Stored, beginning_of, beginning_of_refusals
from voile.privacy.ledger.engines import postgres_engine, shown_url, sqlite_engine, unreadable_file
from voile.privacy.ledger.entry import Beside, Decide, Entry, Refusal, Refuse
from voile.privacy.ledger.facts import UNNAMED, LedgerFacts
from voile.privacy.ledger.head import Head
from voile.privacy.ledger.job_lines import check_jobs
from voile.privacy.ledger.turn import turn

T = TypeVar("T")

_PATIENCE_SECONDS = 10
"""How long it waits in line before it asks the database itself (SQLite)."""

_LOCK = 0x766F696C65  # "voile": the advisory lock under which PostgreSQL tables are made

_DAMAGED_FILE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_NO_RIGHT = "42501"  # PostgreSQL's code for a missing right


class SqlBook:
    """Entries in a database; every append is one durable transaction."""

    def __init__(self, url: str, dataset: str | None, facts: Callable[[], LedgerFacts]) -> None:
        self.url: str = url
        self._path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else None
        self._name = shown_url(url) if self._path is None else str(self._path)
        self._engine = postgres_engine(url) if self._path is None else sqlite_engine(self._path)
        self._process = os.getpid()
        # A pooled connection must not outlive its book, nor be closed by a forked child.
        weakref.finalize(self, _let_go, self._engine, self._process)
        if self._path is not None:
            self._make_file(self._path, facts)
        self._facts = self._transaction(lambda c: self._open(c, dataset, facts))
        self._chain = Chain(self._facts)
        self._transaction(self._follow)

    def facts(self) -> LedgerFacts:
        """What is true of the whole ledger."""
        return self._facts

    def append(self, decide: Decide, beside: Beside | None = None) -> Entry:
        """Read the last entry, decide, insert, commit: all or nothing."""
        chain, entry = self._transaction(lambda c: self._append(c, decide, beside))
        # Only now: what was not committed was never there.
        self._know(chain.follow(entry.fields(), entry.digest, entry.signature))
        return entry

    def last(self) -> Entry | None:
        """The newest entry."""
        return self._transaction(self._follow).last

    def entries(self, after: int = 0) -> list[Entry]:
        """All entries after the given number, oldest first."""
        self._transaction(self._follow)
        rows = self._transaction(lambda c: self._lines(c, max(after, 0) + 1))
        chain, found = Chain(self._facts), list[Entry]()
        for fields, digest, signature in rows:
            if after <= 0:
                chain = chain.follow(fields, digest, signature)
                assert chain.last is not None
                found.append(chain.last)
            else:  # all were followed above; a long history is not followed again for a few
                found.append(_entry(fields, digest, signature))
        return found

    def refuse(self, decide: Refuse) -> Refusal:
        """Record an attempt that was refused."""

        def work(connection: sa.Connection) -> Refusal:
            self._hold(connection)
            row = connection.execute(tables.last_refusal, self._mine).mappings().first()
            last = None
            if row is not None:
                (fields, digest, _) = _stored(row)
                last = _refusal(fields, digest)
            refusal = decide(last)
            values = {**refusal.fields(), "digest": refusal.digest}
            connection.execute(tables.insert_refusal, {**self._mine, **values})
            self._read_back(connection, tables.one_refusal, refusal.seq, values)
            return refusal

        return self._transaction(work)

    def refusals(self) -> list[Refusal]:
        """All attempts that were refused, oldest first."""
        rows = self._transaction(
            lambda c: c.execute(tables.all_refusals, self._mine).mappings().all()
        )
        lines = [_stored(row) for row in rows]
        return follow_refusals(self._facts, [(fields, digest) for fields, digest, _ in lines])

    def head(self) -> Head:
        """What to keep elsewhere, so that an older or changed copy is noticed."""

        def work(connection: sa.Connection) -> Head:
            last = self._follow(connection).last
            rows = connection.execute(tables.all_refusals, self._mine).mappings().all()
            lines = [_stored(row)[:2] for row in rows]
            refused = follow_refusals(self._facts, lines)
            writes, file = _file_of(self._path)  # nobody else writes during this transaction
            return Head(
                0 if last is None else last.seq,
                beginning_of(self._facts) if last is None else last.digest,
                len(refused),
                refused[-1].digest if refused else beginning_of_refusals(self._facts),
                writes,
                file,
            )

        return self._transaction(work)

    def verify(self) -> None:
        """Check everything stored from the beginning, and where it is stored."""

        def work(connection: sa.Connection) -> None:
            self._open(connection, self._facts.dataset, _none)
            chain, ids = Chain(self._facts), set[str]()
            for line in self._lines(connection, 1):
                chain = chain.follow(*line)
                ids.add(str(line[0]["id"]))
            check_jobs(connection, self._facts, ids)
            of_mine = tables.entries.c.dataset == self._facts.dataset
            count = sa.select(sa.func.count()).select_from(tables.entries)
            if self._path is None:
                count = count.where(of_mine)
            if connection.execute(count).scalar() != (chain.last.seq if chain.last else 0):
                raise tampered("there are lines that belong to no ledger")
            if self._path is not None:
                report = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
                if report != ["ok"]:
                    raise tampered("the file is not whole")

        self._transaction(work)
        self.refusals()
        if self._path is not None:
            _check_header(self._path)

    @property
    def _mine(self) -> dict[str, Any]:
        return {"dataset": self._facts.dataset}

    def _make_file(self, path: Path, facts: Callable[[], LedgerFacts]) -> None:
        """Make a file whole under another name, so that none is ever there in part."""
        new = path.with_name(f".{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.new")
        try:
            if path.exists():
                return
            made = facts()  # nothing is left behind if there is no budget
            new.touch(exist_ok=False)
            try:
                with sqlite_engine(new).begin() as connection:
                    tables.make_tables(connection)
                    _insert_facts(connection, made)
                with suppress(FileExistsError):  # another process was quicker: its ledger counts
                    _link(new, path)
            finally:
                new.unlink(missing_ok=True)
        except (sa.exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error

    def _open(
        self, connection: sa.Connection, dataset: str | None, facts: Callable[[], LedgerFacts]
    ) -> LedgerFacts:
        postgres = connection.dialect.name == "postgresql"
        if postgres:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        inspector = sa.inspect(connection)
        there = [inspector.has_table(table.name) for table in tables.TABLES]
        if not any(there) and not postgres:
            raise LedgerMismatch(
                f"The file {self._name} exists and is no ledger: it is empty or holds something "
                "else. If a ledger was there, put its newest copy back; if there never was one, "
                "give another path, or remove the file."
            )
        if any(there) and not all(there):
            raise LedgerMismatch(
                f"The ledger {self._name} is damaged, or of an older format: one of its tables is "
                "gone. Restore a copy that has all of them."
            )
        if any(there):
            stranger = tables.find_strangers(connection)
            if stranger is not None:
                raise tampered(stranger)
            rows = connection.execute(sa.select(tables.books)).all()
            stored = {row.dataset: row.facts for row in rows}
            if not postgres and len(stored) != 1:
                raise tampered("a file holds one ledger, and this one does not")
            if dataset is None and stored:
                # Never a fresh budget because a name was forgotten.
                dataset = next(iter(stored)) if len(stored) == 1 else UNNAMED
                if dataset not in stored:
                    raise LedgerMismatch(
                        f"The database {self._name} holds ledgers of several data sets: say which, "
                        "Ledger(..., dataset='...')."
                    )
            if dataset is not None and dataset in stored:
                return LedgerFacts.from_json(dataset, stored[dataset])
            if not postgres:
                raise LedgerMismatch(
                    f"The ledger {self._name} belongs to the data set "
                    f"{next(iter(stored), None)!r}, not to {dataset!r}: give each data set a file "
                    "of its own."
                )
        made = facts()
        if not any(there):
            tables.make_tables(connection)
        _insert_facts(connection, made)
        return made

    def _append(
        self, connection: sa.Connection, decide: Decide, beside: Beside | None
    ) -> tuple[Chain, Entry]:
        self._hold(connection)
        chain = self._follow(connection)
        entry = decide(chain.last)
        values = {**entry.fields(), "digest": entry.digest, "signature": entry.signature}
        connection.execute(tables.insert_entry, {**self._mine, **values})
        self._read_back(connection, tables.one_entry, entry.seq, values)
        if beside is not None:
            beside(connection, entry)
        return chain, entry

    def _read_back(
        self, connection: sa.Connection, query: sa.Select[Any], seq: int, values: Mapping[str, Any]
    ) -> None:
        """A line counts as written when it stands there: a database can be told to drop it."""
        row = connection.execute(query, {**self._mine, "seq": seq}).mappings().first()
        if row is None or dict(row) != {**self._mine, **values}:
            raise tampered("its database does not keep what is written")

    def _hold(self, connection: sa.Connection) -> None:
        """Keep all other spenders of this data set out until the transaction ends.

        With SQLite, BEGIN IMMEDIATE has done that already.
        """
        facts = connection.execute(tables.hold_book, self._mine).scalar()
        if facts != self._facts.to_json():
            raise LedgerMismatch(
                f"The ledger {self._name} is no longer the one that was opened: it was replaced. "
                "Put the newest copy back."
            )

    def _follow(self, connection: sa.Connection) -> Chain:
        """Read and check what was added since this process looked last."""
        chain = self._chain
        seen = chain.last
        lines = self._lines(connection, 1 if seen is None else seen.seq)
        if seen is not None:
            again = lines.pop(0) if lines else None
            if again != (seen.fields(), seen.digest, seen.signature):
                raise LedgerMismatch(
                    f"The ledger {self._name} no longer holds entry {seen.seq}, which this process "
                    "has seen in it: it was replaced, or an old copy was restored, and what was "
                    "spent is forgotten there. Put the newest copy back."
                )
        for line in lines:
            chain = chain.follow(*line)
        self._know(chain)
        return chain

    def _know(self, chain: Chain) -> None:
        """Remember what was read; another thread may have read further meanwhile."""
        known = self._chain.last
        if chain.last is not None and (known is None or chain.last.seq >= known.seq):
            self._chain = chain

    def _lines(self, connection: sa.Connection, first: int) -> list[_Line]:
        found = connection.execute(tables.entries_from, {**self._mine, "first": first})
        return [_stored(row) for row in found.mappings()]

    def _transaction(self, work: Callable[[sa.Connection], T]) -> T:
        if os.getpid() != self._process:
            self._engine.dispose(close=False)  # the connections are the parent's
            self._process = os.getpid()
        path = self._path
        line = nullcontext() if path is None else turn(path.parent, _PATIENCE_SECONDS)
        try:
            with line, self._engine.begin() as connection:
                return work(connection)
        except VoileError:
            raise
        except UnicodeError as error:  # the driver decodes names and messages of a damaged file
            raise tampered(f"the file {self._name} cannot be read") from error
        except (sa.exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> LedgerUnavailable | LedgerMismatch:
        cause = getattr(error, "orig", None) or error
        lines = str(cause).strip().splitlines()
        reason = lines[0] if lines else type(error).__name__
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in _DAMAGED_FILE:
            return unreadable_file(self._path, self._name, reason)
        if getattr(cause, "sqlstate", None) == _NO_RIGHT:
            return LedgerUnavailable(
                f"The ledger {self._name} does not let this user in ({reason}). Nothing was "
                "released. Ask its owner for the right to read and add lines (SELECT, INSERT and "
                "UPDATE on the tables voile_*; CREATE to make the first ledger)."
            )
        with suppress(OSError):
            if self._path is not None and self._path.parent.exists() and not self._path.exists():
                reason = "the file is gone"
        return LedgerUnavailable(
            f"The ledger {self._name} does not answer ({reason}). Nothing was released without it. "
            "Check the path, the free space and the database, then try again."
        )


_Line = tuple[dict[str, Stored], Any, Any]


def _none() -> LedgerFacts:
    raise LedgerMismatch("The ledger is gone: put its newest copy back.")


def _insert_facts(connection: sa.Connection, made: LedgerFacts) -> None:
    values = {"dataset": made.dataset, "facts": made.to_json()}
    connection.execute(sa.insert(tables.books).values(**values))


def _let_go(engine: sa.Engine, process: int) -> None:
    engine.dispose(close=os.getpid() == process)


def _link(new: Path, path: Path) -> None:
    """Give a whole file its name, never over another one."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # no second names on this file system
        if not path.exists():
            new.rename(path)


def _stored(row: sa.RowMapping) -> _Line:
    """A line as it is stored: what its digest covers, the digest, the signature."""
    fields: dict[str, Any] = {str(name): value for name, value in row.items()}
    del fields["dataset"]
    return fields, fields.pop("digest"), fields.pop("signature", None)


def _entry(fields: Mapping[str, Any], digest: str, signature: str | None) -> Entry:
    try:
        return Entry.from_fields(fields, digest, signature)
    except (KeyError, TypeError, ValueError, VoileError) as error:
        raise tampered(f"entry {fields['seq']!r} cannot be read") from error


def _refusal(fields: Mapping[str, Any], digest: str) -> Refusal:
    try:
        return Refusal.from_fields(fields, digest)
    except (KeyError, TypeError, ValueError, VoileError) as error:
        raise tampered("a refused attempt cannot be read") from error


def _file_of(path: Path | None) -> tuple[int | None, str | None]:
    """How often a file was written to, and its digest."""
    if path is None:
        return None, None
    content = path.read_bytes()
    return int.from_bytes(content[24:28], "big"), hashlib.sha256(content).hexdigest()


def _check_header(path: Path) -> None:
    """What SQLite itself does not look at in the first hundred bytes of a file."""
    head = path.read_bytes()[:100]
    whole = head[24:28] == head[92:96] and not any(head[72:92]) and not any(head[60:64])
    if not whole:
        raise tampered("the beginning of the file was changed")
