"""Rows that lie with clients, as a row source: training code asks it as it asks a table."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, FederationError, PlanError, SettingError, VaultError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.masks import Roster
from voile.privacy.clients.questions import AccessId, SumAnswer, SumOver, Tallied, Tally, Work
from voile.privacy.clients.session import Session
from voile.privacy.clients.terms import Terms, Trust
from voile.privacy.events import Gaussian, Plan, PoissonGaussian
from voile.privacy.grant import Ticket
from voile.privacy.ledger import Entry, Ledger
from voile.privacy.origins import Use
from voile.privacy.query_kernels import check_bound
from voile.privacy.sources.block import Block
from voile.privacy.sources.holders import Holders
from voile.privacy.sources.source import RowSource
from voile.privacy.vault import PrivateTable
from voile.privacy.wire import Packer
from voile.schema import Category, Schema
from voile.schema.columns import Level

if TYPE_CHECKING:
    from voile.privacy.clients.updates import ClientWork
    from voile.privacy.queries import Query

_TAIL = 12.0
"""Standard deviations of a client's own noise that an answer may lie beyond its largest sum."""


class ClientsSource(RowSource):
    """The rows of all clients of a job, summed over where they are.

    Parameters
    ----------
    session : Session
    schema : Schema
        Agreed on, or completed since.
    """

    def __init__(self, session: Session, schema: Schema) -> None:
        self.schema = schema
        self._session = session
        self._weights = object() if session.weighted else None
        self._preparations: list[Any] = []
        self._at: _Asking | None = None
        self._answered, self._attempt = len(session.terms.clients), 0

    # -- what it is ---------------------------------------------------------------------------

    @property
    def terms(self) -> Terms:
        """What all sides have agreed on."""
        return self._session.terms

    @property
    def holders(self) -> Holders:
        """The clients; noise grows if they add more together than was paid for."""
        terms = self._session.terms
        return _Clients(
            summed_only=True,
            per_unit=terms.clients_per_unit,
            noise_growth=terms.growth(self._answered, self._attempt),
            notes=terms.notes_for(self.schema.unit),
            session=self._session,
        )

    def with_schema(self, schema: Schema) -> ClientsSource:
        """The same rows under another schema; what was kept per row is forgotten."""
        self._check_unit(schema)
        return ClientsSource(self._session, schema)

    def access(self, ticket: Ticket) -> ClientsSource:
        """The same rows for one access, which clients must be told about."""
        other = ClientsSource(self._session, self.schema)
        other._preparations = self._preparations
        at = self._session.next_access(ticket.grant.entry.id, ticket.label)
        other._at = _Asking(at, ticket)
        return other

    # -- sums ---------------------------------------------------------------------------------

    def total(
        self, query: Query, grid: float, *, rate: float = 1.0, forgiving: bool = False
    ) -> NDArray[np.int64]:
        """The exact sum; for a trusted aggregator alone."""
        self._only_trusted("an exact sum")
        self._session.journal.write({"line": "beyond"})
        return self._sum(query, grid, 0.0)

    def noised_total(
        self, query: Query, grid: float, scale: float, *, rate: float = 1.0
    ) -> NDArray[np.int64]:
        """The noised sum, from the journal if it was released before a restart."""
        access = self._access.at
        packer = Packer()
        asked = hashlib.sha256(packer.pack(query).body).hexdigest()
        for line in self._session.journal.lines:
            if line["line"] == "release" and line["look"] == access:
                if line["asked"] != asked:
                    raise FederationError(
                        "The journal's job asked something else here: give the same model, "
                        "settings and data facts, or begin anew."
                    )
                self._answered, self._attempt = int(line["answered"]), int(line["attempt"])
                # A job that began under fixed noise has no guarantee, whoever goes on with it.
                self._access.ticket.note_noise(
                    noise.NoiseSource(line.get("noise", noise.NoiseSource.SYSTEM))
                )
                return np.asarray(line["values"])
        total = self._sum(query, grid, self._session.terms.noise_share(scale))
        if self._session.terms.trust == Trust.AGGREGATOR:
            total = total + noise.gaussian(query.size, scale / grid)
        self._session.write(
            {
                "line": "release",
                "look": access,
                "asked": asked,
                "answered": self._answered,
                "attempt": self._attempt,
                "noise": str(noise.current_source()),
                "values": total,
            }
        )
        return total

    def _sum(self, query: Query, grid: float, share: float) -> NDArray[np.int64]:
        self._check(query.columns)
        check_bound(query.bound)
        access, terms = self._access.at, self._session.terms
        masked = terms.trust == Trust.SHARES
        # What the largest client could send: all its rows in one direction, and its noise.
        limit = (query.bound * terms.most_rows + _TAIL * share * math.sqrt(query.size)) / grid

        def ask(roster: Roster | None) -> SumOver:
            return SumOver(
                self._session.job,
                access,
                self.schema,
                tuple(self._preparations),
                query,
                grid,
                roster,
            )

        read = read_answer(access, query.size, math.inf if masked else limit)
        found = self._session.collect(ask, access, read)
        self._answered, self._attempt = len(found.answers), found.attempt
        result = np.zeros(query.size, dtype=np.int64)
        for values in found.answers.values():
            result += values
        return result

    def updates(self, work: ClientWork, grid: float, *, rate: float = 1.0) -> NDArray[np.int64]:
        """Sum of the vectors of the clients that a secret coin chooses."""
        self._only_trusted("an update of whole clients")
        self._session.journal.write({"line": "beyond"})
        access, terms = self._access.at, self._session.terms
        names = terms.clients
        if rate < 1.0:
            chosen = noise.bernoulli(len(names), rate)
            names = tuple(name for name, one in zip(names, chosen, strict=True) if one)
        question = Work(
            self._session.job, access, self.schema, tuple(self._preparations), work, grid
        )
        read = read_answer(access, work.size, work.bound / grid * (1.0 + 1e-9))
        found = self._session.collect(lambda _: question, access, read, names)
        result = np.zeros(work.size, dtype=np.int64)
        for values in found.answers.values():
            result += values
        return result

    def tally(self, column: str) -> Counter[Level]:
        """How often each value occurs; for a trusted aggregator alone."""
        self._only_trusted("finding levels that nobody listed")
        self._check((column,))
        self._session.journal.write({"line": "beyond"})
        access = self._access.at

        def read(name: str, reply: object) -> Counter[Level]:
            if not isinstance(reply, Tallied) or len(reply.levels) != len(reply.counts):
                raise DataError("the client sent no tally")
            counts = list(reply.counts)
            if not all(type(count) is int for count in counts):
                raise DataError("the tally counts in other than whole numbers")
            Category(tuple(dict.fromkeys(reply.levels)))  # refuses what can be no level
            if min(counts, default=0) < 0 or sum(counts) > self._session.terms.most_rows:
                raise DataError("the tally counts more rows than a client can have")
            return Counter(dict(zip(reply.levels, counts, strict=True)))

        question = Tally(self._session.job, access, self.schema, column)
        result: Counter[Level] = Counter()
        for found in self._session.collect(lambda _: question, access, read).answers.values():
            result.update(found)
        return result

    # -- what stays with the rows -------------------------------------------------------------

    def keep(
        self, columns: Collection[str], work: Callable[[Block], None], *, forgiving: bool = False
    ) -> None:
        """Have clients keep something per row; sent with the next question."""
        self._check(columns)
        owner = getattr(work, "__self__", None)
        if owner is None or getattr(work, "__name__", "") != "prepare":
            raise SettingError(
                "Clients can keep only what a sendable object's `prepare` makes of their rows."
            )
        Packer().pack(owner)  # refuses here what cannot be sent
        self._preparations.append(owner)

    def blocks(self, columns: Collection[str]) -> Iterator[Block]:
        """Refused: rows do not leave their clients."""
        raise VaultError("Rows of a federation lie with its clients and cannot be gathered.")

    # -- checks -------------------------------------------------------------------------------

    @property
    def _access(self) -> _Asking:
        if self._at is None:
            raise PlanError("Rows of a federation are summed with a ticket alone.")
        return self._at

    def _only_trusted(self, what: str) -> None:
        if self._session.terms.trust != Trust.AGGREGATOR:
            raise PlanError(
                f"With trust {str(self._session.terms.trust)!r} clients answer noised Gaussian "
                f"sums alone; {what} needs trust='aggregator', or a complete schema and a finite "
                "epsilon."
            )


