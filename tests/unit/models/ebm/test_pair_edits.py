"""Edits of pairs change exactly the region they name, and can be taken back and made again."""

import contextlib
import dataclasses
import datetime as dt
import json

import numpy as np
import pytest
from ebm_models import PAIRS, assert_same_model, assert_same_pair, make_model, make_pair, make_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from voile import Category, Date, Number
from voile.errors import ModelError, SchemaError, SettingError
from voile.models.ebm import curves
from voile.models.ebm.edit import Editor, replay
from voile.models.ebm.files import SavedEBM
from voile.models.ebm.model import Term
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.models.history import Edit, tell_edits
from voile.privacy.public_rows import encode_public

from_dict, to_dict = SavedEBM.model_of, SavedEBM.data_of

AGE_JOB, AGE_PAY, FLAG_RANK = PAIRS
JOBS = ["clerk", "nurse", '=HYPERLINK("http://x")', "été"]


def paired(link="logit", seed=0):
    return make_model(link, pairs=PAIRS, seed=seed)


def added(model, names, **values):
    """What a pair adds to rows, shape (rows, outputs)."""
    columns = encode_public(values, model.schema, may_lack=list(model.schema))
    pair = model.pair(*names)
    return pair.scores[pair.find_cells(*(columns[name] for name in pair.columns))]


def through_json(edits):
    return [Edit(**json.loads(json.dumps(dataclasses.asdict(edit)))) for edit in edits]


# -- random models and regions ------------------------------------------------------------------


def random_column(rng, ordered):
    kind = rng.integers(3)
    if kind < 2:
        return Number(-1.0, 2.0)
    levels = [["u", "v", "w", "x", "y"], [3, 1, 2], [True, False], ["(other)", "(missing)"]]
    return Category(levels[rng.integers(len(levels))], ordered=ordered)


def random_axis(rng, name, column):
    if isinstance(column, Number):
        cuts = np.sort(rng.choice(np.linspace(-0.9, 1.9, 29), rng.integers(0, 6), replace=False))
        return PairAxis(name, column, cuts, np.empty(0, dtype=np.int64))
    groups = rng.integers(0, 3, len(column.levels) + 2)
    if column.ordered:
        groups = np.sort(groups)
    return PairAxis(name, column, np.empty(0), np.unique(groups, return_inverse=True)[1])


def random_paired(seed):
    """A model of two columns and their pair, whose sides are of any kind and in any parts."""
    rng = np.random.default_rng(seed)
    columns = {name: random_column(rng, bool(rng.integers(2))) for name in ("a", "b")}
    link = ["identity", "logit", "softmax"][rng.integers(3)]
    base = make_model(link, columns=columns, seed=seed)
    axes = [random_axis(rng, name, column) for name, column in columns.items()]
    shape = tuple(axis.parts for axis in axes)
    cells = (*shape, base.outputs)
    pair = PairTerm(
        *axes,
        rng.normal(size=cells),
        rng.uniform(0.1, 0.2, cells),
        rng.uniform(0, 90, shape),
        rng.uniform(1, 2, shape),
        whole_errors=rng.uniform(0.2, 0.4, cells) if rng.integers(2) else None,
    )
    return dataclasses.replace(base, pairs=(pair,)), rng


def random_side(rng, column):
    """A part of a column as an editor takes it, and a test of whether a value is in it."""
    if isinstance(column, Number):
        if rng.random() < 0.2:
            return None, lambda value: value is None
        places = np.append(np.linspace(-1.0, 2.0, 31), rng.uniform(-1, 2, 3))
        low, high = np.sort(rng.choice(places, 2, replace=False))
        return (
            low,
            high,
        ), lambda value: value is not None and low <= value and (value < high or high == 2.0)
    names = [*column.levels, "(other)", None]
    chosen = [names[k] for k in rng.choice(len(names), rng.integers(1, 4), replace=False)]
    known = [one for one in column.levels if any(one is same for same in chosen)]
    # A level may be called so itself: then it is meant.
    other = "(other)" in chosen and "(other)" not in column.levels
    if "(other)" in column.levels and "(other)" in chosen:
        known.append("(other)")

    def is_in(value):
        if value is None:
            return None in chosen
        return value in known if value in column.levels else other

    return chosen, is_in


def random_values(rng, column):
    if isinstance(column, Number):
        return [None, *np.linspace(-1.0, 2.0, 31), *rng.uniform(-1, 2, 40)]
    return [None, *column.levels, 77 if column.levels[0] == 3 else "elsewhere"]


