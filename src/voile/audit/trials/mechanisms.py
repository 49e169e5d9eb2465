"""Trials of the core: sums, selections, what is found privately, summaries, and the ledger."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.audit.trials.trial import Trial
from voile.privacy.accounting import compose
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.discovery.bounds import find_bounds
from voile.privacy.discovery.histogram import DEPTH, FANOUT
from voile.privacy.discovery.levels import find_levels
from voile.privacy.discovery.tree import TreeCells
from voile.privacy.events import Event, Gaussian, Laplace, Plan, PoissonGaussian, Pure, Threshold
from voile.privacy.gaussian_dp import mu_of
from voile.privacy.grant import Ticket
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms import gaussian_sum, laplace_sum
from voile.privacy.mechanisms.selection import exponential, permute_and_flip
from voile.privacy.queries import Block, CategoryCounts, Query, RowCount
from voile.privacy.vault import PrivateTable, protect
from voile.schema import Category, Number, Schema
from voile.summary import CategorySummary, NumberSummary, summarize

Floats = NDArray[np.float64]
Rows = dict[str, list[Any]]

SCHEMA = Schema({"size": Number(-100, 100), "kind": Category(["a", "b", "c"])})
UNLISTED = Schema({"size": Number(), "kind": Category()})
ROWS: Rows = {"size": [0.5, -0.5] * 20, "kind": ["a", "b"] * 20}
CANARY: dict[str, Any] = {"size": 100.0, "kind": "c"}
"""Alone in its level, and far beyond what a sum of sizes lets a row add."""


def replaced(rows: Rows, row: dict[str, Any]) -> Rows:
    """The rows with another one in place of the last."""
    return {name: [*values[:-1], row[name]] for name, values in rows.items()}


@dataclass(frozen=True)
class ClippedNumber(Query):
    """Sum of a number, each cut to [-1, 1]; twice, so that a row's norm is at most sqrt(2)."""

    column: str
    size: int = 2
    bound: float = math.sqrt(2.0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column read."""
        return (self.column,)

    def contributions(self, block: Block) -> Floats:
        """The number itself: cutting it is the mechanism's business."""
        return np.column_stack([block[self.column], block[self.column]])


@dataclass(frozen=True, eq=False)
class PaidAccess:
    """One paid access to a table, as numbers."""

    schema: Schema
    event: Event
    mechanism: Callable[[PrivateTable, Ticket], Any]
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE

    def __call__(self, rows: Rows) -> Any:
        """What is released of these rows."""
        table = protect(rows, schema=self.schema)
        ledger = Ledger(Budget(math.inf, 1e-6), relation=self.relation)
        grant = ledger.pay(Plan.of(look=self.event), table, "audit")
        return self.mechanism(table, grant.take("look"))


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Trials of every mechanism of the core.

    Parameters
    ----------
    epsilon, delta : float
        The claim; pure mechanisms claim epsilon alone, sampled ones what their events cost.
    """
    gaussian = Gaussian(1, 1.0 / mu_of(epsilon, delta))
    return (
        *_sums(epsilon, delta, gaussian),
        *_selections(epsilon),
        *_discoveries(epsilon, delta, gaussian),
        *_tables(epsilon, delta),
    )


def _sums(epsilon: float, delta: float, gaussian: Gaussian) -> tuple[Trial, ...]:
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "method": "gaussian"}
    sampled = PoissonGaussian(4, 1.0, 0.05)
    cost = compose([sampled], NeighbouringRelation.ADD_REMOVE).epsilon(delta)

    def several(table: PrivateTable, ticket: Ticket) -> float:
        tickets = [ticket, *(ticket.grant.take("look") for _ in range(sampled.count - 1))]
        seen = [gaussian_sum(table, CategoryCounts("kind", 3), one).values[2] for one in tickets]
        # Nobody else is in this level: the likelihood ratio, access by access.
        ratio = (np.array(seen) - 0.5) / sampled.noise_multiplier**2
        return float(np.logaddexp(math.log(0.95), math.log(0.05) + ratio).sum())

    return (
        Trial(
            "Gaussian sum",
            "one row more",
            PaidAccess(SCHEMA, gaussian, lambda t, k: gaussian_sum(t, RowCount(), k).values),
            ROWS,
            CANARY,
            **claim,
        ),
        Trial(
            "Gaussian sum",
            "a value far beyond its bound",
            PaidAccess(
                SCHEMA,
                gaussian,
                lambda t, k: gaussian_sum(t, ClippedNumber("size"), k).values.sum(),
            ),
            ROWS,
            CANARY,
            **claim,
        ),
        Trial(
            "Gaussian sum",
            "a row replaced by its opposite",
            PaidAccess(
                SCHEMA,
                gaussian,
                lambda t, k: gaussian_sum(t, ClippedNumber("size"), k).values.sum(),
                NeighbouringRelation.REPLACE_ONE,
            ),
            {**ROWS, "size": [*ROWS["size"][:-1], -100.0]},
            CANARY,
            join=replaced,
            **claim,
        ),
        Trial(
            "Gaussian sum",
            "alone in its level, a twentieth of the rows sampled",
            PaidAccess(SCHEMA, sampled, several),
            ROWS,
            CANARY,
            epsilon=cost,
            delta=delta,
            quick=1000,
        ),
        Trial(
            "Laplace sum",
            "alone in its level",
            PaidAccess(
                SCHEMA,
                Laplace(1, 1.0 / _pure(epsilon)),
                lambda t, k: laplace_sum(t, CategoryCounts("kind", 3), k).values[2],
            ),
            ROWS,
            CANARY,
            epsilon=_pure(epsilon),
            quick=1500,
        ),
    )


def _pure(epsilon: float) -> float:
    """Pure guarantees are audited at 2 at most: more takes too many runs to refute."""
    return min(epsilon, 2.0)


def _choose(choose: Callable[..., int], table: PrivateTable, ticket: Ticket) -> int:
    return choose(table, CategoryCounts("kind", 3), ticket)


def _selections(epsilon: float) -> tuple[Trial, ...]:
    # Two levels of equally many rows; one row that changes sides tips the balance.
    even: Rows = {"size": [0.0] * 40, "kind": ["c", "a"] * 20}
    event = Pure(1, _pure(epsilon))
    return tuple(
        Trial(
            "selection",
            f"a row that changes sides, {name}",
            PaidAccess(SCHEMA, event, partial(_choose, choose), NeighbouringRelation.REPLACE_ONE),
            even,
            CANARY,
            join=replaced,
            epsilon=_pure(epsilon),
            quick=1500,
        )
        for name, choose in (("permute and flip", permute_and_flip), ("exponential", exponential))
    )


def _discoveries(epsilon: float, delta: float, gaussian: Gaussian) -> tuple[Trial, ...]:
    # A small epsilon and a large delta, so that a value that passes too often is seen within some
    # hundred runs.
    strict, slack = min(epsilon, 1.0), 0.01
    z = gaussian.noise_multiplier
    threshold = Threshold(1, 1.0 / mu_of(strict, delta), slack)

    def level_count(table: PrivateTable, ticket: Ticket) -> list[float]:
        found = find_levels(table, "kind", ticket)
        counts = dict(zip(found.levels, found.counts, strict=True))
        return [counts.get("c", 0.0), len(found.levels)]

    def bounds_found(table: PrivateTable, ticket: Ticket) -> list[float]:
        found = find_bounds(table, "size", ticket).column
        return [float(found.lower or 0.0), float(found.upper or 0.0)]

    def last_nodes(table: PrivateTable, ticket: Ticket) -> float:
        values = gaussian_sum(table, TreeCells("size", -100.0, 100.0), ticket).values
        # Nobody else is in the last node of any level.
        ends = np.cumsum([FANOUT**level for level in range(1, DEPTH + 1)])
        return float(values[ends - 1].sum())

    # So many rows that the noised count lies about the threshold.
    near = math.ceil(1.0 + 2.3 * threshold.noise_multiplier)
    some: Rows = {"size": [1.0] * 40, "kind": ["a"] * (40 - near) + ["c"] * near}
    few: Rows = {"size": [0.0] * 40 + [100.0] * math.ceil(4 * z), "kind": ["a"] * 40}
    few["kind"] = few["kind"] + ["a"] * (len(few["size"]) - 40)
    return (
        *(
            Trial(
                "discovery",
                name,
                PaidAccess(UNLISTED, threshold, level_count),
                rows,
                CANARY,
                epsilon=strict,
                delta=delta + slack,
                method="rates",
            )
            for name, rows in (
                ("a category present once", ROWS),
                ("one more row of a category near the threshold", some),
            )
        ),
        Trial(
            "discovery",
            "a bound moved by one row",
            PaidAccess(UNLISTED, gaussian, bounds_found),
            few,
            {"size": 100.0, "kind": "a"},
            epsilon=epsilon,
            delta=delta,
            method="gaussian",
        ),
        Trial(
            "discovery",
            "alone at the end of a tree of counts",
            PaidAccess(SCHEMA, gaussian, last_nodes),
            ROWS,
            CANARY,
            epsilon=epsilon,
            delta=delta,
            method="gaussian",
            quick=1500,
        ),
    )


def _tables(epsilon: float, delta: float) -> tuple[Trial, ...]:
    def summary(rows: Rows) -> float:
        made = summarize(rows, epsilon=epsilon, delta=delta, schema=SCHEMA, bins=4)
        size, kind = made["size"], made["kind"]
        assert isinstance(size, NumberSummary)
        assert isinstance(kind, CategorySummary)
        # Nobody else is in these cells; each is weighed by how sure it is.
        return float(
            made.rows / made.rows_standard_error**2
            + size.counts[-1] / size.standard_errors[-1] ** 2
            + kind.counts[2] / kind.standard_error**2
        )

    def account(rows: Rows) -> list[float]:
        ledger = Ledger(Budget(3 * epsilon, delta))
        made = summarize(rows, epsilon=epsilon, delta=delta / 3, schema=SCHEMA, ledger=ledger)
        left = ledger.remaining()
        accesses = [line.event.count * line.share for line in made.receipt.lines]
        return [ledger.fraction_spent(), left.epsilon, len(list(ledger.history())), *accesses]

    return (
        Trial(
            "summary",
            "alone in a bin and in a level, every number of the summary",
            summary,
            ROWS,
            CANARY,
            epsilon=epsilon,
            delta=delta,
            method="gaussian",
        ),
        Trial(
            "ledger",
            "what is spent must not depend on any row",
            account,
            ROWS,
            CANARY,
            epsilon=0.0,
            quick=60,
        ),
    )
