"""Free computations of several terms on several cores: each by itself, so the results are the same.

Linear algebra gives way to other threads while it works, and is limited to one thread a call in a
training (`voile.models.fit.looking_at_rows`): with many bins it takes longer than the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

_WORKERS = min(os.cpu_count() or 1, 4)

S = TypeVar("S")
T = TypeVar("T")


def side_by_side(work: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """What ``work`` makes of each item, in their order."""
    if _WORKERS == 1:
        return [work(item) for item in items]
    return list(_pool(os.getpid()).map(work, items))


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads do not survive a fork: ``process`` is part of the key."""
    return ThreadPoolExecutor(_WORKERS, thread_name_prefix="voile-terms")