@dataclass(frozen=True, kw_only=True)
class _Clients(Holders):
    session: Session

    def settle(
        self, plan: Plan, what: str, ledger: Ledger, spend: Callable[[], Entry], unit: str | None
    ) -> Entry:
        """Every client pays from its own ledger, too."""
        if self.session.terms.trust != Trust.AGGREGATOR:
            _check_gaussian(plan)
        return self.session.settle(plan, what, ledger, spend, unit)


@dataclass(frozen=True)
class _Asking:
    at: AccessId
    ticket: Ticket


def _check_gaussian(plan: Plan) -> None:
    """Refuse, before anything is paid, what clients could not answer without trust."""
    other = [step for step in plan if not isinstance(step.event, (Gaussian, PoissonGaussian))]
    if other:
        raise PlanError(
            "Without trust in the aggregator clients answer Gaussian sums alone; "
            f"{other[0].label!r} is a {other[0].event.kind!r} access. List all levels and classes "
            "in the schema, or use trust='aggregator'."
        )


def read_answer(
    access: AccessId, size: int, limit: float
) -> Callable[[str, object], NDArray[np.int64]]:
    """A check of answers: of the right look and shape, and not larger than any rows could make it.

    Parameters
    ----------
    limit : float
        Largest L2 norm in grid units; ``inf`` where masks hide it.
    """

    def read(name: str, reply: object) -> NDArray[np.int64]:
        if not isinstance(reply, SumAnswer):
            raise DataError(f"the client sent a {type(reply).__name__} and no answer")
        values = reply.values
        if reply.access != access:
            raise DataError("the client answered another question")
        if not isinstance(values, np.ndarray) or values.dtype != np.int64:
            raise DataError("the answer holds no whole numbers")
        if values.shape != (size,):
            raise DataError(f"the answer has shape {values.shape} and should have ({size},)")
        if float(np.linalg.norm(values.astype(np.float64))) > limit:
            raise DataError("the answer is larger than any rows could make it")
        return values

    return read


def open_clients(
    session: Session, schema: Schema, relation: NeighbouringRelation, uses: tuple[Use, ...] = ()
) -> PrivateTable:
    """Have clients join a job; its table: rows at the clients, asked through `session`."""
    session.open(schema, relation)
    source = ClientsSource(session, schema)
    return PrivateTable(source, object(), session.largest_weight, uses=uses)
