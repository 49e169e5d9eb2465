"""Texts of figures: a few tags are read, all else is text; they break where they are too wide."""

import pytest

from voile.report.kit.drawing.letters import (
    SPLIT,
    break_title,
    measure,
    measure_text,
    plain_text,
    read_text,
)
from voile.report.kit.text import plot_text

EVIL = '<script>alert(1)</script> <img src=x onerror="y"> &amp; <b'


def test_known_tags_are_read_and_all_else_is_text():
    lines = read_text(
        f'<b>{plot_text(EVIL)}</b><br><span style="color:#666;font-size:10px">x</span>y'
    )
    (name,), (small, after) = lines
    assert (name.text, name.bold) == (EVIL, True)
    assert (small.text, small.colour, small.size) == ("x", "#666", 10)
    assert (after.text, after.colour, after.size) == ("y", "", 12)
    # Not even a text that nobody escaped becomes more than a text.
    assert plain_text(EVIL) == EVIL.replace("&amp;", "&")


def test_lines_stay_lines():
    assert plain_text("<br>missing") == "\nmissing"
    assert plain_text("a<br>b<br />c") == "a\nb\nc"


def test_wider_texts_are_measured_wider():
    assert measure_text("iiii") < measure_text("aaaa") < measure_text("MMMM")
    assert measure_text("東京") == pytest.approx(24)
    assert measure(read_text("<b>a</b>")[0]) > measure(read_text("a")[0])


@pytest.mark.parametrize("room", [60, 150, 300, 2000])
def test_titles_break_between_words_and_halves(room):
    title = plot_text("← nearer to a & b") + SPLIT + plot_text("nearer to <c> →")
    lines = break_title(title, room)
    assert "".join(lines).replace(" ", "") == (
        "←nearertoa&b|nearerto<c>→" if room >= 300 else "←nearertoa&bnearerto<c>→"
    )
    words = max(measure_text(word) for line in lines for word in line.split())
    assert all(measure_text(line) <= max(room, words) for line in lines)
