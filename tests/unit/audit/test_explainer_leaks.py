"""The step count of the published adaptive rule gives a row away; that of the sound rule does not.

Noise is real here. Alarms of the published rule are certain, so that those tests cannot fail by
chance. The sound rule's would exceed its epsilon by chance in less than one of 10^9 runs: at most
1 % is what the confidence allows an attacker *at* epsilon, and this one is far below it (an
advantage of .46 would be allowed, and it has less than .03).
"""

import json
import math
from dataclasses import FrozenInstanceError

import pytest

from voile.audit.leaks.blackbox import ALARM, STEPS, step_count_test
from voile.errors import SettingError
from voile.privacy.gaussian_dp import mu_of


@pytest.mark.slow
def test_the_published_rule_is_told_apart_for_certain():
    found = step_count_test(faithful=True, runs=250)
    assert (found.false_alarms, found.right_alarms) == (0, 250)
    assert (found.steps_without, found.steps_with) == (ALARM - 1, ALARM)
    assert found.lowest_epsilon >= 3.5
    assert found.broken
    assert found.advantage.lower > found.allowed_advantage
    assert found.auc.lower > found.allowed_auc
    assert math.isinf(found.spent)  # its receipts guarantee nothing


@pytest.mark.slow
def test_the_sound_rule_is_not_above_its_claim():
    found = step_count_test(faithful=False, runs=250)
    assert not found.broken
    assert found.lowest_epsilon <= found.spent <= found.epsilon
    # The rule is at work: the noised length decides, and both step counts occur.
    assert 25 < found.false_alarms < 225
    assert found.advantage.value < found.allowed_advantage
    assert found.auc.value < found.allowed_auc


@pytest.mark.slow
@pytest.mark.parametrize("faithful", [False, True])
def test_the_early_terminating_variant_is_no_different(faithful):
    found = step_count_test(faithful=faithful, strategy="enhanced", runs=100)
    assert found.broken == faithful
    assert (found.advantage.value == 1.0) == faithful


@pytest.mark.parametrize(("epsilon", "rows"), [(0.3, 400), (3.0, 200), (8.0, 1000)])
def test_no_epsilon_helps_the_published_rule(epsilon, rows):
    found = step_count_test(faithful=True, epsilon=epsilon, rows=rows, runs=4)
    assert (found.steps_without, found.steps_with) == (ALARM - 1, ALARM)
    assert 2 < ALARM < STEPS  # neither the fewest nor the most steps there are


def test_a_record_is_plain_data_and_can_be_read():
    for faithful, verdict in ((True, "BROKEN"), (False, "not exceeded")):
        found = step_count_test(faithful=faithful, runs=20)
        data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert (data["runs"], data["broken"]) == (20, faithful)
        assert (data["spent"] is None) == faithful
        assert "20 runs" in str(found)
        assert verdict in str(found)
        with pytest.raises(FrozenInstanceError):
            found.runs = 5


# -- the bound -------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"runs": 3}, {"rows": 50}, {"epsilon": 0.01}])
def test_settings_that_make_no_experiment_are_refused(settings):
    assert 4 * 4 / mu_of(1.0, 1e-6) > 50
    with pytest.raises(SettingError):
        step_count_test(faithful=True, **settings)
