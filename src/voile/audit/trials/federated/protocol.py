"""Trials of the protocol between a server and its clients: what comes late, again, or not at all.

A client answers a server that it need not trust. Each trial is such a server: it has the messages
of one that came late, asks for one access again and again, asks what fails for one row alone, and
comes back under other terms or with other clients after a restart. What it gets beyond what was
paid betrays the canary. Proof: docs/proofs/federated.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.audit.trials.federated.failing_questions import (
    Zeros,
    failing_questions,
    unfitting_questions,
)
from voile.audit.trials.federated.hostile_server import (
    AMPLE,
    COUNT,
    KINDS,
    ROWS,
    SHARP,
    ClientFiles,
    HostileServer,
    Question,
    WeighedAnswers,
    made_up_table,
    trusting_nobody,
    values_of,
    weigh_answer,
)
from voile.audit.trials.trial import Trial
from voile.errors import FederationError
from voile.privacy.budget import Budget
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.masks import Roster
from voile.privacy.clients.terms import Terms, Trust
from voile.privacy.events import Gaussian
from voile.privacy.gaussian_dp import mu_of
from voile.privacy.ledger import Ledger

Wholes = NDArray[np.int64]

FAMILY = "federated protocol"

# -- late answers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LateAnswer:
    """A server that has the sum with a client and, because it was late, the sum without it.

    It follows the protocol, and knows all rows but the canary.

    Attributes
    ----------
    event : Gaussian
    late : bool
        Whether the canary is with the client that is late, or with one that is in both sums.
    clients : int
    """

    event: Gaussian
    late: bool
    clients: int = 6

    def __call__(self, there: bool) -> list[float]:
        """The log-likelihood ratio of both sums, and their difference, which must tell no more."""
        names = tuple(f"client {i}" for i in range(self.clients))
        server = HostileServer(Terms(str(Trust.SHARES), names, dropouts=1), self.event)
        holder = names[-1] if self.late else names[0]
        agents = [
            ClientAgent(made_up_table(there and n == holder), Ledger(AMPLE), name=n) for n in names
        ]
        keys = {one.name: server.begin(one) or b"" for one in agents}
        punctual = {name: key for name, key in keys.items() if name != names[-1]}
        sums = [
            server.sum_up(agents, 0, Roster(attempt, who))
            for attempt, who in enumerate((keys, punctual))
        ]
        ratio, ends = 0.0, []
        for attempt, (values, who) in enumerate(zip(sums, (keys, punctual), strict=True)):
            if values is None:
                raise FederationError("Clients gave no sum that could be audited.")
            spread = math.sqrt(len(who)) * server.terms.noise_share(1.0, attempt)
            share = COUNT.share if holder in who else (0.0,)
            known = Question(COUNT.query, (ROWS * len(who),), share)
            ratio += weigh_answer(values, known, server, spread)
            ends.append(float(values[0]) * server.measure(COUNT.query).grid)
        return [ratio, ends[0] - ends[1] - ROWS]


# -- repeated accesses -----------------------------------------------------------------------------


@dataclass(frozen=True)
class AskedOften:
    """One access that is asked for more than thirty times, in every way that a server has."""

    event: Gaussian
    budget: Budget

    def __call__(self, there: bool) -> float:
        """The log-likelihood ratio of all different answers."""
        table, ledger = made_up_table(there), Ledger(self.budget)
        server, other = trusting_nobody(1, self.event.noise_multiplier), WeighedAnswers()
        agent = ClientAgent(table, ledger, name="a")
        server.begin(agent)
        values_of(server.ask(agent, COUNT.query))
        for to in (COUNT, KINDS) * 4:
            other.add(server.ask(agent, to.query), to, server)
        for again in range(4):
            # Another server with the same job, another job, another plan, a look beyond the plan.
            for job in (server.job, f"job {again}"):
                second = replace(server, job=job)
                second.begin(agent)
                other.add(second.ask(agent, KINDS.query), KINDS, second)
            server.pay(agent, again + 1)
            other.add(server.ask(agent, COUNT.query, number=again + 1), COUNT, server)
            other.add(server.ask(agent, COUNT.query, again + 1), COUNT, server)
            # A second agent beside this one, and then in its place.
            beside = ClientAgent(table, ledger, name="a")
            server.begin(beside)
            for one in (beside, agent):
                other.add(server.ask(one, KINDS.query), KINDS, server)
            agent.close()
            agent = beside
        return other.total


@dataclass(frozen=True)
class AskedAgain:
    """Two accesses, and restarts with the client's files as they were, older, or lost.

    Attributes
    ----------
    stored : bool
        Whether the ledger is a file, of which older copies are put back, too.
    """

    stored: bool

    def __call__(self, there: bool) -> float:
        """The log-likelihood ratio of answers beyond the two."""
        table, server, more = made_up_table(there), trusting_nobody(2, SHARP), WeighedAnswers()
        with TemporaryDirectory() as folder:
            files = ClientFiles(Path(folder), table, self.stored)
            for index in range(2):
                with files.started() as agents:
                    for one in agents:
                        server.begin(one)
                    files.keep(f"before {index}")
                    more.know(values_of(server.ask(agents[0], COUNT.query, index)))
                    for one in agents:
                        more.add(server.ask(one, COUNT.query, index), COUNT, server)
            files.keep("newest")
            # One of the files alone: whoever puts both back has no record of the answers at all.
            old = [(state, name) for state in ("before 0", "before 1") for name in files.names]
            for state, name in (("newest", "memory"), *old):
                files.put_back("newest", *files.names)
                files.put_back(state, name)
                with files.started() as agents:
                    for one in agents:
                        server.begin(one)
                        for index in (0, 1):
                            more.add(server.ask(one, COUNT.query, index), COUNT, server)
        return more.total


# -- restarts --------------------------------------------------------------------------------------


def reopened(there: bool) -> float:
    """What a client says under other terms than it has joined and paid by."""
    table, ledger, more = made_up_table(there), Ledger(AMPLE), WeighedAnswers()
    server = trusting_nobody(4, SHARP, clients_per_unit=2)
    terms = server.terms
    others = [
        replace(server, terms=replace(terms, trust=str(Trust.AGGREGATOR))),
        replace(server, terms=replace(terms, clients_per_unit=1)),
    ]
    agent = ClientAgent(table, ledger, name="a")
    server.begin(agent)
    more.know(values_of(server.ask(agent, COUNT.query)))
    for other in others * 2:
        if other.begin(agent) is not None:
            for index in range(4):
                more.add(other.ask(agent, COUNT.query, index), COUNT, other)
        agent.close()
        agent = ClientAgent(table, ledger, name="a")
    return more.total


def other_rosters(there: bool) -> float:
    """What clients say to further rosters of a sum that they have answered, also once restarted."""
    names = tuple(f"client {i}" for i in range(4))
    holder, ratio = names[0], 0.0
    server = HostileServer(Terms(str(Trust.SHARES), names, dropouts=1), Gaussian(1, SHARP))
    ledgers = {name: Ledger(AMPLE) for name in names}
    tables = {name: made_up_table(there and name == holder) for name in names}

    def weigh(values: Wholes | None, who: Collection[str], attempt: int) -> float:
        if values is None:
            return 0.0
        share = COUNT.share if holder in who else (0.0,)
        known = Question(COUNT.query, (ROWS * len(who),), share)
        return weigh_answer(
            values, known, server, math.sqrt(len(who)) * server.terms.noise_share(1.0, attempt)
        )

    with TemporaryDirectory() as folder:
        first: Wholes | None = None
        for run in range(2):
            agents = [
                ClientAgent(tables[name], ledgers[name], name=name, memory=Path(folder) / name)
                for name in names
            ]
            keys = {one.name: server.begin(one) or b"" for one in agents}
            whole = server.sum_up(agents, 0, Roster(0, keys))
            if first is None:
                if whole is None:
                    raise FederationError("Clients gave no sum that could be audited.")
                first = whole
            elif whole is not None and not np.array_equal(first, whole):
                ratio += weigh(whole, names, 0)
            # A further attempt is paid for; after a restart nobody knows what it would be one of.
            for absent, attempt in chain(((n, 0) for n in names), ((n, 1) for n in names * run)):
                some = {name: key for name, key in keys.items() if name != absent}
                values = server.sum_up(agents, 0, Roster(attempt, some))
                ratio += weigh(values, some, attempt)
                if values is not None:
                    ratio += weigh(first - values, (absent,), attempt)
            for one in agents:
                one.close()
    return ratio


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Audits of what a server can do to clients beside asking what was agreed on.

    Parameters
    ----------
    epsilon, delta : float
        The claim, where something was paid; what was not paid may tell nothing at all.
    """
    event = Gaussian(1, 1.0 / mu_of(epsilon, delta))
    paid: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "method": "gaussian"}
    nothing: dict[str, Any] = {"epsilon": 0.0, "quick": 60}
    both, alone = "in the sums with it and without it", "one access asked for again"
    budget = Budget(1.2 * epsilon, delta)
    found: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        (f"a row of a client that is late, {both}", LateAnswer(event, True), paid),
        (f"a row of another client than the late one, {both}", LateAnswer(event, False), paid),
        (f"{alone}, thirty times", AskedOften(event, budget), paid),
        (f"{alone} after restarts, its memory old or lost", AskedAgain(False), nothing),
        (
            f"{alone} after restarts, an older ledger put back",
            AskedAgain(True),
            {**nothing, "quick": 40},
        ),
        (
            "a row for which questions fail",
            Zeros(event.noise_multiplier, failing_questions()),
            {**paid, "quick": 300},
        ),
        (
            "a row for which questions that do not fit would fail",
            Zeros(event.noise_multiplier, unfitting_questions()),
            {**paid, "quick": 300},
        ),
        ("a job reopened on other terms", reopened, nothing),
        ("a sum asked for with other clients", other_rosters, nothing),
    )
    return tuple(
        Trial(FAMILY, name, fit, False, True, join=_other_world, **claim)
        for name, fit, claim in found
    )


def _other_world(without: bool, there: bool) -> bool:
    return there
