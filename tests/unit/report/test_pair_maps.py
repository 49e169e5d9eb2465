"""Maps of pairs: the record's own numbers, only in colours where they are more than nothing."""

import html
import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from drawn_figures import figures_of
from explained_models import category_term, make_model, number_term
from paired_models import WARD_VALUES, level_side, make_pair, number_side, ward_pairs
from random_pairs import with_evidence
from rich.console import Console
from test_model_report import fitted
from test_report_pages import EVIL, WORSE, check_alone

from voile.errors import SettingError
from voile.explain.ebm.factors import LOG_UNIT
from voile.explain.ebm.overall import EBMExplanation
from voile.explaining import explain_global, explain_local
from voile.figure_request import FigureRequest
from voile.models.history import Edit
from voile.models.verdict import MARK, NOTHING
from voile.report.ebm import model_page, rows_page
from voile.report.ebm.feature_labels import find_sides, label_features
from voile.report.ebm.model_page import plot
from voile.report.ebm.pair_map import (
    NO_ROWS,
    draw_pair,
    drawn_outputs,
    empty_cells,
    equal_widths,
    told_cells,
)
from voile.report.ebm.pair_part import MOST_CELLS, NONE_CLEAR, list_cells, pair_text
from voile.report.ebm.terminal import print_answers, print_terms
from voile.report.kit.drawing.chart import DrawnBoxes
from voile.report.kit.drawing.forms import form_matplotlib, form_svg
from voile.report.kit.drawing.reading import read_chart
from voile.schema import Category, Number


def pair_of(model, first, second):
    return explain_global(model)[first, second]


def changed(pair, *, cell=None, **arrays):
    """A pair of which single numbers are others."""
    made = {}
    for name, value in arrays.items():
        values = np.array(getattr(pair, name))
        values[cell if cell is not None else ...] = value
        made[name] = values
    return replace(pair, **made)


def heats(figure):
    return [one for one in figure.data if one.type == "heatmap"]


def greys(figure, name):
    return [one for one in figure.data if one.type == "bar" and one.name == name]


def boxes(figure):
    """Every coloured or grey box: (left, right, bottom, top) of its panel -> colour."""
    found = {}
    for panel in read_chart(figure).panels:
        for mark in panel.marks:
            if isinstance(mark, DrawnBoxes):
                for ends, colour in zip(mark.ends.tolist(), mark.colours, strict=True):
                    found[panel.bottom, panel.left, *ends] = colour
    return found


def one_pair(scores, *, error=0.01, rows=100.0, firsts=None, seconds=(10, 20, 30)):
    """A pair of two numbers, with scores of the cells on its axes."""
    scores = np.asarray(scores, dtype=float)
    first = number_term("one", firsts or [1, 2], 0, 3, lambda a: a)
    second = number_term("two", list(seconds)[: scores.shape[1] - 1], 0, 40, lambda a: a)
    sides = number_side(first, first.cuts), number_side(second, second.cuts)
    whole = np.zeros((scores.shape[0] + 1, scores.shape[1] + 1))
    whole[:-1, :-1] = scores
    pair = make_pair(*sides, scores=whole, error=error, rows=rows)
    model = make_model([first, second], Category(["no", "yes"]), "logit", pairs=(pair,))
    return explain_global(model)["one & two"]


# -- what is drawn --------------------------------------------------------------------------------


