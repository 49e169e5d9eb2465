"""Bad input to an explainer: an answer, or a clear error before anything is spent.

Whether there is an error, and what it says, never depends on a private value: pairs of tables that
differ in values alone have the same outcome.
"""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_bad_tables import PAIRS, ROWS, as_array, as_list, as_mapping, as_pandas, as_rows

from voile import Budget, Category, Ledger, Number, PrivateExplainer, Schema, VoileError
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

STRATEGIES = ("summary", "release", "adaptive")
SCHEMAS = {
    "none": None,
    "number": Number(0, 10),
    "number to be found": Number(),
    "category": Category(["a", "b"]),
}


def constant(rows):
    """A model that takes anything."""
    if hasattr(rows, "shape"):
        return np.zeros(rows.shape[0])
    if isinstance(rows, dict):
        return np.zeros(len(next(iter(rows.values()))))
    return np.zeros(len(rows))


def outcome(table, schema, strategy, asked=None, model=constant, **settings):
    """What an observer can tell apart from noised numbers, and what was paid for it."""
    ledger = Ledger(Budget(3.0, 1e-6))
    settings = {"queries": 3, "steps": 4, "epsilon": 3.0, **settings}
    settings["shared_questions"] = strategy == "adaptive"
    try:
        with fixed_noise(1):
            explainer = PrivateExplainer(
                model, table, schema=schema, strategy=strategy, ledger=ledger, **settings
            )
            shape = None
            if asked is not None:
                found = explainer.explain_slopes(asked)
                shape = (found.values.shape, found.answered, bool(np.isfinite(found.values).all()))
    except VoileError as error:
        return type(error).__name__, str(error), len(ledger.history())
    return "explained", shape, tuple(explainer.schema_), len(ledger.history())


