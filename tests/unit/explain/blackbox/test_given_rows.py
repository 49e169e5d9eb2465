"""Rows as users give them, and rows rebuilt so that a model takes them for the user's own."""

import datetime as dt
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from voile import Category, Number, Schema, Unit, protect
from voile.errors import DataError, SchemaError, SettingError
from voile.explain.blackbox.rows.given_rows import read_rows
from voile.privacy.encode import encode_values

SCHEMA = Schema(
    {
        "age": Number(0, 100),
        "weight": Number(0, 200),
        "ward": Category(["A", "B", "C"]),
        "grade": Category([1, 2, 3]),
        "smokes": Category([False, True]),
        "seen": Number(0, 2e9),
    }
)
ROWS = 40


def make_frame(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "smokes": rng.integers(0, 2, rows).astype(bool),
            "age": rng.integers(18, 90, rows).astype("int16"),
            "weight": rng.uniform(40, 120, rows).astype("float32"),
            "grade": rng.integers(1, 4, rows).astype("int8"),
            "ward": pd.Categorical(rng.choice(["B", "A"], rows), ordered=True),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, rows), "h"),
        }
    )


def as_text(frame):
    return frame.assign(ward=frame["ward"].astype(str))


def make_polars():
    frame = pl.from_pandas(as_text(make_frame()))
    return frame.with_columns(
        pl.col("ward").cast(pl.Categorical),
        pl.col("seen").cast(pl.Datetime("ms", "Europe/Paris")),
        pl.col("ward").cast(pl.Enum(["A", "B", "C"])).alias("grade"),
    )


def round_trip(X, schema, **settings):
    _, described, given = read_rows(X, schema=schema, **settings)
    stored = pickle.dumps(given)
    assert pickle.loads(stored) == given
    given = pickle.loads(stored)
    schema = schema or described
    columns = given.encode(X, schema)
    return given.rebuild(columns, len(next(iter(columns.values()))), schema)


def gaps(schema):
    """One row of levels and middles, one of everything missing, one of others."""
    columns = {}
    for name, column in schema.items():
        if isinstance(column, Number):
            columns[name] = np.array([(column.lower + column.upper) / 2 + 0.3, np.nan, np.nan])
        else:
            count = len(column.levels)
            columns[name] = np.array([count - 1, count + 1, count], dtype=np.int32)
    return columns


def test_a_pandas_frame_comes_back_as_it_was():
    frame = make_frame()
    rebuilt = round_trip(frame, SCHEMA)
    assert rebuilt["ward"].cat.ordered
    assert list(rebuilt["ward"].cat.categories) == ["A", "B", "C"]  # public ones, not those of rows
    pd.testing.assert_frame_equal(
        rebuilt.assign(ward=rebuilt["ward"].astype(str)), as_text(frame), check_index_type=False
    )


def test_pandas_types_of_every_sort_come_back():
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None, 3], dtype="Int32"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "c": pd.array([0.5, None, 1.5], dtype="Float32"),
            "d": pd.Series(["x", None, "y"], dtype=pd.ArrowDtype(pa.string())),
            "e": pd.Series([1, None, 2], dtype=pd.ArrowDtype(pa.int64())),
            "f": pd.Series(pd.to_datetime(["2020-01-01", None, "2021-05-05"]), dtype="M8[ns]"),
            "g": pd.Series(pd.to_datetime(["2020-01-01", None, "2021-05-05"])).dt.tz_localize(
                "Europe/Paris"
            ),
            "h": pd.to_timedelta([1, None, 3], unit="h"),
            "i": pd.Series(["x", np.nan, 7], dtype=object),
            "j": pd.Series(["x", None, "y"], dtype="string"),
            "k": pd.Categorical([2, None, 1]),
            3: pd.Series(["x", None, "y"], dtype="str"),
        }
    )
    times = Number(-1e10, 1e10)
    texts = Category(["x", "y", 7])
    schema = Schema(
        {
            "a": Number(0, 5),
            "b": Category([0, 1]),
            "c": Number(0, 5),
            "d": Category(["x", "y"]),
            "e": Category([1, 2]),
            "f": times,
            "g": times,
            "h": times,
            "i": texts,
            "j": Category(["x", "y"]),
            "k": Category([1, 2]),
            "3": Category(["x", "y"]),
        }
    )
    pd.testing.assert_frame_equal(round_trip(frame, schema), frame, check_index_type=False)


