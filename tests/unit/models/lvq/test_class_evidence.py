"""Class means and their errors: the formulas, what a fit keeps, and what files keep."""

import json

import numpy as np
import pytest

import voile
from voile import Category, GLVQClassifier, GMLVQClassifier, LVQ1Classifier, Number, Schema
from voile.errors import ModelError
from voile.models.lvq.evidence import ClassEvidence
from voile.models.lvq.files import SavedLVQ
from voile.privacy.noise import fixed_noise

ROWS = 3000
SCHEMA = Schema(
    {"age": Number(0, 100), "ward": Category(["A", "B", "C"]), "null": Number(0, 1)},
    target=Category(["no", "yes"]),
)


def draw(seed, rows=ROWS):
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], rows)
    age = np.clip(rng.normal(np.where(y == "yes", 60, 45), 15), 0, 100)
    ward = np.where(rng.random(rows) < np.where(y == "yes", 0.6, 0.3), "A", rng.choice(["B", "C"]))
    return {"age": age, "ward": ward, "null": rng.random(rows)}, y


def fit(kind=GLVQClassifier, *, seed=0, epsilon=4.0, schema=SCHEMA, **settings):
    with fixed_noise(seed):
        model = kind(epsilon=epsilon, schema=schema, random_state=0, **settings)
        return model.fit(*draw(seed)).model_


def make(estimates, variances):
    estimates = np.asarray(estimates, dtype=float)
    classes, features = estimates.shape
    return ClassEvidence(
        estimates=estimates,
        noise_variances=np.full_like(estimates, variances),
        sampling_variances=np.full_like(estimates, variances),
        prototype_variances=np.ones((classes, features)),
        relevance_errors=np.zeros(features),
        column_errors=np.zeros(features),
        gap_share=1.0,
        bounded=False,
    )


def test_a_column_is_tested_by_the_means_of_all_classes():
    evidence = make([[0.0, 0.0], [0.0, 0.5], [0.0, 0.0]], 0.005)
    assert evidence.p_value([0]) == pytest.approx(0.95)
    # Deviation 0.1; the middle class is 0.41 above the rest: chi-square 16.7 with 2 degrees.
    assert evidence.p_value([1]) == pytest.approx(2.4e-4, rel=0.05)
    assert evidence.p_value([0, 1]) == pytest.approx(2 * evidence.p_value([1]), rel=0.05)


@pytest.mark.parametrize("kind", [LVQ1Classifier, GLVQClassifier, GMLVQClassifier])
def test_means_of_a_fit_are_right_within_their_errors(kind):
    model = fit(kind)
    X, y = draw(0)
    evidence, places = model.evidence, model.features
    assert [one.column for one in places.each] == ["age", "ward", "ward", "ward", "null"]
    for k, name in enumerate(["no", "yes"]):
        mine = {column: values[y == name] for column, values in X.items()}
        shares = [(mine["ward"] == one).mean() for one in "ABC"]
        seen = np.array([mine["age"].mean() / 50 - 1, *shares, 2 * mine["null"].mean() - 1])
        # The noise alone, with its seed: the means are those of these very rows.
        errors = np.sqrt(evidence.noise_variances[k])
        assert (np.abs(evidence.estimates[k] - seen) < 5 * errors + 0.01).all()
        # A spread that was released is near the true one (less, as points are drawn into the ball),
        # a bound is above it.
        spread = np.array([mine["age"].std() / 50, *np.sqrt(shares), 2 * mine["null"].std()])
        least = spread[[0, 4]] ** 2 / (y == name).sum()
        assert (evidence.sampling_variances[k][[0, 4]] > 0.75 * least).all()
        if kind is GMLVQClassifier:
            assert (evidence.sampling_variances[k][[0, 4]] < 1.6 * least).all()
    assert evidence.bounded is (kind is not GMLVQClassifier)


def test_means_of_many_tables_vary_as_told():
    # 12 tables and noises with fixed seeds: deterministic.
    fits = [fit(seed=seed, epsilon=8.0).evidence for seed in range(12)]
    null = np.array([one.estimates[:, 4] for one in fits])
    told = np.array([one.variances[:, 4] for one in fits]).mean()
    # Bounds make the errors too large, never too small.
    assert null.var() < told
    assert null.var() > told / 12


def test_units_of_several_rows_have_wider_errors():
    schema = Schema(dict(SCHEMA.items()), target=SCHEMA.target, unit=voile.Unit(rows=3))
    alone, several = fit().evidence, fit(schema=schema).evidence
    ratio = several.sampling_variances / alone.sampling_variances
    assert ratio[:, [0, 4]] == pytest.approx(3.0, rel=0.35)


def test_prototypes_have_more_error_than_class_means():
    model = fit()
    assert (model.whole_errors > model.prototype_errors).all()
    own = model.evidence.sampling_variances[model.labels]
    assert (model.evidence.prototype_variances >= own).all()


def test_relevance_errors_where_a_metric_was_made():
    assert (fit().evidence.column_errors == 0).all()
    learned = fit(GMLVQClassifier).evidence
    assert np.isfinite(learned.column_errors).all()
    assert (learned.column_errors > 0).all()
    assert learned.columns == 3
    many = [fit(GMLVQClassifier, seed=seed) for seed in range(8)]
    shares = np.array([np.diag(one.relevance)[[0, 4]] for one in many])
    told = np.array([one.evidence.relevance_errors[[0, 4]] for one in many]).mean(axis=0)
    assert (shares.std(axis=0) < 2.5 * told).all()
    assert (shares.std(axis=0) > told / 4).all()


def test_files_keep_the_evidence():
    model = fit(GMLVQClassifier)
    data = json.loads(json.dumps(SavedLVQ.data_of(model)))
    back = SavedLVQ.model_of(data)
    for name in ("estimates", "noise_variances", "sampling_variances", "column_errors"):
        assert (getattr(back.evidence, name) == getattr(model.evidence, name)).all()
    data["evidence"]["column_errors"] = data["evidence"]["column_errors"][:-1]
    with pytest.raises(ModelError, match="classes, features, prototypes and columns"):
        SavedLVQ.model_of(data)


def test_without_class_means_there_is_no_evidence():
    model = fit(mechanism="center_of_attention", groups=300)
    assert model.evidence is None
    assert (model.whole_errors == model.prototype_errors).all()
