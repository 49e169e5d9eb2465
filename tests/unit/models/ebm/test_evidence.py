"""Evidence for a term: its tests, and what files keep of it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import voile
from voile import Category, EBMClassifier, EBMRegressor, Number, Schema
from voile.errors import SettingError
from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.files import SavedEBM

ROWS = 3000


def make(estimates, variance=0.01, noise=0.0, length=0.0):
    estimates = np.atleast_2d(np.asarray(estimates, dtype=float)).reshape(len(estimates), -1)
    return TermEvidence(
        estimates=estimates,
        sampling_variances=np.full_like(estimates, variance),
        noise_scales=np.full_like(estimates, noise),
        noise_length=length,
        noise_plain=1.0 if length == 0 else 0.3,
        prior=1.0,
    )


@pytest.mark.parametrize("length", [0.0, 0.5])
def test_p_values_are_uniform_where_there_is_nothing(length):
    # Estimates drawn from their own covariance with a fixed seed: deterministic.
    rng = np.random.default_rng(3)
    one = make(np.zeros(12), 0.02, 0.1, length)
    covariance = one.noise_covariance(0) + np.diag(one.sampling_variances[:, 0])
    root = np.linalg.cholesky(covariance)
    found = [make(7 + root @ rng.normal(size=12), 0.02, 0.1, length).p_value() for _ in range(600)]
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(found) <= level) <= level + 3.1 * math.sqrt(level / 600)
    assert np.mean(np.array(found) <= 0.3) >= 0.1  # not conservative beyond use


def test_effects_are_found_and_levels_do_not_matter():
    half = np.repeat([0.0, 0.5], 6)
    assert make(half).p_value() < 1e-6
    assert make(half + 100).p_value() == pytest.approx(make(half).p_value(), rel=1e-6)
    assert make(np.full(12, 3.0)).p_value() > 0.9
    assert make(half, length=0.5, noise=0.05).p_value() < 1e-4


def test_a_contrast_has_both_errors():
    one = make([0.0, 0.3, 0.0], 0.04, 0.1)
    value, noise, sampling = one.differ(np.array([-1.0, 1.0, 0.0]), 0)
    assert (value, noise, sampling) == pytest.approx((0.3, math.sqrt(0.02), math.sqrt(0.08)))


def fit(target="classes"):
    rng = np.random.default_rng(5)
    X = {"age": rng.uniform(0, 100, ROWS), "ward": rng.choice(["A", "B", "C"], ROWS)}
    score = 0.03 * (X["age"] - 50) + 0.5 * (X["ward"] == "A")
    columns = {"age": Number(0, 100), "ward": Category(["A", "B", "C"])}
    if target == "numbers":
        schema = Schema(columns, target=Number(-10, 10))
        return EBMRegressor(epsilon=4, schema=schema).fit(X, score + rng.normal(size=ROWS))
    names = ["no", "yes"] if target == "classes" else ["low", "mid", "high"]
    heights = np.stack([0 * score, score, 2 * score][: len(names)], axis=1)
    drawn = (heights + rng.gumbel(size=heights.shape)).argmax(axis=1)
    schema = Schema(columns, target=Category(names))
    return EBMClassifier(epsilon=4, schema=schema).fit(X, np.array(names)[drawn])


@pytest.mark.parametrize("target", ["classes", "numbers", "several"])
def test_errors_are_whole_and_files_keep_them(target):
    model = fit(target).model_
    for term in model.terms:
        assert (term.whole_errors >= term.standard_errors).all()
        assert term.evidence.estimates.shape == term.scores.shape
        assert term.evidence.p_value() < 0.01
    assert (model.whole_intercept_errors > model.intercept_errors).all()
    again = SavedEBM.from_dict(json.loads(json.dumps(SavedEBM.of(model).to_dict()))).build()
    for term, read in zip(model.terms, again.terms, strict=True):
        np.testing.assert_array_equal(term.whole_errors, read.whole_errors)
        np.testing.assert_array_equal(term.evidence.estimates, read.evidence.estimates)
        assert term.evidence.p_value() == read.evidence.p_value()


def test_what_a_person_drew_has_no_evidence():
    trained = fit()
    editor = trained.edit("tester").set("age", 1.0, between=(20, 40), why="a test")
    term = editor.model["age"]
    assert term.evidence is None
    inside = (term.edges[:-1] >= 20) & (term.edges[1:] <= 40)
    assert (term.whole_errors[:-1][inside] == 0).all()
    assert (term.whole_errors[:-1][~inside] > 0).all()
    assert editor.model["ward"].evidence is not None
    editor.scale("ward", 0.5)
    np.testing.assert_array_equal(
        editor.model["ward"].whole_errors, trained.model_["ward"].whole_errors * 0.5
    )
    editor.undo().undo()
    assert editor.model["age"].evidence is not None


def test_a_monotone_term_and_one_without_noise_have_evidence():
    rng = np.random.default_rng(5)
    X = {"age": rng.uniform(0, 100, ROWS)}
    y = np.where(rng.random(ROWS) < 0.2 + 0.006 * X["age"], "yes", "no")
    schema = Schema({"age": Number(0, 100)}, target=Category(["no", "yes"]))
    model = EBMClassifier(epsilon=math.inf, schema=schema, monotone={"age": "increasing"})
    term = model.fit(X, y).model_["age"]
    assert (term.evidence.noise_scales == 0).all()
    assert term.evidence.p_value() < 1e-6


def test_the_cyclic_algorithm_claims_nothing():
    rng = np.random.default_rng(5)
    X = {"age": rng.uniform(0, 100, ROWS)}
    y = np.where(rng.random(ROWS) < 0.5, "yes", "no")
    schema = Schema({"age": Number(0, 100)}, target=Category(["no", "yes"]))
    model = EBMClassifier(epsilon=1, schema=schema, method="cyclic").fit(X, y)
    assert model.model_["age"].evidence is None
    told = model.explain_global()
    assert told["age"].verdict == "not known"
    assert not told.whole
    assert "noise alone" in str(told)


def test_models_from_before_load_and_claim_nothing():
    model = voile.load(Path(__file__).with_name("before_verdicts.voile"))
    told = model.explain_global()
    assert {term.verdict for term in told.terms} == {"not known"}
    assert not told.whole
    assert "noise alone" in str(told)
    assert "clear" not in str(told)
    with pytest.raises(SettingError, match="does not hold the sampling error"):
        told.compare(told.terms[0].name, *told.terms[0].labels[-2:])