def test_dates_that_are_levels_become_dates_again():
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01T00:00", "2021-05-05T03:00"])})
    schema = Schema({"day": Category(["2020-01-01", "2021-05-05T03:00:00"])})
    assert round_trip(frame, schema).equals(frame)
    other = pl.from_pandas(frame)
    assert round_trip(other, schema).equals(other)


def test_missing_and_other_values_are_missing_as_pandas_has_them():
    _, _, given = read_rows(make_frame(), schema=SCHEMA)
    rebuilt = given.rebuild(gaps(SCHEMA), 3, SCHEMA)
    assert rebuilt.isna().iloc[1:].all(axis=None)
    assert not rebuilt.isna().iloc[0].any()
    assert rebuilt["age"].dtype == np.float64
    assert rebuilt["age"][0] == 50.0  # whole by its narrow type, though drawn as 50.3
    assert rebuilt["weight"].dtype == np.float32
    assert rebuilt["smokes"].tolist()[0] is True


TABLES = {
    "pandas": lambda values: pd.DataFrame({"a": values}),
    "mapping": lambda values: {"a": np.array(values)},
    "array": lambda values: np.array(values).reshape(-1, 1),
    "nullable": lambda values: pd.DataFrame({"a": pd.array(values)}),
    "arrow beneath": lambda values: pd.DataFrame(
        {"a": pd.Series(values, dtype=pd.ArrowDtype(pa.array(values).type))}
    ),
    "polars": lambda values: pl.DataFrame({"a": values}, strict=False),
    "arrow": lambda values: pa.table({"a": values}),
}


@pytest.mark.parametrize("held", TABLES)
@pytest.mark.parametrize(
    "column",
    [
        *(Number(0, 9), Number(0, 9, whole=True), Number(0, 9, missing=False), Category([1, 2])),
        *(
            Number(0, 9, whole=True, missing=False),
            Category([1, 2.5]),
            Category([1], missing=False),
        ),
    ],
)
def test_the_schema_alone_decides_whether_64_bit_numbers_are_whole(held, column):
    """One fraction, or one empty cell, makes other types of whole numbers."""
    schema, types = Schema({"a": column}), set()
    for values in ([1, 2], [1.0, 2.0], [1, 2.5], [1.0, math.nan]):
        _, _, given = read_rows(TABLES[held](values), schema=schema)
        rebuilt = given.rebuild({"a": encode_values([1, 2], column)}, 2, schema)
        own = rebuilt if held == "array" else rebuilt["a"]
        types.add(str(own.type if held == "arrow" else own.dtype).lower())
    assert len(types) == 1
    plain = held in ("pandas", "mapping", "array")
    whole = isinstance(column, Number) and column.whole and not (plain and column.missing)
    listed = isinstance(column, Category) and not plain and column.levels != (1, 2.5)
    assert ("int" in types.pop()) == (whole or listed)


def test_numbers_stay_within_their_type():
    X = np.zeros((2, 1), dtype=np.int64)
    most = 2.0**51
    schema = Schema({"a": Number(-most, most, whole=True, missing=False)})
    _, _, given = read_rows(X, schema=schema)
    rebuilt = given.rebuild({"a": np.array([1e30, -1e30])}, 2, schema)
    assert rebuilt.dtype == np.int64
    assert rebuilt[0, 0] > 2**62
    assert rebuilt[1, 0] == -(2**63)


