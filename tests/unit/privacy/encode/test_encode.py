"""Encoding of private rows: every frame alike, row by row, and never a word about values."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.errors import DataError
from voile.privacy.encode import (
    encode_frame,
    encode_rows,
    encode_target,
    encode_values,
    pick_rows,
)
from voile.schema import Category, Date, Number, Schema

LARGEST = float(np.finfo(float).max)


def same(left, right):
    """Whether two encoded columns are the same, in type and in every row."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype == object:
        return [(type(v), v) for v in left] == [(type(v), v) for v in right]
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def encode(values, column):
    return encode_frame({"a": values}, Schema({"a": column}))["a"]


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


# -- the table in the module's documentation -------------------------------------------------------


def test_known_numbers_are_clamped():
    values = [None, float("nan"), -math.inf, math.inf, -5, 0.5, 99, "0.25", " 1e3 ", "x", ""]
    expected = np.array([np.nan, np.nan, 0, 1, 0, 0.5, 1, 0.25, 1, np.nan, np.nan])
    assert same(encode(values, Number(0, 1)), expected)


def test_unknown_numbers_are_finite_or_missing():
    values = [None, -math.inf, math.inf, 3, True, "nan", "inf", Decimal("1.5"), 10**400]
    expected = np.array([np.nan, -LARGEST, LARGEST, 3, 1, np.nan, LARGEST, 1.5, np.nan])
    assert same(encode(values, Number()), expected)


@pytest.mark.parametrize(
    "value",
    [
        *(None, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), math.nan, "nan", ""),
        *(10**400, 1j, np.complex128(1), [1], (1,), {"a": 1}, b"1", np.bytes_(b"1"), object()),
        *(np.array(1.0), np.array([1.0]), Decimal("NaN"), Decimal("sNaN"), "\ud800", "1,5", int),
    ],
)
def test_numbers_that_cannot_be_read_are_missing(value):
    assert np.isnan(encode([value], Number(0, 1))[0])
    assert np.isnan(encode([value], Number())[0])


def test_known_categories_are_coded():
    column = Category(["a", 3, 0.5, "3"])
    values = ["a", 3, 3.0, np.int8(3), Decimal(3), "3", 0.5, "A", 4, [], b"a", None, math.nan]
    assert encode(values, column).tolist() == [0, 1, 1, 1, 1, 3, 2, 4, 4, 4, 4, 5, 5]
    assert encode(values, column).dtype == np.int32
    assert encode([True, False, 1, 0.0, None], Category([False, True])).tolist() == [1, 0, 1, 0, 3]
    assert encode(["a", None], Category([])).tolist() == [0, 1]


def test_float_columns_match_whole_levels():
    assert encode(np.array([3.0, 3.5, np.nan, np.inf]), Category([3])).tolist() == [0, 1, 2, 1]
    assert encode(np.array([2**63, 1], np.uint64), Category([2**63])).tolist() == [0, 1]
    assert encode(np.array([2**53 + 1, 2**53]), Category([2**53 + 1])).tolist() == [0, 1]


def test_unknown_categories_are_plain_values():
    values = ["a", 1, 1.0, True, np.float32(2.5), Decimal(2), math.inf, [], b"a", 2**70, "\ud800"]
    expected = ["a", 1, 1, 1, 2.5, 2, None, None, None, None, None]
    assert same(encode(values, Category()), objects(expected))
    found = encode([None, pd.NA, pd.NaT, math.nan], Category())
    assert same(found, objects([None] * 4))


def test_unknown_categories_can_always_become_levels():
    values = ["", "ä", 2**64, -(2**64), 1e300, 5e-324, np.str_("x"), pd.Period("2020"), False]
    found = [level for level in dict.fromkeys(encode(values, Category())) if level is not None]
    assert Category(found).levels == tuple(found)


