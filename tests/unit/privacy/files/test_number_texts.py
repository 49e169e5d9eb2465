"""Texts as numbers: one sign at a time, and none where there are two ways."""

import pyarrow as pa
import pytest

from voile.privacy.files.dialect import Spelling
from voile.privacy.files.number_texts import read_numbers

POINT, COMMA, OPEN = Spelling("."), Spelling(","), Spelling()


def read(text, spelling):
    return read_numbers(pa.chunked_array([[text]], pa.string()), spelling)[0].as_py()


@pytest.mark.parametrize(
    ("text", "point", "comma", "undecided"),
    [
        ("40", 40, 40, 40),
        ("-1e3", -1000, -1000, -1000),
        ("1e400", None, None, None),
        ("-1e400", None, None, None),
        ("1" * 400, None, None, None),
        ("1" + ",000" * 200, None, None, None),
        ("3.5", 3.5, None, 3.5),
        ("3,5", None, 3.5, 3.5),
        (".5", 0.5, None, 0.5),
        (",5", None, 0.5, 0.5),
        ("5.", 5, None, 5),
        ("1.889", 1.889, 1889, None),
        ("1,889", 1889, 1.889, None),
        ("-1.889", -1.889, -1889, None),
        ("0.889", 0.889, None, 0.889),
        ("1889.500", 1889.5, None, 1889.5),
        ("1.889,50", None, 1889.5, 1889.5),
        ("1,889.50", 1889.5, None, 1889.5),
        ("1.889.000", None, 1889000, 1889000),
        ("1,889,000.5", 1889000.5, None, 1889000.5),
        ("1 889,50", None, 1889.5, 1889.5),
        ("1\u00a0889,50", None, 1889.5, 1889.5),
        ("1\u202f889", 1889, 1889, 1889),
        ("1'889.50", 1889.5, None, 1889.5),
        ("1’889", 1889, 1889, 1889),
        ("12.34.567", None, None, None),
        ("1.8890", 1.889, None, 1.889),
        ("01.889", 1.889, None, 1.889),
        ("1,889.5e3", None, None, None),
        ("1.889,50 €", None, None, None),
        ("1,2,3", None, None, None),
        ("", None, None, None),
        ("inf", None, None, None),
        ("1_0", None, None, None),
        ("٣", None, None, None),
    ],
)
def test_numbers(text, point, comma, undecided):
    assert [read(text, one) for one in (POINT, COMMA, OPEN)] == [point, comma, undecided]


@pytest.mark.parametrize(
    ("text", "thousands", "number"),
    [
        ("1'889,5", "'", 1889.5),
        ("1.889,5", "'", None),
        ("1.889", "", None),
        ("1 889", " ", 1889),
        ("1.889", ".", 1889),
        ("1889,5", ".", 1889.5),
    ],
)
def test_only_the_sign_that_was_said_parts_thousands(text, thousands, number):
    assert read(text, Spelling(",", thousands)) == number


def test_a_column_without_thousands_has_one_way():
    assert read("1.889", Spelling(None, "")) == 1.889
