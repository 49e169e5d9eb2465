"""Pages show the model's own numbers, need no network, and show every name as it is."""

import html
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from drawn_figures import figures_of
from explained_models import (
    CENSUS_ROWS,
    category_term,
    census_model,
    classes_model,
    make_model,
    make_receipt,
    number_term,
    price_model,
)

from voile.errors import SettingError
from voile.explaining import explain_global, explain_local
from voile.models.history import Edit
from voile.rendering import print_record, write_page
from voile.report.ebm import model_page as global_page
from voile.report.ebm import rows_page as local_page
from voile.report.ebm.model_page import draw_importance
from voile.report.ebm.rows_page import draw_waterfall, find_steps
from voile.report.ebm.shapes import draw_shape, order_levels, uses_ranks
from voile.report.kit.assets import read_asset
from voile.report.kit.bars import MOST_BARS
from voile.report.kit.budget import draw_budget, split_budget
from voile.report.quality import summary as summary_page
from voile.schema import Category, Number
from voile.summary.summary import CategorySummary, NumberSummary, Summary

EVIL = "<script>alert(1)</script>"
WORSE = "%{x} <img src=x onerror=alert(2)> & \"quotes\" 'too' $x^2$"


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and its text outside scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.found, self.text, self.scripts, self.inside = [], [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)
        elif self.inside != "style":
            self.text.append(data)

    def all(self, tag):
        return [attributes for one, attributes in self.found if one == tag]


def check_scripts(page, count=1):
    """A page runs what all pages run, and what its form needs; all other scripts are plain data."""
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == page.count("<script") == page.count("</script")
    run = [script for kind, script in scripts if "application/json" not in kind]
    assert len(run) == count
    assert run[0] == read_asset("kit/theme.js") + read_asset("kit/drawing/figure.js")
    for kind, script in scripts:
        if "application/json" in kind:
            json.loads(script)
            assert not re.search("[<>&]", script)


def check_figures(elements, page):
    """Every figure is drawn, described in words, and has no text or place that is no number."""
    described, figures = elements.all("figure"), figures_of(page)
    assert len(described) == len(figures)
    assert all(one["role"] == "img" and len(one["aria-label"]) > 10 for one in described)
    plots = [one for one in elements.all("div") if one.get("class", "").startswith("plot")]
    assert len(plots) >= len(figures)
    assert "NaN" not in json.dumps(list(figures.values()))
    for tag, attributes in elements.found:
        if tag in ("path", "svg", "text", "tspan", "rect"):
            assert not re.search("nan|inf", " ".join(str(one) for one in attributes.values()))


def local_of(model, **rows):
    return explain_local(model, rows)


def line_of(figure, name):
    return next(trace for trace in figure.data if trace.type == "scatter" and trace.name == name)


