"""Whether a refusal tells about rows: by what it reads before it refuses, and by how long it takes.

A ledger refuses before the vault is opened, so no value is read, and it takes as long for a large
table as for a small one. Two facts are read when a table is protected, before the ledger is asked:
the column of a privacy unit and a column of weights. Lists of rows are taken apart then, too. How
long these take depends on the number of rows; time is not protected
(docs/explanation/what-this-does-not-protect.md).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, SupportsIndex

from voile.errors import BudgetExceeded, SettingError


class CountedColumn(list[Any]):
    """A column as a list that counts how often anybody looks at its values.

    Its length may be asked for: that columns are equally long is checked when a table is made.

    Examples
    --------
    >>> column = CountedColumn([1.0, 2.0])
    >>> _ = column[0], list(column), len(column)
    >>> column.looks
    2
    """

    accesses = 0

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        self.accesses += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Any]:
        self.accesses += 1
        return super().__iter__()

    def __contains__(self, value: object) -> bool:
        self.accesses += 1
        return super().__contains__(value)


@dataclass(frozen=True)
class RefusalTiming:
    """How long a ledger takes to refuse a job on a small and on a large table.

    Attributes
    ----------
    small, large : float
        Seconds, the median of the tries.
    tries : int
    """

    small: float
    large: float
    tries: int

    @property
    def ratio(self) -> float:
        """How many times as long the large table takes."""
        return self.large / self.small

    def __str__(self) -> str:
        return (
            f"refused in {1e3 * self.small:.3g} ms on the small table and {1e3 * self.large:.3g} ms"
            f" on the large one: {self.ratio:.3g} times as long ({self.tries} tries)"
        )


def refusal_timing(
    job: Callable[[Any], object], small: Any, large: Any, *, tries: int = 15
) -> RefusalTiming:
    """Measure how long a refusal takes.

    Parameters
    ----------
    job : callable
        Table to anything; the ledger must refuse it.
    small, large : object
        Tables, as ``job`` takes them.
    tries : int
        On each table, in turns; the first of each is not counted.

    Raises
    ------
    SettingError
        If the job was not refused.
    """
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 1:
        raise SettingError(f"The 'tries' must be a whole number >= 1. Got {tries!r}.")
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(tries + 1):
        for spent, table in zip(times, (small, large), strict=True):
            begin = time.perf_counter()
            try:
                job(table)
            except BudgetExceeded:
                spent.append(time.perf_counter() - begin)
            else:
                raise SettingError("The job was not refused: give it a ledger that is used up.")
    small_time, large_time = (statistics.median(spent[1:]) for spent in times)
    return RefusalTiming(small_time, large_time, tries)