def encode_one(column, value):
    if isinstance(column, Number):
        return np.nan if value is None else value
    levels = list(column.levels)
    return (
        len(levels) + 1
        if value is None
        else levels.index(value)
        if value in levels
        else len(levels)
    )


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**9))
def test_a_region_changes_and_nothing_else(seed):
    model, rng = random_paired(seed)
    columns = model.schema
    sides = {name: random_side(rng, columns[name]) for name in ("a", "b")}
    named = [name for name in ("a", "b") if rng.random() < 0.8] or ["a"]
    where = {name: sides[name][0] for name in named}
    output = None
    if model.link == "softmax" and rng.random() < 0.5:
        output = model.classes[1]
    editor = Editor(model).set(("b", "a"), 7.5, where=where, output=output)
    changed = editor.model
    values = [
        (one, other)
        for one in random_values(rng, columns["a"])
        for other in random_values(rng, columns["b"])
    ]
    encoded = {
        name: np.array(
            [encode_one(columns[name], value[k]) for value in values],
            dtype=np.float64 if isinstance(columns[name], Number) else np.int32,
        )
        for k, name in enumerate(("a", "b"))
    }
    inside = np.array(
        [all(sides[name][1](value["ab".index(name)]) for name in named) for value in values]
    )
    before, after = model.contributions(encoded), changed.contributions(encoded)
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    outputs = np.arange(model.outputs) if output is None else np.array([1])
    expected = before[:, 2].copy()
    expected[np.ix_(inside, outputs)] = 7.5
    np.testing.assert_array_equal(after[:, 2], expected)
    # Errors follow the same cells; counts are divided, not lost.
    old, new = model.pairs[0], changed.pairs[0]
    errors = old.standard_errors[old.find_cells(encoded["a"], encoded["b"])]
    errors[np.ix_(inside, outputs)] = 0.0
    np.testing.assert_array_equal(
        new.standard_errors[new.find_cells(encoded["a"], encoded["b"])], errors
    )
    np.testing.assert_allclose(new.counts.sum(), old.counts.sum())
    np.testing.assert_allclose(new.count_errors.sum(), old.count_errors.sum())
    assert (new.counts >= 0).all()
    assert new.evidence is None
    # It is stored, read, made again and taken back to the bit.
    assert_same_model(from_dict(json.loads(json.dumps(to_dict(changed)))), changed)
    assert_same_model(replay(model, through_json(changed.edits)), changed)
    assert editor.undo().model.pairs[0] is model.pairs[0]
    assert_same_pair(Editor(changed).undo().model.pairs[0], old)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**9))
def test_any_edits_after_each_other_are_sound_and_replayed(seed):
    model, rng = random_paired(seed)
    editor = Editor(model, who="me")
    ordered = any(isinstance(column, Number) or column.ordered for column in model.schema.values())
    for _ in range(4):
        name = rng.choice(["a", "b"])
        where = {name: random_side(rng, model.schema[name])[0]}
        what = rng.integers(5)
        if what == 0:
            editor.set("a & b", rng.normal(), where=where)
        elif what == 1 and ordered:
            with contextlib.suppress(ModelError):  # other and missing values have no order
                editor.smooth(("a", "b"), float(rng.choice([0.1, 5.0, 1e9])), where=where)
        elif what == 2:
            editor.scale(("a", "b"), -0.5)
        elif what == 3 and editor.model.edits:
            editor.undo()
        else:
            with contextlib.suppress(ModelError):  # levels that share a part with others
                editor.smooth("b & a")
    changed = editor.model
    assert_same_model(from_dict(json.loads(json.dumps(to_dict(changed)))), changed)
    again = replay(model, through_json(changed.edits))
    assert_same_pair(again.pairs[0], changed.pairs[0])
    editor.revert()
    assert_same_pair(editor.model.pairs[0], model.pairs[0])


# -- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [("age", "job"), ("job", "age"), ["age", "job"], "age & job", "job & age"]
)
def test_a_pair_has_many_names_and_is_stored_under_one(name):
    changed = Editor(paired()).scale(name, 2.0).model
    assert changed.edits[0].term == "age & job"
    np.testing.assert_array_equal(changed.pairs[0].scores, 2.0 * paired().pairs[0].scores)
    for mine, yours in zip(changed.pairs[1:], paired().pairs[1:], strict=True):
        assert_same_pair(mine, yours)
    for term, before in zip(changed.terms, paired().terms, strict=True):
        np.testing.assert_array_equal(term.scores, before.scores)


