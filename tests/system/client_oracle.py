"""What left a client of a federation, counted against what its ledger has paid.

The oracle knows nothing of how a client keeps its record. It is told each vector that left, before
masks, and reads the ledger's entries: every access of every paid plan may have left once, with one
vector for each attempt at its sum, each attempt over one set of clients and fewer than the last.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Access:
    """One access of one paid plan of one job."""

    job: str
    number: int
    label: str
    index: int


@dataclass
class Oracle:
    """Vectors that left one client.

    Attributes
    ----------
    trust : mapping of job to its trust
    dropouts : int
    exact : mapping of query's name to its exact sum
    """

    trust: dict[str, str]
    dropouts: int
    exact: dict[str, np.ndarray]
    left: dict[Access, dict[int, set[tuple]]] = field(default_factory=lambda: defaultdict(dict))
    names: dict[Access, dict[int, set[frozenset]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    paid: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    forgiven: set[Access] = field(default_factory=set)

    def pay(self, job: str, number: int, entry: str) -> None:
        """A client said that it has paid."""
        self.paid[job, number].add(entry)

    def leave(
        self, access: Access, attempt: int, values: np.ndarray, names: frozenset | None
    ) -> None:
        """A vector left."""
        self.left[access].setdefault(attempt, set()).add(tuple(values.tolist()))
        if names is not None:
            self.names[access].setdefault(attempt, set()).add(names)

    def forgive(self) -> None:
        """All files went back to an old copy and no server told: what left since is forgotten."""
        self.forgiven.update(self.left)

    def check(self, history) -> None:
        """What left is what was paid; ``history`` are the entries of the ledger."""
        entries = {entry.id: entry for entry in history}
        answered = defaultdict(set)
        for access, attempts in self.left.items():
            paid = [entries[e] for e in self.paid[access.job, access.number] if e in entries]
            assert paid or access in self.forgiven, f"{access} was answered and not paid"
            answered[access.job, access.number, access.label].add(access.index)
            if access in self.forgiven:
                continue
            for attempt, vectors in attempts.items():
                assert len(vectors) == 1, f"{access} left with {len(vectors)} noises"
                assert attempt <= self.dropouts, f"{access} had attempt {attempt}"
                if self.trust[access.job] != "aggregator":
                    (vector,) = vectors
                    plain = [e for e in self.exact.values() if len(e) == len(vector)]
                    assert not any((np.array(vector) == e).all() for e in plain), "no noise"
            self._check_rosters(access)
        for (job, number, label), indices in answered.items():
            for entry in (entries[e] for e in self.paid[job, number] if e in entries):
                assert len(indices) <= entry.plan[label].count, "more accesses than were paid"

    def _check_rosters(self, access: Access) -> None:
        before = None
        for attempt in sorted(self.names.get(access, {})):
            sets = self.names[access][attempt]
            assert len(sets) == 1, f"{access}: one attempt over {len(sets)} sets of clients"
            (now,) = sets
            assert before is None or now < before, f"{access}: a further attempt is not smaller"
            before = now
