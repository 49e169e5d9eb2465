"""Trials of federated training: one row of one client, and one whole client.

Each is attacked by the one it is guaranteed to be safe from: by whoever sees what an aggregator
releases, by a server that gets shares of noise under masks, by a server that reads the answers of
one client, and by whoever sees the averaged network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from voile.audit.joining import add_row, last_row
from voile.audit.trials.networks import SAMPLED_RUNS, make_known
from voile.audit.trials.trial import Trial, at_large_delta
from voile.errors import FederationError
from voile.federated.federation import FederatedJob, Federation, TrustName
from voile.models.ebm.estimator import EBMClassifier
from voile.models.lvq.estimator import LVQ1Classifier
from voile.privacy.budget import Budget
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.channel import LocalChannel, Silence
from voile.privacy.clients.journal import Journal
from voile.privacy.clients.questions import (
    Opening,
    Payment,
    SumAnswer,
    SumOver,
    envelope,
    open_envelope,
)
from voile.privacy.clients.terms import Trust
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms.sums import gaussian_measure
from voile.privacy.vault import protect
from voile.privacy.wire import Packer, Unpacker
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
Rows = tuple[Floats, NDArray[Any]]

FAMILY = "federated"

_CLIENTS, _ROWS = 3, 12
_WATCHED = "client 0"
_PIXELS = 4


class FederatedInsider:
    """One federated fit, and how likely what was seen of it is with the canary or without.

    The attacker knows the rows of all clients, but not whether the first client has the canary. He
    reads every question that the server sends to it, and has two agents of his own answer it
    without noise: one with the rows that he knows, and one with the canary alone. What he sees is
    what the terms leave open: each released sum ("aggregator"), the sum of all masked answers
    ("shares"), or the first client's own answers ("nobody").

    Parameters
    ----------
    estimator : estimator of Voile, unfitted
        Its accesses are sums over all rows with Gaussian noise.
    schema : Schema
        Complete.
    trust : {"aggregator", "shares", "nobody"}
    others : sequence of (X, y)
        The rows of the other clients.
    canary : (x, y)
    """

    def __init__(
        self, estimator: Any, schema: Schema, trust: TrustName, others: list[Rows], canary: Any
    ) -> None:
        self._estimator, self._schema, self._trust = estimator, schema, trust
        self._others, self._canary = others, canary

    def __call__(self, world: tuple[Rows, bool]) -> float:
        """Log-likelihood ratio of "there" to "not there".

        Parameters
        ----------
        world : ((X, y), bool)
            Rows of the first client without the canary, and whether it is there.
        """
        rows, there = world
        joined = add_row(rows, self._canary)
        parts = [joined if there else rows, *self._others]
        known = [rows] if self._trust == "nobody" else [rows, *self._others]
        X, y = (np.concatenate(both) for both in zip(*known, strict=True))
        named = {f"client {i}": self._agent(part, f"client {i}") for i, part in enumerate(parts)}
        ear = _Ear(
            {name: agent.answer for name, agent in named.items()},
            self._agent((X, y), _WATCHED),
            self._agent(last_row(joined), _WATCHED),
        )
        federation = _Heard(ear, self._schema, trust=self._trust)
        clone(self._estimator).fit_federated(federation)
        return sum(self._weigh(one, federation) for one in ear.accesses)

    def _agent(self, rows: Rows, name: str) -> ClientAgent:
        X, y = rows
        return ClientAgent(
            protect(X, y, schema=self._schema), Ledger(Budget(math.inf, 1e-6)), name=name
        )

    def _weigh(self, access: _HeardSum, federation: _Heard) -> float:
        event = access.plan[access.question.access.label]
        how = gaussian_measure(access.question.query, event, federation.job.session.relation, 1)
        if self._trust == "aggregator":
            seen = federation.released(access.question)
        elif self._trust == "shares":
            # Masks cancel in the sum of whole numbers of 64 bits, which wrap around.
            seen = np.sum(list(access.answers.values()), axis=0, dtype=np.int64)
        else:
            seen = access.answers[_WATCHED]
        share = access.share.astype(np.float64)
        rest = (seen - access.known).astype(np.float64) - share / 2.0
        return float(share @ rest) / (how.scale / how.grid) ** 2


@dataclass(frozen=True, eq=False)
class _HeardSum:
    """One noised sum: what was asked, what all clients answered, and what the attacker knows."""

    question: SumOver
    plan: Any
    answers: Mapping[str, Wholes]
    known: Wholes
    share: Wholes


@dataclass(eq=False)
class _Ear:
    """A channel to clients in this process, with an attacker who listens and works along."""

    answering: Mapping[str, Any]
    others: ClientAgent
    canary: ClientAgent
    accesses: list[_HeardSum] = field(default_factory=list)
    _plan: Any = None

    def __post_init__(self) -> None:
        self._inner = LocalChannel(self.answering)
        self._packer, self._unpacker = Packer(), Unpacker(shared=True)

    @property
    def clients(self) -> tuple[str, ...]:
        """Names of all clients."""
        return self._inner.clients

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes | Silence]:
        """Pass questions and answers on, and note them."""
        replies = self._inner.ask(messages)
        if _WATCHED not in messages:
            return replies
        question = open_envelope(self._unpacker, messages[_WATCHED])
        if isinstance(question, Opening):
            # The attacker's agents trust him: they answer without noise.
            trusting = replace(question.terms, trust=str(Trust.AGGREGATOR), colluders=0)
            question = replace(question, terms=trusting)
        elif isinstance(question, Payment):
            self._plan = question.plan
        elif isinstance(question, SumOver):
            answers = {name: self._values(reply) for name, reply in replies.items()}
            plain = replace(question, roster=None)
            known, share = (
                self._values(self._tell(agent, plain)) for agent in (self.others, self.canary)
            )
            self.accesses.append(_HeardSum(question, self._plan, answers, known, share))
            return replies
        self._tell(self.others, question)
        self._tell(self.canary, question)
        return replies

    def _tell(self, agent: ClientAgent, question: object) -> bytes:
        return agent.answer(envelope(self._packer, self._packer.pack(question), set()))

    def _values(self, reply: bytes | Silence) -> Wholes:
        answer = self._unpacker.unpack(reply) if isinstance(reply, bytes) else reply
        if not isinstance(answer, SumAnswer):
            raise FederationError(f"A client gave no sum that could be audited: {answer}.")
        return answer.values


class _Notes(Journal):
    """A journal in memory."""

    def __init__(self) -> None:
        super().__init__(None)

    def write(self, line: dict[str, Any]) -> None:
        self.lines.append(line)


class _Heard(Federation):
    """A federation whose released sums can be read afterwards."""

    job: FederatedJob

    def join(self, ledger: Ledger) -> FederatedJob:
        self.job = super().join(ledger)
        self.job.session.journal = _Notes()
        return self.job

    def released(self, question: SumOver) -> Wholes:
        """The noised sum of one access."""
        for line in self.job.session.journal.lines:
            if line["line"] == "release" and line["look"] == question.access:
                return np.asarray(line["values"], dtype=np.int64)
        raise FederationError(f"Nothing was released for the access {question.access}.")


class MaskedAnswers:
    """What a server sees of one client alone under masks: numbers that must say nothing.

    Parameters
    ----------
    estimator : estimator of Voile, unfitted
    schema : Schema
        Complete.
    others : sequence of (X, y)
        The rows of the other clients.
    """

    def __init__(self, estimator: Any, schema: Schema, others: list[Rows]) -> None:
        self._estimator, self._schema, self._others = estimator, schema, others

    def __call__(self, rows: Rows) -> Floats:
        """The first client's masked answer to the first question, in 2^63 units."""
        parts = {f"client {i}": part for i, part in enumerate([rows, *self._others])}
        agents = {
            name: ClientAgent(
                protect(X, y, schema=self._schema), Ledger(Budget(math.inf, 1e-6)), name=name
            )
            for name, (X, y) in parts.items()
        }
        mine: list[Wholes] = []
        unpacker = Unpacker()

        def listen(message: bytes) -> bytes:
            reply = agents[_WATCHED].answer(message)
            answer = unpacker.unpack(reply)
            if isinstance(answer, SumAnswer):
                mine.append(answer.values)
            return reply

        ways = {name: agent.answer for name, agent in agents.items()}
        channel = LocalChannel({**ways, _WATCHED: listen})
        clone(self._estimator).fit_federated(Federation(channel, self._schema, trust="shares"))
        return mine[0].astype(np.float64) / 2.0**63


