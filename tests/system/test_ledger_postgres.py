"""The ledger in a real PostgreSQL: the same guarantees, kept between machines."""

import math
import pickle
import traceback

import psycopg
import pytest
from postgres import Server
from test_ledger_races import BUDGET, check_race, piece_of, run_helper
from test_ledger_races import __file__ as races

from voile import Budget, Category, Ledger, Number, Schema, protect
from voile.errors import (
    BudgetExceeded,
    FederationError,
    LedgerMismatch,
    LedgerUnavailable,
    SettingError,
)
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.questions import (
    AccessId,
    Opening,
    Payment,
    SumAnswer,
    SumOver,
    envelope,
)
from voile.privacy.clients.terms import Terms
from voile.privacy.events import Gaussian, Plan
from voile.privacy.ledger import tables
from voile.privacy.ledger.entry import new_entry
from voile.privacy.ledger.jobs import SqlJobs
from voile.privacy.mechanisms.sums import gaussian_measure
from voile.privacy.queries import RowCount
from voile.privacy.wire import Packer, Unpacker

PIECE = Plan.of(a=Gaussian(noise_multiplier=100))


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture
def database(server, request):
    """The url of a new, empty schema."""
    name = "".join(one if one.isalnum() else "_" for one in request.node.name)[-60:].lower()
    ask(server.url, f"CREATE SCHEMA {name}")
    return f"{server.url}&options=-csearch_path%3D{name}"


def ask(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None


@pytest.mark.slow
def test_sixteen_processes_never_overspend_and_lose_nothing(database):
    result = run_helper(races, "race", database, 1000, 16, 64)
    check_race(Ledger(database, dataset="race"), result["parts"], 1000, 64)


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_the_default_isolation_of_the_server_does_not_matter(database, level):
    escaped = level.replace(" ", "%5C%20")
    database += f"%20-cdefault_transaction_isolation%3D{escaped}"
    result = run_helper(races, "race", database, 60, 4, 20)
    check_race(Ledger(database, dataset="race"), result["parts"], 60, 20)
    assert ask(database, "SHOW default_transaction_isolation") == [(level,)]


@pytest.mark.slow
def test_reservations_of_many_processes_never_overspend(database):
    run_helper(races, "race_held", database, 8, 4)
    ledger = Ledger(database, dataset="race")
    history = ledger.history()
    assert all(entry.total.within(ledger.filter.limit) for entry in history)
    charges = [entry.price.loss for entry in history if entry.kind == "charge"]
    assert history[-1].total.loss == pytest.approx(math.fsum(charges), rel=1e-9)


def test_a_commit_is_on_disk_even_if_the_server_is_told_to_be_hasty(database):
    ledger = Ledger(f"{database}%20-csynchronous_commit%3Doff", BUDGET)
    setting = ledger._book._transaction(
        lambda connection: connection.exec_driver_sql("SHOW synchronous_commit").scalar()
    )
    assert setting == "on"


def test_a_forgotten_name_never_gives_a_fresh_budget(database):
    Ledger(database, BUDGET, dataset="first")
    assert Ledger(database).dataset == "first"  # there is no other it could be
    Ledger(database, BUDGET, dataset="second")
    with pytest.raises(LedgerMismatch, match="say which"):
        Ledger(database, BUDGET)


def test_one_database_keeps_many_data_sets_apart(database):
    first = Ledger(database, BUDGET, dataset="first")
    second = Ledger(database, Budget(2, 1e-5), dataset="second", filter="renyi")
    one, other = first.spend(PIECE, "x"), second.spend(PIECE, "y")
    assert Ledger(database, dataset="first").history() == (one,)
    assert Ledger(database, dataset="second").history() == (other,)
    with pytest.raises(LedgerMismatch, match="needs a budget"):
        Ledger(database, dataset="third")
    with pytest.raises(LedgerMismatch, match="budget"):
        Ledger(database, BUDGET, dataset="second")
    with pytest.raises(LedgerMismatch, match="relation"):
        Ledger(database, dataset="first", relation="replace_one")
    with pytest.raises(LedgerMismatch, match="filter"):
        Ledger(database, dataset="first", filter="renyi")


def test_a_newer_format_is_refused(database):
    Ledger(database, BUDGET)
    ask(database, "DROP TRIGGER voile_ledger_append_only ON voile_ledger")
    with pytest.raises(LedgerMismatch, match="guards against changes are gone"):
        Ledger(database, BUDGET)
    ask(
        database, "UPDATE voile_ledger SET facts = replace(facts, '\"format\": 2', '\"format\": 9')"
    )
    ask(database, tables.POSTGRES_GUARDS["voile_ledger_append_only"])
    with pytest.raises(LedgerMismatch, match="format 9"):
        Ledger(database, BUDGET)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE voile_entry SET total_loss = '0.0' WHERE seq = 2",
        "UPDATE voile_entry SET what = 'y' WHERE seq = 1",
        "DELETE FROM voile_entry WHERE seq = 1",
        "DELETE FROM voile_entry WHERE seq = 3",
        "UPDATE voile_refusal SET why = 'no reason'",
        "DELETE FROM voile_refusal",
    ],
)
def test_a_changed_ledger_is_noticed(database, statement):
    ledger = Ledger(database, BUDGET)
    for _ in range(3):
        ledger.spend(PIECE, "x")
    with pytest.raises(BudgetExceeded):
        ledger.spend(Plan.of(a=Gaussian(noise_multiplier=0.01)), "too much")
    head = str(ledger.head())
    ledger.verify(head)
    ask(database, "ALTER TABLE voile_entry DISABLE TRIGGER ALL")
    ask(database, "ALTER TABLE voile_refusal DISABLE TRIGGER ALL")
    ask(database, statement)
    with pytest.raises(LedgerMismatch, match="guards"):
        Ledger(database)
    ask(database, "ALTER TABLE voile_entry ENABLE TRIGGER ALL")
    ask(database, "ALTER TABLE voile_refusal ENABLE TRIGGER ALL")
    with pytest.raises(LedgerMismatch):
        Ledger(database).verify(head)


