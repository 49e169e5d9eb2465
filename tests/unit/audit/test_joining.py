"""One row more: of every kind of table, never cut, and nothing else changed."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from voile.audit.joining import add_row, all_but_last, last_row
from voile.errors import DataError

# -- arrays ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 5, 5), (4, 2, 3, 3), (0, 3)])
def test_arrays_of_any_shape(shape):
    table = np.arange(np.prod(shape), dtype=float).reshape(shape)
    row = np.full(shape[1:], -1.0)
    for given in (row, row[None], row.tolist()):
        joined = add_row(table, given)
        assert joined.shape == (shape[0] + 1, *shape[1:])
        assert np.array_equal(joined[:-1], table)
        assert np.array_equal(last_row(joined), row[None])
        assert np.array_equal(all_but_last(joined), table)


@pytest.mark.parametrize(
    ("kind", "value", "wanted", "kept"),
    [
        (np.int64, 0.5, np.float64, 0.5),
        (np.int64, 2.0, np.int64, 2),
        (np.int64, np.nan, np.float64, np.nan),
        (np.int64, None, np.float64, np.nan),
        (np.uint8, 255, np.uint8, 255),
        (np.uint8, 300, np.int64, 300),
        (np.uint8, -1, np.int64, -1),
        (np.int8, 1e300, np.float64, 1e300),
        (np.float32, 0.1, np.float32, np.float32(0.1)),
        (np.float32, 1e300, np.float64, 1e300),
        (np.float16, 7, np.float16, 7),
        (np.float64, True, np.float64, 1.0),
        (np.bool_, True, np.bool_, True),
        (np.bool_, 3, np.int64, 3),
        ("<U1", "longer", "<U6", "longer"),
        (object, "text", object, "text"),
        (object, None, object, None),
        ("M8[D]", np.datetime64("2024-01-31"), "M8[D]", np.datetime64("2024-01-31")),
    ],
)
def test_values_are_not_cut_and_types_change_only_where_they_must(kind, value, wanted, kept):
    joined = add_row(np.zeros(3, dtype=kind), value)
    assert joined.dtype == wanted
    assert joined[-1] == kept or (joined[-1] != joined[-1] and kept != kept)
    assert len(joined) == 4


@pytest.mark.parametrize(
    ("table", "row"),
    [
        (np.zeros((3, 2)), ["a", "b"]),
        (np.zeros((3, 2)), [1.0, "b"]),
        (np.zeros(3), "1"),
        (np.array(["a"]), 1),
        (np.zeros((3, 2)), [1.0]),
        (np.zeros((3, 2)), 1.0),
        (np.zeros((3, 2)), [[1.0, 2.0], [3.0, 4.0]]),
        (np.zeros((3, 2)), [[1.0], [1.0, 2.0]]),
        (np.zeros((3, 2, 2)), [1.0, 2.0]),
        (np.zeros(3), [1.0, 2.0]),
        (np.array(1.0), 2.0),
        (np.zeros(3), 1j),
    ],
)
def test_rows_of_another_shape_or_kind_are_refused(table, row):
    with pytest.raises(DataError):
        add_row(table, row)


# -- pandas ----------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {
        "n": [1, 2],
        "f": np.array([0.5, 1.5], dtype=np.float32),
        "t": ["x", "y"],
        "c": pd.Categorical(["u", "v"], categories=["v", "u"], ordered=True),
        "b": [True, False],
        "d": pd.to_datetime(["2024-01-01", "2024-01-02"]),
        "m": pd.array([1, None], dtype="Int64"),
    }
)
ROW = {
    "n": 3,
    "f": 0.25,
    "t": "z",
    "c": "u",
    "b": True,
    "d": pd.Timestamp("2024-01-03"),
    "m": 7,
}


def test_a_pandas_row_keeps_types_order_and_labels():
    before = FRAME.copy(deep=True)
    for row in (ROW, dict(reversed(ROW.items())), {k: [v] for k, v in ROW.items()}):
        joined = add_row(FRAME, row)
        assert joined.dtypes.to_dict() == FRAME.dtypes.to_dict()
        assert list(joined.columns) == list(FRAME.columns)
        assert list(joined.index) == [0, 1, 2]
        assert joined.iloc[2].to_dict() == ROW
        pd.testing.assert_frame_equal(all_but_last(joined), FRAME)
        assert len(last_row(joined)) == 1
    pd.testing.assert_frame_equal(FRAME, before)
    pd.testing.assert_frame_equal(add_row(FRAME, last_row(joined)), joined)


def test_pandas_values_that_need_another_type():
    joined = add_row(FRAME, {**ROW, "n": 3.5, "c": "new", "m": None})
    assert joined["n"].tolist() == [1.0, 2.0, 3.5]
    assert joined["c"].tolist() == ["u", "v", "new"]
    assert list(joined["c"].cat.categories) == ["v", "u", "new"]
    assert joined["m"].isna().tolist() == [False, True, True]
    missing = add_row(FRAME, dict.fromkeys(ROW))
    assert missing.iloc[2].isna().all()
    assert missing["c"].dtype == FRAME["c"].dtype
    assert missing["d"].dtype == FRAME["d"].dtype
    assert list(FRAME["c"].cat.categories) == ["v", "u"]


@pytest.mark.parametrize(
    ("index", "label"),
    [
        ([5, 9], 10),
        (["p", "q"], "canary 2"),
        (pd.RangeIndex(10, 14, 2), 13),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), pd.Timestamp("2024-01-02")),
    ],
)
def test_pandas_labels(index, label):
    X, y = FRAME[["n", "t"]].set_index(pd.Index(index)), pd.Series([0, 1], index=index, name="y")
    joined, target = add_row((X, y), ({"n": 3, "t": "z"}, 1))
    assert joined.index[-1] == target.index[-1] == label
    assert list(joined.index[:-1]) == list(index)
    assert joined.index.equals(target.index)


def test_pandas_series():
    target = pd.Series([1, 2], name="y")
    assert add_row(target, 3).tolist() == [1, 2, 3]
    assert add_row(target, 3).name == "y"
    assert add_row(target, 3.5).tolist() == [1.0, 2.0, 3.5]
    assert add_row(target, [3]).tolist() == add_row(target, pd.Series([3])).tolist() == [1, 2, 3]
    assert add_row(pd.Series(["a", "b"]), "c").tolist() == ["a", "b", "c"]
    levels = add_row(pd.Series(["a", "b"], dtype="category"), "c")
    assert levels.dtype.categories.tolist() == ["a", "b", "c"]
    assert len(target) == 2
    for wrong in ("x", [3, 4], []):
        with pytest.raises(DataError):
            add_row(target, wrong)


@pytest.mark.parametrize(
    "row",
    [
        {"n": 1},
        {**ROW, "extra": 1},
        {**ROW, "n": "text"},
        {**ROW, "t": 5},
        {**ROW, "n": [1, 2]},
        {**ROW, "d": "no date"},
        {**ROW, "m": "x"},
        [1, 2],
        FRAME,
        FRAME[["n"]].iloc[:1],
        FRAME.iloc[0],
        None,
    ],
)
def test_pandas_rows_that_do_not_fit_are_refused(row):
    with pytest.raises(DataError):
        add_row(FRAME, row)


# -- polars and pyarrow ----------------------------------------------------------------------------

COLUMNS = {"n": [1, 2], "f": [0.5, 1.5], "t": ["x", "y"], "b": [True, False]}
OTHERS = {"n": 3, "f": 1, "t": "z", "b": True}


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_polars_and_pyarrow(make):
    table = make(COLUMNS)
    joined = add_row(table, OTHERS)
    assert isinstance(joined, type(table))
    assert joined.schema == table.schema
    assert pl.DataFrame(joined).rows()[-1] == (3, 1.0, "z", True)
    assert pl.DataFrame(all_but_last(joined)).equals(pl.DataFrame(table))
    assert pl.DataFrame(last_row(joined)).rows() == [(3, 1.0, "z", True)]
    assert pl.DataFrame(add_row(table, last_row(joined))).equals(pl.DataFrame(joined))
    half = pl.DataFrame(add_row(table, {**OTHERS, "n": 3.5}))
    assert half["n"].to_list() == [1.0, 2.0, 3.5]
    whole = add_row(table, {**OTHERS, "n": 4.0})
    assert whole.schema == table.schema
    missing = pl.DataFrame(add_row(table, dict.fromkeys(OTHERS)))
    assert missing.rows()[-1] == (None,) * 4
    assert pl.DataFrame(table).equals(pl.DataFrame(COLUMNS))
    wrong = [
        {**OTHERS, "n": "x"},
        {**OTHERS, "t": 1},
        {**OTHERS, "n": [1, 2]},
        {"n": 1},
        [1],
        table,
    ]
    for row in wrong:
        with pytest.raises(DataError):
            add_row(table, row)


def test_small_types_of_polars_are_kept_or_refused():
    table = pl.DataFrame(
        {"n": pl.Series([1], dtype=pl.Int8), "f": pl.Series([1], dtype=pl.Float32)}
    )
    assert add_row(table, {"n": 5, "f": 0.5}).schema == table.schema
    with pytest.raises(DataError, match="does not fit into column 'n'"):
        add_row(table, {"n": 300, "f": 0.5})


def test_levels_of_polars():
    levels = pl.Series("c", ["u", "v"], dtype=pl.Categorical)
    assert add_row(levels, "new").to_list() == ["u", "v", "new"]
    assert add_row(levels, "new").dtype == pl.Categorical
    closed = pl.Series("c", ["u", "v"], dtype=pl.Enum(["u", "v"]))
    assert add_row(closed, "u").dtype == closed.dtype
    with pytest.raises(DataError, match="does not fit"):
        add_row(closed, "new")
    assert add_row(pl.Series("n", [1, 2]), 3.5).to_list() == [1.0, 2.0, 3.5]


# -- mappings, lists, tuples -----------------------------------------------------------------------


def test_mappings_lists_and_nested_tuples():
    dataset = (
        {"a": [1, 2], "b": np.array([1, 2]), "image": np.zeros((2, 3)), "nested": [[1, 2], [3, 4]]},
        (["no", "yes"], [[1.0], [2.0]], [{"k": 1}]),
    )
    before = copy.deepcopy(dataset)
    row = (
        {"a": 3, "b": 0.5, "image": np.ones(3), "nested": [5, 6]},
        ("no", [3.0], {"k": 2}),
    )
    X, (labels, lists, records) = add_row(dataset, row)
    assert X["a"] == [1, 2, 3]
    assert X["b"].tolist() == [1.0, 2.0, 0.5]
    assert X["image"].shape == (3, 3)
    assert X["nested"] == [[1, 2], [3, 4], [5, 6]]
    assert (labels, lists) == (["no", "yes", "no"], [[1.0], [2.0], [3.0]])
    assert records == [{"k": 1}, {"k": 2}]
    assert repr(dataset) == repr(before)
    assert add_row({"a": [1]}, {"a": [2]}) == {"a": [1, 2]}
    assert add_row({"a": ["x"]}, {"a": "text"}) == {"a": ["x", "text"]}
    assert add_row([], 1.0) == [1.0]
    assert last_row((X, labels))[1] == ["no"]


@pytest.mark.parametrize(
    ("dataset", "row"),
    [
        (([1], [2]), [3, 4]),
        (([1], [2]), (3,)),
        ({"a": [1]}, {"b": 1}),
        ({"a": [1]}, {"a": 1, "b": 1}),
        ({"a": [1]}, {"a": [1, 2]}),
        ({"a": [1]}, {"a": []}),
        ({"a": [1]}, [1]),
        ([[1, 2]], [1]),
        ([[1, 2]], 1),
        ([[1, 2]], "ab"),
        ([{"a": 1}], {"b": 1}),
        ("text", "t"),
        (5, 5),
        (None, 1),
        (pl.LazyFrame({"a": [1]}), {"a": 1}),
        (pa.array([1]), 2),
    ],
)
def test_what_does_not_match_is_refused(dataset, row):
    with pytest.raises(DataError):
        add_row(dataset, row)
