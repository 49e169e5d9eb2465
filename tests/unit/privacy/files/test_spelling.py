"""Spellings: a column decides for itself or follows the others, and is in doubt otherwise."""

import pyarrow as pa
import pytest

from voile import Category, Number
from voile.errors import DataError, SettingError
from voile.privacy.files.cells import FileCells, guess_type, read_cells
from voile.privacy.files.dialect import DateOrder, Dialect, Spelling
from voile.privacy.files.spelling import decide_spellings


def cells(*texts, times=20):
    return FileCells(pa.chunked_array([list(texts) * times], pa.string()))


def decide(columns, separator=";", **said):
    return decide_spellings(
        {name: cells(*texts) for name, texts in columns.items()}, Dialect(**said), separator
    )


@pytest.mark.parametrize(
    ("texts", "separator", "sign"),
    [
        (["3,5", "12"], ";", ","),
        (["3.5", "12"], ";", "."),
        (["3,5", "12"], ",", ","),
        (["1.889,50", "1.200"], ";", ","),
        (["1,889.50"], ",", "."),
        (["1 889,50"], "\t", ","),
        (["12", "13"], ";", None),
        (["12", "13"], ",", "."),
        (["1.889"], ",", "."),
        (["NA", "", "3,5"], ";", ","),
    ],
)
def test_a_column_decides_for_itself(texts, separator, sign):
    found = decide({"a": texts}, separator)
    assert found.of["a"].decimal == sign
    assert found.doubts == {}


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        (["1.889"], ";"),
        (["1,889"], ","),
        (["1,889"], ";"),
        (["1.889", "12"], ""),
        (["1.889"], "\t"),
    ],
)
def test_a_column_that_can_be_read_in_two_ways_is_in_doubt(texts, separator):
    found = decide({"a": texts, "b": ["x"]}, separator)
    assert "two ways" in found.doubts["a"]
    for sign in ".,":
        assert decide({"a": texts}, separator, decimal=sign).doubts == {}
    # Whoever reads it as text, or not at all, is not asked.
    found.check({"a": Category()}, "t.csv")
    with pytest.raises(DataError, match=r"column 'a' in 't\.csv' can be read in two ways"):
        found.check({"a": Number()}, "t.csv")


def test_a_column_in_doubt_follows_the_others_if_they_agree():
    doubtful = ["1.889", "1.250"]
    found = decide({"a": doubtful, "b": ["3,5"]})
    assert (found.of["a"].decimal, found.doubts) == (",", {})
    found = decide({"a": doubtful, "b": ["3.5"]})
    assert (found.of["a"].decimal, found.doubts) == (".", {})
    found = decide({"a": doubtful, "b": ["3.5"], "c": ["3,5"]})
    assert found.of["a"].decimal is None
    assert list(found.doubts) == ["a"]
    assert (found.of["b"].decimal, found.of["c"].decimal) == (".", ",")


def test_a_note_with_a_number_in_it_has_no_vote():
    assert list(decide({"a": ["1.889"], "b": ["at 3,5", "x", "3,5"]}).doubts) == ["a"]


def test_german_dates_speak_against_points_as_decimals():
    assert decide({"a": ["1.889"]}, ",").doubts == {}
    assert list(decide({"a": ["1.889"], "b": ["31.12.2024"]}, ",").doubts) == ["a"]


def test_rows_that_differ_are_refused_unless_nearly_all_agree():
    assert "some rows" in decide({"a": ["3.5", "3,5"]}).doubts["a"]
    nearly = decide({"a": ["3,5"] * 99 + ["3.5"]})
    assert (nearly.of["a"].decimal, nearly.doubts) == (",", {})
    assert "some rows" in decide({"a": ["31/12/2024", "12/31/2024"]}).doubts["a"]


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["31/12/2024", "01/02/2024"], DateOrder.DMY),
        (["12/31/2024", "01/02/2024"], DateOrder.MDY),
        (["31.12.2024"], None),
        (["2024-12-31"], None),
        (["03/03/2024"], None),
    ],
)
def test_dates_decide_for_themselves(texts, order):
    found = decide({"a": texts})
    assert (found.of["a"].dates, found.doubts) == (order, {})


def test_dates_that_can_be_read_in_two_ways():
    assert "3 April or 4 March" in decide({"a": ["03/04/2024"]}).doubts["a"]
    assert decide({"a": ["03/04/2024"], "b": ["31/12/2024"]}).of["a"].dates is DateOrder.DMY
    assert decide({"a": ["03/04/2024"]}, dates="mdy").doubts == {}


def test_what_most_rows_cannot_be_is_refused():
    found = decide({"a": ["12 kg", "13 kg"], "b": ["yes", "no"], "c": ["31.12.24"]})
    for name, column in (("a", Number()), ("b", Category([0, 1])), ("c", Number(0, 1))):
        with pytest.raises(DataError, match=f"first rows of column '{name}'"):
            found.check({name: column}, "t.csv")
    found.check({"a": Category(), "b": Category([False, True])}, "t.csv")
    few = decide_spellings({"a": cells("old", times=5)}, Dialect(), ";")
    few.check({"a": Number()}, "t.csv")


def test_guesses_are_told_and_what_was_said_is_not():
    columns = {"a": ["3,5"], "b": ["3.5"], "c": ["31/12/2024"]}
    found = decide(columns)
    assert found.guesses == (
        "decimal point in 'b'",
        "decimal comma in 'a'",
        "dates with the day first",
    )
    assert decide({"a": ["3,5"]}).guesses == ("decimal comma",)
    assert decide({"a": ["3,5"]}, decimal=",", dates="dmy").guesses == ()


TEXTS = [
    *("1", " 2.5 ", "3,5", "1,234", "1,2,3", "1.234,5", "1e3", "+.5", "5.", ",5", "1_0", "0x1"),
    *("2024-02-30", "2024-01-31", "2024-01-31T08:30", "2024-01-31 08:30:01.5", "24.02.2020"),
    *("2024-01-31T08:30:00Z", "inf", "1 000", "1;2", "\ufffd", "12:30", "2024-1-3", "2024", "٣"),
    *("31/12/2024", "12/31/2024", "03/04/2024", "1'000"),
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("separator", [",", ";"])
def test_what_is_guessed_a_number_or_a_time_is_read_as_one_or_refused(text, separator):
    found = decide({"a": [text]}, separator)
    guessed = guess_type(cells(text), found.of["a"])
    read = read_cells(cells(text), Number(), found.reading("a", Number()))
    assert read.null_count in (0, len(read))
    if guessed == pa.string():
        assert read.null_count == len(read)
    else:
        assert (read.null_count == 0) == (found.doubts == {})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"decimal": ";"}, "decimal sign"),
        ({"thousands": "_"}, "Thousands"),
        ({"decimal": ",", "thousands": ","}, "two signs"),
        ({"dates": "ydm"}, "order of dates"),
        ({"encoding": "klingon"}, "no encoding"),
    ],
)
def test_what_cannot_be_said_is_refused(said, words):
    with pytest.raises(SettingError, match=words):
        Dialect(**said)


def test_a_sign_of_thousands_tells_the_decimal_one():
    assert decide({"a": ["1.889"]}, thousands=".").of["a"] == Spelling(",", ".")
    assert decide({"a": ["1,889"]}, thousands=",").of["a"] == Spelling(".", ",")
    assert decide({"a": ["1.889"]}, thousands="none").of["a"].decimal == "."
