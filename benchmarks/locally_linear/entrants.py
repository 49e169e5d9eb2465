"""The models of the benchmark of locally linear maps, behind one face, and the paper's figures.

Not a script: see `quality.py`.
"""

import math
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import voile
from benchmarks.locally_linear.data import Split, Task

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, math.inf)
SWEEP_EPSILONS = (2.0, math.inf)
MAPS = (1, 2, 5, 10, 20, 40)
PROJECTIONS = (50, 100, 300, 600)

PAPER = {
    "mnist": {0.5: 0.918, 2.0: 0.942},
    "fashion_mnist": {0.5: 0.807, 2.0: 0.832},
}
"""Accuracies that Harder, Bauer and Park (2020) give for locally linear maps, by epsilon."""

PAPER_NETWORK = {"mnist": {0.5: 0.92, 2.0: 0.95}}
"""The same for a convolutional network by DP-SGD, as quoted there."""

PAPER_OPEN = {"fashion_mnist": 0.87}
"""Theirs without privacy."""


Group = Literal["preset", "maps", "projection", "shared", "peer"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One model to compare.

    Attributes
    ----------
    name, label : str
        As the files and the tables call it.
    group : str
        "preset"; "maps", "projection" and "shared" for a point of a curve; "peer" without privacy.
    settings : dict
        What the estimator is given beside the budget.
    at : int or None
        Where the point lies on its curve.
    """

    name: str
    label: str
    group: Group = "preset"
    settings: dict[str, Any] = field(default_factory=dict)
    at: int | None = None

    def build(self, task: Task, epsilon: float, seed: int) -> Any:
        if self.group == "peer":
            return Logistic(task)
        return voile.LocallyLinearClassifier(
            epsilon=epsilon,
            delta=task.delta,
            schema=task.schema,
            image_shape=task.image_shape,
            random_state=seed,
            **self.settings,
        )


ACCURATE = Variant("accurate", "Voile")
PLAIN = Variant("no_copies", "Voile, no copies", settings={"copies": False})
READABLE = Variant("readable", "Voile, readable", settings={"preset": "readable"})
READABLE_PLAIN = Variant(
    "readable_no_copies",
    "Voile, readable, no copies",
    settings={"preset": "readable", "copies": False},
)
LOGISTIC = Variant("logistic", "logistic regression", "peer")


def with_maps(count: int, *, pictures: bool) -> Variant:
    settings = {"maps": count} | ({"copies": False} if pictures else {})
    label = f"{count} map{'s' if count > 1 else ''}"
    return Variant(f"maps_{count}", label, "maps", settings, count)


def with_projection(size: int, *, shared: bool) -> Variant:
    group: Group = "shared" if shared else "projection"
    settings = {"projection": size, "shared_projection": shared}
    label = f"projection to {size}" + (", shared" if shared else "")
    return Variant(f"{group}_{size}", label, group, settings, size)


class Logistic:
    """Logistic regression as one would set it up without privacy: scaled numbers, coded levels."""

    def __init__(self, task: Task) -> None:
        assert task.schema is not None
        numbers, categories = list(task.schema.numbers), list(task.schema.categories)
        scaled = make_pipeline(SimpleImputer(), StandardScaler())
        coded = OneHotEncoder(handle_unknown="ignore")
        columns = ColumnTransformer([("n", scaled, numbers), ("c", coded, categories)])
        self.model = make_pipeline(columns, LogisticRegression(max_iter=500))

    def fit(self, rows: pd.DataFrame, classes: Any) -> "Logistic":
        self.model.fit(rows, classes)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        return self.model.predict_proba(rows)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one fit gave on rows that were not trained on, and the wall time of `fit`.

    `area` is that under the ROC curve, for two classes.
    """

    accuracy: float
    area: float | None
    seconds: float


def run(variant: Variant, task: Task, split: Split, epsilon: float, seed: int) -> Outcome:
    """Fit and test."""
    model = variant.build(task, epsilon, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(split.rows, split.classes)
        seconds = time.perf_counter() - start
        chances = np.asarray(model.predict_proba(split.test_rows))
    truth = split.test_classes
    classes = np.asarray(model.classes_)
    right = classes[chances.argmax(axis=1)] == truth
    area = None
    if task.binary and len(classes) == 2:
        area = float(roc_auc_score(truth == task.levels[1], chances[:, classes == task.levels[1]]))
    return Outcome(float(right.mean()), area, seconds)
