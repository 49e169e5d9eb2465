"""Random histories of a federation: no client answers more than was paid, and sums go on."""

import math
from unittest import mock

import pytest
from federation_machine import FederationStates
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from voile.privacy.clients.agent_job import AgentJob
from voile.privacy.clients.terms import Terms

FEW = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=150, stateful_step_count=30)
"""More, such as 500, are tried by hand when the protocol changes."""
PLANTED = settings(FEW, max_examples=150, phases=[Phase.generate])


def test_random_histories_of_a_federation():
    FederationStates.released = 0
    run_state_machine_as_test(FederationStates, settings=FEW)
    assert FederationStates.released >= 25


@pytest.mark.slow
def test_many_random_histories_of_a_federation():
    FederationStates.released = 0
    run_state_machine_as_test(FederationStates, settings=MANY)
    assert FederationStates.released >= 300


def _new_noise():
    """Noise is drawn again when a question comes again."""
    return (
        mock.patch.object(AgentJob, "recall", return_value=None),
        mock.patch.object(AgentJob, "check_new"),
        mock.patch.object(AgentJob, "measured", return_value=None),
    )


@pytest.mark.slow
@pytest.mark.parametrize("fault", [_new_noise])
def test_a_planted_fault_is_found(fault):
    patches = fault()
    for one in patches:
        one.start()
    try:
        with pytest.raises(AssertionError):
            run_state_machine_as_test(FederationStates, settings=PLANTED)
    finally:
        for one in patches:
            one.stop()


def test_attempts_share_the_precision_that_was_paid():
    for dropouts in range(4):
        terms = Terms("shares", tuple("abcdefg"), dropouts=dropouts, colluders=1)
        shares = [terms.noise_share(1.0, attempt) for attempt in range(dropouts + 1)]
        precision = math.fsum(1 / (terms.honest * share**2) for share in shares)
        assert precision == pytest.approx(1.0, rel=1e-12)