@pytest.mark.parametrize("of_arrow", [False, True])
def test_other_frames_come_back_as_they_were(of_arrow):
    frame = make_polars().to_arrow() if of_arrow else make_polars()
    schema = SCHEMA.with_column("grade", Category(["A", "B", "C"]))
    rebuilt = round_trip(frame, schema)
    assert type(rebuilt) is type(frame)
    if of_arrow:
        assert rebuilt.schema.names == frame.schema.names
        assert rebuilt.schema.types == frame.schema.types
        assert rebuilt.to_pylist() == frame.to_pylist()
    else:
        assert rebuilt.schema == frame.schema
        assert rebuilt.equals(frame)
    _, _, given = read_rows(frame, schema=schema)
    missing = given.rebuild(gaps(schema), 3, schema)
    counts = [missing[name].null_count for name in schema]
    assert [count if of_arrow else count() for count in counts] == [2] * 6


def test_polars_times_durations_and_decimals():
    frame = pl.DataFrame(
        {
            "day": [dt.date(2020, 1, 1), None],
            "hour": [dt.time(3, 30), None],
            "stay": [dt.timedelta(hours=5), None],
            "cost": pl.Series(["1.25", None]).cast(pl.Decimal(10, 2)),
            "flag": [True, None],
        }
    )
    schema = Schema({**dict.fromkeys(frame.columns, Number(-1e10, 1e10)), "flag": Number(0, 1)})
    assert round_trip(frame, schema).equals(frame)
    assert round_trip(frame.to_arrow(), schema).to_pylist() == frame.to_arrow().to_pylist()


def test_polars_objects_are_refused():
    frame = pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)})
    with pytest.raises(DataError, match="cast it"):
        read_rows(frame, schema=Schema({"a": Category(["x"])}))


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1, 2], [3, 4]], dtype=np.int32),
        np.array([[1.5, 2], [3, 4]], dtype=np.float32),
        np.array([[True, False], [False, True]]),
        np.array([["1", "2"], ["3", "4"]]),
        np.array([["x", 2.0], ["y", 4.0]], dtype=object),
    ],
)
def test_arrays_keep_their_type(X):
    text = X.dtype.kind in "UO"
    first = Category(["1", "3", "x", "y"]) if text else Number(0, 5)
    second = Category(["2", "4"]) if X.dtype.kind == "U" else Number(0, 5)
    for names in (("x0", "x1"), ("first", "second")):  # columns without names: by place
        rebuilt = round_trip(X, Schema(dict(zip(names, (first, second), strict=True))))
        assert rebuilt.dtype == X.dtype
        assert (rebuilt == X).all()


def test_an_array_with_gaps():
    X = np.zeros((2, 2), dtype=np.int64)
    _, schema, given = read_rows(X, schema=Schema({"a": Number(0, 9), "b": Category([0, 1])}))
    rebuilt = given.rebuild({"a": np.array([2.6, 1]), "b": np.array([1, 2])}, 2, schema)
    np.testing.assert_array_equal(rebuilt, [[2.6, 1], [1, np.nan]])


def test_lists_and_mappings():
    schema = Schema({"x0": Number(0, 9), "x1": Category(["a", "b"])})
    assert round_trip([[1, "a"], (2.0, None)], schema) == [[1.0, "a"], [2.0, None]]
    named = Schema({"n": Number(0, 9), "t": Category(["a", "b"])})
    records = [{"t": "a", "n": 1}, {"n": 2, "t": "z"}]
    assert round_trip(records, named) == [{"t": "a", "n": 1.0}, {"t": None, "n": 2.0}]
    rows, _, _ = read_rows(records, schema=named)
    assert protect(rows, schema=named).schema == named
    mapping = {"t": ["a", "b"], "n": np.array([1, 2], dtype=np.int16)}
    rebuilt = round_trip(mapping, named)
    assert list(rebuilt) == ["t", "n"]
    assert rebuilt["t"] == ["a", "b"]
    assert rebuilt["n"].dtype == np.int16
    series = round_trip({"n": pd.Series([1, 2])}, Schema({"n": Number(0, 9)}))
    assert series["n"].dtype == np.float64


