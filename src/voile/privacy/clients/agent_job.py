"""What a client agent knows about one job: its terms, its record, its paid plans, its answers.

The record (`voile.privacy.ledger.jobs`) is the truth; what is here beside it is what the record
says, and what may be repeated while this process lives.
States and messages: docs/explanation/federated-protocol.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import FederationError, LedgerMismatch, LedgerUnavailable, PlanError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.masks import KEY_BYTES, Masker, Roster
from voile.privacy.clients.memory import AnswerMemory, KeptAnswer
from voile.privacy.clients.questions import AccessId
from voile.privacy.clients.terms import CLIENT, Terms
from voile.privacy.events import Event, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.ledger.chain import tampered
from voile.privacy.ledger.entry import Entry
from voile.privacy.ledger.job_lines import ANSWERED, PAID, JobLine
from voile.privacy.ledger.jobs import Jobs
from voile.privacy.vault import PrivateTable
from voile.schema import Schema

Wholes = NDArray[np.int64]

_REMEMBERED = 4
"""Answers that are kept for questions that come again; a server is never further behind."""

HEAD = 32
"""Hexadecimal digits by which a server names a line of a client's record."""

_NONE = -1


@dataclass(frozen=True)
class PaidPlan:
    """A plan that was paid: the entry of the ledger, and for whom."""

    entry: str
    unit: str | None


@dataclass(frozen=True)
class Used:
    """The last access of a step that was answered, and the attempt at its sum."""

    index: int = _NONE
    attempt: int = 0
    names: str = ""
    values: str = ""
    accesses: int = 0


@dataclass(frozen=True, eq=False)
class Measured:
    """The exact sum of an access, and the noise that was paid for it; for further attempts."""

    total: Wholes
    scale: float
    grid: float


