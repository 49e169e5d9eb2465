"""Random histories of a ledger never exceed its budget, wherever it is kept."""

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from ledger_machine import LedgerStates

QUICK = settings(max_examples=40, stateful_step_count=12)


def test_random_histories_keep_the_budget():
    run_state_machine_as_test(LedgerStates, settings=QUICK)
