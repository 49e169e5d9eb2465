"""Files that people have, odd ones among them: each read right, or refused in one line, unpaid."""

import datetime as dt
from pathlib import Path

import pytest
from command_line import run_voile
from workbooks import write_open_document, write_workbook

from needs import needs
from voile import Budget, Category, Ledger, Number, Schema, read_table

ROWS = 40
NEW_YEAR = 1735689600.0
COSTS = [12.5 + i for i in range(ROWS)]
THOUSANDS = [1889.5 + i for i in range(ROWS)]
SEEN = [NEW_YEAR + 86_400 * i for i in range(ROWS)]
DAYS = [dt.date(2025, 1, 1) + dt.timedelta(days=i) for i in range(ROWS)]
PAIRS = list(zip(COSTS, DAYS, strict=True))
WARDS = ["Süd", "Ost"]
SCHEMA = Schema(
    {"cost": Number(0, 5000), "seen": Number(), "ward": Category(WARDS)},
    target=Category(["yes", "no"]),
)
YAML = (
    "voile_schema: 1\ncolumns:\n  cost: {kind: number, lower: 0, upper: 5000}\n"
    "  seen: {kind: number}\n  ward: {kind: category, levels: [Süd, Ost]}\n"
    "target: {kind: category, levels: ['yes', 'no']}\n"
)
excel = needs("openpyxl", "python_calamine")


def swiss(number):
    return f"{number:,.2f}".replace(",", "'")


