"""Search for changes that give a wanted answer, from any model: few columns first, then short ways.

Candidates are changes of one column to usual values, then of the most promising ones together with
others, and rows of a population whose answer is wanted. What suffices is cut back: changes that are
not needed are taken back (all subsets of up to six are tried), numbers move towards the asked value
as far as the answer holds. The model is asked in batches, a bounded number of rows. By hand: the
libraries for this (DiCE, Alibi) search in the training rows, which stay behind the vault here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from voile.explain.counterfactuals.actions import Actions
from voile.explain.counterfactuals.goals import Goal
from voile.explain.counterfactuals.ruler import Ruler
from voile.explain.counterfactuals.steps import Steps

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

MOST_ASKED = 12_000
"""Rows about which the model is asked for one row, at most."""

_BEAM, _TRIED, _DEPTH, _LENT = 8, 150, 4, 400
"""Unfinished rows that are carried on, changes tried on each, changes that are tried together
before others lend theirs, and how many of these."""

_POINTS, _ROUNDS = 15, 3
"""Values tried between two at a time, and how often that is made finer."""

_ALMOST = 1e-6
"""How far from what is wanted a row counts that has it, and not certainly enough."""

_SUBSETS = 6
"""Up to so many changes, all of their subsets are tried."""

_KEPT = 4
"""Rows that are refined for each suggestion that is wanted."""


@dataclass(eq=False)
class Puzzle:
    """One row, what may change in it, and what is wanted.

    Attributes
    ----------
    actions : Actions
        What may change; columns here are those.
    start : ndarray of shape (columns,)
        Their encoded values; NaN for a missing number.
    options : tuple of ndarray
        For each column, values that are tried.
    steps : tuple of Steps or None
        For each column with an order, values that may be suggested.
    others : ndarray of shape (rows, columns)
        Rows of a population, the most promising first, in these columns; may be empty.
    ruler : Ruler
    goal : Goal
    ask : callable
        From rows of shape (rows, columns) to answers of shape (rows, answers).
    certainty : callable, or None
        From the same to how certain it is that each row has what is wanted: by how many standard
        errors of its score it passes it, or the share of rows that hardly differ that have it, too.
    sure : float
        How certain it must be; 0 if that does not matter.
    """

    actions: Actions
    start: Floats
    options: tuple[Floats, ...]
    steps: tuple[Steps | None, ...]
    others: Floats
    ruler: Ruler
    goal: Goal
    ask: Callable[[Floats], Floats]
    certainty: Callable[[Floats], Floats] | None = None
    sure: float = 0.0
    asked: int = field(default=0, init=False)
    best: Floats | None = field(default=None, init=False)
    """The row that came nearest to what is wanted, whether it reached it or not."""
    least: float = field(default=np.inf, init=False)
    """How far that is from it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that may change."""
        return self.actions.columns

    def changed(self, rows: Floats) -> Truths:
        """Which columns differ from the asked row's, shape (rows, columns)."""
        return np.asarray(~((rows == self.start) | (np.isnan(rows) & np.isnan(self.start))))

    def costs(self, rows: Floats) -> Floats:
        """What the changes of each row cost."""
        total = np.zeros(len(rows))
        for j, name in enumerate(self.names):
            total += self.ruler.cost(name, float(self.start[j]), rows[:, j])
        return total

    def shortfalls(self, rows: Floats) -> Floats:
        """Ask about rows: how far each is from what is wanted; below 0 where it is reached."""
        if not len(rows):
            return np.zeros(0)
        self.asked += len(rows)
        answers = self.ask(rows)
        met, short = self.goal.is_met(answers), np.maximum(self.goal.shortfall(answers), 0.0)
        found = np.where(met, -1.0, short)
        if self.certainty is not None and self.sure > 0 and met.any():
            lacking = self.sure - self.certainty(rows[met])
            found[met] = np.where(lacking <= 0, -1.0, _ALMOST * np.minimum(lacking, self.sure))
        order = np.lexsort((self.changed(rows).sum(axis=1), found))
        if found[order[0]] < self.least:
            self.least, self.best = float(found[order[0]]), rows[order[0]].copy()
        return found

    def reached(self, rows: Floats) -> Truths:
        """Ask about rows: which reach what is wanted."""
        return np.asarray(self.shortfalls(rows) < 0)