def test_times_are_seconds_or_text():
    zone = dt.timezone(dt.timedelta(hours=2))
    moments = [
        dt.datetime(1970, 1, 2),
        dt.date(1970, 1, 2),
        dt.datetime(1970, 1, 2, 2, tzinfo=zone),
        pd.Timestamp("1970-01-02"),
        np.datetime64("1970-01-02"),
        np.datetime64("1970-01-02T00:00:00.000000000"),
    ]
    assert encode(moments, Number()).tolist() == [86400.0] * 6
    assert encode(moments, Category()).tolist() == ["1970-01-02"] * 6
    assert encode([dt.datetime(1970, 1, 1, 8, 30)], Category()).tolist() == ["1970-01-01T08:30:00"]
    lapses = [dt.timedelta(minutes=1), dt.time(0, 1), np.timedelta64(1, "m"), pd.Timedelta("1min")]
    assert encode(lapses, Number()).tolist() == [60.0] * 4
    assert encode(lapses, Category([60])).tolist() == [0] * 4
    assert encode(np.array(["1970-02", "NaT"], "M8[M]"), Number(0, 1e9))[0] == 31 * 86400
    assert encode(np.array(["1970", "NaT"], "M8[Y]"), Category(["1970-01-01"])).tolist() == [0, 2]
    assert encode(np.array([2**60, -(2**60)], "M8[s]"), Category([])).tolist() == [0, 0]
    assert encode(np.array(["NaT"], "M8"), Category([])).tolist() == [1]
    fine = pd.Series([pd.Timestamp(1_600_000_000_123_456_789), pd.Timestamp(-1)])
    for column in (Number(), Category()):
        assert same(encode(fine.astype("M8[ns]"), column), encode(list(fine), column))


# -- every frame alike -----------------------------------------------------------------------------

CONTENT = {
    "float": [1.5, None, -2.0, 7.0, 1e9],
    "int": [1, 2, None, 4, 2**53 + 1],
    "flag": [True, None, False, True, True],
    "text": ["a", "b", None, "", "ä"],
    "digits": ["1", "2.5", None, "x", " 7 "],
    "moment": [dt.datetime(2020, 1, 1, 8, 30, 0, 125), None, *[dt.datetime(1950, 5, 17)] * 3],
    "day": [dt.date(2020, 1, 1), None, *[dt.date(1950, 5, 17)] * 3],
    "clock": [dt.time(8, 30), None, dt.time(0), dt.time(23, 59, 59, 5), None],
    "lapse": [dt.timedelta(days=2), None, dt.timedelta(0), dt.timedelta(microseconds=-7), None],
    "sum": [Decimal("1.10"), None, Decimal("-3.00"), Decimal("0.07"), None],
    "nothing": [None] * 5,
}
COLUMNS = [
    Number(),
    Number(0, 5),
    Category(),
    Category([1.5, 1, "a", "1", 1e9, "1950-05-17", 1.1, 30600, 2**53 + 1]),
]


def pandas_frames():
    yield pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in CONTENT.items()})
    inferred = pd.DataFrame(
        {
            "float": pd.Series(CONTENT["float"], dtype="float64"),
            "int": pd.array(CONTENT["int"], dtype="Int64"),
            "flag": pd.array(CONTENT["flag"], dtype="boolean"),
            "text": CONTENT["text"],
            "digits": pd.Series(CONTENT["digits"], dtype="string"),
            "moment": pd.to_datetime(pd.Series(CONTENT["moment"])),
            "day": pd.Series(pd.to_datetime(pd.Series(CONTENT["day"])), dtype="datetime64[s]"),
            "lapse": pd.to_timedelta(pd.Series(CONTENT["lapse"])),
        }
    )
    inferred["utc"] = inferred.pop("moment").dt.tz_localize("UTC")
    inferred["moment"] = inferred["utc"].dt.tz_convert("Europe/Paris")
    yield inferred
    yield inferred[["text", "digits", "float", "int", "day"]].astype("category")
    yield pl.DataFrame(CONTENT).to_pandas(use_pyarrow_extension_array=True)


def other_frames():
    frame = pl.DataFrame(CONTENT)
    yield frame
    yield frame.with_columns(pl.col("text", "digits").cast(pl.Categorical))
    yield frame.with_columns(pl.col("text").cast(pl.Enum(["ä", "", "b", "a"])))
    yield pl.DataFrame({"int": pl.Series(CONTENT["int"], dtype=pl.Int128)})
    yield pl.DataFrame({"text": pl.Series(CONTENT["text"], dtype=pl.Object)})
    table = frame.to_arrow()
    yield table
    yield table.combine_chunks().to_batches()[0]
    yield pa.concat_tables([table.slice(0, 2), table.slice(2, 0), table.slice(2)])
    yield pa.table({"text": table["text"].dictionary_encode(), "day": table["day"]})
    yield pa.table({"text": table["text"].cast(pa.string_view())})
    yield pa.table({"digits": pa.chunked_array([table["digits"].cast(pa.string())])})
    ends = pa.array([1, 2, 3, 4, 5], pa.int32())
    flags = table["flag"].combine_chunks()
    yield pa.table({"flag": pa.RunEndEncodedArray.from_arrays(ends, flags)})
    yield {name: objects(values) for name, values in CONTENT.items()}
    yield {"float": np.array(CONTENT["float"], float)}
    yield {"float": np.ma.array([1.5, 0, -2, 7, 1e9], mask=[0, 1, 0, 0, 0])}
    yield {"int": np.ma.array([1, 2, 0, 4, 2**53 + 1], mask=[0, 0, 1, 0, 0])}
    yield {"moment": np.array(CONTENT["moment"], "M8[us]"), "day": pa.array(CONTENT["day"])}
    yield {"day": np.array(CONTENT["day"], "M8[D]"), "lapse": np.array(CONTENT["lapse"], "m8[us]")}
    yield {"text": pl.Series(CONTENT["text"]), "digits": pd.Series(CONTENT["digits"])}


