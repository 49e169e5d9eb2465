"""Nothing about the rows of a PrivateTable comes out by accident: not a value, not their number."""

import copy
import gc
import io
import json
import logging
import pickle
import pprint
import sys
import weakref

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile import Category, Ledger, Number, Schema, protect, summarize
from voile.errors import DataError, SchemaError, VaultError
from voile.privacy import vault
from voile.privacy.budget import Budget
from voile.privacy.events import Gaussian, Plan
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import CategoryCounts, NumberCounts, RowCount
from voile.privacy.sources.source import TARGET

SECRET = 31337.25
WORD = "hush-hush"
SCHEMA = Schema({"a": Number(0, 40_000), "b": Category(["x", "y"])})
ROWS = 4321


def private_table(rows=ROWS):
    return protect({"a": [SECRET] * rows, "b": [WORD] * rows}, schema=SCHEMA)


def assert_tells_nothing(text):
    for secret in (str(SECRET), "31337", WORD, str(ROWS)):
        assert secret not in text


def into_frame(table):
    return pd.DataFrame(table)


CLOSED = {
    "len": len,
    "iter": iter,
    "list": list,
    "index": lambda table: table[0],
    "slice": lambda table: table[:5],
    "column": lambda table: table["a"],
    "in": lambda table: SECRET in table,
    "reversed": lambda table: list(reversed(table)),
    "unpack": lambda table: [*table],
    "asarray": np.asarray,
    "array": lambda table: np.array(table, dtype=object),
    "numpy function": np.mean,
    "data frame": into_frame,
    "series": pd.Series,
    "polars": pl.DataFrame,
    "arrow": pa.array,
    "pickle": pickle.dumps,
    "old pickle": lambda table: pickle.dumps(table, protocol=0),
    "joblib": lambda table: joblib.dump(table, io.BytesIO()),
    "hash of contents": joblib.hash,
    "json": json.dumps,
    "protect": protect,
    "schema": Schema.from_frame,
    "sum": sum,
    "sorted": sorted,
    "dict": dict,
    "number": float,
    "vars": vars,
    "format": lambda table: format(table, ">10"),
}


@pytest.mark.parametrize("access", CLOSED.values(), ids=CLOSED)
def test_looks_that_bypass_a_mechanism_are_refused(access):
    messages = []
    for rows in (0, 1, ROWS):
        with pytest.raises((VaultError, TypeError, ValueError)) as caught:
            access(private_table(rows))
        assert_tells_nothing(str(caught.value))
        messages.append((type(caught.value), str(caught.value)))
    assert len(set(messages)) == 1, "the refusal depends on the rows"


@pytest.mark.parametrize(
    "access", ["len", "list", "index", "in", "asarray", "data frame", "pickle"]
)
def test_the_refusal_is_the_vaults_own(access):
    with pytest.raises(VaultError, match="cannot be read"):
        CLOSED[access](private_table())


def test_printing_tells_nothing():
    table = private_table()
    handler = logging.StreamHandler(text := io.StringIO())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    logger.warning("got %s and %r", table, table)
    shown = [str(table), repr(table), f"{table}", f"{table!r}", f"{[table]}", pprint.pformat(table)]
    for one in (*shown, text.getvalue(), str(dir(table))):
        assert_tells_nothing(one)
    assert len({repr(private_table(rows)) for rows in (0, 1, 1000)}) == 1
    assert len({sys.getsizeof(private_table(rows)) for rows in (0, 1, 1000)}) == 1


def test_attributes_tell_nothing():
    table = private_table()
    for name in dir(table):
        value = getattr(table, name)
        if not callable(value):
            assert_tells_nothing(repr(value))
    assert not hasattr(table, "__dict__")
    assert bool(private_table(0)) is True


def test_copies_are_the_same_table():
    table = private_table()
    assert copy.copy(table) is table
    assert copy.deepcopy({"t": [table]})["t"][0] is table


