"""Additive models with pairs of columns, made by hand: nothing is trained."""

from dataclasses import replace

import numpy as np
from explained_models import category_term, make_model, number_term

from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.schema import Category, Date, Number

WARDS = ("A", "B", "C", "D", "E")
DAY = 86400.0


def number_side(term, cuts):
    """A side with some of a number's own cut points."""
    return PairAxis(term.name, term.column, np.array(cuts, dtype=float), np.empty(0, dtype=int))


def level_side(term, groups):
    """A side with the levels of a category in groups; what is apart is the last part."""
    return PairAxis(term.name, term.column, np.empty(0), np.array(groups, dtype=int))


def make_pair(first, second, outputs=1, *, error=0.03, rows=120.0, size=0.6, seed=0, scores=None):
    """A pair of random scores; the last parts of both sides have no rows."""
    generator = np.random.default_rng(seed)
    shape = (first.parts, second.parts)
    if scores is None:
        scores = size * generator.standard_normal((*shape, outputs))
    counts = np.full(shape, rows)
    counts[-1], counts[:, -1] = 0.0, 0.0
    errors = np.full((*shape, outputs), error)
    return PairTerm(
        first,
        second,
        np.asarray(scores, dtype=float).reshape(*shape, outputs),
        errors / 2,
        counts,
        np.full(shape, 9.0),
        errors,
    )


def ward_pairs(outputs=1, link="logit"):
    """Age, ward, a day and a shift; pairs of two numbers, of both kinds, and of two categories."""
    flat = np.zeros(outputs)
    age = number_term("age", [30, 45.5, 60, 75], 18, 100, lambda a: flat + a / 100, outputs=outputs)
    ward = category_term("ward", WARDS, np.linspace(-0.4, 0.4, 5)[:, None] + flat, [200] * 5)
    day = number_term(
        "admitted",
        [30 * DAY, 90 * DAY],
        0,
        200 * DAY,
        lambda d: flat + d / (500 * DAY),
        outputs=outputs,
    )
    day = replace(day, column=Date("1970-01-01", "1970-07-20"))
    shift = category_term("shift", ("day", "night"), np.array([[0.1], [-0.1]]) + flat, [600, 400])
    terms = [
        replace(one, whole_errors=1.5 * one.standard_errors) for one in (age, ward, day, shift)
    ]
    wards = level_side(ward, [0, 1, 1, 2, 0, 3, 3])
    ages, days = number_side(age, [45.5, 60]), number_side(day, [90 * DAY])
    shifts = level_side(shift, [0, 1, 2, 2])
    pairs = (
        make_pair(ages, wards, outputs, seed=1),
        make_pair(days, ages, outputs, seed=2),
        make_pair(wards, shifts, outputs, seed=3),
    )
    targets = {
        "logit": Category(["no", "yes"]),
        "softmax": Category([f"class {k}" for k in range(outputs)]),
        "identity": Number(-2, 9),
    }
    return make_model(terms, targets[link], link, pairs=pairs)


WARD_VALUES = {
    "age": [71, 30, None, 45.5, 10, 75.0, 100, 60],
    "ward": ["B", "E", None, "Z", "A", "C", "D", "B"],
    "admitted": [
        "1970-02-01",
        "1970-04-01",
        "1970-03-31",
        None,
        "1970-07-20",
        "1969-01-01",
        "1970-01-31",
        "1970-06-01",
    ],
    "shift": ["day", "night", "day", None, "late", "night", "night", "day"],
}