def test_a_map_has_the_scores_of_the_record_on_real_axes():
    scores = [[0.5, -0.2, 0.1, -0.4], [-0.3, 0.7, 0.2, 0.6], [0.9, 0.3, -0.8, 0.15]]
    pair = one_pair(scores)
    figure = draw_pair(pair, ("yes",), "log-odds")
    (heat,) = heats(figure)
    # The first column runs to the right, the second upwards.
    assert list(heat.x) == [0, 1, 2, 3]
    assert list(heat.y) == [0, 10, 20, 30, 40]
    assert np.array_equal(np.array(heat.z, dtype=float), np.transpose(scores))
    assert (heat.zmin, heat.zmax) == (-0.9, 0.9)
    assert not [one for one in figure.data if one.type == "bar"]
    # Nothing is known of missing values: no strip, no axis for it.
    assert read_chart(figure).panels[0].right == 1.0
    low, high = figure.layout.yaxis.range
    assert -3 < low < 0 < 40 < high < 43
    assert figure.layout.xaxis.title.text == "one"
    assert figure.layout.yaxis.title.text == "two"


def test_zero_is_the_page_orange_raises_and_blue_lowers():
    pair = one_pair([[0.8, -0.8], [0.4, -0.4], [0.02, -0.02]], error=0.001)
    chart = read_chart(draw_pair(pair, ("yes",), "log-odds"))
    (mark,) = (one for one in chart.panels[0].marks if isinstance(one, DrawnBoxes))
    shades = dict(
        zip(
            map(tuple, mark.ends.tolist()),
            zip(mark.colours, mark.opacities, strict=True),
            strict=True,
        )
    )
    assert shades[0, 1, 0, 10] == ("#d55e00", 1.0)
    assert shades[0, 1, 10, 40] == ("#0072b2", 1.0)
    assert shades[1, 2, 0, 10][0] == "#d55e00"
    assert shades[1, 2, 0, 10][1] == pytest.approx(0.5, abs=0.03)
    assert shades[1, 2, 10, 40][0] == "#0072b2"
    assert all(0 < opacity < 0.1 for ends, (_, opacity) in shades.items() if ends[0] == 2)
    assert (chart.scale.low, chart.scale.high) == (-0.8, 0.8)
    assert chart.scale.title == "adds to the log-odds of yes"


def test_only_what_is_more_than_nothing_has_a_colour():
    pair = one_pair([[0.5, 0.5], [-0.5, 0.5], [0.5, 0.5]])
    pair = changed(pair, standard_errors=0.251, cell=(0, 0))  # zero is just within
    pair = changed(pair, standard_errors=0.249, cell=(0, 1))  # just without
    pair = changed(pair, counts=17.9, cell=(1, 0))  # two errors of the count are 18
    pair = changed(pair, counts=18.1, cell=(1, 1))
    pair = changed(pair, standard_errors=math.inf, cell=(2, 0))
    told, empty = told_cells(pair)[..., 0], empty_cells(pair)
    assert told[:3, :2].tolist() == [[False, True], [False, True], [False, True]]
    assert empty[:3, :2].tolist() == [[False, False], [True, False], [False, False]]
    figure = draw_pair(pair, ("yes",), "log-odds")
    (may,), (few,) = greys(figure, MARK), greys(figure, NO_ROWS)
    assert (list(may.x), list(may.base), list(may.y)) == ([0.5, 2.5], [0, 0], [10, 10])
    assert (list(few.x), list(few.base), list(few.width)) == ([1.5], [0], [1])
    assert may.marker.pattern.shape != few.marker.pattern.shape
    z = np.array(heats(figure)[0].z, dtype=float)
    assert z.tolist() == [[0, 0, 0], [0.5, 0.5, 0.5]]
    # What lies beneath a grey cell is not drawn: nothing of it can shine through.
    drawn = boxes(figure)
    assert len(drawn) == 6
    assert [colour for ends, colour in drawn.items() if ends[-1] == 10] == ["#e8e8e8"] * 3
    assert [entry.name for entry in read_chart(figure).legend] == [MARK, NO_ROWS]


def test_a_pair_that_is_nothing_has_no_colour_at_all():
    pair = replace(one_pair([[0.5, -0.5], [0.5, -0.5], [0.9, 0.9]]), verdict=NOTHING, p_value=0.4)
    assert not told_cells(pair).any()
    assert set(boxes(draw_pair(pair, ("yes",), "log-odds")).values()) == {"#e8e8e8"}
    assert "cannot be told from nothing" in pair_text(pair, ("yes",))


