"""diffprivlib fits on request, in a Python of its own: it does not import beside scikit-learn 1.9.

A line of JSON in, {"fit": name, "table": columns}, a line of JSON out, {"released": numbers,
"warnings": kinds}. Started by `incumbents_diffprivlib.py`; needs diffprivlib alone.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import diffprivlib
import numpy as np
from diffprivlib import BudgetAccountant, models, tools
from diffprivlib.utils import PrivacyLeakWarning
from sklearn.model_selection import RepeatedKFold, cross_validate

EPSILON = 1.0
FOLD_COUNT, FOLD_REPEATS = 5, 10

Table = dict[str, Any]
FITS: dict[str, Callable[[Table], Any]] = {}


def fit(function: Callable[[Table], Any]) -> Callable[[Table], Any]:
    FITS[function.__name__] = function
    return function


def features(table: Table) -> np.ndarray:
    return np.array(table["x"], dtype=float)[:, None]


def labels(table: Table) -> np.ndarray:
    return np.array(table["y"], dtype=int)


# -- settings as the documentation asks ------------------------------------------------------------


@fit
def bayes_classes(table: Table) -> float:
    model = models.GaussianNB(epsilon=EPSILON, bounds=(0, 1))
    return len(model.fit(features(table), labels(table)).classes_)


@fit
def logistic_classes(table: Table) -> float:
    model = models.LogisticRegression(epsilon=EPSILON, data_norm=1.0)
    return len(model.fit(features(table), labels(table)).classes_)


@fit
def forest_classes(table: Table) -> float:
    model = models.RandomForestClassifier(
        1, epsilon=EPSILON, bounds=(0, 1), classes=[0, 1], max_depth=1
    )
    return len(model.fit(features(table), labels(table)).classes_)


@fit
def linear_slope(table: Table) -> float:
    """How flat the line is. The sum of squares below the fraction bar has too little noise."""
    model = models.LinearRegression(epsilon=EPSILON, bounds_X=(0, 10), bounds_y=(0, 1))
    model.fit(features(table), np.array(table["y"], dtype=float))
    return -float(np.log(np.abs(model.coef_[0]) + 1e-300))


@fit
def linear_slope_symmetric(table: Table) -> float:
    """The same with bounds of equal size: the lower one happens to be right for both."""
    model = models.LinearRegression(epsilon=EPSILON, bounds_X=(-10, 10), bounds_y=(0, 1))
    model.fit(features(table), np.array(table["y"], dtype=float))
    return -float(np.log(np.abs(model.coef_[0]) + 1e-300))


@fit
def bayes_rows(table: Table) -> float:
    model = models.GaussianNB(epsilon=EPSILON, bounds=(0, 1))
    return float(model.fit(features(table), labels(table)).class_count_.sum())


@fit
def scaler_rows(table: Table) -> float:
    return float(
        models.StandardScaler(epsilon=EPSILON, bounds=(0, 1)).fit(features(table)).n_samples_seen_
    )


@fit
def histogram_bins(table: Table) -> list[float]:
    counts, _ = tools.histogram(np.array(table["x"]), epsilon=EPSILON, bins=2, range=(0, 1))
    return [*counts, counts[1] - counts[0]]


@fit
def bounded_mean(table: Table) -> float:
    return float(tools.mean(np.array(table["x"]), epsilon=EPSILON, bounds=(0, 1)))


@fit
def bounded_scaler(table: Table) -> list[float]:
    model = models.StandardScaler(epsilon=EPSILON, bounds=(0, 1)).fit(features(table))
    return [model.mean_[0], model.var_[0]]


@fit
def bounded_bayes(table: Table) -> list[float]:
    model = models.GaussianNB(epsilon=EPSILON, bounds=(0, 1)).fit(features(table), labels(table))
    return bayes_numbers(model)


@fit
def bounded_logistic(table: Table) -> list[float]:
    model = models.LogisticRegression(epsilon=EPSILON, data_norm=1.0)
    model.fit(features(table), labels(table))
    slope, base = float(model.coef_[0, 0]), float(model.intercept_[0])
    at = 0.5 * slope + base
    return [np.sign(at) * np.log1p(abs(at)), float(at > 0)]


@fit
def forest_vote(table: Table) -> float:
    model = models.RandomForestClassifier(
        1, epsilon=EPSILON, bounds=(0, 1), classes=[0, 1], max_depth=1
    )
    return float(model.fit(features(table), labels(table)).predict([[0.5]])[0])


@fit
def forest_votes(table: Table) -> list[float]:
    """What each tree of a forest with the library's own settings says, and how many turned."""
    model = models.RandomForestClassifier(epsilon=EPSILON, bounds=(0, 1), classes=[0, 1])
    model.fit(features(table), labels(table))
    votes = [float(tree.predict([[0.5]])[0]) for tree in model.estimators_]
    turned = sum(vote != place % 2 for place, vote in enumerate(votes))
    return [*votes, float(turned)]


@fit
def folds(table: Table) -> list[float]:
    """All models of a cross-validation whose accountant allows one of them."""
    accountant = BudgetAccountant(EPSILON, 0)
    model = models.GaussianNB(epsilon=EPSILON, bounds=(0, 1), accountant=accountant)
    plan = RepeatedKFold(n_splits=FOLD_COUNT, n_repeats=FOLD_REPEATS, random_state=0)
    done = cross_validate(model, features(table), labels(table), cv=plan, return_estimator=True)
    found = np.array([bayes_numbers(one) for one in done["estimator"]]).mean(axis=0)
    counts, sums = found[:2], found[2:4]
    # The record leaves class 0 for class 1, and goes from the middle to the upper bound.
    pull = (counts[1] - counts[0]) + (sums[1] - sums[0])
    return [float(len(done["estimator"])), float(accountant.total()[0]), *found, pull]


def bayes_numbers(model: Any) -> list[float]:
    return [*model.class_count_, *(model.class_count_ * model.theta_[:, 0]), *model.var_[:, 0]]


# -- settings left out: the library reads them off the data, and warns -----------------------------


@fit
def unbounded_bayes(table: Table) -> float:
    model = models.GaussianNB(epsilon=EPSILON).fit(features(table), labels(table))
    return float(np.log(model.var_.max() + 1e-300))


@fit
def unbounded_scaler(table: Table) -> float:
    model = models.StandardScaler(epsilon=EPSILON).fit(features(table))
    return float(np.log(model.var_[0] + 1e-300))


@fit
def unbounded_mean(table: Table) -> float:
    # In [0, 1] if nobody's value is larger; the noise is scaled to the largest value.
    return abs(float(tools.mean(np.array(table["x"]), epsilon=EPSILON)) - 0.5)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        released = FITS[request["fit"]](request["table"])
    kinds = {o.category.__name__ for o in heard if issubclass(o.category, PrivacyLeakWarning)}
    return {
        "released": [float(one) for one in np.ravel(released)],
        "warnings": sorted(kinds),
    }


def main() -> None:
    print(json.dumps({"version": diffprivlib.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


main()
