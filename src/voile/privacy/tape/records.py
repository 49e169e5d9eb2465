"""What a tape keeps of one access to the rows: its totals, its noise, its coins and its choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Event

Whole = NDArray[np.int64]


@dataclass(eq=False)
class Added:
    """Noise that was drawn, and what it was added to.

    Attributes
    ----------
    kind : {"gaussian", "laplace"}
    scale : float
        What was asked of the sampler, in steps of the grid.
    noise : ndarray of shape (size,)
    names : tuple, or None
        Values that the entries belong to, where they are private.
    total : ndarray of shape (size,), or None
        The exact total; None while the noise was added to nothing.
    released : ndarray of shape (size,), or None
    uses : int
        To how many totals it was added: one, or something is wrong.
    """

    kind: str
    scale: float
    noise: Whole
    names: tuple[object, ...] | None = None
    total: Whole | None = None
    released: Whole | None = None
    uses: int = 0


@dataclass(eq=False)
class Coins:
    """Secret coins of a sample, or places of dealt rows, one per row in the order of the rows."""

    kind: str
    rate: float
    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class AskedQuery:
    """A query that was added up, and the grid on which."""

    query: Any
    grid: float


@dataclass(frozen=True, eq=False)
class Choice:
    """A private selection.

    Attributes
    ----------
    chosen : int
    exponents : tuple of float, or None
        Minus the logarithm of the probability with which each candidate is accepted once it is
        proposed; None where chance did not decide.
    each_once : bool
        Whether candidates are proposed in a random order, each once (permute-and-flip), or again
        and again (the exponential mechanism).
    """

    chosen: int
    exponents: tuple[float, ...] | None
    each_once: bool


@dataclass(eq=False)
class Access:
    """One opening of the vault, and all that was drawn for it.

    Attributes
    ----------
    label : str
    event : Event
        What was paid.
    relation : NeighbouringRelation
    entry : str
        The line of the ledger that paid.
    paid : Event or None
        The event of that line; None if the line has no such step.
    client : str
        Who opened; empty for the job itself.
    trust : str
        Whom the clients of a federation trust; empty elsewhere.
    honest : int
        Fewest clients whose share of the noise is unknown to a server.
    unit : str
        Who is protected, by the schema of the table.
    rows_per_unit : int
    source : RowSource, or None
    groups : int
        Into how many groups rows were dealt; 0 if they were not.
    asked : list of AskedQuery
        What was added up over the rows.
    rows : tuple of bytes, or None
        Digest of each row that takes part, as queries see it; made when coins are drawn.
    inside : list of Access
        What clients opened for this access.
    """

    label: str
    event: Event
    relation: NeighbouringRelation
    entry: str = ""
    paid: Event | None = None
    client: str = ""
    trust: str = ""
    honest: int = 1
    unit: str = "row"
    rows_per_unit: int = 1
    source: Any = None
    groups: int = 0
    rows: tuple[bytes, ...] | None = None
    asked: list[AskedQuery] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)
    coins: list[Coins] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    inside: list[Access] = field(default_factory=list)


def partners(before: Sequence[bytes], after: Sequence[bytes]) -> list[int | None]:
    """For each row of a neighbouring table, the row of the first table that it is, or None.

    Rows that queries cannot tell apart may stand for each other. One table has rows that the other
    lacks, in the same order; or both have the same number of rows, some of them replaced.
    """
    if len(before) == len(after):
        return [
            i if one == other else None
            for i, (one, other) in enumerate(zip(before, after, strict=True))
        ]
    result: list[int | None] = []
    place = 0
    for digest in after:
        if len(after) < len(before):
            while place < len(before) and before[place] != digest:
                place += 1
            found = place < len(before)
        else:
            found = place < len(before) and before[place] == digest
        result.append(place if found else None)
        place += found
    return result
