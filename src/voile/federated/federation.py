"""Federation: several holders of rows, trained on together, without their rows leaving them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from voile.errors import SchemaError, SettingError
from voile.privacy.budget import Budget
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.channel import Channel, LocalChannel
from voile.privacy.clients.journal import Journal
from voile.privacy.clients.session import Incident, Session, Traffic
from voile.privacy.clients.source import open_clients
from voile.privacy.clients.terms import Terms, Trust
from voile.privacy.ledger import Ledger
from voile.privacy.origins import Origin, Use
from voile.privacy.vault import PrivateTable, protect
from voile.schema import Schema

TrustName = Literal["aggregator", "shares", "nobody"]


@dataclass(frozen=True, eq=False)
class FederatedJob:
    """One job that clients have joined: their rows as a table, and its public randomness."""

    table: PrivateTable
    session: Session

    @property
    def seed(self) -> int:
        """Public randomness, the same after a restart from the journal."""
        return int(self.session.seed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Let go of the journal; a job that failed may go on with it."""
        self.session.finished = kind is None
        self.session.journal.close()


class Federation:
    """Clients that train together; every estimator's ``fit_federated`` takes one.

    Parameters
    ----------
    channel : Channel
        How messages reach the clients: `voile.federated.flower` has one for Flower;
        `Federation.local` makes one for clients in this process.
    schema : Schema
        What is public, agreed on by all clients beforehand.
    trust : {"aggregator", "shares", "nobody"}
        Who adds the noise. "aggregator": the server, which sees each client's exact sums.
        "shares": every client a share of it, under masks, so that a server that follows the
        protocol sees noised sums over all clients alone. "nobody": every client all of it
        (sqrt(clients) times the noise).
    dropouts : int
        So many clients may be missing from a sum; with more the job stops. With "shares" it makes
        the noise 1.15 times as large (docs/proofs/federated.md, "Late messages").
    colluders : int
        With "shares": so many clients may tell the server their noise without harm to others.
    clients_per_unit : int
        At so many clients one privacy unit may have rows; multiplies the noise.
    most_rows : int
        Public: no client has more rows; larger answers are refused as impossible.
    journal : path, optional
        Where released values are written, so that a job goes on after the server was restarted.
    retries : int
        How often a client that failed is asked again at once.
    """

    def __init__(
        self,
        channel: Channel,
        schema: Schema,
        *,
        trust: TrustName = "aggregator",
        dropouts: int = 0,
        colluders: int = 0,
        clients_per_unit: int = 1,
        most_rows: int = 10_000_000,
        journal: str | Path | None = None,
        retries: int = 1,
    ) -> None:
        if not isinstance(schema, Schema):
            raise SettingError("A federation needs a Schema that all clients agreed on.")
        if schema.target is None:
            raise SchemaError("The federation's schema has no target: give target=Category([...]).")
        self.schema = schema
        self.terms = Terms(
            str(trust), tuple(channel.clients), dropouts, colluders, clients_per_unit, most_rows
        )
        if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= 100:
            raise SettingError(f"The 'retries' must be in [0, 100]. Got {retries!r} instead.")
        self._channel, self._journal, self._retries = channel, journal, retries
        self._sessions: list[Session] = []

    @classmethod
    def local(
        cls,
        parts: Mapping[str, Any] | Sequence[Any],
        schema: Schema,
        *,
        ledgers: Mapping[str, Ledger] | None = None,
        **terms: Any,
    ) -> Self:
        """Clients in this process: for studies, simulations and tests.

        Parameters
        ----------
        parts : sequence, or mapping of names, of (X, y) pairs or client agents
        schema : Schema
        ledgers : mapping of str to Ledger, optional
            The clients' own, by name; by default books without a limit.
        **terms
            As for `Federation`.
        """
        named = parts if isinstance(parts, Mapping) else _named(parts)
        agents: dict[str, ClientAgent] = {}
        for name, part in named.items():
            if isinstance(part, ClientAgent):
                agents[name] = part
                continue
            X, y = part
            ledger = (ledgers or {}).get(name) or Ledger(Budget(math.inf, 1e-6))
            agents[name] = ClientAgent(protect(X, y, schema=schema), ledger, name=name)
        federation = cls(LocalChannel({n: d.answer for n, d in agents.items()}), schema, **terms)
        federation.agents = agents
        if any(agent.ledger.budget.unlimited for agent in agents.values()):
            federation._uses = (Use(Origin()),)
        return federation

    agents: Mapping[str, ClientAgent] = {}
    """The clients of `local`, by name."""

    _uses: tuple[Use, ...] = ()
    """What a job without a ledger uses up where clients have no limits of their own."""

    def join(self, ledger: Ledger) -> FederatedJob:
        """Begin a job: clients join, nothing is paid yet.

        Raises
        ------
        FederationError
            If too few clients join; the message has their reasons.
        """
        for before in self._sessions:
            before.journal.close()
        # A journal tells of one job: a later one begins without, a stopped one goes on with it.
        used = any(before.finished for before in self._sessions)
        journal = Journal(None if used else self._journal)
        try:
            session = Session(self._channel, self.terms, journal, self._retries)
            self._sessions.append(session)
            return FederatedJob(
                open_clients(session, self.schema, ledger.relation, self._uses), session
            )
        except BaseException:
            journal.close()
            raise

    def close(self) -> None:
        """Let go of the journal, and of the clients of `local`: others may work with them."""
        for session in self._sessions:
            session.journal.close()
        for agent in self.agents.values():
            agent.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """What went wrong with which client, oldest first."""
        return tuple(one for session in self._sessions for one in session.incidents)

    @property
    def traffic(self) -> Traffic:
        """Questions, bytes and seconds of all jobs so far."""
        all_of = [session.traffic for session in self._sessions]
        return Traffic(
            sum(one.questions for one in all_of),
            sum(one.sent for one in all_of),
            sum(one.received for one in all_of),
            sum(one.seconds for one in all_of),
        )

    def __repr__(self) -> str:
        return f"<Federation of {len(self.terms.clients)} clients, trust {self.terms.trust!r}>"


def _named(parts: Sequence[Any]) -> dict[str, Any]:
    width = len(str(max(len(parts) - 1, 0)))
    return {f"client {k:0{width}}": part for k, part in enumerate(parts)}


assert set(TrustName.__args__) == set(Trust)  # type: ignore[attr-defined]
