"""What a client's desk must not forget: plans it paid, looks it answered, and its last answer."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import LedgerUnavailable
from voile.privacy.noise import NoiseSource, current_source
from voile.strict import Strict

_STRICT = Strict(LedgerUnavailable, "the memory of a client")


def _read_jobs(data: object) -> dict[str, dict[str, Any]]:
    """Plans by job and number, as `DeskMemory` writes them; refuses anything else."""
    jobs = _STRICT.fields(data, ("jobs",), "the whole")["jobs"]
    for job, plans in _named(jobs, "'jobs'"):
        for number, plan in _named(plans, f"job {job!r}"):
            _check_plan(plan, f"plan {number!r} of job {job!r}")
    return dict(jobs)


def _named(data: object, where: str) -> list[tuple[str, Any]]:
    if not isinstance(data, dict):
        _STRICT.refuse(where, "a mapping", data)
    return list(data.items())


def _check_plan(data: object, where: str) -> None:
    plan = _STRICT.fields(data, ("entry", "looks", "noise"), where, ("last",))
    _STRICT.text(plan["entry"], f"'entry' of {where}")
    _STRICT.choice(plan["noise"], list(map(str, NoiseSource)), f"'noise' of {where}")
    for label, look in _named(plan["looks"], f"'looks' of {where}"):
        _STRICT.whole(look, f"look {label!r} of {where}")
    if "last" not in plan:
        return
    last = _STRICT.fields(plan["last"], ("label", "index", "values"), f"'last' of {where}")
    _STRICT.text(last["label"], f"the label of 'last' of {where}")
    _STRICT.whole(last["index"], f"the index of 'last' of {where}")
    try:
        whole = len(base64.b64decode(last["values"], validate=True)) % 8 == 0
    except (TypeError, ValueError):
        whole = False
    if not whole:
        _STRICT.refuse(
            f"the values of 'last' of {where}", "whole numbers in base64", last["values"]
        )


class DeskMemory:
    """A small file, written before each answer leaves; or nothing, without a path.

    Parameters
    ----------
    path : path or None
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._jobs: dict[str, dict[str, Any]] = {}
        if self._path is not None and self._path.exists():
            try:
                self._jobs = _read_jobs(_STRICT.parse(_STRICT.load_text(self._path)))
            except LedgerUnavailable as error:
                raise LedgerUnavailable(
                    f"The memory of this client, {self._path}, cannot be read. {error} Restore it, "
                    "or remove it and let running jobs be paid again."
                ) from error

    def entry_of(self, job: str, number: int) -> str | None:
        """The line of the ledger by which a plan was paid."""
        plan = self._jobs.get(job, {}).get(str(number))
        return None if plan is None else str(plan["entry"])

    def answered(self, job: str, number: int) -> dict[tuple[int, str], int]:
        """The last look of each step that was answered."""
        plan = self._jobs.get(job, {}).get(str(number), {"looks": {}})
        return {(number, str(label)): int(last) for label, last in plan["looks"].items()}

    def noise_of(self, job: str, number: int) -> NoiseSource:
        """Where the noise of a plan's looks came from; one fixed seed spoils the whole."""
        plan = self._jobs.get(job, {}).get(str(number), {})
        return NoiseSource(plan.get("noise", NoiseSource.SYSTEM))

    def paid(self, job: str, number: int, entry: str) -> None:
        """Note a payment."""
        if self._path is not None:
            plan = {"entry": entry, "looks": {}, "noise": str(NoiseSource.SYSTEM)}
            plans = {**self._jobs.get(job, {}), str(number): plan}
            self._write({**self._jobs, job: plans})

    def answer_of(self, job: str, number: int) -> tuple[str, int, NDArray[np.int64]] | None:
        """The last answer: its step, the number of the look, and the vector."""
        last = self._jobs.get(job, {}).get(str(number), {}).get("last")
        if last is None:
            return None
        values = np.frombuffer(base64.b64decode(last["values"]), dtype="<i8").astype(np.int64)
        return str(last["label"]), int(last["index"]), values

    def answered_with(
        self, job: str, number: int, label: str, index: int, values: NDArray[np.int64]
    ) -> None:
        """Keep the last answer: server and client may die together before it arrives."""
        if self._path is not None:
            text = base64.b64encode(values.astype("<i8").tobytes()).decode()
            last = {"label": label, "index": index, "values": text}
            plans = {**self._jobs[job], str(number): {**self._jobs[job][str(number)], "last": last}}
            self._write({**self._jobs, job: plans})

    @property
    def lasts(self) -> bool:
        """Whether it outlives the process."""
        return self._path is not None

    def answering(self, job: str, number: int, label: str, index: int) -> None:
        """Note that a look is about to be answered."""
        if self._path is not None:
            plan = self._jobs[job][str(number)]
            looks = {**plan["looks"], label: index}
            fixed = current_source() is NoiseSource.FIXED
            source = str(NoiseSource.FIXED) if fixed else plan.get("noise", str(NoiseSource.SYSTEM))
            plan = {**plan, "looks": looks, "noise": source}
            plans = {**self._jobs[job], str(number): plan}
            self._write({**self._jobs, job: plans})

    def _write(self, jobs: dict[str, dict[str, Any]]) -> None:
        assert self._path is not None
        new = self._path.with_name(self._path.name + ".new")
        try:
            # It holds sums over the client's rows: nobody else may read it.
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"jobs": jobs}, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
            self._jobs = jobs
        except OSError as error:
            raise LedgerUnavailable(
                f"The memory of this client, {self._path}, cannot be written ({error.strerror}): "
                "nothing was answered. Make room, or give another path."
            ) from error
