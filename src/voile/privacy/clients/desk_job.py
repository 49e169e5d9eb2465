"""What a client's desk knows about one job: its terms, its paid plans, and its last answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import FederationError, PlanError
from voile.privacy.clients.masks import Masker, Roster
from voile.privacy.clients.questions import LookAt
from voile.privacy.clients.terms import CLIENT, Terms
from voile.privacy.events import Event, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.vault import PrivateTable
from voile.schema import Schema

_REMEMBERED = 4
"""Answers that are kept for questions that come again; a server is never further behind."""


@dataclass
class DeskJob:
    """One job while it runs."""

    name: str
    terms: Terms
    schema: Schema
    masker: Masker
    table: PrivateTable | None = None
    prepared: tuple[Any, ...] = ()
    grants: dict[int, Grant] = field(default_factory=dict)
    answered: dict[tuple[int, str], int] = field(default_factory=dict)
    answers: dict[LookAt, NDArray[np.int64]] = field(default_factory=dict)
    rosters: dict[LookAt, list[Roster]] = field(default_factory=dict)

    def event_of(self, look: LookAt, *, of_clients: bool) -> Event:
        """What was paid for a look at rows, or at the whole client."""
        grant = self.grants[look.number]  # the desk answers no look of a plan that is not paid
        event = grant.plan[look.label]
        if of_clients is not (grant.unit == CLIENT) and not isinstance(event, Unprotected):
            raise PlanError("This look was paid for rows, or for whole clients, and not for both.")
        if not 0 <= look.index < event.count:
            raise PlanError(f"The plan announced {event.count} looks for {look.label!r}.")
        return event

    def check_new(self, look: LookAt) -> None:
        """Refuse a look that was answered before and is forgotten: it would be a second one."""
        if look.index <= self.answered.get((look.number, look.label), -1):
            raise PlanError(f"The look {look.label!r} {look.index} was answered before.")

    def recall(self, look: LookAt) -> NDArray[np.int64] | None:
        """The answer that was given to the same look."""
        return self.answers.get(look)

    def remember(self, look: LookAt, values: NDArray[np.int64]) -> None:
        """Keep an answer for questions that come again."""
        self.answers[look] = values
        while len(self.answers) > _REMEMBERED:
            oldest = next(iter(self.answers))
            del self.answers[oldest]
            self.rosters.pop(oldest, None)

    def context(self, look: LookAt) -> bytes:
        """Names a look for the masks."""
        # As JSON: no two looks have the same text, whatever jobs and labels are called.
        return json.dumps([self.name, look.number, look.label, look.index]).encode()

    def check_roster(
        self, look: LookAt, roster: Roster, name: str, known: Mapping[str, bytes] | None
    ) -> None:
        """Refuse rosters from which the server could learn more than one sum of enough clients."""
        before = self.rosters.setdefault(look, [])
        if roster in before:
            return
        names = set(roster.keys)
        if not names <= set(self.terms.clients) or len(names) < self.terms.fewest:
            raise FederationError(
                "The roster has too few clients, or some that are not of the job."
            )
        if roster.keys.get(name) != self.masker.public_key:
            raise FederationError("The roster has another key for this client.")
        if known is not None and any(
            known.get(one) != key for one, key in roster.keys.items() if one != name
        ):
            raise FederationError("The roster has keys that were not agreed on beforehand.")
        if before and not names < set(before[-1].keys):
            raise FederationError("Each attempt at a sum must have fewer clients than the last.")

    def note_roster(self, look: LookAt, roster: Roster) -> None:
        """Count an attempt, once its message is made."""
        if roster not in self.rosters[look]:
            self.rosters[look].append(roster)
