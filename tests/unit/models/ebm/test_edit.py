"""Edits change exactly what they name, can be taken back, and can be made again to the bit."""

import dataclasses
import datetime as dt
import getpass
import json

import numpy as np
import pytest
from ebm_models import assert_same_model, make_model, make_rows, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from voile import Category, Number, VoileError
from voile.errors import ModelError, SchemaError, SettingError
from voile.models.ebm import curves
from voile.models.ebm.edit import Editor, replay
from voile.models.ebm.files import SavedEBM
from voile.models.ebm.model import OTHER
from voile.models.history import Edit, taken_back, tell_edits
from voile.privacy.public_rows import encode_public

from_dict, to_dict = SavedEBM.model_of, SavedEBM.data_of

LINKS = ["identity", "logit", "softmax"]


def part_of(model, name, values):
    """What one term adds for numbers, shape (rows, outputs)."""
    term = model[name]
    return term.scores[term.find_bins(np.asarray(values, dtype=np.float64))]


def intervals(term):
    return slice(0, len(term.cuts) + 1)


def centres(term):
    return (term.edges[:-1] + term.edges[1:]) / 2


# -- ranges -------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [(20, 22), (25, 40), (17, 30), (50.5, 90), (17, 90), (39, 41)])
def test_set_changes_exactly_the_range(between):
    low, high = between
    model = make_model()
    changed = Editor(model).set("age", 7.5, between=between).model
    just_below = [np.nextafter(low, -np.inf), np.nextafter(high, -np.inf)]
    values = np.unique([*np.linspace(17, 90, 400), low, high, *just_below, np.nextafter(high, 99)])
    values = values[(values >= 17) & (values <= 90)]
    inside = (values >= low) & ((values < high) | (high == 90))
    parts = part_of(changed, "age", values)
    assert (parts[inside] == 7.5).all()
    np.testing.assert_array_equal(parts[~inside], part_of(model, "age", values)[~inside])
    assert (part_of(changed, "age", [np.nan]) == part_of(model, "age", [np.nan])).all()
    for name in ("job", "pay", "flag", "rank"):
        assert changed[name] is model[name]


def test_a_split_divides_counts_by_width_and_keeps_scores():
    model = make_model()
    before = model["age"]
    after = Editor(model).set("age", 0.0, between=(26.0, 31.1)).model["age"]
    np.testing.assert_array_equal(after.cuts, [25.0, 26.0, 31.1, 40.0, 52.3, 60.0, 71.0])
    share = 1.0 / 6.1
    assert after.counts[1] == pytest.approx(share * before.counts[1])
    assert after.counts[2] == pytest.approx((1 - share) * before.counts[1])
    assert after.counts.sum() == pytest.approx(before.counts.sum())
    assert after.count_errors[1] == pytest.approx(share * 3.25)
    assert after.count_errors[2] == pytest.approx((1 - share) * 3.25)
    np.testing.assert_array_equal(after.scores[1], before.scores[1])
    np.testing.assert_array_equal(after.standard_errors[1], before.standard_errors[1])
    np.testing.assert_array_equal(after.counts[3:], before.counts[2:])
    assert after.standard_errors[2] == 0
    assert len(after.labels) == after.bins == before.bins + 1


def test_a_range_on_cuts_splits_nothing():
    model = make_model()
    changed = Editor(model).set("age", 1.0, between=(25.0, 60.0)).model["age"]
    np.testing.assert_array_equal(changed.cuts, model["age"].cuts)
    np.testing.assert_array_equal(changed.counts, model["age"].counts)
    assert (changed.standard_errors[1:5] == 0).all()
    assert (changed.standard_errors[[0, 5, 6, 7]] > 0).all()


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    ends=st.lists(st.floats(17, 90), min_size=2, max_size=2, unique=True).map(sorted),
    what=st.sampled_from(["set", "interpolate", "smooth", "monotone"]),
)
def test_any_range_leaves_the_rest_and_a_sound_term(ends, what):
    model = make_model("softmax")
    if what == "interpolate" and ends == [17, 90]:
        return
    given_ = {"set": {"value": 1.0}}.get(what, {})
    changed = getattr(Editor(model), what)("age", between=tuple(ends), **given_).model
    from_dict(to_dict(changed))
    values = np.linspace(17, 90, 200)
    outside = (values < ends[0]) | ((values >= ends[1]) & (ends[1] != 90))
    np.testing.assert_array_equal(
        part_of(changed, "age", values[outside]), part_of(model, "age", values[outside])
    )
    np.testing.assert_allclose(changed["age"].counts.sum(), model["age"].counts.sum())


