"""Tables in files: read as the schema says, whatever the values look like."""

import gzip
import math
import random

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from voile import Category, Number, Schema, Unit, protect, summarize
from voile.errors import DataError, SchemaError
from voile.privacy.files.cells import FileCells, read_cells
from voile.privacy.files.dialect import DateOrder, Spelling
from voile.privacy.files.table_files import KINDS_GUESSED, TableFile, read_table
from voile.privacy.noise import fixed_noise
from voile.privacy.vault import KINDS_FROM_TYPES
from voile.schema.kinds import Kind

SCHEMA = Schema({"age": Number(0, 120), "ward": Category(["A", "B"]), "flag": Category([0, 1])})
TEXT = "age,ward,flag\n40,A,1\n,B,0\nold,,\n1e2,C,2\n 7 ,A,x\n"


def numbers(column):
    return [None if v is None or math.isnan(v) else v for v in column.to_pylist()]


def check_table(table):
    assert numbers(table["age"]) == [40, None, None, 100, 7]
    assert table["ward"].to_pylist() == ["A", "B", None, "C", "A"]
    assert numbers(table["flag"]) == [1, 0, None, 2, None]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("t.csv", lambda text: text.encode()),
        ("t.csv", lambda text: b"\xef\xbb\xbf" + text.encode()),
        ("t.csv", lambda text: text.replace("\n", "\r\n").encode()),
        ("t.tsv", lambda text: text.replace(",", "\t").encode()),
        ("t.csv", lambda text: text.replace(",", ";").encode()),
        ("t.csv", lambda text: text.replace(",", "|").encode()),
        ("t.csv.gz", lambda text: gzip.compress(text.encode())),
        ("t.csv", lambda text: ("\n" + text).encode()),
        ("t.csv", lambda text: text.replace("A", '"A"').encode()),
    ],
    ids=[
        "plain",
        "mark",
        "windows",
        "tabs",
        "semicolons",
        "bars",
        "packed",
        "blank line",
        "quotes",
    ],
)
def test_texts_are_read_as_the_schema_says(tmp_path, name, make):
    path = tmp_path / name
    path.write_bytes(make(TEXT))
    check_table(read_table(path, SCHEMA))


def test_decimal_commas_go_with_semicolons(tmp_path):
    (tmp_path / "t.csv").write_text("age;ward;flag\n3,5;A;1\n")
    assert numbers(read_table(tmp_path / "t.csv", SCHEMA)["age"]) == [3.5]


def test_dates_are_seconds(tmp_path):
    (tmp_path / "t.csv").write_text(
        "when\n1970-01-02\n1970-01-01 00:00:05\n1970-01-01T00:01\n2026-13-01\nlater\n"
    )
    table = read_table(tmp_path / "t.csv", Schema({"when": Number()}))
    assert numbers(table["when"]) == [86400, 5, 60, None, None]


def test_truth_values_are_read_in_many_words(tmp_path):
    (tmp_path / "t.csv").write_text("ok\ntrue\nNo\n1\nFALSE\nmaybe\n")
    table = read_table(tmp_path / "t.csv", Schema({"ok": Category([False, True])}))
    assert table["ok"].to_pylist() == [True, False, True, False, None]


def test_bytes_that_are_no_text_are_missing_and_no_error(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"age,ward\n40,A\n\xff\xfe,\xff\n41,B\n")
    table = read_table(tmp_path / "t.csv", SCHEMA.select(["age", "ward"]))
    assert numbers(table["age"]) == [40, None, 41]
    assert len(table) == 3


