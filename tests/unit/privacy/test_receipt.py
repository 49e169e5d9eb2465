"""A receipt says what was guaranteed, survives storage, and never guarantees more than was paid."""

import dataclasses
import json
import math

import numpy as np
import pytest

from voile import Budget, Category, Ledger, Number, Receipt, Schema, protect, summarize
from voile.errors import ReceiptError
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    Plan,
    PoissonGaussian,
    Pure,
    Threshold,
)
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import RowCount
from voile.privacy.receipt import write_receipt

SCHEMA = Schema({"a": Number(0, 10), "b": Category(["x", "y"])})
ROWS = {"a": np.linspace(0, 9, 200), "b": ["x", "y"] * 100}


def receipt_of(plan, budget, **ledger):
    table = protect(ROWS, schema=SCHEMA)
    book = Ledger(budget, **ledger)
    grant = book.pay(plan, table, "a job")
    return write_receipt(grant, budget)


@pytest.mark.parametrize("schema", [SCHEMA, None])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_the_guarantee_is_the_budget_and_hardly_less(schema, epsilon, relation):
    ledger = Ledger(Budget(epsilon, 1e-6), relation=relation)
    receipt = summarize(ROWS, epsilon=epsilon, schema=schema, ledger=ledger).receipt
    assert 0.98 * epsilon < receipt.epsilon <= epsilon
    assert receipt.delta == 1e-6
    assert receipt.relation is relation
    assert receipt.has_guarantee
    assert "differential privacy for one row" in receipt.guarantee
    assert math.fsum(line.share for line in receipt.lines) == pytest.approx(1.0)
    events = [line.event for line in receipt.lines]
    assert compose(events, relation).epsilon(1e-6) == receipt.epsilon


def test_no_noise_is_no_guarantee():
    receipt = summarize(ROWS, epsilon=math.inf, schema=SCHEMA).receipt
    assert not receipt.has_guarantee
    assert receipt.epsilon == math.inf
    assert receipt.guarantee.startswith("no guarantee")
    assert "differential privacy" not in str(receipt)
    assert json.loads(receipt.to_json())["epsilon"] is None


def test_fixed_noise_is_no_guarantee():
    with fixed_noise(3):
        receipt = summarize(ROWS, schema=SCHEMA).receipt
    assert not receipt.has_guarantee
    assert "fixed seed" in receipt.guarantee
    assert "no guarantee" in str(receipt)


def test_one_look_with_fixed_noise_spoils_the_receipt():
    table = protect(ROWS, schema=SCHEMA)
    grant = Ledger(Budget(5, 1e-6)).pay(Plan.of(a=Gaussian(2, 9.0)), table, "x")
    gaussian_sum(table, RowCount(), grant.take("a"))
    clean = write_receipt(grant, Budget(5, 1e-6))
    assert clean.has_guarantee
    assert clean.lines[0].openings == 1
    with fixed_noise(0):
        gaussian_sum(table, RowCount(), grant.take("a"))
    assert not write_receipt(grant, Budget(5, 1e-6)).has_guarantee


def test_looks_that_were_paid_and_not_used_count_in_the_guarantee():
    plan = Plan.of(a=Gaussian(100, 30.0))
    receipt = receipt_of(plan, Budget(5, 1e-6))
    assert receipt.lines[0].openings == 0
    assert receipt.epsilon == compose(plan.events).epsilon(1e-6)


def test_every_kind_of_event_survives_storage():
    plan = Plan.of(
        a=Gaussian(2, 20.0),
        b=Laplace(1, 30.0),
        c=Pure(3, 0.01),
        d=Threshold(1, 20.0, 1e-9),
        e=PoissonGaussian(2, 5.0, 0.1),
        f=Approximate(1, 0.01, 1e-9),
    )
    receipt = receipt_of(plan, Budget(5, 1e-6), dataset="ward 7")
    again = Receipt.from_json(receipt.to_json())
    assert again == receipt
    assert again.to_dict() == receipt.to_dict()
    assert str(again) == str(receipt)
    assert receipt.dataset == "ward 7"
    for step in plan:
        assert step.label in str(receipt)


def test_no_guarantee_survives_storage():
    receipt = summarize(ROWS, epsilon=math.inf, schema=SCHEMA).receipt
    again = Receipt.from_json(receipt.to_json())
    assert again.epsilon == math.inf
    assert not again.has_guarantee
    assert again.to_json() == receipt.to_json()


def test_html_is_escaped():
    receipt = summarize(ROWS, schema=SCHEMA).receipt
    risky = dataclasses.replace(receipt, what="<script>alert(1)</script>")
    assert "<script>" not in risky._repr_html_()
    assert "&lt;script&gt;" in risky._repr_html_()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("epsilon"),
        lambda data: data.update(format=99),
        lambda data: data.update(relation="nobody"),
        lambda data: data["accesses"][0]["event"].update(kind="unheard of"),
        lambda data: data["accesses"][0]["event"].update(extra=1),
        lambda data: data["accesses"][0].update(openings="many"),
        lambda data: data.update(accesses=3),
        lambda data: data.update(ledger=None),
    ],
)
def test_a_damaged_receipt_is_refused(damage):
    data = summarize(ROWS, schema=SCHEMA).receipt.to_dict()
    damage(data)
    with pytest.raises((ReceiptError, RuntimeError)) as caught:
        Receipt.from_dict(data)
    assert type(caught.value).__module__ == "voile.errors"


@pytest.mark.parametrize("text", ["", "[]", "3", "{", "null"])
def test_what_is_not_a_receipt_is_refused(text):
    with pytest.raises(ReceiptError):
        Receipt.from_json(text)