@pytest.mark.parametrize(
    "between",
    [
        *[(16, 20), (20, 91), (30, 30), (40, 30), (np.nan, 30), (20, np.inf)],
        *[(20,), "ab", 20, (20, 25, 30), ("20", "30"), (True, 30), ()],
    ],
)
@pytest.mark.parametrize("what", ["set", "interpolate", "smooth", "monotone"])
def test_a_range_that_is_none_is_refused(what, between):
    editor = Editor(make_model())
    arguments = {"value": 0.0} if what == "set" else {}
    with pytest.raises(SettingError):
        getattr(editor, what)("age", between=between, **arguments)
    assert editor.history == ()


# -- set ----------------------------------------------------------------------------------------


def test_set_levels_other_and_missing():
    model = make_model()
    editor = Editor(model).set("rank", 1.0, levels=[1, np.float64(2.5)]).set("job", 2, levels=OTHER)
    editor.set("job", 3.0, missing=True).set("flag", -4.0, levels=[True]).set(
        "age", 5, missing=True
    )
    changed = editor.model
    assert changed["rank"].scores[[1, 3], 0].tolist() == [1.0, 1.0]
    assert changed["rank"].standard_errors[[1, 3], 0].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(changed["rank"].scores[[0, 2]], model["rank"].scores[[0, 2]])
    assert changed["job"].scores[[-2, -1], 0].tolist() == [2.0, 3.0]
    assert changed["flag"].scores[1, 0] == -4.0
    assert changed["flag"].scores[0, 0] == model["flag"].scores[0, 0]
    assert changed["age"].scores[-1, 0] == 5.0
    np.testing.assert_array_equal(changed["age"].scores[:-1], model["age"].scores[:-1])
    rows = encode_public({**make_rows(1), "job": ["pilot"], "rank": [1]}, model.schema)
    terms = list(changed.schema)
    parts = changed.contributions(rows)[0, :, 0]
    assert (parts[terms.index("job")], parts[terms.index("rank")]) == (2.0, 1.0)


@pytest.mark.parametrize(
    "given_",
    [
        {},
        {"between": (20, 30), "missing": True},
        {"levels": ["nurse"], "missing": True},
        {"levels": ["pilot"]},
        {"levels": []},
        {"levels": [["nurse"]]},
        {"levels": [None]},
        {"levels": [np.nan]},
        {"levels": {"nurse": 1}},
    ],
)
def test_set_needs_one_place_that_exists(given_):
    with pytest.raises(SettingError):
        Editor(make_model()).set("job", 1.0, **given_)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, "1", None, True, 10**400, 1j])
def test_values_are_finite_numbers(value):
    with pytest.raises(SettingError):
        Editor(make_model()).set("age", value, missing=True)
    with pytest.raises(SettingError):
        Editor(make_model()).scale("age", value)
    with pytest.raises(SettingError):
        Editor(make_model()).smooth("age", strength=value)


def test_scores_never_become_infinite():
    editor = Editor(make_model()).set("age", 1e308, between=(20, 30))
    with pytest.raises(SettingError, match="not finite"):
        editor.scale("age", 1e10)
    assert len(editor.history) == 1


def test_numbers_and_categories_are_not_mixed_up():
    editor = Editor(make_model())
    with pytest.raises(SettingError, match="between"):
        editor.set("age", 1.0, levels=[20])
    with pytest.raises(ModelError, match="category"):
        editor.set("job", 1.0, between=(0, 1))
    for change in (
        lambda: editor.interpolate("job", (0, 1)),
        lambda: editor.smooth("job"),
        lambda: editor.monotone("job"),
        lambda: editor.convex("job"),
    ):
        with pytest.raises(ModelError, match="category"):
            change()
    with pytest.raises(SchemaError, match=r"no term 'wage'.*'age'"):
        editor.drop("wage")
    for change in (
        lambda: editor.monotone("age", "up"),
        lambda: editor.convex("age", "round"),
        lambda: editor.smooth("age", 0.0),
        lambda: editor.smooth("age", -1.0),
    ):
        with pytest.raises(SettingError):
            change()
    assert editor.history == ()


