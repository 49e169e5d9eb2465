"""What must be known of a table stands in every receipt of a job on it, whichever way it took."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    Federation,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    PrivateExplainer,
    Schema,
    hold_out,
    load,
    protect,
    summarize,
)
from voile.errors import SettingError
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.origins import attach_notes, notes_of
from voile.privacy.vault import KINDS_FROM_TYPES

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

NOTE = "The kinds were guessed."
COLUMNS = Schema({"a": Number(0, 1), "b": Number(0, 1)})
SCHEMA = COLUMNS.with_target(Category([0, 1]))
ROWS = 400
TARGET = np.arange(ROWS) % 2


def make_frame():
    values = np.random.default_rng(0).uniform(size=(ROWS, 2))
    return pd.DataFrame(values, columns=["a", "b"])


def make_noted(make=lambda frame: frame):
    table = make(make_frame())
    attach_notes(table, (NOTE,))
    return table


@pytest.mark.parametrize(
    "model",
    [
        EBMClassifier(schema=SCHEMA, rounds=1),
        GLVQClassifier(schema=SCHEMA),
        GMLVQClassifier(schema=SCHEMA),
        LVQ1Classifier(schema=SCHEMA),
        LocallyLinearClassifier(schema=SCHEMA, steps=2, sampling_rate=1.0),
        EBMRegressor(schema=COLUMNS.with_target(Number(0, 1)), rounds=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_its_file_and_its_quality_say_it(model, tmp_path):
    X, X_held, y, y_held = hold_out(make_noted(), TARGET, share=0.5)
    model.fit(X, y)
    assert model.receipt_.notes == (NOTE,)
    assert model.score_private(X_held, y_held, epsilon=1).receipt.notes == (NOTE,)
    assert load(model.save(tmp_path / "model.voile")).receipt_.notes == (NOTE,)
    assert NOTE in str(model.receipt_)
    assert NOTE in model.report(tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("strategy", ["summary", "release", "interactive"])
def test_an_explainer_says_it(strategy):
    explainer = PrivateExplainer(
        lambda X: X["a"].to_numpy(), make_noted(), schema=COLUMNS, strategy=strategy, queries=5
    )
    assert explainer.receipt_.notes[0] == NOTE
    assert explainer.explain_slopes(make_frame()[:1]).receipt.notes[0] == NOTE


@pytest.mark.parametrize(
    "make", [lambda one: one, pl.from_pandas, pa.Table.from_pandas, pd.DataFrame.to_numpy]
)
def test_every_kind_of_table_carries_its_notes_and_its_parts_do(make):
    table = make_noted(make)
    assert notes_of(table) == (NOTE,)
    assert all(notes_of(part) == (NOTE,) for part in hold_out(table)[:2])
    assert protect(table, schema=COLUMNS).notes == (NOTE,)
    assert summarize(table, schema=COLUMNS).receipt.notes == (NOTE,)


def test_notes_stay_under_another_schema():
    table = protect(make_noted(), schema=Schema({"a": Number(), "b": Number()}))
    assert table.with_schema(COLUMNS).notes == (NOTE,)


def test_another_table_has_no_notes():
    noted = make_noted()
    assert notes_of(noted.copy()) == ()
    assert summarize(noted.copy(), schema=COLUMNS).receipt.notes == ()


def test_what_cannot_carry_notes_is_refused():
    with pytest.raises(SettingError, match="list"):
        attach_notes([[1.0]], (NOTE,))


# -- kinds that nobody told -----------------------------------------------------------------------


def test_without_a_schema_a_receipt_says_where_kinds_come_from():
    assert summarize(make_frame()).receipt.notes == (KINDS_FROM_TYPES,)
    explainer = PrivateExplainer(lambda X: X["a"].to_numpy(), make_frame())
    assert explainer.receipt_.notes[0] == KINDS_FROM_TYPES
    assert protect(make_noted()).notes == (KINDS_FROM_TYPES, NOTE)


def test_so_does_that_of_a_model_that_reads_some_columns():
    model = LinearRegression().fit(make_frame()[["b"]], np.linspace(0, 1, ROWS))
    explainer = PrivateExplainer(model, make_frame(), output_range=(0, 1))
    assert tuple(explainer.schema_) == ("b",)
    assert explainer.receipt_.notes[0] == KINDS_FROM_TYPES


def test_a_file_without_a_schema_says_it_too(tmp_path):
    make_frame().to_parquet(tmp_path / "rows.parquet")
    assert summarize(tmp_path / "rows.parquet").receipt.notes == (KINDS_FROM_TYPES,)


def test_with_a_schema_receipts_are_as_they_were():
    open_ended = Schema({"a": Number(), "b": Number()})
    for schema in (COLUMNS, open_ended):
        assert "notes" not in summarize(make_frame(), schema=schema).receipt.to_dict()


def test_a_clients_own_receipt_says_it():
    agent = ClientAgent(
        protect(make_noted(), TARGET, schema=SCHEMA), Ledger(Budget(2, 1e-5)), name="north"
    )
    other = ClientAgent(
        protect(make_frame(), TARGET, schema=SCHEMA), Ledger(Budget(2, 1e-5)), name="south"
    )
    federation = Federation.local({"north": agent, "south": other}, SCHEMA)
    model = EBMClassifier(epsilon=1, rounds=1).fit_federated(federation)
    assert agent.receipts()[0].notes == (NOTE, *other.receipts()[0].notes)
    assert NOTE not in model.receipt_.notes  # the server does not know it