# -- values tell nothing ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", [as_mapping, as_list, as_pandas, as_rows, as_array])
@pytest.mark.parametrize("kind", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_the_outcome_does_not_depend_on_the_values(pair, kind, form, tmp_path):
    name = "x0" if form in (as_rows, as_array) else "a"
    schema = None if kind is None else Schema({name: kind})
    seen = {outcome(form(values, tmp_path), schema, "release") for values in pair}
    assert len(seen) == 1
    found, said, *_, lines = next(iter(seen))
    # Levels that a column of numbers cannot have are refused by the type, which is public.
    assert found == "explained" or ("cannot be values of its type" in said and lines == 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", ["missing numbers", "largest numbers", "infinite numbers"])
def test_numbers_of_any_size_are_explained(kind, strategy):
    seen = set()
    for values in PAIRS[kind]:
        table = pd.DataFrame({"a": values, "b": np.arange(ROWS) / ROWS})
        schema = Schema({"a": Number(0, 10), "b": Number(0, 1)})
        asked = pd.DataFrame({"a": [math.nan], "b": [math.inf]})
        seen.add(outcome(table, schema, strategy, asked))
    assert len(seen) == 1
    assert next(iter(seen))[0] == "explained"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_row_one_row_and_many_look_alike(strategy):
    schema = Schema({"a": Number(0, 1), "b": Category(["x", "y"])})
    asked = pd.DataFrame({"a": [0.5], "b": ["x"]})
    seen = set()
    for rows in (0, 1, 2, 500):
        table = pd.DataFrame({"a": np.full(rows, 0.3), "b": pd.Series(["x"] * rows, dtype=object)})
        seen.add(outcome(table, schema, strategy, asked))
    assert len(seen) == 1
    assert next(iter(seen))[0] == "explained"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_model_that_minds_some_rows_does_not_tell_which_there_are(strategy):
    """The model fails on one value; one table has it, the other does not."""

    def minds(rows):
        if (np.asarray(rows) == 0.123456789).any():
            raise ValueError("secret")
        return np.zeros(len(rows))

    schema = Schema({"x0": Number(0, 1), "x1": Number(0, 1)}, rows=50)
    seen = set()
    for value in (0.123456789, 0.5):
        table = np.full((50, 2), 0.25)
        table[7, 0] = value
        seen.add(outcome(table, schema, strategy, [[0.5, 0.5]], minds))
    assert len(seen) == 1
    assert next(iter(seen))[0] == "explained"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_columns_of_files_and_frames(strategy, tmp_path):
    frame = pd.DataFrame({"a": np.arange(60) / 60, "b": ["x", "y", None] * 20})
    schema = Schema({"a": Number(0, 1), "b": Category(["x", "y"])})
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path)
    asked = frame.iloc[:2]
    tables = [frame, path, pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    seen = {outcome(table, schema, strategy, asked) for table in tables}
    assert len(seen) == 1
    assert next(iter(seen))[0] == "explained"


# -- what is refused, before anything is spent -----------------------------------------------------

PLAIN = np.random.default_rng(3).uniform(0, 1, (40, 2))
KNOWN = Schema({"dose": Number(0, 1), "age": Number(0, 1)})

BAD_TABLES = {
    "no columns": (np.empty((5, 0)), None),
    "three dimensions without a range": (np.zeros((5, 2, 2)), None),
    "a number": (3.5, None),
    "a set": ({1, 2}, None),
    "a missing file": ("no such file.parquet", None),
    "complex": (np.zeros((5, 2), dtype=complex), None),
    "texts without a vocabulary": (["a", "b"], None),
    "columns of two lengths": ({"x0": [1.0], "x1": [1.0, 2.0]}, None),
    "a column too many": (np.zeros((5, 3)), KNOWN),
    "a column too few": (np.zeros((5, 1)), KNOWN),
    "other names": (pd.DataFrame({"p": [1.0], "q": [1.0]}), KNOWN),
    "names twice": (pd.DataFrame([[1.0, 2.0]], columns=["x0", "x0"]), None),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_refused_and_nothing_is_spent(case, strategy):
    kind, said, lines, *_ = outcome(*case, strategy)
    assert kind in ("DataError", "SchemaError", "SettingError"), said
    assert len(said) > 30
    assert lines == 0


BAD_MODELS = {
    "nothing": None,
    "a class": dict,
    "a number": 3,
    "a missing file": "no such model.json",
    "an error": lambda rows: 1 / 0,
    "no answer": lambda rows: None,
    "one answer": lambda rows: 0.5,
    "too few": lambda rows: np.zeros(len(rows) - 1),
    "too many dimensions": lambda rows: np.zeros((len(rows), 1, 1)),
    "no outputs": lambda rows: np.zeros((len(rows), 0)),
    "text": lambda rows: ["a"] * len(rows),
    "missing": lambda rows: np.full(len(rows), math.nan),
    "infinite": lambda rows: np.full(len(rows), math.inf),
    "too large": lambda rows: np.full(len(rows), 2.0),
    "far too large": lambda rows: [10**400] * len(rows),
    "objects": lambda rows: [object()] * len(rows),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", BAD_MODELS.values(), ids=BAD_MODELS)
def test_bad_models_are_refused_and_nothing_is_spent(model, strategy):
    kind, said, lines, *_ = outcome(PLAIN, KNOWN, strategy, model=model)
    assert kind in ("SettingError", "ModelError", "DataError"), said
    assert len(said) > 30
    assert lines == 0


def test_complex_answers_are_refused():
    kind, *_ = outcome(PLAIN, KNOWN, "release", model=lambda rows: np.full(len(rows), 0.5j))
    assert kind == "SettingError"


BAD_PUBLIC = {
    "no rows": np.zeros((0, 2)),
    "too wide": np.zeros((5, 3)),
    "a path": "rows.parquet",
    "a number": 3,
}


@pytest.mark.parametrize("public", BAD_PUBLIC.values(), ids=BAD_PUBLIC)
def test_bad_public_rows_are_refused_and_nothing_is_spent(public):
    kind, said, lines, *_ = outcome(PLAIN, KNOWN, "summary", public=public)
    assert kind == "DataError", said
    assert lines == 0


BAD_QUESTIONS = {
    "too wide": [[0.1, 0.2, 0.3]],
    "too narrow": [[0.1]],
    "other names": pd.DataFrame({"p": [1.0], "q": [1.0]}),
    "a path": "rows.parquet",
    "a number": 0.5,
    "a set": {0.5},
    "three dimensions": np.zeros((1, 2, 2)),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("asked", BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_bad_questions_are_refused_and_nothing_more_is_spent(asked, strategy):
    _, _, _, before = outcome(PLAIN, KNOWN, strategy)
    kind, said, lines = outcome(PLAIN, KNOWN, strategy, asked)
    assert kind == "DataError", said
    assert lines == before


ODD_QUESTIONS = {
    "text": [["x", "y"]],
    "missing": [[None, math.nan]],
    "infinite": [[math.inf, -math.inf]],
    "huge": [[1e308, -1e308]],
    "truth values": [[True, False]],
    "a short row": [[0.1, 0.2], [0.3]],
    "text numbers": [["0.5", "1e400"]],
    "objects": np.array([[object(), object()]], dtype=object),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("asked", ODD_QUESTIONS.values(), ids=ODD_QUESTIONS)
def test_odd_questions_are_answered_as_missing_or_at_the_bounds(asked, strategy):
    kind, shape, *_ = outcome(PLAIN, KNOWN, strategy, asked)
    assert kind == "explained", shape
    assert shape[0] == (len(asked), 2, 1)
    assert shape[2]


def test_an_explainer_does_not_give_its_rows_away():
    explainer = PrivateExplainer(constant, PLAIN, schema=KNOWN, strategy="release")
    shown = repr(explainer) + str(explainer) + str(vars(explainer))
    assert not any(f"{value:.6f}" in shown for value in PLAIN.ravel())
    with pytest.raises((VoileError, TypeError, AttributeError)):
        pickle.dumps(explainer)