def test_pointing_at_a_cell_tells_both_parts_score_and_rows():
    pair = one_pair([[0.5, 0.004], [-0.5, 0.5], [0.5, 0.5]])
    pair = changed(pair, counts=3.0, cell=(1, 1))
    chart = read_chart(draw_pair(pair, ("yes",), "log-odds"))
    assert chart.by == "cells"
    told = {hint.lines[0]: hint for hint in chart.hints}
    assert len(told) == 6
    assert told["[0, 1) & [0, 10)"].lines[1:] == ("+0.5 ± 0.02", "rows: 100 ± 18")
    assert told["[0, 1) & [10, 40]"].lines[1] == "+0.004 ± 0.02 (may be nothing)"
    assert told["[1, 2) & [10, 40]"].lines[1:] == (
        "+0.5 ± 0.02 (may be nothing)",
        "rows: few rows or none (3 ± 18)",
    )
    # A cell is pointed at wherever it is: each hint has the size of its own.
    wide = told["[0, 1) & [10, 40]"].half[1] / told["[0, 1) & [0, 10)"].half[1]
    assert wide == pytest.approx(3)
    assert told["[0, 1) & [0, 10)"].half[0] == pytest.approx(1 / 6)
    assert chart.hints[0].lines[0] == "[0, 1) & [10, 40]"


def test_intervals_that_could_not_be_seen_are_drawn_equally_wide():
    pair = one_pair([[0.5, 0.4], [-0.5, 0.5], [0.5, 0.3]], firsts=[0.01, 0.02])
    assert equal_widths(pair.first)
    assert not equal_widths(pair.second)
    figure = draw_pair(pair, ("yes",), "log-odds")
    assert list(heats(figure)[0].x) == [0, 1, 2, 3]
    assert list(figure.layout.xaxis.ticktext) == ["0", "0.01", "0.02", "3"]
    model = make_model(
        [number_term("one", [0.01, 0.02], 0, 3, lambda a: a), number_term("two", [10], 0, 40, abs)],
        Category([0, 1]),
        "logit",
    )
    sides = (number_side(term, term.cuts) for term in model.terms)
    page = model_page.draw_page(explain_global(replace(model, pairs=(make_pair(*sides),))))
    assert "Intervals of one are drawn equally wide" in page
    assert not equal_widths(replace(pair.first, edges=np.empty(0), labels=("a", "b")))
    same = replace(pair.first, edges=np.array([1.0, 1.0, 1.0, 1.0]))
    assert equal_widths(same)
    draw_pair(replace(pair, first=same), ("yes",), "log-odds")


def test_numbers_lie_across_and_many_levels_beneath_each_other():
    model = ward_pairs()
    age = draw_pair(pair_of(model, "age", "ward"), ("yes",), "log-odds")
    assert list(age.layout.yaxis.ticktext) == ["A, E", "B, C", "D"]
    assert age.layout.yaxis.range[0] > age.layout.yaxis.range[1]  # the first at the top
    turned = ward_pairs()
    pair = turned.pairs[0]
    other = replace(
        pair,
        first=pair.second,
        second=pair.first,
        **{
            name: getattr(pair, name).swapaxes(0, 1)
            for name in ("scores", "standard_errors", "whole_errors", "counts", "count_errors")
        },
    )
    same = explain_global(replace(turned, pairs=(other,)))["ward & age"]
    swapped = draw_pair(same, ("yes",), "log-odds")
    assert boxes(swapped) == boxes(age)
    both = draw_pair(pair_of(model, "ward", "shift"), ("yes",), "log-odds")
    assert list(both.layout.xaxis.ticktext) == ["day", "night"]


