"""Rows that make a query or a preparation fail: each counts as nothing, the others as ever.

Where a server may ask what it likes, whether an error is raised must not depend on a row, and
neither may what becomes of the other rows: a failure that costs the whole client shows one row as a
jump of the total. Public checks (`Query.fits`, the checks of what arrives) refuse what cannot be
meant; this is the net beneath them. A block that fails is halved until the rows that fail are
alone, which is exact because sums are whole numbers and every row is worked on by itself.
Proof: docs/proofs/federated.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.privacy.sources.block import Block, Column

if TYPE_CHECKING:
    from voile.privacy.queries import Query

_LOG = logging.getLogger("voile.clients")

FAILED = "\0failed"
"""Kept with the rows: which of them could not be prepared."""

Range = tuple[int, int]


def sum_what_can_be(query: Query, block: Block, grid: float) -> NDArray[np.int64]:
    """Sum of a query over the rows of a block that neither it nor their preparation fails for."""
    failed = block.kept.get(FAILED)
    if failed is not None and failed.any():
        block = block.where(~failed)
    result = np.zeros(query.size, dtype=np.int64)

    def add(part: Block, _: int) -> None:
        found = query.total(part, grid)
        # numpy would stretch a shorter one: a row would then count several times.
        if found.shape != result.shape or found.dtype != np.int64:
            raise SettingError(f"{type(query).__name__} has not summed what it announced.")
        np.add(result, found, out=result)

    for _ in _failures(block, add):
        pass
    return result


def keep_what_can_be(work: Callable[[Block], None], block: Block) -> None:
    """Let ``work`` keep its values for all rows that it does not fail for; mark the others."""
    made: list[tuple[int, dict[str, Column]]] = []

    def prepare(part: Block, start: int) -> None:
        # Into a dictionary of its own: what fails half way leaves nothing behind.
        own = Block(part.rows, part.__getitem__, dict(part.kept), part.weights)
        work(own)
        new = {k: v for k, v in own.kept.items() if v is not part.kept.get(k)}
        if any(len(values) != part.rows for values in new.values()):
            raise SettingError("A preparation must keep one value for each row.")
        made.append((start, new))

    failures = list(_failures(block, prepare))
    if not failures and len(made) == 1:
        block.kept.update(made[0][1])
        return
    failed = np.zeros(block.rows, dtype=np.bool_)
    before = block.kept.get(FAILED)
    if before is not None:
        failed |= before
    for start, stop in failures:
        failed[start:stop] = True
    for start, new in made:
        for name, values in new.items():
            whole = block.kept.get(name)
            kind = (values.dtype, values.shape[1:])
            if whole is None or (whole.dtype, whole.shape[1:]) != kind:
                whole = np.zeros((block.rows, *values.shape[1:]), dtype=values.dtype)
                block.kept[name] = whole
            whole[start : start + len(values)] = values
    block.kept[FAILED] = failed


def _failures(block: Block, work: Callable[[Block, int], None]) -> Iterator[Range]:
    """Do the work on a block, or on ever smaller parts of it; the rows for which it fails."""
    waiting, told = [(0, block.rows)], False
    while waiting:
        start, stop = waiting.pop()
        part = block if (start, stop) == (0, block.rows) else block.part(start, stop)
        try:
            work(part, start)
        except Exception:
            if not told:  # in the client's own log alone
                _LOG.warning("rows that fail count as nothing", exc_info=True)
                told = True
            if stop - start <= 1:
                if stop > start:
                    yield start, stop
                continue
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
