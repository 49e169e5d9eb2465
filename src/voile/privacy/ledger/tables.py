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
    sa.Column("price_failure", sa.String(32), nullable=False),
    sa.Column("total_loss", sa.String(32), nullable=False),
    sa.Column("total_failure", sa.String(32), nullable=False),
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

_later = sa.MetaData()
job_lines = sa.Table(
    "voile_job_line",
    _later,
    sa.Column("dataset", sa.String(MOST_LETTERS), primary_key=True),
    sa.Column("job", sa.String(64), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
)
"""Made when a client of a federation first works with the ledger (jobs.py)."""

_COLUMNS = {table.name: [one.name for one in table.columns] for table in (*TABLES, job_lines)}

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
_of_job = (job_lines.c.dataset == _mine, job_lines.c.job == sa.bindparam("job"))
lines_of_job = sa.select(job_lines).where(*_of_job).order_by(job_lines.c.seq)
last_line_of_job = sa.select(job_lines).where(*_of_job).order_by(job_lines.c.seq.desc()).limit(1)
insert_job_line = sa.insert(job_lines)
hold_book = sa.select(books.c.facts).where(books.c.dataset == _mine).with_for_update()

_REFUSE = "SELECT RAISE(ABORT, 'the ledger is append-only')"


def _no_replace(table: sa.Table, same: str) -> str:
    """INSERT OR REPLACE removes rows without asking the guards against deletion."""
    return (
        f"CREATE TRIGGER {table.name}_no_replace BEFORE INSERT ON {table.name} WHEN {same} "
        f"BEGIN {_REFUSE}; END"
    )


_SAME_LINE = "EXISTS (SELECT 1 FROM {0} WHERE dataset = NEW.dataset AND seq = NEW.seq)"

_SAME_JOB_LINE = (
    "EXISTS (SELECT 1 FROM voile_job_line "
    "WHERE dataset = NEW.dataset AND job = NEW.job AND seq = NEW.seq)"
)


def _no_change(table: sa.Table) -> dict[str, str]:
    return {
        f"{table.name}_no_{verb}": f"CREATE TRIGGER {table.name}_no_{verb} BEFORE {verb.upper()} "
        f"ON {table.name} BEGIN {_REFUSE}; END"
        for verb in ("update", "delete")
    }


SQLITE_GUARDS = {
    **{name: text for table in TABLES for name, text in _no_change(table).items()},
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

SQLITE_JOB_GUARDS = {
    **_no_change(job_lines),
    "voile_job_line_no_replace": _no_replace(job_lines, _SAME_JOB_LINE),
}
"""The same of a file that knows federated jobs."""

_POSTGRES_BODY = "BEGIN RAISE EXCEPTION 'the ledger is append-only'; END"
_POSTGRES_FUNCTION = (
    "CREATE OR REPLACE FUNCTION voile_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ {_POSTGRES_BODY} $$"
)


def _guards_on_server(table: sa.Table) -> dict[str, str]:
    return {
        f"{table.name}_{name}": f"CREATE OR REPLACE TRIGGER {table.name}_{name} BEFORE {verbs} "
        f"ON {table.name} FOR EACH {scope} EXECUTE FUNCTION voile_append_only()"
        for name, verbs, scope in (
            ("append_only", "UPDATE OR DELETE", "ROW"),
            ("no_truncate", "TRUNCATE", "STATEMENT"),
        )
    }


POSTGRES_GUARDS = {n: text for one in TABLES for n, text in _guards_on_server(one).items()}
POSTGRES_JOB_GUARDS = _guards_on_server(job_lines)
_LOCK = 0x6A6F6273  # "jobs": the advisory lock under which PostgreSQL makes the table of jobs


def make_tables(connection: sa.Connection) -> None:
    """Make the tables and their guards."""
    metadata.create_all(connection)
    sqlite = connection.dialect.name == "sqlite"
    guards = SQLITE_GUARDS.values() if sqlite else (_POSTGRES_FUNCTION, *POSTGRES_GUARDS.values())
    for statement in guards:
        connection.exec_driver_sql(statement)


def make_job_table(connection: sa.Connection) -> None:
    """Make the table of federated jobs and its guards, if they are not there."""
    sqlite = connection.dialect.name == "sqlite"
    if not sqlite:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    if sa.inspect(connection).has_table(job_lines.name):
        return
    _later.create_all(connection)
    guards = SQLITE_JOB_GUARDS if sqlite else POSTGRES_JOB_GUARDS
    for statement in guards.values():
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
    there = {row[1] for row in rows if row[0] == "table"}
    guards = SQLITE_GUARDS | (SQLITE_JOB_GUARDS if job_lines.name in there else {})
    for name, text in guards.items():
        if triggers.get(name) != text:
            return f"its guards against changes are gone ({name})"
    for kind, name, _ in rows:
        own = (
            name in guards
            if kind == "trigger"
            else name in {*_COLUMNS, *ANSWER_TABLES}
            if kind == "table"
            else kind == "index" and str(name).startswith("sqlite_autoindex_voile_")
        )
        if not own:
            return f"there is a {kind} {name!r} that is not its own"
    for name, columns in _COLUMNS.items():
        if name not in there and name == job_lines.name:
            continue
        found = connection.exec_driver_sql(f"PRAGMA table_info({name})").all()
        if [row[1] for row in found] != columns:
            return f"the table {name} has other columns"
    return None


def _strangers_on_server(connection: sa.Connection) -> str | None:
    jobs = sa.inspect(connection).has_table(job_lines.name)
    own = (*TABLES, *((job_lines,) if jobs else ()))
    guards = POSTGRES_GUARDS | (POSTGRES_JOB_GUARDS if jobs else {})
    of_these = ", ".join(f"'{table.name}'::regclass" for table in own)
    asked = connection.exec_driver_sql(
        "SELECT tgname, tgenabled::text FROM pg_trigger "
        f"WHERE NOT tgisinternal AND tgrelid IN ({of_these})"
    )
    triggers = {row[0]: row[1] for row in asked}
    for name in guards:
        # Enabled for ordinary sessions; a guard for replication alone guards nothing.
        if triggers.get(name) not in ("O", "A"):
            return f"its guards against changes are gone ({name})"
    for name in triggers:
        if name not in guards:
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