def test_what_has_no_place_on_an_axis_is_apart():
    pair = changed(pair_of(ward_pairs(), "age", "ward"), counts=150.0)
    figure = draw_pair(pair, ("yes",), "log-odds")
    parts = {heat.xaxis + heat.yaxis: np.array(heat.z, dtype=float) for heat in heats(figure)}
    assert sorted(one.shape for one in parts.values()) == [(1, 1), (1, 3), (3, 1), (3, 3)]
    whole = np.block(
        [
            [parts["xy"], parts["x2y2"]],
            [parts["x3y3"], parts["x4y4"]],
        ]
    )
    shown = np.where(told_cells(pair)[..., 0], pair.scores[..., 0], 0.0)
    assert np.array_equal(whole, shown.T)
    chart = read_chart(figure)
    assert len(chart.panels) == 4
    texts = [text for panel in chart.panels for text in panel.x.texts or ()]
    assert "<br>missing" in texts
    assert "other" in [text for panel in chart.panels for text in panel.y.texts or ()]
    # The count of a single cell there is enough.
    few = changed(pair, counts=0.0, cell=(slice(None), -1))
    assert len(read_chart(draw_pair(few, ("yes",), "log-odds")).panels) == 2


@pytest.mark.parametrize("count", [3, 7])
def test_every_class_has_a_map_of_the_same_colours_or_the_leading_one(count):
    whole = explain_global(ward_pairs(count, "softmax"))
    pair = whole["age & ward"]
    figure = draw_pair(pair, whole.outputs, whole.units)
    drawn = drawn_outputs(pair)
    assert len(drawn) == (3 if count == 3 else 1)
    told = told_cells(pair)
    top = np.abs(pair.scores[..., drawn][told[..., drawn]]).max()
    for k, heat in zip(drawn, heats(figure), strict=True):
        wanted = np.where(told[..., k], pair.scores[..., k], 0.0)[:-1, :-1]
        assert np.array_equal(np.array(heat.z, dtype=float), wanted.T)
        assert (heat.zmin, heat.zmax) == (-top, top)
    titles = [axis.title.text for axis in figure.select_yaxes() if axis.title.text]
    assert titles == [f"ward, for {whole.outputs[k]}" for k in drawn]
    assert figure.data[0].colorbar.title.text == "adds to the score of a class"
    page = model_page.draw_page(whole)
    check_alone(page)
    assert ("whose score the pair moves most" in page) == (count == 7)
    # The one that moves most is drawn.
    loud = changed(pair, scores=pair.scores[..., 1:2] * 50, cell=(..., slice(1, 2)))
    assert count == 3 or drawn_outputs(loud) == [1]


def test_numbers_stand_in_cells_that_have_the_room_else_signs():
    few = draw_pair(one_pair([[0.5, -0.25]] * 3), ("yes",), "log-odds")
    assert heats(few)[0].text[0] == ["+0.5"] * 3
    assert heats(few)[0].text[1] == ["-0.25"] * 3
    cuts = [float(i) for i in range(1, 40)]
    narrow = [3 * cut / 40 for cut in cuts]
    many = draw_pair(one_pair([[0.55, -0.25]] * 40, firsts=narrow), ("yes",), "log-odds")
    assert set(heats(many)[0].text[0]) == {"+"}
    assert set(heats(many)[0].text[1]) == {"-"}


@pytest.mark.parametrize(("lowest", "written"), [(2.0, {"+", "-"}), (1.3, {""})])
def test_all_rows_of_a_map_have_signs_or_none_has(lowest, written):
    pair = one_pair([[0.5, -0.25, 0.3]] * 3, seconds=(lowest, 20))
    (heat,) = heats(draw_pair(pair, ("yes",), "log-odds"))
    assert {text for line in heat.text for text in line} == written


def test_cells_of_a_map_of_counts_have_factors():
    pair = one_pair([[0.5, -0.25]] * 3)
    (heat,) = heats(draw_pair(pair, ("prediction",), LOG_UNIT))
    assert heat.text[0] == ["x1.65"] * 3
    assert heat.text[1] == ["x0.779"] * 3
    assert "x1.65 (1.62 to 1.68)" in heat.hovertext[0][0]