# -- interpolate --------------------------------------------------------------------------------


def test_interpolation_is_linear_in_the_centres():
    model = make_model("softmax")
    before = model["age"]
    after = Editor(model).interpolate("age", (31.1, 60.0)).model["age"]
    middle, old = centres(after), before.scores
    for output in range(3):
        line = np.interp(middle[2:5], middle[[1, 5]], old[[1, 5], output])
        np.testing.assert_allclose(after.scores[2:5, output], line)
    share = (middle[2] - middle[1]) / (middle[5] - middle[1])
    errors = before.standard_errors
    np.testing.assert_allclose(
        after.standard_errors[2], np.hypot((1 - share) * errors[1], share * errors[5])
    )
    np.testing.assert_array_equal(after.scores[[0, 1, 5, 6, 7]], old[[0, 1, 5, 6, 7]])


@pytest.mark.parametrize(("between", "source"), [((17, 40), 3), ((52.3, 90), 3)])
def test_interpolation_at_an_end_takes_the_neighbour(between, source):
    model = make_model()
    after = Editor(model).interpolate("age", between).model["age"]
    inside = slice(0, 3) if between[0] == 17 else slice(4, 7)
    assert (after.scores[inside] == model["age"].scores[source]).all()
    assert (after.standard_errors[inside] == model["age"].standard_errors[source]).all()


def test_interpolation_of_everything_is_refused():
    with pytest.raises(SettingError, match="narrower"):
        Editor(make_model()).interpolate("age", (17, 90))


# -- smooth -------------------------------------------------------------------------------------


def smoothing_loss(smooth, places, scores, weights, strength):
    gaps = np.diff(places / np.diff(places).mean())
    bends = np.diff(np.diff(smooth) / gaps)
    return weights / weights.mean() @ (smooth - scores) ** 2 + strength * bends @ bends


@pytest.mark.parametrize("strength", [1e-3, 1.0, 30.0])
def test_smoothing_minimises_what_it_says(strength):
    model = make_model()
    before = model["age"]
    part = intervals(before)
    after = Editor(model).smooth("age", strength).model["age"]
    facts = centres(before), before.scores[part, 0], before.counts[part], strength
    best = minimize(smoothing_loss, before.scores[part, 0], args=facts, tol=1e-12)
    mine = smoothing_loss(after.scores[part, 0], *facts)
    assert mine <= best.fun + 1e-9
    np.testing.assert_allclose(after.scores[part, 0], best.x, atol=1e-4)
    assert after.scores[-1] == before.scores[-1]
    assert not np.allclose(after.scores[part], before.scores[part])


def test_smoothing_keeps_straight_lines_and_strong_smoothing_gives_one():
    model = make_model()
    term = model["age"]
    x = centres(term)
    line = np.append(2.0 - 0.3 * x, 0.5)[:, None]
    straight = model.with_term(dataclasses.replace(term, scores=line))
    np.testing.assert_allclose(
        Editor(straight).smooth("age", 100.0).model["age"].scores, line, atol=1e-12
    )
    strong = Editor(model).smooth("age", 1e12).model["age"].scores[:-1, 0]
    root = np.sqrt(term.counts[:-1])
    fit = np.polyfit(x, term.scores[:-1, 0], 1, w=root)
    np.testing.assert_allclose(strong, np.polyval(fit, x), atol=1e-8)


def test_smoothing_propagates_errors_linearly():
    model = make_model("softmax")
    term = model["age"]
    rng = np.random.default_rng(3)
    part = intervals(term)
    draws = [
        Editor(
            model.with_term(
                dataclasses.replace(
                    term,
                    scores=term.scores + term.standard_errors * rng.normal(size=term.scores.shape),
                )
            )
        )
        .smooth("age", 2.0)
        .model["age"]
        .scores[part]
        for _ in range(400)
    ]
    errors = Editor(model).smooth("age", 2.0).model["age"].standard_errors[part]
    np.testing.assert_allclose(np.std(draws, axis=0), errors, rtol=0.15)
    assert (errors.max(axis=0) < term.standard_errors[part].max(axis=0)).all()


