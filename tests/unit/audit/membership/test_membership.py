"""Membership inference: formulas by hand, models that learn by heart are found, private ones not.

Coins, models and noise here have fixed seeds: a correct library passes for good.
"""

import json
import math
from dataclasses import FrozenInstanceError, replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from voile import Budget, Category, EBMClassifier, Ledger, Number, Schema
from voile.audit.membership import (
    Shadows,
    allowed_tpr,
    lira,
    loss_threshold,
    membership_report,
    rmia,
    train_shadows,
)
from voile.audit.membership.attacks import judge
from voile.audit.membership.curves import area, clustered_variance, count_alarms, curve, point
from voile.audit.membership.scores import lira_scores, rmia_scores, side_means
from voile.audit.two_worlds import allowed_auc
from voile.errors import DataError, ModelError, SettingError
from voile.privacy.noise import fixed_noise

ROWS = 300
SCHEMA = Schema({f"x{i}": Number(-1, 1) for i in range(4)}, target=Category([0, 1]))
FOREST = RandomForestClassifier(25, random_state=0)


def make_table(rows=ROWS, noise=0.35):
    """Two classes by the first column, some labels turned round."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (rows, 4))
    y = ((X[:, 0] > 0) ^ (rng.random(rows) < noise)).astype(int)
    return X, y


def answers(shape=(6, 9), seed=0):
    """Confidences and members of made-up shadow models."""
    rng = np.random.default_rng(seed)
    members = rng.random(shape) < 0.5
    return np.clip(rng.random(shape) + 0.2 * members, 0.01, 0.99), members


class Constant:
    """A model that learns nothing: its answers depend on the asked row alone."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = (np.asarray(X)[:, 0] + 1.5) / 3.0
        return np.column_stack([p, 1 - p])


@pytest.fixture(scope="module")
def by_heart():
    X, y = make_table()
    return membership_report(FOREST, X, y, trainings=16, random_state=0)


@pytest.fixture(scope="module")
def private():
    X, y = make_table()
    model = EBMClassifier(epsilon=1.0, delta=1e-6, schema=SCHEMA)
    with fixed_noise(3):
        return membership_report(model, X, y, epsilon=1.0, delta=1e-6, random_state=0)


# -- what is found ---------------------------------------------------------------------------------


def test_a_model_that_learned_by_heart_is_found_by_all_attacks(by_heart):
    names = [one.name for one in by_heart.attacks]
    assert names == ["loss threshold", "LiRA", "LiRA, offline", "RMIA", "RMIA, offline"]
    for attack in by_heart.attacks:
        assert attack.auc.lower > 0.7
    lira_online = by_heart.attacks[1]
    assert lira_online.points[0].fpr == 0.01
    assert lira_online.points[0].tpr.lower > 0.05
    assert by_heart.exceeds == ()
    assert by_heart.strongest.auc.value == max(one.auc.value for one in by_heart.attacks)


def test_random_labels_learned_by_heart_are_found_and_break_a_guarantee():
    X, _ = make_table()
    y = np.random.default_rng(1).integers(0, 2, len(X))
    fit = KNeighborsClassifier(1)
    report = membership_report(fit, X, y, trainings=8, epsilon=0.1, random_state=0)
    assert all(one.auc.value > 0.7 for one in report.attacks)
    # Members are always right, others half of the time.
    assert report.attacks[0].auc.value == pytest.approx(0.75, abs=0.03)
    assert report.exceeds == report.attacks
    assert "More than the guarantee allows: loss threshold, LiRA" in str(report)
    silent = membership_report(fit, X, y, trainings=8, random_state=0)
    assert silent.exceeds == ()
    assert [one.auc for one in report.attacks] == [one.auc for one in silent.attacks]


def test_a_regression_tree_is_found_by_all_attacks():
    X, y = make_table()
    y = X[:, 0] + np.random.default_rng(2).normal(size=len(X))
    fitted = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    report = membership_report(fitted, X, y, random_state=0)
    assert report.kind == "regression"
    assert all(one.auc.lower > 0.65 for one in report.attacks)
    assert report.attacks[1].points[0].tpr.lower > 0.02