def test_a_key_that_the_first_mapping_lacks_is_missing_there():
    """Whether there is an error, and which columns there are, must not hang on one row."""
    named = Schema({"n": Number(0, 9), "t": Category(["a", "b"])})
    records = [{"n": 1}, {"n": 2, "t": "b"}]
    rows, _, given = read_rows(records, schema=named)
    assert rows == {"n": [1, 2], "t": [None, "b"]}
    assert protect(rows, schema=named).schema == named
    assert [one.name for one in given.form.columns] == ["n", "t"]


def test_a_parquet_file(tmp_path):
    frame = make_frame()
    frame.to_parquet(tmp_path / "rows.parquet")
    rows, schema, given = read_rows(tmp_path / "rows.parquet", schema=SCHEMA)
    assert rows == tmp_path / "rows.parquet"
    rebuilt = given.rebuild(given.encode(frame, schema), ROWS, schema)
    assert as_text(rebuilt).equals(as_text(frame))
    assert read_rows(str(tmp_path / "rows.parquet"), schema=None)[1] is None
    with pytest.raises(DataError, match="not a Parquet"):
        read_rows(tmp_path / "nothing", schema=None)
    with pytest.raises(DataError, match="not by a path"):
        given.encode(tmp_path / "rows.parquet", schema)


def test_nothing_private_travels():
    secret = "secret-level"
    frame = pd.DataFrame({"a": pd.Categorical([secret, "x"]), "b": [31337, 1]})
    schema = Schema({"a": Category(["x"]), "b": Number(0, 5)})
    _, _, given = read_rows(frame, schema=schema)
    stored = pickle.dumps(given)
    assert secret.encode() not in stored
    assert secret not in repr(given)
    assert "31337" not in repr(given)


def fit_forest(frame):
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["ward", "grade"]),
        ("passthrough", ["age", "weight", "smokes"]),
    )
    forest = RandomForestClassifier(10, random_state=0)
    return make_pipeline(encode, forest).fit(frame, np.arange(len(frame)) % 3)


@pytest.mark.parametrize("convert", [as_text, make_frame, pl.from_pandas])
def test_a_pipeline_takes_rebuilt_rows_for_its_own(convert):
    frame = make_frame() if convert is make_frame else convert(as_text(make_frame()))
    frame = frame.drop(columns="seen") if isinstance(frame, pd.DataFrame) else frame.drop("seen")
    model = fit_forest(frame)
    schema = SCHEMA.select([name for name in SCHEMA if name != "seen"])
    rebuilt = round_trip(frame, schema)
    assert (model.predict_proba(rebuilt) == model.predict_proba(frame)).all()


def test_columns_that_the_schema_lacks():
    frame = make_frame()
    small = SCHEMA.select(["age", "weight"])
    with pytest.raises(SchemaError, match="'smokes', 'grade', 'ward', 'seen'"):
        read_rows(frame, schema=small)
    with pytest.raises(SchemaError, match="'ward'"):
        read_rows(frame, schema=small, names_read=["age", "ward"])
    with pytest.raises(SchemaError, match="'x2'"):
        read_rows(np.zeros((3, 3)), schema=Schema({"x0": Number(0, 1), "x1": Number(0, 1)}))
    with pytest.raises(SchemaError, match="column 'c'"):
        read_rows([{"a": 1, "c": 2}], schema=Schema({"a": Number(0, 1)}))
    with pytest.raises(DataError, match="'pulse'"):
        read_rows(frame, schema=SCHEMA, names_read=["age", "pulse"])
    _, _, given = read_rows(frame, schema=small, names_read=["weight", "age"])
    columns = given.encode(frame, small)
    assert list(given.rebuild(columns, ROWS, small).columns) == ["weight", "age"]
    rows, described, _ = read_rows(frame, schema=None, names_read=["weight", "age"])
    assert list(rows.columns) == ["weight", "age"]
    assert described is None  # `protect` tells kinds by types, and receipts say so
    assert read_rows(frame, schema=None, names_read=list(frame.columns))[1] is None


