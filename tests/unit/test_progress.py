"""The progress bar: shown to a person after a while, and to nobody else."""

import io
import sys

import pytest

from voile import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    monkeypatch.setattr(progress, "monotonic", lambda: Clock.now)
    return Clock


def run(stream, monkeypatch, clock, seconds, after):
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress_bar("reading", 10, after=after) as show:
        show(1)
        clock.now += seconds
        show(5)
    return stream.getvalue()


def test_a_person_sees_long_work_alone(monkeypatch, clock):
    assert run(Terminal(), monkeypatch, clock, seconds=0.5, after=1.0) == ""
    assert "reading" in run(Terminal(), monkeypatch, clock, seconds=2.0, after=1.0)
    assert "reading" in run(Terminal(), monkeypatch, clock, seconds=0.0, after=0.0)


def test_nobody_else_sees_anything(monkeypatch, clock):
    assert run(io.StringIO(), monkeypatch, clock, seconds=9.0, after=0.0) == ""
    monkeypatch.setattr(sys, "stderr", None)
    with progress.progress_bar("reading", None) as show:
        show(1)


def test_work_inside_other_work_shows_no_second_bar(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress_bar("outer", None), progress.progress_bar("inner", 3) as show:
        show(1)
    assert "inner" not in stream.getvalue()
    with progress.progress_bar("next", 1):
        pass
    assert "next" in stream.getvalue()


def test_a_bar_that_began_late_ends_with_its_work(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress_bar("reading", 2, after=1.0) as show:
        clock.now += 2.0
        show(1)
    with progress.progress_bar("next", 1):
        pass
    assert "next" in stream.getvalue()
