"""What every private estimator keeps to: each fit is in the ledger, each access in its plan."""

import math
import pickle

import numpy as np
import pytest
from minimal import MinimalClassifier
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs
from sklearn.model_selection import cross_val_score

from voile import (
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    LVQ1Classifier,
)
from voile.errors import BudgetExceeded, LedgerError
from voile.privacy import noise
from voile.privacy.accounting import compose
from voile.privacy.budget import Budget
from voile.privacy.events import PoissonGaussian
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.entry import EntryKind
from voile.schema import Category, Number, Schema

ESTIMATORS = [
    MinimalClassifier,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    GMLVQClassifier,
    LVQ1Classifier,
    LocallyLinearClassifier,
]

DELTA = 1e-6


def worst(estimator):
    """Accuracy (or R^2) more than six standard deviations below what the noise allows here."""
    return 0.95 if is_classifier(estimator()) else 0.8


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return request.param


@pytest.fixture
def blobs(estimator):
    """Two classes that lie apart; for regression a number that the first column decides."""
    X, y = make_blobs(n_samples=4000, centers=[[-4, 0, 1], [4, 0, -1]], random_state=0)
    return X, np.array(["no", "yes"])[y] if is_classifier(estimator()) else X[:, 0] * 3


@pytest.fixture
def schema(estimator):
    target = Category(["no", "yes"]) if is_classifier(estimator()) else Number(-30, 30)
    return Schema({f"x{i}": Number(-10, 10) for i in range(3)}, target=target)


def released(model):
    """Every number that a fit lets out."""
    if isinstance(model, MinimalClassifier):
        return model.means_
    if hasattr(model, "prototypes_"):
        record = model.model_
        parts = [record.prototypes, record.means, record.counts, record.omega, record.centre]
        return np.concatenate([part.ravel() for part in parts])
    if hasattr(model, "linear_maps_"):
        record = model.model_
        parts = [record.weights, record.offsets, record.weight_errors, record.inputs.centre]
        return np.concatenate([part.ravel() for part in (*parts, record.inputs.filling)])
    terms = model.model_.terms
    parts = [np.concatenate([t.scores.ravel(), t.counts, t.cuts]) for t in terms]
    return np.concatenate([model.model_.intercept, *parts])


def fits_of(ledger):
    """What was asked for: a whole plan, or the most that an adaptive job may cost."""
    return [e for e in ledger.history() if e.kind in (EntryKind.SPEND, EntryKind.RESERVE)]


def events_of(ledger):
    """What was carried out."""
    paid = [e for e in ledger.history() if e.kind in (EntryKind.SPEND, EntryKind.CHARGE)]
    return [event for entry in paid for event in entry.plan.events]


def slack(events):
    """How far a price is from the exact one: sampled accesses are searched for in steps, and the
    ledger counts them by a bound."""
    return 0.01 if any(isinstance(one, PoissonGaussian) for one in events) else 1e-6


class TestEveryEstimator:
    def test_cross_validation_records_every_fit(self, estimator, blobs, schema):
        ledger = Ledger(Budget(4.0, DELTA))
        model = estimator(epsilon=0.5, delta=DELTA, schema=schema, ledger=ledger)
        scores = cross_val_score(model, *blobs, cv=5)
        assert len(fits_of(ledger)) == 5
        spent, exact = ledger.spent().epsilon, compose(events_of(ledger)).epsilon(DELTA)
        assert exact * (1 - 1e-9) <= spent <= exact * (1 + slack(events_of(ledger)))
        assert scores.mean() > worst(estimator)

    def test_cross_validation_in_processes_records_every_fit(
        self, estimator, blobs, schema, tmp_path
    ):
        ledger = Ledger(tmp_path / "ledger.db", Budget(4.0, DELTA))
        model = estimator(epsilon=0.5, delta=DELTA, schema=schema, ledger=ledger)
        cross_val_score(model, *blobs, cv=4, n_jobs=2)
        assert len(fits_of(ledger)) == 4

    def test_processes_refuse_a_ledger_in_memory(self, estimator, blobs, schema):
        model = estimator(
            epsilon=0.5, delta=DELTA, schema=schema, ledger=Ledger(Budget(4.0, DELTA))
        )
        # joblib reports that it could not pickle the task, and keeps the reason as the cause.
        with pytest.raises(pickle.PicklingError) as caught:
            cross_val_score(model, *blobs, cv=2, n_jobs=2)
        assert "Ledger('ledger.db', budget)" in str(caught.value.__cause__)
        with pytest.raises(LedgerError, match="cannot be sent to another process"):
            pickle.dumps(model)

    def test_a_clone_cannot_spend_twice(self, estimator, blobs, schema):
        ledger = Ledger(Budget(1.0, DELTA))
        model = estimator(epsilon=1.0, delta=DELTA, schema=schema, ledger=ledger).fit(*blobs)
        with pytest.raises(BudgetExceeded):
            clone(model).fit(*blobs)
        assert len(fits_of(ledger)) == 1

    def test_every_opening_is_a_look_of_the_plan(self, estimator, blobs):
        target = Category() if is_classifier(estimator()) else Number()
        for schema in (None, Schema({f"x{i}": Number() for i in range(3)}, target=target)):
            model = estimator(epsilon=1.0, delta=DELTA, schema=schema).fit(*blobs)
            planned = {line.label: line.event.count for line in model.receipt_.lines}
            used = {line.label: line.openings for line in model.receipt_.lines}
            assert used == planned
            events = [line.event for line in model.receipt_.lines]
            found = compose(events).epsilon(DELTA)
            assert 1.0 - slack(events) <= found <= 1.0 + 1e-9

    def test_without_a_schema_the_fit_is_private_and_works(self, estimator, blobs):
        model = estimator(epsilon=1.0).fit(*blobs)
        assert model.receipt_.has_guarantee
        assert model.receipt_.epsilon <= 1.0
        if is_classifier(model):
            assert set(model.classes_) == {"no", "yes"}
        assert model.score(*blobs) > worst(estimator)

    def test_infinite_epsilon_says_no_guarantee(self, estimator, blobs, schema):
        model = estimator(epsilon=math.inf, schema=schema).fit(*blobs)
        assert not model.receipt_.has_guarantee
        assert "no guarantee" in str(model.receipt_)

    def test_fixed_noise_says_no_guarantee_and_repeats(self, estimator, blobs, schema):
        fits = []
        # Public choices have a seed of their own.
        seeded = {"random_state": 0} if "random_state" in estimator().get_params() else {}
        for _ in range(2):
            with noise.fixed_noise(7):
                fits.append(estimator(epsilon=1.0, schema=schema, **seeded).fit(*blobs))
        assert "no guarantee" in fits[0].receipt_.guarantee
        np.testing.assert_array_equal(released(fits[0]), released(fits[1]))
        free = estimator(epsilon=1.0, schema=schema, **seeded).fit(*blobs)
        assert not np.array_equal(released(free), released(fits[0]))
