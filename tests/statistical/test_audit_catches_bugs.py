"""The audit of the library in the small: clean code passes, and every planted bug is caught.

Noise is fixed, so a correct library passes for good. With fresh noise each of the clean audits
would alarm wrongly with a probability below 0.001; 20 rounds of all of them raised no alarm:
python benchmarks/audit/claims.py --parts clean.
"""

import pytest
from injected_bugs import BUGS, SLOW, find_subset

TRIALS = {trial.title: trial for trial in find_subset()}
SETTINGS = {"confidence": 0.999, "processes": 1, "random_state": 1, "noise_seed": 1}


TRAININGS = ("EBM", "maps", "networks", "prototypes", "federated: one row of a client")
"""Trials of whole trainings: slow."""


def marked(value, name, trial):
    slow = trial in SLOW or trial.startswith(TRAININGS)
    return pytest.param(value, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("trial", [marked(trial, title, title) for title, trial in TRIALS.items()])
def test_clean_code_passes(trial):
    found = trial.audit(**SETTINGS)
    assert found.verdict == "not exceeded", found


@pytest.mark.parametrize("bug", [marked(bug, bug.name, bug.trial) for bug in BUGS])
def test_a_planted_bug_is_caught(bug):
    with bug.plant():
        found = TRIALS[bug.trial].audit(**SETTINGS)
    assert found.broken, found


def test_at_least_ten_bugs_are_planted():
    assert len({bug.name for bug in BUGS}) >= 10
