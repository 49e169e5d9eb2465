"""What is asked for must be there; errors say what there is."""

import pytest

from voile.errors import SettingError
from voile.figure_request import FigureRequest


def test_names_are_found_or_the_first_is_taken():
    known = ["age", "sex"]
    assert FigureRequest().choose_name(known) == "age"
    assert FigureRequest("sex").choose_name(known) == "sex"
    with pytest.raises(SettingError, match="no figure 'agge': did you mean 'age'"):
        FigureRequest("agge").choose_name(known)
    with pytest.raises(SettingError, match="no figure 'x': give one of 'age', 'sex'"):
        FigureRequest("x").choose_name(known)
    with pytest.raises(SettingError, match="and 28 more"):
        FigureRequest("?").choose_name([f"column {i}" for i in range(40)])
    with pytest.raises(SettingError, match="nothing"):
        FigureRequest().choose_name([])


@pytest.mark.parametrize("row", [-1, 3, 1.5, "0"])
def test_rows_must_have_been_explained(row):
    assert FigureRequest().choose_row(3) == 0
    assert FigureRequest(row=2).choose_row(3) == 2
    with pytest.raises(SettingError, match="a position from 0 to 2"):
        FigureRequest(row=row).choose_row(3)
    with pytest.raises(SettingError, match="no row was explained"):
        FigureRequest().choose_row(0)


def test_outputs_are_found():
    assert FigureRequest().choose_output(("a", "b")) is None
    assert FigureRequest(output="b").choose_output(("a", "b")) == 1
    with pytest.raises(SettingError, match="no output 'c'"):
        FigureRequest(output="c").choose_output(("a", "b"))


def test_what_a_record_has_not_is_refused():
    FigureRequest("age").refuse("row", "output")
    with pytest.raises(SettingError, match="have no row"):
        FigureRequest("age", row=0).refuse("row", "output")
