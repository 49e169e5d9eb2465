"""What would have to change for another answer of an additive model: against every possible row."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from ebm_models import make_model, make_rows
from scipy.stats import norm

from voile import Category, Number
from voile.errors import SettingError
from voile.explain.counterfactuals.goals import ModelAnswers, read_goal
from voile.explain.counterfactuals.record import Counterfactuals
from voile.explain.ebm.moves import regular
from voile.explaining import Wish, suggest_changes
from voile.models.ebm.edit import Editor
from voile.privacy.public_rows import encode_public

COLUMNS = {
    "age": Number(17, 90, whole=True),
    "job": Category(["clerk", "nurse", "cook"]),
    "pay": Number(-1.5, 2.5),
    "flag": Category([False, True]),
}
WHOLE = {name: COLUMNS[name] for name in ("age", "job", "flag")} | {
    "ward": Category(["A", "B", "C", "D"])
}
WANTS = {
    "logit": [None, "yes", "no", ">= 0.8", "<= 0.1", {"no": ">= 0.9"}],
    "softmax": [None, "low", "high", {"mid": ">= 0.6"}, {"low": "<= 0.05"}],
    "identity": [0.0, (0.2, 0.8), "<= -0.5", ">= 1"],
}


def rows_of(count, seed=1, columns=COLUMNS):
    rows = make_rows(count, seed)
    rows["ward"] = np.random.default_rng(seed).choice(list("ABCDE"), count)
    return {name: rows[name] for name in columns}


def row_at(rows, i):
    return {name: [values[i]] for name, values in rows.items()}


def after(model, row, suggestion):
    """The changed row, as a caller would hold it, and the model's answers for it."""
    changed = {name: list(values) for name, values in row.items()}
    for change in suggestion.changes:
        changed[change.column] = [change.value]
    columns = encode_public(changed, model.schema)
    found = model.respond(model.scores(columns))
    return columns, found[:, None] if found.ndim == 1 else found


def goal_of(model, row, want):
    target = model.schema.target
    answers = (
        ModelAnswers("number", (), ("prediction",), target.lower, target.upper)
        if isinstance(target, Number)
        else ModelAnswers("probability", model.classes, tuple(map(str, model.classes)))
    )
    found = model.respond(model.scores(encode_public(row, model.schema)))
    return read_goal(want, answers, found[:, None] if found.ndim == 1 else found)


