"""Killed processes, full disks, locked folders: a file ledger forgets nothing it has said."""

import itertools
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from test_ledger_races import fork_each, run_helper

from voile import Budget, Ledger
from voile.errors import LedgerError, LedgerUnavailable
from voile.privacy.events import Gaussian, Plan

BUDGET = Budget(8, 1e-6)
PIECE = Plan.of(a=Gaussian(noise_multiplier=100))
KILLS = 200
KILLS_PER_FILE = 20


# --- what the helper does


def start_child(work) -> tuple[int, int]:
    """Fork a child that runs ``work(write)``; its id, and the pipe of what it wrote."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            work(lambda text: os.write(into, text.encode() + b"\n"))
        finally:
            os._exit(1)
    os.close(into)
    return child, out


def die_after(calls: int) -> None:
    """Kill this very process after so many calls of functions, Python's and C's, from here on.

    Calls, not seconds: how many deaths fall inside a question must not depend on how fast or how
    busy the machine is.
    """
    left = itertools.count(calls, -1)

    def watch(_frame, event, _function):
        if event.endswith("call") and next(left) <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


def calls_of(work) -> int:
    """How many calls of functions ``work()`` makes, as `die_after` counts them."""
    calls = 0

    def watch(_frame, event, _function):
        nonlocal calls
        calls += event.endswith("call")

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def kill_and_read(child: int, out: int, wanted: int, spin: float) -> list[str]:
    """Kill the child some time after it wrote so many lines; every whole line it ever wrote."""
    said = b""
    while said.count(b"\n") < wanted:
        said += os.read(out, 65536)
    end = time.perf_counter() + spin
    while time.perf_counter() < end:
        pass
    os.kill(child, signal.SIGKILL)
    return said.decode().split("\n")[:-1] + read_to_death(child, out, said.rpartition(b"\n")[2])


def read_to_death(child: int, out: int, said: bytes = b"") -> list[str]:
    """Wait until the child was killed; every whole line it wrote (``said`` begins the first)."""
    while more := os.read(out, 65536):
        said += more
    os.close(out)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit("the child ended before it was killed")
    return said.decode().split("\n")[:-1]


def kill_spenders(folder: str, seed: int) -> dict:
    """Kill two hundred spenders, every second one by the clock; what each file then lacks."""
    chosen = random.Random(seed)
    lost = wrong_totals = gaps = unfinished = spent = 0
    warm = Ledger(Path(folder) / "warm.db", BUDGET)
    warm.spend(PIECE, "warm")
    calls = calls_of(lambda: warm.spend(PIECE, "warm"))
    for kill in range(KILLS):
        path = Path(folder) / f"l{kill // KILLS_PER_FILE}.db"
        if kill % KILLS_PER_FILE == 0:
            said: set[str] = set()
            Ledger(path, BUDGET)

        by_clock, wanted = kill % 2 == 0, chosen.randrange(4)
        last = chosen.randrange(calls)

        def spend(write, path=path, by_clock=by_clock, wanted=wanted, last=last):
            ledger = Ledger(path)
            for done in itertools.count():
                if done == wanted and not by_clock:
                    die_after(last)
                write(ledger.spend(PIECE, "until killed").id)

        child, out = start_child(spend)
        if by_clock:
            said |= set(kill_and_read(child, out, wanted, chosen.uniform(0, 0.006)))
        else:
            said |= set(read_to_death(child, out))
        unfinished += path.with_name(path.name + "-journal").exists()
        history = Ledger(path).history()
        lost += len(said - {entry.id for entry in history})
        gaps += [entry.seq for entry in history] != list(range(1, len(history) + 1))
        total = history[-1].total.loss if history else 0.0
        prices = math.fsum(entry.price.loss for entry in history)
        wrong_totals += not math.isclose(total, prices, rel_tol=1e-12)
        spent += len(said)
    return {
        "lost": lost,
        "gaps": gaps,
        "wrong totals": wrong_totals,
        "unfinished": unfinished,
        "spent": spent,
    }


def kill_reservation(folder: str) -> dict:
    """A job dies between its first access and its end."""
    path = Path(folder) / "l.db"
    Ledger(path, BUDGET)

    def explain(write):
        with Ledger(path).reserve(
            Plan.of(a=Gaussian(noise_multiplier=10)), "explain"
        ) as reservation:
            write(reservation.charge(PIECE).id)
            signal.pause()

    child, out = start_child(explain)
    (charge,) = kill_and_read(child, out, 1, 0)
    return {"charge": charge}


def fill_quota(folder: str) -> dict:
    """No file may grow beyond what the ledger has now; later it may again."""
    ledger = Ledger(Path(folder) / "l.db", BUDGET)
    ledger.spend(PIECE, "before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = (Path(folder) / "l.db").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    said, message = [], None
    for _ in range(1000):
        try:
            said.append(ledger.spend(PIECE, "during").id)
        except LedgerUnavailable as error:
            message = str(error)
            break
    kept = [entry.id for entry in Ledger(Path(folder) / "l.db").history()[1:]]
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    after = ledger.spend(PIECE, "after")
    return {"message": message, "said": said, "kept": kept, "after": after.seq}


def open_as_stranger(folder: str) -> dict:
    """Someone without the right to the folder or file opens, makes and uses a ledger."""
    path = Path(folder) / "l.db"
    ledger = Ledger(path, BUDGET)
    ledger.spend(PIECE, "owner")

    def attempt(action):
        try:
            action()
        except LedgerError as error:
            return [type(error).__name__, str(error)]
        return None

    def work(_number):
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return [
            attempt(lambda: Ledger(path)),
            attempt(lambda: Ledger(path, BUDGET)),
            attempt(lambda: Ledger(Path(folder) / "new.db", BUDGET)),
            attempt(lambda: ledger.spend(PIECE, "stranger")),
        ]

    seen = {}
    for name, of_folder, of_file in (("folder", 0o000, 0o644), ("file", 0o555, 0o000)):
        path.chmod(of_file)
        Path(folder).chmod(of_folder)
        (seen[name],) = fork_each(1, work)
        Path(folder).chmod(0o755)
        path.chmod(0o644)
    return {"seen": seen, "history": [entry.what for entry in ledger.history()]}


# --- the tests


@pytest.mark.slow
def test_two_hundred_kills_at_random_instants_lose_nothing(tmp_path):
    result = run_helper(__file__, "kill_spenders", tmp_path, 20240607)
    assert (result["lost"], result["gaps"], result["wrong totals"]) == (0, 0, 0)
    # Some did die inside a transaction: about half of those that were killed by count.
    assert result["unfinished"] > 10
    assert result["spent"] >= KILLS


def test_a_job_killed_in_the_middle_has_paid_its_upper_bound(tmp_path):
    result = run_helper(__file__, "kill_reservation", tmp_path)
    history = Ledger(tmp_path / "l.db").history()
    assert [str(entry.kind) for entry in history] == ["reserve", "charge"]
    assert history[1].id == result["charge"]
    assert history[1].total.loss == pytest.approx(1 / 10**2)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "voile-test", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system cannot be mounted here (not root, or a closed container)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def test_a_full_disk_spends_nothing_and_forgets_nothing(small_disk):
    path = small_disk / "l.db"
    ledger = Ledger(path, BUDGET)
    said = [ledger.spend(PIECE, "before") for _ in range(5)]
    fill(small_disk / "filler")
    assert shutil.disk_usage(small_disk).free == 0
    for _ in range(3):
        with pytest.raises(LedgerUnavailable, match=r"full|disk I/O.*free space"):
            ledger.spend(PIECE, "during")
    with pytest.raises(LedgerUnavailable, match="free space"):
        Ledger(small_disk / "new.db", BUDGET)
    assert list(Ledger(path).history()) == list(ledger.history()) == said
    (small_disk / "filler").unlink()
    assert ledger.spend(PIECE, "after").seq == 6
    assert Ledger(path).history()[-1].total.loss == pytest.approx(6e-4)


def test_a_quota_spends_nothing_and_forgets_nothing(tmp_path):
    result = run_helper(__file__, "fill_quota", tmp_path)
    assert "free space" in result["message"]
    assert result["kept"] == result["said"]
    history = Ledger(tmp_path / "l.db").history()
    assert result["after"] == len(history) == len(result["said"]) + 2
    assert history[-1].total.loss == pytest.approx(len(history) * 1e-4)


def test_a_ledger_one_may_not_read_is_no_fresh_budget():
    # Not pytest's folder, which others may not even enter.
    with tempfile.TemporaryDirectory(prefix="voile-") as name:
        folder = Path(name)
        result = run_helper(__file__, "open_as_stranger", folder)
        files = [one.name for one in folder.iterdir()]
    for attempts in result["seen"].values():
        for attempt in attempts:
            assert attempt is not None
            kind, message = attempt
            assert kind == "LedgerUnavailable"
            assert "Check the path" in message
    assert result["history"] == ["owner"]
    assert files == ["l.db"]


if __name__ == "__main__":
    verb, place, *numbers = sys.argv[1:]
    helper = {
        "kill_spenders": kill_spenders,
        "kill_reservation": kill_reservation,
        "fill_quota": fill_quota,
        "open_as_stranger": open_as_stranger,
    }
    print(json.dumps(helper[verb](place, *map(int, numbers))))
