"""Pages of slopes show the record's own numbers, need no network, and run no name."""

import html
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from explained_models import make_receipt
from surrogate_records import (
    REVIEW,
    census_surrogate,
    levels,
    make_surrogate,
    number,
    picture_surrogate,
    review_surrogate,
)
from test_report_pages import EVIL, WORSE, Elements, figures_of
from test_report_prototypes import check_alone, pictures_of, text_of

from voile.explain.blackbox.surrogate.text import OWN
from voile.explain.blackbox.surrogate.trust import read_trust
from voile.explain.wording import noisy, signed
from voile.report.blackbox import surrogate_page
from voile.report.blackbox.marked_words import FAINTEST, FULLEST, MOST_TEXT, place_marks
from voile.report.blackbox.slope_bars import PALE, draw_slopes, find_slopes
from voile.report.blackbox.surrogate_page import paint_asked
from voile.report.kit.bars import MOST_BARS
from voile.report.kit.pictures import paint_picture, paint_signed
from voile.report.kit.theme import LOWER, RAISE, see_through

MANY = tuple(f"class {k}" for k in range(15))
CASES = [
    pytest.param(census_surrogate(), id="table"),
    pytest.param(census_surrogate(1), id="one row"),
    pytest.param(census_surrogate(0), id="no rows"),
    pytest.param(make_surrogate([number("x")]), id="one feature"),
    pytest.param(make_surrogate([]), id="no features"),
    pytest.param(make_surrogate([number(f"x{j}") for j in range(120)]), id="wide"),
    pytest.param(census_surrogate(error=0.0), id="no noise"),
    pytest.param(census_surrogate(error=math.inf), id="unknown noise"),
    pytest.param(census_surrogate(error=math.nan), id="noise is no number"),
    pytest.param(census_surrogate(values=np.zeros((2, 7, 1))), id="nothing moves it"),
    pytest.param(make_surrogate([number("x"), number("y")], outputs=MANY), id="many outputs"),
    pytest.param(review_surrogate(), id="text"),
    pytest.param(review_surrogate(("bad", "fair", "good")), id="text of three classes"),
    pytest.param(review_surrogate(text=""), id="empty text"),
    pytest.param(review_surrogate(texts=()), id="words without a text"),
    pytest.param(picture_surrogate(), id="pictures"),
    pytest.param(picture_surrogate((3, 4, 3), outputs=("a", "b")), id="colours"),
    pytest.param(picture_surrogate(error=math.inf), id="pictures of unknown noise"),
]


def marks_of(page):
    """Marked words of a text: (word, style, title)."""
    return [
        (html.unescape(word), style, html.unescape(title))
        for style, title, word in re.findall(
            r'<mark style="([^"]*)" title="([^"]*)">([^<]*)</mark>', page
        )
    ]


@pytest.mark.parametrize("told", CASES)
def test_pages_stand_alone_and_are_the_same_each_time(told, tmp_path):
    page = surrogate_page.draw_page(told)
    check_alone(page)
    text = text_of(page)
    assert told.receipt.guarantee in text
    assert "This page costs nothing" in text
    assert "The rows on this page are those that were asked about" in text
    assert "nan" not in text.lower()
    assert not re.search(r"\d\.\d{9,}", text)
    assert told.to_html(tmp_path / "a.html").read_text() == page
    assert "iframe" in told._repr_html_()


# -- bars ---------------------------------------------------------------------------------------


def test_bars_are_the_greatest_slopes_with_their_noise():
    told = make_surrogate([number(f"x{j}") for j in range(40)], outputs=("a", "b"))
    for row, output in ((0, 0), (1, 1)):
        figure = draw_slopes(told, row, output)
        top = told.top(MOST_BARS, row, output)
        assert list(figure.data[0].x) == [one.value for one in top]
        assert list(figure.data[0].error_x.array) == [2 * one.standard_error for one in top]
        for one, label in zip(top, figure.layout.yaxis.ticktext, strict=True):
            assert f"{one.name} is 0.25; 0.01 more: {signed(one.value / 100)}<" in label
            assert noisy(one.value, one.standard_error) in label
        low, high = figure.layout.xaxis.range
        assert all(low < one.value - 0.04 and one.value + 0.04 < high for one in top)
        colours = [RAISE if one.value > 0 else LOWER for one in top]
        assert list(figure.data[0].marker.color) == colours
    assert "Shown: the 12 greatest of 40 slopes." in text_of(surrogate_page.draw_page(told))