def check_alone(page):
    """Nothing in the page asks for anything outside it, or runs but what all pages run."""
    elements = Elements(page)
    for _, attributes in elements.found:
        assert not {"src", "href", "srcset", "data"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert not elements.all("link")
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    check_scripts(page)
    assert any(one.get("name") == "viewport" for one in elements.all("meta"))
    check_figures(elements, page)
    return elements


# -- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["age", "capital-gain", "hours-per-week"])
def test_a_number_is_a_step_line_with_its_noise_and_its_rows(name):
    term = explain_global(census_model())[name]
    figure = draw_shape(term, (">50K",), "log-odds")
    lower, upper = (one for one in figure.data if one.type == "scatter" and one.line.width == 0)
    line, scores, noise = line_of(figure, "now"), term.scores[:, 0], 2 * term.standard_errors[:, 0]
    assert line.line.shape == lower.line.shape == upper.line.shape == "hv"
    edges = np.arange(len(term.edges)) if uses_ranks(term) else term.edges
    for trace, values in ((line, scores), (lower, scores - noise), (upper, scores + noise)):
        assert np.array_equal(trace.x, edges)
        assert np.allclose(trace.y[:-1], values[:-1], atol=0)
        assert trace.y[-1] == trace.y[-2]
    assert upper.fill == "tonexty"
    assert lower.xaxis == upper.xaxis == line.xaxis
    rows, missing_rows = (one for one in figure.data if one.type == "bar")
    assert np.array_equal(rows.y, term.counts[:-1])
    assert np.array_equal(missing_rows.y, term.counts[-1:])
    assert np.allclose(np.array(rows.x) - np.array(rows.width) / 2, edges[:-1])
    assert figure.layout.xaxis.matches == rows.xaxis  # the histogram beneath shares the axis
    points = [one for one in figure.data if one.type == "scatter" and one.mode == "markers"]
    assert [tuple(one.y) for one in points] == [(scores[-1],)]
    low, high = figure.layout.yaxis.range
    assert low < min(0, scores.min())
    assert high > max(0, scores.max())


def test_a_skewed_number_is_drawn_by_bins():
    whole = explain_global(census_model())
    assert uses_ranks(whole["capital-gain"])
    assert not uses_ranks(whole["age"])
    axis = draw_shape(whole["capital-gain"], (">50K",), "log-odds").layout.xaxis3
    assert axis.ticktext[0] == "0"
    assert axis.ticktext[-1] == "99999"
    assert axis.tickvals[-1] == len(whole["capital-gain"].edges) - 1
    assert 3 <= len(axis.tickvals) <= 8


def test_a_category_is_sorted_dots_with_whiskers_and_its_rows_aside():
    term = explain_global(census_model())["native-country"]
    figure = draw_shape(term, (">50K",), "log-odds")
    dots, bars = line_of(figure, "now"), next(one for one in figure.data if one.type == "bar")
    assert np.array_equal(dots.x, term.scores[:, 0])
    assert np.array_equal(dots.error_x.array, 2 * term.standard_errors[:, 0])
    assert np.array_equal(bars.x, term.counts)
    assert dots.y == bars.y
    order = order_levels(term)
    assert order[:2] == [43, 42]  # missing and other are apart, beneath
    assert np.all(np.diff(term.scores[order[2:], 0]) >= 0)
    heights = np.array(dots.y)[order]
    assert np.all(np.diff(heights) >= 1)
    assert heights[2] - heights[1] > 1
    assert figure.layout.height > 18 * 44
    axis = figure.layout.yaxis
    assert len(set(axis.ticktext)) == 44
    assert max(len(html.unescape(text)) for text in axis.ticktext) <= 22
    assert "Trinadad&amp;Tobago" in axis.ticktext


def test_levels_that_start_alike_stay_different():
    levels = [f"a very long name of a level with number {i}" for i in range(60)]
    term = category_term("x", levels, np.zeros(60), np.ones(60))
    whole = explain_global(make_model([term], Category([0, 1]), "logit"))
    labels = draw_shape(whole["x"], ("1",), "log-odds").layout.yaxis.ticktext
    assert len(set(labels)) == 62
    assert max(map(len, labels)) <= 22


@pytest.mark.parametrize("count", [3, 10])
def test_several_classes_have_a_series_each(count):
    whole = explain_global(classes_model(count))
    for term in whole.terms:
        figure = draw_shape(term, whole.outputs, whole.units)
        looks = set()
        for k, output in enumerate(whole.outputs):
            line = line_of(figure, output)
            if term.kind == "number":
                assert np.array_equal(line.y[:-1], term.scores[:-1, k])
                looks.add((line.line.color, line.line.dash))
            else:
                assert np.array_equal(line.x, term.scores[:, k])
                looks.add((line.marker.color, line.marker.symbol))
        assert len(looks) == count
        assert figure.layout.showlegend
    drawn = draw_shape(whole["age"], whole.outputs, "").to_plotly_json()["data"]
    bands = [one for one in drawn if one.get("fill")]
    assert len(bands) == (3 if count == 3 else 0)


def test_an_edited_term_shows_what_was_trained():
    model = census_model()
    whole = explain_global(model)
    was = model.original["capital-gain"].scores[:, 0]
    line = line_of(draw_shape(whole["capital-gain"], (">50K",), "log-odds"), "as trained")
    assert line.line.dash == "dot"
    assert np.array_equal(line.y[:-1], was[:-1])
    dots = line_of(draw_shape(whole["native-country"], (">50K",), "log-odds"), "as trained")
    assert sorted(dots.x) == sorted(model.original["native-country"].scores[[1, 13], 0])
    untouched = draw_shape(whole["age"], (">50K",), "log-odds")
    assert all(one.name != "as trained" for one in untouched.data)


# -- importance and waterfall -------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 10])
def test_importance_bars_are_ordered_and_stacked(count):
    whole = explain_global(classes_model(count))
    figure = draw_importance(whole)
    bars = [one for one in figure.data if one.type == "bar"]
    assert len(bars) == count
    for k, bar in enumerate(bars):
        assert list(bar.x) == [term.importance[k] for term in whole.ranked]
    assert figure.layout.barmode == "stack"
    noise = line_of(figure, "noise alone")
    assert list(noise.x) == [term.null_importance.sum() for term in whole.ranked]


def test_a_waterfall_goes_from_the_base_value_to_the_score():
    told = explain_local(census_model(), CENSUS_ROWS)
    for row in range(4):
        steps = find_steps(told, row, 0)
        assert len(steps) == MOST_BARS + 1
        level = told.base_values[0]
        for step in steps:
            assert step.start == pytest.approx(level)
            level += step.size
        assert level == pytest.approx(told.scores[row, 0])
        sizes = [abs(step.size) for step in steps[:-1]]
        assert sizes == sorted(sizes, reverse=True)
        figure = draw_waterfall(told, row)
        bars, ends = figure.data[0], figure.data[1]
        assert list(bars.x) == [step.size for step in steps]
        assert list(bars.base) == [step.start for step in steps]
        assert list(bars.error_x.array) == [2 * step.standard_error for step in steps]
        assert list(ends.x) == [told.base_values[0], told.scores[row, 0]]
        assert "2 other features" in figure.layout.yaxis.ticktext[-2]
    assert any("age = 120 → 90" in text for text in draw_waterfall(told, 3).layout.yaxis.ticktext)


def test_a_waterfall_of_several_classes_is_about_the_predicted_one():
    told = local_of(
        classes_model(3),
        **{
            "age": [70],
            "days in hospital": [4],
            "reason for admission as the referring physician wrote it": ["stroke"],
        },
    )
    best = int(np.argmax(told.predictions[0]))
    assert list(draw_waterfall(told, 0).data[1].x)[1] == told.scores[0, best]
    assert list(draw_waterfall(told, 0, 2).data[1].x)[1] == told.scores[0, 2]


# -- pages --------------------------------------------------------------------------------------


def test_a_global_page_has_it_all():
    model = census_model()
    whole = explain_global(model)
    page = global_page.draw_page(whole)
    elements = check_alone(page)
    figures = figures_of(page)
    ranked = [term.name for term in whole.ranked]
    assert list(figures) == ["importance", *(f"term-{i}" for i in range(14)), "budget"]
    titles = re.findall(r"<h3>(.*?)</h3>", page)
    assert titles == ranked
    traces, _ = figures[f"term-{ranked.index('age')}"]
    line = next(one for one in traces if one.get("name") == "now")
    assert line["y"][:-1] == whole["age"].scores[:-1, 0].tolist()
    text = " ".join(elements.text)
    for edit in model.edits:
        assert all(word in text for word in (edit.who, edit.when, edit.why, edit.term))
    assert page.index("What matters") < page.index("Each term") < page.index("What people changed")
    assert page.index("What people changed") < page.index("What it cost")
    assert "Receipt for an additive model" in text
    assert "What this does not protect" in text
    assert "costs nothing" in text
    assert not re.search(r"\d\.\d{9,}", text)


def test_a_local_page_has_it_all():
    told = explain_local(census_model(), CENSUS_ROWS)
    page = local_page.draw_page(told)
    elements = check_alone(page)
    assert list(figures_of(page)) == [*(f"row-{i}" for i in range(4)), "budget"]
    text = " ".join(elements.text)
    assert "Row 1 of 4: '<=50K' with probability 74 % (noise alone: 68 % to 79 %)" in text
    assert "Outlying-US(Guam-USVI-etc)" in text
    assert "taken to be independent" in text
    assert "Receipt for an additive model" in text


def test_a_local_page_stops_at_twenty_rows():
    rows = {name: (values * 6)[:23] for name, values in CENSUS_ROWS.items()}
    page = local_page.draw_page(explain_local(census_model(), rows))
    assert len(figures_of(page)) == 21
    assert "first 20 of 23 rows" in page


def test_pages_are_the_same_each_time(tmp_path):
    whole = explain_global(price_model())
    one, other = whole.to_html(tmp_path / "a.html"), whole.to_html(str(tmp_path / "b.html"))
    assert one.read_bytes() == other.read_bytes()


def evil_model():
    terms = [
        category_term(EVIL, [EVIL, WORSE], [0.5, -0.5], [100, 200]),
        number_term(WORSE, [1, 2], 0, 3, lambda x: x - 1),
    ]
    model = make_model(terms, Category([WORSE, EVIL]), "logit", unit=EVIL)
    flat = replace(model.terms[1], scores=0 * model.terms[1].scores)
    edit = Edit(EVIL, WORSE, {EVIL: WORSE}, EVIL, WORSE, EVIL)
    receipt = make_receipt(unit=EVIL, labels=(EVIL, WORSE, "scores"))
    return replace(model.with_term(flat), original=model, edits=(edit,), receipt=receipt)


def test_names_are_shown_and_never_run():
    model = evil_model()
    told = local_of(model, **{EVIL: [EVIL, WORSE, WORSE * 2], WORSE: [1, EVIL, None]})
    for page in (global_page.draw_page(explain_global(model)), local_page.draw_page(told)):
        elements = check_alone(page)
        assert not elements.all("img")
        assert EVIL not in page
        text = " ".join(elements.text)
        assert EVIL in text
        assert WORSE in text
        for traces, layout in figures_of(page).values():
            drawn = json.dumps([traces, layout])
            assert "<script" not in drawn
            assert "<img" not in drawn
            assert "hovertemplate" not in json.dumps(traces)  # it would read %{x} in a name
    framed = explain_global(model)._repr_html_()
    elements = Elements(framed)
    assert [tag for tag, _ in elements.found] == ["iframe"]
    assert elements.found[0][1]["srcdoc"] == global_page.draw_page(explain_global(model))


def test_names_of_a_summary_are_never_run():
    summary = Summary(
        100.0,
        2.0,
        (
            NumberSummary(EVIL, 0, 1, (0, 0.5, 1), (40, 60), (2, 2), 0, (0.2, 0.5, 0.7), False),
            CategorySummary(
                "c", (EVIL, "2024-01-01", "(other)", "(missing)"), (1, 2, 3, 4), 2, True
            ),
        ),
        make_receipt(unit=EVIL),
    )
    page = summary_page.draw_page(summary)
    check_alone(page)
    assert EVIL not in page
    for drawn in figures_of(page).values():
        assert "<script" not in json.dumps(drawn)
    traces, _ = figures_of(page)["column-1"]
    assert traces[0]["y"] == [0, 1, 2, 3]  # not read as dates


def one_term(rows, **settings):
    return make_model(
        [number_term("x", [], 0, 1, lambda x: 0.5, rows=rows, **settings)],
        Category(["no", "yes"]),
        "logit",
    )


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(one_term([100]), id="one term of one bin"),
        pytest.param(one_term([0]), id="no rows"),
        pytest.param(one_term([0], missing=0.3), id="all missing"),
        pytest.param(one_term([100], error=0.0), id="no noise"),
        pytest.param(one_term([100], error=math.inf), id="unknown noise"),
        pytest.param(
            make_model([category_term("x", [], np.zeros((0, 1)), [])], Number(0, 1), "identity"),
            id="no levels",
        ),
        pytest.param(
            make_model([category_term("x", ["a"], [0.0], [0])], Number(0, 1), "identity"),
            id="nothing at all",
        ),
        pytest.param(
            make_model([number_term("x", [0.0, 1.0], 0, 1, lambda x: x)], Number(0, 1), "identity"),
            id="bins without width",
        ),
    ],
)
def test_unusual_models_have_pages(model):
    whole, told = explain_global(model), local_of(model, x=[None])
    for page in (global_page.draw_page(whole), local_page.draw_page(told)):
        check_alone(page)
        assert "NaN" not in json.dumps(list(figures_of(page).values()))
    assert "x" in str(whole)
    assert "(missing)" in str(told)


