"""Ctrl-C and polite requests to end: obeyed at once, unless a paid result is not saved yet."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class _Interrupts:
    """Whether an interrupt must wait, and whether one does."""

    must_wait: Callable[[], bool] | None = None
    waits = False

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.must_wait is not None and self.must_wait():
            self.waits = True
        else:
            raise KeyboardInterrupt


_interrupts = _Interrupts()


@contextmanager
def listening() -> Iterator[None]:
    """Take every signal that asks to end as Ctrl-C; one that is ignored (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupts.handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def saving_first(done: Callable[[], bool]) -> Iterator[None]:
    """From the moment that ``done()`` an interrupt waits until the block has ended.

    Parameters
    ----------
    done : callable
        Whether the result, which is paid, is there and only has to be saved. Asked at the moment of
        the interrupt: no instant is left between the end of the work and the saving.
    """
    _interrupts.must_wait, _interrupts.waits = done, False
    try:
        yield
    finally:
        _interrupts.must_wait = None
    if _interrupts.waits:
        raise KeyboardInterrupt
