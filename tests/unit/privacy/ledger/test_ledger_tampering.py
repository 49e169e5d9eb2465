"""Every change to a ledger is noticed: lines, totals, guards, bytes, older copies, other keys."""

import json
import pickle
import random
import shutil
import sqlite3

import pytest

from voile import Budget, Ledger
from voile.errors import LedgerMismatch, SettingError, VoileError
from voile.privacy.events import Gaussian, Laplace, Plan, Threshold
from voile.privacy.ledger import Head, Person, tables
from voile.privacy.signing import SigningKey

BUDGET = Budget(2, 1e-6)
PIECE = Plan.of(sums=Gaussian(noise_multiplier=40))
OTHER = Plan.of(a=Laplace(noise_multiplier=90), b=Threshold(1, 60.0, 1e-10))


def fill(ledger):
    """Every kind of line there is."""
    ledger.spend(PIECE, "first")
    ledger.spend(OTHER, "second")
    with ledger.reserve(Plan.of(sums=Gaussian(3, 40)), "third") as reservation:
        reservation.charge(PIECE)
        reservation.charge(PIECE)
    ledger.reserve(PIECE, "crashed")
    with pytest.raises(VoileError):
        ledger.spend(Plan.of(a=Gaussian(1, 0.01)), "too much")
    with pytest.raises(VoileError):
        ledger.spend(PIECE, "other unit", unit="patient")
    ledger.spend(PIECE, "last")
    return ledger


def change(path, *statements):
    """Change a file as its owner could: guards off, changes, guards on."""
    connection = sqlite3.connect(path)
    guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type='trigger'")
    guards = guards.fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(
            statement
        )
    for _, text in guards:
        connection.execute(text)
    connection.commit()
    connection.close()


def noticed(path, head=None):
    try:
        Ledger(path).verify(head)
    except VoileError:
        return True
    return False


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "l.db"
    fill(Ledger(path, BUDGET, dataset="people"))
    return path


def test_a_whole_ledger_is_verified(path):
    ledger = Ledger(path)
    verified = ledger.verify()
    assert (verified.entries, verified.refusals, verified.signer) == (8, 2, None)
    assert "is whole: 8 entries, 2 refused attempts" in str(verified)
    assert "older copy" in str(verified)
    again = ledger.verify(str(verified.head))
    assert again.since == verified.head
    assert json.loads(json.dumps(again.to_dict()))["head"] == str(verified.head)
    assert "all 8 entries" in str(again)


def test_a_grown_ledger_still_holds_its_earlier_head(path):
    ledger = Ledger(path)
    heads = [ledger.head()]
    for _ in range(3):
        ledger.spend(PIECE, "more")
        heads.append(ledger.head())
    for head in heads:
        ledger.verify(head)


COLUMNS = [column.name for column in tables.entries.columns]


@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "signature"])
@pytest.mark.parametrize("seq", [1, 4, 8])
def test_a_changed_field_is_noticed_at_the_next_opening(path, column, seq):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.close()
    value = {"seq": 99, "alone": 1, "known_by": "authenticated", "kind": "release"}.get(
        column, "0.1"
    )
    change(path, f"UPDATE voile_entry SET {column} = '{value}' WHERE seq = {seq}")
    assert noticed(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM voile_entry WHERE seq = 1",
        "DELETE FROM voile_entry WHERE seq = 3",
        "UPDATE voile_entry SET seq = -seq; ",
        "UPDATE voile_ledger SET facts = replace(facts, '2.0', '9.0')",
        "UPDATE voile_ledger SET facts = replace(facts, '\"epsilon\": ', '\"epsilon\":  ')",
        "UPDATE voile_ledger SET dataset = 'others'",
        "DELETE FROM voile_refusal WHERE seq = 1",
        "UPDATE voile_refusal SET why = 'nothing'",
        "UPDATE voile_refusal SET who = 'somebody else'",
        "UPDATE voile_entry SET plan = replace(plan, ': ', ':')",
        "INSERT INTO voile_entry SELECT dataset, -1, 'x', at, who, known_by, what, kind, unit, "
        "plan, price_loss, price_failure, total_loss, total_failure, alone, parent, digest, "
        "signature FROM voile_entry WHERE seq = 1",
        "PRAGMA user_version = 7",
    ],
)
def test_a_changed_ledger_is_noticed_without_a_head(path, statement):
    change(path, statement)
    assert noticed(path)


def test_reordered_entries_are_noticed(path):
    change(
        path,
        "UPDATE voile_entry SET seq = 1000 WHERE seq = 1",
        "UPDATE voile_entry SET seq = 1 WHERE seq = 2",
        "UPDATE voile_entry SET seq = 2 WHERE seq = 1000",
    )
    assert noticed(path)


