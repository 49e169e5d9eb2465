"""Random histories of a client: what leaves it is what its ledger has paid, and nothing more."""

from contextlib import ExitStack
from unittest import mock

import pytest
from client_machine import ClientStates
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from voile.errors import LedgerMismatch
from voile.privacy.clients.agent_job import AgentJob
from voile.privacy.clients.memory import AnswerMemory
from voile.privacy.ledger.jobs import MemoryJobs, SqlJobs

FEW = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=60)
"""More, such as 500, are tried by hand when the protocol changes."""
# A fault is shown by the first history that finds it: the shortest one is for people.
PLANTED = settings(FEW, max_examples=120, phases=[Phase.generate])


def test_random_histories_of_a_client():
    ClientStates.answers = 0
    run_state_machine_as_test(ClientStates, settings=FEW)
    assert ClientStates.answers >= 25, "hardly anything was answered: the histories say little"


@pytest.mark.slow
def test_many_random_histories_of_a_client():
    ClientStates.answers = 0
    run_state_machine_as_test(ClientStates, settings=MANY)
    assert ClientStates.answers >= 120


def _forgetful(stack):
    """After a restart nothing is known of what was answered, as if there were no record."""
    stack.enter_context(mock.patch.object(AnswerMemory, "check"))
    stack.enter_context(mock.patch.object(AnswerMemory, "last", return_value=None))
    for kind in (SqlJobs, MemoryJobs):
        stack.enter_context(mock.patch.object(kind, "lines", return_value=()))
        real = kind.add

        def add(jobs, job, last, *given, real=real, kind=kind):
            with mock.patch.object(kind, "lines", wraps=None):
                return real(jobs, f"{job[:32]}{id(last):032x}", None, *given)

        stack.enter_context(mock.patch.object(kind, "add", add))


def _no_order(stack):
    """Lines are written whatever stands there: a second run is not noticed."""
    for kind in (SqlJobs, MemoryJobs):
        real, other = kind.add, [0]

        def add(jobs, job, last, *given, real=real, other=other):
            try:
                return real(jobs, job, last, *given)
            except LedgerMismatch:
                other[0] += 1
                return real(jobs, f"{other[0]:064}", None, *given)

        stack.enter_context(mock.patch.object(kind, "add", add))


def _any_roster(stack):
    stack.enter_context(mock.patch.object(AgentJob, "check_roster"))


def _any_terms(stack):
    stack.enter_context(mock.patch.object(AgentJob, "_agreed", return_value={}))


def _looks_again(stack):
    stack.enter_context(mock.patch.object(AgentJob, "check_new"))


FAULTS = {
    "restarts forget": _forgetful,
    "a second run is not noticed": _no_order,
    "any roster will do": _any_roster,
    "terms may change": _any_terms,
    "accesses are answered again": _looks_again,
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault):
    with ExitStack() as stack:
        FAULTS[fault](stack)
        with pytest.raises(AssertionError):
            run_state_machine_as_test(ClientStates, settings=PLANTED)
