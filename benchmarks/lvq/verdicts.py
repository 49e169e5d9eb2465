"""How often verdicts of prototype models and linear maps are right, on the tables of `ebm`.

Columns without any effect, and halves that differ by 0.3 log-odds, in tables of 10,000 rows. Of a
prototype model the verdict is on the class means, of linear maps on the weights. Comparisons of
null columns (two classes, or two levels) count as well. Prints JSON.

    python benchmarks/lvq/verdicts.py --eps 1,8 --fits 20
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import warnings

import numpy as np

from benchmarks.ebm.verdict_tables import LEVELS, REAL, TABLES
from benchmarks.kit.script import machine, note, numbers
from voile import GLVQClassifier, GMLVQClassifier, LocallyLinearClassifier, LVQ1Classifier
from voile.errors import NoLedgerWarning

MODELS = {
    "lvq1": LVQ1Classifier,
    "glvq": GLVQClassifier,
    "gmlvq": GMLVQClassifier,
    "maps": LocallyLinearClassifier,
}


def measure(model, kind, table_name, epsilon, fits, rows):
    """Shares of fits with each verdict."""
    null, pairs, real = [], [], {one: [] for one in REAL}
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        table = TABLES[table_name](rng, rows)
        y, schema = table.draw(kind, rng)
        fitted = MODELS[model](epsilon=epsilon, schema=schema, **table.settings)
        whole = fitted.fit(table.columns, y, **table.fit).explain_global()
        null += [whole.verdict_of(one) for one in whole.columns if one.startswith("null")]
        for one, verdicts in real.items():
            verdicts.append(whole.verdict_of(one))
        sides = rng.choice(LEVELS, 2, replace=False) if model == "maps" else ("no", "yes")
        if kind == "three classes" and model != "maps":
            sides = ("no", "some")
        pairs.append("clear" in whole.compare("null category", *sides).verdicts)
    return {
        "model": model,
        "kind": kind,
        "table": table_name,
        "epsilon": epsilon,
        "rows": rows,
        "null columns": len(null),
        "null clear": null.count("clear") / len(null),
        "null perhaps or clear": 1 - null.count("cannot be told from nothing") / len(null),
        "null pair clear": float(np.mean(pairs)),
        **{f"{one} clear": verdicts.count("clear") / fits for one, verdicts in real.items()},
    }


def main():
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eps", type=numbers, default=(1.0, 8.0))
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--kinds", default="two classes,three classes")
    parser.add_argument("--tables", default="usual")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NoLedgerWarning)
    results = []
    for model in asked.models.split(","):
        for kind in asked.kinds.split(","):
            for name in asked.tables.split(","):
                for epsilon in asked.eps:
                    result = measure(model, kind, name, epsilon, asked.fits, asked.rows)
                    note(json.dumps(result))
                    results.append(result)
    print(json.dumps({"machine": machine(), "records": results}, indent=1))


if __name__ == "__main__":
    main()
