"""Figures of pages: marks lie where their numbers say, names are text, hints say what is there."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import plotly.graph_objects as go
import pytest
from explained_models import census_model, classes_model, price_model
from test_report_pages import evil_model

from voile.explaining import explain_global
from voile.report.ebm.model_page import draw_importance
from voile.report.ebm.shapes import draw_shape
from voile.report.kit.drawing.fluid import ACROSS, DOWN, draw_fluid
from voile.report.kit.drawing.svg import symbol_path
from voile.report.kit.theme import INK, PATTERNS, RAISE, dress, names_axis

NUMBER = r"-?\d*\.?\d+"


def tree(figure, name="a", rows=()):
    """The elements of a drawn figure; it is sound XML, too."""
    text = str(draw_fluid(figure, name, rows))
    return ET.fromstring(re.sub("<script.*?</script>", "", text))


def hints(figure, rows=()):
    found = re.search(
        r'<script type="application/json">(.*?)</script>', draw_fluid(figure, "a", rows)
    )
    return json.loads(found[1]) if found else None


def corners(path):
    """Points of a path: absolute from relative, as a browser would follow it."""
    x = y = 0.0
    found = []
    for letter, text in re.findall(r"([MLHVlhvz])([^MLHVlhvz]*)", path):
        parts = [float(one) for one in re.findall(NUMBER, text)]
        for i in range(0, len(parts), 1 if letter in "HVhv" else 2):
            if letter in "ML":
                x, y = parts[i : i + 2]
            elif letter == "l":
                x, y = x + parts[i], y + parts[i + 1]
            elif letter in "Hh":
                x = parts[i] + (x if letter == "h" else 0)
            else:
                y = parts[i] + (y if letter == "v" else 0)
            found.append((x, y))
    return np.array(found)


def paths(figure, name):
    """Paths of a class, in their order."""
    return [
        one.get("d")
        for one in tree(figure).iter("path")
        if name in (one.get("class") or "").split()
    ]


def plain(**layout):
    return {
        "xaxis": {"range": [0, 10]},
        "yaxis": {"range": [0, 4]},
        "height": 200,
        "margin": {"t": 0, "b": 0},
        **layout,
    }


def place(x, y, height=200.0):
    return [x / 10 * ACROSS, (1 - y / 4) * DOWN * height]


def test_a_line_goes_through_its_points():
    x, y = [0, 3.3, 7, 10], [1, 2.5, 0.2, 4]
    (path,) = paths(
        go.Figure(go.Scatter(x=x, y=y, mode="lines", line={"color": INK}), plain()), "l"
    )
    wanted = [place(*one) for one in zip(x, y, strict=True)]
    assert np.abs(corners(path) - wanted).max() <= 0.51
    gap = go.Figure(go.Scatter(x=[0, 1, 2, 3, 4], y=[1, 2, None, 3, 3], mode="lines"), plain())
    assert paths(gap, "l")[0].count("M") == 2


def test_steps_hold_until_the_next_point_and_their_band_closes():
    x, y = [0, 2, 5, 10], [1.0, 3.0, 2.0, 2.0]
    steps = {"line": {"shape": "hv", "width": 0}, "mode": "lines"}
    figure = go.Figure(
        [
            go.Scatter(x=x, y=[0.5, 2, 1, 1], **steps),
            go.Scatter(x=x, y=y, fill="tonexty", fillcolor="rgba(0,114,178,0.25)", **steps),
        ],
        plain(),
    )
    (path,) = paths(figure, "f")
    assert path.endswith("z")
    found = {tuple(one) for one in corners(path).tolist()}
    upper = {(0, 1), (2, 1), (2, 3), (5, 3), (5, 2), (10, 2)}
    lower = {(10, 1), (5, 1), (5, 2), (2, 2), (2, 0.5), (0, 0.5)}
    assert found == {tuple(place(*one)) for one in upper | lower}


def test_bars_points_and_whiskers_lie_where_their_numbers_say():
    figure = go.Figure(
        [
            go.Bar(x=[2, 6], y=[1, 3], width=1, marker={"color": INK}),
            go.Scatter(
                x=[4],
                y=[2],
                mode="markers",
                error_y={"array": [1], "color": RAISE},
                marker={"color": INK},
            ),
        ],
        plain(),
    )
    (bars,) = paths(figure, "f")
    boxes = corners(bars).reshape(2, -1, 2)
    for box, (left, right, top) in zip(boxes, [(1.5, 2.5, 1), (5.5, 6.5, 3)], strict=True):
        assert box[:, 0].min() == place(left, 0)[0]
        assert box[:, 0].max() == place(right, 0)[0]
        assert box[:, 1].min() == place(0, top)[1]
        assert box[:, 1].max() == place(0, 0)[1]
    whisker, dot = paths(figure, "l")
    assert corners(whisker).tolist() == [place(4, 1), place(4, 3)]
    assert corners(dot).tolist() == [place(4, 2)] * 2


def test_symbols_keep_their_places_in_percent():
    marker = {"symbol": "diamond", "color": INK, "size": 8}
    figure = go.Figure(go.Scatter(x=[2.5], y=[1], mode="markers", marker=marker), plain())
    symbol = next(one for one in tree(figure).iter("svg") if one.get("x") == "25%")
    assert float(symbol.get("y")) == pytest.approx(150 + 6, abs=0.1)
    beyond = go.Figure(go.Scatter(x=[11], y=[1], mode="markers", marker=marker), plain())
    assert all(one.get("x") != "110%" for one in tree(beyond).iter("svg"))


@pytest.mark.parametrize(
    "name", ["square", "diamond", "triangle-up", "triangle-down", "x", "star", "circle"]
)
def test_symbols_are_as_large_as_they_should_be(name):
    path = symbol_path(name, 10.0)
    if name == "circle":
        assert path.startswith("M-5 0a5 5")
        return
    places = np.array([float(one) for one in re.findall(NUMBER, path)]).reshape(-1, 2)
    sizes = places.max(axis=0) - places.min(axis=0)
    assert (sizes >= 9.4).all()
    assert (sizes <= 13.1).all()
    assert len(places) == len({tuple(one) for one in places.tolist()})


@pytest.mark.parametrize(
    "whole", [census_model(), classes_model(), classes_model(10), price_model(), evil_model()]
)
def test_shapes_are_sound_elements_without_a_name_that_runs(whole):
    told = explain_global(whole)
    for i, term in enumerate(told.terms):
        figure = draw_shape(term, told.outputs, told.units)
        text = str(draw_fluid(figure, f"t{i}"))
        assert not re.search(r"nan|inf\b|<script>|<img|onerror=(?!alert)", text)
        drawn = tree(figure)
        assert {one.tag for one in drawn.iter()} <= {
            "div",
            "ul",
            "li",
            "svg",
            "g",
            "path",
            "text",
            "tspan",
            "rect",
        }
        written = "".join(drawn.itertext())
        if term.kind == "category":
            assert all(label[:8] in written for label in term.labels)
    drawn = tree(draw_importance(told))
    assert len(drawn.findall("div")) in (1, 2)


def test_long_names_stand_above_their_bars_on_a_narrow_page():
    names = ["a very long name of a column", "another rather long name"]
    figure = dress(
        go.Figure(go.Bar(x=[1, 2], y=[0, 1], orientation="h")), 120, yaxis=names_axis(names)
    )
    wide, narrow = tree(figure).findall("div")
    assert (wide.get("class"), narrow.get("class")) == ("plot w", "plot n")
    assert "text-anchor" in ET.tostring(wide, encoding="unicode")
    above = [one for one in narrow.iter("g") if one.get("class") == "a"]
    assert ["".join(one.itertext()) for one in above[0]] == names
    left = [float(one.get("style").split(" ")[-1].removesuffix("px")) for one in (wide, narrow)]
    assert left[0] > 150 > 20 > left[1]
    short = dress(go.Figure(go.Bar(x=[1], y=[0], orientation="h")), 90, yaxis=names_axis(["age"]))
    assert len(tree(short).findall("div")) == 1


def test_colours_follow_the_page_and_others_stay():
    figure = go.Figure(
        [
            go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": INK}),
            go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": "#123456"}),
        ]
    )
    text = str(draw_fluid(figure, "a"))
    assert INK.lower() not in text.lower()
    assert "--k:#123456" in text


def test_hints_are_written_once_or_are_rows_of_the_table():
    whole = explain_global(classes_model())
    figure = draw_shape(whole["age"], whole.outputs, whole.units)
    own = hints(figure)
    assert own["by"] == "x"
    first = [own["lines"][i] for i in own["all"][0][2:]]
    assert first[0] == "[0, 20)"
    assert first[1].startswith("home: ")
    assert len(set(own["lines"])) == len(own["lines"])
    rows = list(whole["age"].labels)
    table = hints(figure, rows)
    assert "lines" not in table
    assert [one[2] for one in table["all"]][:5] == [0, 1, 2, 3, 4]
    assert len(json.dumps(table)) < 0.35 * len(json.dumps(own))
    # A table that does not tell everything, or has a name twice, is not relied on.
    assert "lines" in hints(figure, rows[:3])
    assert "lines" in hints(figure, [*rows[:-1], rows[0]])
    assert hints(figure, None) is None


def test_patterns_lie_over_their_bars():
    figure = go.Figure(layout={"barmode": "stack", "showlegend": True})
    figure.add_bar(
        x=[1],
        y=[0],
        orientation="h",
        name="b",
        marker={"color": INK, "pattern": {"shape": PATTERNS[1]}},
    )
    rects = list(tree(figure).iter("rect"))
    assert [one.get("fill") for one in rects] == ["url(#p0)"]
    assert rects[0].get("width").endswith("%")


def test_numbers_of_cells_are_hidden_only_where_they_do_not_fit():
    def cells(count):
        z = np.linspace(-1, 1, count * count).reshape(count, count).tolist()
        text = [[f"{one:+.2f}" for one in row] for row in z]
        trace = go.Heatmap(z=z, text=text, texttemplate="%{text}", showscale=False)
        drawn = tree(go.Figure(trace, {"yaxis": {"scaleanchor": "x"}}))
        return {
            one.get("class")
            for one in drawn.iter("text")
            if (one.get("class") or "").startswith("c")
        }

    assert cells(3) == {"c"}
    assert cells(9) == {"c w"}
