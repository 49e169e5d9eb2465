"""Files are verified without the rows: receipts, models and ledgers, their signatures and heads."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    GLVQClassifier,
    Ledger,
    Number,
    PrivateExplainer,
    Schema,
    Unit,
    load,
    summarize,
)
from voile.audit import verify
from voile.errors import LedgerError, ModelError, ReceiptError, VoileError
from voile.privacy.noise import fixed_noise
from voile.privacy.receipt import Receipt
from voile.privacy.signing import SigningKey

SCHEMA = Schema({"age": Number(0, 90)}, target=Category(["no", "yes"]))


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A model, its receipt, its ledger and a key."""
    folder = tmp_path_factory.mktemp("house")
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 90, 400)
    key = SigningKey.create(folder / "house.key")
    ledger = Ledger(folder / "l.db", Budget(3, 1e-6), dataset="people")
    ill = np.where(age > 40, "yes", "no")
    model = EBMClassifier(epsilon=1.0, schema=SCHEMA, ledger=ledger).fit({"age": age}, ill)
    model.save(folder / "plain.voile")
    model.save(folder / "signed.voile", key=key)
    (folder / "plain.json").write_text(model.receipt_.to_json())
    (folder / "signed.json").write_text(model.receipt_.signed(key).to_json())
    with fixed_noise(1):
        seeded = summarize({"age": age}, epsilon=0.1, schema=SCHEMA.with_target(None))
    (folder / "seeded.json").write_text(seeded.receipt.to_json())
    return folder


@pytest.mark.parametrize("name", ["plain.voile", "signed.voile", "plain.json", "signed.json"])
def test_a_good_file_is_verified_against_its_ledger(house, name):
    signed = name.startswith("signed")
    head = str(Ledger(house / "l.db").head())
    key = house / "house.key.pub" if signed else None
    found = verify(house / name, key=key, ledger=house / "l.db", head=head)
    assert found.kind == ("model" if name.endswith("voile") else "receipt")
    assert (found.signer is not None) is signed
    assert found.guarantee.startswith("(1, 1e-06)-differential privacy")
    assert any("has paid for it" in one for one in found.checked)
    assert any("noise was drawn" in one for one in found.unchecked)
    assert json.loads(found.to_json())["kind"] == found.kind
    assert "Nothing contradicts what" in str(found)


def test_what_is_not_checked_is_said(house):
    text = str(verify(house / "plain.voile"))
    assert "not checked  who vouches for it" in text
    assert "not checked  that it was paid" in text
    assert "whose key that is" in str(verify(house / "signed.voile"))
    assert "no guarantee" in verify(house / "seeded.json").guarantee


def changed(house, tmp_path, name, change):
    data = json.loads((house / name).read_text())
    change(data)
    path = tmp_path / name
    path.write_text(json.dumps(data))
    return path


CHANGES = {
    "epsilon": lambda r: r.update(epsilon=0.5),
    "delta": lambda r: r.update(delta=1e-12),
    "words": lambda r: r.update(guarantee="(0.1, 1e-06)-differential privacy for one row"),
    "noise": lambda r: r["accesses"][0]["event"].update(noise_multiplier=1e-3),
    "openings": lambda r: r["accesses"][0].update(openings=10**6),
    "an access left out": lambda r: r["accesses"].pop(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["json", "voile"])
def test_a_changed_claim_is_noticed(house, tmp_path, kind, change):
    def alter(data):
        CHANGES[change](data if kind == "json" else data["receipt"])

    with pytest.raises(VoileError, match=r"signature is not of this content"):
        verify(changed(house, tmp_path, f"signed.{kind}", alter))
    plain = changed(house, tmp_path, f"plain.{kind}", alter)
    with pytest.raises(ReceiptError):  # an access left out needs the ledger
        verify(plain, ledger=house / "l.db" if "left out" in change else None)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.update(unit="patient (at most 5 rows each)"),
        lambda r: r.update(unit=" (at most 5 rows each)"),
        lambda r: r.update(relation="replace_one"),
        lambda r: r.update(what="another job"),
        lambda r: r.update(accesses=[]),
    ],
    ids=["unit", "unit without a name", "relation", "job", "accesses"],
)
def test_a_receipt_must_say_what_the_ledger_says(house, tmp_path, change):
    def alter(data):
        change(data)
        del data["guarantee"]

    path = changed(house, tmp_path, "plain.json", alter)
    verify(path)
    with pytest.raises(ReceiptError, match="it was changed"):
        verify(path, ledger=house / "l.db")


