"""What pages and terminals say is true: costs together, labels, digits, jobs, scores of classes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from explained_models import (
    category_term,
    census_model,
    classes_model,
    make_model,
    make_receipt,
    number_term,
)
from linear_map_models import linear_map_model, ward_model
from prototype_models import tumour_model
from surrogate_records import census_surrogate
from test_model_report import data_of, fitted, spend, text_of
from test_report_pages import Elements

from voile import Budget, Ledger, Schema
from voile.explain.locally_linear.explain import explain_global as explain_linear_maps
from voile.explain.locally_linear.explain import explain_local as explain_rows
from voile.explain.lvq.explain import explain_global as explain_prototypes
from voile.explain.wording import readable, signed
from voile.explaining import explain_global, explain_local
from voile.models.evaluation import Evaluation, Measure
from voile.planning.forecast import forecast
from voile.privacy.events import Gaussian, Plan, Step
from voile.report.blackbox import surrogate_page
from voile.report.ebm.chooser import typical_bin
from voile.report.kit.budget import split_budget
from voile.report.kit.text import plot_labels, short_names
from voile.report.locally_linear.bars import find_contrast, find_lead
from voile.report.lvq import model_page as prototype_page
from voile.report.model.ledger import draw_ledger, find_jobs
from voile.report.model.report import draw_report
from voile.report.plan import page as forecast_page
from voile.report.plan.page import MOST_KINDS, choose_kinds, draw_noise, group_columns
from voile.report.quality import evaluation as evaluation_page
from voile.schema import Category, Number

# -- costs --------------------------------------------------------------------------------------


def test_small_shares_are_not_told_as_nothing():
    receipt = make_receipt()
    shares = (0.001, 0.998, 0)
    lines = [replace(line, share=share) for line, share in zip(receipt.lines, shares, strict=True)]
    words = [part.told for part in split_budget(replace(receipt, lines=tuple(lines)))]
    assert words == ["row count (under 1 %)", "bins (over 99 %)", "scores (0 %)"]
    ledger = Ledger(Budget(3, 1e-6))
    spend(ledger, "quality", 300.0)
    parts = draw_ledger(ledger, "")
    assert "quality (under 1 %)" in parts
    assert "under 1 % of the budget is used" in parts


def test_a_job_in_steps_is_one_line_with_what_it_took_in_the_end():
    ledger = Ledger(Budget(3, 1e-6))
    spend(ledger, "first", 20.0)
    look = Plan((Step("look", Gaussian(1, 20.0)),))
    with ledger.reserve(Plan((Step("look", Gaussian(4, 20.0)),)), "in steps") as reservation:
        reservation.charge(look, "one")
        paid = reservation.charge(look, "two")
    ledger.reserve(Plan((Step("look", Gaussian(1, 20.0)),)), "still open")
    jobs = find_jobs(ledger.history())
    assert [one.first.what for one in jobs] == ["first", "in steps", "still open"]
    assert [one.state for one in jobs] == ["paid", "paid", "set aside"]
    assert math.isclose(jobs[1].net.loss, 2 * jobs[0].net.loss, rel_tol=1e-6)
    assert math.isclose(sum(one.net.loss for one in jobs), ledger.history()[-1].total.loss)
    whole, folded = draw_ledger(ledger, paid.id).split("<details>")
    assert whole.count("<tr>") == 4
    # The model was paid by a step of the second job.
    assert whole.count("this model") == 1
    assert "All 6 lines" in folded
    assert folded.count("<tr>") == 7


# -- notes --------------------------------------------------------------------------------------

NOTES = ("Training data of the explained model: NO guarantee.", "Know <this>, too.")


def alarm_of(page):
    return page.split('<div class="alarm">')[1].split("</div>")[0]


def test_notes_of_a_receipt_are_seen_first_and_among_the_limits():
    record = census_surrogate()
    record = replace(record, receipt=replace(record.receipt, notes=NOTES))
    page = surrogate_page.draw_page(record)
    assert "NO guarantee" in alarm_of(page)
    assert "Know &lt;this&gt;, too." in alarm_of(page)
    assert page.index('<div class="alarm">') < page.index("How the score of a black box changes")
    assert "NO guarantee" in page.split("What this does not protect")[1]
    assert "What must be known" not in surrogate_page.draw_page(census_surrogate())
    model = census_model()
    page = draw_report(fitted(replace(model, receipt=replace(model.receipt, notes=NOTES))))
    assert "NO guarantee" in alarm_of(page)
    assert page.index('<div class="alarm">') < page.index("Contents</h2>")


def test_a_page_that_holds_rows_says_so_before_the_first_of_them():
    page = surrogate_page.draw_page(census_surrogate())
    assert "the guarantee is for the rows behind the model, not for these" in alarm_of(page)
    assert page.index('<div class="alarm">') < page.index("<h2>")


def test_notes_of_a_receipt_are_printed(capsys):
    record = census_surrogate()
    replace(record, receipt=replace(record.receipt, notes=NOTES)).show()
    assert "NO guarantee" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answered", "told", "untold"),
    [
        (("summary", "summary"), "stand in for the private ones", "the private table's rows"),
        (("offline", "offline"), "nothing was fitted for this row", "the private table's"),
        (("release", "stored"), "the private table's rows nearby,", "stand in"),
        (("interactive", "offline"), "where the budget was gone", "stand in"),
    ],
)
def test_a_page_says_of_which_rows_the_black_box_was_asked(answered, told, untold):
    lead = text_of(surrogate_page.draw_page(census_surrogate(answered=answered)))
    lead = lead[: lead.index("tells what moves it")]
    assert told in lead
    assert untold not in lead


# -- typical rows -------------------------------------------------------------------------------


def with_counts(term, counts):
    return replace(term, counts=np.array(counts, dtype=float))


def test_a_typical_number_is_the_median_and_seldom_missing():
    term = number_term("latitude", [1, 2, 3, 4], 0, 5, lambda a: a)
    # By noise, the fullest bin is a wide one at the end; missing is fuller still.
    assert typical_bin(with_counts(term, [30, 30, 25, 20, 31, 40])) == 2
    assert typical_bin(with_counts(term, [-90, 30, 1, 0, -5, 2])) == 1
    assert typical_bin(with_counts(term, [10, 0, 0, 0, 0, 11])) == 5
    assert typical_bin(with_counts(term, [0, 0, 0, 0, 0, 0])) == 2
    level = category_term("ward", ["a", "b"], [0, 1], [1, 2])
    assert typical_bin(with_counts(level, [3, 4, 0, 6])) == 1
    assert typical_bin(with_counts(level, [3, 4, 9, 0])) == 1
    assert typical_bin(with_counts(level, [3, 4, 0, 8])) == 3


def test_a_typical_value_is_where_the_rows_are_in_a_wide_bin():
    term = number_term("longitude", [-122, -118], -128, -64, lambda a: a)
    term = with_counts(term, [10, 10, 22, 0])
    model = make_model([term], Number(0, 5), "identity")
    value = data_of(draw_report(fitted(model)))["typical"][0]
    assert -118 <= value < -115


# -- scores of classes --------------------------------------------------------------------------


def test_the_score_of_one_of_several_classes_is_not_called_log_odds(capsys):
    model = classes_model(3)
    rows = {name: [None] for name in model.schema}
    whole, told = explain_global(model), explain_local(model, rows)
    assert (
        whole.units == told.units == explain_linear_maps(ward_model()).units == "score of a class"
    )
    said = (
        "what two scores differ by is the log-odds of the one class against the other",
        "log-odds of the one class",
    )
    for text in (str(whole), str(told), text_of(draw_report(fitted(model)))):
        flat = " ".join(text.split())
        assert said[0] in flat
        assert flat.count("log-odds") == 1
    # The difference of two scores is what the sentence says.
    scores, chances = told.scores[0], told.predictions[0]
    odds = chances[0] / (chances[0] + chances[1])
    assert math.isclose(scores[0] - scores[1], math.log(odds / (1 - odds)))
    told.show()
    seen = capsys.readouterr().out
    name = told.outputs[told.told_output(0)]
    assert f"score of '{name}'" in seen
    assert f"score of '{name}'" in str(told)


def test_shapes_of_several_classes_are_told_of_the_class_that_moves_most(capsys):
    model = classes_model(3)
    whole = explain_global(model)
    whole.show()
    lines = capsys.readouterr().out.splitlines()
    for term in whole.ranked:
        spread = np.ptp(term.scores[: term.regular], axis=0)
        name = whole.outputs[int(np.argmax(spread))]
        line = next(one for one in lines if one.startswith(term.name[:12]))
        assert name[:11] in line
        scores = term.scores[: term.regular, int(np.argmax(spread))]
        place = int(scores.argmin())
        error = float(term.standard_errors[place, int(np.argmax(spread))])
        assert f" {signed(readable(float(scores[place]), error))} " in line
    assert any("class whose score the term moves most" in one for one in lines)


# -- labels -------------------------------------------------------------------------------------

LONG = [
    f"concentration of the protein in the {side} ventricle, {when} {what}"
    for side in ("left", "right")
    for when in ("before", "after")
    for what in ("treatment", "surgery", "release")
]
HARD = [
    LONG,
    ["a" * 40 + str(i) + "b" * 40 for i in range(12)],
    ["same words other order here"[:k] + " " * 3 + "x" * 30 for k in range(5, 20)],
    ["a  b", "a b", "a\tb"],
    ["long name that ends (1)", "long name that ends (2)", "long name that ends (1) "],
    ["x" * 30, "x" * 31, "x" * 32, "short"],
]


@pytest.mark.parametrize("texts", HARD)
@pytest.mark.parametrize("most", [8, 12, 22, 28])
def test_different_names_have_different_labels_that_fit(texts, most):
    for labels in (short_names(texts, most), plot_labels(texts, most)):
        assert len(set(labels)) == len(set(texts))
    assert max(map(len, short_names(texts, most))) <= most


def test_the_same_name_has_the_same_label():
    assert len(set(short_names(["x" * 30, "x" * 30, "y" * 30], 10))) == 2


def test_bars_of_linear_maps_can_be_told_apart():
    model = linear_map_model(
        {name: Number(-1, 1) for name in LONG}, ["benign", "unclear", "malign"]
    )
    bank = explain_linear_maps(model)
    for k in range(3):
        labels = [part.label for part in find_contrast(bank, k)]
        assert len(set(labels)) == len(labels) == 12
    rows = explain_rows(model, {name: [0.5] for name in LONG})
    labels = [part.label for part in find_lead(rows, 0)]
    assert len(set(labels)) == len(labels)


def test_the_map_of_pairs_is_told_in_words():
    whole = explain_prototypes(tumour_model())
    page = prototype_page.draw_page(whole)
    told = next(
        one["aria-label"]
        for one in Elements(page).all("figure")
        if one["aria-label"].startswith("Map of how 4")
    )
    assert "radius with concave points (+0." in told
    assert "A difference counts most in: radius" in told
    assert "to_dict" not in told


# -- digits -------------------------------------------------------------------------------------


def evaluation_of(*measures, receipt=None):
    return Evaluation(
        model="EBMClassifier",
        target="classification",
        rows=800.0,
        confidence=0.95,
        measures=measures or (Measure("accuracy", 0.8, 0.7, 0.9, 0.01),),
        classes=(),
        confusion=(),
        reliability=(),
        groups=(),
        receipt=receipt or make_receipt(),
        entry=make_receipt().entry,
    )


@pytest.mark.parametrize(
    ("figures", "cell"),
    [
        ((0.9258, 0.8988, 0.9528, 0.0135), "0.93 (0.90 to 0.95)"),
        ((0.92581, 0.92441, 0.92723, 1e-4), "0.9258 (0.9244 to 0.9272)"),
        ((58920.3, 57011.0, 60830.0, 311.0), "58,900 (57,000 to 60,800)"),
        ((0.006, 0.0, 0.131, 0.022), "0.01 (0.00 to 0.13)"),
        ((197794.0, 197794.0, 197794.0, 0.0), "197,794"),
        ((-0.001, -3.0, 3.1, 1.0), "0 (-3 to 3)"),
    ],
)
def test_figures_have_the_digits_that_their_interval_leaves(figures, cell):
    page = evaluation_page.draw_page(evaluation_of(Measure("AUROC", *figures)))
    row = page.split("<td>AUROC</td>")[1].split("</tr>")[0]
    assert row.startswith(f"<td>{cell}</td>")


# -- forecasts ----------------------------------------------------------------------------------


def test_a_picture_of_a_plan_shows_both_kinds_of_column_and_how_many_are_left_out():
    # Categories of many levels are the loudest; of few, the number in between is easily lost.
    columns = {f"c{k}": Category([str(i) for i in range(k)]) for k in range(2, 24)}
    columns["age"] = Number(0, 100)
    record = forecast(Schema(columns, target=Category(["no", "yes"])), rows=20_000)
    groups = list(group_columns(record).items())
    assert len(groups) > MOST_KINDS
    chosen = choose_kinds(record)
    names = {name for _, some in chosen for name in some}
    assert "age" in names
    assert any(name.startswith("c") for name in names)
    assert len(chosen) == MOST_KINDS
    noises = sorted(noise for noise, _ in groups)
    assert {noises[0], noises[-1]} <= {noise for noise, _ in chosen}
    assert len(draw_noise(record).data) == MOST_KINDS + 1
    assert f"{MOST_KINDS} of {len(groups)} kinds of columns are shown" in text_of(
        forecast_page.draw_page(record)
    )
    few = forecast(Schema({"a": Number(0, 1)}, target=Category(["no", "yes"])), rows=20_000)
    assert "kinds of columns are shown" not in forecast_page.draw_page(few)