def test_figures_of_the_page_are_those_of_the_record():
    told = census_surrogate()
    figures = figures_of(surrogate_page.draw_page(told))
    assert list(figures) == ["row-0-0", "row-1-0", "budget"]
    for row in range(2):
        traces, _ = figures[f"row-{row}-0"]
        assert traces[0]["x"] == [one.value for one in told.top(12, row)]


def test_own_levels_are_marked_and_others_pale():
    told = census_surrogate()
    for row in range(2):
        order = told.ranked(row)
        parts = find_slopes(told, row, 0)
        opacity = list(draw_slopes(told, row, 0).data[0].marker.opacity)
        for j, part, seen in zip(order, parts, opacity, strict=True):
            own, level = told.own[row, j], told.features[j].level is not None
            assert part.label.startswith(OWN) == own
            assert seen == (PALE if level and not own else 1.0)
            if level:
                assert part.told[1] == ("the row's own level" if own else "not the row's own level")
    assert sum(part.label.startswith(OWN) for part in parts) == 2


def test_a_number_tells_its_bounds_and_its_value():
    told = census_surrogate(read_as=(("90", "", "", ""), ("",) * 4))
    part = next(one for one in find_slopes(told, 0, 0) if one.label.startswith("age"))
    assert part.label == f"age is 0.25 → 90; 1 more: {signed(part.size / 73)}"
    assert part.told == ("age: bar from 17 to 90", "this row: 0.25, read as 90")
    assert "Read otherwise than given: age 0.25 as 90." in text_of(surrogate_page.draw_page(told))


def test_whiskers_do_not_hide_the_bars():
    errors = np.full((2, 7, 1), 0.01)
    errors[0, told_first := census_surrogate().ranked(0)[0]] = 50.0
    told = census_surrogate(standard_errors=errors)
    low, high = draw_slopes(told, 0, 0).layout.xaxis.range
    assert high - low < 10 * abs(told.values[0, told_first, 0])


def test_unknown_noise_is_not_drawn_as_none():
    assert not draw_slopes(census_surrogate(error=math.inf), 0, 0).data[0].error_x.visible
    errors = np.full((2, 7, 1), 0.01)
    errors[0, census_surrogate().ranked(0)[2]] = math.inf
    figure = draw_slopes(census_surrogate(standard_errors=errors), 0, 0)
    low, high = figure.layout.xaxis.range
    assert figure.data[0].error_x.array[2] > high - low
    assert "± unknown" in figure.layout.yaxis.ticktext[2]


# -- page ---------------------------------------------------------------------------------------


def test_a_page_has_all_numbers():
    told = census_surrogate(3, intercept_errors=[[0.03]] * 3)
    text = text_of(surrogate_page.draw_page(told))
    gathered, errors = told.by_column(), told.by_column_errors()
    for row in range(3):
        local = noisy(float(told.intercepts[row, 0]), 0.03, added=False)
        assert f"the surrogate says {local}." in text
        for j in range(7):
            assert noisy(float(told.values[row, j, 0]), 0.02) in text
        for i in range(4):
            assert noisy(float(gathered[row, i, 0]), float(errors[row, i, 0])) in text
        for one in read_trust(told, row, 0):
            assert one.words in text
            assert f"{one.name}: {one.number}," in text
    assert "Gathered by column" in text
    assert "Gathered by column" not in surrogate_page.draw_page(make_surrogate([number("x")]))


def test_trust_is_told_by_words_and_not_by_colour_alone():
    page = surrogate_page.draw_page(
        census_surrogate(
            1, agreement=[[0.95]], r2=[[0.5]], effective_share=[0.0001], distance=[math.inf]
        )
    )
    text = text_of(page)
    for words in ("95 %, ✓ good", "50 %, ~ fair", "✗ poor", "distance: ?", "not known"):
        assert words in text


def test_a_page_stops_at_twenty_rows():
    page = surrogate_page.draw_page(make_surrogate([number("x")], 23))
    assert "The first 20 of 23 rows; to_frame() has all." in page
    assert len(figures_of(page)) == 21
    assert "Row 20 of 23" in page
    assert "Row 21 of 23" not in page


