"""The last answer of each job, so that a client that was restarted can repeat it word for word.

What was answered stands in the ledger's database; here is only the vector, which may be an exact
sum and has no business in a ledger. Without this file, or with an old or foreign one, nothing is
answered twice: the look that was answered last cannot be repeated then, and that is all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import LedgerMismatch, LedgerUnavailable
from voile.privacy.clients.questions import LookAt
from voile.privacy.ledger.jobs import Jobs
from voile.privacy.noise import NoiseSource
from voile.strict import Strict

_STRICT = Strict(LedgerUnavailable, "the memory of a client")
_FIELDS = ("plan", "step", "index", "attempt", "names", "noise", "before", "salt", "values")

_MOST_JOBS, _MOST_HEADS = 16, 10_000
"""Jobs whose last answer is kept, and of which a line of the record is; the oldest go first."""


@dataclass(frozen=True, eq=False)
class KeptAnswer:
    """An answer that is about to leave, or has left.

    Attributes
    ----------
    look : LookAt
    attempt : int
        At the sum, from 0 (shares of noise).
    names : str
        Digest of the clients in it; "" without masks.
    noise : NoiseSource
    before : str
        Digest of the record's last line before the answer's own ("" for none).
    salt : bytes
        Of the digest by which the record names the vector, so that nobody can try small counts.
    values : ndarray of shape (size,)
        With the client's noise, before masks.
    """

    look: LookAt
    attempt: int
    names: str
    noise: NoiseSource
    before: str
    salt: bytes
    values: NDArray[np.int64]

    @property
    def digest(self) -> str:
        """By which the record of the job names the vector."""
        return hashlib.sha256(self.salt + self.values.astype("<i8").tobytes()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "plan": self.look.number,
            "step": self.look.label,
            "index": self.look.index,
            "attempt": self.attempt,
            "names": self.names,
            "noise": str(self.noise),
            "before": self.before,
            "salt": self.salt.hex(),
            "values": base64.b64encode(self.values.astype("<i8").tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, data: object, where: str) -> KeptAnswer:
        """Read back; refuses anything else (`LedgerUnavailable`)."""
        found = _STRICT.fields(data, _FIELDS, where)
        for name in ("plan", "index", "attempt"):
            _STRICT.whole(found[name], f"{name!r} of {where}")
        for name in ("step", "names", "before", "salt", "values"):
            _STRICT.text(found[name], f"{name!r} of {where}")
        _STRICT.choice(found["noise"], list(map(str, NoiseSource)), f"'noise' of {where}")
        try:
            salt = bytes.fromhex(found["salt"])
            raw = base64.b64decode(found["values"], validate=True)
            values = np.frombuffer(raw, dtype="<i8").astype(np.int64)
        except ValueError:
            _STRICT.refuse(f"the values of {where}", "whole numbers in base64", found["values"])
        look = LookAt(found["plan"], found["step"], found["index"])
        source = NoiseSource(found["noise"])
        attempt, names = found["attempt"], found["names"]
        return cls(look, attempt, names, source, found["before"], salt, values)


class AnswerMemory:
    """A small file, written before an answer leaves; without a path nothing outlives the process.

    Parameters
    ----------
    path : path or None
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._answers: dict[str, KeptAnswer] = {}
        self._heads: dict[str, str] = {}
        if self._path is not None and self._path.exists():
            try:
                data = _STRICT.parse(_STRICT.load_text(self._path))
                found = _STRICT.fields(data, ("answers", "heads"), "the whole")
                answers, heads = found["answers"], found["heads"]
                for name, one in (("answers", answers), ("heads", heads)):
                    if not isinstance(one, dict):
                        _STRICT.refuse(f"{name!r}", "a mapping", one)
                for job, head in heads.items():
                    _STRICT.text(head, f"the head of job {job!r}")
                self._heads = heads
                self._answers = {
                    job: KeptAnswer.from_dict(one, f"job {job!r}") for job, one in answers.items()
                }
            except LedgerUnavailable as error:
                raise LedgerUnavailable(
                    f"The memory of this client, {self._path}, cannot be read. {error} Restore it, "
                    "or remove it: the last answer of a running job cannot be repeated then; what "
                    "was answered stays in the ledger."
                ) from error

    @property
    def lasts(self) -> bool:
        """Whether it outlives the process."""
        return self._path is not None

    def last(self, job: str) -> KeptAnswer | None:
        """The answer that was kept last for a job."""
        return self._answers.get(job)

    def check(self, jobs: Jobs) -> None:
        """Refuse a ledger that is an older copy than this memory, whatever job is asked for next.

        Raises
        ------
        LedgerMismatch
        """
        for job, head in self._heads.items():
            if head not in {"", *(line.digest for line in jobs.lines(job))}:
                raise LedgerMismatch(
                    f"The memory of this client, {self._path}, knows answers that its ledger does "
                    "not: an older copy of the ledger was put back, or another one is given. Put "
                    "the newest one back; a new ledger for other rows needs a memory of its own."
                )

    def keep(self, job: str, answer: KeptAnswer) -> None:
        """Keep an answer: server and client may die together before it arrives."""
        if self._path is None:
            return
        answers = {key: one for key, one in self._answers.items() if key != job}
        for old in list(answers)[: max(len(answers) - _MOST_JOBS + 1, 0)]:
            del answers[old]
        answers[job] = answer
        heads = {key: head for key, head in self._heads.items() if key != job}
        for old in list(heads)[: max(len(heads) - _MOST_HEADS + 1, 0)]:
            del heads[old]
        heads[job] = answer.before
        stored = {"answers": {key: one.to_dict() for key, one in answers.items()}, "heads": heads}
        new = self._path.with_name(self._path.name + ".new")
        try:
            # It holds sums over the client's rows: nobody else may read it.
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(stored, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            raise LedgerUnavailable(
                f"The memory of this client, {self._path}, cannot be written ({error.strerror}): "
                "nothing was answered. Make room, or give another path."
            ) from error
        self._answers, self._heads = answers, heads
