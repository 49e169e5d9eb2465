"""A ledger as a state machine: random jobs, crashes and openings, checked after every step.

The machine keeps its own record of every access that was granted and asks `ledger_oracle` whether
all of them together can still be within the budget. The accesses that an open reservation may still
charge count as granted, because nothing but the job's own will keeps it from them.
"""

import copy
import json
import math
import os
import pickle
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from ledger_events import BUDGETS, COUNTS, events_for
from ledger_oracle import Accesses, exceeds, gaussian_mu, looks_of
from sklearn.base import clone

from voile import Budget, Ledger
from voile.errors import BudgetExceeded, LedgerMismatch, PlanError, VoileError
from voile.privacy.events import Event, Gaussian, Plan, Pure, Step, Unprotected
from voile.privacy.ledger import Entry, Reservation


@dataclass
class Job:
    """A reservation and what was charged to it."""

    reservation: Reservation
    bound: Accesses
    charged: Accesses = field(default_factory=Counter)
    open: bool = True


def clone_parameter(ledger: Ledger) -> Ledger:
    """As scikit-learn does with the parameters of an estimator."""
    return clone(ledger, safe=False)


class LedgerStates(RuleBasedStateMachine):
    """Every way to use a ledger, in any order."""

    places = ("memory", "sqlite")
    kinds = ("gdp", "renyi", "pure")
    budgets = BUDGETS
    quick = False
    counts = COUNTS

    def __init__(self) -> None:
        super().__init__()
        # In memory where there is such a folder: what is on disk after a crash is tested elsewhere.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.TemporaryDirectory(prefix="voile-states-", dir=place)
        self.granted: Accesses = Counter()
        self.jobs: list[Job] = []
        self.seen: tuple[Entry, ...] = ()

    def where(self, place: str) -> str | None:
        """A new place of that kind."""
        return None if place == "memory" else str(Path(self.folder.name) / "ledger of rows.db")

    @initialize(data=st.data())
    def make(self, data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from(self.kinds))
        budget = Budget(*data.draw(st.sampled_from(self.budgets[kind])))
        self.place = self.where(data.draw(st.sampled_from(self.places)))
        self.facts = {
            "relation": data.draw(st.sampled_from(["add_remove", "replace_one"])),
            "filter": kind,
            "slack": data.draw(st.sampled_from([0.1, 0.1, 0.5])),
        }
        self.budget = budget
        self.ledgers = [Ledger(self.place, budget, dataset="rows", **self.facts)]
        event = events_for(budget, kind, self.quick, self.counts)
        # Mostly one event: exact accounting of mixtures takes long.
        self.plans = st.one_of(
            event.map(lambda one: [one]), event.map(lambda one: [one]), st.lists(event, max_size=3)
        ).map(lambda events: Plan(tuple(Step(f"s{i}", e) for i, e in enumerate(events))))

    # --- what people do

    def ledger(self, data: st.DataObject) -> Ledger:
        return self.ledgers[data.draw(st.integers(0, len(self.ledgers) - 1))]

    def job(self, data: st.DataObject) -> Job:
        return self.jobs[data.draw(st.integers(0, len(self.jobs) - 1))]

    def attempt(self, grant, accesses: Accesses, granted: Accesses):
        """Do something that is granted or refused; a refusal changes nothing."""
        try:
            result = grant()
        except VoileError:
            assert self.ledgers[0].history() == self.seen, "a refusal changed the history"
            return None
        assert self.budget.unlimited or not any(isinstance(one, Unprotected) for one in accesses)
        granted.update(accesses)
        return result

    @rule(data=st.data())
    def spend(self, data: st.DataObject) -> None:
        plan, ledger = data.draw(self.plans), self.ledger(data)
        self.attempt(lambda: ledger.spend(plan, "job"), looks_of(plan.events), self.granted)

    @rule(data=st.data())
    def spend_until_refused(self, data: st.DataObject) -> None:
        plan, ledger = data.draw(self.plans), self.ledger(data)
        accesses = looks_of(plan.events)
        for _ in range(30):
            self.seen = self.ledgers[0].history()
            if not self.attempt(lambda: ledger.spend(plan, "again"), accesses, self.granted):
                break

    @rule(data=st.data())
    def reserve(self, data: st.DataObject) -> None:
        plan, ledger = data.draw(self.plans), self.ledger(data)
        accesses: Accesses = Counter()
        reservation = self.attempt(
            lambda: ledger.reserve(plan, "job"), looks_of(plan.events), accesses
        )
        if reservation is not None:
            self.jobs.append(Job(reservation, accesses))

    @rule(data=st.data(), parts=st.integers(0, 3))
    def run_job(self, data: st.DataObject, parts: int) -> None:
        """A whole job: reserved, charged, closed."""
        before = len(self.jobs)
        self.reserve(data)
        for job in self.jobs[before:]:
            self.history_adds_up()
            self.guarantee_holds()
            for access in sorted(job.bound, key=repr)[:parts]:
                fits = job.charged + Counter([access]) <= job.bound
                paid = self.pay(job, Plan.of(look=access))
                assert paid or not fits, "what was announced was refused"
                self.history_adds_up()
                more = 8 if parts == 3 else 0  # as often as it is let
                while more and self.pay(job, Plan.of(look=access)):
                    self.history_adds_up()
                    more -= 1
            self.end(job)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def charge(self, data: st.DataObject) -> None:
        job, plan = self.job(data), data.draw(self.plans)
        self.pay(job, plan)

    @precondition(lambda self: any(job.open and job.bound for job in self.jobs))
    @rule(data=st.data())
    def charge_part(self, data: st.DataObject) -> None:
        """What was announced and is not used up can always be charged."""
        job = data.draw(st.sampled_from([job for job in self.jobs if job.open and job.bound]))
        access = data.draw(st.sampled_from(sorted(job.bound, key=repr)))
        count = data.draw(st.integers(1, job.bound[access]))
        plan = Plan.of(look=replace(access, count=count))
        fits = job.charged + looks_of(plan.events) <= job.bound
        charged = self.pay(job, plan)
        assert charged or not fits, "a part of what was announced was refused"

    def pay(self, job: Job, plan: Plan) -> bool:
        accesses, mine = looks_of(plan.events), Counter[Event]()
        entry = self.attempt(lambda: job.reservation.charge(plan), accesses, mine)
        assert entry is None or job.open, "a closed reservation was charged"
        job.charged.update(mine)
        return entry is not None

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        self.end(self.job(data))

    def end(self, job: Job) -> None:
        job.reservation.close()
        if not job.open:
            assert self.ledgers[0].history() == self.seen, "closing again changed the history"
        job.open = False
        after = self.ledgers[0].history()
        job.reservation.close()
        assert self.ledgers[0].history() == after, "closing twice changed the history"

    @rule(data=st.data())
    def spend_what_remains(self, data: st.DataObject) -> None:
        """What is said to remain can be spent."""
        ledger = self.ledger(data)
        left = ledger.remaining()
        if left.epsilon <= 1e-9 or left.unlimited:
            return
        if self.facts["filter"] == "pure":
            event: Event = Pure(epsilon=left.epsilon * (1 - 1e-6))
        else:
            mu = gaussian_mu(left.epsilon, left.delta)
            event = Gaussian(noise_multiplier=1 / mu * (1 + 1e-6))
        self.granted.update(looks_of([event]))
        ledger.spend(Plan.of(rest=event), "the rest")

    @rule(data=st.data())
    def race(self, data: st.DataObject) -> None:
        """Two threads at once: two jobs, or twice the same reservation."""
        plan, ledger = data.draw(self.plans), self.ledger(data)
        jobs = [job for job in self.jobs if job.open]
        job = data.draw(st.sampled_from(jobs)) if jobs and data.draw(st.booleans()) else None
        gate, done, wrong = threading.Barrier(2), [], []

        def work() -> None:
            gate.wait()
            try:
                done.append(
                    ledger.spend(plan, "t") if job is None else job.reservation.charge(plan)
                )
            except (BudgetExceeded, PlanError):
                pass
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        refused = [error for error in wrong if not isinstance(error, VoileError)]
        assert not refused, refused
        for _ in done:
            (self.granted if job is None else job.charged).update(looks_of(plan.events))

    # --- what happens to ledgers

    @rule()
    def crash(self) -> None:
        """Everything in memory is gone; nothing was closed."""
        for job in self.jobs:
            self.granted.update(job.charged)
        self.jobs = []
        if self.place is not None:
            self.ledgers = [Ledger(self.place)]

    @precondition(lambda self: self.place is not None and len(self.ledgers) < 4)
    @rule(way=st.sampled_from(["path", "url", "facts", "pickle"]))
    def open_again(self, way: str) -> None:
        first = self.ledgers[0]
        match way:
            case "path":
                again = Ledger(self.place)
            case "url":
                again = Ledger(self.url())
            case "facts":
                again = Ledger(self.place, self.budget, dataset="rows", **self.facts)
            case "pickle":
                again = pickle.loads(pickle.dumps(first))
        self.ledgers.append(again)

    def url(self) -> str:
        """The place as a url."""
        return f"sqlite:///{self.place}"

    @rule(way=st.sampled_from([copy.copy, copy.deepcopy, clone_parameter]))
    def copy_ledger(self, way) -> None:
        self.ledgers[-1] = way(self.ledgers[-1])

    @precondition(lambda self: self.jobs)
    @rule(way=st.sampled_from([copy.copy, copy.deepcopy, pickle.dumps]), data=st.data())
    def copy_reservation(self, way, data: st.DataObject) -> None:
        """There is no second reservation for the price of one."""
        reservation = self.job(data).reservation
        try:
            again = way(reservation)
        except VoileError:
            return
        assert again is reservation

    @precondition(lambda self: self.place is not None)
    @rule(wrong=st.sampled_from(["budget", "relation", "filter", "slack"]))
    def open_with_other_facts(self, wrong: str) -> None:
        other = {
            "budget": Budget(self.budget.epsilon + 1, 1e-5)
            if not self.budget.unlimited
            else Budget(1, 1e-5),
            "relation": {"add_remove": "replace_one"}.get(self.facts["relation"], "add_remove"),
            "filter": {"gdp": "renyi"}.get(self.facts["filter"], "gdp"),
            "slack": 0.25,
        }
        try:
            Ledger(self.place, dataset="rows", **{wrong: other[wrong]})
        except LedgerMismatch:
            return
        raise AssertionError(f"a ledger was opened with another {wrong}")

    # --- what must be true all the time

    @invariant()
    def history_adds_up(self) -> None:
        history = self.ledgers[0].history()
        assert history[: len(self.seen)] == self.seen, "the past has changed"
        self.seen = history
        check_history(self.ledgers[0], history)
        for other in self.ledgers[1:]:
            assert other.history() == history
            assert (other.remaining(), other.spent()) == (
                self.ledgers[0].remaining(),
                self.ledgers[0].spent(),
            )
            assert other.filter == self.ledgers[0].filter

    @invariant()
    def guarantee_holds(self) -> None:
        ledger, budget = self.ledgers[0], self.budget
        relation = self.facts["relation"]
        done = self.granted + sum((job.charged for job in self.jobs), Counter())
        possible = _either(self.granted, self.jobs)
        at_most = budget.epsilon, budget.delta
        assert not exceeds(done, *at_most, relation), f"{dict(done)} exceeds {budget}"
        assert not exceeds(possible, *at_most, relation), f"{dict(possible)} exceeds {budget}"
        spent, left = ledger.spent(), ledger.remaining()
        assert not exceeds(done, spent.epsilon, spent.delta, relation), (
            f"{dict(done)} costs more than the {spent} that is said to be spent"
        )
        assert left.epsilon <= budget.epsilon
        assert left.delta <= budget.delta
        assert spent.delta <= budget.delta
        assert spent.epsilon <= budget.epsilon * (1 + 1e-6)

    def teardown(self) -> None:
        self.ledgers = []
        self.jobs = []
        self.folder.cleanup()