def test_outputs_are_drawn_highest_score_first():
    told = make_surrogate([number("x"), number("y")], 1, MANY)
    page = surrogate_page.draw_page(told)
    best = told.outputs_by_score(0)
    assert list(figures_of(page)) == [*(f"row-0-{k}" for k in best[:4]), "budget"]
    for k in best[:4]:
        assert figures_of(page)[f"row-0-{k}"][0][0]["x"] == [one.value for one in told.top(2, 0, k)]
    text = text_of(page)
    for k in best[:4]:
        part = text[text.index(f"'{MANY[k]}': score") :]
        fit = [f"{one.name}: {one.number}," for one in read_trust(told, 0, k)[:2]]
        assert [part.index(one) < 400 for one in fit] == [True, True]
    assert "Shown: the 4 highest of 15; to_frame() has all." in text
    assert "and 3 more." in text
    page = surrogate_page.draw_page(make_surrogate([number("x")], 1, ("a", "b", "c")))
    assert "Shown: the" not in text_of(page)
    assert len(figures_of(page)) == 4


def test_an_empty_explanation_has_a_page():
    page = surrogate_page.draw_page(census_surrogate(0))
    assert "0 rows" in text_of(page)
    assert list(figures_of(page)) == ["budget"]


def test_without_a_guarantee_the_page_says_so():
    page = surrogate_page.draw_page(census_surrogate(receipt=make_receipt(math.inf)))
    assert "No guarantee: at least one access to the rows had no noise." in page


# -- texts --------------------------------------------------------------------------------------


def test_words_are_marked_by_their_slope():
    told = review_surrogate(error=0.05)
    drawn = place_marks(told, 0, 0)
    text, key = drawn.split("</p>", 1)
    assert "".join(Elements(text).text) == REVIEW
    places = {one.name: j for j, one in enumerate(told.features)}
    marks = marks_of(text)
    assert [word.lower() for word, _, _ in marks] == (
        ["wonderful", "film", "bored", "plot", "brilliant", "brilliant", "film", "awful"]
    )
    top = max(abs(told.values[0, places[word.lower()], 0]) for word, _, _ in marks)
    for word, style, title in marks:
        j = places[word.lower()]
        value = float(told.values[0, j, 0])
        assert title.startswith(noisy(value, 0.05))
        if told.doubtful[0, j, 0]:
            assert "within the noise" in title
            assert "dotted" in style
        else:
            opacity = FAINTEST + (FULLEST - FAINTEST) * abs(value) / top
            assert see_through(RAISE if value > 0 else LOWER, opacity) in style
            assert ("solid" if value > 0 else "dashed") in style
    assert told.doubtful.any()
    assert "within the noise" in key


def test_words_of_unknown_noise_have_their_colour():
    marks = marks_of(place_marks(review_surrogate(error=math.inf), 0, 0))
    assert all("rgba" in style for _, style, _ in marks)
    assert any("unknown" in title for _, _, title in marks)


def test_a_long_text_is_cut_and_said_to_be():
    told = review_surrogate(text="brilliant plot " * 2000)
    drawn = place_marks(told, 0, 0)
    assert "of 30,000 characters)" in drawn
    assert len(marks_of(drawn)) < MOST_TEXT / 6


def test_hostile_texts_are_shown_and_never_run():
    text = f'{EVIL} script "quoted" film & {WORSE} </p><b onclick=x>brilliant'
    told = review_surrogate(text=text, words=("script", "alert", "film", "onerror", "brilliant"))
    page = surrogate_page.draw_page(told)
    check_alone(page)
    assert not Elements(page).all("img")
    drawn = place_marks(told, 0, 0)
    shown = drawn.split("</p>", 1)[0]
    assert "".join(Elements(shown).text) == text
    assert {tag for tag, _ in Elements(drawn).found} == {"p", "mark"}


# -- hostile names ------------------------------------------------------------------------------


def evil_slopes(**changed):
    features = (number(WORSE), *levels(EVIL, [EVIL, WORSE]), number('"><svg onload=x>'))
    return make_surrogate(
        features,
        2,
        (EVIL, WORSE),
        given=((EVIL, WORSE, WORSE), (WORSE, EVIL, "1")),
        read_as=((WORSE, EVIL, EVIL), ("", "", "")),
        weight=EVIL,
        units=WORSE,
        cost=EVIL,
        receipt=make_receipt(unit=EVIL, labels=(EVIL, WORSE, "scores")),
        **changed,
    )


