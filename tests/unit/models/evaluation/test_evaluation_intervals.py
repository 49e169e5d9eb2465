"""Intervals hold the truth as often as they say, also where shares are extreme or rows few."""

import math

import numpy as np
import pytest

from voile.models.evaluation import measures
from voile.models.evaluation.cutting import Predicted
from voile.models.evaluation.error_queries import ERROR_CUTS, error_parts
from voile.models.evaluation.errors import Clip, ErrorFigures
from voile.models.evaluation.intervals import Counted, Share, mean_share, reach_of, two_sided
from voile.models.evaluation.scores import ScoreHistogram, auroc, auroc_room

RUNS = 2000
ENOUGH = 0.93
"""At a true coverage of 95 %, 2,000 runs fall below this with a probability of 3 in 100,000."""


def noised(counts, noise, rng):
    return Counted(
        np.asarray(counts, dtype=float) + noise * rng.standard_normal(len(counts)), noise
    )


def histogram(counts, noise, rng):
    """Counts of cells with independent noise, none below 0."""
    values = np.maximum(counts + noise * rng.standard_normal(counts.shape), 0.0)
    return ScoreHistogram(values, noise**2 * np.eye(len(counts)), 1)


def exactly(predicted):
    return Predicted(predicted, np.zeros(len(predicted)), np.zeros(len(predicted)))


def covers(found, truth):
    assert math.isnan(found.value) or found.low <= found.value <= found.high
    assert found.low <= found.high
    return found.low <= truth <= found.high


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.5, 0.97, 1.0])
@pytest.mark.parametrize(("rows", "noise"), [(40, 0.0), (60, 5.0), (400, 20.0), (5000, 20.0)])
def test_a_share(share, rows, noise):
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(RUNS):
        inside = rng.binomial(rows, share)
        counted = noised([inside, rows - inside, 0, 0], noise, rng)
        cells = np.array([True, False, False, False])
        held += covers(Share.of(counted, cells).measure("share", 0.95), share)
    # Few whole rows without noise: a discrete figure, for which Wilson's set may fall to 92 %.
    assert held / RUNS >= (ENOUGH if noise else 0.91)


@pytest.mark.parametrize("rare", [3, 30, 300])
def test_a_mean_of_shares_with_a_rare_class(rare):
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(RUNS):
        found = rng.binomial(1000, 0.9), rng.binomial(rare, 0.6)
        shares = [
            Share.of(noised([one, rows - one], 12.0, rng), np.array([True, False]))
            for one, rows in zip(found, (1000, rare), strict=True)
        ]
        held += covers(mean_share("mean", shares, 0.95), 0.75)
    assert held / RUNS >= ENOUGH


def test_rows_of_a_person_that_agree_count_as_one():
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(RUNS):
        inside = 5 * rng.binomial(120, 0.7)
        counted = Counted(np.array([inside, 600 - inside]) + rng.normal(0, 8, 2), 8.0, together=5)
        held += covers(Share.of(counted, np.array([True, False])).measure("share", 0.95), 0.7)
    assert held / RUNS >= ENOUGH


@pytest.mark.parametrize("tilt", [0.0, 0.03, 0.15])
@pytest.mark.parametrize(("rows", "noise"), [(200, 0.0), (1000, 15.0), (20000, 15.0)])
def test_calibration(tilt, rows, noise):
    rng = np.random.default_rng(4)
    predicted = np.linspace(0.1, 0.9, 9)
    happens = predicted + tilt * np.where(np.arange(9) % 2, 1, -1) * (predicted > 0.2)
    truth = np.abs(happens - predicted).mean()
    held = 0
    for _ in range(RUNS):
        there = rng.multinomial(rows, np.full(9, 1 / 9))
        yes = rng.binomial(there, happens)
        counted = histogram(np.stack([there - yes, yes], axis=1), noise, rng)
        held += covers(measures.calibration_error(counted, exactly(predicted), 0.95), truth)
    assert held / RUNS >= ENOUGH


def test_calibration_without_noise_and_gaps_is_near_zero():
    predicted = np.array([0.25, 0.75])
    counted = ScoreHistogram(np.array([[3e6, 1e6], [1e6, 3e6]]), np.zeros((2, 2)), 1)
    found = measures.calibration_error(counted, exactly(predicted), 0.95)
    assert found.value == 0
    assert found.high < 0.002


@pytest.mark.slow
@pytest.mark.parametrize("gross", [0.0, 0.01, 0.03])
@pytest.mark.parametrize(("rows", "noise"), [(300, 3.0), (1000, 20.0), (20000, 20.0)])
def test_errors_of_which_some_are_gross(gross, rows, noise):
    """Gross errors that the noise may hide are inside the intervals, there or not."""
    rng = np.random.default_rng(5)
    width, far = 100.0, 60.0
    truth = {
        "RMSE": math.sqrt((1 - gross) * 1.0 + gross * far**2),
        "MAE": (1 - gross) * math.sqrt(2 / math.pi) + gross * far,
        "bias": gross * far,
    }
    held = dict.fromkeys(truth, 0)
    for _ in range(RUNS):
        errors = np.where(rng.random(rows) < gross, far, rng.standard_normal(rows))
        cells = np.searchsorted(ERROR_CUTS, np.abs(errors) / width, side="right")
        sizes = noised(np.bincount(cells, minlength=len(ERROR_CUTS) + 2), noise, rng)
        clip = Clip.of(sizes, width, 0.95)
        sums = noised(error_parts(errors / clip.clip).sum(axis=0), 2 * noise, rng)
        for one in ErrorFigures(clip, sums).measures():
            held[one.name] += covers(one, truth[one.name])
    # Few gross errors make a sum far from normal: its chance is told by the few that were there.
    enough = ENOUGH if gross * rows > 20 or not gross else 0.85
    assert {name: count / RUNS for name, count in held.items() if count / RUNS < enough} == {}


def test_the_area_of_a_nearly_perfect_order_is_inside():
    """All the doubt is in one cell of scores, in which both classes are."""
    counts = np.array([[500.0, 0.0], [20.0, 20.0], [0.0, 500.0]])
    value = float(auroc(counts))
    assert value == pytest.approx(1 - 0.5 * (20 / 520) ** 2, abs=1e-12)
    assert value + auroc_room(counts) >= 1.0 - 1e-12


@pytest.mark.parametrize("width", [1.0, 2.0])
def test_the_area_of_binormal_scores_is_inside_for_any_number_of_cells(width):
    rng = np.random.default_rng(6)
    no, yes = rng.normal(0, 1, 200_000), rng.normal(width, 1, 200_000)
    from scipy.stats import norm

    truth = norm.cdf(width / math.sqrt(2))
    for intervals in (2, 3, 5, 16):
        cuts = np.quantile(np.concatenate([no, yes]), np.linspace(0, 1, intervals + 1)[1:-1])
        counts = np.stack(
            [np.bincount(np.digitize(one, cuts), minlength=intervals) for one in (no, yes)], axis=1
        ).astype(float)
        value = float(auroc(counts))
        assert value - 0.002 <= truth <= value + auroc_room(counts) + 0.002


def test_small_groups_need_larger_differences():
    normal, small = two_sided(3.0, 1.0), two_sided(3.0, 1.0, 2.0)
    assert normal == pytest.approx(0.0027, rel=0.01)
    assert small == pytest.approx(0.0955, rel=0.01)
    assert reach_of(0.95) == pytest.approx(1.96, abs=1e-3)
    assert reach_of(0.95, 2.0) == pytest.approx(4.303, abs=1e-3)