def test_a_column_of_just_that_name_comes_first():
    columns = {"a": Number(17, 90), "b": Number(17, 90), "a & b": Number(17, 90)}
    base = make_model(columns=columns)
    rng = np.random.default_rng(0)
    pair = make_pair("age", "age", 1, rng, {"age": Number(17, 90)})
    sides = [dataclasses.replace(pair.first, name=name) for name in ("a", "b")]
    model = dataclasses.replace(
        base, pairs=(dataclasses.replace(pair, first=sides[0], second=sides[1]),)
    )
    changed = Editor(model).scale("a & b", 0.0).model
    assert not changed["a & b"].scores.any()
    assert changed.pairs[0] is model.pairs[0]
    with pytest.raises(ModelError, match="could not tell them apart"):
        Editor(model).scale(("a", "b"), 0.0)
    with pytest.raises(ModelError, match="could not tell them apart"):
        Editor(model).scale("b & a", 0.0)


def test_pairs_whose_names_look_alike_are_not_mixed_up():
    number = Number(17, 90)
    columns = {"a": number, "b & c": number, "a & b": number, "c": number}
    rng = np.random.default_rng(0)
    pair = make_pair("age", "age", 1, rng, {"age": number})

    def named(first, second):
        return dataclasses.replace(
            pair,
            first=dataclasses.replace(pair.first, name=first),
            second=dataclasses.replace(pair.second, name=second),
        )

    base = make_model(columns=columns)
    model = dataclasses.replace(base, pairs=(named("a", "b & c"), named("a & b", "c")))
    with pytest.raises(SchemaError, match="Two pairs"):
        Editor(model).drop("a & b & c")
    for names in (("a", "b & c"), ("a & b", "c")):
        with pytest.raises(SchemaError, match="Two pairs"):
            Editor(model).drop(names)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (("age", "flag"), "no pair 'age & flag': its pairs are 'age & job'"),
        (("age", "age"), "no pair"),
        ("age & flag", "no term 'age & flag'.*'age & job'"),
        (("age",), "two columns"),
        (("age", "job", "pay"), "two columns"),
        (("age", 1), "two columns"),
        (None, "two columns"),
        (3, "two columns"),
    ],
)
def test_a_pair_that_is_none_is_refused(name, message):
    editor = Editor(paired())
    with pytest.raises(SchemaError, match=message):
        editor.drop(name)
    assert editor.history == ()


# -- set ----------------------------------------------------------------------------------------


def test_set_changes_a_region_by_hand():
    model = paired()
    editor = Editor(model)
    editor.set(AGE_JOB, 0.5, where={"age": (30, 50), "job": ["nurse"]}, why="not so")
    changed = editor.model
    ages = [29.999, 30, 40, 49.999, 50, 89, None]
    for job in [*JOBS, "pilot", None]:
        rows = {"age": np.array(ages, dtype=float), "job": np.array([job] * 7, object)}
        before = added(model, AGE_JOB, **rows)[:, 0]
        after = added(changed, AGE_JOB, **rows)[:, 0]
        if job == "nurse":
            assert after[1:4].tolist() == [0.5, 0.5, 0.5]
            after[1:4] = before[1:4]
        np.testing.assert_array_equal(after, before)
    assert changed.edits[0].settings == {
        "value": 0.5,
        "where": {"age": [30, 50], "job": ["nurse"]},
    }
    told = tell_edits(changed.history, changed.edits)[0][1]
    assert told == 'set; value: 0.5; where: age [30, 50], job ["nurse"]'


def test_a_split_divides_counts_by_width_and_levels_evenly():
    model = paired()
    before = model.pair(*AGE_JOB)
    where = {"age": (35.0, 45.0), "job": ["nurse"]}
    after = Editor(model).set(AGE_JOB, 0.0, where=where).model.pair(*AGE_JOB)
    np.testing.assert_array_equal(after.first.cuts, [31.1, 35.0, 45.0, 60.0])
    # "nurse" shared its part with the level after it, which has a part of its own now.
    np.testing.assert_array_equal(after.second.groups, [0, 1, 2, 3, 4, 4])
    share = 3.9 / 13.9
    np.testing.assert_allclose(after.counts[1, 1], share / 2 * before.counts[1, 1])
    np.testing.assert_allclose(after.counts[2, 1], (1 - share) / 2 * before.counts[1, 1])
    np.testing.assert_allclose(after.counts[2, 2], (1 - share) / 2 * before.counts[1, 1])
    np.testing.assert_allclose(after.counts[1, 0], share * before.counts[1, 0])
    np.testing.assert_array_equal(after.counts[0, 0], before.counts[0, 0])
    np.testing.assert_allclose(after.count_errors[1, 1], share / 2 * 3.25)
    assert after.standard_errors[2, 1] == 0
    assert after.whole_errors[2, 1] == 0
    np.testing.assert_array_equal(after.standard_errors[1, 1], before.standard_errors[1, 1])
    np.testing.assert_array_equal(after.whole_errors[2, 2], before.whole_errors[1, 1])
    assert after.importance.shape == (1,)
    assert len(after.first.labels) == 6
    for array in (after.scores, after.counts, after.first.cuts, after.second.groups):
        assert not array.flags.writeable


