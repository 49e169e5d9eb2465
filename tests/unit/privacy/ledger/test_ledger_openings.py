"""Where a ledger may live, what its owner may call it, and who stands in its entries."""

import getpass
import sqlite3

import pytest

from voile import Budget, Ledger
from voile.errors import LedgerMismatch, MissingExtra, SettingError
from voile.privacy.events import Gaussian, Plan
from voile.privacy.ledger import Person, engines, sql
from voile.privacy.ledger.answers import open_answers
from voile.privacy.ledger.engines import postgres_engine, url_of
from voile.privacy.signing import SigningKey, read_public

BUDGET = Budget(1, 1e-6)
PIECE = Plan.of(sums=Gaussian(noise_multiplier=40))


# --- places


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("a\0b.db", "NUL"),
        ("~nobody-has-this-name/l.db", "leads nowhere"),
        ("mysql://anna:secret@host/db", "SQLite file or in PostgreSQL"),
    ],
)
def test_a_place_that_is_none_is_refused(where, message):
    with pytest.raises(LedgerMismatch, match=message) as caught:
        Ledger(where, BUDGET)
    assert "secret" not in str(caught.value)


def test_every_spelling_of_a_server_is_one_url():
    url = "postgresql+psycopg://anna@host/db"
    for spelling in ("postgresql://anna@host/db", "postgres://anna@host/db", url):
        assert url_of(spelling) == url


def test_a_missing_driver_is_named_with_its_extra(monkeypatch):
    def missing(*args, **settings):
        raise ImportError("No module named 'psycopg'")

    monkeypatch.setattr(engines.sa, "create_engine", missing)
    with pytest.raises(MissingExtra, match="postgres"):
        postgres_engine("postgresql+psycopg://anna@host/db")


def test_a_ledger_that_another_process_made_meanwhile_counts(tmp_path, monkeypatch):
    path = tmp_path / "l.db"
    real = sql.tables.make_tables

    def overtaken(connection):
        real(connection)
        with monkeypatch.context() as patch:
            patch.setattr(sql.tables, "make_tables", real)
            Ledger(path, BUDGET).spend(PIECE, "first")

    monkeypatch.setattr(sql.tables, "make_tables", overtaken)
    assert [entry.what for entry in Ledger(path, BUDGET).history()] == ["first"]
    assert [one.name for one in tmp_path.iterdir()] == ["l.db"]


def test_without_second_names_a_ledger_that_is_there_is_not_replaced(tmp_path, monkeypatch):
    path, new = tmp_path / "l.db", tmp_path / "new"
    Ledger(path, BUDGET).spend(PIECE, "first")
    new.write_bytes(b"another")

    def refuse(*names):
        raise OSError("no links here")

    monkeypatch.setattr(sql.os, "link", refuse)
    sql._link(new, path)
    assert Ledger(path).history()[0].what == "first"
    assert new.exists()


def test_verify_says_that_a_ledger_is_gone():
    with pytest.raises(LedgerMismatch, match="put its newest copy back"):
        sql._none()


def test_a_wrong_choice_names_the_right_ones():
    with pytest.raises(SettingError, match="'gdp', 'renyi', 'pure'"):
        Ledger(BUDGET, filter="zcdp")


@pytest.mark.parametrize("slack", [0.0, 1.0, -1, float("nan")])
def test_a_slack_that_is_no_share_is_refused(slack):
    with pytest.raises(SettingError, match=r"must be in \(0, 1\)"):
        Ledger(BUDGET, slack=slack)


# --- answers


@pytest.mark.parametrize("place", ["memory", "file"])
def test_a_name_is_given_up_only_if_nothing_was_stored_or_spent_under_it(tmp_path, place):
    ledger = Ledger(None if place == "memory" else tmp_path / "l.db", BUDGET)
    book = open_answers(ledger, "e")
    assert book.facts({"a": 1}) == {"a": 1}
    book.forget()
    assert book.facts({"a": 2}) == {"a": 2}
    assert book.set_aside(0.1, 1.0)
    book.forget()
    assert book.facts({"a": 3}) == {"a": 2}
    book.give_back(0.1)
    book.store({"k": 1})
    book.forget()
    assert book.facts({"a": 3}) == {"a": 2}


def test_facts_that_are_none_are_damage(tmp_path):
    path = tmp_path / "l.db"
    open_answers(Ledger(path, BUDGET), "e").facts({"a": 1})
    connection = sqlite3.connect(path)
    connection.execute("UPDATE voile_answerer SET facts='[]'")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerMismatch, match="tables were damaged"):
        open_answers(Ledger(path), "e").facts({"a": 1})


# --- people and keys


def test_who_has_no_login_name_is_a_number(monkeypatch):
    def nobody():
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    entry = Ledger(BUDGET).spend(PIECE, "x")
    assert entry.who.startswith(("uid ", "unknown"))
    assert str(entry.known_by) == "login name"


def test_a_person_says_how_it_is_known():
    assert str(Person("anna")) == "anna (given)"


def test_a_public_key_is_its_text_or_its_file(tmp_path):
    key = SigningKey.create(tmp_path / "k")
    assert read_public(key.public) == read_public(tmp_path / "k.pub") == key.public
    with pytest.raises(SettingError, match="There is no public key"):
        read_public(tmp_path / "gone.pub")
    for wrong in (key.public.upper().replace("ED25519", "ed25519"), key.public[:-2], "ed25519:xx"):
        with pytest.raises(SettingError, match="This is no public key"):
            read_public(wrong)