@pytest.mark.parametrize("name", sorted(tables.SQLITE_GUARDS))
def test_a_guard_that_is_gone_is_noticed(path, name):
    connection = sqlite3.connect(path)
    connection.execute(f"DROP TRIGGER {name}")
    connection.close()
    with pytest.raises(LedgerMismatch, match="guards against changes are gone"):
        Ledger(path)


def test_entries_cut_off_at_the_end_are_noticed_by_a_head(path):
    head = str(Ledger(path).head())
    change(path, "DELETE FROM voile_entry WHERE seq >= 7")
    Ledger(path)  # by itself it looks whole: nobody but the head knows better
    with pytest.raises(LedgerMismatch, match="older than the head"):
        Ledger(path).verify(head)


def test_refusals_cut_off_at_the_end_are_noticed_by_a_head(path):
    head = str(Ledger(path).head())
    change(path, "DELETE FROM voile_refusal WHERE seq = 2")
    with pytest.raises(LedgerMismatch, match="older than the head"):
        Ledger(path).verify(head)


def test_a_restored_older_copy_is_noticed_by_a_head(path, tmp_path):
    old = tmp_path / "old.db"
    shutil.copy(path, old)
    ledger = Ledger(path)
    ledger.spend(PIECE, "one more")
    head = str(ledger.head())
    shutil.copy(old, path)
    with pytest.raises(LedgerMismatch, match="older than the head"):
        Ledger(path).verify(head)


def test_another_ledger_with_the_same_facts_and_jobs_is_noticed_by_a_head(path, tmp_path):
    head = str(Ledger(path).head())
    other = tmp_path / "other.db"
    fill(Ledger(other, BUDGET, dataset="people"))
    with pytest.raises(LedgerMismatch, match="not the ledger of this head"):
        Ledger(other).verify(head)


@pytest.mark.parametrize("text", ["", "8", "8:" + "0" * 64, "x:" + "0" * 64 + ":0:" + "0" * 64])
def test_a_head_that_is_none_is_refused(path, text):
    with pytest.raises(LedgerMismatch, match="not the head of a ledger"):
        Ledger(path).verify(text)


def test_a_head_survives_printing(path):
    head = Ledger(path).head()
    assert Head.from_text(f" {head}\n") == head


def forge(path):
    """Rewrite a whole ledger so that its digests agree again, and an entry was paid less."""
    from voile.privacy.ledger.digest import beginning_of, digest_of
    from voile.privacy.ledger.facts import LedgerFacts

    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    (book,) = connection.execute("SELECT * FROM voile_ledger").fetchall()
    before = beginning_of(LedgerFacts.from_json(book["dataset"], book["facts"]))
    rows = [dict(row) for row in connection.execute("SELECT * FROM voile_entry ORDER BY seq")]
    connection.close()
    statements, cut = [], 0.0
    for row in rows:
        seq = row["seq"]
        fields = {k: v for k, v in row.items() if k not in ("dataset", "digest", "signature")}
        if seq == 1:
            cut = float(fields["price_loss"]) / 2
            fields["price_loss"] = repr(cut)
        fields["total_loss"] = repr(float(fields["total_loss"]) - cut)
        before = digest_of(before, fields)
        statements.append(
            (
                "UPDATE voile_entry SET price_loss=?, total_loss=?, digest=? WHERE seq=?",
                (fields["price_loss"], fields["total_loss"], before, seq),
            )
        )
    change(path, *statements)


def test_a_forged_price_is_noticed_by_verify_though_all_digests_agree(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET)
    ledger.spend(PIECE, "a")
    forge(path)
    Ledger(path)
    with pytest.raises(LedgerMismatch, match="paid less than its events cost"):
        Ledger(path).verify()


def single_changes(content, rng, count):
    """Files with one byte changed, one removed, or one added."""
    for _ in range(count):
        place = rng.randrange(len(content))
        kind = rng.choice(["change", "change", "change", "remove", "add", "cut"])
        if kind == "change":
            byte = bytes([content[place] ^ (1 << rng.randrange(8))])
            yield content[:place] + byte + content[place + 1 :]
        elif kind == "remove":
            yield content[:place] + content[place + 1 :]
        elif kind == "add":
            yield content[:place] + bytes([rng.randrange(256)]) + content[place:]
        else:
            yield content[:place]


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_single_change_to_the_file_goes_unnoticed_while_the_head_is_known(path, count):
    head = str(Ledger(path).head())
    content = path.read_bytes()
    rng = random.Random(7)
    unnoticed = 0
    for changed in single_changes(content, rng, count):
        path.write_bytes(changed)
        unnoticed += not noticed(path, head)
    assert unnoticed == 0
    path.write_bytes(content)
    assert not noticed(path, head)


