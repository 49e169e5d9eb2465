"""Schemas: what they accept, what they say, how they are read and written."""

import copy
import datetime as dt
import json
import pickle
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.errors import DataError, SchemaError
from voile.schema import Category, Date, Number, Schema
from voile.schema.frames import describe_frame, recognise_frame
from voile.schema.kinds import Kind, kind_of_values

SCHEMA = Schema(
    {"age": Number(17, 90), "job": Category(["clerk", "nurse"]), "pay": Number()},
    target=Category([False, True]),
    rows=100,
)

# -- columns ---------------------------------------------------------------------------------------


def test_number_keeps_floats_and_tells_whether_it_is_known():
    number = Number(np.int64(17), np.float32(90.5))
    assert (number.lower, number.upper) == (17.0, 90.5)
    assert type(number.lower) is float
    assert type(number.upper) is float
    assert number.known
    assert not Number().known
    assert repr(Number(17, 90.5)) == "Number(17, 90.5)"
    assert repr(Number()) == "Number()"
    assert repr(Number(whole=True)) == "Number(whole=True)"
    assert repr(Number(0, 9, missing=False)) == "Number(0, 9, missing=False)"
    assert repr(Category(["a"], missing=False)) == "Category(['a'], missing=False)"


@pytest.mark.parametrize("most", [2.5, 2.0**52, 1e300])
def test_whole_numbers_have_whole_bounds(most):
    with pytest.raises(SchemaError, match="whole"):
        Number(0, most, whole=True)
    with pytest.raises(SchemaError, match="whole"):
        Number(-most, 0, whole=True)
    with pytest.raises(SchemaError, match="True or False"):
        Number(0, 1, whole=most)
    with pytest.raises(SchemaError, match="True or False"):
        Category(missing=None)


@pytest.mark.parametrize(
    "bounds",
    [
        (1,),
        (None, 1),
        (1, 1),
        (2, 1),
        (float("nan"), 1),
        (0, float("inf")),
        ("0", 1),
        (False, True),
        (0, 10**400),
        (-1.7e308, 1.7e308),
        (0, 1j),
    ],
)
def test_number_refuses(bounds):
    with pytest.raises(SchemaError):
        Number(*bounds)


@pytest.mark.parametrize("levels", [["a", "b"], ("a", "b"), np.array(["a", "b"]), iter("ab")])
def test_category_accepts_any_sequence(levels):
    category = Category(levels)
    assert category.levels == ("a", "b")
    assert all(type(level) is str for level in category.levels)
    assert category == Category(["a", "b"])
    assert hash(category) == hash(Category(("a", "b")))


def test_category_keeps_types():
    assert Category(range(3)).levels == (0, 1, 2)
    mixed = Category([True, "1", 2, 2.5, np.float64(0.0), np.bool_(False)][:5])
    assert [type(level) for level in mixed.levels] == [bool, str, int, float, float]
    assert Category([]).known
    assert not Category().known
    assert repr(Category(("a", 1))) == "Category(['a', 1])"


@pytest.mark.parametrize(
    "levels",
    [
        "ab",
        b"ab",
        {"a", "b"},
        {"a": 1},
        3,
        ["a", "a"],
        [1, True],
        [1, 1.0],
        [None],
        [float("nan")],
        [float("inf")],
        [b"a"],
        [["a"]],
        ["\ud800"],
        [2**65],
        [dt.date(2020, 1, 1)],
    ],
)
def test_category_refuses(levels):
    with pytest.raises(SchemaError):
        Category(levels)


# -- schema ----------------------------------------------------------------------------------------


def test_schema_is_an_immutable_mapping():
    assert SCHEMA["age"] == Number(17, 90)
    assert list(SCHEMA) == ["age", "job", "pay"]
    assert len(SCHEMA) == 3
    assert "age" in SCHEMA
    assert "nothing" not in SCHEMA
    with pytest.raises(TypeError):
        SCHEMA.columns["age"] = Number()
    with pytest.raises(AttributeError):
        SCHEMA.rows = 3
    source = {"a": Number()}
    schema = Schema(source)
    source["b"] = Number()
    assert list(schema) == ["a"]


