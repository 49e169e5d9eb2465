"""A second job without a ledger on the same rows warns, once; nothing else does."""

import pickle
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from voile import (
    Budget,
    Category,
    EBMClassifier,
    Federation,
    GLVQClassifier,
    Ledger,
    Number,
    PrivateExplainer,
    Schema,
    hold_out,
    protect,
    summarize,
)
from voile.audit.leaks.lvq import prototypes_of
from voile.audit.runs import collect_runs
from voile.errors import NoLedgerWarning
from voile.privacy import origins
from voile.privacy.ledger import EntryKind
from voile.privacy.noise import fixed_noise
from voile.privacy.origins import trials

pytestmark = pytest.mark.filterwarnings("error::voile.errors.NoLedgerWarning")

COLUMNS = Schema({"a": Number(0, 1), "b": Number(0, 1)})
SCHEMA = COLUMNS.with_target(Category([0, 1]))
ROWS = 60


def make_array() -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(ROWS, 2))


def make_frame() -> pd.DataFrame:
    return pd.DataFrame(make_array(), columns=["a", "b"]).assign(y=lambda one: one.a > 0.5)


TARGET = np.arange(ROWS) % 2


def describe(X, **settings):
    return summarize(X, schema=COLUMNS, **settings)


def make_model(**settings):
    return EBMClassifier(schema=SCHEMA, rounds=1, **settings)


TABLES = {
    "array": make_array,
    "pandas": make_frame,
    "polars": lambda: pl.DataFrame(make_array(), schema=["a", "b"]),
    "arrow": lambda: pa.table({"a": np.zeros(ROWS), "b": np.ones(ROWS)}),
    "mapping": lambda: {"a": np.zeros(ROWS), "b": np.ones(ROWS)},
    "private": lambda: protect([[0.0, 1.0]] * ROWS, schema=COLUMNS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_second_summary_of_a_table_warns_and_the_third_does_not(kind):
    table = TABLES[kind]()
    make = summarize if kind == "private" else describe
    make(table)
    with pytest.warns(NoLedgerWarning, match=r"same rows.*Ledger\('people.db'") as caught:
        make(table)
    assert caught[0].filename == __file__
    for _ in range(3):
        make(table)


@pytest.mark.parametrize("kind", TABLES)
def test_with_a_ledger_nothing_warns(kind):
    table, ledger = TABLES[kind](), Ledger(Budget(5, 1e-5))
    make = summarize if kind == "private" else describe
    make(table)
    for _ in range(3):
        make(table, epsilon=0.5, ledger=ledger)


def test_a_ledger_that_is_forgotten_once_is_noticed():
    table, ledger = make_array(), Ledger(Budget(5, 1e-5))
    describe(table, ledger=ledger)
    with pytest.warns(NoLedgerWarning, match="A second job on the same rows has no ledger"):
        describe(table)


def test_other_tables_with_the_same_columns_do_not_warn():
    for _ in range(3):
        describe(make_array())
        describe(make_frame())


def test_a_number_that_another_object_had_is_not_taken_for_it():
    known = len(origins._KNOWN)
    for _ in range(20):
        describe(make_array())
    assert len(origins._KNOWN) <= known + 2


def test_views_of_the_same_rows_are_the_same_rows():
    X = make_array()
    describe(X[:, ::-1])
    with pytest.warns(NoLedgerWarning):
        describe(X.T.T[5:])


def test_slices_without_common_rows_are_different_tables():
    X = make_array()
    describe(X[:30])
    describe(X[30:])
    with pytest.warns(NoLedgerWarning):
        describe(X[20:40])


def test_frames_made_of_one_another_are_the_same_rows():
    frame = make_frame()
    make_model().fit(frame.drop(columns="y"), frame["y"].to_numpy().astype(int))
    with pytest.warns(NoLedgerWarning):
        describe(frame)


def test_a_target_that_is_used_again_counts():
    y = TARGET.copy()
    make_model().fit(make_array(), y)
    with pytest.warns(NoLedgerWarning):
        make_model().fit(make_array(), y)


def test_a_file_is_known_by_where_it_is(tmp_path, monkeypatch):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("one.parquet", "two.parquet"):
        pq.write_table(pa.table({"a": np.zeros(ROWS), "b": np.ones(ROWS)}), folder / name)
    monkeypatch.chdir(folder)
    describe("one.parquet")
    describe(str(folder / "two.parquet"))
    with pytest.warns(NoLedgerWarning):
        describe(folder / ".." / "parts" / "one.parquet")
    with pytest.warns(NoLedgerWarning):
        describe(folder / "two.parquet")


def test_a_folder_holds_its_files(tmp_path):
    pq.write_table(pa.table({"a": np.zeros(9), "b": np.ones(9)}), tmp_path / "one.parquet")
    describe(tmp_path)
    with pytest.warns(NoLedgerWarning):
        describe(tmp_path / "one.parquet")


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "arrow", "mapping"])
def test_rows_held_out_are_other_rows_than_those_learned_from(kind):
    X = TABLES[kind]()
    X, X_held, y, y_held = hold_out(X, TARGET.copy(), share=0.5)
    model = make_model().fit(X, y)
    model.score_private(X_held, y_held)
    with pytest.warns(NoLedgerWarning):
        model.score_private(X, y)