@pytest.mark.parametrize(
    "frame", [*pandas_frames(), *other_frames()], ids=lambda f: type(f).__name__
)
@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_every_frame_gives_the_same(frame, column):
    names = [name for name in CONTENT if name in list(Schema.from_frame(frame))]
    assert names
    encoded = encode_frame(frame, Schema(dict.fromkeys(names, column)))
    assert list(encoded) == names
    for name in names:
        expected = encode(CONTENT[name], column)
        assert same(encoded[name], expected), (name, encoded[name], expected)


@pytest.mark.parametrize(
    "frame", [*pandas_frames(), *other_frames()], ids=lambda f: type(f).__name__
)
def test_slices_of_picked_rows_encode_alike(frame):
    schema = Schema.from_frame(frame)
    picked = pick_rows(frame, None, schema)
    assert picked.row_count == 5
    assert "1.5" not in repr(picked)
    for values in picked.columns.values():
        for column in COLUMNS:
            whole = encode_values(values, column)
            assert same(encode_values(values[1:4], column), whole[1:4])


def test_arrays_and_lists_of_rows():
    rows = [[1.5, "a"], [None, "b"], [2]]
    schema = Schema({"x1": Category(["b"]), "x0": Number(0, 2)})
    encoded = encode_frame(rows, schema)
    assert list(encoded) == ["x1", "x0"]
    assert encoded["x1"].tolist() == [1, 0, 2]
    assert same(encoded["x0"], np.array([1.5, np.nan, 2]))
    array = objects([1.5, "a", None, "b", 2, None]).reshape(3, 2)
    assert all(same(encoded[name], encode_frame(array, schema)[name]) for name in schema)
    texts = np.array([["a", "b"], ["7", "\ud800"]])
    assert encode_frame(texts, schema)["x1"].tolist() == [0, 1]
    assert same(encode_frame(texts, schema)["x0"], np.array([np.nan, 2.0]))
    variable = np.array([["a", "b"], ["7", "c"]], np.dtypes.StringDType())
    assert encode_frame(variable, schema)["x1"].tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", ">f8", ">i4", "g"])
def test_numeric_types(dtype):
    array = np.array([0, 1], dtype)[::-1]
    assert encode(array, Number(0, 5)).tolist() == [1.0, 0.0]
    assert encode(array, Category([1])).tolist() == [0, 1]
    assert encode(array, Category()).tolist() == [1, 0]
    assert encode(pa.array(np.array([1, 0]), pa.float16()), Category([1])).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["S3", "V2"])
def test_bytes_are_unfit(dtype):
    array = np.array([b"a", b"b"], dtype)
    assert np.isnan(encode(array, Number())).all()
    assert encode(array, Category(["a"])).tolist() == [1, 1]
    assert encode(pa.array([b"a", None]), Category(["a"])).tolist() == [1, 2]
    assert encode(pa.array([[1], None]), Category()).tolist() == [None, None]


def test_extreme_arrow_times_and_rare_types():
    seconds = pa.array([2**63 - 1, -(2**63), None]).view(pa.timestamp("s"))
    assert encode(seconds, Category([])).tolist() == [0, 0, 1]
    assert same(encode(seconds, Number(0, 1)), np.array([1, 0, np.nan]))
    days = pa.array([2**31 - 1, None], pa.int32()).view(pa.date32())
    assert encode(days, Category()).tolist() == [None, None]
    clock = pa.array([1, None], pa.int32()).view(pa.time32("ms"))
    assert same(encode(clock, Number()), np.array([0.001, np.nan]))
    for kind in (pa.struct([("a", pa.int8())]), pa.list_view(pa.int8()), pa.binary_view()):
        assert encode(pa.array([None], kind), Category([])).tolist() == [1]
    assert encode(pa.array(["1", None], pa.json_()), Number()).tolist()[0] == 1
    partly = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    assert encode(partly, Category(["a"])).tolist() == [0, 2, 2]


