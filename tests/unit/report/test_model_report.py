"""A report of every kind of model is one page that shows the model's own facts, and all names."""

import html
import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from drawn_figures import without_figures
from explained_models import (
    CENSUS_ROWS,
    category_term,
    census_model,
    classes_model,
    make_model,
    number_term,
    price_model,
)
from linear_map_models import WARD_ROWS, picture_linear_maps, ward_model
from markupsafe import escape
from prototype_models import MIXED_ROWS, TUMOUR_ROWS, mixed_model, picture_model, tumour_model
from test_report_pages import Elements, check_figures, check_scripts, figures_of

import voile
from voile import Budget, EBMClassifier, Ledger, Schema
from voile.errors import SettingError
from voile.models.ebm.model import EBMModel
from voile.models.history import Edit
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.lvq.estimator import BY_KIND
from voile.privacy.accounting import compose
from voile.privacy.events import Gaussian, Plan, Step
from voile.privacy.public_rows import encode_public
from voile.report.ebm import model_page as global_page
from voile.report.ebm.chooser import MOST_ROWS, typical_bin
from voile.report.locally_linear import model_page as linear_map_page
from voile.report.lvq import model_page as prototype_page
from voile.report.model.ledger import MOST_PARTS
from voile.report.model.report import draw_report
from voile.report.quality import evaluation
from voile.schema import Category, Number, Unit

EVIL = "<script>alert(1)</script>"
WORSE = "</script><!-- <img src=x onerror=alert(2)> & \"q\" 'q' \u2028 \u2029 $x^2$"


def fitted(model):
    """An estimator that holds a model made by hand."""
    if isinstance(model, EBMModel):
        kind = voile.EBMRegressor if model.link == "identity" else voile.EBMClassifier
        return kind._from_model(model)
    if isinstance(model, LocallyLinearModel):
        return voile.LocallyLinearClassifier._from_model(model)
    return BY_KIND[model.kind]._from_model(model)


def hostile_model():
    """Names, levels and classes that would run, end a script or break a line."""
    terms = [
        number_term(EVIL, [1, 2], 0, 3, lambda a: a),
        category_term(WORSE, [EVIL, WORSE, "#222"], [0.1, 0.2, -0.4], [5, 6, 7]),
    ]
    edit = Edit("set", EVIL, {"value": WORSE}, WORSE, EVIL, "2026-02-01")
    return make_model(terms, Category([EVIL, WORSE]), "logit", unit=EVIL, edits=(edit,))


