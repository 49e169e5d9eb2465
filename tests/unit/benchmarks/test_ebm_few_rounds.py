"""The peer of few random trees spends its budget exactly, and knows only what it paid for."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.ebm.encoding import codes, counts, longest, scaled
from benchmarks.ebm.few_rounds import (
    HESSIAN_WEIGHT,
    LARGEST_HESSIAN,
    LENGTH,
    FewRounds,
    FewRoundsSettings,
    Learner,
    Rows,
    refine,
)
from voile import Category, Number, Schema
from voile.privacy.gaussian_dp import epsilon_of, mu_of

DELTA = 1e-6
SCHEMA = Schema(
    {"a": Number(0, 1), "b": Number(-2, 2), "c": Category(["x", "y", "z"])}, target=Category([0, 1])
)
NUMBER = Schema(dict(SCHEMA), target=Number(-4, 6))
SETTINGS = [
    FewRoundsSettings(),
    FewRoundsSettings(trees=7, sketches=5, batch=3),
    FewRoundsSettings(trees=40, sketches=0, depth=2),
    FewRoundsSettings(trees=20, sketches=2, additive=False),
    FewRoundsSettings(trees=3, sketches=5, additive=False),
]


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": rng.random(n), "b": rng.uniform(-2, 2, n), "c": rng.choice(["x", "y", "z"], n)}
    )
    score = 4 * (frame["a"] - 0.5) + np.sin(2 * frame["b"]) + (frame["c"] == "x")
    return frame, score.to_numpy(), (rng.random(n) < 1 / (1 + np.exp(-2 * score))).astype(int)


def private_rows(task, n=200, multiplier=1.0, scale=3.0):
    frame, score, label = table(n)
    target = label.astype(float) if task == "binary" else np.clip(score / 4, -1, 1)
    rows = Rows(codes(frame, SCHEMA), target, task, multiplier, np.random.default_rng(1))
    rows.sums = scale * np.random.default_rng(2).standard_normal(n)
    return rows


def learner(settings, chance=0):
    bounds = [(0.0, 1.0), (-2.0, 2.0), (0.0, 0.0)]
    return Learner(bounds, counts(SCHEMA), settings, np.random.default_rng(chance))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("epsilon", [0.07, 1.0, 8.0])
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_whole_budget_is_spent_and_not_more(task, epsilon, settings):
    frame, score, label = table(60)
    schema, target = (SCHEMA, label) if task == "binary" else (NUMBER, score)
    model = FewRounds(epsilon, DELTA, schema, task, settings).fit(frame, target)
    assert model.spent == pytest.approx(mu_of(epsilon, DELTA) ** 2, rel=1e-9)
    assert epsilon_of(math.sqrt(model.spent), DELTA) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_one_row_changes_an_answer_by_at_most_the_length_that_noise_is_for(task):
    rows, shape = private_rows(task, scale=6.0), learner(SETTINGS[0])._draw(np.arange(3))
    whole, kept = rows.exact(shape), np.ones(len(rows.target), dtype=bool)
    slope, curve = rows.parts()
    assert np.abs(slope).max() > 0.9
    assert curve.max() <= LARGEST_HESSIAN[task]
    for one in range(len(kept)):
        kept[one] = False
        fewer = Rows(rows.values[kept], rows.target[kept], task, 1.0, rows.noise)
        fewer.sums = rows.sums[kept]
        assert np.linalg.norm(whole - fewer.exact(shape)) <= LENGTH[task] + 1e-12
        kept[one] = True


def test_the_weight_of_hessians_is_the_largest_that_costs_nothing():
    slope = np.linspace(0, 1, 100_001)
    curve = slope * (1 - slope)
    assert np.hypot(slope, HESSIAN_WEIGHT["binary"] * curve).max() <= 1 + 1e-12
    assert np.hypot(slope, 1.001 * HESSIAN_WEIGHT["binary"] * curve).max() > 1


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_noise_is_as_large_as_the_price_says(task):
    rows, shape = private_rows(task, multiplier=50.0), learner(SETTINGS[0])._draw(np.arange(1))
    exact, weight = rows.exact(shape), HESSIAN_WEIGHT[task]
    found = np.array([rows.leaf_sums(shape) for _ in range(2_000)])
    found[:, 1] *= weight
    # The spread of 32,000 draws of each kind: 4 % are ten standard errors.
    assert (found - exact)[:, 0].std() == pytest.approx(50 * LENGTH[task], rel=0.04)
    assert (found - exact)[:, 1].std() == pytest.approx(50 * LENGTH[task], rel=0.04)
    points = np.linspace(0, 1, 17)[1:-1]
    drawn = np.array([rows.hessians(0, points) for _ in range(2_000)])
    assert drawn.std(axis=0).mean() == pytest.approx(50 * LARGEST_HESSIAN[task], rel=0.04)
    assert rows.spent == pytest.approx(4_000 / 50**2)


class Recorded:
    """Answers of an earlier run, without a row."""

    def __init__(self, rows):
        self.rows, self.kept, self.replayed = rows, [], False

    def _next(self, ask):
        if self.replayed:
            return self.kept.pop(0)
        self.kept.append(ask())
        return self.kept[-1]

    def leaf_sums(self, shape):
        return self._next(lambda: self.rows.leaf_sums(shape))

    def hessians(self, column, points):
        return self._next(lambda: self.rows.hessians(column, points))

    def advance(self, trees):
        if not self.replayed:
            self.rows.advance(trees)

    def replay(self):
        self.rows, self.replayed = None, True


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_model_follows_from_released_sums_alone(task, settings):
    answers = Recorded(private_rows(task))
    first = learner(settings).learn(answers)
    assert len(answers.kept) == settings.answers(3)
    answers.replay()
    second = learner(settings).learn(answers)
    assert not answers.kept
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.weights, other.weights)
        assert np.array_equal(one.shape.points, other.shape.points)


def test_additive_trees_look_at_one_column_each():
    trees = learner(SETTINGS[1]).learn(private_rows("binary"))
    assert all(len(set(tree.shape.columns)) <= 1 for tree in trees)
    values = private_rows("binary").values
    assert trees[1].shape.leaves(values).max() < 2**4


def test_it_learns_an_easy_table_of_classes():
    frame, _, label = table(20_000)
    model = FewRounds(4.0, DELTA, SCHEMA, "binary").fit(frame[:15_000], label[:15_000])
    chance = model.predict_proba(frame[15_000:])
    assert np.allclose(chance.sum(axis=1), 1)
    # The true score has .93; at this size the model is steady to a hundredth.
    assert roc_auc_score(label[15_000:], chance[:, 1]) > 0.9


def test_it_learns_an_easy_table_of_numbers():
    frame, score, _ = table(20_000)
    model = FewRounds(8.0, DELTA, NUMBER, "regression", FewRoundsSettings(trees=60))
    forecast = model.fit(frame[:15_000], score[:15_000]).predict(frame[15_000:])
    assert np.sqrt(np.mean((forecast - score[15_000:]) ** 2)) < 0.5 * score.std()
    assert forecast.min() >= -4
    assert forecast.max() <= 6


def test_split_points_follow_the_histogram_and_stay_within_bounds():
    points = np.linspace(0, 1, 10)[1:-1]
    found = np.zeros(9)
    found[0] = 1_000
    refined = refine(points, 0.0, 1.0, found, 8)
    assert np.all(np.diff(refined) > 0)
    assert refined[0] > 0
    assert refined[-1] < 1
    assert len(refined) <= 8
    assert (refined < points[0]).sum() >= 5  # the only bin with rows is cut finer
    empty = refine(points, 0.0, 1.0, -np.ones(9), 8)
    assert np.all((empty > 0) & (empty < 1))
    assert len(refine(np.array([3.0, 3.0]), 3.0, 3.0, np.array([5.0, 0, 0]), 4)) <= 4


def test_encodings_use_public_facts_alone():
    frame = pd.DataFrame({"a": [0.5, 9.0], "b": [-9.0, 0.0], "c": ["z", "unlisted"]})
    assert codes(frame, SCHEMA).tolist() == [[0.5, -2.0, 2.0], [1.0, 0.0, 3.0]]
    assert scaled(frame, SCHEMA).tolist() == [[0, -1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 1]]
    assert np.linalg.norm(scaled(frame, SCHEMA), axis=1).max() <= longest(SCHEMA)
