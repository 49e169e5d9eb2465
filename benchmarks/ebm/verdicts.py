"""How often verdicts on columns are right: columns without any effect, and halves that differ.

Made-up tables of 10,000 rows: two real columns, a number and a category without any effect, and a
number and a category whose halves differ by 0.3 log-odds (in regression by 0.3, with a residual
spread of 1.81). Beside the verdicts stands what readers took for one before: an importance above
that of the privacy noise alone. ``--related`` gives the null number a correlation with a strong
column; ``--tables harder`` tries tables that are harder to judge (`verdict_tables.py`). Differences
between two levels or two ranges of null columns, drawn at random, are compared as well. Prints a
table and JSON.

    python benchmarks/ebm/verdicts.py --eps .5,1,2,8 --fits 100
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import math
import warnings

import numpy as np

from benchmarks.ebm.verdict_tables import KINDS, REAL, TABLES, usual
from benchmarks.kit.script import machine, note, numbers
from voile import EBMClassifier, EBMRegressor
from voile.errors import NoLedgerWarning


def beyond_noise(term):
    """The mark of the privacy noise alone: an importance above what it makes by itself."""
    weights = term.counts / max(term.counts.sum(), 1.0)
    mark = math.sqrt(2 / math.pi) * float((weights @ term.noise_errors).sum())
    return bool(term.importance.sum() > mark)


def sides(term, rng):
    """Two levels, or two ranges that do not overlap, by chance."""
    if term.kind == "category":
        return rng.choice(term.labels[: term.regular], 2, replace=False).tolist()
    # Ends of bins, not values: where rows are few, many values are one part of the model.
    ends = np.sort(rng.choice(len(term.edges), 4, replace=False))
    low, high, lower, upper = (float(term.edges[i]) for i in ends)
    return (low, high), (lower, upper)


def measure(kind, name, epsilon, fits, rows, related):
    """Shares of fits with each verdict."""
    null, pairs, marks, real = [], [], [], {one: [] for one in REAL}
    halves = []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        table = usual(rng, rows, related) if related else TABLES[name](rng, rows)
        y, schema = table.draw(kind, rng)
        model = EBMRegressor if kind == "regression" else EBMClassifier
        fitted = model(epsilon=epsilon, schema=schema, **table.settings)
        told = fitted.fit(table.columns, y, **table.fit).explain_global()
        for term in told.terms:
            if term.name.startswith("null"):
                null.append(term.verdict)
                marks.append(beyond_noise(term))
                pairs.append("clear" in told.compare(term.name, *sides(term, rng)).verdicts)
        for one, verdicts in real.items():
            verdicts.append(told[one].verdict)
        halves.append("clear" in told.compare(REAL[0], (0.5, 1), (0, 0.5)).verdicts)
    return {
        "kind": kind,
        "table": name,
        "epsilon": epsilon,
        "rows": rows,
        "related": related,
        "null columns": len(null),
        "null clear": null.count("clear") / len(null),
        "null perhaps or clear": 1 - null.count("cannot be told from nothing") / len(null),
        "null above noise alone": float(np.mean(marks)),
        "null pair clear": float(np.mean(pairs)),
        **{f"{one} clear": verdicts.count("clear") / fits for one, verdicts in real.items()},
        "halves compared clear": float(np.mean(halves)),
    }


def main(arguments):
    """Run all, print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eps", type=numbers, default=(0.5, 1.0, 2.0, 8.0))
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--related", type=float, default=0.0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--tables", default="usual")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore", NoLedgerWarning)
    tables = list(TABLES)[1:] if asked.tables == "harder" else asked.tables.split(",")
    found = []
    for kind in asked.kinds.split(","):
        for name in tables:
            for epsilon in asked.eps:
                note(f"{kind}, {name}, epsilon {epsilon:g}")
                result = measure(kind, name, epsilon, asked.fits, asked.rows, asked.related)
                found.append(result)
    names = [name for name in found[0] if name not in ("rows", "related")]
    print("  ".join(names))
    for one in found:
        cells = (one[name] for name in names)
        print("  ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells))
    print(json.dumps({"machine": machine(), "records": found}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