# -- pages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outputs", "link"), [(1, "logit"), (3, "softmax"), (1, "identity")])
def test_a_page_has_pairs_among_the_columns(outputs, link):
    model = ward_pairs(outputs, link)
    whole = explain_global(model)
    page = model_page.draw_page(whole)
    elements = check_alone(page)
    ranked = [part.name for part in whole.ranked_parts]
    titles = [html.unescape(one) for one in re.findall(r"<h3>(.*?)</h3>", page)]
    assert titles == ranked
    figures = figures_of(page)
    assert list(figures) == ["importance", *(f"term-{i}" for i in range(7)), "budget"]
    bars = [one for one in figures["importance"][0] if one["type"] == "bar"]
    for k, bar in enumerate(bars):
        assert bar["x"] == [float(part.importance[k]) for part in whole.ranked_parts]
    text = " ".join(" ".join(elements.text).split())
    assert "A model of 4 terms and 3 pairs of columns." in text
    assert "What age and ward add together, beyond what age and ward add by themselves" in text
    # Every cell has its line, and pointing at it tells that line.
    pair = whole["age & ward"]
    at = page.index("Numbers of age &amp; ward")
    rows = re.findall(r"<tr>(.*?)</tr>", page[at : page.index("</table>", at)], re.DOTALL)[1:]
    assert len(rows) == pair.counts.size
    cells = [[html.unescape(one) for one in re.findall(r"<td>(.*?)</td>", row)] for row in rows]
    assert cells[0][0] == f"{pair.first.labels[0]} & {pair.second.labels[0]}"
    assert cells[-1][0] == "(missing) & (other), (missing)"
    assert len(cells[0]) == 2 + outputs
    drawn = re.search(
        rf'id="term-{ranked.index("age & ward")}".*?application/json">(.*?)</script>',
        page,
        re.DOTALL,
    )
    data = json.loads(drawn[1])
    assert data["by"] == "cells"
    assert "lines" not in data
    assert len(data["all"]) == len(data["half"]) == 9 * outputs


def test_a_pair_that_is_nothing_is_folded_away_and_one_that_is_clear_is_told():
    model = ward_pairs()
    clear, nothing = with_evidence(model.pairs[0], 30.0), with_evidence(model.pairs[2], 0.01)
    whole = explain_global(replace(model, pairs=(clear, nothing)))
    assert (whole["age & ward"].verdict, whole["ward & shift"].verdict) == ("clear", NOTHING)
    page = model_page.draw_page(whole)
    check_alone(page)
    fold = page.index("1 pair of columns cannot be told from nothing: ward &amp; shift")
    assert page.index("<h3>age &amp; ward</h3>") < fold < page.index("<h3>ward &amp; shift</h3>")
    told = page[page.index("<h3>age &amp; ward</h3>") :]
    assert "Verdict: <strong>clear</strong> (p < 0.0001, allowing for all columns and pairs)" in (
        html.unescape(told[:300])
    )
    figure = figures_of(page)["importance"][0][0]
    assert figure["marker"]["color"][-1] != figure["marker"]["color"][0]


def test_the_sentence_tells_cells_that_say_something():
    pair = one_pair([[0.5, -0.2], [0.9, 0.1], [-0.7, 0.3]])
    assert pair_text(pair, ("yes",)) == (
        "What one and two add together, beyond what one and two add by themselves: it raises the "
        "score most at [1, 2) & [0, 10) (+0.9 ± 0.02), and lowers the score most at [2, 3] & "
        "[0, 10) (-0.7 ± 0.02)."
    )
    # The greatest score of all may be nothing, or nobody's.
    unsure = changed(pair, standard_errors=0.5, cell=(1, 0))
    assert "most at [0, 1) & [0, 10) (+0.5" in pair_text(unsure, ("yes",))
    nobody = changed(pair, counts=0.0, cell=(1, 0))
    assert "most at [0, 1) & [0, 10) (+0.5" in pair_text(nobody, ("yes",))
    assert "lowers" not in pair_text(changed(pair, scores=0.4), ("yes",))
    assert NONE_CLEAR in pair_text(changed(pair, standard_errors=9.0), ("yes",))


