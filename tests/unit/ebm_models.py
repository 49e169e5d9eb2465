"""Small additive models made by hand: two classes, three classes, regression."""

import dataclasses

import numpy as np

from voile import Category, Number, Receipt, Schema
from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.pair_evidence import PairEvidence
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Threshold
from voile.privacy.noise import NoiseSource
from voile.privacy.receipt import ReceiptLine

COLUMNS = {
    "age": Number(17, 90),
    "job": Category(["clerk", "nurse", '=HYPERLINK("http://x")', "été"]),
    "pay": Number(-1.5, 2.5),
    "flag": Category([False, True]),
    "rank": Category([3, 1, -2, 2.5]),
}
CUTS = {"age": [25.0, 31.1, 40.0, 52.3, 60.0, 71.0], "pay": [0.1 + 0.2]}
PAIR_CUTS = {"age": [31.1, 45.0, 60.0], "pay": [0.25, 1.0]}
GROUPS = {"job": [0, 1, 1, 2, 3, 3], "flag": [0, 1, 2, 2], "rank": [1, 0, 1, 0, 2, 3]}
PAIRS = (("age", "job"), ("age", "pay"), ("flag", "rank"))
TARGETS = {
    "logit": Category(["no", "yes"]),
    "softmax": Category(["low", "mid", "high"]),
    "identity": Number(-3, 3),
}


def make_receipt():
    return Receipt(
        what="train an EBM",
        epsilon=0.998,
        delta=1e-6,
        relation=NeighbouringRelation.ADD_REMOVE,
        unit="row",
        lines=(
            ReceiptLine("histograms", Gaussian(5, 30.5), 5, 0.75),
            ReceiptLine("levels", Threshold(1, 40.0, 1e-9), 1, 0.25),
        ),
        noise=str(NoiseSource.SYSTEM),
        entry="0123456789abcdef",
        dataset="hospital",
        at="2026-01-02T03:04:05.678+00:00",
        who="me@here",
    )


def make_term(name, column, outputs, rng):
    cuts = np.array(CUTS.get(name, []), dtype=np.float64)
    bins = len(cuts) + 2 if isinstance(column, Number) else len(column.levels) + 2
    return Term(
        name=name,
        column=column,
        cuts=cuts,
        scores=rng.normal(size=(bins, outputs)),
        standard_errors=rng.uniform(0.01, 0.2, size=(bins, outputs)),
        counts=rng.uniform(5, 500, size=bins),
        count_errors=np.full(bins, 3.25),
    )


def make_axis(name, column):
    if isinstance(column, Number):
        return PairAxis(name, column, np.array(PAIR_CUTS[name]), np.empty(0, dtype=np.int64))
    return PairAxis(name, column, np.empty(0), np.array(GROUPS[name]))


def make_pair(first, second, outputs, rng, columns=COLUMNS):
    axes = make_axis(first, columns[first]), make_axis(second, columns[second])
    shape = axes[0].parts, axes[1].parts
    cells = (*shape, outputs)
    return PairTerm(
        *axes,
        scores=rng.normal(size=cells),
        standard_errors=rng.uniform(0.01, 0.2, size=cells),
        counts=rng.uniform(0, 300, size=shape),
        count_errors=np.full(shape, 3.25),
        whole_errors=rng.uniform(0.2, 0.4, size=cells),
        evidence=PairEvidence(
            estimates=rng.normal(size=cells),
            sampling_variances=rng.uniform(0.01, 0.1, size=cells),
            noise_scales=rng.uniform(0.01, 0.1, size=cells),
            noise_lengths=(0.3, 0.0),
            noise_plains=(0.5, 1.0),
            aparts=(1, 1),
            prior=1.0,
            candidates=10,
        ),
    )


def make_model(link="logit", *, columns=COLUMNS, target=None, seed=0, pairs=()):
    """A model with random scores; the same seed gives the same model."""
    rng = np.random.default_rng(seed)
    target = TARGETS[link] if target is None else target
    outputs = len(target.levels) if link == "softmax" else 1
    return EBMModel(
        terms=tuple(make_term(name, column, outputs, rng) for name, column in columns.items()),
        intercept=rng.normal(size=outputs),
        intercept_errors=np.full(outputs, 0.05),
        link=link,
        schema=Schema(columns, target=target),
        receipt=make_receipt(),
        pairs=tuple(make_pair(*names, outputs, rng, columns) for names in pairs),
    )


def make_rows(count=300, seed=1):
    """Rows with values at cuts and bounds, outside the bounds, missing, and unlisted levels."""
    rng = np.random.default_rng(seed)
    ages = np.array([*CUTS["age"], 17, 90, -5, 200, np.inf, -np.inf, np.nan])
    return {
        "age": np.where(
            rng.random(count) < 0.5, rng.choice(ages, count), rng.uniform(10, 95, count)
        ),
        "job": rng.choice(np.array([*COLUMNS["job"].levels, "pilot", "", None], object), count),
        "pay": rng.choice([0.1 + 0.2, 0.3, -1.5, 2.5, 1.0, np.nan], count),
        "flag": rng.choice([1.0, 0.0, 7.0, np.nan], count),
        "rank": rng.choice(np.array([3.0, 1.0, -2.0, 2.5, 7.0, np.nan]), count),
    }


def scores_of(model):
    return {term.name: term.scores for term in model.terms}


def assert_same_model(one, other):
    """Equal to the bit, original and history included."""
    assert one.link == other.link
    assert one.schema == other.schema
    assert one.receipt.to_dict() == other.receipt.to_dict()
    assert one.edits == other.edits
    assert one.history == other.history
    assert one.classes == other.classes
    for name in ("intercept", "intercept_errors"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    assert [term.name for term in one.terms] == [term.name for term in other.terms]
    for mine, yours in zip(one.terms, other.terms, strict=True):
        assert mine.column == yours.column
        for name in ("cuts", "scores", "standard_errors", "counts", "count_errors"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(yours, name), strict=True)
    assert [pair.name for pair in one.pairs] == [pair.name for pair in other.pairs]
    for mine, yours in zip(one.pairs, other.pairs, strict=True):
        assert_same_pair(mine, yours)
    assert (one.original is None) == (other.original is None)
    if one.original is not None:
        assert_same_model(one.original, other.original)


def assert_same_pair(one, other):
    """Equal to the bit, evidence included."""
    for side, its in ((one.first, other.first), (one.second, other.second)):
        assert (side.name, side.column) == (its.name, its.column)
        np.testing.assert_array_equal(side.cuts, its.cuts, strict=True)
        np.testing.assert_array_equal(side.groups, its.groups, strict=True)
    for name in ("scores", "standard_errors", "counts", "count_errors", "whole_errors"):
        mine, yours = getattr(one, name), getattr(other, name)
        assert (mine is None) == (yours is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, yours, strict=True)
    assert (one.evidence is None) == (other.evidence is None)
    if one.evidence is not None:
        for entry in dataclasses.fields(one.evidence):
            mine, yours = (getattr(pair.evidence, entry.name) for pair in (one, other))
            np.testing.assert_array_equal(mine, yours)
