"""Sheets of Excel and LibreOffice: names in the first row, cells of any kind, no row an error."""

import datetime as dt
import sys

import pyarrow as pa
import pytest
from workbooks import FAILED, write_open_document, write_workbook

from needs import needs
from voile import Category, Date, Number, Schema, read_table
from voile.errors import DataError, MissingExtra, SchemaError, SettingError
from voile.privacy.files import sheet_extent
from voile.privacy.files.own_rows import read_own_rows
from voile.privacy.files.table_files import TableFile
from voile.privacy.files.table_proposal import propose_schema

pytestmark = needs("openpyxl", "python_calamine")

SCHEMA = Schema({"age": Number(0, 120), "ward": Category(["A", "B"]), "seen": Number()})
NEW_YEAR = 1735689600.0
ROWS = [
    ["age", "ward", "seen"],
    [31, "A", dt.date(2025, 1, 1)],
    ["47", "B", dt.datetime(2025, 1, 1, 0, 0, 30)],
    ["1.889,5", None, "01.01.2025"],
    [None, "C", None],
]


def table(path, schema=SCHEMA, **said):
    return read_table(path, schema, **said).to_pydict()


def check(found):
    assert found["age"] == [31, 47, 1889.5, None]
    assert found["ward"] == ["A", "B", None, "C"]
    assert found["seen"] == [NEW_YEAR, NEW_YEAR + 30, NEW_YEAR, None]


@pytest.mark.parametrize("at", [(1, 1), (4, 3), (2, 27)])
def test_cells_of_any_kind(tmp_path, at):
    check(table(write_workbook(tmp_path / "t.xlsx", ROWS, at=at)))


def test_empty_rows_errors_and_remarks_beside_are_passed_over(tmp_path):
    rows = [*ROWS, [], [], ["#N/A", "#DIV/0!", "=1/0"], [50, "A"], [None, None, None, None, "note"]]
    found = table(write_workbook(tmp_path / "t.xlsx", rows))
    assert found["age"] == [31, 47, 1889.5, None, 50]
    assert found["ward"][4:] == ["A"]


def test_cells_that_were_merged_downwards_have_one_value(tmp_path):
    rows = [["age", "ward"], [31, "A"], [32, None], [33, None], [34, "B"]]
    path = write_workbook(tmp_path / "t.xlsx", rows, merged=["B2:B4"])
    assert table(path, SCHEMA.select(["age", "ward"]))["ward"] == ["A", "A", "A", "B"]


def test_levels_are_written_as_people_see_them(tmp_path):
    rows = [["a"], [3], [2.5], [True], [dt.date(2024, 12, 31)], ["x"], [dt.time(8, 30)]]
    path = write_workbook(tmp_path / "t.xlsx", rows)
    told = ["3", "2.5", "TRUE", "2024-12-31", "x", "08:30:00"]
    assert table(path, Schema({"a": Category()}))["a"] == told
    truths = write_workbook(tmp_path / "u.xlsx", [["a"], [True], [0], ["yes"], ["perhaps"]])
    found = table(truths, Schema({"a": Category([False, True])}))["a"]
    assert found == [True, False, True, None]
    found = table(truths, Schema({"a": Category([0, 1])}))["a"]
    assert found == [1, 0, None, None]


def test_kinds_are_guessed_by_a_large_majority_of_the_first_rows(tmp_path):
    day, time = dt.date(2024, 12, 31), dt.datetime(2024, 12, 31, 8, 30)
    row = [1, "1,5", "x", day, time, True, dt.time(8), "31.12.2024", None]
    path = write_workbook(
        tmp_path / "t.xlsx", [list("abcdefghi"), *[row] * 40, ["?"] * 9, ["o"] * 9]
    )
    types = TableFile(path).declared.schema.types
    number, text = pa.float64(), pa.string()
    stamp, span = pa.timestamp("us"), pa.duration("us")
    days = pa.date32()
    assert types == [pa.int64(), number, text, days, stamp, pa.bool_(), span, days, text]
    found = read_table(path)
    assert found.schema.types == [number, *types[1:]]
    assert found["d"][0].as_py() == day
    assert found["e"][0].as_py() == time
    assert found["d"][41].as_py() is None