def test_receipts_of_jobs_in_parts_are_compared_with_all_they_paid(tmp_path):
    rng = np.random.default_rng(1)
    rows = {"a": rng.uniform(0, 1, 200), "b": rng.uniform(0, 1, 200)}
    schema = Schema({"a": Number(0, 1), "b": Number(0, 1)}, target=Category(["no", "yes"]))
    ledger = Ledger(tmp_path / "l.db", Budget(9, 1e-6))
    labels = np.where(rows["a"] > 0.5, "yes", "no")
    for _ in range(2):
        model = GLVQClassifier(epsilon=2.0, schema=schema, ledger=ledger).fit(rows, labels)
    explainer = PrivateExplainer(
        lambda X: np.asarray(X["a"], float),
        rows,
        schema=schema.with_target(None),
        epsilon=2.0,
        ledger=ledger,
        strategy="release",
        queries=4,
    )
    for a in (0.1, 0.9):
        explainer.explain_slopes({"a": a, "b": 0.5})
    for receipt in (model.receipt_, explainer.receipt_):
        path = tmp_path / "receipt.json"
        path.write_text(receipt.to_json())
        assert any("has paid for it" in one for one in verify(path, ledger=ledger).checked)
        path.write_text(replace(receipt, lines=(), epsilon=1e-4).to_json())
        with pytest.raises(ReceiptError, match="other accesses than the ledger has paid for"):
            verify(path, ledger=ledger)


def test_a_changed_model_is_noticed_where_it_is_signed(house, tmp_path):
    def bend(data):
        data["intercept"][0] += 0.5

    verify(changed(house, tmp_path, "plain.voile", bend))  # nobody vouched for it
    path = changed(house, tmp_path, "signed.voile", bend)
    with pytest.raises(ReceiptError, match="changed after it was signed"):
        verify(path)
    with pytest.raises(ModelError, match="changed after it was signed"):
        load(path)
    assert load(house / "signed.voile").predict([[80.0]])[0] == "yes"


def test_a_signature_of_another_key_or_none_is_noticed(house, tmp_path):
    other = SigningKey.create(tmp_path / "other.key")
    with pytest.raises(ReceiptError, match="not signed by the key that was given, but by"):
        verify(house / "signed.voile", key=other.public)
    with pytest.raises(ReceiptError, match="it has no signature"):
        verify(house / "plain.json", key=other.public)
    with pytest.raises(ReceiptError, match="it has no signature"):
        verify(house / "l.db", key=other.public)


@pytest.mark.parametrize(
    "signature", [None, 5, {}, {"key": 1, "value": 2}, {"key": "x", "value": ""}]
)
def test_a_signature_that_is_none_is_refused(house, signature):
    data = json.loads((house / "plain.json").read_text())
    with pytest.raises(ReceiptError, match="signature is not of this content"):
        Receipt.from_dict({**data, "signature": signature})


def test_a_receipt_of_another_ledger_is_noticed(house, tmp_path):
    other = tmp_path / "other.db"
    ledger = Ledger(other, Budget(3, 1e-6), dataset="people")
    EBMClassifier(epsilon=1.0, schema=SCHEMA, ledger=ledger).fit(
        {"age": [1.0, 50.0]}, ["no", "yes"]
    )
    with pytest.raises(ReceiptError, match="does not hold what this receipt says was paid"):
        verify(house / "plain.voile", ledger=other)


def test_a_ledger_that_forgot_a_payment_is_noticed(house, tmp_path):
    old = tmp_path / "old.db"
    shutil.copy(house / "l.db", old)
    head = str(Ledger(old).head())
    assert verify(old, head=head).kind == "ledger"
    assert "older copy" in str(verify(old))
    Ledger(old).spend(Ledger(old).history()[0].plan, "more")
    with pytest.raises(LedgerError, match="older than the head"):
        verify(house / "l.db", head=str(Ledger(old).head()))


def test_what_is_no_such_file_is_refused(tmp_path):
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "other.json").write_text('{"receipt": 5}')
    for name in ("list.json", "other.json", "none.json"):
        with pytest.raises(VoileError):
            verify(tmp_path / name)


@pytest.mark.parametrize("column", ["patient", "row", "id (at most 9)"])
def test_receipts_for_units_of_any_name_are_verified(tmp_path, column):
    schema = Schema({"age": Number(0, 90)}, unit=Unit(column, rows=2))
    ledger = Ledger(tmp_path / "l.db", Budget(3, 1e-6))
    rows = {"age": np.arange(50.0), column: np.arange(50)}
    path = tmp_path / "receipt.json"
    path.write_text(summarize(rows, epsilon=1, schema=schema, ledger=ledger).receipt.to_json())
    assert any("has paid for it" in one for one in verify(path, ledger=ledger).checked)
    with pytest.raises(VoileError, match="different units do not add up"):
        summarize({"age": rows["age"]}, epsilon=1, schema=SCHEMA.with_target(None), ledger=ledger)


def test_the_receipt_of_a_summary_of_an_explainer_is_verified(tmp_path):
    ledger = Ledger(tmp_path / "l.db", Budget(3, 1e-6))
    schema = SCHEMA.with_target(None)
    rows = {"age": np.arange(90.0)}
    model = PrivateExplainer(
        lambda X: np.asarray(X["age"], float) / 90, rows, schema=schema, epsilon=1.0, ledger=ledger
    )
    path = tmp_path / "receipt.json"
    path.write_text(model.receipt_.to_json())
    assert any("has paid for it" in one for one in verify(path, ledger=ledger).checked)
