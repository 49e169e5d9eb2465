"""Pairs of columns in a real browser: the form answers as the model does, maps can be read."""

import json
from dataclasses import replace

import numpy as np
import playwright.sync_api as playwright
import pytest
from drawn_figures import without_figures
from paired_models import ward_pairs
from report_visits import QUIET, Visit
from test_model_report import fitted

from needs import find_chromium, needs
from voile.explaining import explain_local
from voile.privacy.public_rows import encode_public
from voile.report.model.report import draw_report
from voile.schema import Category, Date

CHROMIUM = find_chromium()
pytestmark = [needs("Chromium"), pytest.mark.slow]

# Fills the whole form at once, tells it so, and says what it answers.
FILL = """values => {
  values.forEach(({ label, missing, text }, i) => {
    const field = document.getElementById("field-" + i);
    if (label !== undefined) {
      field.value = [...field.options].find((one) => one.textContent === label).value;
    } else {
      document.getElementById("missing-" + i).checked = missing;
      field.disabled = missing;
      field.value = missing ? "" : text;
    }
  });
  document.getElementById("row-form").dispatchEvent(new Event("input"));
  const told = document.getElementById("answer").dataset;
  const steps = [...document.querySelectorAll("#steps li")];
  return { scores: JSON.parse(told.scores), errors: JSON.parse(told.errors),
    predictions: JSON.parse(told.predictions), text: steps.map((one) => one.textContent),
    steps: steps.map((one) => [one.dataset.term ?? "", Number(one.dataset.value)]) };
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


def draw_settings(model, generator):
    """A random row: as the model is given it, and as the form is filled in."""
    row, filled = {}, []
    for term in model.terms:
        column = term.column
        if isinstance(column, Category):
            labels = [*map(str, column.levels), "(other)", "(missing)"]
            label = labels[generator.integers(len(labels))]
            row[term.name] = {"(other)": "unheard of", "(missing)": None}.get(label, label)
            filled.append({"label": label})
        elif generator.random() < 0.15:
            row[term.name] = None
            filled.append({"missing": True, "text": ""})
        elif isinstance(column, Date):
            days = int(generator.integers(-20, 230))
            row[term.name] = str(np.datetime64("1970-01-01") + days)
            filled.append({"missing": False, "text": row[term.name]})
        else:
            # Borders of both the term and the pair are among them, and values beyond the bounds.
            known = [18.0, 30.0, 45.5, 60.0, 75.0, 100.0, 9.0, 300.0]
            drawn = float(generator.uniform(15, 105))
            value = known[generator.integers(8)] if generator.random() < 0.4 else drawn
            row[term.name] = value
            filled.append({"missing": False, "text": repr(value)})
    return row, filled


@pytest.mark.parametrize(("outputs", "link"), [(1, "logit"), (3, "softmax"), (1, "identity")])
def test_the_form_counts_pairs_as_the_model_does(outputs, link, browser, tmp_path):
    model = ward_pairs(outputs, link)
    generator = np.random.default_rng(5)
    drawn = [draw_settings(model, generator) for _ in range(250)]
    rows = {name: [row[name] for row, _ in drawn] for name in drawn[0][0]}
    columns = encode_public(rows, model.schema)
    scores, parts = model.scores(columns), model.contributions(columns)
    answers = model.respond(scores).reshape(len(drawn), -1)
    # Every part of every pair is met: those for what is missing or not listed, too.
    for pair in model.pairs:
        cells = pair.find_cells(*(columns[name] for name in pair.columns))
        assert len(set(zip(*map(np.ndarray.tolist, cells), strict=True))) == pair.counts.size
    near = {"rtol": 1e-8, "atol": 1e-7}
    with Visit(browser, without_figures(draw_report(fitted(model))), tmp_path) as visit:
        for i, (_, filled) in enumerate(drawn):
            told = visit.page.evaluate(FILL, filled)
            assert np.allclose(told["scores"], scores[i], **near)
            assert np.allclose(told["predictions"], answers[i], **near)
            own = model.whole_intercept_errors
            squares = (model.intercept_errors if own is None else own) ** 2
            for term in model.terms:
                squares = (
                    squares + term.errors[term.find_bins(columns[term.name][i : i + 1])[0]] ** 2
                )
            for pair in model.pairs:
                cell = pair.find_cells(*(columns[name][i : i + 1] for name in pair.columns))
                squares = squares + pair.errors[cell][0] ** 2
            assert np.allclose(told["errors"], np.sqrt(squares), rtol=1e-2)
            k = int(np.argmax(answers[i])) if link == "softmax" else 0
            steps = {int(place): value for place, value in told["steps"] if place}
            assert sorted(steps) == list(range(len(model.parts)))
            wanted = parts[i, :, k]
            assert np.allclose([steps[j] for j in range(len(wanted))], wanted, **near)
        visit.check_alone()


def test_steps_of_pairs_name_both_values(browser, tmp_path):
    model = ward_pairs()
    rows = {"age": [71], "ward": ["B"], "admitted": ["1970-02-01"], "shift": [None]}
    with Visit(browser, draw_report(fitted(model), rows=rows), tmp_path) as visit:
        text = visit.page.locator("#steps").inner_text()
        for words in (
            "age & ward = 71 & B",
            "admitted & age = 1970-02-01 & 71",
            "ward & shift = B & (missing)",
        ):
            assert words in text
        answer = json.loads(visit.page.locator("#answer").get_attribute("data-scores"))
        assert np.allclose(answer, explain_local(model, rows).scores[0], atol=1e-7)
        visit.check_alone()


def every_cell_has_rows(model):
    """With parts apart on both sides, few rows in one cell, and a cell that may be nothing."""
    pairs = []
    for pair in model.pairs:
        counts, errors = np.full(pair.counts.shape, 150.0), pair.whole_errors.copy()
        counts[0, 0], errors[1, 0] = 0.0, 3.0
        pairs.append(replace(pair, counts=counts, whole_errors=errors))
    return replace(model, pairs=tuple(pairs))


@pytest.mark.parametrize("outputs", [1, 3])
def test_everybody_can_read_maps(outputs, browser, tmp_path):
    model = every_cell_has_rows(ward_pairs(outputs, "logit" if outputs == 1 else "softmax"))
    with Visit(browser, draw_report(fitted(model)), tmp_path) as visit:
        page = visit.page
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                visit.settle()
                assert visit.review("contrast")["bad"] == []
                assert visit.review("overflow") == []
                assert visit.review("overlaps") == []
        assert visit.review("names") == []
        # What is hatched is hatched in the colour of the page.
        lines = "getComputedStyle(document.querySelector('.patterns path')).stroke"
        assert page.evaluate(lines) == page.evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        visit.check_alone()


def test_zero_is_the_colour_of_the_page(browser, tmp_path):
    model = ward_pairs()
    pair = model.pairs[0]
    scores = np.full(pair.scores.shape, 1e-3)
    scores[0, 0], scores[1, 1] = 1.0, -1.0
    model = replace(model, pairs=(replace(pair, scores=scores, whole_errors=scores * 0 + 1e-5),))
    with Visit(browser, draw_report(fitted(model)), tmp_path) as visit:
        page = visit.page
        figure = page.locator("figure[aria-label^='Map of age & ward']")
        colours = {}
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            visit.settle()
            colours[scheme] = figure.evaluate(
                """one => [...one.querySelectorAll(".plot .in path.f")].map((path) =>
                  [getComputedStyle(path).fill, Number(getComputedStyle(path).opacity)])"""
            )
        # Orange and blue of the page, as strong as the score; what is nearly zero is hardly seen.
        assert sorted(opacity for _, opacity in colours["light"])[-2:] == [1, 1]
        assert min(opacity for _, opacity in colours["light"]) < 0.05
        strong = {
            tuple(fill for fill, opacity in found if opacity == 1) for found in colours.values()
        }
        assert len(strong) == 2


def test_pointing_at_any_place_of_a_cell_tells_that_cell(browser, tmp_path):
    # A wide cell beside narrow ones: near its border, their middles are nearer than its own.
    model = ward_pairs()
    with Visit(browser, draw_report(fitted(model)), tmp_path) as visit:
        page = visit.page
        figure = page.locator("figure[aria-label^='Map of age & ward']")
        plot = figure.locator(".plot:visible svg.in").first
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        tip = figure.locator(".tip")
        edges = np.array([18, 45.5, 60, 100])
        for age in (19, 45, 46, 59, 61, 62, 99):
            place = (age - 18) / 82
            for i, ward in enumerate(("A, E", "B, C", "D")):
                for part in (0.1, 0.9):
                    page.mouse.move(
                        box["x"] + place * box["width"], box["y"] + (i + part) / 3 * box["height"]
                    )
                    label = model.pairs[0].first.labels[np.searchsorted(edges, age) - 1]
                    assert tip.inner_text().split("\n")[0] == f"{label} & {ward}"
        visit.check_alone()
