"""Two holes of the edges, replayed: ids of two types, and one empty cell among whole numbers."""

import numpy as np
import pandas as pd
import pytest

from voile import Budget, Category, EBMClassifier, Number, PrivateExplainer, Schema, Unit, summarize
from voile.audit import replay

WHOLE = np.random.default_rng(0).integers(0, 144, 40)
LABELS = np.array(["a", "b"] * 20)
SCHEMA = Schema({"k": Number(0, 143)}, target=Category(["a", "b"]))


def test_a_person_with_ids_of_two_types_moves_a_sum_once():
    schema = Schema({"n": Number(0, 1)}, unit=Unit("who", rows=1))
    whole = {"n": np.ones(6), "who": np.array([12, "12", 3, 4, 5, 6], dtype=object)}
    without = {"n": np.ones(4), "who": np.array([3, 4, 5, 6], dtype=object)}

    def run(table, ledger):
        return summarize(table, epsilon=1, schema=schema, ledger=ledger)

    found = replay(run, whole, without)
    assert not found.broken, str(found)


@pytest.mark.parametrize("path", ["model", "explainer"])
def test_one_empty_cell_among_whole_numbers_changes_no_shape(path):
    whole = pd.DataFrame({"k": WHOLE})
    more = pd.concat([whole, pd.DataFrame({"k": [np.nan]})])

    def fit(table, ledger):
        estimator = EBMClassifier(epsilon=1, schema=SCHEMA, ledger=ledger, random_state=0, rounds=2)
        return estimator.fit(*table)

    def explain(table, ledger):
        private = PrivateExplainer(
            lambda X: np.asarray(X, float)[:, 0] * 0,
            table,
            schema=SCHEMA.with_target(None),
            epsilon=2,
            ledger=ledger,
        )
        return private.explain_slopes([[3]])

    if path == "model":
        found = replay(fit, (whole, LABELS), (more, np.append(LABELS, "a")))
    else:
        found = replay(explain, whole, more, budget=Budget(2, 1e-6))
    assert not found.broken, str(found)