def test_a_region_on_borders_splits_nothing():
    before = paired().pair(*AGE_JOB)
    where = {"age": (31.1, 60.0), "job": ["été"]}
    after = Editor(paired()).set(AGE_JOB, 0.0, where=where).model.pair(*AGE_JOB)
    np.testing.assert_array_equal(after.first.cuts, before.first.cuts)
    np.testing.assert_array_equal(after.second.groups, before.second.groups)
    np.testing.assert_array_equal(after.counts, before.counts)
    assert after.evidence is None


@pytest.mark.parametrize("missing", [None, [None], "(missing)", ["(missing)"]])
def test_missing_values_of_a_side(missing):
    model = paired()
    changed = Editor(model).set(AGE_JOB, 9.0, where={"job": missing}).model
    rows = {"age": np.array([20.0, np.nan, 20.0]), "job": np.array([None, None, "pilot"], object)}
    after = added(changed, AGE_JOB, **rows)[:, 0]
    assert after[:2].tolist() == [9.0, 9.0]
    assert after[2] == added(model, AGE_JOB, **rows)[2, 0]


def test_missing_numbers_and_other_levels():
    model = paired()
    changed = Editor(model).set(AGE_JOB, 9.0, where={"age": None, "job": "(other)"}).model
    rows = {
        "age": np.array([np.nan, np.nan, 20.0]),
        "job": np.array(["pilot", None, "pilot"], object),
    }
    assert (added(changed, AGE_JOB, **rows)[:, 0] == 9.0).tolist() == [True, False, False]


def test_dates_and_whole_numbers_have_both_ends_in_a_region():
    columns = {"day": Date("2020-01-01", "2020-12-31"), "years": Number(0, 99, whole=True)}
    base = make_model(columns=columns)
    axes = [
        PairAxis(name, column, np.empty(0), np.empty(0, dtype=np.int64))
        for name, column in base.schema.items()
    ]
    cells = np.ones((2, 2))
    pair = PairTerm(*axes, np.zeros((2, 2, 1)), np.ones((2, 2, 1)), cells, cells)
    model = dataclasses.replace(base, pairs=(pair,))
    where = {"day": (dt.date(2020, 3, 1), "2020-03-31"), "years": (18, 20)}
    changed = Editor(model).set(("day", "years"), 1.0, where=where).model
    days = ["2020-02-29", "2020-03-01", "2020-03-31", "2020-04-01"]
    rows = {"day": np.array(days, dtype="datetime64[D]"), "years": np.full(4, 20.0)}
    assert added(changed, ("day", "years"), **rows)[:, 0].tolist() == [0, 1, 1, 0]
    years = np.array([17.0, 18.0, 20.0, 21.0])
    rows = {"day": np.array(["2020-03-15"] * 4, dtype="datetime64[D]"), "years": years}
    assert added(changed, ("day", "years"), **rows)[:, 0].tolist() == [0, 1, 1, 0]
    assert_same_model(replay(model, through_json(changed.edits)), changed)