def test_nothing_is_found_in_a_model_that_learns_nothing():
    X, y = make_table()
    report = membership_report(lambda X, y: Constant(), X, y, random_state=0)
    for attack in report.attacks:
        assert attack.auc.lower <= 0.5 <= attack.auc.upper
    # Shadow models take away what differs between rows: all scores are equal. (Offline RMIA
    # supposes a likelihood with the row that differs between rows.)
    for attack in report.attacks[1:4]:
        assert attack.auc.value == 0.5
        assert attack.roc.false_positive_rates == attack.roc.true_positive_rates == (0.0, 1.0)


def test_a_target_far_off_all_others_does_no_harm():
    X, y = make_table()
    y = X[:, 0].copy()
    y[5] = 1e9
    report = membership_report(KNeighborsRegressor(1), X, y, trainings=6, random_state=0)
    assert all(0 <= one.auc.lower <= one.auc.upper <= 1 for one in report.attacks)


def test_nothing_is_found_in_a_constant_regression():
    X, y = make_table()
    fit = DummyRegressor(strategy="constant", constant=0.3)
    report = membership_report(fit, X, y.astype(float), random_state=0)
    for attack in report.attacks:
        assert attack.auc.lower <= 0.5 <= attack.auc.upper


def test_a_private_model_stays_within_its_guarantee(private):
    assert private.exceeds == ()
    for attack in private.attacks:
        assert attack.auc.upper < attack.allowed_auc == allowed_auc(1.0, 1e-6)
        for one in attack.points:
            assert one.allowed == allowed_tpr(1.0, 1e-6, one.fpr)
            assert one.tpr.lower <= one.allowed
            assert one.exceeds is False
    assert max(one.points[0].tpr.value for one in private.attacks) < allowed_tpr(1.0, 1e-6, 0.01)


# -- rates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_rates_and_area_as_counted_by_hand(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (3, 8)).astype(float)  # many ties
    members = rng.random((3, 8)) < 0.5
    ins, outs = scores[members], scores[~members]
    limits, false, right = count_alarms(scores, members)
    assert limits[0] == math.inf
    for limit, f, r in zip(limits, false, right, strict=True):
        assert f == sum(one >= limit for one in outs)
        assert r == sum(one >= limit for one in ins)
    pairs = [(a > b) + 0.5 * (a == b) for a, b in product(ins, outs)]
    assert area(scores, members).value == pytest.approx(np.mean(pairs))
    for fpr in (0.01, 0.2, 0.5, 0.9):
        best = max(
            np.mean(ins >= limit)
            for limit in [math.inf, *np.unique(scores)]
            if np.mean(outs >= limit) <= fpr
        )
        found = point(scores, members, fpr)
        assert found.tpr.value == found.right_alarms / found.members == best
        assert found.false_rate.value == found.false_alarms / found.non_members <= fpr
        assert found.tpr.lower <= best <= found.tpr.upper
        assert found.allowed is None
        assert found.exceeds is None


def test_curves_rise_are_short_and_keep_low_rates():
    rng = np.random.default_rng(0)
    members = rng.random((8, 4000)) < 0.5
    scores = rng.normal(size=members.shape) + members
    kept = curve(scores, members)
    false, right = (np.array(one) for one in (kept.false_positive_rates, kept.true_positive_rates))
    assert 50 < len(false) <= 200
    assert (false[0], right[0], false[-1], right[-1]) == (0, 0, 1, 1)
    assert (np.diff(false) >= 0).all()
    assert (np.diff(right) >= 0).all()
    assert np.trapezoid(right, false) == pytest.approx(area(scores, members).value, abs=0.01)
    outs = np.sort(scores[~members])[::-1]
    for alarms in (0, 1, 2, 5):  # the first corners are all there
        limit = outs[alarms]
        corner = np.flatnonzero(np.isclose(false, alarms / len(outs)))[-1]
        assert right[corner] == pytest.approx((scores[members] > limit).mean(), abs=1e-12)


def test_all_curves_are_monotone(by_heart, private):
    for attack in (*by_heart.attacks, *private.attacks):
        false, right = attack.roc.false_positive_rates, attack.roc.true_positive_rates
        assert len(false) == len(right) <= 200
        assert (np.diff(false) >= 0).all()
        assert (np.diff(right) >= 0).all()
        assert (false[-1], right[-1]) == (1.0, 1.0)