def test_infinite_errors_stay_where_they_belong():
    term = make_model()["age"]
    errors = term.standard_errors.copy()
    errors[6] = np.inf
    model = make_model().with_term(dataclasses.replace(term, standard_errors=errors))
    near = Editor(model).smooth("age", 1.0).model["age"].standard_errors
    assert np.isinf(near[:7]).all()
    far = Editor(model).smooth("age", 1.0, between=(17, 60)).model["age"].standard_errors
    assert np.isfinite(far[:6]).all()
    gone = Editor(model).scale("age", 0.0).model["age"].standard_errors
    assert (gone == 0).all()
    moved = Editor(model).interpolate("age", (52.3, 71.0)).model["age"].standard_errors
    assert np.isinf(moved[4:6]).all()
    assert np.isfinite(moved[:4]).all()
    replaced = Editor(model).interpolate("age", (60, 90)).model["age"].standard_errors
    assert (replaced[5:7] == errors[4]).all()


# -- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
@pytest.mark.parametrize("between", [None, (25.0, 71.0)])
def test_monotone_is_isotonic_regression_by_counts(direction, between):
    model = make_model("softmax")
    before = model["age"]
    after = Editor(model).monotone("age", direction, between).model["age"]
    part = slice(0, 7) if between is None else slice(1, 6)
    for output in range(3):
        expected = IsotonicRegression(increasing=direction == "increasing").fit_transform(
            np.arange(before.bins)[part],
            before.scores[part, output],
            sample_weight=before.counts[part],
        )
        np.testing.assert_allclose(after.scores[part, output], expected)
    steps = np.diff(after.scores[part], axis=0)
    assert (steps >= 0).all() if direction == "increasing" else (steps <= 0).all()
    np.testing.assert_array_equal(after.standard_errors, before.standard_errors)
    assert (after.scores[-1] == before.scores[-1]).all()


def bends_of(x, scores):
    return np.diff(np.diff(scores) / np.diff(x))


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(
    scores=st.lists(st.floats(-5, 5), min_size=3, max_size=9),
    seed=st.integers(0, 10**6),
)
def test_the_nearest_convex_curve_is_convex_and_nearest(scores, seed):
    rng = np.random.default_rng(seed)
    scores = np.array(scores)
    x = np.cumsum(rng.uniform(0.1, 3.0, len(scores)))
    weights = rng.uniform(1, 100, len(scores))
    nearest = curves.nearest_convex(x, scores, weights)
    assert bends_of(x, nearest).min() > -1e-9
    # A projection onto a cone leaves a rest that is at right angles to the projection, and at an
    # obtuse angle to all of the cone: lines both ways, and bends upwards.
    rest = weights * (scores - nearest)
    scale = weights.sum() * 10
    assert abs(rest @ nearest) < 1e-9 * scale
    assert abs(rest.sum()) < 1e-9 * scale
    assert abs(rest @ x) < 1e-9 * scale * x.max()
    for knot in x[1:-1]:
        assert rest @ np.maximum(x - knot, 0) < 1e-9 * scale * x.max()


def test_convex_and_concave_edits():
    model = make_model("softmax")
    before, x = model["age"], centres(model["age"])
    up = Editor(model).convex("age").model["age"]
    down = Editor(model).convex("age", "concave").model["age"]
    for output in range(3):
        assert bends_of(x, up.scores[:-1, output]).min() > -1e-12
        assert bends_of(x, down.scores[:-1, output]).max() < 1e-12
    assert not np.allclose(up.scores, before.scores)
    np.testing.assert_array_equal(up.standard_errors, before.standard_errors)
    again = Editor(make_model("softmax").with_term(up)).convex("age").model["age"]
    np.testing.assert_allclose(again.scores, up.scores, atol=1e-12)


def test_a_convex_curve_with_many_uneven_bins():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 1e6, 255) ** 1.5)
    noisy = (x / x.max() - 0.3) ** 2 + 0.1 * rng.normal(size=255)
    nearest = curves.nearest_convex(x, noisy, rng.uniform(1, 1e4, 255))
    slopes = np.diff(nearest) / np.diff(x)
    assert np.diff(slopes).min() > -1e-6 * np.abs(slopes).max()
    assert np.abs(nearest - (x / x.max() - 0.3) ** 2).mean() < 0.03


