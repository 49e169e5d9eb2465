"""The server's side of one federated job: asking, checking answers, and going on without some.

A client that is silent, refuses or answers nonsense is noted with the reason and asked once more;
then the sum is finished without it, or the job stops, by the agreed number of drop-outs. Nothing of
an unfinished sum is released. Proof: docs/proofs/federated.md.
"""

from __future__ import annotations

import logging
import math
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from voile.errors import DataError, FederationError, VoileError
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.channel import Channel, Silence
from voile.privacy.clients.journal import Journal
from voile.privacy.clients.masks import Roster, check_key
from voile.privacy.clients.questions import (
    AccessId,
    Joined,
    Lacking,
    Opening,
    Paid,
    Payment,
    RefusalMessage,
    envelope,
)
from voile.privacy.clients.terms import Terms, Trust
from voile.privacy.events import Plan
from voile.privacy.ledger import Entry, Ledger
from voile.privacy.wire import Packer, Unpacker
from voile.schema import Schema

_LOG = logging.getLogger("voile.federation")

T = TypeVar("T")

_NEW_MASKS = 3
"""How often one attempt at a sum is asked for again because clients have new masks."""

_LONGEST_HEAD = 64

_AWAY_ROUNDS = 5
"""A client that did not answer is asked again every so many questions."""


@dataclass(frozen=True)
class Incident:
    """Something that went wrong with a client.

    Attributes
    ----------
    client : str
    at : str
        The question, in words.
    reason : str
    """

    client: str
    at: str
    reason: str


@dataclass
class Traffic:
    """What went over the wire: questions asked, bytes there and back, seconds."""

    questions: int = 0
    sent: int = 0
    received: int = 0
    seconds: float = 0.0


class Restarted(Silence):
    """No answer, because the question named masks that the client has no longer."""


@dataclass(frozen=True)
class Collected(Generic[T]):
    """Answers by the clients' names, and the attempt at the sum that they belong to."""

    answers: Mapping[str, T]
    attempt: int = 0