def german(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def lines(costs, seen, separator=",", *, begin=""):
    """The text of a table, one row after the other."""
    rows = [
        separator.join([cost, day, WARDS[i % 2], "yes" if i % 3 else "no"])
        for i, (cost, day) in enumerate(zip(costs, seen, strict=True))
    ]
    return begin + "\n".join([separator.join(["cost", "seen", "ward", "ill"]), *rows]) + "\n"


def plain(separator=","):
    return lines(map(str, COSTS), map(str, DAYS), separator)


def csv_of(text, encoding="utf-8"):
    def write(folder):
        path = folder / "t.csv"
        path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
        return path

    return write


def costs_as(texts, separator=";"):
    return csv_of(lines(texts, map(str, DAYS), separator))


def days_as(form, separator=","):
    return csv_of(lines(map(str, COSTS), [day.strftime(form) for day in DAYS], separator))


def sheet_of(costs=COSTS, seen=DAYS, **said):
    def write(folder):
        rows = [
            [cost, day, WARDS[i % 2], "yes" if i % 3 else "no"]
            for i, (cost, day) in enumerate(zip(costs, seen, strict=True))
        ]
        return write_workbook(folder / "t.xlsx", [["cost", "seen", "ward", "ill"], *rows], **said)

    return write


def open_document(folder):
    rows = [[cost, str(day), WARDS[i % 2], "no"] for i, (cost, day) in enumerate(PAIRS)]
    return write_open_document(folder / "t.ods", [["cost", "seen", "ward", "ill"], *rows])


WHOLE = [1889 + i for i in range(ROWS)]
TWO_WAYS = [f"1.{889 + i}" for i in range(ROWS)]
QUOTED = [f'"1,{889 + i}"' for i in range(ROWS)]
FIRST_DAYS = [dt.date(2020 + i // 11, 2 + i % 11, 1) for i in range(ROWS)]

RIGHT = {
    "plain": (csv_of(plain()), {}, COSTS, SEEN),
    "with a mark": (csv_of(plain(), "utf-8-sig"), {}, COSTS, SEEN),
    "line ends of Windows": (csv_of(plain().replace("\n", "\r\n")), {}, COSTS, SEEN),
    "cp1252": (csv_of(plain(), "cp1252"), {}, COSTS, SEEN),
    "latin-1, said": (csv_of(plain(), "latin-1"), {"encoding": "latin-1"}, COSTS, SEEN),
    "utf-16 with a mark": (csv_of(plain(), "utf-16"), {}, COSTS, SEEN),
    "utf-16, big end first": (csv_of("\ufeff" + plain(), "utf-16-be"), {}, COSTS, SEEN),
    "utf-16 without a mark": (csv_of(plain(), "utf-16-le"), {}, COSTS, SEEN),
    "utf-16, said": (csv_of(plain(), "utf-16-le"), {"encoding": "utf-16-le"}, COSTS, SEEN),
    "Excel's line of the separator": (csv_of("sep=;\r\n" + plain(";")), {}, COSTS, SEEN),
    "tabs": (csv_of(plain("\t")), {}, COSTS, SEEN),
    "decimal commas": (costs_as(f"{one:.1f}".replace(".", ",") for one in COSTS), {}, COSTS, SEEN),
    "decimal commas and tabs": (costs_as(map(german, COSTS), "\t"), {}, COSTS, SEEN),
    "1.889,50": (costs_as(map(german, THOUSANDS)), {}, THOUSANDS, SEEN),
    "1,889.50": (costs_as(f"{one:,.2f}" for one in THOUSANDS), {}, THOUSANDS, SEEN),
    "1,889.50 between commas": (
        costs_as((f'"{one:,.2f}"' for one in THOUSANDS), ","),
        {},
        THOUSANDS,
        SEEN,
    ),
    "1 889,50": (
        costs_as(german(one).replace(".", "\u00a0") for one in THOUSANDS),
        {},
        THOUSANDS,
        SEEN,
    ),
    "1'889.50": (
        costs_as(f"{one:,.2f}".replace(",", "'") for one in THOUSANDS),
        {},
        THOUSANDS,
        SEEN,
    ),
    "1.889 said to be German": (costs_as(TWO_WAYS), {"decimal": ","}, WHOLE, SEEN),
    "1.889 with thousands said": (costs_as(TWO_WAYS), {"thousands": "."}, WHOLE, SEEN),
    "1.889 said to be English": (
        costs_as(TWO_WAYS),
        {"decimal": "."},
        [float(one) for one in TWO_WAYS],
        SEEN,
    ),
    "1.889 between commas": (costs_as(TWO_WAYS, ","), {}, [float(one) for one in TWO_WAYS], SEEN),
    "German dates": (days_as("%d.%m.%Y"), {}, COSTS, SEEN),
    "German dates and times": (days_as("%d.%m.%Y 00:00:00"), {}, COSTS, SEEN),
    "31/12/2024": (days_as("%d/%m/%Y"), {}, COSTS, SEEN),
    "12/31/2024": (days_as("%m/%d/%Y"), {}, COSTS, SEEN),
    "12/31/2024 12:00 AM": (days_as("%m/%d/%Y 12:00 AM"), {}, COSTS, SEEN),
    "ISO with a zone": (days_as("%Y-%m-%dT02:00:00+02:00"), {}, COSTS, SEEN),
    "01/02/2024, said": (
        csv_of(lines(map(str, COSTS), [f"{one:%d/%m/%Y}" for one in FIRST_DAYS])),
        {"dates": "dmy"},
        COSTS,
        [(one - dt.date(1970, 1, 1)).days * 86_400 for one in FIRST_DAYS],
    ),
    "Excel": (sheet_of(), {}, COSTS, SEEN),
    "Excel, numbers as German texts": (sheet_of(map(german, THOUSANDS)), {}, THOUSANDS, SEEN),
    "Excel, dates as German texts": (
        sheet_of(seen=[f"{day:%d.%m.%Y}" for day in DAYS]),
        {},
        COSTS,
        SEEN,
    ),
    "Excel, names in the middle": (sheet_of(at=(4, 3)), {}, COSTS, SEEN),
    "Excel, a sheet": (sheet_of(sheet="B", others="C"), {"sheet": "B"}, COSTS, SEEN),
    "Excel, failed formulas": (
        sheet_of(["#N/A", "=1/0", *COSTS[2:]]),
        {},
        [None, None, *COSTS[2:]],
        SEEN,
    ),
    "failed formulas in a CSV file": (
        csv_of(lines(["#DIV/0!", "#NV", *map(str, COSTS[2:])], map(str, DAYS))),
        {},
        [None, None, *COSTS[2:]],
        SEEN,
    ),
    "LibreOffice": (open_document, {}, COSTS, SEEN),
}


def marked(name):
    return pytest.param(name, marks=[excel] if "Excel," in name or name == "Excel" else [])


@pytest.mark.parametrize("name", [marked(name) for name in RIGHT])
def test_what_can_be_read_is_read_right(name, tmp_path):
    write, said, costs, seen = RIGHT[name]
    table = read_table(write(tmp_path), SCHEMA, target="ill", **said)
    assert table["cost"].to_pylist() == pytest.approx(costs)
    assert table["seen"].to_pylist() == seen
    assert set(table["ward"].to_pylist()) == set(WARDS)
    assert table["ill"].null_count == 0


def damaged(folder):
    (folder / "t.xlsx").write_bytes(b"PK\x03\x04 and then nothing")
    return folder / "t.xlsx"


MIXED_DAYS = [f"{day:%d/%m/%Y}" if i % 2 else f"{day:%m/%d/%Y}" for i, day in enumerate(DAYS)]

REFUSED = {
    "1.889 between semicolons": (costs_as(TWO_WAYS), [], "--decimal"),
    "1.889 between tabs": (costs_as(TWO_WAYS, "\t"), [], "--decimal"),
    "1,889 between commas": (
        costs_as(QUOTED, ","),
        [],
        "two ways",
    ),
    "1.889 beside German dates": (
        csv_of(lines(TWO_WAYS, [f"{day:%d.%m.%Y}" for day in DAYS])),
        [],
        "--decimal",
    ),
    "3.5 and 3,5": (costs_as(["3.5", "3,5"] * (ROWS // 2)), [], "decimal points in some rows"),
    "01/02/2024": (
        csv_of(lines(map(str, COSTS), [f"{one:%d/%m/%Y}" for one in FIRST_DAYS])),
        [],
        "--dates dmy",
    ),
    "day first and month first": (
        csv_of(lines(map(str, COSTS), MIXED_DAYS)),
        [],
        "day first in some rows",
    ),
    "years of two digits": (days_as("%d.%m.%y"), [], "first rows of column 'seen'"),
    "numbers with units": (costs_as(f"{one} kg" for one in COSTS), [], "column 'cost'"),
    "the wrong decimal sign": (csv_of(plain(";")), ["--decimal", ","], "column 'cost'"),
    "the wrong order of dates": (days_as("%d/%m/%Y"), ["--dates", "ymd"], "column 'seen'"),
    "an unknown encoding": (csv_of(plain()), ["--encoding", "klingon"], "no encoding"),
    "names in another encoding": (
        csv_of(plain().replace("ward", "größe"), "cp1252"),
        ["--encoding", "utf-8"],
        "--encoding",
    ),
    "an unknown decimal sign": (csv_of(plain()), ["--decimal", ";"], "decimal sign"),
    "one sign for both": (csv_of(plain()), ["--decimal", ",", "--thousands", ","], "two signs"),
    "an unknown order": (csv_of(plain()), ["--dates", "ydm"], "order of dates"),
    "a sheet of a CSV file": (csv_of(plain()), ["--sheet", "x"], "no sheets"),
    "an encoding of Excel": (sheet_of(), ["--encoding", "utf-8"], "leave the encoding out"),
    "Excel, a sheet that is not there": (sheet_of(), ["--sheet", "2024"], "no sheet '2024'"),
    "Excel, an empty sheet": (sheet_of(others="B"), ["--sheet", "B"], "is empty"),
    "Excel, 1.889 as text": (sheet_of(TWO_WAYS), [], "--decimal"),
    "Excel, dates as texts": (
        sheet_of(seen=[f"{one:%d/%m/%Y}" for one in FIRST_DAYS]),
        [],
        "--dates",
    ),
    "Excel, a title above the names": (
        lambda folder: write_workbook(
            folder / "t.xlsx", [["Patients"], ["cost", "ill"], [1, "no"]]
        ),
        [],
        "a title",
    ),
    "Excel, damaged": (damaged, [], "no workbook"),
    "a wrong name of the file": (
        lambda folder: sheet_of()(folder).rename(folder / "t.csv"),
        [],
        "not text",
    ),
    "most lines of another length": (
        csv_of(plain().replace(",Süd,", ",Süd,x,").replace(",Ost,", ",")),
        [],
        "fields",
    ),
}


@excel
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_for_certain_is_refused_before_paying(
    name, tmp_path, monkeypatch, capsys
):
    write, said, words = REFUSED[name]
    path = write(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("t.yaml").write_text(YAML, encoding="utf-8")
    Ledger("book.db", Budget(2, 1e-6), dataset="t")
    train = ["train", path.name, "--target", "ill", "--schema", "t.yaml", "--ledger", "book.db"]
    done = run_voile([*train, *said], monkeypatch, capsys)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert not Ledger("book.db").history()


def test_the_tables_above_have_forty_and_more():
    assert len(RIGHT) + len(REFUSED) >= 60