def test_long_tables_have_the_cells_that_tell_most():
    scores = np.full((60, 4), 0.001)
    scores[5, 2], scores[59, 0] = 0.7, -0.8
    cuts = [3 * i / 60 for i in range(1, 60)]
    pair = one_pair(scores, firsts=cuts)
    listed = list_cells(pair)
    assert len(listed) == MOST_CELLS
    assert {(5, 2), (59, 0)} <= set(listed)
    assert listed == sorted(listed)
    assert not any(empty_cells(pair)[cell] for cell in listed)
    # What is not in the table is told by the figure itself.
    terms = [
        number_term("one", cuts, 0, 3, lambda a: a),
        number_term("two", [10, 20, 30], 0, 40, abs),
    ]
    sides = [number_side(term, term.cuts) for term in terms]
    model = make_model(terms, Category([0, 1]), "logit", pairs=(make_pair(*sides),))
    page = model_page.draw_page(explain_global(model))
    check_alone(page)
    assert f"The {61 * 5 - MOST_CELLS} cells with the least rows or scores are left out" in page
    assert '"lines":' in page


def test_an_edited_pair_tells_what_was_trained():
    model = ward_pairs()
    pair = model.pairs[0]
    scores = pair.scores.copy()
    scores[0, 0] = 0.123
    edit = Edit("cells", pair.name, {"value": 0.123}, "a slip", "ada", "2026-02-03")
    edited = replace(model.with_pair(replace(pair, scores=scores)), original=model, edits=(edit,))
    whole = explain_global(edited)
    assert whole["age & ward"].verdict == "edited"
    page = model_page.draw_page(whole)
    elements = check_alone(page)
    text = " ".join(elements.text)
    assert "the map is as it is now" in text
    assert "score, as trained" in text
    assert all(word in text for word in ("age & ward", "a slip", "ada", "2026-02-03"))
    lines = read_chart(draw_pair(whole["age & ward"], ("yes",), "")).hints
    told = next(hint.lines for hint in lines if hint.lines[0] == "[18, 45.5) & A, E")
    assert f"as trained: +{pair.scores[0, 0, 0]:.3g}" in told


def evil_pairs():
    terms = [
        category_term(EVIL, [EVIL, WORSE], [0.5, -0.5], [100, 200]),
        number_term(WORSE, [1, 2], 0, 3, lambda x: x - 1),
        category_term("a & b", [EVIL, "</script>"], [0.5, -0.5], [100, 200]),
    ]
    first, second = level_side(terms[0], [0, 1, 2, 2]), number_side(terms[1], [1, 2])
    pairs = (
        make_pair(first, second),
        make_pair(first, level_side(terms[2], [0, 1, 2, 2]), seed=3),
    )
    return make_model(terms, Category([WORSE, EVIL]), "logit", unit=EVIL, pairs=pairs)


