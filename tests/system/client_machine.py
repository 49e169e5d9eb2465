"""A client's agent as a state machine: whatever servers say, in whatever order, after whatever.

Two servers, one of which may claim the other's job, join, pay, ask, repeat and lie; the client
crashes, is restarted, runs twice, loses its memory, and has old copies of its files put back. After
every step `client_oracle` counts what left it against what its ledger has paid.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
from pathlib import Path
from unittest import mock

import hypothesis.strategies as st
import numpy as np
from client_oracle import Access, Oracle
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from voile import Budget, Category, Ledger, Number, Schema, protect
from voile.errors import FederationError, LedgerMismatch, LedgerUnavailable
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.masks import Masker, Roster
from voile.privacy.clients.questions import (
    AccessId,
    Joined,
    Lacking,
    Opening,
    Paid,
    Payment,
    SumAnswer,
    SumOver,
    envelope,
)
from voile.privacy.clients.terms import Terms
from voile.privacy.events import Gaussian, Plan, PoissonGaussian
from voile.privacy.ledger.jobs import MemoryJobs, SqlJobs
from voile.privacy.mechanisms.sums import gaussian_measure
from voile.privacy.queries import NumberCounts
from voile.privacy.wire import Packer, Unpacker

SCHEMA = Schema({"x": Number(-4, 4)}, target=Category([0, 1]))
ROWS = 20
PLANS = (
    Plan.of(a=Gaussian(12, 5.0), b=Gaussian(2, 9.0)),
    Plan.of(a=PoissonGaussian(8, 5.0, 0.5)),
)
QUERIES = {
    "four": NumberCounts("x", (-1.0, 0.0, 1.0)),
    "more": NumberCounts("x", (-2.0, -1.0, 0.0, 1.0, 2.0)),
}
OTHERS = ("b", "c", "d")
TERMS = {
    "nobody": Terms("nobody", ("a", *OTHERS), dropouts=1),
    "shares": Terms("shares", ("a", *OTHERS), dropouts=1),
    "aggregator": Terms("aggregator", ("a", *OTHERS), dropouts=1),
}
JOBS = ("one", "two")
ROSTERS = (("a", "b", "c", "d"), ("a", "b", "c"), ("a", "c", "d"), ("a", "b"))

files = st.sampled_from(["ledger", "memory", "both"])
jobs = st.sampled_from(JOBS)


def _nothing() -> None:
    """There is no lock to let go of."""


class ClientStates(RuleBasedStateMachine):
    """One client, its files, and whoever talks to it."""

    answers = 0
    """Vectors that left, in all histories."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="voile-client-")
        self.book = Path(self.folder.name) / "ledger.db"
        self.memory = Path(self.folder.name) / "memory.json"
        r = np.random.default_rng(0)
        self.table = protect({"x": r.normal(size=ROWS)}, r.integers(0, 2, ROWS), schema=SCHEMA)
        self.others = {name: X25519PrivateKey.generate() for name in OTHERS}
        self.keys: dict[tuple[str, int], bytes] = {}
        self.heads: dict[str, str] = {}
        self.latest: dict[str, list[object]] = {}
        self.terms: dict[str, Terms] = {}
        self.copies: list[tuple[bytes, bytes | None]] = []
        self.last: bytes | None = None
        self.agents: list[ClientAgent] = []
        self.packer, self.hidden = Packer(), []
        real = Masker.hide

        def hide(masker, values, roster, context):
            self.hidden.append((values.copy(), roster))
            return real(masker, values, roster, context)

        self.patches = [mock.patch.object(Masker, "hide", hide)]
        for one in self.patches:
            one.start()

    @initialize(
        remembers=st.booleans(),
        lasting=st.booleans(),
        file=st.sampled_from([True, True, False]),
        trusts=st.tuples(*[st.sampled_from(["shares", "nobody", "aggregator"])] * 2),
        plans=st.tuples(*[st.sampled_from(PLANS)] * 2),
    )
    def begin(self, remembers, lasting, file, trusts, plans) -> None:
        self.remembers = remembers
        self.file = file
        self.key = X25519PrivateKey.generate() if lasting else None
        self.ledger = None
        exact = {
            name: np.zeros(len(query.cuts) + 2, dtype=np.int64) for name, query in QUERIES.items()
        }
        self.oracle = Oracle({}, 1, exact)
        self.agreed = {job: TERMS[trust] for job, trust in zip(JOBS, trusts, strict=True)}
        self.plan = dict(zip(JOBS, plans, strict=True))
        self.start()
        for job in JOBS:
            self.tell(job)

    def open_ledger(self) -> Ledger:
        if self.file:
            return Ledger(self.book, Budget(60, 1e-5))
        self.ledger = self.ledger or Ledger(Budget(60, 1e-5))
        return self.ledger

    def start(self) -> None:
        memory = self.memory if self.remembers else None
        agent = ClientAgent(self.table, self.open_ledger(), name="a", memory=memory, key=self.key)
        self.agents.append(agent)

    # --- messages

    def say(self, question: object, which: int = -1):
        message = envelope(self.packer, self.packer.pack(question), set())
        self.last = message
        return self.hear(self.agents[which % len(self.agents)].answer(message), question)

    def hear(self, reply: bytes, question: object = None):
        said = Unpacker().unpack(reply)
        if isinstance(said, Paid) and said.entry and isinstance(question, Payment):
            self.oracle.pay(question.job, question.number, said.entry)
            terms = self.terms.get(question.job, self.agreed[question.job])
            self.oracle.trust.setdefault(question.job, terms.trust)
        if isinstance(said, SumAnswer) and isinstance(question, SumOver):
            access = Access(question.job, said.access.number, said.access.label, said.access.index)
            values, attempt, names = said.values, 0, None
            if question.roster is not None:
                values, attempt = self.hidden[-1][0], question.roster.attempt
                names = frozenset(question.roster.keys)
            if tuple(values.tolist()) not in self.oracle.left[access].get(attempt, ()):
                self.latest[access.job] = [access.number, access.label, access.index, attempt]
                type(self).answers += 1
            self.oracle.leave(access, attempt, values, names)
        head = getattr(said, "head", "")
        if head and question is not None:
            self.heads[question.job] = head
        return said

    def tell(self, job: str, which: int = -1, tells: bool = True) -> None:
        """The whole story of a job, as a server tells it to a client that was restarted."""
        self.open(job, self.agreed[job], which, tells)
        self.say(Payment(job, 0, self.plan[job], "test", None, True), which)

    def open(self, job: str, terms: Terms, which: int = -1, tells: bool = False) -> None:
        heads = {"a": self.heads[job]} if tells and job in self.heads else {}
        said = self.say(Opening(job, SCHEMA, NeighbouringRelation.ADD_REMOVE, terms, heads), which)
        if isinstance(said, Joined):
            agreed = self.oracle.trust.get(job)
            assert agreed in (None, terms.trust) or not self.known(job), "the terms have changed"
            self.keys[job, which % len(self.agents)] = said.key
            self.terms[job] = terms

    def known(self, job: str) -> bool:
        """Whether the client could know that it has answered in this job."""
        return any(
            access.job == job and access not in self.oracle.forgiven for access in self.oracle.left
        )

    @rule(
        job=jobs,
        trust=st.sampled_from(sorted(TERMS)),
        change=st.sampled_from([{}, {"dropouts": 0}, {"colluders": 1}, {"most_rows": 5}]),
        number=st.integers(0, 1),
        plan=st.sampled_from(PLANS),
        which=st.integers(0, 1),
    )
    def lie(self, job, trust, change, number, plan, which) -> None:
        """Other terms and other plans under the name of a job."""
        self.open(job, dataclasses.replace(TERMS[trust], **change), which)
        self.say(Payment(job, number, plan, "test", None, True), which)

    @rule(
        job=jobs,
        label=st.sampled_from(["a", "a", "a", "b"]),
        index=st.sampled_from(["next", "next", "last", "last", 0, 1, 12]),
        query=st.sampled_from(sorted(QUERIES)),
        names=st.sampled_from(ROSTERS),
        attempt=st.sampled_from([0, 0, 0, 1, 1, 2]),
        which=st.integers(0, 1),
        tells=st.booleans(),
    )
    def ask(self, job, label, index, query, names, attempt, which, tells) -> None:
        plan, asked = self.plan[job], QUERIES[query]
        label = label if label in plan else "a"
        if isinstance(index, str):
            known = [one.index for one in self.oracle.left if (one.job, one.label) == (job, label)]
            index = max(known, default=-1) + (index == "next")
        grid = gaussian_measure(asked, plan[label], NeighbouringRelation.ADD_REMOVE, 1).grid
        access = AccessId(0, label, max(index, 0))

        def question() -> SumOver:
            roster = None
            if self.agreed[job].trust == "shares":
                keys = {n: k.public_key().public_bytes_raw() for n, k in self.others.items()}
                keys["a"] = self.keys.get((job, which % len(self.agents)), bytes(48))
                roster = Roster(attempt, {name: keys[name] for name in names})
            return SumOver(job, access, SCHEMA, (), asked, grid, roster)

        self.question = question()
        if isinstance(self.say(self.question, which), Lacking):
            self.tell(job, which, tells)
            self.question = question()
            self.say(self.question, which)

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: getattr(self, "question", None) is not None)
    def repeat(self, which) -> None:
        """The same message again, as after a lost answer."""
        self.say(self.question, which)

    # --- what happens to a client

    def stop(self) -> None:
        for agent in self.agents:
            agent.close()
        self.agents = []

    @rule(after=st.booleans())
    @precondition(lambda self: getattr(self, "question", None) is not None)
    def fail_to_write(self, after) -> None:
        """The line of an answer cannot be written, or was and the commit was not heard of."""
        kind = SqlJobs if self.file else MemoryJobs
        real = kind.add

        def add(jobs, *given):
            if after:
                real(jobs, *given)
            raise LedgerUnavailable("the disk is full")

        with mock.patch.object(kind, "add", add):
            self.say(self.question)

    @rule(lose=st.booleans())
    def restart(self, lose) -> None:
        self.stop()
        if lose:
            self.memory.unlink(missing_ok=True)
        self.start()

    @rule()
    @precondition(lambda self: self.file and len(self.agents) == 1)
    def second_run(self) -> None:
        """Another agent of the same client is refused as long as one works."""
        try:
            ClientAgent(self.table, self.open_ledger(), name="a")
        except FederationError:
            return
        raise AssertionError("two agents work for one client")

    @rule()
    @precondition(lambda self: len(self.agents) == 1)
    def second_run_without_locks(self) -> None:
        """On a system that knows no such lock, both work; the record alone keeps them apart."""
        with mock.patch.object(SqlJobs, "hold", return_value=_nothing):
            self.start()
        self.ask("one", "a", "next", "four", ROSTERS[0], 0, 0, tells=False)
        self.ask("one", "a", "last", "four", ROSTERS[0], 0, 1, tells=False)

    @rule()
    @precondition(lambda self: self.file)
    def copy_files(self) -> None:
        self.stop()
        memory = self.memory.read_bytes() if self.memory.exists() else None
        self.copies.append((self.book.read_bytes(), memory))
        self.start()

    @rule(what=files, which=st.integers(0, 9))
    @precondition(lambda self: self.file and self.copies)
    def put_old_copy_back(self, what, which) -> None:
        book, memory = self.copies[which % len(self.copies)]
        self.stop()
        newest = {one: one.read_bytes() for one in (self.book, self.memory) if one.exists()}
        forgiven = set(self.oracle.forgiven)
        if what != "memory":
            self.book.write_bytes(book)
        if what != "ledger" and memory is not None:
            self.memory.write_bytes(memory)
        elif what != "ledger":
            self.memory.unlink(missing_ok=True)
        if what == "both" or (what == "ledger" and not self.remembers):
            # Nothing at the client remembers; only a server that tells its head can notice.
            self.oracle.forgive()
        elif what == "ledger":
            self.forgive_other_jobs()
        try:
            self.start()
        except LedgerMismatch:
            assert what == "ledger", "files of one age were refused"
            for place, content in newest.items():
                place.write_bytes(content)
            self.oracle.forgiven = forgiven
            self.start()

    def forgive_other_jobs(self) -> None:
        """Forgive the jobs of which the memory does not know the very last answer."""
        kept = json.loads(self.memory.read_text())["answers"] if self.memory.exists() else {}
        for access in self.oracle.left:
            key = hashlib.sha256(json.dumps(["a", access.job]).encode()).hexdigest()
            one = kept.get(key, {})
            known = [one.get(name) for name in ("plan", "step", "index", "attempt")]
            if known != self.latest[access.job]:
                self.oracle.forgiven.add(access)

    @invariant()
    def paid_for(self) -> None:
        if self.agents:
            self.oracle.check(self.agents[-1].ledger.history())

    def teardown(self) -> None:
        for one in self.patches:
            one.stop()
        if self.agents:
            self.agents[-1].ledger.verify()
        self.stop()
        self.folder.cleanup()
