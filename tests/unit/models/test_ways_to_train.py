"""Every way to train ends in one: a private table gives the model that its rows give."""

import math

import numpy as np
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    Schema,
)
from voile.errors import SettingError
from voile.federated.federation import Federation
from voile.privacy.noise import fixed_noise
from voile.privacy.sources.table import TableSource
from voile.privacy.vault import protect

SCHEMA = Schema({"a": Number(0, 1), "b": Number(0, 1)}, target=Category(["no", "yes"]))
RNG = np.random.default_rng(1)
X = RNG.random((300, 2))
Y = np.where(X[:, 0] > X[:, 1], "yes", "no")

MODELS = [
    EBMClassifier(rounds=3, schema=SCHEMA),
    GLVQClassifier(schema=SCHEMA, random_state=1),
    LocallyLinearClassifier(schema=SCHEMA, steps=5, random_state=1, sampling_rate=1.0),
]


def answers(model):
    return model.decision_function(X)


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_rows_a_table_and_a_federation_give_one_model(model):
    def fitted(way):
        with fixed_noise(3):
            return answers(way(type(model)(**model.get_params())))

    by_rows = fitted(lambda one: one.fit(X, Y))
    by_table = fitted(lambda one: one.fit_table(protect(X, Y, schema=SCHEMA)))
    parts = [(X[:100], Y[:100]), (X[100:], Y[100:])]
    together = fitted(lambda one: one.fit_federated(Federation.local(parts, SCHEMA)))
    assert (by_rows == by_table).all()
    assert (by_rows == together).all()


OTHERS = [
    EBMClassifier(rounds=2, bins=40, epsilon=math.inf),
    GLVQClassifier(random_state=2, epsilon=math.inf, prototypes_per_class=2),
    LocallyLinearClassifier(steps=3, random_state=2, sampling_rate=1.0, epsilon=math.inf),
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_a_training_between_the_accesses_of_another_changes_nothing(model, other, monkeypatch):
    """Threads may train on one table at once: what each keeps per row is its own."""
    table, total, calls = protect(X, Y, schema=SCHEMA), TableSource.total, []

    def fitted():
        return answers(type(model)(**model.get_params() | {"epsilon": math.inf}).fit_table(table))

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 5:
            type(other)(**other.get_params()).fit_table(table)
        return total(*args, **kwargs)

    alone = fitted()
    monkeypatch.setattr(TableSource, "total", interrupted)
    assert (fitted() == alone).all()
    assert len(calls) > 5


def test_a_table_is_paid_like_rows():
    ledger = Ledger(Budget(1.0, 1e-6))
    model = EBMClassifier(epsilon=0.5, rounds=2, schema=SCHEMA, ledger=ledger)
    model.fit_table(protect(X, Y, schema=SCHEMA))
    # Set aside, charged for the access to the target and for the rest, closed.
    assert {entry.what for entry in ledger.history()} == {"EBMClassifier.fit_table"}
    assert sum(entry.parent is None for entry in ledger.history()) == 1
    assert model.receipt_.has_guarantee


def test_a_seed_stands_in_for_a_random_state_that_nobody_gave():
    def places(random_state, seed):
        model = GLVQClassifier(
            schema=SCHEMA, prototypes_per_class=2, mechanism="sgd", random_state=random_state
        )
        with fixed_noise(3):
            model.set_params(epochs=1, rate=0.5).fit_table(protect(X, Y, schema=SCHEMA), seed=seed)
        return model.prototypes_.tolist()

    assert places(None, 5) == places(5, None) == places(5, 6) != places(None, 6)


def test_a_table_with_another_target_is_refused():
    with pytest.raises(SettingError, match="needs a target that is a Number"):
        EBMRegressor().fit_table(protect(X, Y, schema=SCHEMA))
