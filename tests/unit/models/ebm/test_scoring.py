"""Scores of rows: the kernels against a plain sum, one row after the other, to the bit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from ebm_models import make_model, make_rows

from voile import Category, EBMClassifier, EBMRegressor
from voile.errors import DataError, SettingError
from voile.models.ebm.kernels import add_scores
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.privacy.public_rows import encode_public, read_public

LINKS = ("identity", "logit", "softmax")


def make_pair(model, first, second, rng):
    axes = []
    for name in (first, second):
        column = model[name].column
        if isinstance(column, Category):
            groups = np.arange(len(column.levels) + 2) % 3
            axes.append(PairAxis(name, column, np.zeros(0), groups))
        else:
            axes.append(PairAxis(name, column, model[name].cuts[::2], np.zeros(0, dtype=np.int64)))
    shape = (axes[0].parts, axes[1].parts)
    scores = rng.normal(size=(*shape, model.outputs))
    counts = rng.uniform(5, 50, size=shape)
    return PairTerm(axes[0], axes[1], scores, np.abs(scores) / 9, counts, np.ones(shape))


def with_pairs(link, seed=3):
    model, rng = make_model(link), np.random.default_rng(seed)
    pairs = [make_pair(model, *names, rng) for names in (("age", "job"), ("age", "pay"))]
    return replace(model, pairs=tuple(pairs))


def bin_of(cuts, value, missing):
    return missing if np.isnan(value) else sum(cut <= value for cut in cuts)


def part_of(axis, value):
    if isinstance(axis.column, Category):
        return axis.groups[min(value, len(axis.groups) - 1)]
    return bin_of(axis.cuts, value, len(axis.cuts) + 1)


def plain_scores(model, columns):
    """One row, one term and one addition after the other."""
    result = []
    for row in range(len(columns["age"])):
        score = model.intercept.copy()
        for term in model.terms:
            value = columns[term.name][row]
            if isinstance(term.column, Category):
                place = min(value, term.bins - 1)
            else:
                place = bin_of(term.cuts, value, term.bins - 1)
            score = score + term.scores[place]
        for pair in model.pairs:
            first, second = (
                part_of(axis, columns[axis.name][row]) for axis in (pair.first, pair.second)
            )
            score = score + pair.scores[first, second]
        result.append(score)
    return np.array(result)


def estimator_of(model):
    kind = EBMRegressor if model.link == "identity" else EBMClassifier
    estimator = kind(schema=model.schema)
    estimator.model_ = model
    estimator._describe()
    return estimator


@pytest.mark.parametrize("link", LINKS)
def test_scores_are_a_plain_sum_to_the_bit(link):
    model = with_pairs(link)
    columns = encode_public(make_rows(400), model.schema)
    np.testing.assert_array_equal(model.scores(columns), plain_scores(model, columns))


@pytest.mark.parametrize("link", LINKS)
def test_contributions_add_up_to_the_scores(link):
    model = with_pairs(link)
    columns = encode_public(make_rows(50), model.schema)
    total = model.intercept + model.contributions(columns).sum(axis=1)
    np.testing.assert_allclose(model.scores(columns), total, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("most", [1, 7, 300, 10_000])
def test_answers_of_parts_are_those_of_all_rows(link, most, monkeypatch):
    model, rows = with_pairs(link), make_rows(300)
    columns = encode_public(rows, model.schema)
    scores = plain_scores(model, columns)
    monkeypatch.setattr(type(model), "rows_at_once", most)
    estimator = estimator_of(model)
    answers = model.respond(scores)
    if link == "identity":
        np.testing.assert_array_equal(estimator.predict(rows), answers)
        return
    np.testing.assert_array_equal(estimator.predict_proba(rows), answers)
    chosen = np.array(model.classes)[answers.argmax(axis=1)]
    np.testing.assert_array_equal(estimator.predict(rows), chosen)
    decided = scores if link == "softmax" else scores[:, 0]
    np.testing.assert_array_equal(estimator.decision_function(rows), decided)


def test_a_table_without_rows_has_answers_without_rows():
    estimator = estimator_of(make_model("softmax"))
    rows = pd.DataFrame(make_rows(5))[:0]
    assert estimator.predict_proba(rows).shape == (0, 3)
    assert estimator.decision_function(rows).shape == (0, 3)
    assert estimator.predict(rows).shape == (0,)


@pytest.mark.parametrize("kind", ["float64", "float32", "int16", "bool", "Float64", "object"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_of_rows_are_encoded_like_all_rows(kind, order):
    model = make_model("logit")
    schema = model.schema.select(["age", "pay"])
    values = np.array([[-5.0, 0.3], [25.0, 1.0], [31.0, 2.0], [200.0, 7.0]])
    frames = [pd.DataFrame(np.array(values, order=order), columns=["age", "pay"]).astype(kind)]
    if kind not in ("Float64", "object"):
        frames.append(np.array(values, order=order).astype(kind, order="K"))
        frames.append({"age": frames[1][:, 0], "pay": frames[1][::1, 1]})
    for frame in frames:
        whole = encode_public(frame, schema)
        parts = list(read_public(frame, schema).parts(3))
        for name in schema:
            joined = np.concatenate([part[name] for part in parts])
            np.testing.assert_array_equal(joined, whole[name], strict=True)


def test_masked_and_missing_numbers_are_missing_in_every_part():
    schema = make_model("logit").schema.select(["age"])
    ages = np.ma.array([20.0, 30.0, 40.0], mask=[False, True, False])
    parts = list(read_public({"age": ages}, schema).parts(2))
    np.testing.assert_array_equal(np.concatenate([p["age"] for p in parts]), [20.0, np.nan, 40.0])


def test_rows_of_a_caller_stay_as_they_are():
    model, rows = make_model("logit"), make_rows(40)
    before = rows["age"].copy()
    columns = encode_public(rows, model.schema)
    columns["age"][:] = 0.0
    np.testing.assert_array_equal(rows["age"], before)


def test_a_missing_column_is_named_before_anything_is_scored():
    rows = make_rows(10)
    del rows["pay"]
    with pytest.raises(DataError, match="no column 'pay'"):
        estimator_of(make_model("logit")).predict(rows)


def test_bins_that_a_term_does_not_have_are_refused():
    scores, total = np.zeros((3, 1)), np.zeros((2, 1))
    for found in ([0, 3], [-1, 0]):
        with pytest.raises(SettingError, match="does not have"):
            add_scores(np.array(found), scores, total)
    with pytest.raises(SettingError, match="needs its bin"):
        add_scores(np.array([0]), scores, total)
    with pytest.raises(SettingError, match="needs its bin"):
        add_scores(np.array([0, 1]), np.zeros((3, 2)), total)
