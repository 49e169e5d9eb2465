"""Whether stated errors of explanations are real ones: the same table, summarised again and again.

For each table and epsilon: root mean square of the stated standard errors over the standard
deviation of the answers between summaries, for contributions and for slopes. Less than 1 means that
whiskers promise too much. Contributions have errors that no other noise would show (where rows lie
within bins, how three columns depend on each other): how many of their 95 % intervals hold the
contribution against the true table, by its definition. Tables are drawn from formulas: correlated
numbers, products of others, numbers with categories. Slopes of a linear box hardly move at all
(their errors are those of a small penalty), which is why its ratios compare two tiny figures.
Prints a table and JSON.

    python benchmarks/blackbox/whiskers.py --eps 1,8 --rows 1500,8000 --fits 6
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.kit.script import machine, note, numbers
from voile import Category, Number, PrivateExplainer, Schema
from voile.errors import NoLedgerWarning
from voile.privacy.noise import fixed_noise

Floats = NDArray[np.float64]
ASKED = 6


def tables(rows: int) -> Iterator[tuple[str, pd.DataFrame, Schema, Callable[[Any], Floats]]]:
    """Tables, and functions that stand for black boxes."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (rows, 6))
    x[:, 1] = np.clip(x[:, 0] + rng.normal(0, 0.2, rows), 0, 1)
    x[:, 3] = np.clip(x[:, 2] * x[:, 0] + rng.normal(0, 0.1, rows), 0, 1)
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(6)])
    schema = Schema({name: Number(0, 1) for name in frame})
    yield (
        "product of columns",
        frame,
        schema,
        lambda a: np.tanh(
            3 * (a["x0"] - 0.5) * (a["x3"] - 0.3) + a["x1"] * a["x4"] - 0.4
        ).to_numpy(),
    )
    yield "the same, linear", frame, schema, lambda a: (a @ np.arange(-3, 3) / 6).to_numpy()
    scores = rng.normal(size=(rows, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(rows, 6))
    other = pd.DataFrame(np.clip(scores, -4, 4), columns=[f"y{i}" for i in range(6)])
    yield (
        "two factors",
        other,
        Schema({name: Number(-4, 4) for name in other}),
        lambda a: np.tanh(a["y0"] + a["y1"] * (a["y2"] > 0) - 0.5 * a["y3"]).to_numpy(),
    )
    level = rng.integers(0, 4, rows)
    mixed = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "level": np.array(list("abcd"))[level]})
    mixed["x2"] = np.clip(0.2 * level + rng.normal(0, 0.15, rows), 0, 1)
    kinds = {name: Number(0, 1) for name in ("x0", "x1", "x2")}
    yield (
        "with a category",
        mixed,
        Schema({**kinds, "level": Category(list("abcd"))}),
        lambda a: np.tanh(2 * a["x0"] - a["x2"] + (a["level"] == "c")).to_numpy(),
    )


def shapley(frame: pd.DataFrame, box: Callable[[Any], Floats], row: int) -> Floats:
    """Contributions of a row by their definition: over all sets of columns, all rows behind."""
    names, count = list(frame), frame.shape[1]
    worth = {}
    for some in range(2**count):
        own = {n: frame[n].iloc[row] for j, n in enumerate(names) if some >> j & 1}
        worth[some] = float(box(frame.assign(**own)).mean())
    found = np.zeros(count)
    for j in range(count):
        for some in range(2**count):
            if not some >> j & 1:
                size = some.bit_count()
                weight = math.factorial(size) * math.factorial(count - size - 1)
                gain = worth[some | 1 << j] - worth[some]
                found[j] += weight / math.factorial(count) * gain
    return found


def measure(
    frame: pd.DataFrame, schema: Schema, box: Callable[[Any], Floats], eps: float, fits: int
) -> dict[str, float]:
    """Stated over real errors, and how many intervals hold the truth."""
    truth = np.array([shapley(frame, box, row) for row in range(ASKED)])
    held = []
    found: dict[str, list[tuple[Floats, Floats]]] = {"contributions": [], "slopes": []}
    for seed in range(fits):
        with fixed_noise(seed):
            explainer = PrivateExplainer(box, frame, schema=schema, epsilon=eps)
            given = frame.iloc[:ASKED]
            parts, slopes = explainer.explain(given), explainer.explain_slopes(given)
        found["contributions"].append((parts.values, parts.standard_errors))
        order = [list(frame).index(name) for name in parts.columns]
        apart = np.abs(parts.values[:, :, -1] - truth[:, order])
        real = np.abs(truth[:, order]) > 1e-9
        held += list((apart <= 1.96 * parts.standard_errors[:, :, -1])[real])
        found["slopes"].append((slopes.values, slopes.standard_errors))
    ratios = {"covered": float(np.mean(held))}
    for what, each in found.items():
        values, stated = (np.array([pair[side] for pair in each]) for side in (0, 1))
        real = values.var(axis=0, ddof=1).mean()
        ratios[what] = float(np.sqrt((stated**2).mean() / max(float(real), 1e-300)))
    return ratios


def main(arguments: list[str]) -> None:
    """Run all, print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eps", type=numbers, default=(1.0, 2.0, 8.0))
    parser.add_argument("--rows", type=numbers, default=(1_500, 20_000))
    parser.add_argument("--fits", type=int, default=10)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore", NoLedgerWarning)
    records = []
    for rows in asked.rows:
        for name, frame, schema, box in tables(int(rows)):
            for eps in asked.eps:
                note(f"{name}, {rows:g} rows, epsilon {eps:g}")
                ratios = measure(frame, schema, box, eps, asked.fits)
                records.append({"table": name, "rows": int(rows), "epsilon": eps, **ratios})
    print("table, rows, epsilon, covered; stated over real errors: contributions, slopes")
    for one in records:
        print("  ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in one.values()))
    print(json.dumps({"machine": machine(), "fits": asked.fits, "records": records}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
