"""Pages of prototypes show the model's own numbers, need no network, and run no name."""

import base64
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from drawn_figures import decode_png
from explained_models import make_receipt
from markupsafe import escape
from prototype_models import (
    MIXED_ROWS,
    TUMOUR_ROWS,
    mixed_model,
    picture_model,
    prototype_model,
    tumour_model,
    wide_model,
)
from test_report_pages import EVIL, WORSE, Elements, check_figures, check_scripts, figures_of

from voile.explain.wording import noisy, short
from voile.explaining import explain_global, explain_local
from voile.report.kit.bars import MOST_BARS
from voile.report.kit.pictures import encode_png, paint_grey, paint_signed, paint_sizes
from voile.report.lvq import model_page as prototype_page
from voile.report.lvq import rows_page as decision_page
from voile.report.lvq.figures import (
    MOST_COLUMNS,
    choose_features,
    draw_pairs,
    draw_profiles,
    draw_relevance,
    has_pairs,
)
from voile.report.lvq.rows_page import draw_parts, find_parts
from voile.schema import Category, Number

PNG = "data:image/png;base64,"


def picture_rows(model):
    return model.features.in_units(0.6 * model.prototypes + 0.4 * np.roll(model.prototypes, 1, 0))


def pictures_of(page):
    return [
        decode_png(base64.b64decode(one["src"].removeprefix(PNG)))
        for one in Elements(page).all("img")
    ]


