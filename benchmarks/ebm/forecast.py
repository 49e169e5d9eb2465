"""How near forecasts of noise come to what trained models report, on public tables.

Per table and epsilon: two standard errors of the privacy noise in a typical bin of the median
column, foretold by `voile.forecast` from the schema, the row count and the rate (or spread) of the
target alone, and as the fitted model says. Prints a table and JSON.

    python benchmarks/ebm/forecast.py --sets adult,telco_churn --eps .1,1,8
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json

import numpy as np

from benchmarks.ebm import data as ebm_data
from voile import EBMClassifier, EBMRegressor, forecast

SETS = "adult,telco_churn,three_class,cal_housing,wine_quality,elevators,survey,credit_fraud"


def typical_noise(term):
    """Two standard errors in the bin of the median row."""
    regular = slice(0, -1) if len(term.cuts) else slice(0, -2)
    errors, counts = term.standard_errors[regular].mean(axis=1), term.counts[regular]
    if counts.sum() <= 0:
        return float("nan")
    order = np.argsort(errors)
    place = np.searchsorted(np.cumsum(counts[order]) / counts.sum(), 0.5)
    return 2 * float(errors[order][min(place, len(order) - 1)])


def compare(name, epsilons):
    """Yield one record per epsilon."""
    data = ebm_data.load(name)
    regression = data.task == "regression"
    known = (
        {"target_spread": float(data.target.std())}
        if regression
        else {"target_rate": float((np.bincount(data.target) / len(data.target)).min())}
    )
    told = forecast(data.schema, rows=len(data.target), epsilons=epsilons, **known)
    for outlook in told.outlooks:
        kind = EBMRegressor if regression else EBMClassifier
        model = kind(epsilon=outlook.epsilon, schema=data.schema).fit(data.frame, data.target)
        real = float(np.nanmedian([typical_noise(term) for term in model.model_.terms]))
        yield {
            "set": name,
            "epsilon": outlook.epsilon,
            "foretold": outlook.noise,
            "real": real,
            "ratio": real / outlook.noise,
            "verdict": outlook.verdict,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=SETS, help="names of tables, with commas")
    parser.add_argument("--eps", default=".1,.5,1,2,4,8", help="epsilons, with commas")
    given = parser.parse_args()
    epsilons = [float(one) for one in given.eps.split(",")]
    records = []
    print(f"{'set':<14} {'epsilon':>7} {'foretold':>10} {'real':>10} {'ratio':>6}  verdict")
    for name in given.sets.split(","):
        try:
            for one in compare(name, epsilons):
                records.append(one)
                print(
                    f"{name:<14} {one['epsilon']:>7g} {one['foretold']:>10.4g} "
                    f"{one['real']:>10.4g} {one['ratio']:>6.2f}  {one['verdict']}",
                    flush=True,
                )
        except FileNotFoundError as error:
            print(f"skipped {name}: {error}")
    print(json.dumps(records))


if __name__ == "__main__":
    main()