def test_a_date_among_numbers_is_missing_and_a_number_among_dates_too(tmp_path):
    """Excel makes a date of 1.5 (1 May), which in seconds would be beyond all bounds."""
    day = dt.date(2024, 5, 1)
    rows = [[i % 11, day, i % 2, "x"] for i in range(80)]
    rows += [[day, 45000, day, "x"], ["2024-05-01", 2024.5, dt.time(1), "x"], [dt.time(12), True]]
    path = write_workbook(tmp_path / "t.xlsx", [["dose", "seen", "flag", "ward"], *rows])
    guessed = read_table(path)
    assert guessed["dose"].to_pylist()[80:] == [None] * 3
    assert guessed["seen"].to_pylist()[79:] == [day, None, None, None]
    schema = Schema({"dose": Number(0, 10), "seen": Date(), "flag": Category([0, 1])})
    for dose in (Number(0, 10), Number()):
        found = table(path, Schema({**schema, "dose": dose}))
        assert found["dose"][79:] == [2, None, None, None]
        assert found["flag"][79:] == [1, None, None, None]
        assert found["seen"][80:] == [None] * 3
    assert read_own_rows(path, schema).unreadable[80:] == (
        (
            "dose = '2024-05-01' (a date)",
            "seen = '45000' (a number)",
            "flag = '2024-05-01' (a date)",
        ),
        (
            "dose = '2024-05-01' (a date)",
            "seen = '2024.5' (a number)",
            "flag = '01:00:00' (a duration)",
        ),
        ("dose = '12:00:00' (a duration)", "seen = 'TRUE' (a truth value)"),
    )
    # One row alone has nothing but a date, for which the bounds leave no room.
    one = write_workbook(tmp_path / "one.xlsx", [["dose"], [day]])
    own = read_own_rows(one, schema.select(["dose"]))
    assert own.table["dose"].to_pylist() == [None]
    assert own.unreadable == (("dose = '2024-05-01' (a date)",),)


def test_a_number_of_a_schema_may_be_a_column_of_dates_or_durations(tmp_path):
    rows = [[dt.date(2025, 1, 1), dt.time(0, 0, 30)]] * 20 + [[5, 5]]
    path = write_workbook(tmp_path / "t.xlsx", [["seen", "span"], *rows])
    file = TableFile(path)
    found = file.read(Schema({"seen": Number(0, 2e9), "span": Number()})).to_pydict()
    assert found["seen"][19:] == [NEW_YEAR, 5]  # both lie within the bounds
    assert found["span"][19:] == [30, None]
    assert "durations in 'span'" in file.notes(kinds=False)[0]
    assert "dates in 'seen'" not in file.notes(kinds=False)[0]
    with pytest.raises(DataError, match="Most of the first rows of column 'seen'"):
        table(path, Schema({"seen": Number(0, 10)}))


def test_with_bounds_no_row_decides_how_others_are_read(tmp_path):
    """As many dates as numbers: one more of either would be most of them."""
    even = [[dt.date(2025, 1, 1)]] * 10 + [[7]] * 10
    for k, more in enumerate(([], [[dt.date(2025, 1, 1)]], [[7]])):
        file = TableFile(write_workbook(tmp_path / f"t{k}.xlsx", [["x"], *even, *more]))
        read = file.read(Schema({"x": Number(0, 2e9)})).to_pydict()["x"]
        assert read[:20] == [NEW_YEAR] * 10 + [7] * 10
        assert not file.notes(kinds=False)


def test_the_first_sheet_is_read_and_others_are_told(tmp_path):
    path = write_workbook(tmp_path / "t.xlsx", ROWS, sheet="2024", others=["2023", "Notes"])
    check(table(path))
    assert TableFile(path).remarks[-1] == (
        "Of t.xlsx the sheet '2024' is read, not '2023', 'Notes': see --sheet."
    )
    check(table(path, sheet="2024"))
    for name, words in (("2032", "did you mean '20"), ("x", "it has '2024'")):
        with pytest.raises(DataError, match=f"no sheet '{name}': {words}"):
            read_table(path, sheet=name)
    with pytest.raises(DataError, match=r"sheet '2023' of .* is empty"):
        read_table(path, sheet="2023")


