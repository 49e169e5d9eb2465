"""Which pairs become terms is a setting that is checked before anything is paid, and kept."""

import json
import math

import numpy as np
import pytest
from scipy.special import expit, ndtr
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from voile import Budget, Category, EBMClassifier, EBMRegressor, Ledger, Number, Schema, load
from voile.errors import SchemaError, SettingError
from voile.models.ebm.interactions import find_wanted, read_interactions
from voile.models.ebm.pair_verdicts import judge_pairs
from voile.models.ebm.settings import Settings, choose, plan_shape
from voile.models.verdict import NOTHING
from voile.privacy.noise import fixed_noise

ROWS = 1_500
RNG = np.random.default_rng(0)
X = {name: RNG.random(ROWS) for name in ("a", "b", "d")} | {"c": RNG.choice(list("xyz"), ROWS)}
Y = np.where((X["a"] > 0.5) ^ (X["b"] > 0.5), 1, 0)
SCHEMA = Schema(
    {"a": Number(0, 1), "b": Number(0, 1), "d": Number(0, 1), "c": Category(list("xyz"))},
    target=Category([0, 1]),
)


def fit(interactions="auto", **settings):
    given = {"epsilon": 8.0, "bins": 8, "schema": SCHEMA, **settings}
    with fixed_noise(1):
        return EBMClassifier(interactions=interactions, **given).fit(X, Y)


def columns_of(model):
    return [pair.columns for pair in model.model_.pairs]


# -- what may be asked for ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("auto", None),
        (0, 0),
        (64, 64),
        (np.int64(3), 3),
        (np.uint8(3), 3),
        ([], ()),
        ((), ()),
        ([("a", "b")], (("a", "b"),)),
        ((("b", "a"), ["c", "d"]), (("b", "a"), ("c", "d"))),
        ([["a", "b"]], (("a", "b"),)),
    ],
)
def test_what_is_asked_for_has_one_form(given, read):
    assert read_interactions(given) == read
    assert type(read_interactions(given)) is type(read)


ODD = [
    *("Auto", "a,b", "", "none", b"auto", True, False, np.True_, -1, 65, np.int64(-5)),
    *(2.0, 0.5, math.nan, math.inf, 1j, {"a": "b"}, {("a", "b")}, object()),
    *(np.array([["a", "b"]]), iter([("a", "b")]), range(3)),
    *(["a", "b"], [("a",)], [("a", "b", "c")], [("a", 1)], [("a", None)], [{"a", "b"}], [[]]),
    *([("a", "b"), "cd"], [b"ab"], ("a", "b"), [(("a", "b"), "c")], [("a", "b")] * 65),
]


@pytest.mark.parametrize("given", ODD, ids=[f"odd {k}" for k in range(len(ODD))])
def test_anything_else_is_refused_in_words(given):
    with pytest.raises(SettingError, match="interactions"):
        Settings(interactions=given)


REFUSED = [
    ({"interactions": [("a", "nowhere")]}, SchemaError, "'nowhere'.*no column.*'a', 'b', 'd'"),
    ({"interactions": [("a", "a")]}, SettingError, "one column twice"),
    ({"interactions": [("a", "b"), ("a", "b")]}, SettingError, "named twice"),
    ({"interactions": [("a", "b"), ["b", "a"]]}, SettingError, "named twice"),
    ({"interactions": [("A", "b")]}, SchemaError, "no column"),
    ({"interactions": [("a", "b")], "method": "cyclic"}, SettingError, "method='rounds'"),
    ({"interactions": 2, "method": "cyclic"}, SettingError, "method='rounds'"),
    (
        {"interactions": [("b", "a")], "monotone": {"a": "increasing"}},
        SettingError,
        "'a' is monotone.*leave it out of 'monotone' or of 'interactions'",
    ),
    ({"interactions": [("a", "target")]}, SchemaError, "no column"),
    *(({"interactions": one}, SettingError, "interactions") for one in ("many", -1, 1.5, ["ab"])),
]


@pytest.mark.parametrize(("settings", "error", "words"), REFUSED, ids=repr)
def test_a_refusal_spends_nothing(settings, error, words):
    ledger = Ledger(Budget(8.0, 1e-6))
    with pytest.raises(error, match=words):
        fit(ledger=ledger, **settings)
    assert not ledger.history()
    assert ledger.remaining().epsilon == pytest.approx(8.0)


def test_without_a_schema_names_are_checked_before_anything_is_paid():
    ledger = Ledger(Budget(8.0, 1e-6))
    with pytest.raises(SchemaError, match="no column"):
        EBMClassifier(epsilon=1.0, ledger=ledger, interactions=[("a", "e")]).fit(X, Y)
    assert not ledger.history()


# -- what follows ---------------------------------------------------------------------------------


def labels(**settings):
    own = Settings(**settings)
    return {step.label for step in plan_shape(SCHEMA, choose(own, SCHEMA), 1e-6)}


