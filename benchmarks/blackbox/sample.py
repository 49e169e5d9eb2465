"""How good synthetic rows of a summary are: distances of columns and pairs of columns to the truth.

Total variation distance (half the sum of absolute differences of shares) between synthetic rows and
the true table, over single columns, pairs and triples of columns; numbers in ten intervals of equal
counts, whole ones declared as such. Beside them the same of as many rows drawn from the true table
itself (chance alone), and of columns shuffled independently (true single columns, no pairs at all).
Last, what they are *not* meant for: the area under the ROC curve of a forest that was trained on
them.
Prints a table and JSON.

    python benchmarks/blackbox/sample.py --eps .5,1,4
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import itertools
import json
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from benchmarks.ebm import data as tables
from benchmarks.kit.data_folder import load_all
from benchmarks.kit.script import machine, note, numbers
from voile import Category, Number, PrivateExplainer, Schema
from voile.errors import NoLedgerWarning
from voile.privacy.public_rows import encode_public

BINS, TRIPLES = 10, 60
TARGET = "target"


def code(frame: pd.DataFrame, schema: Schema, cuts: dict[str, NDArray]) -> dict[str, NDArray]:
    """Columns as small numbers: levels, or intervals of numbers."""
    columns = encode_public(frame, schema)
    coded = {}
    for name, values in columns.items():
        if name in cuts:
            found = np.searchsorted(cuts[name], values, side="right")
            coded[name] = np.where(np.isnan(values), len(cuts[name]) + 1, found)
        else:
            coded[name] = values.astype(np.int64)
    return coded


def distance(one: list[NDArray], other: list[NDArray]) -> float:
    """Total variation between two tables of the same columns."""
    sizes = [int(max(a.max(), b.max())) + 1 for a, b in zip(one, other, strict=True)]
    shares = []
    for columns in (one, other):
        place = np.ravel_multi_index([c.astype(np.int64) for c in columns], sizes)
        shares.append(np.bincount(place, minlength=int(np.prod(sizes))) / len(place))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def compare(true: dict[str, NDArray], made: dict[str, NDArray]) -> dict[str, float]:
    """Mean distance over columns, pairs and some triples."""
    names, found = list(true), {}
    for count, what in ((1, "columns"), (2, "pairs"), (3, "triples")):
        groups = list(itertools.combinations(names, count))
        if count == 3:
            chosen = np.random.default_rng(0).permutation(len(groups))[:TRIPLES]
            groups = [groups[i] for i in chosen]
        each = [distance([true[n] for n in g], [made[n] for n in g]) for g in groups]
        found[what], found[f"worst of {what}"] = float(np.mean(each)), float(np.max(each))
    return found


def learn(made: pd.DataFrame, test: pd.DataFrame, schema: Schema) -> float:
    """What a forest that was trained on some rows knows of others."""
    parts = []
    for rows in (made, test):
        columns = encode_public(rows, schema)
        features = np.stack([columns[name] for name in schema if name != TARGET], axis=1)
        parts.append((np.nan_to_num(features, nan=-1.0), columns[TARGET] == 1))
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1)
    forest.fit(*parts[0])
    return float(roc_auc_score(parts[1][1], forest.predict_proba(parts[1][0])[:, 1]))


def measure(one: tables.DataSet, epsilons: tuple[float, ...], rows: int) -> list[dict[str, Any]]:
    """All that stand beside each other, on one table."""
    frame = one.frame.assign(**{TARGET: one.target})
    whole = {
        name: Number(column.lower, column.upper, whole=True)
        for name, column in one.schema.items()
        if isinstance(column, Number) and pd.api.types.is_integer_dtype(one.frame[name])
    }
    schema = Schema({**one.schema, **whole, TARGET: Category([0, 1])})
    order = np.random.default_rng(0).permutation(len(frame))
    test = frame.iloc[order[: len(frame) // 5]].reset_index(drop=True)
    true = frame.iloc[order[len(frame) // 5 :]].reset_index(drop=True)
    inner = np.arange(1, BINS) / BINS
    cuts = {n: np.unique(np.nanquantile(true[n], inner)) for n in schema.numbers}
    coded = code(true, schema, cuts)
    count = min(rows, len(true))
    rng = np.random.default_rng(1)
    chance = true.iloc[rng.integers(0, len(true), count)].reset_index(drop=True)
    apart = pd.DataFrame({n: true[n].to_numpy()[rng.permutation(len(true))] for n in true})
    found = []
    for name, made in (("true rows drawn again", chance), ("columns shuffled", apart[:count])):
        auc = learn(made, test, schema)
        found.append({"rows": name, **compare(coded, code(made, schema, cuts)), "AUROC": auc})
    for epsilon in epsilons:
        note(f"{one.name}, epsilon {epsilon:g}")
        explainer = PrivateExplainer(
            lambda rows: np.zeros(len(rows)), true, schema=schema, epsilon=epsilon
        )
        began = time.perf_counter()
        made = explainer.sample(count)
        seconds = time.perf_counter() - began
        figures = compare(coded, code(made, schema, cuts))
        auc = learn(made, test, schema)
        name = f"synthetic, epsilon {epsilon:g}"
        found.append({"rows": name, **figures, "AUROC": auc, "seconds": seconds})
    return [{"table": one.name, "sampled": count, **each} for each in found]


def main(arguments: list[str]) -> None:
    """Run all, print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eps", type=numbers, default=(0.5, 1.0, 4.0))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--sets", default="adult,telco_churn")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore", NoLedgerWarning)
    found = []
    for one in load_all(tables.load, asked.sets.split(",")):
        found += measure(one, asked.eps, asked.rows)
    for each in found:
        cells = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in each.values())
        print("  ".join(cells))
    print(json.dumps({"machine": machine("scikit-learn"), "records": found}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