def test_intervals_cover_rates_of_scores_that_depend_on_each_other():
    # 200 draws; at a coverage of 95 % fewer than 180 would come in one of 1,000 seeds.
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        members = rng.random((8, 60)) < 0.5
        shared = rng.normal(size=(8, 1)) + rng.normal(size=(1, 60))
        found = area(shared + rng.normal(size=(8, 60)), members)
        covered += found.lower <= 0.5 <= found.upper
    assert covered >= 180


def test_dependent_parts_have_larger_variance():
    rng = np.random.default_rng(0)
    free = rng.normal(size=(10, 50))
    assert clustered_variance(free) == pytest.approx(500, rel=0.4)
    shared = np.repeat(rng.normal(size=(10, 1)), 50, axis=1)
    by_hand = ((50 * shared[:, 0]) ** 2).sum() * 10 / 9
    assert clustered_variance(shared) >= by_hand * 0.999
    assert clustered_variance(free[:1]) == pytest.approx((free[0] ** 2).sum() * 50 / 49)


def test_separation_and_its_opposite():
    members = np.tile([True, False], (4, 20))
    assert area(members.astype(float), members).value == 1.0
    assert area(members.astype(float), members).lower < 1.0
    assert area(-members.astype(float), members).value == 0.0
    found = point(members.astype(float), members, 0.01, (1.0, 0.0))
    assert (found.tpr.value, found.false_alarms, found.tpr.upper) == (1.0, 0, 1.0)
    assert 0.8 < found.tpr.lower < 1.0
    assert found.exceeds
    assert judge(
        "oracle", members.astype(float), Shadows("regression", members, members), 1.0
    ).exceeds


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (1, 0), (0.3, 0.05), (3, 1e-5), (1, 0.2)])
def test_allowed_rates_are_the_edge_of_the_region(epsilon, delta):
    f = np.linspace(0, 1, 2001)
    allowed = np.array([allowed_tpr(epsilon, delta, one) for one in f])
    assert (allowed <= 1).all()
    assert (allowed >= f - 1e-12).all()
    assert (allowed <= np.exp(epsilon) * f + delta + 1e-12).all()
    inside = allowed < 1
    silence = 1 - f - np.exp(epsilon) * (1 - allowed)
    assert (silence <= delta + 1e-9)[inside].all()
    assert np.trapezoid(allowed, f) == pytest.approx(allowed_auc(epsilon, delta), abs=1e-5)


def test_allowed_rates_at_the_ends():
    assert allowed_tpr(math.inf, 0.0, 0.0) == allowed_tpr(1e6, 0.0, 0.5) == 1.0
    assert allowed_tpr(1e6, 0.1, 0.0) == 0.1
    assert allowed_tpr(0.0, 0.0, 0.3) == pytest.approx(0.3)
    for bad in [(-1, 0, 0.1), (math.nan, 0, 0.1), (1, 2, 0.1), (1, 0, 1.5), (1, 0, -0.1)]:
        with pytest.raises(SettingError):
            allowed_tpr(*bad)


# -- formulas by hand ------------------------------------------------------------------------------


def slow_sides(values, members, target, row):
    others = [j for j in range(len(values)) if j != target]
    return (
        [values[j, row] for j in others if members[j, row]],
        [values[j, row] for j in others if not members[j, row]],
    )


def seen_on_both_sides(shape, fewest):
    """Answers such that every row has enough shadows on both sides, whatever the target."""
    for seed in range(1000):
        p, members = answers(shape, seed)
        counts = members.sum(axis=0)
        if fewest < counts.min() and counts.max() < shape[0] - fewest:
            return p, members
    raise AssertionError("no such answers")


@pytest.mark.parametrize("variance", ["pooled", "per row"])
def test_lira_by_hand(variance):
    _, members = seen_on_both_sides((9, 5), 2)
    signals = np.random.default_rng(5).normal(size=members.shape) + members
    online = lira_scores(signals, members, online=True, variance=variance)
    offline = lira_scores(signals, members, online=False, variance=variance)
    for target, row in product(range(9), range(5)):
        sides = [slow_sides(signals, members, target, i) for i in range(5)]
        spreads = []
        for side in (0, 1):
            squares = [sum((v - np.mean(s[side])) ** 2 for v in s[side]) for s in sides]
            free = [len(s[side]) - 1 for s in sides]
            one = sum(squares) / sum(free) if variance == "pooled" else squares[row] / free[row]
            spreads.append(math.sqrt(one))
        ins, outs = sides[row]
        s = signals[target, row]
        ratio = norm.logpdf(s, np.mean(ins), spreads[0]) - norm.logpdf(s, np.mean(outs), spreads[1])
        assert online[target, row] == pytest.approx(ratio, abs=1e-9)
        assert norm.cdf(offline[target, row]) == pytest.approx(
            1 - norm.sf(s, np.mean(outs), spreads[1]), abs=1e-9
        )