def test_only_what_is_asked_for_is_paid():
    both = {"choice of pairs", "cells of pairs"}
    assert labels() & both == labels(interactions=3) & both == both
    assert labels(interactions=[("a", "b")]) & both == {"cells of pairs"}
    assert not labels(interactions=0) & both
    assert not labels(interactions=[]) & both
    assert not labels(rounds=4) & both
    assert labels(rounds=4, interactions=[("a", "b")]) & both == {"cells of pairs"}
    assert not labels(rounds=1, interactions=[("a", "b")]) & both
    assert not labels(method="cyclic") & both
    three = dict.fromkeys("abd", "increasing")
    assert not labels(monotone=three) & both
    for settings in ({}, {"interactions": 0}, {"interactions": [("a", "b")]}, {"rounds": 3}):
        plan = plan_shape(SCHEMA, choose(Settings(**settings), SCHEMA), 1e-6)
        precision = sum(step.event.count / step.event.noise_multiplier**2 for step in plan)
        assert precision == pytest.approx(1.0)


def test_named_pairs_are_those_that_come_out_in_either_order():
    assert columns_of(fit([("b", "a"), ("c", "d")])) == [("a", "b"), ("d", "c")]
    first, second = fit([("a", "b")]), fit([["b", "a"]])
    assert (first.decision_function(X) == second.decision_function(X)).all()
    assert first.model_.pairs[0].evidence.candidates == 1


def test_the_pair_that_matters_is_chosen_and_no_more_than_asked_for():
    assert columns_of(fit("auto"))[0] == ("a", "b")
    assert columns_of(fit(1)) == [("a", "b")]
    assert columns_of(fit(0)) == []
    assert fit("auto").score(X, Y) > 0.85 > 0.6 > fit(0).score(X, Y)


@pytest.mark.parametrize("column", ["a", "b"])
def test_monotone_columns_are_in_no_pair(column):
    model = fit("auto", monotone={column: "increasing"})
    assert all(column not in one for one in columns_of(model))
    term = model.model_[column]
    assert (np.diff(term.scores[:-1, 0]) >= 0).all()
    wanted = find_wanted(None, SCHEMA, {column: "increasing"}, 20)
    assert list(SCHEMA).index(column) not in wanted.eligible
    assert len(wanted.eligible) == 3


def test_a_monotone_column_stays_so_beside_pairs_of_others():
    model = fit([("a", "b")], monotone={"d": "decreasing"})
    assert (np.diff(model.model_["d"].scores[:-1, 0]) <= 0).all()
    base = {name: np.repeat(values[:40], 50) for name, values in X.items()}
    base["d"] = np.tile(np.linspace(0, 1, 50), 40)
    scores = model.decision_function(base).reshape(40, 50)
    assert (np.diff(scores, axis=1) <= 1e-12).all()


@pytest.mark.parametrize("epsilon", [0.5, 8.0, math.inf])
@pytest.mark.parametrize("kind", [EBMClassifier, EBMRegressor])
def test_two_columns_and_their_pair_leave_nothing_for_others(kind, epsilon):
    """What rounding leaves of the others' variance may be below zero, and has no root."""
    target = Category([0, 1]) if kind is EBMClassifier else Number(0, 1)
    schema = Schema({"a": Number(0, 1), "b": Number(0, 1)}, target=target)
    rows = {"a": X["a"], "b": X["b"]}
    for seed in range(6):
        with fixed_noise(seed):
            model = kind(epsilon=epsilon, schema=schema, rounds=6, interactions=[("a", "b")])
            made = model.fit(rows, Y).model_
        assert np.isfinite(made.pairs[0].scores).all()
        assert np.isfinite(made.pairs[0].errors).all()
        assert all(np.isfinite(term.scores).all() for term in made.terms)


# -- scikit-learn, files --------------------------------------------------------------------------


def test_curves_of_three_classes_make_no_pair():
    """Log-odds of a class against the rest are no sum of two curves where the scores are one."""
    rng = np.random.default_rng(0)
    rows = 6_000
    table = {"a": rng.random(rows), "b": rng.random(rows)}
    score = 2.0 * np.sin(6 * table["a"]) + 1.5 * (table["b"] > 0.5)
    heights = np.stack([0 * score, score, -score], axis=1) + rng.gumbel(size=(rows, 3))
    schema = Schema({"a": Number(0, 1), "b": Number(0, 1)}, target=Category([0, 1, 2]))
    with fixed_noise(1):
        model = EBMClassifier(epsilon=8.0, schema=schema, interactions=[("a", "b")])
        model.fit(table, heights.argmax(axis=1))
    assert judge_pairs(model.model_) == (NOTHING,)


