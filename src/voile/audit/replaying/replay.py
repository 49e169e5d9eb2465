"""Replay: record all releases of a run, hand them out again on a neighbour, compare the totals.

Deterministic: nothing is estimated, and nothing that the code says of itself is believed where it
can be seen. Proof: docs/proofs/replay.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from voile.audit.replaying.claims import judge_budget, judge_ledger, judge_receipts
from voile.audit.replaying.judging import judge_alone, judge_coins, judge_freshness, judge_pair
from voile.audit.replaying.outcomes import Outcome, watch_run
from voile.audit.replaying.record import Replay, ReplayedAccess, Violation
from voile.audit.replaying.releases import Releases
from voile.errors import SettingError
from voile.privacy import noise
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.ledger import Ledger
from voile.privacy.tape import Tape, listen

_NAMES = re.compile(r"'[0-9a-f]{32,128}'|'\d{4}-\d\d-\d\dT[\d:.+Z]+'")
_TIMES = re.compile(r"\.(seconds|duration|elapsed)$")
_MOST_PATHS = 5


def replay(
    run: Callable[[Any, Ledger], Any],
    table: Any,
    *neighbours: Any,
    budget: Budget | None = None,
    relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE,
    filter: str = "gdp",
    name: str = "",
    both_ways: bool = True,
    seed: int = 0,
) -> Replay:
    """Look for violations of a guarantee in one run, on one table and its neighbours.

    Parameters
    ----------
    run : callable
        ``run(table, ledger)`` does something private with a table, pays from the ledger, and
        returns all that leaves: a model, a receipt, an explanation, several of them. Public choices
        must have a seed (``random_state=0``).
    table : object
        As ``run`` takes it.
    *neighbours : object
        Each differs from ``table`` in one privacy unit: removed, added, or replaced.
    budget : Budget, optional
        Of the ledger that every run gets; (1, 1e-6) if none is given.
    relation : {"add_remove", "replace_one"}
    filter : {"gdp", "renyi", "pure"}
        Of the ledger.
    name : str
        For the record.
    both_ways : bool
        Record on every neighbour, too, and replay on ``table``.
    seed : int
        Of the noise: an audited run has no guarantee, and its receipts say so.

    Returns
    -------
    Replay

    Examples
    --------
    >>> import numpy as np
    >>> from voile import Budget, Number, Schema, audit, summarize
    >>> ages = np.array([[31.0], [47.0], [62.0], [80.0]])
    >>> schema = Schema({"age": Number(0, 120)})
    >>> def run(rows, ledger):
    ...     return summarize(rows, epsilon=1, schema=schema, ledger=ledger)
    >>> audit.replay(run, ages, ages[1:], budget=Budget(1, 1e-6)).verdict
    'nothing found'
    """
    budget = Budget(1.0, 1e-6) if budget is None else budget
    job = _ReplayJob(budget, NeighbouringRelation(relation), filter, run, None)
    title = name or getattr(run, "__name__", "run")
    return _replay(job, title, table, neighbours, both_ways, seed)


def replay_mechanism(
    mechanism: Callable[[Any, Releases], Any],
    table: Any,
    *neighbours: Any,
    claim: Budget,
    relation: NeighbouringRelation | str = NeighbouringRelation.ADD_REMOVE,
    name: str = "",
    both_ways: bool = True,
    seed: int = 0,
) -> Replay:
    """The same for a mechanism that has nothing to do with Voile.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(table, releases)`` releases through the methods of ``releases``, which add the
        noise, and returns all that leaves.
    table, *neighbours : object
        As for `replay`.
    claim : Budget
        The guarantee that is claimed of all releases together.
    relation, name, both_ways, seed
        As for `replay`.

    Returns
    -------
    Replay
    """
    job = _ReplayJob(claim, NeighbouringRelation(relation), "gdp", None, mechanism)
    title = name or getattr(mechanism, "__name__", "mechanism")
    return _replay(job, title, table, neighbours, both_ways, seed)


@dataclass(frozen=True, eq=False)
class _ReplayJob:
    budget: Budget
    relation: NeighbouringRelation
    filter: str
    run: Callable[[Any, Ledger], Any] | None
    mechanism: Callable[[Any, Releases], Any] | None

    def carry_out(self, table: Any, seed: int, script: Tape | None = None) -> _Done:
        tape = Tape(script)
        with noise.fixed_noise(seed), listen(tape):
            if self.run is not None:
                run = self.run
                ledger = Ledger(self.budget, relation=self.relation, filter=self.filter)
                return _Done(tape, watch_run(lambda: run(table, ledger), ledger), ledger)
            mechanism = self.mechanism
            assert mechanism is not None
            releases = Releases(tape, self.relation)
            return _Done(tape, watch_run(lambda: mechanism(table, releases), None), None)


@dataclass(frozen=True, eq=False)
class _Done:
    tape: Tape
    outcome: Outcome
    ledger: Ledger | None

    def judge(self) -> list[Violation]:
        found = [*judge_alone(self.tape), *judge_coins(self.tape)]
        if self.ledger is not None:
            found += judge_ledger(self.tape, self.ledger)
            found += judge_receipts(self.tape, self.outcome.receipts)
        return found


@dataclass
class _Found:
    """Lines and violations, gathered over the neighbours; each violation once."""

    lines: list[ReplayedAccess] = field(default_factory=list)
    violations: dict[tuple[str, str], Violation] = field(default_factory=dict)

    def add(self, violations: list[Violation]) -> None:
        for one in violations:
            self.violations.setdefault((one.kind, one.where), one)

    def compare(self, before: _Done, after: _Done, same: set[str]) -> None:
        lines, violations = judge_pair(before.tape, after.tape)
        joined = [a.joined(b) for a, b in zip(self.lines, lines, strict=False)]
        longer = max(self.lines, lines, key=len)
        self.lines = [*joined, *longer[len(joined) :]]
        self.add(violations)
        paths = sorted(before.outcome.unlike(after.outcome) - same)
        self.add(
            [
                Violation("output", path, "not the same on both tables, with the same releases")
                for path in paths[:_MOST_PATHS]
            ]
        )


def _replay(
    job: _ReplayJob, title: str, table: Any, neighbours: tuple[Any, ...], both_ways: bool, seed: int
) -> Replay:
    if not neighbours:
        raise SettingError("A replay needs a neighbour: give a table that lacks one row, or so.")
    first = job.carry_out(table, seed)
    again = job.carry_out(table, seed + 1, first.tape)
    found = _Found()
    found.add(first.judge())
    recorded = [first.tape]
    same = first.outcome.unlike(again.outcome)
    found.add(_unrepeatable(first, again, same))
    for neighbour in neighbours:
        other = job.carry_out(neighbour, seed + 2, first.tape)
        found.add(other.judge())
        found.compare(first, other, same)
        if not both_ways:
            continue
        begun = job.carry_out(neighbour, seed + 3 + len(recorded))
        recorded.append(begun.tape)
        found.add(begun.judge())
        back = job.carry_out(table, seed + 2, begun.tape)
        found.compare(begun, back, same)
    found.add(list(judge_freshness(recorded)))
    least, over = judge_budget(first.tape, job.budget, job.relation)
    found.add(over)
    return Replay(
        name=title,
        neighbours=len(neighbours),
        relation=str(job.relation),
        accesses=tuple(found.lines),
        violations=tuple(found.violations.values()),
        epsilon=least,
        delta=job.budget.delta,
        claimed=job.budget.epsilon,
        outcome=first.outcome.failure,
    )


def _unrepeatable(first: _Done, again: _Done, paths: set[str]) -> list[Violation]:
    """The same table and releases must give the same; names of entries and times may vary."""
    lines, violations = judge_pair(first.tape, again.tape)
    moved = [line.label for line in lines if line.moved != 0]
    found = [
        Violation("repeatable", at, "it varies with the same table and releases")
        for at in [*(one.where for one in violations), *moved]
    ]
    mine, theirs = first.outcome.leaves, again.outcome.leaves
    for path in sorted(paths):
        a, b = mine.get(path, ""), theirs.get(path, "")
        if _TIMES.search(path) or (_NAMES.fullmatch(a) and _NAMES.fullmatch(b)):
            continue
        text = "varies with the same table and releases: give public choices a seed"
        found.append(Violation("repeatable", path, text))
    return found[:_MOST_PATHS]
