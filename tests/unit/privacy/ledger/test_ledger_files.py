"""What can happen to the file of a ledger: lost, damaged, replaced, misread, changed."""

import math
import os
import pickle
import shutil
import sqlite3
from contextlib import suppress

import numpy as np
import pytest

from voile import Budget, Ledger
from voile.errors import (
    LedgerError,
    LedgerMismatch,
    LedgerUnavailable,
    VoileError,
)
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.calibrate import (
    gaussian_step,
)
from voile.privacy.events import (
    Approximate,
    Gaussian,
    Plan,
    PoissonGaussian,
    Threshold,
)
from voile.privacy.ledger import sql

BUDGET = Budget(1, 1e-6)
SHAPE = Plan((gaussian_step("sums", 1.0),))
PIECE = Plan.of(sums=Gaussian(noise_multiplier=100))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": Budget(1.1, 1e-6)}, "budget"),
        ({"budget": Budget(1, 1e-5)}, "budget"),
        ({"budget": Budget(math.inf)}, "budget"),
        ({"relation": "replace_one"}, "relation"),
        ({"filter": "renyi"}, "filter"),
        ({"slack": 0.2}, "slack"),
        ({"dataset": "another"}, "data set"),
    ],
)
def test_other_facts_are_refused(tmp_path, change, message):
    path = tmp_path / "l.db"
    entry = Ledger(path, BUDGET, dataset="mine").spend(PIECE, "x")
    with pytest.raises(LedgerMismatch, match=message):
        Ledger(path, **change)
    assert Ledger(path).history() == (entry,)


def test_the_same_facts_are_welcome(tmp_path):
    path = tmp_path / "l.db"
    facts = {"dataset": "mine", "relation": "replace_one", "filter": "renyi", "slack": 0.3}
    entry = Ledger(path, BUDGET, **facts).spend(PIECE, "x")
    for again in (
        Ledger(path),
        Ledger(path, BUDGET),
        Ledger(str(path), Budget(1.0, 1e-6), **facts),
        Ledger(f"sqlite:///{path}"),
    ):
        assert again.history() == (entry,)
        assert again.relation is NeighbouringRelation.REPLACE_ONE
        assert again.filter.slack == 0.3


def test_a_missing_ledger_needs_a_budget_and_leaves_no_file(tmp_path):
    with pytest.raises(LedgerMismatch, match="needs a budget"):
        Ledger(tmp_path / "l.db")
    assert list(tmp_path.iterdir()) == []


def rewrite(path, *statements):
    """Change a file as someone with another program could, and put its guards back."""
    connection = sqlite3.connect(path)
    guards = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, text in guards:
        with suppress(sqlite3.OperationalError):  # its table was dropped
            connection.execute(text)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE voile_ledger SET facts = replace(facts, '\"format\": 2', '\"format\": 3')",
            "format 3",
        ),
        (
            "UPDATE voile_ledger SET facts = replace(facts, '\"format\": 2', '\"form\": 2')",
            "damaged",
        ),
        ("UPDATE voile_ledger SET facts = replace(facts, 'gdp', 'hope')", "damaged"),
        ("UPDATE voile_ledger SET facts = replace(facts, '1e-06', 'much')", "damaged"),
        ("UPDATE voile_ledger SET facts = 'x'", "damaged"),
        ("DROP TABLE voile_entry", "damaged"),
        ("DROP TABLE voile_ledger", "damaged"),
    ],
)
def test_a_newer_or_damaged_description_is_refused(tmp_path, statement, message):
    path = tmp_path / "l.db"
    Ledger(path, BUDGET).spend(PIECE, "x")
    rewrite(path, statement)
    with pytest.raises(LedgerMismatch, match=message):
        Ledger(path, BUDGET)
    with pytest.raises(LedgerMismatch):
        Ledger(path, BUDGET, dataset="another name")


@pytest.mark.parametrize(
    "change",
    [
        "plan = 'x'",
        'plan = \'[{"label": "a"}]\'',
        "plan = replace(plan, 'gaussian', 'gauss')",
        "plan = replace(plan, '100', '-100')",
        "total_loss = 'little'",
        "kind = 'gift'",
    ],
)
def test_a_damaged_entry_stops_all_spending(tmp_path, change):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET)
    ledger.spend(PIECE, "x")
    rewrite(path, f"UPDATE voile_entry SET {change}")
    with pytest.raises(LedgerError):
        ledger.spend(PIECE, "y")
    with pytest.raises(LedgerError):
        ledger.history()
    with pytest.raises(LedgerMismatch, match="tampered with or damaged"):
        Ledger(path)


