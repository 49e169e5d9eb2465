"""A refusal tells the largest epsilon that would be taken: that much is, a little more is not."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile import (
    Budget,
    Category,
    EBMClassifier,
    GLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    PrivateExplainer,
    Schema,
    summarize,
)
from voile.errors import BudgetExceeded
from voile.privacy.calibrate import calibrate, gaussian_step, threshold_step
from voile.privacy.events import Gaussian, Laplace, Plan
from voile.privacy.ledger.refusing import round_down

pytestmark = pytest.mark.filterwarnings("ignore::voile.errors.GuessedTargetWarning")

SHAPES = {
    "one": Plan((gaussian_step("one", 1.0),)),
    "several": Plan((gaussian_step("a", 0.2, count=3), gaussian_step("b", 0.8, count=20))),
    "thresholds": Plan(
        (threshold_step("levels", 0.2, delta=1e-9), gaussian_step("rest", 0.8, count=4))
    ),
}


def told(error):
    found = re.search(r"Ask for epsilon ([\d.e-]+) or less at delta ([\d.e-]+)\.", str(error))
    assert found is not None, str(error)
    return float(found[1]), float(found[2])


def refuse(job):
    with pytest.raises(BudgetExceeded) as refused:
        job()
    return told(refused.value)


@settings(max_examples=40)
@given(
    st.sampled_from(list(SHAPES)),
    st.lists(st.floats(0.05, 0.6), max_size=3),
    st.sampled_from([1e-5, 1e-6, 1e-7, 3e-8]),
    st.sampled_from(["gdp", "renyi"]),
    st.booleans(),
)
def test_what_is_told_is_taken_and_a_little_more_is_not(shape, before, delta, kind, reserve):
    def ledger():
        book = Ledger(Budget(2.0, 1e-6), filter=kind)
        for epsilon in before:
            book.spend(calibrate(Budget(epsilon, 1e-6), SHAPES["one"]), "before")
        return book

    def ask(book, epsilon):
        asked = Budget(epsilon, delta)
        plan = calibrate(asked, SHAPES[shape])
        (book.reserve if reserve else book.spend)(plan, "job", asked=asked)

    book = ledger()
    spent = book.spent()
    most, at = refuse(lambda: ask(book, 6.0))
    assert at == delta
    assert book.spent() == spent
    with pytest.raises(BudgetExceeded):
        ask(book, most * 1.01)
    ask(book, most)


def test_a_check_before_paying_tells_the_same_as_paying():
    book, asked = Ledger(Budget(1.0, 1e-6)), Budget(3.0, 1e-6)
    plan = calibrate(asked, SHAPES["one"])
    checked = refuse(lambda: book.check_can_pay(plan, "job", asked=asked))
    assert checked == refuse(lambda: book.spend(plan, "job", asked=asked)) == (1.0, 1e-6)


def test_without_what_was_asked_for_it_is_told_at_the_delta_of_the_ledger():
    book = Ledger(Budget(1.0, 1e-5))
    assert refuse(lambda: book.spend(Plan.of(look=Gaussian(1, 1.0)), "job")) == (1.0, 1e-5)


def test_accesses_that_are_not_gaussian_fit_at_what_is_told():
    def ask(book, epsilon):
        book.spend(Plan.of(look=Laplace(1, 1 / epsilon)), "counts", asked=Budget(epsilon, 1e-6))

    book = Ledger(Budget(1.0, 1e-6), filter="renyi")
    ask(book, 0.3)
    most, _ = refuse(lambda: ask(book, 5.0))
    with pytest.raises(BudgetExceeded):
        ask(book, most * 1.1)
    ask(book, most)


def test_where_nothing_is_left_no_epsilon_is_told():
    book = Ledger(Budget(1.0, 1e-6))
    book.spend(calibrate(Budget(1.0, 1e-6), SHAPES["one"]), "all of it")
    with pytest.raises(BudgetExceeded, match="used up") as refused:
        book.spend(calibrate(Budget(0.1, 1e-6), SHAPES["one"]), "more")
    assert "Ask for" not in str(refused.value)


X, Y = {"a": np.linspace(0, 1, 200)}, np.arange(200) % 2
OPEN = Schema({"a": Number()}, target=Category())


@pytest.mark.parametrize(
    "job",
    [
        lambda **price: EBMClassifier(schema=OPEN, rounds=1, **price).fit(X, Y),
        lambda **price: GLVQClassifier(schema=OPEN, **price).fit(X, Y),
        lambda **price: summarize(X, schema=OPEN.with_target(None), **price),
        lambda **price: PrivateExplainer(
            lambda rows: np.zeros(len(rows["a"])), X, schema=Schema({"a": Number(0, 1)}), **price
        ),
        pytest.param(
            lambda **price: LocallyLinearClassifier(schema=OPEN, steps=5, **price).fit(X, Y),
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_every_job_is_taken_at_what_its_refusal_tells(job, first):
    book = Ledger(Budget(1.0, 1e-6))
    if not first:
        book.spend(calibrate(Budget(0.5, 1e-6), SHAPES["one"]), "before")
    most, delta = refuse(lambda: job(epsilon=3.0, ledger=book))
    assert delta == 1e-6
    assert (most == 1.0) is first
    job(epsilon=most, ledger=book)


def test_an_explainer_that_reads_rows_tells_what_another_may_have():
    book = Ledger(Budget(1.0, 1e-6))
    book.spend(calibrate(Budget(0.95, 1e-6), SHAPES["one"]), "before")
    with pytest.raises(BudgetExceeded, match=r"Ask for epsilon 0\.\d+ or less"):
        PrivateExplainer(
            lambda rows: np.zeros(len(rows["a"])),
            X,
            schema=Schema({"a": Number()}),
            epsilon=5.0,
            strategy="release",
            ledger=book,
        )


@pytest.mark.parametrize(
    ("number", "rounded"),
    [
        (0.0, 0.0),
        (1.0, 1.0),
        (0.99999999999, 1.0),
        (0.123456, 0.1234),
        (12.999, 12.99),
        (3e-9, 3e-9),
    ],
)
def test_numbers_are_rounded_down(number, rounded):
    assert round_down(number) == pytest.approx(rounded, rel=1e-12)
