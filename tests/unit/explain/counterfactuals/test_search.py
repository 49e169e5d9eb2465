"""The search for changes: few columns, short ways, nothing needless, bounded questions."""

import itertools

import numpy as np
import pytest

from voile import Category, Number, Schema
from voile.explain.counterfactuals.actions import read_actions
from voile.explain.counterfactuals.goals import ModelAnswers, read_goal
from voile.explain.counterfactuals.ruler import rule_by_range
from voile.explain.counterfactuals.search import MOST_ASKED, Puzzle, solve
from voile.explain.counterfactuals.steps import steps_of

SCHEMA = Schema(
    {
        "a": Number(0, 10),
        "b": Number(0, 10, whole=True),
        "c": Category(["x", "y", "z"]),
        "d": Number(-1, 1),
    }
)
ANSWERS = ModelAnswers("number", (), ("prediction",), -100.0, 100.0)


def puzzle_of(function, start, want, *, others=None, count=11, **changes):
    settings = {"change": None, "keep": (), "directions": None, "most": 3} | changes
    actions = read_actions(SCHEMA, **settings)
    places = [list(SCHEMA).index(name) for name in actions.columns]
    start = np.array(start, dtype=float)
    whole = list(start)

    def ask(rows):
        every = np.tile(whole, (len(rows), 1))
        every[:, places] = rows
        return function(every)[:, None]

    options = []
    for name, place in zip(actions.columns, places, strict=True):
        column = SCHEMA[name]
        values = (
            np.arange(3.0)
            if isinstance(column, Category)
            else steps_of(column).snap(np.linspace(column.lower, column.upper, count))
        )
        values = np.unique(values)[np.unique(values) != start[place]]
        options.append(values[actions.admit(name, start[place], values)])
    steps = [None if name == "c" else steps_of(SCHEMA[name]) for name in actions.columns]
    goal = read_goal(want, ANSWERS, ask(start[places][None]))
    empty = np.zeros((0, len(places)))
    return Puzzle(
        actions,
        start[places],
        tuple(options),
        tuple(steps),
        empty if others is None else np.array(others, dtype=float),
        rule_by_range(SCHEMA),
        goal,
        ask,
    )


def linear(rows):
    return 2 * rows[:, 0] + rows[:, 1] + np.choose(rows[:, 2].astype(int), [0, 3, 6]) + rows[:, 3]


def spike(rows):
    """Only a together with c helps; neither does alone."""
    return np.where((rows[:, 0] > 7) & (rows[:, 2] == 2), 50.0, 0.0)


def test_single_changes_come_first_and_end_at_the_border():
    puzzle = puzzle_of(linear, [1, 1, 0, 0], ">= 8")
    rows = solve(puzzle, 3)
    assert puzzle.changed(rows).sum(axis=1).tolist()[0] == 1
    for row in rows:
        assert linear(row[None])[0] >= 8
    first = rows[puzzle.changed(rows)[:, 0]][0]
    assert first[0] == pytest.approx(3.5, abs=0.02)
    b = rows[puzzle.changed(rows)[:, 1]][0]
    assert b[1] == 6  # whole: 2 + 6 + 0 + 0
    assert puzzle.asked < MOST_ASKED


@pytest.mark.parametrize("want", [">= 8", ">= 14", ">= 20", ">= 30", (6, 6.5)])
@pytest.mark.parametrize("start", [[1, 1, 0, 0], [0, 0, 1, -1], [1.5, 2, 0, 0.5]])
def test_no_subset_of_the_changes_suffices(want, start):
    puzzle = puzzle_of(linear, start, want)
    rows = solve(puzzle, 3)
    assert len(rows)
    for row in rows:
        assert puzzle.goal.is_met(linear(row[None])[:, None])[0]
        places = np.flatnonzero(puzzle.changed(row[None])[0])
        for count in range(len(places)):
            for kept in itertools.combinations(places, count):
                fewer = puzzle.start.copy()
                fewer[list(kept)] = row[list(kept)]
                assert not puzzle.goal.is_met(linear(fewer[None])[:, None])[0]
    sets = [frozenset(np.flatnonzero(own)) for own in puzzle.changed(rows)]
    assert len(set(sets)) == len(sets)
    costs = puzzle.costs(rows)
    for a, b in itertools.product(range(len(sets)), repeat=2):
        # What contains an earlier suggestion must be cheaper.
        assert not sets[a] < sets[b] or costs[b] < costs[a]


def test_columns_that_help_only_together_are_found():
    rows = solve(puzzle_of(spike, [1, 1, 0, 0], ">= 10"), 3)
    assert len(rows) == 1
    assert rows[0, 0] == pytest.approx(7.0, abs=0.02)
    assert rows[0, 2] == 2


def test_others_lend_what_no_few_steps_reach():
    def needle(rows):
        near = np.abs(rows - np.array([7.37, 3, 2, 0.771])) < np.array([0.02, 0.1, 0.1, 0.02])
        return np.where(near.all(axis=1), 50.0, 0.0)

    assert not len(solve(puzzle_of(needle, [1, 3, 2, 0], ">= 10"), 3))
    rows = solve(puzzle_of(needle, [1, 3, 2, 0], ">= 10", others=[[7.37, 3, 2, 0.77]]), 3)
    assert len(rows) == 1
    assert rows[0, 1] == 3


def test_directions_and_what_must_stay_are_heeded():
    puzzle = puzzle_of(
        linear, [5, 5, 1, 0], "<= 10", change=["a", "b"], directions={"a": "down", "b": "up"}
    )
    rows = solve(puzzle, 3)
    assert (rows[:, 0] < 5).all()
    assert (rows[:, 1] >= 5).all()


def test_nothing_found_leaves_the_nearest_and_stops():
    puzzle = puzzle_of(linear, [1, 1, 0, 0], ">= 90")
    assert not len(solve(puzzle, 3))
    assert linear(puzzle.best[None])[0] == pytest.approx(20 + 10 + 6 + 1)
    assert puzzle.asked < 2 * MOST_ASKED


def test_a_missing_value_may_become_known():
    def known(rows):
        return np.where(np.isnan(rows[:, 0]), 0.0, 10.0)

    rows = solve(puzzle_of(known, [np.nan, 1, 0, 0], ">= 5"), 3)
    assert len(rows) == 1
    assert not np.isnan(rows[0, 0])


def test_the_same_search_finds_the_same():
    found = [solve(puzzle_of(linear, [1, 1, 0, 0], ">= 14"), 3).tolist() for _ in range(2)]
    assert found[0] == found[1]
