"""What a server may ask of a client, and what a client may answer, as frozen facts.

Every question belongs to a job. Those about rows name an access that both ledgers have paid for;
the client works out noise, grid and sampling for itself from its own copy of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.masks import Roster
from voile.privacy.clients.terms import Terms
from voile.privacy.events import Plan
from voile.privacy.wire import Packed, Packer, Unpacker, sendable
from voile.schema import Schema

PROTOCOL = 3

_LONGEST_TEXT = 500
"""Of the name of a plan, and of its steps: a ledger keeps them, also of plans that it refuses."""


@sendable
@dataclass(frozen=True)
class Opening:
    """Will you take part in this job, on these terms?

    ``heads`` are the last lines of clients' own records of this job that the server has seen, by
    name: a client that does not have its own works from an old copy of its ledger.
    """

    job: str
    schema: Schema
    relation: NeighbouringRelation
    terms: Terms
    heads: Mapping[str, str] = field(default_factory=dict)
    protocol: int = PROTOCOL

    def __post_init__(self) -> None:
        whole = isinstance(self.job, str) and self.job.isprintable() and len(self.job) <= 200
        if not whole or not self.job:
            raise DataError("A job needs a name of 1 to 200 printable characters.")
        if not all(isinstance(one, str) for pair in self.heads.items() for one in pair):
            raise DataError("The heads of a job must be text.")


@sendable
@dataclass(frozen=True)
class Payment:
    """Can you pay this plan (``final`` false), or: pay it now, before the first of its accesses.

    ``unit`` is "client" where whole clients are guaranteed something, and None for rows.
    """

    job: str
    number: int
    plan: Plan
    what: str
    unit: str | None
    final: bool

    def __post_init__(self) -> None:
        if type(self.number) is not int or self.number < 0 or type(self.final) is not bool:
            raise DataError("A payment needs the whole number of its plan.")
        labels = [step.label for step in self.plan]
        if len(self.what) > _LONGEST_TEXT or max(map(len, labels), default=0) > _LONGEST_TEXT:
            raise DataError(f"Words of a plan have at most {_LONGEST_TEXT} characters.")


@sendable
@dataclass(frozen=True)
class AccessId:
    """Which look of which paid plan a question is about."""

    number: int
    label: str
    index: int

    def __post_init__(self) -> None:
        # True, 1 and 1.0 are one key of a dictionary and three in a file.
        if type(self.number) is not int or type(self.index) is not int or self.number < 0:
            raise DataError("An access needs the whole numbers of its plan and of itself.")


@sendable
@dataclass(frozen=True)
class SumOver:
    """Sum a query over your rows.

    Attributes
    ----------
    job : str
    access : AccessId
    schema : Schema
        As completed so far.
    preparations : tuple
        What to keep per row beforehand, in order.
    query : Query
    grid : float
    roster : Roster or None
        Whose masks to add (``Trust.SHARES``).
    """

    job: str
    access: AccessId
    schema: Schema
    preparations: tuple[Any, ...]
    query: Any
    grid: float
    roster: Roster | None = None


@sendable
@dataclass(frozen=True)
class Tally:
    """How often does each value of an unlisted column occur (for a trusted aggregator)?"""

    job: str
    access: AccessId
    schema: Schema
    column: str


@sendable
@dataclass(frozen=True)
class Work:
    """Work on all your rows and answer with one vector, clipped as a whole, for its guarantee."""

    job: str
    access: AccessId
    schema: Schema
    preparations: tuple[Any, ...]
    work: Any
    grid: float


@sendable
@dataclass(frozen=True)
class Joined:
    """I take part; ``head`` names the last line of my record of the job ("" for none)."""

    name: str
    key: bytes
    largest_weight: float
    weighted: bool
    head: str = ""


@sendable
@dataclass(frozen=True)
class Paid:
    """I can pay, or have paid (``entry`` names the line of my ledger)."""

    entry: str
    head: str = ""


@sendable
@dataclass(frozen=True, eq=False)
class SumAnswer:
    """A vector of whole grid units, of shape (size,)."""

    access: AccessId
    values: NDArray[np.int64]
    head: str = ""


@sendable
@dataclass(frozen=True)
class Tallied:
    """Values and how often they occur."""

    access: AccessId
    levels: tuple[Any, ...]
    counts: tuple[int, ...]
    head: str = ""


@sendable
@dataclass(frozen=True)
class RefusalMessage:
    """No, and why; by public facts alone."""

    reason: str


@sendable
@dataclass(frozen=True)
class Lacking:
    """I do not have these parts of the message, or do not know the job: tell me again."""

    digests: tuple[str, ...] = ()
    job_unknown: bool = False


def envelope(packer: Packer, packed: Packed, held: Mapping[str, None] | set[str]) -> bytes:
    """A message with those of its parts that the other side does not hold yet."""
    parts = {digest: data for digest, data in packed.parts.items() if digest not in held}
    return packer.pack({"parts": parts, "body": packed.body}).body


def open_envelope(unpacker: Unpacker, message: bytes) -> Any:
    """What is in an envelope; takes in its parts."""
    outer = unpacker.unpack(message)
    if not isinstance(outer, dict) or set(outer) != {"parts", "body"}:
        raise DataError("The message is no envelope: both sides need the same version of voile.")
    parts = outer["parts"]
    if not (isinstance(parts, dict) and all(isinstance(one, bytes) for one in parts.values())):
        raise DataError("The message has parts that are no bytes.")
    unpacker.hold(parts)
    return unpacker.unpack(outer["body"])