SWALLOW = (
    "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
)


@pytest.mark.parametrize(
    "statements",
    [
        (
            SWALLOW,
            "CREATE TRIGGER zz BEFORE INSERT ON voile_entry FOR EACH ROW "
            "EXECUTE FUNCTION swallow()",
        ),
        ("CREATE RULE zz AS ON INSERT TO voile_entry DO INSTEAD NOTHING",),
        ("ALTER TABLE voile_entry ENABLE REPLICA TRIGGER voile_entry_append_only",),
        ("ALTER TABLE voile_entry ENABLE ROW LEVEL SECURITY",),
        (
            "CREATE OR REPLACE FUNCTION voile_append_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN NULL; END $$",
        ),
    ],
    ids=["trigger", "rule", "replica", "row security", "function"],
)
def test_what_is_added_around_the_lines_is_noticed(database, statements):
    ledger = Ledger(database, BUDGET)
    ledger.spend(PIECE, "x")
    for statement in statements:
        ask(database, statement)
    with pytest.raises(LedgerMismatch, match="tampered with or damaged"):
        Ledger(database)
    if "INSERT" in statements[-1]:
        with pytest.raises(LedgerMismatch, match="does not keep what is written"):
            ledger.spend(PIECE, "swallowed")


def test_a_missing_right_is_called_so(database):
    Ledger(database, BUDGET).spend(PIECE, "x")
    ask(database, "CREATE ROLE guest LOGIN")
    schema = database.rpartition("%3D")[2]
    ask(database, f"GRANT USAGE ON SCHEMA {schema} TO guest")
    guest = database.replace("voile:s3cret@", "guest@")
    with pytest.raises(LedgerUnavailable, match=r"does not let this user in.*SELECT, INSERT"):
        Ledger(guest)
    with pytest.raises(LedgerUnavailable, match=r"does not let this user in.*SELECT, INSERT"):
        Ledger(guest, BUDGET, dataset="another")


def test_a_name_longer_than_its_column_is_refused_before_anything_is_asked(database):
    with pytest.raises(SettingError, match="200 are allowed"):
        Ledger(database, BUDGET, dataset="x" * 201)


def test_a_refusal_changes_nothing(database):
    ledger = Ledger(database, BUDGET)
    ledger.spend(piece_of(1), "x")
    history = ledger.history()
    with pytest.raises(BudgetExceeded):
        ledger.spend(piece_of(1), "y")
    assert ledger.history() == history


def test_the_tables_are_append_only(database):
    ledger = Ledger(database, BUDGET)
    for _ in range(3):
        ledger.spend(PIECE, "x")
    history = ledger.history()
    for statement in (
        "UPDATE voile_entry SET total_loss = '0.0'",
        "DELETE FROM voile_entry WHERE seq = 2",
        "DELETE FROM voile_entry",
        "TRUNCATE voile_entry",
        "UPDATE voile_ledger SET facts = '{}'",
        "DELETE FROM voile_ledger",
        "TRUNCATE voile_ledger CASCADE",
        "INSERT INTO voile_entry SELECT * FROM voile_entry WHERE seq = 2 "
        "ON CONFLICT (dataset, seq) DO UPDATE SET total_loss = '0.0'",
    ):
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            ask(database, statement)
    assert ledger.history() == history


def test_a_password_is_pickled_but_never_shown(server, database):
    plain = Ledger(database, BUDGET)
    option = Ledger(database.replace("voile:s3cret@", "") + "&user=voile&password=s3cret")
    for ledger in (plain, option):
        entry = ledger.spend(PIECE, "x")
        assert "s3cret" not in repr(ledger)
        assert "s3cret" not in str(ledger.to_dict())
        assert pickle.loads(pickle.dumps(ledger)).history()[-1] == entry
    ask(database, "DROP TABLE voile_entry")
    for ledger in (plain, option):
        with pytest.raises(LedgerUnavailable) as caught:
            ledger.spend(PIECE, "y")
        assert "s3cret" not in "".join(traceback.format_exception(caught.value))
        assert "LedgerUnavailable" in repr(ledger)
        assert "s3cret" not in repr(ledger)
    with pytest.raises(LedgerMismatch, match="damaged") as caught:
        Ledger(database, BUDGET)
    assert "s3cret" not in str(caught.value)