@pytest.mark.parametrize("odd", [b"A\rB", b"A\0B", b'A"B', b"\xff", b"x" * 200_000, b"\x1a", b""])
def test_no_value_of_a_row_is_an_error(tmp_path, odd):
    """Nor does it change what the other rows say."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,ward\n" + b"41,B\n" * 30 + b"40," + odd + b"\n43,A\n")
    schema = SCHEMA.select(["age", "ward"])
    assert [one.kind for one in TableFile(path).columns] == [Kind.NUMBER, Kind.OTHER]
    found = numbers(read_table(path, schema)["age"])
    assert found[:30] == [41.0] * 30
    assert found[-1] == 43


def test_no_text_is_an_error_whatever_it_is_read_as():
    chance = random.Random(0)
    letters = "0123456789+-.eE,:TZ \t\0ä٣"
    texts = ["1e999", "9" * 400, "0000-00-00", "9999-99-99 99:99:99", "2026-01-01T", "\u2028"]
    texts += ["".join(chance.choices(letters, k=chance.randint(0, 24))) for _ in range(3000)]
    column = pa.chunked_array([texts], pa.string())
    for kind in (Number(0, 1), Category([0, 1]), Category([False, True]), Category(["a"])):
        for spelling in (Spelling(), Spelling(",", "", DateOrder.MDY), Spelling(".", "'")):
            together = read_cells(FileCells(column), kind, spelling).to_pylist()
            for place in range(0, len(texts), 97):
                alone = read_cells(FileCells(column.slice(place, 1)), kind, spelling).to_pylist()
                assert repr(alone) == repr(together[place : place + 1])


def test_a_line_of_another_length_is_skipped(tmp_path):
    (tmp_path / "t.csv").write_text("age,ward\n40,A\n41,B,surprise\n42\n43,A\n")
    table = read_table(tmp_path / "t.csv", SCHEMA.select(["age", "ward"]))
    assert numbers(table["age"]) == [40, 43]


def test_a_very_long_value_is_a_value_like_any_other(tmp_path):
    (tmp_path / "t.csv").write_text("age,ward\n1," + "x" * 5_000_000 + "\n2,A\n")
    table = read_table(tmp_path / "t.csv", SCHEMA.select(["age", "ward"]))
    assert numbers(table["age"]) == [1, 2]


def test_quoted_line_breaks_are_part_of_a_value(tmp_path):
    (tmp_path / "t.csv").write_text('ward,age\n"A\nB",4\n')
    table = read_table(tmp_path / "t.csv", SCHEMA.select(["age", "ward"]))
    assert table["ward"].to_pylist() == ["A\nB"]


def test_parquet_and_arrow_keep_their_types(tmp_path):
    table = pa.table({"age": [1, 2], "ward": ["A", None], "flag": [0, 1], "more": [0, 0]})
    pq.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather", compression="uncompressed")
    for name in ("t.parquet", "t.feather"):
        found = TableFile(tmp_path / name).read(SCHEMA, also=["more"])
        assert found.column_names == ["age", "ward", "flag", "more"]
        assert found["age"].to_pylist() == [1, 2]
        assert [one.kind for one in TableFile(tmp_path / name).columns] == [
            Kind.NUMBER,
            Kind.OTHER,
            Kind.NUMBER,
            Kind.NUMBER,
        ]


def test_one_row_does_not_tip_the_kind_of_a_column(tmp_path):
    lines = [f"{i},{i % 7}.5,2026-01-0{1 + i % 9} 08:30" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *lines]))
    kinds = [Kind.NUMBER, Kind.NUMBER, Kind.TIME]
    assert [one.kind for one in TableFile(tmp_path / "t.csv").columns] == kinds
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *lines, "none,of,these"]))
    assert [one.kind for one in TableFile(tmp_path / "t.csv").columns] == kinds


@pytest.mark.parametrize("text", ["", " \n\n", "\x00\x01"])
def test_files_that_are_no_tables_are_refused(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError):
        read_table(tmp_path / "t.csv", SCHEMA)


def test_a_missing_column_is_named_with_the_nearest(tmp_path):
    (tmp_path / "t.csv").write_text("age,wards,flag\n1,A,0\n")
    with pytest.raises(SchemaError, match="did you mean 'wards'"):
        read_table(tmp_path / "t.csv", SCHEMA)


def test_a_truncated_archive_is_refused(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode() * 100)[:40])
    with pytest.raises(DataError):
        read_table(tmp_path / "t.csv.gz", SCHEMA)


# -- the same files in Python ----------------------------------------------------------------------

PATIENTS = "age;ward;cost;w;ill\n" + "".join(
    f"{20 + i % 70};{'AB'[i % 2]};{i % 9},5;{1 + i % 3};{'yes' if i % 3 else 'no'}\n"
    for i in range(60)
)
COLUMNS = {"age": Number(0, 120), "ward": Category(["A", "B"]), "cost": Number(0, 10)}
WRITTEN = "decimal comma"


def test_a_path_is_protected_like_the_table_in_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(PATIENTS)
    schema = Schema(COLUMNS, target=Category(["no", "yes"]))
    with fixed_noise(1):
        read = summarize(path, epsilon=1, schema=Schema(COLUMNS))
    with fixed_noise(1):
        given = summarize(read_table(path, schema, target="ill"), epsilon=1, schema=Schema(COLUMNS))
    assert (read.columns, read.receipt.notes) == (given.columns, given.receipt.notes)
    table = protect(path, "ill", schema=schema, weights="w", largest_weight=3)
    assert table.weighted
    assert tuple(table.schema) == tuple(COLUMNS)
    assert WRITTEN in table.notes[0]
    assert len(table.notes) == 1
    unlisted = protect(str(path), "ill", target=Category())
    assert list(unlisted.schema) == ["age", "ward", "cost", "w"]
    assert unlisted.schema["cost"] == Number()
    assert unlisted.notes[0] == KINDS_GUESSED
    assert WRITTEN in unlisted.notes[1]
    for wrong in ({"y": ["no"] * 60}, {"y": "ill", "weights": [1.0] * 60}):
        with pytest.raises(DataError, match="must be the name of a column"):
            protect(path, schema=schema, **wrong)


def test_an_arrow_file_is_protected_by_its_own_types(tmp_path):
    table = pa.table({"age": [1.5, 2.5], "ill": ["yes", "no"]})
    pyarrow.feather.write_feather(table, tmp_path / "t.arrow", compression="uncompressed")
    protected = protect(tmp_path / "t.arrow", "ill")
    assert protected.schema == Schema({"age": Number()}, target=Category())
    assert protected.notes == (KINDS_FROM_TYPES,)


def test_a_target_and_people_are_read_as_the_schema_says(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(PATIENTS)
    schema = Schema({"ward": Category()}, target=Number(0, 10), unit=Unit("age"))
    found = read_table(path, schema, target="cost")
    assert found.column_names == ["ward", "cost", "age"]
    assert found["cost"][1].as_py() == 1.5
    assert found["age"][0].as_py() == "20"
    with pytest.raises(SchemaError, match="nothing of the target 'cost'"):
        read_table(path, Schema({"ward": Category()}), target="cost")


def test_a_folder_is_no_csv_file(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(DataError, match="give one file, or a Parquet folder"):
        read_table(tmp_path / "t.csv")


def test_a_table_without_a_schema_has_the_types_that_were_guessed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("when;day;n;text\n" + "31.12.2024 08:30;31.12.2024;3,5;x\n" * 30)
    found = read_table(path)
    assert found.schema.types == [pa.timestamp("us"), pa.date32(), pa.float64(), pa.string()]
    assert [str(one) for one in found.slice(0, 1).to_pylist()[0].values()] == [
        "2024-12-31 08:30:00",
        "2024-12-31",
        "3.5",
        "x",
    ]
