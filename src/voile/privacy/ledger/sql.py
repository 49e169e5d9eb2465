"""A ledger in a SQLite file or a PostgreSQL database (SQLAlchemy Core).

SQLite keeps a rollback journal, not a write-ahead log: after each commit the one ``.db`` file holds
everything, so that a plain copy of it forgets nothing. Its connections are opened per transaction.
Those to PostgreSQL are kept, per process: nothing is inherited through fork.

A file is made once and from then on only opened: a ledger that was deleted, replaced or set back to
an old copy under a running job is an error, never a fresh budget.
"""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import NullPool

from voile.errors import LedgerMismatch, LedgerUnavailable, MissingExtra, VoileError
from voile.privacy.events import Plan
from voile.privacy.filter import Amount
from voile.privacy.ledger.entry import UNNAMED, Decide, Entry, EntryKind, Facts
from voile.privacy.ledger.turn import turn

T = TypeVar("T")

_BUSY_SECONDS = 300
"""How long a spend waits for others to finish theirs."""

_PATIENCE_SECONDS = 10
"""How long it waits in line before it asks the database itself (SQLite)."""

_LOCK = 0x766F696C65  # "voile": the advisory lock under which PostgreSQL tables are made

_metadata = sa.MetaData()
_books = sa.Table(
    "voile_ledger",
    _metadata,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("facts", sa.Text, nullable=False),
)
_entries = sa.Table(
    "voile_entry",
    _metadata,
    sa.Column("dataset", sa.String(200), sa.ForeignKey(_books.c.dataset), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
    # Text, because a float must come back with every bit from any database.
    sa.Column("price_loss", sa.String(32), nullable=False),
    sa.Column("price_chance", sa.String(32), nullable=False),
    sa.Column("total_loss", sa.String(32), nullable=False),
    sa.Column("total_chance", sa.String(32), nullable=False),
    sa.Column("alone", sa.Boolean, nullable=False),
    sa.Column("parent", sa.String(32)),
)

# Built once: making a statement anew costs more than running it.
_of_dataset = sa.select(_entries).where(_entries.c.dataset == sa.bindparam("dataset"))
_all = _of_dataset.where(_entries.c.seq > sa.bindparam("after")).order_by(_entries.c.seq)
_newest = _of_dataset.order_by(_entries.c.seq.desc()).limit(1)
_one = _of_dataset.where(_entries.c.seq == sa.bindparam("seq"))
_insert = sa.insert(_entries)
_lock = (
    sa.select(_books.c.dataset).where(_books.c.dataset == sa.bindparam("dataset")).with_for_update()
)

_REFUSE = "SELECT RAISE(ABORT, 'the ledger is append-only')"

_APPEND_ONLY = {
    "sqlite": [
        *(
            f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb.upper()} ON {table} "
            f"BEGIN {_REFUSE}; END"
            for table in ("voile_ledger", "voile_entry")
            for verb in ("update", "delete")
        ),
        # INSERT OR REPLACE removes rows without asking the triggers above.
        "CREATE TRIGGER voile_ledger_no_replace BEFORE INSERT ON voile_ledger WHEN EXISTS "
        f"(SELECT 1 FROM voile_ledger WHERE dataset = NEW.dataset) BEGIN {_REFUSE}; END",
        "CREATE TRIGGER voile_entry_no_replace BEFORE INSERT ON voile_entry WHEN EXISTS "
        "(SELECT 1 FROM voile_entry WHERE dataset = NEW.dataset AND seq = NEW.seq) "
        f"OR EXISTS (SELECT 1 FROM voile_entry WHERE id = NEW.id) BEGIN {_REFUSE}; END",
    ],
    "postgresql": [
        "CREATE OR REPLACE FUNCTION voile_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$",
        *(
            f"CREATE OR REPLACE TRIGGER {table}_{name} BEFORE {verbs} ON {table} "
            f"FOR EACH {scope} EXECUTE FUNCTION voile_append_only()"
            for table in ("voile_ledger", "voile_entry")
            for name, verbs, scope in (
                ("append_only", "UPDATE OR DELETE", "ROW"),
                ("no_truncate", "TRUNCATE", "STATEMENT"),
            )
        ),
    ],
}

_PREPARE_POSTGRES = (
    f"SELECT set_config('lock_timeout', '{_BUSY_SECONDS}s', true), "
    "CASE current_setting('synchronous_commit') "
    "WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
)
"""A commit is on disk when it returns, whatever the server's default is."""


