"""The verbs that prove something later, as a person runs them."""

import json

import pytest
from command_line import run_voile, write_patients

from voile import Ledger


@pytest.fixture
def go(tmp_path, monkeypatch, capsys):
    write_patients(tmp_path, rows=300)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VOILE_KEY", raising=False)

    def run(*arguments, code=0):
        done = run_voile(arguments, monkeypatch, capsys)
        assert done.code == code, done.err
        return done.err if code else done.out

    return run


TRAIN = ("train", "patients.csv", "--target", "ill", "--schema", "patients.yaml", "--no-evaluate")


def test_a_signed_training_is_verified_and_a_changed_file_is_not(go, tmp_path):
    assert "Public key:  ed25519:" in go("key", "create", "house.key")
    made = ("ledger", "create", "l.db", "--epsilon", "3", "--dataset", "patients", "--unit", "row")
    go(*made, "--key", "house.key")
    go(*TRAIN, "--ledger", "l.db", code=4)  # its key is not there
    go(*TRAIN, "--ledger", "l.db", "--key", "house.key", "-o", "m.voile")
    head = json.loads(go("ledger", "head", "l.db", "--json"))["head"]
    assert go("ledger", "head", "l.db").strip() == head
    told = go("verify", "m.voile", "--key", "house.key.pub", "--ledger", "l.db", "--head", head)
    assert "Nothing contradicts what the model says." in told
    assert "has paid for it" in told
    assert json.loads(go("verify", "m.voile", "--json"))["kind"] == "model"
    assert "is whole: 4 entries" in go("ledger", "verify", "l.db", "--head", head)
    assert json.loads(go("ledger", "verify", "l.db", "--json"))["head"] == head
    assert "Nothing contradicts what" in go("verify", "l.db", "--key", "house.key.pub")
    data = json.loads((tmp_path / "m.voile").read_text())
    data["intercept"][0] += 1.0
    (tmp_path / "m.voile").write_text(json.dumps(data))
    assert "changed after it was signed" in go("verify", "m.voile", code=5)
    go("explain", "m.voile", code=5)


def test_refused_attempts_are_listed(go):
    go("ledger", "create", "l.db", "--epsilon", "0.1", "--dataset", "patients")
    assert "Nothing was refused." in go("ledger", "refusals", "l.db")
    go(*TRAIN, "--ledger", "l.db", code=3)
    told = go("ledger", "refusals", "l.db")
    assert "EBMClassifier.fit" in told
    assert "(login name)" in told
    assert "was refused" in told
    (one,) = json.loads(go("ledger", "refusals", "l.db", "--json"))
    assert one["known_by"] == "login name"
    assert "the first job decides" in go("ledger", "show", "l.db")
    assert Ledger("l.db").history() == ()


def test_another_unit_is_refused_with_the_remedy(go):
    go(
        "ledger",
        "create",
        "l.db",
        "--epsilon",
        "3",
        "--dataset",
        "patients",
        "--unit",
        "patient_id",
    )
    told = go(*TRAIN, "--ledger", "l.db", code=4)
    assert "protects one row" in told
    assert "Unit('patient_id', rows=...)" in told
    go(*TRAIN, "--ledger", "l.db", "--unit", "patient_id")
    assert "Protects  one patient_id" in go("ledger", "show", "l.db")


def test_a_receipt_or_model_is_signed_in_place(go, tmp_path):
    go("key", "create", "house.key", "--json")
    go(*TRAIN, "-o", "m.voile")
    go("sign", "m.voile", code=2)
    assert "Signed by ed25519:" in go("sign", "m.voile", "--key", "house.key")
    assert json.loads(go("sign", "m.voile", "--key", "house.key", "--json"))["signer"]
    go("verify", "m.voile", "--key", "house.key.pub")
    (tmp_path / "list.json").write_text("[]")
    go("sign", "list.json", "--key", "house.key", code=5)
    go("verify", "list.json", code=5)
    go("verify", "none.json", code=4)


def test_an_empty_file_is_no_ledger(go, tmp_path):
    (tmp_path / "l.db").touch()
    assert "exists and is no ledger" in go(*TRAIN, "--ledger", "l.db", "--budget", "3", code=4)
    go("ledger", "create", "l.db", "--epsilon", "3", code=4)
    assert (tmp_path / "l.db").read_bytes() == b""
