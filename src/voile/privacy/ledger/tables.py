"""The tables of a ledger in a database, and the guards that refuse to change a line."""

from __future__ import annotations

import sqlalchemy as sa

from voile.privacy.ledger.facts import MOST_LETTERS

metadata = sa.MetaData()
books = sa.Table(
    "voile_ledger",
    metadata,
    sa.Column("dataset", sa.String(MOST_LETTERS), primary_key=True),
    sa.Column("facts", sa.Text, nullable=False),
)
_of_a_book = (sa.String(MOST_LETTERS), sa.ForeignKey(books.c.dataset))
entries = sa.Table(
    "voile_entry",
    metadata,
    sa.Column("dataset", *_of_a_book, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("known_by", sa.String(16), nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
    # Text, because a float must come back with every bit from any database.
    sa.Column("price_loss", sa.String(32), nullable=False),
    sa.Column("price_chance", sa.String(32), nullable=False),
    sa.Column("total_loss", sa.String(32), nullable=False),
    sa.Column("total_chance", sa.String(32), nullable=False),
    sa.Column("alone", sa.Integer, nullable=False),
    sa.Column("parent", sa.String(32)),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("signature", sa.String(88)),
)
refusals = sa.Table(
    "voile_refusal",
    metadata,
    sa.Column("dataset", sa.String(MOST_LETTERS), sa.ForeignKey(books.c.dataset), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("known_by", sa.String(16), nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
)
TABLES = (books, entries, refusals)

# Built once: making a statement anew costs more than running it.
_mine: sa.BindParameter[str] = sa.bindparam("dataset")
entries_from = (
    sa.select(entries)
    .where(entries.c.dataset == _mine, entries.c.seq >= sa.bindparam("first"))
    .order_by(entries.c.seq)
)
all_refusals = sa.select(refusals).where(refusals.c.dataset == _mine).order_by(refusals.c.seq)
last_refusal = (
    sa.select(refusals).where(refusals.c.dataset == _mine).order_by(refusals.c.seq.desc()).limit(1)
)
insert_entry = sa.insert(entries)
insert_refusal = sa.insert(refusals)
hold_book = sa.select(books.c.facts).where(books.c.dataset == _mine).with_for_update()

_REFUSE = "SELECT RAISE(ABORT, 'the ledger is append-only')"


def _no_replace(table: sa.Table, same: str) -> str:
    """INSERT OR REPLACE removes rows without asking the guards against deletion."""
    return (
        f"CREATE TRIGGER {table.name}_no_replace BEFORE INSERT ON {table.name} WHEN {same} "
        f"BEGIN {_REFUSE}; END"
    )


_SAME_LINE = "EXISTS (SELECT 1 FROM {0} WHERE dataset = NEW.dataset AND seq = NEW.seq)"

SQLITE_GUARDS = {
    **{
        f"{table.name}_no_{verb}": f"CREATE TRIGGER {table.name}_no_{verb} BEFORE {verb.upper()} "
        f"ON {table.name} BEGIN {_REFUSE}; END"
        for table in TABLES
        for verb in ("update", "delete")
    },
    "voile_ledger_no_replace": _no_replace(
        books, "EXISTS (SELECT 1 FROM voile_ledger WHERE dataset = NEW.dataset)"
    ),
    "voile_entry_no_replace": _no_replace(
        entries,
        _SAME_LINE.format("voile_entry")
        + " OR EXISTS (SELECT 1 FROM voile_entry WHERE id = NEW.id)",
    ),
    "voile_refusal_no_replace": _no_replace(refusals, _SAME_LINE.format("voile_refusal")),
}
"""Triggers by name, as they stand in a file."""

_POSTGRES_FUNCTION = (
    "CREATE OR REPLACE FUNCTION voile_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$"
)
POSTGRES_GUARDS = {
    f"{table.name}_{name}": f"CREATE OR REPLACE TRIGGER {table.name}_{name} BEFORE {verbs} "
    f"ON {table.name} FOR EACH {scope} EXECUTE FUNCTION voile_append_only()"
    for table in TABLES
    for name, verbs, scope in (
        ("append_only", "UPDATE OR DELETE", "ROW"),
        ("no_truncate", "TRUNCATE", "STATEMENT"),
    )
}


def make_tables(connection: sa.Connection) -> None:
    """Make the tables and their guards."""
    metadata.create_all(connection)
    sqlite = connection.dialect.name == "sqlite"
    guards = SQLITE_GUARDS.values() if sqlite else (_POSTGRES_FUNCTION, *POSTGRES_GUARDS.values())
    for statement in guards:
        connection.exec_driver_sql(statement)


def missing_guards(connection: sa.Connection) -> list[str]:
    """Guards that are not there as they were made, by name."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql(
            "SELECT name, sql FROM sqlite_master WHERE type='trigger'"
        )
        there = {row[0]: row[1] for row in rows}
        return [name for name, text in SQLITE_GUARDS.items() if there.get(name) != text]
    of_these = ", ".join(f"'{table.name}'::regclass" for table in TABLES)
    rows = connection.exec_driver_sql(
        f"SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D' AND tgrelid IN ({of_these})"
    )
    present = {row[0] for row in rows}
    return [name for name in POSTGRES_GUARDS if name not in present]