@dataclass
class AgentJob:
    """One job while this process works for it."""

    name: str
    client: str
    terms: Terms
    relation: NeighbouringRelation
    schema: Schema
    masker: Masker
    jobs: Jobs
    memory: AnswerMemory
    table: PrivateTable | None = None
    prepared: tuple[Any, ...] = ()
    grants: dict[int, Grant] = field(default_factory=dict)
    paid: dict[int, PaidPlan] = field(default_factory=dict)
    used: dict[tuple[int, str], Used] = field(default_factory=dict)
    fixed: set[int] = field(default_factory=set)
    last: JobLine | None = None
    taken: set[AccessId] = field(default_factory=set)
    _answers: dict[tuple[AccessId, int], Any] = field(default_factory=dict)
    _waiting: dict[tuple[AccessId, int], KeptAnswer] = field(default_factory=dict)
    _measured: dict[AccessId, Measured] = field(default_factory=dict)
    _asked: dict[tuple[AccessId, int], str] = field(default_factory=dict)
    _names: dict[AccessId, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """By which the ledger's database knows the job."""
        return hashlib.sha256(json.dumps([self.client, self.name]).encode()).hexdigest()

    @property
    def head(self) -> str:
        """Names the last line of the record; a server that has seen it notices an older copy."""
        return "" if self.last is None else self.last.digest[:HEAD]

    # -- the record ---------------------------------------------------------------------------

    def read_record(self) -> tuple[JobLine, ...]:
        """Read what was paid and answered in this job, by this process or before a restart.

        Raises
        ------
        FederationError
            If the job was agreed on by other terms.
        LedgerMismatch
            If the client's memory knows more than the record: the ledger is an old copy.
        """
        lines = self.jobs.lines(self.key)
        if self.last is not None and lines[-1:] != (self.last,):
            # Another run has written: what this one has measured belongs to no answer.
            self._measured, self._names = {}, {}
        self.paid, self.used, self.last = {}, {}, lines[-1] if lines else None
        try:
            for line in lines:
                self._follow(line.kind, line.content)
        except (KeyError, TypeError):
            raise tampered("the record of a federated job cannot be read") from None
        agreed, first = self._agreed(), lines[0].content if lines else {}
        if lines and {name: first.get(name) for name in agreed} != agreed:
            raise FederationError("The terms of a job cannot change while it runs.")
        self._recall(lines)
        return lines

    def _agreed(self) -> dict[str, Any]:
        """What all sides agreed on, as it stands in the record."""
        terms = {**dataclasses.asdict(self.terms), "clients": list(self.terms.clients)}
        return {"terms": terms, "relation": str(self.relation)}

    def _follow(self, kind: str, found: Mapping[str, Any]) -> None:
        if kind == PAID:
            self.paid[found["plan"]] = PaidPlan(found["entry"], found["unit"])
            return
        step = found["plan"], found["step"]
        before = self.used.get(step, Used())
        more = int(found["index"] != before.index)
        self.used[step] = Used(
            found["index"],
            found["attempt"],
            found["names"],
            found["values"],
            before.accesses + more,
        )
        if found["noise"] == str(noise.NoiseSource.FIXED):
            self.fixed.add(found["plan"])

    def _recall(self, lines: tuple[JobLine, ...]) -> None:
        """Take the last answer from the memory, if it is the record's, or the one after it."""
        kept = self.memory.last(self.key)
        if kept is None or (kept.access, kept.attempt) in self._answers:
            return
        used = self.used.get((kept.access.number, kept.access.label), Used())
        if (used.index, used.attempt) == (kept.access.index, kept.attempt):
            if used.values == kept.digest:
                self._asked[kept.access, kept.attempt] = kept.names
                self._answers[kept.access, kept.attempt] = kept.values
            return
        if kept.before == ("" if self.last is None else self.last.digest):
            # It may have left: whoever comes next gets this one and no other.
            self._waiting[kept.access, kept.attempt] = kept
            self._write(kept)
        elif kept.before not in {"", *(line.digest for line in lines)}:
            raise LedgerMismatch(
                "This client's memory knows answers that its ledger does not: an older copy of the "
                "ledger was put back. Put the newest one back; nothing is answered until then."
            )

    def check_head(self, known: str | None, lines: tuple[JobLine, ...]) -> None:
        """Refuse to go on from an older copy of the ledger than the server has seen."""
        if known and known not in {line.digest[:HEAD] for line in lines}:
            raise FederationError(
                "The server has seen more of this job than this client's ledger knows: the ledger "
                "was lost, or an older copy was put back. Put the newest one back, or begin a new "
                "job."
            )

    def paid_line(self, number: int, unit: str | None, entry: Entry) -> dict[str, Any]:
        """What the record says of a payment; the first one holds what was agreed on."""
        line = {"plan": number, "entry": entry.id, "unit": unit}
        first = {"client": self.client, "job": self.name, **self._agreed()}
        return line if self.last is not None else {**first, **line}

    # -- looks --------------------------------------------------------------------------------

    def event_of(self, access: AccessId, *, of_clients: bool) -> Event:
        """What was paid for an access to rows, or at the whole client."""
        grant = self.grants[access.number]  # the agent answers no access of a plan that is not paid
        event = grant.plan[access.label]
        if of_clients is not (grant.unit == CLIENT) and not isinstance(event, Unprotected):
            raise PlanError(
                "This access was paid for rows, or for whole clients, and not for both."
            )
        if not 0 <= access.index < event.count:
            raise PlanError(f"The plan announced {event.count} accesses for {access.label!r}.")
        return event

    def recall(self, access: AccessId, attempt: int = 0) -> Any:
        """The answer that was given to the same access, or None."""
        waiting = self._waiting.get((access, attempt))
        if waiting is not None:
            used = self.used.get((access.number, access.label), Used())
            if (access.index, attempt) <= (used.index, used.attempt):
                # Another run was quicker: its answer is the one, and this one never left.
                del self._waiting[access, attempt]
            else:
                self._write(waiting)
        return self._answers.get((access, attempt))

    def check_new(self, access: AccessId, attempt: int = 0) -> None:
        """Refuse an access that was answered before and is forgotten: it would be a second one."""
        used = self.used.get((access.number, access.label), Used())
        further = access.index == used.index and attempt > used.attempt and access in self._measured
        if access.index <= used.index and not further:
            raise PlanError(f"The access {access.label!r} {access.index} was answered before.")

    def measured(self, access: AccessId) -> Measured | None:
        """The exact sum of an access of which an earlier attempt was answered."""
        return self._measured.get(access)

    def measure(self, access: AccessId, found: Measured) -> None:
        """Keep an exact sum for further attempts at it."""
        self._measured = {access: found}

    def answer(self, access: AccessId, values: Wholes, roster: Roster | None = None) -> Wholes:
        """Record an answer, durably, before it leaves."""
        before = "" if self.last is None else self.last.digest
        attempt = 0 if roster is None else roster.attempt
        names = ""
        if roster is not None:
            self._names = {access: frozenset(roster.keys)}
            names = _digest(self._names[access])
        source, salt = noise.current_source(), os.urandom(16)
        kept = KeptAnswer(access, attempt, names, source, before, salt, values)
        # From here on it is the only answer, whatever the disk does.
        self._waiting[access, attempt] = kept
        self._write(kept)
        return values

    def _write(self, kept: KeptAnswer) -> None:
        access = kept.access
        self.memory.keep(self.key, kept)
        content = {
            "plan": access.number,
            "step": access.label,
            "index": access.index,
            "attempt": kept.attempt,
            "names": kept.names,
            # No two answers have the same, so that a line of another run is not taken for this one.
            "values": kept.digest if self.memory.lasts else hashlib.sha256(kept.salt).hexdigest(),
            "noise": str(kept.noise),
        }
        try:
            line = self.jobs.add(self.key, self.last, ANSWERED, content)
        except LedgerUnavailable:
            # A commit that failed may have been one: what was stored says it.
            stored = self.jobs.lines(self.key)
            seq = 1 if self.last is None else self.last.seq + 1
            if len(stored) != seq or stored[-1].content != content:
                raise
            line = stored[-1]
        self.last = line
        self._follow(ANSWERED, content)
        del self._waiting[access, kept.attempt]
        self._asked[access, kept.attempt] = kept.names
        self.remember(access, kept.attempt, kept.values)

    def remember(self, access: AccessId, attempt: int, reply: Any) -> None:
        """Keep an answer for questions that come again."""
        self._answers[access, attempt] = reply
        while len(self._answers) > _REMEMBERED:
            oldest = next(iter(self._answers))
            del self._answers[oldest]
            self._asked.pop(oldest, None)

    def context(self, access: AccessId) -> bytes:
        """Names a look for the masks."""
        # As JSON: no two accesses have the same text, whatever jobs and labels are called.
        return json.dumps([self.name, access.number, access.label, access.index]).encode()

    def check_roster(
        self, access: AccessId, roster: Roster, known: Mapping[str, bytes] | None
    ) -> None:
        """Refuse rosters from which the server could learn more than the sums that were paid."""
        names = frozenset(roster.keys)
        if not names <= set(self.terms.clients) or len(names) < self.terms.fewest:
            raise FederationError(
                "The roster has too few clients, or some that are not of the job."
            )
        if roster.keys.get(self.client) != self.masker.public:
            raise FederationError("The roster has another key for this client.")
        if known is not None and any(
            known.get(one) != key[:KEY_BYTES]
            for one, key in roster.keys.items()
            if one != self.client
        ):
            raise FederationError("The roster has keys that were not agreed on beforehand.")
        self.masker.meet(roster)
        if roster.attempt > self.terms.dropouts:
            raise FederationError(f"A sum is tried {self.terms.dropouts + 1} times at most.")
        waiting = self._waiting.get((access, roster.attempt))
        asked = waiting.names if waiting else self._asked.get((access, roster.attempt))
        used = self.used.get((access.number, access.label), Used())
        if asked is not None:
            # An attempt is over its clients for good: with others it would be a second sum.
            fits = asked == _digest(names)
        elif access.index == used.index:
            before = self._names.get(access)
            fits = roster.attempt > used.attempt and before is not None and names < before
        else:
            fits = access.index > used.index
        if not fits:
            raise FederationError(
                "Each further attempt at a sum must have fewer clients than the last, and the same "
                "attempt the same ones."
            )


@lru_cache(maxsize=64)
def _digest(names: frozenset[str]) -> str:
    return hashlib.sha256(json.dumps(sorted(names)).encode()).hexdigest()