@pytest.mark.parametrize(
    "where",
    [
        *[{}, "age", ["age"], {"pay": (0, 1)}, {"age": (30, 50), "flag": [True]}, {1: 2}],
        *[{"age": (50, 30)}, {"age": (10, 30)}, {"age": (30, 91)}, {"age": [30]}, {"age": 30}],
        *[{"age": ["a", "b"]}, {"age": (np.nan, 40)}, {"age": "(other)"}, {"age": {}}],
        *[{"job": []}, {"job": ["pilot"]}, {"job": (30, 50)}, {"job": [["nurse"]]}, {"job": {}}],
        *[{"job": {"nurse": 1}}, {"job": [np.nan]}, {"job": True}, {"age": (True, 30)}],
    ],
    ids=str,
)
@pytest.mark.parametrize("what", ["set", "smooth"])
def test_a_region_that_is_none_is_refused(what, where):
    editor = Editor(paired())
    given_ = {"set": {"value": 0.0}}.get(what, {})
    with pytest.raises(SettingError):
        getattr(editor, what)(AGE_JOB, where=where, **given_)
    assert editor.history == ()


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({}, "needs the setting 'where'"),
        ({"between": (30, 50)}, "where"),
        ({"levels": ["nurse"]}, "where"),
        ({"missing": True}, "where"),
        ({"between": (30, 50), "where": {"age": (30, 50)}}, "no setting 'between'"),
    ],
)
def test_set_of_a_pair_needs_where_alone(given_, message):
    with pytest.raises(SettingError, match=message):
        Editor(paired()).set(AGE_JOB, 0.0, **given_)


def test_where_is_for_pairs_alone():
    with pytest.raises(SettingError, match="of a column has no setting 'where'"):
        Editor(paired()).set("age", 0.0, where={"age": (30, 50)})
    with pytest.raises(SettingError, match="of a column has no setting 'where'"):
        Editor(paired()).smooth("age", where={"age": (30, 50)})


@pytest.mark.parametrize("value", [np.nan, np.inf, "1", None, True, 10**400])
def test_values_are_finite_numbers(value):
    editor = Editor(paired())
    for change in (
        lambda: editor.set(AGE_JOB, value, where={"age": None}),
        lambda: editor.scale(AGE_JOB, value),
        lambda: editor.smooth(AGE_JOB, value),
    ):
        with pytest.raises(SettingError):
            change()
    editor.set(AGE_JOB, 1e308, where={"age": (20, 30)})
    with pytest.raises(SettingError, match="not finite"):
        editor.scale(AGE_JOB, 1e10)


@pytest.mark.parametrize("what", ["interpolate", "monotone", "convex"])
def test_what_is_for_curves_is_refused_with_a_remedy(what):
    editor = Editor(paired())
    given_ = {"interpolate": {"between": (20, 30)}}.get(what, {})
    with pytest.raises(ModelError, match=r"is a pair\. Use it on 'age' or 'pay'.*where"):
        getattr(editor, what)(AGE_PAY, **given_)
    assert editor.history == ()


def test_one_class_of_several():
    model = paired("softmax")
    changed = Editor(model).set(AGE_PAY, 4.0, where={"pay": None}, output="mid").model
    before, after = model.pair(*AGE_PAY), changed.pair(*AGE_PAY)
    assert (after.scores[:, -1, 1] == 4.0).all()
    assert (after.standard_errors[:, -1, 1] == 0.0).all()
    np.testing.assert_array_equal(after.scores[..., [0, 2]], before.scores[..., [0, 2]])


# -- smooth -------------------------------------------------------------------------------------


def middles(axis):
    return (axis.edges[:-1] + axis.edges[1:]) / 2


def loss(flat, places, others, scores, weights, strength):
    smooth = flat.reshape(scores.shape)

    def bends(table, x):
        gaps = np.diff(x / np.diff(x).mean())
        return np.diff(np.diff(table, axis=0) / gaps[:, None], axis=0)

    penalty = (bends(smooth, places) ** 2).sum() + (bends(smooth.T, others) ** 2).sum()
    return (weights / weights.mean() * (smooth - scores) ** 2).sum() + strength * penalty


@pytest.mark.parametrize("strength", [1e-3, 1.0, 30.0])
def test_smoothing_minimises_what_it_says(strength):
    model = paired()
    before = model.pair(*AGE_PAY)
    after = Editor(model).smooth(AGE_PAY, strength).model.pair(*AGE_PAY)
    inner = (slice(None, -1), slice(None, -1))
    facts = (
        middles(before.first),
        middles(before.second),
        before.scores[(*inner, 0)],
        np.maximum(before.counts[inner], 1.0),
        strength,
    )
    best = minimize(loss, before.scores[(*inner, 0)].ravel(), args=facts, tol=1e-12)
    assert loss(after.scores[(*inner, 0)].ravel(), *facts) <= best.fun + 1e-9
    np.testing.assert_allclose(after.scores[(*inner, 0)].ravel(), best.x, atol=1e-4)
    # Missing values have no place in an order.
    np.testing.assert_array_equal(after.scores[-1], before.scores[-1])
    np.testing.assert_array_equal(after.scores[:, -1], before.scores[:, -1])
    np.testing.assert_array_equal(after.standard_errors[-1], before.standard_errors[-1])
    assert after.evidence is None


