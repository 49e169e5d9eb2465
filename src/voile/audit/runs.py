"""Many independent runs: over processes where that pays, with a progress bar, resumable.

A run is a number of the sequence 0, 1, 2, ... and gives a vector of numbers. What is done is kept
in a file if one is named, line by line, so that an audit that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SettingError
from voile.privacy.origins import trials
from voile.progress import progress_bar

Floats = NDArray[np.float64]
Run = Callable[[int], Sequence[float]]

_PATIENCE = 3.0
"""Seconds of work left from which starting processes pays."""

_BATCH = 0.5
"""Seconds that a process works between two reports."""


def collect_runs(
    run: Run,
    runs: int,
    *,
    what: str = "audit",
    processes: int | None = None,
    resume: str | Path | None = None,
    facts: dict[str, Any] | None = None,
) -> list[Floats]:
    """Carry out runs 0 to ``runs`` - 1.

    Parameters
    ----------
    run : callable
        Gives the numbers of one run; must not depend on other runs.
    runs : int
    what : str
        For the progress bar and for errors.
    processes : int, optional
        As many as there are cores by default, if there is work for them. 1: this process alone.
    resume : path, optional
        Where done runs are kept. Runs of that file are not repeated.
    facts : dict, optional
        What must be the same for runs to be of one audit; another file is refused.

    Returns
    -------
    list of ndarray
        In the order of the runs.
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise SettingError(f"The number of runs must be 1 or more. Got {runs!r}.")
    if processes is not None and (not isinstance(processes, int) or processes < 1):
        raise SettingError(f"The number of processes must be 1 or more. Got {processes!r}.")
    with (
        trials(),
        _Kept(resume, {"what": what, **(facts or {})}) as kept,
        progress_bar(what, runs) as show,
    ):
        done = {i: values for i, values in kept.read().items() if 0 <= i < runs}
        left = [i for i in range(runs) if i not in done]
        for part in _carry_out(run, left, processes):
            done.update(part)
            kept.write(part)
            show(len(done))
    return [done[i] for i in range(runs)]


def _carry_out(run: Run, left: list[int], processes: int | None) -> Iterator[dict[int, Floats]]:
    """Parts of the work, as they are done."""
    start, first = time.monotonic(), 0
    # A few runs here say what a run costs; a mistake in `run` shows at once and in plain sight.
    while first < len(left) and (first == 0 or processes == 1 or time.monotonic() - start < _BATCH):
        yield _do(run, left[first : first + 1])
        first += 1
    left = left[first:]
    if not left:
        return
    each = max((time.monotonic() - start) / first, 1e-6)
    size = max(1, round(_BATCH / each))
    batches = [left[i : i + size] for i in range(0, len(left), size)]
    workers = min(processes or (os.cpu_count() or 1), len(batches))
    if workers == 1 or (processes is None and each * len(left) < _PATIENCE):
        for batch in batches:
            yield _do(run, batch)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=workers, return_as="generator_unordered")(
        delayed(_do)(run, batch) for batch in batches
    )


def _do(run: Run, numbers: Sequence[int]) -> dict[int, Floats]:
    return {i: _one(run, i) for i in numbers}


def _one(run: Run, number: int) -> Floats:
    """What a run gave, as a vector; what the run itself raises is passed on as it is."""
    with trials():  # a process of its own knows nothing of those around it
        given = run(number)
    try:
        values = np.asarray(given)
        # numpy would make NaN of None, and drop the imaginary part of a complex number.
        if values.dtype.kind == "O" and any(one is None for one in values.flat):
            raise TypeError("None")
        if values.dtype.kind not in "biufO":
            raise TypeError(f"values of type {values.dtype}")
        return values.astype(np.float64).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"Run {number} gave no numbers ({error}): give score=, a function that makes a number "
            "of what fit returns."
        ) from error


class _Kept:
    """Done runs in a file: a line of facts, then a line for every part.

    One audit at a time has the file: two would cut off each other's lines.
    """

    def __init__(self, path: str | Path | None, facts: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._facts = json.loads(json.dumps(facts, default=str))
        self._file: Any = None

    def __enter__(self) -> _Kept:
        if self._path is not None:
            try:
                self._file = self._path.open("a+b", buffering=0)
            except OSError as error:
                raise self._unwritable(error) from None
            if not _lock(self._file):
                self.__exit__()
                raise SettingError(
                    f"Another audit is writing into {str(self._path)!r}: wait for it, or name "
                    "another file."
                )
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> dict[int, Floats]:
        """Runs that were done before; a last line that was cut off is removed."""
        if self._file is None:
            return {}
        self._file.seek(0)
        whole = self._file.read()
        # A line without its end was being written when the audit stopped.
        end = whole.rfind(b"\n") + 1
        lines = whole[:end].split(b"\n")[:-1]
        first = _line(self._facts)
        if not lines and first.startswith(whole):
            self._file.truncate(0)
            self._append(first)
            return {}
        if not lines or _parsed(lines[0]) != self._facts:
            raise SettingError(
                f"{str(self._path)!r} is not of this audit (or of other settings of it): name "
                "another file, or remove it."
            )
        done: dict[int, Floats] = {}
        for number, line in enumerate(lines[1:], 2):
            done.update(self._runs(line, number))
        if end < len(whole):
            self._file.truncate(end)
        return done

    def _runs(self, line: bytes, number: int) -> dict[int, Floats]:
        try:
            return {int(i): np.array(x, dtype=np.float64) for i, x in _parsed(line).items()}
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise SettingError(
                f"Line {number} of {str(self._path)!r} cannot be read: remove that line (its runs "
                "are done again), or name another file."
            ) from None

    def write(self, part: dict[int, Floats]) -> None:
        """Add runs that are done."""
        if self._file is not None:
            self._append(_line({str(i): values.tolist() for i, values in part.items()}))

    def _append(self, line: bytes) -> None:
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> SettingError:
        return SettingError(
            f"{str(self._path)!r} cannot be written: {error.strerror or error}. Name another file, "
            "or make room and start again: runs that are in it are not repeated."
        )


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _lock(file: Any) -> bool:
    """Whether this process has the file for itself, where the system knows such a thing."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
