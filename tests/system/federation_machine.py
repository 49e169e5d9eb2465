"""A whole federation as a state machine: messages get lost or come late, everybody is restarted.

The server is honest and curious: it follows the protocol and keeps every message that ever reached
it, late ones too. After each step `client_oracle` counts what left each client against what its
ledger has paid, and what the server can add up from all messages is compared with what it may.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from unittest import mock

import hypothesis.strategies as st
import numpy as np
from client_oracle import Access, Oracle
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from voile import Budget, Category, Federation, Ledger, Number, Schema, protect
from voile.errors import FederationError
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.channel import Silence
from voile.privacy.clients.masks import Masker
from voile.privacy.clients.questions import Paid, Payment, SumAnswer, SumOver, open_envelope
from voile.privacy.events import Gaussian, Plan, PoissonGaussian
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import NumberCounts
from voile.privacy.wire import Unpacker

SCHEMA = Schema({"x": Number(-4, 4)}, target=Category([0, 1]))
NAMES = ("a", "b", "c", "d")
PLANS = (Plan.of(a=Gaussian(40, 9.0)), Plan.of(a=PoissonGaussian(40, 9.0, 0.5)))
QUERY = NumberCounts("x", (-1.0, 0.0, 1.0))
FAULTS = ("lose the question", "lose the answer", "restart before", "restart after", "twice")

faults = st.sampled_from(FAULTS)
one_client = st.sampled_from(NAMES)


class FederationStates(RuleBasedStateMachine):
    """Four clients, one server, and a channel that does what channels do."""

    released = 0
    """Sums that were released, in all histories."""

    clients = NAMES

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="voile-federation-")
        self.hidden: dict[str, tuple] = {}
        self.coming: dict[str, list[str]] = defaultdict(list)
        self.seen: dict[tuple, dict[str, np.ndarray]] = defaultdict(dict)
        real = Masker.hide

        def hide(masker, values, roster, context):
            self.hidden[masker._name] = values.copy()
            return real(masker, values, roster, context)

        self.patch = mock.patch.object(Masker, "hide", hide)
        self.patch.start()

    @initialize(
        trust=st.sampled_from(["shares", "shares", "nobody", "aggregator"]),
        dropouts=st.integers(0, 2),
        plan=st.sampled_from(PLANS),
        remembers=st.booleans(),
    )
    def begin(self, trust, dropouts, plan, remembers) -> None:
        r = np.random.default_rng(0)
        self.trust, self.dropouts, self.plan, self.remembers = trust, dropouts, plan, remembers
        self.ledgers = {name: Ledger(Budget(30, 1e-5)) for name in NAMES}
        self.tables = {
            name: protect({"x": r.normal(size=9)}, r.integers(0, 2, 9), schema=SCHEMA)
            for name in NAMES
        }
        self.agents = {name: self.open_agent(name) for name in NAMES}
        self.readers = {name: Unpacker() for name in NAMES}
        self.oracles = {name: Oracle(defaultdict(lambda: trust), dropouts, {}) for name in NAMES}
        self.server = Ledger(Budget(30, 1e-5))
        self.table = None

    def open_agent(self, name: str) -> ClientAgent:
        memory = Path(self.folder.name) / f"{name}.json" if self.remembers else None
        return ClientAgent(self.tables[name], self.ledgers[name], name=name, memory=memory)

    # --- the channel

    def ask(self, messages):
        return {name: self.deliver(name, message) for name, message in messages.items()}

    def deliver(self, name: str, message: bytes):
        fault = self.coming[name].pop(0) if self.coming[name] else ""
        if fault == "lose the question":
            return Silence("lost")
        if fault == "restart before":
            self.restart(name)
        reply = self.agents[name].answer(message)
        if fault == "twice":
            reply = self.agents[name].answer(message)
        self.note(name, message, reply)
        if fault == "restart after":
            self.restart(name)
        # A late answer: the server goes on without it, and gets it all the same.
        return Silence("late") if fault in ("lose the answer", "restart after") else reply

    def restart(self, name: str) -> None:
        self.agents[name].close()
        self.agents[name], self.readers[name] = self.open_agent(name), Unpacker()

    def note(self, name: str, message: bytes, reply: bytes) -> None:
        said, reader = Unpacker().unpack(reply), Unpacker()
        if not isinstance(said, (SumAnswer, Paid)):
            return
        with mock.patch.object(reader, "_held", dict(self.agents[name]._unpacker._held)):
            question = open_envelope(reader, message)
        if isinstance(said, Paid) and said.entry and isinstance(question, Payment):
            self.oracles[name].pay(question.job, question.number, said.entry)
        if isinstance(said, SumAnswer) and isinstance(question, SumOver):
            access = Access(question.job, said.access.number, said.access.label, said.access.index)
            roster, attempt, values, names = question.roster, 0, said.values, None
            if roster is not None:
                attempt, values = roster.attempt, self.hidden[name]
                names = frozenset(roster.keys)
                self.seen[access, roster.digest, names, attempt][name] = said.values
            self.oracles[name].leave(access, attempt, values, names)

    # --- what happens

    @rule(names=st.lists(one_client, max_size=3), what=faults)
    def expect(self, names, what) -> None:
        """The next messages of some clients have a fault."""
        for name in names:
            self.coming[name].append(what)

    @rule(count=st.integers(1, 3))
    def release(self, count) -> None:
        for _ in range(count):
            try:
                self.sum()
            except FederationError:
                self.table = None  # the job stopped: its server begins again, from its journal

    def sum(self) -> None:
        if self.table is None:
            journal = Path(self.folder.name) / "journal"
            federation = Federation(
                self, SCHEMA, trust=self.trust, dropouts=self.dropouts, journal=journal
            )
            self.federation = federation
            job = federation.join(self.server)
            self.session, self.table = job.session, job.table
            self.grant = self.server.pay(self.plan, self.table, "job")
        if self.grant.openings["a"] >= 40:
            return
        release = gaussian_sum(self.table, QUERY, self.grant.take("a"))
        rows = release.values.sum()
        assert abs(rows) < 40 + 12 * 2.3 * release.standard_error
        type(self).released += 1

    @rule()
    def kill_server(self) -> None:
        if self.table is not None:
            self.session.journal.close()
            self.table = None

    @rule(name=one_client)
    def kill_client(self, name) -> None:
        self.restart(name)

    # --- what holds

    @invariant()
    def paid_for(self) -> None:
        for name, oracle in self.oracles.items():
            oracle.check(self.ledgers[name].history())
            assert len(self.ledgers[name].history()) <= 1, "a plan was paid twice"

    @invariant()
    def one_sum_for_each_attempt(self) -> None:
        """Of all messages, late ones too, the server can add up one sum for each attempt."""
        sums = defaultdict(set)
        for (access, _, names, attempt), messages in self.seen.items():
            if set(messages) == set(names):
                total = np.sum(list(messages.values()), axis=0, dtype=np.int64)
                sums[access, attempt].add((names, tuple(total.tolist())))
        for (access, attempt), found in sums.items():
            assert len(found) == 1, f"{access}, attempt {attempt}: {len(found)} sums"

    def teardown(self) -> None:
        self.patch.stop()
        if self.table is not None:
            self.session.journal.close()
        for agent in self.agents.values():
            agent.close()
        self.folder.cleanup()
