"""Rows far from all others are found by rounds with a wide clip, where they are needed."""

import numpy as np
import pandas as pd
import pytest

from voile import Category, EBMRegressor, Number, Schema, Unit
from voile.models.ebm import tails, train
from voile.models.ebm.losses import squared_loss
from voile.models.ebm.tails import WideClip, pooled, wide_clip
from voile.privacy.mechanisms import Release

pytestmark = pytest.mark.filterwarnings("ignore::voile.errors.NoLedgerWarning")

NAMES = [f"x{k}" for k in range(8)]
SCHEMA = Schema({name: Number(0, 1) for name in NAMES}, target=Number(0, 100))


def machines(rows, rest=0.06, seed=0):
    """Busy machines, and some at rest: one column tells which, and nothing else goes to zero."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((rows, 8)), columns=NAMES)
    resting = rng.random(rows) < rest
    X["x3"] = np.where(resting, rng.uniform(0, 0.125, rows), 0.125 + 0.875 * X["x3"])
    y = 90 - 4 * X["x0"] - 3 * X["x1"] + rng.standard_normal(rows)
    return X, np.where(resting, rng.uniform(0, 3, rows), y)


@pytest.fixture
def wide(monkeypatch):
    """Numbers of the wide rounds of a training."""
    used = []

    class Counting(train._Training):
        def _wide_round(self, clip):
            used.append(clip.cap)
            super()._wide_round(clip)

    monkeypatch.setattr(train, "_Training", Counting)
    return used


def fit(X, y, **settings):
    return EBMRegressor(**({"epsilon": 2, "schema": SCHEMA} | settings)).fit(X, y)


def test_rows_far_from_all_others_are_reached(wide):
    X, y = machines(6000)
    model = fit(X, y, epsilon=4)
    X, y = machines(4000, seed=1)
    told = model.predict(X)
    # With the narrow clip alone 17: machines at rest are told as busy.
    assert np.sqrt(np.mean((told - y) ** 2)) < 9
    assert told[y < 4].mean() < 25
    assert len(wide) >= 5
    assert max(wide) > 1  # of a target in [-1, 1]


def test_without_them_no_round_is_wide(wide):
    X, y = machines(6000, rest=0.0)
    assert fit(X, y).score(X, y) > 0.6
    assert not wide


@pytest.mark.parametrize("epsilon", [0.1, np.inf])
def test_any_noise_leaves_numbers(epsilon, wide):
    X, y = machines(1500)
    model = fit(X, y, epsilon=epsilon)
    assert np.isfinite(model.predict(X)).all()
    curve = model.explain_global()["x3"]
    assert np.isfinite(curve.standard_errors).all()


def test_monotone_columns_stay_monotone(wide):
    X, y = machines(6000)
    model = fit(X, y, monotone={"x3": "increasing", "x0": "decreasing"})
    assert wide
    for name, sign in (("x3", 1), ("x0", -1)):
        (term,) = (term for term in model.model_.terms if term.name == name)
        assert (sign * np.diff(term.scores[:-1, 0]) >= -1e-9).all()


def test_columns_without_an_effect_are_not_called_clear(wide):
    """Six null columns in each of four trainings; the noise is the same in every run."""
    clear = []
    for seed in range(4):
        X, y = machines(6000, seed=seed)
        explanation = fit(X, y).explain_global()
        verdicts = {name: explanation[name].verdict for name in NAMES}
        clear += [verdicts[name] == "clear" for name in NAMES if name not in ("x0", "x1", "x3")]
        assert verdicts["x3"] == "clear"
    assert wide
    assert sum(clear) == 0


def test_intervals_hold_what_is_true(wide):
    X, y = machines(8000)
    explanation = fit(X, y, epsilon=4).explain_global()
    assert wide
    term = explanation["x3"]
    # At rest 1.5, else 86.5: the mean of all is 81.4, and the first bin has machines at rest alone.
    assert term.scores[0] - 2 * term.standard_errors[0] < -79.9
    assert term.scores[0] + 2 * term.standard_errors[0] > -79.9


# -- the clip --------------------------------------------------------------------------------------

LIMITS = 2.0 ** (np.arange(-17, 4) / 2.0)
SIZES = np.sqrt(LIMITS * np.append(2.0**-9, LIMITS[:-1]))


def masses(**more):
    """Rows of each size: most of about 0.05, and others by the number of their cell."""
    result = 900.0 * np.exp(-((np.log2(SIZES) - np.log2(0.05)) ** 2))
    for cell, rows in more.items():
        result[int(cell[1:])] = rows
    return result


def clip(told, error):
    narrow = squared_loss(SIZES, told, LIMITS)
    return narrow, wide_clip(SIZES, told, LIMITS, error, narrow)


def test_the_wide_clip_holds_what_stands_clear_of_the_noise():
    narrow, found = clip(masses(c16=300.0), error=10.0)
    assert found.cap == LIMITS[16]
    assert found.hidden > 0.6 * found.second_moment
    assert not found.is_for(3)
    assert found.is_for(4)
    assert narrow.cap < 0.2


def test_noise_in_the_tail_is_no_tail():
    rng = np.random.default_rng(0)
    for _ in range(50):
        told = masses() + 20.0 * rng.standard_normal(len(SIZES))
        _, found = clip(told, error=20.0)
        assert not found.is_for(4) or found.cap < 0.6


def test_nothing_at_all_is_no_tail():
    _, found = clip(np.zeros(len(SIZES)), error=5.0)
    assert not found.is_for(4)
    assert found.hidden == 0


def test_older_sizes_count_less():
    old, new = (Release("sizes", np.full(3, x), 2.0, 1.0) for x in (10.0, 20.0))
    both = pooled(old, new)
    assert (both.values > 13).all()
    assert (both.values < 17).all()
    assert 1.0 < both.standard_error < 2.0


def test_facts_of_a_wide_clip():
    assert WideClip(1.0, 1.0, 1.0, 0.5).is_for(5)
    assert not WideClip(1.0, 1.0, 1.0, 0.3).is_for(5)


# -- bins without rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("largest", [1e3, 1e5])
def test_bins_without_rows_make_nothing_clear(largest):
    """A generous bound: the first rounds' noise is large, and stays where no rows speak against it.

    Before, most of such trainings called the column clear by its bin for missing values.
    """
    schema = Schema({"a": Number(0, 1), "b": Category(["u", "v"])}, target=Number(0, largest))
    clear = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = {"a": rng.random(5000), "b": rng.choice(["u", "v"], 5000)}
        model = fit(X, 10 * X["a"] + rng.standard_normal(5000), epsilon=1, schema=schema)
        term = model.explain_global()["b"]
        clear += term.verdict == "clear"
        # Nobody's bins say that they may be nothing.
        assert (1.96 * term.standard_errors[2:] >= np.abs(term.scores[2:])).all()
    assert clear == 0


def test_people_with_several_rows_make_what_is_added_less_certain(monkeypatch):
    told = []

    class Listening(tails.Tails):
        def told(self, clip, per_unit, *, noisy):
            one, many = (super(Listening, self).told(clip, n, noisy=noisy) for n in (1.0, per_unit))
            told.append((per_unit, one, many))
            return many

    monkeypatch.setattr(train, "Tails", Listening)
    X, y = machines(8000)
    schema = Schema(dict(SCHEMA), target=SCHEMA.target, unit=Unit(rows=3))
    fit(X, y, schema=schema, epsilon=8)
    (per_unit, one, many) = told[0]
    assert per_unit == 3
    for alone, together in zip(one, many, strict=True):
        assert (together.variance >= alone.variance).all()
    assert (many[3].variance > one[3].variance).any()
