"""Pages, figures and prints of contributions."""

from itertools import pairwise

import numpy as np
import pytest
from contribution_records import make_contributions, picture_contributions, text_contributions

from voile.errors import SettingError
from voile.report.blackbox.contributions_page import FEWEST_TOGETHER, draw_page
from voile.report.blackbox.waterfall import PALE, find_ends, find_steps

EVIL = "<script>alert(1)</script>"


def test_steps_lead_from_the_average_to_the_score():
    why = make_contributions(1, tuple(f"column {j}" for j in range(30)))
    base, score = find_ends(why, 0, 0)
    steps = find_steps(why, 0, 0)
    assert steps[0].start == base.size == 40.0  # percent
    for before, after in pairwise(steps):
        assert after.start == pytest.approx(before.start + before.size)
    assert steps[-1].start + steps[-1].size == pytest.approx(score.size)
    assert len(steps) < 16
    assert score.text.endswith(" %")


def test_what_may_be_nothing_is_grey():
    values = np.array([[[0.2], [-0.1], [0.022], [0.001]]])
    why = make_contributions(1, values=values, scores=np.array([[0.523]]))
    assert why.verdicts()[:3] == ("clear", "clear", "perhaps")
    bars = why.plot().data[0]
    assert list(bars.marker.opacity) == [1.0, 1.0, PALE, 1.0]
    assert bars.marker.color[3] not in bars.marker.color[:3]  # grey
    page = draw_page(why)
    assert "cannot be told from nothing" in page
    assert "perhaps" in page


def test_a_page_has_a_waterfall_for_each_row_and_many_rows_together():
    few = draw_page(make_contributions(2))
    assert few.count("<figure") == 2 + 1  # and what it cost
    assert "rows together" not in few
    many = draw_page(make_contributions(FEWEST_TOGETHER))
    assert f"All {FEWEST_TOGETHER} rows together" in many
    assert "contribution by the row&#39;s own value" in many or "row's own value" in many
    assert "the guarantee is for the rows behind the model, not for these" in many


def test_names_and_values_do_no_harm():
    given = ((EVIL, EVIL),)
    why = make_contributions(1, (EVIL, "b"), (EVIL,), given=given, read_as=(("", ""),), error=0.0)
    assert EVIL not in draw_page(why)


@pytest.mark.parametrize("name", ["importances", "beeswarm", "age", "ward"])
def test_many_rows_have_figures(name, tmp_path):
    why = make_contributions(30)
    figure = why.plot(name)
    assert sum(len(one.x) for one in figure.data) in (4, 30, 120)
    assert why.save_figure(tmp_path / "figure.svg", name).stat().st_size > 1000
    with pytest.raises(SettingError, match="row"):
        why.plot(name, row=2)


def test_missing_values_and_many_levels_leave_gaps_not_errors():
    given = tuple((str(i) if i % 3 else "(missing)", f"level {i}", "1", "A") for i in range(40))
    why = make_contributions(40, given=given)
    assert len(why.plot("age").data[0].x) == 26  # who has no age has no place
    assert len(why.plot("ward").data[0].x) == 12  # the commonest levels
    assert why.plot("beeswarm").data


def test_unknown_figures_are_refused_by_name():
    why = make_contributions(3)
    with pytest.raises(SettingError, match="did you mean 'beeswarm'"):
        why.plot("beeswarn")
    with pytest.raises(SettingError, match="no values of single columns"):
        text_contributions().plot("film")


def test_texts_are_marked_and_pictures_have_heat_maps():
    page = draw_page(text_contributions())
    assert page.count("<mark") >= 4
    assert "<b>with</b>" not in page
    page = draw_page(picture_contributions())
    assert page.count("<img") == 4
    assert len(picture_contributions().plot().data) == 4


def test_contributions_are_printed(capsys):
    make_contributions(2, outputs=("ill", "well")).show()
    told = capsys.readouterr().out
    assert "average score" in told
    assert "this row's score" in told
    assert "the highest of 2 scores" in told
    picture_contributions().show()
    assert "Row 1" in capsys.readouterr().out
