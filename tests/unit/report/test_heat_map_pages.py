"""Pages of heat maps show the record's own numbers, need no network, and run no name."""

import re
from dataclasses import replace

import numpy as np
import pytest
from explained_models import make_receipt
from test_report_pages import EVIL, WORSE, Elements
from test_report_prototypes import check_alone, pictures_of, text_of

from voile.explain.networks.map_text import heat_text, place_text, title_text
from voile.explain.networks.record import COST, NO_RECEIPT, HeatMaps
from voile.report.kit.theme import LOWER, RAISE
from voile.report.networks import page as heat_map_page
from voile.report.networks.page import paint_heat


def make_record(rows=3, method="grad_cam", **changes):
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(rows, 9, 12))
    record = HeatMaps(
        outputs=("cat", "dog", "owl"),
        units="the network's score",
        receipt=NO_RECEIPT,
        cost=COST,
        maps=maps if method == "integrated_gradients" else np.abs(maps),
        pictures=rng.integers(0, 256, (rows, 9, 12)),
        method=method,
        how="layer second",
        layer="second",
        targets=np.zeros(rows, dtype=np.int64),
        probabilities=np.tile([0.734, 0.2, 0.066], (rows, 1)),
    )
    return replace(record, **changes)


@pytest.mark.parametrize("method", ["grad_cam", "integrated_gradients", "smooth_grad"])
@pytest.mark.parametrize("receipt", [NO_RECEIPT, make_receipt()], ids=["plain", "private"])
def test_pages_stand_alone_and_are_the_same_each_time(method, receipt, tmp_path):
    record = make_record(method=method, receipt=receipt)
    page = heat_map_page.draw_page(record)
    check_alone(page)
    text = text_of(page)
    assert "This page costs nothing" in text
    assert receipt.guarantee in text
    assert not re.search(r"\d\.\d{9,}", text)
    assert record.to_html(tmp_path / "a.html").read_text() == page
    assert record.save(tmp_path / "b.html").read_text() == page
    assert "iframe" in record._repr_html_()


def test_every_image_has_its_picture_heat_and_overlay_with_words():
    record = make_record()
    page = heat_map_page.draw_page(record)
    drawn = pictures_of(page)
    assert len(drawn) == 2 + 3 * len(record)  # the legend has two
    for row in range(len(record)):
        image, heat, over = drawn[2 + 3 * row : 5 + 3 * row]
        assert (image == record.pictures[row][..., None]).all()
        assert (over == paint_heat(record.maps[row], record.pictures[row])).all()
        # The hottest pixel has the full colour, and red never falls short of blue in heat.
        assert tuple(heat[np.unravel_index(record.maps[row].argmax(), (9, 12))]) == rgb(RAISE)
        assert (heat[..., 0] >= heat[..., 2]).all()
        assert title_text(record, row) in text_of(page)
    words = [one["alt"] for one in Elements(page).all("img")]
    assert sum("Most heat:" in one for one in words) == 2 * len(record)
    assert "Image 1 of 3: 'cat' with probability 73 %" in text_of(page)


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def test_heat_is_laid_over_grey():
    image = np.repeat(np.array([[0], [255]], dtype=np.uint8), 3, axis=1)
    heat = np.array([[0.0, 1.0, -1.0], [0.0, 2.0, -2.0]])
    over = paint_heat(heat, image).astype(int)
    assert over[0, 0].tolist() == [90] * 3
    assert over[1, 0].tolist() == [245] * 3
    for column, colour in ((1, RAISE), (2, LOWER)):
        assert np.abs(over[1, column] - 0.82 * np.array(rgb(colour)) - 0.18 * 245).max() <= 1
        assert over[0, column].sum() < over[1, column].sum()  # the image shows through
    assert (paint_heat(np.zeros((2, 3)), image)[..., 0] == [[90] * 3, [245] * 3]).all()


def test_flat_maps_are_flagged_in_words():
    record = make_record()
    maps = record.maps.copy()
    maps[0], maps[1] = 0.0, 2.5
    record = replace(record, maps=maps)
    assert record.empty.tolist() == [True, False, False]
    assert record.constant.tolist() == [True, True, False]
    for text in (text_of(heat_map_page.draw_page(record)), str(record)):
        assert "1 of 3 maps are empty (0 everywhere); 1 have the same heat everywhere" in text
        assert "No heat anywhere" in text
        assert "The same heat everywhere" in text


def test_words_say_where_heat_lies():
    heat = np.zeros((9, 12))
    heat[8, 11], heat[4, 0], heat[0, 5] = 6.0, -3.0, 1.0
    assert place_text(heat) == "lower right (60 %), middle left (30 %), upper centre (10 %)"
    assert place_text(1e-310 * np.ones((1, 1))) == "upper left (100.0 %)"
    record = make_record(1, "integrated_gradients", maps=heat[None])
    assert heat_text(record, 0).endswith("30 % of it speaks against the class.")


def test_heat_for_another_class_is_said():
    record = make_record(1, targets=np.array([2]))
    assert title_text(record, 0) == (
        "Image 1: 'cat' with probability 73 %; heat for 'owl' (probability 7 %)"
    )


def test_names_run_nothing():
    record = make_record(outputs=(EVIL, WORSE, "owl"))
    page = heat_map_page.draw_page(record)
    check_alone(page)
    assert EVIL not in page
    assert WORSE not in page


def test_many_images_are_counted_honestly():
    page = heat_map_page.draw_page(make_record(70))
    assert "The first 60 of 70 images" in text_of(page)
    assert len(pictures_of(page)) == 2 + 3 * 60
    assert "... and 62 more images" in str(make_record(70))
    assert "one image" in text_of(heat_map_page.draw_page(make_record(1)))


def test_maps_print_in_a_terminal(capsys):
    make_record(7, "integrated_gradients").show()
    printed = " ".join(capsys.readouterr().out.split())
    assert "Image 5 of 7" in printed
    assert "Image 6 of 7" not in printed
    assert "... and 2 more images" in printed
    assert any(shade in printed for shade in "░▒▓█")
    assert "costs nothing" in printed
    make_record(1, maps=np.zeros((1, 9, 12))).show()
    assert "No heat anywhere" in capsys.readouterr().out
