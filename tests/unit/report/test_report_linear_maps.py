"""Pages of linear maps show the model's own numbers, need no network, and run no name."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from explained_models import make_receipt
from linear_map_models import (
    WARD_ROWS,
    linear_map_model,
    picture_linear_maps,
    picture_rows,
    ward_model,
    wide_linear_maps,
    wide_rows,
)
from markupsafe import escape
from test_report_pages import EVIL, WORSE, figures_of
from test_report_prototypes import PNG, check_alone, pictures_of, text_of

from voile.explain.wording import noisy, percent, short
from voile.explaining import explain_global, explain_local
from voile.report.kit.bars import MOST_BARS
from voile.report.kit.pictures import (
    HARDLY,
    paint_grey,
    paint_over,
    paint_picture,
    paint_signed,
    paint_tints,
    paint_weights,
)
from voile.report.kit.theme import LOWER, RAISE
from voile.report.locally_linear import model_page as linear_map_page
from voile.report.locally_linear import rows_page as linear_map_decision_page
from voile.report.locally_linear.bars import (
    draw_contrast,
    draw_lead,
    find_contrast,
    find_lead,
)
from voile.report.locally_linear.pictures import paint_row
from voile.schema import Category, Number

FAINT = [224, 224, 224]


def pages_of(model, rows):
    return (
        linear_map_page.draw_page(explain_global(model)),
        linear_map_decision_page.draw_page(explain_local(model, rows)),
    )


def pictured(name, **settings):
    model = picture_linear_maps(**settings)
    return pytest.param(model, picture_rows(model), id=name)


CASES = [
    pytest.param(ward_model(), WARD_ROWS, id="table"),
    pytest.param(ward_model(maps=1), WARD_ROWS, id="one map"),
    pytest.param(wide_linear_maps(maps=20), wide_rows(), id="wide"),
    pictured("pictures"),
    pictured("pixels", smooth=False),
    pictured("pictures of one map", maps=1),
    pictured("colours", shape=(4, 4, 3)),
    pictured("two channels", shape=(4, 4, 2)),
]


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_pages_stand_alone_and_are_the_same_each_time(model, rows, tmp_path):
    pages = pages_of(model, rows)
    for page in pages:
        check_alone(page)
        text = text_of(page)
        assert "No row of the training table is shown" in text
        assert "This page costs nothing" in text
        assert "Receipt for a locally linear model" in text
        assert not re.search(r"\d\.\d{9,}", text)
    bank, told = explain_global(model), explain_local(model, rows)
    assert bank.to_html(tmp_path / "a.html").read_text() == pages[0]
    assert told.to_html(tmp_path / "b.html").read_text() == pages[1]
    assert "iframe" in bank._repr_html_()


# -- the whole model ----------------------------------------------------------------------------


def test_a_page_of_a_table_has_all_numbers():
    bank = explain_global(ward_model())
    page = linear_map_page.draw_page(bank)
    assert list(figures_of(page)) == ["class-0", "class-1", "class-2", "budget"]
    text = text_of(page)
    for k in range(3):
        for j in range(7):
            for values, errors in (
                (bank.typical, bank.typical_errors),
                (bank.contrast, bank.contrast_errors),
            ):
                assert noisy(float(values[k, j]), float(errors[k, j])) in text
            for m in range(3):
                number = float(bank.linear_maps[k, m, j])
                assert noisy(number, float(bank.standard_errors[k, m, j])) in text
        for m in range(3):
            assert f"no. {m + 1} ({percent(float(bank.shares[k, m]))})" in text
            assert short(float(bank.offsets[k, m])) in text
    assert "strongest of" not in text  # all are shown


def test_bars_of_a_class_are_the_strongest_with_their_noise():
    bank = explain_global(wide_linear_maps())
    parts = find_contrast(bank, 1)
    assert len(parts) == MOST_BARS
    strongest = np.sort(np.abs(bank.contrast[1]))[::-1][:MOST_BARS]
    assert np.allclose([abs(part.size) for part in parts], strongest)
    figure = draw_contrast(bank, 1)
    assert list(figure.data[0].x) == [part.size for part in parts]
    assert list(figure.data[0].error_x.array) == [2 * part.standard_error for part in parts]
    assert len(figure.data) == 1
    assert "Shown: the 12 strongest of 60 features." in text_of(linear_map_page.draw_page(bank))


def test_a_class_is_shown_by_its_likeness_its_linear_map_and_what_is_beyond_noise():
    bank = explain_global(picture_linear_maps(error=0.6))
    drawn = pictures_of(linear_map_page.draw_page(bank))
    for k in range(3):
        looks, drawn_linear_map, clear = drawn[3 * k : 3 * k + 3]
        assert np.array_equal(looks[..., 0], np.rint(255 * bank.likeness[k]).reshape(6, 5))
        assert np.array_equal(drawn_linear_map, paint_signed(bank.contrast[k], (6, 5)))
        sizes = np.abs(bank.contrast[k])
        faint = (sizes <= 2 * bank.contrast_errors[k]) | (sizes < HARDLY * sizes.max())
        faint = faint.reshape(6, 5)
        assert 0 < faint.sum() < 30
        assert (clear[faint] == FAINT).all()
        assert np.array_equal(clear[~faint], drawn_linear_map[~faint])
    place = 9
    for k, chosen in enumerate(bank.summary):
        for m in chosen:
            expected = paint_signed(bank.distinct[k, m], (6, 5))
            assert np.array_equal(drawn[place + 1], expected)
            place += 2
    # All of them, those that count most first.
    assert len(drawn) == place + 9
    assert np.array_equal(drawn[place], paint_weights(bank.distinct[0, bank.ranked[0, 0]], (6, 5)))


def test_without_noise_nothing_is_beyond_it():
    page = linear_map_page.draw_page(explain_global(picture_linear_maps(error=0.0, maps=1)))
    assert len(pictures_of(page)) == 6
    assert "beyond noise" not in page.lower()
    assert "Single linear maps" not in page


def test_colours_are_shown_as_such():
    bank = explain_global(picture_linear_maps((4, 4, 3)))
    looks, summed, tints, _ = pictures_of(linear_map_page.draw_page(bank))[:4]
    assert np.array_equal(looks, paint_picture(bank.likeness[0], (4, 4, 3)))
    channels = bank.contrast[0].reshape(4, 4, 3)
    assert np.array_equal(summed, paint_signed(channels.sum(axis=2).ravel(), (4, 4)))
    assert np.array_equal(tints, paint_tints(bank.contrast[0], (4, 4, 3)))
    assert tints.reshape(-1)[np.abs(bank.contrast[0]).argmax()] in (0, 255)


def test_many_classes_and_linear_maps_are_counted_honestly():
    page = linear_map_page.draw_page(
        explain_global(picture_linear_maps((3, 3), classes=45, maps=30))
    )
    text = text_of(page)
    assert "Shown: 40 of 45 classes" in text
    assert "All 30 linear maps of 20 classes" in text
    table = linear_map_model({"x": Number(0, 1), "y": Number(0, 1)}, list(range(45)))
    assert len(figures_of(linear_map_page.draw_page(explain_global(table)))) == 41


def test_a_teacher_is_named():
    bank = explain_global(ward_model(taught_by=EVIL))
    page = linear_map_page.draw_page(bank)
    assert EVIL in text_of(page)
    assert EVIL not in page


# -- decisions ----------------------------------------------------------------------------------


def test_a_page_of_rows_has_it_all():
    told = explain_local(ward_model(), WARD_ROWS)
    page = linear_map_decision_page.draw_page(told)
    assert list(figures_of(page)) == [*(f"row-{i}" for i in range(4)), "budget"]
    text = text_of(page)
    assert "300, read as 220" in text
    assert "(missing), read as 66.12" in text
    for i, one in enumerate(told.decisions):
        parts, errors = told.parts(i), told.part_errors(i)
        for k in range(3):
            assert noisy(float(one.scores[k]), float(one.score_errors[k])) in text
            assert all(noisy(float(parts[k, c]), float(errors[k, c])) in text for c in range(4))
            for m in range(3):
                share, says = float(one.shares[k, m]), float(one.map_scores[k, m])
                assert f"no. {m + 1}: {percent(share)}, says {short(says)}" in text
    assert "The rows on this page are those you gave." in text


def test_bars_of_a_row_add_up_to_its_lead():
    told = explain_local(wide_linear_maps(), wide_rows())
    for row, one in enumerate(told.decisions):
        parts = find_lead(told, row)
        assert len(parts) == MOST_BARS + 2
        assert sum(part.size for part in parts) == pytest.approx(one.margin, abs=1e-9)
        sizes = [abs(part.size) for part in parts[:-2]]
        assert sizes == sorted(sizes, reverse=True)
        figure = draw_lead(told, row)
        assert list(figure.data[0].x) == [part.size for part in parts]
        assert list(figure.data[1].x) == [one.margin]
        assert "48 other columns" in figure.layout.yaxis.ticktext[-3]


@pytest.mark.parametrize("shape", [(6, 5), (4, 4, 3)])
def test_a_row_is_drawn_beside_what_was_looked_for(shape):
    model = picture_linear_maps(shape)
    rows = picture_rows(model)
    told = explain_local(model, rows)
    drawn = pictures_of(linear_map_decision_page.draw_page(told))
    each = 1 + 3 + 3 + 1 + 2 * 3 + 2 * 3
    assert len(drawn) == each * len(rows)
    for i, one in enumerate(told.decisions):
        row, looks, blended, added, *_ = drawn[each * i : each * (i + 1)]
        pixels = rows[i] if len(shape) == 3 else np.repeat(rows[i][..., None], 3, axis=2)
        assert np.array_equal(row, pixels)
        assert np.array_equal(row, paint_row(told, i))
        assert np.array_equal(looks, paint_picture(told.likeness(i)[one.predicted], shape))
        assert np.array_equal(blended, paint_weights(told.distinct(i)[one.predicted], shape))
        parts = told.contributions(i)
        own = (parts[one.predicted] - parts.mean(axis=0)).reshape(*shape[:2], -1).sum(axis=2)
        assert np.array_equal(added, paint_over(own.ravel(), row))
        lead = told.against(i).reshape(*shape[:2], -1).sum(axis=2)
        assert np.array_equal(drawn[each * i + 7], paint_over(lead.ravel(), row))


def test_a_doubtful_answer_is_marked():
    doubtful, clear = (pages_of(ward_model(error=e), WARD_ROWS)[1] for e in (50.0, 0.0))
    assert "within the privacy noise" in text_of(doubtful)
    assert "within the privacy noise" not in text_of(clear)


def test_a_page_stops_at_twenty_rows():
    page = linear_map_decision_page.draw_page(explain_local(wide_linear_maps(), wide_rows(rows=23)))
    assert len(figures_of(page)) == 21
    assert "first 20 of 23 rows" in page


# -- painting -----------------------------------------------------------------------------------


def test_signed_pictures_can_share_a_scale():
    values = np.array([1.0, -2.0, 0.0, 4.0])
    alone, shared = paint_signed(values, (2, 2)), paint_signed(values, (2, 2), top=2.0)
    rgb = {name: [int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in (RAISE, LOWER)}
    assert alone[1, 1].tolist() == shared[1, 1].tolist() == rgb[RAISE]
    assert shared[0, 1].tolist() == rgb[LOWER]
    assert alone[1, 0].tolist() == [255, 255, 255]
    faint = paint_signed(values, (2, 2), faint=np.array([True, False, False, False]))
    assert faint[0, 0].tolist() == FAINT
    assert np.array_equal(faint[1], alone[1])


def test_what_pixels_added_lies_over_a_pale_picture():
    backdrop = paint_grey(np.array([0.0, 1.0, 0.0, 1.0]), (2, 2))
    over = paint_over(np.array([0.0, 0.0, 1.0, -1.0]), backdrop)
    assert over[0, 0].tolist() == [255] * 3
    assert over[0, 1].tolist() == [178] * 3
    assert over[1, 0].tolist() == [0xD5, 0x5E, 0x00]
    assert over[1, 1].tolist() == [0x00, 0x72, 0xB2]


def test_channels_that_are_no_colours_are_grey():
    shares = np.array([0.0, 1.0, 1.0, 1.0])
    assert paint_picture(shares, (1, 2, 2))[0, :, 0].tolist() == [128, 255]
    assert paint_tints(np.zeros(3), (1, 1, 3)).tolist() == [[[128, 128, 128]]]


# -- names and unusual models -------------------------------------------------------------------


def test_names_are_shown_and_never_run():
    columns = {EVIL: Category([EVIL, WORSE]), WORSE: Number(0, 3)}
    receipt = make_receipt(unit=EVIL, labels=(EVIL, WORSE, "steps"))
    model = linear_map_model(columns, [WORSE, EVIL], receipt=receipt)
    rows = {EVIL: [EVIL, WORSE, WORSE * 2], WORSE: [1, EVIL, None]}
    for page in pages_of(model, rows):
        elements = check_alone(page)
        assert not elements.all("img")
        text = " ".join(elements.text)
        assert EVIL in text
        assert WORSE in text
        for traces, layout in figures_of(page).values():
            drawn = json.dumps([traces, layout])
            assert "<script" not in drawn
            assert "<img" not in drawn
            assert "hovertemplate" not in json.dumps(traces)  # it would read %{x} in a name


def test_names_of_pictures_are_never_run():
    columns = {f"{EVIL} {i}": Number(0, 1) for i in range(4)}
    model = linear_map_model(columns, [WORSE, EVIL], picture=(2, 2, 1), image_shape=(2, 2))
    rows = np.array([[1.0, 0, 1, 0], [np.nan, 1, 1, 1]])
    for page in pages_of(model, rows):
        elements = check_alone(page)
        assert all(one["src"].startswith(PNG) for one in elements.all("img"))
        assert escape(EVIL) in page
        assert EVIL not in page


ONE_NUMBER = {"x": Number(0, 1)}


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        pytest.param(
            linear_map_model(ONE_NUMBER, ["no", "yes"], maps=1),
            {"x": [0.2]},
            id="one of everything",
        ),
        pytest.param(linear_map_model(ONE_NUMBER, ["no"]), {"x": [1, None]}, id="one class"),
        pytest.param(ward_model(error=math.inf), WARD_ROWS, id="unknown noise"),
        pytest.param(
            picture_linear_maps(smooth=False, error=math.inf),
            picture_rows(picture_linear_maps()),
            id="unknown in pixels",
        ),
        pytest.param(ward_model(error=0.0), WARD_ROWS, id="no noise"),
        pytest.param(
            picture_linear_maps((1, 1), smooth=False), np.zeros((1, 1, 1)), id="one black pixel"
        ),
        pytest.param(
            picture_linear_maps(classes=1),
            picture_rows(picture_linear_maps()),
            id="pictures of one class",
        ),
        pytest.param(ward_model(), {name: [] for name in WARD_ROWS}, id="no rows"),
        pytest.param(
            replace(ward_model(), weights=np.zeros((3, 3, 7))), WARD_ROWS, id="empty linear maps"
        ),
        pytest.param(
            linear_map_model({"x": Category(["a", "b"])}, ["no", "yes"]),
            {"x": ["a", "c"]},
            id="no numbers",
        ),
    ],
)
def test_unusual_models_have_pages(model, rows, capsys):
    for page in pages_of(model, rows):
        check_alone(page)
    explain_global(model).show()
    explain_local(model, rows).show()
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_without_a_guarantee_the_page_says_so():
    model = replace(ward_model(), receipt=make_receipt(math.inf))
    for page in pages_of(model, WARD_ROWS):
        assert "No guarantee: at least one access to the rows had no noise." in page
        assert "may resemble one" in text_of(page)


# -- terminal -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_a_terminal_shows_bars_or_pictures(model, rows, capsys):
    explain_global(model).show()
    explain_local(model, rows).show()
    seen = capsys.readouterr().out
    assert "█" in seen
    assert model.receipt.guarantee[:30] in seen
    assert "No row of the training table" in seen
    assert max(map(len, seen.splitlines())) <= 80
    for name in map(str, model.classes):
        assert f"'{name}'" in seen


def test_markup_in_names_is_shown_as_it_is(capsys):
    model = linear_map_model({"[red]name": Number(0, 1)}, ["[bold]no", "yes"])
    explain_global(model).show()
    explain_local(model, {"[red]name": [0.3] * 7}).show()
    seen = capsys.readouterr().out
    assert "[red]name" in seen
    assert "[bold]no" in seen
    assert "2 more rows" in seen
