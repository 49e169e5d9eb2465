"""Figures to take along: files are sound, as wide as asked for, and the same each time."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import plotly.graph_objects as go
import pytest
from explained_models import CENSUS_ROWS, census_model, classes_model
from linear_map_models import picture_linear_maps
from prototype_models import tumour_model, wide_model
from surrogate_records import census_surrogate
from test_report_pages import evil_model

from needs import needs
from voile.errors import SettingError
from voile.explaining import explain_global, explain_local
from voile.report.kit.drawing.letters import measure_text
from voile.report.kit.drawing.reading import read_chart
from voile.report.kit.drawing.standalone import draw_standalone

SVG = "{http://www.w3.org/2000/svg}"

FIGURES = {
    "importance": lambda: explain_global(census_model()).plot(),
    "number": lambda: explain_global(census_model()).plot("age"),
    "ranks": lambda: explain_global(census_model()).plot("capital-gain"),
    "levels": lambda: explain_global(classes_model()).plot(
        "reason for admission as the referring physician wrote it"
    ),
    "many levels": lambda: explain_global(census_model()).plot("native-country"),
    "classes": lambda: explain_global(classes_model()).plot("age"),
    "row": lambda: explain_local(census_model(), CENSUS_ROWS).plot(row=1),
    "profiles": lambda: explain_global(tumour_model()).plot(),
    "few pairs": lambda: explain_global(tumour_model()).plot("pairs"),
    "many pairs": lambda: explain_global(wide_model()).plot("pairs"),
    "pictures": lambda: explain_global(picture_linear_maps((6, 5))).plot(),
    "black box": lambda: census_surrogate().plot(),
    "hostile": lambda: explain_global(evil_model()).plot(),
}


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("name", FIGURES)
def test_svg_files_are_sound_and_hold_their_texts(name, width):
    text = draw_standalone(read_chart(FIGURES[name]()), width)
    root = ET.fromstring(text)
    assert root.get("width") == f"{10 * width}mm"
    left, top, wide, high = map(float, root.get("viewBox").split())
    assert (left, top) == (0, 0)
    assert wide == pytest.approx(width / 2.54 * 96, abs=0.1)
    assert high < 8 * wide
    assert not re.search(r"=\"[^\"]*\b(nan|inf)\b|var\(|class=", text)
    ids = re.findall(r'id="([^"]*)"', text)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    for one in root.iter(f"{SVG}text"):
        for part in one if one.find(f"{SVG}tspan[@x]") is not None else [one]:
            x, y = float(part.get("x", one.get("x"))), float(part.get("y", one.get("y")))
            assert 8 <= y <= high, part
            # Half of what is estimated is within the paper on both sides.
            assert -1 <= x <= wide + 1
            assert measure_text("".join(part.itertext())) < 1.2 * wide


def test_several_files_in_one_document_do_not_share_names():
    both = [draw_standalone(read_chart(FIGURES[name]()), 8) for name in ("number", "classes")]
    first, second = (set(re.findall(r'id="([^"]*)"', one)) for one in both)
    assert not first & second


def test_names_in_files_are_text():
    text = draw_standalone(read_chart(FIGURES["hostile"]()), 16)
    assert "<script" not in text
    assert "<img" not in text
    assert "<script>alert(1)" in "".join(ET.fromstring(text).itertext())


def test_files_are_the_same_each_time_and_end_as_they_are(tmp_path):
    whole = explain_global(census_model())
    one, other = (whole.save_figure(tmp_path / f"{i}.svg", "age", width=8) for i in range(2))
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes().startswith(b"<svg ")


@needs("matplotlib")
def test_png_and_pdf_files(tmp_path):
    whole = explain_global(classes_model())
    png = whole.save_figure(str(tmp_path / "age.PNG"), "age", width=8).read_bytes()
    assert png.startswith(b"\x89PNG")
    wide = int.from_bytes(png[16:20], "big")
    assert wide == pytest.approx(8 / 2.54 * 300, abs=2)
    pdf = [whole.save_figure(tmp_path / f"{i}.pdf", width=8).read_bytes() for i in range(2)]
    assert pdf[0].startswith(b"%PDF")
    assert pdf[0] == pdf[1]


@needs("matplotlib")
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_a_form_of_matplotlib(name):
    from voile.report.kit.drawing.matplotlib_form import draw_matplotlib

    figure = draw_matplotlib(read_chart(FIGURES[name]()), 12)
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_position().width > 0.02
        assert axes.get_position().height > 0.01


@needs("matplotlib")
def test_matplotlib_has_the_same_numbers():
    whole = explain_global(census_model())
    term = whole["age"]
    figure = whole.plot("age", library="matplotlib")
    main, *_ = figure.axes
    steps = [one for one in main.lines if one.get_drawstyle() == "steps-post"]
    x, y = steps[-1].get_data()
    assert np.array_equal(x, term.edges)
    assert np.array_equal(y[:-1], term.scores[:-1, 0])
    assert main.get_ylabel() == "log-odds of >50K"
    bars = next(axes for axes in figure.axes if axes.patches).patches
    assert [one.get_height() for one in bars] == pytest.approx(term.counts[:-1].tolist())
    levels = whole.plot("sex", library="matplotlib").axes[0]
    assert [one.get_text() for one in levels.get_yticklabels()] == [
        "(missing)",
        "(other)",
        "Female",
        "Male",
    ]


@needs("matplotlib")
def test_dollars_are_no_mathematics():
    import matplotlib.text

    figure = explain_global(evil_model()).plot(library="matplotlib")
    figure.draw_without_rendering()
    texts = [one.get_text() for one in figure.findobj(matplotlib.text.Text)]
    assert not any(re.search(r"(?<!\\)\$", one) for one in texts)


@needs("matplotlib")
def test_nothing_is_left_in_pyplot():
    text = (
        "import sys\n"
        "import plotly.graph_objects as go\n"
        "from voile.report.kit.drawing.forms import form_matplotlib\n"
        "form_matplotlib(go.Figure(go.Scatter(x=[0, 1], y=[0, 1])), None)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_a_missing_library_is_named(tmp_path):
    text = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "import plotly.graph_objects as go\n"
        "from voile.errors import MissingExtra\n"
        "from voile.report.kit.drawing.forms import form_png, form_svg\n"
        "figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]))\n"
        "assert form_svg(figure, None).startswith(b'<svg')\n"
        "try:\n"
        "    form_png(figure, None)\n"
        "except MissingExtra as error:\n"
        "    assert 'voile[figures]' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


@pytest.mark.parametrize("width", [0, -8, 3, 101, float("nan"), float("inf")])
def test_odd_widths_are_refused(width, tmp_path):
    with pytest.raises(SettingError, match="from 4 to 100 centimetres"):
        explain_global(census_model()).save_figure(tmp_path / "a.svg", width=width)
    assert list(tmp_path.iterdir()) == []


def test_scales_of_colours_are_in_the_file():
    z = [[0.0, 1.0], [2.0, 3.0]]
    text = draw_standalone(read_chart(go.Figure(go.Heatmap(z=z, colorscale="Blues"))), 8)
    assert 'fill="url(#scale)"' in text
    assert ">3<" in text