def test_schema_equality_hash_copies_and_repr():
    same = Schema(dict(SCHEMA), target=Category([False, True]), rows=100)
    assert same == SCHEMA
    assert hash(same) == hash(SCHEMA)
    assert SCHEMA.with_rows(101) != SCHEMA
    assert SCHEMA.select(["pay", "job", "age"]) != SCHEMA
    assert dict(SCHEMA) != SCHEMA
    assert copy.deepcopy(SCHEMA) == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert eval(repr(SCHEMA)) == SCHEMA


def test_schema_tells_what_is_known():
    assert SCHEMA.numbers == ("age", "pay")
    assert SCHEMA.categories == ("job",)
    assert not SCHEMA.known
    assert SCHEMA.missing_facts == ("column 'pay' has no bounds",)
    unknown = Schema({"a": Category()}, target=Category())
    assert unknown.missing_facts == ("column 'a' has no categories", "the target has no classes")
    assert unknown.with_target(Number()).missing_facts[1] == "the target has no bounds"
    assert SCHEMA.with_column("pay", Number(0, 1)).known
    assert Schema({}).known


def test_schema_derives_others():
    more = SCHEMA.with_column("new", Category())
    assert list(more) == ["age", "job", "pay", "new"]
    assert more.target == SCHEMA.target
    assert list(SCHEMA.with_column("job", Number())) == ["age", "job", "pay"]
    assert SCHEMA.with_target(None).target is None
    assert SCHEMA.with_rows(None).rows is None
    assert list(SCHEMA.select(["pay", "age"])) == ["pay", "age"]
    assert list(SCHEMA.select("pay")) == ["pay"]
    with pytest.raises(SchemaError, match="'no'"):
        SCHEMA.select(["no"])
    with pytest.raises(SchemaError, match="twice"):
        SCHEMA.select(["age", "age"])


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ([("a", Number())], {}),
        ({1: Number()}, {}),
        ({"": Number()}, {}),
        ({"a": Number}, {}),
        ({"a": (0, 1)}, {}),
        ({"a": None}, {}),
        ({"a": np.zeros(2)}, {}),
        ({}, {"target": "yes"}),
        ({}, {"rows": 0}),
        ({}, {"rows": True}),
        ({}, {"rows": 1.0}),
    ],
)
def test_schema_refuses(columns, options):
    with pytest.raises(SchemaError):
        Schema(columns, **options)


# -- files -----------------------------------------------------------------------------------------

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8
) | st.sampled_from(
    [
        "1",
        "true",
        "null",
        "~",
        "yes",
        "1e5",
        "2020-01-01",
        "0x1",
        "=",
        "<<",
        " a",
        "#",
        "\x85\ufeff",
    ]
)
levels = (
    st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
bounds = st.just(()) | st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2, unique=True).map(
    sorted
)
whole_bounds = st.just(()) | st.lists(
    st.integers(-(2**51), 2**51), min_size=2, max_size=2, unique=True
).map(sorted)
numbers = st.builds(
    lambda ends, missing: Number(*ends, missing=missing), bounds, st.booleans()
) | st.builds(
    lambda ends, missing: Number(*ends, whole=True, missing=missing), whole_bounds, st.booleans()
)
categories = st.builds(
    Category, st.none() | st.lists(levels, unique=True, max_size=5), missing=st.booleans()
)
columns = numbers | categories
schemas = st.builds(
    Schema,
    st.dictionaries(texts.filter(bool), columns, max_size=4),
    target=st.none() | columns,
    rows=st.none() | st.integers(1, 10**12),
)


def types_of(schema):
    return [
        [(type(level), repr(level)) for level in column.levels]
        for column in [*schema.values(), schema.target]
        if isinstance(column, Category) and column.levels
    ]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(schemas)
def test_schemas_survive_every_format(schema):
    for again in (
        Schema.from_dict(schema.to_dict()),
        Schema.from_dict(json.loads(json.dumps(schema.to_dict()))),
        Schema.from_json(schema.to_json()),
        Schema.from_yaml(schema.to_yaml()),
    ):
        assert again == schema
        assert types_of(again) == types_of(schema)