# --- signatures


@pytest.fixture
def key(tmp_path):
    return SigningKey.create(tmp_path / "ledger.key")


def test_a_signed_ledger_is_spent_from_with_its_key_alone(tmp_path, key, monkeypatch):
    monkeypatch.delenv("VOILE_KEY", raising=False)
    path = tmp_path / "l.db"
    fill(Ledger(path, BUDGET, key=key))
    bare = Ledger(path)
    assert bare.verify().signer == key.public
    with pytest.raises(LedgerMismatch, match="its key is not here"):
        bare.spend(PIECE, "without a key")
    other = SigningKey.create(tmp_path / "other.key")
    with pytest.raises(LedgerMismatch, match="another key"):
        Ledger(path, key=other)
    monkeypatch.setenv("VOILE_KEY", str(tmp_path / "ledger.key"))
    Ledger(path).spend(PIECE, "by the variable")
    pickle.loads(pickle.dumps(Ledger(path))).spend(PIECE, "in another process")
    assert len(Ledger(path).history()) == 10


def test_a_ledger_forged_without_the_key_is_noticed_at_the_next_opening(tmp_path, key):
    path = tmp_path / "l.db"
    Ledger(path, BUDGET, key=key).spend(PIECE, "a")
    forge(path)
    with pytest.raises(LedgerMismatch, match="not signed by the ledger's key"):
        Ledger(path)


def test_an_unsigned_ledger_takes_no_key(tmp_path, key):
    Ledger(tmp_path / "l.db", BUDGET)
    with pytest.raises(LedgerMismatch, match="without one"):
        Ledger(tmp_path / "l.db", key=key)


def test_a_key_is_its_owner_s_alone(tmp_path, key):
    path = tmp_path / "ledger.key"
    assert path.stat().st_mode & 0o077 == 0
    assert (
        SigningKey.read(path).public
        == key.public
        == (tmp_path / "ledger.key.pub").read_text().strip()
    )
    assert "PRIVATE" not in repr(key)
    with pytest.raises(SettingError):
        pickle.dumps(key)
    with pytest.raises(SettingError, match="cannot be written"):
        SigningKey.create(path)
    path.chmod(0o644)
    with pytest.raises(SettingError, match="chmod 600"):
        SigningKey.read(path)
    wrong = tmp_path / "wrong.key"
    wrong.write_text("no key")
    wrong.chmod(0o600)
    for bad in (wrong, tmp_path / "none.key"):
        with pytest.raises(SettingError):
            SigningKey.read(bad)


# --- who


def test_an_entry_says_how_its_person_is_known(tmp_path):
    plain = Ledger(BUDGET).spend(PIECE, "x")
    given = Ledger(BUDGET, who="anna").spend(PIECE, "x")
    sure = Ledger(BUDGET, who=Person("anna", "authenticated")).spend(PIECE, "x")
    assert [str(one.known_by) for one in (plain, given, sure)] == [
        "login name",
        "given",
        "authenticated",
    ]
    ledger = pickle.loads(pickle.dumps(Ledger(tmp_path / "l.db", BUDGET, who="anna")))
    assert ledger.spend(PIECE, "x").who == "anna"


# --- what is added around the lines


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER zz BEFORE INSERT ON voile_entry BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER zz BEFORE INSERT ON voile_refusal BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE voile_more (a)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE INDEX i ON voile_entry (who)",
        "ALTER TABLE voile_entry ADD COLUMN more",
        "INSERT INTO voile_ledger VALUES ('second', '{}')",
    ],
)
def test_what_is_added_to_a_file_is_noticed_at_the_next_opening(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerMismatch, match="tampered with or damaged"):
        Ledger(path)


def test_a_trigger_that_swallows_lines_stops_a_ledger_that_is_open(path):
    ledger = Ledger(path)
    connection = sqlite3.connect(path)
    for table in ("voile_entry", "voile_refusal"):
        connection.execute(
            f"CREATE TRIGGER zz{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(IGNORE); END"
        )
    connection.commit()
    connection.close()
    with pytest.raises(LedgerMismatch, match="does not keep what is written"):
        ledger.spend(PIECE, "swallowed")


def test_a_signature_in_an_unsigned_ledger_is_noticed(path):
    change(path, "UPDATE voile_entry SET signature = 'x' WHERE seq = 2")
    with pytest.raises(LedgerMismatch, match="has a signature, and the ledger has no key"):
        Ledger(path)


def test_a_path_that_is_no_text_is_refused():
    with pytest.raises(LedgerMismatch, match="no text in UTF-8"):
        Ledger("\ud800x.db", BUDGET)
