"""Waiting for a turn at a ledger's folder: an aid to speed that must never stand in the way."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from voile.privacy.ledger import turn as turns
from voile.privacy.ledger.turn import turn

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders cannot be locked here")


def open_handles() -> int:
    handles = Path("/proc/self/fd")
    return len(list(handles.iterdir())) if handles.is_dir() else 0


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; what happens while somebody waits is what a test says."""
    held = SimpleNamespace(now=0.0, waits=0, meanwhile=lambda: None)

    def sleep(seconds):
        held.waits += 1
        held.now += seconds
        held.meanwhile()

    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: held.now, sleep=sleep))
    return held


def test_who_comes_second_waits_until_the_first_is_done(tmp_path, clock):
    first = turn(tmp_path, 10)
    first.__enter__()
    clock.meanwhile = lambda: first.__exit__(None, None, None)
    with turn(tmp_path, 10):
        assert clock.waits == 1


def test_who_has_waited_long_enough_goes_on_without_a_turn(tmp_path, clock):
    before = open_handles()
    with turn(tmp_path, 10):
        with turn(tmp_path, 0.01):
            assert 0.01 < clock.now < 0.02
        with turn(tmp_path, 0):  # it held nothing, so that nothing was given up for the first
            assert clock.waits > 5
    assert open_handles() == before


def test_an_interrupt_while_waiting_leaves_nothing_open(tmp_path, clock):
    def interrupt():
        raise KeyboardInterrupt

    clock.meanwhile = interrupt
    before = open_handles()
    with pytest.raises(KeyboardInterrupt), turn(tmp_path, 10), turn(tmp_path, 10):
        raise AssertionError("nobody's turn")
    assert open_handles() == before
    with turn(tmp_path, 10):
        assert clock.waits == 1


def test_a_folder_that_is_gone_is_no_reason_to_stop(tmp_path, clock):
    with turn(tmp_path / "gone", 10):
        assert clock.waits == 0