@pytest.mark.parametrize(
    ("online", "gamma", "a"), [(True, 1, 0), (True, 1.3, 0), (False, 1, 0.3), (False, 0.8, 0.7)]
)
def test_rmia_by_hand(online, gamma, a):
    p, members = seen_on_both_sides((10, 12), 1)
    scores = rmia_scores(p, members, online=online, gamma=gamma, a=a)

    def ratio(target, row):
        ins, outs = slow_sides(p, members, target, row)
        usual = (np.mean(ins) + np.mean(outs)) / 2
        if not online:
            usual = ((1 + a) * np.mean(outs) + (1 - a)) / 2
        return p[target, row] / usual

    for target, x in product(range(10), range(12)):
        z = [i for i in range(12) if i != x and not members[target, i]]
        beaten = [ratio(target, x) / ratio(target, i) > gamma for i in z]
        assert scores[target, x] == pytest.approx(np.mean(beaten), abs=2e-9)


def test_equal_shares_are_ordered_by_the_ratio():
    p = np.full((5, 6), 0.5)
    members = np.zeros((5, 6), dtype=bool)
    members[0, :3] = members[1:3] = True
    p[0, :3] = [0.9, 0.8, 0.7]  # all beat every z
    scores = rmia_scores(p, members, online=True, gamma=1.0, a=0.0)[0]
    assert scores[0] > scores[1] > scores[2] > 1.0 > scores[3]
    assert scores[0] < 1.0 + 1e-8


def test_the_targets_own_coin_changes_no_score():
    p, members = answers((6, 9), seed=2)
    for row in range(9):
        turned = members.copy()
        turned[0, row] = ~turned[0, row]
        for online in (True, False):
            for score in (
                lambda m, o=online: lira_scores(p, m, online=o, variance="pooled"),
                lambda m, o=online: rmia_scores(p, m, online=o, gamma=1.0, a=0.3),
            ):
                assert score(members)[0, row] == score(turned)[0, row]


def test_loss_is_judged_by_minus_the_loss():
    p, members = answers()
    found = loss_threshold(Shadows("classification", members, p))
    assert found.auc.value == area(np.log(p), members).value
    residuals = np.random.default_rng(0).normal(size=p.shape)
    found = loss_threshold(Shadows("regression", members, p, residuals))
    assert found.auc.value == area(-np.abs(residuals), members).value


def test_rows_on_one_side_alone_get_the_usual_difference():
    seen = np.array([[1.0, 5.0, 3.0], [3.0, 7.0, 3.0]])
    inside = np.array([[True, True, False], [False, True, False]])
    mean_in, mean_out = side_means(seen, inside)
    assert mean_in.tolist() == [1.0, 6.0, 1.0]
    assert mean_out.tolist() == [3.0, 8.0, 3.0]
    all_in = side_means(seen, np.ones_like(inside))
    assert all_in[0].tolist() == all_in[1].tolist() == [2.0, 6.0, 3.0]


def test_four_trainings_are_enough():
    X, y = make_table(60)
    report = membership_report(KNeighborsClassifier(1), X, y, trainings=4, random_state=0)
    assert all(math.isfinite(one.auc.value) for one in report.attacks)


def test_variance_per_row_from_64_trainings_on():
    p, members = answers((64, 30))
    shadows = Shadows("classification", members, p)
    assert lira(shadows) == lira(shadows, variance="per row") != lira(shadows, variance="pooled")
    few = Shadows("classification", members[:16], p[:16])
    assert lira(few) == lira(few, variance="pooled") != lira(few, variance="per row")


# -- trainings -------------------------------------------------------------------------------------