def url_of(where: str | Path) -> str:
    """SQLAlchemy url of a path or url; a path becomes absolute, so that chdir loses nothing."""
    text = str(where)
    if "://" not in text:
        return f"sqlite:///{Path(text).expanduser().resolve()}"
    if text.startswith("sqlite:///"):
        return f"sqlite:///{Path(text.removeprefix('sqlite:///')).expanduser().resolve()}"
    for prefix in ("postgresql://", "postgres://"):
        if text.startswith(prefix):
            return f"postgresql+psycopg://{text.removeprefix(prefix)}"
    if text.startswith("postgresql+psycopg://"):
        return text
    raise LedgerMismatch(
        f"A ledger lives in memory, in a SQLite file or in PostgreSQL, not at {_shown(text)!r}."
    )


def _shown(url: str) -> str:
    """The url without anything that may be secret: no password, no options."""
    try:
        return sa.engine.make_url(url).set(query={}).render_as_string(hide_password=True)
    except (sa.exc.ArgumentError, ValueError):
        return f"{url.partition('://')[0]}://..."


class SqlBook:
    """Entries in a database; every append is one durable transaction."""

    def __init__(self, url: str, dataset: str | None, facts: Callable[[], Facts]) -> None:
        self.url: str = url
        self._path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else None
        self._name = _shown(url) if self._path is None else str(self._path)
        self._engine = _postgres(url) if self._path is None else _sqlite(self._path)
        self._process = os.getpid()
        # A pooled connection must not outlive its book, nor be closed by a forked child.
        weakref.finalize(self, _let_go, self._engine, self._process)
        self._seen: Entry | None = None
        if self._path is not None:
            self._make_file(self._path, facts)
        self._facts = self._transaction(lambda c: self._open(c, dataset, facts))

    def facts(self) -> Facts:
        """What is true of the whole ledger."""
        return self._facts

    def append(self, decide: Decide) -> Entry:
        """Read the last entry, decide, insert, commit: all or nothing."""
        entry = self._transaction(lambda c: self._append(c, decide))
        self._seen = entry  # only now: what was not committed was never there
        return entry

    def last(self) -> Entry | None:
        """The newest entry."""
        return self._transaction(self._last)

    def entries(self, after: int = 0) -> list[Entry]:
        """All entries after the given number, oldest first."""
        mine = {"dataset": self._facts.dataset, "after": after}
        rows = self._transaction(lambda c: c.execute(_all, mine).mappings().all())
        return [_entry(row) for row in rows]

    def _make_file(self, path: Path, facts: Callable[[], Facts]) -> None:
        try:
            if not path.exists():
                facts()  # no empty file is left behind if there is no budget
                path.touch()
        except OSError as error:
            raise self._unavailable(error) from error

    def _open(
        self, connection: sa.Connection, dataset: str | None, facts: Callable[[], Facts]
    ) -> Facts:
        postgres = connection.dialect.name == "postgresql"
        if postgres:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        inspector = sa.inspect(connection)
        tables = [inspector.has_table(table.name) for table in (_books, _entries)]
        if any(tables) and not all(tables):
            raise LedgerMismatch(
                f"The ledger {self._name} is damaged: one of its two tables is gone. Restore a "
                "copy that has both."
            )
        if not any(tables):
            made = facts()
            _metadata.create_all(connection)
            for statement in _APPEND_ONLY[connection.dialect.name]:
                connection.exec_driver_sql(statement)
        else:
            rows = connection.execute(sa.select(_books)).all()
            stored = {row.dataset: row.facts for row in rows}
            if dataset is None and stored:
                # Never a fresh budget because a name was forgotten.
                dataset = next(iter(stored)) if len(stored) == 1 else UNNAMED
                if dataset not in stored:
                    raise LedgerMismatch(
                        f"The database {self._name} holds ledgers of several data sets: say which, "
                        "Ledger(..., dataset='...')."
                    )
            if dataset is not None and dataset in stored:
                return Facts.from_json(dataset, stored[dataset])
            if stored and not postgres:
                raise LedgerMismatch(
                    f"The ledger {self._name} belongs to the data set "
                    f"{next(iter(stored))!r}, not to {dataset!r}: give each data set a file of "
                    "its own."
                )
            made = facts()
        connection.execute(sa.insert(_books).values(dataset=made.dataset, facts=made.to_json()))
        return made

    def _append(self, connection: sa.Connection, decide: Decide) -> Entry:
        if connection.dialect.name == "postgresql":
            # Serialises all spenders of this data set; SQLite already did with BEGIN IMMEDIATE.
            connection.execute(_lock, {"dataset": self._facts.dataset})
        entry = decide(self._last(connection))
        connection.execute(_insert, _row(self._facts.dataset, entry))
        return entry

    def _last(self, connection: sa.Connection) -> Entry | None:
        mine = {"dataset": self._facts.dataset}
        row = connection.execute(_newest, mine).mappings().first()
        seen = self._seen
        if seen is not None:
            again = row
            if row is not None and row["seq"] != seen.seq:
                again = connection.execute(_one, {**mine, "seq": seen.seq}).mappings().first()
            if again is None or again["id"] != seen.id:
                raise LedgerMismatch(
                    f"The ledger {self._name} no longer holds entry {seen.seq}, which this process "
                    "has seen in it: it was replaced, or an old copy was restored, and what was "
                    "spent is forgotten there. Put the newest copy back."
                )
        self._seen = None if row is None else _entry(row)
        return self._seen

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
        except (sa.exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> LedgerUnavailable:
        lines = str(getattr(error, "orig", None) or error).strip().splitlines()
        reason = lines[0] if lines else type(error).__name__
        with suppress(OSError):
            if self._path is not None and self._path.parent.exists() and not self._path.exists():
                reason = "the file is gone"
        return LedgerUnavailable(
            f"The ledger {self._name} does not answer ({reason}). Nothing was released. "
            "Check the path, the free space and the database, then try again."
        )


def _let_go(engine: sa.Engine, process: int) -> None:
    engine.dispose(close=os.getpid() == process)


def _sqlite(path: Path) -> sa.Engine:
    def connect() -> sqlite3.Connection:
        # mode=rw never makes a file. The driver's own implicit transactions are off: BEGIN
        # IMMEDIATE takes the write lock before the running total is read.
        return sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
        )

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # EXTRA also syncs the folder after the journal is gone, so a power cut cannot undo a commit.
    connection.execute("PRAGMA synchronous=EXTRA")