def text_of(page):
    """Text outside scripts; the parser forgets that it was in an element after a child's end."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", without_figures(page), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", bare)).split())


def data_of(page):
    found = re.search(r'<script type="application/json" id="model-data">(.*?)</script>', page)
    return json.loads(found.group(1))


def titles_of(page):
    return [html.unescape(one) for one in re.findall(r"<h2 id=[^>]*>(.*?)</h2>", page)]


def check_report(page):
    """One page: every link within it, nothing from elsewhere, sound order of headings."""
    elements = Elements(page)
    names = [one["id"] for _, one in elements.found if "id" in one]
    assert len(set(names)) == len(names)
    for tag, attributes in elements.found:
        assert not {"srcset", "data", "action", "formaction"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        if "href" in attributes:
            assert tag == "a"
            assert attributes["href"].removeprefix("#") in names
            assert attributes["href"].startswith("#")
        if "src" in attributes:
            assert tag == "img"
            assert attributes["src"].startswith("data:image/png;base64,")
            assert attributes["alt"]
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert attributes.get(name, names[0]) in names
    assert not re.search(r"https?:|@import|url\((?!#p\d\))", page)
    assert elements.all("html")[0]["lang"] == "en"
    assert any("default-src 'none'" in one.get("content", "") for one in elements.all("meta"))
    levels = [int(tag[1]) for tag, _ in elements.found if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert len(elements.all("main")) == len(elements.all("nav")) == 1
    check_scripts(page, count=page.count("<script>"))
    check_figures(elements, page)
    controls = elements.all("select") + elements.all("input")
    labels = {one.get("for") for one in elements.all("label")}
    assert all(one["id"] in labels or one.get("aria-label") for one in controls)
    for box in elements.all("pre"):
        assert box["tabindex"] == "0"
    return elements


CASES = [
    pytest.param(census_model(), CENSUS_ROWS, id="two classes"),
    pytest.param(classes_model(), None, id="several classes"),
    pytest.param(price_model(), None, id="regression"),
    pytest.param(tumour_model(), TUMOUR_ROWS, id="prototypes"),
    pytest.param(mixed_model(), None, id="mixed prototypes"),
    pytest.param(mixed_model(), MIXED_ROWS, id="mixed prototypes, rows"),
    pytest.param(replace(tumour_model(), kind="lvq1"), None, id="lvq1"),
    pytest.param(picture_model(), None, id="prototype pictures"),
    pytest.param(ward_model(), None, id="linear maps"),
    pytest.param(ward_model(), WARD_ROWS, id="linear maps, rows"),
    pytest.param(picture_linear_maps((6, 5)), None, id="linear map pictures"),
    pytest.param(picture_linear_maps((6, 5, 3)), None, id="coloured pictures"),
]


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_every_kind_of_model_has_a_report(model, rows, tmp_path):
    estimator = fitted(model)
    path = estimator.report(tmp_path / "report.html", rows=rows)
    page = path.read_text(encoding="utf-8")
    assert page == draw_report(estimator, rows=rows)
    check_report(page)
    text, titles = text_of(page), titles_of(page)
    assert titles[0] == "What this model is"
    assert titles[-2:] == ["What this does not protect", "Versions, and how to make this again"]
    assert titles.index("Why a row gets its answer") < titles.index("What it cost")
    assert "How good it is" not in titles
    for word in ("Receipt for", "Facts about groups", "Being wrong", "Names and kinds"):
        assert word in text
    assert escape(str(model.receipt)) in page
    assert voile.__version__ in text
    assert ("as they are: nothing hides them" in text) == (rows is not None)
    assert "2.7 times as likely" in text


def test_a_saved_model_has_the_same_report(tmp_path):
    for i, model in enumerate((census_model(), tumour_model(), ward_model())):
        estimator = fitted(model)
        again = voile.load(estimator.save(tmp_path / f"{i}.json"))
        assert draw_report(again) == draw_report(estimator)


def test_the_parts_are_those_of_the_pages():
    model = census_model()
    whole = fitted(model).explain_global()
    page = draw_report(fitted(model))
    own = figures_of(global_page.draw_page(whole))
    found = figures_of(page)
    assert {name: found[name] for name in own} == own
    bank = fitted(ward_model())
    for name, drawn in figures_of(linear_map_page.draw_page(bank.explain_global())).items():
        assert figures_of(draw_report(bank))[name] == drawn
    points = fitted(mixed_model())
    for name, drawn in figures_of(prototype_page.draw_page(points.explain_global())).items():
        assert figures_of(draw_report(points))[name] == drawn


def test_the_title_and_the_family_are_told():
    page = draw_report(fitted(price_model()), title="Houses & more")
    assert "<title>Houses &amp; more</title>" in page
    assert "<h1>Houses &amp; more</h1>" in page
    assert "a number, from 0 to 2000000" in text_of(page)
    assert "Report on a model of prototypes" in draw_report(fitted(tumour_model()))


# -- the live form ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [census_model(), classes_model(), price_model()])
def test_the_page_holds_the_whole_model(model):
    data = data_of(draw_report(fitted(model)))
    assert data["link"] == model.link
    assert data["intercept"] == model.intercept.tolist()
    for term, told in zip(model.terms, data["terms"], strict=True):
        assert np.allclose(told["scores"], term.scores, rtol=1e-8, atol=0)
        assert np.allclose(told["errors"], term.standard_errors, rtol=1e-2, atol=0)
        assert told["cuts"] == term.cuts.tolist()
    # A typical value lies in the bin that most rows lie in.
    for term, value in zip(model.terms, data["typical"], strict=True):
        if isinstance(term.column, Category):
            assert value == typical_bin(term)
        else:
            assert term.find_bins(np.array([value], dtype=float)).tolist() == [typical_bin(term)]


def test_rows_of_the_caller_are_offered_as_the_model_reads_them():
    model = census_model()
    data = data_of(draw_report(fitted(model), rows=CENSUS_ROWS))
    columns = encode_public(CENSUS_ROWS, model.schema)
    for i, row in enumerate(data["rows"]):
        for term, value in zip(model.terms, row, strict=True):
            encoded = columns[term.name][i]
            assert (value is None and math.isnan(encoded)) or value == encoded
    many = {name: [values[0]] * (MOST_ROWS + 3) for name, values in CENSUS_ROWS.items()}
    page = draw_report(fitted(model), rows=many)
    assert len(data_of(page)["rows"]) == MOST_ROWS
    assert f"the first {MOST_ROWS} of the {MOST_ROWS + 3} rows" in text_of(page)


def test_unknown_noise_and_missing_typical_values_are_written():
    term = number_term("a", [1], 0, 2, lambda a: a, missing=0.3)
    errors = term.standard_errors.copy()
    errors[0] = math.inf
    counts = np.array([1.0, 2.0, 50.0])
    term = replace(term, standard_errors=errors, counts=counts)
    data = data_of(draw_report(fitted(make_model([term], Number(0, 5), "identity"))))
    assert data["terms"][0]["errors"][0] == [None]
    assert data["typical"] == [None]


# -- hostile names ------------------------------------------------------------------------------


def test_names_are_shown_and_never_run():
    model = hostile_model()
    rows = {EVIL: [1, None], WORSE: [WORSE, "other"]}
    page = draw_report(fitted(model), title=WORSE, rows=rows)
    elements = check_report(page)
    assert not elements.all("img")
    text = text_of(page)
    assert EVIL in text
    assert " ".join(WORSE.split()) in text
    data = data_of(page)
    assert [term["name"] for term in data["terms"]] == [EVIL, WORSE]
    assert data["classes"] == [EVIL, WORSE]
    raw = re.search(r'id="model-data">(.*?)</script>', page).group(1)
    assert not re.search("[<>&\u2028\u2029]", raw)
    assert EVIL not in page.replace(escape(EVIL), "")
    # What runs is what all pages run, and the form.
    check_scripts(page, count=2)


# -- parts --------------------------------------------------------------------------------------


def test_edits_are_told_with_who_when_what_and_why():
    page = draw_report(fitted(census_model()))
    text = text_of(page)
    assert "edited 2 times after training, by people" in text
    for edit in census_model().edits:
        for word in (edit.who, edit.when, edit.term, edit.why):
            assert word in text
    assert "Nothing: the model is as it was trained." in text_of(draw_report(fitted(price_model())))


def spend(ledger, what, sigma=8.0):
    return ledger.spend(Plan((Step("look", Gaussian(1, sigma)),)), what)


def test_a_ledger_is_told_whole():
    ledger = Ledger(Budget(2, 1e-6), dataset=WORSE)
    spend(ledger, EVIL)
    entry = spend(ledger, "the model")
    with ledger.reserve(Plan((Step("look", Gaussian(4, 20.0)),)), "asking") as reservation:
        reservation.charge(Plan((Step("look", Gaussian(1, 20.0)),)), "one question")
    model = census_model()
    model = replace(model, receipt=replace(model.receipt, entry=entry.id))
    page = draw_report(fitted(model), ledger=ledger)
    check_report(page)
    text = text_of(page)
    assert "← this model" in text
    assert "elsewhere" not in text
    assert "3 jobs so far" in text
    for word in ("paid", "set aside", "given back", "one question", EVIL):
        assert word in text
    shares = [trace["x"][0] for trace in figures_of(page)["ledger-bar"][0]]
    assert math.isclose(sum(shares), 100)
    used = 100 * ledger.fraction_spent()
    assert math.isclose(sum(shares[:-1]), used, rel_tol=1e-6)
    assert voile.__version__ in text
    other = Ledger(Budget(2, 1e-6))
    assert "paid for elsewhere" in text_of(draw_report(fitted(model), ledger=other))


def test_long_used_up_and_unlimited_ledgers_are_told():
    ledger = Ledger(Budget(2, 1e-6))
    for i in range(MOST_PARTS + 5):
        spend(ledger, f"job {i}", 40.0)
    page = draw_report(fitted(census_model()), ledger=ledger)
    assert len(figures_of(page)["ledger-bar"][0]) == MOST_PARTS + 1
    assert "6 later jobs" in page
    endless = Ledger(Budget(math.inf, 1e-6))
    spend(endless, "free")
    text = text_of(draw_report(fitted(census_model()), ledger=endless))
    assert "its budget has no end" in text
    assert "without end" in text


def test_the_evaluation_is_drawn_by_its_own_section(monkeypatch):
    monkeypatch.setattr(evaluation, "draw_section", lambda record: escape(f"accuracy {record}"))
    page = draw_report(fitted(census_model()), evaluation=0.87)
    assert titles_of(page)[:3] == ["What this model is", "How good it is", "What matters"]
    assert "accuracy 0.87" in page


def test_a_model_without_a_guarantee_says_so_first():
    page = draw_report(fitted(price_model(math.inf)))
    check_report(page)
    text = text_of(page)
    assert "This model makes no guarantee of privacy" in text
    assert text.index("no guarantee of privacy") < text.index("Contents")
    assert "times as likely" not in text
    assert "budget" not in figures_of(page)


def test_a_unit_is_told_where_it_matters():
    model = price_model()
    assert "A person with ten rows" in text_of(draw_report(fitted(model)))
    schema = model.schema.with_unit(Unit("patient", 3))
    model = replace(model, schema=schema, receipt=replace(model.receipt, unit=str(schema.unit)))
    text = text_of(draw_report(fitted(model)))
    assert "Here the guarantee is for one patient with all rows" in text
    assert "A person with ten rows" not in text
    rows = replace(model, schema=model.schema.with_unit("row"))
    assert "it was said that every row is another person" in text_of(draw_report(fitted(rows)))


def test_what_is_no_model_has_no_report():
    class Odd:
        def explain_global(self):
            return object()

    with pytest.raises(SettingError, match="No report can be drawn of a Odd"):
        draw_report(Odd())


def test_a_report_with_an_estimate_of_quality_guarantees_for_both():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (600, 1)), rng.choice(["no", "yes"], 600)
    schema = Schema({"x0": Number(0, 1)}, target=Category(["no", "yes"]))
    model = EBMClassifier(epsilon=1, schema=schema, rounds=2).fit(X, y)
    quality = model.score_private(X, y, epsilon=0.5)
    looks = [line.event for one in (model.receipt_, quality.receipt) for line in one.lines]
    both = compose(looks).epsilon(1e-6)
    assert 1 < both < 1.5
    with_quality = draw_report(model, evaluation=quality)
    assert f"is protected: ε = {both:.4g} at δ = 1e-06" in with_quality
    assert "estimate of its quality" not in draw_report(model)
    exact = draw_report(model, evaluation=model.score_private(X, y, epsilon=math.inf))
    assert "This report makes no guarantee of privacy" in exact
