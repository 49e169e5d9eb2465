"""Weights of maps and their errors: the formulas, what a fit keeps, and what files keep."""

import json

import numpy as np
import pytest

from voile import Category, LocallyLinearClassifier, Number, Schema
from voile.errors import ModelError
from voile.models.descent import Adam
from voile.models.locally_linear.evidence import GradientSpread, MapEvidence
from voile.models.locally_linear.files import SavedLocallyLinear
from voile.privacy.noise import fixed_noise

ROWS = 2000
SCHEMA = Schema(
    {"age": Number(0, 1), "ward": Category(["A", "B"]), "null": Number(0, 1)},
    target=Category(["no", "yes"]),
)


def fit(seed=0, epsilon=4.0, **settings):
    rng = np.random.default_rng(seed)
    X = {"age": rng.random(ROWS), "ward": rng.choice(["A", "B"], ROWS), "null": rng.random(ROWS)}
    score = 4 * (X["age"] - 0.5) + 1.5 * (X["ward"] == "A") - 0.75
    y = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-score)), "yes", "no")
    with fixed_noise(seed):
        model = LocallyLinearClassifier(epsilon=epsilon, schema=SCHEMA, random_state=0, **settings)
        return model.fit(X, y).model_


def make(estimates, variance, shared=0.0, columns=1):
    estimates = np.asarray(estimates, dtype=float)
    return MapEvidence(
        estimates=estimates,
        noise_variances=np.full_like(estimates, variance / 2),
        sampling_variances=np.full_like(estimates, variance / 2),
        shared=np.full((len(estimates), columns), shared),
    )


def test_a_number_is_tested_by_its_weight():
    evidence = make([[-0.196], [0.196]], 0.01)
    assert evidence.p_value(0, [0]) == pytest.approx(0.05, rel=0.01)
    assert evidence.class_errors == pytest.approx(np.sqrt(0.02))


def test_what_levels_share_belongs_to_the_offset():
    alike = make([[-1.0, -1.0], [1.0, 1.0]], 0.01)
    assert alike.p_value(0, [0, 1]) > 0.9
    apart = [[-0.1, 0.1], [0.1, -0.1]]
    assert make(apart, 0.01).p_value(0, [0, 1]) == pytest.approx(0.157, rel=0.01)
    assert make(apart, 0.01, shared=0.005).p_value(0, [0, 1]) == pytest.approx(0.0455, rel=0.01)


def test_gradients_of_steps_tell_how_much_they_vary():
    # 4,000 steps with a fixed seed, two classes whose difference varies by 1 and 4: deterministic.
    rng = np.random.default_rng(2)
    spread = GradientSpread(2, 2, 4000)
    for _ in range(4000):
        drawn = rng.normal(size=2) * [1.0, 2.0]
        spread.take(np.stack([drawn, -drawn])[:, None, :])
    assert np.diagonal(spread.covariance[0]) == pytest.approx([1.0, 4.0], rel=0.1)
    assert abs(spread.covariance[0, 0, 1]) < 0.2
    assert not GradientSpread(2, 30, 100).whole


def test_responses_are_what_training_does():
    """Weights of a quadratic loss, pushed by a steady force and by one of each step alone."""
    curvature, steps = 0.8, 40

    def train(push):
        adam = Adam(np.zeros((1, 1, 2)), 1.0, steps, 0.5, 0.01)
        for t in range(steps):
            # The second coordinate keeps the scale of the steps at 10, whatever the first does.
            big = 10 * np.sqrt(2) * (-1) ** t
            adam.step(np.array([[[curvature * adam.weights[0, 0, 0] + push[t], big]]]))
        return adam

    small = 1e-3
    steady = train(np.full(steps, small))
    forced, shaken = steady.responses(np.array([curvature, 0.0]), 1)
    assert float(steady.mean[0, 0, 0]) / small == pytest.approx(forced[0], rel=1e-3)
    alone = [float(train(small * np.eye(steps)[t]).mean[0, 0, 0]) / small for t in range(steps)]
    assert float(np.square(alone).sum()) == pytest.approx(shaken[0], rel=1e-3)


def test_weights_of_a_fit():
    evidence = fit().feature_evidence
    assert (evidence.classes, evidence.features, evidence.columns) == (2, 4, 3)
    assert evidence.p_value(0, [0]) < 1e-6
    assert evidence.p_value(1, [1, 2]) < 1e-6
    assert (evidence.noise_variances > 0).all()
    assert (evidence.sampling_variances > 0).all()


def test_weights_of_many_tables_vary_as_told():
    # 10 tables and noises with fixed seeds: deterministic.
    fits = [fit(seed=seed).feature_evidence for seed in range(10)]
    null = np.array([one.estimates[1, 3] for one in fits])
    told = np.array([one.variances[1, 3] for one in fits]).mean()
    assert null.var() < 1.8 * told
    assert null.var() > told / 6


def test_linear_maps_have_the_whole_error():
    model = fit()
    assert (model.whole_linear_map_errors > model.linear_map_errors).all()


def test_files_keep_the_evidence():
    model = fit()
    data = json.loads(json.dumps(SavedLocallyLinear.data_of(model)))
    back = SavedLocallyLinear.model_of(data).evidence
    for name in ("estimates", "noise_variances", "sampling_variances", "shared"):
        assert (getattr(back, name) == getattr(model.evidence, name)).all()
    data["evidence"]["shared"] = [row[:-1] for row in data["evidence"]["shared"]]
    with pytest.raises(ModelError, match="classes, coordinates and columns"):
        SavedLocallyLinear.model_of(data)


def test_projections_mix_features_so_that_nothing_is_known():
    model = fit(projection=3)
    assert model.evidence is None
    assert (model.whole_linear_map_errors == model.linear_map_errors).all()