def every_change(model, row):
    """All rows that differ in some columns, encoded, with their changed columns and their cost.

    Of a bin of whole numbers the two ends: the nearest value is one of them.
    """
    columns = encode_public(row, model.schema)
    values, costs = [], []
    for term in model.terms:
        start = columns[term.name]
        own = int(term.find_bins(start)[0])
        options = {start[0]: 0.0}
        for place in range(len(regular(term, term.counts))):
            if place == own:
                continue
            ends = [place]
            if not isinstance(term.column, Category):
                low, high = term.edges[place], term.edges[place + 1]
                ends = [math.ceil(low), math.ceil(high) - 1.0, (low + high) // 2]
            options |= {end: cost_of(term, start[0], end) for end in ends}
        values.append(np.array(list(options), dtype=start.dtype))
        costs.append(np.array(list(options.values())))
    places = np.indices([len(one) for one in values]).reshape(len(values), -1)
    each = np.array([one[place] for one, place in zip(costs, places, strict=True)])
    rows = {
        term.name: one[place] for term, one, place in zip(model.terms, values, places, strict=True)
    }
    return rows, (each > 0).sum(axis=0), each.sum(axis=0)


def cost_of(term, start, value):
    """The cost as it is documented: shares of rows passed, 0.5 for a level, 0.01 for the range."""
    if isinstance(term.column, Category) or math.isnan(start):
        return 0.5
    counts = regular(term, term.counts)
    places = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
    passed = abs(float(np.diff(np.interp([start, value], term.edges, places))[0]))
    return passed + 0.01 * abs(value - start) / (term.column.upper - term.column.lower)


def cost_told(model, row, suggestion):
    """The cost of a suggestion, by its values."""
    columns, _ = after(model, row, suggestion)
    was = encode_public(row, model.schema)
    return sum(
        cost_of(model[change.column], was[change.column][0], columns[change.column][0])
        for change in suggestion.changes
    )


def answers_of(model, values):
    found = model.respond(model.scores(values))
    return found[:, None] if found.ndim == 1 else found


@pytest.mark.parametrize("link", ["logit", "softmax", "identity"])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_smaller_gives_what_is_wanted(link, seed):
    model, rows = make_model(link, columns=WHOLE, seed=seed), rows_of(4, seed, WHOLE)
    found = 0
    for want, i in itertools.product(WANTS[link], range(4)):
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
        found += 1
        fewest = counts[good].min()
        least = costs[good & (counts == fewest)].min()
        best = min((len(one.changes), cost_told(model, row, one)) for one in told.suggestions)
        assert best == pytest.approx((fewest, least), abs=1e-6)
        assert all(one.exact is not searched for one in told.suggestions)
    assert found >= 3


@pytest.mark.parametrize("link", ["logit", "softmax", "identity"])
@pytest.mark.parametrize("sure", [False, True])
def test_suggested_rows_get_what_is_wanted_by_changes_that_are_needed(link, sure):
    model, rows = make_model(link, seed=7), make_rows(6)
    rows["rank"] = np.where(np.arange(6) % 2, 3.0, 1.0)
    for want, i in itertools.product(WANTS[link], range(6)):
        row = row_at(rows, i)
        goal = goal_of(model, row, want)
        wish = Wish(want=want, keep=["flag"], directions={"age": "up"}, sure=sure)
        told = suggest_changes(model, row, wish).rows[0]
        was = encode_public(row, model.schema)
        sets = [frozenset(change.column for change in one.changes) for one in told.suggestions]
        for one, names in zip(told.suggestions, sets, strict=True):
            columns, answers = after(model, row, one)
            assert goal.is_met(answers)[0]
            assert one.after == pytest.approx(goal.number(answers)[0])
            assert "flag" not in names
            if "age" in names and not np.isnan(was["age"][0]):
                assert columns["age"][0] > was["age"][0]
            for count in range(len(names)):
                for kept in itertools.combinations(one.changes, count):
                    fewer = replace(one, changes=kept)
                    met = goal.is_met(after(model, row, fewer)[1])[0]
                    assert not met or sure  # one change may be there to be sure
            if sure:
                assert one.verdict == "clear"
        assert len(set(sets)) == len(sets)
        assert not any(a < b for a in sets for b in sets)


def test_sure_changes_are_the_smallest_that_are_clear():
    model = make_model("logit", columns=WHOLE, seed=3)
    rows = rows_of(8, 5, WHOLE)
    compared = 0
    for i in range(8):
        row = row_at(rows, i)
        goal = goal_of(model, row, None)
        told = suggest_changes(model, row, Wish(sure=True, most=1)).rows[0]
        values, counts, costs = every_change(model, row)
        variances = model.intercept_errors[0] ** 2 + sum(
            term.errors[term.find_bins(values[term.name]), 0] ** 2 for term in model.terms
        )
        scores = model.scores(values)[:, 0] * (1 if goal.place == 1 else -1)
        sure = scores / np.sqrt(variances) >= norm.isf(0.01)
        if not sure.any():
            assert told.suggestions == ()
            assert told.impossible
            continue
        compared += 1
        fewest = counts[sure].min()
        least = costs[sure & (counts == fewest)].min()
        (one,) = told.suggestions
        assert one.verdict == "clear"
        assert one.exact
        found = (len(one.changes), cost_told(model, row, one))
        assert found == pytest.approx((fewest, least), abs=1e-6)
    assert compared >= 3


def test_nothing_possible_is_said_with_the_nearest_that_one_gets():
    model, rows = make_model("logit", columns=COLUMNS, seed=1), rows_of(12)
    wish = Wish(want={"yes": ">= 99.99 %"}, change=["job"])
    record = suggest_changes(model, rows, wish)
    nearer = 0
    for i, told in enumerate(record.rows):
        assert told.impossible
        assert told.suggestions == ()
        tried = [
            answers_of(model, encode_public(row_at(rows, i) | {"job": [job]}, model.schema))[0, 1]
            for job in COLUMNS["job"].levels
        ]
        if max(tried) <= told.before:
            assert told.nearest is None
        else:
            nearer += 1
            assert told.nearest.after == pytest.approx(max(tried))
    assert nearer
    assert "No change of these columns gives it (proven)" in str(record)


def test_edited_models_are_followed_as_they_are_and_have_no_verdict():
    model = make_model("logit", columns=COLUMNS, seed=2)
    row = row_at(rows_of(4, 3), 2)
    before = suggest_changes(model, row, Wish()).rows[0]
    assert {one.verdict for one in before.suggestions} != {"not known"}
    changed = before.suggestions[0].changes[0].column
    edited = Editor(model, "ada").drop(changed).model
    told = suggest_changes(edited, row, Wish())
    assert all(
        changed != change.column for one in told.rows[0].suggestions for change in one.changes
    )
    assert {one.verdict for one in told.rows[0].suggestions} <= {"not known"}
    assert told.edits
    with pytest.raises(SettingError, match="sure=True needs the errors"):
        suggest_changes(edited, row, Wish(sure=True))


def test_whole_numbers_stay_whole_and_levels_are_listed():
    model, rows = make_model("logit", columns=COLUMNS, seed=4), rows_of(20, 9)
    record = suggest_changes(model, rows, Wish(most=5))
    changes = [c for row in record.rows for one in row.suggestions for c in one.changes]
    assert {change.column for change in changes} == set(COLUMNS)
    for change in changes:
        if change.column == "age":
            assert isinstance(change.value, int)
            assert 17 <= change.value <= 90
        elif isinstance(COLUMNS[change.column], Category):
            assert change.value in COLUMNS[change.column].levels
        assert change.before != change.after


def test_values_come_from_bins_that_have_rows():
    model = make_model("logit", columns=COLUMNS, seed=5)
    job = model["job"]
    empty = replace(job, counts=np.array([400.0, 1.0, 300.0, 0.0, 0.0]))
    told = suggest_changes(model.with_term(empty), rows_of(30, 2), Wish(change=["job"], most=3))
    changes = [c.value for row in told.rows for one in row.suggestions for c in one.changes]
    assert changes
    assert "nurse" not in changes


def test_the_same_question_has_the_same_answer_and_can_be_read_back():
    model, rows = make_model("softmax", seed=1), make_rows(6)
    record = suggest_changes(model, rows, Wish())
    assert record.to_dict() == suggest_changes(model, rows, Wish()).to_dict()
    again = Counterfactuals.from_dict(record.to_dict())
    assert again.to_dict() == record.to_dict()
    assert str(again) == str(record)
    assert len(record[2:4]) == 2
