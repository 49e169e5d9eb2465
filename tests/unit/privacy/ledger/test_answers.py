"""Answers beside the ledger: the first one stays, for ever, and no allowance is exceeded."""

import math
import sqlite3
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import answer_processes
import pytest
from postgres import Server
from test_ledger_races import run_helper

from voile import Budget, Ledger
from voile.errors import LedgerError, LedgerMismatch, LedgerUnavailable
from voile.privacy.events import Gaussian, Plan
from voile.privacy.ledger.answers import MemoryAnswers, SqlAnswers, open_answers

BUDGET = Budget(1, 1e-6)
PIECE = Plan.of(a=Gaussian(noise_multiplier=100))


# -- where answers are kept ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(params=["memory", "file", "postgres"])
def make(request, tmp_path):
    """Opens the ledger; each time anew, but for the one in memory."""
    if request.param == "memory":
        ledger = Ledger(BUDGET)
        return lambda: ledger
    if request.param == "file":
        return lambda: Ledger(tmp_path / "l.db", BUDGET)
    url, dataset = request.getfixturevalue("server").url, tmp_path.name
    return lambda: Ledger(url, BUDGET, dataset=dataset)


@pytest.fixture(params=["file", "postgres"])
def where(request, tmp_path):
    if request.param == "file":
        return str(tmp_path / "l.db")
    return request.getfixturevalue("server").url


def opened(make, name="e", facts=None):
    book = open_answers(make(), name)
    book.facts(facts or {})
    return book


def test_the_first_answer_stays(make):
    book = opened(make)
    assert book.find(["k"]) == {}
    assert book.store({"k": {"phi": [0.1, 1 / 3]}, "l": 1}) == {"k": {"phi": [0.1, 1 / 3]}, "l": 1}
    # A second answer gives way, in the company of a new one.
    assert book.store({"k": "other", "m": 2}) == {"k": {"phi": [0.1, 1 / 3]}, "m": 2}
    assert book.find(["m", "none", "k"]) == {"m": 2, "k": {"phi": [0.1, 1 / 3]}}
    assert list(book.all()) == ["k", "l", "m"]
    assert book.store({}) == {}
    assert book.find([]) == {}


def test_an_answer_cannot_be_changed_by_whoever_has_it(make):
    book = opened(make)
    mine = {"phi": [0.5]}
    given = book.store({"k": mine})["k"]
    mine["phi"][0] = given["phi"][0] = 9.0
    book.all()["k"]["phi"][0] = 9.0
    assert book.find(["k"]) == {"k": {"phi": [0.5]}}


def test_everything_survives_reopening(make):
    first = opened(make, facts={"radius": 5.0, "who": "first"})
    numbers = [0.1, 1e-300, 5e-324, -1.7976931348623157e308, 2 / 3, 2**53 + 2]
    first.store({"k": numbers, "empty": None, "text": 'ü\n"\\ \u2028 \0'})
    assert first.set_aside(0.1 + 0.2, 1.0)
    again = open_answers(make(), "e")
    assert again.facts({"radius": 7.0}) == {"radius": 5.0, "who": "first"}
    assert again.find(["k"])["k"] == numbers
    assert again.all() == first.all()
    assert again.used() == 0.1 + 0.2
    assert again.store({"k": 0})["k"] == numbers


def test_two_names_do_not_mix(make):
    one, two = opened(make, "e", {"n": 1}), opened(make, "E", {"n": 2})
    one.store({"k": 1})
    assert two.find(["k"]) == {}
    assert two.store({"k": 2}) == {"k": 2}
    assert one.set_aside(0.75, 1.0)
    assert two.used() == 0.0
    assert two.set_aside(1.0, 1.0)
    two.give_back(1.0)
    assert (one.used(), two.used()) == (0.75, 0.0)
    assert (one.facts({}), two.facts({})) == ({"n": 1}, {"n": 2})
    assert (one.all(), two.all()) == ({"k": 1}, {"k": 2})


def test_two_data_sets_of_one_database_do_not_mix(server, tmp_path):
    books = [
        open_answers(Ledger(server.url, BUDGET, dataset=f"{tmp_path.name} {n}"), "e")
        for n in range(2)
    ]
    for n, book in enumerate(books):
        book.facts({})
        assert book.store({"k": n}) == {"k": n}
        assert book.set_aside(1.0, 1.0)
    assert [book.all() for book in books] == [{"k": 0}, {"k": 1}]


def test_two_ledgers_in_memory_do_not_share_answers():
    one, two = open_answers(Ledger(BUDGET), "e"), open_answers(Ledger(BUDGET), "e")
    one.store({"k": 1})
    assert two.all() == {}
    ledger = Ledger(BUDGET)
    assert open_answers(ledger, "e") is open_answers(ledger, "e")


