"""Questions that fail for one row alone, and a server that accesses what becomes of its client."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.audit.trials.federated.hostile_server import (
    AMPLE,
    SCHEMA,
    HostileServer,
    made_up_table,
    values_of,
)
from voile.models.features import Features
from voile.models.lvq.queries import ClassSums
from voile.models.lvq.space import Space
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.questions import (
    RefusalMessage,
    SumAnswer,
)
from voile.privacy.clients.terms import Terms, Trust
from voile.privacy.events import Gaussian
from voile.privacy.ledger import Ledger
from voile.privacy.queries import Block, CategoryCounts, Preparation, Query, RowCount
from voile.privacy.wire import declared
from voile.schema import Category, Schema

Wholes = NDArray[np.int64]


def _fail(block: Block) -> bool:
    return bool((block["size"] > 9.0).any())


@dataclass(frozen=True)
class FailingCount(RowCount):
    """A count of rows that raises for the canary, or gives a vector of another length."""

    columns: tuple[str, ...] = ("size",)
    raises: bool = True

    def total(self, block: Block, grid: float) -> Wholes:
        """Fails."""
        if _fail(block):
            if self.raises:
                raise ValueError("a row that fails")
            return np.zeros(0, dtype=np.int64)
        return super().total(block, grid)


@dataclass(frozen=True)
class FailingKeep(Preparation):
    """Keeps a mark of each row, and raises for the canary, or has one mark too few."""

    columns: tuple[str, ...] = ("size",)
    raises: bool = True

    def prepare(self, block: Block) -> None:
        """Fails half way."""
        failed = _fail(block)
        block.kept["mark"] = np.ones(block.rows - int(failed), dtype=np.int64)
        if failed and self.raises:
            raise ValueError("a row that fails")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whatever comes."""
        return True


@dataclass(frozen=True)
class MarkCount(RowCount):
    """Counts marks that rows keep."""

    size: int = 2

    def cells(self, block: Block) -> Sequence[Wholes]:
        """The mark of each row."""
        return [block.kept["mark"]]


@dataclass(frozen=True)
class PlantedQuestion:
    """What a server sends for one access."""

    query: Query
    kept: tuple[Preparation, ...] = ()
    schema: Schema = SCHEMA


def failing_questions() -> tuple[PlantedQuestion, ...]:
    """Queries and preparations that nobody checks beforehand."""
    marks = [(FailingKeep(),), (FailingKeep(raises=False),), (FailingKeep(), FailingKeep())]
    return (
        *(PlantedQuestion(FailingCount(raises=one)) for one in (True, False)),
        *(PlantedQuestion(query, one) for one in marks for query in (RowCount(), MarkCount())),
    )


def unfitting_questions() -> tuple[PlantedQuestion, ...]:
    """Questions of the library whose parts do not fit each other, or the client's table."""
    fewer = Schema(SCHEMA, target=Category(["well", "ill"]))
    whole, small = (Space(one, np.zeros(len(Features(one))), 1.0) for one in (SCHEMA, fewer))
    other = {"size": Category([1.0, 2.0]), "kind": Category()}
    return (
        PlantedQuestion(ClassSums(whole, False), (whole,)),
        PlantedQuestion(ClassSums(small, False), (small,), fewer),
        PlantedQuestion(ClassSums(small, False), (whole,)),
        PlantedQuestion(ClassSums(small, False), (small,)),
        PlantedQuestion(CategoryCounts("size", 2)),
        *(
            PlantedQuestion(query, (), Schema({**SCHEMA, name: kind}, target=SCHEMA.target))
            for name, kind in other.items()
            for query in (RowCount(), CategoryCounts(name, 2))
        ),
    )


@dataclass(frozen=True)
class Zeros:
    """A server that asks for what fails for one row, and looks whether the whole client is gone.

    Attributes
    ----------
    multiplier : float
        Of the noise of all accesses together.
    asked : tuple of PlantedQuestion
    """

    multiplier: float
    asked: tuple[PlantedQuestion, ...]

    def __call__(self, there: bool) -> list[float]:
        """How far sums are from none at all, and how often and with which words it was refused."""
        gone, words = 0.0, 0.0
        # The attacker's own client trusts it, and has no canary.
        own, client = self._server(Trust.AGGREGATOR), self._server(Trust.NOBODY)
        known, replies = self._replies(own, False), self._replies(client, there)
        values_of(known[0])
        for one, exact, reply in zip(self.asked, known, replies, strict=True):
            if isinstance(reply, SumAnswer) and isinstance(exact, SumAnswer):
                how = client.measure(one.query)
                towards = exact.values / max(float(np.linalg.norm(exact.values)), 1.0)
                gone += float(towards @ (reply.values - exact.values)) * how.grid / how.scale
            elif isinstance(reply, RefusalMessage):
                words += 1.0 + zlib.crc32(reply.reason.encode()) / 2.0**32
            else:
                words += 10.0
        return [gone, words]

    def _server(self, trust: Trust) -> HostileServer:
        event = Gaussian(len(self.asked), math.sqrt(len(self.asked)) * self.multiplier)
        return HostileServer(Terms(str(trust), ("a",)), event)

    def _replies(self, server: HostileServer, there: bool) -> list[Any]:
        agent = ClientAgent(made_up_table(there), Ledger(AMPLE), name="a")
        with declared(FailingCount, FailingKeep, MarkCount):
            server.begin(agent)
            return [
                server.ask(agent, one.query, index, schema=one.schema, kept=one.kept)
                for index, one in enumerate(self.asked)
            ]
