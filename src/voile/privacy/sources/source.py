"""What every row source can do: add a query up over its rows, and nothing else.

A source must be able to visit its rows in blocks (`blocks`) and to encode them anew
(`with_schema`); sums, tallies and what rows keep follow from that. Where rows cannot be visited
(clients of a federation), the sums themselves are asked for elsewhere.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from voile.errors import SchemaError, SettingError, VaultError
from voile.privacy import noise
from voile.privacy.query_kernels import check_bound
from voile.privacy.sources.block import Block
from voile.privacy.sources.failing_rows import keep_what_can_be, sum_what_can_be
from voile.privacy.sources.holders import Holders
from voile.privacy.tape.listening import summed
from voile.schema import Schema
from voile.schema.columns import Level

if TYPE_CHECKING:
    from voile.privacy.clients.updates import ClientWork
    from voile.privacy.grant import Ticket
    from voile.privacy.queries import Query

T = TypeVar("T")
D = TypeVar("D")

TARGET = "\0target"
"""Name under which queries ask for the target column; no user column needs to give way to it."""

BLOCK_ROWS = 65_536

_HERE = Holders()


class RowSource(ABC):
    """Private rows that can be summed over."""

    schema: Schema
    _weights: object = None

    @abstractmethod
    def blocks(self, columns: Collection[str]) -> Iterator[Block]:
        """Visit all rows once, block by block, always cut in the same places."""

    @abstractmethod
    def with_schema(self, schema: Schema) -> RowSource:
        """The same rows, encoded by a schema that knows more."""

    def apart(self) -> RowSource:
        """The same rows with a place of their own for what is kept per row.

        Two jobs on one table would otherwise overwrite each other's bins or points between two
        accesses, and what a query's bound rests on would be another job's.
        """
        return self.with_schema(self.schema)

    def total(
        self, query: Query, grid: float, *, rate: float = 1.0, forgiving: bool = False
    ) -> NDArray[np.int64]:
        """Sum of a query over all rows, or over a Poisson sample of them, in units of ``grid``.

        Integers add up exactly in any order, so the result does not depend on threads, blocks or
        places. A sum beyond 64 bits wraps around, which costs accuracy and no privacy.
        ``forgiving``: a row for which the query fails counts as nothing (failing_rows.py).
        """
        self._check(query.columns)
        check_bound(query.bound)
        summed(query, grid)

        def draw(block: Block) -> NDArray[np.bool_] | None:
            return noise.bernoulli(block.rows, rate) if rate < 1.0 else None

        def one(block: Block, chosen: NDArray[np.bool_] | None) -> NDArray[np.int64]:
            sample = block if chosen is None else block.where(chosen)
            return sum_what_can_be(query, sample, grid) if forgiving else query.total(sample, grid)

        result = np.zeros(query.size, dtype=np.int64)
        for part in self._visit(query.columns, one, draw):
            # numpy would stretch a shorter one: a row would then count several times.
            if part.shape != result.shape:
                raise SettingError(f"{type(query).__name__} has not summed what it announced.")
            result += part
        return result

    def noised_total(
        self, query: Query, grid: float, scale: float, *, rate: float = 1.0
    ) -> NDArray[np.int64]:
        """The same with Gaussian noise of standard deviation ``scale`` (in the query's units).

        Rows that lie elsewhere may get their noise there: see ``holders``.
        """
        total = self.total(query, grid, rate=rate)
        return total + noise.gaussian(query.size, scale / grid)

    def laplaced_total(self, query: Query, grid: float, scale: float) -> NDArray[np.int64]:
        """The same with Laplace noise; where rows lie elsewhere, their exact sum must be trusted
        to whoever adds it.
        """
        return self.total(query, grid) + noise.laplace(query.size, scale / grid)

    @property
    def holders(self) -> Holders:
        """Who holds the rows."""
        return _HERE

    def access(self, ticket: Ticket) -> RowSource:
        """The rows for one access that was paid for; sources that pass it on need to know which."""
        return self

    def tally(self, column: str) -> Counter[Level]:
        """How often each value of a column without listed levels occurs; missing ones left out."""
        self._check((column,))
        result: Counter[Level] = Counter()

        def one(block: Block, _: None) -> Counter[Level]:
            return Counter(value for value in block[column].tolist() if value is not None)

        for part in self._visit((column,), one, _nothing):
            result.update(part)
        return result

    def keep(
        self, columns: Collection[str], work: Callable[[Block], None], *, forgiving: bool = False
    ) -> None:
        """Let ``work`` store per-row values in ``block.kept``; nothing comes out."""
        self._check(columns)

        def one(block: Block, _: None) -> None:
            keep_what_can_be(work, block) if forgiving else work(block)

        for _ in self._visit(columns, one, _nothing):
            pass

    @property
    def weighted(self) -> bool:
        """Whether weights were given with the rows; public, unlike the weights."""
        return self._weights is not None

    def updates(self, work: ClientWork, grid: float, *, rate: float = 1.0) -> NDArray[np.int64]:
        """Sum of what clients make of all their rows; a table is one client.

        Each takes part with the probability ``rate``, by a secret coin.
        """
        self._check(work.columns)
        if rate < 1.0 and not noise.bernoulli(1, rate)[0]:
            return np.zeros(work.size, dtype=np.int64)
        return work.clipped(list(self.blocks(work.columns)), grid)

    def _check_unit(self, schema: Schema) -> None:
        """Refuse another privacy unit: which rows are used was decided with the first one."""
        if schema.privacy_unit != self.schema.privacy_unit:
            raise SchemaError("The privacy unit of a protected table cannot change: protect again.")

    def _check(self, columns: Collection[str]) -> None:
        """Refuse unknown columns before the first row, so that an empty table refuses them too."""
        check_columns(columns, self.schema)

    def _visit(
        self,
        columns: Collection[str],
        work: Callable[[Block, D], T],
        draw: Callable[[Block], D],
    ) -> Iterator[T]:
        """Apply ``work`` to each block, on several cores when there is more than one block.

        ``draw`` makes what chance decides about a block (which rows are in the sample) here, one
        block after the other: a test with fixed noise must draw in a fixed order.
        """
        blocks = ((block, draw(block)) for block in self.blocks(columns))
        first = next(blocks, None)
        if first is None:
            return
        second = next(blocks, None)
        if second is None:
            yield work(*first)
            return
        workers = worker_count()
        pool = _pool(os.getpid(), workers)
        waiting: list[Future[T]] = [pool.submit(work, *first), pool.submit(work, *second)]
        try:
            for block in blocks:
                # A bounded window: rows on disk are never read faster than they are used.
                if len(waiting) > 2 * workers:
                    yield waiting.pop(0).result()
                waiting.append(pool.submit(work, *block))
            while waiting:
                yield waiting.pop(0).result()
        finally:
            # After an error: nobody works on the rows any more once it is told.
            wait([future for future in waiting if not future.cancel()])

    def __reduce__(self) -> NoReturn:
        raise VaultError("Private rows cannot be pickled.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: rows private>"


def check_columns(columns: Collection[str], schema: Schema) -> None:
    """Refuse columns that the schema does not have."""
    for name in columns:
        if name == TARGET and schema.target is None:
            raise SchemaError("The table has no target: give it to protect().")
        if name != TARGET and name not in schema:
            raise SchemaError(f"The schema has no column {name!r}.")


def _nothing(block: Block) -> None:
    """Chance decides nothing."""


def worker_count() -> int:
    """How many threads work on the rows at once."""
    cores = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    return min(cores or 1, 16)


@lru_cache(maxsize=1)
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """Threads that stay between accesses: starting them takes as long as a hundred thousand rows.

    ``process`` is part of the key because threads do not survive a fork.
    """
    return ThreadPoolExecutor(max_workers=workers, thread_name_prefix="voile-rows")
