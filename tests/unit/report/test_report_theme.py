"""Colours of pages and figures: every text can be read and every mark be seen, light or dark."""

import numpy as np
import pytest
from explained_models import CENSUS_ROWS, census_model

from voile.explaining import explain_local
from voile.report.ebm import rows_page as local_page
from voile.report.kit.theme import DARK, IN_THE_DARK, LIGHT, SERIES, themed
from voile.report.lvq.figures import PALE_LOWER, PALE_RAISE, WRITTEN


def luminance(colour):
    digits = colour.lstrip("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("look", [LIGHT, DARK])
def test_text_can_be_read_and_marks_can_be_seen(look):
    for text in ("ink", "soft", "link", "alarm"):
        for beneath in ("page", "box"):
            assert contrast(look[text], look[beneath]) >= 4.5
    for mark in ("raise", "lower", "focus", "edge"):
        assert contrast(look[mark], look["page"]) >= 3
    assert set(LIGHT) == set(DARK)


def test_every_series_has_a_colour_of_its_own_on_a_dark_page():
    dark = [IN_THE_DARK[colour.lower()] for colour in SERIES]
    assert len(set(dark)) == len(SERIES)
    assert all(contrast(colour, DARK["page"]) >= 3 for colour in dark)
    assert IN_THE_DARK["white"] == DARK["page"]
    page = local_page.draw_page(explain_local(census_model(), CENSUS_ROWS))
    for colour in SERIES[:3]:
        assert f"background:{themed(colour)}" in page
        assert f"--c-{colour[1:].lower()}: {IN_THE_DARK[colour.lower()]};" in page


def test_numbers_in_a_map_can_be_read():
    for colour in (PALE_LOWER, PALE_RAISE, "#ffffff"):
        assert contrast(WRITTEN, colour) >= 4.5
    assert WRITTEN not in IN_THE_DARK