def test_what_is_usual_is_not_written():
    """Files of earlier versions say nothing of whole numbers and gaps, and mean the same."""
    schema = Schema({"a": Number(0, 1), "b": Category(["x"]), "c": Number()})
    assert schema.to_dict()["columns"] == {
        "a": {"kind": "number", "lower": 0.0, "upper": 1.0},
        "b": {"kind": "category", "levels": ["x"]},
        "c": {"kind": "number"},
    }
    said = Schema({"a": Number(0, 1, whole=True), "b": Category(missing=False)})
    assert said.to_dict()["columns"] == {
        "a": {"kind": "number", "lower": 0.0, "upper": 1.0, "whole": True},
        "b": {"kind": "category", "missing": False},
    }


@pytest.mark.parametrize("name", ["schema.json", "schema.yaml", "schema.YML"])
def test_save_and_load(tmp_path, name):
    schema = SCHEMA.with_column("größe", Category(["ä", "1", 1]))
    schema.save(tmp_path / name)
    assert Schema.load(str(tmp_path / name)) == schema


def test_save_and_load_refuse(tmp_path):
    with pytest.raises(SchemaError, match=r"must end in"):
        SCHEMA.save(tmp_path / "schema.txt")
    with pytest.raises(SchemaError, match=r"There is no file .*none\.json': check the path\.$"):
        Schema.load(tmp_path / "none.json")
    with pytest.raises(SchemaError, match=r"cannot be read: Is a directory\.$"):
        Schema.load(tmp_path.rename(tmp_path.with_suffix(".json")))
    tmp_path.mkdir()
    with pytest.raises(SchemaError, match="No file can be called"):
        Schema.load("a\0.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "binary.json")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]", "the schema must be a mapping (key: value). Got a list instead"),
        ("", "the schema must be a mapping (key: value). Got nothing instead"),
        ("columns: {}", "voile_schema"),
        ("{voile_schema: 2, columns: {}}", "voile_schema"),
        ("{voile_schema: true, columns: {}}", "voile_schema"),
        ("{voile_schema: 1}", "no 'columns'"),
        ("{voile_schema: 1, columns: {}, target_: 1}", "'target_'"),
        ("{voile_schema: 1, columns: []}", "'columns' must be a mapping"),
        ("{voile_schema: 1, columns: {1: {kind: number}}}", "quotes"),
        ("{voile_schema: 1, columns: {a: number}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: numbre}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: [number]}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: number, low: 1}}}", "'low'"),
        ("{voile_schema: 1, columns: {a: {kind: number, levels: [1]}}}", "'levels'"),
        ("{voile_schema: 1, columns: {a: {kind: number, lower: 1}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: number, lower: '1', upper: 2}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: number, lower: .nan, upper: 2}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: number, whole: 1}}}", "'whole' of a Number"),
        ("{voile_schema: 1, columns: {a: {kind: number, missing: none}}}", "True or False"),
        ("{voile_schema: 1, columns: {a: {kind: number, missing: no}}}", "no without quotes"),
        ("{voile_schema: 1, columns: {a: {kind: category, whole: true}}}", "'whole'"),
        (
            "{voile_schema: 1, columns: {a: {kind: number, lower: 0, upper: 2.5, whole: true}}}",
            "column 'a': The bounds of whole numbers",
        ),
        ("{voile_schema: 1, columns: {a: {kind: category, levels: ab}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: category, levels: {a: 1}}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: category, levels: [[a]]}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {a: {kind: category, levels: [2020-01-01]}}}", "as a date"),
        ("{voile_schema: 1, columns: {a: {kind: category, levels: [a, a]}}}", "column 'a'"),
        ("{voile_schema: 1, columns: {}, target: 3}", "the target"),
        ("{voile_schema: 1, columns: {}, rows: many}", "'rows'"),
        ("{voile_schema: 1, columns: {}, rows: 0}", "'rows'"),
        ("{voile_schema: 1, columns: {a: {kind: number}, a: {kind: category}}}", "'a' twice"),
        (
            "{voile_schema: 1, columns: {a: {kind: category, levels: [No, Maybe]}}}",
            "No without quotes",
        ),
        ("{voile_schema: 1, columns: {a: {kind: category, levels: [off, on]}}}", '"off" for the'),
        ("{voile_schema: 1, columns: &a {}, target: *a}", "alias"),
        ("{voile_schema: 1, columns: !!python/object:os.system {}}", "not valid YAML"),
        ("{voile_schema: 1, columns: {a: {kind: category, levels: [2020-99-99]}}}", "as a date"),
        ("{voile_schema: 1, columns: {a: {kind: date, lower: 2020-99-99}}}", "not valid YAML"),
        ("{", "not valid YAML"),
        ("a: b: c", "not valid YAML"),
    ],
)
def test_yaml_is_read_strictly(text, place):
    with pytest.raises(SchemaError, match=re.escape(place)):
        Schema.from_yaml(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "not valid JSON"),
        ('{"voile_schema": 1, "voile_schema": 1, "columns": {}}', "twice"),
        ('{"voile_schema": 1, "columns": {"a": {"kind": "number", "lower": NaN}}}', "NaN"),
        ('{"voile_schema": 1.0, "columns": {}}', "voile_schema"),
        ("[" * 100_000, "not valid JSON"),
        ("1" * 5000, r"not valid JSON of the schema \(a number is too long\)"),
        ('{"a": 1,', r"not valid JSON of the schema \(line 1, column 9 cannot be read\)"),
        ("", r"not valid JSON of the schema \(it is empty\)"),
    ],
)
def test_json_is_read_strictly(text, place):
    with pytest.raises(SchemaError, match=place):
        Schema.from_json(text)