def test_planes_stay_and_strong_smoothing_gives_what_has_no_bends():
    model = paired()
    pair = model.pair(*AGE_PAY)
    x, y = middles(pair.first), middles(pair.second)
    plane = pair.scores.copy()
    plane[:-1, :-1, 0] = 1.0 + 0.2 * x[:, None] - 3.0 * y + 0.1 * np.outer(x, y)
    flat = model.with_pair(dataclasses.replace(pair, scores=plane))
    for strength in (1.0, 1e12):
        same = Editor(flat).smooth(AGE_PAY, strength).model.pair(*AGE_PAY).scores
        np.testing.assert_allclose(same, plane, atol=1e-7)
    strong = Editor(model).smooth(AGE_PAY, 1e14).model.pair(*AGE_PAY).scores[:-1, :-1, 0]
    root = np.sqrt(np.maximum(pair.counts[:-1, :-1], 1.0)).ravel()
    across = np.outer(np.ones(len(x)), y).ravel()
    down = np.outer(x, np.ones(len(y))).ravel()
    basis = np.column_stack([np.ones_like(down), down, across, down * across])
    fit = np.linalg.lstsq(
        basis * root[:, None], pair.scores[:-1, :-1, 0].ravel() * root, rcond=None
    )[0]
    np.testing.assert_allclose(strong.ravel(), basis @ fit, atol=1e-7)


def test_what_does_not_vary_along_a_side_is_smoothed_as_a_curve():
    rng = np.random.default_rng(1)
    x, y, scores = np.sort(rng.random(7)), np.sort(rng.random(5)), rng.normal(size=7)
    matrix = curves.grid_smoothing_matrix(x, y, np.full((7, 5), 3.0), 2.0)
    grid = (matrix @ np.repeat(scores, 5)).reshape(7, 5)
    curve = curves.smoothing_matrix(x, np.ones(7), 2.0) @ scores
    np.testing.assert_allclose(grid, np.outer(curve, np.ones(5)), atol=1e-10)


def test_levels_without_an_order_are_smoothed_each_by_itself():
    model = paired("softmax")
    before = model.pair(*AGE_JOB)
    after = Editor(model).smooth(AGE_JOB, 3.0).model.pair(*AGE_JOB)
    x = middles(before.first)
    for k in range(before.second.parts):
        matrix = curves.smoothing_matrix(x, np.maximum(before.counts[:-1, k], 1.0), 3.0)
        np.testing.assert_allclose(after.scores[:-1, k], matrix @ before.scores[:-1, k])
        np.testing.assert_allclose(
            after.standard_errors[:-1, k] ** 2, matrix**2 @ before.standard_errors[:-1, k] ** 2
        )
        np.testing.assert_allclose(
            after.whole_errors[:-1, k] ** 2, matrix**2 @ before.whole_errors[:-1, k] ** 2
        )
    np.testing.assert_array_equal(after.scores[-1], before.scores[-1])


def test_smoothing_propagates_errors_over_both_sides():
    model = paired("softmax")
    before = model.pair(*AGE_PAY)
    after = Editor(model).smooth(AGE_PAY, 2.0).model.pair(*AGE_PAY)
    inner = (slice(None, -1), slice(None, -1))
    matrix = curves.grid_smoothing_matrix(
        middles(before.first),
        middles(before.second),
        np.maximum(before.counts[inner], 1.0),
        2.0,
    )
    errors = before.standard_errors[inner].reshape(-1, 3)
    expected = np.sqrt(matrix**2 @ errors**2).reshape(after.standard_errors[inner].shape)
    np.testing.assert_allclose(after.standard_errors[inner], expected)


def test_smoothing_a_region_leaves_and_ignores_the_rest():
    model = paired()
    pair = model.pair(*AGE_JOB)
    where = {"age": (20, 80), "job": ["clerk", "été"]}
    after = Editor(model).smooth(AGE_JOB, 5.0, where=where).model
    ages = np.array([17.0, 19.9, 80.0, 90.0, np.nan])
    for job in JOBS:
        rows = {"age": ages, "job": np.array([job] * 5, object)}
        np.testing.assert_array_equal(added(after, AGE_JOB, **rows), added(model, AGE_JOB, **rows))
    for job, changes in (("nurse", False), ("clerk", True), ("été", True), ("pilot", False)):
        rows = {"age": np.linspace(20, 79, 30), "job": np.array([job] * 30, object)}
        same = np.array_equal(added(after, AGE_JOB, **rows), added(model, AGE_JOB, **rows))
        assert same is not changes
    elsewhere = pair.scores.copy()
    elsewhere[:, [1, 3]] += 100.0
    other = model.with_pair(dataclasses.replace(pair, scores=elsewhere))
    moved = Editor(other).smooth(AGE_JOB, 5.0, where=where).model
    rows = {"age": np.linspace(20, 79, 30), "job": np.array(["clerk"] * 30, object)}
    np.testing.assert_array_equal(added(after, AGE_JOB, **rows), added(moved, AGE_JOB, **rows))


