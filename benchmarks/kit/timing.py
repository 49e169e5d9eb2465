"""Seconds and memory: beside what else the machine did, and in a process of their own."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")
BUSY = 0.2


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds so far: on the clock, of work on all cores, and of work of this benchmark."""

    clock: float
    machine: float
    own: float

    @classmethod
    def now(cls) -> "Moment | None":
        """None where the system does not tell."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        ticks = [int(one) for one in stat.read_text().split("\n", 1)[0].split()[1:9]]
        busy = sum(ticks) - ticks[3] - ticks[4]  # all but idle and waiting for disks
        own = os.times()
        mine = own.user + own.system + own.children_user + own.children_system
        return cls(time.perf_counter(), busy / os.sysconf("SC_CLK_TCK"), mine)


def others_since(start: Moment | None) -> float | None:
    """How many cores other programs kept busy: times taken beside them are not worth quoting."""
    end = Moment.now()
    if start is None or end is None or end.clock <= start.clock:
        return None
    work = (end.machine - start.machine) - (end.own - start.own)
    return max(0.0, work / (end.clock - start.clock))


def mark(others: float | None) -> str:
    """A mark on times that were taken while other programs were busy."""
    return " (busy)" if others is not None and others > BUSY else ""


def with_warning(text: str) -> str:
    """A report, and what its marks mean if it has any."""
    if "(busy)" not in text:
        return text
    return text + (
        f"\n(busy): other programs kept more than {BUSY:g} of a core busy meanwhile, so these "
        "seconds are not to be quoted: run this again on a quiet machine.\n"
    )


def peak_megabytes() -> float:
    """Peak memory of this process.

    Linux's ``VmHWM``, since ``getrusage`` also counts the memory of the process that started it;
    ``getrusage`` elsewhere.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def apart(work: Callable[..., T], *arguments: object, **environment: str) -> T:
    """Do work of a module in a fresh process, and return what it found, as JSON keeps it.

    Raises
    ------
    RuntimeError
        If the process fails.
    """
    code = f"""import json, sys
sys.path.insert(0, {str(ROOT)!r})
from {work.__module__} import {work.__name__} as work
print(json.dumps(work(*json.loads(sys.argv[1]))))"""
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{work.__name__} {arguments} ended with {done.returncode}: {last}")
    return json.loads(done.stdout.strip().splitlines()[-1])
