"""Permission to access rows: the steps of a paid plan, each usable as often as it was announced."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from voile.errors import PlanError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Event, Plan

if TYPE_CHECKING:
    from voile.privacy.ledger import Entry, Ledger
    from voile.privacy.vault import PrivateTable


class Ticket:
    """One access to the rows of one table; torn when the vault opens for it."""

    def __init__(self, grant: Grant, label: str, event: Event) -> None:
        self.grant = grant
        self.label = label
        self.event = event
        self._used = False

    @property
    def relation(self) -> NeighbouringRelation:
        """Neighbouring relation under which the event was priced."""
        return self.grant.relation

    def tear(self, token: object) -> None:
        """Use the ticket up; called by the vault alone."""
        self.grant._check_process()
        with self.grant._lock:
            if self._used:
                raise PlanError(
                    f"The access {self.label!r} was used already: each opening of the vault needs "
                    "a ticket of its own."
                )
            if token is not self.grant._token:
                raise PlanError(
                    f"The access {self.label!r} was paid for another table: pay the plan for the "
                    "table it is carried out on."
                )
            self._used = True
            self.grant._openings[self.label] += 1
            self.grant._noise.add(noise.current_source())

    def note_noise(self, source: noise.NoiseSource) -> None:
        """Remember where noise came from that was drawn before a restart."""
        self.grant.note_noise(source)

    def __reduce__(self) -> NoReturn:
        raise PlanError("A ticket belongs to the process that paid for it.")


class Grant:
    """The accesses that one ledger entry has paid for, and how many of them were used.

    ``unit`` says who is protected, where it is not whom the schema names (a whole client).
    """

    def __init__(
        self,
        plan: Plan,
        entry: Entry,
        ledger: Ledger,
        table: PrivateTable,
        unit: str | None = None,
    ) -> None:
        self.plan = plan
        self.entry = entry
        self.relation = ledger.relation
        self.dataset = ledger.dataset
        self.unit = unit or str(table.schema.privacy_unit)
        self.table_notes = table.notes
        self._token = table.token
        self._taken = dict.fromkeys((step.label for step in plan), 0)
        self._openings = dict.fromkeys((step.label for step in plan), 0)
        self._noise: set[noise.NoiseSource] = set()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def take(self, label: str, *, again: bool = False) -> Ticket:
        """One access of the step ``label``; refuses more than the plan announced.

        ``again``: instead of one that was taken, and of which nothing was released.
        """
        self._check_process()
        event = self.plan[label]
        with self._lock:
            if again:
                return Ticket(self, label, event)
            if self._taken[label] >= event.count:
                raise PlanError(
                    f"The plan announced {event.count} accesses for {label!r} and all are taken: "
                    "announce more before the first one."
                )
            self._taken[label] += 1
        return Ticket(self, label, event)

    def resume(self, used: Mapping[str, int]) -> None:
        """Count accesses, by step, that were used before a restart."""
        with self._lock:
            for label, count in used.items():
                self._taken[label] += count
                self._openings[label] += count

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise PlanError(
                "A grant belongs to the process that paid for it: pay another plan in the "
                "forked process."
            )

    def note_noise(self, source: noise.NoiseSource) -> None:
        """Remember where noise came from that was drawn before a restart."""
        with self._lock:
            self._noise.add(source)

    @property
    def openings(self) -> dict[str, int]:
        """How often the vault was opened, by step."""
        with self._lock:
            return dict(self._openings)

    @property
    def noise(self) -> noise.NoiseSource:
        """Where the noise of all accesses came from; one fixed seed spoils the whole."""
        with self._lock:
            fixed = noise.NoiseSource.FIXED in self._noise
        return noise.NoiseSource.FIXED if fixed else noise.NoiseSource.SYSTEM

    def __reduce__(self) -> NoReturn:
        raise PlanError("A grant belongs to the process that paid for it.")
