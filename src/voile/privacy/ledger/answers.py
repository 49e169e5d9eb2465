"""Answers beside the ledger: what was released once is never paid for twice, also after a restart.

An answer is private output, so it may be kept, copied and published like the model it is about. It
is stored before it is given: whoever has seen it finds it here. The first answer to a question
stays; a second one, made at the same moment elsewhere, gives way to it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from voile.errors import LedgerMismatch
from voile.privacy.ledger.ledger import Ledger
from voile.privacy.ledger.sql import SqlBook

_ROUNDING = 1 + 1e-9
_MOST_KEYS = 500
"""Keys per statement; databases have a largest number of parameters."""

_LOCK = 0x616E737765  # "answe": the advisory lock under which PostgreSQL tables are made

_metadata = sa.MetaData()
_answerers = sa.Table(
    "voile_answerer",
    _metadata,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("facts", sa.Text, nullable=False),
    # Text, because a float must come back with every bit from any database.
    sa.Column("set_aside", sa.String(32), nullable=False),
)
_answers = sa.Table(
    "voile_answer",
    _metadata,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("key", sa.String(80), primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
)


class AnswerBook(Protocol):
    """What one answerer has answered, and what it has set aside of its allowance."""

    def facts(self, offered: Mapping[str, Any]) -> dict[str, Any]:
        """The stored public facts of this answerer; the offered ones become them if it is new."""

    def forget(self) -> None:
        """Give up a name under which nothing was stored and nothing spent."""

    def find(self, keys: Sequence[str]) -> dict[str, Any]:
        """Stored answers by key; keys without one are left out."""

    def store(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Store answers; those that were there already stay. Returns what is stored now."""

    def all(self) -> dict[str, Any]:
        """Every stored answer by key, oldest first."""

    def set_aside(self, amount: float, limit: float) -> bool:
        """Take an amount out of an allowance, or refuse; given back what was not needed."""

    def give_back(self, amount: float) -> None:
        """Return what was set aside and not spent."""

    def used(self) -> float:
        """What is set aside or spent."""


class MemoryAnswers:
    """Answers in this process' memory, for ledgers in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: dict[str, Any] | None = None
        self._answers: dict[str, str] = {}
        self._aside = 0.0

    def facts(self, offered: Mapping[str, Any]) -> dict[str, Any]:
        """The stored public facts of this answerer; the offered ones become them if it is new."""
        with self._lock:
            if self._facts is None:
                self._facts = json.loads(json.dumps(offered))
            return dict(self._facts)

    def forget(self) -> None:
        """Give up a name under which nothing was stored and nothing spent."""
        with self._lock:
            if not self._answers and self._aside <= 0:
                self._facts = None

    def find(self, keys: Sequence[str]) -> dict[str, Any]:
        """Stored answers by key; keys without one are left out."""
        with self._lock:
            found = {key: self._answers[key] for key in keys if key in self._answers}
        return {key: json.loads(text) for key, text in found.items()}

    def store(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Store answers; those that were there already stay. Returns what is stored now."""
        with self._lock:
            for key, answer in answers.items():
                # As text, so that nobody changes an answer that was given.
                self._answers.setdefault(key, json.dumps(answer))
        return self.find(list(answers))

    def all(self) -> dict[str, Any]:
        """Every stored answer by key, oldest first."""
        return self.find(list(self._answers))

    def set_aside(self, amount: float, limit: float) -> bool:
        """Take an amount out of an allowance, or refuse."""
        with self._lock:
            fits = self._aside + amount <= limit * _ROUNDING
            self._aside += amount if fits else 0.0
            return fits

    def give_back(self, amount: float) -> None:
        """Return what was set aside and not spent."""
        with self._lock:
            self._aside = max(self._aside - amount, 0.0)

    def used(self) -> float:
        """What is set aside or spent."""
        return self._aside