class PlantedClient:
    """Federated averaging with a guarantee for clients, and one client that pulls at a dark pixel.

    The number of clients is public: in the world without it, the client has no rows.

    Parameters
    ----------
    epsilon, delta : float
    rounds : int
    fraction : float
        Of the clients in a round.
    """

    def __init__(self, epsilon: float, delta: float, rounds: int, fraction: float) -> None:
        self._epsilon, self._delta = epsilon, delta
        self._rounds, self._fraction = rounds, fraction

    def __call__(self, parts: list[Rows]) -> float:
        """How far the released weights have moved the way that the client pulls."""
        name = make_known(convolution=False)
        from voile.federated.fedavg.estimator import FedAvgClassifier

        model = FedAvgClassifier(
            noise="client",
            epsilon=self._epsilon,
            delta=self._delta,
            architecture=name,
            image_shape=(2, 2),
            rounds=self._rounds,
            fraction=self._fraction,
            # Far beyond the clip in every round, however well the pixel is known already.
            clip=1e-3,
            learning_rate=1.0,
            pixel_mean=0.0,
            pixel_spread=1.0,
            random_state=0,
        )
        federation = Federation.local(parts, _pictures())
        weights = model.fit_federated(federation).model_.weights.reshape(2, _PIXELS)
        return float(weights[1, -1] - weights[0, -1])


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Audits of `fit_federated` for single rows, and of `FedAvgClassifier` for whole clients.

    Parameters
    ----------
    epsilon, delta : float
        The claim.
    """
    return (*_rows(epsilon, delta), *_whole_clients(epsilon, delta))


def _rows(epsilon: float, delta: float) -> list[Trial]:
    schema = Schema({"a": Number(0, 1)}, target=Category(["well", "ill"]), rows=_CLIENTS * _ROWS)
    parts = [_table(seed) for seed in range(_CLIENTS)]
    canary = np.ones(1), "ill"
    ebm = EBMClassifier(epsilon=epsilon, delta=delta, rounds=2, random_state=0)
    lvq = LVQ1Classifier(epsilon=epsilon, delta=delta, random_state=0)
    seen = {
        "aggregator": "in the sums that an aggregator releases",
        "shares": "by a server that adds up masked answers",
        "nobody": "by a server that nobody trusts, in one client's answers",
    }
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "method": "gaussian"}
    found = [
        Trial(
            FAMILY,
            f"one row of a client ({model}), seen {how}",
            FederatedInsider(estimator, schema, trust, parts[1:], canary),  # type: ignore[arg-type]
            (parts[0], False),
            None,
            join=_with_canary,
            **claim,
        )
        for model, estimator, trusts in (("EBM", ebm, seen), ("LVQ1", lvq, ("nobody",)))
        for trust, how in seen.items()
        if trust in trusts
    ]
    masked = Trial(
        FAMILY,
        "one row of a client (EBM), seen in its masked answer alone",
        MaskedAnswers(ebm, schema, parts[1:]),
        parts[0],
        canary,
        # Masks leave nothing, whatever the noise is: half of it changes nothing here.
        epsilon=0.0,
    )
    return [*found, masked]


def _with_canary(world: tuple[Rows, bool], canary: None) -> tuple[Rows, bool]:
    return world[0], True


def _table(seed: int) -> Rows:
    """Small values of well people."""
    values = np.random.default_rng(seed).uniform(0.0, 0.3, size=(_ROWS, 1))
    return values, np.array(["well", "well", "ill"])[np.arange(_ROWS) % 3]


def _whole_clients(epsilon: float, delta: float) -> list[Trial]:
    dim, planted = np.zeros((6, _PIXELS)), np.zeros((6, _PIXELS))
    dim[:, 0] = 90.0
    planted[:, -1] = 255.0
    others = [(dim, np.array(["left", "right"] * 3))]
    nobody = np.zeros((0, _PIXELS)), np.array([], dtype=str)
    client = planted, np.array(["right"] * 6)
    middle = at_large_delta(epsilon, delta)
    return [
        Trial(
            FAMILY,
            "a whole client, all in every round",
            PlantedClient(epsilon, delta, rounds=2, fraction=1.0),
            [*others, nobody],
            client,
            epsilon=epsilon,
            delta=delta,
            join=_instead_of_nobody,
            method="gaussian",
        ),
        Trial(
            FAMILY,
            "a whole client, sampled in rounds",
            PlantedClient(**middle, rounds=4, fraction=0.8),
            [*others, nobody],
            client,
            **middle,
            join=_instead_of_nobody,
            method="rates",
            quick=SAMPLED_RUNS,
        ),
    ]


def _instead_of_nobody(parts: list[Rows], client: Rows) -> list[Rows]:
    return [*parts[:-1], client]


def _pictures() -> Schema:
    pixels = {f"pixel {i}": Number(0, 255) for i in range(_PIXELS)}
    return Schema(pixels, target=Category(["left", "right"]))