def test_parts_of_a_table_are_its_rows():
    X = make_array()
    describe(X)
    X_train, _, y_train, _ = hold_out(X, TARGET.copy())
    with pytest.warns(NoLedgerWarning):
        make_model().fit(X_train, y_train)


def test_parts_of_two_divisions_have_rows_in_common():
    X = make_array()
    describe(hold_out(X)[0])
    with pytest.warns(NoLedgerWarning):
        describe(hold_out(X)[1])


def test_parts_of_parts_are_told_apart():
    first, second, _, _ = hold_out(make_array(), share=0.5)
    third, fourth, _, _ = hold_out(second, share=0.5)
    for part in (first, third, fourth):
        describe(part)
    with pytest.warns(NoLedgerWarning):
        describe(second)


def test_training_scoring_and_explaining_on_the_same_rows_warn_once_in_all():
    X = make_array()
    model = make_model().fit(X, TARGET.copy())
    with pytest.warns(NoLedgerWarning):
        explainer = PrivateExplainer(model, X, schema=COLUMNS, strategy="release", queries=5)
    explainer.explain_slopes(X[:2])  # pays again, from the explainer's own ledger
    model.score_private(X, TARGET)


def test_one_explainer_is_one_job():
    X = make_array()
    explainer = PrivateExplainer(
        lambda X: X[:, 0], X, schema=COLUMNS, strategy="release", queries=5
    )
    explainer.explain_slopes(X[:1])
    explainer.explain_slopes(X[1:2])


@pytest.mark.parametrize("settings", [{"epsilon": np.inf}, {}])
def test_jobs_without_a_guarantee_have_none_to_wear_out(settings):
    X = make_array()
    with fixed_noise(1):
        describe(X)
        describe(X)
    describe(X, epsilon=np.inf)
    describe(X, epsilon=np.inf)
    describe(X, **settings)


def test_a_job_that_was_refused_before_it_paid_is_none():
    X = make_array()
    with pytest.raises(ValueError, match="bins"):
        describe(X, bins=0)
    with pytest.raises(ValueError, match="rounds"):
        EBMClassifier(schema=SCHEMA, rounds=-1).fit(X, TARGET)
    describe(X)


def test_where_warnings_are_errors_every_further_job_is_stopped():
    X = make_array()
    describe(X)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(NoLedgerWarning):
                describe(X)


# -- estimators and their copies ------------------------------------------------------------------


def test_a_grid_search_without_a_ledger_warns_once():
    search = GridSearchCV(
        GLVQClassifier(schema=SCHEMA), {"epsilon": [1.0, 2.0]}, cv=2, scoring="accuracy"
    )
    with pytest.warns(NoLedgerWarning, match="cross-validation") as caught:
        search.fit(make_array(), TARGET.copy())
    assert len([one for one in caught if one.category is NoLedgerWarning]) == 1


def test_a_grid_search_with_a_ledger_adds_up():
    ledger = Ledger(Budget(8, 1e-4))
    model = GLVQClassifier(schema=SCHEMA, ledger=ledger, delta=1e-5)
    GridSearchCV(model, {"epsilon": [0.5, 0.7]}, cv=2).fit(make_array(), TARGET.copy())
    fits = [one for one in ledger.history() if one.kind is EntryKind.RESERVE]
    assert len(fits) == 5
    assert ledger.spent().epsilon > 0.7


def test_cross_validation_of_a_pipeline_warns():
    steps = Pipeline([("same", FunctionTransformer()), ("model", GLVQClassifier(schema=SCHEMA))])
    with pytest.warns(NoLedgerWarning, match="cross-validation"):
        cross_val_score(steps, make_array(), TARGET.copy(), cv=3)


@pytest.mark.parametrize("copy", [clone, deepcopy, lambda one: one])
def test_an_estimator_that_is_fitted_again_on_such_columns_warns(copy):
    model = GLVQClassifier(schema=SCHEMA)
    copy(model).fit(make_array(), TARGET.copy())
    with pytest.warns(NoLedgerWarning):
        clone(model).fit(make_array(), TARGET.copy())


def test_an_estimator_may_be_fitted_to_tables_with_other_columns():
    model = GLVQClassifier()
    for name in ("a", "b"):
        schema = Schema({name: Number(0, 1)}, target=SCHEMA.target)
        clone(model).set_params(schema=schema).fit({name: np.zeros(ROWS)}, TARGET.copy())


def test_estimators_made_apart_are_no_family():
    for _ in range(2):
        GLVQClassifier(schema=SCHEMA).fit(make_array(), TARGET.copy())


