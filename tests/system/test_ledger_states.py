"""Random histories of a ledger never exceed its budget, wherever it is kept."""

import itertools
import json
import os
import random
import signal
import sys
from collections import Counter
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from ledger_machine import LedgerStates, check_history
from ledger_oracle import Accesses, exceeds, least_delta, looks_of
from postgres import Server
from test_ledger_crashes import calls_of, die_after
from test_ledger_races import fork_each, run_helper

from voile import Budget, Ledger
from voile.errors import BudgetExceeded, PlanError
from voile.privacy.events import (
    Approximate,
    Event,
    Gaussian,
    Laplace,
    Plan,
    PoissonGaussian,
    Pure,
    Threshold,
)
from voile.privacy.ledger import Entry

BUDGET = Budget(1, 1e-6)
FEW = settings(max_examples=12, stateful_step_count=12)
MANY = settings(max_examples=40, stateful_step_count=25, suppress_health_check=list(HealthCheck))


# --- what the helper does


def pieces(seed: int) -> itertools.cycle:
    """Plans of all sizes, in an order of their own for each process."""
    events = [
        Gaussian(noise_multiplier=60, count=3),
        Gaussian(noise_multiplier=40),
        Pure(epsilon=0.01),
        Threshold(noise_multiplier=90, delta=1e-9),
        Gaussian(noise_multiplier=3),  # more than there is
        Gaussian(noise_multiplier=600, count=40),
        Pure(epsilon=0.05),
    ]
    random.Random(seed).shuffle(events)
    return itertools.cycle([Plan.of(a=event) for event in events])


def work_at_random(ledger: Ledger, seed: int, steps: int, say) -> None:
    """Spend, reserve, charge, close or forget, in one process of several."""
    chosen, plans = random.Random(seed), pieces(seed)
    for _ in range(steps):
        try:
            if chosen.random() < 0.4:
                say(ledger.spend(next(plans), "spend").id)
                continue
            reservation = ledger.reserve(next(plans), "reserve")
            while chosen.random() < 0.6:
                say(reservation.charge(next(plans)).id)
            if chosen.random() < 0.7:
                reservation.close()
        except (BudgetExceeded, PlanError):
            continue


def race_at_random(where: str, kind: str, processes: int, steps: int) -> dict:
    """Several processes at one ledger; every line that one of them was given."""
    Ledger(where, BUDGET, dataset="race", filter=kind)

    def work(number: int) -> list[str]:
        said: list[str] = []
        work_at_random(Ledger(where, dataset="race"), number, steps, said.append)
        return said

    return {"said": [one for part in fork_each(processes, work) for one in part]}


def kill_at_random(where: str, kind: str, kills: int, seed: int) -> dict:
    """One process after the other works, and is killed in the middle; what they were given."""
    Ledger(where, BUDGET, dataset="race", filter=kind)
    warm = Ledger(f"{where}.warm", BUDGET)
    calls = calls_of(lambda: warm.spend(Plan.of(a=Gaussian(noise_multiplier=100)), "warm"))
    chosen, said = random.Random(seed), b""
    for kill in range(kills):
        last = chosen.randrange(calls * 6)
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            say = partial(_write, into)
            try:
                ledger = Ledger(where)
                ledger.history()
                die_after(last)
                work_at_random(ledger, kill, 10**6, say)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.close(into)
        while more := os.read(out, 65536):
            said += more
        os.close(out)
        os.waitpid(child, 0)
    return {"said": said.decode().split()}


def _write(into: int, text: str) -> None:
    os.write(into, f"{text}\n".encode())


# --- the tests


def granted_by(history: tuple[Entry, ...]) -> Accesses:
    """Every access that was paid or charged."""
    paid = [entry for entry in history if str(entry.kind) in ("spend", "charge")]
    return sum((looks_of(entry.plan.events) for entry in paid), Counter())


def check_all(ledger: Ledger, said: list[str]) -> None:
    history = ledger.history()
    assert set(said) <= {entry.id for entry in history}
    assert len(said) == len(set(said))
    check_history(ledger, history)
    accesses = granted_by(history)
    assert not exceeds(accesses, BUDGET.epsilon, BUDGET.delta, "add_remove")
    # Not for want of trying.
    assert len(said) > 10