class SqlAnswers:
    """Answers in the ledger's own database; every change is one durable transaction."""

    def __init__(self, book: SqlBook, name: str) -> None:
        self._book = book
        self._mine = {"dataset": book.facts().dataset, "name": name}
        book._transaction(_make_tables)

    def facts(self, offered: Mapping[str, Any]) -> dict[str, Any]:
        """The stored public facts of this answerer; the offered ones become them if it is new."""
        where = self._of(_answerers)
        text = json.dumps(offered)

        def work(connection: sa.Connection) -> str:
            _hold_tables(connection)  # two who both find nothing must not both write
            row = connection.execute(sa.select(_answerers.c.facts).where(where)).first()
            if row is not None:
                return str(row.facts)
            new = sa.insert(_answerers).values(**self._mine, facts=text, set_aside="0.0")
            connection.execute(new)
            return text

        stored = _read(self._book._transaction(work))
        if not isinstance(stored, dict):
            raise _damaged()
        return stored

    def forget(self) -> None:
        """Give up a name under which nothing was stored and nothing spent."""

        def work(connection: sa.Connection) -> None:
            known = sa.select(_answers.c.key).where(self._of(_answers)).limit(1)
            if self._hold(connection) <= 0 and connection.execute(known).first() is None:
                connection.execute(sa.delete(_answerers).where(self._of(_answerers)))

        self._book._transaction(work)

    def find(self, keys: Sequence[str]) -> dict[str, Any]:
        """Stored answers by key; keys without one are left out."""
        return self._book._transaction(lambda c: self._find(c, keys))

    def store(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Store answers; those that were there already stay. Returns what is stored now."""

        def work(connection: sa.Connection) -> dict[str, Any]:
            self._hold(connection)
            there = self._find(connection, list(answers))
            new = [key for key in answers if key not in there]
            if new:
                last = connection.execute(
                    sa.select(sa.func.max(_answers.c.seq)).where(self._of(_answers))
                ).scalar()
                start = 0 if last is None else int(last) + 1
                connection.execute(
                    sa.insert(_answers),
                    [
                        {**self._mine, "key": key, "seq": seq, "answer": json.dumps(answers[key])}
                        for seq, key in enumerate(new, start)
                    ],
                )
            return {key: there.get(key, answers[key]) for key in answers}

        return self._book._transaction(work)

    def all(self) -> dict[str, Any]:
        """Every stored answer by key, oldest first."""
        query = sa.select(_answers).where(self._of(_answers)).order_by(_answers.c.seq)
        rows = self._book._transaction(lambda c: c.execute(query).all())
        return {row.key: _read(row.answer) for row in rows}

    def set_aside(self, amount: float, limit: float) -> bool:
        """Take an amount out of an allowance, or refuse."""

        def work(connection: sa.Connection) -> bool:
            used = self._hold(connection)
            fits = used + amount <= limit * _ROUNDING
            if fits:
                self._write(connection, used + amount)
            return fits

        return self._book._transaction(work)

    def give_back(self, amount: float) -> None:
        """Return what was set aside and not spent."""
        self._book._transaction(lambda c: self._write(c, max(self._hold(c) - amount, 0.0)))

    def used(self) -> float:
        """What is set aside or spent."""
        return self._book._transaction(self._hold)

    def _find(self, connection: sa.Connection, keys: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for start in range(0, len(keys), _MOST_KEYS):
            query = sa.select(_answers.c.key, _answers.c.answer).where(
                self._of(_answers), _answers.c.key.in_(keys[start : start + _MOST_KEYS])
            )
            found |= {row.key: _read(row.answer) for row in connection.execute(query)}
        return found

    def _of(self, table: sa.Table) -> sa.ColumnElement[bool]:
        return sa.and_(table.c.dataset == self._mine["dataset"], table.c.name == self._mine["name"])

    def _hold(self, connection: sa.Connection) -> float:
        """Lock this answerer's line until the transaction ends, and read what is set aside."""
        query = sa.select(_answerers.c.set_aside).where(self._of(_answerers)).with_for_update()
        row = connection.execute(query).first()
        if row is None:
            raise LedgerMismatch(
                "The ledger has lost what it knew of this explainer: an old copy was restored, or "
                "its tables were changed. Put the newest copy back."
            )
        try:
            used = float(row.set_aside)
        except (TypeError, ValueError):
            raise _damaged() from None
        if used < 0:
            raise _damaged()  # it would enlarge the allowance
        return used

    def _write(self, connection: sa.Connection, amount: float) -> None:
        connection.execute(
            sa.update(_answerers).where(self._of(_answerers)).values(set_aside=repr(amount))
        )


# One book per ledger and name, as long as the ledger lives.
_IN_MEMORY: WeakKeyDictionary[Ledger, dict[str, MemoryAnswers]] = WeakKeyDictionary()


def open_answers(ledger: Ledger, name: str) -> AnswerBook:
    """Open the answers of one answerer, in the ledger's database or beside it in memory."""
    book = ledger._book
    if isinstance(book, SqlBook):
        return SqlAnswers(book, name)
    return _IN_MEMORY.setdefault(ledger, {}).setdefault(name, MemoryAnswers())


def _make_tables(connection: sa.Connection) -> None:
    _hold_tables(connection)
    _metadata.create_all(connection)


def _hold_tables(connection: sa.Connection) -> None:
    """Let one at a time make lines; SQLite does that with every transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise _damaged() from None


def _damaged() -> LedgerMismatch:
    return LedgerMismatch(
        "What the ledger knows of this explainer cannot be read: its tables were damaged. Put a "
        "good copy back."
    )
