"""The prototype benchmark: per-example gradients agree, folds are the paper's, tables are sound."""

import math

import numpy as np
import pytest

from benchmarks.lvq import data as lvq_data
from benchmarks.lvq import quality as lvq
from benchmarks.lvq import report as lvq_report
from benchmarks.lvq import steps as lvq_steps
from voile import Category, Number, Schema
from voile.errors import SettingError


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    points = lvq_steps.in_ball(rng.normal(size=(40, 5)) / 2)
    return points, rng.integers(0, 3, 40), lvq_steps.in_ball(rng.normal(size=(3, 5)) / 2)


@pytest.mark.parametrize("slope", [1.0, 20.0])
def test_three_ways_to_sum_clipped_gradients_agree(rows, slope):
    expected = lvq_steps.closed_form(*rows, slope)
    assert np.allclose(lvq_steps.row_by_row(*rows, slope), expected)
    assert np.allclose(lvq_steps.row_tensors(*rows, slope), expected)


def test_a_row_adds_no_more_than_the_clip(rows):
    points, classes, prototypes = rows
    for k in range(len(points)):
        one = lvq_steps.closed_form(points[[k]], classes[[k]], prototypes, 20.0)
        assert np.linalg.norm(one) <= lvq_steps.CLIP + 1e-9
        parts = lvq_steps.metric_form(points[[k]], classes[[k]], prototypes, np.eye(5))
        assert math.hypot(*map(np.linalg.norm, parts)) <= lvq_steps.CLIP + 1e-9


def test_gradients_are_those_of_the_library(rows):
    from voile.models.lvq.pulls import margin_pulls

    points, classes, prototypes = rows
    far = lvq_steps.distances(points, prototypes)
    plus, minus, a, b, _ = margin_pulls(far, np.arange(3), classes, 7.0)
    found = lvq_steps.pull(far, classes, 7.0)
    assert np.array_equal(found.plus, plus)
    assert np.array_equal(found.minus, minus)
    assert np.allclose(found.a, a)
    assert np.allclose(found.b, b)


def test_the_noise_is_the_papers():
    assert lvq_steps.paper_noise(1.0, 1e-5) == pytest.approx(
        2 * 0.01 * math.sqrt(5000) * math.log(1e5)
    )


@pytest.mark.parametrize(("name", "share"), [("mnist", 0.2), ("segment", 0.8)])
def test_folds_train_on_one_or_four_of_five(name, share):
    seen = []
    for train, test in lvq_data.folds_of(name, 100):
        assert len(train) == 100 * share
        assert sorted([*train, *test]) == list(range(100))
        seen += [*(train if share < 0.5 else test)]
    assert sorted(seen) == list(range(100))


def test_refusals_are_shown_and_are_no_failures(tmp_path):
    entrant = lvq.ENTRANTS["center_of_attention"]
    refused = lvq.gather(entrant, 1.5, [SettingError("too wide")])
    fine = lvq.gather(lvq.ENTRANTS["glvq"], 1.5, [lvq.Outcome(0.1, 1.0), lvq.Outcome(0.2, 1.0)])
    result = lvq_report.SetResult("segment", 100, 19, 80, 2, 1, "a note", (fine, refused), None)
    found = lvq_report.Findings({}, [result])
    text = lvq_report.markdown(found)
    assert "| GLVQ | 0.1500 | - |" in text
    assert "| GLVQ, centre of attention | refused | - |" in text
    assert "too wide" in text
    assert not found.failed
    lvq_report.write(found, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"lvq.json", "lvq.md"}


def test_a_failure_is_a_failure():
    cell = lvq.gather(lvq.ENTRANTS["glvq"], 1.5, [RuntimeError("broken")])
    result = lvq_report.SetResult("segment", 100, 19, 80, 1, 1, "a note", (cell,), None)
    assert lvq_report.Findings({}, [result]).failed


def test_features_are_scaled_by_their_public_bounds():
    import pandas as pd

    schema = Schema({"a": Number(0, 10), "b": Number(-4, 0)}, target=Category(["x", "y"]))
    frame = pd.DataFrame({"a": [0.0, 5.0, 99.0], "b": [-4.0, -2.0, 0.0]})
    assert lvq_data.scaled(schema, frame).tolist() == [[-1, -1], [0, 0], [1, 1]]