def test_random_histories_keep_the_budget():
    run_state_machine_as_test(LedgerStates, settings=FEW)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gdp", "renyi", "pure"])
@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_thousands_of_steps_keep_the_budget(kind, place):
    machine = type("Machine", (LedgerStates,), {"kinds": (kind,), "places": (place,)})
    # A file is some ten times slower than memory, where the same machine goes further.
    many = MANY if place == "memory" else settings(MANY, max_examples=12)
    run_state_machine_as_test(machine, settings=many)


@pytest.mark.slow
def test_postgresql_keeps_the_budget():
    number = itertools.count()
    with Server() as server:
        import psycopg

        class InDatabase(LedgerStates):
            places = ("postgresql",)

            def where(self, place: str) -> str:
                name = f"states_{next(number)}"
                with psycopg.connect(server.url, autocommit=True) as connection:
                    connection.execute(f"CREATE SCHEMA {name}")
                return f"{server.url}&options=-csearch_path%3D{name}"

            def url(self) -> str:
                return self.place

        few = settings(MANY, max_examples=8)
        run_state_machine_as_test(InDatabase, settings=few)
        result = run_helper(__file__, "race", server.url, "gdp", 4, 40)
        check_all(Ledger(server.url, dataset="race"), result["said"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gdp", "renyi"])
def test_processes_with_random_histories_keep_the_budget(kind, tmp_path):
    path = tmp_path / "l.db"
    result = run_helper(__file__, "race", path, kind, 6, 40)
    check_all(Ledger(path), result["said"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gdp", "renyi"])
def test_killed_processes_with_random_histories_keep_the_budget(kind, tmp_path):
    path = tmp_path / "l.db"
    result = run_helper(__file__, "kill", path, kind, 40, 20261117)
    check_all(Ledger(path), result["said"])


# --- the oracle itself


@pytest.mark.parametrize(
    ("events", "epsilon", "delta"),
    [
        # Gaussian: mu = 1 at epsilon 1 (Dong, Roth & Su 2022).
        ([Gaussian(noise_multiplier=2, count=4)], 1.0, 0.1269367),
        # Randomised response: only both lies or truths count; (1 - e^(1-2)) (e / (1 + e))^2.
        ([Pure(epsilon=1.0, count=2)], 1.0, 0.3378366),
        # Laplace, scale 1: 1 - e^((0.5 - 1) / 2).
        ([Laplace(noise_multiplier=1)], 0.5, 0.2211992),
        # The delta of an approximate access is a disclosure of its own.
        ([Approximate(epsilon=0.5, delta=0.01)], 0.5, 0.01),
        (
            [Gaussian(noise_multiplier=1), Threshold(noise_multiplier=1e9, delta=0.1)],
            1.0,
            0.2142430,
        ),
        # Every row sampled: as without sampling.
        ([PoissonGaussian(noise_multiplier=1, rate=1.0)], 1.0, 0.1269367),
    ],
)
def test_the_oracle_knows_closed_forms(events, epsilon, delta):
    assert least_delta(looks_of(events), epsilon, "add_remove") == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize(
    ("many", "alone"),
    [
        # The same accesses told as one of their sum, or with one of no weight beside them.
        (
            [Gaussian(noise_multiplier=5), Laplace(noise_multiplier=1e9)],
            [Gaussian(noise_multiplier=5)],
        ),
        (
            [PoissonGaussian(noise_multiplier=4, rate=1.0, count=4)],
            [Gaussian(noise_multiplier=2)],
        ),
    ],
)
def test_the_oracle_is_below_the_truth_but_not_far(many: list[Event], alone: list[Event]):
    lower = least_delta(looks_of(many), 0.5, "add_remove")
    exact = least_delta(looks_of(alone), 0.5, "add_remove")
    assert 0.9 * exact <= lower <= exact * (1 + 1e-9)


if __name__ == "__main__":
    verb, place, filter_kind, *numbers = sys.argv[1:]
    helper = {"race": race_at_random, "kill": kill_at_random}[verb]
    print(json.dumps(helper(place, filter_kind, *map(int, numbers))))