def test_each_training_gets_its_members_by_fair_coins():
    X, y = make_table()
    got = []

    def fit(X, y):
        got.append((X, y))
        return Constant()

    shadows = train_shadows(fit, X, y, trainings=12, random_state=5)
    again = train_shadows(fit, X, y, trainings=12, random_state=5)
    assert (shadows.members == again.members).all()
    assert shadows.trainings == 12
    assert shadows.rows == ROWS
    for members, (part, target) in zip(shadows.members, got[:12], strict=True):
        assert (part == X[members]).all()
        assert (target == y[members]).all()
    sizes = shadows.members.sum(axis=1)
    assert len(set(sizes)) > 1  # coins, not halves of one size
    assert abs(shadows.members.mean() - 0.5) < 5 * 0.5 / math.sqrt(12 * ROWS)
    other = train_shadows(fit, X, y, trainings=12, random_state=6)
    assert (other.members != shadows.members).any()
    p = np.where(y == 1, 1 - (X[:, 0] + 1.5) / 3, (X[:, 0] + 1.5) / 3)
    assert np.allclose(shadows.confidences, p)
    assert np.allclose(shadows.signals, np.log(p / (1 - p)))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (pd.DataFrame(X, index=np.arange(len(X))[::-1]), pd.Series(y, index=y)),
        lambda X, y: (pd.DataFrame(X, columns=list("abcd")), pd.Categorical(y).astype(int)),
        lambda X, y: (pl.DataFrame(X), pl.Series(y)),
        lambda X, y: (csr_matrix(X), y),
    ],
    ids=["lists", "pandas", "categorical", "polars", "sparse"],
)
def test_all_kinds_of_tables_give_the_same(wrap):
    X, y = make_table(80)

    def fit(X, y):
        model = KNeighborsClassifier(3, algorithm="brute").fit(dense(X), np.asarray(y))
        return SimpleNamespace(
            predict_proba=lambda X: model.predict_proba(dense(X)), classes_=model.classes_
        )

    def dense(X):
        return X.toarray() if hasattr(X, "toarray") else np.asarray(X)

    plain = train_shadows(fit, X, y, trainings=3, random_state=0)
    other = train_shadows(fit, *wrap(X, y), trainings=3, random_state=0)
    assert (plain.confidences == other.confidences).all()


def test_pipelines_texts_and_named_classes():
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["good", "bad", "odd", "even"], 6)) for _ in range(60)]
    labels = ["yes" if text.count("good") > 1 else "no" for text in words]
    report = membership_report(
        make_pipeline(CountVectorizer(), MultinomialNB()),
        words,
        labels,
        trainings=4,
        random_state=0,
    )
    assert report.kind == "classification"
    X, y = make_table(60)
    scaled = make_pipeline(StandardScaler(), KNeighborsRegressor(2))
    assert train_shadows(scaled, X, y * 1.0, trainings=1).kind == "regression"


def test_a_class_that_a_half_lacks_is_unlikely():
    X, y = make_table(60)
    y = y.copy()
    y[:2] = 2
    shadows = train_shadows(GaussianNB(), X, y, trainings=12, random_state=1)
    lacking = ~shadows.members[:, :2].any(axis=1)
    assert 0 < lacking.sum() < 12
    assert (shadows.confidences[lacking][:, :2] <= 0.01).all()
    assert (shadows.confidences > 0).all()
    assert (shadows.confidences < 1).all()


def test_columns_without_classes_are_named_by_the_user():
    X, y = make_table(60)
    names = np.array(["no", "yes"])[y]
    model = SimpleNamespace(predict_proba=lambda X: Constant().predict_proba(X))
    plain = train_shadows(lambda X, y: model, X, names, trainings=1, random_state=0)
    turned = train_shadows(
        lambda X, y: model, X, names, trainings=1, random_state=0, classes=["yes", "no"]
    )
    assert np.allclose(plain.confidences, 1 - turned.confidences)


def test_votes_are_kept_from_the_ends_by_half_a_vote():
    X, y = make_table(80)
    for fit, step in (
        (KNeighborsClassifier(1), 0.01),  # says 0 and 1 alone
        (SimpleVotes(60).fit, 1 / 120),
        (SimpleVotes(10).fit, 0.01),
        (SimpleVotes(10**9).fit, 1e-7),
    ):
        kept = train_shadows(fit, X, y, trainings=2, random_state=0).confidences
        assert kept.min() == pytest.approx(step, rel=1e-6)
        assert 1 - kept.max() == pytest.approx(step, rel=1e-6)


