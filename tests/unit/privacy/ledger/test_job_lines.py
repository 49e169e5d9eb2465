"""The record of a client's jobs: line by line, written once, by one agent, with the payment."""

import json
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from test_enemy import PLAN, SCHEMA, Server, agent, layout, paid, residuals, rows

from voile import Budget, Ledger, protect
from voile.errors import DataError, FederationError, LedgerMismatch, LedgerUnavailable
from voile.models.lvq.queries import ClassSums
from voile.models.lvq.space import Space
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.masks import Roster
from voile.privacy.clients.questions import Joined, Paid, RefusalMessage, SumAnswer
from voile.privacy.events import Gaussian, Plan, Step
from voile.privacy.ledger.job_lines import ANSWERED, PAID
from voile.privacy.ledger.jobs import MemoryJobs, open_jobs
from voile.privacy.ledger.sql import SqlBook
from voile.privacy.queries import RowCount
from voile.privacy.wire import Unpacker

BUDGET = Budget(50, 1e-5)
JOB = "f" * 64


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request, tmp_path):
    return Ledger(None if request.param == "memory" else tmp_path / "book.db", BUDGET)


def test_lines_follow_each_other_and_are_written_once(ledger):
    jobs = open_jobs(ledger)
    assert jobs.lines(JOB) == ()
    first = jobs.add(JOB, None, PAID, {"plan": 0, "entry": "x", "unit": None})
    second = jobs.add(JOB, first, ANSWERED, {"plan": 0, "step": "a", "index": 0})
    assert jobs.lines(JOB) == (first, second)
    assert open_jobs(ledger).lines(JOB) == (first, second)
    for stale in (None, first):
        with pytest.raises(LedgerMismatch, match="Another run"):
            jobs.add(JOB, stale, ANSWERED, {"plan": 0})
    assert jobs.lines("e" * 64) == ()
    assert len({first.digest, second.digest}) == 2


def test_a_payment_and_its_line_are_written_together_or_not_at_all(ledger):
    jobs, made = open_jobs(ledger), []
    last = jobs.add(JOB, None, PAID, {"plan": 0})

    def beside(known):
        return jobs.beside(JOB, known, PAID, lambda entry: {"entry": entry.id}, made.append)

    with pytest.raises(LedgerMismatch, match="Another run"):
        ledger.spend(PLAN, "job", beside=beside(None))
    assert ledger.history() == ()
    entry = ledger.spend(PLAN, "job", beside=beside(last))
    assert made[-1].content == {"entry": entry.id}
    assert jobs.lines(JOB)[-1] == made[-1]


def answered(tmp_path, accesses=2):
    ledger = Ledger(tmp_path / "book.db", BUDGET)
    server = paid(agent(ledger=ledger))
    for index in range(accesses):
        assert isinstance(server.ask(RowCount(), index=index), SumAnswer)
    server.agent.close()
    return tmp_path / "book.db"