def test_whose_rows_they_are_is_not_handed_over():
    schema = Schema({"age": Number(0, 100)}, unit=Unit("who"))
    frame = pd.DataFrame({"who": ["a", "b"], "age": [1, 2]})
    _, _, given = read_rows(frame, schema=schema)
    rebuilt = given.rebuild(given.encode(frame, schema), 2, schema)
    assert list(rebuilt.columns) == ["age"]
    assert given.tell(frame, schema) == ((("1",), ("2",)), (("",), ("",)))


def test_levels_that_cannot_be_values_of_the_column():
    frame = pd.DataFrame({"a": [1, 2]})
    schema = Schema({"a": Category(["x", "y"])})
    for X in (frame, pl.from_pandas(frame), frame.to_numpy()):
        _, _, given = read_rows(X, schema=schema)
        with pytest.raises(SchemaError, match=r"levels of column 'a'.*int64"):
            given.rebuild({"a": np.array([0, 1])}, 2, schema)
    narrow = np.array([1, 2], np.int32)
    for levels, values in (([1.5, 2], narrow), (["no", "yes"], [True, False])):
        schema, frame = Schema({"a": Category(levels)}), pd.DataFrame({"a": values})
        for X in (frame, pl.from_pandas(frame)):
            _, _, given = read_rows(X, schema=schema)
            with pytest.raises(SchemaError, match="levels of column 'a'"):
                given.rebuild({"a": np.array([0, 1])}, 2, schema)


@pytest.mark.parametrize("X", [np.zeros(3), pd.Series([1, 2]), [], ["a", "text"], 5, [1, 2]])
def test_what_is_no_table(X):
    with pytest.raises((DataError, SettingError)):
        read_rows(X, schema=None)


def test_single_rows():
    frame = make_frame()
    _, _, given = read_rows(frame, schema=SCHEMA)
    whole = given.encode(frame, SCHEMA)
    record = frame.iloc[3].to_dict()
    for Z in (frame.iloc[3], record, [record], frame.iloc[[3]]):
        one = given.encode(Z, SCHEMA)
        assert all(len(one[name]) == 1 and one[name][0] == whole[name][3] for name in SCHEMA)
    values = [record[name] for name in SCHEMA]
    for Z in (values, tuple(values), [values], np.array(values, dtype=object)):
        one = given.encode(Z, SCHEMA)
        assert all(one[name][0] == whole[name][3] for name in SCHEMA)
    shown, read_as = given.tell({**record, "age": 500, "ward": "Z"}, SCHEMA)
    assert shown[0][0] == "500"
    assert read_as[0][0] == "100"
    assert read_as[0][2] == "(other)"


WORDS = ["good", "bad", "film", "x0"]
TEXTS = ["A good, GOOD film!", "bad", "", "goods x0"]


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pl.Series])
def test_texts(make):
    rows, schema, given = read_rows(make(TEXTS), schema=None, vocabulary=WORDS)
    assert dict(schema) == dict.fromkeys(WORDS, Number(0, 1, whole=True, missing=False))
    assert protect(rows, schema=schema).schema == schema
    expected = CountVectorizer(vocabulary=WORDS, binary=True).transform(TEXTS).toarray()
    assert (np.column_stack(list(rows.values())) == expected).all()
    table = given.rebuild(given.encode(make(TEXTS), schema), 4, schema)
    assert table.dtype == np.int64
    assert (table == expected).all()
    assert given.encode("bad film", schema)["film"].tolist() == [1.0]
    assert given.encode(expected, schema)["good"].tolist() == [1, 0, 0, 0]
    assert given.tell("bad film", schema)[0] == (("0", "1", "1", "0"),)


def test_texts_for_a_model_of_texts():
    _, schema, given = read_rows(TEXTS, schema=None, vocabulary=WORDS, texts_to_model=True)
    rebuilt = given.rebuild(given.encode(TEXTS, schema), 4, schema)
    assert rebuilt == ["good film", "bad", "", "x0"]


def test_private_values_that_are_no_text_cause_no_error():
    rows, _, _ = read_rows(["good", None, 3.5, b"good"], schema=None, vocabulary=WORDS)
    assert rows["good"].tolist() == [1, 0, 0, 0]