def test_many_and_large_answers(make):
    book = opened(make)
    large = {"phi": [[i / 7] for i in range(20_000)], "text": "x" * 1_000_000}
    assert book.store({"large": large}) == {"large": large}
    many = {f"k{i:05}": i for i in range(1_700)}
    assert book.store(many) == many
    assert book.find([*many, "large", "none"]) == {**many, "large": large}
    assert list(book.all()) == ["large", *many]


# -- allowances ------------------------------------------------------------------------------------


def test_an_allowance_is_never_exceeded(make):
    book = opened(make)
    assert book.set_aside(0.6, 1.0)
    assert not book.set_aside(0.5, 1.0)
    assert book.used() == 0.6
    assert book.set_aside(0.4, 1.0)
    assert not book.set_aside(1e-6, 1.0)
    book.give_back(0.25)
    assert book.used() == 0.75
    assert not book.set_aside(0.2501, 1.0)
    assert book.set_aside(0.25, 1.0)
    assert not book.set_aside(math.nan, 1.0)
    assert not book.set_aside(math.inf, 1.0)
    assert book.used() == 1.0


def test_an_allowance_divided_into_equal_pieces_is_spent_to_the_last(make):
    book = opened(make)
    taken = sum(book.set_aside(0.7 / 49, 0.7) for _ in range(60))
    assert taken == 49
    assert book.used() <= 0.7 * (1 + 1e-9)


def test_giving_back_more_than_was_taken_gives_no_more_than_all(make):
    book = opened(make)
    book.set_aside(0.5, 1.0)
    book.give_back(7.0)
    assert book.used() == 0.0


def test_threads_never_exceed_an_allowance(make):
    book, most = opened(make), []

    def work(number):
        taken = 0
        for turn in range(6):
            if book.set_aside(1.0, 7.0):
                most.append(book.used())
                if number % 2 and turn % 2:
                    book.give_back(1.0)
                else:
                    taken += 1
        return taken

    with ThreadPoolExecutor(6) as pool:
        taken = sum(pool.map(work, range(6)))
    assert max(most) <= 7.0
    assert book.used() == taken == 7


def test_threads_agree_on_the_first_answer(make):
    book = opened(make)

    def work(number):
        return [book.store({f"k{turn}": number})[f"k{turn}"] for turn in range(5)]

    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(work, range(6)))
    assert all(one == seen[0] for one in seen)
    assert [book.all()[f"k{turn}"] for turn in range(5)] == seen[0]


@pytest.mark.slow
def test_processes_agree_and_never_exceed_an_allowance(where):
    processes, rounds, kept = 4, 12, 2
    parts = run_helper(answer_processes.__file__, "race", where, processes, rounds, kept)["parts"]
    book = open_answers(Ledger(where, dataset="race"), "e")
    assert book.used() == sum(part["taken"] for part in parts)
    assert 0 < max(part["most"] for part in parts) <= 10.0
    assert all(part["facts"] == parts[0]["facts"] for part in parts)
    stored = book.all()
    assert len(stored) == rounds
    assert all(part["stored"] == stored for part in parts)


def test_those_who_come_first_together_agree_on_the_facts(make):
    """Several open a name that nobody has opened."""

    def work(number):
        return open_answers(make(), "new").facts({"n": number})

    make()
    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(work, range(8)))
        assert all(one == seen[0] for one in seen)


def test_two_who_both_found_no_facts_agree(server, tmp_path):
    barrier = threading.Barrier(2, timeout=600)
    books = [
        open_answers(Ledger(server.url, BUDGET, dataset=tmp_path.name), "new") for _ in range(2)
    ]

    def ask(number, book):
        barrier.wait()
        return book.facts({"n": number})

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(ask, number, book) for number, book in enumerate(books)]
        seen = [one.result() for one in waiting]
    assert seen[0] == seen[1]


# -- old, damaged and unreachable files ------------------------------------------------------------


def test_a_ledger_from_before_there_were_answers_works(tmp_path):
    path = tmp_path / "l.db"
    Ledger(path, BUDGET).spend(PIECE, "before")
    with sqlite3.connect(path) as connection:
        tables = {row[0] for row in connection.execute("select name from sqlite_master")}
    connection.close()
    assert not {"voile_answer", "voile_answerer"} & tables
    ledger = Ledger(path)
    book = open_answers(ledger, "e")
    book.facts({})
    assert book.store({"k": 1}) == {"k": 1}
    assert [entry.what for entry in ledger.history()] == ["before"]
    assert ledger.spend(PIECE, "after").seq == 2
    assert open_answers(Ledger(path), "e").all() == {"k": 1}


