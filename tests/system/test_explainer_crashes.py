"""Killed explainers: what was answered stays answered, and nothing that was looked at is forgotten.

Processes are forked from a helper that runs this file as a script, never from the test process,
which may have threads.
"""

import itertools
import json
import math
import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_ledger_crashes import calls_of, die_after, kill_and_read, read_to_death, start_child
from test_ledger_races import run_helper

from voile import Budget, Ledger, Number, Schema, protect
from voile.errors import LedgerUnavailable
from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.answers.answering import FromRows
from voile.explain.blackbox.answers.seal import Seals
from voile.explain.blackbox.rows.points import ANSWERS, ONE, PointSpace
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.descent import STEP_ACCESS, DescentAnswerer, costs_of
from voile.explain.blackbox.solvers.release import PAIR_ACCESS, OfflineAnswerer, ReleaseAnswerer
from voile.explain.blackbox.solvers.weights import read_weight
from voile.privacy.ledger import EntryKind
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import open_answers
from voile.privacy.ledger.filter import Filter
from voile.privacy.vault import keep

BUDGET, ALLOWANCE = Budget(8, 1e-6), Budget(4, 1e-6)
KILLS = 100
KILLS_PER_FILE = 25
FEATURES, ROWS, QUESTIONS = 8, 40, 60
SCHEMA = Schema({f"x{i}": Number(-1, 1) for i in range(FEATURES)})
SPACE = PointSpace(SCHEMA)
SEALS = Seals.of(bytes(32), "data", "explainer", shared=True)


def private_table():
    rows = np.random.default_rng(0).uniform(-1, 1, (ROWS, FEATURES))
    table = protect({f"x{i}": rows[:, i] for i in range(FEATURES)}, schema=SCHEMA)

    def work(block):
        SPACE.prepare(block)
        score = np.tanh(2 * block["x0"] - block["x1"])
        block.kept[ANSWERS] = np.trunc(score * ONE).astype(np.int32)[:, None]

    keep(table, list(SCHEMA), work)
    return table


def explainer(ledger, strategy):
    """The parts of an explainer that reads rows, and its answers."""
    book = open_answers(ledger, strategy)
    book.facts({})
    allowance = Allowance(private_table(), ledger, book, ALLOWANCE, f"explanations ({strategy})")
    settings = Settings(
        strategy,
        read_weight("stable"),
        5.0,
        True,
        QUESTIONS,
        40,
        1,
        faithful=False,
        random_state=0,
        shared_questions=True,
    )
    each = allowance.limit / QUESTIONS
    if strategy == "release":
        reader = ReleaseAnswerer(allowance, settings, each, 1)
    else:
        reader = DescentAnswerer(allowance, settings, costs_of(settings, each), ROWS, (FEATURES, 1))
    return FromRows(reader, OfflineAnswerer(settings), book, allowance, SEALS, 1), book, allowance


def random_point(chosen):
    """A corner of the cube, sometimes near it: near ones are answered by what was said before."""
    shrink = chosen.choice([1.0, 1.0, 1.0, 0.9])
    columns = {name: np.array([chosen.choice([-1, 1]) * shrink]) for name in SCHEMA}
    return SPACE.place(columns, 1)


def plain(answer):
    """What an answer says, whether it was given for the first time or again."""
    return replace(answer, answered="", computed=False).to_bytes().hex()


def stored_answers(book):
    """Answers by name, as the ledger has them."""
    return {name: Answer.from_bytes(SEALS.open(one["sealed"])) for name, one in book.all().items()}


def nothing(_done):
    """Nobody watches the progress."""


# --- what the helper does


