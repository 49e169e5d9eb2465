"""One's own rows: as many as the file has lines, or an error that names the line."""

import gzip

import pytest

from voile import Category, Number, Schema
from voile.errors import DataError, SchemaError
from voile.privacy.files.own_rows import read_own_rows

SCHEMA = Schema({"age": Number(0, 120), "ward": Category(["A", "B"])})


def read(tmp_path, data, name="rows.csv"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_own_rows(path, SCHEMA)


def test_every_line_is_a_row(tmp_path):
    own = read(tmp_path, 'age,ward,more\n31,A,x\n,B,\n47,"B","two\nlines"\n52,A,y\n\n\n')
    assert own.table["age"].to_pylist() == [31, None, 47, 52]
    assert own.places == ("line 2", "line 3", "line 4", "line 6")
    assert own.unreadable == ((), (), (), ())


def test_unreadable_values_are_told_and_missing_ones_are_not(tmp_path):
    own = read(tmp_path, "age,ward\nold,A\nNA,B\n7,Z\n")
    assert own.unreadable == (("age = 'old'",), (), ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age,ward\n31,A\n32,B,extra\n33,A\n", "line 3 has 3 fields"),
        ("age,ward\n31,A\n32\n33,A\n", "line 3 has 1 fields"),
        ("age,ward\n31,A\n\n33,A\n", "line 3 is empty"),
        ("age;ward\n31;A\n;\n33;A\n", "line 3 is empty"),
        ('age,ward\n31,A\n"",\n\n33,A\n', "line 3 is empty, line 4 is empty"),
        ("age,ward\n,\n", "has no rows"),
        ('age,ward\n31,A\n32,"B\n33,A\n', "line 3 has quotes that do not match"),
        ('age,ward\n31,"A"x\n', "line 2 has quotes that do not match"),
        ("\r\nage,ward\r\n31,A\r\n1,2,3\r\n", "line 4 has 3 fields"),
        ("age;ward\n31;A\n32,5;B;c\n", "line 3 has 3 fields"),
        ("age,ward\n" + "1,A,x\n" * 9, "line 4 has 3 fields, and 6 more"),
        (b"age,ward\n31,\xc3\xa4\n32,B\xe4\n", "line 3 is not UTF-8"),
        (b"age,ward\n31,A\n32,B\x81\n", "line 3 is not CP1252"),
        ("age,ward\n", "has no rows"),
        ("age,ward\n\n\n", "has no rows"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path, text, says):
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_numbers_beyond_all_numbers_and_dates_are_unreadable(tmp_path):
    own = read(tmp_path, "age,ward\n1e400,A\n2024-05-01,B\ninf,A\n")
    assert own.table["age"].to_pylist() == [None, None, None]
    assert own.unreadable == (
        ("age = '1e400'",),
        ("age = '2024-05-01' (a date)",),
        ("age = 'inf'",),
    )


def test_empty_lines_behind_all_rows_are_none(tmp_path):
    own = read(tmp_path, 'age;ward;more\n31;A;x\n;B;\n;;\n\n"";;\n;;\n')
    assert own.table["age"].to_pylist() == [31, None]
    assert own.places == ("line 2", "line 3")
    (tmp_path / "one.csv").write_text('age\n31\n""\n')
    one = read_own_rows(tmp_path / "one.csv", SCHEMA.select(["age"]))
    assert one.table["age"].to_pylist() == [31, None]


def test_packed_files_and_others(tmp_path):
    packed = gzip.compress(b"age,ward\n31,A\n1,2,3\n")
    with pytest.raises(DataError, match="line 3 has 3 fields"):
        read(tmp_path, packed, "rows.csv.gz")
    with pytest.raises(DataError, match="There is no file"):
        read_own_rows(tmp_path / "none.csv", SCHEMA)
    with pytest.raises(SchemaError, match="has no column 'ward'"):
        read(tmp_path, "age,wards\n1,A\n")
    with pytest.raises(DataError, match="two columns 'age'"):
        read(tmp_path, "age,age,ward\n1,2,A\n")


def test_a_table_without_lines(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": [31, 300], "ward": ["A", "Z"]}), tmp_path / "rows.parquet")
    own = read_own_rows(tmp_path / "rows.parquet", SCHEMA)
    assert own.places == ("row 1", "row 2")
    assert own.unreadable == ((), ())
