"""Baselines and differences between groups: verdicts are right, and rarely wrong about nothing."""

import math

import numpy as np
import pytest
from quality_records import counted_scores, evaluated

from voile.models.evaluation.baselines import Commonest, Rival, with_baselines
from voile.models.evaluation.groups import Contrast, contrast, settle
from voile.models.evaluation.intervals import Counted, Share
from voile.models.evaluation.measure import Measure
from voile.models.evaluation.of_classes import two_classes
from voile.models.evaluation.record import GroupScores, difference_texts


def test_a_good_model_is_clearly_better_than_none():
    quality = evaluated()
    for name in ("AUROC", "average precision", "accuracy", "balanced accuracy", "Brier score"):
        baseline = quality[name].baseline
        assert (baseline.better, baseline.verdict) == (True, "clear"), name
    assert quality["AUROC"].baseline.value == 0.5
    assert quality["accuracy"].baseline.name == "always 'no'"
    assert quality["calibration error"].baseline is None
    rate = quality["average precision"].baseline
    assert rate.low < rate.value < rate.high
    assert "better than always 'no'" in str(quality)


def test_scores_that_mean_nothing_are_not_called_better():
    """At the level of 1 % for each evaluation, 4 or more of 60 have a probability of 0.004."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(60):
        happened = (rng.random(1500) < 0.3).astype(int)
        scores = rng.normal(-0.8, 0.3, 1500)
        counted = counted_scores(scores, happened, 4.0, rng)
        measures, _ = two_classes(counted, ("no", "yes"), 0.95).settle()
        told = [one.baseline for one in measures if one.baseline is not None]
        wrong += any(one.better and one.verdict == "clear" for one in told)
    assert wrong < 4


def test_p_values_allow_for_all_measures():
    measure = Measure("x", 0.7, 0.6, 0.8, 0.01)
    alone = with_baselines([(measure, Rival("none", 0.5, 0.5, 0.5, True, 0.02))])
    rivals = [Rival("none", 0.5, 0.5, 0.5, True, p) for p in (0.02, 0.5, 0.6)]
    among = with_baselines([*((measure, one) for one in rivals), (measure, None)])
    assert alone[0].baseline.p_value == pytest.approx(0.02)
    assert alone[0].baseline.verdict == "perhaps"
    assert among[0].baseline.p_value == pytest.approx(0.06)
    assert among[0].baseline.verdict == "cannot be told from nothing"
    assert among[3].baseline is None


def test_a_measure_that_is_lost_is_no_better_than_anything():
    lost = Measure("x", math.nan, 0.0, 1.0, math.nan)
    (found,) = with_baselines([(lost, Rival("none", 0.5, 0.5, 0.5, True, math.nan))])
    assert found.baseline.verdict == "cannot be told from nothing"


def test_the_commonest_class_is_beaten_only_if_every_class_is():
    # Rows by predicted (first) and true class: class 2 is never predicted, and the commonest.
    pairs = Counted(np.array([300.0, 20, 200, 30, 250, 240, 0, 0, 0]), 3.0)
    commonest = Commonest.of_pairs(pairs, ("a", "b", "c"))
    accuracy = Measure("accuracy", 550 / 1040, 0.5, 0.56, 0.01)
    rival = commonest.rival(accuracy, 0.95)
    assert rival.name == "always 'c'"
    assert rival.value == pytest.approx(440 / 1040)
    assert rival.better
    assert rival.p_value < 1e-3
    always_a = Counted(np.array([400.0, 300, 300, 0, 0, 0, 0, 0, 0]), 3.0)
    same = Commonest.of_pairs(always_a, ("a", "b", "c"))
    told = same.rival(Measure("accuracy", 0.4, 0.37, 0.43, 0.01), 0.95)
    assert told.p_value == 1.0


def share(inside, rows, noise=4.0):
    return Share.of(
        Counted(np.array([inside, rows - inside], float), noise), np.array([True, False])
    )


def test_groups_that_differ_are_told_apart_and_others_not():
    clear = contrast("accuracy", share(900, 1000), share(1500, 2000), 0.95)
    assert clear.value == pytest.approx(0.15)
    assert clear.p_value < 1e-6
    assert 0 < clear.low < 0.15 < clear.high
    alike = contrast("accuracy", share(760, 1000), share(1500, 2000), 0.95)
    assert alike.p_value > 0.3
    assert alike.low < 0 < alike.high
    lost = contrast("accuracy", share(5, 8), share(1500, 2000), 0.95)
    assert math.isnan(lost.p_value)


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_equal_groups_seem_to_differ_as_rarely_as_the_test_says(p):
    """2,000 tests at 5 %: more than 7.5 % have a probability of 1 in a million."""
    rng, small = np.random.default_rng(6), 0
    for _ in range(2000):
        shares = [
            share(rng.binomial(rows, p) + 6 * rng.standard_normal(), rows, 6.0)
            for rows in (300, 900)
        ]
        small += contrast("rate", *shares, 0.95).p_value <= 0.05
    assert small / 2000 < 0.075


def test_many_groups_are_allowed_for_and_two_have_one_test():
    def groups(column, count):
        return [GroupScores(column, str(i), 100.0, ()) for i in range(count)]

    def told(count, p):
        contrasts = [[Contrast("rate", 0.1, 0.0, 0.2, p)] for _ in range(count)]
        return settle(groups("ward", count), contrasts)[0].differences[0]

    assert told(2, 0.03).p_value == pytest.approx(0.03)
    assert told(2, 0.03).verdict == "perhaps"
    assert told(5, 0.03).p_value == pytest.approx(0.15)
    assert told(5, 0.03).verdict == "cannot be told from nothing"
    both = [*groups("ward", 2), *groups("sex", 2)]
    settled = settle(both, [[Contrast("rate", 0.1, 0.0, 0.2, 0.03)]] * 4)
    assert settled[0].differences[0].p_value == pytest.approx(0.06)


def test_what_is_said_of_groups():
    quality = evaluated()
    assert difference_texts(quality.groups) == [
        "Differences by ward: A minus B, accuracy +0.05 (+0.01 to +0.09): perhaps; no other can "
        "be told from nothing."
    ]
