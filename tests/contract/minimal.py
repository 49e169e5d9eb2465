"""The smallest private estimator there is: nearest class mean, from one noised sum."""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_step
from voile.privacy.discovery import complete, discovery_shape
from voile.privacy.encode import encode_frame
from voile.privacy.events import Plan
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Query
from voile.privacy.receipt import write_receipt
from voile.privacy.sources.source import TARGET
from voile.privacy.vault import protect
from voile.schema import Category


@dataclass(frozen=True)
class ClassSums(Query):
    """Per class: number of rows and sum of the scaled columns, one row's share of norm <= 1."""

    schema: object

    @property
    def columns(self):
        return (*self.schema, TARGET)

    @property
    def size(self):
        return len(self.schema.target.levels) * (len(self.schema) + 1)

    bound = 1.0

    def contributions(self, block):
        classes = len(self.schema.target.levels)
        scaled = scale({name: block[name] for name in self.schema}, self.schema)
        rows = np.column_stack(
            [np.full(block.rows, 0.5), scaled / (2 * math.sqrt(scaled.shape[1]))]
        )
        shares = np.zeros((block.rows, classes, rows.shape[1]))
        codes = block[TARGET]
        listed = codes < classes
        shares[np.flatnonzero(listed), codes[listed]] = rows[listed]
        return shares.reshape(block.rows, -1)


def scale(columns, schema):
    """Numbers to [-1, 1]; missing values and categories to 0."""
    result = np.zeros((len(next(iter(columns.values()))), len(schema)))
    for j, (name, column) in enumerate(schema.items()):
        if name in schema.numbers:
            middle, half = (column.upper + column.lower) / 2, (column.upper - column.lower) / 2
            result[:, j] = np.nan_to_num((columns[name] - middle) / half)
    return result


class MinimalClassifier(ClassifierMixin, BaseEstimator):
    """Nearest class mean with a private fit, with or without a schema."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, schema=None, ledger=None):
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.ledger = ledger

    def fit(self, X, y):
        schema = self.schema
        target = Category() if schema is None or schema.target is None else schema.target
        table = protect(X, y, schema=schema, target=target)
        budget = Budget(self.epsilon, self.delta)
        ledger = Ledger(budget) if self.ledger is None else self.ledger
        shape = Plan(
            (
                *discovery_shape(table.schema, 0.3, self.delta),
                gaussian_step("class sums", 0.7),
            )
        )
        plan = calibrate(budget, shape, ledger.relation)
        self.grant_ = ledger.pay(plan, table, "MinimalClassifier.fit")
        table = complete(table, self.grant_)
        release = gaussian_sum(table, ClassSums(table.schema), self.grant_.take("class sums"))
        self.schema_ = table.schema
        self.classes_ = np.asarray(table.schema.target.levels)
        sums = release.values.reshape(len(self.classes_), -1)
        weight = math.sqrt(len(table.schema))
        self.means_ = sums[:, 1:] * weight / np.maximum(sums[:, :1], release.standard_error)
        self.receipt_ = write_receipt(self.grant_, budget)
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "means_")

    def predict(self, X):
        rows = scale(encode_frame(X, self.schema_), self.schema_)
        distance = ((rows[:, None, :] - self.means_[None]) ** 2).sum(axis=2)
        return self.classes_[np.argmin(distance, axis=1)]