def test_invalid_text_in_arrow_is_unfit():
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff")])
    assert encode(broken, Category(["a"])).tolist() == [0, 1]
    assert np.isnan(encode(broken, Number())).all()


def test_pandas_types_without_counterpart():
    frame = pd.DataFrame(
        {
            "period": pd.period_range("2020", periods=2, freq="M"),
            "interval": pd.cut([1, 9], [0, 5, 10]),
            "mixed": pd.Categorical([1, "a"]),
            "sparse": pd.arrays.SparseArray([0.0, 1.0]),
        }
    )
    encoded = encode_frame(frame, Schema({name: Category() for name in frame}))
    assert encoded["period"].tolist() == ["2020-01", "2020-02"]
    assert encoded["interval"].tolist() == ["(0, 5]", "(5, 10]"]
    assert encoded["mixed"].tolist() == [1, "a"]
    assert encoded["sparse"].tolist() == [0, 1]


def test_encoding_copies():
    array = np.array([[0.5], [0.25]])
    for column in (Number(), Number(0, 1)):
        encoded = encode_frame(array, Schema({"x0": column}))["x0"]
        assert not np.shares_memory(encoded, array)


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(column, count):
    schema = Schema({"x0": column})
    empty = encode([], column)
    for kind in (float, int, bool, object, "U1", "M8[s]", "m8[s]", "S1"):
        array = np.zeros((count, 1), kind)
        for frame in (array, pd.DataFrame(array, columns=["x0"]) if kind != "S1" else array):
            encoded = encode_frame(frame, schema)["x0"]
            assert encoded.dtype == empty.dtype
            assert encoded.shape == (count,)
    for frame in ([[None]] * count, pa.table({"x0": pa.array([None] * count, pa.int8())})):
        assert encode_frame(frame, schema)["x0"].dtype == empty.dtype
    no_chunks = pa.table({"x0": pa.chunked_array([], pa.string())})
    assert same(encode_frame(no_chunks, schema)["x0"], empty)


# -- errors tell nothing ---------------------------------------------------------------------------


def test_names_decide_about_errors():
    frame = pd.DataFrame({"a": [1.0], "extra": ["x"]})
    assert list(encode_frame(frame, Schema({"a": Number()}))) == ["a"]
    assert encode_frame(frame, Schema({})) == {}
    for table in (frame, {"a": [1]}, np.zeros((1, 2)), [[1, 2]]):
        with pytest.raises(DataError, match="'b'"):
            encode_frame(table, Schema({"b": Number()}))
    with pytest.raises(DataError, match="x0"):
        encode_frame(np.zeros((1, 2)), Schema({"b": Number()}))
    with pytest.raises(DataError):
        encode_frame("rows.parquet", Schema({"b": Number()}))


def test_columns_without_names_are_meant_in_the_order_of_the_schema():
    schema = Schema({"age": Number(), "ward": Category(["a", "b"])})
    for table in (np.array([[30, "b"]], dtype=object), [[30, "b"]]):
        encoded = encode_frame(table, schema)
        assert encoded["age"].tolist() == [30.0]
        assert encoded["ward"].tolist() == [1]
    # No rows at all must not differ from one row.
    assert encode_frame([], schema)["age"].shape == (0,)


@pytest.mark.parametrize(
    "target", [[1] * 77, np.ones(77), pd.Series([1] * 77), pl.Series([1] * 77)]
)
def test_lengths_stay_private(target):
    schema = Schema({"x0": Number()}, target=Number())
    with pytest.raises(DataError) as caught:
        encode_rows(np.zeros((78, 1)), target, schema)
    assert not any(character.isdigit() for character in str(caught.value))
    with pytest.raises(DataError) as caught:
        encode_frame({"a": target, "b": [1] * 78}, Schema({"a": Number(), "b": Number()}))
    assert not any(character.isdigit() for character in str(caught.value))


