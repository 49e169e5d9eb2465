"""Who was in the training table? Membership inference on a forest, and on additive models.

    python benchmarks/audit/membership.py [--trainings 64] [--json FILE] [--page FILE]

Made-up rows: 1,000 in the pool, 20,000 new ones to say how often a model is right. The exit code is
1 if an attack finds more than epsilon 1 allows, or finds nothing in a forest that has learnt its
rows by heart. ``--page`` writes the curves of the forest.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import math
import time

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from voile import Category, EBMClassifier, Number, Schema
from voile.audit import membership_report

EPSILON, DELTA, COLUMNS = 1.0, 1e-6, 6
SCHEMA = Schema({f"x{i}": Number(-1, 1) for i in range(COLUMNS)}, target=Category([0, 1]))
LEAST_AREA = 0.8


def make_rows(
    count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows whose class depends on two of the columns, and on chance."""
    X = rng.uniform(-1, 1, (count, COLUMNS))
    said = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=count) > 0.3
    return X, said.astype(np.int64)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trainings", type=int, default=64)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--page", type=Path, default=None)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    X, y = make_rows(1000, rng)
    fresh, truth = make_rows(20_000, rng)
    models = {
        "forest of 50 trees": (RandomForestClassifier(50, random_state=0), None),
        "EBM, epsilon infinite": (EBMClassifier(epsilon=math.inf, schema=SCHEMA), math.inf),
        "EBM, epsilon 1": (EBMClassifier(epsilon=EPSILON, delta=DELTA, schema=SCHEMA), EPSILON),
    }
    result, failed = {}, []
    for name, (model, epsilon) in models.items():
        start = time.perf_counter()
        report = membership_report(
            model, X, y, trainings=asked.trainings, epsilon=epsilon, delta=DELTA, random_state=0
        )
        right = np.mean([model.fit(X[i::2], y[i::2]).score(fresh, truth) for i in (0, 1)])
        print(f"{name}: right {right:.1%}, {time.perf_counter() - start:.0f} s\n{report}\n")
        result[name] = {"right": float(right), **report.to_dict()}
        if epsilon is None:
            if report.strongest.auc.value < LEAST_AREA:
                failed.append(f"{name}: the attacks find nothing")
            if asked.page is not None:
                print(f"Page: {report.to_html(asked.page).resolve()}")
        failed += [f"{name}: {one.name} finds more than is allowed" for one in report.exceeds]
    if asked.json is not None:
        asked.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(*(f"NOT AS EXPECTED: {why}" for why in failed), sep="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