def test_without_a_guarantee_the_page_says_so():
    for model in (one_term([100]), price_model(math.inf)):
        model = replace(model, receipt=make_receipt(math.inf))
        page = global_page.draw_page(explain_global(model))
        assert "No guarantee: at least one access to the rows had no noise." in page
        assert "budget" not in figures_of(page)
        check_alone(page)


def test_the_budget_bar_shows_the_shares():
    receipt = make_receipt()
    assert [trace.x[0] for trace in draw_budget(split_budget(receipt)).data] == pytest.approx(
        [5, 25, 70]
    )
    assert [part.told for part in split_budget(receipt)] == [
        "row count (5 %)",
        "bins (25 %)",
        "scores (70 %)",
    ]


def test_an_empty_explanation_has_a_page():
    rows = {name: [] for name in CENSUS_ROWS}
    check_alone(local_page.draw_page(explain_local(census_model(), rows)))


def test_what_cannot_be_drawn_is_said(tmp_path):
    with pytest.raises(SettingError, match="Summary"):
        write_page(object(), tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()
    with pytest.raises(SettingError, match="print"):
        print_record(object())


def test_a_page_of_single_rows_says_that_it_holds_them():
    model, said = census_model(), "This page holds the rows that were asked about"
    assert said in local_page.draw_page(explain_local(model, CENSUS_ROWS))
    assert said not in global_page.draw_page(explain_global(model))