def damage(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_an_answerer_that_is_gone_is_no_fresh_allowance(tmp_path):
    path = tmp_path / "l.db"
    book = open_answers(Ledger(path, BUDGET), "e")
    book.facts({})
    book.set_aside(1.0, 1.0)
    damage(path, "delete from voile_answerer")
    for attempt in (
        book.used,
        lambda: book.set_aside(0.1, 1.0),
        lambda: book.give_back(0.1),
        lambda: book.store({"k": 1}),
    ):
        with pytest.raises(LedgerMismatch, match="lost"):
            attempt()


@pytest.mark.parametrize(
    ("statement", "attempt"),
    [
        ("update voile_answer set answer = '{oops'", lambda book: book.find(["k"])),
        ("update voile_answer set answer = '{oops'", lambda book: book.all()),
        ("update voile_answer set answer = '{oops'", lambda book: book.store({"k": 1})),
        ("update voile_answerer set facts = '['", lambda book: book.facts({})),
        ("update voile_answerer set set_aside = 'x'", lambda book: book.used()),
        ("update voile_answerer set set_aside = ''", lambda book: book.set_aside(0.1, 1.0)),
        ("update voile_answerer set set_aside = 'x'", lambda book: book.give_back(0.1)),
    ],
)
def test_damaged_tables_are_said_to_be(tmp_path, statement, attempt):
    path = tmp_path / "l.db"
    book = open_answers(Ledger(path, BUDGET), "e")
    book.facts({})
    book.store({"k": 1})
    damage(path, statement)
    with pytest.raises(LedgerMismatch):
        attempt(book)


@pytest.mark.parametrize("value", ["-5", "-inf"])
def test_less_than_nothing_set_aside_is_damage(tmp_path, value):
    path = tmp_path / "l.db"
    book = open_answers(Ledger(path, BUDGET), "e")
    book.facts({})
    damage(path, f"update voile_answerer set set_aside = '{value}'")
    with pytest.raises(LedgerMismatch):
        book.set_aside(2.0, 1.0)


def test_a_total_that_is_no_number_refuses(tmp_path):
    path = tmp_path / "l.db"
    book = open_answers(Ledger(path, BUDGET), "e")
    book.facts({})
    for value in ("nan", "inf"):
        damage(path, f"update voile_answerer set set_aside = '{value}'")
        assert not book.set_aside(0.1, 1.0)


def test_tables_that_are_gone_release_nothing(tmp_path):
    path = tmp_path / "l.db"
    book = open_answers(Ledger(path, BUDGET), "e")
    book.facts({})
    damage(path, "drop table voile_answer")
    for attempt in (book.all, lambda: book.store({"k": 1}), lambda: book.find(["k"])):
        with pytest.raises(LedgerError):
            attempt()


def test_a_file_that_is_gone_is_not_made_again(tmp_path):
    path = tmp_path / "l.db"
    book = open_answers(Ledger(path, BUDGET), "e")
    book.facts({})
    path.unlink()
    for attempt in (book.used, book.all, lambda: book.store({"k": 1}), lambda: book.facts({})):
        with pytest.raises(LedgerUnavailable, match="gone"):
            attempt()
    assert not path.exists()


def test_a_full_disk_loses_nothing(tmp_path):
    result = run_helper(answer_processes.__file__, "fill_quota", tmp_path)
    ((kind, message),) = result["errors"]
    assert kind == "LedgerUnavailable"
    assert "free space" in message
    assert (result["kept"], result["used"]) == ({"before": 1}, 0.25)
    assert result["after"] == 100_000
    book = open_answers(Ledger(tmp_path / "l.db"), "e")
    assert list(book.all()) == ["before", "during"]
    assert book.used() == 0.25


def test_a_file_one_may_only_read_changes_in_nothing():
    # Not pytest's folder, which others may not even enter.
    with tempfile.TemporaryDirectory(prefix="voile-") as folder:
        result = run_helper(answer_processes.__file__, "use_as_stranger", folder)
    assert result["seen"] == ["LedgerUnavailable"] * 4
    assert (result["all"], result["used"]) == ({"k": 1}, 0.25)


def test_a_stopped_database_loses_nothing(server):
    book = opened(lambda: Ledger(server.url, BUDGET, dataset="stopped"))
    book.store({"k": 1})
    book.set_aside(0.5, 1.0)
    server.stop()
    try:
        for attempt in (
            book.used,
            lambda: book.store({"l": 1}),
            lambda: book.set_aside(0.1, 1.0),
            lambda: book.give_back(0.1),
        ):
            with pytest.raises(LedgerUnavailable):
                attempt()
    finally:
        server.start()
    assert (book.all(), book.used()) == ({"k": 1}, 0.5)


def test_the_kind_of_book_follows_the_ledger(tmp_path):
    assert isinstance(open_answers(Ledger(BUDGET), "e"), MemoryAnswers)
    assert isinstance(open_answers(Ledger(tmp_path / "l.db", BUDGET), "e"), SqlAnswers)
