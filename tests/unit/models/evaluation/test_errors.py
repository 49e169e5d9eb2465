"""Errors of a regression: parts of one, R2 beside the mean, and clips that do not mislead."""

import math

import numpy as np
import pytest
from sklearn.metrics import r2_score

from voile.models.evaluation.error_queries import error_parts
from voile.models.evaluation.errors import AgainstMean, Clip, ErrorFigures
from voile.models.evaluation.intervals import Counted

WIDTH = 20.0


def test_parts_are_of_one_and_say_everything():
    errors = np.array([-1.0, -0.3, 0.0, 0.2, 1.0, 7.0, -9.0, np.nan])
    parts = error_parts(errors)
    assert parts.min() >= 0
    assert parts.sum(axis=1) == pytest.approx([1.0] * 7 + [0.0])
    cut = np.clip(errors[:7], -1, 1)
    sizes = (parts[:7, 1] + parts[:7, 2]) / 2 + parts[:7, 3] + parts[:7, 4]
    assert sizes == pytest.approx(np.abs(cut))
    assert parts[:7, 3] + parts[:7, 4] == pytest.approx(cut**2)
    signed = (parts[:7, 1] - parts[:7, 2]) / 2 + parts[:7, 3] - parts[:7, 4]
    assert signed == pytest.approx(cut)


def counted_sizes(errors, noise=0.0, rng=None):
    from voile.models.evaluation.error_queries import ERROR_CUTS

    cells = np.searchsorted(ERROR_CUTS, np.abs(errors) / WIDTH, side="right")
    counts = np.bincount(cells, minlength=len(ERROR_CUTS) + 2).astype(float)
    if noise:
        counts += noise * rng.standard_normal(len(counts))
    return Counted(counts, noise)


def figures(errors, noise=0.0, rng=None):
    clip = Clip.of(counted_sizes(errors, noise, rng), WIDTH, 0.95)
    sums = error_parts(errors / clip.clip).sum(axis=0)
    if noise:
        sums = sums + noise * rng.standard_normal(5)
    return ErrorFigures(clip, Counted(sums, noise))


def against(observed, predicted, noise=0.0, rng=None):
    away = predicted - predicted.mean()
    return AgainstMean(
        figures(observed - predicted, noise, rng),
        figures(observed - predicted.mean(), noise, rng),
        float((away**2).mean()),
        float((away**4).mean()),
        float(4 * away.std()),
    )


def draw(rows, rng, slope=1.0):
    predicted = rng.normal(size=rows)
    return slope * predicted + rng.normal(size=rows), predicted


def test_without_noise_r2_is_that_of_scikit_learn():
    observed, predicted = draw(4000, np.random.default_rng(0))
    found = against(observed, predicted).r2()
    assert found.value == pytest.approx(r2_score(observed, predicted), abs=1e-9)
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.1


def test_a_model_that_predicts_the_mean_cannot_be_told_from_it():
    observed, predicted = draw(2000, np.random.default_rng(1), slope=0.0)
    difference, variance = against(observed, 1e-6 * predicted).difference()
    assert abs(difference) < 1e-4
    assert variance < 1e-6


def test_different_clips_do_not_make_a_difference():
    """Errors that are the same but clipped otherwise: counts in between make up for it."""
    rng = np.random.default_rng(2)
    errors = 2 * rng.normal(size=5000)
    wide = figures(errors)
    narrow_clip = Clip(
        wide.clip.clip / 2, 0.0, 0.0, 0.0, wide.clip.kurtosis, WIDTH, 0.95, wide.clip.sizes
    )
    narrow = ErrorFigures(
        narrow_clip, Counted(error_parts(errors / narrow_clip.clip).sum(axis=0), 0.0)
    )
    plain = narrow.square * narrow_clip.clip**2 - wide.square * wide.clip.clip**2
    made_up = plain + narrow_clip.between(wide.clip.clip, 2)[0] / 5000
    assert abs(made_up) < abs(plain) / 3
    assert narrow_clip.between(narrow_clip.clip / 2, 2) == (0.0, 0.0)


def test_r2_holds_the_truth_also_if_the_noise_is_large():
    """100 runs: fewer than 88 right ones have a probability of 1 in 1,000, if 95 % are."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        found = against(*draw(1500, rng), noise=8.0, rng=rng).r2()
        held += math.isnan(found.value) or found.low <= 0.5 <= found.high
    assert held >= 88


def test_nothing_is_known_of_no_rows():
    found = against(np.zeros(0), np.zeros(1))
    assert math.isnan(found.r2().value)
    assert all(math.isnan(one.value) for one in found.model.measures())