def test_a_total_that_is_no_number_admits_nothing(tmp_path):
    path = tmp_path / "l.db"
    Ledger(path, BUDGET).spend(PIECE, "x")
    rewrite(path, "UPDATE voile_entry SET total_loss = 'nan'")
    with pytest.raises(VoileError):
        Ledger(path).spend(PIECE, "y")


# --- append-only

CHANGES = [
    "UPDATE voile_entry SET total_loss = '0.0'",
    "UPDATE voile_entry SET seq = seq + 1",
    "DELETE FROM voile_entry",
    "DELETE FROM voile_entry WHERE seq = 2",
    "UPDATE voile_ledger SET facts = '{}'",
    "DELETE FROM voile_ledger",
    "INSERT OR REPLACE INTO voile_entry SELECT dataset, seq, id, at, who, "
    "known_by, what, kind, unit, plan, price_loss, price_failure, '0.0', '0.0', alone, parent, "
    "digest, signature FROM voile_entry WHERE seq = 2",
    "REPLACE INTO voile_entry SELECT dataset, 1000, id, at, who, "
    "known_by, what, kind, unit, plan, price_loss, price_failure, '0.0', '0.0', alone, parent, "
    "digest, signature FROM voile_entry WHERE seq = 2",
    "REPLACE INTO voile_ledger SELECT dataset, '{}' FROM voile_ledger",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_a_file_is_append_only(tmp_path, statement):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    for _ in range(3):
        ledger.spend(PIECE, "x")
    history = ledger.history()
    connection = sqlite3.connect(tmp_path / "l.db")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    assert ledger.history() == history


# --- the file is gone


def use(ledger):
    yield lambda: ledger.spend(PIECE, "y")
    yield lambda: ledger.reserve(PIECE, "y")
    yield ledger.remaining
    yield ledger.history


def test_a_deleted_file_is_not_made_again(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET)
    ledger.spend(PIECE, "x")
    path.unlink()
    for action in use(ledger):
        with pytest.raises(LedgerUnavailable, match=r"l\.db does not answer \(the file is gone\)"):
            action()
    assert list(tmp_path.iterdir()) == []
    assert "LedgerUnavailable" in repr(ledger)


def test_a_deleted_folder_is_not_made_again(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    ledger = Ledger(folder / "l.db", BUDGET)
    shutil.rmtree(folder)
    for action in use(ledger):
        with pytest.raises(LedgerUnavailable, match=r"Check the path"):
            action()
    assert not folder.exists()
    with pytest.raises(LedgerUnavailable, match=r"Check the path"):
        Ledger(folder / "l.db", BUDGET)


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\0" * 5000])
def test_a_file_replaced_by_garbage_is_refused(tmp_path, content):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET)
    ledger.spend(PIECE, "x")
    path.write_bytes(content)
    for action in use(ledger):
        with pytest.raises(LedgerError, match=r"does not answer|damaged"):
            action()
    assert path.read_bytes() == content
    with pytest.raises(LedgerMismatch, match=r"damaged|is no ledger"):
        Ledger(path, BUDGET)
    assert path.read_bytes() == content


def test_a_file_of_another_kind_is_no_ledger_and_one_without_its_beginning_is_damaged(
    tmp_path,
):
    (tmp_path / "t.csv").write_text("age,ill\n31,yes\n" * 100)
    with pytest.raises(LedgerMismatch, match="is no ledger, but a file of another kind") as error:
        Ledger(tmp_path / "t.csv")
    assert "tampered" not in str(error.value)
    path = tmp_path / "l.db"
    Ledger(path, BUDGET)
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])
    with pytest.raises(LedgerMismatch, match="tampered with or damaged"):
        Ledger(path)


@pytest.mark.parametrize("keep", [100, 3000, 4096, 0.5])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET)
    for _ in range(20):
        ledger.spend(PIECE, "x")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep if keep > 1 else keep * len(whole))])
    with pytest.raises((LedgerUnavailable, LedgerMismatch)):
        ledger.spend(PIECE, "y")
    with pytest.raises((LedgerUnavailable, LedgerMismatch)):
        Ledger(path, BUDGET).spend(PIECE, "y")
    path.write_bytes(whole)
    assert len(ledger.history()) == 20
    ledger.spend(PIECE, "y")


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    (tmp_path / "l.db").mkdir()
    with pytest.raises(LedgerUnavailable):
        Ledger(tmp_path / "l.db", BUDGET)