class SimpleVotes:
    """A model that says k votes of k for some rows, and k - 1 of k for others."""

    def __init__(self, k):
        self.k = k

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        p = np.where(np.arange(len(X)) % 2, 1.0, 1.0 - 1.0 / self.k)
        return np.column_stack([p, 1 - p])


# -- records ---------------------------------------------------------------------------------------


def test_records_are_frozen_and_fit_into_json(by_heart, private):
    with pytest.raises(FrozenInstanceError):
        private.epsilon = 2.0
    for report in (by_heart, private):
        plain = json.loads(report.to_json())
        assert plain == report.to_dict()
        assert [one["name"] for one in plain["attacks"]] == [one.name for one in report.attacks]
        first = plain["attacks"][0]
        assert set(first) == {
            *("name", "trainings", "rows", "auc", "allowed_auc", "points", "roc", "exceeds"),
        }
        assert len(first["roc"]["false_positive_rates"]) <= 200
    assert len(private.to_json()) < 200_000
    assert private.to_dict()["guarantee"]
    assert not by_heart.to_dict()["guarantee"]
    endless = replace(private, epsilon=math.inf)
    assert endless.to_dict()["epsilon"] is None
    assert "no guarantee" in str(endless)


def test_tables_say_what_was_found(by_heart, private):
    text = str(private)
    assert "16 trainings on halves of 300 rows; guaranteed: epsilon 1, delta 1e-06" in text
    assert "blind guessing" in text
    assert "allowed at most" in text
    assert "0.731" in text
    assert "no bound on epsilon" in text
    assert "no guarantee given" in str(by_heart)
    assert "allowed at most" not in str(by_heart)
    assert max(len(line) for line in text.splitlines()) <= 120
    assert "RMIA" in str(by_heart.attacks[3])
    assert "found at 1.0% false" in str(by_heart.attacks[3])


# -- bad input -------------------------------------------------------------------------------------

X, Y = make_table(40)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (X[:19], Y[:19], "too small"),
        (X, Y[:-1], "40 rows and y has 39"),
        (X, np.column_stack([Y, Y]), "one column"),
        (X, pd.DataFrame({"y": Y}), "one column"),
        (X, np.where(Y, 1.0, np.nan), "missing"),
        (X, [None, *Y[1:]], "missing"),
        (5.0, Y, "X must be"),
        (X, 1, "y must be"),
        (None, Y, "X must be"),
        ([[1.0], [1.0, 2.0]] * 20, Y, "ragged"),
        (pl.DataFrame(X).lazy(), Y, "lazy"),
    ],
)
def test_bad_tables_are_refused(X, y, words):
    with pytest.raises(DataError, match=words):
        train_shadows(KNeighborsClassifier(1), X, y, trainings=2)


@pytest.mark.parametrize("trainings", [3, 0, -1, 4.5, True, "8"])
def test_too_few_trainings_are_refused(trainings):
    with pytest.raises(SettingError, match="trainings"):
        membership_report(KNeighborsClassifier(1), X, Y, trainings=trainings)


def test_shadow_attacks_need_four_trainings():
    shadows = train_shadows(KNeighborsClassifier(1), X, Y, trainings=1, random_state=0)
    assert loss_threshold(shadows).trainings == 1
    for attack in (lira, rmia):
        with pytest.raises(SettingError, match="4 or more"):
            attack(shadows)
    for trainings in (0, 1.5, False):
        with pytest.raises(SettingError, match="trainings"):
            train_shadows(KNeighborsClassifier(1), X, Y, trainings=trainings)


@pytest.mark.parametrize("fit", [None, 3, "tree", KNeighborsClassifier])
def test_what_cannot_train_is_refused(fit):
    with pytest.raises(SettingError, match="fit must be"):
        train_shadows(fit, X, Y)


def test_what_cannot_be_cloned_is_refused():
    with pytest.raises(SettingError, match="cloned"):
        train_shadows(SimpleVotes(3), X, Y)


def test_shared_ledgers_are_refused(tmp_path):
    ledger = Ledger(tmp_path / "book.db", Budget(epsilon=1, delta=1e-6))
    model = EBMClassifier(schema=SCHEMA, ledger=ledger)
    for one in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(SettingError, match="ledger"):
            train_shadows(one, X, Y)


