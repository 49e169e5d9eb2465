"""What pairs of columns bring, and whether they ever hurt: fits with them beside fits without.

Public sets and made-up tables (`pair_tables.py`), with and without effects of two columns together.
Each fit has its own split, or its own rows, and its own noise; both models get the same. Loss is
the root mean squared error (a number) or the log loss (classes) on rows that were not trained on.
Prints a table and JSON.

    python benchmarks/ebm/pairs.py --eps .5,1,2,8 --fits 10

    --sets a,b,c    these sets only (an unknown one lists them)
    --rows N        rows of made-up tables (default 20,000; a quarter as many are tested on)
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import json
import math
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks.ebm import data
from benchmarks.ebm.pair_tables import TABLES, Pairs
from benchmarks.kit.script import machine, note, numbers, parser_of, some_of
from voile import EBMClassifier, EBMRegressor, Number, Schema
from voile.errors import NoLedgerWarning

PUBLIC = ("adult", "telco_churn", "cal_housing", "wine_quality", "elevators")
DELTA = 1e-6
WAYS = {"additive": 0, "pairs": "auto"}


@dataclass(frozen=True)
class Trial:
    """Rows to train on and others to test on."""

    schema: Schema
    train: tuple[pd.DataFrame, np.ndarray]
    test: tuple[pd.DataFrame, np.ndarray]
    pairs: Pairs = ()

    @property
    def regression(self) -> bool:
        return isinstance(self.schema.target, Number)


def draw(name: str, seed: int, rows: int) -> Trial:
    """A split of a public set, or new rows of a made-up table."""
    if name in TABLES:
        rng = np.random.default_rng([seed, rows])
        one, pairs = data.made_up(name, rng, rows + rows // 4)
    else:
        one, pairs = data.load(name), ()
    parts = train_test_split(one.frame, one.target, test_size=0.2, random_state=seed)
    return Trial(one.schema, (parts[0], parts[2]), (parts[1], parts[3]), pairs)


def fit(trial: Trial, epsilon: float, interactions: object) -> tuple[float, list, float]:
    """Loss, the pairs that the model has, and the seconds of a fit."""
    kind = EBMRegressor if trial.regression else EBMClassifier
    model = kind(epsilon=epsilon, delta=DELTA, schema=trial.schema, interactions=interactions)
    start = time.process_time()
    model.fit(*trial.train)
    seconds = time.process_time() - start
    frame, truth = trial.test
    chosen = [pair.columns for pair in model.model_.pairs]
    if trial.regression:
        target = trial.schema.target
        truth = np.clip(truth, target.lower, target.upper)
        return float(root_mean_squared_error(truth, model.predict(frame))), chosen, seconds
    labels = list(range(len(model.classes_)))
    return float(log_loss(truth, model.predict_proba(frame), labels=labels)), chosen, seconds


def measure(name: str, epsilon: float, fits: int, rows: int) -> dict:
    """Both ways on the same rows, several times."""
    losses: dict[str, list[float]] = {way: [] for way in WAYS}
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    counts, hits, true = [], [], ()
    for seed in range(fits):
        trial = draw(name, seed, rows)
        for way, interactions in WAYS.items():
            loss, chosen, took = fit(trial, epsilon, interactions)
            losses[way].append(loss)
            seconds[way].append(took)
        true = {frozenset(pair) for pair in trial.pairs}
        counts.append(len(chosen))
        hits.append(any(frozenset(pair) in true for pair in chosen[:2]))
    means = {way: float(np.mean(all_)) for way, all_ in losses.items()}
    each = np.array(losses["pairs"]) / np.array(losses["additive"])
    return {
        "set": name,
        "epsilon": epsilon,
        "fits": fits,
        "additive": means["additive"],
        "pairs": means["pairs"],
        "ratio": means["pairs"] / means["additive"],
        "ratio error": float(each.std(ddof=1) / math.sqrt(fits)) if fits > 1 else 0.0,
        "worst ratio": float(each.max()),
        "chosen": float(np.mean(counts)),
        "true pair among first two": float(np.mean(hits)) if true else None,
        "seconds additive": float(np.median(seconds["additive"])),
        "seconds pairs": float(np.median(seconds["pairs"])),
    }


def table(lines: list[dict]) -> str:
    head = "set               eps   additive      pairs   ratio  ±      worst  chosen  true"
    rows = [
        f"{one['set']:<16} {one['epsilon']:>5g} {one['additive']:>10.4g} {one['pairs']:>10.4g}"
        f"  {one['ratio']:.3f}  {one['ratio error']:.3f}  {one['worst ratio']:.3f}"
        f"  {one['chosen']:>5.1f}  "
        + ("" if one["true pair among first two"] is None else f"{one[TRUE]:.2f}")
        for one in lines
    ]
    ratios = np.array([one["ratio"] for one in lines])
    end = f"mean ratio {ratios.mean():.3f}, above 1.02: {(ratios > 1.02).sum()} of {len(ratios)}"
    return "\n".join([head, *rows, end])


TRUE = "true pair among first two"


def main(arguments: list[str] | None = None) -> int:
    parser = parser_of(__doc__)
    known = (*PUBLIC, *TABLES)
    parser.add_argument("--sets", type=some_of(known, "set"), default=known)
    parser.add_argument("--eps", type=numbers, default=(0.5, 1.0, 2.0, 8.0))
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args(arguments)
    fits = 1 if options.quick else options.fits
    warnings.simplefilter("ignore", NoLedgerWarning)
    lines = []
    for name in options.sets:
        for epsilon in options.eps:
            lines.append(measure(name, epsilon, fits, options.rows))
            note(table(lines[-1:]).splitlines()[1])
    print(table(lines))
    print(json.dumps({"machine": machine(), "lines": lines}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
