"""Counts, amounts and quantiles, private and not: deviance, calibration and coverage.

Made-up contracts with seven columns of curved effects, beside peers without privacy: Poisson and
gamma regression on splines, and boosted quantiles. Counts (about 0.07 a contract, watched for 0.1
to 1 years) and amounts are judged by their mean deviance on rows that nobody saw, and by what is
predicted in all relative to what happened; quantiles by the part of the rows below them and by
their pinball loss. "Truth" is the model that made the rows. Prints a table and JSON.

    python benchmarks/ebm/targets.py --eps .5,1,2 --fits 5
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import time
import warnings

import numpy as np
import pandas as pd
from scipy.stats import gamma
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import mean_gamma_deviance, mean_pinball_loss, mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from benchmarks.kit.script import machine, note, numbers
from voile import Category, EBMRegressor, Number, Schema
from voile.errors import NoLedgerWarning

AREAS = list("abcdef")
COLUMNS = {
    "age": Number(18, 90),
    "bonus": Number(50, 200),
    "density": Number(0, 20_000),
    "car age": Number(0, 40),
    "distance": Number(0, 60),
    "area": Category(AREAS),
    "fuel": Category(["diesel", "petrol"]),
}
YEARS, FREQUENCY, COST, SHAPE, LEVELS = Number(0.1, 1), 0.085, 1000.0, 2.0, (0.1, 0.5, 0.9)


def contracts(rng, rows):
    """Columns, and the log of what multiplies a mean."""
    X = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, rows),
            "bonus": 50 + rng.exponential(20, rows).clip(0, 150),
            "density": rng.lognormal(5, 1.5, rows).clip(1, 20_000),
            "car age": rng.exponential(7, rows).clip(0, 40),
            "distance": rng.gamma(3, 5, rows).clip(0, 60),
            "area": rng.choice(AREAS, rows, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]),
            "fuel": rng.choice(["diesel", "petrol"], rows),
        }
    )
    log = 0.9 * np.exp(-(X.age - 18) / 8) + 0.3 * np.maximum(X.age - 70, 0) / 20
    log += 0.012 * (X.bonus - 70) + 0.12 * (np.log(X.density) - 5) + 0.3 * np.sin(X.distance / 8)
    log += -0.02 * np.minimum(X["car age"], 15) + 0.2 * (X.area == "f") - 0.15 * (X.area == "a")
    return X, (log + 0.1 * (X.fuel == "diesel")).to_numpy()


def splines(model):
    """A generalised additive model."""
    found = [name for name, column in COLUMNS.items() if isinstance(column, Number)]
    levels = [name for name in COLUMNS if name not in found]
    columns = make_column_transformer(
        (SplineTransformer(8, knots="quantile"), found), (OneHotEncoder(), levels)
    )
    return make_pipeline(columns, model)


def private(epsilon, largest, lowest=0.0, **settings):
    """A model of ours that is not trained yet."""
    columns = {**COLUMNS, **({"years": YEARS} if "exposure" in settings else {})}
    schema = Schema(columns, target=Number(lowest, largest))
    return EBMRegressor(epsilon=epsilon, schema=schema, **settings)


def line(what, epsilon, who, seconds, **figures):
    """One result."""
    return {"target": what, "epsilon": epsilon, "model": who, "seconds": seconds, **figures}


def timed(work):
    """What a function gives, and how long it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def of_counts(rng, rows, epsilons):
    """Claims of contracts that were watched for different times."""
    X, log = contracts(rng, 2 * rows)
    years = rng.uniform(0.1, 1, 2 * rows)
    true = FREQUENCY * np.exp(log) * years
    y, seen, held = rng.poisson(true), slice(0, rows), slice(rows, None)

    def judged(epsilon, who, told, seconds=0.0):
        deviance, sum_ = mean_poisson_deviance(y[held], told), told.sum() / y[held].sum()
        return line("counts", epsilon, who, seconds, score=deviance, calibration=sum_)

    peer = splines(PoissonRegressor(alpha=1e-4, max_iter=500))
    weights = {"poissonregressor__sample_weight": years[seen]}
    _, took = timed(lambda: peer.fit(X[seen], (y / years)[seen], **weights))
    yield judged(None, "truth", true[held])
    yield judged(None, "constant rate", years[held] * y[seen].sum() / years[seen].sum())
    yield judged(None, "splines, not private", peer.predict(X[held]) * years[held], took)
    for epsilon in epsilons:
        model = private(epsilon, 20, objective="poisson", exposure="years")
        _, took = timed(lambda m=model: m.fit(X.assign(years=years)[seen], y[seen]))
        yield judged(epsilon, "ours", model.predict(X[held], exposure=years[held]), took)


