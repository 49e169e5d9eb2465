"""Bad tables: a summary or an error of Voile's own, and never one that depends on a value."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile import Category, Number, Schema, VoileError, protect, summarize
from voile.privacy.noise import fixed_noise

ROWS = 60


class Hostile:
    """An object whose every method raises, or shouts a secret."""

    def __init__(self, secret="secret"):
        self.secret = secret

    def _shout(self, *args):
        raise RuntimeError(self.secret)

    __eq__ = __hash__ = __float__ = __int__ = __index__ = __lt__ = __bool__ = _shout
    __len__ = __iter__ = __getitem__ = __array__ = __repr__ = __str__ = _shout


class HostileText(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError(str.__str__(self))

    __repr__ = __hash__ = __eq__ = __str__


class HostileNumber(float):
    def __float__(self):
        raise RuntimeError("secret")

    __repr__ = __str__ = __eq__ = __hash__ = __float__


def objects(values):
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def mixed(kind):
    """The same number of rows, mostly harmless, one of them not."""
    return objects([*kind, *(["a", "b", "c"] * ROWS)][:ROWS])


DATES = pd.to_datetime(["2024-01-31", "1999-12-31", None] * (ROWS // 3))

PAIRS = {
    "missing numbers": (np.full(ROWS, np.nan), np.arange(ROWS) * 1.0),
    "infinite numbers": (np.full(ROWS, np.inf), np.array([1.0, -np.inf] * (ROWS // 2))),
    "largest numbers": (np.full(ROWS, 1.7e308), np.full(ROWS, 5e-324)),
    "whole numbers": (np.full(ROWS, 2**63 - 1), np.full(ROWS, -(2**63))),
    "unsigned": (np.full(ROWS, 2**64 - 1, np.uint64), np.zeros(ROWS, np.uint64)),
    "text as numbers": (mixed(["1", "x"]), mixed([1.0, "1e400"])),
    "empty text": (mixed([""] * 30), mixed(["", "\ud800", "\0"])),
    "all missing": (objects([None] * ROWS), objects([math.nan, pd.NA, pd.NaT] * (ROWS // 3))),
    "mixed types": (
        mixed([1, "1", 1.0, True, None, b"1"]),
        mixed([dt.date(2024, 1, 1), 1j, set()]),
    ),
    "lists": (mixed([[1, 2], [], [[3]]]), mixed([{"a": 1}, (1,), np.ones(3)])),
    "huge whole numbers": (mixed([10**400, -(10**30)]), mixed([2**64, 2**64 + 1])),
    "decimals": (mixed([Decimal("NaN"), Decimal("1e999")]), mixed([Decimal("sNaN"), Decimal(1)])),
    "dates": (mixed([dt.datetime.max, dt.datetime.min]), mixed([dt.timedelta.max, dt.time.min])),
    "date types": (DATES, DATES[::-1]),
    "hostile objects": (mixed([Hostile("one")]), mixed([Hostile("two")] * 30)),
    "hostile and harmless": (mixed([Hostile()]), mixed(["a"])),
    "hostile text": (mixed([HostileText("x")]), mixed([HostileText("a")] * 40)),
    "hostile numbers": (mixed([HostileNumber(1.0)]), mixed([HostileNumber(math.nan)])),
    "types and functions": (mixed([int, len]), mixed([Hostile, pytest])),
}
SCHEMAS = {
    "none": None,
    "number": Schema({"a": Number(0, 10)}),
    "number to be found": Schema({"a": Number()}),
    "category": Schema({"a": Category(["a", "b", 1])}),
    "category to be found": Schema({"a": Category()}),
}


def as_mapping(values, _):
    return {"a": values}


def as_list(values, _):
    return {"a": list(values)}


def as_pandas(values, _):
    return pd.DataFrame({"a": pd.Series(values, dtype=values.dtype)})


def as_rows(values, _):
    return [[value] for value in values]


def as_array(values, _):
    return np.asarray(values).reshape(-1, 1)


FORMS = [as_mapping, as_list, as_pandas, as_rows, as_array]


def outcome(table, schema, epsilon=1.0):
    """What an observer can tell apart from noised numbers: the answer's shape, or the error."""
    try:
        with fixed_noise(1):
            summary = summarize(table, schema=schema, epsilon=epsilon)
    except VoileError as error:
        return type(error).__name__, str(error)
    shape = [(type(column).__name__, column.name, column.found) for column in summary.columns]
    assert summary.to_json()
    assert str(summary)
    return "summary", str(shape)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_the_outcome_does_not_depend_on_the_values(pair, schema, form, tmp_path):
    if schema is not None and form in (as_rows, as_array):
        schema = Schema({"x0": schema["a"]})
    first, second = (outcome(form(values, tmp_path), schema) for values in pair)
    assert first == second
    assert first[0] == "summary"
    assert not any(word in str(first) for word in ("secret", "one", "two"))


