"""Names that suggest people with several rows are refused before anything is paid; values never."""

import numpy as np
import pandas as pd
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    GLVQClassifier,
    Ledger,
    Number,
    PrivateExplainer,
    Schema,
    Unit,
    protect,
    summarize,
)
from voile.errors import SchemaError

AGE = {"age": Number(0, 120)}
TARGET = Category([False, True])


def visits(rows=60, *, each=3, **others):
    ids = np.arange(rows) // each
    return pd.DataFrame({"patient_id": ids, "age": np.arange(rows) % 90.0, **others})


def refuse(job):
    """A job that is refused without a trace in the ledger."""
    ledger = Ledger(Budget(1, 1e-6))
    with pytest.raises(SchemaError, match="Column 'patient_id' suggests") as refused:
        job(ledger)
    assert not ledger.history()
    assert not ledger.has_paid
    return str(refused.value)


Y = np.arange(60) % 2 == 0
SCHEMA = Schema(AGE, target=TARGET)


def fit(cls, **settings):
    def job(table, ledger, schema=SCHEMA):
        cls(schema=schema, ledger=ledger, **settings).fit(table, Y[: len(table)])

    return job


def sum_up(table, ledger, schema=SCHEMA):
    summarize(table, schema=schema and schema.with_target(None), ledger=ledger)


def explain(table, ledger, schema=SCHEMA):
    # Its schema must describe all that the model may read.
    known = schema and schema.with_column("patient_id", Number(0, 100)).with_target(None)
    PrivateExplainer(lambda X: np.zeros(len(X)), table, schema=known, ledger=ledger)


JOBS = {
    "EBM": fit(EBMClassifier, rounds=1),
    "GLVQ": fit(GLVQClassifier),
    "summary": sum_up,
    "explainer": explain,
}


@pytest.mark.parametrize("job", list(JOBS))
@pytest.mark.parametrize("with_schema", [True, False])
def test_every_job_refuses_before_it_pays(job, with_schema):
    run = JOBS[job]
    arguments = () if with_schema else (None,)
    refuse(lambda ledger: run(visits(), ledger, *arguments))


@pytest.mark.parametrize("table", [visits(), visits(each=60), visits(each=1), visits(0), visits(1)])
def test_neighbours_and_any_other_values_are_refused_in_the_same_words(table):
    job = sum_up
    assert refuse(lambda ledger: job(table, ledger)) == refuse(lambda ledger: job(visits(), ledger))


def test_the_remedies_of_the_message_work():
    text = refuse(lambda ledger: sum_up(visits(), ledger, None))
    assert "schema=Schema.from_frame(X, unit=...)" in text
    for unit in (Unit("patient_id", rows=4), "row"):
        schema = Schema.from_frame(visits(), unit=unit)
        assert ("patient_id" in schema) is (unit == "row")
        summarize(visits(), schema=schema)
        summarize(visits(), schema=Schema(AGE, unit=unit))


def test_a_column_that_the_model_does_not_read_is_asked_about_too():
    class Reads:
        feature_names_in_ = np.array(["age"])

        def predict(self, X):
            return np.zeros(len(X))

    refuse(lambda ledger: PrivateExplainer(Reads(), visits(), output_range=(0, 1), ledger=ledger))


def test_an_evaluation_asks_as_a_training_does():
    y = np.arange(60) % 2 == 0
    model = EBMClassifier(schema=Schema(AGE, target=TARGET), rounds=1).fit(visits()[["age"]], y)
    refuse(lambda ledger: model.score_private(visits(), y, ledger=ledger))


def test_files_are_asked_about_by_their_names(tmp_path):
    visits(y=True).to_parquet(tmp_path / "visits.parquet")
    with pytest.raises(SchemaError, match="Column 'patient_id' suggests"):
        protect(tmp_path / "visits.parquet", "y", schema=Schema(AGE, target=TARGET))


@pytest.mark.parametrize(
    ("table", "y"),
    [
        (np.zeros((5, 3)), None),
        ([[1, 2], [3, 4]], None),
        ({"member": np.array([True, False]), "age": [3, 4]}, None),
        ({"customer": ["yes", "no"], "age": [3, 4]}, "customer"),
        ({"patients": [3, 4], "age": [3, 4]}, None),
    ],
)
def test_arrays_truth_values_targets_and_other_names_just_work(table, y):
    target = None if y is None else Category()
    assert protect(table, y, target=target).unit == "row"