# -- from frames -----------------------------------------------------------------------------------

MOMENTS = [dt.datetime(2020, 1, 1), None]


def test_from_pandas():
    frame = pd.DataFrame(
        {
            "int": [1, 2],
            "float": [1.5, None],
            "nullable": pd.array([1, None], dtype="Int64"),
            "flag": [True, False],
            "maybe": pd.array([True, None], dtype="boolean"),
            "text": ["a", None],
            "object": pd.Series([1, "a"], dtype=object),
            "days": pd.Series([dt.date(2020, 1, 1), None], dtype=object),
            "sums": pd.Series([Decimal(1), None], dtype=object),
            "category": pd.Categorical(["a", "b"]),
            "ordered": pd.Categorical(["a", "b"], ordered=True),
            "moment": pd.to_datetime(pd.Series(MOMENTS)),
            "lapse": pd.to_timedelta([1, 2], unit="s"),
            3: [1, 2],
        }
    )
    schema = Schema.from_frame(frame, target=Category([0, 1]))
    assert schema.target == Category([0, 1])
    assert list(schema)[-1] == "3"
    flags = {name for name in schema if schema[name] == Category([False, True])}
    assert flags == {"flag", "maybe"}
    assert set(schema.categories) - flags == {
        *("text", "object", "days", "sums", "category", "ordered")
    }
    assert all(not schema[name].known for name in schema if name not in flags)
    assert set(schema.numbers) == {"int", "float", "nullable", "moment", "lapse", "3"}


def test_from_polars_and_arrow(tmp_path):
    frame = pl.DataFrame(
        {
            "int": [1, 2],
            "flag": [True, None],
            "text": ["a", "b"],
            "category": pl.Series(["a", "b"], dtype=pl.Categorical),
            "moment": MOMENTS,
            "day": [dt.date(2020, 1, 1), None],
            "clock": [dt.time(1), None],
            "lapse": [dt.timedelta(1), None],
            "sum": [Decimal("1.5"), None],
            "list": [[1], None],
            "null": [None, None],
            "bytes": [b"a", None],
        }
    )
    expected = Schema(
        {
            name: Number()
            if name in ("int", "clock", "lapse", "sum")
            else Date(time=name == "moment")
            if name in ("moment", "day")
            else Category([False, True])
            if name == "flag"
            else Category()
            for name in frame.columns
        }
    )
    table = frame.to_arrow()
    assert Schema.from_frame(frame) == expected
    assert Schema.from_frame(table) == expected
    assert Schema.from_frame(table.to_batches()[0]) == expected
    pa.parquet.write_table(table, tmp_path / "part.parquet")
    assert Schema.from_frame(tmp_path / "part.parquet") == expected
    assert Schema.from_frame(str(tmp_path)) == expected
    assert Schema.from_frame(pa.dataset.dataset(tmp_path)) == expected
    declared = frame.select(pl.col("text").cast(pl.Enum(["b", "a", "c"])))
    assert Schema.from_frame(declared)["text"] == Category(["b", "a", "c"])


