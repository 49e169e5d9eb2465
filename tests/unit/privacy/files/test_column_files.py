"""Parquet and Arrow files: declared types decide how they are read, and no value does."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile import Category, Number, Schema, hold_out
from voile.errors import DataError
from voile.privacy.files.table_files import TableFile, read_table
from voile.privacy.files.table_proposal import propose_schema
from voile.schema.kinds import Kind


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as out:
        out.write_table(table)


def write_file(table, path):
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)


def unchecked(texts):
    """A column of text whose bytes nobody has checked."""
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


# -- types that not all of Arrow knows ------------------------------------------------------------


@pytest.mark.parametrize("write", [pq.write_table, write_file, write_stream])
def test_views_become_types_that_rows_can_be_taken_of(tmp_path, write):
    table = pa.table(
        {
            "ward": pa.array(["A", None, "B"], pa.string_view()),
            "raw": pa.array([b"A", None, b"\xff"], pa.binary_view()),
            "inner": pa.array([{"x": "1"}, None, {"x": "2"}], pa.struct([("x", pa.string_view())])),
            "many": pa.array([["1"], None, []], pa.list_(pa.string_view())),
        }
    )
    path = tmp_path / ("t.parquet" if write is pq.write_table else "t.arrow")
    write(table, path)
    assert [one.kind for one in TableFile(path).columns] == [Kind.OTHER] * 4
    found = read_table(path, propose_schema(TableFile(path), None))
    assert found["ward"].type == pa.large_string()
    assert found["raw"].type == pa.large_binary()
    assert found.to_pylist() == table.to_pylist()
    learned, held, _, _ = hold_out(found)
    assert len(learned) + len(held) == 3


def test_repeated_values_are_written_out(tmp_path):
    runs = pa.compute.run_end_encode(pa.array([1, 1, 2]))
    write_file(pa.table({"a": runs}), tmp_path / "t.arrow")
    assert TableFile(tmp_path / "t.arrow").columns[0].kind is Kind.NUMBER
    found = read_table(tmp_path / "t.arrow", Schema({"a": Number()}))
    assert found["a"].to_pylist() == [1, 1, 2]
    hold_out(found)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), "string")]
)
def test_texts_whose_bytes_are_none_are_missing(tmp_path, kind):
    column = unchecked([b"A", b"\xff\xfe", b"B"])
    if pa.types.is_dictionary(kind):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), column)
    else:
        column = column.cast(kind)
    write_file(pa.table({"ward": column}), tmp_path / "t.arrow")
    found = read_table(tmp_path / "t.arrow", Schema({"ward": Category()}))
    assert found["ward"].to_pylist() == ["A", None, "B"]
    assert len(found.to_pandas()) == 3


# -- folders --------------------------------------------------------------------------------------


def folder_of(tmp_path, *columns):
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    for letter, column in zip("abc", columns, strict=False):
        pq.write_table(pa.table(column), folder / f"{letter}.parquet")
    return folder


@pytest.mark.parametrize("last", [50.0, 50.5, float("nan"), float("inf"), 1e300, None])
@pytest.mark.parametrize("first", [pa.int64(), pa.int8(), pa.float32(), pa.decimal128(9, 2)])
def test_no_value_decides_between_files_of_different_number_types(tmp_path, first, last):
    folder = folder_of(
        tmp_path, {"a": pa.array([1, 2], first)}, {"a": pa.array([3.0, last], pa.float64())}
    )
    assert TableFile(folder).columns[0].kind is Kind.NUMBER
    found = read_table(folder, Schema({"a": Number()}))["a"]
    assert found.type == pa.float64()
    assert repr(found.to_pylist()) == repr([1.0, 2.0, 3.0, last])


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.uint8(), pa.int16(), pa.int64()),
        (pa.uint64(), pa.uint8(), pa.uint64()),
        (pa.uint64(), pa.int64(), pa.float64()),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.string()),
        (pa.dictionary(pa.int8(), "string"), pa.dictionary(pa.int16(), "string"), pa.string()),
        (pa.binary(), pa.large_binary(), pa.large_binary()),
        (pa.null(), pa.int64(), pa.int64()),
        (pa.string(), pa.null(), pa.string()),
        (pa.timestamp("ns"), pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("ms"), pa.timestamp("us", "UTC")),
        (pa.date32(), pa.timestamp("s"), pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
def test_types_that_mean_the_same_have_a_common_one(tmp_path, first, second, common):
    def one(kind):
        if pa.types.is_null(kind):
            return pa.nulls(2)
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_date(plain):
            return pa.array([1, None], pa.int32()).cast(plain)
        if pa.types.is_timestamp(plain):
            return (
                pa.array([86_400, None], pa.timestamp("s"))
                .cast(pa.timestamp(plain.unit))
                .cast(plain)
            )
        texts = pa.types.is_string(plain) or pa.types.is_large_string(plain)
        value = "A" if texts else b"A" if pa.types.is_large_binary(plain) else 1
        value = b"A" if pa.types.is_binary(plain) else value
        return pa.array([value, None], plain).cast(kind)

    folder = folder_of(tmp_path, {"a": one(first)}, {"a": one(second)})
    found = read_table(folder, Schema({"a": Category()}))["a"]
    assert found.type == common
    told = [value for value in found.to_pylist() if value is not None]
    assert len(told) == 2 - [first, second].count(pa.null())
    assert len(set(told)) == 1


@pytest.mark.parametrize("value", [0, 2**62, -(2**62)])
def test_times_beyond_the_common_type_are_no_error(tmp_path, value):
    times = pa.array([value], pa.int64())
    days = pa.array([max(min(value, 2**31 - 1), -(2**31))], pa.int32())
    kinds = (pa.timestamp("ms"), pa.timestamp("ns"))
    columns = [*map(times.cast, kinds), days.cast(pa.date32())]
    folder = folder_of(tmp_path, *({"a": column} for column in columns))
    assert len(read_table(folder, Schema({"a": Number()}))) == 3


@pytest.mark.parametrize("value", ["5", "word", None])
def test_types_without_a_common_one_are_refused_whatever_the_values(tmp_path, value):
    folder = folder_of(tmp_path, {"a": pa.array([1])}, {"a": pa.array([value], pa.string())})
    for access in (TableFile, lambda path: read_table(path, Schema({"a": Number()}))):
        with pytest.raises(DataError, match=r"'a'.*int64 and string.*one type"):
            access(folder)


def test_columns_that_a_file_lacks_are_missing_there(tmp_path):
    folder = folder_of(tmp_path, {"a": [1]}, {"b": ["x"], "a": [2]}, {"c": [True]})
    assert [one.name for one in TableFile(folder).columns] == ["a", "b", "c"]
    found = read_table(folder, Schema({"b": Category(), "a": Number()}))
    assert found.to_pydict() == {"b": [None, "x", None], "a": [1, 2, None]}


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(DataError, match="no Parquet files"):
        TableFile(tmp_path)


def test_a_name_twice_in_any_file_is_refused(tmp_path):
    folder = folder_of(tmp_path, {"a": [1]})
    twice = pa.table([pa.array([1]), pa.array([2])], names=["b", "b"])
    pq.write_table(twice, folder / "b.parquet")
    with pytest.raises(DataError, match="two columns 'b'"):
        TableFile(folder)


# -- streams --------------------------------------------------------------------------------------


def test_arrow_streams_are_read_like_arrow_files(tmp_path):
    table = pa.table({"a": [1, 2], "b": pa.array(["x", "y"]).dictionary_encode()})
    for write in (write_file, write_stream):
        write(table, tmp_path / "t.arrow")
        assert [one.name for one in TableFile(tmp_path / "t.arrow").columns] == ["a", "b"]
        found = read_table(tmp_path / "t.arrow", Schema({"b": Category(), "a": Number()}))
        assert found.to_pydict() == {"b": ["x", "y"], "a": [1, 2]}


@pytest.mark.parametrize("name", ["t.arrow", "t.feather", "t.parquet"])
@pytest.mark.parametrize("raw", [b"", b"PAR1", b"x" * 5000, b"ARROW1\0\0" + b"\0" * 50])
def test_what_is_no_such_file_is_told_in_a_line(tmp_path, name, raw):
    (tmp_path / name).write_bytes(raw)
    kind = "Parquet" if name.endswith("parquet") else "Arrow"
    with pytest.raises(DataError, match=f"is no {kind} file"):
        TableFile(tmp_path / name)


def test_a_stream_that_breaks_off_is_damaged(tmp_path):
    write_stream(pa.table({"a": list(range(100_000))}), tmp_path / "t.arrow")
    raw = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "t.arrow").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match="damaged"):
        read_table(tmp_path / "t.arrow", Schema({"a": Number()}))