def test_shapes_of_few_bins_change_nothing():
    model = make_model()
    editor = Editor(model).smooth("pay", 5.0).convex("pay")
    np.testing.assert_array_equal(editor.model["pay"].scores, model["pay"].scores)


def test_empty_bins_do_not_stop_an_edit():
    term = make_model()["age"]
    model = make_model().with_term(dataclasses.replace(term, counts=np.zeros(term.bins)))
    editor = Editor(model).smooth("age", 2.0).monotone("age").convex("age")
    assert np.isfinite(editor.model["age"].scores).all()


# -- drop, scale, outputs -----------------------------------------------------------------------


def test_drop_and_scale():
    model = make_model("softmax")
    changed = Editor(model).drop("job").scale("age", -2.0).model
    assert (changed["job"].scores == 0).all()
    assert (changed["job"].standard_errors == 0).all()
    np.testing.assert_array_equal(changed["age"].scores, -2 * model["age"].scores)
    np.testing.assert_array_equal(changed["age"].standard_errors, 2 * model["age"].standard_errors)
    np.testing.assert_array_equal(changed.intercept, model.intercept)
    rows = encode_public(make_rows(50), model.schema)
    kept = model.contributions(rows)[:, 2:].sum(axis=1) - 2 * model.contributions(rows)[:, 0]
    np.testing.assert_allclose(changed.scores(rows), kept + model.intercept)


@pytest.mark.parametrize("output", ["mid", 1, np.int64(1)])
def test_one_class_of_three(output):
    model = make_model("softmax")
    editor = Editor(model).scale("age", 3.0, output=output).smooth("pay", 1.0, output=output)
    editor.set("job", 9.0, levels=["nurse"], output=output).monotone("age", output=output)
    assert {edit.settings["output"] for edit in editor.history} == {"mid"}
    for name in ("age", "job"):
        new, old = editor.model[name], model[name]
        np.testing.assert_array_equal(new.scores[:, [0, 2]], old.scores[:, [0, 2]])
        np.testing.assert_array_equal(
            new.standard_errors[:, [0, 2]], old.standard_errors[:, [0, 2]]
        )
    assert editor.model["job"].scores[1, 1] == 9.0


def test_labels_come_before_positions():
    model = make_model("softmax", target=Category([2, 0, 1]))
    changed = Editor(model).set("age", 7.0, missing=True, output=2)
    assert changed.model["age"].scores[-1, 0] == 7.0
    assert changed.history[0].settings["output"] == 2


def test_outputs_that_do_not_exist_are_refused():
    for output in ("none", 3, -1, 0.5, ["mid"], True):
        with pytest.raises(SettingError, match="class"):
            Editor(make_model("softmax")).scale("age", 2.0, output=output)
    for output in ("no", 0, 1):
        with pytest.raises(SettingError, match="one score"):
            Editor(make_model("logit")).scale("age", 2.0, output=output)
    with pytest.raises(SettingError, match="one score"):
        Editor(make_model("identity")).scale("age", 2.0, output=0)
    model = make_model("logit")
    changed = Editor(model).scale("age", 2.0, output="yes").model
    np.testing.assert_array_equal(changed["age"].scores, 2 * model["age"].scores)


def assert_same_state(one, other):
    """Equal to the bit, but for what was done and taken back on the way."""
    assert_same_model(dataclasses.replace(one, history=()), dataclasses.replace(other, history=()))


# -- history ------------------------------------------------------------------------------------


def make_many_edits(editor):
    editor.smooth("age", 3.0, why="noise").set("age", 0.5, between=(28.5, 36), why="known")
    editor.interpolate("age", (45, 55.5)).monotone("age", "decreasing", (60, 90))
    editor.convex("pay", "concave").scale("job", 0.5).drop("flag", why="not to be used")
    return editor.set("rank", -0.25, levels=[1, 2.5]).set("job", 0.0, missing=True)


@pytest.mark.parametrize("link", LINKS)
def test_replaying_gives_the_same_scores_to_the_bit(link):
    model = make_model(link)
    edited = make_many_edits(Editor(model)).model
    assert_same_model(replay(model, edited.edits), edited)
    stored = from_dict(json.loads(json.dumps(to_dict(edited))))
    assert_same_model(replay(stored.original, stored.edits), edited)
    half = replay(model, edited.edits[:4])
    assert_same_model(replay(half, edited.edits[4:]), edited)


