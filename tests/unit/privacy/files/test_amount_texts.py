"""Amounts with a sign: nearly all first cells, never one alone."""

import pyarrow as pa
import pytest

from voile.privacy.files.amount_texts import find_sign
from voile.privacy.files.cells import FileCells


def cells(texts):
    return FileCells(pa.chunked_array([texts], pa.string()))


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        *(("€1234.50", "€"), ("1.234,50 EUR", "EUR"), ("CHF 12", "CHF"), ("35%", "%")),
        *(("35 %", "%"), ("-$5", "$"), ("US$ 1,000", "US$"), ("12\u00a0€", "€"), ("12,- €", "€")),
        *(("Fr. 12.50", "Fr."), ("1'000 sFr", "sFr"), ("3 ‰", "‰"), ("£+3", "£"), ("₹ 12", "₹")),
        *((" 12 zł ", "zł"), ("1\u202f234,50 €", "€")),
        *(("12", None), ("12 kg", None), ("A12", None), ("%", None), ("EUR", None), ("€", None)),
        *(("12.05.2024", None), ("1-2", None), ("5%-10%", None), ("<5%", None), ("EURO1a", None)),
    ],
)
def test_what_looks_like_an_amount(text, sign):
    assert find_sign(cells([text] * 20)) == sign


def test_nearly_all_cells_decide_and_missing_ones_do_not():
    assert find_sign(cells([])) is None
    assert find_sign(cells(["", "NA"] * 20)) is None
    assert find_sign(cells(["5%"] * 97 + ["", "much", "little"])) == "%"
    assert find_sign(cells(["5%"] * 90 + ["much"] * 10)) is None
    # Numbers can be read if they are nearly all.
    assert find_sign(cells(["5"] * 97 + ["5%"] * 3)) is None
    assert find_sign(cells(["5"] * 50 + ["€5"] * 20 + ["5%"] * 30)) == "%"


def test_cells_of_a_sheet_that_are_numbers_have_no_sign():
    texts, kinds = ["5", "5 €"] * 20, ["number", None] * 20
    values = [5.0, None] * 20
    typed = FileCells(
        *(
            pa.chunked_array([one], kind)
            for one, kind in zip(
                (texts, values, kinds), (pa.string(), pa.float64(), pa.string()), strict=True
            )
        )
    )
    assert find_sign(typed) == "€"
