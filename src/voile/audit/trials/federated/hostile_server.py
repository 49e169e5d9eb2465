"""A server that says whatever it likes to clients in this process, for trials of the protocol."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import FederationError, LedgerMismatch
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.masks import Roster
from voile.privacy.clients.questions import (
    AccessId,
    Joined,
    Opening,
    Paid,
    Payment,
    SumAnswer,
    SumOver,
    envelope,
)
from voile.privacy.clients.terms import Terms, Trust
from voile.privacy.events import Gaussian, Plan
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms.sums import Measurement, gaussian_measure
from voile.privacy.queries import CategoryCounts, Preparation, Query, RowCount
from voile.privacy.vault import PrivateTable, protect
from voile.privacy.wire import Packer, Unpacker
from voile.schema import Category, Number, Schema

Wholes = NDArray[np.int64]

_LOG = logging.getLogger("voile.clients")

SCHEMA = Schema(
    {"size": Number(0, 10), "kind": Category(["a", "b", "c"])},
    target=Category(["well", "ill", "rare"]),
)
ROWS = 100
LOOK = "look"
SHARP = 1.0 / 8.0
"""Noise where nothing at all may be told: one answer too many shows the canary."""
AMPLE = Budget(1e4, 1e-5)


@dataclass(frozen=True)
class Question:
    """A query, the rows' exact sum of it without the canary, and what the canary adds."""

    query: Query
    known: tuple[float, ...]
    share: tuple[float, ...]


COUNT = Question(RowCount(), (ROWS,), (1.0,))
KINDS = Question(CategoryCounts("kind", 3), (ROWS / 2, ROWS / 2, 0, 0, 0), (0, 0, 1.0, 0, 0))


def made_up_table(there: bool) -> PrivateTable:
    """Made-up rows; the canary is alone in its level and in its class, and larger than all."""
    sizes, kinds, classes = [1.0, 2.0], ["a", "b"], ["well", "ill"]
    more = int(there)
    return protect(
        {"size": sizes * (ROWS // 2) + [10.0] * more, "kind": kinds * (ROWS // 2) + ["c"] * more},
        classes * (ROWS // 2) + ["rare"] * more,
        schema=SCHEMA,
    )


@dataclass(frozen=True, eq=False)
class HostileServer:
    """One that says whatever it likes to clients."""

    terms: Terms
    event: Gaussian
    job: str = "job"
    _packer: Packer = field(default_factory=Packer)

    def say(self, agent: ClientAgent, message: object) -> Any:
        """What a client answers to a message."""
        packed = self._packer.pack(message)
        # Refusals are what a trial hopes for; a client would warn of each of thousands.
        before, _LOG.disabled = _LOG.disabled, True
        try:
            return Unpacker().unpack(agent.answer(envelope(self._packer, packed, set())))
        finally:
            _LOG.disabled = before

    def begin(self, agent: ClientAgent) -> bytes | None:
        """Have a client join and pay (or say that it has); its public key, None if it refuses."""
        joined = self.say(
            agent, Opening(self.job, SCHEMA, NeighbouringRelation.ADD_REMOVE, self.terms)
        )
        paid = self.pay(agent, 0)
        return joined.key if isinstance(joined, Joined) and isinstance(paid, Paid) else None

    def pay(self, agent: ClientAgent, number: int) -> Any:
        """Have a client pay the plan."""
        plan = Plan.of(**{LOOK: self.event})
        return self.say(agent, Payment(self.job, number, plan, "audit", None, final=True))

    def ask(
        self,
        agent: ClientAgent,
        query: Query,
        index: int = 0,
        roster: Roster | None = None,
        *,
        number: int = 0,
        schema: Schema = SCHEMA,
        kept: tuple[Preparation, ...] = (),
    ) -> Any:
        """A client's reply to a question for one access."""
        grid, access = self.measure(query).grid, AccessId(number, LOOK, index)
        return self.say(agent, SumOver(self.job, access, schema, kept, query, grid, roster))

    def measure(self, query: Query) -> Measurement:
        """Noise and grid that were paid for a query."""
        return gaussian_measure(
            query, self.event, NeighbouringRelation.ADD_REMOVE, self.terms.clients_per_unit
        )

    def sum_up(self, agents: Sequence[ClientAgent], index: int, roster: Roster) -> Wholes | None:
        """The sum of masked answers of a roster; None if somebody of it refuses."""
        replies = [self.ask(d, COUNT.query, index, roster) for d in agents if d.name in roster.keys]
        if not all(isinstance(one, SumAnswer) for one in replies):
            return None
        return np.asarray(np.sum([one.values for one in replies], axis=0, dtype=np.int64))


@dataclass
class WeighedAnswers:
    """Answers that differ from all before, each weighed by how likely the canary makes it."""

    total: float = 0.0
    _seen: list[bytes] = field(default_factory=list)

    def know(self, values: Wholes) -> None:
        """An answer that was paid for and is not weighed."""
        self._seen.append(values.tobytes())

    def add(self, reply: Any, to: Question, server: HostileServer) -> None:
        """Weigh an answer, unless it is one that came before."""
        if isinstance(reply, SumAnswer) and reply.values.tobytes() not in self._seen:
            self.know(reply.values)
            self.total += weigh_answer(reply.values, to, server)


def weigh_answer(values: Wholes, to: Question, server: HostileServer, spread: float = 1.0) -> float:
    """Log-likelihood ratio of an answer whose noise is ``spread`` times what was paid."""
    how, share = server.measure(to.query), np.array(to.share)
    rest = values * how.grid - np.array(to.known) - share / 2.0
    return float(share @ rest) / (how.scale * spread) ** 2


def trusting_nobody(count: int, multiplier: float, **terms: Any) -> HostileServer:
    """A server of clients who trust nobody."""
    return HostileServer(Terms(str(Trust.NOBODY), ("a", "b"), **terms), Gaussian(count, multiplier))


def values_of(reply: Any) -> Wholes:
    """The vector of an answer without which there is nothing to audit."""
    if not isinstance(reply, SumAnswer):
        raise FederationError(f"A client gave no sum that could be audited: {reply}.")
    return reply.values


class ClientFiles:
    """A client's ledger and memory, and copies of them that can be put back one by one."""

    def __init__(self, folder: Path, table: PrivateTable, stored: bool) -> None:
        self._folder, self._table, self._stored = folder, table, stored
        self._ledger = Ledger(folder / "ledger.db" if stored else None, AMPLE)
        self.names = ("memory", "ledger.db") if stored else ("memory",)

    def start(self) -> ClientAgent:
        """The client once more, from its files."""
        ledger = Ledger(self._folder / "ledger.db") if self._stored else self._ledger
        return ClientAgent(self._table, ledger, name="a", memory=self._folder / "memory")

    @contextmanager
    def started(self) -> Iterator[tuple[ClientAgent, ...]]:
        """All that can be started: one, a second one at the same time, or none from old files."""
        with ExitStack() as stack:
            found: list[ClientAgent] = []
            with suppress(FederationError, LedgerMismatch):
                found.extend(stack.enter_context(self.start()) for _ in range(2))
            yield tuple(found)

    def keep(self, state: str) -> None:
        """Copy all files as they are."""
        (self._folder / state).mkdir()
        for name in self.names:
            if (self._folder / name).exists():
                shutil.copy(self._folder / name, self._folder / state)

    def put_back(self, state: str, *names: str) -> None:
        """Make files what they were; those that were not there are gone."""
        for name in names:
            (self._folder / name).unlink(missing_ok=True)
            if (self._folder / state / name).exists():
                shutil.copy(self._folder / state / name, self._folder)