def solve(puzzle: Puzzle, most: int) -> Floats:
    """Rows that reach what is wanted, of different columns, the fewest and smallest changes first.

    Returns
    -------
    ndarray of shape (found, columns)
        Not more than four times ``most``; empty if nothing was found.
    """
    pool = _collect(puzzle, most)
    if not len(pool):
        return pool
    rows = _take_back(puzzle, _best_of_sets(puzzle, pool)[: _KEPT * most])
    rows = _move_back(puzzle, _best_of_sets(puzzle, rows))
    rows = _take_back(puzzle, rows)
    return _worthwhile(puzzle, _best_of_sets(puzzle, rows))


# -- candidates ----------------------------------------------------------------------------------


def _collect(puzzle: Puzzle, most: int) -> Floats:
    """Rows that reach what is wanted, whatever they change."""
    singles = _singles(puzzle)
    falls = puzzle.shortfalls(singles)
    pool = [singles[falls < 0]]
    order = np.argsort(falls, kind="stable")
    steps = singles[order[falls[order] >= 0]][:_TRIED]
    beam = _spread_beam(puzzle, steps, np.sort(falls[falls >= 0])[: len(steps)])
    for _ in range(_DEPTH - 1):
        if not _is_enough(puzzle, pool, most):
            beam = _extend(puzzle, beam, steps, pool)
    # Columns that help only together are seen in rows that have them together: the least costly of
    # them, and all if nothing was found so far.
    for others in (puzzle.others[:_LENT], puzzle.others[_LENT:]):
        if any(map(len, pool)) and (len(others) > _LENT or _is_enough(puzzle, pool, most)):
            break
        if len(others):
            falls = puzzle.shortfalls(others)
            pool.append(others[falls < 0])
            left = np.flatnonzero(falls >= 0)
            beam = np.concatenate([beam, _spread_beam(puzzle, others[left], falls[left])])
        least = np.inf
        # More than a few changes are looked for only if fewer do not suffice.
        while not any(map(len, pool)) and puzzle.least < least and puzzle.asked < MOST_ASKED:
            least = puzzle.least
            beam = _extend(puzzle, beam, steps, pool)
    return np.concatenate(pool)


def _singles(puzzle: Puzzle) -> Floats:
    rows = []
    for j, values in enumerate(puzzle.options):
        some = np.tile(puzzle.start, (len(values), 1))
        some[:, j] = values
        rows.append(some)
    return np.concatenate(rows) if rows else np.zeros((0, len(puzzle.start)))


def _extend(puzzle: Puzzle, beam: Floats, steps: Floats, pool: list[Floats]) -> Floats:
    """Try every single change on every row of the beam, also of a column changed before.

    What suffices goes into the pool; the most promising of the rest are the next beam.
    """
    if not len(beam):
        return beam
    made = puzzle.changed(steps)
    rows = np.unique(np.concatenate([np.where(made, steps, row) for row in beam]), axis=0)
    falls = puzzle.shortfalls(rows)
    pool.append(rows[falls < 0])
    left = np.flatnonzero(falls >= 0)
    return _spread_beam(puzzle, rows[left], falls[left])


def _spread_beam(puzzle: Puzzle, rows: Floats, falls: Floats) -> Floats:
    """The most promising rows, not more than two that change the same columns."""
    seen: dict[bytes, int] = {}
    kept = []
    for i in np.argsort(falls, kind="stable"):
        key = puzzle.changed(rows[i : i + 1]).tobytes()
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= 2:
            kept.append(i)
        if len(kept) == _BEAM:
            break
    return np.asarray(rows[kept])


def _is_enough(puzzle: Puzzle, pool: list[Floats], most: int) -> bool:
    rows = np.concatenate(pool)
    return len(np.unique(puzzle.changed(rows), axis=0)) >= most if len(rows) else False


# -- cutting back --------------------------------------------------------------------------------


def _take_back(puzzle: Puzzle, rows: Floats) -> Floats:
    """The same rows without changes that are not needed: no subset of them suffices."""
    rows = _drop_singly(puzzle, rows)
    tried, owners = [], []
    for i, row in enumerate(rows):
        places = np.flatnonzero(puzzle.changed(row[None])[0])
        for count in range(1, len(places)):
            for kept in combinations(places, count):
                some = puzzle.start.copy()
                some[list(kept)] = row[list(kept)]
                tried.append(some)
                owners.append(i)
    if not tried:
        return rows
    subsets, owner = np.array(tried), np.array(owners)
    good = puzzle.reached(subsets)
    sizes, costs = puzzle.changed(subsets).sum(axis=1), puzzle.costs(subsets)
    result = rows.copy()
    for i in range(len(rows)):
        here = np.flatnonzero(good & (owner == i))
        if len(here):
            result[i] = subsets[here[np.lexsort((costs[here], sizes[here]))[0]]]
    return result


