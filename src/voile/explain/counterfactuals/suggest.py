"""From asked rows to suggestions: what all kinds of models share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from voile.explain.counterfactuals.actions import Actions, has_order
from voile.explain.counterfactuals.goals import Goal, ModelAnswers, read_goal
from voile.explain.counterfactuals.record import ColumnChange, RowSuggestions, Suggestion
from voile.explain.counterfactuals.ruler import Ruler
from voile.explain.counterfactuals.search import Puzzle, solve
from voile.explain.counterfactuals.steps import Steps, plain_value, steps_of, value_text
from voile.explain.counterfactuals.text import STEADY
from voile.explain.counterfactuals.usual import Others
from voile.explain.given_values import Texts
from voile.models.verdict import CLEAR_LEVEL, allow_for_many, judge
from voile.schema import Category, Schema

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

_QUANTILES = np.array([0.5, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99.5]) / 100
_MOST_LEVELS = 30
_SEEN = 1e-3
"""Share of others from which on a level is suggested."""

_HYBRIDS = 4_000
"""Rows of a population that may be tried, the most promising."""


@dataclass(frozen=True, eq=False)
class Solved:
    """What a solver found for one row, in the columns that may change.

    Attributes
    ----------
    rows : ndarray of shape (found, columns)
        Rows that reach what is wanted.
    exact : tuple of bool
        Of each, whether it is proven that nothing smaller does.
    nearest : ndarray of shape (columns,), or None
        What came nearest where nothing reaches it.
    impossible : bool
        Whether it is proven that nothing does.
    """

    rows: Floats
    exact: tuple[bool, ...] = ()
    nearest: Floats | None = None
    impossible: bool = False


class Solver(Protocol):
    """Finds rows that reach what is wanted."""

    def __call__(self, puzzle: Puzzle, row: Mapping[str, float], most: int) -> Solved:
        """Solve one puzzle; ``row`` holds all of its columns."""


def search_row(puzzle: Puzzle, row: Mapping[str, float], most: int) -> Solved:
    """The solver for any model: a search."""
    rows = solve(puzzle, most)
    return Solved(rows, nearest=None if len(rows) else puzzle.best)


@dataclass(frozen=True, eq=False)
class AskedModel:
    """A model that is asked what would have to change, with all that the answer needs.

    Attributes
    ----------
    schema : Schema
        Complete, without a privacy unit.
    answers : ModelAnswers
    ask : callable
        From encoded columns and their number of rows to answers, shape (rows, answers).
    actions : Actions
    ruler : Ruler
    others : Others or None
        Rows by which it is judged how usual a row is.
    known : ndarray of shape (rows, answers), or None
        What the model says of these.
    solver : Solver
    usual : callable, or None
        From encoded values of a row and the names of its changed columns to how usual it is, where
        there are no others.
    doubt : callable, or None
        From encoded columns, their number of rows and a goal to by how many standard errors of its
        score each row passes what is wanted.
    sure : bool
        Whether only rows that pass it clearly are suggested; without a doubt those of which rows
        that hardly differ pass it, too.
    """

    schema: Schema
    answers: ModelAnswers
    ask: Callable[[Columns, int], Floats]
    actions: Actions
    ruler: Ruler
    others: Others | None = None
    known: Floats | None = None
    solver: Solver = search_row
    usual: Callable[[Mapping[str, float], tuple[str, ...]], float] | None = None
    doubt: Callable[[Columns, int, Goal], Floats] | None = None
    sure: bool = False

    def suggest(
        self,
        columns: Columns,
        texts: tuple[Texts, Texts],
        want: object,
        progress: Callable[[int], object] = lambda done: None,
    ) -> tuple[RowSuggestions, ...]:
        """Suggestions for encoded rows.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
        texts : pair of tuples
            The rows as given, and how they were read.
        want : object
            See `read_goal`.
        progress : callable
            Told how many rows are done.
        """
        rows = len(texts[0])
        values = self.ask(columns, rows) if rows else np.zeros((0, len(self.answers.names)))
        # What is wrong with a wish is said before anything is searched.
        goals = [read_goal(want, self.answers, values[i : i + 1]) for i in range(rows)]
        result = []
        for i, goal in enumerate(goals):
            row = {name: float(columns[name][i]) for name in self.schema}
            told = self._suggest_row(row, values[i : i + 1], goal)
            result.append(replace(told, given=texts[0][i], read_as=texts[1][i]))
            progress(i + 1)
        return tuple(result)

    def _suggest_row(self, row: dict[str, float], values: Floats, goal: Goal) -> RowSuggestions:
        low, high = goal.low, goal.high
        if goal.kind == "class" and len(goal.answers.names) == 2:
            low = 0.5 if goal.answers.unit == "probability" else 0.0
        asked = RowSuggestions(
            given=(),
            read_as=(),
            wanted=goal.wanted,
            told=goal.told,
            low=low,
            high=high,
            before=float(goal.number(values)[0]),
            predicted=self.answers.predict(values)[0],
            already=goal.is_met_already(values),
        )
        asked = replace(asked, steady=self._steady([row], goal, met=asked.already)[0])
        puzzle = self._puzzle(row, goal)
        if asked.already and (not self.sure or puzzle.reached(puzzle.start[None])[0]):
            return asked
        found = self.solver(puzzle, row, self.actions.most)
        told = self._tell(puzzle, row, found.rows, found.exact)
        # What is unusual, or hardly occurs together, comes last.
        order = sorted(range(len(told)), key=lambda k: (told[k].odd, k))
        order = order[: self.actions.most]
        nearest = None
        if not order and found.nearest is not None:
            near = goal.shortfall(puzzle.ask(found.nearest[None]))[0]
            if near < goal.shortfall(values)[0]:
                nearest = self._tell(puzzle, row, found.nearest[None])[0]
        return replace(
            asked,
            suggestions=self._judge(row, goal, [told[k] for k in order], found.rows[order]),
            nearest=nearest,
            impossible=found.impossible,
        )

    # -- puzzles ---------------------------------------------------------------------------------

    def _puzzle(self, row: Mapping[str, float], goal: Goal) -> Puzzle:
        names = self.actions.columns
        start = np.array([row[name] for name in names])
        steps = tuple(self._steps(name) for name in names)
        options = tuple(
            self._options(name, one, float(row[name]))
            for name, one in zip(names, steps, strict=True)
        )

        def ask(rows: Floats) -> Floats:
            return self.ask(self._fill(row, rows), len(rows))

        def certainty(rows: Floats) -> Floats:
            columns = self._fill(row, rows)
            if self.doubt is not None:
                return self.doubt(columns, len(rows), goal)
            whole = [
                {name: float(values[k]) for name, values in columns.items()}
                for k in range(len(rows))
            ]
            return np.nan_to_num(self._steady(whole, goal, met=True), nan=1.0)

        # All suggestions of a row are judged together.
        needed = STEADY if self.doubt is None else norm.isf(CLEAR_LEVEL / self.actions.most)
        return Puzzle(
            self.actions,
            start,
            options,
            steps,
            self._hybrids(names, start, steps, goal),
            self.ruler,
            goal,
            ask,
            certainty=certainty,
            sure=float(needed) if self.sure else 0.0,
        )

    def _fill(self, row: Mapping[str, float], rows: Floats) -> dict[str, NDArray[Any]]:
        """Whole rows, encoded, of rows in the columns that may change."""
        result: dict[str, NDArray[Any]] = {}
        places = {name: j for j, name in enumerate(self.actions.columns)}
        for name, column in self.schema.items():
            values = rows[:, places[name]] if name in places else np.full(len(rows), row[name])
            is_level = isinstance(column, Category)
            result[name] = values.astype(np.int32) if is_level else np.array(values)
        return result

    def _steps(self, name: str) -> Steps | None:
        column = self.schema[name]
        if not has_order(column):
            return None
        if isinstance(column, Category) or self.others is None:
            return steps_of(column)
        return steps_of(column, self.others.spreads[name])

    def _options(self, name: str, steps: Steps | None, start: float) -> Floats:
        column, others = self.schema[name], self.others
        if isinstance(column, Category):
            count = len(column.levels or ())
            values = np.arange(float(count))
            if others is not None:
                codes = np.minimum(np.asarray(others.columns[name], dtype=np.int64), count)
                shares = np.bincount(codes, others.weights, minlength=count + 1)[:count]
                values = np.argsort(-shares, kind="stable").astype(np.float64)
                values = values[shares[values.astype(np.int64)] >= _SEEN]
            values = values[:_MOST_LEVELS]
        elif steps is not None:
            knots, places = self.ruler.knots[name]
            values = np.unique(steps.snap(np.interp(_QUANTILES, places, knots)))
        values = values[values != start]
        return np.asarray(values[self.actions.admit(name, start, values)])

    def _hybrids(
        self, names: tuple[str, ...], start: Floats, steps: tuple[Steps | None, ...], goal: Goal
    ) -> Floats:
        """The asked row with the changeable columns of others, the least costly changes first."""
        if self.others is None or self.known is None:
            return np.zeros((0, len(names)))
        promising = np.argsort(np.maximum(goal.shortfall(self.known), 0.0), kind="stable")
        promising = promising[:_HYBRIDS]
        rows = np.empty((len(promising), len(names)))
        costs = np.zeros(len(promising))
        for j, name in enumerate(names):
            column = self.schema[name]
            values = np.asarray(self.others.columns[name], dtype=np.float64)[promising]
            one = steps[j]
            if isinstance(column, Category):
                unlisted = values >= len(column.levels or ())
            else:
                assert one is not None
                unlisted, values = np.isnan(values), one.snap(values)
            stays = unlisted | ~self.actions.admit(name, float(start[j]), values)
            rows[:, j] = np.where(stays, start[j], values)
            costs += self.ruler.cost(name, float(start[j]), rows[:, j])
        return np.asarray(rows[np.argsort(costs, kind="stable")])

    # -- telling ---------------------------------------------------------------------------------

    def _tell(
        self,
        puzzle: Puzzle,
        row: Mapping[str, float],
        rows: Floats,
        exact: tuple[bool, ...] = (),
    ) -> list[Suggestion]:
        if not len(rows):
            return []
        answers = puzzle.ask(rows)
        after, predicted = puzzle.goal.number(answers), self.answers.predict(answers)
        result = []
        whole = [{**row, **dict(zip(puzzle.names, one.tolist(), strict=True))} for one in rows]
        steady = self._steady(whole, puzzle.goal, met=True)
        for k, values in enumerate(rows):
            changes = tuple(
                self._change(name, float(puzzle.start[j]), float(values[j]))
                for j, name in enumerate(puzzle.names)
                if puzzle.changed(values[None])[0, j]
            )
            names = tuple(one.column for one in changes)
            now = whole[k]
            result.append(
                Suggestion(
                    changes=changes,
                    after=float(after[k]),
                    predicted=predicted[k],
                    usual=self._usual(now, names),
                    was_usual=self._usual(row, names),
                    steady=steady[k],
                    seldom=() if self.others is None else self.others.seldom(now, names),
                    exact=bool(exact) and exact[k],
                )
            )
        return result

    def _steady(self, rows: list[dict[str, float]], goal: Goal, *, met: bool) -> list[float]:
        """Share of rows that hardly differ from each and have the same answer; NaN if not known.

        Of a model that knows the errors of its scores these say more.
        """
        if self.others is None or self.doubt is not None:
            return [math.nan] * len(rows)
        near = [self.others.near(row) for row in rows]
        count = near[0][1]
        if not count:
            return [math.nan] * len(rows)
        columns = {name: np.concatenate([one[name] for one, _ in near]) for name in self.schema}
        same = goal.is_met(self.ask(columns, count * len(rows))) == met
        return [float(share) for share in same.reshape(len(rows), count).mean(axis=1)]

    def _change(self, name: str, start: float, value: float) -> ColumnChange:
        column = self.schema[name]
        return ColumnChange(
            column=name,
            before=value_text(start, column),
            after=value_text(value, column),
            value=plain_value(value, column),
            size=float(self.ruler.size(name, start, np.array([value]))[0]),
            passes=name in self.ruler.knots and not math.isnan(start),
        )

    def _usual(self, row: Mapping[str, float], changed: tuple[str, ...]) -> float:
        if self.others is not None:
            columns = {name: np.array([row[name]]) for name in self.schema}
            return float(self.others.usual(columns, 1)[0])
        return math.nan if self.usual is None else self.usual(row, changed)

    def _judge(
        self, row: Mapping[str, float], goal: Goal, told: list[Suggestion], rows: Floats
    ) -> tuple[Suggestion, ...]:
        """Whether what is wanted really holds, where the model knows its errors."""
        if self.doubt is None or not told:
            return tuple(told)
        passed = self.doubt(self._fill(row, rows), len(rows), goal)
        p_values = allow_for_many(norm.sf(passed))
        return tuple(
            one
            if math.isnan(passed[k])
            else replace(one, verdict=judge(float(p_values[k])), p_value=float(p_values[k]))
            for k, one in enumerate(told)
        )
