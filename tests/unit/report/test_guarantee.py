"""The one guarantee on top of a report: its unit, its figure, its parts, and what it leaves out."""

import math
from dataclasses import replace

import pytest
from explained_models import census_model, make_receipt
from test_model_report import fitted, spend, text_of

from voile import Budget, Ledger
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Threshold
from voile.privacy.gaussian_dp import mu_of
from voile.privacy.receipt import ReceiptLine
from voile.report.model.guarantee import draw_guarantee, find_cost
from voile.report.model.report import draw_report


def receipt_of(*events, delta=1e-6, **changed):
    """A receipt whose epsilon is that of its accesses."""
    lines = tuple(ReceiptLine(f"look {i}", event, 1, 0.5) for i, event in enumerate(events))
    epsilon = compose(events).epsilon(delta)
    return replace(make_receipt(), lines=lines, epsilon=epsilon, delta=delta, **changed)


def told(*arguments, **settings):
    return text_of(str(draw_guarantee(*arguments, **settings)))


def test_two_jobs_together_cost_what_their_accesses_cost_together():
    model, quality = receipt_of(Gaussian(1, 5.0), delta=9e-7), receipt_of(Gaussian(1, 15.0))
    both = compose([Gaussian(1, 5.0), Gaussian(1, 15.0)])
    whole = find_cost(model, quality, None)
    assert whole.epsilon == both.epsilon(1e-6)
    assert whole.delta == 1e-6
    assert whole.epsilon < model.epsilon + quality.epsilon
    assert [one.share for one in whole.parts] == pytest.approx([0.9, 0.1])
    # Parts are told for the delta of the whole, which is not that of the model.
    assert whole.parts[0].epsilon == compose([Gaussian(1, 5.0)]).epsilon(1e-6) < model.epsilon
    assert f"ε = {both.epsilon(1e-6):.4g} at δ = 1e-06." in told(model, quality)


def test_a_report_has_one_figure_and_it_is_that_of_the_ledger():
    ledger = Ledger(Budget(3, 1e-6), dataset="census")
    paid = spend(ledger, "model", 5.0)
    measured = spend(ledger, "quality", 15.0)
    spend(ledger, "summary", 6.0)
    spend(ledger, "explanations", 8.0)
    model = census_model()
    receipt = receipt_of(Gaussian(1, 5.0), delta=9e-7, entry=paid.id)
    quality = receipt_of(Gaussian(1, 15.0), delta=9e-7, entry=measured.id)
    whole = find_cost(receipt, quality, ledger)
    assert whole.epsilon == ledger.spent().epsilon
    assert [one.name for one in whole.parts] == [
        "this model",
        "estimate of its quality",
        "2 other jobs",
    ]
    assert math.fsum(one.share for one in whole.parts) == pytest.approx(ledger.fraction_spent())
    page = draw_report(fitted(replace(model, receipt=receipt)), ledger=ledger)
    before_contents = text_of(page).split("Contents")[0]
    assert f"ε = {ledger.spent().epsilon:.4g} at δ = 1e-06" in before_contents
    assert "everything made of this data so far" in before_contents
    assert "of 3" in before_contents


def test_a_model_that_another_ledger_paid_for_is_told_alone():
    ledger = Ledger(Budget(3, 1e-6))
    spend(ledger, "something else", 5.0)
    receipt = receipt_of(Gaussian(1, 15.0))
    whole = find_cost(receipt, None, ledger)
    assert (whole.epsilon, whole.delta) == (receipt.epsilon, receipt.delta)
    assert "not counted here" in told(receipt, None, ledger)


def test_an_estimate_that_the_ledger_does_not_hold_is_said_to_be_left_out():
    ledger = Ledger(Budget(3, 1e-6))
    paid = spend(ledger, "model", 5.0)
    receipt, quality = receipt_of(Gaussian(1, 5.0), entry=paid.id), receipt_of(Gaussian(1, 15.0))
    assert "paid for elsewhere, and is not counted" in told(receipt, quality, ledger)


def test_a_first_job_that_used_up_the_budget_costs_all_of_it():
    ledger = Ledger(Budget(1, 1e-6))
    # More than the filter allows, and within the budget by exact accounting.
    sigma = (1 + 1e-9) / mu_of(1.0, 1e-6)
    paid = spend(ledger, "model", sigma)
    assert paid.alone
    whole = find_cost(receipt_of(Gaussian(1, sigma), entry=paid.id), None, ledger)
    assert whole.epsilon == whole.parts[0].epsilon == 1.0


@pytest.mark.parametrize(
    "changed", [{"unit": "patient"}, {"relation": NeighbouringRelation.REPLACE_ONE}]
)
def test_guarantees_to_others_are_told_by_themselves(changed):
    model, quality = receipt_of(Gaussian(1, 5.0)), receipt_of(Gaussian(1, 15.0), **changed)
    text = told(model, quality)
    assert find_cost(model, quality, None).epsilon == model.epsilon
    assert f"a guarantee of its own: {quality.guarantee}" in text
    assert "Whoever sees the model can" in text


def test_what_rests_on_more_than_its_lines_is_never_told_for_less():
    model, quality = receipt_of(Gaussian(1, 5.0)), receipt_of(Gaussian(1, 15.0))
    for hollow in (replace(model, lines=()), replace(model, epsilon=2 * model.epsilon)):
        assert find_cost(hollow, quality, None).epsilon == hollow.epsilon
        assert "a guarantee of its own" in told(hollow, quality)


def test_rare_mishaps_add_up():
    rare = Threshold(1, 5.0, 8e-7)
    text = told(receipt_of(rare), receipt_of(rare))
    assert "at δ = 2e-06" in text
    assert "unknown" not in text


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("row", "Any one row is protected"),
        (
            "patient_id (at most 4 rows each)",
            "Any one patient with all rows (at most 4 rows of each used) is protected",
        ),
        ("person with at most 5 rows", "Any one person with at most 5 rows is protected"),
        ("client", "Any one client is protected"),
    ],
)
def test_the_guarantee_names_whom_people_think_of(unit, words):
    assert words in told(receipt_of(Gaussian(1, 5.0), unit=unit))


@pytest.mark.parametrize(
    ("delta", "words"),
    [
        (9e-7, "one in a million"),
        (1e-5, "one in 100,000"),
        (2e-7, "one in 5 million"),
        (1e-9, "one in a billion"),
    ],
)
def test_small_probabilities_are_told_in_round_numbers(delta, words):
    text = told(receipt_of(Gaussian(1, 5.0), delta=delta))
    assert f"a probability of about {words}." in text


def test_an_epsilon_beyond_all_floats_is_told():
    assert "e^2,000 times" in told(replace(make_receipt(), epsilon=2000.0))


def test_what_was_asked_for_stands_beside_what_was_spent():
    receipt = receipt_of(Gaussian(1, 5.0))
    assert f"asked for ε = 1 and spent {receipt.epsilon:.4g}" in told(receipt, asked=1.0)


def test_a_report_without_a_guarantee_has_no_figure():
    for receipt in (replace(make_receipt(), epsilon=math.inf), replace(make_receipt(), noise="x")):
        text = told(receipt)
        assert "makes no guarantee of privacy" in text
        assert "is protected" not in text


def test_a_report_with_rows_says_before_all_else_that_they_are_not_protected():
    model = census_model()
    rows = {name: [None, None] for name in model.schema}
    with_rows = text_of(draw_report(fitted(model), rows=rows)).split("Contents")[0]
    assert "the guarantee is not for them" in with_rows
    assert "not for them" not in text_of(draw_report(fitted(model))).split("Contents")[0]