def _either(granted: Accesses, jobs: list[Job]) -> Accesses:
    """What was granted, and what open jobs announced instead of what they did."""
    total = Counter(granted)
    for job in jobs:
        total.update(job.bound if job.open else job.charged)
    return total


def check_history(ledger: Ledger, history: tuple[Entry, ...]) -> None:
    """Recompute every total from the lines; no line without a finite price."""
    unlimited = ledger.budget.unlimited
    loss = chance = 0.0
    left: dict[str, list[float]] = {}
    for number, entry in enumerate(history, 1):
        assert entry.seq == number
        price = [entry.price.loss, entry.price.failure]
        assert all(0 <= part < math.inf for part in price), f"{entry} has no proper price"
        assert unlimited or sum(price) > 0 or not _costs(entry), f"{entry} is free"
        match str(entry.kind):
            case "spend":
                sign = 1
            case "reserve":
                sign = 1
                left[entry.id] = price
            case "charge" | "release":
                sign = 0 if str(entry.kind) == "charge" else -1
                rest = [a - b for a, b in zip(left[entry.parent], price, strict=True)]
                assert all(part >= -1e-9 * ledger.filter.limit.loss for part in rest), (
                    "more was charged or given back than was set aside"
                )
                left[entry.parent] = rest
        loss, chance = loss + sign * price[0], chance + sign * price[1]
        near = {"rel_tol": 1e-9, "abs_tol": 1e-12}
        if not unlimited:
            near["abs_tol"] = 1e-12 * max(ledger.filter.limit.loss, 1e-300)
        assert math.isclose(entry.total.loss, loss, **near), f"the total of {entry} is not {loss}"
        assert math.isclose(entry.total.failure, chance, rel_tol=1e-9, abs_tol=1e-20)
    assert 0 <= ledger.fraction_spent() <= 1 + 1e-6
    json.dumps(ledger.to_dict(), allow_nan=False)
    repr(ledger)


def _costs(entry: Entry) -> bool:
    return any(event.count for event in entry.plan.events)