def test_a_pair_without_any_order_cannot_be_smoothed():
    with pytest.raises(ModelError, match="order to smooth along"):
        Editor(paired()).smooth(FLAG_RANK)


def test_levels_in_an_order_are_smoothed_along_it():
    levels = ["a", "b", "c", "d", "e"]
    columns = {"grade": Category(levels, ordered=True), "flag": Category([False, True])}
    base = make_model(columns=columns)
    rng = np.random.default_rng(0)
    axes = (
        PairAxis("grade", columns["grade"], np.empty(0), np.array([0, 1, 2, 2, 3, 4, 4])),
        PairAxis("flag", columns["flag"], np.empty(0), np.array([0, 1, 2, 2])),
    )
    cells = np.full((5, 3), 50.0)
    scores = rng.normal(size=(5, 3, 1))
    pair = PairTerm(*axes, scores, np.ones((5, 3, 1)), cells, cells)
    model = dataclasses.replace(base, pairs=(pair,))
    after = Editor(model).smooth(("grade", "flag"), 2.0).model.pairs[0]
    matrix = curves.smoothing_matrix(np.array([0, 1, 2.5, 4]), np.ones(4), 2.0)
    np.testing.assert_allclose(after.scores[:4, :, 0], matrix @ scores[:4, :, 0])
    np.testing.assert_array_equal(after.scores[4], scores[4])
    # A part whose middle is cut out keeps the order of its levels.
    wide = dataclasses.replace(
        pair,
        first=dataclasses.replace(axes[0], groups=np.array([0, 0, 0, 0, 1, 2, 2])),
        scores=scores[:3],
        standard_errors=np.ones((3, 3, 1)),
        counts=cells[:3],
        count_errors=cells[:3],
    )
    cut = Editor(dataclasses.replace(base, pairs=(wide,))).set(
        ("grade", "flag"), 1.0, where={"grade": ["b"]}
    )
    np.testing.assert_array_equal(cut.model.pairs[0].first.groups, [0, 1, 2, 2, 3, 4, 4])
    np.testing.assert_allclose(cut.model.pairs[0].counts[:, 0], [12.5, 12.5, 25, 50, 50])


# -- drop and scale -----------------------------------------------------------------------------


def test_a_dropped_pair_leaves_its_columns():
    model = paired()
    changed = Editor(model).drop(AGE_JOB).model
    pair = changed.pair(*AGE_JOB)
    assert not pair.scores.any()
    assert not pair.standard_errors.any()
    assert not pair.whole_errors.any()
    assert pair.evidence is None
    assert changed.unused == ()
    for name in model.schema:
        assert changed[name] is model[name]
    assert changed.pair(*AGE_PAY) is model.pair(*AGE_PAY)


