"""Scores that multiply the prediction are told as factors, and predictions per unit as such."""

import math

import numpy as np
import pandas as pd
import pytest

from voile import Category, EBMRegressor, Number, Schema
from voile.explain.ebm.factors import factor_range_text, level_range_text
from voile.report.ebm.factor_axis import power_ticks
from voile.report.ebm.model_page import draw_page
from voile.report.ebm.rows_page import draw_page as draw_rows


@pytest.fixture(scope="module")
def falls():
    rng = np.random.default_rng(5)
    rows = 6000
    X = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, rows),
            "ward": rng.choice(["A", "B"], rows),
            "days": rng.uniform(1, 30, rows),
        }
    )
    y = rng.poisson(0.05 * X.days * np.exp(0.8 * ((X.age > 60) & (X.ward == "B"))))
    schema = Schema(
        {"age": Number(18, 90), "ward": Category(["A", "B"]), "days": Number(1, 30)},
        target=Number(0, 40),
    )
    model = EBMRegressor(
        epsilon=8,
        schema=schema,
        objective="poisson",
        exposure="days",
        interactions=[("age", "ward")],
    )
    return model.fit(X, y), X


def test_a_factor_has_the_interval_of_its_score():
    assert factor_range_text(math.log(2), math.log(2) / 2) == "x2 (1 to 4)"
    assert factor_range_text(0.0, 0.0) == "x1"
    assert level_range_text(math.log(5), 0.0) == "5"
    assert "unknown" in factor_range_text(1.0, math.inf)


@pytest.mark.parametrize(
    ("low", "high"), [(-1e-3, 2e-3), (-0.2, 0.3), (-1.3, 1.6), (-4, 5), (-40, 90), (-5, -2)]
)
def test_ticks_stand_at_the_logarithm_of_what_they_say(low, high):
    ticks = power_ticks(low, high, "x")
    assert 1 < len(ticks["tickvals"]) <= 8
    for value, text in zip(ticks["tickvals"], ticks["ticktext"], strict=True):
        assert low - 1e-9 <= value <= high + 1e-9
        assert math.log(float(text[1:].replace(",", ""))) == pytest.approx(value, abs=6e-3)
    if low < 0 < high:
        assert "x1" in ticks["ticktext"]


def test_an_axis_without_a_length_has_no_ticks():
    assert power_ticks(1.0, 1.0) == {}


def test_pages_of_counts_tell_factors_per_unit(falls):
    model, X = falls
    whole = model.explain_global()
    page = draw_page(whole)
    for words in ("multiplies the prediction by", "per unit of days", "x1"):
        assert words in page
    assert "raises the prediction most" in page
    assert "score (log" not in page
    rows = model.explain_local(X[:2])
    page = draw_rows(rows)
    assert "per unit of days, log scale" in page
    assert "times the factor of every feature" in page


def test_the_factors_of_a_row_multiply_up_to_its_prediction(falls):
    model, X = falls
    rows = model.explain_local(X[:1])
    text = str(rows)
    assert " per unit of days (95 % interval" in text
    found = math.exp(rows.base_values[0] + rows.values[0].sum())
    assert found == pytest.approx(rows.predictions[0])


def test_what_would_have_to_change_is_told_per_unit(falls):
    model, X = falls
    assert "per unit of days" in str(model.counterfactuals(X[:1], want=">= 0.08"))
    assert "ratio" in str(whole_comparison(model))


def whole_comparison(model):
    return model.explain_global().compare("ward", "B", "A")


def test_one_term_and_one_pair_print_themselves(falls):
    whole = falls[0].explain_global()
    for name in ("age", "ward", "age & ward"):
        lines = str(whole[name]).splitlines()
        assert lines[0].startswith(f"{name}: ")
        assert "importance" in lines[0]
        assert 3 <= len(lines) <= 18
        assert any("rows" in line for line in lines)
    many = str(whole["age & ward"]).splitlines()
    assert "more cells: to_frame()" in many[-1]


def test_a_pair_is_named_in_either_order_everywhere(falls):
    whole = falls[0].explain_global()
    assert whole["ward & age"] is whole["age & ward"]
    turned, named = whole.plot("ward & age"), whole.plot("age & ward")
    assert turned == named
    with pytest.raises(KeyError, match="there are 'age', 'ward', 'age & ward'"):
        whole["age & days"]


def test_no_count_of_a_cell_is_told_as_certain(falls):
    pair = falls[0].model_.pairs[0]
    assert (pair.count_errors > 0).all()
