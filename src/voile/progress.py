"""A progress bar for long work, when a person watches, and silence otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic

PATIENCE = 1.0
"""Seconds after which reading a file is long work."""

_showing = False
"""Whether a bar is shown: work inside other work shows none of its own."""


@contextmanager
def progress_bar(
    what: str, steps: int | None, *, after: float = 0.0
) -> Iterator[Callable[[int], None]]:
    """Give a function that is told how many steps are done.

    Parameters
    ----------
    what : str
        Work in a word or two.
    steps : int or None
        How many there are; None if nobody knows.
    after : float
        Seconds of work before the bar is shown; short work shows none.
    """
    # A program without a terminal may have no such stream at all.
    if _showing or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=steps)
    begun = monotonic()
    with ExitStack() as shown:

        def show(done: int) -> None:
            global _showing
            if not bar.live.is_started and not _showing and monotonic() - begun >= after:
                shown.enter_context(bar)
                _showing = True
                shown.callback(_end)
            bar.update(task, completed=done)

        if after <= 0:
            show(0)
        yield show


def _end() -> None:
    global _showing
    _showing = False
