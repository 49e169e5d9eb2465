"""Comparisons of levels and ranges: the difference, its whole error, and a verdict in words."""

import json
import math

import numpy as np
import pytest

from voile import Category, EBMClassifier, Number, Schema
from voile.errors import SettingError
from voile.explain.comparison import Comparison

ROWS = 6000


@pytest.fixture(scope="module")
def explanation():
    rng = np.random.default_rng(11)
    X = {"age": rng.uniform(0, 100, ROWS), "ward": rng.choice(["A", "B", "C"], ROWS)}
    score = 1.2 * (X["age"] > 50) + 0.9 * (X["ward"] == "A") - 0.8
    y = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-score)), "yes", "no")
    columns = {"age": Number(0, 100), "ward": Category(["A", "B", "C"])}
    schema = Schema(columns, target=Category(["no", "yes"]))
    return EBMClassifier(epsilon=8, schema=schema).fit(X, y).explain_global()


def test_a_difference_between_levels(explanation):
    answer = explanation.compare("ward", "A", "B")
    # At epsilon 8 the standard error is about 0.07: six of them is a false alarm in 500 million.
    assert abs(answer.differences[0] - 0.9) < 6 * answer.standard_errors[0]
    assert answer.verdicts == ("clear",)
    text = str(answer)
    assert "ward: A against B" in text
    assert "95 % interval: privacy noise plus sampling error" in text
    assert "odds ratio" in text
    assert "clear" in text
    back = explanation.compare("ward", "B", "A")
    assert back.differences[0] == pytest.approx(-answer.differences[0])
    assert back.p_values[0] == answer.p_values[0]


def test_ranges_and_values_of_a_number(explanation):
    halves = explanation.compare("age", (50, 100), (0, 50))
    assert abs(halves.differences[0] - 1.2) < 6 * halves.standard_errors[0]
    assert halves.verdicts == ("clear",)
    assert (halves.first, halves.second) == ("50 to 100", "0 to 50")
    fine = explanation.compare("age", 90, 10)
    assert fine.standard_errors[0] > halves.standard_errors[0]
    assert fine.compared > halves.compared
    assert explanation.compare("age", np.float64(90), 10).differences == fine.differences
    assert math.isfinite(explanation.compare("age", "(missing)", (0, 50)).standard_errors[0])


def test_errors_have_both_parts(explanation):
    answer = explanation.compare("ward", "A", "B")
    assert (answer.noise_errors > 0).all()
    assert (answer.sampling_errors > 0).all()
    low, high = answer.intervals[0]
    assert (low + high) / 2 == pytest.approx(answer.differences[0])
    data = json.loads(json.dumps(answer.to_dict()))
    assert data["kind"] == "comparison"
    assert data["p_values"] == answer.p_values.tolist()


@pytest.mark.parametrize(
    ("column", "first", "second", "says"),
    [
        ("wards", "A", "B", "has no column 'wards': it has 'age', 'ward'"),
        ("ward", "A", "A", "give two that differ"),
        ("ward", "Z", "A", "has no level 'Z': it has 'A'"),
        ("ward", ("A", "B"), "C", "has no level"),
        ("age", 30, 30, "give two that differ"),
        ("age", 30, 120, "give a value, or a range such as (0, 100)"),
        ("age", (60, 40), 10, "give a value, or a range"),
        ("age", (40, 40), 10, "give a value, or a range"),
        ("age", "30", 10, "give a value, or a range"),
        ("age", True, 10, "give a value, or a range"),
        ("age", math.nan, 10, "give a value, or a range"),
        ("age", None, 10, "give a value, or a range"),
        ("age", (1, 2, 3), 10, "give a value, or a range"),
    ],
)
def test_odd_questions(explanation, column, first, second, says):
    with pytest.raises(SettingError) as error:
        explanation.compare(column, first, second)
    assert says in str(error.value)


def test_what_is_nothing_is_folded_and_told(explanation):
    assert {term.verdict for term in explanation.terms} == {"clear"}
    assert explanation.nothing == ()
    assert "cannot be told" not in str(explanation)


def test_an_edited_column_cannot_be_compared(explanation):
    rng = np.random.default_rng(1)
    X = {"age": rng.uniform(0, 100, 500)}
    y = np.where(rng.random(500) < 0.5, "yes", "no")
    schema = Schema({"age": Number(0, 100)}, target=Category(["no", "yes"]))
    model = EBMClassifier(epsilon=1, schema=schema).fit(X, y)
    model.model_ = model.edit("tester").set("age", 2.0, between=(0, 50)).model
    told = model.explain_global()
    assert told["age"].verdict == "edited"
    with pytest.raises(SettingError, match="people edited it"):
        told.compare("age", (0, 50), (50, 100))


def test_the_interval_is_of_this_comparison_alone_and_the_verdict_of_all_that_could_be_made():
    said = Comparison.of(
        column="ward",
        sides=("A", "B"),
        outputs=("Nein",),
        units="log-odds",
        differences=np.array([0.274]),
        variances=(np.array([0.1106**2]), np.array([0.0])),
        compared=12.0,
    )
    text = str(said)
    assert said.intervals[0, 0] > 0
    assert "+0.27 log-odds of 'Nein' (95 % interval of this comparison alone +0.06 to" in text
    assert "with 12 comparisons that could have been made: cannot be told from nothing" in text
    alone = Comparison.of(
        column="x",
        sides=("a", "b"),
        outputs=("x",),
        units="units",
        differences=np.array([2.0]),
        variances=(np.array([0.01]), np.array([0.0])),
        compared=1.0,
    )
    assert "(95 % interval +1.8 to +2.2): clear" in str(alone)