def test_names_are_shown_and_never_run():
    page = surrogate_page.draw_page(evil_slopes())
    check_alone(page)
    elements = Elements(page)
    assert not elements.all("img")
    assert "<svg onload" not in page
    text = " ".join(elements.text)
    assert EVIL in text
    assert WORSE in text
    for traces, layout in figures_of(page).values():
        drawn = json.dumps([traces, layout])
        assert "<script" not in drawn
        assert "<img" not in drawn
        assert "<svg" not in drawn
        assert "hovertemplate" not in json.dumps(traces)
    framed = evil_slopes()._repr_html_()
    assert [tag for tag, _ in Elements(framed).found] == ["iframe"]


def test_names_of_words_and_pictures_are_never_run():
    for told in (
        review_surrogate((EVIL, WORSE), words=(EVIL, WORSE, "film")),
        picture_surrogate(outputs=(EVIL, WORSE)),
    ):
        page = surrogate_page.draw_page(told)
        check_alone(page)
        assert EVIL in " ".join(Elements(page).text)


# -- pictures -----------------------------------------------------------------------------------


def test_a_row_is_drawn_beside_its_heat_map():
    told = picture_surrogate(error=0.1)
    page = surrogate_page.draw_page(told)
    drawn = pictures_of(page)
    assert len(drawn) == 8
    for row in range(2):
        asked, heat, _, clear = drawn[4 * row : 4 * row + 4]
        values = told.values[row, :, 0]
        assert np.array_equal(asked, paint_picture((told.strengths[row] + 1) / 2, (6, 5)))
        assert np.array_equal(heat, paint_signed(values, (6, 5)))
        doubtful = told.doubtful[row, :, 0].reshape(6, 5)
        assert (clear[doubtful] == 224).all()
        strongest = np.unravel_index(np.argmax(np.abs(values)), (6, 5))
        assert (clear[strongest] == heat[strongest]).all()
    assert list(figures_of(page)) == ["budget"]  # pixels have no bars


def test_no_slope_is_white():
    told = picture_surrogate(values=np.zeros((2, 30, 1)), error=0.0)
    asked, heat, _ = pictures_of(surrogate_page.draw_page(told[0]))
    assert (heat == 255).all()
    assert np.array_equal(asked, paint_asked(told, 0))


def test_unknown_noise_has_no_picture_beyond_it():
    page = surrogate_page.draw_page(picture_surrogate(error=math.inf))
    assert len(pictures_of(page)) == 6
    assert "beyond noise" not in page


def test_colours_are_drawn_as_such():
    told = picture_surrogate((3, 4, 3), rows=1)
    asked, heat, *_ = pictures_of(surrogate_page.draw_page(told))
    assert asked.shape == heat.shape == (3, 4, 3)
    summed = told.values[0, :, 0].reshape(12, 3).sum(axis=1)
    assert np.array_equal(heat, paint_signed(summed, (3, 4)))


# -- terminal -----------------------------------------------------------------------------------


@pytest.mark.parametrize("told", CASES)
def test_a_terminal_shows_bars_words_or_pictures(told, capsys):
    told.show()
    seen = capsys.readouterr().out
    assert max(map(len, seen.splitlines())) <= 80
    assert told.receipt.guarantee[:30] in seen
    if len(told) and told.features and told.values.any():
        assert "█" in seen
    if told.picture is None:
        for row in range(len(told)):
            best = told.outputs_by_score(row)[0]
            for one in told.top(8, row, best):
                assert noisy(one.value, one.standard_error) in seen


def test_a_terminal_stops_at_five_rows(capsys):
    census_surrogate(8).show()
    assert "... and 3 more rows: to_frame() has them all" in capsys.readouterr().out


def test_markup_in_names_is_shown_as_it_is(capsys):
    told = make_surrogate([number("[red]name")], 1, ("[bold]no",))
    told.show()
    seen = capsys.readouterr().out
    assert "[red]name" in seen
    assert "[bold]no" in seen
    replace(review_surrogate(), texts=("[bold]film[/bold] [/]",)).show()
    assert "[bold]film[/bold] [/]" in capsys.readouterr().out
