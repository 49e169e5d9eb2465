"""How long the command takes from its start to its end: help, and a training of the Adult table.

Whole processes, as a person waits for them: the interpreter, imports, reading, training, the
estimate of quality, writing. The peer of the training is the same job in interpret-core's
DP-EBM, as a script of its own (imports, reading by pandas, fit). Prints a table and JSON.

    python benchmarks/command/seconds.py --runs 5
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

from benchmarks.ebm import data as ebm_data

PEER = """
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier
table = pd.read_csv("adult.csv")
X, y = table.drop(columns="income"), table["income"]
DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-6).fit(X, y)
"""


def timed(command, folder):
    """Seconds of one run."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr.decode()[-2000:])
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="how often each is run")
    given = parser.parse_args()
    data = ebm_data.adult()
    voile = [sys.executable, "-m", "voile"]
    train = [*voile, "train", "adult.csv", "--target", "income", "--epsilon", "1"]
    commands = {
        "voile --help": [*voile, "--help"],
        "voile train adult.csv": train,
        "voile train adult.csv --no-evaluate": [*train, "--no-evaluate"],
        "DP-EBM of interpret-core, script": [sys.executable, "-c", PEER],
    }
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        table = data.frame.assign(income=[("<=50K", ">50K")[one] for one in data.target])
        table.to_csv(Path(folder, "adult.csv"), index=False)
        for name, command in commands.items():
            took = [timed(command, folder) for _ in range(given.runs)]
            if command is train:
                # As on the first day: kernels are compiled, into an empty cache.
                os.environ["NUMBA_CACHE_DIR"] = str(Path(folder, "kernels"))
                cold = timed(command, folder)
                del os.environ["NUMBA_CACHE_DIR"]
                results[f"{name}, first day"] = {"median": cold, "first": cold, "runs": [cold]}
                print(f"{name + ', first day':<38} median {cold:6.2f} s")
            results[name] = {"median": statistics.median(took), "first": took[0], "runs": took}
            print(f"{name:<38} median {results[name]['median']:6.2f} s, first {took[0]:6.2f} s")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
