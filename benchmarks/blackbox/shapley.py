"""Contributions from a private summary beside exact ones with the true table as background.

For random forests and boosted trees on several tables: is the sign of the five greatest right, how
do a row's contributions correlate, how many of the three greatest columns are the same, do they add
up, how long does a row take on one core, and how often do the stated intervals cover the truth.
Truth are exact interventional Shapley values per column against rows of the true table (trees), or
a long run of sampled orders against them (probabilities of boosted trees). Two samples of 1,000
true rows against each other are the ceiling; the `shap` package on 1,000 true rows, its values of
encoded features summed by column, is the peer. Prints a table and JSON.

    python benchmarks/blackbox/shapley.py --sets adult,telco_churn,diabetes130 --asked 40
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from benchmarks.ebm.data import describe
from benchmarks.hospital import data as hospital_data
from benchmarks.kit.data_folder import read
from benchmarks.kit.script import installed, machine, note, some_of
from voile import Category, PrivateExplainer, Schema
from voile.errors import NoLedgerWarning
from voile.explain.blackbox.shapley.mixtures import FeatureMixtures
from voile.explain.blackbox.shapley.permutations import Orders, exchange_columns
from voile.explain.blackbox.shapley.tree_arrays import read_trees

Floats = NDArray[np.float64]

TRUE_ROWS, SAMPLE = 8_192, 1_000
MODELS = ("forest", "boosted", "histogram", "lightgbm")


@dataclass(frozen=True, eq=False)
class Table:
    """Private rows, rows to ask about, and what is public."""

    name: str
    rows: pd.DataFrame
    target: NDArray[Any]
    others: pd.DataFrame
    schema: Schema
    numbers: bool = False


def split(name: str, frame: pd.DataFrame, target: Any, schema: Schema, **more: Any) -> Table:
    order = np.random.default_rng(0).permutation(len(frame))
    held, kept = order[: len(frame) // 5], order[len(frame) // 5 :]
    rows, others = (frame.iloc[part].reset_index(drop=True) for part in (kept, held))
    return Table(name, rows, np.asarray(target)[kept], others, schema, **more)


def public(frame: pd.DataFrame) -> Schema:
    return describe(frame, Category([0, 1])).with_target(None)


def adult() -> Table:
    table = read("adult")
    frame = table.drop(columns=["income", "split"])
    return split("adult", frame, (table["income"] == ">50K").astype(int), public(frame))


def telco_churn() -> Table:
    table = read("telco_churn")
    frame = table.drop(columns=["customerID", "Churn"]).fillna({"TotalCharges": 0.0})
    return split("telco_churn", frame, (table["Churn"] == "Yes").astype(int), public(frame))


def diabetes130() -> Table:
    table = read("diabetes130")
    frame, known = hospital_data.features(table)
    frame = frame[list(known)].reset_index(drop=True)
    return split("diabetes130", frame, (table["readmitted"] == "<30").astype(int), Schema(known))


def cal_housing() -> Table:
    table = read("cal_housing")
    frame = table.iloc[:, :-1]
    return split("cal_housing", frame, table.iloc[:, -1], public(frame), numbers=True)


def wine_quality() -> Table:
    table = read("wine_quality")
    frame = table.drop(columns=["quality"])
    return split("wine_quality", frame, table["quality"].astype(float), public(frame), numbers=True)


def made() -> Table:
    """Odd distributions: heavy tails, whole numbers, many zeros, uneven levels."""
    X, y = make_classification(10_000, 12, n_informative=6, n_redundant=3, random_state=0)
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(12)])
    frame["c0"] = np.exp(frame["c0"])
    frame["c1"] = frame["c1"].round()
    frame["c2"] = frame["c2"].clip(lower=0.0)
    frame["c3"] = frame["c3"] ** 3
    edges = [-np.inf, -2, -1, -0.3, 0, 0.2, 1, 2.5, np.inf]
    frame["c4"] = pd.cut(frame["c4"], edges, labels=list("abcdefgh")).astype(str)
    frame["c5"] = np.select([frame["c5"] > 1.5, frame["c5"] > 0], ["rare", "yes"], "no")
    return split("made", frame, y, public(frame))


SETS: dict[str, Callable[[], Table]] = {
    one.__name__: one for one in (adult, telco_churn, diabetes130, cal_housing, wine_quality, made)
}


def fit(kind: str, table: Table) -> Pipeline | None:
    """A model of 100 trees over one-hot columns; None if its package is not installed."""
    reg = table.numbers
    if kind == "forest":
        found = (RandomForestRegressor if reg else RandomForestClassifier)(
            100, max_depth=10, random_state=0
        )
    elif kind == "boosted":
        found = (GradientBoostingRegressor if reg else GradientBoostingClassifier)(random_state=0)
    elif kind == "histogram":
        found = (HistGradientBoostingRegressor if reg else HistGradientBoostingClassifier)(
            random_state=0
        )
    elif installed("lightgbm"):
        import lightgbm

        make = lightgbm.LGBMRegressor if reg else lightgbm.LGBMClassifier
        found = make(n_estimators=100, random_state=0, verbose=-1)
    else:
        return None
    encode = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            list(table.schema.categories),
        ),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    return make_pipeline(encode, found).fit(table.rows, table.target)


def columns_of(model: Pipeline, table: Table) -> NDArray[np.int64]:
    """The column of each encoded feature, by the names that scikit-learn gives them."""
    names, places = list(table.rows), []
    for feature in model[0].get_feature_names_out():
        owner = [c for c in names if feature == c or feature.startswith(f"{c}_")]
        places.append(names.index(max(owner, key=len)))
    return np.array(places)


def exact(model: Pipeline, table: Table, asked: Floats, rows: Floats, players: Any) -> Floats:
    """Shapley values per column against these rows, shape (asked, columns)."""
    last, count = model[-1], table.rows.shape[1]
    trees = read_trees(last, [0] if table.numbers else [1])
    if trees is not None:
        parts = [
            trees.contributions(one[None], rows, players, count)[0, :, :, 0].mean(axis=0)
            for one in asked
        ]
        return np.array(parts)

    def predict(encoded: Floats, _count: int) -> Floats:
        if table.numbers:
            return np.asarray(last.predict(encoded))[:, None]
        return np.asarray(last.predict_proba(encoded))[:, 1:]

    mixtures = FeatureMixtures(predict, asked, rows, players, count)
    orders, answers = Orders.draw(len(rows), count, 99), predict(rows, 0)
    scores, every = predict(asked, 0), np.arange(len(rows))
    return np.array(
        [
            exchange_columns(mixtures, i, scores[i], every, answers, orders.ranks)[..., 0].mean(0)
            for i in range(len(asked))
        ]
    )


def peer(model: Pipeline, table: Table, asked: Floats, rows: Floats, players: Any) -> Any:
    """What the shap package gives, encoded features summed by column; seconds a row."""
    try:
        import shap
    except ImportError:
        return None
    last = model[-1]
    output = "raw" if table.numbers or isinstance(last, RandomForestClassifier) else "probability"
    start = time.process_time()
    try:
        explainer = shap.TreeExplainer(
            last,
            shap.maskers.Independent(rows, max_samples=len(rows)),
            feature_perturbation="interventional",
            model_output=output,
        )
        found = np.asarray(explainer.shap_values(asked, check_additivity=False))
    except Exception as error:
        return type(error).__name__
    seconds = (time.process_time() - start) / len(asked)
    if found.ndim == 3:
        found = found[..., 1] if found.shape[0] == len(asked) else found[1]
    summed = np.zeros((len(asked), table.rows.shape[1]))
    np.add.at(summed.T, players, found.T)
    return summed, seconds


def compare(found: Floats, truth: Floats) -> dict[str, float]:
    signs, shared, correlations = [], [], []
    for a, b in zip(found, truth, strict=True):
        top = np.argsort(-np.abs(b))[:5]
        top = top[np.abs(b[top]) > 1e-12]
        signs += (np.sign(a[top]) == np.sign(b[top])).tolist()
        three = (set(np.argsort(-np.abs(one))[:3].tolist()) for one in (a, b))
        shared.append(len(set.intersection(*three)))
        correlations.append(np.corrcoef(a, b)[0, 1])
    return {
        "sign of top 5": float(np.mean(signs)),
        "correlation": float(np.mean(correlations)),
        "shared of top 3": float(np.mean(shared)),
        "root mean square error": float(np.sqrt(np.mean((found - truth) ** 2))),
    }


def measure(table: Table, kind: str, model: Pipeline, options: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    asked = table.others.iloc[rng.permutation(len(table.others))[: options.asked]]
    players = columns_of(model, table)
    encoded = np.asarray(model[0].transform(table.rows), dtype=np.float64)
    points = np.asarray(model[0].transform(asked), dtype=np.float64)
    order = rng.permutation(len(encoded))
    samples = [encoded[order[k * SAMPLE : (k + 1) * SAMPLE]] for k in range(2)]
    truth = exact(model, table, points, encoded[order[:TRUE_ROWS]], players)
    first, second = (exact(model, table, points, rows, players) for rows in samples)
    result: dict[str, Any] = {
        "set": table.name,
        "model": kind,
        "rows": len(table.rows),
        "columns": table.rows.shape[1],
        "asked": len(asked),
        "true rows": min(TRUE_ROWS, len(encoded)),
        "ceiling": compare(first, second),
        "true sample": compare(first, truth),
    }
    theirs = peer(model, table, points, samples[0], players)
    if isinstance(theirs, str):
        result["shap"] = {"failed": theirs}
    elif theirs is not None:
        result["shap"] = compare(theirs[0], truth) | {"seconds a row": theirs[1]}
    spread = np.ptp(table.target) if table.numbers else 1.0
    each, seconds, sums, covered, verdicts = [], [], [], [], []
    for seed in range(options.seeds):
        bounds = {}
        if table.numbers:
            bounds["output_range"] = (float(table.target.min()), float(table.target.max()))
        explainer = PrivateExplainer(
            model,
            table.rows,
            schema=table.schema,
            epsilon=options.eps,
            random_state=seed,
            **bounds,
        )
        explainer.explain(asked.iloc[:1])  # what is made once
        with threadpool_limits(1):
            numba.set_num_threads(1)
            start = time.process_time()
            for i in range(min(len(asked), 5)):
                explainer.explain(asked.iloc[i : i + 1])
            seconds.append((time.process_time() - start) / min(len(asked), 5))
            numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        why = explainer.explain(asked)
        found = why.values[..., 0]
        each.append(compare(found, truth))
        sums.append(np.abs(why.values.sum(1) + why.base_values - why.scores).max() / spread)
        errors = why.standard_errors[..., 0]
        used = errors > 0
        covered.append((np.abs(found - truth) <= 2 * errors)[used].mean())
        verdicts += [
            (found[i, j] * truth[i, j] > 0, verdict)
            for i in range(len(asked))
            for j, verdict in enumerate(why.verdicts(i))
            if used[i, j]
        ]
    clear = [right for right, verdict in verdicts if verdict == "clear"]
    return result | {
        "epsilon": options.eps,
        "seeds": options.seeds,
        "voile": {name: float(np.mean([one[name] for one in each])) for name in each[0]}
        | {
            "worst seed, shared of top 3": min(one["shared of top 3"] for one in each),
            "seconds a row": float(np.mean(seconds)),
            "sum error": float(max(sums)),
            "intervals that cover": float(np.mean(covered)),
            "clear": len(clear) / max(len(verdicts), 1),
            "clear with the wrong sign": 1.0 - float(np.mean(clear)) if clear else 0.0,
        },
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=some_of(tuple(SETS), "set"), default=tuple(SETS))
    parser.add_argument("--models", type=some_of(MODELS, "model"), default=MODELS)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--asked", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", NoLedgerWarning)
    found = []
    for name in options.sets:
        try:
            table = SETS[name]()
        except FileNotFoundError as error:
            note(f"{name} is skipped: {error}")
            continue
        for kind in options.models:
            model = fit(kind, table)
            if model is None:
                note(f"{kind} is skipped: it is not installed")
                continue
            start = time.process_time()
            found.append(measure(table, kind, model, options))
            note(f"{name}, {kind}: {time.process_time() - start:.0f} s")
            note(json.dumps(found[-1]))
    print("set model | sign of top 5, correlation, shared of top 3 | shap | ceiling | s a row, sum")
    for one in found:
        ours, theirs, top = one["voile"], one.get("shap", {}), one["ceiling"]
        marks = ("sign of top 5", "correlation", "shared of top 3")
        cells = [
            " ".join(f"{part[mark]:.3f}" for mark in marks if mark in part)
            for part in (ours, theirs, top)
        ]
        print(
            f"{one['set']} {one['model']} | {' | '.join(cells)} | {ours['seconds a row']:.2f} "
            f"{ours['sum error']:.1e} cover {ours['intervals that cover']:.3f}"
        )
    print(json.dumps({"machine": machine("scikit-learn", "shap", "lightgbm"), "records": found}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
