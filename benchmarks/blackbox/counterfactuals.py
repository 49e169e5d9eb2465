"""What would have to change: how often an answer is found, how few columns it changes, how usual.

A random forest of 100 trees on public tables; rows held out are asked about, and the other class is
wanted, by changes of columns that somebody can do something about. Peers that ask the same forest
about as many rows: random values of random columns, as the random method of DiCE draws them (needs
nothing but bounds and levels), and whole rows of the *true* table (no privacy at all); both take
needless changes back in the same way. A row can be answered if any of them finds something. Sizes
and how usual the changed rows are, are measured against the true table. Then: how often a suggested
flip of a private additive model that is called clear is one of the score that made the data.
Prints a table and JSON.

    python benchmarks/blackbox/counterfactuals.py --rows 60
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.ebm import data as tables
from benchmarks.kit.data_folder import load_all
from benchmarks.kit.script import machine, note
from voile import Category, EBMClassifier, Number, PrivateExplainer, Schema
from voile.errors import NoLedgerWarning
from voile.explain.counterfactuals.ruler import rule_by_rows
from voile.explain.counterfactuals.search import MOST_ASKED
from voile.explain.counterfactuals.usual import Others
from voile.privacy.public_rows import encode_public

TREES, DEPTH = 100, 10
MAY_CHANGE = {
    "adult": [
        *("workclass", "education", "education-num", "occupation", "hours-per-week"),
        *("capital-gain", "capital-loss"),
    ],
    "telco_churn": [
        *("tenure", "PhoneService", "MultipleLines", "InternetService", "OnlineSecurity"),
        *("OnlineBackup", "DeviceProtection", "TechSupport", "StreamingTV", "StreamingMovies"),
        *("Contract", "PaperlessBilling", "PaymentMethod", "MonthlyCharges", "TotalCharges"),
    ],
}
WHOLE = {
    "adult": {"age", "education-num", "hours-per-week", "capital-gain", "capital-loss"},
    "telco_churn": {"tenure"},
}


@dataclass
class Tally:
    """What one way of searching found."""

    name: str
    reached: list[bool] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    fewest: list[int] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    usual: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def figures(self, askable: NDArray[np.bool_]) -> dict[str, Any]:
        reached = np.array(self.reached)[askable]
        return {
            "way": self.name,
            "found": float(reached.mean()),
            "columns changed": float(np.mean(self.changes)) if self.changes else None,
            "fewest of three": float(np.mean(self.fewest)) if self.fewest else None,
            "size": float(np.mean(self.sizes)) if self.sizes else None,
            "usual": float(np.mean(self.usual)) if self.usual else None,
            "unusual": float(np.mean(np.array(self.usual) < 0.05)) if self.usual else None,
            "seconds": float(np.mean(self.seconds)),
            "processor seconds": float(np.mean(self.processor)),
            "most processor seconds": float(np.max(self.processor)),
            "rows asked": float(np.mean(self.asked)),
        }


class Counted:
    """A forest that counts the rows it is asked about."""

    def __init__(self, model: Pipeline) -> None:
        self.model, self.rows = model, 0
        self.classes_ = model.classes_
        self.feature_names_in_ = model.feature_names_in_

    def predict_proba(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        self.rows += len(rows)
        return np.asarray(self.model.predict_proba(rows))


def forest(frame: pd.DataFrame, target: NDArray, schema: Schema) -> Pipeline:
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(schema.categories)),
        remainder="passthrough",
    )
    model = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=0, n_jobs=1)
    return make_pipeline(encode, model).fit(frame, target)


def whole_schema(one: tables.DataSet) -> Schema:
    return Schema(
        {
            name: Number(column.lower, column.upper, whole=True)
            if name in WHOLE[one.name]
            else column
            for name, column in one.schema.items()
        }
    )


def fill(row: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """The asked row with other values in some columns, a row for each."""
    every = row.loc[row.index.repeat(len(values))].reset_index(drop=True)
    for name in values:
        every[name] = values[name].to_numpy()
    return every


def take_back(
    model: Counted, row: pd.DataFrame, tried: pd.DataFrame, place: int
) -> pd.DataFrame | None:
    """Of rows that reach the class, the one of fewest changes, without the needless ones."""
    if not len(tried):
        return None
    reached = model.predict_proba(tried).argmax(axis=1) == place
    good = tried[reached]
    if not len(good):
        return None
    differs = (good.to_numpy(dtype=object) != row.to_numpy(dtype=object)).sum(axis=1)
    best = good.iloc[[int(np.argmin(differs))]].reset_index(drop=True)
    while True:
        changed = [name for name in row if best[name].iloc[0] != row[name].iloc[0]]
        if len(changed) < 2:
            return best
        fewer = pd.concat([best.assign(**{name: row[name].iloc[0]}) for name in changed])
        kept = model.predict_proba(fewer).argmax(axis=1) == place
        if not kept.any():
            return best
        best = fewer.iloc[[int(np.argmax(kept))]].reset_index(drop=True)


def draw_random(
    row: pd.DataFrame, schema: Schema, may: list[str], rng: np.random.Generator
) -> pd.DataFrame:
    """Random values of random columns, as many rows for each number of columns."""
    most = min(len(may), 6)
    each = MOST_ASKED // most
    parts = []
    for count in range(1, most + 1):
        chosen = np.argsort(rng.random((each, len(may))), axis=1)[:, :count]
        part = row.loc[row.index.repeat(each)].reset_index(drop=True)
        for j, name in enumerate(may):
            here = np.flatnonzero((chosen == j).any(axis=1))
            column = schema[name]
            if isinstance(column, Category):
                values = rng.choice(np.array(column.levels, dtype=object), len(here))
            else:
                values = rng.uniform(column.lower, column.upper, len(here))
                values = np.rint(values) if column.whole else values
            kind = object if isinstance(column, Category) else float
            kept = np.array(part[name], dtype=kind)
            kept[here] = values
            part[name] = kept
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def measure(one: tables.DataSet, rows: int, epsilon: float, seed: int) -> dict[str, Any]:
    """All ways on one table."""
    rng = np.random.default_rng(seed)
    schema, may = whole_schema(one), MAY_CHANGE[one.name]
    order = rng.permutation(len(one.frame))
    held, kept = order[: len(order) // 5], order[len(order) // 5 :]
    true = one.frame.iloc[kept].reset_index(drop=True)
    model = Counted(forest(true, one.target[kept], schema))
    asked = one.frame.iloc[held[:rows]].reset_index(drop=True)
    began = time.perf_counter()
    explainer = PrivateExplainer(model, true, schema=schema, epsilon=epsilon)
    opening = time.perf_counter() - began
    columns = encode_public(true, schema)
    weights = np.full(len(true), 1.0 / len(true))
    judge = Others(schema, columns, weights, rule_by_rows(schema, columns, weights, ""), "")
    ways = [Tally("summary"), Tally("random values"), Tally("true rows, not private")]
    tallies = {tally.name: tally for tally in ways}
    judged = []
    for i in range(len(asked)):
        row = asked.iloc[[i]].reset_index(drop=True)
        place = 1 - int(model.model.predict_proba(row).argmax())
        for name, tally in tallies.items():
            model.rows, began, busy = 0, time.perf_counter(), time.process_time()
            if name == "summary":
                (told,) = explainer.counterfactuals(row, change=may).rows
                found = None
                if told.suggestions:
                    first = told.suggestions[0]
                    found = row.assign(**{c.column: c.value for c in first.changes})
            elif name == "random values":
                found = take_back(model, row, draw_random(row, schema, may, rng), place)
            else:
                some = true[may].iloc[rng.permutation(len(true))[:MOST_ASKED]]
                found = take_back(model, row, fill(row, some), place)
            tally.seconds.append(time.perf_counter() - began)
            tally.processor.append(time.process_time() - busy)
            tally.asked.append(model.rows)
            tally.reached.append(found is not None)
            if found is not None:
                now, was = encode_public(found, schema), encode_public(row, schema)
                assert model.model.predict_proba(found).argmax() == place
                sizes = [
                    float(judge.ruler.size(c, float(was[c][0]), now[c].astype(float))[0])
                    for c in may
                ]
                tally.sizes.append(sum(sizes))
                tally.changes.append(sum(now[c][0] != was[c][0] for c in may))
                tally.usual.append(float(judge.usual(now, 1)[0]))
                some = told.suggestions if name == "summary" else ()
                counts = [len(one.changes) for one in some]
                tally.fewest.append(min(counts, default=tally.changes[-1]))
                if name == "summary":
                    judged.append(abs(told.suggestions[0].usual - tally.usual[-1]))
    askable = np.any([tally.reached for tally in tallies.values()], axis=0)
    return {
        "table": one.name,
        "rows": len(asked),
        "epsilon": epsilon,
        "can be answered": int(askable.sum()),
        "seconds to open": opening,
        "usual, mean difference to the true table": float(np.mean(judged)),
        "ways": [tally.figures(askable) for tally in tallies.values()],
    }


def judge_flips(fits: int, epsilon: float, seed: int) -> dict[str, Any]:
    """How often a flip that a private additive model calls clear is one of the true score."""
    schema = Schema(
        {f"x{j}": Number(0, 1) for j in range(6)} | {"c": Category(list("ABCD"))},
        target=Category(["no", "yes"]),
    )
    heights = dict(zip("ABCD", (-0.6, -0.2, 0.2, 0.6), strict=True))

    def truth(X: dict[str, Any]) -> NDArray[np.float64]:
        waves = sum(
            a * np.sin(w * np.asarray(X[f"x{j}"], float))
            for j, (a, w) in enumerate([(1.2, 5), (0.8, 3), (0.6, 6), (0.4, 4), (0.0, 1), (0.0, 1)])
        )
        return np.asarray(waves + np.array([heights[c] for c in X["c"]]) - 0.8)

    counts: dict[str, list[bool]] = {}
    for fit in range(fits):
        rng = np.random.default_rng([seed, fit])
        X = {f"x{j}": rng.uniform(0, 1, 10_000) for j in range(6)}
        X["c"] = rng.choice(list("ABCD"), 10_000)
        y = np.where(rng.random(10_000) < expit(truth(X)), "yes", "no")
        model = EBMClassifier(epsilon=epsilon, schema=schema).fit(X, y)
        rows = {name: values[:20] for name, values in X.items()}
        for sure in (False, True):
            record = model.counterfactuals(rows, sure=sure)
            for i, told in enumerate(record.rows):
                for one in told.suggestions:
                    row = {name: [values[i]] for name, values in rows.items()}
                    row |= {change.column: [change.value] for change in one.changes}
                    right = (truth(row)[0] > 0) == (one.predicted == "yes")
                    kind = f"{'sure' if sure else 'smallest'}, {one.verdict}"
                    counts.setdefault(kind, []).append(bool(right))
    return {
        "fits": fits,
        "epsilon": epsilon,
        "flips": {
            kind: {"suggested": len(found), "true": float(np.mean(found))}
            for kind, found in sorted(counts.items())
        },
    }


def main(arguments: list[str]) -> None:
    """Run all, print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--sets", default="adult,telco_churn")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore", NoLedgerWarning)
    found = []
    for one in load_all(tables.load, asked.sets.split(",")):
        note(f"{one.name}, {asked.rows} rows")
        found.append(measure(one, asked.rows, asked.epsilon, asked.seed))
        for way in found[-1]["ways"]:
            cells = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in way.values())
            print(one.name, *cells, sep="  ")
    note(f"flips of {asked.fits} additive models")
    flips = judge_flips(asked.fits, asked.epsilon, asked.seed) if asked.fits else {}
    print(
        json.dumps({"machine": machine("scikit-learn"), "tables": found, "flips": flips}, indent=1)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
