"""Torch with one thread, so that the number of cores changes no bit of a sum."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class _Threads:
    """How many are at work with one thread, and what to go back to after the last."""

    count = 0
    before = 1
    lock = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work with one thread, until the last one who asked for it is done."""
    with _Threads.lock:
        current = torch.get_num_threads()
        if _Threads.count == 0:
            _Threads.before = current
        _Threads.count += 1
        if current != 1:
            torch.set_num_threads(1)
    try:
        yield
    finally:
        with _Threads.lock:
            _Threads.count -= 1
            if _Threads.count == 0 and _Threads.before != 1:
                torch.set_num_threads(_Threads.before)