ARROW = {
    "decimal": (pa.array([Decimal("1.5"), None]), pa.array([Decimal("9.9"), Decimal("0.1")])),
    "large decimal": (
        pa.array([Decimal(10) ** 60], pa.decimal256(76)),
        pa.array([None], pa.decimal256(76)),
    ),
    "lists": (pa.array([[1], None]), pa.array([[], [2, 3]])),
    "structs": (pa.array([{"x": 1}]), pa.array([None], pa.struct({"x": pa.int64()}))),
    "bytes": (pa.array([b"\xff"]), pa.array([b"a"])),
    "null": (pa.nulls(3), pa.nulls(3)),
    "dates": (pa.array([dt.date.min]), pa.array([dt.date.max])),
    "times": (pa.array([2**50], pa.timestamp("s")), pa.array([0], pa.timestamp("s"))),
    "zones": (pa.array([0], pa.timestamp("us", "UTC")), pa.array([9], pa.timestamp("us", "UTC"))),
    "durations": (pa.array([2**62], pa.duration("s")), pa.array([None], pa.duration("s"))),
    "dictionary": (pa.array(["x", None]).dictionary_encode(),) * 2,
    "booleans": (pa.array([True, None]), pa.array([False, False])),
    "text": (pa.array([""]), pa.array([None], pa.string())),
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("pair", ARROW.values(), ids=ARROW)
def test_the_outcome_does_not_depend_on_the_values_of_typed_columns(pair, schema, tmp_path):
    seen = set()
    for i, values in enumerate(pair):
        table = pa.table({"a": values})
        path = tmp_path / f"{i}.parquet"
        pq.write_table(table, path)
        seen.add(outcome(table, schema))
        seen.add(outcome(path, schema))
    assert len(seen) == 1
    assert next(iter(seen))[0] == "summary"


def empty_forms():
    return {
        "pandas": pd.DataFrame({"a": pd.Series([], dtype=float), "b": pd.Series([], dtype=object)}),
        "polars": pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Float64, "b": pl.String}),
        "arrow": pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.string())}),
        "mapping": {"a": np.array([]), "b": []},
    }


def one_row_forms():
    return {
        "pandas": pd.DataFrame({"a": [1.0], "b": pd.Series(["x"], dtype=object)}),
        "polars": pl.DataFrame({"a": [1.0], "b": ["x"]}),
        "arrow": pa.table({"a": [1.0], "b": ["x"]}),
        "mapping": {"a": np.array([1.0]), "b": ["x"]},
    }


@pytest.mark.parametrize("form", empty_forms())
@pytest.mark.parametrize(
    "schema", [None, Schema({"a": Number(0, 1), "b": Category(["x"])})], ids=["none", "known"]
)
def test_no_row_and_one_row_look_alike(form, schema, tmp_path):
    none, one = outcome(empty_forms()[form], schema), outcome(one_row_forms()[form], schema)
    assert none == one
    assert none[0] == "summary"


def test_an_empty_file_and_one_row_look_alike(tmp_path):
    for i, forms in enumerate((empty_forms(), one_row_forms())):
        pq.write_table(forms["arrow"], tmp_path / f"{i}.parquet")
    seen = {outcome(tmp_path / f"{i}.parquet", None) for i in range(2)}
    assert len(seen) == 1


def test_without_noise_an_empty_table_is_empty():
    summary = summarize(empty_forms()["pandas"], epsilon=math.inf)
    assert summary.rows == 0
    assert summary["b"].counts == (0.0, 0.0)


# -- tables that are refused, whatever is in them --------------------------------------------------


def twice(values):
    frame = pd.DataFrame([values, values])
    frame.columns = ["a"] * len(values)
    return frame


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (twice, "more than once"),
        (lambda values: {1: values, "1": values}, "more than once"),
        (lambda values: {"": values}, "empty name"),
        (lambda values: {"a": values, "b": values[1:]}, "different numbers of rows"),
        (lambda values: pd.DataFrame(index=range(len(values))), "no columns"),
        (lambda values: np.empty((len(values), 0)), "no columns"),
        (lambda values: {}, "no columns"),
        (lambda values: np.zeros((2, 2, len(values))), "dimensions"),
        (lambda values: {"a": np.array(values, dtype=complex)}, "Complex"),
        (lambda values: values[0], "not a table"),
        (lambda values: pd.Series(values), "not a table"),
        (lambda values: pl.LazyFrame({"a": values}), "collect"),
        (lambda values: set(values), "not a table"),
        (lambda values: list(values), "not a table"),
    ],
)
def test_refusals_are_the_same_for_all_values(make, says):
    first, second = outcome(make([1.5, 2.5]), None), outcome(make([77.5, 77.5]), None)
    assert first == second
    assert first[0] in ("DataError", "SchemaError")
    assert says in first[1]
    assert "77" not in second[1]


# -- categories nobody foresaw, and targets --------------------------------------------------------


def test_unseen_categories_count_as_other():
    values = ["a"] * 5 + ["q", "r", 7] + [None] * 2
    schema = Schema({"a": Category(["a", "b"])})
    counts = summarize({"a": values}, schema=schema, epsilon=math.inf)["a"].counts
    assert counts == (5, 0, 3, 2)


@pytest.mark.parametrize("target", [Number(), Number(0, 1), Category(), Category(["a"])], ids=str)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.filterwarnings("ignore::voile.errors.GuessedTargetWarning")
def test_bad_targets_do_not_tell_either(pair, target):
    seen = set()
    if isinstance(target, Number) and pair is PAIRS["date types"]:
        for values in pair:  # refused by its type, which is public
            with pytest.raises(VoileError, match="regression needs numbers"):
                protect({"n": np.zeros(ROWS)}, values, target=target)
        return
    of_texts = isinstance(target, Category) and bool(target.levels)
    for values in pair:
        frame = pd.DataFrame({"n": np.zeros(ROWS), "t": pd.Series(values, dtype=values.dtype)})
        if of_texts and values.dtype.kind in "iuf":
            for table, y in ((frame[["n"]], values), (frame[["n"]], frame["t"]), (frame, "t")):
                with pytest.raises(VoileError, match="listed are texts"):
                    protect(table, y, target=target)
            # A list has no type that could be public.
            seen.add(outcome(protect(frame[["n"]], list(values), target=target), None))
            continue
        for y in (list(values), values, frame["t"]):
            seen.add(outcome(protect(frame[["n"]], y, target=target), None))
        seen.add(outcome(protect(frame, "t", target=target), None))
    assert len(seen) == 1
    assert next(iter(seen))[0] == "summary"