def test_vocabularies_that_are_refused():
    for vocabulary in ("good", ["Good"], ["a"], ["two words"], [3], [], ["good", "good"]):
        with pytest.raises(SettingError, match="vocabulary"):
            read_rows(TEXTS, schema=None, vocabulary=vocabulary)
    with pytest.raises(SettingError, match="vocabulary"):
        read_rows(TEXTS, schema=None)
    with pytest.raises(SettingError, match="vocabulary"):
        read_rows(pd.Series(TEXTS), schema=None, texts_to_model=True)
    with pytest.raises(DataError, match="table of words"):
        read_rows(np.zeros((2, 4)), schema=None, vocabulary=WORDS)
    with pytest.raises(SchemaError, match="vocabulary"):
        read_rows(TEXTS, schema=Schema({"good": Number(0, 1)}), vocabulary=WORDS)
    named = Schema(dict.fromkeys(WORDS, Number(0, 1)), rows=4)
    assert read_rows(TEXTS, schema=named, vocabulary=WORDS)[1] is named


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (2, 3, 3)])
def test_pictures(shape):
    X = np.random.default_rng(0).integers(0, 256, (5, *shape), dtype=np.uint8)
    rows, schema, given = read_rows(X, schema=None)
    assert set(schema.values()) == {Number(0, 255, whole=True, missing=False)}
    assert len(schema) == np.prod(shape)
    assert protect(rows, schema=schema).schema == schema
    rebuilt = given.rebuild(given.encode(X, schema), 5, schema)
    assert rebuilt.dtype == np.uint8
    assert rebuilt.shape == X.shape
    assert (rebuilt == X).all()
    for Z in (X[2], X[2].ravel(), X[2].tolist(), X[[2]].tolist()):
        one = given.encode(Z, schema)
        assert [one[name][0] for name in schema] == X[2].ravel().tolist()
    with pytest.raises(DataError, match="shape"):
        given.encode(np.zeros((2, 7, 7)), schema)


def test_flat_pictures_and_other_types():
    X = np.random.default_rng(0).uniform(size=(5, 6)).astype(np.float32)
    with pytest.raises(SchemaError, match="pixel_range"):
        read_rows(X, schema=None, image_shape=(2, 3))
    _, schema, given = read_rows(X, schema=None, image_shape=(2, 3), pixel_range=(0, 1))
    assert given.image_shape == (2, 3)
    rebuilt = given.rebuild(given.encode(X, schema), 5, schema)
    assert rebuilt.dtype == np.float32
    assert (rebuilt == X).all()
    assert (given.encode(X[0].reshape(2, 3), schema)["x1"] == X[0, 1]).all()
    own = Schema({f"p{i}": Number(0, 2) for i in range(6)})
    assert read_rows(X, schema=own, image_shape=(2, 3))[1] is own
    truths = read_rows(X > 0.5, schema=None, image_shape=(2, 3))[1]
    assert set(truths.values()) == {Number(0, 1, whole=True, missing=False)}
    frame = pd.DataFrame((X * 255).astype(np.uint8), columns=list("abcdef"))
    _, schema, given = read_rows(frame, schema=None, image_shape=(2, 3))
    assert schema == Schema(dict.fromkeys("abcdef", Number(0, 255, whole=True, missing=False)))
    assert given.rebuild(given.encode(frame, schema), 5, schema).equals(frame)
    pictures = X.reshape(5, 2, 3).tolist()
    _, schema, given = read_rows(pictures, schema=None, image_shape=(2, 3), pixel_range=(0, 1))
    assert given.rebuild(given.encode(pictures, schema), 5, schema).shape == (5, 2, 3)
    for shape in ((2, 4), (6,), (2, 0), "ab"):
        with pytest.raises((DataError, SettingError), match="image_shape"):
            read_rows(X, schema=None, image_shape=shape, pixel_range=(0, 1))
    with pytest.raises(SettingError, match="image_shape"):
        read_rows(X, schema=None, pixel_range=(0, 1))