def test_names_are_shown_and_never_run():
    model = evil_pairs()
    rows = {EVIL: [EVIL, "?"], WORSE: [1, None], "a & b": ["</script>", None]}
    whole = explain_global(model)
    for page in (model_page.draw_page(whole), rows_page.draw_page(explain_local(model, rows))):
        elements = check_alone(page)
        assert not elements.all("img")
        assert EVIL not in page
        text = " ".join(elements.text)
        assert f"{EVIL} & {WORSE}" in text
        for traces, layout in figures_of(page).values():
            assert "<script" not in json.dumps([traces, layout])
            assert "hovertemplate" not in json.dumps(traces)
    report = fitted(model)
    assert EVIL not in str(model_page.draw_page(report.explain_global()))


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"error": 0.0}, id="no noise"),
        pytest.param({"error": math.inf}, id="unknown noise"),
        pytest.param({"rows": 0.0}, id="no rows"),
        pytest.param({"scores": np.zeros((3, 4))}, id="all zero"),
    ],
)
def test_unusual_pairs_have_pages(settings):
    age = number_term("age", [30], 18, 100, lambda a: a / 100)
    ward = category_term("ward", ["A", "B", "C"], [0.1, 0, -0.1], [5, 6, 7])
    pair = make_pair(number_side(age, [30]), level_side(ward, [0, 1, 2, 3, 3]), **settings)
    model = make_model([age, ward], Number(0, 1), "identity", pairs=(pair,))
    whole = explain_global(model)
    check_alone(model_page.draw_page(whole))
    check_alone(rows_page.draw_page(explain_local(model, {"age": [None], "ward": [None]})))
    written(whole)


def test_sides_of_a_single_part_have_a_page():
    # Levels all in one group with what is apart, and a number without cuts.
    age = number_term("age", [], 18, 100, lambda a: a / 100)
    ward = category_term("ward", ["A"], [0.1], [5])
    pair = make_pair(number_side(age, []), level_side(ward, [0, 0, 0]), rows=500.0)
    pair = replace(pair, counts=np.full(pair.counts.shape, 500.0))
    model = make_model([age, ward], Number(0, 1), "identity", pairs=(pair,))
    check_alone(model_page.draw_page(explain_global(model)))


# -- figures --------------------------------------------------------------------------------------


def test_pairs_are_plotted_by_name_and_output():
    whole = explain_global(ward_pairs(3, "softmax"))
    figure = plot(whole, FigureRequest("age & ward"))
    assert len(heats(figure)) == 3
    one = plot(whole, FigureRequest("age & ward", output="class 1"))
    (heat,) = heats(one)
    pair = whole["age & ward"]
    wanted = np.where(told_cells(pair)[..., 1], pair.scores[..., 1], 0.0)[:-1, :-1]
    assert np.array_equal(np.array(heat.z, dtype=float), wanted.T)
    assert heat.colorbar.title.text == "adds to the score of class 1"
    with pytest.raises(SettingError, match="did you mean 'age & ward'"):
        plot(whole, FigureRequest("age & wart"))
    # Also of a model whose terms are judged.
    judged = replace(whole, terms=tuple(replace(term, evidence=None) for term in whole.terms))
    assert heats(plot(judged, FigureRequest("ward & shift", output="class 2")))


def test_a_map_is_taken_along_in_all_forms(tmp_path):
    whole = explain_global(ward_pairs(3, "softmax"))
    pair = changed(whole["age & ward"], counts=100.0)
    pair = changed(pair, counts=0.0, cell=(0, 0))
    figure = draw_pair(pair, whole.outputs, whole.units)
    text = form_svg(figure, 12.0).decode()
    assert "nan" not in text
    for words in ("may be nothing", "few rows or none", "ward, for class 0", "adds to the score"):
        assert words in text
    drawn = form_matplotlib(figure, 16.0)
    drawn.canvas.draw()
    labels = [label.get_text() for axes in drawn.axes for label in axes.get_yticklabels()]
    assert labels.count("B, C") == 3
    path = whole.save_figure(tmp_path / "map.svg", "ward & shift")
    assert b"<svg" in path.read_bytes()


# -- rows, terminal, card -------------------------------------------------------------------------


