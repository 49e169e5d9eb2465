"""The black boxes of the explainer benchmark.

Not a script: see `quality.py`.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.blackbox.data import Task
from voile import Category, EBMClassifier, LocallyLinearClassifier

TREES, DEPTH = 500, 10
TREES_OF = {"imdb": 100}
DELTA = 1e-6
MOST_KEPT = 200


class Remembered:
    """A classifier of two classes as a function from rows to 2 p - 1.

    Answers are kept: every strategy asks about the same private rows, and what is compared is not
    the time that the model takes.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._kept: dict[str, NDArray[np.float64]] = {}

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        key = str(joblib.hash(rows))
        if key not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = 2.0 * self.model.predict_proba(rows)[:, 1] - 1.0
        return self._kept[key]


def forest(task: Task, *, trees: int | None = None, depth: int | None = DEPTH) -> Pipeline:
    """A random forest over one-hot columns."""
    texts = task.schema.categories
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(texts)),
        remainder="passthrough",
    )
    count = trees or TREES_OF.get(task.name, TREES)
    model = RandomForestClassifier(count, max_depth=depth, random_state=0, n_jobs=-1)
    return make_pipeline(encode, model).fit(task.rows, task.target)


def linear(task: Task) -> Pipeline:
    """A logistic regression of pixels."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e-3, max_iter=300))
    return model.fit(task.rows, task.target)


def usual(task: Task, trees: int | None = None) -> Any:
    """The model that a set is explained with."""
    return linear(task) if task.name == "fer" else forest(task, trees=trees)


def called(task: Task, trees: int | None = None) -> str:
    """What the usual model is, in words."""
    if task.name == "fer":
        return "logistic regression"
    return f"random forest, {trees or TREES_OF.get(task.name, TREES)} trees, depth {DEPTH}"


PRIVATE: dict[str, Callable[..., Any]] = {
    "EBM": EBMClassifier,
    "locally linear maps": LocallyLinearClassifier,
}


def private(kind: str, task: Task, epsilon: float) -> Any:
    """A model of this library, trained with privacy (infinite epsilon: without)."""
    schema = task.schema.with_target(Category([0, 1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PRIVATE[kind](epsilon=epsilon, delta=DELTA, schema=schema).fit(
            task.rows, task.target
        )


def accuracy(model: Any, task: Task) -> float:
    """On the rows held out."""
    return float(np.mean(np.asarray(model.predict(task.others)) == task.others_target))


def depth_text(depth: float | None) -> str:
    return "no limit" if depth is None or math.isinf(depth) else f"{depth:g}"