def test_a_fit_after_copies_went_to_other_processes_warns():
    model = GLVQClassifier(schema=SCHEMA)
    for _ in range(2):
        pickle.loads(pickle.dumps(clone(model)))  # as joblib sends them
    with pytest.warns(NoLedgerWarning):
        clone(model).fit(make_array(), TARGET.copy())


def test_a_family_is_known_in_another_process():
    model = GLVQClassifier(schema=SCHEMA)
    sent = [pickle.loads(pickle.dumps(clone(model))) for _ in range(2)]
    assert len({one._family for one in sent}) == 1
    origins._FAMILIES.clear()  # another process has seen nothing yet
    sent[0].fit(make_array(), TARGET.copy())
    with pytest.warns(NoLedgerWarning):
        sent[1].fit(make_array(), TARGET.copy())


def test_a_fitted_model_that_is_pickled_was_not_sent_to_be_fitted():
    model = GLVQClassifier(schema=SCHEMA).fit(make_array(), TARGET.copy())
    for _ in range(3):
        pickle.dumps(model)
    clone(GLVQClassifier(schema=SCHEMA)).fit(make_array(), TARGET.copy())


def test_a_clone_has_the_same_parameters_and_no_more():
    model = GLVQClassifier(epsilon=0.3, schema=SCHEMA)
    assert clone(model).get_params() == model.get_params()
    assert set(vars(clone(model))) - set(vars(model)) == set()


# -- federations ----------------------------------------------------------------------------------


def make_parts():
    return [(make_array(), TARGET.copy()) for _ in range(2)]


def test_a_second_job_of_clients_without_limits_warns():
    federation = Federation.local(make_parts(), SCHEMA)
    make_model().fit_federated(federation)
    with pytest.warns(NoLedgerWarning):
        make_model().fit_federated(federation)
    make_model().fit_federated(federation)


def test_clients_with_ledgers_of_their_own_add_up_themselves():
    ledgers = {f"client {k}": Ledger(Budget(5, 1e-4)) for k in range(2)}
    federation = Federation.local(make_parts(), SCHEMA, ledgers=ledgers)
    for _ in range(2):
        make_model().fit_federated(federation)


def test_deciding_reads_no_value():
    """Tables that differ in every value, and empty ones, warn alike."""
    for values in (np.zeros((ROWS, 2)), np.full((ROWS, 2), np.nan), np.zeros((0, 2))):
        describe(values)
        with pytest.warns(NoLedgerWarning):
            describe(values)


@pytest.mark.slow
def test_a_search_in_processes_warns():
    """The refit here knows that copies went away; workers warn on their own, on their streams."""
    search = GridSearchCV(GLVQClassifier(schema=SCHEMA), {"epsilon": [1.0, 2.0]}, cv=3, n_jobs=2)
    with pytest.warns(NoLedgerWarning, match="cross-validation"):
        search.fit(make_array(), TARGET.copy())


# -- audits ---------------------------------------------------------------------------------------


def test_an_audit_repeats_jobs_on_purpose():
    X, y = make_array(), TARGET.copy()
    model = GLVQClassifier(schema=SCHEMA, delta=1e-5)
    collect_runs(lambda run: clone(model).fit(X, y).prototypes_.ravel(), 3, processes=1)
    fit = prototypes_of(model)
    for _ in range(2):
        fit(X, y)
    with trials():
        for _ in range(2):
            pickle.dumps(model)
    model.fit(X, y)  # the first job that releases something
    with pytest.warns(NoLedgerWarning):
        describe(X)


# -- which rows of an array -----------------------------------------------------------------------


def rows_of(view):
    (use,) = origins.uses_of(view)
    return use.bounds


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_rows_of_a_view_are_known(order):
    whole = np.array(np.zeros((50, 4)), order=order)
    assert rows_of(whole) == (0, 50)
    assert rows_of(whole[10:30]) == (10, 30)
    assert rows_of(whole[10:, 2]) == (10, 50)
    assert rows_of(whole[:, 1:][20:]) == (20, 50)
    assert rows_of(whole[::2]) is None  # may be any
    assert rows_of(whole[::-1]) is None


def test_the_rows_of_pictures_are_known():
    pictures = np.zeros((30, 4, 5))
    assert rows_of(pictures.reshape(30, -1)[12:]) == (12, 30)


def test_a_wide_frame_is_one_use_of_each_of_its_arrays():
    frame = pd.DataFrame(np.zeros((20, 3000)))
    assert len(origins.uses_of(frame)) == 2
    assert len(origins.uses_of(frame.iloc[5:])) == 2
    first, second = frame.iloc[:10, 1:], frame.iloc[10:, :-1]
    pairs = zip(origins.uses_of(first), origins.uses_of(second), strict=True)
    assert not any(a.origin is b.origin and a.overlaps(b) for a, b in pairs)


def test_a_lone_number_has_no_rows_that_could_be_told_apart():
    (use,) = origins.uses_of(np.array(1.0))
    assert use.bounds is None
