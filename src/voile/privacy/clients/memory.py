"""The last answer of each job, so that a client that was restarted can repeat it word for word.

What was answered stands in the ledger's database; here is only the vector, which may be an exact
sum and has no business in a ledger. Without this file, or with an old or foreign one, nothing is
answered twice: the access that was answered last cannot be repeated then, and that is all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voile.codec import decode, encode
from voile.errors import LedgerMismatch, LedgerUnavailable
from voile.privacy.clients.questions import AccessId
from voile.privacy.ledger.jobs import Jobs
from voile.privacy.noise import NoiseSource
from voile.stored import Count
from voile.strict import Strict

_STRICT = Strict(LedgerUnavailable, "the memory of a client")

_MOST_JOBS, _MOST_HEADS = 16, 10_000
"""Jobs whose last answer is kept, and of which a line of the record is; the oldest go first."""


@dataclass(frozen=True, eq=False)
class KeptAnswer:
    """An answer that is about to leave, or has left.

    Attributes
    ----------
    access : AccessId
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

    access: AccessId
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


@dataclass(frozen=True)
class _AnswerFile:
    """What stands in the file of a kept answer."""

    plan: Count
    step: str
    index: Count
    attempt: Count
    names: str
    noise: NoiseSource
    before: str
    salt: str
    values: str

    @classmethod
    def of(cls, kept: KeptAnswer) -> _AnswerFile:
        access, values = kept.access, base64.b64encode(kept.values.astype("<i8").tobytes()).decode()
        return cls(
            *(access.number, access.label, access.index, kept.attempt, kept.names, kept.noise),
            *(kept.before, kept.salt.hex(), values),
        )

    def build(self) -> KeptAnswer:
        try:
            salt = bytes.fromhex(self.salt)
            raw = base64.b64decode(self.values, validate=True)
            values = np.frombuffer(raw, dtype="<i8").astype(np.int64)
        except ValueError:
            _STRICT.refuse("the values", "whole numbers in base64", self.values)
        access = AccessId(self.plan, self.step, self.index)
        return KeptAnswer(access, self.attempt, self.names, self.noise, self.before, salt, values)


@dataclass(frozen=True)
class _Memory:
    """What stands in the whole file, by the name of the job."""

    answers: Mapping[str, _AnswerFile]
    heads: Mapping[str, str]


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
                found = decode(_Memory, data, _STRICT)
                self._heads = dict(found.heads)
                self._answers = {job: one.build() for job, one in found.answers.items()}
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
        stored = encode(_Memory({key: _AnswerFile.of(one) for key, one in answers.items()}, heads))
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
