"""One million secure Gaussian draws on the grid, beside numpy's insecure normal draws.

Run ``python benchmarks/privacy/noise.py [result.json]``.
The two samplers take turns, so a busy machine
slows both; the ratio of the medians is what is claimed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import json
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np

from voile.privacy import noise

DRAWS = 1_000_000
ROUNDS = 21
BAR = 12.0
SCALE = 1.3 * 2**30


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure() -> dict[str, object]:
    generator = np.random.default_rng()
    actions: dict[str, Callable[[], object]] = {
        "numpy normal": lambda: generator.normal(0.0, SCALE, DRAWS),
        "gaussian": lambda: noise.gaussian(DRAWS, SCALE),
        "laplace": lambda: noise.laplace(DRAWS, SCALE),
        "bernoulli": lambda: noise.bernoulli(DRAWS, 0.1),
        "permutation": lambda: noise.permutation(DRAWS),
    }
    for action in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            times[name].append(seconds(action))
    medians = {name: statistics.median(values) for name, values in times.items()}
    small = statistics.median(seconds(lambda: noise.gaussian(10, SCALE)) for _ in range(500))
    ratio = medians["gaussian"] / medians["numpy normal"]
    return {
        "draws": DRAWS,
        "rounds": ROUNDS,
        "median_seconds": medians,
        "gaussian_over_numpy": ratio,
        "seconds_for_10_draws": small,
        "bar": BAR,
        "passed": ratio <= BAR,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def main() -> int:
    result = measure()
    medians = result["median_seconds"]
    assert isinstance(medians, dict)
    print(f"{DRAWS:,} draws, median of {ROUNDS} rounds")
    for name, median in medians.items():
        relative = median / medians["numpy normal"]
        print(f"  {name:<14}{1e3 * median:9.2f} ms {relative:7.2f} x numpy normal")
    print(f"  gaussian(10) {1e6 * float(str(result['seconds_for_10_draws'])):10.1f} microseconds")
    print(json.dumps(result))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(result, indent=2) + "\n")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
