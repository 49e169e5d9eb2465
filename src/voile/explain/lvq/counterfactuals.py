"""What would have to change for another class of a prototype model: one column exactly, then more.

Borders between classes are planes, so that the smallest change of one column has an exact answer
(border.py), and so has the smallest change of all numbers together, from which the search for
changes of a few columns begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SettingError
from voile.explain.counterfactuals.goals import Goal, ModelAnswers
from voile.explain.counterfactuals.own import OwnModel
from voile.explain.counterfactuals.record import Counterfactuals
from voile.explain.counterfactuals.ruler import rule_by_range
from voile.explain.counterfactuals.search import Puzzle
from voile.explain.counterfactuals.suggest import Solved, search_row
from voile.explain.lvq.border import View, find_joint_move, find_single_moves
from voile.explaining import Wish, suggests
from voile.models.lvq.model import LVQModel
from voile.schema import Category

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

METHOD = (
    "Changes of one column are exact: no smaller change of that column suffices (numbers are "
    "rounded to readable ones). Changes of several were searched for, from the smallest joint "
    "change of all numbers on: none is needless, that nothing smaller exists is not proven. The "
    "lead of a class tells how much nearer its nearest prototype is than all others, from -1 to "
    "1; above 0 the row gets the class."
)
_BEYOND = (1.0, 1.0005, 1.002, 1.01, 1.05, 1.2)
"""How far beyond the border a suggestion may lie, as a part of the way."""

_MOST_COMBINATIONS = 64
"""Combinations of levels up to which it is proven that nothing suffices."""


@suggests(LVQModel)
def suggest_changes(model: LVQModel, X: object, wish: Wish) -> Counterfactuals:
    """Tell what would have to change in rows for another class."""
    if model.image_shape is not None:
        raise SettingError(
            "What would have to change is asked of columns, and these rows are pictures: use "
            "explain_local(), which shows the nearest prototypes."
        )
    if not len(model.labels):
        raise DataError("The model has no prototypes: train it on a table with rows.")
    teller = _Prototypes(model)
    return OwnModel(
        schema=model.schema,
        receipt=model.receipt,
        answers=ModelAnswers("distance", model.classes, tuple(map(str, model.classes))),
        ask=teller.ask,
        ruler=rule_by_range(model.schema),
        method=METHOD,
        solver=teller.solve,
        doubt=teller.doubt if model.prototype_errors.any() else None,
    ).suggest(X, wish)


class _Prototypes:
    """A prototype model as counterfactuals ask it."""

    def __init__(self, model: LVQModel) -> None:
        self.model = model

    @cached_property
    def metric(self) -> Floats:
        return np.asarray(self.model.omega.T @ self.model.omega)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Coordinates of each column."""
        found: dict[str, list[int]] = {}
        for j, one in enumerate(self.model.features.each):
            found.setdefault(one.column, []).append(j)
        return found

    def ask(self, columns: Columns, rows: int) -> Floats:
        """Squared distances to the nearest prototype of each class, negative."""
        return -self.model.class_distances(self.model.points(columns))

    def doubt(self, columns: Columns, rows: int, goal: Goal) -> Floats:
        """By how many standard errors of the prototypes' noise another class is farther."""
        model, points = self.model, self.model.points(columns)
        distances = model.distances(points)
        own = model.labels == goal.place
        sides = [np.where(one, distances, np.inf).argmin(axis=1) for one in (own, ~own)]
        each = np.arange(rows)
        gap = distances[each, sides[1]] - distances[each, sides[0]]
        squared = np.zeros(rows)
        for side in sides:
            slopes = (points - model.prototypes[side]) @ self.metric
            parts = 2.0 * slopes * model.prototype_errors[side]
            squared += np.where(np.isnan(parts), np.inf, parts**2).sum(axis=1)
        lead = -gap if goal.kind == "other class" else gap
        return np.asarray(lead / np.sqrt(np.maximum(squared, 1e-300)))

    def solve(self, puzzle: Puzzle, row: Mapping[str, float], most: int) -> Solved:
        """Exact changes of one column; a search if more suggestions are wanted than there are."""
        if puzzle.sure > 0:  # the border itself is not enough
            return search_row(puzzle, row, most)
        point = self._point(row)
        rows = self._single(puzzle, point)
        exact = [True] * len(rows)
        joint, impossible = self._joint(puzzle, row)
        if len(rows) < most and not impossible:
            free = replace(puzzle, others=np.concatenate([joint, puzzle.others]))
            more = search_row(free, row, most).rows
            alone = puzzle.changed(rows).any(axis=0)
            fresh = more[~(puzzle.changed(more) & alone).any(axis=1)]
            rows, exact = np.concatenate([rows, fresh]), exact + [False] * len(fresh)
        nearest = None
        if not len(rows):
            nearest = search_row(puzzle, row, most).nearest
        return Solved(rows, exact=tuple(exact), nearest=nearest, impossible=impossible)

    def _point(self, row: Mapping[str, float]) -> Floats:
        columns = {
            name: np.array([row[name]]).astype(np.int32 if isinstance(one, Category) else float)
            for name, one in self.model.schema.items()
        }
        return np.asarray(self.model.points(columns)[0])

    def _view(self, puzzle: Puzzle, point: Floats) -> View:
        """The prototypes as the row sees them, with how far each number may move."""
        differences = point - self.model.prototypes
        slopes = differences @ self.metric
        lower, upper = np.zeros(len(point)), np.zeros(len(point))
        for name in puzzle.names:
            if not isinstance(self.model.schema[name], Category):
                j, way = self.places[name][0], puzzle.actions.directions.get(name, 0)
                lower[j] = 0.0 if way > 0 else min(-1.0 - point[j], 0.0)
                upper[j] = 0.0 if way < 0 else max(1.0 - point[j], 0.0)
        wanted = self.model.labels == puzzle.goal.place
        # What has to be passed: all that are not wanted.
        passed = wanted if puzzle.goal.kind == "other class" else ~wanted
        distances = np.maximum((differences * slopes).sum(axis=1), 0.0)
        return View(distances, slopes, passed, lower, upper)

    def _single(self, puzzle: Puzzle, point: Floats) -> Floats:
        """The smallest sufficient change of each column alone, the cheapest first."""
        moves = find_single_moves(self._view(puzzle, point)).moves
        tried: list[Floats] = []
        ranks: list[tuple[int, int]] = []
        for j, name in enumerate(puzzle.names):
            if isinstance(self.model.schema[name], Category):
                lists = [puzzle.options[j]]
            else:
                lists = self._beyond(puzzle, j, point, moves[self.places[name][0]])
            for rank, values in enumerate(lists):
                for value in values:
                    some = puzzle.start.copy()
                    some[j] = value
                    tried.append(some)
                    ranks.append((j, rank))
        rows = np.array(tried).reshape(-1, len(puzzle.start))
        good, costs = puzzle.reached(rows), puzzle.costs(rows)
        best: dict[int, tuple[int, float, int]] = {}
        for i in np.flatnonzero(good):
            j, rank = ranks[i]
            best[j] = min(best.get(j, (rank, np.inf, -1)), (rank, float(costs[i]), int(i)))
        found = sorted(i for _, _, i in best.values())
        return rows[sorted(found, key=lambda i: costs[i])]

    def _beyond(self, puzzle: Puzzle, j: int, point: Floats, move: float) -> list[Floats]:
        """Values of a number just beyond the border: readable ones, and others if these miss it."""
        steps = puzzle.steps[j]
        if math.isnan(move) or steps is None:
            return []
        place = self.places[puzzle.names[j]][0]
        moved = np.tile(point, (len(_BEYOND), 1))
        moved[:, place] = np.clip(point[place] + move * np.array(_BEYOND), -1.0, 1.0)
        exact = self.model.features.in_units(moved)[:, place]
        near = steps.snap(exact[0] + math.copysign(steps.step, move) * np.array([0.0, 0.5, 1.0]))
        return [near, steps.snap(exact), *([] if steps.unit else [exact])]

    def _joint(self, puzzle: Puzzle, row: Mapping[str, float]) -> tuple[Floats, bool]:
        """The smallest joint change of all numbers, and whether nothing at all suffices."""
        levels = [
            (name, [row[name], *puzzle.options[j]])
            for j, name in enumerate(puzzle.names)
            if isinstance(self.model.schema[name], Category)
        ]
        count = math.prod(len(values) for _, values in levels)
        found = []
        some = product(*(values for _, values in levels)) if count <= _MOST_COMBINATIONS else [()]
        for chosen in some:
            now = {**row, **dict(zip((name for name, _ in levels), chosen, strict=False))}
            point = self._point(now)
            view = self._view(puzzle, point)
            nearest = int(np.argmin(np.where(view.own, view.distances, np.inf)))
            move = None if view.own.all() else find_joint_move(view, nearest)
            if move is not None:
                found += [self._changed(puzzle, now, point, move.move * far) for far in _BEYOND]
        impossible = not found and count <= _MOST_COMBINATIONS
        return np.array(found).reshape(-1, len(puzzle.start)), impossible

    def _changed(
        self, puzzle: Puzzle, row: Mapping[str, float], point: Floats, move: Floats
    ) -> Floats:
        """A row after a move, in readable values."""
        moved = self.model.features.in_units(np.clip(point + move, -1.0, 1.0))
        values = np.array([row[name] for name in puzzle.names])
        for j, name in enumerate(puzzle.names):
            steps, place = puzzle.steps[j], self.places.get(name, [0])[0]
            if not isinstance(self.model.schema[name], Category) and move[place] != 0:
                assert steps is not None
                values[j] = steps.snap(np.array([moved[place]]))[0]
        return values
