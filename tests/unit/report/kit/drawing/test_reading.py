"""A plotly figure is read as it is meant: bars, bands, axes, legends, shapes and hints."""

import numpy as np
import plotly.graph_objects as go
import pytest
from explained_models import census_model, classes_model
from plotly.subplots import make_subplots

from voile.explaining import explain_global
from voile.report.ebm.model_page import draw_importance
from voile.report.ebm.shapes import draw_shape
from voile.report.kit.drawing.chart import (
    DrawnBand,
    DrawnBoxes,
    DrawnLine,
    DrawnPieces,
    DrawnPoints,
)
from voile.report.kit.drawing.reading import read_chart
from voile.report.kit.theme import dress, names_axis


def marks(figure, kind, panel=0):
    return [one for one in read_chart(figure).panels[panel].marks if isinstance(one, kind)]


def test_stacked_bars_stand_on_each_other():
    figure = go.Figure(layout={"barmode": "stack"})
    for sizes in ([1, 2], [3, -4], [5, 6]):
        figure.add_bar(x=sizes, y=[0, 1], orientation="h", width=0.5)
    first, second, third = marks(figure, DrawnBoxes)
    assert first.ends.tolist() == [[0, 1, -0.25, 0.25], [0, 2, 0.75, 1.25]]
    assert second.ends[:, :2].tolist() == [[1, 4], [-4, 0]]  # below zero has a pile of its own
    assert third.ends[:, :2].tolist() == [[4, 9], [2, 8]]


def test_grouped_bars_stand_beside_each_other():
    figure = go.Figure([go.Bar(x=[0, 1], y=[1, 2]), go.Bar(x=[0, 1], y=[3, 4])])
    left, right = marks(figure, DrawnBoxes)
    assert left.ends[0, :2] == pytest.approx([-0.4, 0])
    assert right.ends[0, :2] == pytest.approx([0, 0.4])


def test_bars_may_begin_anywhere_and_lean_to_the_left():
    figure = go.Figure(go.Bar(base=[2, 5], x=[1, -3], y=[0, 1], orientation="h"))
    assert marks(figure, DrawnBoxes)[0].ends[:, :2].tolist() == [[2, 3], [2, 5]]


@pytest.mark.parametrize(("fill", "lower"), [("tonexty", [0, 1, 2]), ("tozeroy", [0, 0, 0])])
def test_a_band_lies_between_two_lines(fill, lower):
    figure = go.Figure(
        [
            go.Scatter(x=[0, 1, 2], y=[0, 1, 2], mode="lines", line={"width": 0}),
            go.Scatter(
                x=[0, 1, 2],
                y=[5, 6, 7],
                mode="lines",
                line={"width": 0, "shape": "hv"},
                fill=fill,
                fillcolor="rgba(1,2,3,0.25)",
            ),
        ]
    )
    (band,) = marks(figure, DrawnBand)
    assert band.lower.tolist() == lower
    assert band.upper.tolist() == [5, 6, 7]
    assert (band.colour, band.opacity, band.stepped) == ("#010203", 0.25, True)
    assert marks(figure, DrawnLine) == []  # lines without width are not drawn


def test_open_axes_hold_everything_and_stand_on_zero():
    chart = read_chart(go.Figure(go.Bar(x=[1, 2], y=[4, 8], error_y={"array": [1, 2]})))
    axis = chart.panels[0].y
    assert axis.low == 0
    assert axis.high == pytest.approx(10.5)
    spread = read_chart(go.Figure(go.Scatter(x=[1, 3], y=[10, 20]))).panels[0]
    assert (spread.x.low, spread.x.high) == pytest.approx((0.9, 3.1))
    assert (spread.y.low, spread.y.high) == pytest.approx((9.5, 20.5))
    logs = go.Figure(go.Scatter(x=[1, 100], y=[0, 10]), {"xaxis": {"type": "log"}})
    axis = read_chart(logs).panels[0].x
    assert (axis.low, axis.high) == pytest.approx((-0.1, 2.1))
    assert axis.along([1, 10, 100, np.inf]).tolist() == pytest.approx(
        [0.1 / 2.2, 1.1 / 2.2, 2.1 / 2.2, np.inf]
    )
    only = read_chart(go.Figure(go.Scatter(x=[3], y=[3]))).panels[0].x
    assert only.low < 3 < only.high
    read_chart(go.Figure(go.Scatter(x=[], y=[])))


def test_shared_axes_have_the_same_ends():
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True)
    figure.add_scatter(x=[0, 10], y=[0, 1], row=1, col=1)
    figure.add_scatter(x=[5, 30], y=[0, 1], row=2, col=1)
    above, below = read_chart(figure).panels
    assert (above.x.low, above.x.high) == (below.x.low, below.x.high)
    assert not above.x.labels
    assert above.bottom > below.top


def test_titles_between_panels_have_room():
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.001, subplot_titles=["one", "a<br>b"])
    for row in (1, 2):
        figure.add_scatter(x=[0, 1], y=[0, 1], row=row, col=1)
    chart = read_chart(dress(figure, 400))
    above, below = chart.panels
    assert (above.caption, below.caption) == ("one", "a<br>b")
    assert chart.notes == ()
    assert (above.bottom - below.top) * chart.height >= 30
    assert above.top == pytest.approx(1)
    assert below.bottom == pytest.approx(0)