def test_other_sheets_are_named_where_this_one_is_wrong(tmp_path):
    told = r"Other sheets: 'Data', 'Notes'; choose one by --sheet"
    cover = write_workbook(tmp_path / "t.xlsx", [["Report"], [1]], others=["Data", "Notes"])
    with pytest.raises(SchemaError, match=f"it has 'Report' alone.*{told}"):
        table(cover)
    with pytest.raises(DataError, match=told):
        propose_schema(TableFile(cover), "age")
    with pytest.raises(SchemaError, match=told):
        read_own_rows(cover, SCHEMA)
    for rows in ([], [["Report", None, "2024"]]):
        wrong = write_workbook(tmp_path / "w.xlsx", rows, others=["Data", "Notes"])
        with pytest.raises(DataError, match=told):
            TableFile(wrong)
    alone = write_workbook(tmp_path / "a.xlsx", [["Report"], [1]])
    with pytest.raises(SchemaError) as error:
        table(alone)
    assert "Other sheets" not in str(error.value)


def test_a_hidden_sheet_is_not_the_first(tmp_path):
    import openpyxl

    path = write_workbook(tmp_path / "t.xlsx", [["x"]], others=["Shown"])
    book = openpyxl.load_workbook(path)
    book["Shown"].append(["age"])
    book["Table"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    assert TableFile(path).names == ("age",)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["age", None, "ward"], [1, 2, "A"]], "Column B of .* has no name"),
        ([["age", "age"], [1, 2]], "two columns 'age'"),
        ([["age", "ward", "seen"]], "no rows"),
        ([], "is empty"),
    ],
)
def test_tables_that_are_none_are_refused(tmp_path, rows, words):
    path = write_workbook(tmp_path / "t.xlsx", rows)
    with pytest.raises(DataError, match=words):
        TableFile(path).read(SCHEMA)


def test_files_that_are_no_workbooks(tmp_path):
    for text in (b"", b"age,ward\n1,A\n", b"PK\x03\x04 broken"):
        (tmp_path / "t.xlsx").write_bytes(text)
        with pytest.raises(DataError, match="no workbook that can be read"):
            TableFile(tmp_path / "t.xlsx")
    (tmp_path / "t.csv").write_bytes(write_workbook(tmp_path / "t.xlsx", ROWS).read_bytes())
    with pytest.raises(DataError, match="not text"):
        TableFile(tmp_path / "t.csv")


def test_what_does_not_fit_a_file_is_refused(tmp_path):
    from voile.privacy.files.dialect import Dialect

    path = write_workbook(tmp_path / "t.xlsx", ROWS)
    with pytest.raises(SettingError, match="leave the encoding out"):
        TableFile(path, Dialect(encoding="utf-8"))
    (tmp_path / "t.csv").write_text("age\n1\n")
    with pytest.raises(SettingError, match="has no sheets"):
        TableFile(tmp_path / "t.csv", Dialect(sheet="x"))
    both = Dialect(sheet="x", encoding="utf-8", decimal=",")
    assert both.fitting(path) == Dialect(sheet="x", decimal=",")
    assert both.fitting(tmp_path / "t.csv") == Dialect(encoding="utf-8", decimal=",")


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = write_workbook(tmp_path / "t.xlsx", ROWS)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtra, match=r"voile\[excel\]"):
        TableFile(path)


def test_a_cell_far_away_changes_nothing(tmp_path, monkeypatch):
    rows = [*ROWS, [50, "A", "#N/A"]]
    near = table(write_workbook(tmp_path / "t.xlsx", rows))
    monkeypatch.setattr(sheet_extent, "MOST_PLACES", 25)
    assert sheet_extent.reaches_far(tmp_path / "t.xlsx")
    assert table(tmp_path / "t.xlsx") == near
    monkeypatch.undo()
    wide = write_workbook(tmp_path / "wide.xlsx", rows)
    import openpyxl

    book = openpyxl.load_workbook(wide)
    book.active["XFD5000"] = "x"
    book.save(wide)
    assert sheet_extent.reaches_far(wide)
    assert table(wide) == near


