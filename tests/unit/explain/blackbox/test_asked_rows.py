"""Rows that are asked about: nobody else sees which, in answers, prices or files.

Two worlds differ in whom somebody asked about. Noise is fixed, so that everything else is the same:
whatever another asker or a reader of the ledger's file sees must then be the same to the bit.
"""

import base64
import hashlib
import json
import math
import re
import sqlite3
import struct
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from voile import Budget, Category, Ledger, Number, PrivateExplainer, Schema
from voile.errors import BudgetExceeded, LedgerMismatch, SettingError
from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.answers.receipt_notes import KEPT_SEALED, NOTHING_KEPT, SHARED
from voile.explain.blackbox.answers.seal import Seals
from voile.privacy.ledger.answer_key import SUFFIX, open_key
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

ALONE = ("release", "interactive")
LEARNING = ("adaptive", "enhanced")
BUDGET = Budget(4.0, 1e-6)

ROWS = 60
X = np.random.default_rng(1).uniform(0.01, 0.99, (ROWS, 2))
SCHEMA = Schema({"dose": Number(0, 1), "age": Number(0, 1)}, rows=ROWS)
OTHERS = np.array([[0.5, 0.5], [0.111, 0.9]])


def model(rows):
    rows = np.asarray(rows, dtype=np.float64)
    return np.tanh(3 * rows[:, 0] - 2) * 0.7 + 0.3 * rows[:, 1] ** 2 - 0.1


def make(strategy="release", ledger=None, *, of=model, rows=X, **changes):
    settings = {"schema": SCHEMA, "epsilon": 4.0, "queries": 6, "steps": 6, **changes}
    settings.setdefault("shared_questions", strategy in (*LEARNING, "offline"))
    return PrivateExplainer(of, rows, strategy=strategy, ledger=ledger, **settings)


# -- two worlds ------------------------------------------------------------------------------------


def told(explanation):
    """An explanation as its receiver has it, without the names of ledger entries."""
    data = explanation.to_dict()
    data["receipt"].pop("ledger")
    return json.dumps(data, sort_keys=True)


TOLD = ("seq", "who", "what", "kind", "plan", "price_loss", "price_failure", "total_loss", "alone")


def of_file(path):
    """What the ledger's file tells; names and times of entries, and digests of them, left out.

    Of digests and seals of questions the form is told: they are as random as names of entries.
    """
    with sqlite3.connect(path) as connection:
        entries = [{name: row[name] for name in TOLD} for row in rows_of(connection, "voile_entry")]
        answers = [
            (re.sub("[0-9a-f]", "x", row["key"]), row["seq"], form(json.loads(row["answer"])))
            for row in rows_of(connection, "voile_answer")
        ]
        return entries, answers, rows_of(connection, "voile_answerer")


