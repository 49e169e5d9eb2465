"""The fewest and smallest changes of a row for another answer of an additive model, proven.

A programme in whole numbers (explain/counterfactuals/fewest.py) chooses values, and with them the
cells of pairs of columns, whose part is no sum of one for each; conditions that are
not linear (a probability among several classes, an error of the score that is allowed for) are
convex, and are met by planes that touch them, added one by one where a choice fails. Every plane is
a necessary condition, so what is found is the smallest (docs/proofs/counterfactuals.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.explain.counterfactuals.fewest import (
    Choices,
    PairGains,
    Picked,
    pick_fewest,
    pick_nearest,
)
from voile.explain.counterfactuals.search import Puzzle
from voile.explain.counterfactuals.suggest import Solved, search_row
from voile.explain.ebm.moves import Moves, encode, known, list_moves
from voile.explain.ebm.needs import Need, needs_of, ways_of
from voile.models.ebm.model import EBMModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_PLANES = 40


@dataclass(frozen=True, eq=False)
class _Line:
    """A condition on what is picked: the gains of it, and of cells of pairs, reach what is needed.

    Attributes
    ----------
    gains : ndarray of shape (choices,)
    cells : tuple of ndarray of shape (rows, columns)
        Of each pair.
    needed : float
    """

    gains: Floats
    cells: tuple[Floats, ...]
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
        self._model, self._puzzle, self._row = model, puzzle, row
        columns = {term.name: encode(term.column, row[term.name]) for term in model.terms}
        self._scores = model.scores(columns)[0]
        own = model.standard_errors(columns)[0]
        self._own_squared = known(base_errors) ** 2 + (known(own) ** 2).sum(axis=0)
        self._moves = list_moves(model, puzzle, row)
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
            rows.append(self._moves.row(self._puzzle, found.choices))
            sets.append(frozenset(self._moves.columns[found.choices].tolist()))
        if rows:
            return Solved(np.array(rows), exact=(proven,) * len(rows))
        if not self._settled:
            return search_row(self._puzzle, self._row, most)
        none = np.zeros((0, len(self._puzzle.start)))
        return Solved(none, nearest=self._nearest(), impossible=True)

    def _pick(self, without: Sequence[frozenset[int]]) -> Picked | None:
        """The smallest choice of all ways to what is wanted."""
        best: tuple[int, float, Picked] | None = None
        for needs in ways_of(self._model.link, self._puzzle.goal, self._scores):
            found = self._pick_way(needs, without)
            if found is not None:
                cost = float(self._moves.costs[found.choices].sum())
                size = (len(found.choices), cost)
                if best is None or size < best[:2]:
                    best = (*size, found)
        return None if best is None else best[2]

    def _pick_way(self, needs: list[Need], without: Sequence[frozenset[int]]) -> Picked | None:
        """The smallest choice that meets some conditions, and that the model confirms."""
        puzzle, moves = self._puzzle, self._moves
        lines = [self._line(need) for need in needs]
        for _ in range(_MOST_PLANES):
            found = pick_fewest(*_programme(moves, lines), without)
            if found is None:
                return None
            if not len(found.choices) and not found.proven:
                break
            if puzzle.reached(moves.row(puzzle, found.choices)[None])[0]:
                return found
            lines += self._planes(needs, found.choices)
        self._settled = False
        return None

    def _line(self, need: Need) -> _Line:
        weights, moves = need.weights[0], self._moves
        return _Line(
            moves.moves @ weights,
            tuple(pair.moves @ weights for pair in moves.pairs),
            float(need.needed[0] - weights @ self._scores),
        )

    def _planes(self, needs: list[Need], picked: Ints) -> list[_Line]:
        """Further conditions that what was picked fails, and whatever is wanted meets."""
        puzzle = self._puzzle
        if self._model.link == "softmax" and puzzle.goal.kind == "range":
            scores = self._scores + self._moves.total(picked)
            needs = needs_of(self._model.link, puzzle.goal, scores[None])
        if puzzle.sure > 0:
            return [self._sure_line(need, picked) for need in needs]
        # What fails by rounding alone must pass by a little more.
        return [
            replace(line, needed=line.needed + 1e-9 + 1e-9 * abs(line.needed))
            for line in map(self._line, needs)
        ]

    def _sure_line(self, need: Need, picked: Ints) -> _Line:
        """The lead must be so many standard errors; their length is met by a plane that touches it.

        With e the errors of the columns' and pairs' parts, ``|e| >= e' . e / |e'|`` for any other
        errors e'.
        """
        moves, line, squares = self._moves, self._line(need), need.weights[0] ** 2
        errors, own = moves.errors, moves.own_errors
        at = [(pair.errors[pair.cell(picked)], pair.errors[0, 0]) for pair in moves.pairs]
        here = squares @ self._own_squared + ((errors**2 - own**2)[picked] @ squares).sum()
        here += sum(squares @ (there**2 - before**2) for there, before in at)
        length = math.sqrt(max(float(here), 1e-300))
        # The errors at what was picked, of the column of each choice.
        touching = own.copy()
        for one in picked:
            touching[moves.columns == moves.columns[one]] = errors[one]
        slopes = ((errors - own) * touching) @ squares / length
        cells = [
            ((pair.errors - before) * there) @ squares / length
            for pair, (there, before) in zip(moves.pairs, at, strict=True)
        ]
        # At the asked row, errors times those at what was picked.
        start = squares @ self._own_squared + (((errors - own) * own)[picked] @ squares).sum()
        start += sum(squares @ ((there - before) * before) for there, before in at)
        sure = self._puzzle.sure
        return _Line(
            line.gains - sure * slopes,
            tuple(one - sure * slope for one, slope in zip(line.cells, cells, strict=True)),
            line.needed + sure * float(start) / length + 1e-9,
        )

    def _nearest(self) -> Floats | None:
        """What comes nearest where nothing reaches what is wanted."""
        least, best = math.inf, None
        for needs in ways_of(self._model.link, self._puzzle.goal, self._scores):
            found, lacking = pick_nearest(*_programme(self._moves, list(map(self._line, needs))))
            if lacking < least:
                least, best = lacking, found
        return None if best is None else self._moves.row(self._puzzle, best.choices)


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


def _programme(moves: Moves, lines: list[_Line]) -> tuple[Choices, Floats]:
    gains = np.array([line.gains for line in lines])
    pairs = tuple(
        PairGains(pair.sides, np.array([line.cells[k] for line in lines]))
        for k, pair in enumerate(moves.pairs)
    )
    return (
        Choices(moves.columns, moves.costs, gains, pairs),
        np.array([line.needed for line in lines]),
    )