@pytest.mark.parametrize(
    "kind", [pa.decimal256(50, 1), pa.float16(), pa.time32("s"), pa.duration("ns")]
)
def test_from_rarer_arrow_types(kind):
    assert Schema.from_frame(pa.table({"a": pa.array([None], kind)}))["a"] == Number()
    table = pa.table({"a": pa.array([None], pa.date64()), "b": pa.array([None], pa.date32())})
    assert Schema.from_frame(table) == Schema({"a": Date(time=True), "b": Date()})


def test_from_arrays_mappings_and_lists():
    assert Schema.from_frame(np.zeros((3, 2))) == Schema({"x0": Number(), "x1": Number()})
    assert Schema.from_frame(np.zeros(3, int)) == Schema({"x0": Number()})
    assert Schema.from_frame(np.zeros((3, 1), bool))["x0"] == Category([False, True])
    assert Schema.from_frame(np.zeros((3, 1), object))["x0"] == Category()
    assert Schema.from_frame(np.array([["a"]]))["x0"] == Category()
    assert Schema.from_frame(np.zeros((3, 1), "M8[s]"))["x0"] == Date(time=True)
    assert Schema.from_frame(np.zeros((3, 1), "M8[D]"))["x0"] == Date()
    assert Schema.from_frame(np.zeros((3, 1), "m8[D]"))["x0"] == Number()
    assert Schema.from_frame([[1, "a"], [2, "b"]]) == Schema({"x0": Category(), "x1": Category()})
    assert len(Schema.from_frame([])) == 0
    mapping = {"a": np.zeros(2), 2: pd.Series(["a", "b"]), "c": [1, 2], "d": pa.array([1, 2])}
    assert Schema.from_frame(mapping) == Schema(
        {"a": Number(), "2": Category(), "c": Category(), "d": Number()}
    )

    class ArrayLike:
        def __array__(self, dtype=None, copy=None):
            return np.zeros((2, 1))

    assert Schema.from_frame(ArrayLike()) == Schema({"x0": Number()})


def test_from_frame_never_depends_on_values():
    """Object columns look alike to a schema, whatever is in them."""
    contents = [[1, 2], ["a", "b"], [dt.date(2020, 1, 1)] * 2, [None, None], [True, False], [1j, 2]]
    for content in contents:
        frame = pd.DataFrame({"a": pd.Series(content, dtype=object)})
        assert Schema.from_frame(frame) == Schema({"a": Category()})
    assert Schema.from_frame(pd.DataFrame({"a": pd.Series([], dtype=float)}))["a"] == Number()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.LazyFrame({"a": [1]}), "collect"),
        (scipy.sparse.csr_matrix(np.eye(2)), "toarray"),
        (scipy.sparse.coo_array(np.eye(2)), "toarray"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than once"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1' occurs more than once"),
        (pa.table([[1], [2]], names=["a", "a"]), "more than once"),
        (pd.DataFrame({"": [1]}), "empty name"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.array(3.0), "0 dimensions"),
        (np.zeros(2, [("a", float)]), "Structured"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        (pd.DataFrame({"a": [1j]}), "Complex data not supported"),
        (pd.Series([1.0]), "not a table"),
        ([1, 2], "list of int"),
        ([{"a": 1}], "list of dict"),
        ({"a": "text"}, "column 'a'"),
        ({"a": np.zeros((2, 2))}, "column 'a'"),
        (3, "not a table"),
        (None, "not a table"),
    ],
)
def test_from_frame_refuses(frame, message):
    with pytest.raises(DataError, match=message):
        Schema.from_frame(frame)


def test_from_path_refuses(tmp_path):
    (tmp_path / "table.parquet").write_text("no")
    with pytest.raises(DataError, match="Parquet"):
        Schema.from_frame(tmp_path / "table.parquet")
    with pytest.raises(DataError, match="Parquet"):
        Schema.from_frame("nowhere.parquet")


def test_recognised_frames_do_not_print_rows():
    assert "31337" not in repr(recognise_frame(pd.DataFrame({"a": [31337]})))
    assert describe_frame({"a": np.zeros(1, bool)})[0].kind is Kind.BOOLEAN
    assert kind_of_values([1, 2]) is Kind.OTHER
