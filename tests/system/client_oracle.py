"""What left a client of a federation, counted against what its ledger has paid.

The oracle knows nothing of how a client keeps its record. It is told each vector that left, before
masks, and reads the ledger's entries: every look of every paid plan may have left once, with one
vector for each attempt at its sum, each attempt over one set of clients and fewer than the last.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Look:
    """One look of one paid plan of one job."""

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
    left: dict[Look, dict[int, set[tuple]]] = field(default_factory=lambda: defaultdict(dict))
    names: dict[Look, dict[int, set[frozenset]]] = field(default_factory=lambda: defaultdict(dict))
    paid: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    forgiven: set[Look] = field(default_factory=set)

    def pay(self, job: str, number: int, entry: str) -> None:
        """A client said that it has paid."""
        self.paid[job, number].add(entry)

    def leave(self, look: Look, attempt: int, values: np.ndarray, names: frozenset | None) -> None:
        """A vector left."""
        self.left[look].setdefault(attempt, set()).add(tuple(values.tolist()))
        if names is not None:
            self.names[look].setdefault(attempt, set()).add(names)

    def forgive(self) -> None:
        """All files went back to an old copy and no server told: what left since is forgotten."""
        self.forgiven.update(self.left)

    def check(self, history) -> None:
        """What left is what was paid; ``history`` are the entries of the ledger."""
        entries = {entry.id: entry for entry in history}
        answered = defaultdict(set)
        for look, attempts in self.left.items():
            paid = [entries[e] for e in self.paid[look.job, look.number] if e in entries]
            assert paid or look in self.forgiven, f"{look} was answered and not paid"
            answered[look.job, look.number, look.label].add(look.index)
            if look in self.forgiven:
                continue
            for attempt, vectors in attempts.items():
                assert len(vectors) == 1, f"{look} left with {len(vectors)} noises"
                assert attempt <= self.dropouts, f"{look} had attempt {attempt}"
                if self.trust[look.job] != "aggregator":
                    (vector,) = vectors
                    plain = [e for e in self.exact.values() if len(e) == len(vector)]
                    assert not any((np.array(vector) == e).all() for e in plain), "no noise"
            self._check_rosters(look)
        for (job, number, label), indices in answered.items():
            for entry in (entries[e] for e in self.paid[job, number] if e in entries):
                assert len(indices) <= entry.plan[label].count, "more looks than were paid"

    def _check_rosters(self, look: Look) -> None:
        before = None
        for attempt in sorted(self.names.get(look, {})):
            sets = self.names[look][attempt]
            assert len(sets) == 1, f"{look}: one attempt over {len(sets)} sets of clients"
            (now,) = sets
            assert before is None or now < before, f"{look}: a further attempt is not smaller"
            before = now