@pytest.mark.parametrize("foreign", [False, True])
def test_what_exists_and_is_no_ledger_is_no_fresh_budget(tmp_path, foreign):
    path = tmp_path / "l.db"
    path.touch()
    if foreign:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE patients (age INTEGER)")
        connection.close()
    before = path.read_bytes()
    for given in ((), (BUDGET,)):
        with pytest.raises(LedgerMismatch, match="exists and is no ledger"):
            Ledger(path, *given)
    assert path.read_bytes() == before


def test_an_interrupted_creation_leaves_nothing_in_the_way(tmp_path, monkeypatch):
    path = tmp_path / "l.db"

    def die(*_):
        raise KeyboardInterrupt

    for name in ("make_tables", "_link"):
        with monkeypatch.context() as patched:
            patched.setattr(sql.tables if name == "make_tables" else sql, name, die)
            with pytest.raises(KeyboardInterrupt):
                Ledger(path, BUDGET)
        assert list(tmp_path.iterdir()) == []
    # Killed outright, a creation leaves a file of another name, which is in nobody's way.
    (tmp_path / ".l.db.1-00000000.new").touch()
    Ledger(path, BUDGET).spend(PIECE, "x")
    assert len(Ledger(path).history()) == 1


def test_a_file_system_without_second_names_has_ledgers_too(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    Ledger(tmp_path / "l.db", BUDGET).spend(PIECE, "x")
    assert [one.name for one in tmp_path.iterdir()] == ["l.db"]


def test_another_ledger_in_its_place_is_noticed(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET)
    ledger.spend(PIECE, "x")
    path.unlink()
    other = Ledger(path, BUDGET)
    with pytest.raises(LedgerMismatch, match=r"no longer (holds entry 1|the one that was opened)"):
        ledger.spend(PIECE, "y")
    for _ in range(3):
        other.spend(PIECE, "z")
    with pytest.raises(LedgerMismatch, match=r"no longer (holds entry 1|the one that was opened)"):
        ledger.spend(PIECE, "y")
    assert len(other.history()) == 3


def test_an_old_copy_in_its_place_is_noticed(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET)
    ledger.spend(PIECE, "x")
    old = path.read_bytes()
    ledger.spend(PIECE, "y")
    new = path.read_bytes()
    path.write_bytes(old)
    with pytest.raises(LedgerMismatch, match=r"an old copy was restored"):
        ledger.spend(PIECE, "z")
    with pytest.raises(LedgerMismatch):
        ledger.remaining()
    path.write_bytes(new)
    assert ledger.spend(PIECE, "z").seq == 3


def test_a_plain_copy_of_the_file_forgets_nothing(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    for _ in range(5):
        ledger.spend(PIECE, "x")
    assert [one.name for one in tmp_path.iterdir()] == ["l.db"]
    shutil.copy(tmp_path / "l.db", tmp_path / "copy.db")
    assert Ledger(tmp_path / "copy.db").history() == ledger.history()


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%20b.db", "a b.db", "é%3Fmode=memory.db"])
def test_any_file_name_is_the_file_that_is_used(tmp_path, name):
    Ledger(tmp_path / name, BUDGET).spend(PIECE, "x")
    assert [one.name for one in tmp_path.iterdir()] == [name]
    ledger = pickle.loads(pickle.dumps(Ledger(str(tmp_path / name))))
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("kind", ["gdp", "renyi"])
def test_numbers_of_any_type_are_written_so_that_they_can_be_read(tmp_path, kind):
    """The repr of a numpy float in an append-only file would spoil the ledger for ever."""
    number = np.float64
    Ledger(
        tmp_path / "l.db",
        Budget(np.float32(1.0), number(1e-6)),
        filter=kind,
        slack=number(0.2),
    )
    ledger = Ledger(tmp_path / "l.db")
    plan = Plan.of(
        a=Gaussian(np.int64(2), number(90.0)),
        b=Threshold(1, number(90.0), number(1e-9)),
        c=PoissonGaussian(3, number(20.0), np.float32(0.125)),
        d=Approximate(1, number(0.01), number(1e-9)),
    )
    ledger.spend(plan, "job")
    assert Ledger(tmp_path / "l.db").history()[0].plan == plan
    assert type(plan["a"].noise_multiplier) is float
    assert type(plan["a"].count) is int
    assert Ledger(tmp_path / "l.db").remaining().epsilon < 1.0