def rows_of(connection, table):
    found = connection.execute(f"SELECT * FROM {table}")
    names = [one[0] for one in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def form(record):
    hidden = ("sealed", "mark")
    return {name: len(one) if name in hidden else one for name, one in record.items()}


def world(folder, strategy, asked, questions, rows=X):
    """Somebody asks about ``asked``; what another asker then sees, and what is in the file."""
    folder.mkdir()
    seen = []
    with fixed_noise(5):
        first = make(strategy, Ledger(folder / "l.db", BUDGET), rows=rows)
        first.explain_slopes(asked)
        for explainer in (first, make(strategy, Ledger(folder / "l.db"), rows=rows)):
            for row in questions:
                try:
                    seen.append(told(explainer.explain_slopes([row])))
                except BudgetExceeded as error:
                    seen.append(str(error))
            seen += [explainer.history(), explainer.receipt_.guarantee, explainer.receipt_.notes]
    return seen, of_file(folder / "l.db")


@pytest.mark.parametrize("persons", [([0], [1]), ([0, 1, 2], [3, 4, 5])], ids=["one", "three"])
@pytest.mark.parametrize("strategy", ALONE)
def test_others_see_the_same_whoever_was_asked_about(tmp_path, strategy, persons):
    """Before, during and after the end of the budget, from the same object and from another."""
    questions = [*OTHERS, *OTHERS, [0.2, 0.2], [0.3, 0.3], [0.4, 0.4], [0.6, 0.6], [0.7, 0.7]]
    one, other = (
        world(tmp_path / str(i), strategy, X[chosen], questions) for i, chosen in enumerate(persons)
    )
    assert one == other
    seen = one[0]
    assert any("budget" in text and "used up" in text for text in seen if isinstance(text, str))
    assert sum(isinstance(text, str) and text.startswith("{") for text in seen) >= 6


@pytest.mark.parametrize("strategy", ALONE)
def test_a_person_who_is_removed_and_not_asked_about_changes_paid_values_alone(tmp_path, strategy):
    """In one world the person is in the table and asked about, in the other neither."""
    worlds = [(X, X[:1]), (X[1:], np.array([[0.25, 0.35]]))]
    found = []
    for i, (rows, asked) in enumerate(worlds):
        seen, in_file = world(tmp_path / str(i), strategy, asked, OTHERS, rows)
        answers = [json.loads(text) for text in seen if isinstance(text, str) and text[0] == "{"]
        values = [(one.pop("values"), one.pop("intercepts")) for one in answers]
        for one in answers:
            # Of the released values, and of what noise is left in them.
            for name in ("standard_errors", "intercept_errors", "distance"):
                one.pop(name)
        others = [one for one in seen if not isinstance(one, str) or one[0] != "{"]
        found.append((values, (answers, others, in_file)))
    assert found[0][1] == found[1][1]
    assert found[0][0] != found[1][0]  # one row's share, under fixed noise


def test_others_see_the_same_of_a_summary_which_keeps_nothing_of_questions(tmp_path):
    with fixed_noise(5):
        explainer = make("summary", Ledger(tmp_path / "l.db", BUDGET))
    before = (tmp_path / "l.db").read_bytes()
    first = told(explainer.explain_slopes(OTHERS))
    state = {name: id(one) for name, one in vars(explainer).items()}
    explainer.explain_slopes(X[:3])
    assert told(explainer.explain_slopes(OTHERS)) == first
    assert (tmp_path / "l.db").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["l.db"]
    assert state == {name: id(one) for name, one in vars(explainer).items()}
    assert vars(explainer._opened.answerer).keys() == {"_population", "_settings"}
    assert explainer.history() == ()


def test_the_comparison_of_worlds_notices_shared_questions(tmp_path):
    """As a check of the check: where earlier answers serve later ones, the worlds differ."""
    found = []
    for person in (0, 1):
        folder = tmp_path / str(person)
        folder.mkdir()
        with fixed_noise(5):
            explainer = make("adaptive", Ledger(folder / "l.db", BUDGET))
            explainer.explain_slopes(X[[person]])
            found.append(told(explainer.explain_slopes(OTHERS)))
    assert found[0] != found[1]


def test_only_who_knows_a_row_exactly_finds_that_it_was_asked_about():
    """Documented: a repeated question is free. The next number is another question."""
    ledger = Ledger(BUDGET)
    make(ledger=ledger).explain_slopes(X[:1])
    lines = len(ledger.history())
    near = X[:1] + 1e-4
    other = make(ledger=ledger)
    assert other.explain_slopes(X[:1]).answered == ("stored",)
    assert len(ledger.history()) == lines
    assert other.explain_slopes(near).answered == ("release",)
    # Under a name of one's own, not even that.
    assert make(ledger=ledger, name="mine", epsilon=1.0).explain_slopes(X[:1]).answered == (
        "release",
    )


# -- shared questions ------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [*LEARNING, "offline"])
def test_strategies_that_learn_from_questions_need_the_statement(strategy):
    ledger = Ledger(BUDGET)
    with pytest.raises(SettingError, match="shared_questions=True"):
        make(strategy, ledger, shared_questions=False)
    assert not ledger.history()


@pytest.mark.parametrize("strategy", [*ALONE, *LEARNING])
def test_offline_answers_are_made_of_released_values_alone(strategy):
    """What the black box says of an earlier row must not matter, only what was released."""

    def otherwise(rows):
        """Another answer for the very rows that were asked about, which are not in the table."""
        rows = np.asarray(rows)
        hit = np.isin(rows[:, 0], OTHERS[:, 0])
        return np.where(hit, -model(rows), model(rows))

    seen = []
    for of in (model, otherwise):
        ledger = Ledger(BUDGET)
        with fixed_noise(3):
            explainer = make(strategy, ledger, of=of, shared_questions=True)
            said = explainer.explain_slopes(OTHERS).scores
            offline = make("offline", ledger, of=of)
            found = offline.explain_slopes([[0.3, 0.7], [0.31, 0.7]])
        assert found.answered == ("offline", "offline")
        assert not hasattr(explainer.history()[0], "score")
        seen.append((said.tolist(), found.values.tolist(), found.intercepts.tolist()))
    assert seen[0][0] != seen[1][0]  # the asker was told
    assert seen[0][1:] == seen[1][1:]


@pytest.mark.parametrize("intercept", [True, False])
def test_offline_answers_are_the_mean_of_earlier_ones_near_ones_most(intercept):
    with fixed_noise(2):
        explainer = make("release", epsilon=math.inf, shared_questions=True, intercept=intercept)
        explainer.explain_slopes(OTHERS)
        ledger, book = explainer._opened.allowance.ledger, explainer._opened.book
        offline = make("offline", ledger, epsilon=math.inf, intercept=intercept)
        near = offline.explain_slopes(OTHERS[:1] + 1e-3)
    first, second = explainer.history()
    between = np.linalg.norm(near.coefficients[0] - first.phi) / np.linalg.norm(
        second.phi - first.phi
    )
    assert 0 < between < 0.5
    assert np.isinf(near.standard_errors).all()
    assert (near.intercepts == 0).all() == (not intercept)
    assert len([one for one in book.all() if one.startswith("answer:")]) == 3


def test_a_reused_answer_does_not_tell_where_the_other_was_asked():
    explainer = make("adaptive", steps=100, queries=40)
    explainer.explain_slopes([[0.5, 0.5]])
    assert explainer.explain_slopes([[0.51, 0.5]]).answered == ("reused",)
    first, second = explainer.history()
    assert not np.array_equal(first.point, second.point)
    assert np.array_equal(first.phi, second.phi)


def test_receipts_say_what_is_assumed():
    assert KEPT_SEALED in make().receipt_.notes
    assert SHARED in make("adaptive").receipt_.notes
    assert SHARED in make(shared_questions=True).receipt_.notes
    assert NOTHING_KEPT in make("summary").receipt_.notes
    for note in (KEPT_SEALED, SHARED, NOTHING_KEPT):
        assert "exact score" in note


# -- what is in files ------------------------------------------------------------------------------

DECODED = re.compile(rb"[A-Za-z0-9+/_-]{24,}={0,2}")


def spellings(number):
    """A number as files may hold it; eight characters or bytes and more, which no chance writes.

    By chance, 8 bytes meet one of 10^5 random ones with a probability below 10^-13, and none of
    the texts consists of characters of base64 alone.
    """
    texts = [repr(float(number)), f"{number:.6g}", f"{number:.6f}", f"{number:.8f}"]
    return [
        *(text.encode() for text in texts),
        struct.pack("<d", number),
        struct.pack(">d", number),
    ]


def whole(point):
    """All coordinates of a point, one after the other."""
    texts = [mark.join(map(str, point.tolist())).encode() for mark in (", ", ",", " ")]
    kinds = ("<i4", ">i4", "<i8", ">i8", "<f4", "<f8", ">f8")
    return [*texts, *(point.astype(kind).tobytes() for kind in kinds)]


def search(folder, secrets):
    """Which secrets stand in any file of a folder, as they are or in base64 or hexadecimal."""
    found = set()
    for path in folder.rglob("*"):
        raw = path.read_bytes() if path.is_file() else b""
        texts = [raw]
        for one in DECODED.findall(raw):
            plain = one.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
            plain = plain[: len(plain) // 4 * 4]
            texts.append(base64.b64decode(plain))
            if re.fullmatch(b"[0-9a-f]+", plain):
                texts.append(bytes.fromhex(plain[: len(plain) // 2 * 2].decode()))
        found |= {secret for secret in secrets if any(secret in text for text in texts)}
    return found


def secrets_of(explainer, asked, scores):
    """Values, points and scores of asked rows, in all spellings."""
    points = explainer._opened.questions.read(asked).points
    numbers = [one for number in (*asked.ravel(), *scores.ravel()) for one in spellings(number)]
    return {*numbers, *(one for point in points for one in whole(point))}


@pytest.mark.parametrize("strategy", ["summary", *ALONE, *LEARNING, "offline"])
def test_no_value_of_an_asked_row_is_in_any_file(tmp_path, strategy, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    asked = np.array([[0.123456789012, 0.765432109876], [0.918273645, 0.192837465]])
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    if strategy == "offline":
        make("release", ledger, shared_questions=True).explain_slopes(OTHERS)
    explainer = make(strategy, ledger)
    found = explainer.explain_slopes(asked)
    explainer.explain_slopes(asked)
    explainer.quality(asked, asked=asked)
    secrets = secrets_of(explainer, asked, found.scores)
    assert len(secrets) > 40
    assert search(tmp_path, secrets) == set()
    # The search would have found them: where the asker saves them, and as they were kept once.
    (tmp_path / "saved.json").write_text(found.to_json())
    assert search(tmp_path, secrets)
    (tmp_path / "saved.json").unlink()
    points = explainer._opened.questions.read(asked).points
    raw = points[0].tobytes() * 3
    for text in (
        json.dumps({"point": points[0].tolist()}),
        json.dumps({"score": found.scores[0].tolist()}),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
        raw.hex(),
    ):
        (tmp_path / "planted").write_text(f"some {text} text")
        assert search(tmp_path, secrets)


def test_no_unlisted_level_and_no_text_that_was_asked_about_is_in_any_file(tmp_path):
    table = pd.DataFrame({"dose": X[:, 0], "ward": ["a", "b", "the secret ward"] * 20})
    schema = Schema({"dose": Number(0, 1), "ward": Category(["a", "b"])}, rows=ROWS)

    def of(rows):
        return np.asarray(rows["dose"]) * 0.5

    explainer = make("release", Ledger(tmp_path / "l.db", BUDGET), of=of, rows=table, schema=schema)
    explainer.explain_slopes(table.iloc[2:3])
    texts = ["a fine film by jane doe", "dull"] * 30
    reader = PrivateExplainer(
        lambda words: np.asarray(words)[:, 0] * 0.5,
        texts,
        vocabulary=["fine", "dull"],
        ledger=Ledger(tmp_path / "texts.db", BUDGET),
        strategy="interactive",
        queries=3,
        steps=4,
    )
    assert reader.explain_slopes(texts[:1]).texts == (texts[0],)
    assert search(tmp_path, {b"secret ward", b"jane", b"film"}) == set()


@pytest.mark.parametrize("strategy", [*ALONE, *LEARNING])
def test_seals_have_one_length_and_names_are_no_plain_digests(tmp_path, strategy):
    explainer = make(strategy, Ledger(tmp_path / "l.db", BUDGET), queries=3)
    explainer.explain_slopes(X[:2])
    if strategy in LEARNING:
        for row in (X[:1] + 1e-3, [[0.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0]], [[1.0, 0.0]]):
            explainer.explain_slopes(row)
    stored = {name: one for name, one in explainer._opened.book.all().items() if "answer:" in name}
    assert len({len(one["sealed"]) for one in stored.values()}) == 1
    assert all(set(one) == {"sealed", "noise"} for one in stored.values())
    points = explainer._opened.questions.read(X[:2]).points
    plain = {f"answer:{hashlib.sha256(one.tobytes()).hexdigest()}" for one in points}
    keyed = {
        f"answer:{Seals.of(key, 'default', 'explainer', shared=False).name(one)}"
        for one in points
        for key in (b"", bytes(32), b"explainer")
    }
    assert not stored.keys() & (plain | keyed)


# -- keys ------------------------------------------------------------------------------------------


def test_an_answer_is_opened_by_its_row_alone(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    explainer = make(ledger=ledger)
    explainer.explain_slopes(X[:2])
    first, second = explainer._opened.questions.read(X[:2]).points
    key = open_key(ledger, make=False)
    seals = Seals.of(key, ledger.dataset, "explainer", shared=False)
    stored = explainer._opened.book.all()[f"answer:{seals.name(first)}"]["sealed"]
    assert np.array_equal(Answer.from_bytes(seals.open(stored, first)).point, first)
    for other in (second, None):
        with pytest.raises(LedgerMismatch, match="cannot be opened"):
            seals.open(stored, other)
    for wrong in (
        Seals.of(key, ledger.dataset, "explainer", shared=True),
        Seals.of(key, ledger.dataset, "another", shared=False),
        Seals.of(bytes(32), ledger.dataset, "explainer", shared=False),
    ):
        with pytest.raises(LedgerMismatch, match="cannot be opened"):
            wrong.open(stored, first)
    assert "secret" not in repr(seals)


@pytest.mark.parametrize("strategy", ["release", "adaptive"])
def test_a_restart_finds_answers_only_with_the_right_key(tmp_path, strategy):
    def begin():
        return make(strategy, Ledger(tmp_path / "l.db", BUDGET))

    first = begin().explain_slopes(X[:2])
    again = begin()
    assert again.explain_slopes(X[:2]).answered == ("stored", "stored")
    assert np.array_equal(again.explain_slopes(X[:2]).values, first.values)
    lines = len(Ledger(tmp_path / "l.db").history())
    path = tmp_path / f"l.db{SUFFIX}"
    right = path.read_bytes()
    path.unlink()
    with pytest.raises(LedgerMismatch, match="missing"):
        begin()
    assert not path.exists()  # nothing stands where the right one is to be put back
    open_key(Ledger(tmp_path / "l.db"), make=True)
    with pytest.raises(LedgerMismatch, match="another key"):
        begin()
    path.write_bytes(right)
    assert begin().explain_slopes(X[:1]).answered == ("stored",)
    assert len(Ledger(tmp_path / "l.db").history()) == lines


def test_a_database_needs_a_named_key_before_anything_is_paid(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    monkeypatch.setattr(ledger._book, "url", "postgresql+psycopg://me@host/db")
    with pytest.raises(SettingError, match="key='FILE'"):
        make(ledger=ledger)
    assert not ledger.history()
    assert make("summary", ledger, epsilon=1.0).explain_slopes(X[:1])  # needs none
    named = make(ledger=ledger, key=tmp_path / "key", name="named", epsilon=1.0)
    assert named.explain_slopes(X[:1]).answered == ("release",)


def rewrite(path, change):
    with sqlite3.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        guards = (
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'voile_answer'"
        )
        for row in connection.execute(guards).fetchall():
            connection.execute(f"DROP TRIGGER {row['name']}")
        query = "SELECT key, answer FROM voile_answer WHERE key LIKE 'answer:%' ORDER BY seq"
        rows = [(row["key"], row["answer"]) for row in connection.execute(query)]
        for key, text in change(rows):
            connection.execute("UPDATE voile_answer SET answer = ? WHERE key = ?", (text, key))


def swapped(rows):
    (one, first), (other, second) = rows[:2]
    return [(one, second), (other, first)]


def old(rows):
    return [(key, json.dumps({"point": [1, 2], "phi": [[0.0], [0.0]]})) for key, _ in rows]


def cut(rows):
    return [(key, json.dumps({"sealed": json.loads(text)["sealed"][:-9]})) for key, text in rows]


def odd(rows):
    return [(key, "[1]") for key, _ in rows]


@pytest.mark.parametrize("change", [swapped, old, cut, odd])
@pytest.mark.parametrize("strategy", ["release", "adaptive"])
def test_answers_that_were_changed_are_refused(tmp_path, strategy, change):
    make(strategy, Ledger(tmp_path / "l.db", BUDGET)).explain_slopes([[0.0, 0.0], [1.0, 1.0]])
    rewrite(tmp_path / "l.db", change)
    with pytest.raises(LedgerMismatch, match="Put a good copy back"):
        make(strategy, Ledger(tmp_path / "l.db")).explain_slopes([[0.0, 0.0]])


def test_answers_of_a_version_that_kept_rows_are_refused(tmp_path):
    make(ledger=Ledger(tmp_path / "l.db", BUDGET)).explain_slopes(X[:1])
    rewrite(tmp_path / "l.db", lambda rows: [("model", "[[0.1]]")])
    with pytest.raises(LedgerMismatch, match="earlier version"):
        make(ledger=Ledger(tmp_path / "l.db"))


# -- answers as bytes ------------------------------------------------------------------------------


def test_an_answer_comes_back_to_the_bit():
    with fixed_noise(1):
        explainer = make("release", shared_questions=True)
        explainer.explain_slopes(X[:1])
    (answer,) = explainer.history()
    odd_one = replace(
        answer, errors=np.full((2, 1), math.inf), distance=5e-324, effective_share=math.inf
    )
    for one in (answer, odd_one, answer.copied("stored")):
        data = one.to_bytes()
        assert Answer.from_bytes(data).to_bytes() == data
        assert Answer.from_bytes(data).answered == one.answered
        assert len(data) == len(answer.to_bytes())
        for wrong in (data[:-1], data + b"\0", data[:20], b"", b"\2" + data[1:]):
            with pytest.raises(ValueError, match="not an answer"):
                Answer.from_bytes(wrong)