def _drop_singly(puzzle: Puzzle, rows: Floats) -> Floats:
    """Take changes back one by one where there are too many to try all subsets."""
    rows = rows.copy()
    while True:
        many = np.flatnonzero(puzzle.changed(rows).sum(axis=1) > _SUBSETS)
        tried, owners = [], []
        for i in many:
            for j in np.flatnonzero(puzzle.changed(rows[i : i + 1])[0]):
                some = rows[i].copy()
                some[j] = puzzle.start[j]
                tried.append(some)
                owners.append(i)
        if not tried or puzzle.asked > 4 * MOST_ASKED:
            break
        less, owner = np.array(tried), np.array(owners)
        good = puzzle.reached(less)
        if not good.any():
            break
        costs = puzzle.costs(less)
        for i in many:
            here = np.flatnonzero(good & (owner == i))
            if len(here):
                rows[i] = less[here[np.argmin(costs[here])]]
    # What cannot be cut down to a few changes is no suggestion that anybody could follow.
    return np.asarray(rows[puzzle.changed(rows).sum(axis=1) <= _SUBSETS])


def _move_back(puzzle: Puzzle, rows: Floats) -> Floats:
    """Move numbers towards the asked value, as far as what is wanted holds; all rows in step."""
    rows = rows.copy()
    orders = []
    for i, row in enumerate(rows):
        places = [
            int(j)
            for j in np.flatnonzero(puzzle.changed(row[None])[0])
            if puzzle.steps[j] is not None and not np.isnan(puzzle.start[j])
        ]
        sizes = [
            float(puzzle.ruler.cost(puzzle.names[j], puzzle.start[j], row[j : j + 1])[0])
            for j in places
        ]
        orders.append([(i, j) for _, j in sorted(zip(sizes, places, strict=True), reverse=True)])
    for turn in range(max(map(len, orders), default=0)):
        at = {i: j for order in orders if len(order) > turn for i, j in [order[turn]]}
        fails = {i: float(puzzle.start[j]) for i, j in at.items()}
        for _ in range(_ROUNDS):
            tried, owners = [], []
            for i, j in at.items():
                steps = puzzle.steps[j]
                assert steps is not None
                for value in steps.between(fails[i], float(rows[i, j]), _POINTS):
                    some = rows[i].copy()
                    some[j] = value
                    tried.append(some)
                    owners.append(i)
            if not tried:
                break
            good = puzzle.reached(np.array(tried))
            for i, j in at.items():
                mine = [k for k, owner in enumerate(owners) if owner == i]
                first = next((k for k in mine if good[k]), None)
                before = mine if first is None else mine[: mine.index(first)]
                fails[i] = tried[before[-1]][j] if before else fails[i]
                if first is not None:
                    rows[i] = tried[first]
    return rows


# -- choosing ------------------------------------------------------------------------------------


def _best_of_sets(puzzle: Puzzle, rows: Floats) -> Floats:
    """The cheapest row of each set of changed columns, the fewest changes first."""
    if not len(rows):
        return rows
    order = np.lexsort((puzzle.costs(rows), puzzle.changed(rows).sum(axis=1)))
    _, first = np.unique(puzzle.changed(rows)[order], axis=0, return_index=True)
    return np.asarray(rows[order[np.sort(first)]])


def _worthwhile(puzzle: Puzzle, rows: Floats) -> Floats:
    """Rows whose changed columns do not contain all those of an earlier row; last, cheaper ones."""
    kept: list[int] = []
    cheaper: list[int] = []
    sets, costs = puzzle.changed(rows), puzzle.costs(rows)
    for i, own in enumerate(sets):
        within = [k for k in (*kept, *cheaper) if (sets[k] <= own).all()]
        if not within:
            kept.append(i)
        elif costs[i] < min(costs[within]):
            cheaper.append(i)
    return np.asarray(rows[kept + cheaper])
