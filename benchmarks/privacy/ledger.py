"""Sixteen processes race to spend ten thousand pieces of one budget, each spend durable.

Run ``python benchmarks/privacy/ledger.py [result.json]``.
A SQLite file in the folder for temporary files,
then a throw-away PostgreSQL server if one is installed (``tests/system/postgres.py``). The rate
counts accepted spends alone; the race has more attempts than the budget holds.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import json
import math
import os
import platform
import sqlite3
import tempfile
import time
from contextlib import ExitStack

from rich.console import Console
from rich.table import Table

from voile import Budget, Ledger
from voile.errors import BudgetExceeded
from voile.privacy.events import Gaussian, Plan

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/system"))

PROCESSES = 16
PIECES = 10_000
ATTEMPTS = 640
BAR = 100.0


def spend_all(ledger: Ledger, plan: Plan, gate: int, result: int) -> None:
    """What each process does once the gate opens."""
    os.read(gate, 1)
    waits, refused = [], 0
    ids = []
    for _ in range(ATTEMPTS):
        start = time.perf_counter()
        try:
            ids.append(ledger.spend(plan, "race").id)
            waits.append(time.perf_counter() - start)
        except BudgetExceeded:
            refused += 1
    with os.fdopen(result, "w") as pipe:
        json.dump({"ids": ids, "waits": waits, "refused": refused}, pipe)


def race(where: str) -> dict[str, object]:
    ledger = Ledger(where, Budget(1, 1e-6))
    noise = math.sqrt((PIECES + 0.5) / ledger.filter.limit.loss)
    plan = Plan.of(a=Gaussian(noise_multiplier=noise))
    gate, open_gate = os.pipe()
    pipes = []
    for _ in range(PROCESSES):
        out, into = os.pipe()
        if os.fork() == 0:
            status = 1
            try:
                os.close(open_gate)
                spend_all(ledger, plan, gate, into)
                status = 0
            finally:
                os._exit(status)
        os.close(into)
        pipes.append(os.fdopen(out))
    start = time.perf_counter()
    os.close(open_gate)
    parts = [json.loads(pipe.read()) for pipe in pipes]
    seconds = time.perf_counter() - start
    for _ in range(PROCESSES):
        os.wait()
    history = ledger.history()
    ids = [one for part in parts for one in part["ids"]]
    waits = sorted(wait for part in parts for wait in part["waits"])
    rate = len(history) / seconds
    kept = (
        len(ids) == len(history) == PIECES
        and set(ids) == {entry.id for entry in history}
        and [entry.seq for entry in history] == list(range(1, PIECES + 1))
        and history[-1].total.within(ledger.filter.limit)
    )
    return {
        "spends": len(history),
        "refused": sum(part["refused"] for part in parts),
        "seconds": seconds,
        "spends_per_second": rate,
        "median_wait_seconds": waits[len(waits) // 2],
        "longest_wait_seconds": waits[-1],
        "none_lost_none_too_many": kept,
        "passed": kept and rate >= BAR,
    }


def measure() -> dict[str, object]:
    from postgres import Server, find_programs

    databases = {}
    with tempfile.TemporaryDirectory() as folder:
        databases["sqlite"] = race(f"{folder}/ledger.db")
    if find_programs() is not None:
        with ExitStack() as stack:
            databases["postgresql"] = race(stack.enter_context(Server()).url)
    return {
        "processes": PROCESSES,
        "pieces": PIECES,
        "attempts": PROCESSES * ATTEMPTS,
        "bar_spends_per_second": BAR,
        "databases": databases,
        "passed": all(one["passed"] for one in databases.values()),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def show(result: dict[str, object]) -> None:
    table = Table(title=f"{PROCESSES} processes, {PIECES:,} pieces of one budget")
    for column in ("database", "spends", "refused", "spends/s", "median wait", "longest", "bar"):
        table.add_column(column, justify="left" if column == "database" else "right")
    for name, one in result["databases"].items():
        table.add_row(
            name,
            f"{one['spends']:,}",
            f"{one['refused']:,}",
            f"{one['spends_per_second']:.0f}",
            f"{one['median_wait_seconds'] * 1000:.1f} ms",
            f"{one['longest_wait_seconds']:.2f} s",
            f">= {BAR:.0f}: {'passed' if one['passed'] else 'FAILED'}",
        )
    Console(stderr=True).print(table)


if __name__ == "__main__":
    found = measure()
    text = json.dumps(found, indent=2)
    print(text)
    show(found)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")
    sys.exit(0 if found["passed"] else 1)