def test_open_documents(tmp_path):
    rows = [["age", "ward"], [31, "A"], ["47", "B"], ["1.889,5", "C"]]
    path = write_open_document(tmp_path / "t.ods", rows)
    two = SCHEMA.select(["age", "ward"])
    assert table(path, two) == {"age": [31, 47, 1889.5], "ward": ["A", "B", "C"]}
    write_open_document(path, [*rows, [FAILED, "A"]])
    assert table(path, two)["age"] == [31, 47, 1889.5, None]
    with pytest.raises(DataError, match=r"formulas without a result.*save it as \.xlsx"):
        read_own_rows(path, two)


@needs("statsmodels")
def test_old_workbooks():
    from pathlib import Path

    import statsmodels

    place = "tsa/statespace/tests/results/frbny_nowcast/Nowcasting/data/US/2016-07-29.xls"
    path = Path(statsmodels.__file__).parent / place
    if not path.exists():
        pytest.skip("statsmodels came without its tests")
    found = read_table(path, Schema({"Date": Number(), "CPIAUCSL": Number(0, 1000)}))
    assert found["Date"][0].as_py() == 473385600  # the first day of 1985
    assert found["CPIAUCSL"].to_pylist()[:2] == [105.7, 106.3]


# -- one's own rows -------------------------------------------------------------------------------


def own(path, **said):
    return read_own_rows(path, SCHEMA, **said)


def test_own_rows_are_those_of_the_sheet(tmp_path):
    rows = [[*row, i] for i, row in enumerate(ROWS)]
    rows[0][3] = "who"
    found = own(write_workbook(tmp_path / "t.xlsx", rows, at=(3, 2)), keep=["who"])
    check(found.table.to_pydict())
    assert found.places == ("row 4", "row 5", "row 6", "row 7")
    assert found.kept == {"who": ["1", "2", "3", "4"]}
    assert found.unreadable == ((),) * 4
    assert (found.separator, found.comma) == (";", True)


def test_cells_without_a_result_are_named(tmp_path):
    rows = [*ROWS, ["=1/0", "#N/A", None], [1, None, "#DIV/0!"], ["old", "A", "soon"]]
    rows = [[*row, i] for i, row in enumerate(rows)]
    found = own(write_workbook(tmp_path / "t.xlsx", [["age", "ward", "seen", "who"], *rows[1:]]))
    assert found.unreadable[4:] == (
        ("age = 'a formula without a result'", "ward = '#N/A'"),
        ("seen = '#DIV/0!'",),
        ("age = 'old'", "seen = 'soon'"),
    )
    assert found.table["age"].to_pylist()[4:] == [None, 1, None]
    told = [None, "a formula without a result (unreadable)", "1", "old (unreadable)"]
    assert found.given["age"].to_pylist()[3:] == told


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*ROWS, [], [50, "A"]], "row 6 is empty"),
        ([*ROWS, [], [], [50, "A"]], "rows 6 to 7 are empty"),
        ([*ROWS, [50, "A", None, "x"]], "row 6 has a value beside the columns"),
        ([*ROWS, [None, None, None, "x"]], "row 6 has a value beside the columns and none in them"),
        ([["age", "ward", "seen"]], "has no rows"),
        ([["age", "ward", "seen"], ["1.889", "A", None]], "two ways"),
        ([["age", "ward", "seen"], [1, "A", "03/04/2024"]], "two ways"),
        ([["age", "ward"], [1, "A"]], "no column 'seen'"),
    ],
)
def test_own_rows_that_do_not_fit_are_named(tmp_path, rows, words):
    with pytest.raises(ValueError, match=words):
        own(write_workbook(tmp_path / "t.xlsx", rows))


def test_formatted_rows_at_the_end_are_no_rows(tmp_path):
    import openpyxl
    from openpyxl.styles import Font

    path = write_workbook(tmp_path / "t.xlsx", ROWS)
    book = openpyxl.load_workbook(path)
    book.active["A300"].font = Font(bold=True)
    book.save(path)
    assert len(own(path).places) == 4
