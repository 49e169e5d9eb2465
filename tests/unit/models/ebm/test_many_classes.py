"""Many classes: what is done for all outputs together is what each would have by itself."""

import math

import numpy as np
import pytest

from voile import Category, EBMClassifier, Number, Schema
from voile.errors import SettingError
from voile.models.ebm.kernels import mix, residual_totals
from voile.models.ebm.smoothing import Smoothed, plain_smoother, shaped_smoother, smooth
from voile.privacy.noise import fixed_noise

CAP = math.sqrt(0.5)
UNITS = 2.0**30


def plain_totals(bins, target, offsets, scores, intercept, weights):
    """Bounded residuals of softmax, one row after the other."""
    total = np.zeros(scores.shape, dtype=np.int64)
    for i in range(len(bins)):
        if target[i] < 0:
            continue
        cells = offsets[:-1] + bins[i]
        z = intercept + scores[cells].sum(axis=0)
        p = np.exp(z - z.max())
        p /= p.sum()
        weight = min(1.0, CAP / math.sqrt(1.0 - 2.0 * p.min() + (p**2).sum()))
        residual = weight * ((np.arange(len(p)) == target[i]) - p)
        assert np.linalg.norm(residual) <= CAP * (1 + 1e-9)
        own = 1.0 if weights is None else weights[i]
        for cell in cells:
            total[cell] += np.trunc(residual * own * UNITS).astype(np.int64)
    return total


def asked(outputs, seed, largest=1.0):
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 5, 6, 15], dtype=np.int64)
    bins = (rng.random((60, 3)) * np.diff(offsets)).astype(np.uint8)
    target = rng.integers(-1, outputs, 60).astype(np.float32)
    scores = largest * rng.normal(size=(15, outputs))
    return bins, target, offsets, scores, largest * rng.normal(size=outputs)


@pytest.mark.parametrize("outputs", [3, 23, 24, 25, 31, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_of_many_classes_are_those_of_one_after_the_other(outputs, weighted):
    bins, target, offsets, scores, intercept = asked(outputs, seed=outputs)
    weights = np.random.default_rng(1).random(60).astype(np.float32) if weighted else None
    args = (bins, target, offsets, scores, intercept)
    found = residual_totals("softmax", *args, CAP, UNITS, weights)
    # One unit per row: the last digit may fall to either side of a whole number.
    np.testing.assert_allclose(found, plain_totals(*args, weights), atol=60, rtol=0)


@pytest.mark.parametrize("largest", [0.0, 50.0, 1e4, 1e99])
@pytest.mark.parametrize("outputs", [3, 40])
def test_no_row_adds_more_than_its_bound_at_any_scores(largest, outputs):
    bins, target, offsets, scores, intercept = asked(outputs, 7, largest)
    for i in range(60):
        row = residual_totals(
            "softmax",
            *(bins[i : i + 1], target[i : i + 1], offsets, scores, intercept, CAP, UNITS),
        )
        own = row[offsets[:-1] + bins[i]]
        norms = [math.hypot(*map(float, one)) for one in own]
        assert max(norms) <= CAP * UNITS
        assert (own == own[0]).all()
        assert target[i] >= 0 or not row.any()


@pytest.mark.parametrize("outputs", [1, 3, 4, 50])
def test_mixing_is_exact_and_wraps_around_as_numpy_does(outputs):
    rng = np.random.default_rng(outputs)
    matrix = rng.integers(-4096, 4096, size=(7, 9))
    sums = rng.integers(-(2**62), 2**62, size=(9, outputs))
    np.testing.assert_array_equal(mix(matrix, sums), matrix @ sums, strict=True)
    np.testing.assert_array_equal(mix(matrix[0], sums), matrix[0][:, None] * sums, strict=True)
    with pytest.raises(SettingError, match="a column for each bin"):
        mix(matrix[:, :8], sums)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("bins", [4, 40])
def test_smoothing_outputs_together_is_smoothing_each(ordered, bins):
    rng = np.random.default_rng(bins)
    outputs, counts = 120, rng.uniform(50, 500, bins)
    slope, scatter = (counts[:, None] * rng.uniform(0.01, 0.2, (bins, outputs)) for _ in range(2))
    smoother = plain_smoother(bins)
    if ordered:
        smoother = shaped_smoother(counts, slope[:, 0], scatter[:, 0], 50.0, 1.0, 1)
    residual, now = rng.normal(0, 9, (bins, outputs)), rng.normal(size=(bins, outputs))
    given, rest = (residual, now, slope, scatter), (counts / counts.sum(), 20.0, 1.0)
    together = smooth(smoother, *given, *rest)
    scores = together.scores(residual, slope)
    assert scores.shape == (bins, outputs)
    for o in range(outputs):
        own = [one[:, o : o + 1] for one in given]
        alone = smooth(smoother, *own, *rest)
        for name in Smoothed.__dataclass_fields__:
            ours, theirs = getattr(together, name)[o], getattr(alone, name)[0]
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(
            scores[:, o], alone.scores(own[0], own[2])[:, 0], rtol=1e-7, atol=1e-12
        )


def test_a_model_of_sixty_classes_learns_all_of_them():
    rng = np.random.default_rng(0)
    target = rng.integers(0, 60, 6000)
    X = np.column_stack([target % 10 + rng.normal(0, 0.2, 6000), target // 10])
    schema = Schema({"unit": Number(-1, 10), "ten": Category(range(6))}, target=Category(range(60)))
    with fixed_noise(1):
        model = EBMClassifier(epsilon=20.0, schema=schema, rounds=6).fit(X, target)
    chances = model.predict_proba(X)
    assert chances.shape == (6000, 60)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.predict(X) == target).mean() > 0.5
    assert model.explain_global() is not None
