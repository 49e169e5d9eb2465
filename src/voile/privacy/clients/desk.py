"""A client's side of a federation: rows, a ledger of its own, and answers to what was paid for.

The desk trusts no number that arrives: it pays each plan from its own ledger before the first
answer, takes noise, grid and sampling from its own copy of that plan, clips by its own code,
answers no more looks than announced, and repeats an answer rather than making a second one.
Proof: docs/proofs/federated.md.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from voile.errors import FederationError, LedgerMismatch, PlanError, SettingError, VoileError
from voile.privacy import noise
from voile.privacy.budget import Budget
from voile.privacy.clients.admissible import check_preparations, check_query, check_schema
from voile.privacy.clients.desk_job import DeskJob
from voile.privacy.clients.masks import Masker
from voile.privacy.clients.memory import DeskMemory
from voile.privacy.clients.questions import (
    PROTOCOL,
    Answer,
    Joined,
    Lacking,
    LookAt,
    Opening,
    Paid,
    Payment,
    Refusal,
    SumOver,
    Tallied,
    Tally,
    Work,
    open_envelope,
)
from voile.privacy.clients.terms import CLIENT, LEAST_SHARE, OF_CLIENTS, Trust
from voile.privacy.clients.updates import ClientWork
from voile.privacy.events import Event, Gaussian, PoissonGaussian, Threshold, Unprotected
from voile.privacy.grant import Grant, reserve, unit_of
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms.sums import gaussian_measure
from voile.privacy.queries import Query
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.tape.listening import at_client
from voile.privacy.vault import PrivateTable, keep, open_rows
from voile.privacy.wire import MissingParts, Packer, Unpacker
from voile.schema import Schema

_LOG = logging.getLogger("voile.clients")

_GAUSSIAN = (Gaussian, PoissonGaussian)
_MOST_LOOKS = 1_000_000


class Desk:
    """Answers a server's questions about private rows, each as often as it was paid for.

    Parameters
    ----------
    table : PrivateTable
        The client's rows.
    ledger : Ledger
        The client's own; every job pays its plan here, too, or is refused.
    name : str
        As the other clients know it.
    accepts : collection of {"aggregator", "shares", "nobody"}
        Whom this client is ready to trust.
    colluders : int
        With shares of noise: refuse jobs in which fewer other clients may collude.
    memory : path, optional
        A file in which the desk remembers what it has answered, so that it may be restarted in the
        middle of a job. Without it a restarted client pays a running job again.
    key : X25519PrivateKey, optional
        A lasting key for masks; by default a new one for each job.
    known_keys : mapping of str to bytes, optional
        Public keys of the other clients, agreed beforehand: others are refused.
    """

    def __init__(
        self,
        table: PrivateTable,
        ledger: Ledger,
        *,
        name: str,
        accepts: Collection[str] = tuple(Trust),
        colluders: int = 0,
        memory: str | Path | None = None,
        key: X25519PrivateKey | None = None,
        known_keys: Mapping[str, bytes] | None = None,
    ) -> None:
        unknown = set(accepts) - set(Trust)
        if unknown or isinstance(accepts, str):
            raise SettingError(f"The 'accepts' must be some of {[str(t) for t in Trust]}.")
        self.name, self.ledger = name, ledger
        self._table, self._accepts, self._colluders = table, frozenset(accepts), colluders
        self._memory = DeskMemory(memory)
        if key is not None and not self._memory.lasts:
            raise SettingError(
                "A lasting key needs a memory: a restarted client that forgot its answers would "
                "hide a second one behind the same mask. Give memory='desk.json'."
            )
        self._key, self._known = key, None if known_keys is None else dict(known_keys)
        self._jobs: dict[str, DeskJob] = {}
        self._packer, self._unpacker = Packer(), Unpacker(shared=True)
        self._turn = threading.Lock()

    def answer(self, message: bytes) -> bytes:
        """Answer one message; never raises, and refusals depend on public facts alone."""
        with self._turn, at_client(self.name):
            return self._packer.pack(self._reply(message)).body

    def receipts(self, delta: float | None = None) -> tuple[Receipt, ...]:
        """What each plan that was paid here has promised this client's rows."""
        budget = Budget(self.ledger.budget.epsilon, delta or self.ledger.budget.delta)
        jobs = list(self._jobs.values())
        return tuple(write_receipt(grant, budget) for job in jobs for grant in job.grants.values())

    def __repr__(self) -> str:
        return f"<Desk {self.name!r}: rows private>"

    # -- messages -----------------------------------------------------------------------------

    def _reply(self, message: bytes) -> object:
        try:
            question = open_envelope(self._unpacker, message)
            return self._consider(question)
        except MissingParts as missing:
            return Lacking(missing.digests)
        except VoileError as error:
            _LOG.warning("client %s refused: %s", self.name, error)
            return Refusal(str(error))
        except Exception as error:
            # The text of a foreign error may quote rows; its kind is all that leaves.
            _LOG.exception("client %s failed", self.name)
            return Refusal(f"the client failed with {type(error).__name__}")

    def _consider(self, question: object) -> object:
        if isinstance(question, Opening):
            return self._open(question)
        job = self._jobs.get(getattr(question, "job", ""))
        if job is None:
            return Lacking(job_unknown=True)
        look = getattr(question, "look", None)
        if look is not None and look.number not in job.grants:
            return Lacking(job_unknown=True)  # it was away when the others paid
        match question:
            case Payment():
                return self._pay(job, question)
            case SumOver():
                return self._sum(job, question)
            case Tally():
                return self._tally(job, question)
            case Work():
                return self._work(job, question)
        raise FederationError("The message is no question that this client knows.")

    def _open(self, question: Opening) -> Joined:
        terms = question.terms
        if question.protocol != PROTOCOL:
            raise FederationError(
                f"The server speaks protocol {question.protocol}, this client {PROTOCOL}: install "
                "the same version of voile."
            )
        if question.relation is not self.ledger.relation:
            raise FederationError(
                f"The job promises for {question.relation}, this client's ledger for "
                f"{self.ledger.relation}: use one relation everywhere."
            )
        if terms.trust not in self._accepts:
            raise FederationError(
                f"The job asks for trust {str(terms.trust)!r}; this client accepts "
                f"{sorted(map(str, self._accepts))}."
            )
        if terms.trust == Trust.SHARES and terms.colluders < self._colluders:
            raise FederationError(
                f"The job is safe from {terms.colluders} colluding clients; this client asks for "
                f"{self._colluders}."
            )
        if self.name not in terms.clients:
            raise FederationError(f"This client's name {self.name!r} is not among the job's.")
        if question.job not in self._jobs:
            self._jobs[question.job] = DeskJob(
                question.job, terms, question.schema, Masker(self.name, self._key)
            )
        job = self._jobs[question.job]
        if job.terms != terms:
            raise FederationError("The terms of a job cannot change while it runs.")
        self._table_for(job, question.schema, ())  # refuses columns that are not here
        table = self._table
        return Joined(self.name, job.masker.public_key, table.largest_weight, table.weighted)

    def _pay(self, job: DeskJob, question: Payment) -> Paid:
        known = job.grants.get(question.number)
        if known is not None:
            if known.plan != question.plan or (known.unit == CLIENT) is not (
                question.unit == CLIENT
            ):
                raise PlanError("The plan of a job cannot change once it is paid.")
            if self._memory.entry_of(job.name, question.number) is None:
                self._memory.paid(job.name, question.number, known.entry.id)
            return Paid(known.entry.id)
        table = self._table
        before = self._memory.entry_of(job.name, question.number)
        if before is not None:
            found = [one for one in self.ledger.history() if one.id == before]
            if found and found[0].plan == question.plan:
                if (OF_CLIENTS in found[0].what) is not (question.unit == CLIENT):
                    raise PlanError("The plan of a job cannot change once it is paid.")
                grant = Grant(question.plan, found[0], self.ledger, table, question.unit)
                grant.table_notes += job.terms.notes_for(table.schema.unit)
                grant.note_noise(self._memory.noise_of(job.name, question.number))
                job.grants[question.number] = grant
                job.answered.update(self._memory.answered(job.name, question.number))
                last = self._memory.answer_of(job.name, question.number)
                if last is not None:
                    job.remember(LookAt(question.number, last[0], last[1]), last[2])
                return Paid(before)
        self._check_unit(question.unit)
        if sum(event.count for event in question.plan.events) > _MOST_LOOKS:
            raise FederationError(f"A plan has {_MOST_LOOKS} looks at most.")
        if OF_CLIENTS in question.what + job.name:
            raise FederationError("These words are the client's own: name the job otherwise.")
        whom = f", {OF_CLIENTS}" if question.unit == CLIENT else ""
        what = f"{question.what} ({job.name[:12]}{whom})"
        if not question.final:
            whom = question.unit or unit_of(table.schema)
            self.ledger.check_affordable(question.plan, what, unit=whom)
            return Paid("")
        grant = reserve(table, self.ledger, question.plan, what, unit=question.unit)
        grant.table_notes += job.terms.notes_for(table.schema.unit)
        job.grants[question.number] = grant
        self._memory.paid(job.name, question.number, grant.entry.id)
        return Paid(grant.entry.id)

    def _check_unit(self, unit: str | None) -> None:
        """A price for a whole client is not one for a row: a row can change all of an update."""
        if unit not in (None, CLIENT):
            raise FederationError(f"This client knows no promise for a {unit!r}.")
        of_clients = {OF_CLIENTS in entry.what for entry in self.ledger.history()}
        if not self.ledger.budget.unlimited and of_clients - {unit == CLIENT}:
            raise LedgerMismatch(
                f"The ledger of client {self.name!r} counts promises for "
                f"{'rows' if unit == CLIENT else 'whole clients'}: give this job another ledger."
            )

    # -- looks --------------------------------------------------------------------------------

    def _sum(self, job: DeskJob, question: SumOver) -> Answer:
        event = job.event_of(question.look, of_clients=False)
        trust = job.terms.trust
        if trust != Trust.AGGREGATOR and not isinstance(event, _GAUSSIAN):
            raise PlanError(
                f"With trust {str(trust)!r} clients answer Gaussian looks alone. This one was paid "
                f"as {event.kind!r}."
            )
        if (question.roster is None) is (trust == Trust.SHARES):
            raise FederationError("Masks belong to shares of noise, and to nothing else.")
        values = job.recall(question.look)
        if values is None:
            if not isinstance(question.query, Query):
                raise FederationError("The message holds no query.")
            values = self._look(job, question, event)
        if question.roster is None:
            return Answer(question.look, values)
        job.check_roster(question.look, question.roster, self.name, self._known)
        hidden = job.masker.hide(values, question.roster, job.context(question.look))
        job.note_roster(question.look, question.roster)
        return Answer(question.look, hidden)

    def _look(self, job: DeskJob, question: SumOver, event: Event) -> NDArray[np.int64]:
        query, look = question.query, question.look
        table = self._table_for(job, question.schema, question.preparations)
        check_query(query, question.preparations, table.schema)
        rate, share, grid = 1.0, 0.0, question.grid
        if isinstance(event, _GAUSSIAN):
            per_unit = table.rows_per_unit * job.terms.clients_per_unit
            how = gaussian_measure(query, event, self.ledger.relation, per_unit)
            if how.grid != grid:
                raise FederationError("The server's grid is not the one of the plan.")
            rate, share = how.rate, job.terms.share(how.scale) / grid
        if share and share < LEAST_SHARE:  # pragma: no cover (terms.py asserts that none is)
            raise FederationError("The shares of noise are too fine for their proof.")
        job.check_new(look)
        self._memory.answering(job.name, look.number, look.label, look.index)
        ticket = job.grants[look.number].take(look.label)
        job.answered[look.number, look.label] = look.index
        values = open_rows(table, ticket).total(query, grid, rate=rate, forgiving=True)
        if share:
            values = values + noise.gaussian(query.size, share)
        job.remember(look, values)
        self._memory.answered_with(job.name, look.number, look.label, look.index, values)
        return values

    def _tally(self, job: DeskJob, question: Tally) -> Tallied:
        if not isinstance(job.event_of(question.look, of_clients=False), (Threshold, Unprotected)):
            raise PlanError("Values are tallied in looks that were paid for levels alone.")
        if job.terms.trust != Trust.AGGREGATOR:
            raise PlanError(
                "Levels that nobody listed cannot be found without trusting the aggregator: list "
                "them in the schema."
            )
        table = self._table_for(job, question.schema, ())
        job.check_new(question.look)
        look = question.look
        self._memory.answering(job.name, look.number, look.label, look.index)
        job.answered[look.number, look.label] = look.index
        ticket = job.grants[look.number].take(look.label)
        found = open_rows(table, ticket).tally(question.column)
        return Tallied(look, tuple(found), tuple(found.values()))

    def _work(self, job: DeskJob, question: Work) -> Answer:
        job.event_of(question.look, of_clients=True)
        if job.terms.trust != Trust.AGGREGATOR:
            raise PlanError("Updates of whole clients are for a trusted aggregator.")
        known = job.recall(question.look)
        if known is not None:
            return Answer(question.look, known)
        work, look = question.work, question.look
        if not isinstance(work, ClientWork):
            raise FederationError("The message holds no work for clients.")
        table = self._table_for(job, question.schema, question.preparations)
        job.check_new(look)
        self._memory.answering(job.name, look.number, look.label, look.index)
        job.answered[look.number, look.label] = look.index
        ticket = job.grants[look.number].take(look.label)
        values = open_rows(table, ticket).updates(work, question.grid)
        job.remember(look, values)
        return Answer(look, values)

    def _table_for(
        self, job: DeskJob, schema: Schema, preparations: tuple[Any, ...]
    ) -> PrivateTable:
        """The rows under a schema, with what is to be kept per row."""
        check_schema(self._table.schema, schema)
        check_preparations(preparations, schema)
        done = job.prepared
        same = job.schema is schema or job.schema == schema
        if job.table is None or not same or done != preparations[: len(done)]:
            job.table, job.schema, done = self._table.with_schema(schema), schema, ()
        for preparation in preparations[len(done) :]:
            keep(job.table, preparation.columns, preparation.prepare, forgiving=True)
        job.prepared = preparations
        return job.table