def related(seed, rows, epsilon):
    """A model of two related columns of which one has an effect, and nothing is of both."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=rows), rng.normal(size=rows)
    table = {"a": ndtr(first), "b": ndtr(0.9 * first + math.sqrt(0.19) * second)}
    table["c"] = rng.random(rows)
    score = 1.5 * np.sin(6 * table["a"]) + 0.8 * (table["c"] > 0.5)
    y = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    schema = Schema(dict.fromkeys(table, Number(0, 1)), target=Category([0, 1]))
    with fixed_noise(seed):
        fitted = EBMClassifier(epsilon=epsilon, schema=schema, interactions=[("a", "b")])
        return fitted.fit(table, y).model_


@pytest.mark.parametrize(
    ("seed", "rows", "epsilon"), [(5, 10_000, 2.0), (12, 10_000, 2.0), (0, 60_000, 1.0)]
)
def test_related_columns_that_do_nothing_together_make_no_pair(seed, rows, epsilon):
    """Their noised counts are far from the rows, many cells have none, and curves are wrong."""
    assert judge_pairs(related(seed, rows, epsilon)) == (NOTHING,)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 8.0])
def test_a_pair_has_about_as_many_rows_as_the_table(epsilon):
    counts = related(1, 10_000, epsilon).pairs[0].counts
    assert 9_000 < counts.sum() < 11_500


@pytest.mark.parametrize("classes", [2, 3])
def test_a_column_without_any_level_may_be_in_a_pair(classes):
    table = {"a": X["a"], "b": np.array(list("uvwxyz") * 250)}  # too few each to be found
    schema = Schema({"a": Number(0, 1), "b": Category()}, target=Category([0, 1, 2][:classes]))
    with fixed_noise(1):
        model = EBMClassifier(epsilon=0.05, schema=schema, interactions=[("a", "b")])
        model.fit(table, np.arange(ROWS) % classes)
    assert model.model_["b"].column.levels == ()
    assert model.model_.pairs[0].scores.shape[1] == 1


@pytest.mark.parametrize("given", ["auto", 3, [("a", "b")], (("a", "c"),), [["a", "b"]]])
def test_clones_have_the_setting_as_it_was_given(given):
    made = EBMClassifier(interactions=given, schema=SCHEMA)
    assert made.get_params()["interactions"] is given
    copied = clone(made)
    assert copied.interactions == given
    assert type(copied.interactions) is type(given)
    changed = made.set_params(interactions=0)
    assert changed.interactions == 0
    assert EBMRegressor(interactions=given).get_params()["interactions"] is given


def test_cross_validation_goes_through():
    ledger = Ledger(Budget(100.0, 1e-3))
    model = EBMClassifier(
        epsilon=8.0, delta=1e-6, schema=SCHEMA, ledger=ledger, bins=8, interactions=[("a", "b")]
    )
    import pandas as pd

    with fixed_noise(2):
        scores = cross_val_score(model, pd.DataFrame(X), Y, cv=2)
    assert (scores > 0.7).all()
    assert len([one for one in ledger.history() if one.parent is None]) == 2


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("auto", "auto"),
        (0, 0),
        (np.int32(2), 2),
        ([("b", "a")], [["b", "a"]]),
        ([["a", "b"], ("c", "d")], [["a", "b"], ["c", "d"]]),
        ([], []),
    ],
)
def test_files_keep_the_setting_as_json(given, kept, tmp_path):
    model = fit(given, rounds=5)
    assert model.training_settings_["interactions"] == kept
    path = model.save(tmp_path / "model.voile")
    assert json.loads(path.read_text(encoding="utf-8"))["settings"]["interactions"] == kept
    assert load(path).training_settings_ == model.training_settings_


@pytest.mark.parametrize("damaged", ["all", True, 2.5, -1.5, {"a": "b"}, [["a"]], [["a", 3]]])
def test_damaged_settings_of_a_file_are_refused(damaged, tmp_path):
    path = fit([("a", "b")], rounds=2).save(tmp_path / "model.voile")
    data = json.loads(path.read_text(encoding="utf-8"))
    data["settings"]["interactions"] = damaged
    path.write_text(json.dumps(data), encoding="utf-8")
    from voile.errors import ModelError

    with pytest.raises(ModelError, match="interactions"):
        load(path)


def test_a_pair_and_its_curves_are_found_together():
    """Log-odds of a product: each curve is straight, however bent that of its column alone is."""
    rng = np.random.default_rng(0)
    X = {"age": rng.uniform(18, 95, 20_000), "dose": rng.uniform(0, 10, 20_000)}
    truth = 0.03 * (X["age"] - 55) + 0.02 * (X["age"] - 55) * (X["dose"] - 5) - 1
    y = (rng.random(20_000) < expit(truth)).astype(int)
    schema = Schema({"age": Number(18, 95), "dose": Number(0, 10)}, target=Category([0, 1]))
    model = EBMClassifier(epsilon=8, schema=schema).fit(X, y)
    assert len(model.model_.pairs) == 1
    # Without the pair 1.3.
    assert np.sqrt(np.mean((model.decision_function(X) - truth) ** 2)) < 0.35