def test_rows_with_a_target():
    schema = Schema({"x0": Number()}, target=Category(["n", "y"]))
    encoded = encode_rows(np.zeros((2, 1)), ["y", "n"], schema)
    assert encoded.row_count == 2
    assert encoded.target.tolist() == [1, 0]
    assert list(encoded.columns) == ["x0"]
    assert "0." not in repr(encoded)
    assert encode_rows(np.zeros((2, 1)), None, schema).target is None
    with pytest.raises(DataError, match="with_target"):
        encode_rows(np.zeros((2, 1)), ["y", "n"], Schema({"x0": Number()}))
    named = encode_rows({"x0": [1, 2], "y": ["y", "n"]}, "y", schema)
    assert named.target.tolist() == [1, 0]
    with pytest.raises(DataError, match="'z'"):
        encode_rows({"x0": [1, 2]}, "z", schema)
    with pytest.raises(DataError, match="leave it out"):
        encode_rows({"x0": [1, 2]}, "x0", schema)
    nothing = encode_rows({"a": [1, 2, 3]}, None, Schema({}))
    assert nothing.row_count == 3


@pytest.mark.parametrize(
    "target",
    [
        *([1, 0, None], (1, 0, None), np.array([1, 0, np.nan]), np.array([[1], [0], [np.nan]])),
        *(pd.Series([1, 0, None]), pd.DataFrame({"y": [1, 0, None]}), pl.Series([1, 0, None])),
        *(pl.DataFrame({"y": [1, 0, None]}), pa.array([1, 0, None]), pa.table({"y": [1, 0, None]})),
        *(pa.chunked_array([[1, 0], [None]]), np.ma.array([[1], [0], [0]], mask=[[0], [0], [1]])),
        pd.Categorical([1, 0, None]),
    ],
    ids=lambda target: type(target).__name__,
)
def test_targets_of_all_sorts(target):
    assert encode_target(target, Category([0, 1])).tolist() == [1, 0, 3]
    assert same(encode_target(target, Number(0, 1)), np.array([1, 0, np.nan]))
    assert same(encode_target(target, Category()), objects([1, 0, None]))


@pytest.mark.parametrize(
    "target",
    [
        np.zeros((2, 2)),
        np.zeros((2, 0)),
        np.array(1),
        pd.DataFrame({"a": [1], "b": [1]}),
        "yes",
        None,
        {"a": [1]},
        3,
        pl.LazyFrame({"a": [1]}),
    ],
    ids=lambda target: type(target).__name__,
)
def test_targets_that_are_not_one_column(target):
    with pytest.raises(DataError):
        encode_target(target, Number())


# -- anything at all -------------------------------------------------------------------------------


class Rude:
    """A value whose every method fails."""

    def refuse(self, *_):
        raise RuntimeError("secret")

    __eq__ = __hash__ = __str__ = __repr__ = __float__ = __bool__ = __index__ = __len__ = refuse


class RudeText(str):
    __eq__ = __hash__ = __str__ = Rude.refuse


class RudeFloat(float):
    __eq__ = __ne__ = __hash__ = __float__ = Rude.refuse


class RudeInt(int):
    __eq__ = __hash__ = __float__ = __int__ = __index__ = Rude.refuse


class RudeZone(dt.tzinfo):
    utcoffset = dst = tzname = Rude.refuse


def test_values_that_fail_at_everything():
    rude = [Rude(), RudeText("1"), RudeFloat(1.0), RudeInt(1)]
    rude.append(dt.datetime(2020, 1, 1, tzinfo=RudeZone()))
    for values in (rude, objects(rude), pd.Series(rude, dtype=object)):
        assert same(encode(values, Number()), np.array([np.nan, 1, 1, 1, np.nan]))
        assert encode(values, Category(["1", 1])).tolist() == [2, 0, 1, 1, 2]
        assert encode(values, Category()).tolist() == [None, "1", 1, 1, None]


