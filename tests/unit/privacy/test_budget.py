"""Budgets, and the delta where nobody asks for one."""

import numpy as np
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    Ledger,
    Number,
    PrivateExplainer,
    Schema,
    summarize,
)
from voile.planning.forecast import forecast
from voile.privacy.budget import USUAL_DELTA, delta_for

MANY = 2_000_000
SCHEMA = Schema({"a": Number(0, 1)}, target=Category([0, 1]), rows=MANY)
X, Y = {"a": np.linspace(0, 1, 40)}, np.arange(40) % 2


@pytest.mark.parametrize("rows", [1, 500, 10_000, 10_001, MANY, 2**53])
def test_the_rule_keeps_rows_times_delta_at_a_hundredth(rows):
    assert delta_for(rows) <= USUAL_DELTA
    assert delta_for(rows) * rows <= 0.01 * (1 + 1e-12)
    assert delta_for(rows) == (USUAL_DELTA if rows <= 10_000 else 0.01 / rows)


def test_without_a_row_count_delta_is_one_in_a_million():
    assert delta_for(None) == USUAL_DELTA == 1e-6
    assert Budget(1).delta == USUAL_DELTA
    assert Ledger(Budget(1)).budget == Budget(1.0, 1e-6)


def test_a_delta_that_is_asked_for_counts():
    assert Budget.of_job(1.0, 1e-3, MANY) == Budget(1.0, 1e-3)
    assert Budget.of_job(1.0, None, MANY).delta == 5e-9


def test_every_job_follows_the_rule_and_tells_it_in_its_receipt():
    model = EBMClassifier(epsilon=1, schema=SCHEMA, rounds=1).fit(X, Y)
    assert model.delta is None
    assert model.receipt_.delta == 5e-9
    assert model.score_private(X, Y).receipt.delta == 5e-9
    public = SCHEMA.with_target(None)
    assert summarize(X, schema=public).receipt.delta == 5e-9
    explained = PrivateExplainer(lambda X: np.zeros(len(X["a"])), X, schema=public)
    assert explained.receipt_.delta == 5e-9
    assert forecast(SCHEMA, epsilons=[1.0]).delta == 5e-9
    # What is public alone decides: the same rows without a public count have the usual delta.
    unknown = EBMClassifier(epsilon=1, schema=SCHEMA.with_rows(None), rounds=1).fit(X, Y)
    assert unknown.receipt_.delta == USUAL_DELTA
