"""The fewest and smallest changes of a row for another answer of an additive model, proven.

A programme in whole numbers (explain/counterfactuals/fewest.py) chooses values; conditions that are
not linear (a probability among several classes, an error of the score that is allowed for) are
convex, and are met by planes that touch them, added one by one where a choice fails. Every plane is
a necessary condition, so what is found is the smallest (docs/proofs/counterfactuals.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.explain.counterfactuals.fewest import Choices, Picked, pick_fewest, pick_nearest
from voile.explain.counterfactuals.search import Puzzle
from voile.explain.counterfactuals.steps import steps_of
from voile.explain.counterfactuals.suggest import Solved, search_row
from voile.explain.ebm.needs import Need, needs_of, ways_of
from voile.models.ebm.model import EBMModel, Term
from voile.schema import Category

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_PLANES = 40
_LARGEST_ERROR = 1e3
"""Stands for an error that is not known."""


@dataclass(frozen=True, eq=False)
class _Options:
    """Values that columns may change to, one per bin.

    Attributes
    ----------
    columns, costs, values : ndarray of shape (choices,)
    moves : ndarray of shape (choices, outputs)
        What each adds to the scores.
    errors, own_errors : ndarray of shape (choices, outputs)
        Standard error of the column's part of the scores, with the choice and without.
    """

    columns: Ints
    costs: Floats
    values: Floats
    moves: Floats
    errors: Floats
    own_errors: Floats

    def row(self, puzzle: Puzzle, picked: Ints) -> Floats:
        """The asked row with what was picked."""
        found = puzzle.start.copy()
        found[self.columns[picked]] = self.values[picked]
        return found


@dataclass(frozen=True, eq=False)
class _Line:
    """A condition on what is picked: the gains of it reach what is needed."""

    gains: Floats
    needed: float


class SmallestChange:
    """One row of an additive model, and what is wanted of it.

    Parameters
    ----------
    model : EBMModel
    puzzle : Puzzle
    row : mapping of str to float
        Encoded values of all columns.
    base_errors : ndarray of shape (outputs,)
        Standard error of the intercept.
    """

    def __init__(
        self, model: EBMModel, puzzle: Puzzle, row: Mapping[str, float], base_errors: Floats
    ) -> None:
        self._model, self._puzzle = model, puzzle
        columns = {term.name: encode_value(term, row[term.name]) for term in model.terms}
        self._scores = model.scores(columns)[0]
        own = [term.errors[term.find_bins(columns[term.name])[0]] for term in model.terms]
        self._own_squared = _known(base_errors) ** 2 + (_known(np.array(own)) ** 2).sum(axis=0)
        self._options = _list_options(model, puzzle)
        self._settled = True

    def find(self, most: int) -> Solved:
        """The best choice, then the best ones that do not contain an earlier one."""
        rows: list[Floats] = []
        sets: list[frozenset[int]] = []
        proven = True
        while len(rows) < most:
            found = self._pick(sets)
            if found is None:
                break
            proven &= found.proven and self._settled
            rows.append(self._options.row(self._puzzle, found.choices))
            sets.append(frozenset(self._options.columns[found.choices].tolist()))
        if rows:
            return Solved(np.array(rows), exact=(proven,) * len(rows))
        none = np.zeros((0, len(self._puzzle.start)))
        return Solved(none, nearest=self._nearest(), impossible=self._settled)

    def _pick(self, without: Sequence[frozenset[int]]) -> Picked | None:
        """The smallest choice of all ways to what is wanted."""
        best: tuple[int, float, Picked] | None = None
        for needs in ways_of(self._model.link, self._puzzle.goal, self._scores):
            found = self._pick_way(needs, without)
            if found is not None:
                cost = float(self._options.costs[found.choices].sum())
                size = (len(found.choices), cost)
                if best is None or size < best[:2]:
                    best = (*size, found)
        return None if best is None else best[2]

    def _pick_way(self, needs: list[Need], without: Sequence[frozenset[int]]) -> Picked | None:
        """The smallest choice that meets some conditions, and that the model confirms."""
        puzzle, options = self._puzzle, self._options
        lines = [self._line(need) for need in needs]
        for _ in range(_MOST_PLANES):
            found = pick_fewest(*_programme(options, lines), without)
            if found is None:
                return None
            if puzzle.reached(options.row(puzzle, found.choices)[None])[0]:
                return found
            lines += self._planes(needs, found.choices)
        self._settled = False
        return None

    def _line(self, need: Need) -> _Line:
        weights = need.weights[0]
        return _Line(self._options.moves @ weights, float(need.needed[0] - weights @ self._scores))

    def _planes(self, needs: list[Need], picked: Ints) -> list[_Line]:
        """Further conditions that what was picked fails, and whatever is wanted meets."""
        puzzle = self._puzzle
        if self._model.link == "softmax" and puzzle.goal.kind == "range":
            scores = self._scores + self._options.moves[picked].sum(axis=0)
            needs = needs_of(self._model.link, puzzle.goal, scores[None])
        if puzzle.sure > 0:
            return [self._sure_line(need, picked) for need in needs]
        # What fails by rounding alone must pass by a little more.
        return [
            _Line(line.gains, line.needed + 1e-9 + 1e-9 * abs(line.needed))
            for line in map(self._line, needs)
        ]

    def _sure_line(self, need: Need, picked: Ints) -> _Line:
        """The lead must be so many standard errors; their length is met by a plane that touches it.

        With e the errors of the columns' parts, ``|e| >= e' . e / |e'|`` for any other errors e'.
        """
        options, line, squares = self._options, self._line(need), need.weights[0] ** 2
        errors, own = _known(options.errors), _known(options.own_errors)
        here = squares @ self._own_squared + ((errors**2 - own**2)[picked] @ squares).sum()
        length = math.sqrt(max(float(here), 1e-300))
        # The errors at what was picked, of the column of each choice.
        touching = own.copy()
        for one in picked:
            touching[options.columns == options.columns[one]] = errors[one]
        slopes = ((errors - own) * touching) @ squares / length
        # At the asked row, errors times those at what was picked.
        start = squares @ self._own_squared + (((errors - own) * own)[picked] @ squares).sum()
        sure = self._puzzle.sure
        needed = line.needed + sure * float(start) / length
        return _Line(line.gains - sure * slopes, needed + 1e-9)

    def _nearest(self) -> Floats | None:
        """What comes nearest where nothing reaches what is wanted."""
        least, best = math.inf, None
        for needs in ways_of(self._model.link, self._puzzle.goal, self._scores):
            found, lacking = pick_nearest(*_programme(self._options, list(map(self._line, needs))))
            if lacking < least:
                least, best = lacking, found
        return None if best is None else self._options.row(self._puzzle, best.choices)


def find_smallest(
    model: EBMModel, puzzle: Puzzle, row: Mapping[str, float], base_errors: Floats, most: int
) -> Solved:
    """The fewest and smallest changes, proven; searched for where conditions are not convex.

    Of several classes: one is improbable, or clearly of some probability, or clearly not first.
    """
    goal = puzzle.goal
    bent = (goal.kind == "range" and goal.high < math.inf) or (
        puzzle.sure > 0 and goal.kind != "class"
    )
    if model.link == "softmax" and bent:
        return search_row(puzzle, row, most)
    return SmallestChange(model, puzzle, row, base_errors).find(most)


def encode_value(term: Term, value: float) -> NDArray[Any]:
    """An encoded value as an array that the term reads."""
    if isinstance(term.column, Category):
        return np.array([value]).astype(np.int32)
    return np.array([value])


def regular(term: Term, values: Floats) -> Floats:
    """Values of bins without those for other and missing values."""
    return values[: -2 if isinstance(term.column, Category) else -1]


def _programme(options: _Options, lines: list[_Line]) -> tuple[Choices, Floats]:
    gains = np.array([line.gains for line in lines])
    return (
        Choices(options.columns, options.costs, gains),
        np.array([line.needed for line in lines]),
    )


def _list_options(model: EBMModel, puzzle: Puzzle) -> _Options:
    columns, costs, values, moves, errors, own_errors = [], [], [], [], [], []
    for j, name in enumerate(puzzle.names):
        term, start = model[name], float(puzzle.start[j])
        own = int(term.find_bins(encode_value(term, start))[0])
        some = [(b, _value_in(term, b, start, own)) for b in _seen_bins(term) if b != own]
        some = [(b, value) for b, value in some if value is not None]
        found = np.array([value for _, value in some], dtype=np.float64)
        kept = puzzle.actions.admit(name, start, found)
        places = np.array([b for b, _ in some], dtype=np.int64)[kept]
        columns.append(np.full(len(places), j, dtype=np.int64))
        values.append(found[kept])
        costs.append(np.maximum(puzzle.ruler.cost(name, start, found[kept]), 1e-9))
        moves.append(term.scores[places] - term.scores[own])
        errors.append(term.errors[places])
        own_errors.append(np.tile(term.errors[own], (len(places), 1)))
    lists = (columns, costs, values, moves, errors, own_errors)
    return _Options(*(np.concatenate(one) for one in lists))


def _seen_bins(term: Term) -> list[int]:
    """Bins in which there are rows, as far as the noise lets us tell; all if in none."""
    counts, errors = regular(term, term.counts), regular(term, term.count_errors)
    seen = np.flatnonzero((counts > 2 * errors) & (counts > 0))
    return [int(b) for b in (seen if len(seen) else np.arange(len(counts)))]


def _value_in(term: Term, place: int, start: float, own: int) -> float | None:
    """The readable value of a bin that is nearest to the present one; None if there is none."""
    if isinstance(term.column, Category):
        return float(place)
    low, high = float(term.edges[place]), float(term.edges[place + 1])
    return steps_of(term.column).inside(low, high, first=math.isnan(start) or place > own)


def _known(errors: Floats) -> Floats:
    """Errors with a large number for those that are not known."""
    return np.minimum(errors, _LARGEST_ERROR)