def test_rows_leave_memory_with_their_table():
    table = private_table()
    source = weakref.ref(vault._ROWS[table])
    del table
    gc.collect(1)  # what is young: the process may be large by now
    assert source() is None


def test_kept_values_stay_inside():
    table = private_table()
    result = vault.keep(table, ["a"], lambda block: block.kept.update(twice=2 * block["a"]))
    assert result is None
    assert_tells_nothing(repr(table))


# -- protect ---------------------------------------------------------------------------------------


def access(table, query):
    grant = Ledger(Budget(1e6, 1e-6)).pay(Plan.of(x=Gaussian(1, 0.01)), table, "test")
    return np.round(gaussian_sum(table, query, grant.take("x")).values).tolist()


FEATURES = {"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]}
LABELS = ["no", "yes", "yes"]
CLASSES = Category(["no", "yes"])


@pytest.mark.parametrize(
    ("frame", "target"),
    [
        (FEATURES, LABELS),
        (FEATURES, np.array(LABELS)),
        (FEATURES, pd.Series(LABELS, index=[7, 8, 9])),
        (FEATURES, pl.Series(LABELS)),
        (FEATURES, pd.DataFrame({"y": LABELS})),
        (pd.DataFrame(FEATURES, index=[3, 3, 3]), pd.Series(LABELS)),
        (pd.DataFrame({**FEATURES, "y": LABELS}), "y"),
        (pl.DataFrame({**FEATURES, "y": LABELS}), "y"),
        (pa.table({**FEATURES, "y": LABELS}), "y"),
        ({**FEATURES, "y": LABELS}, "y"),
    ],
    ids=str,
)
def test_the_target_may_be_a_column_or_a_name(frame, target):
    table = protect(frame, target, target=CLASSES)
    assert list(table.schema) == ["a", "b"]
    assert table.schema.target == CLASSES
    assert access(table, CategoryCounts(TARGET, 2)) == [1, 2, 0, 0]
    schema = Schema({"a": Number(0, 9)}, target=CLASSES)
    table = protect(frame, target, schema=schema)
    assert access(table, CategoryCounts(TARGET, 2)) == [1, 2, 0, 0]
    assert access(table, NumberCounts("a", (1.5,))) == [1, 2, 0]


def test_the_target_of_files_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({**FEATURES, "y": LABELS}), path)
    table = protect(path, "y", target=CLASSES)
    assert access(table, CategoryCounts(TARGET, 2)) == [1, 2, 0, 0]
    assert protect(str(path), "y").schema.target == Category()
    with pytest.raises(DataError, match="name of a column"):
        protect(path, LABELS, target=CLASSES)


def test_a_target_that_nobody_described_is_refused():
    with pytest.raises(SchemaError, match="nothing is said about it"):
        protect(FEATURES, LABELS)
    with pytest.raises(DataError, match="no column 'z'"):
        protect(pd.DataFrame(FEATURES), "z", target=CLASSES)


def test_lengths_that_differ_are_refused_without_saying_them():
    with pytest.raises(DataError) as caught:
        protect({"a": [1.0] * 17}, [1] * 19, target=Number(0, 1))
    assert not any(character.isdigit() for character in str(caught.value))


def test_a_schema_without_its_target_column_describes_the_rest():
    schema = Schema({"a": Number()}, target=Category())
    summary = summarize(FEATURES, schema=schema, epsilon=5.0)
    assert [column.name for column in summary.columns] == ["a"]


def test_more_may_be_known_later_but_not_more_columns():
    table = private_table()
    more = table.with_schema(SCHEMA.with_column("b", Category([WORD])))
    assert access(more, CategoryCounts("b", 1)) == [ROWS, 0, 0]
    assert more.token is table.token
    with pytest.raises(DataError, match="'c'"):
        table.with_schema(SCHEMA.with_column("c", Number()))
    assert access(table, RowCount()) == [ROWS]