def test_edits_can_be_replayed_on_another_model():
    edits = make_many_edits(Editor(make_model())).history
    other = make_model(seed=9)
    again = replay(other, edits)
    assert again.original is other
    assert (again["flag"].scores == 0).all()
    assert part_of(again, "age", [30.0]) == 0.5
    assert not np.array_equal(scores_of(again)["age"][0], scores_of(make_model())["age"][0])


def test_edits_that_do_not_fit_are_named():
    edits = make_many_edits(Editor(make_model())).history
    other = make_model(columns={"age": Number(17, 50)})
    narrow = dataclasses.replace(
        other["age"],
        cuts=np.array([25.0]),
        **{
            name: getattr(other["age"], name)[:3]
            for name in ("scores", "standard_errors", "counts", "count_errors")
        },
    )
    with pytest.raises(ModelError, match=r"Edit 3 \('interpolate' of 'age'\)"):
        replay(other.with_term(narrow), edits)


@pytest.mark.parametrize(
    ("what", "given_"),
    [
        ("explode", {}),
        ("set", {}),
        ("set", {"value": 1.0}),
        ("set", {"value": 1.0, "missing": 1}),
        ("set", {"value": 1.0, "missing": True, "levels": [1]}),
        ("smooth", {"strength": 1.0, "colour": "red"}),
        ("smooth", {"strength": "1"}),
        ("scale", {"factor": None}),
        ("interpolate", {"between": None}),
        ("monotone", {"direction": ["increasing"]}),
    ],
)
def test_an_edit_from_elsewhere_is_checked(what, given_):
    edit = Edit(what, "age", given_, "", "me", "2026-01-01T00:00:00+00:00")
    with pytest.raises(ModelError, match="Edit 1"):
        replay(make_model(), [edit])


def test_the_history_says_who_what_when_and_why():
    start = dt.datetime.now(dt.UTC).replace(microsecond=0)
    editor = Editor(make_model(), who="Dr. Weber")
    edit = editor.set("age", np.float32(1.5), between=(20, 30), why="wrong").history[0]
    assert (edit.what, edit.term, edit.why, edit.who) == ("set", "age", "wrong", "Dr. Weber")
    assert edit.settings == {"value": 1.5, "between": [20, 30]}
    when = dt.datetime.fromisoformat(edit.when)
    assert when.utcoffset() == dt.timedelta(0)
    assert start <= when <= dt.datetime.now(dt.UTC)
    assert "." not in edit.when
    json.dumps(dict(edit.settings))


