"""The key of a ledger's answers: beside the ledger, made once, for one account alone."""

import stat
import threading

import pytest

from voile import Budget, Ledger
from voile.errors import LedgerMismatch, LedgerUnavailable, SettingError
from voile.privacy.ledger.answer_key import KEY_BYTES, SUFFIX, open_key

BUDGET = Budget(1.0, 1e-6)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "l.db", BUDGET)


def test_a_key_is_made_once_beside_the_ledger_and_not_in_it(tmp_path, ledger):
    key = open_key(ledger, make=True)
    assert len(key) == KEY_BYTES
    path = tmp_path / f"l.db{SUFFIX}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["l.db", path.name]
    for make in (True, False):
        assert open_key(Ledger(tmp_path / "l.db"), make=make) == key
    stored = (tmp_path / "l.db").read_bytes()
    assert key not in stored
    assert path.read_bytes().strip() not in stored
    assert open_key(Ledger(tmp_path / "other.db", BUDGET), make=True) != key


def test_a_ledger_in_memory_has_its_own_key():
    one, other = Ledger(BUDGET), Ledger(BUDGET)
    assert open_key(one, make=True) == open_key(one, make=False) != open_key(other, make=True)


def test_the_file_may_be_named(tmp_path, ledger):
    for where in (ledger, Ledger(BUDGET)):
        path = tmp_path / "elsewhere"
        assert open_key(where, path, make=True) == open_key(where, str(path), make=False)
    assert not (tmp_path / f"l.db{SUFFIX}").exists()


def test_a_database_has_no_place_beside_it(monkeypatch, tmp_path, ledger):
    monkeypatch.setattr(ledger._book, "url", "postgresql+psycopg://me@host/db")
    with pytest.raises(SettingError, match="give key='FILE'"):
        open_key(ledger, make=True)
    assert len(open_key(ledger, tmp_path / "key", make=True)) == KEY_BYTES


def test_a_key_that_should_be_there_is_not_made_anew(tmp_path, ledger):
    with pytest.raises(LedgerMismatch, match="put it back"):
        open_key(ledger, make=False)
    assert not (tmp_path / f"l.db{SUFFIX}").exists()


@pytest.mark.parametrize("text", [b"", b"short", b"A" * 43, b"\x00\xff" * 40, b"A" * 88, b"=" * 44])
def test_something_else_is_no_key(tmp_path, ledger, text):
    (tmp_path / f"l.db{SUFFIX}").write_bytes(text)
    for make in (True, False):
        with pytest.raises(LedgerMismatch, match="no key of answers"):
            open_key(ledger, make=make)


def test_a_key_that_cannot_be_read_or_written_is_said(tmp_path, ledger):
    with pytest.raises(LedgerUnavailable, match="cannot be read or written"):
        open_key(ledger, tmp_path / "no folder" / "key", make=True)
    (tmp_path / f"l.db{SUFFIX}").mkdir()
    with pytest.raises(LedgerUnavailable, match="cannot be read or written"):
        open_key(ledger, make=True)


def test_of_several_who_make_it_the_first_ones_stays(tmp_path, ledger):
    found, start = [], threading.Barrier(8)

    def work():
        start.wait()
        found.append(open_key(ledger, make=True))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(list(tmp_path.iterdir())) == 2