@dataclass
class Session:
    """One job with all its clients.

    Parameters
    ----------
    channel : Channel
    terms : Terms
    journal : Journal
    retries : int
        How often a client is asked again at once.
    """

    channel: Channel
    terms: Terms
    journal: Journal
    retries: int = 1
    incidents: list[Incident] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)

    finished: bool = False

    def __post_init__(self) -> None:
        started = [line for line in self.journal.lines if line["line"] == "start"]
        if started and started[0]["terms"] != self.terms:
            raise FederationError(
                "The journal belongs to a job with other clients or terms: give the same ones, or "
                "another path."
            )
        if any(line["line"] == "beyond" for line in self.journal.lines):
            raise FederationError(
                "The job of this journal read the rows in a way that cannot be repeated "
                "(levels that nobody listed): begin it anew, with another journal."
            )
        self.job = started[0]["job"] if started else secrets.token_hex(16)
        self.seed = started[0]["seed"] if started else secrets.randbelow(2**31)
        if not started:
            self.journal.write(
                {"line": "start", "job": self.job, "seed": self.seed, "terms": self.terms}
            )
        self._packer, self._unpacker = Packer(), Unpacker()
        self._held: dict[str, set[str]] = {name: set() for name in self.terms.clients}
        self._keys: dict[str, bytes] = {}
        # The last line of each client's record that was seen: an older copy of it is noticed.
        self._heads: dict[str, str] = {}
        for line in self.journal.lines:
            self._heads.update(line.get("heads", {}))
        self._away: dict[str, int] = {}
        self._opening: Opening | None = None
        self._payments: list[Payment] = []
        self._numbers: dict[str, int] = {}
        self._asked: dict[tuple[int, str], int] = {}
        self._questions = 0

    # -- beginning ----------------------------------------------------------------------------

    def open(self, schema: Schema, relation: NeighbouringRelation) -> None:
        """Have all clients join; they must agree on what is public about weights."""
        self.relation = relation
        self._opening = Opening(self.job, schema, relation, self.terms, dict(self._heads))
        found: dict[str, Joined] = self._gather(
            self._opening,
            self.terms.clients,
            "joining",
            lambda name, joined: self._joined(name, joined),
        )
        self._need(found, "join")
        weighing = {(one.largest_weight, one.weighted) for one in found.values()}
        if len(weighing) > 1:
            raise FederationError(
                "Clients have different weights: give all of them the same largest_weight, or none."
            )
        self.largest_weight, self.weighted = weighing.pop()

    def _joined(self, name: str, reply: object) -> Joined:
        if not isinstance(reply, Joined) or reply.name != name:
            raise DataError("the client answered as somebody else")
        check_key(reply.key)
        if not isinstance(reply.largest_weight, float) or not 0 < reply.largest_weight < math.inf:
            raise DataError("the client's largest weight is no positive number")
        self._keys[name] = reply.key
        self._see(name, reply)
        return reply

    # -- paying -------------------------------------------------------------------------------

    def settle(
        self, plan: Plan, what: str, ledger: Ledger, spend: Callable[[], Entry], unit: str | None
    ) -> Entry:
        """Clients first say whether they can pay; then the server's ledger pays, then they do."""
        if ledger.relation is not self.relation:
            raise FederationError("One job has one relation of neighbouring tables.")
        number = len(self._payments)
        lines = [line for line in self.journal.lines if line["line"] == "paid"]
        before = next((line for line in lines if line["number"] == number), None)
        if before is None:
            ready = self._pay_all(Payment(self.job, number, plan, what, unit, final=False))
            self._need(ready, "pay")
            entry = spend()
            self.write({"line": "paid", "number": number, "plan": plan, "entry": entry.id})
        else:
            found = [one for one in ledger.history() if one.id == before["entry"]]
            if before["plan"] != plan or not found:
                raise FederationError(
                    "The journal's job paid another plan, or from another ledger: give the same "
                    "model, settings, budget and ledger, or begin anew."
                )
            entry = found[0]
        payment = Payment(self.job, number, plan, what, unit, final=True)
        self._payments.append(payment)
        self._numbers[entry.id] = number
        self._need(self._pay_all(payment), "pay")
        return entry

    def _pay_all(self, payment: Payment) -> dict[str, Paid]:
        def read(name: str, reply: object) -> Paid:
            if not isinstance(reply, Paid):
                raise DataError("the client did not say whether it paid")
            return reply

        return self._gather(payment, self._present(), "paying", read)

    def write(self, line: dict[str, Any]) -> None:
        """Add a line to the journal, with what was seen of the clients' records."""
        self.journal.write({**line, "heads": dict(self._heads)})

    def next_access(self, entry: str, label: str) -> AccessId:
        """The next access of a step."""
        number = self._numbers[entry]
        index = self._asked.get((number, label), 0)
        self._asked[number, label] = index + 1
        return AccessId(number, label, index)

    # -- looks --------------------------------------------------------------------------------

    def collect(
        self,
        ask: Callable[[Roster | None], object],
        access: AccessId,
        read: Callable[[str, object], T],
        names: Collection[str] | None = None,
    ) -> Collected[T]:
        """Answers of all clients (or some of them) to one access, each read and checked."""
        where = f"{access.label} {access.index}"
        if self.terms.trust != Trust.SHARES:
            found = self._gather(
                ask(None), self._present() if names is None else names, where, read
            )
            if names is None:
                self._need(found, f"answer ({where})")
            return Collected(found)
        # Masks cancel over a whole roster alone: whoever is missing makes it begin again.
        present = self._present()
        for name in [name for name in present if name not in self._keys]:
            self._tell_again(name)
        present = [name for name in present if name in self._keys]
        for attempt in range(self.terms.dropouts + 1):
            self._need(present, f"answer ({where})")
            for _ in range(_NEW_MASKS):
                roster = Roster(attempt, {name: self._keys[name] for name in present})
                found = self._gather(ask(roster), present, where, read, roster)
                if len(found) == len(present):
                    return Collected(found, attempt)
                if all(self._keys[name] == key for name, key in roster.keys.items()):
                    break
                # Somebody was restarted and has new masks: the same clients once more.
            present = [name for name in present if name in found]
        self._need({}, f"answer ({where})")
        raise AssertionError

    def _need(self, found: Collection[str], do: str) -> None:
        if len(found) < self.terms.fewest:
            missing = sorted(set(self.terms.clients) - set(found))
            reasons = {one.client: one.reason for one in self.incidents}
            told = "; ".join(f"{name}: {reasons.get(name, 'silent')}" for name in missing[:5])
            raise FederationError(
                f"{len(missing)} of {len(self.terms.clients)} clients did not {do}, and the job "
                f"allows {self.terms.dropouts} ({told}). Nothing of this step was released; what "
                "was paid stays paid. Bring them back and go on from the journal, or allow more "
                "dropouts."
            )

    def _present(self) -> list[str]:
        """Whom to ask: all but those who were silent lately."""
        self._questions += 1
        return [
            name
            for name in self.terms.clients
            if name not in self._away or (self._questions - self._away[name]) % _AWAY_ROUNDS == 0
        ]

    # -- messages -----------------------------------------------------------------------------

    def _gather(
        self,
        question: object,
        names: Collection[str],
        where: str,
        read: Callable[[str, object], T],
        roster: Roster | None = None,
    ) -> dict[str, T]:
        """Ask, tell again what a client has forgotten, ask again who failed."""
        found: dict[str, T] = {}
        waiting = list(names)
        for attempt in range(self.retries + 1):
            failed = []
            for name, reply in self._exchange(question, waiting, roster).items():
                try:
                    if isinstance(reply, Restarted):
                        continue  # no fault: it is asked again with its new masks
                    if isinstance(reply, (Silence, RefusalMessage)):
                        raise DataError(reply.reason)
                    found[name] = read(name, reply)
                    self._away.pop(name, None)
                    self._see(name, reply)
                except Exception as error:  # whatever a client sends, it is the client's fault
                    failed.append(name)
                    known = isinstance(error, VoileError)
                    self._note(name, where, str(error) if known else "the answer is no answer")
            waiting = failed
            if not waiting:
                break
            if attempt == self.retries:
                self._away.update(dict.fromkeys(waiting, self._questions))
        # In the clients' order, whoever needed two attempts.
        return {name: found[name] for name in names if name in found}

    def _note(self, name: str, where: str, reason: str) -> None:
        self.incidents.append(Incident(name, where, reason))
        _LOG.warning("client %s at %s: %s", name, where, reason)

    def _see(self, name: str, reply: object) -> None:
        """Remember the last line of a client's record, if the reply names one."""
        head = getattr(reply, "head", "")
        if isinstance(head, str) and 0 < len(head) <= _LONGEST_HEAD:
            self._heads[name] = head

    def _exchange(
        self, question: object, names: Collection[str], roster: Roster | None
    ) -> dict[str, Any]:
        replies = self._send(question, names)
        for name in [name for name, one in replies.items() if isinstance(one, Lacking)]:
            # A client that was restarted: the whole story again, then the question.
            self._held[name].clear()
            self._tell_again(name)
            if roster is not None and self._keys.get(name) != roster.keys[name]:
                replies[name] = Restarted("it was restarted and has new masks")
                continue
            replies.update(self._send(question, [name]))
        return replies

    def _tell_again(self, name: str) -> None:
        """The whole story of a job, for a client that was restarted or away."""
        assert self._opening is not None  # it is the first question of a job
        opening = replace(self._opening, heads=dict(self._heads))
        try:
            reply = self._send(opening, [name])[name]
            if isinstance(reply, (Silence, RefusalMessage)):
                raise DataError(reply.reason)
            self._joined(name, reply)
        except VoileError as error:
            self._note(name, "joining", str(error))
            return
        for payment in self._payments:
            self._send(payment, [name])

    def _send(self, question: object, names: Collection[str]) -> dict[str, Any]:
        packed = self._packer.pack(question)
        sealed: dict[frozenset[str], bytes] = {}
        messages = {}
        for name in names:
            held = frozenset(set(packed.parts) & self._held[name])
            if held not in sealed:
                sealed[held] = envelope(self._packer, packed, set(held))
            messages[name] = sealed[held]
        began = time.perf_counter()
        replies = self.channel.ask(messages)
        self.traffic.seconds += time.perf_counter() - began
        self.traffic.questions += 1
        self.traffic.sent += sum(len(message) for message in messages.values())
        result: dict[str, Any] = {}
        for name in names:
            reply = replies.get(name, Silence("no answer came"))
            if isinstance(reply, Silence):
                result[name] = reply
                continue
            self.traffic.received += len(reply)
            try:
                result[name] = self._unpacker.unpack(reply)
                if not isinstance(result[name], Lacking):
                    self._held[name].update(packed.parts)
            except VoileError as error:
                result[name] = RefusalMessage(f"the answer cannot be read: {error}")
        return result
