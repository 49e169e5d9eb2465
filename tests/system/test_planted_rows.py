"""One row behind the first ones of a private file changes nothing that anybody sees before paying.

What is printed, refused, guessed and noted is the same for two files that differ in that row.
"""

import datetime as dt
import json
from pathlib import Path

import pytest
from command_line import run_voile
from workbooks import write_workbook

from needs import needs
from voile import load, read_table
from voile.privacy.files import csv_files, table_files
from voile.privacy.files.table_files import TableFile

excel = needs("openpyxl", "python_calamine")
MANY = 900
ORDINARY = "99.5,2025-03-01,O,no"
PLANTED = {
    "German numbers and dates": '"1.889,50",01.03.2025,O,no',
    "two ways": '"1,889",03/04/2025,O,no',
    "another encoding": b"99.5,2025-03-01,\xd6st\xe4,no",
    "bytes that are no text": b"\xff\x81,\x8d,\x8f,\x9d",
    "UTF-8": "99.5,2025-03-01,Östä,no",
    "too many fields": "1,2,3,4,5,6",
    "too few fields": "1",
    "a quote left open": '99.5,"2025-03-01,O,no',
    "words": "much,soon,nowhere,perhaps",
    "failed formulas": "#DIV/0!,#N/A,#REF!,#NAME?",
    "nothing": ",,,",
    "no row at all": None,
}


@pytest.fixture(autouse=True)
def few_first_rows(tmp_path, monkeypatch):
    """The first rows are fewer than usual, so that there are rows behind them in small files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(csv_files, "FIRST_BYTES", 2**14)
    monkeypatch.setattr(csv_files, "GUESSED_FROM", 60)
    monkeypatch.setattr(table_files, "GUESSED_FROM", 60)


def plant(row):
    """A table of many rows, one of which is another."""
    rows = [
        f"{12.5 + i % 90},2025-01-{1 + i % 28:02d},O,{'no' if i % 3 else 'yes'}"
        for i in range(MANY)
    ]
    planted = [] if row is None else [row if isinstance(row, bytes) else row.encode()]
    return b"\n".join([b"cost,seen,ward,ill", *(one.encode() for one in rows), *planted]) + b"\n"


def observe(path, monkeypatch, capsys):
    """All that is told of a private file without paying, and what receipts will say."""
    file = TableFile(path)
    told = [file.remarks, file.doubts, file.notes(kinds=True), file.declared.schema]
    verbs = [["schema", path, "--target", "ill", "--no-ask"], ["plan", path, "--target", "ill"]]
    told += [run_voile([*verb, "--json"], monkeypatch, capsys) for verb in verbs]
    wrong = ["train", path, "--target", "ill", "--epsilon", "-1"]
    told.append(run_voile(wrong, monkeypatch, capsys))
    return [*told, read_table(path).schema]


@pytest.mark.parametrize("name", PLANTED)
def test_a_row_behind_the_first_ones_decides_nothing(name, monkeypatch, capsys):
    path, outcomes = Path("t.csv"), []
    for row in (ORDINARY, PLANTED[name]):
        path.write_bytes(plant(row))
        assert path.stat().st_size > csv_files.FIRST_BYTES
        outcomes.append(observe(path, monkeypatch, capsys))
    assert outcomes[0] == outcomes[1]


def test_what_first_rows_decide_is_seen(monkeypatch, capsys):
    """Else the test above could not fail."""
    path = Path("t.csv")
    path.write_bytes(plant(ORDINARY))
    before = observe(path, monkeypatch, capsys)
    for old, new in ((b"2025-01-", b"31/01/20"), (b",O,", ",Ö,".encode("cp1252"))):
        path.write_bytes(plant(ORDINARY).replace(old, new))
        assert observe(path, monkeypatch, capsys) != before


IN_SHEETS = {
    "texts": ["1.889,50", "01.03.2025", "O", "no"],
    "two ways": ["1.889", "03/04/2025", "O", "no"],
    "failed formulas": ["#N/A", "=1/0", "#REF!", "#DIV/0!"],
    "other kinds": [dt.date(2025, 1, 1), 17, True, dt.time(8)],
    "a remark beside": [1.5, None, None, None, None, "call back"],
    "nothing": [],
}


@excel
@pytest.mark.parametrize("name", IN_SHEETS)
def test_nor_does_one_of_a_sheet(name, monkeypatch, capsys):
    rows = [[12.5 + i % 90, dt.date(2025, 1, 1 + i % 28), "O", "no"] for i in range(61)]
    path, outcomes = Path("t.xlsx"), []
    for row in (rows[0], IN_SHEETS[name]):
        write_workbook(path, [["cost", "seen", "ward", "ill"], *rows, row])
        outcomes.append(observe(path, monkeypatch, capsys))
    assert outcomes[0] == outcomes[1]


@pytest.mark.slow
def test_trainings_tell_the_same_but_for_their_noise(monkeypatch, capsys):
    path, outcomes = Path("t.csv"), []
    for row in (ORDINARY, *PLANTED.values()):
        path.write_bytes(plant(row))
        train = ["train", path, "--target", "ill", "--no-evaluate", "--json", "-o", "m.voile"]
        done = run_voile(train, monkeypatch, capsys)
        told = json.loads(done.out)
        receipt = load("m.voile").receipt_
        steps = [one["label"] for one in told["receipt"]["accesses"]]
        outcomes.append((done.code, done.err, told["kind"], told["notes"], receipt.notes, steps))
        Path("m.voile").unlink()
    for one in outcomes:
        assert one == outcomes[0]
    assert outcomes[0][0] == 0
