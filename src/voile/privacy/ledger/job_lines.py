"""What a client of a federation has paid and answered, line by line, in its ledger's database.

A line is written before what it tells of leaves the client: the one of a payment in the very
transaction of the ledger's entry, the one of an answer before the answer is sent. Each is bound to
the one before, and to the job, by its digest; a second run of a client that works from an older
state finds another last line, and stops. Proof: docs/proofs/federated.md.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from voile.privacy.ledger.chain import tampered
from voile.privacy.ledger.digest import beginning_of, digest_of
from voile.privacy.ledger.tables import job_lines

if TYPE_CHECKING:
    from voile.privacy.ledger.facts import LedgerFacts

PAID, ANSWERED = "paid", "answered"


@dataclass(frozen=True)
class JobLine:
    """One line: a plan that was paid, or an answer that may have left.

    Attributes
    ----------
    seq : int
        Position in the job, from 1.
    kind : {"paid", "answered"}
    text : str
        Plain data as JSON; nothing in it depends on a row (docs/proofs/federated.md).
    digest : str
        SHA-256 of the line and the digest of the one before.
    """

    seq: int
    kind: str
    text: str
    digest: str

    @property
    def content(self) -> dict[str, Any]:
        """The plain data."""
        found = json.loads(self.text)
        if not isinstance(found, dict):
            raise TypeError
        return found

    def stored(self, job: str) -> dict[str, Any]:
        """As it stands in a database."""
        return {**_fields(job, self.seq, self.kind, self.text), "digest": self.digest}


def beginning_of_job(facts: LedgerFacts, job: str) -> str:
    """The digest before a job's first line."""
    return digest_of("voile job", {"ledger": beginning_of(facts), "job": job})


def next_line(job: str, seq: int, before: str, kind: str, content: Mapping[str, Any]) -> JobLine:
    """The line that follows the digest ``before``."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return JobLine(seq, kind, text, digest_of(before, _fields(job, seq, kind, text)))


def follow_job(
    facts: LedgerFacts, job: str, rows: Iterable[Mapping[str, Any]]
) -> tuple[JobLine, ...]:
    """Read stored lines of one job and check that each is bound to the one before.

    Raises
    ------
    LedgerMismatch
        If a line was changed, moved or removed (the last ones excepted, which a head tells).
    """
    before, found = beginning_of_job(facts, job), list[JobLine]()
    for seq, row in enumerate(rows, 1):
        try:
            fields = _fields(job, seq, row["kind"], row["content"])
            line = JobLine(seq, row["kind"], row["content"], digest_of(before, fields))
            whole = line.kind in (PAID, ANSWERED) and line.content is not None
        except (KeyError, TypeError, ValueError, RecursionError):
            raise tampered(f"line {seq} of a federated job cannot be read") from None
        if not whole or line.stored(job) != {k: v for k, v in row.items() if k != "dataset"}:
            raise tampered(f"line {seq} of a federated job was changed or removed")
        found.append(line)
        before = line.digest
    return tuple(found)


def check_jobs(connection: sa.Connection, facts: LedgerFacts, entries: Collection[str]) -> None:
    """Check all lines of all jobs of a ledger, and that what they were paid by is there.

    Parameters
    ----------
    entries : collection of str
        Ids of the ledger's entries.
    """
    if not sa.inspect(connection).has_table(job_lines.name):
        return
    mine = job_lines.c.dataset == facts.dataset
    order = (job_lines.c.job, job_lines.c.seq)
    rows = connection.execute(sa.select(job_lines).where(mine).order_by(*order)).mappings().all()
    jobs: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        jobs.setdefault(str(row["job"]), []).append({str(k): v for k, v in row.items()})
    for job, lines in jobs.items():
        for line in follow_job(facts, job, lines):
            if line.kind == PAID and line.content.get("entry") not in entries:
                raise tampered("a federated job was paid by an entry that is not there")


def _fields(job: str, seq: int, kind: str, text: str) -> dict[str, Any]:
    return {"job": job, "seq": seq, "kind": kind, "content": text}
