"""Reports in a real browser: exact, readable by everybody in light and dark, alone, printable."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import playwright.sync_api as playwright
import pytest
from drawn_figures import without_figures
from explained_models import (
    CENSUS_ROWS,
    census_model,
    classes_model,
    make_model,
    number_term,
    price_model,
)
from linear_map_models import WARD_ROWS, picture_linear_maps, ward_model
from prototype_models import MIXED_ROWS, mixed_model, tumour_model, wide_model
from report_visits import QUIET, Visit
from surrogate_records import census_surrogate, review_surrogate
from test_model_report import EVIL, fitted, hostile_model, spend

from needs import find_chromium, needs
from voile import Budget, Ledger
from voile.explaining import explain_local
from voile.privacy.public_rows import encode_public
from voile.report.blackbox import surrogate_page
from voile.report.ebm import rows_page as local_page
from voile.report.model.report import draw_report
from voile.schema import Category

CHROMIUM = find_chromium()
pytestmark = [needs("Chromium"), pytest.mark.slow]

CLASS_ROWS = {
    "age": [25, 110, None, -4, 99.99],
    "days in hospital": [0, 12, 13, None, 5000],
    "reason for admission as the referring physician wrote it": [
        "fracture",
        "other",
        None,
        "a meteorite",
        "stroke",
    ],
}
PRICE_ROWS = {
    "area": [20, 300, None, 111.5, 1e9],
    "built": [1910, 1909.999999, 2030, None, 1985],
    "town": [
        "Town of Saint A0 upon the River",
        "Atlantis",
        None,
        "Town of Saint B27 upon the River",
        "Town of Saint H59 upon the River",
    ],
}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


def ledger_of_two():
    ledger = Ledger(Budget(2, 1e-6), dataset="census")
    spend(ledger, "summary of the columns")
    spend(ledger, "an additive model")
    return ledger


def told_local():
    return local_page.draw_page(explain_local(census_model(), CENSUS_ROWS))


PAGES = {
    "census": lambda: draw_report(
        fitted(census_model()), ledger=ledger_of_two(), rows=CENSUS_ROWS, title="Income"
    ),
    "classes": lambda: draw_report(fitted(classes_model())),
    "prototypes": lambda: draw_report(fitted(tumour_model())),
    "mixed prototypes": lambda: draw_report(fitted(mixed_model()), rows=MIXED_ROWS),
    "linear maps": lambda: draw_report(fitted(ward_model()), rows=WARD_ROWS),
    "linear map pictures": lambda: draw_report(fitted(picture_linear_maps((6, 5)))),
    "local page": told_local,
    "slope page": lambda: surrogate_page.draw_page(census_surrogate()),
    "text page": lambda: surrogate_page.draw_page(review_surrogate()),
}


@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_read_the_page(name, browser, tmp_path):
    with Visit(browser, PAGES[name](), tmp_path) as visit:
        page = visit.page
        light = visit.review("contrast")
        assert light["bad"] == []
        assert light["seen"] > 30
        assert visit.review("names") == []
        figures = page.locator("figure").count()
        assert figures == 0 or light["drawn"] > 5 * min(figures, 2)
        page.emulate_media(color_scheme="dark")
        visit.settle()
        dark = visit.review("contrast")
        assert dark["bad"] == []
        assert (dark["seen"], dark["drawn"]) == (light["seen"], light["drawn"])
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
        page.set_viewport_size({"width": 400, "height": 800})
        visit.settle()
        assert visit.review("overflow") == []
        for one in page.locator("details").all():
            one.evaluate("node => { node.open = true }")
        visit.settle()
        assert visit.review("overflow") == []
        assert visit.review("contrast")["bad"] == []
        visit.check_alone()


@pytest.mark.parametrize("width", [400, 1280])
def test_texts_of_figures_do_not_overlap(width, browser, tmp_path):
    # Bins of very different widths, pairs of many features, and pairs of few.
    cuts = [-122.613, -122.257, -121.836, -118.645, -118.472, -118.223, -117.921]
    place = number_term("longitude", cuts, -128, -64, lambda x: x / 100, missing=0.1)
    ranked = make_model([place], Category(["no", "yes"]), "logit")
    for model in (ranked, price_model(), wide_model(), tumour_model()):
        with Visit(browser, draw_report(fitted(model)), tmp_path) as visit:
            visit.page.set_viewport_size({"width": width, "height": 800})
            visit.settle()
            assert visit.review("overlaps") == []


@pytest.mark.parametrize("width", [400, 1280])
def test_receipts_break_their_lines(width, browser, tmp_path):
    model = census_model()
    note = "Training data of the explained model: NO guarantee. The model shows no receipt. " * 3
    model = replace(model, receipt=replace(model.receipt, notes=(note,)))
    with Visit(browser, without_figures(draw_report(fitted(model))), tmp_path) as visit:
        visit.page.set_viewport_size({"width": width, "height": 800})
        for one in visit.page.locator("details").all():
            one.evaluate("node => { node.open = true }")
        boxes = visit.page.eval_on_selector_all(
            "pre", "all => all.map((one) => [one.scrollWidth, one.clientWidth])"
        )
        assert len(boxes) >= 3
        assert all(inside <= seen for inside, seen in boxes)


def test_a_page_that_cannot_be_read_is_found(browser, tmp_path):
    planted = (
        "<body style='background:#fff'><p style='color:#999'>pale</p><input id=x>"
        "<div style='width:900px'>wide</div><h3>jump</h3><img src='data:,'></body>"
    )
    with Visit(browser, planted, tmp_path) as visit:
        assert any("pale" in one for one in visit.review("contrast")["bad"])
        assert len(visit.review("names")) >= 4
        visit.page.set_viewport_size({"width": 400, "height": 800})
        assert visit.review("overflow")


# -- the form -----------------------------------------------------------------------------------


def fill(page, model, rows, i):
    """Fill the form by hand, as a reader would."""
    for j, term in enumerate(model.terms):
        value = rows[term.name][i]
        if isinstance(term.column, Category):
            levels = [str(one) for one in term.column.levels]
            known = "(missing)" if value is None else "(other)"
            page.select_option(f"#field-{j}", label=value if value in levels else known)
        else:
            page.set_checked(f"#missing-{j}", value is None)
            if value is not None:
                page.fill(f"#field-{j}", repr(value))


def check_answer(page, model, told, i):
    """What the page says is what the model says: to eight digits, its errors to two."""
    answer = page.locator("#answer")
    near = {"rtol": 1e-8, "atol": 1e-7}
    for name, wanted, close in (
        ("scores", told.scores[i], near),
        ("errors", told.score_errors[i], {"rtol": 1e-2}),
        ("predictions", np.atleast_1d(told.predictions[i]), near),
    ):
        assert np.allclose(json.loads(answer.get_attribute(f"data-{name}")), wanted, **close)
    k = told.told_output(i)
    # No more digits than the error allows: 0 ± 0.09, never 9.4e-5 ± 0.09.
    assert not re.search(r"[-+]\S*\de-\d", page.inner_text("#steps"))
    steps = page.eval_on_selector_all("#steps li", "all => all.map((one) => ({...one.dataset}))")
    parts = {int(one["term"]): one for one in steps if "term" in one}
    assert len(parts) == len(model.terms)
    for j in range(len(model.terms)):
        assert np.isclose(float(parts[j]["value"]), told.values[i, j, k], **near)
        assert np.isclose(float(parts[j]["error"]), told.standard_errors[i, j, k], rtol=1e-2)
    sizes = [abs(float(one["value"])) for one in steps[1:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert np.isclose(float(steps[0]["value"]), told.base_values[k], **near)
    assert np.isclose(float(steps[-1]["value"]), told.scores[i, k], **near)
    bars = page.eval_on_selector_all(
        "#steps li[data-term]", "all => all.map((one) => one.querySelector('i').className)"
    )
    assert bars == ["raise" if float(one["value"]) > 0 else "lower" for one in steps[1:-1]]


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        pytest.param(census_model(), CENSUS_ROWS, id="two classes"),
        pytest.param(classes_model(), CLASS_ROWS, id="several classes"),
        pytest.param(price_model(), PRICE_ROWS, id="regression"),
    ],
)
def test_the_form_says_what_the_model_says(model, rows, browser, tmp_path):
    told = explain_local(model, rows)
    columns = encode_public(rows, model.schema)
    assert np.array_equal(told.scores, model.scores(columns))
    text = without_figures(draw_report(fitted(model), rows=rows))
    with Visit(browser, text, tmp_path) as visit:
        page = visit.page
        check_answer(page, model, told, 0)
        for i in range(1, len(told)):
            page.select_option("#row-choice", str(i))
            check_answer(page, model, told, i)
        # By hand: missing values, levels that are not listed, numbers beyond their bounds.
        for i in (2, 3):
            fill(page, model, rows, i)
            check_answer(page, model, told, i)
            assert page.input_value("#row-choice") == ""
        answer = page.locator("#answer")
        assert answer.get_attribute("aria-live") == "polite"
        assert answer.inner_text().startswith("Prediction: ")
        page.click("#typical")
        data = json.loads(page.locator("#model-data").text_content())
        typical = {
            term.name: np.array([np.nan if value is None else value])
            for term, value in zip(model.terms, data["typical"], strict=True)
        }
        scores = json.loads(answer.get_attribute("data-scores"))
        assert np.allclose(scores, model.scores(typical)[0], rtol=1e-8, atol=1e-7)
        visit.check_alone()


def test_values_at_the_borders_of_bins_are_read_as_the_model_reads_them(browser, tmp_path):
    model = price_model()
    with Visit(browser, without_figures(draw_report(fitted(model))), tmp_path) as visit:
        term = model.terms[0]
        borders = [20, *term.cuts[[0, 1, 13, -1]], 300]
        for value in itertools.chain(
            borders, np.nextafter(borders[1:-1], -1e9), [-5, 1e12, 1e-300]
        ):
            visit.page.fill("#field-0", repr(float(value)))
            step = visit.page.locator("#steps li[data-term='0']")
            read = np.clip(np.array([float(value)]), 20, 300)
            wanted = term.scores[term.find_bins(read)[0], 0]
            assert np.isclose(float(step.get_attribute("data-value")), wanted, rtol=1e-8)
        visit.page.fill("#field-0", "")
        assert np.isclose(float(step.get_attribute("data-value")), term.scores[-1, 0], rtol=1e-8)


def test_any_class_can_be_told(browser, tmp_path):
    model = classes_model()
    told = explain_local(model, CLASS_ROWS)
    text = without_figures(draw_report(fitted(model), rows=CLASS_ROWS))
    with Visit(browser, text, tmp_path) as visit:
        for k, name in enumerate(told.outputs):
            visit.page.select_option("#told", str(k))
            last = visit.page.locator("#steps li").last
            assert f"score of '{name}'" in last.inner_text()
            assert np.isclose(float(last.get_attribute("data-value")), told.scores[0, k])
        chances = visit.page.locator("#chances li").all_inner_texts()
        assert len(chances) == len(told.classes)
        assert visit.page.input_value("#row-choice") == "0"


def test_one_explained_row_is_shown_at_a_time(browser, tmp_path):
    with Visit(browser, draw_report(fitted(mixed_model()), rows=MIXED_ROWS), tmp_path) as visit:
        for i in (2, 0, 3):
            visit.page.select_option("#row-choice", str(i))
            shown = visit.page.locator(".told:visible")
            assert shown.count() == 1
            assert shown.locator("h3").first.inner_text().startswith(f"Row {i + 1} of 4")
            # Its figure is as wide as the page, though it was hidden when the page opened.
            wide = shown.locator("figure .plot:visible").first.bounding_box()["width"]
            assert abs(wide - shown.bounding_box()["width"]) < 2
        visit.check_alone()


def test_names_never_run(browser, tmp_path):
    with Visit(browser, draw_report(fitted(hostile_model()), title=EVIL), tmp_path) as visit:
        assert visit.page.locator("h3", has_text=EVIL).count() >= 1
        assert visit.page.locator("#field-1 option").all_inner_texts()[0] == EVIL
        assert visit.page.locator("img").count() == 0
        # A level that looks like a colour keeps its name in the dark.
        visit.page.emulate_media(color_scheme="dark")
        visit.settle()
        assert visit.page.locator(".plot text:visible", has_text="#222").count() == 1
        assert visit.review("contrast")["bad"] == visit.review("names") == []
        visit.check_alone()


# -- figures ------------------------------------------------------------------------------------


def test_pointing_at_a_figure_tells_the_numbers_of_its_table(browser, tmp_path):
    with Visit(browser, draw_report(fitted(census_model())), tmp_path) as visit:
        page = visit.page
        names = [term.name for term in fitted(census_model()).explain_global().ranked]
        figure = page.locator("figure").nth(1 + names.index("age"))
        plot = figure.locator(".plot:visible svg").first
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 80)
        tip = figure.locator(".tip")
        assert tip.is_visible()
        label, *told = tip.inner_text().split("\n")
        table = figure.locator("xpath=following-sibling::details[1]").locator("tr")
        row = next(one for one in table.all() if one.text_content().startswith(label))
        cells = row.locator("td").all_text_contents()
        heads = [one.text_content() for one in table.first.locator("th").all()]
        assert told == [f"{head}: {cell}" for head, cell in zip(heads[1:], cells[1:], strict=True)]
        page.mouse.move(5, 5)
        assert not tip.is_visible()
        # The same by keys, and it is read out.
        figure.focus()
        page.keyboard.press("ArrowRight")
        first = tip.inner_text()
        page.keyboard.press("ArrowRight")
        assert tip.inner_text() != first
        assert page.locator("[role=status].heard").text_content() == tip.inner_text()
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        visit.check_alone()


def test_tapping_a_figure_on_a_phone_tells_what_is_there(browser, tmp_path):
    text = local_page.draw_page(explain_local(census_model(), CENSUS_ROWS))
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
    with Visit(browser, text, tmp_path, **phone) as visit:
        figure = visit.page.locator("figure").first
        plot = figure.locator(".plot:visible svg").first
        box = plot.bounding_box()
        visit.page.touchscreen.tap(box["x"] + 100, box["y"] + 70)
        tip = figure.locator(".tip")
        assert tip.is_visible()
        assert "±" in tip.inner_text()
        place = tip.bounding_box()
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= 390
        assert visit.review("overflow") == []
        visit.check_alone()


def test_figures_are_seen_without_scripts(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(draw_report(fitted(census_model())), encoding="utf-8")
    page = browser.new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    assert page.locator(".plot:visible text").count() > 100
    assert page.locator(".tip").count() == 0
    assert not page.locator("#scheme").is_visible()
    page.close()


# -- keyboard, scheme, print --------------------------------------------------------------------


def test_everything_is_within_reach_of_the_keyboard(browser, tmp_path):
    text = draw_report(fitted(classes_model()), ledger=ledger_of_two(), rows=CLASS_ROWS)
    with Visit(browser, without_figures(text), tmp_path) as visit:
        page = visit.page
        count = visit.review("reachable")
        seen = set()
        for _ in range(count):
            page.keyboard.press("Tab")
            found = page.evaluate(
                """() => {
                  const one = document.activeElement, style = getComputedStyle(one);
                  const box = one.getBoundingClientRect();
                  window.order = window.order || new Map();
                  if (!order.has(one)) order.set(one, order.size);
                  return { place: order.get(one), tag: one.tagName, left: box.left,
                    line: style.outlineStyle, width: parseFloat(style.outlineWidth) };
                }"""
            )
            assert found["tag"] != "BODY"
            assert found["line"] != "none", found
            assert found["width"] >= 2, found
            assert found["left"] >= 0, found
            seen.add(found["place"])
        assert len(seen) == count
        # The first is the link that skips to the content.
        page.reload()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#content"
        # The form works by keys alone.
        page.focus("#typical")
        page.keyboard.press("Enter")
        page.focus("#missing-0")
        page.keyboard.press("Space")
        assert page.locator("#field-0").is_disabled()
        assert "age = (missing)" in page.locator("#steps").inner_text()


def test_the_reader_can_choose_light_or_dark(browser, tmp_path):
    rows = {name: values[:1] for name, values in CENSUS_ROWS.items()}
    text = local_page.draw_page(explain_local(census_model(), rows))
    with Visit(browser, text, tmp_path, color_scheme="dark") as visit:
        paper = "getComputedStyle(document.body).backgroundColor"
        letters = "getComputedStyle(document.querySelector('.plot text')).fill"
        looks = []
        for _ in range(4):
            visit.settle()
            looks.append((visit.page.evaluate(paper), visit.page.evaluate(letters)))
            visit.page.click("#scheme")
        dark = ("rgb(20, 23, 28)", "rgb(232, 234, 237)")
        light = ("rgb(255, 255, 255)", "rgb(34, 34, 34)")
        assert looks == [dark, light, dark, dark]
        visit.check_alone()


def test_print_is_light_and_nothing_is_cut_off(browser, tmp_path):
    text = draw_report(fitted(classes_model()), ledger=ledger_of_two())
    with Visit(browser, text, tmp_path, color_scheme="dark") as visit:
        page = visit.page
        assert page.pdf(format="A4").startswith(b"%PDF")
        visit.settle()
        assert visit.review("contrast")["bad"] == []
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 695, "height": 1000})  # A4 less its margins
        visit.settle()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        found = visit.review("contrast")
        assert found["bad"] == []
        assert found["drawn"] > 60
        assert visit.review("overflow") == []
        assert page.locator("nav").is_hidden()
        page.emulate_media(media="screen", color_scheme="dark")
        visit.settle()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
        assert visit.review("contrast")["bad"] == []
        visit.check_alone()
