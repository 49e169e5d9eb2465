"""A client's side of a federation: rows, a ledger of its own, and answers to what was paid for.

The agent trusts no number that arrives: it pays each plan from its own ledger before the first
answer, takes noise, grid and sampling from its own copy of that plan, clips by its own code,
answers no more accesses than announced, and repeats an answer rather than making a second one. What
it agreed to, paid and answered stands in its ledger's database before anything leaves it.
States and messages: docs/explanation/federated-protocol.md. Proof: docs/proofs/federated.md.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self
from weakref import finalize

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from voile.errors import FederationError, LedgerMismatch, PlanError, SettingError, VoileError
from voile.privacy import noise
from voile.privacy.budget import Budget
from voile.privacy.clients import admissible
from voile.privacy.clients.agent_job import AgentJob, Measured
from voile.privacy.clients.masks import Masker
from voile.privacy.clients.memory import AnswerMemory
from voile.privacy.clients.questions import (
    AccessId,
    Joined,
    Lacking,
    Opening,
    Paid,
    Payment,
    RefusalMessage,
    SumAnswer,
    SumOver,
    Tallied,
    Tally,
    Work,
    open_envelope,
)
from voile.privacy.clients.terms import CLIENT, LEAST_SHARE, OF_CLIENTS, Trust
from voile.privacy.clients.updates import ClientWork
from voile.privacy.events import Gaussian, PoissonGaussian, Threshold, Unprotected
from voile.privacy.grant import Grant, Ticket
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.job_lines import PAID, JobLine
from voile.privacy.ledger.jobs import open_jobs
from voile.privacy.mechanisms.sums import check_bounded, gaussian_measure
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.tape.listening import at_client
from voile.privacy.vault import PrivateTable, keep, open_rows
from voile.privacy.wire import MissingParts, Packer, Unpacker
from voile.schema import Schema

_LOG = logging.getLogger("voile.clients")

_GAUSSIAN = (Gaussian, PoissonGaussian)
_SMALLEST_GRID = 2.0**-500
_MOST_ACCESSES, _MOST_STEPS = 1_000_000, 10_000
_MOST_UNPAID = 32
"""Jobs that were joined and not paid: whoever opens more of them, the oldest are forgotten."""


class ClientAgent:
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
        A file for the last answer of each job, so that a client that is restarted in the middle of
        a job can repeat it if it got lost. What was paid and answered stands in the ledger.
    key : X25519PrivateKey, optional
        A lasting key for masks; by default a new one for each job.
    known_keys : mapping of str to bytes, optional
        Public keys of the other clients, agreed beforehand: others are refused.

    Raises
    ------
    FederationError
        If another agent works for this client with the same ledger, here or elsewhere.
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
        self._memory = AnswerMemory(memory)
        self._key, self._known = key, None if known_keys is None else dict(known_keys)
        self._open_jobs: dict[str, AgentJob] = {}
        self._packer, self._unpacker = Packer(), Unpacker(shared=True)
        self._turn, self._process = threading.Lock(), os.getpid()
        self._jobs = open_jobs(ledger)
        if not ledger.budget.unlimited:
            self._memory.check(self._jobs)
        # Held for life: a second agent of this client would answer beside this one.
        self._let_go = finalize(self, self._jobs.hold(name))

    def close(self) -> None:
        """Answer no more, and let another agent work for this client."""
        with self._turn:
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, message: bytes) -> bytes:
        """Answer one message; never raises. Refusals depend on public facts and on the ledger."""
        with self._turn, at_client(self.name):
            return self._packer.pack(self._reply(message)).body

    def receipts(self, delta: float | None = None) -> tuple[Receipt, ...]:
        """What each plan that was paid here has guaranteed this client's rows."""
        budget = Budget(self.ledger.budget.epsilon, delta or self.ledger.budget.delta)
        jobs = list(self._open_jobs.values())
        return tuple(write_receipt(grant, budget) for job in jobs for grant in job.grants.values())

    def __repr__(self) -> str:
        return f"<ClientAgent {self.name!r}: rows private>"

    # -- messages -----------------------------------------------------------------------------

    def _reply(self, message: bytes) -> object:
        try:
            if not self._let_go.alive:
                raise FederationError(f"The agent of client {self.name!r} is closed.")
            if os.getpid() != self._process:
                # It would hide other answers behind the same masks.
                raise FederationError("A agent answers in the process that opened it alone.")
            question = open_envelope(self._unpacker, message)
            return self._consider(question)
        except MissingParts as missing:
            return Lacking(missing.digests)
        except VoileError as error:
            _LOG.warning("client %s refused: %s", self.name, error)
            return RefusalMessage(admissible.explain_refusal(error))
        except Exception as error:
            # The text of a foreign error may quote rows; its kind is all that leaves.
            _LOG.exception("client %s failed", self.name)
            return RefusalMessage(f"the client failed with {type(error).__name__}")

    def _consider(self, question: object) -> object:
        if isinstance(question, Opening):
            return self._open(question)
        job = self._open_jobs.get(getattr(question, "job", ""))
        if job is None:
            return Lacking(job_unknown=True)
        access = getattr(question, "access", None)
        if access is not None and access.number not in job.grants:
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
        admissible.check_opening(
            question, self.name, self.ledger.relation, self._accepts, self._colluders
        )
        admissible.check_schema(self._table.schema, question.schema)
        known = self._open_jobs.get(question.job)
        if known is not None and known.terms != terms:
            raise FederationError("The terms of a job cannot change while it runs.")
        job = known or AgentJob(
            question.job,
            self.name,
            terms,
            question.relation,
            question.schema,
            Masker(self.name, self._key),
            self._jobs,
            self._memory,
        )
        lines = job.read_record()
        if not self.ledger.budget.unlimited:  # what has no limit may be lost: nothing is counted
            job.check_head(question.heads.get(self.name), lines)
        self._open_jobs[question.job] = job
        unpaid = [one for one, each in self._open_jobs.items() if not each.grants]
        for old in unpaid[:-_MOST_UNPAID]:
            del self._open_jobs[old]
        table = self._table
        return Joined(self.name, job.masker.public, table.largest_weight, table.weighted, job.head)

    def _pay(self, job: AgentJob, question: Payment) -> Paid:
        known = job.grants.get(question.number) or self._paid_before(job, question)
        if known is not None:
            if known.plan != question.plan or (known.unit == CLIENT) is not (
                question.unit == CLIENT
            ):
                raise PlanError("The plan of a job cannot change once it is paid.")
            job.grants[question.number] = known
            return Paid(known.entry.id, job.head)
        table, plan = self._table, question.plan
        admissible.check_unit(question.unit, self.name, self.ledger)
        counts = [event.count for event in plan.events]
        if sum(counts) > _MOST_ACCESSES or len(counts) > _MOST_STEPS:
            raise FederationError(
                f"A plan has {_MOST_ACCESSES} accesses at most, {_MOST_STEPS} steps."
            )
        if OF_CLIENTS in question.what + job.name:
            raise FederationError("These words are the client's own: name the job otherwise.")
        whom = f", {OF_CLIENTS}" if question.unit == CLIENT else ""
        what = f"{question.what} ({job.name[:12]}{whom})"
        if not question.final:
            whom = question.unit or table.unit
            self.ledger.check_can_pay(plan, what, unit=whom)
            return Paid("", job.head)
        # The ledger's entry and the line of the job are written together, or not at all.
        made: list[JobLine] = []
        beside = self._jobs.beside(
            job.key,
            job.last,
            PAID,
            lambda entry: job.paid_line(question.number, question.unit, entry),
            made.append,
        )
        grant = self.ledger.pay(plan, table, what, unit=question.unit, beside=beside)
        grant.table_notes += job.terms.notes_for(table.schema.unit)
        job.last = made[-1]
        job.grants[question.number] = grant
        return Paid(grant.entry.id, job.head)

    def _paid_before(self, job: AgentJob, question: Payment) -> Grant | None:
        """The right to what was paid before a restart, with the accesses that were used up."""
        job.read_record()  # also if the commit of a payment failed and was one all the same
        known = job.paid.get(question.number)
        if known is None:
            return None
        found = [one for one in self.ledger.history() if one.id == known.entry]
        if not found:
            raise LedgerMismatch("The ledger has lost the entry by which this job was paid.")
        grant = Grant(found[0].plan, found[0], self.ledger, self._table, known.unit)
        grant.table_notes += job.terms.notes_for(self._table.schema.unit)
        if question.number in job.fixed:
            grant.note_noise(noise.NoiseSource.FIXED)
        grant.resume(
            {label: one.accesses for (n, label), one in job.used.items() if n == question.number}
        )
        return grant

    # -- looks --------------------------------------------------------------------------------

    def _sum(self, job: AgentJob, question: SumOver) -> SumAnswer:
        access, roster, trust = question.access, question.roster, job.terms.trust
        event = job.event_of(access, of_clients=False)
        if trust != Trust.AGGREGATOR and not isinstance(event, _GAUSSIAN):
            raise PlanError(
                f"With trust {str(trust)!r} clients answer Gaussian accesses alone. This one was "
                f"paid as {event.kind!r}."
            )
        if (roster is None) is (trust == Trust.SHARES):
            raise FederationError("Masks belong to shares of noise, and to nothing else.")
        attempt = 0
        if roster is not None:
            attempt = roster.attempt
            job.check_roster(access, roster, self._known)
        values = job.recall(access, attempt)
        if values is None:
            job.check_new(access, attempt)
            values = self._noised(
                job, job.measured(access) or self._measure(job, question), attempt
            )
            job.answer(access, values, roster)
        if not isinstance(values, np.ndarray):
            raise PlanError(f"The access {access.label!r} {access.index} was answered otherwise.")
        if roster is not None:
            values = job.masker.hide(values, roster, job.context(access))
        return SumAnswer(access, values, job.head)

    def _measure(self, job: AgentJob, question: SumOver) -> Measured:
        """The exact sum of an access, once, and the noise that was paid for it."""
        access = question.access
        event = job.grants[access.number].plan[access.label]
        table = self._table_for(job, question.schema, question.preparations)
        query = admissible.check_query(
            question.query, question.preparations, table.schema, weighted=table.weighted
        )
        check_bounded(query, event)
        rate, scale, grid = 1.0, 0.0, question.grid
        if isinstance(event, _GAUSSIAN):
            per_unit = table.rows_per_unit * job.terms.clients_per_unit
            how = gaussian_measure(query, event, self.ledger.relation, per_unit)
            if how.grid != grid:
                raise FederationError("The server's grid is not the one of the plan.")
            rate, scale = how.rate, how.scale
        elif not (_SMALLEST_GRID <= grid <= 1 / _SMALLEST_GRID and math.frexp(grid)[0] == 0.5):
            raise FederationError("The grid of a sum must be a power of two.")
        ticket = self._take(job, access)
        total = open_rows(table, ticket).total(query, grid, rate=rate, forgiving=True)
        found = Measured(total, scale, grid)
        job.measure(access, found)
        return found

    def _noised(self, job: AgentJob, found: Measured, attempt: int) -> NDArray[np.int64]:
        share = job.terms.noise_share(found.scale, attempt) / found.grid
        if not share:
            return found.total
        if share < LEAST_SHARE:  # pragma: no cover (terms.py asserts that none is)
            raise FederationError("The shares of noise are too fine for their proof.")
        return found.total + noise.gaussian(len(found.total), share)

    def _take(self, job: AgentJob, access: AccessId) -> Ticket:
        """The ticket of an access; another one if the rows could not be read the first time."""
        ticket = job.grants[access.number].take(access.label, again=access in job.taken)
        job.taken.add(access)
        return ticket

    def _tally(self, job: AgentJob, question: Tally) -> Tallied:
        access = question.access
        if not isinstance(job.event_of(access, of_clients=False), (Threshold, Unprotected)):
            raise PlanError("Values are tallied in accesses that were paid for levels alone.")
        if job.terms.trust != Trust.AGGREGATOR:
            raise PlanError(
                "Levels that nobody listed cannot be found without trusting the aggregator: list "
                "them in the schema."
            )
        known = job.recall(access)
        if isinstance(known, Tallied):
            return known
        table = self._table_for(job, question.schema, ())
        job.check_new(access)
        found = open_rows(table, self._take(job, access)).tally(question.column)
        job.answer(access, np.zeros(0, dtype=np.int64))
        reply = Tallied(access, tuple(found), tuple(found.values()), job.head)
        job.remember(access, 0, reply)
        return reply

    def _work(self, job: AgentJob, question: Work) -> SumAnswer:
        access, work = question.access, question.work
        job.event_of(access, of_clients=True)
        if job.terms.trust != Trust.AGGREGATOR:
            raise PlanError("Updates of whole clients are for a trusted aggregator.")
        values = job.recall(access)
        if values is None:
            if not isinstance(work, ClientWork):
                raise FederationError("The message holds no work for clients.")
            table = self._table_for(job, question.schema, question.preparations)
            job.check_new(access)
            found = open_rows(table, self._take(job, access)).updates(work, question.grid)
            values = job.answer(access, found)
        return SumAnswer(access, values, job.head)

    def _table_for(
        self, job: AgentJob, schema: Schema, preparations: tuple[Any, ...]
    ) -> PrivateTable:
        """The rows under a schema, with what is to be kept per row."""
        done = job.prepared
        if job.table is not None and job.schema is schema and done == preparations:
            return job.table
        admissible.check_schema(self._table.schema, schema)
        admissible.check_preparations(preparations, schema)
        table = job.table
        if table is None or job.schema != schema or done != preparations[: len(done)]:
            table, done = self._table.with_schema(schema), ()
        # Nothing is known of what rows keep until all of it is made: a disk or memory that fails
        # half way leaves some with the old and some with the new.
        job.table, job.prepared = None, ()
        for preparation in preparations[len(done) :]:
            keep(table, preparation.columns, preparation.prepare, forgiving=True)
        job.table, job.schema, job.prepared = table, schema, preparations
        return table