def check_alone(page):
    """Nothing asks for anything outside the page; pictures are inside it."""
    elements = Elements(page)
    for tag, attributes in elements.found:
        assert not {"href", "srcset", "data"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        if "src" in attributes:
            assert tag == "img"
            assert attributes["src"].startswith(PNG)
            assert len(attributes["alt"]) > 5
    assert not re.search("https?:", page)
    check_scripts(page)
    check_figures(elements, page)
    return elements


def text_of(page):
    return " ".join(" ".join(Elements(page).text).split())


def pages_of(model, rows):
    return (
        prototype_page.draw_page(explain_global(model)),
        decision_page.draw_page(explain_local(model, rows)),
    )


CASES = [
    pytest.param(tumour_model(), TUMOUR_ROWS, id="numbers"),
    pytest.param(mixed_model(), MIXED_ROWS, id="mixed"),
    pytest.param(wide_model(), wide_model().features.in_units(np.eye(3, 60)), id="wide"),
    pytest.param(picture_model(), picture_rows(picture_model()), id="pictures"),
]


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_pages_stand_alone_and_are_the_same_each_time(model, rows, tmp_path):
    pages = pages_of(model, rows)
    for page in pages:
        check_alone(page)
        text = text_of(page)
        assert "No row of the training table is shown" in text
        assert "This page costs nothing" in text
        assert "Receipt for a prototype model" in text
        assert not re.search(r"\d\.\d{9,}", text)
    whole, told = explain_global(model), explain_local(model, rows)
    assert whole.to_html(tmp_path / "a.html").read_text() == pages[0]
    assert told.to_html(tmp_path / "b.html").read_text() == pages[1]
    assert "iframe" in whole._repr_html_()


# -- the whole model ----------------------------------------------------------------------------


def test_a_page_of_numbers_has_them_all():
    whole = explain_global(tumour_model())
    page = prototype_page.draw_page(whole)
    assert list(figures_of(page)) == ["profiles", "relevance", "pairs", "budget"]
    text = text_of(page)
    for p in range(2):
        for j in range(4):
            value, error = whole.values[p, j], whole.standard_errors[p, j]
            assert noisy(float(value), float(error), added=False) in text
        assert f"{short(100 * float(whole.distance_from_mean[p]), digits=2)} %" in text
    assert "about 357 rows" in text
    assert "about 212 rows" in text
    assert "of 4 features" not in text  # all are shown


def test_profiles_lie_on_each_features_own_scale():
    model = mixed_model()
    whole = explain_global(model)
    figure = draw_profiles(whole)
    picked = choose_features(whole)
    assert picked == whole.ranked
    dots = [one for one in figure.data if one.name != "class mean"]
    means = [one for one in figure.data if one.name == "class mean"]
    assert len(dots) == len(means) == 5
    numbers = np.array([f.level is None for f in whole.features])
    places = np.where(numbers, (model.prototypes + 1) / 2, model.prototypes)
    errors = np.where(numbers, 0.5, 1.0) * 2 * model.prototype_errors
    for p, (dot, mean) in enumerate(zip(dots, means, strict=True)):
        assert np.allclose(dot.x, places[p, list(picked)])
        assert np.allclose(dot.error_x.array, errors[p, list(picked)])
        assert dot.y == mean.y
    looks = {(one.marker.color, one.marker.symbol) for one in dots}
    assert len(looks) == 5
    labels = figure.layout.yaxis.ticktext
    assert any("80 to 220" in one for one in labels)
    assert any("0 to 100 % of rows" in one for one in labels)


def test_many_features_are_counted_honestly():
    whole = explain_global(wide_model(features=60))
    shown = len(choose_features(whole))
    assert 8 <= shown < 60
    text = text_of(prototype_page.draw_page(whole))
    assert f"Shown: {shown} of 60 features" in text
    assert f"Shown: {MOST_COLUMNS} of 60 columns" in text
    assert "Shown: 40 of 60 features" in text
    assert text.count("laboratory value 60") >= 1  # the table has all
    assert len(draw_relevance(whole).data[0].x) == MOST_COLUMNS


def test_relevance_bars_are_ordered_sums():
    whole = explain_global(mixed_model())
    bars = draw_relevance(whole).data[0]
    assert sum(bars.x) == pytest.approx(100)
    assert list(bars.x) == sorted(bars.x, reverse=True)
    assert max(bars.x) == pytest.approx(100 * whole.column_relevance.max())


def test_the_map_of_pairs_leaves_its_diagonal_to_the_bars():
    whole = explain_global(tumour_model())
    trace = draw_pairs(whole).data[0]
    for i in range(4):
        for k in range(4):
            assert trace.z[i][k] == (None if i == k else whole.pairs[i, k])
    assert -trace.zmin == trace.zmax == max(abs(z) for row in trace.z for z in row if z)
    assert not has_pairs(explain_global(replace(tumour_model(), omega=np.diag([1.0, 2, 3, 4]))))


def test_a_distance_that_was_not_learned_has_no_figures():
    for kind, words in (("gmlvq", "training ended without"), ("glvq", "learns no distance")):
        model = replace(tumour_model(), omega=np.eye(4), kind=kind)
        page = prototype_page.draw_page(explain_global(model))
        assert list(figures_of(page)) == ["profiles", "budget"]
        assert "At all features alike" in text_of(page)
        assert words in text_of(page)


def test_prototypes_beyond_the_bounds_are_told():
    model = replace(tumour_model(), prototypes=2 * tumour_model().prototypes)
    assert "1 of 8 values of prototypes lie beyond the bounds" in text_of(
        prototype_page.draw_page(explain_global(model))
    )


# -- pictures -----------------------------------------------------------------------------------


def test_png_holds_the_pixels():
    rng = np.random.default_rng(0)
    many = rng.integers(0, 256, (40, 30, 3)).astype(np.uint8)
    few = many[rng.integers(0, 2, (9, 8)), rng.integers(0, 5, (9, 8))]
    across, down = np.meshgrid(np.arange(60), np.arange(50))
    kinds = {
        "colours": (many, 2),
        "palette": (few, 3),
        "grey": (np.repeat(many[..., :1], 3, axis=2), 0),
        "smooth": (np.stack([across, down, 2 * across], axis=2).astype(np.uint8), 2),
        "flat": (np.full((1, 1, 3), 7, np.uint8), 0),
    }
    for name, (pixels, kind) in kinds.items():
        data = encode_png(pixels)
        assert np.array_equal(decode_png(data), pixels), name
        assert data[25] == kind, name
    assert len(encode_png(kinds["smooth"][0])) < 400


def test_paint():
    grey = paint_grey(np.array([0.0, 0.5, 1.0, 7.0]), (2, 2))
    assert grey[..., 0].tolist() == [[0, 128], [255, 255]]
    signed = paint_signed(np.array([-2.0, 0.0, 1.0, 2.0]), (2, 2))
    assert signed[0, 0].tolist() == [0x00, 0x72, 0xB2]
    assert signed[0, 1].tolist() == [255, 255, 255]
    assert signed[1, 1].tolist() == [0xD5, 0x5E, 0x00]
    assert paint_signed(np.zeros(4), (2, 2)).min() == 255
    sizes = paint_sizes(np.array([0.0, 1.0, 2.0, 4.0]), (1, 4))
    assert sizes[0, 0].tolist() == [255, 255, 255]
    assert sizes[0, 3].tolist() == [0x00, 0x72, 0xB2]


def test_prototypes_and_class_means_are_drawn_as_pictures():
    model = picture_model(6, 9)
    whole = explain_global(model)
    page = prototype_page.draw_page(whole)
    drawn = pictures_of(page)
    assert len(drawn) == 6
    for p in range(3):
        for one, values in zip(drawn[2 * p : 2 * p + 2], (whole.values, whole.means), strict=True):
            expected = np.rint(255 * (values[p] / 255)).reshape(6, 9)
            assert np.array_equal(one[..., 0], expected)
    text = text_of(page)
    assert f"± {short(2 * 0.08 * 127.5, digits=2)}" in text
    for p in range(3):
        share = short(100 * float(whole.distance_from_mean[p]), digits=2)
        assert f"{share} % off the mean" in text


def test_the_relevance_of_pixels_is_a_picture():
    weights = np.linspace(0, 1, 64)
    page = prototype_page.draw_page(explain_global(picture_model(omega=np.diag(weights))))
    relevance = pictures_of(page)[-1]
    assert relevance[0, 0].tolist() == [255, 255, 255]
    assert relevance[-1, -1].tolist() == [0x00, 0x72, 0xB2]
    assert list(figures_of(page)) == ["budget"]


def test_a_row_is_drawn_beside_the_two_prototypes():
    model = picture_model()
    told = explain_local(model, picture_rows(model))
    drawn = pictures_of(decision_page.draw_page(told))
    assert len(drawn) == 3 * 6
    for i, one in enumerate(told.decisions):
        row, right, wrong, parts, changed, _ = drawn[6 * i : 6 * i + 6]
        for picture, values in (
            (row, one.values),
            (right, told.prototypes[one.right]),
            (wrong, told.prototypes[one.wrong]),
            (changed, one.joint.values),
        ):
            assert np.array_equal(picture[..., 0], np.rint(values).reshape(8, 8))
        assert np.array_equal(parts, paint_signed(one.contributions, (8, 8)))


def test_many_pictures_are_counted_honestly():
    page = prototype_page.draw_page(explain_global(picture_model(3, 3, classes=70)))
    assert len(pictures_of(page)) == 120
    assert "Shown: 60 of 70 prototypes" in text_of(page)


# -- decisions ----------------------------------------------------------------------------------


def test_a_page_of_decisions_has_it_all():
    told = explain_local(mixed_model(), MIXED_ROWS)
    page = decision_page.draw_page(told)
    assert list(figures_of(page)) == [*(f"row-{i}" for i in range(4)), "budget"]
    text = text_of(page)
    assert "Row 1 of 4: 'rehabilitation', confidence 0.21" in text
    assert "300, read as 220" in text
    assert "(missing), read as 56.5" in text
    for one in told.decisions:
        assert f"(squared distance {short(one.right_distance)})" in text
        for change in one.changes:
            name = told.outputs[change.to_class]
            assert (f"'{change.level}' '{name}' another level" in text) or change.level is None
    assert "The rows on this page are those you gave." in text


def test_bars_add_up_and_keep_the_greatest():
    told = explain_local(wide_model(), wide_model().features.in_units(np.eye(2, 60)))
    for row, one in enumerate(told.decisions):
        parts = find_parts(told, row)
        assert len(parts) == MOST_BARS + 1
        assert sum(part.size for part in parts) == pytest.approx(one.gap, abs=1e-9)
        sizes = [abs(part.size) for part in parts[:-1]]
        assert sizes == sorted(sizes, reverse=True)
        figure = draw_parts(told, row)
        assert list(figure.data[0].x) == [part.size for part in parts]
        assert list(figure.data[0].error_x.array) == [2 * part.standard_error for part in parts]
        assert list(figure.data[1].x) == [one.gap]
        assert "48 other columns" in figure.layout.yaxis.ticktext[-2]


def test_a_doubtful_answer_is_marked():
    assert "within the privacy noise" in text_of(pages_of(tumour_model(0.5), TUMOUR_ROWS)[1])
    assert "within the privacy noise" not in text_of(pages_of(tumour_model(0.0), TUMOUR_ROWS)[1])


def test_a_change_that_may_not_suffice_is_said_to():
    told = explain_local(tumour_model(), TUMOUR_ROWS)[:1]
    one = told.decisions[0]
    assert "The class would stay" not in text_of(decision_page.draw_page(told))
    unsettled = replace(one, joint=replace(one.joint, flips=False))
    page = decision_page.draw_page(replace(told, decisions=(unsettled,)))
    assert "The class would stay" in text_of(page)
    never = decision_page.draw_page(replace(told, decisions=(replace(one, joint=None),)))
    assert "No change of the numbers together" in text_of(never)


def test_a_page_stops_at_twenty_rows():
    rows = {name: (values * 6)[:23] for name, values in TUMOUR_ROWS.items()}
    page = decision_page.draw_page(explain_local(tumour_model(), rows))
    assert len(figures_of(page)) == 21
    assert "first 20 of 23 rows" in page


# -- names and unusual models -------------------------------------------------------------------


def evil_model(**more):
    columns = {EVIL: Category([EVIL, WORSE]), WORSE: Number(0, 3)}
    prototypes = [[1, 0, -0.5], [0, 1, 0.5], [0.5, 0.5, 0.9]]
    return prototype_model(
        columns,
        [WORSE, EVIL],
        prototypes,
        [0, 1, 1],
        prototype_errors=np.full((3, 3), 0.05),
        omega=np.eye(3) + 0.2,
        receipt=make_receipt(unit=EVIL, labels=(EVIL, WORSE, "steps")),
        **more,
    )


def test_names_are_shown_and_never_run():
    rows = {EVIL: [EVIL, WORSE, WORSE * 2], WORSE: [1, EVIL, None]}
    for page in pages_of(evil_model(), rows):
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
            assert all(
                one.get("texttemplate") in (None, "%{text}") and "%{x}" not in str(one.get("text"))
                for one in traces
            )


def test_names_of_pictures_are_never_run():
    columns = {f"{EVIL} {i}": Number(0, 1) for i in range(4)}
    model = prototype_model(
        columns, [WORSE, EVIL], [[1, -1, 1, -1], [-1, 1, -1, 1]], [0, 1], image_shape=(2, 2)
    )
    for page in pages_of(model, model.features.in_units(0.5 * model.prototypes)):
        elements = check_alone(page)
        assert all(one["src"].startswith(PNG) for one in elements.all("img"))
        assert escape(EVIL) in page
        assert EVIL not in page


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        pytest.param(
            prototype_model({"x": Number(0, 1)}, ["no", "yes"], [[-0.5], [0.5]], [0, 1]),
            {"x": [0.2]},
            id="one feature, one row",
        ),
        pytest.param(
            prototype_model({"x": Number(0, 1)}, ["no", "yes"], [[-0.5]], [0]),
            {"x": [0.2, None]},
            id="one class has no prototype",
        ),
        pytest.param(
            prototype_model({"x": Number(0, 1)}, ["no"], [[-0.5]], [0]), {"x": [1]}, id="one class"
        ),
        pytest.param(
            replace(tumour_model(), prototype_errors=np.full((2, 4), math.inf)),
            TUMOUR_ROWS,
            id="unknown noise",
        ),
        pytest.param(
            replace(tumour_model(), counts=np.full(2, np.nan)), TUMOUR_ROWS, id="unknown counts"
        ),
        pytest.param(
            replace(picture_model(2, 2), labels=np.zeros(3, dtype=np.int64)),
            np.zeros((1, 4)),
            id="pictures of one class",
        ),
        pytest.param(tumour_model(), {name: [] for name in TUMOUR_ROWS}, id="no rows"),
        pytest.param(
            prototype_model({"x": Category(["a", "b"])}, ["no", "yes"], [[1, 0], [0, 1]], [0, 1]),
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


def test_classes_without_prototypes_are_named():
    model = prototype_model({"x": Number(0, 1)}, ["no", EVIL], [[-0.5]], [0])
    page, told = pages_of(model, {"x": [0.2]})
    assert "no row can get it" in text_of(page)
    assert "no other class has a prototype" in text_of(told)


def test_without_a_guarantee_the_page_says_so():
    model = replace(tumour_model(), receipt=make_receipt(math.inf))
    for page in pages_of(model, TUMOUR_ROWS):
        assert "No guarantee: at least one access to the rows had no noise." in page
        assert "may come close to one" in text_of(page)


# -- terminal -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_a_terminal_shows_tables(model, rows, capsys):
    explain_global(model).show()
    explain_local(model, rows).show()
    seen = capsys.readouterr().out
    assert "█" in seen
    assert model.receipt.guarantee[:30] in seen
    assert "No row of the training table" in seen
    assert max(map(len, seen.splitlines())) <= 80
    for name in map(str, model.classes):
        assert f"'{name}" in seen


def test_markup_in_names_is_shown_as_it_is(capsys):
    model = prototype_model(
        {"[red]name": Number(0, 1)}, ["[bold]no", "yes"], [[-0.5], [0.5]], [0, 1]
    )
    explain_global(model).show()
    explain_local(model, {"[red]name": [0.3] * 7}).show()
    seen = capsys.readouterr().out
    assert "[red]name" in seen
    assert "[bold]no" in seen
    assert "2 more rows" in seen