CHANGES = {
    "content": "UPDATE voile_job_line SET content = replace(content, 'x\": 1', 'x\": 0')",
    "kind": "UPDATE voile_job_line SET kind = 'paid' WHERE seq = 2",
    "number": "UPDATE voile_job_line SET seq = 9 WHERE seq = 2",
    "job": "UPDATE voile_job_line SET job = replace(job, substr(job, 1, 1), 'g')",
    "no JSON": "UPDATE voile_job_line SET content = '{' WHERE seq = 2",
    "first line gone": "DELETE FROM voile_job_line WHERE seq = 1",
    "middle line gone": "DELETE FROM voile_job_line WHERE seq = 2",
    "digest": "UPDATE voile_job_line SET digest = upper(digest) WHERE seq = 3",
    "swapped": "UPDATE voile_job_line SET seq = 5 - seq + 100 WHERE seq > 1",
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_records_are_noticed(tmp_path, change):
    path = answered(tmp_path)
    guards = "voile_job_line_no_update", "voile_job_line_no_delete"
    with sqlite3.connect(path) as file:
        texts = [
            file.execute("SELECT sql FROM sqlite_master WHERE name = ?", (one,)).fetchone()[0]
            for one in guards
        ]
        for one in guards:
            file.execute(f"DROP TRIGGER {one}")
        file.execute(CHANGES[change])
        for text in texts:
            file.execute(text)
    file.close()
    with pytest.raises(LedgerMismatch, match="tampered"):
        Ledger(path).verify()
    server = Server(agent(ledger=Ledger(path)))
    if change != "job":  # under another name it is no record of this job
        assert isinstance(server.open(), RefusalMessage)


@pytest.mark.parametrize(
    "verb", ["UPDATE voile_job_line SET kind = 'x'", "DELETE FROM voile_job_line"]
)
def test_lines_cannot_be_changed_without_removing_the_guards(tmp_path, verb):
    path = answered(tmp_path)
    file = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        file.execute(verb)
    file.execute("DROP TRIGGER voile_job_line_no_update")
    file.commit()
    file.close()
    with pytest.raises(LedgerMismatch, match="guards"):
        Ledger(path)


def test_a_record_whose_payment_is_gone_is_noticed(tmp_path):
    ledger = Ledger(answered(tmp_path))
    ledger.verify()
    open_jobs(ledger).add(JOB, None, PAID, {"plan": 0, "entry": "nowhere", "unit": None})
    with pytest.raises(LedgerMismatch, match="not there"):
        ledger.verify()


# -- one agent -------------------------------------------------------------------------------------


def test_one_agent_works_for_a_client_at_a_time(tmp_path):
    path = tmp_path / "book.db"
    first = agent(ledger=Ledger(path, BUDGET))
    with pytest.raises(FederationError, match="already"):
        agent(ledger=Ledger(path))
    server = paid(first)
    first.close()
    assert "closed" in server.ask(RowCount()).reason
    with agent(ledger=Ledger(path)) as second:
        assert isinstance(paid(second).ask(RowCount()), SumAnswer)
    del second
    agent(ledger=Ledger(path))


def test_the_lock_dies_with_its_process(tmp_path):
    path = tmp_path / "book.db"
    program = f"""
        import sys; sys.path.insert(0, {str(Path(__file__).parents[1] / "clients")!r})
        from test_enemy import Budget, Ledger, agent
        one = agent(ledger=Ledger({str(path)!r}, Budget(50, 1e-5)))
        print("open", flush=True)
        sys.stdin.read()
    """
    other = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout.readline() == "open\n"
    with pytest.raises(FederationError, match="already"):
        agent(ledger=Ledger(path))
    other.kill()
    other.communicate()
    agent(ledger=Ledger(path)).close()


# -- faults ----------------------------------------------------------------------------------------


def test_a_line_that_cannot_be_written_answers_nothing_and_the_answer_stays_the_same(
    tmp_path, monkeypatch
):
    server = paid(agent(ledger=Ledger(tmp_path / "book.db", BUDGET)))
    real = SqlBook._transaction

    def full(self, work):
        raise LedgerUnavailable("The ledger does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(SqlBook, "_transaction", full)
        said = server.ask(RowCount())
    assert isinstance(said, RefusalMessage)
    assert real is SqlBook._transaction
    (waiting,) = server.agent._open_jobs["job"]._waiting.values()
    said = server.ask(RowCount())
    assert isinstance(said, SumAnswer)
    assert said.values.tolist() == waiting.values.tolist()
    assert server.agent.receipts()[0].lines[0].openings == 1


def test_a_payment_whose_commit_was_not_heard_of_is_not_made_twice(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "book.db", BUDGET)
    server = Server(agent(ledger=ledger))
    server.open()
    real = SqlBook.append

    def lost(self, *given):
        real(self, *given)
        raise LedgerUnavailable("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(SqlBook, "append", lost)
        assert isinstance(server.pay(), RefusalMessage)
    assert isinstance(server.pay(), Paid)
    assert len(ledger.history()) == 1
    assert isinstance(server.ask(RowCount()), SumAnswer)


def test_every_look_can_be_answered_though_rows_could_not_be_read_once(tmp_path, monkeypatch):
    from voile.privacy.sources.table import TableSource

    plan = Plan.of(a=Gaussian(1, 5.0))
    server = paid(agent(), plan)

    def broken(*_):
        raise OSError("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(TableSource, "blocks", broken)
        assert isinstance(server.ask(RowCount(), event=plan["a"]), RefusalMessage)
    assert isinstance(server.ask(RowCount(), event=plan["a"]), SumAnswer)


# -- restarts --------------------------------------------------------------------------------------


def again(tmp_path, trust="nobody", **given):
    ledger = Ledger(tmp_path / "book.db", BUDGET)
    return Server(agent(ledger=ledger, **given), trust)


def test_a_job_cannot_be_reopened_on_other_terms_after_a_restart(tmp_path):
    server = again(tmp_path)
    server.open()
    server.pay()
    server.agent.close()
    other = again(tmp_path, "aggregator")
    assert isinstance(other.open(), RefusalMessage)
    assert not isinstance(other.pay(), Paid)
    assert not isinstance(other.ask(RowCount()), SumAnswer)
    other.agent.close()
    same = again(tmp_path)
    assert isinstance(same.open(), Joined)
    assert isinstance(same.pay(), Paid)
    assert isinstance(same.ask(RowCount()), SumAnswer)
    assert len(same.agent.ledger.history()) == 1


@pytest.mark.parametrize("remembers", [True, False])
def test_the_last_answer_is_repeated_after_a_restart_if_it_is_remembered(tmp_path, remembers):
    given = {"memory": tmp_path / "memory.json"} if remembers else {}
    server = again(tmp_path, **given)
    server.open()
    server.pay()
    first = [server.ask(RowCount(), index=k) for k in range(2)]
    server.agent.close()
    server = again(tmp_path, **given)
    server.open()
    server.pay()
    said = server.ask(RowCount(), index=1)
    if remembers:
        assert said.values.tolist() == first[1].values.tolist()
    else:
        assert "answered before" in said.reason
    assert "answered before" in server.ask(RowCount(), index=0).reason
    assert isinstance(server.ask(RowCount(), index=2), SumAnswer)
    (receipt,) = server.agent.receipts()
    assert receipt.lines[0].openings == 3
    assert not isinstance(server.ask(RowCount(), index=3), SumAnswer)


def test_an_old_ledger_beside_a_newer_memory_is_noticed(tmp_path):
    book, memory = tmp_path / "book.db", tmp_path / "memory.json"
    server = again(tmp_path, memory=memory)
    server.open()
    server.pay()
    old = book.read_bytes()
    answers = [server.ask(RowCount(), index=k) for k in range(2)]
    server.agent.close()
    newest = book.read_bytes()
    book.write_bytes(old)
    with pytest.raises(LedgerMismatch, match="older copy"):  # whatever job would be asked for next
        again(tmp_path, memory=memory)
    book.write_bytes(newest)
    again(tmp_path, memory=memory).agent.close()
    assert all(isinstance(one, SumAnswer) for one in answers)


def test_a_memory_forgets_vectors_and_not_that_there_were_answers(tmp_path):
    book, memory = tmp_path / "book.db", tmp_path / "memory.json"
    server = again(tmp_path, memory=memory)
    server.open()
    server.pay()
    old = book.read_bytes()
    for index in range(2):
        assert isinstance(server.ask(RowCount(), index=index), SumAnswer)
    for number in range(17):
        other = Server(server.agent, job=f"job {number}")
        other.open()
        other.pay(Plan.of(a=Gaussian(1, 90.0)))
        assert isinstance(other.ask(RowCount(), event=Gaussian(1, 90.0)), SumAnswer)
    server.agent.close()
    book.write_bytes(old)
    with pytest.raises(LedgerMismatch, match="older copy"):
        again(tmp_path, memory=memory)


def test_an_agent_answers_in_its_own_process_alone():
    server = paid(agent())
    server.agent._process -= 1
    assert "process" in server.ask(RowCount()).reason
    jobs = open_jobs(Ledger(BUDGET))
    jobs._process -= 1
    with pytest.raises(LedgerMismatch):
        jobs.add(JOB, None, PAID, {})


def test_what_another_run_has_answered_is_not_tried_again_here(tmp_path, monkeypatch):
    """A agent that lost a race forgets the sum and sample that it has made."""
    keys = {name: X25519PrivateKey.generate().public_key().public_bytes_raw() for name in "bcd"}
    ledger = Ledger(BUDGET)
    servers = [
        Server(agent(ledger=ledger), "shares", others=("b", "c", "d"), dropouts=1) for _ in range(2)
    ]
    own = [one.open().key for one in servers]
    assert all(isinstance(one.pay(), Paid) for one in servers)
    said = [
        one.ask(RowCount(), roster=Roster(0, keys | {"a": key}))
        for one, key in zip(servers, own, strict=True)
    ]
    assert isinstance(said[0], SumAnswer)
    assert "Another run" in said[1].reason
    keys["a"] = servers[1].open().key
    del keys["d"]
    assert isinstance(servers[1].ask(RowCount(), roster=Roster(1, keys)), RefusalMessage)


def test_what_rows_keep_is_made_anew_after_a_preparation_failed(monkeypatch):
    """Neither the old nor the new preparation is believed of rows that keep some of both."""
    from voile.models.ebm.queries import BinLayout

    server = paid(agent(), Plan.of(a=Gaussian(9, 5.0)))
    first, other = layout(), layout((0, 2, 4, 6, 8))
    exact = server.ask(residuals(first), 0, prepared=(first,))
    assert isinstance(exact, SumAnswer)
    real = BinLayout.prepare

    def fail(self, block):
        real(self, block)
        raise KeyboardInterrupt  # outside the net, as a disk or memory that fails

    with monkeypatch.context() as patch:
        patch.setattr(BinLayout, "prepare", fail)
        with pytest.raises(KeyboardInterrupt):
            server.ask(residuals(other, 8, mixing=(np.full(2, 2048),) * 4), 1, prepared=(other,))
    job = server.agent._open_jobs["job"]
    assert (job.table, job.prepared) == (None, ())
    assert isinstance(server.ask(residuals(first), 1, prepared=(first,)), SumAnswer)


def test_servers_are_not_told_of_paths_and_budgets(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "secret place.db", Budget(0.3, 1e-6))
    server = Server(agent(ledger=ledger))
    server.open()
    said = [server.pay(Plan.of(a=Gaussian(1, 0.5)))]
    assert isinstance(server.pay(Plan.of(a=Gaussian(3, 50.0))), Paid)

    def away(self, work):
        raise LedgerUnavailable(f"The ledger {tmp_path}/secret place.db does not answer.")

    def gone(self, work):
        raise LedgerMismatch(f"The ledger {tmp_path}/secret place.db no longer holds entry 1.")

    for failure in (away, gone):
        with monkeypatch.context() as patch:
            patch.setattr(SqlBook, "_transaction", failure)
            said.append(server.ask(RowCount(), event=Gaussian(3, 50.0)))
    for one in said:
        assert isinstance(one, RefusalMessage)
        assert "secret" not in one.reason
        assert "0.3" not in one.reason
        assert str(tmp_path) not in one.reason


def test_weighted_rows_use_up_no_look_for_queries_without_weights():
    X, y = rows(20)
    table = protect(X, y, schema=SCHEMA, weights=np.ones(20), largest_weight=2.0)
    one = ClientAgent(table, Ledger(BUDGET), name="a")
    server, space = paid(one), Space(SCHEMA, np.zeros(4), 1.0)
    assert "weights" in server.ask(ClassSums(space, False), prepared=(space,)).reason
    assert isinstance(server.ask(RowCount()), SumAnswer)


def test_words_of_a_plan_are_short():
    server = Server(agent())
    server.open()
    assert isinstance(server.pay(what="x" * 501, final=False), RefusalMessage)
    assert isinstance(server.pay(Plan((Step("y" * 501, Gaussian(1, 5.0)),))), RefusalMessage)
    assert server.agent.ledger.refusals() == ()


def test_arrays_of_a_message_do_not_share_bytes():
    head = json.dumps({"$t": [{"$a": ["<f8", [4], 0, 32]}] * 3}).encode()
    message = len(head).to_bytes(4, "little") + head + bytes(32)
    with pytest.raises(DataError, match="shorter"):
        Unpacker().unpack(message)


def test_an_answer_that_may_have_left_is_the_one_that_is_given(tmp_path):
    """The ledger is one line behind the memory: a crash between the two, or an old copy."""
    book, memory = tmp_path / "book.db", tmp_path / "memory.json"
    server = again(tmp_path, memory=memory)
    server.open()
    server.pay()
    old = book.read_bytes()
    first = server.ask(RowCount())
    server.agent.close()
    book.write_bytes(old)
    server = again(tmp_path, memory=memory)
    server.open()
    server.pay()
    assert server.ask(RowCount()).values.tolist() == first.values.tolist()


def test_an_old_copy_of_everything_is_noticed_by_what_the_server_has_seen(tmp_path):
    book = tmp_path / "book.db"
    server = again(tmp_path)
    server.open()
    server.pay()
    old = book.read_bytes()
    head = server.ask(RowCount()).head
    server.agent.close()
    book.write_bytes(old)
    server = again(tmp_path)
    said = server.open(heads={"a": head})
    assert isinstance(said, RefusalMessage)
    assert "older copy" in said.reason
    assert isinstance(server.open(heads={"a": ""}), Joined)


def test_looks_may_be_left_out_and_not_asked_for_later(tmp_path):
    server = again(tmp_path)
    server.open()
    assert isinstance(server.pay(Plan.of(a=Gaussian(40, 50.0))), Paid)
    event = Gaussian(40, 50.0)
    assert all(
        isinstance(server.ask(RowCount(), index=k, event=event), SumAnswer) for k in range(0, 40, 2)
    )
    assert "answered before" in server.ask(RowCount(), index=5, event=event).reason


def test_a_line_of_another_run_is_not_taken_for_a_commit_that_was_not_heard_of(monkeypatch):
    ledger = Ledger(BUDGET)
    servers = [Server(agent(ledger=ledger)) for _ in range(2)]
    for one in servers:
        one.open()
        one.pay()
    first = servers[0].ask(RowCount())
    assert isinstance(first, SumAnswer)

    def lost(self, *given):
        raise LedgerUnavailable("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryJobs, "add", lost)
        assert isinstance(servers[1].ask(RowCount()), RefusalMessage)
    assert isinstance(servers[1].ask(RowCount()), RefusalMessage)
