"""The attribution benchmark: measures mean what they say, explanations are the library's own."""

import importlib.util
import math
from functools import partial

import numpy as np
import pytest

from benchmarks.attributions import measures, models
from benchmarks.attributions import quality as attributions
from benchmarks.attributions import report as attributions_report

ABLE = all(importlib.util.find_spec(name) for name in ("torch", "opacus", "captum"))
needs_torch = pytest.mark.skipif(not ABLE, reason="torch, opacus or captum is missing")


def made_up(rows=300):
    """A bright bar at a height of its own for each class."""
    rng = np.random.default_rng(0)
    classes = np.arange(rows) % 10
    pixels = rng.integers(0, 60, (rows, 28, 28)).astype(np.uint8)
    pixels[rng.random(pixels.shape) < 0.5] = 0
    for picture, k in zip(pixels, classes, strict=True):
        picture[2 * k + 4 : 2 * k + 6, 4:24] = 250
    flat = pixels.reshape(rows, -1)
    return models.Pictures("mnist", flat, classes, flat[:60], classes[:60])


SOME_MAPS = partial(models.Maps, copies=False, steps=40, maps=2)


@pytest.fixture(scope="module")
def fitted():
    data = made_up()
    return data, models.train(SOME_MAPS, data, math.inf, 0, 1)


def test_likeness_of_the_same_the_opposite_and_chance():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(20, 784))
    assert measures.alike(one, 3 * one) == pytest.approx(dict.fromkeys(measures.MEASURES, 1.0))
    assert measures.spearman(one, -one) == pytest.approx(-np.ones(20))
    other = measures.alike(one, rng.normal(size=(20, 784)))
    assert other == pytest.approx({"spearman": 0, "cosine": 0, "overlap": 0.1}, abs=0.05)


def test_nothing_is_like_nothing():
    nothing = np.zeros((2, 9))
    assert measures.cosine(nothing, np.ones((2, 9))).tolist() == [0, 0]
    assert measures.roughness(nothing, 3).tolist() == [0, 0]


def test_independent_noise_is_as_rough_as_is_said():
    noise = np.random.default_rng(0).normal(size=(200, 784))
    assert measures.roughness(noise, 28).mean() == pytest.approx(math.sqrt(2), abs=0.02)


def test_the_right_order_deletes_and_inserts_better_than_its_opposite():
    weights = np.zeros((784, 2))
    weights[:50, 1] = 0.2

    def scores(pictures):
        return pictures @ weights

    pictures, classes = np.ones((3, 784)), np.ones(3, dtype=int)
    worth = np.tile(weights[:, 1], (3, 1))
    good = measures.faithfulness(scores, pictures, classes, worth)
    bad = measures.faithfulness(scores, pictures, classes, -worth)
    assert good["deletion"] < 0.6 < bad["deletion"]
    assert bad["insertion"] < 0.6 < good["insertion"]
    curve = measures.curve(scores, pictures, classes, worth, insert=False)
    assert curve[:, 0] == pytest.approx(1 / (1 + math.exp(-10)))
    assert curve[:, -1] == pytest.approx(0.5)


def test_scores_and_contributions_are_those_of_the_library(fitted):
    data, one = fitted
    pictures, classes = data.test[:5] / 255.0, data.test_classes[:5]
    estimator = one.model.model
    assert one.model.scores(pictures) == pytest.approx(estimator.decision_function(data.test[:5]))
    found = estimator.explain_local(data.test[:5])
    explained = one.model.explain(pictures, classes)
    for row, decision in enumerate(found.decisions):
        blended = np.einsum("km,kmj->kj", decision.shares, found.linear_maps)
        own = blended[classes[row]] - blended.mean(axis=0)
        assert explained["filter"][row] == pytest.approx(own)
        assert explained["contributions"][row] == pytest.approx(own * decision.strengths)


def test_only_pictures_that_all_get_right_are_chosen(fitted):
    data, one = fitted
    wrong = np.zeros(60, dtype=bool)
    wrong[:10] = True
    other = models.Fitted(None, 1.0, 0, 0.0, 0.0, ~wrong)
    chosen = attributions.choose_pictures(data, {("a", 1.0, 0): one, ("b", 1.0, 0): other}, 20)
    assert len(chosen)
    assert one.right[chosen].all()
    assert chosen.min() >= 10


def test_what_is_missing_is_named_with_the_way_to_have_it(monkeypatch, capsys):
    monkeypatch.setattr(models.importlib.util, "find_spec", lambda name: None)
    assert attributions.main(["--quick"]) == 1
    said = capsys.readouterr().err
    assert "pip install 'voile[federated]' and pip install opacus" in said
    monkeypatch.setattr(
        models.importlib.util, "find_spec", lambda name: None if name == "opacus" else object()
    )
    assert models.missing().startswith("opacus cannot be imported")
    assert "federated" not in models.missing()


def test_jobs_always_have_a_model_without_privacy():
    options = attributions.parse(["--eps", "2,.5", "--sets", "fashion_mnist"])
    (job,) = attributions.jobs(options)
    assert job.epsilons == (0.5, 2.0, math.inf)
    with pytest.raises(SystemExit):
        attributions.parse(["--sets", "imagenet"])
    with pytest.raises(SystemExit):
        attributions.parse(["--seeds", "1"])


@needs_torch
@pytest.mark.slow
def test_a_whole_comparison_in_small(tmp_path):
    makes = (("cnn", models.Cnn), ("maps", SOME_MAPS))
    job = attributions.Job("mnist", (2.0, math.inf), 2, 20, None, (1, 6), makes)
    data = made_up()
    fits = attributions.train_all(data, job)
    for one in fits.values():
        one.right[:] = True  # so small a network may get nothing right
    attributions_result = attributions.explain_all(data, fits, job)
    found = attributions_report.Findings({}, [attributions_result])
    attributions_report.write(found, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "attributions.json",
        "attributions.md",
    }
    spent = [one.spent for one in attributions_result.trained if one.spent is not None]
    assert len(spent) == 2
    assert all(1.9 < value <= 2 for value in spent)
