"""Answers in files: for Excel, for programs, and for both."""

import pytest

from needs import needs
from voile.privacy.files.answer_files import as_csv, check_can_write, write_answers

COLUMNS = {"who": ["=1+1", "Müller;A"], "prediction": ["yes", 1], "score": [0.25, 1e-07]}


def test_csv_is_written_like_the_rows(tmp_path):
    assert as_csv({"a": ["x"], "b": [0.5]}, ",", comma=False) == "a,b\nx,0.5\n"
    text = 'who;prediction;score\n=1+1;yes;0,25\n"Müller;A";1;1e-07\n'
    assert as_csv(COLUMNS, ";", comma=True) == text
    path = tmp_path / "a.csv"
    write_answers(path, COLUMNS, ";", comma=True)
    assert path.read_bytes() == b"\xef\xbb\xbf" + text.encode()
    write_answers(path, {"a": ["x"]}, ",", comma=False)
    assert path.read_bytes() == b"a\nx\n"


@needs("openpyxl")
def test_excel_files_hold_texts_as_texts(tmp_path):
    import openpyxl

    path = tmp_path / "a.xlsx"
    check_can_write(path)
    write_answers(path, {**COLUMNS, "bell\7": ["\0", None]}, ",", comma=False)
    sheet = openpyxl.load_workbook(path).active
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    assert rows[0] == ["who", "prediction", "score", "bell"]
    assert rows[1] == ["=1+1", "yes", 0.25, None]
    assert rows[2] == ["Müller;A", 1, 1e-07, None]
    assert sheet["A2"].data_type == "s"


def test_without_the_library_it_is_named(tmp_path, monkeypatch):
    import sys

    from voile.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    check_can_write(tmp_path / "a.csv")
    with pytest.raises(MissingExtra, match=r"voile\[excel\]"):
        check_can_write(tmp_path / "a.xlsx")
