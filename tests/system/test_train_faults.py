"""A training whose ledger, disk or process fails: what is paid is saved, and the code is true."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("train_faults.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and devices of Linux")

LEDGER_WAYS = ("gone", "before", "before,once", "after", "after,once")
DISK_WAYS = ("lasts,here", "lasts,everywhere", "once,here", "full,once", "full,lasts,everywhere")

MOST_TRANSACTIONS, MOST_CALLS = 12, 24
"""Of one training; if it comes to make more, faults must come later, too."""


def run_script(folder, *faults):
    """What the script prints; forked from it, never from the test process, which has threads."""
    done = subprocess.run(
        [sys.executable, SCRIPT, folder, *faults],
        env={**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_every_transaction_and_every_second_call_about_files_may_fail(tmp_path):
    """One after the other: before the payment, between training and evaluation, at the very end."""
    ways = [f"disk:{{}}:{way}" for way in DISK_WAYS] + ["kill:{}", "gone:{}"]
    faults = [f"ledger:{at}:gone" for at in range(1, MOST_TRANSACTIONS + 1)]
    faults += [ways[at % len(ways)].format(at) for at in range(2, MOST_CALLS, 2)]
    found = run_script(tmp_path, *faults)
    assert found["wrong"] == {}
    assert sum(found["ends"].values()) == len(faults)
    assert {"4 paid 0 old", "9 paid 1 new", "9 paid 2 new", "9 paid 2 old"} <= set(found["ends"])
    assert 0 < found["calls"]["ledger"] <= MOST_TRANSACTIONS
    assert 0 < found["calls"]["disk"] <= MOST_CALLS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_instants(tmp_path, seed):
    """Forty each: the model is there whenever it is paid and trained; the code is documented."""
    (tmp_path / "count").mkdir()
    counted = run_script(tmp_path / "count")
    chosen = random.Random(seed)
    faults = []
    for number in range(40):
        match number % 4:
            case 0:
                way = chosen.choice(LEDGER_WAYS)
                faults.append(f"ledger:{chosen.randint(1, counted['ledger'])}:{way}")
            case 1:
                way = chosen.choice(DISK_WAYS)
                faults.append(f"disk:{chosen.randint(1, counted['disk'])}:{way}")
            case 2:
                kind = chosen.choice(["kill", "gone"])
                faults.append(f"{kind}:{chosen.randint(1, counted['disk'])}")
            case 3:
                # Most calls are made before anything is paid: every second one shall come later.
                first = chosen.choice([1, counted["transaction 3"]])
                kind = chosen.choice(["SIGINT", "SIGTERM", "death"])
                faults.append(f"{kind}:{chosen.randint(first, counted['any'])}")
    found = run_script(tmp_path, *faults)
    assert found["wrong"] == {}
    assert sum(found["ends"].values()) == len(faults)
