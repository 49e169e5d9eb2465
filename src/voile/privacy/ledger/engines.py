"""Where a ledger's database is, and how to reach it: a SQLite file or PostgreSQL."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import NullPool

from voile.errors import LedgerMismatch, MissingExtra
from voile.privacy.ledger.chain import tampered
from voile.strict import is_text

_BUSY_SECONDS = 300
"""How long a spend waits for others to finish theirs."""

_PREPARE_POSTGRES = (
    f"SELECT set_config('lock_timeout', '{_BUSY_SECONDS}s', true), "
    "CASE current_setting('synchronous_commit') "
    "WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
)
"""A commit is on disk when it returns, whatever the server's default is."""


_SQLITE, _TABLE = b"SQLite format 3\0", b"CREATE TABLE voile_"
"""What stands in every ledger that is a file, at its beginning and somewhere behind it."""
_IN_MEMORY = (":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:")


def url_of(where: str | Path) -> str:
    """SQLAlchemy url of a path or url; a path becomes absolute, so that chdir loses nothing."""
    text = str(where)
    if not is_text(text):
        raise LedgerMismatch(f"The path {text!r} has a NUL or is no text in UTF-8: rename it.")
    if text in _IN_MEMORY:
        raise LedgerMismatch(
            f"{text!r} is how SQLite calls a database in memory. A ledger in memory has no path: "
            "Ledger(Budget(epsilon=1, delta=1e-6))."
        )
    if "://" not in text:
        return f"sqlite:///{_resolved(text)}"
    if text.startswith("sqlite:///"):
        return f"sqlite:///{_resolved(text.removeprefix('sqlite:///'))}"
    for prefix in ("postgresql://", "postgres://"):
        if text.startswith(prefix):
            return f"postgresql+psycopg://{text.removeprefix(prefix)}"
    if text.startswith("postgresql+psycopg://"):
        return text
    raise LedgerMismatch(
        f"A ledger lives in memory, in a SQLite file or in PostgreSQL, not at {shown_url(text)!r}."
    )


def _resolved(text: str) -> Path:
    try:
        return Path(text).expanduser().resolve()
    except (RuntimeError, OSError) as error:  # no home folder, a loop of links
        raise LedgerMismatch(f"The path {text!r} leads nowhere: check it.") from error


def shown_url(url: str) -> str:
    """The url without anything that may be secret: no password, no options."""
    try:
        return sa.engine.make_url(url).set(query={}).render_as_string(hide_password=True)
    except (sa.exc.ArgumentError, ValueError):
        return f"{url.partition('://')[0]}://..."


def sqlite_engine(path: Path) -> sa.Engine:
    """Connections to a file that must be there; opened per transaction."""

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


def unreadable_file(path: Path | None, name: str, reason: str) -> LedgerMismatch:
    """The error that SQLite cannot read a file: a damaged ledger, or something else altogether."""
    content = b""
    with suppress(OSError):
        content = b"" if path is None else path.read_bytes()
    if content and not content.startswith(_SQLITE) and _TABLE not in content:
        return LedgerMismatch(
            f"The file {name} is no ledger, but a file of another kind: give the path of a ledger. "
            "If there was one, it is damaged: put its newest whole copy back."
        )
    return tampered(f"the file {name} cannot be read ({reason})")


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Text of a damaged file is read as it is, so that its digest tells; an error would be foreign.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    # EXTRA also syncs the folder after the journal is gone, so a power cut cannot undo a commit.
    connection.execute("PRAGMA synchronous=EXTRA")


def _begin_immediate(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def postgres_engine(url: str) -> sa.Engine:
    """Connections to a server, kept per process."""
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
            f"The url {shown_url(url)} cannot be read: it must look like "
            "postgresql://user:password@host:5432/database, with special characters "
            "percent-encoded."
        ) from None
    event.listen(engine, "begin", _begin_postgres)
    return engine


def _begin_postgres(connection: sa.Connection) -> None:
    connection.exec_driver_sql(_PREPARE_POSTGRES)
