"""What processes do to stored answers, for tests: run as a script, forked from there."""

import json
import os
import resource
import signal
import sys
from pathlib import Path

from test_ledger_races import fork_each

from voile import Budget, Ledger
from voile.errors import LedgerError
from voile.privacy.ledger.answers import open_answers

BUDGET = Budget(1, 1e-6)


def race(where: str, processes: int, rounds: int, kept: int) -> dict:
    """Everyone takes and gives back, and stores answers to the same questions."""

    def work(number):
        book = open_answers(Ledger(where, BUDGET, dataset="race"), "e")
        book.facts({"who": number})
        taken, stored, most = 0, {}, 0.0
        for turn in range(rounds):
            if book.set_aside(1.0, 10.0):
                most = max(most, book.used())
                if turn < kept:
                    taken += 1
                else:
                    book.give_back(1.0)
            stored |= book.store({f"k{turn}": [number, turn]})
        return {"taken": taken, "stored": stored, "most": most, "facts": book.facts({})}

    return {"parts": fork_each(processes, work)}


def fill_quota(folder: str) -> dict:
    """No file may grow any more while answers are stored; later it may again."""
    path = Path(folder) / "l.db"
    book = open_answers(Ledger(path, BUDGET), "e")
    book.facts({})
    book.store({"before": 1})
    book.set_aside(0.25, 1.0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    errors = []
    try:
        book.store({"during": "x" * 100_000})
    except LedgerError as error:
        errors.append([type(error).__name__, str(error)])
    there = open_answers(Ledger(path), "e")
    kept, used = there.all(), there.used()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    book.store({"during": "y" * 100_000})
    return {"errors": errors, "kept": kept, "used": used, "after": len(book.all()["during"])}


def use_as_stranger(folder: str) -> dict:
    """Someone who may read the file and not write it uses answers that were opened before."""
    path = Path(folder) / "l.db"
    ledger = Ledger(path, BUDGET)
    book = open_answers(ledger, "e")
    book.facts({})
    book.store({"k": 1})
    book.set_aside(0.25, 1.0)
    path.chmod(0o444)
    Path(folder).chmod(0o555)

    def work(_number):
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        seen = []
        for attempt in (
            lambda: book.store({"l": 2}),
            lambda: book.set_aside(0.1, 1.0),
            lambda: book.give_back(0.1),
            lambda: open_answers(ledger, "f").facts({}),
        ):
            try:
                attempt()
                seen.append(None)
            except LedgerError as error:
                seen.append(type(error).__name__)
        return seen

    (seen,) = fork_each(1, work)
    Path(folder).chmod(0o755)
    path.chmod(0o644)
    return {"seen": seen, "all": book.all(), "used": book.used()}


if __name__ == "__main__":
    verb, place, *numbers = sys.argv[1:]
    helper = {"race": race, "fill_quota": fill_quota, "use_as_stranger": use_as_stranger}
    print(json.dumps(helper[verb](place, *map(int, numbers))))
