"""What can befall hospitals in the middle of a job, and what their own ledgers say afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopback import ExampleError

if TYPE_CHECKING:
    from deployment import Deployment

DROPOUTS = 3
"""All three of them can be missing from one sum."""

_KILLED_IN, _LAST_ANSWERED = 5, 7
"""Rounds: the second access to the rows; the last one that the late hospital answers in time."""


class Trouble:
    """Three hospitals that fail, each in its own way.

    Parameters
    ----------
    place : Deployment
    dead : str
        Is killed while it has a question, for good.
    restarted : str
        Is killed while it has a question, and started again with its ledger and its memory.
    late : str
        Has its agent stopped until the server goes on without its answer.
    """

    def __init__(self, place: Deployment, dead: str, restarted: str, late: str) -> None:
        self.place, self.dead, self.restarted, self.late = place, dead, restarted, late

    def make(self, tell: Callable[[str], object]) -> None:
        """Let everything happen, in this order; the run goes on meanwhile."""
        waiting = {self.dead, self.restarted}

        def strike() -> bool:
            for name in sorted(waiting):
                if f"ROUND {_KILLED_IN}]" in self.place.log_of(name):
                    self.place.kill(name)
                    waiting.remove(name)
            return not waiting

        self._wait(strike, "the second access")
        tell(f"Killed {self.dead} and {self.restarted}; {self.restarted} is started again")
        self.place.restart(self.restarted)
        # Received and sent: the agent has nothing to do now, and will not hear the next question.
        sent = f"ROUND {_LAST_ANSWERED}]"
        self._wait(lambda: self.place.log_of(self.late).count(sent) == 2, "the third access")
        agent = self._agent_of(self.late)
        os.kill(agent, signal.SIGSTOP)
        tell(f"Stopped the agent of {self.late}")
        try:
            missed = f"no answer of '{self.late}'"
            self._wait(lambda: missed in self.place.log_of("run"), "the server to go on")
        finally:
            os.kill(agent, signal.SIGCONT)
        tell(f"The server goes on; the agent of {self.late} answers now, too late")

    def _wait(self, what: Callable[[], bool], words: str) -> None:
        run = self.place.processes["run"]

        def happened() -> bool:
            if what():
                return True
            if run.poll() is not None:
                raise ExampleError(f"The run ended before {words}: look into {self.place.logs}.")
            return False

        self.place.wait_until(happened, 180, words)

    def _agent_of(self, name: str) -> int:
        return int(re.findall(r"ClientAgent open \(process (\d+)\)", self.place.log_of(name))[-1])


@dataclass(frozen=True)
class Account:
    """What one hospital's own ledger says of a job.

    Attributes
    ----------
    paid : tuple of str
        Ids of the ledger's entries, all of which must be the job's.
    planned : int
        Accesses that were paid for.
    answered : tuple of (step, index, attempt)
        In the order of the record.
    """

    paid: tuple[str, ...]
    planned: int
    answered: tuple[tuple[str, int, int], ...]

    @property
    def accesses(self) -> set[tuple[str, int]]:
        """Accesses that were answered, by whichever attempts at their sums."""
        return {(step, index) for step, index, _ in self.answered}


def read_journal(output: Path) -> list[dict[str, Any]]:
    """The server's journal of its job."""
    import voile.federated.federation  # noqa: F401  (it knows what stands in a journal)
    from voile.privacy.clients.journal import Journal

    journal = Journal(output / "journal.jsonl")
    journal.close()
    return journal.lines


def read_account(folder: Path, name: str, job: str) -> Account:
    """Verify a hospital's ledger, and read what it paid and answered."""
    from voile import Ledger
    from voile.privacy.ledger.job_lines import ANSWERED, PAID
    from voile.privacy.ledger.jobs import open_jobs

    ledger = Ledger(folder / name / "ledger.db")
    ledger.verify()
    key = hashlib.sha256(json.dumps([name, job]).encode()).hexdigest()
    lines = open_jobs(ledger).lines(key)
    entries = ledger.history()
    if [one.id for one in entries] != [x.content["entry"] for x in lines if x.kind == PAID]:
        raise ExampleError(f"The ledger of {name} has entries that its job does not know.")
    answered = [line.content for line in lines if line.kind == ANSWERED]
    return Account(
        tuple(one.id for one in entries),
        sum(event.count for one in entries for event in one.plan.events),
        tuple((one["step"], one["index"], one["attempt"]) for one in answered),
    )


def show_accounts(folder: Path, sites: Sequence[str], output: Path) -> None:
    """One line for each hospital."""
    job = read_journal(output)[0]["job"]
    for name in sites:
        found = read_account(folder, name, job)
        print(
            f"Ledger     {name}: verified; paid {len(found.paid)} time, answered "
            f"{len(found.looks)} of {found.planned} accesses ({len(found.answered)} answers)"
        )
