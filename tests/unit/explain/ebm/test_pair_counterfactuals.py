"""What would have to change where pairs of columns do much together: against every possible row."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from ebm_models import make_model, make_rows
from random_pairs import with_pairs
from scipy.stats import norm

from voile import Category, Number
from voile.explain.counterfactuals import fewest
from voile.explain.counterfactuals.goals import ModelAnswers, read_goal
from voile.explain.ebm.counterfactuals import METHOD
from voile.explaining import Wish, suggest_changes
from voile.models.history import Edit
from voile.privacy.public_rows import encode_public

COLUMNS = {
    "age": Number(17, 90, whole=True),
    "job": Category(["clerk", "nurse", "cook"]),
    "flag": Category([False, True]),
    "ward": Category(["A", "B", "C", "D"]),
}
PAIRS = [
    [("age", "job"), ("ward", "age"), ("flag", "ward")],
    [("job", "ward")],
    [("age", "job"), ("age", "flag"), ("age", "ward"), ("job", "flag"), ("ward", "job")],
]
WANTS = {
    "logit": [None, "yes", "no", ">= 0.95", "<= 0.05", {"no": ">= 0.9"}],
    "softmax": [None, "low", "high", {"mid": ">= 0.8"}, {"low": "<= 0.02"}],
    "identity": [0.0, (0.2, 0.6), "<= -2.5", ">= 2.5"],
}


def paired(link, seed, size=3.0):
    """Pairs that do three times as much as the columns by themselves; all values have rows."""
    model = make_model(link, columns=COLUMNS, seed=seed)
    terms = tuple(replace(term, count_errors=np.full(term.bins, 1.0)) for term in model.terms)
    model = replace(model, terms=terms)
    return with_pairs(model, *PAIRS[seed % len(PAIRS)], size=size, seed=seed)


def rows_of(count, seed):
    rows = make_rows(count, seed)
    rows["ward"] = np.random.default_rng(seed).choice(list("ABCDE"), count)
    return {name: rows[name] for name in COLUMNS}


def row_at(rows, i):
    return {name: [values[i]] for name, values in rows.items()}


def answers_of(model, columns):
    found = model.respond(model.scores(columns))
    return found[:, None] if found.ndim == 1 else found


def goal_of(model, row, want):
    target = model.schema.target
    answers = (
        ModelAnswers("number", (), ("prediction",), target.lower, target.upper)
        if isinstance(target, Number)
        else ModelAnswers("probability", model.classes, tuple(map(str, model.classes)))
    )
    return read_goal(want, answers, answers_of(model, encode_public(row, model.schema)))


def every_change(model, row, keep=()):
    """Every row that differs in some columns, encoded, with their number and their cost."""
    columns = encode_public(row, model.schema)
    values, costs = [], []
    for term in model.terms:
        start = columns[term.name]
        options = {start[0]: 0.0}
        if term.name not in keep:
            if isinstance(term.column, Category):
                some = range(len(term.column.levels))
                options |= {one: 0.5 for one in some if one != start[0]}
            else:
                some = np.arange(term.column.lower, term.column.upper + 1)
                options |= {one: cost_of(term, start[0], one) for one in some if one != start[0]}
        values.append(np.array(list(options), dtype=start.dtype))
        costs.append(np.array(list(options.values())))
    places = np.indices([len(one) for one in values]).reshape(len(values), -1)
    each = np.array([one[place] for one, place in zip(costs, places, strict=True)])
    rows = {
        term.name: one[place] for term, one, place in zip(model.terms, values, places, strict=True)
    }
    return rows, (each > 0).sum(axis=0), each.sum(axis=0)


def cost_of(term, start, value):
    if math.isnan(start):
        return 0.5
    counts = term.counts[:-1]
    places = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
    passed = abs(float(np.diff(np.interp([start, value], term.edges, places))[0]))
    return passed + 0.01 * abs(value - start) / (term.column.upper - term.column.lower)


def after(model, row, suggestion):
    changed = row | {change.column: [change.value] for change in suggestion.changes}
    return encode_public(changed, model.schema)


def cost_told(model, row, suggestion):
    was, now = encode_public(row, model.schema), after(model, row, suggestion)
    return sum(
        0.5
        if isinstance(model[one.column].column, Category)
        else cost_of(model[one.column], was[one.column][0], now[one.column][0])
        for one in suggestion.changes
    )


@pytest.mark.parametrize("link", ["logit", "softmax", "identity"])
@pytest.mark.parametrize("seed", range(6))
def test_nothing_smaller_gives_what_is_wanted(link, seed):
    model, rows = paired(link, seed), rows_of(3, seed)
    found = 0
    for want, i in itertools.product(WANTS[link], range(3)):
        row = row_at(rows, i)
        goal = goal_of(model, row, want)
        told = suggest_changes(model, row, Wish(want=want, most=2)).rows[0]
        if told.already:
            continue
        values, counts, costs = every_change(model, row)
        good = goal.is_met(answers_of(model, values))
        searched = link == "softmax" and "<=" in str(want)
        if not good.any():
            assert told.suggestions == ()
            assert told.impossible is not searched
            continue
        assert not told.impossible
        assert all(one.exact is not searched for one in told.suggestions)
        for one in told.suggestions:
            assert goal.is_met(answers_of(model, after(model, row, one)))[0]
        if searched:
            continue
        found += 1
        fewest_columns = counts[good].min()
        least = costs[good & (counts == fewest_columns)].min()
        best = min((len(one.changes), cost_told(model, row, one)) for one in told.suggestions)
        assert best == pytest.approx((fewest_columns, least), abs=1e-6)
    assert found >= 3


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_may_not_change_count_with_their_own_values(seed):
    model, rows = paired("logit", seed), rows_of(5, 10 + seed)
    compared = 0
    for keep, i in itertools.product([("age",), ("job", "ward"), ("flag",)], range(5)):
        row = row_at(rows, i)
        goal = goal_of(model, row, None)
        told = suggest_changes(model, row, Wish(keep=keep, most=3)).rows[0]
        values, counts, costs = every_change(model, row, keep)
        good = goal.is_met(answers_of(model, values))
        if not good.any():
            assert told.impossible
            continue
        compared += 1
        sets = [{change.column for change in one.changes} for one in told.suggestions]
        assert not any(names & set(keep) for names in sets)
        least = costs[good & (counts == counts[good].min())].min()
        best = min((len(one.changes), cost_told(model, row, one)) for one in told.suggestions)
        assert best == pytest.approx((counts[good].min(), least), abs=1e-6)
        for one in told.suggestions:  # and no change of it is needless
            for count in range(1, len(one.changes)):
                for kept in itertools.combinations(one.changes, count):
                    fewer = after(model, row, replace(one, changes=kept))
                    assert not goal.is_met(answers_of(model, fewer))[0]
    assert compared >= 3


@pytest.mark.parametrize("link", ["logit", "softmax"])
@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_sure_changes_are_the_smallest_that_are_clear(link, seed):
    model, rows = paired(link, seed), rows_of(8, 20 + seed)
    # Some cells are known well, and some hardly.
    pairs = tuple(replace(one, standard_errors=9 * one.standard_errors) for one in model.pairs)
    model = replace(model, pairs=pairs)
    compared = 0
    for i in range(8):
        row = row_at(rows, i)
        want = None if link == "logit" else "mid"
        goal = goal_of(model, row, want)
        told = suggest_changes(model, row, Wish(want=want, sure=True, most=1)).rows[0]
        values, counts, costs = every_change(model, row)
        squares = model.intercept_errors**2 + (model.standard_errors(values) ** 2).sum(axis=1)
        scores = model.scores(values)
        if link == "logit":
            sign = 1 if goal.place == 1 else -1
            passed = sign * scores[:, 0] / np.sqrt(squares[:, 0])
        else:
            others = [k for k in range(3) if k != goal.place]
            passed = np.min(
                [
                    (scores[:, goal.place] - scores[:, k])
                    / np.sqrt(squares[:, goal.place] + squares[:, k])
                    for k in others
                ],
                axis=0,
            )
        sure = passed >= norm.isf(0.01)
        if sure[counts == 0].any():
            continue
        if not sure.any():
            assert told.suggestions == ()
            assert told.impossible
            continue
        compared += 1
        least = costs[sure & (counts == counts[sure].min())].min()
        (one,) = told.suggestions
        assert one.verdict == "clear"
        assert one.exact
        found = (len(one.changes), cost_told(model, row, one))
        assert found == pytest.approx((counts[sure].min(), least), abs=1e-6)
    assert compared >= 2


def test_only_both_columns_of_a_pair_help():
    """Alone each of them makes it worse: a sum of single changes would find nothing."""
    model = make_model(columns={name: COLUMNS[name] for name in ("job", "flag")})
    model = with_pairs(
        replace(model, intercept=np.zeros(1)),
        ("job", "flag"),
    )
    terms = tuple(replace(term, scores=0 * term.scores) for term in model.terms)
    pair = model.pairs[0]
    assert pair.first.groups.tolist() == [0, 0, 1, 1, 1]  # clerk and nurse, cook and the rest
    second = replace(pair.second, groups=np.array([0, 1, 2, 2]))
    wide = np.full((2, 3, 1), -1.0)
    wide[1, 1] = 2.0
    pair = replace(
        pair,
        second=second,
        scores=wide,
        standard_errors=np.full(wide.shape, 0.1),
        counts=np.full((2, 3), 50.0),
        count_errors=np.full((2, 3), 3.0),
    )
    model = replace(model, terms=terms, pairs=(pair,))
    told = suggest_changes(model, {"job": ["clerk"], "flag": [False]}, Wish(want="yes")).rows[0]
    (one,) = told.suggestions
    assert {change.column: change.value for change in one.changes} == {"job": "cook", "flag": True}
    assert one.exact
    wish = Wish(want="yes", change=["job"])
    assert suggest_changes(model, {"job": ["clerk"], "flag": [False]}, wish).rows[0].impossible
    nearest = suggest_changes(
        model, {"job": ["clerk"], "flag": [False]}, Wish(want={"yes": ">= 0.95"})
    ).rows[0]
    assert nearest.impossible
    assert {change.column for change in nearest.nearest.changes} == {"job", "flag"}


def test_a_pair_tells_values_of_one_bin_apart():
    model = with_pairs(make_model(columns=COLUMNS, seed=0), ("age", "flag"))
    age, pair = model["age"], model.pairs[0]
    flat = replace(age, cuts=np.empty(0), scores=np.zeros((2, 1)), counts=np.array([900.0, 9.0]))
    flat = replace(flat, standard_errors=np.full((2, 1), 0.1), count_errors=np.full(2, 3.0))
    scores = np.zeros(pair.scores.shape)
    scores[0], scores[-1] = -5.0, 5.0  # [17, 31.5) against missing
    scores[2] = 5.0  # [52.3, 90]
    terms = tuple(
        flat if term.name == "age" else replace(term, scores=0 * term.scores)
        for term in model.terms
    )
    model = replace(
        model, terms=terms, intercept=np.zeros(1), pairs=(replace(pair, scores=scores),)
    )
    row = {"age": [20], "job": ["nurse"], "flag": [True], "ward": ["A"]}
    told = suggest_changes(model, row, Wish(want={"yes": ">= 0.9"})).rows[0]
    (one,) = told.suggestions
    assert [(change.column, change.value) for change in one.changes] == [("age", 53)]


def test_doubt_counts_the_errors_of_pairs():
    model, rows = paired("logit", 0, size=0.5), rows_of(20, 3)
    calm = suggest_changes(model, rows, Wish(most=1))
    loud = tuple(replace(pair, standard_errors=pair.standard_errors * 100) for pair in model.pairs)
    shaken = suggest_changes(replace(model, pairs=loud), rows, Wish(most=1))
    pairs = list(zip(calm.rows, shaken.rows, strict=True))
    assert sum(one.suggestions != () for one, _ in pairs) > 5
    for one, other in pairs:
        for mine, yours in zip(one.suggestions, other.suggestions, strict=True):
            assert yours.p_value > mine.p_value
            assert yours.verdict == "cannot be told from nothing"
    # A pair whose error is not known at all can hold for nothing.
    blind = tuple(replace(pair, standard_errors=pair.standard_errors * math.inf) for pair in loud)
    told = suggest_changes(replace(model, pairs=blind), rows, Wish(most=1, sure=True))
    assert not any(one.suggestions for one in told.rows)


def test_what_is_seldom_together_counts_as_unusual():
    model = with_pairs(make_model(columns=COLUMNS, seed=0), ("job", "flag"))
    even = tuple(replace(term, counts=np.full(term.bins, 100.0)) for term in model.terms)
    pair = model.pairs[0]
    scores = np.zeros(pair.scores.shape)
    counts = np.full(pair.counts.shape, 100.0)
    scores[1], counts[1] = 9.0, 1.0  # cooks are seldom, whatever the flag is
    pair = replace(pair, scores=scores, counts=counts)
    model = replace(model, terms=even, pairs=(pair,), intercept=np.full(1, -4.0))
    row = {"age": [30], "job": ["nurse"], "flag": [True], "ward": ["A"]}
    told = suggest_changes(model, row, Wish(want="yes", change=["job"]))
    (one,) = told.rows[0].suggestions
    assert one.usual == pytest.approx(1 / 101, rel=0.01)
    assert one.was_usual == 1.0
    assert told.method == METHOD.format("only pairs of the model are")
    alone = suggest_changes(replace(model, pairs=()), row, Wish(want="yes", change=["job"]))
    assert alone.method == METHOD.format("none is")


def test_what_is_not_proven_in_time_is_searched_for_and_not_called_exact(monkeypatch):
    class Answer:
        x, status = None, 1

    model, rows = paired("logit", 0), rows_of(8, 2)
    exact = suggest_changes(model, rows, Wish(most=1))
    monkeypatch.setattr(fewest, "milp", lambda *given, **more: Answer())
    told = suggest_changes(model, rows, Wish(most=1))
    assert any(one.suggestions for one in exact.rows)
    for one, other in zip(exact.rows, told.rows, strict=True):
        assert not other.impossible
        assert not any(suggestion.exact for suggestion in other.suggestions)
        assert bool(one.suggestions) or not other.suggestions


def test_a_column_taken_out_is_needed_while_a_pair_reads_it():
    model = paired("logit", 1)  # job & ward
    edit = Edit("drop", "job", {}, "why", "ada", "2026-02-01T09:00:00+00:00")
    job = replace(model["job"], scores=0 * model["job"].scores)
    dropped = replace(model.with_term(job), edits=(edit,), history=(edit,), original=model)
    assert dropped.unused == ()
    pair = model.pairs[0]
    empty = dropped.with_pair(replace(pair, scores=0 * pair.scores))
    assert empty.unused == ("job",)
