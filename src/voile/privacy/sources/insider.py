"""Rows with an insider's eye on some of them: what an audit's strongest attacker sees.

The insider knows every row, each row's share of each sum (at the released state of that moment),
and what was released; it does not know whether the canaries take part. For every canary it keeps
the logarithm of the likelihood ratio of "takes part" to "does not", over all accesses. No other
test of one canary between two worlds is better (Neyman & Pearson 1933), so this is as tight as an
audit of sums can be. Proof: docs/proofs/audit.md.

The sums themselves, and their noise, are made by the code that every other source uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from voile.privacy.grant import Ticket
from voile.privacy.queries import Query
from voile.privacy.sources.block import Block
from voile.privacy.sources.holders import Holders
from voile.privacy.sources.source import RowSource
from voile.schema import Schema
from voile.schema.columns import Level

_NOTE = "An audit's insider observed this job inside the vault; what it noted is not private."


class Evidence:
    """Log-likelihood ratios that an insider has gathered, one for each canary.

    Attributes
    ----------
    by_step : dict of str to ndarray of shape (canaries,)
        By the step of the plan that paid for the accesses. A step whose noise is missing says more
        than its declared noise lets it say in the sum.
    accesses : int
        Noised sums seen.
    """

    def __init__(self, canaries: int) -> None:
        self.by_step: dict[str, NDArray[np.float64]] = {}
        self.accesses = 0
        self._canaries = canaries

    @property
    def scores(self) -> NDArray[np.float64]:
        """Of all accesses together, shape (canaries,)."""
        return np.asarray(sum(self.by_step.values(), np.zeros(self._canaries)))

    def add(self, step: str, ratio: NDArray[np.float64]) -> None:
        """Note one access."""
        self.by_step[step] = self.by_step.get(step, 0.0) + ratio
        self.accesses += 1


class InsiderSource(RowSource):
    """All other rows, and canaries that take part or do not.

    Parameters
    ----------
    others : RowSource
    canaries : sequence of RowSource
        One row each.
    present : sequence of bool
        Which of them take part.
    evidence : Evidence
    """

    def __init__(
        self,
        others: RowSource,
        canaries: Sequence[RowSource],
        present: Sequence[bool],
        evidence: Evidence,
    ) -> None:
        self.schema = others.schema
        self._others, self._canaries = others, tuple(canaries)
        self._present, self._evidence = tuple(present), evidence
        self._step = ""
        self._known = np.zeros(0, dtype=np.int64)
        self._shares = np.zeros((0, 0), dtype=np.int64)

    def with_schema(self, schema: Schema) -> InsiderSource:
        """The same rows under another schema, watched by the same insider."""
        canaries = [one.with_schema(schema) for one in self._canaries]
        others = self._others.with_schema(schema)
        return InsiderSource(others, canaries, self._present, self._evidence)

    @property
    def holders(self) -> Holders:
        """Nobody else; receipts say that an audit watched."""
        return Holders(notes=(_NOTE,))

    def access(self, ticket: Ticket) -> InsiderSource:
        """The same rows; the insider knows which step of the plan an access belongs to."""
        self._step = ticket.label
        return self

    def _taking_part(self) -> Iterator[RowSource]:
        yield self._others
        for one, here in zip(self._canaries, self._present, strict=True):
            if here:
                yield one

    def blocks(self, columns: Collection[str]) -> Iterator[Block]:
        """The others' blocks, then one for each canary that takes part."""
        for source in self._taking_part():
            yield from source.blocks(columns)

    def keep(
        self, columns: Collection[str], work: Callable[[Block], None], *, forgiving: bool = False
    ) -> None:
        """Canaries that do not take part keep it too: the insider works out their shares."""
        for source in (self._others, *self._canaries):
            source.keep(columns, work, forgiving=forgiving)

    def tally(self, column: str) -> Counter[Level]:
        """Of all that take part."""
        result: Counter[Level] = Counter()
        for source in self._taking_part():
            result.update(source.tally(column))
        return result

    def total(
        self, query: Query, grid: float, *, rate: float = 1.0, forgiving: bool = False
    ) -> NDArray[np.int64]:
        """The sum over all that take part; the insider notes what it knows of it."""
        self._known = self._others.total(query, grid, rate=rate)
        shares = [one.total(query, grid) for one in self._canaries]
        self._shares = np.array(shares, dtype=np.int64).reshape(len(shares), query.size)
        result = self._known.copy()
        for one, here in zip(self._canaries, self._present, strict=True):
            if here:
                result += one.total(query, grid, rate=rate)
        return result

    def noised_total(
        self, query: Query, grid: float, scale: float, *, rate: float = 1.0
    ) -> NDArray[np.int64]:
        """The noised sum, weighed by the insider."""
        noised = super().noised_total(query, grid, scale, rate=rate)
        # In whole units; a difference is small even where the sums have wrapped around.
        seen = (noised - self._known).astype(np.float64)
        shares = self._shares.astype(np.float64)
        # Others' canaries are as likely there as not: half of each is expected.
        ratio = shares @ (seen - shares.sum(axis=0) / 2.0) / (scale / grid) ** 2
        if rate < 1.0:
            ratio = np.logaddexp(np.log1p(-rate), np.log(rate) + ratio)
        self._evidence.add(self._step, ratio)
        return noised

    def laplaced_total(self, query: Query, grid: float, scale: float) -> NDArray[np.int64]:
        """The sum with Laplace noise, weighed by the insider."""
        noised = super().laplaced_total(query, grid, scale)
        seen = (noised - self._known).astype(np.float64)
        shares = self._shares.astype(np.float64)
        rest = seen - (shares.sum(axis=0) - shares) / 2.0
        ratio = (np.abs(rest) - np.abs(rest - shares)).sum(axis=1) / (scale / grid)
        self._evidence.add(self._step, ratio)
        return noised