def kill_askers(folder: str, seed: int) -> dict:
    """Kill a hundred explainers, every second one by the clock; what each file then lacks."""
    chosen = random.Random(seed)
    found = Counter()
    calls = {}
    for strategy in ("adaptive", "release"):
        # What is loaded and compiled here, the children need not.
        warm, _, _ = explainer(Ledger(Path(folder) / f"{strategy}.db", BUDGET), strategy)
        points = [random_point(chosen) for _ in range(4)]
        calls[strategy] = [
            calls_of(lambda point=point, warm=warm: warm.answer(point, nothing)) for point in points
        ][-1]
    for kill in range(KILLS):
        strategy = ("adaptive", "release")[kill // KILLS_PER_FILE % 2]
        path = Path(folder) / f"l{kill // KILLS_PER_FILE}.db"
        if kill % KILLS_PER_FILE == 0:
            said: dict[str, str] = {}
            Ledger(path, BUDGET)
        asks = random.Random(chosen.random())
        by_clock, wanted = kill % 2 == 0, chosen.randrange(3)
        last = chosen.randrange(calls[strategy])

        def ask(write, path=path, strategy=strategy, asks=asks, at=(by_clock, wanted, last)):
            answers, _, _ = explainer(Ledger(path), strategy)
            by_clock, wanted, last = at
            write("ready")
            for done in itertools.count():
                point = random_point(asks)
                if done == wanted and not by_clock:
                    die_after(last)
                (answer,) = answers.answer(point, nothing)
                write(json.dumps([point[0].tolist(), plain(answer)]))

        child, out = start_child(ask)
        if by_clock:
            lines = kill_and_read(child, out, 1 + wanted, chosen.uniform(0, 0.04))
        else:
            lines = read_to_death(child, out)
        for line in lines[1:]:
            point, answer = json.loads(line)
            key = SEALS.name(np.array(point, dtype=np.int32))
            found["changed"] += said.setdefault(key, answer) != answer
            found["said"] += 1
        last = kill % KILLS_PER_FILE == KILLS_PER_FILE - 1
        found.update(check(path, strategy, said, everything=last))
    return dict(found)


def check(path: Path, strategy: str, said: dict[str, str], everything: bool) -> Counter:
    """What is wrong with a file after a kill; zeros are left out."""
    wrong = Counter()
    ledger = Ledger(path)
    answers, book, allowance = explainer(ledger, strategy)
    history = ledger.history()
    stored = stored_answers(book)
    wrong["lost"] += len({"answer:" + key for key in said} - set(stored))
    asked = list(said.items())[-100 if everything else -3 :]
    for key, answer in asked:
        kept = stored.get("answer:" + key)
        wrong["other values"] += kept is None or plain(kept) != answer
        point = Answer.from_bytes(bytes.fromhex(answer)).point
        (again,) = answers.answer(point[None], nothing)
        wrong["other answer"] += plain(again) != answer
    wrong["paid again"] += len(ledger.history()) != len(history)
    # Each computed answer has a charge of its own, for the very steps that it took.
    charges = [entry for entry in history if entry.kind is EntryKind.CHARGE]
    label = PAIR_ACCESS if strategy == "release" else STEP_ACCESS
    paid = Counter(entry.plan[label].count for entry in charges if label in entry.plan)
    computed = [one for one in stored.values() if one.computed]
    taken = Counter(one.steps or 1 for one in computed)
    wrong["not paid"] += (taken - paid).total()
    # All charges are in the totals of both the ledger and the allowance, and neither is exceeded.
    cost = math.fsum(entry.price.loss for entry in charges)
    total = history[-1].total.loss if history else 0.0
    wrong["ledger forgot"] += total < cost * (1 - 1e-9)
    wrong["allowance forgot"] += book.used() < cost * (1 - 1e-9)
    limit = Filter(ALLOWANCE).limit.loss
    wrong["allowance exceeded"] += book.used() > limit * (1 + 1e-9)
    wrong["ledger exceeded"] += not ledger.filter.allows(history[-1].total) if history else 0
    receipt = allowance.receipt(())
    wrong["receipt"] += not 0 <= receipt.epsilon <= ALLOWANCE.epsilon or not receipt.has_guarantee
    reserved = sum(entry.kind is EntryKind.RESERVE for entry in history)
    closed = sum(entry.kind is EntryKind.RELEASE for entry in history)
    wrong["cut short (no error)"] += reserved > closed
    wrong["computed (no error)"] += len(computed) if everything else 0
    return +wrong


# --- the tests


@pytest.mark.slow
def test_a_hundred_kills_at_random_instants_lose_no_answer_and_no_payment(tmp_path):
    result = run_helper(__file__, "kill_askers", tmp_path, 20240608)
    assert result.pop("said") >= KILLS // 2  # a busy machine says less before it is killed
    assert result.pop("cut short (no error)") > 10  # some did die inside a question
    assert result.pop("computed (no error)") > 50
    assert {name: count for name, count in result.items() if count} == {}


def test_an_answer_that_could_not_be_stored_is_not_given(tmp_path, monkeypatch):
    for strategy in ("adaptive", "release"):
        ledger = Ledger(tmp_path / f"{strategy}.db", BUDGET)
        answers, book, _ = explainer(ledger, strategy)
        point = random_point(random.Random(1))

        def broken(_):
            raise LedgerUnavailable("no")

        with monkeypatch.context() as patch:
            patch.setattr(book, "store", broken)
            with pytest.raises(LedgerUnavailable):
                answers.answer(point, nothing)
        assert answers.history == ()
        paid, used = ledger.history()[-1].total.loss, book.used()
        assert used > 0
        # Asked again it is paid again: what nobody saw cannot be given for nothing.
        (answer,) = answers.answer(point, nothing)
        assert ledger.history()[-1].total.loss > 1.5 * paid
        assert book.used() > 1.5 * used
        (again,) = explainer(Ledger(tmp_path / f"{strategy}.db"), strategy)[0].answer(
            point, nothing
        )
        assert plain(again) == plain(answer)


def test_a_used_up_allowance_answers_from_what_was_said_and_charges_nothing(tmp_path):
    for strategy in ("adaptive", "release"):
        ledger = Ledger(tmp_path / f"{strategy}.db", BUDGET)
        answers, book, allowance = explainer(ledger, strategy)
        chosen = random.Random(2)
        (first,) = answers.answer(random_point(chosen), nothing)
        assert first.answered == strategy
        assert book.set_aside(allowance.limit - book.used(), allowance.limit)
        lines = len(ledger.history())
        later = [answers.answer(random_point(chosen), nothing)[0] for _ in range(5)]
        assert {one.answered for one in later} <= {"offline", "reused", "stored"}
        assert not any(one.computed for one in later)
        assert len(ledger.history()) == lines


def test_two_explainers_that_answer_at_once_give_the_same_answer(tmp_path):
    """Both have found nothing stored, both pay; the first answer stays for both."""
    first, book, _ = explainer(Ledger(tmp_path / "l.db", BUDGET), "release")
    second, _, _ = explainer(Ledger(tmp_path / "l.db"), "release")
    point = random_point(random.Random(3))
    between = []

    class Interrupted:
        """A reader during whose access another process answers the same question."""

        def __init__(self, reader):
            self.reader = reader

        def answer(self, points, history):
            found = self.reader.answer(points, history)
            between.extend(second.answer(points, nothing))
            return found

    first._reader = Interrupted(first._reader)
    (given,) = first.answer(point, nothing)
    assert plain(given) == plain(between[0])
    charges = [e for e in Ledger(tmp_path / "l.db").history() if e.kind is EntryKind.CHARGE]
    assert len(charges) == 2
    assert book.used() == pytest.approx(math.fsum(e.price.loss for e in charges), rel=1e-9)


if __name__ == "__main__":
    verb, place, *numbers = sys.argv[1:]
    print(json.dumps({"kill_askers": kill_askers}[verb](place, *map(int, numbers))))