def test_a_dropped_and_remade_ledger_is_noticed(database):
    ledger = Ledger(database, BUDGET)
    ledger.spend(PIECE, "x")
    ask(database, "DROP TABLE voile_entry, voile_refusal, voile_ledger")
    Ledger(database, BUDGET)
    with pytest.raises(LedgerMismatch, match=r"no longer (holds entry 1|the one that was opened)"):
        ledger.spend(PIECE, "y")


def test_a_connection_cut_inside_the_transaction_spends_nothing(database):
    ledger = Ledger(database, BUDGET)
    entry = ledger.spend(PIECE, "x")

    def cut(last):
        ask(
            database,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        return new_entry(
            last, what="y", kind=entry.kind, plan=PIECE, price=entry.price, total=entry.total
        )

    with pytest.raises(LedgerUnavailable, match="does not answer"):
        ledger._book.append(cut)
    assert ledger.history() == (entry,)
    assert ledger.spend(PIECE, "z").seq == 2


def test_a_server_that_stops_is_no_fresh_budget(server, database):
    ledger = Ledger(database, BUDGET)
    entries = [ledger.spend(PIECE, "before") for _ in range(3)]
    server.stop()  # as a crash does: nothing is flushed
    try:
        with pytest.raises(
            LedgerUnavailable, match=r"does not answer.*Nothing was released"
        ) as caught:
            ledger.spend(PIECE, "during")
        assert "s3cret" not in "".join(traceback.format_exception(caught.value))
        with pytest.raises(LedgerUnavailable):
            ledger.remaining()
        with pytest.raises(LedgerUnavailable):
            Ledger(database, BUDGET)
        assert "LedgerUnavailable" in repr(ledger)
    finally:
        server.start()
    assert list(ledger.history()) == entries
    assert ledger.spend(PIECE, "after").seq == 4


# -- clients of a federation -----------------------------------------------------------------------


def client(database):
    """A client's agent with a ledger in the database, and a server that says what it likes."""
    schema = Schema({"x": Number(-4, 4)}, target=Category([0, 1]))
    table = protect({"x": [0.0, 1.0, 2.0]}, [0, 1, 1], schema=schema)
    agent = ClientAgent(table, Ledger(database, BUDGET, dataset="client"), name="a")
    terms, packer = Terms("nobody", ("a",)), Packer()

    def say(question):
        reply = agent.answer(envelope(packer, packer.pack(question), set()))
        return Unpacker().unpack(reply)

    def begin():
        say(Opening("job", schema, NeighbouringRelation.ADD_REMOVE, terms))
        return say(Payment("job", 0, PIECE, "job", None, True))

    def ask_count():
        grid = gaussian_measure(RowCount(), PIECE["a"], NeighbouringRelation.ADD_REMOVE, 1).grid
        return say(SumOver("job", AccessId(0, "a", 0), schema, (), RowCount(), grid))

    return agent, begin, ask_count


def test_one_agent_works_for_a_client_and_its_record_outlives_it(database):
    agent, begin, ask_count = client(database)
    with pytest.raises(FederationError, match="already"):
        client(database)
    paid = begin()
    assert isinstance(ask_count(), SumAnswer)
    agent.close()
    agent, begin, ask_count = client(database)
    assert begin().entry == paid.entry
    assert "answered before" in ask_count().reason
    ledger = Ledger(database, dataset="client")
    assert len(ledger.history()) == 1
    ledger.verify()
    agent.close()


def test_a_second_agent_that_got_past_the_lock_answers_nothing(database, monkeypatch):
    first, begin, ask_count = client(database)
    monkeypatch.setattr(SqlJobs, "hold", lambda *_: lambda: None)
    second, begin_again, ask_again = client(database)
    assert begin_again().entry == begin().entry
    said = [ask_count(), ask_again()]
    assert sum(isinstance(one, SumAnswer) for one in said) == 1
    assert "Another run" in said[1].reason
    first.close()
    second.close()


def test_the_record_of_a_client_cannot_be_changed(database):
    agent, begin, ask_count = client(database)
    begin()
    assert isinstance(ask_count(), SumAnswer)
    agent.close()
    for verb in ("DELETE FROM voile_job_line", "UPDATE voile_job_line SET kind = 'x'"):
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            ask(database, verb)
    ask(database, "DROP TRIGGER voile_job_line_append_only ON voile_job_line")
    with pytest.raises(LedgerMismatch, match="guards"):
        Ledger(database, dataset="client")