def test_failing_trainings_are_named_without_a_private_value():
    runs = []

    def fit(X, y):
        runs.append(len(X))
        if len(runs) == 3:
            raise ValueError("secret 17")
        return Constant()

    with pytest.raises(ModelError, match=r"Training 3 of 5 failed .* ValueError") as caught:
        train_shadows(fit, X, Y, trainings=5, random_state=0)
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def answer(**answers):
    model = {k: v if k == "classes_" else (lambda X, v=v: v) for k, v in answers.items()}
    return lambda X, y: SimpleNamespace(**model)


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (LinearSVC(), "without predict_proba"),
        (lambda X, y: None, "neither"),
        (answer(predict_proba=np.full(40, 0.5)), r"shape \(40,\)"),
        (answer(predict_proba=np.full((40, 3), 1 / 3)), r"shape \(40, 3\)"),
        (answer(predict_proba=np.full((39, 2), 0.5)), r"shape \(39, 2\)"),
        (answer(predict_proba=np.full((40, 2), np.nan)), "finite"),
        (answer(predict_proba=np.full((40, 2), 1.5)), "outside 0 to 1"),
        (answer(predict_proba=[["a", "b"]] * 40), "failed with ValueError"),
        (answer(predict_proba=np.full((40, 2), 0.5), classes_=["a", "b"]), "none of the targets"),
        (answer(predict=np.full(40, np.inf)), "finite"),
        (answer(predict=np.zeros((40, 2))), "one number for each"),
        (answer(predict=np.zeros(3)), "one number for each"),
    ],
)
def test_bad_models_are_refused_by_run(fit, words):
    with pytest.raises(ModelError, match=f"Training 1 of 4.*{words}"):
        membership_report(fit, X, Y, trainings=4, random_state=0)


def test_labels_that_are_no_numbers_need_probabilities():
    with pytest.raises(ModelError, match="predict_proba"):
        train_shadows(answer(predict=["a"] * 40), X, Y.astype(str), trainings=1)
    with pytest.raises(ModelError, match="predict_proba"):
        train_shadows(LinearRegression(), X, Y, trainings=1, classes=[0, 1])


def test_models_of_two_kinds_are_refused():
    kinds = iter([Constant(), LinearRegression().fit(X, Y)])
    with pytest.raises(ModelError, match="Training 2 of 2"):
        train_shadows(lambda X, y: next(kinds), X, Y, trainings=2, random_state=0)


@pytest.mark.parametrize("classes", [[0], [0, 0], []])
def test_bad_classes_are_refused(classes):
    with pytest.raises(SettingError, match="classes"):
        train_shadows(KNeighborsClassifier(1), X, Y, classes=classes)


def test_classes_must_name_all_of_y():
    with pytest.raises(DataError, match="not among"):
        train_shadows(KNeighborsClassifier(1), X, Y, classes=[1, 2])


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (math.nan, 0), (1, -0.1), (1, 2)])
def test_bad_guarantees_are_refused_before_training(epsilon, delta):
    with pytest.raises(SettingError, match="guarantee"):
        membership_report(lambda X, y: 1 / 0, X, Y, epsilon=epsilon, delta=delta)


def test_bad_attack_settings_are_refused():
    p, members = answers()
    shadows = Shadows("classification", members, p)
    for bad in ({"gamma": 0}, {"gamma": -1}, {"gamma": math.nan}, {"a": -0.1}, {"a": 1.1}):
        with pytest.raises(SettingError):
            rmia(shadows, **bad)
    with pytest.raises(SettingError, match="variance"):
        lira(shadows, variance="none")


def test_bad_scores_are_refused():
    p, members = answers()
    with pytest.raises(DataError, match="not numbers"):
        area(np.where(p > 0.5, np.nan, p), members)
    with pytest.raises(DataError, match="both"):
        curve(p, np.ones_like(members))
    with pytest.raises(DataError, match="shape"):
        count_alarms(p[0], members[0])
    with pytest.raises(DataError, match="shape"):
        count_alarms(p, members[:, 1:])
    for fpr in (0.0, 1.0, -1.0):
        with pytest.raises(SettingError, match="false-positive"):
            point(p, members, fpr)
    nan = np.where(members, np.nan, p)
    with pytest.raises(DataError, match="not numbers"):
        loss_threshold(Shadows("classification", members, nan))