def test_lines_and_boxes_across_a_panel_reach_its_borders():
    figure = go.Figure(go.Scatter(x=[0, 1], y=[1, 2]))
    figure.add_hline(y=1.5, line={"color": "#999", "dash": "dash", "width": 1})
    figure.add_vline(x=0.5)
    figure.add_hrect(y0=1, y1=2, fillcolor="#f4f4f2", layer="below", line={"width": 0})
    panel = read_chart(figure).panels[0]
    assert isinstance(panel.marks[0], DrawnBoxes)  # below everything else
    assert panel.marks[0].ends.tolist() == [[-np.inf, np.inf, 1, 2]]
    level, upright = (one for one in panel.marks if isinstance(one, DrawnPieces))
    assert level.ends.tolist() == [[-np.inf, 1.5, np.inf, 1.5]]
    assert level.stroke.dash == "dash"
    assert upright.ends.tolist() == [[0.5, -np.inf, 0.5, np.inf]]


def test_texts_are_placed_in_parts_of_the_figure():
    figure = go.Figure(go.Scatter(x=[1, 2], y=[1, 100]))
    figure.update_layout(yaxis={"type": "log", "range": [0, 2]}, xaxis={"range": [1, 2]})
    figure.add_annotation(text="a", x=1.0, xref="paper", y=1.0, xanchor="right", yanchor="bottom")
    figure.add_annotation(text="b", x=1.25, y=0.5)
    right, inside = read_chart(figure).notes
    assert (right.x, right.y, right.across, right.above) == (1.0, 0.5, "end", True)
    assert (inside.x, inside.y, inside.across) == (0.25, 0.25, "middle")


def test_the_legend_has_what_is_named():
    figure = draw_importance(explain_global(classes_model()))
    chart = read_chart(figure)
    assert [one.name for one in chart.legend] == [
        "home",
        "rehabilitation",
        "nursing home",
        "noise alone",
    ]
    assert chart.legend[-1].symbol == "line-ns"
    alone = go.Figure(go.Scatter(x=[0], y=[0], name="alone"))
    assert read_chart(alone).legend == ()
    assert len(read_chart(alone.update_layout(showlegend=True)).legend) == 1
    ranked = go.Figure(
        [go.Scatter(y=[0], name="b", legendrank=2000), go.Scatter(y=[0], name="a", showlegend=None)]
    )
    assert [one.name for one in read_chart(ranked).legend] == ["a", "b"]


def test_steps_are_pointed_at_in_their_middle_and_told_once():
    whole = explain_global(classes_model())
    term = whole["age"]
    chart = read_chart(draw_shape(term, whole.outputs, whole.units))
    assert chart.by == "x"
    assert list(dict.fromkeys(hint.lines[0] for hint in chart.hints)) == list(term.labels)
    main = chart.panels[0]
    for i, hint in enumerate(chart.hints[: term.regular]):
        middle = (term.edges[i] + term.edges[i + 1]) / 2
        assert hint.x == pytest.approx(main.right * main.x.along([middle])[0], abs=2e-3)
        label, *lines, rows = hint.lines
        assert label == term.labels[i]
        assert [line.split(":")[0] for line in lines] == list(whole.outputs)
        assert rows.startswith("about")


def test_names_are_pointed_at_by_their_height():
    term = explain_global(census_model())["sex"]
    chart = read_chart(draw_shape(term, (">50K",), "log-odds"))
    assert chart.by == "y"
    assert sorted(hint.lines[0] for hint in chart.hints) == sorted(term.labels)
    assert [hint.y for hint in chart.hints] == sorted(
        (hint.y for hint in chart.hints), reverse=True
    )


def test_cells_of_a_map_have_colours_between_their_ends():
    z = [[0.0, None], [1.0, 0.5]]
    figure = go.Figure(
        go.Heatmap(
            z=z,
            colorscale=[[0, "#000000"], [1, "white"]],
            text=[["a", "b"], ["c", "<d>"]],
            texttemplate="%{text}",
            hovertext=[["A", "B"], ["C", "D"]],
            hoverinfo="text",
        )
    )
    chart = read_chart(figure)
    (cells,) = (one for one in chart.panels[0].marks if isinstance(one, DrawnBoxes))
    assert cells.colours == ("#000000", "#ffffff", "#808080")
    assert cells.texts == ("a", "c", "<d>")
    assert cells.ends[0].tolist() == [-0.5, 0.5, -0.5, 0.5]
    assert (chart.panels[0].x.low, chart.panels[0].x.high) == (-0.5, 1.5)
    assert [hint.lines for hint in chart.hints] == [("C",), ("D",), ("A",)]
    assert (chart.scale.low, chart.scale.high) == (0, 1)


def test_points_may_have_the_colours_of_a_scale():
    marker = {
        "color": [0, 5, 10],
        "colorscale": [[0, "#000000"], [1, "#ff0000"]],
        "showscale": True,
    }
    figure = go.Figure(go.Scatter(x=[1, 2, 3], y=[0, 0, 0], mode="markers", marker=marker))
    (points,) = marks(figure, DrawnPoints)
    assert points.colours == ("#000000", "#800000", "#ff0000")
    chart = read_chart(figure)
    assert chart.scale.needed
    assert chart.by == "xy"


def test_names_axes_are_known():
    figure = dress(
        go.Figure(go.Bar(x=[1, 2], y=[0, 1], orientation="h")), 120, yaxis=names_axis(["a", "b"])
    )
    axis = read_chart(figure).panels[0].y
    assert axis.named
    assert axis.low > axis.high  # the first is at the top


def test_what_no_form_can_draw_is_said():
    with pytest.raises(NotImplementedError, match="pie"):
        read_chart(go.Figure(go.Pie(values=[1])))