def test_the_author_is_the_user_if_there_is_one(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    assert Editor(make_model()).drop("age").history[0].who == "ada"

    def fail():
        raise OSError("no such user")

    monkeypatch.setattr(getpass, "getuser", fail)
    assert Editor(make_model()).drop("age").history[0].who == "unknown"
    for who in (5, "\ud800"):
        with pytest.raises(SettingError):
            Editor(make_model(), who=who)
    with pytest.raises(SettingError):
        Editor(make_model()).drop("age", why=None)


def test_the_given_model_never_changes():
    model = make_model("softmax")
    before = to_dict(model)
    editor = Editor(model)
    assert editor.model is model
    assert editor.history == ()
    edited = make_many_edits(editor).model
    assert to_dict(model) == before
    assert edited.original is model
    assert edited.receipt is model.receipt
    assert len(edited.edits) == 9
    with pytest.raises(ValueError, match="read-only"):
        edited["age"].scores[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        edited["age"].counts[0] = 0.0


def test_a_refused_edit_leaves_the_editor_as_it_was():
    editor = Editor(make_model()).drop("age").drop("job").undo()
    before = editor.model
    with pytest.raises(VoileError):
        editor.set("pay", 1.0, between=(0, 99))
    assert editor.model is before
    assert len(editor.redo().model.edits) == 2


def test_undo_redo_and_revert():
    model = make_model()
    editor = Editor(model)
    states = [model]
    for step in (lambda: editor.drop("age"), lambda: editor.smooth("pay"), editor.revert):
        step()
        states.append(editor.model)
    assert states[-1].edits == ()
    assert_same_state(states[-1], model)
    for state in reversed(states[:-1]):
        assert_same_state(editor.undo().model, state)
    with pytest.raises(ModelError, match="nothing to undo"):
        editor.undo()
    for state in states[1:]:
        assert_same_state(editor.redo().model, state)
    with pytest.raises(ModelError, match="nothing to redo"):
        editor.redo()
    editor.undo().undo().drop("job")
    with pytest.raises(ModelError, match="nothing to redo"):
        editor.redo()
    assert [edit.term for edit in editor.model.edits] == ["age", "job"]


def test_revert_without_edits_is_no_step():
    editor = Editor(make_model()).drop("age").undo().revert()
    assert [edit.what for edit in editor.history] == ["drop", "undo"]
    assert [edit.term for edit in editor.redo().model.edits] == ["age"]


def test_what_was_taken_back_stays_in_the_history_with_who_did_it():
    model = make_model()
    first = Editor(model, who="Dr. A").smooth("pay").drop("age", why="not to be used").model
    editor = Editor(from_dict(to_dict(first)), who="Dr. B").undo(why="it is to be used")
    drop, undo = editor.history[1:]
    assert (drop.what, drop.term, drop.who, drop.why) == ("drop", "age", "Dr. A", "not to be used")
    assert (undo.what, undo.term, undo.who, undo.why) == (
        *("undo", "age", "Dr. B"),
        "it is to be used",
    )
    assert undo.settings == {"what": "drop", "when": drop.when}
    assert [edit.what for edit in editor.model.edits] == ["smooth"]
    again = Editor(from_dict(to_dict(editor.model)), who="Dr. C").revert()
    assert [edit.what for edit in again.history] == ["smooth", "drop", "undo", "revert"]
    assert again.model.edits == ()
    assert again.model.original is None
    last = Editor(from_dict(to_dict(again.model)), who="Dr. D").drop("job").model
    assert [edit.who for edit in last.history] == ["Dr. A", "Dr. A", "Dr. B", "Dr. C", "Dr. D"]
    assert_same_model(last.original, model)
    stored = from_dict(to_dict(last))
    assert stored.history == last.history
    assert_same_model(stored, last)


def test_a_file_without_a_history_has_that_of_its_edits():
    data = to_dict(Editor(make_model()).drop("age").model)
    assert "history" not in data
    assert from_dict(data).history == from_dict(data).edits


@pytest.mark.parametrize("damage", ["lacking", "unknown term", "no edit", "a move in force"])
def test_a_history_that_contradicts_its_model_is_refused(damage):
    data = to_dict(Editor(make_model()).drop("age").drop("job").undo().model)
    line = data["history"][0]
    if damage == "lacking":
        data["history"] = data["history"][1:]
    elif damage == "unknown term":
        data["history"].append({**line, "term": "nothing"})
    elif damage == "no edit":
        data["history"] = {"0": line}
    else:
        data["edits"].append(data["history"][2])
    with pytest.raises(ModelError):
        from_dict(data)


def test_lines_say_what_is_in_force_no_more():
    model = Editor(make_model(), who="A").drop("age").drop("job").undo().redo().undo().model
    told = [words for _, words in tell_edits(model.history, model.edits)]
    assert told[:2] == ["drop", "drop (taken back)"]
    assert [words.split(";")[0] for words in told[2:]] == ["undo", "redo", "undo"]
    assert taken_back(model.history) == 2


def test_a_stored_model_can_be_edited_on_and_undone():
    model = make_model()
    first = Editor(model, who="a").smooth("age").drop("job").model
    stored = from_dict(to_dict(first))
    editor = Editor(stored, who="b").drop("flag")
    assert [edit.who for edit in editor.history] == ["a", "a", "b"]
    assert editor.model.original is stored.original
    assert_same_model(editor.model.original, model)
    editor.undo()
    assert_same_state(editor.model, stored)
    assert_same_state(editor.undo().model, replay(model, first.edits[:1]))
    assert_same_state(editor.undo().model, model)
    with pytest.raises(ModelError, match="nothing to undo"):
        editor.undo()
    editor.redo().redo().redo()
    assert [edit.who for edit in editor.model.edits] == ["a", "a", "b"]
    assert_same_state(editor.revert().model, model)