def test_a_waterfall_names_both_values_of_a_pair():
    told = explain_local(ward_pairs(), WARD_VALUES)
    labels = label_features(told, 0)
    assert labels[4:] == [
        "age & ward = 71 & B",
        "admitted & age = 1970-02-01 & 71",
        "ward & shift = B & day",
    ]
    # Age 10 is read as 18, and 'late' as another level: the pair has them as they counted.
    assert label_features(told, 4)[0] == "age = 10 → 18"
    assert label_features(told, 4)[4] == "age & ward = 18 & A"
    assert label_features(told, 4)[6] == "ward & shift = A & (other)"
    assert label_features(told, 2)[4] == "age & ward = (missing) & (missing)"
    page = rows_page.draw_page(told)
    check_alone(page)
    text = html.unescape(re.sub("<[^>]*>", " ", page))
    for row in range(len(told)):
        for j, name in enumerate(told.features):
            assert name in text
            assert told.given[row][j] in text
    steps = rows_page.find_steps(told, 0, 0)
    sizes = {step.label: step.size for step in steps}
    assert sizes["age & ward = 71 & B"] == told.values[0, 4, 0]


def test_long_names_of_a_pair_keep_both_sides():
    age = number_term("age of the person at admission", [30], 18, 100, lambda a: a / 100)
    ward = category_term("reason for admission, as written", ["A", "B"], [0.1, -0.1], [5, 6])
    pair = make_pair(number_side(age, [30]), level_side(ward, [0, 1, 2, 2]))
    model = make_model([age, ward], Number(0, 1), "identity", pairs=(pair,))
    told = explain_local(model, {age.name: [55], ward.name: ["B"]})
    label = label_features(told, 0)[2]
    assert label.startswith("age of th")
    assert " & reason f" in label
    assert label.endswith("= 55 & B")


def test_names_that_hold_what_joins_two_are_not_split():
    assert find_sides(["a", "b", "a & b"]) == {2: (0, 1)}
    assert find_sides(["a & b", "c", "a & b & c"]) == {2: (0, 1)}
    assert find_sides(["a", "b & c", "a & b & c"]) == {2: (0, 1)}
    assert find_sides(["x & y", "x"]) == {}


def written(record, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    printer = print_terms if isinstance(record, EBMExplanation) else print_answers
    printer(console, record)
    return console.file.getvalue()


def test_a_terminal_has_a_map_of_signs_where_it_has_the_room():
    whole = explain_global(ward_pairs())
    text = written(whole)
    assert "Terms and pairs by importance" in text
    pair = changed(whole["age & ward"], scores=[[[1.0], [-1], [0.3], [0]]] * 4)
    pair = changed(pair, counts=0.0, cell=(2, 1))
    pair = changed(pair, standard_errors=3.0, cell=(1, 1))
    lines = written(replace(whole, pairs=(pair,))).splitlines()
    at = lines.index("ward:")
    assert lines[at + 1].split() == ["A,", "E", "+++", "+++", "+++"]
    assert lines[at + 2].split() == ["B,", "C", "---", "·"]
    assert lines[at + 3].split() == ["D", "+", "+", "+"]
    assert lines[at + 4] == "across: age, from 18 to 100"
    narrow = written(replace(whole, pairs=(pair,)), width=25)
    assert "across:" not in narrow
    assert "age & ward" in " ".join(narrow.split())
    local = written(explain_local(ward_pairs(3, "softmax"), WARD_VALUES))
    assert "age & ward = 71 & B" in local
    nothing = replace(pair, verdict=NOTHING, p_value=0.5)
    assert "across:" not in written(replace(whole, pairs=(nothing,)))


def test_a_card_and_a_report_have_pairs():
    estimator = fitted(ward_pairs())
    card = estimator._repr_html_()
    assert "age &amp; ward" in card
    path_free = estimator.explain_global()
    sections = model_page.draw_sections(path_free, linked=True)
    ranked = [part.name for part in path_free.ranked_parts]
    assert sections[1].inner == tuple((f"shape-{i}", name) for i, name in enumerate(ranked))
    for i in range(len(ranked)):
        assert f'id="shape-{i}"' in sections[1].body
