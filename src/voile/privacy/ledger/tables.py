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
_COLUMNS = {table.name: [column.name for column in table.columns] for table in TABLES}

ANSWER_TABLES = ("voile_answerer", "voile_answer")
"""Made beside these when the first explainer keeps its answers (answers.py)."""

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
one_entry = sa.select(entries).where(
    entries.c.dataset == _mine, entries.c.seq == sa.bindparam("seq")
)
one_refusal = sa.select(refusals).where(
    refusals.c.dataset == _mine, refusals.c.seq == sa.bindparam("seq")
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

_POSTGRES_BODY = "BEGIN RAISE EXCEPTION 'the ledger is append-only'; END"
_POSTGRES_FUNCTION = (
    "CREATE OR REPLACE FUNCTION voile_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ {_POSTGRES_BODY} $$"
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


def find_strangers(connection: sa.Connection) -> str | None:
    """What is not as it was made around the lines: a guard that is gone, or anything added.

    An added trigger or rule could swallow a line that was paid for, so nothing may be added: what
    is there is compared with what Voile makes, not searched for what is known to be bad.
    """
    sqlite = connection.dialect.name == "sqlite"
    return _strangers_in_file(connection) if sqlite else _strangers_on_server(connection)


def _strangers_in_file(connection: sa.Connection) -> str | None:
    rows = connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master").all()
    triggers = {row[1]: row[2] for row in rows if row[0] == "trigger"}
    for name, text in SQLITE_GUARDS.items():
        if triggers.get(name) != text:
            return f"its guards against changes are gone ({name})"
    for kind, name, _ in rows:
        own = (
            name in SQLITE_GUARDS
            if kind == "trigger"
            else name in {*_COLUMNS, *ANSWER_TABLES}
            if kind == "table"
            else kind == "index" and str(name).startswith("sqlite_autoindex_voile_")
        )
        if not own:
            return f"there is a {kind} {name!r} that is not its own"
    for name, columns in _COLUMNS.items():
        there = connection.exec_driver_sql(f"PRAGMA table_info({name})").all()
        if [row[1] for row in there] != columns:
            return f"the table {name} has other columns"
    return None


def _strangers_on_server(connection: sa.Connection) -> str | None:
    of_these = ", ".join(f"'{table.name}'::regclass" for table in TABLES)
    asked = connection.exec_driver_sql(
        "SELECT tgname, tgenabled::text FROM pg_trigger "
        f"WHERE NOT tgisinternal AND tgrelid IN ({of_these})"
    )
    triggers = {row[0]: row[1] for row in asked}
    for name in POSTGRES_GUARDS:
        # Enabled for ordinary sessions; a guard for replication alone guards nothing.
        if triggers.get(name) not in ("O", "A"):
            return f"its guards against changes are gone ({name})"
    for name in triggers:
        if name not in POSTGRES_GUARDS:
            return f"there is a trigger {name!r} that is not its own"
    functions = connection.exec_driver_sql(
        "SELECT p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
        f"WHERE NOT t.tgisinternal AND t.tgrelid IN ({of_these})"
    )
    if any(row[0].strip() != _POSTGRES_BODY for row in functions):
        return "its guards against changes were changed"
    rules = connection.exec_driver_sql(
        f"SELECT rulename FROM pg_rewrite WHERE ev_class IN ({of_these})"
    )
    for row in rules:
        return f"there is a rule {row[0]!r} that is not its own"
    hidden = connection.exec_driver_sql(
        f"SELECT relname FROM pg_class WHERE relrowsecurity AND oid IN ({of_these})"
    )
    for row in hidden:
        return f"lines of {row[0]} may be hidden from some who read (row security)"
    return None
