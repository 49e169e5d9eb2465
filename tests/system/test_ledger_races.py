"""Many processes at one SQLite ledger: nobody overspends, and no line is lost.

Processes are forked from a helper that runs this file as a script, never from the test process,
which may have threads.
"""

import json
import math
import os
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from voile import Budget, Ledger
from voile.errors import BudgetExceeded, LedgerError
from voile.privacy.events import Gaussian, Plan

BUDGET = Budget(1, 1e-6)


def piece_of(pieces: int) -> Plan:
    """A plan of which the budget holds this many, and half of another."""
    limit = Ledger(BUDGET).filter.limit.loss
    return Plan.of(a=Gaussian(noise_multiplier=math.sqrt((pieces + 0.5) / limit)))


_TESTS = str(Path(__file__).parents[1])


def run_helper(file: str, *arguments: object) -> dict:
    """What the helper function of a test file, run in a process of its own, prints."""
    done = subprocess.run(
        [sys.executable, file, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        # What all tests share lies one folder above.
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([_TESTS, os.environ.get("PYTHONPATH", "")]),
        },
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fork_each(count: int, work) -> list:
    """The JSON results of ``work(number)`` in forked processes that start together."""
    gate_out, gate_in = os.pipe()
    results = []
    for number in range(count):
        result_out, result_in = os.pipe()
        if os.fork() == 0:
            status = 1
            try:
                os.close(gate_in)
                os.read(gate_out, 1)  # until the gate opens
                with os.fdopen(result_in, "w") as pipe:
                    json.dump(work(number), pipe)
                status = 0
            finally:
                os._exit(status)
        os.close(result_in)
        results.append(result_out)
    os.close(gate_in)
    texts = []
    for result in results:
        with os.fdopen(result) as pipe:
            texts.append(pipe.read())
    for _ in range(count):
        _, status = os.wait()
        if status:
            raise SystemExit("a forked process failed")
    return [json.loads(text) for text in texts]


# --- what the helper does


def race(where: str, pieces: int, processes: int, attempts: int) -> dict:
    """Every process opens (or makes) the ledger and tries to spend more than its share."""
    plan = piece_of(pieces)

    def work(number):
        ledger = Ledger(where, BUDGET, dataset="race")
        ids, refused = [], 0
        for _ in range(attempts):
            try:
                ids.append(ledger.spend(plan, f"process {number}").id)
            except BudgetExceeded:
                refused += 1
        return {"ids": ids, "refused": refused}

    return {"parts": fork_each(processes, work)}


def race_held(where: str, processes: int, rounds: int) -> dict:
    """Every process reserves a ninth, uses a part of it, and gives back the rest."""
    plan = piece_of(9)
    small = Plan.of(a=Gaussian(noise_multiplier=plan["a"].noise_multiplier * 30))

    def work(number):
        ledger = Ledger(where, BUDGET, dataset="race")
        charged = refused = 0
        for _ in range(rounds):
            try:
                with ledger.reserve(plan, f"process {number}") as reservation:
                    reservation.charge(small)
                    charged += 1
            except BudgetExceeded:
                refused += 1
        return {"charged": charged, "refused": refused}

    return {"parts": fork_each(processes, work)}


def fork_and_spend(folder: str) -> dict:
    """A forked child uses what its parent opened: a file, memory, a reservation."""
    plan = piece_of(100)
    file, memory = Ledger(Path(folder) / "l.db", BUDGET), Ledger(BUDGET)
    file.spend(plan, "parent")
    reservation = file.reserve(plan, "parent")

    def message(action):
        try:
            action()
        except LedgerError as error:
            return str(error)
        return None

    def work(number):
        seen = {
            "file": message(lambda: file.spend(plan, "child")),
            "memory": message(lambda: memory.spend(plan, "child")),
            "memory reservation": message(lambda: memory.reserve(plan, "child")),
            "reservation": message(lambda: reservation.charge(plan)),
        }
        reservation.close()
        return seen

    (seen,) = fork_each(1, work)
    file.spend(plan, "parent again")
    memory.spend(plan, "parent again")
    whats = [[entry.what, str(entry.kind)] for entry in file.history()]
    return {"seen": seen, "history": whats, "memory": len(memory.history())}


# --- the tests


def check_race(ledger: Ledger, parts: list, pieces: int, attempts: int) -> None:
    history = ledger.history()
    ids = [one for part in parts for one in part["ids"]]
    assert len(ids) == len(set(ids)) == len(history) == pieces
    assert set(ids) == {entry.id for entry in history}
    assert [entry.seq for entry in history] == list(range(1, pieces + 1))
    assert sum(part["refused"] for part in parts) == len(parts) * attempts - pieces
    exact = sum(Fraction(entry.price.loss) for entry in history)
    assert float(exact) == pytest.approx(history[-1].total.loss, rel=1e-12)
    assert all(entry.total.within(ledger.filter.limit) for entry in history)
    totals = [entry.total.loss for entry in history]
    assert totals == sorted(set(totals))


@pytest.mark.slow
def test_sixteen_processes_never_overspend_a_file_and_lose_nothing(tmp_path):
    pieces, attempts = 2000, 128
    path = tmp_path / "l.db"
    result = run_helper(__file__, "race", path, pieces, 16, attempts)
    check_race(Ledger(path, dataset="race"), result["parts"], pieces, attempts)
    assert [one.name for one in tmp_path.iterdir()] == ["l.db"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_the_queue_is_not_what_keeps_spenders_apart(tmp_path):
    # A folder that cannot be locked: SQLite alone must do.
    path = tmp_path / "l.db"
    result = run_helper(__file__, "race_without_queue", path, 60, 4, 20)
    check_race(Ledger(path, dataset="race"), result["parts"], 60, 20)


@pytest.mark.slow
def test_reservations_of_many_processes_never_overspend(tmp_path):
    path = tmp_path / "l.db"
    result = run_helper(__file__, "race_held", path, 12, 6)
    ledger = Ledger(path, dataset="race")
    history = ledger.history()
    assert all(entry.total.within(ledger.filter.limit) for entry in history)
    assert [entry.seq for entry in history] == list(range(1, len(history) + 1))
    charged = sum(part["charged"] for part in result["parts"])
    assert charged + sum(part["refused"] for part in result["parts"]) == 72
    assert len(history) == 3 * charged
    charges = [entry.price.loss for entry in history if entry.kind == "charge"]
    assert len(charges) == charged
    assert history[-1].total.loss == pytest.approx(math.fsum(charges), rel=1e-9)


def test_a_forked_child_may_use_a_file_but_no_memory_and_no_reservation(tmp_path):
    result = run_helper(__file__, "fork_and_spend", tmp_path)
    assert result["seen"]["file"] is None
    assert "Give the ledger a file" in result["seen"]["memory"]
    assert "Give the ledger a file" in result["seen"]["memory reservation"]
    assert "belongs to the process" in result["seen"]["reservation"]
    assert result["history"] == [
        ["parent", "spend"],
        ["parent", "reserve"],
        ["child", "spend"],
        ["parent again", "spend"],
    ]
    assert result["memory"] == 1


if __name__ == "__main__":
    verb, place, *numbers = sys.argv[1:]
    if verb == "race_without_queue":
        from voile.privacy.ledger import turn

        def refuse(*_):
            raise OSError("this folder cannot be locked")

        turn.fcntl.flock = refuse
        verb = "race"
    helper = {
        "race": race,
        "race_held": race_held,
        "fork_and_spend": fork_and_spend,
    }
    print(json.dumps(helper[verb](place, *map(int, numbers))))