def of_amounts(rng, rows, epsilons):
    """Costs with long tails."""
    X, log = contracts(rng, 2 * rows)
    true = COST * np.exp(log)
    y = np.maximum(true * gamma.rvs(SHAPE, scale=1 / SHAPE, size=2 * rows, random_state=rng), 1e-6)
    seen, held = slice(0, rows), slice(rows, None)

    def judged(epsilon, who, told, seconds=0.0):
        deviance, sum_ = mean_gamma_deviance(y[held], told), told.sum() / y[held].sum()
        return line("amounts", epsilon, who, seconds, score=deviance, calibration=sum_)

    peer = splines(GammaRegressor(alpha=1e-4, max_iter=500))
    _, took = timed(lambda: peer.fit(X[seen], y[seen]))
    yield judged(None, "truth", true[held])
    yield judged(None, "constant", np.full(rows, y[seen].mean()))
    yield judged(None, "splines, not private", peer.predict(X[held]), took)
    for epsilon in epsilons:
        model = private(epsilon, 50_000, objective="gamma")
        _, took = timed(lambda m=model: m.fit(X[seen], y[seen]))
        yield judged(epsilon, "ours", model.predict(X[held]), took)


def of_quantiles(rng, rows, epsilons):
    """Several quantiles of a skewed target whose spread differs."""
    X, log = contracts(rng, 2 * rows)
    spread = (1 + 0.5 * (X.fuel == "diesel")).to_numpy()
    y = 10 + 5 * log + spread * gamma.rvs(2, scale=1.5, size=2 * rows, random_state=rng)
    seen, held = slice(0, rows), slice(rows, None)
    for level in LEVELS:

        def judged(epsilon, who, told, seconds=0.0, level=level):
            loss = mean_pinball_loss(y[held], told, alpha=level)
            below = float((y[held] <= told).mean())
            what = f"quantile {level:g}"
            return line(what, epsilon, who, seconds, score=loss, calibration=below)

        coded = X.assign(area=X.area.astype("category"), fuel=X.fuel.astype("category"))
        peer = HistGradientBoostingRegressor(
            loss="quantile", quantile=level, categorical_features="from_dtype", random_state=0
        )
        _, took = timed(lambda p=peer, c=coded: p.fit(c[seen], y[seen]))
        true = 10 + 5 * log + spread * gamma.ppf(level, 2, scale=1.5)
        yield judged(None, "truth", true[held])
        yield judged(None, "constant", np.full(rows, np.quantile(y[seen], level)))
        yield judged(None, "boosting, not private", peer.predict(coded[held]), took)
        for epsilon in epsilons:
            model = private(epsilon, 60, -10, objective="quantile", quantile=level)
            _, took = timed(lambda m=model: m.fit(X[seen], y[seen]))
            yield judged(epsilon, "ours", model.predict(X[held]), took)


KINDS = {"counts": (of_counts, 50_000), "amounts": (of_amounts, 20_000)}
KINDS |= {"quantiles": (of_quantiles, 20_000)}


def averaged(found):
    """Means over the fits, and between what the calibration lies."""
    result = {}
    for one in found:
        result.setdefault((one["target"], one["epsilon"], one["model"]), []).append(one)
    return [
        {
            **ones[0],
            "score": float(np.mean([one["score"] for one in ones])),
            "calibration": float(np.mean([one["calibration"] for one in ones])),
            "calibration least": min(one["calibration"] for one in ones),
            "calibration most": max(one["calibration"] for one in ones),
            "seconds": float(np.mean([one["seconds"] for one in ones])),
            "fits": len(ones),
        }
        for ones in result.values()
    ]


def main(arguments):
    """Run all, print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eps", type=numbers, default=(0.5, 1.0, 2.0))
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--rows", type=int, help="by default 50,000 for counts, else 20,000")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore", NoLedgerWarning)
    found = []
    for kind in asked.kinds.split(","):
        measure, rows = KINDS[kind]
        for seed in range(asked.fits):
            note(f"{kind}, table {seed}")
            rng = np.random.default_rng(seed)
            found += measure(rng, asked.rows or rows, asked.eps)
    records = averaged(found)
    names = list(records[0])
    print("  ".join(names))
    for one in records:
        cells = (one[name] for name in names)
        print("  ".join(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells))
    print(json.dumps({"machine": machine(), "records": records}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