def _begin_immediate(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgres(url: str) -> sa.Engine:
    try:
        engine = sa.create_engine(
            url,
            # Opening a connection takes longer than a spend; a stale one is noticed and replaced.
            pool_size=2,
            max_overflow=30,
            pool_pre_ping=True,
            # Each statement sees what was committed before it, also after waiting for a lock.
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": 10},
        )
    except ImportError as error:
        raise MissingExtra("psycopg", "postgres") from error
    except (sa.exc.ArgumentError, ValueError):
        raise LedgerMismatch(
            f"The url {_shown(url)} cannot be read: it must look like "
            "postgresql://user:password@host:5432/database, with special characters "
            "percent-encoded."
        ) from None
    event.listen(engine, "begin", _begin_postgres)
    return engine


def _begin_postgres(connection: sa.Connection) -> None:
    connection.exec_driver_sql(_PREPARE_POSTGRES)


def _row(dataset: str, entry: Entry) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "seq": entry.seq,
        "id": entry.id,
        "at": entry.at,
        "who": entry.who,
        "what": entry.what,
        "kind": str(entry.kind),
        "plan": json.dumps(entry.plan.to_dict()),
        "price_loss": repr(float(entry.price.loss)),
        "price_chance": repr(float(entry.price.chance)),
        "total_loss": repr(float(entry.total.loss)),
        "total_chance": repr(float(entry.total.chance)),
        "alone": entry.alone,
        "parent": entry.parent,
    }


def _entry(row: Any) -> Entry:
    try:
        return Entry(
            seq=int(row["seq"]),
            id=row["id"],
            at=row["at"],
            who=row["who"],
            what=row["what"],
            kind=EntryKind(row["kind"]),
            plan=Plan.from_dict(json.loads(row["plan"])),
            price=Amount(float(row["price_loss"]), float(row["price_chance"])),
            total=Amount(float(row["total_loss"]), float(row["total_chance"])),
            alone=bool(row["alone"]),
            parent=row["parent"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerMismatch(
            f"Entry {row['seq']} of the ledger cannot be read ({error}): the ledger is damaged. "
            "Restore a copy of it."
        ) from error
