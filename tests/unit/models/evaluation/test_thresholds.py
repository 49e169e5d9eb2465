"""Thresholds: without noise the figures are those of the rows, and curves are consistent."""

import math

import numpy as np
import pytest
from quality_records import counted_scores, draw_scores, evaluated
from sklearn.metrics import average_precision_score, brier_score_loss, confusion_matrix

from voile.errors import SettingError

NAMES = ("true positives", "false positives", "false negatives", "true negatives")


@pytest.fixture(scope="module")
def exact():
    """Scores, what happened, and an evaluation of them without noise."""
    scores, happened = draw_scores(3000, np.random.default_rng(0))
    return scores, happened, evaluated(noise=0.0)


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.8])
def test_without_noise_figures_are_those_of_the_rows(exact, threshold):
    scores, happened, quality = exact
    said = scores > math.log(threshold / (1 - threshold))
    (tn, fp), (fn, tp) = confusion_matrix(happened, said)
    point = quality.at_threshold(threshold)
    assert point.threshold == threshold
    wanted = {
        "sensitivity": tp / (tp + fn),
        "specificity": tn / (tn + fp),
        "PPV": tp / (tp + fp),
        "NPV": tn / (tn + fn),
        "alarms": 1000 * (tp + fp) / 3000,
        "true positives": 1000 * tp / 3000,
        "false negatives": 1000 * fn / 3000,
    }
    for name, value in wanted.items():
        assert point[name].value == pytest.approx(value, rel=1e-6), name
        assert point[name].low < point[name].value < point[name].high
    assert [one.name for one in point.counts] == list(NAMES)
    assert [one.value for one in point.counts] == pytest.approx([tp, fp, fn, tn], rel=1e-6)
    # These rows are no sample of themselves, and there is no noise.
    assert [one.low for one in point.counts] == [one.high for one in point.counts]


def test_areas_are_those_of_the_curves_that_are_drawn(exact):
    scores, happened, quality = exact
    (curves,) = quality.curves
    x, y = ([getattr(one, axis) for one in curves.roc] for axis in "xy")
    assert np.trapezoid(y, x) == pytest.approx(quality["AUROC"].value, abs=1e-9)
    wanted = average_precision_score(happened, scores)
    assert quality["average precision"].value == pytest.approx(wanted, abs=0.005)
    wanted = brier_score_loss(happened, 1 / (1 + np.exp(-scores)))
    assert quality["Brier score"].value == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("noise", [0.0, 4.0, 60.0])
def test_curves_are_possible_whatever_the_noise(noise):
    for seed in range(5):
        (curves,) = evaluated(rows=500, noise=noise, seed=seed).curves
        for points in (curves.roc, curves.precision_recall):
            x = [one.x for one in points]
            assert x == sorted(x)
            assert (x[0], x[-1]) == (0.0, 1.0)
            assert all(0 <= one.low <= one.y <= one.high <= 1 for one in points)
        y = [one.y for one in curves.roc]
        assert y == sorted(y)


def test_another_prevalence_moves_what_depends_on_it(exact):
    *_, quality = exact
    here, there = quality.at_threshold(0.3), quality.at_threshold(0.3, prevalence=0.02)
    for name in ("sensitivity", "specificity"):
        assert there[name] == here[name]
    hit, passed = there["sensitivity"].value, there["specificity"].value
    ppv = 0.02 * hit / (0.02 * hit + 0.98 * (1 - passed))
    assert there["PPV"].value == pytest.approx(ppv)
    assert there["PPV"].low < ppv < there["PPV"].high < here["PPV"].low
    assert there["NPV"].low > here["NPV"].high
    assert there["true positives"].value == pytest.approx(20 * hit)
    total = sum(there[name].value for name in NAMES)
    assert total == pytest.approx(1000)
    # The prevalence of the table itself gives what the table says.
    same = quality.at_threshold(0.3, prevalence=here.prevalence.value)
    for name in ("PPV", "NPV", "alarms", *NAMES):
        assert same[name].value == pytest.approx(here[name].value, rel=1e-9)


def test_a_goal_finds_its_threshold(exact):
    *_, quality = exact
    point = quality.threshold_for(sensitivity=0.9)
    assert point["sensitivity"].value >= 0.9
    cuts = quality.scores[0].thresholds
    following = quality.at_threshold(cuts[cuts.index(point.threshold) + 1])
    assert following["sensitivity"].value < 0.9
    assert quality.threshold_for(specificity=0.9)["specificity"].value >= 0.9
    assert quality.threshold_for(alarms=50)["alarms"].value <= 50
    rare = quality.threshold_for(alarms=50, prevalence=0.01)
    assert rare["alarms"].value <= 50
    assert rare.threshold < quality.threshold_for(alarms=50).threshold


def test_what_was_not_counted_is_answered_by_the_nearest(exact):
    *_, quality = exact
    point = quality.at_threshold(0.3004)
    assert (point.threshold, point.asked) == (0.3, 0.3004)
    assert "nearest to 0.3004" in str(point)


@pytest.mark.parametrize(
    "ask",
    [
        lambda q: q.at_threshold(math.nan),
        lambda q: q.at_threshold(True),
        lambda q: q.at_threshold(0.5, prevalence=0.0),
        lambda q: q.at_threshold(0.5, prevalence=1.0),
        lambda q: q.at_threshold(0.5, prevalence=math.nan),
        lambda q: q.at_threshold(0.5, positive="nobody"),
        lambda q: q.threshold_for(),
        lambda q: q.threshold_for(sensitivity=0.9, alarms=3),
        lambda q: q.threshold_for(sensitivity=1.5),
    ],
)
def test_questions_without_an_answer_are_refused(exact, ask):
    with pytest.raises(SettingError):
        ask(exact[2])


def test_rows_of_a_person_that_agree_widen_what_the_sample_says():
    one, five = (evaluated(noise=4.0, together=k).at_threshold(0.3) for k in (1, 5))
    for name in ("sensitivity", "PPV", "alarms"):
        narrow, wide = (point[name].high - point[name].low for point in (one, five))
        assert wide > 1.5 * narrow
    assert one.counts == five.counts


def test_scores_between_few_values_are_cut_where_they_are():
    """A model that says three things only: its cuts lie between them."""
    rng = np.random.default_rng(3)
    scores = rng.choice([-1.5, 0.2, 2.0], 2000)
    happened = (rng.random(2000) < 1 / (1 + np.exp(-scores))).astype(int)
    counted = counted_scores(scores, happened, 2.0, rng)
    filled = counted.histogram.counts.sum(axis=1) > 100
    assert filled.sum() == 3