nasty = (
    st.text()
    | st.text(st.characters(categories=["Cs"]), max_size=2)
    | st.floats()
    | st.floats(width=16).map(np.float16)
    | st.floats().map(np.longdouble)
    | st.integers()
    | st.integers(10**300, 10**400)
    | st.integers(-(2**63), 2**63 - 1).map(np.int64)
    | st.booleans()
    | st.booleans().map(np.bool_)
    | st.none()
    | st.binary(max_size=4)
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=1)
    | st.decimals()
    | st.complex_numbers()
    | st.datetimes()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.sampled_from([pd.NA, pd.NaT, np.datetime64("NaT"), np.datetime64(2**62, "Y"), Ellipsis])
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(nasty, max_size=12))
def test_no_value_can_cause_anything(values):
    levels = ["", "a", "1", 0, 1.5, "2000-01-01"]
    frames = [{"a": values}, pd.DataFrame({"a": pd.Series(values, dtype=object)})]
    frames.append({"a": objects(values)})
    results = []
    for frame in frames:
        known = encode_frame(frame, Schema({"a": Number(-1, 2)}))["a"]
        assert known.dtype == np.float64
        assert ((known >= -1) & (known <= 2) | np.isnan(known)).all()
        unknown = encode_frame(frame, Schema({"a": Number()}))["a"]
        assert not np.isinf(unknown).any()
        assert np.array_equal(np.isnan(known), np.isnan(unknown))
        codes = encode_frame(frame, Schema({"a": Category(levels)}))["a"]
        assert codes.dtype == np.int32
        assert ((codes >= 0) & (codes <= len(levels) + 1)).all()
        plain = encode_frame(frame, Schema({"a": Category()}))["a"]
        assert all(value is None or type(value) in (str, int, float) for value in plain)
        found = Category(list(dict.fromkeys(value for value in plain if value is not None)))
        again = encode_frame(frame, Schema({"a": found}))["a"]
        for code, value in zip(again, plain, strict=True):
            assert value is None or (code < len(found.levels) and found.levels[code] == value)
        results.append([known, unknown, codes, plain])
    for other in results[1:]:
        assert all(same(left, right) for left, right in zip(results[0], other, strict=True))
    # Row by row: what becomes of one value never depends on another.
    for row, value in enumerate(values):
        for result, column in zip(
            results[0], [Number(-1, 2), Number(), Category(levels), Category()], strict=True
        ):
            assert same(encode([value], column), result[row : row + 1])


cells = {
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.Float64: st.floats(),
    pl.String: st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    pl.Boolean: st.booleans(),
    pl.Datetime("us"): st.datetimes(),
}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(list(cells)).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(st.none() | cells[kind], max_size=8))
    )
)
def test_fast_and_exact_ways_agree(drawn):
    kind, values = drawn
    series = pl.Series("a", values, dtype=kind)
    for column in (Number(-10, 10), Number(), Category(["", "0", 0, 1]), Category()):
        expected = encode(values, column)
        assert same(encode_frame(series.to_frame(), Schema({"a": column}))["a"], expected)
        assert same(
            encode_frame(series.to_frame().to_arrow(), Schema({"a": column}))["a"], expected
        )


@pytest.mark.parametrize(
    "text", [str, lambda truth: str(truth).lower(), lambda truth: "Yes" if truth else "NO"]
)
def test_truth_values_come_as_text_too(text):
    column = Category([False, True])
    found = encode_target(pd.Series([text(True), text(False), "perhaps", None]), column)
    assert found.tolist() == [1, 0, 2, 3]
    assert encode_target(["1", "0", 1, 0, True], column).tolist() == [1, 0, 1, 0, 1]
    # Words are words where the schema lists words.
    assert encode_target(["yes", "true"], Category(["no", "yes"])).tolist() == [1, 2]


DATE = Date("2024-01-01", "2024-12-31")


def test_dates_of_any_sort_are_days():
    values = [
        dt.date(2024, 3, 1),
        dt.datetime(2024, 3, 1, 23, 59),
        np.datetime64("2024-03-01T07:00"),
        pd.Timestamp("2024-03-01T01:00", tz="UTC"),
        "2024-03-01",
        "2024-03-01T05:06:07Z",
        "01.03.2024",
        "1.3.2024 12:00",
    ]
    day = DATE.lower + 60 * 86_400
    assert encode_target(values, DATE).tolist() == [day] * len(values)
    bad = ["", "soon", "2024-13-01", "31.02.2024", None, b"2024-03-01", [], "\ud800", "2024"]
    assert np.isnan(encode_target(bad, DATE)).all()
    assert encode_target(["1999-01-01", "2999-01-01"], DATE).tolist() == [
        DATE.lower,
        DATE.upper + 1 - 86_400,
    ]
    never = Date("2024-01-01", "2024-12-31", missing=False)
    assert encode_target([None], never)[0] % 86_400 == 0
    moment = Date("2024-01-01", "2024-12-31", time=True)
    assert encode_target(["2024-03-01T00:00:01.5"], moment).tolist() == [day + 1.5]


def test_text_of_dates_is_the_same_in_every_container():
    texts = ["2024-03-01", "x", None, "31.12.2024"]
    expected = encode_target(texts, DATE)
    for one in (pd.Series(texts), pl.Series(texts), pa.array(texts), np.array(texts, object)):
        np.testing.assert_array_equal(encode_target(one, DATE), expected)