def test_a_dropped_column_leaves_the_model_with_its_pairs():
    model = paired()
    editor = Editor(model).drop("age", why="not to be used")
    changed = editor.model
    assert len(changed.edits) == 1
    assert not changed["age"].scores.any()
    assert not changed.pair(*AGE_JOB).scores.any()
    assert not changed.pair(*AGE_PAY).scores.any()
    assert changed.pair(*FLAG_RANK) is model.pair(*FLAG_RANK)
    assert changed.unused == ("age",)
    rows = make_rows()
    other = {**rows, "age": rows["age"][::-1]}
    lacking = {name: values for name, values in rows.items() if name != "age"}
    scores = [
        changed.scores(encode_public(one, changed.schema, may_lack=changed.unused))
        for one in (rows, other, lacking)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
    assert_same_model(from_dict(to_dict(changed)), changed)
    assert_same_model(replay(model, through_json(changed.edits)), changed)
    assert editor.undo().model.pairs == model.pairs
    for one, before in zip(Editor(changed).undo().model.pairs, model.pairs, strict=True):
        assert_same_pair(one, before)


def test_a_dropped_column_that_lives_in_a_pair_is_still_needed():
    model = paired()
    editor = Editor(model).drop("age")
    editor.set(AGE_JOB, 1.0, where={"age": (30, 50)})
    assert editor.model.unused == ()
    assert editor.drop(AGE_JOB).model.unused == ("age",)


def test_columns_dropped_before_there_were_pairs_are_unused():
    assert Editor(make_model()).drop("flag").model.unused == ("flag",)


def test_scaling_by_zero_ends_infinite_errors():
    pair = paired().pair(*AGE_JOB)
    errors = pair.standard_errors.copy()
    errors[1, 1] = np.inf
    model = paired().with_pair(dataclasses.replace(pair, standard_errors=errors))
    assert not Editor(model).scale(AGE_JOB, 0.0).model.pair(*AGE_JOB).standard_errors.any()
    after = Editor(model).scale(AGE_JOB, -3.0).model.pair(*AGE_JOB)
    np.testing.assert_array_equal(after.standard_errors, 3.0 * errors)
    np.testing.assert_array_equal(after.scores, -3.0 * pair.scores)
    np.testing.assert_array_equal(after.counts, pair.counts)


# -- history ------------------------------------------------------------------------------------


def test_undo_redo_and_revert_to_the_bit():
    model = paired("softmax")
    editor = Editor(model, who="me")
    editor.set(AGE_JOB, 1.0, where={"age": (33.3, 44.4), "job": ["nurse", None]})
    one = editor.model
    editor.smooth(AGE_PAY, 10.0, where={"age": (30, 60)})
    two = editor.model
    assert_same_pair(editor.undo().model.pair(*AGE_PAY), model.pair(*AGE_PAY))
    assert_same_pair(editor.model.pair(*AGE_JOB), one.pair(*AGE_JOB))
    assert_same_pair(editor.redo().model.pair(*AGE_PAY), two.pair(*AGE_PAY))
    assert [edit.term for edit in editor.history] == ["age & job", *["age & pay"] * 3]
    stored = from_dict(json.loads(json.dumps(to_dict(editor.model))))
    assert_same_model(stored, editor.model)
    assert_same_pair(Editor(stored).undo().model.pair(*AGE_PAY), model.pair(*AGE_PAY))
    editor.revert()
    for pair, before in zip(editor.model.pairs, model.pairs, strict=True):
        assert_same_pair(pair, before)
    assert_same_model(from_dict(to_dict(editor.model)), editor.model)


def test_edits_are_made_again_on_a_retrained_model_or_refused_by_name():
    edits = Editor(paired()).set(AGE_JOB, 1.0, where={"job": ["nurse"]}).drop(AGE_PAY).model.edits
    retrained = paired(seed=5)
    changed = replay(retrained, through_json(edits))
    assert not changed.pair(*AGE_PAY).scores.any()
    lacking = make_model(pairs=PAIRS[:1])
    with pytest.raises(ModelError, match=r"Edit 2 \('drop' of 'age & pay'\) does not fit"):
        replay(lacking, edits)
    with pytest.raises(ModelError, match=r"Edit 1 \('set' of 'age & job'\) does not fit"):
        replay(make_model(), edits)
    turned = retrained.pair(*AGE_JOB)
    turned = dataclasses.replace(
        turned,
        first=turned.second,
        second=turned.first,
        evidence=None,
        **{
            name: np.swapaxes(getattr(turned, name), 0, 1)
            for name in ("scores", "standard_errors", "counts", "count_errors", "whole_errors")
        },
    )
    other = dataclasses.replace(retrained, pairs=(turned, *retrained.pairs[1:]))
    again = replay(other, edits).pairs[0]
    np.testing.assert_array_equal(again.scores, np.swapaxes(changed.pairs[0].scores, 0, 1))


@pytest.mark.parametrize(
    "settings_",
    [
        {},
        {"value": 1.0},
        {"value": 1.0, "where": None, "extra": 1},
        {"value": 1.0, "where": {"age": [1, 2, 3]}},
        {"value": 1.0, "where": {"age": "nurse"}},
        {"value": 1.0, "where": {"job": [True]}},
        {"value": 1.0, "where": {"job": 3}},
        {"value": {"age": [1, 2]}, "where": {"age": None}},
    ],
    ids=str,
)
def test_stored_settings_are_checked(settings_):
    with pytest.raises(ModelError, match="does not fit"):
        replay(paired(), [Edit("set", "age & job", settings_, "", "", "")])


def test_terms_know_nothing_of_it():
    assert all(isinstance(term, Term) for term in Editor(paired()).drop(AGE_JOB).model.terms)
